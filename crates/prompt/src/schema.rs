//! The JSON Schema of a prompt, made from the same declarations that read it.
//!
//! [`prompt`] gives the schema; `schema/prompt.schema.json` holds it for programs in other languages, and
//! a test keeps the two equal. Members that no type knows are allowed everywhere, as they are when a
//! prompt is read. What a schema cannot say (that a URL can be parsed, that base64 is well formed) is
//! left to [`Prompt::parse`].

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::typed::Typed;
use crate::types::Prompt;

/// The schema of a prompt, in JSON Schema 2020-12.
pub fn prompt() -> Schema {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<Of<Prompt>>();
    schema.insert("title".to_owned(), "LanguageModelV4Prompt".into());
    schema
}

impl JsonSchema for Prompt {
    fn schema_name() -> Cow<'static, str> {
        "LanguageModelV4Prompt".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        of::<Prompt>(generator)
    }
}

/// The schema of a type of this crate: a reference to its definition if it has a name.
pub(crate) fn of<T: Typed>(generator: &mut SchemaGenerator) -> Schema {
    match T::schema_name() {
        Some(_) => generator.subschema_for::<Of<T>>(),
        None => T::schema(generator),
    }
}

/// Lends the schema of a type to `schemars`, which keeps definitions by type.
struct Of<T>(PhantomData<T>);

impl<T: Typed> JsonSchema for Of<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name().unwrap_or(T::EXPECTED).into()
    }

    fn schema_id() -> Cow<'static, str> {
        std::any::type_name::<T>().into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }
}

/// A member of a record.
#[derive(Debug)]
pub(crate) struct Member {
    key: &'static str,
    schema: Schema,
    is_needed: bool,
}

impl Member {
    /// The member that tells records apart.
    pub(crate) fn tag(key: &'static str, tag: &str) -> Self {
        Member {
            key,
            schema: json_schema!({ "const": tag }),
            is_needed: true,
        }
    }

    /// A member that must be there.
    pub(crate) fn needed<T: Typed>(key: &'static str, doc: &str, generator: &mut SchemaGenerator) -> Self {
        Member {
            key,
            schema: described(of::<T>(generator), doc),
            is_needed: true,
        }
    }

    /// A member that may be absent.
    pub(crate) fn optional<T: Typed>(key: &'static str, doc: &str, generator: &mut SchemaGenerator) -> Self {
        Member {
            key,
            schema: described(of::<T>(generator), doc),
            is_needed: false,
        }
    }
}

fn described(mut schema: Schema, doc: &str) -> Schema {
    let doc = doc.trim();
    if !doc.is_empty() && schema.get("description").is_none() {
        schema.insert("description".to_owned(), doc.into());
    }
    schema
}

/// The schema of a record.
pub(crate) fn record(called: &str, members: impl IntoIterator<Item = Member>) -> Schema {
    let mut properties = serde_json::Map::new();
    let mut required: Vec<&str> = Vec::new();
    for member in members {
        if member.is_needed {
            required.push(member.key);
        }
        properties.insert(member.key.to_owned(), member.schema.to_value());
    }
    json_schema!({
        "description": called,
        "type": "object",
        "properties": properties,
        "required": required,
    })
}

/// The schema of a choice between records.
pub(crate) fn choice(called: &str, choices: impl IntoIterator<Item = Schema>) -> Schema {
    let choices: Vec<Schema> = choices.into_iter().collect();
    json_schema!({ "description": called, "oneOf": choices })
}

/// The schema of a choice between words.
pub(crate) fn words(words: &[&str]) -> Schema {
    json_schema!({ "type": "string", "enum": words })
}

//! JSON Schemas as OpenAI takes them.
//!
//! OpenAI has no `propertyNames`, no lookaround in patterns and no `allOf`. The first two are taken
//! out, with a warning; an `allOf` of one reference, which schema generators write for recursion,
//! becomes that reference.

use crate::error::SdkError;
use crate::json::{Json, Object};
use crate::types::Warning;

/// Members that hold a schema each.
const ONE: [&str; 4] = ["additionalProperties", "additionalItems", "contains", "not"];
/// Members that hold a list of schemas.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Members that hold schemas by name.
const NAMED: [&str; 4] = ["properties", "patternProperties", "definitions", "$defs"];

/// The schema as OpenAI takes it, and what to warn about.
pub(super) fn normalize(schema: &Json) -> Result<(Json, Vec<Warning>), SdkError> {
    let mut found = Found::default();
    let schema = match schema {
        Json::Object(schema) => found.schema(schema, true)?.into(),
        other => other.clone(),
    };
    let mut warnings = Vec::new();
    if found.property_names {
        warnings.push(Warning::compatibility(
            "JSON Schema propertyNames",
            "OpenAI does not support JSON Schema propertyNames. It was removed before sending the schema, so \
             OpenAI will not enforce property-name constraints.",
        ));
    }
    if found.lookaround {
        warnings.push(Warning::compatibility(
            "JSON Schema pattern with regex lookaround",
            "OpenAI does not support regex lookaround in JSON Schema patterns. The pattern was removed before \
             sending the schema, so OpenAI will not enforce that constraint.",
        ));
    }
    Ok((schema, warnings))
}

/// What was taken out on the way.
#[derive(Default)]
struct Found {
    property_names: bool,
    lookaround: bool,
}

impl Found {
    fn schema(&mut self, schema: &Object, is_root: bool) -> Result<Object, SdkError> {
        let mut schema = schema.clone();
        if let Some(names) = schema.remove("propertyNames").filter(|names| !names.is_null()) {
            let kind = names.get("type").filter(|kind| !kind.is_null());
            if matches!(names, Json::Bool(_)) || kind.is_some_and(|kind| kind.as_str() != Some("string")) {
                return Err(SdkError::unsupported(
                    "JSON Schema propertyNames that does not use a string schema",
                ));
            }
            self.property_names = true;
        }
        if schema
            .get("pattern")
            .and_then(Json::as_str)
            .is_some_and(has_lookaround)
        {
            schema.remove("pattern");
            self.lookaround = true;
        }
        for key in NAMED {
            self.each_named(&mut schema, key)?;
        }
        for key in ONE.into_iter().chain(["if", "then", "else"]) {
            if let Some(inner) = schema.get_mut(key) {
                *inner = self.definition(inner)?;
            }
        }
        for key in LISTS.into_iter().chain(["items"]) {
            match schema.get_mut(key) {
                Some(Json::Array(items)) => {
                    for item in items {
                        *item = self.definition(item)?;
                    }
                }
                Some(inner) if key == "items" => *inner = self.definition(inner)?,
                _ => {}
            }
        }
        // A dependency is a schema or a list of property names.
        self.each_named(&mut schema, "dependencies")?;
        Ok(inline_reference(schema, is_root))
    }

    fn each_named(&mut self, schema: &mut Object, key: &str) -> Result<(), SdkError> {
        if let Some(Json::Object(named)) = schema.get(key) {
            let normalized: Result<Object, SdkError> = named
                .iter()
                .map(|(name, inner)| Ok((name, self.definition(inner)?)))
                .collect();
            schema.insert(key, normalized?);
        }
        Ok(())
    }

    fn definition(&mut self, definition: &Json) -> Result<Json, SdkError> {
        match definition {
            Json::Object(schema) => Ok(self.schema(schema, false)?.into()),
            other => Ok(other.clone()),
        }
    }
}

/// Replaces an `allOf` that is nothing but one reference. The root must stay an object schema, so
/// there the schema it refers to is put in.
fn inline_reference(mut schema: Object, is_root: bool) -> Object {
    let reference = match schema.get("allOf").and_then(Json::as_array) {
        Some([Json::Object(only)]) if only.len() == 1 => only.get("$ref").and_then(Json::as_text).cloned(),
        _ => None,
    };
    let Some(reference) = reference else { return schema };
    if !is_root {
        schema.remove("allOf");
        schema.insert("$ref", reference);
        return schema;
    }
    let Some(mut expanded) = local_definition(&schema, &reference).cloned() else {
        return schema;
    };
    schema.remove("allOf");
    expanded.extend_from(&schema);
    expanded
}

fn local_definition<'a>(schema: &'a Object, reference: &str) -> Option<&'a Object> {
    let (keyword, name) = reference.strip_prefix("#/")?.split_once('/')?;
    if !matches!(keyword, "definitions" | "$defs") || name.is_empty() {
        return None;
    }
    let name = name.replace("~1", "/").replace("~0", "~");
    schema.get(keyword)?.get(&name)?.as_object()
}

/// Whether a pattern looks ahead or behind: `(?=`, `(?!`, `(?<=`, `(?<!` outside a character class.
fn has_lookaround(pattern: &str) -> bool {
    let mut escaped = false;
    let mut in_class = false;
    for (at, character) in pattern.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let rest = &pattern[at + 1..];
                if ["?=", "?!", "?<=", "?<!"]
                    .iter()
                    .any(|opening| rest.starts_with(opening))
                {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(schema: &str) -> (String, usize) {
        let (schema, warnings) = normalize(&Json::parse(schema).expect("JSON")).expect("a schema");
        (schema.to_js(), warnings.len())
    }

    #[test]
    fn takes_out_what_openai_lacks() {
        let schema = r#"{"type":"object","propertyNames":{"pattern":"a"},"properties":{"a":{"pattern":"(?=x)"},"b":{"pattern":"[(?=]"}}}"#;
        let expected = r#"{"type":"object","properties":{"a":{},"b":{"pattern":"[(?=]"}}}"#;
        assert_eq!(normalized(schema), (expected.to_owned(), 2));
        let error = normalize(&Json::parse(r#"{"propertyNames":{"type":"number"}}"#).expect("JSON"));
        assert!(error.is_err());
    }

    #[test]
    fn a_single_reference_takes_the_place_of_its_all_of() {
        let inner = r##"{"items":{"allOf":[{"$ref":"#/$defs/a"}]}}"##;
        assert_eq!(normalized(inner).0, r##"{"items":{"$ref":"#/$defs/a"}}"##);
        let root = r##"{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"object"}}}"##;
        assert_eq!(
            normalized(root).0,
            r#"{"type":"object","$defs":{"a":{"type":"object"}}}"#
        );
    }
}

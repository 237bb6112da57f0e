//! JSON Schemas for Anthropic's structured output.
//!
//! Its decoder knows a part of JSON Schema. The rest is told to the model in words: constraints go
//! into the description. Schemas with cycles, open objects or many optional properties do not work at
//! all; then the answer is asked for through a tool.

use std::collections::{HashMap, HashSet};

use crate::json::{Json, Object, object};

/// The formats of strings that the decoder knows.
const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// The constraints that are told in words.
const CONSTRAINTS: [&str; 14] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "not",
];

/// The most optional properties that the decoder takes without trouble.
const MOST_OPTIONAL: usize = 10;

/// The schema as the decoder takes it. Definitions beside a reference are kept if wanted: without them it
/// leads nowhere, but an older version of the SDK's helper leaves them out.
pub(in crate::providers) fn sanitized(schema: &Object, keeps: bool) -> Object {
    let given = |key: &str| schema.get(key).filter(|value| !value.is_null());
    if let Some(reference) = given("$ref") {
        let mut result = object! { "$ref": reference };
        if keeps {
            result.extend_from(&definitions(schema, keeps));
        }
        return result;
    }
    let mut result = Object::new();
    for key in ["$schema", "$id", "title", "description"] {
        result.insert_some(key, given(key));
    }
    for key in ["default", "const"] {
        result.insert_some(key, schema.get(key));
    }
    for key in ["enum", "type"] {
        result.insert_some(key, given(key));
    }
    result.insert_some(
        "anyOf",
        given("anyOf")
            .or(given("oneOf"))
            .map(|schemas| each(schemas, keeps)),
    );
    result.insert_some("allOf", given("allOf").map(|schemas| each(schemas, keeps)));
    result.extend_from(&definitions(schema, keeps));
    if given("type").and_then(Json::as_str) == Some("object") || given("properties").is_some() {
        result.insert_some(
            "properties",
            given("properties").map(|schemas| named(schemas, keeps)),
        );
        result.insert("additionalProperties", false);
        result.insert_some("required", given("required"));
    }
    result.insert_some("items", given("items").map(|schemas| each(schemas, keeps)));
    let format = given("format").and_then(Json::as_text);
    result.insert_some("format", format.filter(|format| FORMATS.contains(&&***format)));
    if let Some(words) = constraints(schema) {
        let description = match result.get("description").and_then(Json::as_str) {
            Some(description) => format!("{description}\n{words}"),
            None => words,
        };
        result.insert("description", description);
    }
    result
}

fn definitions(schema: &Object, keeps: bool) -> Object {
    ["definitions", "$defs"]
        .iter()
        .filter_map(|key| {
            Some((
                *key,
                named(schema.get(key).filter(|value| !value.is_null())?, keeps),
            ))
        })
        .collect()
}

fn one(schema: &Json, keeps: bool) -> Json {
    match schema {
        Json::Object(schema) => sanitized(schema, keeps).into(),
        other => other.clone(),
    }
}

/// A schema, or each of a list of schemas.
fn each(schemas: &Json, keeps: bool) -> Json {
    match schemas {
        Json::Array(schemas) => Json::Array(schemas.iter().map(|schema| one(schema, keeps)).collect()),
        schema => one(schema, keeps),
    }
}

fn named(schemas: &Json, keeps: bool) -> Json {
    match schemas {
        Json::Object(schemas) => Json::Object(
            schemas
                .iter()
                .map(|(name, schema)| (name, one(schema, keeps)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn constraints(schema: &Object) -> Option<String> {
    let mut words: Vec<String> = CONSTRAINTS
        .iter()
        .filter_map(|key| {
            let value = schema
                .get(key)
                .filter(|value| !matches!(value, Json::Null | Json::Bool(false)))?;
            let value = match value {
                Json::String(text) => text.to_string(),
                other => other.to_js(),
            };
            Some(format!("{}: {value}", spaced(key)))
        })
        .collect();
    if let Some(format) = schema.get("format").and_then(Json::as_str)
        && !FORMATS.contains(&format)
    {
        words.push(format!("format: {format}"));
    }
    (!words.is_empty()).then(|| format!("{}.", words.join("; ")))
}

/// `minLength` as `min length`.
fn spaced(key: &str) -> String {
    let mut words = String::new();
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(character.to_ascii_lowercase());
    }
    words
}

/// Whether the decoder can hold an answer to this schema without losing anything.
pub(in crate::providers) fn is_supported(schema: &Json) -> bool {
    if has_cycle(schema) {
        return false;
    }
    let mut known = HashMap::new();
    let stats = Stats::of(schema, schema, &mut known, 0);
    !stats.is_open && stats.optional <= MOST_OPTIONAL
}

fn has_cycle(root: &Json) -> bool {
    fn visit(root: &Json, pointer: &str, open: &mut Vec<String>, done: &mut HashSet<String>) -> bool {
        if open.iter().any(|seen| seen == pointer) {
            return true;
        }
        if done.contains(pointer) {
            return false;
        }
        let Some(target) = resolve(root, pointer) else {
            return false;
        };
        open.push(pointer.to_owned());
        let mut references = Vec::new();
        collect_references(target, &mut references);
        let is_cycle = references
            .iter()
            .any(|reference| visit(root, reference, open, done));
        open.pop();
        done.insert(pointer.to_owned());
        is_cycle
    }
    visit(root, "#", &mut Vec::new(), &mut HashSet::new())
}

fn collect_references(node: &Json, references: &mut Vec<String>) {
    match node {
        Json::Array(items) => items.iter().for_each(|item| collect_references(item, references)),
        Json::Object(object) => {
            for (key, value) in object.iter() {
                match (key, value) {
                    ("$ref", Json::String(reference)) if reference.starts_with('#') => {
                        references.push(reference.to_string());
                    }
                    // Definitions are reached through references only; the others hold data.
                    ("$ref" | "$defs" | "definitions" | "const" | "default" | "enum" | "examples", _) => {}
                    ("dependentSchemas" | "patternProperties" | "properties", Json::Object(named)) => {
                        named
                            .iter()
                            .for_each(|(_, schema)| collect_references(schema, references));
                    }
                    _ => collect_references(value, references),
                }
            }
        }
        _ => {}
    }
}

/// What a local reference points to.
fn resolve<'a>(root: &'a Json, pointer: &str) -> Option<&'a Json> {
    if pointer == "#" {
        return Some(root);
    }
    let decoded = percent_decoded(pointer.strip_prefix("#/")?)?;
    decoded.split('/').try_fold(root, |node, segment| {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        match node {
            Json::Array(items) => items.get(segment.parse::<usize>().ok()?),
            node => node.get(&segment),
        }
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        if *byte == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// What decides whether the decoder can take a schema.
#[derive(Debug, Clone, Copy, Default)]
struct Stats {
    optional: usize,
    is_open: bool,
}

impl Stats {
    fn add(&mut self, other: Stats) {
        self.optional = self.optional.saturating_add(other.optional);
        self.is_open |= other.is_open;
    }

    fn of(node: &Json, root: &Json, known: &mut HashMap<String, Stats>, depth: usize) -> Stats {
        let mut stats = Stats::default();
        // References that lead nowhere but to each other are cycles and were refused; the limit keeps
        // even a mistake in that off the stack.
        let Json::Object(object) = node else { return stats };
        if depth > 256 {
            return stats;
        }
        if let Some(reference) = object.get("$ref").and_then(Json::as_str)
            && reference.starts_with('#')
        {
            let target = match known.get(reference) {
                Some(stats) => *stats,
                None => {
                    let target = resolve(root, reference)
                        .map(|target| Stats::of(target, root, known, depth + 1))
                        .unwrap_or_default();
                    known.insert(reference.to_owned(), target);
                    target
                }
            };
            stats.add(target);
        }
        stats.is_open |= is_open(object);
        if let Some(Json::Object(properties)) = object.get("properties") {
            let required = object
                .get("required")
                .and_then(Json::as_array)
                .unwrap_or_default();
            let is_required = |name: &str| required.iter().any(|required| required.as_str() == Some(name));
            stats.optional += properties.keys().filter(|name| !is_required(name)).count();
        }
        let children = [
            "additionalProperties",
            "contains",
            "else",
            "if",
            "items",
            "not",
            "then",
        ]
        .iter()
        .filter_map(|key| object.get(key))
        .flat_map(|value| match value {
            Json::Array(items) => items.iter().collect(),
            value => vec![value],
        });
        let lists = ["allOf", "anyOf", "oneOf", "prefixItems"]
            .iter()
            .filter_map(|key| object.get(key)?.as_array())
            .flatten();
        let named = ["dependentSchemas", "patternProperties", "properties"]
            .iter()
            .filter_map(|key| object.get(key)?.as_object())
            .flat_map(|named| named.iter().map(|(_, schema)| schema));
        for child in children.chain(lists).chain(named) {
            stats.add(Stats::of(child, root, known, depth + 1));
        }
        stats
    }
}

/// Whether an object may have members of any name, which the decoder would leave out.
fn is_open(object: &Object) -> bool {
    let additional = object.get("additionalProperties");
    if matches!(additional, Some(Json::Bool(true) | Json::Object(_))) {
        return true;
    }
    if matches!(object.get("patternProperties"), Some(Json::Object(named)) if !named.is_empty()) {
        return true;
    }
    let is_object = match object.get("type") {
        Some(Json::String(kind)) => &**kind == "object",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some("object")),
        _ => false,
    };
    let has_properties = object.get("properties").is_some_and(|value| !value.is_null());
    is_object && !has_properties && additional != Some(&Json::Bool(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).expect("JSON")
    }

    #[test]
    fn what_the_decoder_does_not_know_is_told_in_words() {
        let schema = json(
            r#"{"type":"object","description":"d","properties":{"a":{"type":"string","minLength":2,"format":"x"}},
                "oneOf":[{"const":null}],"minProperties":1}"#,
        );
        let schema = sanitized(schema.as_object().expect("an object"), true);
        assert_eq!(
            Json::from(schema).to_js(),
            concat!(
                r#"{"description":"d\nmin properties: 1.","type":"object","anyOf":[{"const":null}],"properties":"#,
                r#"{"a":{"type":"string","description":"min length: 2; format: x."}},"additionalProperties":false}"#
            )
        );
    }

    #[test]
    fn cycles_open_objects_and_many_optional_properties_are_refused() {
        assert!(is_supported(&json(
            r##"{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}"##
        )));
        assert!(!is_supported(&json(r##"{"properties":{"a":{"$ref":"#"}}}"##)));
        assert!(!is_supported(&json(
            r##"{"$ref":"#/$defs/A%20B","$defs":{"A B":{"items":{"$ref":"#/$defs/A%20B"}}}}"##
        )));
        assert!(!is_supported(&json(r#"{"type":"object"}"#)));
        assert!(is_supported(&json(
            r#"{"type":"object","additionalProperties":false}"#
        )));
        let many: Vec<String> = (0..11).map(|n| format!(r#""p{n}":{{}}"#)).collect();
        assert!(!is_supported(&json(&format!(
            r#"{{"properties":{{{}}}}}"#,
            many.join(",")
        ))));
    }
}

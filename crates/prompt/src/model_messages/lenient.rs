//! Reading JSON that nobody has validated, the way JavaScript would: what is missing is missing, and
//! only what cannot be worked with at all is an error.

use crate::error::SdkError;
use crate::json::{Json, Object, Text};
use crate::path::Path;
use crate::typed::Typed;

/// The tag of a part, or nothing.
pub(crate) fn tag(value: &Json) -> &str {
    value.get("type").and_then(Json::as_str).unwrap_or_default()
}

/// The text of a member, or nothing.
pub(crate) fn str_of<'a>(value: &'a Json, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Json::as_str)
}

/// A member that is neither missing nor `null`.
pub(crate) fn some<'a>(value: &'a Json, key: &str) -> Option<&'a Json> {
    value.get(key).filter(|value| !value.is_null())
}

/// Whether a member is `true`.
pub(crate) fn is_true(value: &Json, key: &str) -> bool {
    value.get(key) == Some(&Json::Bool(true))
}

/// The parts of a message whose content is an array.
pub(crate) fn parts(message: &Json) -> &[Json] {
    message
        .get("content")
        .and_then(Json::as_array)
        .unwrap_or_default()
}

/// The role of a message.
pub(crate) fn role(message: &Json) -> &str {
    str_of(message, "role").unwrap_or_default()
}

/// A `TypeError` about what stands somewhere.
pub(crate) fn type_error(path: &Path, found: Option<&Json>, expected: &str) -> SdkError {
    let found = found.map_or("nothing", Json::kind);
    SdkError::Type(format!("{path}: found {found} where {expected} must stand"))
}

/// Reads a part as a type of the prompt, from the members named only. `null` in one of the optional
/// ones counts as absent.
pub(crate) fn read<T: Typed>(
    part: &Json,
    required: &[&'static str],
    optional: &[&'static str],
    path: &Path,
) -> Result<T, SdkError> {
    let required = required
        .iter()
        .filter_map(|key| Some((*key, part.get(key)?.clone())));
    let optional = optional
        .iter()
        .filter_map(|key| Some((*key, some(part, key)?.clone())));
    let known: Object = required.chain(optional).collect();
    T::from_json_at(known.into(), path.clone()).map_err(SdkError::FaultyPrompt)
}

/// Reads an optional member as a type of the prompt.
pub(crate) fn member<T: Typed>(part: &Json, key: &'static str, path: &Path) -> Result<Option<T>, SdkError> {
    some(part, key)
        .map(|value| T::from_json_at(value.clone(), path.join(key)).map_err(SdkError::FaultyPrompt))
        .transpose()
}

/// A value as JavaScript puts it into a text.
pub(crate) fn js_string(value: Option<&Json>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Json::String(text)) => text.to_string(),
        Some(Json::Object(_)) => "[object Object]".to_owned(),
        Some(Json::Array(items)) => {
            let items = items.iter().map(|item| match item {
                Json::Null => String::new(),
                item => js_string(Some(item)),
            });
            items.collect::<Vec<_>>().join(",")
        }
        Some(scalar) => scalar.to_js(),
    }
}

/// What an error says of itself: `getErrorMessage` for the values that JSON has.
pub(crate) fn error_text(error: Option<&Json>) -> Text {
    match error {
        None | Some(Json::Null) => "unknown error".into(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_js().into(),
    }
}

/// Merges deeply: objects member by member, everything else is replaced. Keys that could reach a
/// prototype in JavaScript are not taken over.
pub(crate) fn merge(base: &Object, over: &Object) -> Object {
    let mut merged = base.clone();
    for (key, value) in over.iter() {
        if matches!(key, "__proto__" | "constructor" | "prototype") {
            continue;
        }
        let value = match (base.get(key), value) {
            (Some(Json::Object(base)), Json::Object(over)) => Json::Object(merge(base, over)),
            (_, value) => value.clone(),
        };
        merged.insert(key, value);
    }
    merged
}

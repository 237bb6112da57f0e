//! Writing JSON: as it was read, and as JavaScript would.

use std::fmt;

use super::{Json, Object, Text, plain_length};

/// How numbers and keys are written.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Source,
    Js,
}

impl Json {
    /// The value as it was read: members in their order, numbers in their own text.
    pub fn to_source(&self) -> String {
        let mut out = String::new();
        write_value(self, Style::Source, &mut out);
        out
    }

    /// The value as `JSON.stringify` writes it.
    pub fn to_js(&self) -> String {
        let mut out = String::new();
        self.write_js(&mut out);
        out
    }

    /// Appends the value as `JSON.stringify` writes it.
    pub fn write_js(&self, out: &mut String) {
        // A little more than that, so that escapes do not make a buffer of megabytes move.
        let bytes = self.text_bytes();
        out.reserve(bytes + bytes / 16 + 64);
        write_value(self, Style::Js, out);
    }

    /// A lower bound of the written length, so that large payloads are written into a buffer that
    /// does not have to move.
    fn text_bytes(&self) -> usize {
        match self {
            Json::String(text) => text.len() + 2,
            Json::Array(items) => items.iter().map(|item| item.text_bytes() + 1).sum(),
            Json::Object(object) => object
                .iter()
                .map(|(key, value)| key.len() + 4 + value.text_bytes())
                .sum(),
            _ => 4,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_source())
    }
}

fn write_value(value: &Json, style: Style, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) if style == Style::Js => out.push_str(&number.to_js()),
        Json::Number(number) => out.push_str(number.source()),
        Json::String(text) => write_text(text, out),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, style, out);
            }
            out.push(']');
        }
        Json::Object(object) => write_object(object, style, out),
    }
}

fn write_object(object: &Object, style: Style, out: &mut String) {
    out.push('{');
    let mut first = true;
    let mut member = |key: &str, value: &Json| {
        if !first {
            out.push(',');
        }
        first = false;
        out.push('"');
        escape_into(key, out);
        out.push_str("\":");
        write_value(value, style, out);
    };
    if style == Style::Js && object.keys().any(|key| array_index(key).is_some()) {
        // JavaScript keeps keys that look like array indices in front, in numeric order.
        let mut indexed: Vec<_> = object
            .iter()
            .filter_map(|(key, value)| Some((array_index(key)?, key, value)))
            .collect();
        indexed.sort_by_key(|(index, ..)| *index);
        indexed.into_iter().for_each(|(_, key, value)| member(key, value));
        object
            .iter()
            .filter(|(key, _)| array_index(key).is_none())
            .for_each(|(key, value)| member(key, value));
    } else {
        object.iter().for_each(|(key, value)| member(key, value));
    }
    out.push('}');
}

/// The number that a key stands for, if JavaScript takes it as an array index: canonical decimal text
/// of a number below 2^32 - 1.
fn array_index(key: &str) -> Option<u32> {
    let bytes = key.as_bytes();
    if bytes.is_empty() || bytes.len() > 10 || !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if bytes[0] == b'0' && bytes.len() > 1 {
        return None;
    }
    key.parse::<u32>().ok().filter(|index| *index != u32::MAX)
}

fn write_text(text: &Text, out: &mut String) {
    out.push('"');
    for piece in text.pieces() {
        escape_into(piece, out);
    }
    out.push('"');
}

/// Appends `text` with the characters escaped that JavaScript escapes: `"`, `\` and control characters.
fn escape_into(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let at = plain_length(rest.as_bytes());
        out.push_str(&rest[..at]);
        if at == rest.len() {
            return;
        }
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        // What was found is a single byte, so the next one starts a character.
        rest = &rest[at + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn js(text: &str) -> String {
        Json::parse(text).expect("the test's JSON").to_js()
    }

    #[test]
    fn orders_keys_as_javascript_does() {
        assert_eq!(
            js(r#"{"b":1,"2":1,"1":1,"01":1,"-1":1}"#),
            r#"{"1":1,"2":1,"b":1,"01":1,"-1":1}"#
        );
        assert_eq!(
            js(r#"{"4294967295":1,"4294967294":2}"#),
            r#"{"4294967294":2,"4294967295":1}"#
        );
    }

    #[test]
    fn escapes_only_what_javascript_escapes() {
        assert_eq!(
            js(r#""\u2028é😀\/\u0001\b\f\n\r\t\"\\""#),
            "\"\u{2028}é😀/\\u0001\\b\\f\\n\\r\\t\\\"\\\\\""
        );
    }

    #[test]
    fn source_form_keeps_number_text_and_order() {
        let text = r#"{"b":1.0,"2":1e2,"1":-0}"#;
        assert_eq!(Json::parse(text).expect("valid").to_source(), text);
        assert_eq!(js(text), r#"{"1":0,"2":100,"b":1}"#);
    }
}

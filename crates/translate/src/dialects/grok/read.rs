//! Small readers that the other files share.

use std::borrow::Cow;

use tapline_wire::{RawValue, value};

/// A method or kind without the underscore that extensions carry on the wire.
pub(super) fn bare(method: &str) -> &str {
    method.strip_prefix('_').unwrap_or(method)
}

/// An id, in the words of the line it stands in, so that it can be handed on without a copy. An id that is written with
/// escapes keeps them; Grok writes none.
pub(super) fn id(raw: Option<&RawValue>) -> Option<&str> {
    let source = raw?.get();
    match source.as_bytes().first()? {
        b'"' => Some(&source[1..source.len() - 1]).filter(|id| !id.is_empty()),
        b'-' | b'0'..=b'9' => Some(source),
        _ => None,
    }
}

/// The id in the first of these members that has one.
pub(super) fn member_id<'a>(raw: &'a RawValue, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| id(value::member(raw, name)))
}

/// The text in the first of these members that has one that is not blank.
pub(super) fn words<'a>(raw: &'a RawValue, names: &[&str]) -> Option<Cow<'a, str>> {
    let text = |name: &&str| value::member_text(raw, name).filter(|t| !t.trim().is_empty());
    names.iter().find_map(text)
}

/// A number.
pub(super) fn number(raw: &RawValue, name: &str) -> Option<u64> {
    value::member(raw, name).and_then(value::u64)
}

/// Whether a member is `true`.
pub(super) fn is_true(raw: &RawValue, name: &str) -> bool {
    value::member(raw, name).and_then(value::bool) == Some(true)
}

/// Text that is written as text or as an array of bytes.
pub(super) fn text_or_bytes(raw: &RawValue) -> Option<Cow<'_, str>> {
    if !value::is_array(raw) {
        return value::text(raw);
    }
    let bytes: Option<Vec<u8>> = value::array(raw)
        .map(|b| value::u64(b).and_then(|b| u8::try_from(b).ok()))
        .collect();
    Some(Cow::Owned(String::from_utf8_lossy(&bytes?).into_owned()))
}

/// The text without everything between `open` and `close`, with the two.
pub(super) fn without<'a>(text: Cow<'a, str>, open: &str, close: &str) -> Cow<'a, str> {
    let mut text = text;
    while let Some(start) = text.find(open) {
        let end = text[start..]
            .find(close)
            .map_or(text.len(), |at| start + at + close.len());
        text = Cow::Owned(format!("{}{}", &text[..start], &text[end..]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_id_is_a_text_that_is_not_empty_or_a_number() {
        let told = raw(r#"{"a":"p-1","n":7,"m":-7,"empty":"","no":null,"flag":true}"#);
        let id = |name| member_id(told, &[name]);
        assert_eq!((id("a"), id("n"), id("m")), (Some("p-1"), Some("7"), Some("-7")));
        assert_eq!(
            (id("empty"), id("no"), id("flag"), id("x")),
            (None, None, None, None)
        );
        assert_eq!(member_id(told, &["x", "empty", "a", "n"]), Some("p-1"));
    }

    #[test]
    fn words_are_the_first_that_say_something() {
        let told = raw(r#"{"blank":" ","one":"1","two":"2","flag":true,"off":false}"#);
        assert_eq!(words(told, &["blank", "one", "two"]).as_deref(), Some("1"));
        assert_eq!(words(told, &["blank", "flag"]), None);
        let flags = ["flag", "off", "one", "x"].map(|name| is_true(told, name));
        assert_eq!(flags, [true, false, false, false]);
    }

    #[test]
    fn text_may_be_written_as_bytes() {
        assert_eq!(text_or_bytes(raw(r#""hi""#)).as_deref(), Some("hi"));
        assert_eq!(text_or_bytes(raw("[104,105]")).as_deref(), Some("hi"));
        assert_eq!(text_or_bytes(raw("[104,1050]")), None);
        assert_eq!(text_or_bytes(raw("7")), None);
    }

    #[test]
    fn what_stands_between_two_marks_is_taken_out_wherever_it_stands() {
        let left = |text: &'static str| without(Cow::Borrowed(text), "<a>", "</a>");
        assert_eq!(left("1<a>2</a>3<a>4</a>5"), "135");
        assert_eq!(left("1<a>2"), "1");
        assert_eq!(left("1</a>2"), "1</a>2");
        assert_eq!((bare("_x.ai/a"), bare("x.ai/a")), ("x.ai/a", "x.ai/a"));
    }
}

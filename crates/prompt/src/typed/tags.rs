//! What the macros call: reading members, tags and words, with a mend for the usual mistakes.

use super::{Reader, Slots, Typed, quoted};
use crate::fault::FaultKind;
use crate::json::Json;

/// Reads one member of a record.
pub(crate) fn read_member<T: Typed, const N: usize>(
    slots: &mut Slots<N>,
    key: &'static str,
    reader: &mut Reader,
) -> Option<T> {
    let value = slots.take(key);
    reader.within(key, |reader| match value {
        Some(value) => T::read(value, reader),
        None => T::absent(reader),
    })
}

/// Checks the tag of a record that is read by itself.
pub(crate) fn read_tag<const N: usize>(
    slots: &mut Slots<N>,
    key: &'static str,
    tag: &'static str,
    reader: &mut Reader,
) -> Option<()> {
    let value = slots.take(key);
    reader
        .within(key, |reader| check_tag(value.as_ref(), &[tag], reader))
        .map(drop)
}

/// Finds out which of the allowed tags a value has, and reports one that is not allowed.
pub(crate) fn find_tag(
    value: &Json,
    key: &'static str,
    expected: &str,
    allowed: &'static [&'static str],
    reader: &mut Reader,
) -> Option<&'static str> {
    let Json::Object(object) = value else {
        reader.wrong_type(value, expected);
        return None;
    };
    reader.within(key, |reader| check_tag(object.get(key), allowed, reader))
}

/// Reads one of a set of fixed strings.
pub(crate) fn read_word(
    value: &Json,
    expected: &str,
    words: &'static [&'static str],
    reader: &mut Reader,
) -> Option<&'static str> {
    let Some(text) = value.as_str() else {
        reader.wrong_type(value, expected);
        return None;
    };
    let word = words.iter().find(|word| **word == text);
    if word.is_none() {
        reader.fault(
            FaultKind::BadValue,
            quoted(text),
            listed(words),
            nearest(text, words),
        );
    }
    word.copied()
}

fn check_tag(found: Option<&Json>, allowed: &[&'static str], reader: &mut Reader) -> Option<&'static str> {
    match found {
        None => {
            reader.fault(
                FaultKind::Missing,
                "nothing",
                listed(allowed),
                "say which of them it is",
            );
            None
        }
        Some(Json::String(tag)) => {
            let known = allowed.iter().find(|known| ***known == **tag);
            if known.is_none() {
                let mend = known_mistake(tag).map_or_else(|| nearest(tag, allowed), str::to_owned);
                reader.fault(FaultKind::UnknownTag, quoted(tag), listed(allowed), mend);
            }
            known.copied()
        }
        Some(other) => {
            reader.fault(
                FaultKind::WrongType,
                other.kind(),
                listed(allowed),
                "give one of them as a string",
            );
            None
        }
    }
}

/// What to do about tags that people bring along from other forms.
fn known_mistake(tag: &str) -> Option<&'static str> {
    Some(match tag {
        "image" => "write it as {\"type\":\"file\",\"mediaType\":\"image\",\"data\":…}",
        "image_url" | "input_image" | "input_audio" | "input_file" | "document" => {
            "this is a provider's own part: write it as a file part"
        }
        "input_text" | "output_text" => "this is a provider's own part: write it as a text part",
        "tool_use" | "tool_calls" | "function_call" => "write it as a tool-call part of an assistant message",
        "tool_result" | "function_call_output" => "write it as a tool-result part of a tool message",
        "tool-call" | "reasoning" | "reasoning-file" | "custom" => "move the part into an assistant message",
        "tool-result" => {
            "move the part into a tool message, or an assistant message if the provider ran the tool"
        }
        "tool-approval-response" => "move the part into a tool message",
        "tool-approval-request" => "drop the part: a prompt holds approval responses only",
        "source" | "source-url" | "source-document" => "drop the part: a prompt has no sources",
        "developer" => "use the role system; providers that need it turn it into developer",
        "function" => "use the role tool",
        "model" => "use the role assistant",
        "file-data" | "file-url" | "file-id" | "image-data" | "image-url" | "image-file-id" => {
            "this is an older form: write it as a file item with tagged data"
        }
        _ => return None,
    })
}

fn listed(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("{word:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A suggestion, if the text looks like one of the words misspelt.
fn nearest(text: &str, words: &[&str]) -> String {
    let plain = |word: &str| {
        word.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_lowercase()
    };
    let wanted = plain(text);
    let close = words.iter().find(|word| {
        let word = plain(word);
        word == wanted || (wanted.len() > 3 && (word.starts_with(&wanted) || wanted.starts_with(&word)))
    });
    match close {
        Some(word) => format!("did you mean {word:?}?"),
        None => "use one of the allowed values".to_owned(),
    }
}

//! The agent's words in an error.

use std::borrow::Cow;

use tapline_timeline::{Detail, Failure, Json};
use tapline_wire::{AgentError, RawValue, value};

/// The protocol's code for an agent that nobody is signed in to.
pub(crate) const SIGN_IN: i64 = -32000;

/// The messages of JSON-RPC 2.0 itself: they name a code and say nothing.
const EMPTY_MESSAGES: [&str; 5] = [
    "parse error",
    "invalid request",
    "method not found",
    "invalid params",
    "internal error",
];

/// Where the words stand in `data`, in the order of preference.
const WORDS_IN_DATA: [&str; 4] = ["message", "details", "detail", "error"];

/// What an error answer says.
///
/// The message is the words, unless it is one of JSON-RPC's own; such a message is cut off as a prefix before `: `.
/// If nothing is left, `data` is asked: a string, or its `message`, `details`, `detail` or `error` where that is one.
pub fn words<'a>(error: &AgentError<'a>) -> Option<Cow<'a, str>> {
    from_message(&error.message).or_else(|| error.data.and_then(from_data))
}

fn from_message<'a>(message: &Cow<'a, str>) -> Option<Cow<'a, str>> {
    let text = message.trim();
    let lower = text.to_ascii_lowercase();
    for empty in EMPTY_MESSAGES {
        let Some(rest) = lower.strip_prefix(empty) else {
            continue;
        };
        if rest.is_empty() || rest == "." {
            return None;
        }
        if rest.starts_with(": ") {
            let words = text[empty.len() + 2..].trim();
            return (!words.is_empty()).then(|| Cow::Owned(words.to_owned()));
        }
    }
    (!text.is_empty()).then(|| message.clone())
}

fn from_data(data: &RawValue) -> Option<Cow<'_, str>> {
    let filled = |text: Cow<'_, str>| !text.trim().is_empty();
    if let Some(text) = value::text(data) {
        return Some(text).filter(|t| filled(t.clone()));
    }
    WORDS_IN_DATA
        .iter()
        .find_map(|name| value::member_text(data, name).filter(|t| filled(t.clone())))
}

/// All that an error answer holds. `null` is nothing: a row that held it would not be the same when it is read back.
pub(crate) fn whole(error: &AgentError<'_>) -> Option<Json> {
    (error.raw.get() != "null").then(|| Json::new(error.raw))
}

/// An error answer as a failure. The words are those of [`words`] unless a dialect gave others.
pub(crate) fn failure<'a>(
    error: &AgentError<'a>,
    words: Option<Cow<'a, str>>,
    sentence: Cow<'a, str>,
    source: &str,
) -> Failure<'a> {
    let detail = Detail {
        code: error.readable.then(|| error.code.to_string()),
        source: Some(source.to_owned()),
        more: whole(error),
    };
    Failure {
        words,
        sentence: Some(sentence),
        detail,
    }
}

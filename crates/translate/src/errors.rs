//! An error of the agent: its words, and ours where it has none.

use std::borrow::Cow;

use tapline_timeline::{Detail, Failure, Json};
use tapline_wire::{AgentError, RawValue, value};

use crate::connection::Translator;

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
fn whole(error: &AgentError<'_>) -> Option<Json> {
    (error.raw.get() != "null")
        .then(|| crate::parts::json(error.raw))
        .flatten()
}

impl Translator {
    /// The failure that the error answer to a prompt tells of.
    pub(crate) fn prompt_failure<'a>(&self, error: &AgentError<'a>) -> Failure<'a> {
        self.failure(error, "answer", || {
            self.sentence(self.dialect.error_reason(error))
        })
    }

    /// The failure that an error answer tells of, with a sentence of ours for when it has no words. The words are those of
    /// [`words`] unless the dialect gave others.
    ///
    /// However an agent says that nobody is signed in, the detail's code is the protocol's, and so is our sentence.
    pub(crate) fn failure<'a>(
        &self,
        error: &AgentError<'a>,
        source: &str,
        sentence: impl FnOnce() -> Cow<'a, str>,
    ) -> Failure<'a> {
        let asks_for_sign_in = self.dialect.asks_for_sign_in(error);
        let code = if asks_for_sign_in {
            Some(SIGN_IN.to_string())
        } else {
            error.readable.then(|| error.code.to_string())
        };
        let sentence = if asks_for_sign_in {
            Cow::Owned(format!("{} is not signed in.", self.agent_in_a_sentence()))
        } else {
            sentence()
        };
        let detail = Detail {
            code,
            source: Some(source.to_owned()),
            more: whole(error),
        };
        Failure {
            words: error.readable.then(|| self.words_of(error)).flatten(),
            sentence: Some(sentence),
            detail,
        }
    }

    fn words_of<'a>(&self, error: &AgentError<'a>) -> Option<Cow<'a, str>> {
        match self.dialect.error_words(error) {
            Some(words) => words,
            None => words(error),
        }
    }

    /// Our sentence for a failed turn without words.
    pub(crate) fn sentence<'a>(&self, reason: Option<&str>) -> Cow<'a, str> {
        match self.dialect.failure_sentence(reason) {
            Some(sentence) => Cow::Borrowed(sentence),
            None => Cow::Owned(format!(
                "{} ended this turn with an error.",
                self.agent_in_a_sentence()
            )),
        }
    }

    /// What the agent is called in a sentence of ours.
    pub(crate) fn agent_in_a_sentence(&self) -> &str {
        let name = self.dialect.agent_name().or(self.agent_label.as_deref());
        name.unwrap_or("The agent")
    }
}

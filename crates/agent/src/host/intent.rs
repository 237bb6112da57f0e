//! What can be wanted of a hosted session: the kinds of intents, their payloads and their outcomes.
//!
//! All are JSON objects, so that any program with the journal, or with the API in front of it, can post one.
//!
//! | kind | payload | outcome |
//! |---|---|---|
//! | `prompt` | `{"text", "parts"?, "steer"?}`: words, content blocks of the protocol, whether a running turn is stopped for it | `{"delivery", "row", "reason"?}` |
//! | `answer` | `{"request", "option"}`, `{"request", "answers"}` or `{"request", "cancel": true}` | `{"outcome"}` |
//! | `stop` | `{}`, `{"turn"}` or `{"task"}`: the ids of rows | `{"stopped", "process_ended"?}` |
//! | `set_option` | `{"option", "value"}`, `{"mode"}` or `{"model"}` | `{"ok": true}` |
//! | `close` | `{}` | `{"closed": true}` |
//!
//! An outcome with `error` says why nothing was done, and `by` who had done it before.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tapline_timeline::QuestionAnswer;

/// `prompt`.
pub const PROMPT: &str = "prompt";
/// `answer`.
pub const ANSWER: &str = "answer";
/// `stop`.
pub const STOP: &str = "stop";
/// `set_option`.
pub const SET_OPTION: &str = "set_option";
/// `close`.
pub const CLOSE: &str = "close";

/// A prompt. It waits until no other prompt of the session runs, and can be edited and withdrawn as long as it waits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What comes after the words: content blocks as the protocol has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Value>,
    /// The running turn is stopped for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steer: bool,
}

/// An answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Row id of the request.
    pub request: String,
    /// Id of the option chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Answers to the questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswer>,
    /// It is put away unanswered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel: bool,
}

/// What to stop: without either, whatever runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Row id of the turn; one that does not run stops nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Row id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// What to set: one of the three.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SetOption {
    /// Id of the option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Its value: a string, true or false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Id of the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Id of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

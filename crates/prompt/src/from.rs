//! Prompts from the requests of other APIs, so that a server can take their clients.
//!
//! A client that speaks OpenAI's or Anthropic's protocol sends a conversation in that provider's own
//! form. Each function here reads such a request into a typed prompt and call options:
//!
//! * [`openai_chat`] for `POST /v1/chat/completions`,
//! * [`openai_responses`] for `POST /v1/responses`,
//! * [`anthropic_messages`] for `POST /v1/messages`.
//!
//! What only the original provider understands (signatures, item ids, cache marks, its own settings)
//! goes into the provider options of its name, where the SDK's converters look for it, so a request
//! that goes back to the same provider arrives there as it was. What has no place at all is listed in
//! [`Imported::lost`] with its path and the reason. Nothing is dropped silently: a member that nobody
//! read is on that list. A request that is no request gives [`Faults`], all of them.

mod anthropic;
mod conversation;
mod openai_chat;
mod openai_responses;
mod request;

use std::borrow::Cow;
use std::fmt;

use crate::fault::Faults;
use crate::json::{Json, Text};
use crate::path::Path;
use crate::types::{CallOptions, Prompt};

/// A request, as the SDK's interface has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The conversation.
    pub prompt: Prompt,
    /// Everything else that was asked for.
    pub options: CallOptions,
    /// The model that was asked for.
    pub model: Option<Text>,
    /// Whether the client wants a stream.
    pub stream: bool,
    /// What could not be carried over.
    pub lost: Vec<Lost>,
}

/// Something that could not be carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Where it stands in the request.
    pub path: Path,
    /// Why.
    pub why: Cow<'static, str>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.why)
    }
}

/// Reads a request to OpenAI's chat API.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::{from, typed::Typed};
///
/// let request = Json::parse(r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}],"n":2}"#)?;
/// let imported = from::openai_chat(&request)?;
/// assert_eq!(
///     imported.prompt.to_json().to_js(),
///     r#"[{"role":"user","content":[{"type":"text","text":"Hi"}]}]"#
/// );
/// assert_eq!(imported.lost[0].path.to_string(), "n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn openai_chat(request: &Json) -> Result<Imported, Faults> {
    openai_chat::read(request)
}

/// Reads a request to OpenAI's Responses API.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::from;
///
/// let request = Json::parse(r#"{"model":"gpt-5","input":"Hi","stream":true}"#)?;
/// let imported = from::openai_responses(&request)?;
/// assert!(imported.stream);
/// assert_eq!(imported.prompt.messages().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn openai_responses(request: &Json) -> Result<Imported, Faults> {
    openai_responses::read(request)
}

/// Reads a request to Anthropic's Messages API.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::from;
///
/// let request = Json::parse(r#"{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":7}]}"#)?;
/// let faults = from::anthropic_messages(&request).unwrap_err();
/// assert_eq!(faults.iter().next().unwrap().path.to_string(), "messages[0].content");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn anthropic_messages(request: &Json) -> Result<Imported, Faults> {
    anthropic::read(request)
}

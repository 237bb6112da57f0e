//! `LanguageModelV4Prompt`, whole and exact, for any Rust program.
//!
//! A V4 prompt is the provider-neutral form in which the AI SDK hands a conversation to a model. This
//! crate holds its types, checks it, and turns it into the request of each provider, equal to what the
//! published JavaScript packages send, down to the text of numbers inside JSON inside JSON. It does no
//! I/O: values in, values out.
//!
//! ```
//! use tapline_prompt::json::Object;
//! use tapline_prompt::providers::{Call, Profile, Target};
//! use tapline_prompt::types::{CallOptions, Prompt};
//!
//! let prompt = Prompt::parse(r#"[{"role":"user","content":[{"type":"text","text":"Hi"}]}]"#)?;
//! let target = Target::find("openai", "chat").expect("a known target");
//! let conversion = target.convert(&Call {
//!     model: "gpt-4o",
//!     settings: &Object::new(),
//!     prompt: &prompt,
//!     options: &CallOptions::new(),
//!     profile: Profile::Exact,
//! })?;
//! assert_eq!(conversion.request.path, "/v1/chat/completions");
//! let body = tapline_prompt::json::Json::from(&conversion.request.body).to_js();
//! assert_eq!(body, r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! * [`json`] and [`path`]: JSON values that keep their text, and places in them.
//! * [`typed`] and [`fault`]: reading JSON into types with a list of every fault, and back.
//! * [`types`]: the V4 interface. [`types::prompt`] is the prompt itself.
//! * [`check`]: what types cannot say, such as a call without a result.
//! * [`media_type`] and [`base64`](mod@base64): files, as the SDK's helpers see them.
//! * [`providers`]: from a prompt to a request.
//! * [`ui`]: messages of chat clients and the stream they read.
//! * [`model_messages`]: messages as programs keep them, and how they become a prompt.
//! * [`from`]: prompts from requests in the forms of other APIs.
//! * [`schema`]: the JSON Schema of the prompt.
//! * [`error`]: the errors of the SDK by name.
//!
//! # Invariants
//!
//! 1. **lossless** JSON → types → JSON gives back the same text: order of members, unknown members,
//!    text of numbers and URLs. Only the JSON forms of bytes become one, base64.
//! 2. **no-wrong-state** What the specification forbids cannot be built: a user message cannot hold a
//!    tool call, a reasoning file cannot hold a reference.
//! 3. **every-fault** Reading never stops at the first fault, never panics, and names the place of each.
//! 4. **equal** In the exact profile a request is what the published packages send, and an error is the
//!    one they throw.
//! 5. **accounted** Every part that a conversion drops or changes is in its report.
//! 6. **copied-once** Base64 is a window into the text it was read from until the body is written.

#![forbid(unsafe_code)]

pub mod base64;
pub mod check;
pub mod error;
pub mod fault;
pub mod from;
pub mod json;
pub mod media_type;
pub mod model_messages;
pub mod path;
pub mod providers;
pub mod schema;
pub mod typed;
pub mod types;
pub mod ui;

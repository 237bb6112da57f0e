//! The types of the V4 language model interface.
//!
//! [`Prompt`] and what is in it come first, in [`prompt`]; the rest of the interface that a server or
//! a client needs stands in [`call`] (what a caller asks for) and [`generate`] (what a model gives).

pub mod call;
pub mod file;
pub mod generate;
pub mod output;
pub mod prompt;

pub use call::{CallOptions, Reasoning, ResponseFormat, Tool, ToolChoice};
pub use file::{FileData, FileUrl, Inline, StoredData};
pub use generate::{Content, FinishReason, GenerateResult, StreamPart, Usage, Warning};
pub use output::{ContentItem, ToolOutput};
pub use prompt::{AssistantPart, Message, Prompt, ToolPart, UserPart};

use crate::json::{Json, Object};
use crate::typed::Map;

/// Options for providers: provider id → a JSON object that only that provider reads.
pub type ProviderOptions = Map<Object>;

/// Looks up one option of one provider; `null` counts as absent, as it does to the SDK.
pub(crate) fn provider_option<'a>(
    options: Option<&'a ProviderOptions>,
    provider: &str,
    key: &str,
) -> Option<&'a Json> {
    options?.get(provider)?.get(key).filter(|value| !value.is_null())
}

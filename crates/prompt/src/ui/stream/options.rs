//! How a stream is made for a client, and what the model was given.

use std::fmt;

use crate::json::{Json, Text};
use crate::ui::validate::Check;

/// The text that stands for an error which is nobody's business.
pub const MASKED_ERROR: &str = "An error occurred.";

/// How a stream is made for a client.
pub struct ChunkStreamOptions<'a> {
    /// The id of the message.
    pub message_id: Option<Text>,
    /// Metadata for its start.
    pub start_metadata: Option<Json>,
    /// Metadata for its end.
    pub finish_metadata: Option<Json>,
    /// Whether thoughts are sent.
    pub send_reasoning: bool,
    /// Whether sources are sent.
    pub send_sources: bool,
    /// Whether the start and the finish of the message are sent.
    pub send_frame: bool,
    /// The tools that the model was given.
    pub tools: Option<Vec<StreamTool<'a>>>,
    /// Puts an error into words for the client. Without it all errors read [`MASKED_ERROR`].
    pub error_text: Option<&'a dyn Fn(&Json) -> String>,
}

impl Default for ChunkStreamOptions<'_> {
    fn default() -> Self {
        ChunkStreamOptions {
            message_id: None,
            start_metadata: None,
            finish_metadata: None,
            send_reasoning: true,
            send_sources: false,
            send_frame: true,
            tools: None,
            error_text: None,
        }
    }
}

impl fmt::Debug for ChunkStreamOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkStreamOptions")
            .field("message_id", &self.message_id)
            .field("send_reasoning", &self.send_reasoning)
            .field("send_sources", &self.send_sources)
            .field("send_frame", &self.send_frame)
            .finish_non_exhaustive()
    }
}

/// A tool that the model was given.
pub struct StreamTool<'a> {
    /// Its name.
    pub name: Text,
    /// What a client shows for it.
    pub title: Option<Text>,
    /// Whether the client does not know its types.
    pub is_dynamic: bool,
    /// Checks the input of a call; without it any JSON is taken.
    pub check_input: Option<Check<'a>>,
}

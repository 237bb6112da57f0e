//! UI messages: what a chat client shows, stores and sends, and the stream it reads.
//!
//! A UI message is one bubble of a chat: an id, a role, and parts that know how far they have come (a
//! tool call that waits for approval, text that still streams). It comes from outside, from browsers
//! and databases. So it stays JSON here, and is made safe in steps that stand apart:
//!
//! * [`validate`] checks a list of messages, with the issues and paths of the SDK.
//! * [`to_model_messages`] turns it into model messages, and
//!   [`model_messages`](crate::model_messages) turns those into a typed prompt.
//!
//! The way back to the client is a stream:
//!
//! * [`ChunkStream`] turns the parts that a model streams into chunks,
//! * [`sse`] frames them as server-sent events and reads such frames,
//! * [`Chunk`] is a chunk that was checked, and [`MessageBuilder`] makes a UI message of them.
//!
//! Like the whole crate this does no I/O: values in, values out.

mod build;
mod chunk;
mod convert;
mod issue;
pub(crate) mod message_shape;
mod partial_json;
pub(crate) mod shape;
pub mod sse;
mod stream;
mod validate;

pub use build::{Event, MessageBuilder};
pub use chunk::Chunk;
pub use convert::{ConvertDataPart, ToModelMessages, ToolRun, Tools, to_model_messages};
pub use issue::{Context, Issue, IssueKind, Mismatch};
pub use partial_json::parse_partial_json;
pub use stream::{ChunkStream, ChunkStreamOptions, MASKED_ERROR, StreamTool};
pub use validate::{Check, InvalidMessages, ToolChecks, Validation, validate};

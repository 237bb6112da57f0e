//! Model messages: what a program keeps between calls, and how a prompt is made of them.
//!
//! A model message is looser than a message of the prompt: content may be plain text, a file may be
//! given in half a dozen forms, and approvals of tool calls are part of it. It is what the SDK's users
//! write by hand and store, and the SDK takes it unvalidated. So it is JSON here too; what comes out at
//! the end is a typed [`Prompt`](crate::types::Prompt), which cannot be wrong. The steps, each usable
//! by itself:
//!
//! 1. [`validate_message`] checks a message, if one wants to.
//! 2. [`prune`] takes weight off a long history.
//! 3. [`standardize`] makes a list of what was given.
//! 4. [`approvals`] settles the approvals that it ends with.
//! 5. [`ToPrompt`] makes the prompt, once the caller has fetched what the model cannot.

pub mod approvals;
mod convert;
mod downloads;
pub(crate) mod file_data;
pub(crate) mod lenient;
mod prune;
mod shape;
mod signature;
mod standardize;
pub(crate) mod tool_output;

pub use convert::{Converted, Instructions, ToPrompt};
pub use downloads::{Download, Downloads, WantedDownload};
pub use prune::{Prune, PruneReasoning, PruneTools, UnknownRule, prune};
pub use shape::validate_message;
pub use signature::Signed;
pub use standardize::{Given, standardize};
pub use tool_output::ToolOutcome;

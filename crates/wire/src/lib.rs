//! What stands on the wire between an ACP client and a coding agent, read and written.
//!
//! An agent speaks JSON-RPC 2.0, one message a line, and real agents bend every rule of it. This crate turns
//! bytes into lines ([`line`]), lines into frames ([`frame`]), and the raw members of frames into facts
//! ([`update`], [`content`], [`permission`], [`question`], [`session`]). For the cases in which Tapline itself is
//! the client it writes the lines too ([`client`]). It does no input or output of its own: whoever holds the pipe
//! pushes bytes in.
//!
//! Reading is one pass that borrows from the line. A frame of a streamed word costs a few hundred nanoseconds,
//! since nothing is copied, no tree of values is built, and what the caller may never look at stays raw text.
//! The few levels that every frame has (the envelope, `params`, `update`) are walked by a small cursor; every
//! value below them is checked and skipped by `serde_json`, which does so without recursion, so that nesting of
//! any depth is only data.
//!
//! # Invariants
//!
//! - *Nothing is lost by strictness.* An unknown kind, status, stop reason, option or member is kept word for
//!   word; a member of the wrong type counts as absent; one broken item of a list leaves the others. `null` reads
//!   as absent, except in the few members where [`Patch`] tells the two apart.
//! - *The order of members means nothing,* and of two members with one name the last counts.
//! - *Ids are exact.* `1`, `"1"` and `1.0` are three ids, and an answer repeats the one it was asked with.
//! - *Cutting changes nothing.* A stream gives the same lines however it is cut into reads.
//! - *Memory is bounded* by the longest line allowed; of a longer one a prefix stays, from which whoever waits
//!   for it can be told ([`TooLongHint`]).
//! - *No input panics.*

#![forbid(unsafe_code)]

pub mod client;
pub mod content;
mod cursor;
pub mod frame;
pub mod id;
pub mod line;
pub mod permission;
pub mod question;
pub mod session;
pub mod update;
pub mod value;

pub use content::{Block, List, ToolContent};
pub use frame::{AgentError, EnvelopeFault, Fault, Frame, NotAFrame, Params, TooLongHint, read};
pub use id::{Id, OwnedId};
pub use line::{LINE_LIMIT, Line, LineReader, PREFIX_LIMIT};
pub use permission::{Permission, PermissionFault, PermissionOption};
pub use question::{Elicitation, Question, QuestionKind, QuestionOption};
pub use serde_json::value::RawValue;
pub use update::{Patch, Update, UpdateFields};

//! What stands on the wire between an ACP client and a coding agent, read and written.
//!
//! An agent speaks JSON-RPC 2.0, one message a line, and real agents bend every rule of it. This crate turns
//! bytes into lines ([`mod@line`]), lines into frames ([`frame`]), and the raw members of frames into facts
//! ([`update`], [`content`], [`detail`], [`permission`], [`question`], [`session`]). For the cases in which Tapline itself is
//! the client it writes the lines too ([`client`]). It does no input or output of its own: whoever holds the pipe
//! pushes bytes in.
//!
//! Reading is one pass that borrows from the line. A frame of a streamed word costs a few hundred nanoseconds,
//! since nothing is copied, no tree of values is built, and what the caller may never look at stays raw text.
//! The few levels that every frame has (the envelope, `params`, `update`) are walked by a small cursor, and every
//! value below them is checked and skipped, without recursion, so that nesting of any depth is only data. Whoever looks
//! into such a [`RawValue`] later takes it on trust: a line is checked once.
//!
//! ```
//! use tapline_wire::{Block, Frame, Line, LineReader, Params, read};
//!
//! let mut words = String::new();
//! let mut reader = LineReader::new();
//! let output = br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{
//! "sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello."}}}}"#;
//! // One message a line: this one was only broken in two to be read by people.
//! let output: Vec<u8> = output.iter().copied().filter(|&byte| byte != b'\n').chain([b'\n']).collect();
//! for bytes in output.chunks(7) {
//!     reader.push(bytes, |line| {
//!         let Line::Text(line) = line else { return };
//!         let Ok(Frame::Notification { params: Params::Update(update), .. }) = read(&line) else { return };
//!         if let Some(Block::Text { text }) = update.fields.content.and_then(Block::read) {
//!             words += &text;
//!         }
//!     });
//! }
//! assert_eq!(words, "Hello.");
//! ```
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

mod check;
pub mod client;
pub mod content;
mod cursor;
pub mod detail;
pub mod frame;
pub mod id;
pub mod line;
pub mod permission;
pub mod question;
mod raw;
pub mod session;
pub mod update;
pub mod value;

pub use content::{Block, List, ToolContent};
pub use detail::{Command, Cost, HelperState, Location, NamedPlan, PlanEntry};
pub use frame::{AgentError, EnvelopeFault, Fault, Frame, NotAFrame, Params, TooLongHint, read};
pub use id::{Id, OwnedId};
pub use line::{LINE_LIMIT, Line, LineReader, PREFIX_LIMIT};
pub use permission::{Permission, PermissionFault, PermissionOption};
pub use question::{Elicitation, Question, QuestionKind, QuestionOption};
pub use raw::{OwnedRawValue, RawValue};
pub use update::{Patch, Update, UpdateFields};

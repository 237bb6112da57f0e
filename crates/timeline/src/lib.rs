//! The timeline of a coding agent's session: events in, rows out.
//!
//! An agent's traffic is a heap of pieces: chunks of words, updates of tools, answers that come late, twice or never. This crate turns
//! what a translator read out of it (the small vocabulary of [`Event`]) into one clean list of [`Row`]s: one row a message, a tool,
//! a question, each revised in place until it settles, each in the turn it belongs to. It knows no protocol, no file and no clock; time comes in
//! with each input. Rows and their JSON are the public form of the whole project.
//!
//! The [`Assembler`] decides everything about lifecycle: what opens a turn and what ends it, which row a piece belongs to, what is left when
//! nobody tells how something ended. It tells its decisions as [`Change`]s to a [`Sink`], and holds open work only: what it has forgotten it asks
//! for through [`Lookup`], by an id that it spells from the agent's own keys ([`Key`], [`RowId`]). So its memory does not grow with the
//! session, and another assembler can go on where one stopped. [`Timeline`] is the reference reader of changes.
//!
//! ```
//! use tapline_timeline::*;
//!
//! /// A host keeps the rows and answers look-ups; here in memory.
//! #[derive(Default)]
//! struct Memory(Timeline);
//!
//! impl Sink for Memory {
//!     fn change(&mut self, change: Change<'_>) { self.0.apply(&change) }
//!     fn state(&mut self, _: &'static str) {}
//!     fn drop(&mut self, _: Reason) {}
//! }
//! impl Lookup for Memory {
//!     fn row(&self, id: &RowId) -> Option<std::sync::Arc<Row>> { self.0.row(id) }
//! }
//!
//! let mut host = Memory::default();
//! let mut assembler = Assembler::new(Session::new(SessionId::from("s")), 0);
//! let prompt = Prompt { key: "1", turn: None, content: Content::text("Hi"), agent_ends_own_turns: false };
//! let words = |text| Text { turn: None, channel: Channel::Assistant, message: None, mark: None, text };
//! let events = [Event::Prompt(prompt), Event::Text(words("Hel")), Event::Text(words("lo")), Event::Stop];
//! for (frame, event) in (1..).zip(events) {
//!     let mut cx = Cx { at: None, frame, connection: "1", host: &mut host };
//!     assembler.apply(&mut cx, event);
//! }
//! let kinds: Vec<&str> = host.0.rows().iter().map(|row| row.kind().as_str()).collect();
//! assert_eq!(kinds, ["turn", "user", "assistant"]);
//! ```
//!
//! # Invariants
//!
//! - *one-path*: the same events give the same rows, byte for byte; an id depends on keys and inputs, never on chance or memory.
//! - *accounted*: every event ends as a change, a state change or a drop with a named [`Reason`].
//! - *settled-stays*: nothing moves a settled row back. What was settled for want of news (`interrupted`, `unknown`) may still be completed by
//!   the real news; a failure may still learn that its permission was refused.
//! - *one-failure*: a failed turn has one error row, whichever copy of the reason comes first.
//! - *bounded*: every list and value has a named limit ([`limits`]). What a row had to leave out stands in its `truncated` (a cut label ends with
//!   `…`), what was let go is counted ([`Counters`]), and the session goes on.
//! - *constant-delta*: a piece of text is one append of its own bytes, whatever the message's length; it asks for no row.
//! - *fold*: changes of a row come in order and raise its revision by one; live, replayed, and a snapshot with its tail are the same rows.
#![forbid(unsafe_code)]

mod assembler;
mod change;
mod content;
mod diff;
mod event;
mod fold;
mod harmless;
mod id;
mod json;
pub mod limits;
mod lookup;
mod outline;
mod readable;
mod row;
mod row_json;
mod time;
mod weight;
mod word;

pub use assembler::{Assembler, Counters, Cx};
pub use change::{Append, Change, Close, Grows, Reason, Sink};
pub use content::{Content, Diff, Media, Part, Terminal, ToolItem, ToolResult};
pub use diff::{COMPARED_BYTES, diff};
pub use event::*;
pub use fold::{Timeline, grow};
pub use harmless::harmless;
pub use id::{Key, PART_LIMIT, RowId, SessionId};
pub use json::Json;
pub use lookup::{Host, Lookup};
pub use outline::{Place, outline};
pub use readable::{LINE_LIMIT, ReadableStream, SEQUENCE_LIMIT, readable};
pub use row::*;
pub use time::Time;
pub use word::*;

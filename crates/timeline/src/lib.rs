//! The timeline of a coding agent's session: events in, rows out.
#![forbid(unsafe_code)]

mod assembler;
mod change;
mod content;
mod diff;
mod event;
mod fold;
mod id;
mod json;
pub mod limits;
mod lookup;
mod readable;
mod row;
mod row_json;
mod time;
mod word;

pub use assembler::{Assembler, Counters, Cx};
pub use change::{Append, Change, Close, Grows, Reason, Sink};
pub use content::{Content, Diff, Media, Part, Terminal, ToolItem, ToolResult};
pub use diff::{COMPARED_BYTES, diff};
pub use event::*;
pub use fold::{Timeline, grow};
pub use id::{Key, PART_LIMIT, RowId, SessionId};
pub use json::Json;
pub use lookup::{Host, Lookup};
pub use readable::{LINE_LIMIT, ReadableStream, SEQUENCE_LIMIT, readable};
pub use row::*;
pub use time::Time;
pub use word::*;

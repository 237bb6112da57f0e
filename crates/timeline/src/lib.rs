//! The timeline of a coding agent's session: events in, rows out.
#![forbid(unsafe_code)]

mod change;
mod content;
mod fold;
mod id;
mod json;
mod lookup;
mod readable;
mod row;
mod row_json;
mod time;
mod word;

pub use change::{Append, Change, Close, Grows, Reason, Sink};
pub use content::{Content, Diff, Media, Part, Terminal, ToolItem, ToolResult};
pub use fold::{Timeline, grow};
pub use id::{Key, PART_LIMIT, RowId, SessionId};
pub use json::Json;
pub use lookup::Lookup;
pub use readable::{LINE_LIMIT, ReadableStream, SEQUENCE_LIMIT, readable};
pub use row::*;
pub use time::Time;
pub use word::*;

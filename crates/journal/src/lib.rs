//! The journal: the durable store of sessions, rows, tapes and intents.
#![forbid(unsafe_code)]

mod batch;
mod body;
#[cfg(feature = "contract")]
pub mod contract;
mod error;
mod home;
mod journal;
mod live;
mod memory;
mod model;
mod settle;
mod sqlite;
mod tape;
mod text;
mod writer;

pub use batch::GATHER_BYTES;
pub use body::LARGE_BYTES;
pub use error::{Error, Source};
pub use home::{HOME_VARIABLE, Home};
pub use journal::Journal;
pub use memory::MemoryJournal;
pub use model::*;
pub use sqlite::{GROUP_COMMIT, LOCK_WAIT, RETRY, SqliteJournal, SqliteOptions};
pub use tape::{BLOCK_BYTES, BLOCK_LIMIT};
pub use text::{INDEX_BYTES, QUERY_WORDS};
pub use writer::{
    BACKLOG_BYTES, GATHER_TAPE_BYTES, GATHER_TIME, OnSaved, RowLookup, SESSIONS_LIMIT, Writer, WriterOptions,
};

/// Entries of a list, where the caller names no number.
pub const LIST_LIMIT: usize = 100;

/// Hits of a search, where the caller names no number.
pub const SEARCH_LIMIT: usize = 20;

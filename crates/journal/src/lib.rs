//! The journal: the durable store of sessions, rows, tapes and intents.
//!
//! A [`Writer`] takes what happens on one connection: inputs for its tape, and the [`tapline_timeline::Change`]s that
//! they make. Readers ask a [`Journal`] for sessions, windows of rows, what changed after a cursor, words, inputs. The
//! journal knows no ACP and no meaning of an input; it knows rows, because it must settle them.
//!
//! [`SqliteJournal`] is the one for people: a file, WAL, every commit on stable storage, one writing thread per process,
//! several processes at once. [`MemoryJournal`] is the measure and the quick one. Both pass the same tests, in
//! `contract` (feature `contract`); another implementation has to pass them too.
//!
//! # Invariants
//!
//! - **saved-means-saved** What [`Writer::saved`] reports survives kill and power loss; reopening shows a prefix that
//!   holds it. An input and its changes (what stands between two [`Writer::seal`]s) are committed together.
//!   `tests/crash.rs`.
//! - **constant-delta** A piece of streamed text costs the same however long its message is: it is appended to a small file
//!   beside the tables (`sqlite/tail.rs`), and the tables take it in when something settles. `benches/journal.rs`.
//! - **nothing-missed** Each change has a cursor of its own, rising in its session; a reader that follows the cursor
//!   sees every row's latest state. `contract`: `a_follower_misses_nothing`.
//! - **one-owner** Of two writers of a session the one with the older generation is refused, at the commit.
//!   `contract`: `an_old_generation_is_refused`.
//! - **settled-by-whoever-looks** A session whose owner's process is gone never reads as running: the owner holds a lock
//!   that the system drops. `contract`: `a_dead_owner_is_settled`.
//! - **asked-once** An intent is claimed by one. `contract`: `an_intent_is_claimed_once`.
//! - **bounded** [`BACKLOG_BYTES`], [`PATIENT_BYTES`], [`GATHER_BYTES`], [`GATHER_TAPE_BYTES`], [`SESSIONS_LIMIT`], [`INDEX_BYTES`],
//!   [`QUERY_WORDS`], [`BLOCK_LIMIT`]; a writer that is refused is told.
//! - **never-silently-shortened** A file that is damaged, foreign or newer is told and left as it is, and so is one whose
//!   log is damaged in a part that was committed. `tests/faults.rs`, `tests/log.rs`.
//!
//! [`tapline_timeline::Lookup`] is answered by [`RowLookup`], with what its writer has not committed yet.
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
pub use sqlite::{CutLog, GROUP_COMMIT, LOCK_WAIT, LogDamage, LogFault, RETRY, SqliteJournal, SqliteOptions};
pub use tape::{BLOCK_BYTES, BLOCK_LIMIT};
pub use text::{INDEX_BYTES, QUERY_WORDS};
pub use writer::{
    BACKLOG_BYTES, GATHER_TAPE_BYTES, GATHER_TIME, OnSaved, PATIENT_BYTES, RowLookup, SESSIONS_LIMIT, Writer,
    WriterOptions,
};

/// Entries of a list, where the caller names no number.
pub const LIST_LIMIT: usize = 100;

/// Hits of a search, where the caller names no number.
pub const SEARCH_LIMIT: usize = 20;

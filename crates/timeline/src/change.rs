//! What the assembler tells its reader: changes of rows and of the session, and what became of inputs that changed none.

use std::sync::Arc;

use crate::id::RowId;
use crate::row::Row;
use crate::session::Session;
use crate::time::Time;
use crate::word::TextState;

/// One change of a session's timeline.
///
/// Changes of one row come in order; each raises the row's `revision` by one. A reader that applies them in order
/// ([`crate::Timeline`] is the reference) holds the timeline.
#[derive(Debug, Clone)]
pub enum Change<'a> {
    /// The session object as it is now.
    Session(&'a Session),
    /// A new row, or a row as it is now.
    Put(&'a Arc<Row>),
    /// Text that a row grew by: for a long reply the only thing that is written.
    Append(Append<'a>),
    /// A message stopped growing.
    Close(Close<'a>),
}

impl Change<'_> {
    /// `seq` of the row that changed.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Change::Session(_) => None,
            Change::Put(row) => Some(row.seq),
            Change::Append(append) => Some(append.seq),
            Change::Close(close) => Some(close.seq),
        }
    }
}

/// Text that a row grew by.
#[derive(Debug, Clone, Copy)]
pub struct Append<'a> {
    /// The row.
    pub id: &'a RowId,
    /// The row's `seq`.
    pub seq: u64,
    /// What grew.
    pub member: Grows,
    /// Length of the member before, in bytes.
    pub offset: u64,
    /// What was added.
    pub text: &'a str,
    /// The row's `revision` with this change.
    pub revision: u64,
    /// Number of the input on the tape.
    pub frame: u64,
}

/// The members that grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grows {
    /// The text of a message.
    Text,
    /// The output of the terminal that stands at this place in a tool's content.
    Terminal(usize),
}

/// A message stopped growing.
#[derive(Debug, Clone, Copy)]
pub struct Close<'a> {
    /// The row.
    pub id: &'a RowId,
    /// The row's `seq`.
    pub seq: u64,
    /// Its state now.
    pub state: TextState,
    /// The agent broke off and said it again.
    pub superseded: bool,
    /// When it ended.
    pub ended_at: Option<Time>,
    /// Size of the whole text at the source, where more came than was kept.
    pub cut_bytes: Option<u64>,
    /// The row's `revision` with this change.
    pub revision: u64,
    /// Number of the input on the tape.
    pub frame: u64,
}

/// Why an input, or a piece of it, changed no row. The names are stable: `explain` prints them, tests name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reason(pub &'static str);

/// Takes what the assembler and the translator have to tell about one input.
pub trait Sink {
    /// A row or the session changed.
    fn change(&mut self, change: Change<'_>);
    /// Something else changed: what is open, what is known of the agent. `what` is a stable name.
    fn state(&mut self, what: &'static str);
    /// The input, or a piece of it, was dropped.
    fn drop(&mut self, reason: Reason);
    /// Bytes that a row names by their hash (BLAKE3, hex). Where they are not kept, the row still names them.
    fn blob(&mut self, hash: &str, bytes: &[u8]) {
        let _ = (hash, bytes);
    }
}

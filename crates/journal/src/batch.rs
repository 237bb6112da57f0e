//! What a writer has gathered for one commit.
//!
//! Streamed text goes into one arena and grows the last entry where it can, so that a frame of a long reply costs a
//! copy of its bytes and no allocation. A batch is applied whole or not at all.

use std::sync::Arc;
use std::time::Instant;

use tapline_timeline::{Append, Body, Close, Grows, Row, RowId, Session, TextState, Time};

use crate::model::TapeInput;
use crate::tape;

/// Text gathered in one append before the next begins, in bytes.
pub const GATHER_BYTES: usize = 16 * 1024;

/// Changes and inputs that are committed together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Changes in order.
    pub(crate) entries: Vec<Entry>,
    /// The text of all appends.
    pub(crate) text: String,
    /// Inputs, as records of a tape.
    pub(crate) tape: Vec<u8>,
    /// Numbers of the first and the last input.
    pub(crate) numbers: Option<(u64, u64)>,
    /// Values for the blob store: hash and bytes.
    pub(crate) blobs: Vec<(String, Vec<u8>)>,
    /// The agents' own session ids, with the agent they belong to.
    pub(crate) providers: Vec<(usize, String, String)>,
    /// What the batch weighs in memory, roughly.
    pub(crate) bytes: usize,
    /// Something settled: commit at once.
    pub(crate) urgent: bool,
    /// When the first thing came.
    pub(crate) born: Option<Instant>,
}

/// One change.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Which of the writer's sessions.
    pub(crate) session: usize,
    /// The session's cursor with this change.
    pub(crate) cursor: u64,
    /// What changes.
    pub(crate) op: Op,
}

/// What changes.
#[derive(Debug)]
pub(crate) enum Op {
    Session(Box<Session>),
    Put(Arc<Row>),
    Append(Grown),
    Close(Closed),
    /// The generation ends.
    End,
}

/// Text that a row grew by, gathered.
#[derive(Debug, Clone)]
pub(crate) struct Grown {
    pub(crate) id: RowId,
    pub(crate) seq: u64,
    pub(crate) member: Grows,
    pub(crate) offset: u64,
    /// Where the text stands in the arena.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) revision: u64,
    pub(crate) frame: u64,
}

/// A message that stopped growing.
#[derive(Debug, Clone)]
pub(crate) struct Closed {
    pub(crate) id: RowId,
    pub(crate) seq: u64,
    pub(crate) state: TextState,
    pub(crate) superseded: bool,
    pub(crate) ended_at: Option<Time>,
    pub(crate) cut_bytes: Option<u64>,
    pub(crate) revision: u64,
    pub(crate) frame: u64,
}

impl Batch {
    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
            && self.numbers.is_none()
            && self.blobs.is_empty()
            && self.providers.is_empty()
    }

    /// Empties it and keeps its memory, within reason.
    pub(crate) fn recycle(mut self) -> Self {
        const KEEP: usize = 256 * 1024;
        self.entries.clear();
        self.text.clear();
        self.tape.clear();
        self.text.shrink_to(KEEP);
        self.tape.shrink_to(KEEP);
        self.entries.shrink_to(KEEP / size_of::<Entry>());
        Self {
            entries: self.entries,
            text: self.text,
            tape: self.tape,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, session: usize, cursor: u64, op: Op) {
        self.bytes += size_of::<Entry>();
        match &op {
            Op::Put(row) => self.bytes += row.weight(),
            Op::Session(_) | Op::Append(_) => {}
            Op::Close(_) | Op::End => {}
        }
        self.urgent |= !matches!(op, Op::Append(_));
        self.entries.push(Entry { session, cursor, op });
    }

    /// Adds text, to the last entry if that grew the same member of the same row.
    pub(crate) fn append(&mut self, session: usize, cursor: u64, append: &Append<'_>) {
        let from = self.text.len();
        self.text.push_str(append.text);
        self.bytes += append.text.len();
        if let Some(Entry {
            session: s,
            cursor: c,
            op: Op::Append(last),
        }) = self.entries.last_mut()
            && *s == session
            && last.seq == append.seq
            && last.member == append.member
            && last.to == from
            && last.offset + (last.to - last.from) as u64 == append.offset
            && last.to - last.from < GATHER_BYTES
        {
            last.to = self.text.len();
            last.revision = append.revision;
            last.frame = append.frame;
            *c = cursor;
            return;
        }
        let grown = Grown {
            id: append.id.clone(),
            seq: append.seq,
            member: append.member,
            offset: append.offset,
            from,
            to: self.text.len(),
            revision: append.revision,
            frame: append.frame,
        };
        self.push(session, cursor, Op::Append(grown));
    }

    pub(crate) fn input(&mut self, number: u64, at: Option<Time>, bytes: &[u8]) {
        let before = self.tape.len();
        tape::push_record(&mut self.tape, number, at, bytes);
        self.bytes += self.tape.len() - before;
        self.numbers = Some((self.numbers.map_or(number, |(first, _)| first), number));
    }

    /// The inputs in it.
    pub(crate) fn inputs(&self) -> Vec<TapeInput> {
        // The records were written by us a moment ago, in memory; they are whole.
        tape::records(&self.tape).filter_map(Result::ok).collect()
    }

    /// What the changes in this batch make of `row`; says whether one of them changes a row that is not given.
    pub(crate) fn replay(&self, id: &RowId, row: &mut Option<Arc<Row>>) -> bool {
        let mut needs_base = false;
        for entry in &self.entries {
            match (&entry.op, &mut *row) {
                (Op::Put(put), _) if put.id == *id => {
                    *row = Some(Arc::clone(put));
                    needs_base = false;
                }
                (Op::Append(grown), Some(row)) if grown.id == *id => {
                    grown.apply(row, &self.text[grown.from..grown.to])
                }
                (Op::Close(closed), Some(row)) if closed.id == *id => closed.apply(row),
                (Op::Append(Grown { id: other, .. }) | Op::Close(Closed { id: other, .. }), None)
                    if other == id =>
                {
                    needs_base = true;
                }
                _ => {}
            }
        }
        needs_base
    }
}

impl Grown {
    /// Grows a row, unless it holds this already.
    pub(crate) fn apply(&self, row: &mut Arc<Row>, text: &str) {
        if row.revision >= self.revision {
            return;
        }
        let append = Append {
            id: &self.id,
            seq: self.seq,
            member: self.member,
            offset: self.offset,
            text,
            revision: self.revision,
            frame: self.frame,
        };
        tapline_timeline::grow(Arc::make_mut(row), &append);
    }
}

impl From<&Close<'_>> for Closed {
    fn from(close: &Close<'_>) -> Self {
        Self {
            id: close.id.clone(),
            seq: close.seq,
            state: close.state,
            superseded: close.superseded,
            ended_at: close.ended_at,
            cut_bytes: close.cut_bytes,
            revision: close.revision,
            frame: close.frame,
        }
    }
}

impl Closed {
    /// Closes a row, unless it holds this already.
    pub(crate) fn apply(&self, row: &mut Arc<Row>) {
        if row.revision >= self.revision {
            return;
        }
        let row = Arc::make_mut(row);
        row.revision = self.revision;
        row.frames[1] = row.frames[1].max(self.frame);
        row.ended_at = self.ended_at;
        if let Some(bytes) = self.cut_bytes {
            row.cut("text", bytes);
        }
        if let Body::Assistant(message) | Body::Reasoning(message) = &mut row.body {
            message.state = self.state;
            message.superseded = self.superseded;
        }
    }
}

//! The tools that news may come of, by the agent's id of the call.
//!
//! Rows are kept at hand while memory allows it ([`limits::TOOL_CACHE_BYTES`]); what is not at hand is asked for again by its
//! id. Whoever changes a row takes it out first, so that the only copy is changed in place, and keeps it afterwards.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::id::RowId;
use crate::limits;
use crate::row::{Body, Row};

/// The newest call under each id.
#[derive(Debug, Default)]
pub(in crate::assembler) struct Tools {
    known: IndexMap<Box<str>, Known>,
    /// How many of them have not ended.
    open: usize,
    /// Bytes of the rows at hand.
    at_hand: usize,
}

#[derive(Debug)]
pub(in crate::assembler) struct Known {
    pub(in crate::assembler) id: RowId,
    /// The row, while it is at hand.
    pub(in crate::assembler) row: Option<Arc<Row>>,
    /// What the row weighs while it is at hand.
    bytes: usize,
    pub(in crate::assembler) open: bool,
    /// Serial of its turn.
    pub(in crate::assembler) turn: u64,
}

impl Known {
    fn bytes_at_hand(&self) -> usize {
        if self.row.is_some() { self.bytes } else { 0 }
    }
}

impl Tools {
    pub(in crate::assembler) fn get(&self, call: &str) -> Option<&Known> {
        self.known.get(call)
    }

    pub(in crate::assembler) fn values(&self) -> impl Iterator<Item = &Known> {
        self.known.values()
    }

    /// The ids of the calls that run and are `wanted`.
    pub(super) fn open_calls(&self, wanted: impl Fn(&Known) -> bool) -> Vec<Box<str>> {
        let open = self.known.iter().filter(|(_, known)| known.open && wanted(known));
        open.map(|(call, _)| call.clone()).collect()
    }

    /// Keeps a tool's row, which stands in the turn with this serial.
    pub(super) fn keep(&mut self, row: Arc<Row>, turn: u64) {
        let Body::Tool(tool) = &row.body else { return };
        let call: Box<str> = tool.call.as_str().into();
        let (bytes, open) = (row.weight(), tool.state.is_open());
        let known = Known {
            id: row.id.clone(),
            row: Some(row),
            bytes,
            open,
            turn,
        };
        self.at_hand += bytes;
        self.open += usize::from(open);
        if let Some(old) = self.known.insert(call, known) {
            self.at_hand -= old.bytes_at_hand();
            self.open -= usize::from(old.open);
        }
    }

    /// Takes a row that is at hand.
    pub(in crate::assembler) fn take_row(&mut self, call: &str) -> Option<Arc<Row>> {
        let known = self.known.get_mut(call)?;
        let row = known.row.take()?;
        self.at_hand -= known.bytes;
        Some(row)
    }

    /// Puts a row back that was taken and grew by so many bytes.
    pub(in crate::assembler) fn put_back(&mut self, call: &str, row: Arc<Row>, grown: usize) {
        if let Some(known) = self.known.get_mut(call) {
            known.row = Some(row);
            known.bytes += grown;
            self.at_hand += known.bytes;
        }
    }

    /// The tool has ended.
    pub(super) fn close(&mut self, call: &str) {
        if let Some(known) = self.known.get_mut(call) {
            self.open -= usize::from(std::mem::take(&mut known.open));
        }
    }

    pub(super) fn forget(&mut self, call: &str) {
        if let Some(known) = self.known.shift_remove(call) {
            self.at_hand -= known.bytes_at_hand();
            self.open -= usize::from(known.open);
        }
    }

    /// Forgets the oldest of those that have ended, once there are twice as many as are kept.
    pub(super) fn forget_ended(&mut self) {
        let ended = self.known.len() - self.open;
        if ended <= 2 * limits::ENDED_TOOLS {
            return;
        }
        let mut extra = ended - limits::ENDED_TOOLS;
        let at_hand = &mut self.at_hand;
        self.known.retain(|_, known| {
            let goes = !known.open && extra > 0;
            if goes {
                extra -= 1;
                *at_hand -= known.bytes_at_hand();
            }
            !goes
        });
    }

    /// Lets rows go, once they weigh more than may be at hand: those of ended tools first. An open one keeps its place here.
    pub(super) fn let_rows_go(&mut self) {
        if self.at_hand <= limits::TOOL_CACHE_BYTES {
            return;
        }
        for open in [false, true] {
            for known in self.known.values_mut() {
                if self.at_hand <= limits::TOOL_CACHE_BYTES / 2 {
                    return;
                }
                if known.open == open && known.row.take().is_some() {
                    self.at_hand -= known.bytes;
                }
            }
        }
    }

    /// The oldest open call, if more are open than may be.
    pub(super) fn one_too_many(&self) -> Option<Box<str>> {
        if self.open <= limits::OPEN_TOOLS {
            return None;
        }
        let (call, _) = self.known.iter().find(|(_, known)| known.open)?;
        Some(call.clone())
    }
}

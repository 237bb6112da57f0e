//! From the pipe to the disk, the cheap way: a batch of streamed text goes to the [tail](super::tail) of its tape, and the next
//! transaction of its writer takes the tail into the tables.

use std::collections::HashMap;

use crate::batch::{Batch, Grown, Op};
use crate::error::Error;
use crate::writer::{Hold, Refused};

use super::store::Store;
use super::tail::{self, Found, Streamed, StreamedEntry, Tail};

/// A row, by its session's place among the holds of a batch and its `seq`.
pub(super) type Key = (usize, u64);

/// What becomes of a change when all of its batch is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The row is put whole later on: this need not be written.
    Overtaken,
    /// The row is closed later on, and written whole then.
    Closed,
    /// It is written.
    Stays,
}

/// Where a batch writes rows whole: the last places of a put and of a close of each.
#[derive(Default)]
pub(super) struct Rewrites(HashMap<Key, (Option<usize>, Option<usize>)>);

impl Rewrites {
    pub(super) fn of(batch: &Batch) -> Self {
        let mut out = Self::default();
        for (index, entry) in batch.entries.iter().enumerate() {
            match &entry.op {
                Op::Put(row) => out.0.entry((entry.session, row.seq)).or_default().0 = Some(index),
                Op::Close(closed) => out.0.entry((entry.session, closed.seq)).or_default().1 = Some(index),
                Op::Session(_) | Op::Append(_) | Op::End => {}
            }
        }
        out
    }

    /// What becomes of a change at `index`.
    pub(super) fn fate(&self, key: Key, index: usize) -> Fate {
        self.after(key, |later| later > index)
    }

    /// What becomes of a change before all of them.
    fn fate_before(&self, key: Key) -> Fate {
        self.after(key, |_| true)
    }

    fn after(&self, key: Key, is_later: impl Fn(usize) -> bool) -> Fate {
        match self.0.get(&key) {
            Some((Some(put), _)) if is_later(*put) => Fate::Overtaken,
            Some((_, Some(close))) if is_later(*close) => Fate::Closed,
            _ => Fate::Stays,
        }
    }
}

/// Text that waits for the end of its row, in this transaction.
#[derive(Default)]
pub(super) struct Kept(HashMap<Key, Vec<(Grown, String)>>);

impl Kept {
    pub(super) fn keep(&mut self, key: Key, grown: &Grown, text: &str) {
        self.0
            .entry(key)
            .or_default()
            .push((grown.clone(), text.to_owned()));
    }

    pub(super) fn take(&mut self, key: Key) -> Vec<(Grown, String)> {
        self.0.remove(&key).unwrap_or_default()
    }
}

impl Store {
    /// Appends a batch of streamed text to the tail of its tape, outside any transaction. Nothing where it is no such
    /// batch, or the tail is full or cannot be written: then it is [applied](Store::apply).
    pub(super) fn stream(&mut self, tape: i64, batch: &Batch, holds: &[Hold]) -> Option<Refused> {
        if !Streamed::takes(batch) {
            return None;
        }
        let mut tail = match self.tails.remove(&tape) {
            Some(tail) => tail,
            None => Tail::open(&self.live, tape, self.epoch(tape).ok()?).ok()?,
        };
        if !tail.has_room(batch) {
            return None;
        }
        tail.append(batch, holds).ok()?;
        // Asked after the write: whoever settled one of the sessions before it took the tail in without this batch.
        if self.epoch(tape).ok()? != tail.epoch() {
            self.forget_cache();
            return None;
        }
        let mut used: Vec<usize> = batch.entries.iter().map(|entry| entry.session).collect();
        used.sort_unstable();
        used.dedup();
        let mut refused = Vec::new();
        for index in used {
            if let Some(error) = self.check_hold(&holds[index]).ok()? {
                refused.push((index, error));
            }
        }
        self.tails.insert(tape, tail);
        Some(refused)
    }

    /// How often the tail of a tape was taken in.
    fn epoch(&self, tape: i64) -> Result<u64, Error> {
        Ok(self.db().epoch(tape)?.unwrap_or(0))
    }

    /// Takes in the tail of a tape before a batch of it. Text of rows that the batch closes is given back, that of rows that it puts
    /// is superfluous.
    pub(super) fn take_in_for(
        &mut self,
        tape: i64,
        holds: &[Hold],
        rewrites: &Rewrites,
    ) -> Result<Kept, Error> {
        let mut kept = Kept::default();
        self.take_in(tape, |entry, text| {
            let of = |hold: &Hold| hold.number == entry.session && hold.generation == entry.generation;
            let Some(place) = holds.iter().rposition(of) else {
                return false;
            };
            let key = (place, entry.grown.seq);
            let fate = rewrites.fate_before(key);
            if fate == Fate::Closed {
                kept.keep(key, &entry.grown, text);
            }
            fate != Fate::Stays
        })?;
        Ok(kept)
    }

    /// Takes the tail of a tape into the tables and leaves it empty. Text that `keeps` says it keeps is not written.
    ///
    /// A batch that was appended and is applied all the same, since its writer could not be told that it is saved, is taken
    /// once: text is known by its cursor, an input by its number.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a tail that is broken, or younger than the journal.
    pub(super) fn take_in(
        &mut self,
        tape: i64,
        mut keeps: impl FnMut(&StreamedEntry, &str) -> bool,
    ) -> Result<(), Error> {
        self.tails.remove(&tape);
        let epoch = self.epoch(tape)?;
        let content = match tail::find(&self.live, tape)? {
            Found::Content(content) => content,
            // Nobody but the owner of a tape begins its tail anew, and that is us, or it is gone.
            Found::Nothing | Found::Moved => return Ok(()),
        };
        if content.epoch > Some(epoch) {
            return Err(Error::Damaged {
                path: tail::path_of(&self.live, tape),
                detail: "it is younger than the journal, which must be an older copy: put the right one back, or move this file away".to_owned(),
            });
        }
        if content.epoch != Some(epoch) {
            return Ok(());
        }
        let mut inputs = Vec::new();
        let mut numbers: Option<(u64, u64)> = None;
        for streamed in &content.records {
            if let Some((first, last)) = streamed.numbers {
                inputs.extend_from_slice(&streamed.tape);
                numbers = Some((numbers.map_or(first, |(first, _)| first), last));
            }
            for entry in &streamed.entries {
                let text = streamed.text(entry);
                // Who takes a session over takes the tail in first; what came later from the old owner was refused.
                if self.generation(entry.session)? == Some(entry.generation) && !keeps(entry, text) {
                    self.append(entry.session, entry.cursor, &entry.grown, text)?;
                }
            }
        }
        if let Some((first, last)) = numbers {
            self.append_tape(tape, first, last, &inputs)?;
        }
        self.exec(
            "writing the tape",
            "UPDATE tapes SET epoch = epoch + 1 WHERE num = ?",
            [tape],
        )?;
        Ok(())
    }
}

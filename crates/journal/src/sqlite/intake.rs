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
    /// batch, or the tail is full or cannot be written, or the tables do not end with an input: then it is
    /// [applied](Store::apply).
    pub(super) fn stream(&mut self, tape: i64, batch: &Batch, holds: &[Hold]) -> Option<Refused> {
        if !Streamed::takes(batch) || !self.sharp.contains(&tape) {
            return None;
        }
        let mut tail = match self.tails.remove(&tape) {
            Some(tail) => tail,
            None => Tail::open(&self.live, tape, self.db().stored_input(tape).ok()?).ok()?,
        };
        if !tail.has_room(batch) {
            return None;
        }
        tail.append(batch, holds).ok()?;
        // Asked after the write: whoever settled one of the sessions before it took the tail in without this batch.
        if self.db().stored_input(tape).ok()? != tail.base() {
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
        let base = self.db().stored_input(tape)?;
        let content = match tail::find(&self.live, tape)? {
            Found::Content(content) => content,
            // Nobody but the owner of a tape begins its tail anew, and that is us, or it is gone.
            Found::Nothing | Found::Moved => return Ok(()),
        };
        if content.base > Some(base) {
            return Err(Error::Damaged {
                path: tail::path_of(&self.live, tape),
                detail: "it is younger than the journal, which must be an older copy: put the right one back, or move this file away".to_owned(),
            });
        }
        if content.base != Some(base) {
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
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tapline_timeline::{Append, Body, Grows, Row};

    use crate::batch::{Batch, Op};
    use crate::contract::{begin, row};
    use crate::home::Home;
    use crate::model::Mode;
    use crate::sqlite::schema;
    use crate::sqlite::store::Store;
    use crate::writer::Hold;

    fn text_of(row: &Row) -> &str {
        match &row.body {
            Body::Assistant(message) => message.content.as_text(),
            other => panic!("{other:?}"),
        }
    }

    /// As when the disk takes a record and says that it did not.
    #[test]
    fn a_batch_that_went_to_the_tail_and_is_applied_as_well_is_taken_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::at(dir.path());
        let (conn, _held) = schema::open(&home).expect("opens");
        let mut store = Store::new(conn, home.database(), home.live());
        let (tape, _) = store.tape_of("c").expect("a tape");
        let begun = store.begin(tape, &begin("s", Mode::Wrapped)).expect("begins");
        let holds = [Hold {
            id: begun.generation.session.clone(),
            number: begun.number,
            generation: begun.generation.number,
        }];
        let message = row(
            "s",
            1,
            json!({"kind": "assistant", "state": "open", "text": "Well: "}),
        );
        let mut put = Batch::default();
        put.input(1, None, b"one");
        put.push(0, 1, Op::Put(message.clone()));
        assert!(
            store.stream(tape, &put, &holds).is_none(),
            "a row goes to the tables"
        );
        store.apply(tape, &put, &holds).expect("applied");
        let mut streamed = Batch::default();
        streamed.input(2, None, b"two");
        let append = Append {
            id: &message.id,
            seq: 1,
            member: Grows::Text,
            offset: 6,
            text: "once",
            revision: 2,
            frame: 2,
        };
        streamed.append(0, 2, &append);
        assert!(store.stream(tape, &streamed, &holds).is_some());
        assert_eq!(store.db().stored_input(tape).expect("read"), 1);
        store.apply(tape, &streamed, &holds).expect("applied");
        let rid = (begun.number << 40) | 1;
        let read = store.db().row_at(rid).expect("read").expect("is there");
        assert_eq!((text_of(&read), read.cursor), ("Well: once", Some(2)));
        assert_eq!(store.db().read_tape("c", 0, 10).expect("read").len(), 2);
        assert_eq!(store.db().verify(None).expect("checked"), []);
    }
}

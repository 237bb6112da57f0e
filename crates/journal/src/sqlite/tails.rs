//! Reading tails: what streamed since the tables were written is laid over what stands in them.
//!
//! A reader sees the tables of one moment. The tail that belongs to them has the last input of theirs as its base; one with
//! an older base stands in them already. A younger one, or none where one may have been, says that the tables moved on in
//! between: the reader must look again.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;

use crate::error::Error;

use super::place;
use super::read::{Db, Piece};
use super::tail::{self, Content, Found};

/// Looks at tables that move on all the time, before the last is taken as it is.
const LOOKS: u32 = 100;

/// The tails that a reader looked at, for one read.
pub(super) struct Tails<'a> {
    live: &'a Path,
    seen: RefCell<HashMap<i64, Rc<Content>>>,
    /// The tapes of sessions, and under which hold they are written; nothing for those that nobody writes.
    holds: RefCell<HashMap<i64, Option<(i64, u64)>>>,
    /// Last inputs of tables for which no tail was found. Where they are the same when they are looked at again, there is none.
    absent: RefCell<HashMap<i64, u64>>,
    wrong: Cell<bool>,
    looks: Cell<u32>,
}

impl<'a> Tails<'a> {
    pub(super) fn new(live: &'a Path) -> Self {
        Self {
            live,
            seen: RefCell::default(),
            holds: RefCell::default(),
            absent: RefCell::default(),
            wrong: Cell::new(false),
            looks: Cell::new(0),
        }
    }

    /// Whether all tails belonged to the tables. If not, what was read must be read again.
    pub(super) fn were_right(&self) -> bool {
        self.seen.borrow_mut().clear();
        self.holds.borrow_mut().clear();
        self.looks.set(self.looks.get() + 1);
        !self.wrong.replace(false) || self.looks.get() >= LOOKS
    }

    /// The tail of a tape whose last input in the tables is `base`.
    fn of(&self, tape: i64, base: u64) -> Result<Rc<Content>, Error> {
        if let Some(seen) = self.seen.borrow().get(&tape) {
            return Ok(Rc::clone(seen));
        }
        let content = match tail::find(self.live, tape)? {
            Found::Content(content) if content.base == Some(base) => content,
            // A torn first record, or what the tables have taken in.
            Found::Content(content) if content.base < Some(base) => Content::default(),
            Found::Content(_) | Found::Moved => {
                self.wrong.set(true);
                Content::default()
            }
            Found::Nothing => {
                if self.absent.borrow_mut().insert(tape, base) != Some(base) {
                    self.wrong.set(true);
                }
                Content::default()
            }
        };
        let content = Rc::new(content);
        self.seen.borrow_mut().insert(tape, Rc::clone(&content));
        Ok(content)
    }
}

/// What the tails of live sessions are like, in a number that changes when one of them does.
pub(super) fn look(live: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let looks = tail::all(live).filter_map(|(path, tape)| {
        let data = std::fs::metadata(path).ok()?;
        let time = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let mut hasher = DefaultHasher::new();
        (tape, data.len(), time).hash(&mut hasher);
        Some(hasher.finish())
    });
    // The order of a folder is nobody's.
    looks.fold(0, u64::wrapping_add)
}

impl Db<'_> {
    /// The tail of a tape; an empty one for who writes the tables.
    pub(super) fn tail(self, tape: i64) -> Result<Rc<Content>, Error> {
        match self.tails {
            Some(tails) => tails.of(tape, self.stored_input(tape)?),
            None => Ok(Rc::default()),
        }
    }

    /// The text that streamed into a session behind `after`, or into one of its rows, and is not in the tables yet; in order.
    pub(super) fn streamed(self, session: i64, row: Option<i64>, after: u64) -> Result<Vec<Piece>, Error> {
        let Some((tape, generation)) = self.hold(session)? else {
            return Ok(Vec::new());
        };
        let tail = self.tail(tape)?;
        let mut pieces = Vec::new();
        for record in &tail.records {
            for entry in &record.entries {
                let rid = place(session, entry.grown.seq);
                let wanted =
                    entry.session == session && entry.generation == generation && entry.cursor > after;
                if wanted && row.is_none_or(|row| row == rid) {
                    pieces.push(Piece {
                        cursor: entry.cursor,
                        rid,
                        grown: entry.grown.clone(),
                        text: record.text(entry).to_owned(),
                    });
                }
            }
        }
        Ok(pieces)
    }

    /// The tape and the generation that a live session is written under.
    fn hold(self, session: i64) -> Result<Option<(i64, u64)>, Error> {
        let Some(tails) = self.tails else {
            return Ok(None);
        };
        if let Some(hold) = tails.holds.borrow().get(&session) {
            return Ok(*hold);
        }
        let sql = "SELECT g.tape, g.generation FROM sessions s
             JOIN generations g ON g.session = s.num AND g.generation = s.generation
             WHERE s.num = ? AND s.live = 1";
        let hold = self.one("reading a session", sql, [session], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        tails.holds.borrow_mut().insert(session, hold);
        Ok(hold)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::{Arc, Mutex};

    use serde_json::json;
    use tapline_timeline::{Append, Change, Grows, SessionId};

    use crate::contract::{begin, row};
    use crate::home::Home;
    use crate::{Follow, Journal, Mode, News, SqliteJournal, WriterOptions};

    /// Between the tables that a reader sees and the tail that it finds, a row is put and grows: without a second look the reader
    /// would have the text and not the row, and a cursor behind both.
    #[test]
    fn a_tail_that_is_younger_than_the_tables_makes_the_reader_look_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let journal = SqliteJournal::open(&Home::at(dir.path())).expect("opens");
        let mut writer = journal.writer("c", WriterOptions::default()).expect("a writer");
        writer.begin(&begin("s", Mode::Wrapped)).expect("begins");
        let message = |seq: u64| {
            let body = json!({"kind": "assistant", "state": "open", "text": "Well, "});
            row("s", seq, body)
        };
        writer.input(1, None, b"1").expect("taken");
        writer.apply(&Change::Put(&message(1))).expect("taken");
        writer.flush().expect("saved");
        let writer = Arc::new(Mutex::new(writer));
        let looks = Cell::new(0);
        let id = SessionId::from("s");
        let follow = Follow {
            limit: 10,
            appends: true,
        };
        let followed = journal
            .shared
            .read(|db| {
                let before = db.stored_input(1)?;
                looks.set(looks.get() + 1);
                if looks.get() == 1 {
                    let mut writer = writer.lock().expect("no panic");
                    writer.input(2, None, b"2").expect("taken");
                    writer.apply(&Change::Put(&message(2))).expect("taken");
                    writer.flush().expect("saved");
                    let append = Append {
                        id: &message(2).id,
                        seq: 2,
                        member: Grows::Text,
                        offset: 6,
                        text: "again",
                        revision: 2,
                        frame: 2,
                    };
                    writer.input(3, None, b"3").expect("taken");
                    writer.apply(&Change::Append(append)).expect("taken");
                    writer.flush().expect("saved");
                    assert_eq!(
                        before,
                        db.stored_input(1)?,
                        "the tables stand still for who reads them"
                    );
                }
                db.follow(&id, 1, follow)
            })
            .expect("read");
        assert_eq!(looks.get(), 2);
        assert!(matches!(&followed.news[..], [News::Row(row), News::Append { .. }] if row.seq == 2));
        assert_eq!(followed.cursor, 3);
    }
}

//! Reading tails: what streamed since the tables were written is laid over what stands in them.
//!
//! A reader sees the tables of one moment. The tail that belongs to them has the epoch that they have; one of an older epoch
//! stands in them already. A younger one, or none where one may have been, says that the tables moved on in between: the
//! reader must look again.

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
    /// Epochs in which no tail was found. Where the tables still have this epoch when they are looked at again, there is none.
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

    /// The tail of a tape whose tables have this epoch.
    fn of(&self, tape: i64, epoch: u64) -> Result<Rc<Content>, Error> {
        if let Some(seen) = self.seen.borrow().get(&tape) {
            return Ok(Rc::clone(seen));
        }
        let content = match tail::find(self.live, tape)? {
            Found::Content(content) if content.epoch == Some(epoch) => content,
            // A torn first record, or what the tables have taken in.
            Found::Content(content) if content.epoch < Some(epoch) => Content::default(),
            Found::Content(_) | Found::Moved => {
                self.wrong.set(true);
                Content::default()
            }
            Found::Nothing => {
                if self.absent.borrow_mut().insert(tape, epoch) != Some(epoch) {
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
    let Ok(folder) = std::fs::read_dir(live) else {
        return 0;
    };
    let tails = folder
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "tail"));
    let looks = tails.filter_map(|entry| {
        let data = entry.metadata().ok()?;
        let mut hasher = DefaultHasher::new();
        let time = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        (entry.file_name(), data.len(), time).hash(&mut hasher);
        Some(hasher.finish())
    });
    // The order of a folder is nobody's.
    looks.fold(0, u64::wrapping_add)
}

impl Db<'_> {
    /// How often the tail of a tape was taken in.
    pub(super) fn epoch(self, tape: i64) -> Result<Option<u64>, Error> {
        let sql = "SELECT epoch FROM tapes WHERE num = ?";
        self.one("reading a tape", sql, [tape], |row| row.get(0))
    }

    /// The tail of a tape; an empty one for who writes the tables.
    pub(super) fn tail(self, tape: i64) -> Result<Rc<Content>, Error> {
        match (
            self.tails,
            self.tails.map(|_| self.epoch(tape)).transpose()?.flatten(),
        ) {
            (Some(tails), Some(epoch)) => tails.of(tape, epoch),
            _ => Ok(Rc::default()),
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

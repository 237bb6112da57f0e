//! Who holds a session: beginning generations, settling what a dead owner left, forgetting.

use std::collections::HashSet;

use std::sync::Arc;

use rusqlite::params;
use tapline_timeline::{Row, Session, SessionId, SessionState, Time};

use crate::error::Error;
use crate::live::{self, LiveLock};
use crate::model::*;
use crate::settle;
use crate::writer::{Begun, Hold};

use super::read::Db;
use super::session_range;
use super::store::{Store, Touch};
use crate::writer::now_ms;

/// A generation whose end nobody has told.
pub(super) struct Running {
    pub(super) session: i64,
    id: String,
    generation: u64,
    owner: Owner,
    lock: String,
    mode: Mode,
    tape: i64,
}

impl Db<'_> {
    /// Generations that run, as far as the file knows.
    pub(super) fn running(self, session: Option<i64>) -> Result<Vec<Running>, Error> {
        let sql = "SELECT s.num, s.id, g.generation, g.pid, g.host, g.started, g.lock, g.mode, g.tape
             FROM sessions s JOIN generations g ON g.session = s.num AND g.generation = s.generation
             WHERE s.live = 1 AND g.state = 'running' AND (?1 IS NULL OR s.num = ?1)";
        self.list("reading who holds a session", sql, [session], |row| {
            let started: String = row.get(5)?;
            Ok(Running {
                session: row.get(0)?,
                id: row.get(1)?,
                generation: row.get(2)?,
                owner: Owner {
                    pid: row.get(3)?,
                    host: row.get(4)?,
                    started: serde_json::from_str(&started).unwrap_or(Time::Since(0)),
                },
                lock: row.get(6)?,
                mode: Mode::parse(&row.get::<_, String>(7)?).unwrap_or(Mode::Imported),
                tape: row.get(8)?,
            })
        })
    }

    /// The generations of a session.
    pub(super) fn generations(self, session: i64) -> Result<Vec<GenerationInfo>, Error> {
        let sql = "SELECT generation, connection, pid, host, started, mode, state
             FROM generations JOIN tapes ON tapes.num = tape WHERE session = ? ORDER BY generation";
        self.list("reading generations", sql, [session], |row| {
            let (started, mode, state): (String, String, String) = (row.get(4)?, row.get(5)?, row.get(6)?);
            Ok(GenerationInfo {
                number: row.get(0)?,
                connection: row.get(1)?,
                owner: Owner {
                    pid: row.get(2)?,
                    host: row.get(3)?,
                    started: serde_json::from_str(&started).unwrap_or(Time::Since(0)),
                },
                mode: Mode::parse(&mode).unwrap_or(Mode::Imported),
                end: match state.as_str() {
                    "running" => GenerationEnd::Running,
                    "settled" => GenerationEnd::Settled,
                    _ => GenerationEnd::Ended,
                },
            })
        })
    }
}

impl Running {
    /// Whether the owner's process is gone.
    pub(super) fn is_dead(&self, live: &std::path::Path) -> bool {
        !live::is_held(live, &self.lock)
    }
}

impl Store {
    /// Opens the tape of a connection, and makes it where there is none: its number and its last input.
    pub(super) fn tape_of(&mut self, connection: &str) -> Result<(i64, u64), Error> {
        self.exec(
            "opening a tape",
            "INSERT OR IGNORE INTO tapes (connection) VALUES (?)",
            [connection],
        )?;
        // The row was written a line above.
        let tape = self.db().tape(connection)?.unwrap_or_default();
        // Left by a writer of this connection that is gone.
        self.take_in(tape, |_, _| false)?;
        Ok((tape, self.db().last_input(tape)?))
    }

    /// Begins a generation.
    pub(super) fn begin(&mut self, tape: i64, begin: &Begin) -> Result<Begun, Error> {
        if let Some(origin) = &begin.origin {
            let sql = "SELECT id, complete FROM sessions WHERE origin = ?";
            let known = self.db().one("finding an import", sql, [origin], |row| {
                Ok((row.get::<_, String>(0)?, row.get(1)?))
            })?;
            if let Some((session, complete)) = known {
                return Err(Error::AlreadyHere {
                    session: SessionId::from(session),
                    complete,
                });
            }
        }
        let number = match self.db().number(&begin.session)? {
            Some(number) => {
                self.need_free(number)?;
                number
            }
            None => self.make_session(begin)?,
        };
        self.know(number)?;
        let generation = self.next_generation(number)?;
        self.revive(number, &begin.session)?;
        let cursor = self.db().cursor(number)?;
        let last_seq = self.db().last_seq(number)?;
        let name = format!("{number}-{generation}-{:016x}.lock", fresh_number());
        let lock = LiveLock::take(&self.live, &name)?;
        let owner = &begin.owner;
        // A time always has a JSON form.
        let started = serde_json::to_string(&owner.started).unwrap_or_default();
        self.exec(
            "beginning a generation",
            "INSERT INTO generations VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running')",
            params![
                number,
                generation,
                tape,
                begin.mode.as_str(),
                owner.pid,
                owner.host,
                started,
                name
            ],
        )?;
        self.exec(
            "beginning a generation",
            "UPDATE sessions SET live = 1, ended = 0, mode = ?2, changed_ms = max(changed_ms, ?3),
             origin = coalesce(?4, origin), complete = 0 WHERE num = ?1",
            params![number, begin.mode.as_str(), now_ms(), begin.origin],
        )?;
        let generation = Generation {
            session: begin.session.clone(),
            number: generation,
            cursor,
            last_seq,
        };
        Ok(Begun {
            number,
            generation,
            lock: Some(Box::new(lock)),
        })
    }

    /// A session that goes on is live again; what else its object says stays.
    fn revive(&mut self, number: i64, id: &SessionId) -> Result<(), Error> {
        if let Some((mut object, cursor)) = self
            .db()
            .object(number)?
            .filter(|(o, _)| o.state == SessionState::Ended)
        {
            object.state = SessionState::Live;
            let mut touch = Touch::default();
            touch.settle_session(object, cursor);
            let hold = Hold {
                id: id.clone(),
                number,
                generation: 0,
            };
            self.finish(&hold, &mut touch)?;
        }
        Ok(())
    }

    fn make_session(&mut self, begin: &Begin) -> Result<i64, Error> {
        let object = Session::new(begin.session.clone());
        // The object is plain data of ours: it always has a JSON form.
        let json = serde_json::to_string(&object).unwrap_or_default();
        self.exec(
            "making a session",
            "INSERT INTO sessions (id, object, mode, created_ms, changed_ms) VALUES (?1, ?2, ?3, ?4, ?4)",
            params![begin.session.as_str(), json, begin.mode.as_str(), now_ms()],
        )?;
        Ok(self.conn.last_insert_rowid())
    }

    /// Settles a dead owner's session, refuses a live one's.
    fn need_free(&mut self, session: i64) -> Result<(), Error> {
        for running in self.db().running(Some(session))? {
            if !running.is_dead(&self.live) {
                let Owner { pid, host, .. } = running.owner;
                return Err(Error::Held {
                    session: SessionId::from(running.id),
                    pid,
                    host,
                });
            }
            self.settle(&running)?;
        }
        Ok(())
    }

    fn next_generation(&self, session: i64) -> Result<u64, Error> {
        let sql = "UPDATE sessions SET generation = generation + 1 WHERE num = ? RETURNING generation";
        let next = self
            .db()
            .one("beginning a generation", sql, [session], |row| row.get(0))?;
        next.ok_or_else(|| Error::NoSession {
            session: SessionId::from(session.to_string()),
        })
    }

    /// Settles what dead owners left.
    pub(super) fn settle_dead(&mut self, session: Option<i64>) -> Result<Vec<Settled>, Error> {
        let mut settled = Vec::new();
        for running in self.db().running(session)? {
            if running.is_dead(&self.live) {
                settled.push(self.settle(&running)?);
            }
        }
        Ok(settled)
    }

    /// Settles a session whose owner is gone, under a generation of its own, so that the owner could write nothing more
    /// even if it were not.
    fn settle(&mut self, running: &Running) -> Result<Settled, Error> {
        let number = running.session;
        // Before the generation rises: it is the dead one's.
        self.take_in(running.tape, |_, _| false)?;
        self.over.push(running.tape);
        let generation = self.next_generation(number)?;
        let mut touch = Touch::default();
        self.fold(number, &mut touch)?;
        let (mut session, _) = self.db().object(number)?.ok_or_else(|| Error::NoSession {
            session: SessionId::from(running.id.as_str()),
        })?;
        let heard_of: Option<i64> = self.db().one(
            "reading a session",
            "SELECT changed_ms FROM sessions WHERE num = ?",
            [number],
            |r| r.get(0),
        )?;
        let at = Time::At(heard_of.unwrap_or_else(now_ms));
        // Text that was folded into its row a moment ago stands no more where the session's cursor is looked for.
        let mut cursor = self.db().cursor(number)?.max(touch.cursor);
        let id = SessionId::from(running.id.as_str());
        let last = self.db().rows(&id, Window::Last(1))?;
        let last = last.first().map(|row| &**row);
        let open: Vec<Row> = self
            .db()
            .open_rows(number)?
            .iter()
            .map(|row| Row::clone(row))
            .collect();
        for row in settle::settle(&mut session, open, last, (&running.owner, running.mode), at) {
            cursor += 1;
            self.put(number, cursor, Arc::new(row), &mut touch)?;
        }
        cursor += 1;
        touch.settle_session(session, cursor);
        let hold = Hold {
            id: SessionId::from(running.id.as_str()),
            number,
            generation,
        };
        self.finish(&hold, &mut touch)?;
        self.exec(
            "settling a session",
            "UPDATE sessions SET live = 0 WHERE num = ?",
            [number],
        )?;
        self.exec(
            "settling a session",
            "UPDATE generations SET state = 'settled' WHERE session = ? AND generation = ?",
            params![number, running.generation],
        )?;
        self.exec(
            "settling a session",
            "UPDATE intents SET state = 'done', outcome = ?2 WHERE session = ?1 AND state = 'claimed'",
            params![number, settle::TAKER_GONE],
        )?;
        live::remove(&self.live, &running.lock);
        Ok(Settled {
            session: hold.id,
            dead: running.generation,
            cursor,
        })
    }

    /// Removes a session.
    pub(super) fn forget(&mut self, session: &SessionId) -> Result<Forgotten, Error> {
        const DOING: &str = "forgetting a session";
        let number = self.db().need(session)?;
        self.need_free(number)?;
        let (from, to) = session_range(number);
        let mut forgotten = Forgotten::default();
        // What is forgotten is overwritten; elsewhere that would only be writing more.
        self.conn
            .pragma_update(None, "secure_delete", true)
            .map_err(Self::say(&self.path, DOING))?;
        let db = self.db();
        let indexed: Vec<i64> = db.list(
            DOING,
            "SELECT rid FROM rows WHERE rid BETWEEN ? AND ? AND said IS NOT NULL",
            [from, to],
            |row| row.get(0),
        )?;
        for rid in indexed {
            self.exec(DOING, "DELETE FROM search WHERE rowid = ?", [rid])?;
        }
        let used: HashSet<String> = db
            .list(
                DOING,
                "DELETE FROM blob_uses WHERE rid BETWEEN ? AND ? RETURNING hash",
                [from, to],
                |row| row.get(0),
            )?
            .into_iter()
            .collect();
        for hash in used {
            forgotten.blobs += u64::from(self.drop_unused(&hash)?);
        }
        let tapes: Vec<(i64, String, bool)> = db.list(
            DOING,
            "SELECT DISTINCT g.tape, t.connection,
                    EXISTS (SELECT 1 FROM generations o WHERE o.tape = g.tape AND o.session <> ?1)
             FROM generations g JOIN tapes t ON t.num = g.tape WHERE g.session = ?1",
            [number],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        for (tape, connection, shared) in tapes {
            if shared {
                forgotten.shared_tapes.push(connection);
                continue;
            }
            let (from, to) = session_range(tape);
            self.exec(
                DOING,
                "DELETE FROM tape_open WHERE tid BETWEEN ? AND ?",
                [from, to],
            )?;
            self.exec(
                DOING,
                "DELETE FROM tape_blocks WHERE tid BETWEEN ? AND ?",
                [from, to],
            )?;
            self.exec(DOING, "DELETE FROM tapes WHERE num = ?", [tape])?;
            forgotten.tapes += 1;
        }
        let rows = self.exec(DOING, "DELETE FROM rows WHERE rid BETWEEN ? AND ?", [from, to])?;
        forgotten.rows = rows as u64;
        self.exec(DOING, "DELETE FROM appends WHERE aid BETWEEN ? AND ?", [from, to])?;
        for sql in [
            "DELETE FROM intents WHERE session = ?",
            "DELETE FROM providers WHERE session = ?",
            "DELETE FROM generations WHERE session = ?",
            "DELETE FROM sessions WHERE num = ?",
        ] {
            self.exec(DOING, sql, [number])?;
        }
        self.conn
            .pragma_update(None, "secure_delete", false)
            .map_err(Self::say(&self.path, DOING))?;
        self.forget_cache();
        Ok(forgotten)
    }
}

/// A number that no other lock has: what the system gives each new hasher is random.
fn fresh_number() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

//! What is done to the file inside one transaction.
//!
//! A `Store` owns the writing connection. What it remembers between transactions (the open ends of tapes, which rows
//! have appended text, the tails it writes) is a cache of what stands on the disk; [`Store::forget_cache`] drops it whenever
//! a transaction is rolled back.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use tapline_timeline::{Body, End, Grows, Kind, Row, Session, SessionState};

use crate::batch::{Batch, Closed, Grown, Op};
use crate::body::{self, Stored};
use crate::error::Error;
use crate::settle::is_waiting;
use crate::tape;
use crate::text::{kind_word, words_of};
use crate::writer::{Hold, Refused};

use super::intake::{Fate, Rewrites};
use super::read::Db;
use super::tail::{self, Tail};
use super::taping::OpenTape;
use super::{place, session_range, sql_error};
use crate::writer::now_ms;

/// The writing side of the file.
pub(super) struct Store {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
    pub(super) live: PathBuf,
    pub(super) tapes: HashMap<i64, OpenTape>,
    pub(super) tails: HashMap<i64, Tail>,
    /// Tapes whose last batch in the tables brought an input.
    pub(super) sharp: HashSet<i64>,
    /// Tapes whose tail is over once this transaction is committed.
    pub(super) over: Vec<i64>,
    /// Rows that have appended text, for the sessions in `known`.
    grown: HashSet<i64>,
    known: HashSet<i64>,
}

/// What a batch does to a session, gathered for one update.
#[derive(Default)]
pub(super) struct Touch {
    pub(super) cursor: u64,
    new_rows: u64,
    requests: bool,
    settled: bool,
    cut: Option<bool>,
    object: Option<(Session, u64)>,
}

impl Touch {
    /// The session object changes, and everything with it.
    pub(super) fn settle_session(&mut self, session: Session, cursor: u64) {
        self.object = Some((session, cursor));
        self.cursor = cursor;
        self.settled = true;
    }
}

impl Store {
    pub(super) fn new(conn: Connection, path: PathBuf, live: PathBuf) -> Self {
        Self {
            conn,
            path,
            live,
            tapes: HashMap::new(),
            tails: HashMap::new(),
            sharp: HashSet::new(),
            over: Vec::new(),
            grown: HashSet::new(),
            known: HashSet::new(),
        }
    }

    /// Drops what is remembered of the file.
    pub(super) fn forget_cache(&mut self) {
        self.tapes.clear();
        self.tails.clear();
        self.sharp.clear();
        self.over.clear();
        self.grown.clear();
        self.known.clear();
    }

    /// The transaction is committed: what it made superfluous goes.
    pub(super) fn committed(&mut self) {
        for tape in self.over.drain(..) {
            // One that stays has a base that is past, and is empty for every reader.
            let _ = std::fs::remove_file(tail::path_of(&self.live, tape));
        }
    }

    /// What stands in the tables. What stands in a tail is [taken in](Store::take_in) before anyone here asks for it.
    pub(super) fn db(&self) -> Db<'_> {
        Db {
            conn: &self.conn,
            path: &self.path,
            tails: None,
        }
    }

    pub(super) fn say(path: &Path, doing: &'static str) -> impl Fn(rusqlite::Error) -> Error {
        let path = path.to_owned();
        move |error| sql_error(&path, doing, error)
    }

    /// Runs an SQL statement.
    pub(super) fn exec(
        &self,
        doing: &'static str,
        sql: &str,
        params: impl rusqlite::Params,
    ) -> Result<usize, Error> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params))
            .map_err(Self::say(&self.path, doing))
    }

    /// Writes a batch. Sessions that someone else holds now are left out and named in the answer.
    pub(super) fn apply(&mut self, tape: i64, batch: &Batch, holds: &[Hold]) -> Result<Refused, Error> {
        let mut refused = Vec::new();
        let mut touches: Vec<Option<Touch>> = holds.iter().map(|_| None).collect();
        let used = batch
            .entries
            .iter()
            .map(|e| e.session)
            .chain(batch.providers.iter().map(|(s, _, _)| *s));
        for index in used {
            if touches[index].is_none() && !refused.iter().any(|(i, _)| *i == index) {
                match self.check_hold(&holds[index])? {
                    Some(error) => refused.push((index, error)),
                    None => touches[index] = Some(Touch::default()),
                }
            }
        }
        for (hash, bytes) in &batch.blobs {
            self.put_blob(hash, bytes)?;
        }
        let rewrites = Rewrites::of(batch);
        let mut kept = self.take_in_for(tape, holds, &rewrites)?;
        if let Some((first, last)) = batch.numbers {
            self.append_tape(tape, first, last, &batch.tape)?;
            self.sharp.insert(tape);
        } else {
            self.sharp.remove(&tape);
        }
        for (index, entry) in batch.entries.iter().enumerate() {
            let hold = &holds[entry.session];
            let Some(touch) = &mut touches[entry.session] else {
                continue;
            };
            touch.cursor = entry.cursor;
            let key = |seq: u64| (entry.session, seq);
            match &entry.op {
                Op::Session(session) => {
                    touch.settled = true;
                    touch.object = Some((Session::clone(session), entry.cursor));
                }
                Op::Put(row) => {
                    if rewrites.fate(key(row.seq), index) != Fate::Overtaken {
                        self.put(hold.number, entry.cursor, Arc::clone(row), touch)?;
                    }
                }
                Op::Append(grown) => {
                    let text = &batch.text[grown.from..grown.to];
                    match rewrites.fate(key(grown.seq), index) {
                        Fate::Overtaken => {}
                        Fate::Closed => kept.keep(key(grown.seq), grown, text),
                        Fate::Stays => self.append(hold.number, entry.cursor, grown, text)?,
                    }
                }
                Op::Close(closed) => {
                    let pieces = kept.take(key(closed.seq));
                    if rewrites.fate(key(closed.seq), index) != Fate::Overtaken {
                        self.close(hold, entry.cursor, closed, &pieces, touch)?;
                    }
                }
                Op::End => self.end(hold, touch)?,
            }
        }
        for (hold, touch) in holds.iter().zip(&mut touches) {
            if let Some(touch) = touch {
                self.finish(hold, touch)?;
            }
        }
        for (index, agent, provider) in &batch.providers {
            if touches[*index].is_some() {
                self.put_provider(holds[*index].number, agent, provider)?;
            }
        }
        Ok(refused)
    }

    pub(super) fn check_hold(&mut self, hold: &Hold) -> Result<Option<Error>, Error> {
        Ok(match self.generation(hold.number)? {
            Some(current) if current == hold.generation => {
                self.know(hold.number)?;
                None
            }
            Some(current) => Some(Error::Fenced {
                session: hold.id.clone(),
                held: hold.generation,
                current,
            }),
            None => Some(Error::NoSession {
                session: hold.id.clone(),
            }),
        })
    }

    /// The generation that may write a session; nothing where there is no such session.
    pub(super) fn generation(&self, session: i64) -> Result<Option<u64>, Error> {
        let sql = "SELECT generation FROM sessions WHERE num = ?";
        self.db()
            .one("checking who holds a session", sql, [session], |row| row.get(0))
    }

    /// Learns which rows of a session have appended text.
    pub(super) fn know(&mut self, session: i64) -> Result<(), Error> {
        if self.known.insert(session) {
            let grown = self.db().grown(session)?;
            self.grown.extend(grown);
        }
        Ok(())
    }

    /// Writes a row as it is now.
    pub(super) fn put(
        &mut self,
        session: i64,
        cursor: u64,
        row: Arc<Row>,
        touch: &mut Touch,
    ) -> Result<(), Error> {
        let (seq, id) = (row.seq, row.session.clone());
        let rid = place(session, seq);
        let before: Option<Option<i64>> = self
            .conn
            .prepare_cached("SELECT said FROM rows WHERE rid = ?")
            .and_then(|mut s| s.query_row([rid], |r| r.get(0)).optional())
            .map_err(Self::say(&self.path, "writing a row"))?;
        let said = self.index(rid, &row, before.flatten())?;
        let (key, kind) = (row.id.key(&id).to_owned(), row.kind());
        let (open, waiting) = (row.is_open(), is_waiting(&row));
        if let Body::Turn(turn) = &row.body {
            touch.cut = Some(turn.end == Some(End::Cut));
        }
        let stored = body::store(row).map_err(|error| Error::BadRow {
            session: id,
            seq,
            detail: error.to_string(),
        })?;
        self.put_uses(rid, &stored, before.is_some())?;
        if self.grown.remove(&rid) {
            let (from, to) = session_range(session);
            self.exec(
                "writing a row",
                "DELETE FROM appends WHERE aid BETWEEN ? AND ? AND rid = ?",
                [from, to, rid],
            )?;
        }
        self.exec(
            "writing a row",
            "INSERT INTO rows (rid, session, cursor, key, kind, open, waiting, said, body, taken)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (rid) DO UPDATE SET cursor = ?3, key = ?4, kind = ?5, open = ?6, waiting = ?7, said = ?8,
             body = ?9, taken = ?10, grows = 0",
            params![
                rid,
                session,
                cursor,
                key,
                kind.as_str(),
                open,
                waiting,
                said,
                stored.json,
                stored.taken_json(),
            ],
        )?;
        touch.cursor = cursor;
        touch.settled = true;
        touch.new_rows += u64::from(before.is_none());
        touch.requests |= kind == Kind::Request;
        Ok(())
    }

    /// Puts the words of a row that no longer grows into the index, if they are new.
    fn index(&self, rid: i64, row: &Row, before: Option<i64>) -> Result<Option<i64>, Error> {
        let grows = row.is_open()
            && matches!(
                row.kind(),
                Kind::Assistant | Kind::Reasoning | Kind::Tool | Kind::Compaction | Kind::Helper
            );
        let words = if grows { String::new() } else { words_of(row) };
        if words.is_empty() {
            return Ok(before);
        }
        let said = short_hash(words.as_bytes());
        if before == Some(said) {
            return Ok(before);
        }
        if before.is_some() {
            self.exec("indexing a row", "DELETE FROM search WHERE rowid = ?", [rid])?;
        }
        self.exec(
            "indexing a row",
            "INSERT INTO search (rowid, kind, said) VALUES (?, ?, ?)",
            params![rid, kind_word(row.kind()), words],
        )?;
        Ok(Some(said))
    }

    /// Stores the large values of a row, and notes which blobs it uses.
    fn put_uses(&self, rid: i64, stored: &Stored, existed: bool) -> Result<(), Error> {
        let say = Self::say(&self.path, "storing a large value");
        let mut old: Vec<String> = Vec::new();
        if existed {
            old = self
                .conn
                .prepare_cached("DELETE FROM blob_uses WHERE rid = ? RETURNING hash")
                .and_then(|mut s| s.query_map([rid], |row| row.get(0))?.collect())
                .map_err(&say)?;
        }
        for (hash, bytes) in stored.blobs() {
            self.put_blob(hash, bytes)?;
        }
        for hash in &stored.uses {
            self.exec(
                "storing a large value",
                "INSERT OR IGNORE INTO blob_uses VALUES (?, ?)",
                params![rid, hash],
            )?;
        }
        for hash in old.iter().filter(|hash| !stored.uses.contains(hash)) {
            self.drop_unused(hash)?;
        }
        Ok(())
    }

    /// Removes a blob that no row uses; says whether it did.
    pub(super) fn drop_unused(&self, hash: &str) -> Result<bool, Error> {
        let sql =
            "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE hash = ?1)";
        Ok(self.exec("removing a large value", sql, [hash])? > 0)
    }

    fn put_blob(&self, hash: &str, bytes: &[u8]) -> Result<(), Error> {
        let known = self
            .conn
            .prepare_cached("SELECT 1 FROM blobs WHERE hash = ?")
            .and_then(|mut s| s.exists([hash]))
            .map_err(Self::say(&self.path, "storing a large value"))?;
        if known {
            return Ok(());
        }
        let packed = tape::pack(bytes).ok().filter(|packed| packed.len() < bytes.len());
        self.exec(
            "storing a large value",
            "INSERT INTO blobs VALUES (?, ?, ?, ?)",
            params![
                hash,
                bytes.len(),
                packed.is_some(),
                packed.as_deref().unwrap_or(bytes)
            ],
        )?;
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        session: i64,
        cursor: u64,
        grown: &Grown,
        text: &str,
    ) -> Result<(), Error> {
        let rid = place(session, grown.seq);
        let member = match grown.member {
            Grows::Text => -1,
            Grows::Terminal(index) => i64::try_from(index).unwrap_or(i64::MAX),
        };
        self.exec(
            "appending text",
            "INSERT OR IGNORE INTO appends (aid, rid, member, start, revision, frame, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![place(session, cursor), rid, member, grown.offset, grown.revision, grown.frame, text],
        )?;
        // Once for all the text until the row is written again. A row that never came has nothing to mark.
        if self.grown.insert(rid) {
            self.exec("appending text", "UPDATE rows SET grows = 1 WHERE rid = ?", [rid])?;
        }
        Ok(())
    }

    /// Closes a row that grew by `pieces` since it was written.
    fn close(
        &mut self,
        hold: &Hold,
        cursor: u64,
        closed: &Closed,
        pieces: &[(Grown, String)],
        touch: &mut Touch,
    ) -> Result<(), Error> {
        // A change of a row that never came is ignored, as every reader of changes does.
        let Some(mut row) = self.db().row_at(place(hold.number, closed.seq))? else {
            return Ok(());
        };
        for (grown, text) in pieces {
            grown.apply(&mut row, text);
        }
        closed.apply(&mut row);
        self.put(hold.number, cursor, row, touch)
    }

    /// Writes appended text into its rows, for rows that nobody closes.
    pub(super) fn fold(&mut self, session: i64, touch: &mut Touch) -> Result<(), Error> {
        self.know(session)?;
        let (from, to) = session_range(session);
        let grown: Vec<i64> = self
            .grown
            .iter()
            .copied()
            .filter(|rid| (from..=to).contains(rid))
            .collect();
        for rid in grown {
            if let Some(row) = self.db().row_at(rid)? {
                let cursor = row.cursor.unwrap_or(0);
                let later = touch.cursor.max(cursor);
                self.put(session, cursor, row, touch)?;
                touch.cursor = later;
            }
        }
        Ok(())
    }

    fn end(&mut self, hold: &Hold, touch: &mut Touch) -> Result<(), Error> {
        self.fold(hold.number, touch)?;
        self.exec(
            "ending a generation",
            "UPDATE generations SET state = 'ended' WHERE session = ? AND generation = ?",
            params![hold.number, hold.generation],
        )?;
        self.exec(
            "ending a generation",
            "UPDATE sessions SET live = 0, complete = 1 WHERE num = ?",
            [hold.number],
        )?;
        let object = match touch.object.take() {
            Some((object, cursor)) => Some((object, cursor)),
            None => self.db().object(hold.number)?,
        };
        if let Some((mut object, cursor)) = object {
            object.state = SessionState::Ended;
            touch.object = Some((object, cursor));
        }
        touch.settled = true;
        Ok(())
    }

    /// Brings the session's own record up to date.
    pub(super) fn finish(&mut self, hold: &Hold, touch: &mut Touch) -> Result<(), Error> {
        if let Some((object, cursor)) = &mut touch.object {
            object.cursor = None;
            let json = serde_json::to_string(object).map_err(|error| Error::BadRow {
                session: hold.id.clone(),
                seq: 0,
                detail: error.to_string(),
            })?;
            self.exec(
                "writing a session",
                "UPDATE sessions SET object = ?2, object_cursor = ?3, ended = ?4, parent = ?5 WHERE num = ?1",
                params![
                    hold.number,
                    json,
                    *cursor,
                    object.state == SessionState::Ended,
                    object.parent.as_ref().map(|parent| parent.as_str()),
                ],
            )?;
            if let Some(agent) = &object.agent {
                for provider in object.provider_sessions.iter().chain(&object.provider_session) {
                    self.put_provider(hold.number, &agent.name, provider)?;
                }
            }
        }
        if touch.settled {
            self.exec(
                "writing a session",
                "UPDATE sessions SET cursor = max(cursor, ?2), changed_ms = max(changed_ms, ?3), rows = rows + ?4,
                 cut = coalesce(?5, cut) WHERE num = ?1",
                params![hold.number, touch.cursor, now_ms(), touch.new_rows, touch.cut],
            )?;
        }
        if touch.requests {
            self.exec(
                "writing a session",
                "UPDATE sessions SET waiting = (SELECT count(*) FROM rows WHERE rows.session = ?1 AND rows.waiting = 1)
                 WHERE num = ?1",
                [hold.number],
            )?;
        }
        Ok(())
    }

    fn put_provider(&self, session: i64, agent: &str, provider: &str) -> Result<(), Error> {
        self.exec(
            "noting an agent's session",
            "INSERT INTO providers VALUES (?1, ?2, ?3)
             ON CONFLICT (agent, provider) DO UPDATE SET session = ?3 WHERE session <> ?3",
            params![agent, provider, session],
        )?;
        Ok(())
    }
}

/// Enough of a hash to tell whether the words of a row changed.
fn short_hash(bytes: &[u8]) -> i64 {
    let hash = blake3::hash(bytes);
    let mut head = [0; 8];
    head.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_le_bytes(head)
}

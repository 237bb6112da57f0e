//! What is read from the file: sessions, rows, news, tapes, blobs.
//!
//! Every public read runs in one transaction, so that rows and the text appended to them are of one moment.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, ToSql, params};
use tapline_timeline::{Grows, Row, RowId, Session, SessionId};

use crate::LIST_LIMIT;
use crate::batch::Grown;
use crate::body;
use crate::error::Error;
use crate::model::*;
use crate::tape;
use crate::writer::session_of;

use super::tails::Tails;
use super::{MASK, SHIFT, place, session_range, sql_error};

/// A connection to read from.
#[derive(Clone, Copy)]
pub(super) struct Db<'a> {
    pub(super) conn: &'a Connection,
    pub(super) path: &'a Path,
    /// What streamed since the tables were written; nothing for who writes them.
    pub(super) tails: Option<&'a Tails<'a>>,
}

/// A row as it stands in the file.
pub(super) struct Raw {
    pub(super) rid: i64,
    pub(super) cursor: u64,
    body: String,
    taken: Option<String>,
    /// Whether text was appended to it since it was written.
    grows: bool,
}

/// Text appended to a row.
pub(super) struct Piece {
    pub(super) cursor: u64,
    pub(super) rid: i64,
    pub(super) grown: Grown,
    pub(super) text: String,
}

pub(super) const ROW: &str = "rid, cursor, body, taken, grows";
pub(super) const PIECE: &str = "aid, rid, member, start, revision, frame, text";
const SESSION: &str =
    "num, object, object_cursor, cursor, mode, live, ended, waiting, cut, rows, created_ms, changed_ms,
    (SELECT max(aid) FROM appends WHERE aid BETWEEN num << 40 AND (num << 40) + 1099511627775)";

impl<'a> Db<'a> {
    pub(super) fn say(self, doing: &'static str) -> impl Fn(rusqlite::Error) -> Error + 'a {
        move |error| sql_error(self.path, doing, error)
    }

    pub(super) fn list<T>(
        self,
        doing: &'static str,
        sql: &str,
        params: impl rusqlite::Params,
        map: impl FnMut(&SqlRow<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, map)?.collect())
            .map_err(self.say(doing))
    }

    pub(super) fn one<T>(
        self,
        doing: &'static str,
        sql: &str,
        params: impl rusqlite::Params,
        map: impl FnOnce(&SqlRow<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, map).optional())
            .map_err(self.say(doing))
    }

    /// Number of a session.
    pub(super) fn number(self, session: &SessionId) -> Result<Option<i64>, Error> {
        self.one(
            "finding a session",
            "SELECT num FROM sessions WHERE id = ?",
            [session.as_str()],
            |row| row.get(0),
        )
    }

    pub(super) fn need(self, session: &SessionId) -> Result<i64, Error> {
        self.number(session)?.ok_or_else(|| Error::NoSession {
            session: session.clone(),
        })
    }

    /// Id of a session.
    pub(super) fn session_id(self, number: i64) -> Result<SessionId, Error> {
        let id: Option<String> = self.one(
            "finding a session",
            "SELECT id FROM sessions WHERE num = ?",
            [number],
            |row| row.get(0),
        )?;
        Ok(SessionId::from(id.unwrap_or_else(|| number.to_string())))
    }

    /// The session object and its cursor.
    pub(super) fn object(self, session: i64) -> Result<Option<(Session, u64)>, Error> {
        let found: Option<(String, u64)> = self.one(
            "reading a session",
            "SELECT object, object_cursor FROM sessions WHERE num = ?",
            [session],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        found
            .map(|(json, cursor)| Ok((self.parse_session(session, &json)?, cursor)))
            .transpose()
    }

    fn parse_session(self, number: i64, json: &str) -> Result<Session, Error> {
        serde_json::from_str(json).map_err(|error| Error::Damaged {
            path: self.path.to_owned(),
            detail: format!("the object of session number {number} cannot be read ({error})"),
        })
    }

    /// Cursor of a session's last change.
    pub(super) fn cursor(self, session: i64) -> Result<u64, Error> {
        let (from, to) = session_range(session);
        let found: Option<(u64, Option<i64>)> = self.one(
            "reading a session",
            "SELECT cursor, (SELECT max(aid) FROM appends WHERE aid BETWEEN ?2 AND ?3) FROM sessions WHERE num = ?1",
            params![session, from, to],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let told = found.map_or(0, |(cursor, aid)| cursor.max(aid.map_or(0, low)));
        let streamed = self.streamed(session, None, told)?;
        Ok(streamed.last().map_or(told, |piece| piece.cursor))
    }

    /// Highest `seq` of a session.
    pub(super) fn last_seq(self, session: i64) -> Result<u64, Error> {
        let (from, to) = session_range(session);
        let rid: Option<Option<i64>> = self.one(
            "reading a session",
            "SELECT max(rid) FROM rows WHERE rid BETWEEN ? AND ?",
            [from, to],
            |row| row.get(0),
        )?;
        Ok(rid.flatten().map_or(0, low))
    }

    /// Sessions as a list shows them. Those in `dead` have an owner that is gone and could not be settled.
    pub(super) fn sessions(
        self,
        query: &SessionQuery,
        dead: &HashSet<i64>,
    ) -> Result<Vec<SessionEntry>, Error> {
        let limit = if query.limit == 0 { LIST_LIMIT } else { query.limit };
        let mut sql = format!("SELECT {SESSION} FROM sessions WHERE 1");
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        sql.push_str(match query.status {
            None => "",
            Some(Status::Live) => " AND live = 1 AND ended = 0 AND waiting = 0",
            Some(Status::Waiting) => " AND live = 1 AND ended = 0 AND waiting > 0",
            Some(Status::Ended) => " AND (live = 0 OR ended = 1) AND cut = 0",
            Some(Status::Cut) => " AND (live = 0 OR ended = 1) AND cut = 1",
        });
        if let Some(parent) = &query.parent {
            sql.push_str(" AND parent = ?");
            values.push(Box::new(parent.as_str().to_owned()));
        }
        if let Some(after) = query.after {
            sql.push_str(" AND (changed_ms, num) < (?, ?)");
            values.push(Box::new(after.changed_ms));
            values.push(Box::new(after.number));
        }
        sql.push_str(" ORDER BY changed_ms DESC, num DESC LIMIT ?");
        values.push(Box::new(i64::try_from(limit).unwrap_or(i64::MAX)));
        let raw = self.list(
            "listing sessions",
            &sql,
            rusqlite::params_from_iter(values),
            entry,
        )?;
        raw.into_iter().map(|raw| self.finish_entry(raw, dead)).collect()
    }

    /// One session.
    pub(super) fn session(
        self,
        session: &SessionId,
        dead: &HashSet<i64>,
    ) -> Result<Option<SessionEntry>, Error> {
        let sql = format!("SELECT {SESSION} FROM sessions WHERE id = ?");
        let raw = self.one("reading a session", &sql, [session.as_str()], entry)?;
        raw.map(|raw| self.finish_entry(raw, dead)).transpose()
    }

    fn finish_entry(self, raw: RawEntry, dead: &HashSet<i64>) -> Result<SessionEntry, Error> {
        let RawEntry {
            json,
            object_cursor,
            live,
            ended,
            cut,
            mut entry,
        } = raw;
        entry.session = self.parse_session(entry.place.number, &json)?;
        entry.session.cursor = (object_cursor > 0).then_some(object_cursor);
        if live {
            let streamed = self.streamed(entry.place.number, None, entry.cursor)?;
            entry.cursor = streamed.last().map_or(entry.cursor, |piece| piece.cursor);
        }
        entry.status = if dead.contains(&entry.place.number) {
            Status::Cut
        } else {
            Status::of(live, ended, entry.waiting, cut)
        };
        Ok(entry)
    }

    /// Rows of a session that have appended text.
    pub(super) fn grown(self, session: i64) -> Result<Vec<i64>, Error> {
        let (from, to) = session_range(session);
        let sql = "SELECT DISTINCT rid FROM appends WHERE aid BETWEEN ? AND ?";
        self.list("reading appended text", sql, [from, to], |row| row.get(0))
    }

    /// The row at a place.
    pub(super) fn row_at(self, rid: i64) -> Result<Option<Arc<Row>>, Error> {
        let sql = format!("SELECT {ROW} FROM rows WHERE rid = ?");
        let Some(raw) = self.one("reading a row", &sql, [rid], raw_row)? else {
            return Ok(None);
        };
        self.finish(raw, true).map(Some)
    }

    /// The row with an id.
    pub(super) fn row(self, id: &RowId) -> Result<Option<Arc<Row>>, Error> {
        let session = SessionId::from(session_of(id));
        let Some(number) = self.number(&session)? else {
            return Ok(None);
        };
        let rid: Option<i64> = self.one(
            "finding a row",
            "SELECT rid FROM rows WHERE session = ? AND key = ? ORDER BY rid DESC LIMIT 1",
            params![number, id.key(&session)],
            |row| row.get(0),
        )?;
        rid.map_or(Ok(None), |rid| self.row_at(rid))
    }

    /// A window of rows.
    pub(super) fn rows(self, session: &SessionId, window: Window) -> Result<Vec<Arc<Row>>, Error> {
        let Some(number) = self.number(session)? else {
            return Ok(Vec::new());
        };
        let (first, last) = session_range(number);
        let (order, from, to, limit) = match window {
            Window::Last(limit) => ("DESC", first, last, limit),
            Window::Before(seq, limit) => ("DESC", first, place(number, seq).min(last) - 1, limit),
            Window::From(seq, limit) => ("ASC", place(number, seq), last, limit),
        };
        let sql = format!("SELECT {ROW} FROM rows WHERE rid BETWEEN ? AND ? ORDER BY rid {order} LIMIT ?");
        let mut raw = self.list("reading rows", &sql, params![from, to, limit], raw_row)?;
        if order == "DESC" {
            raw.reverse();
        }
        self.finish_all(raw)
    }

    /// Rows that have not settled.
    pub(super) fn open_rows(self, number: i64) -> Result<Vec<Arc<Row>>, Error> {
        let sql = format!("SELECT {ROW} FROM rows WHERE session = ? AND open = 1 ORDER BY rid");
        let raw = self.list("reading open rows", &sql, [number], raw_row)?;
        self.finish_all(raw)
    }

    fn finish_all(self, raw: Vec<Raw>) -> Result<Vec<Arc<Row>>, Error> {
        raw.into_iter().map(|raw| self.finish(raw, true)).collect()
    }

    /// Grows a row by the text appended to it since it was written. That stands among the text of the few other rows of its
    /// session that grow at the same time, so that no index must be written with each piece.
    fn grow(self, raw: &Raw, row: &mut Arc<Row>) -> Result<u64, Error> {
        let sql = format!("SELECT {PIECE} FROM appends WHERE aid BETWEEN ? AND ? AND rid = ? ORDER BY aid");
        let session = raw.rid >> SHIFT;
        let from = place(session, raw.cursor + 1);
        let to = session_range(session).1;
        let mut cursor = raw.cursor;
        let mut add = |mut piece: Piece| {
            piece.grown.id = row.id.clone();
            piece.grown.apply(row, &piece.text);
            cursor = cursor.max(piece.cursor);
        };
        if raw.grows {
            // One piece after the other: a long message need not stand in memory twice.
            self.conn
                .prepare_cached(&sql)
                .and_then(|mut statement| {
                    let found = statement.query_map([from, to, raw.rid], |found| {
                        add(piece(found)?);
                        Ok(())
                    })?;
                    found.collect::<Result<(), _>>()
                })
                .map_err(self.say("reading appended text"))?;
        }
        self.streamed(session, Some(raw.rid), raw.cursor)?
            .into_iter()
            .for_each(add);
        Ok(cursor)
    }

    /// The row, with the text appended to it or without.
    pub(super) fn finish(self, raw: Raw, grown: bool) -> Result<Arc<Row>, Error> {
        let read = body::load(
            &raw.body,
            raw.taken.as_deref(),
            &mut |hash| match self.blob(hash) {
                Ok(Some(bytes)) => Ok(bytes),
                Ok(None) => Err(Bad::Row(format!("its value {hash} is missing"))),
                Err(error) => Err(Bad::Store(error)),
            },
        );
        let row = match read {
            Ok(row) => row,
            Err(Bad::Store(error)) => return Err(error),
            Err(Bad::Row(detail)) => {
                let session = self.session_id(raw.rid >> SHIFT)?;
                return Err(Error::BadRow {
                    session,
                    seq: low(raw.rid),
                    detail,
                });
            }
        };
        let mut row = Arc::new(row);
        let cursor = if grown {
            self.grow(&raw, &mut row)?
        } else {
            raw.cursor
        };
        Arc::make_mut(&mut row).cursor = Some(cursor);
        Ok(row)
    }

    pub(super) fn id_at(self, session: i64, rid: i64) -> Result<RowId, Error> {
        let key: Option<String> = self.one(
            "finding a row",
            "SELECT key FROM rows WHERE rid = ?",
            [rid],
            |row| row.get(0),
        )?;
        Ok(RowId::spell(&self.session_id(session)?, &key.unwrap_or_default()))
    }

    /// The bytes of a blob, checked against their name.
    pub(super) fn blob(self, hash: &str) -> Result<Option<Vec<u8>>, Error> {
        let found: Option<(usize, bool, Vec<u8>)> = self.one(
            "reading a large value",
            "SELECT size, packed, data FROM blobs WHERE hash = ?",
            [hash],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let Some((size, packed, data)) = found else {
            return Ok(None);
        };
        let bad = |detail| Error::Damaged {
            path: self.path.to_owned(),
            detail: format!("value {hash}: {detail}"),
        };
        let bytes = if packed {
            tape::unpack(&data, size).map_err(bad)?
        } else {
            data
        };
        if body::blob_hash(&bytes) == hash {
            Ok(Some(bytes))
        } else {
            Err(bad("its bytes have another hash".to_owned()))
        }
    }

    /// Number of a tape.
    pub(super) fn tape(self, connection: &str) -> Result<Option<i64>, Error> {
        self.one(
            "finding a tape",
            "SELECT num FROM tapes WHERE connection = ?",
            [connection],
            |row| row.get(0),
        )
    }

    /// Number of the last input on a tape.
    pub(super) fn last_input(self, tape: i64) -> Result<u64, Error> {
        Ok(self.stored_input(tape)?.max(self.tail(tape)?.last_input()))
    }

    /// Number of the last input in the tables.
    pub(super) fn stored_input(self, tape: i64) -> Result<u64, Error> {
        let (from, to) = session_range(tape);
        let last: Option<u64> = self.one(
            "reading the tape",
            "SELECT max(ifnull((SELECT last FROM tape_open WHERE tid BETWEEN ?1 AND ?2 ORDER BY tid DESC LIMIT 1), 0),
                        ifnull((SELECT last FROM tape_blocks WHERE tid BETWEEN ?1 AND ?2 ORDER BY tid DESC LIMIT 1), 0))",
            [from, to],
            |row| row.get(0),
        )?;
        Ok(last.unwrap_or(0))
    }
}

/// Why a stored row cannot be read.
enum Bad {
    Row(String),
    Store(Error),
}

impl From<String> for Bad {
    fn from(detail: String) -> Self {
        Bad::Row(detail)
    }
}

/// A session entry whose object is not read yet.
struct RawEntry {
    json: String,
    object_cursor: u64,
    live: bool,
    ended: bool,
    cut: bool,
    entry: SessionEntry,
}

fn entry(row: &SqlRow<'_>) -> rusqlite::Result<RawEntry> {
    let mode: String = row.get(4)?;
    let aid: Option<i64> = row.get(12)?;
    let cursor: u64 = row.get(3)?;
    let changed_ms = row.get(11)?;
    Ok(RawEntry {
        json: row.get(1)?,
        object_cursor: row.get(2)?,
        live: row.get(5)?,
        ended: row.get(6)?,
        cut: row.get(8)?,
        entry: SessionEntry {
            session: Session::new(SessionId::from("")),
            status: Status::Ended,
            mode: Mode::parse(&mode).unwrap_or(Mode::Imported),
            rows: row.get(9)?,
            waiting: row.get(7)?,
            cursor: cursor.max(aid.map_or(0, low)),
            created_ms: row.get(10)?,
            changed_ms,
            place: Place {
                changed_ms,
                number: row.get(0)?,
            },
        },
    })
}

pub(super) fn raw_row(row: &SqlRow<'_>) -> rusqlite::Result<Raw> {
    Ok(Raw {
        rid: row.get(0)?,
        cursor: row.get(1)?,
        body: row.get(2)?,
        taken: row.get(3)?,
        grows: row.get(4)?,
    })
}

pub(super) fn piece(row: &SqlRow<'_>) -> rusqlite::Result<Piece> {
    let rid: i64 = row.get(1)?;
    let member: i64 = row.get(2)?;
    Ok(Piece {
        cursor: low(row.get(0)?),
        rid,
        grown: Grown {
            id: RowId::from(""),
            seq: low(rid),
            member: usize::try_from(member).map_or(Grows::Text, Grows::Terminal),
            offset: row.get(3)?,
            from: 0,
            to: 0,
            revision: row.get(4)?,
            frame: row.get(5)?,
        },
        text: row.get(6)?,
    })
}

/// The part of a key below the session or tape.
pub(super) fn low(key: i64) -> u64 {
    (key & MASK).unsigned_abs()
}

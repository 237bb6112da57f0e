//! Reading tapes.

use rusqlite::params;
use tapline_timeline::SessionId;

use crate::error::Error;
use crate::model::{TapeInfo, TapeInput};
use crate::tape::{self, BLOCK_BYTES};

use super::read::{Db, low};
use super::{place, session_range};

/// A block as it stands in the file.
pub(super) struct Block {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) before: [u8; 32],
    pub(super) hash: [u8; 32],
    size: usize,
    data: Vec<u8>,
}

impl Block {
    /// Its records, checked against its hash.
    pub(super) fn records(&self) -> Result<Vec<u8>, String> {
        let data = tape::unpack(&self.data, self.size)?;
        if tape::block_hash(&self.before, self.first, self.last, &data) == self.hash {
            Ok(data)
        } else {
            Err("its block does not match its hash".to_owned())
        }
    }
}

/// A piece of the open end as it stands in the file.
pub(super) struct OpenPiece {
    pub(super) first: u64,
    pub(super) last: u64,
    hash: [u8; 32],
    data: Vec<u8>,
    size: usize,
}

impl OpenPiece {
    /// Its columns.
    pub(super) const COLUMNS: &str = "tid, last, hash, data, size";

    pub(super) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            first: low(row.get(0)?),
            last: row.get(1)?,
            hash: row.get(2)?,
            data: row.get(3)?,
            size: row.get(4)?,
        })
    }

    /// Its records, checked against their hash.
    pub(super) fn records(self) -> Result<Vec<u8>, String> {
        let data = tape::open_piece(self.data, self.size)?;
        if *blake3::hash(&data).as_bytes() == self.hash {
            Ok(data)
        } else {
            Err("its open end does not match its hash".to_owned())
        }
    }
}

impl Db<'_> {
    pub(super) fn tapes(self, session: Option<&SessionId>) -> Result<Vec<TapeInfo>, Error> {
        let number = session.map(|session| self.need(session)).transpose()?;
        let sql = "SELECT num, connection FROM tapes
             WHERE ?1 IS NULL OR num IN (SELECT tape FROM generations WHERE session = ?1) ORDER BY num";
        let tapes: Vec<(i64, String)> = self.list("reading tapes", sql, [number], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        tapes
            .into_iter()
            .map(|(tape, connection)| self.tape_info(tape, connection))
            .collect()
    }

    fn tape_info(self, tape: i64, connection: String) -> Result<TapeInfo, Error> {
        let (from, to) = session_range(tape);
        let sql = "SELECT count(*) FROM tape_blocks WHERE tid BETWEEN ? AND ?";
        let blocks = self
            .one("reading a tape", sql, [from, to], |row| row.get(0))?
            .unwrap_or(0);
        let sql = "SELECT hash FROM tape_blocks WHERE tid BETWEEN ? AND ? ORDER BY tid DESC LIMIT 1";
        let head: Option<[u8; 32]> = self.one("reading a tape", sql, [from, to], |row| row.get(0))?;
        let sql = "SELECT DISTINCT sessions.id FROM generations JOIN sessions ON num = session WHERE tape = ? ORDER BY num";
        let sessions = self.list("reading a tape", sql, [tape], |row| row.get::<_, String>(0))?;
        Ok(TapeInfo {
            connection,
            last: self.last_input(tape)?,
            blocks,
            head: head.map(|head| blake3::Hash::from_bytes(head).to_hex().as_str().to_owned()),
            sessions: sessions.into_iter().map(SessionId::from).collect(),
        })
    }

    pub(super) fn read_tape(
        self,
        connection: &str,
        number: u64,
        limit: usize,
    ) -> Result<Vec<TapeInput>, Error> {
        let Some(tape) = self.tape(connection)? else {
            return Ok(Vec::new());
        };
        let mut out = Vec::new();
        let mut next = number;
        let mut bytes = 0;
        while out.len() < limit && bytes < BLOCK_BYTES {
            let Some((last, data)) = self.tape_piece(tape, connection, next)? else {
                break;
            };
            for record in tape::records(&data) {
                let input = record.map_err(|error| bad(connection, next, error))?;
                if input.number < next || out.len() == limit {
                    continue;
                }
                bytes += input.bytes.len();
                out.push(input);
            }
            next = last + 1;
        }
        Ok(out)
    }

    /// The block, or the piece of the open end, that holds the first input from `number` on.
    fn tape_piece(self, tape: i64, connection: &str, number: u64) -> Result<Option<(u64, Vec<u8>)>, Error> {
        let (_, end) = session_range(tape);
        if let Some(block) = self.block_from(tape, number)? {
            let data = block
                .records()
                .map_err(|error| bad(connection, block.first, &error))?;
            return Ok(Some((block.last, data)));
        }
        let sql = format!(
            "SELECT {} FROM tape_open WHERE tid BETWEEN ?1 AND ?3 AND last >= ?2 ORDER BY tid LIMIT 1",
            OpenPiece::COLUMNS
        );
        let values = params![place(tape, 0), number, end];
        let Some(piece) = self.one("reading a tape", &sql, values, OpenPiece::read)? else {
            let tail = self.tail(tape)?;
            let mut pieces = tail
                .records
                .iter()
                .filter_map(|record| Some((record.numbers?.1, &record.tape)));
            let found = pieces.find(|(last, _)| *last >= number);
            return Ok(found.map(|(last, data)| (last, data.clone())));
        };
        let (first, last) = (piece.first, piece.last);
        let data = piece.records().map_err(|error| bad(connection, first, &error))?;
        Ok(Some((last, data)))
    }

    /// The first block with an input from `number` on.
    pub(super) fn block_from(self, tape: i64, number: u64) -> Result<Option<Block>, Error> {
        let (from, to) = session_range(tape);
        // The block that begins at or before the number, if it reaches it; else the first that begins after it.
        let sql = "SELECT tid, last, before, hash, size, data FROM tape_blocks
             WHERE tid >= ifnull((SELECT max(tid) FROM tape_blocks WHERE tid BETWEEN ?1 AND ?2), ?2)
               AND tid <= ?3 AND last >= ?4 ORDER BY tid LIMIT 1";
        self.one(
            "reading a tape",
            sql,
            params![from, place(tape, number), to, number],
            |row| {
                Ok(Block {
                    first: low(row.get(0)?),
                    last: row.get(1)?,
                    before: row.get(2)?,
                    hash: row.get(3)?,
                    size: row.get(4)?,
                    data: row.get(5)?,
                })
            },
        )
    }
}

fn bad(connection: &str, number: u64, detail: &str) -> Error {
    Error::BadTape {
        connection: connection.to_owned(),
        number,
        detail: detail.to_owned(),
    }
}

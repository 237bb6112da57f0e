//! Writing tapes: the open end, and the blocks it is folded into.

use std::sync::Arc;

use rusqlite::{OptionalExtension, params};

use crate::error::Error;
use crate::tape::{self, BLOCK_BYTES};

use super::store::Store;
use super::{place, session_range};

/// The open end of a tape.
#[derive(Default)]
pub(super) struct OpenTape {
    data: Vec<u8>,
    head: [u8; 32],
    /// Number of the last input on the tape.
    last: u64,
    /// Whether a part of it stands in the file.
    stored: bool,
}

impl Store {
    /// Adds inputs to the open end of a tape and closes blocks that are full. Inputs that stand on it already are those of a
    /// batch that was written to the tail and is written again, and left out.
    pub(super) fn append_tape(&mut self, tape: i64, first: u64, last: u64, data: &[u8]) -> Result<(), Error> {
        let mut open = self.open_tape(tape)?;
        if last <= open.last {
            self.tapes.insert(tape, open);
            return Ok(());
        }
        open.last = last;
        let full = open.data.len() + data.len() >= BLOCK_BYTES;
        open.data.extend_from_slice(data);
        if full {
            self.close_blocks(tape, &mut open, false)?;
        } else {
            self.put_open(tape, first, last, data)?;
            open.stored = true;
        }
        self.tapes.insert(tape, open);
        Ok(())
    }

    /// Writes a piece of the open end.
    fn put_open(&self, tape: i64, first: u64, last: u64, data: &[u8]) -> Result<(), Error> {
        let packed = tape::pack(data).ok().filter(|packed| packed.len() < data.len());
        let size = packed.as_ref().map_or(0, |_| data.len());
        self.exec(
            "writing the tape",
            "INSERT INTO tape_open (tid, last, hash, data, size) VALUES (?, ?, ?, ?, ?)",
            params![
                place(tape, first),
                last,
                blake3::hash(data).as_bytes(),
                packed.as_deref().unwrap_or(data),
                size,
            ],
        )?;
        Ok(())
    }

    /// Closes the open end of a tape whose connection is over.
    pub(super) fn close_tape(&mut self, tape: i64) -> Result<(), Error> {
        let mut open = self.open_tape(tape)?;
        self.close_blocks(tape, &mut open, true)?;
        Ok(())
    }

    fn close_blocks(&mut self, tape: i64, open: &mut OpenTape, all: bool) -> Result<(), Error> {
        if open.stored {
            let (from, to) = session_range(tape);
            self.exec(
                "writing the tape",
                "DELETE FROM tape_open WHERE tid BETWEEN ? AND ?",
                [from, to],
            )?;
            open.stored = false;
        }
        let mut done = 0;
        for piece in tape::pieces(&open.data, BLOCK_BYTES) {
            let data = &open.data[piece.from..piece.to];
            if piece.to - piece.from < BLOCK_BYTES && !all {
                self.put_open(tape, piece.first, piece.last, data)?;
                open.stored = true;
                break;
            }
            let hash = tape::block_hash(&open.head, piece.first, piece.last, data);
            let packed = tape::pack(data).map_err(|e| Error::Store {
                doing: "packing the tape",
                source: Arc::new(e),
            })?;
            self.exec(
                "writing the tape",
                "INSERT INTO tape_blocks VALUES (?, ?, ?, ?, ?, ?)",
                params![
                    place(tape, piece.first),
                    piece.last,
                    open.head,
                    hash,
                    data.len(),
                    packed
                ],
            )?;
            open.head = hash;
            done = piece.to;
        }
        open.data.drain(..done);
        // A burst leaves no more memory behind than the open end needs.
        open.data.shrink_to(2 * BLOCK_BYTES);
        Ok(())
    }

    fn open_tape(&mut self, tape: i64) -> Result<OpenTape, Error> {
        if let Some(open) = self.tapes.remove(&tape) {
            return Ok(open);
        }
        let say = Self::say(&self.path, "reading the tape");
        let (from, to) = session_range(tape);
        let head: Option<[u8; 32]> = self
            .conn
            .prepare_cached(
                "SELECT hash FROM tape_blocks WHERE tid BETWEEN ? AND ? ORDER BY tid DESC LIMIT 1",
            )
            .and_then(|mut s| s.query_row([from, to], |row| row.get(0)).optional())
            .map_err(&say)?;
        let pieces: Vec<(usize, Vec<u8>)> = self
            .conn
            .prepare_cached("SELECT size, data FROM tape_open WHERE tid BETWEEN ? AND ? ORDER BY tid")
            .and_then(|mut s| {
                s.query_map([from, to], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect()
            })
            .map_err(&say)?;
        let mut data = Vec::new();
        for (size, piece) in pieces {
            let piece = tape::open_piece(piece, size).map_err(|detail| Error::Damaged {
                path: self.path.clone(),
                detail: format!("the open end of tape {tape}: {detail}"),
            })?;
            data.extend_from_slice(&piece);
        }
        Ok(OpenTape {
            last: self.db().last_input(tape)?,
            stored: !data.is_empty(),
            data,
            head: head.unwrap_or(tape::START),
        })
    }
}

//! What stands on a tape: one record per input, and the way back from records to a timeline.
//!
//! A record is an input after masking, with its number and its time. The journal keeps number and time beside the record;
//! the rest is the bytes that [`TapeRecord::encode`] writes:
//!
//! | bytes | meaning |
//! |---|---|
//! | 1 | version (high four bits, 1) and kind (low four bits): 0 line in, 1 line out, 2 and 3 the same too long, 4 standard error, 5 exit, 6 close, 7 what Tapline did |
//! | 1 | flags: 1 a connection begins here, 2 the tape begins here |
//! | string | the name of the connection |
//! | string, string | where the tape begins: its seed, and the agent's name as it was known beforehand (empty: unknown) |
//! | varint | too long: length of the whole line |
//! | varint, 1 | exit: the code (zigzag), and flags: 1 there is a code, 2 there is a signal |
//! | the rest | the line, the beginning of a line that was too long, the name of the signal, or what was done, as JSON |
//!
//! A string is its length as a varint (LEB128) and its bytes in UTF-8.
//!
//! What masking holds back at the end of a stream, and an end of a connection that nobody said, stand on the tape as inputs
//! of their own. So a reader decides nothing anew: [`rebuild`] gives the rows that were recorded.

use std::borrow::Cow;

use tapline_timeline::Time;
use tapline_translate::Direction;
use thiserror::Error;

use crate::memory::Memory;
use crate::recorder::Recorder;

const VERSION: u8 = 1;
const CONNECTION_BEGINS: u8 = 1;
const TAPE_BEGINS: u8 = 2;
const HAS_CODE: u8 = 1;
const HAS_SIGNAL: u8 = 2;

/// One input as it stands on the tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapeRecord<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// When it came.
    pub at: Option<Time>,
    /// The connection it came by: a name among those of its tape.
    pub connection: Cow<'a, str>,
    /// A connection begins with it.
    pub begins: bool,
    /// The tape begins with it.
    pub opening: Option<Opening<'a>>,
    /// What it is.
    pub what: Recorded<'a>,
}

/// What a recorder must be told before the first input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening<'a> {
    /// Begins the labels of its connections.
    pub seed: Cow<'a, str>,
    /// What the agent is called, where that was known beforehand.
    pub hint: Option<Cow<'a, str>>,
}

/// The kinds of inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded<'a> {
    /// A line of the pipe.
    Line(Direction, Cow<'a, str>),
    /// A line over the limit: its beginning, and its whole length in bytes.
    TooLong(Direction, Cow<'a, str>, u64),
    /// A line of standard error.
    Stderr(Cow<'a, str>),
    /// The process ended.
    Exit {
        /// Its exit code.
        code: Option<i64>,
        /// The signal that ended it.
        signal: Option<Cow<'a, str>>,
    },
    /// The record of the connection ends.
    Close,
    /// What Tapline itself did, as one JSON object: see [`tapline_translate::Input::Did`].
    Did(Cow<'a, str>),
}

/// Why a record cannot be read.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum TapeError {
    /// It was written by a newer Tapline.
    #[error("record {number} has version {found}, and this Tapline reads version {VERSION}; use a newer one")]
    Newer {
        /// The record.
        number: u64,
        /// Its version.
        found: u8,
    },
    /// It is no record.
    #[error("record {number} is damaged: {what}")]
    Damaged {
        /// The record.
        number: u64,
        /// What is wrong.
        what: &'static str,
    },
}

impl TapeRecord<'_> {
    /// Writes what the tape keeps beside number and time.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let way = |direction| u8::from(direction == Direction::Out);
        let kind = match &self.what {
            Recorded::Line(direction, _) => way(*direction),
            Recorded::TooLong(direction, ..) => 2 + way(*direction),
            Recorded::Stderr(_) => 4,
            Recorded::Exit { .. } => 5,
            Recorded::Close => 6,
            Recorded::Did(_) => 7,
        };
        let begins = if self.begins { CONNECTION_BEGINS } else { 0 };
        let opening = if self.opening.is_some() { TAPE_BEGINS } else { 0 };
        out.extend([VERSION << 4 | kind, begins | opening]);
        put_string(out, &self.connection);
        if let Some(opening) = &self.opening {
            put_string(out, &opening.seed);
            put_string(out, opening.hint.as_deref().unwrap_or_default());
        }
        match &self.what {
            Recorded::Line(_, text) | Recorded::Stderr(text) | Recorded::Did(text) => {
                out.extend_from_slice(text.as_bytes());
            }
            Recorded::TooLong(_, prefix, bytes) => {
                put_varint(out, *bytes);
                out.extend_from_slice(prefix.as_bytes());
            }
            Recorded::Exit { code, signal } => {
                let value = code.unwrap_or(0);
                put_varint(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
                let has_code = if code.is_some() { HAS_CODE } else { 0 };
                out.push(has_code | if signal.is_some() { HAS_SIGNAL } else { 0 });
                out.extend_from_slice(signal.as_deref().unwrap_or_default().as_bytes());
            }
            Recorded::Close => {}
        }
    }

    /// The same record, holding its own text.
    pub fn into_owned(self) -> TapeRecord<'static> {
        let own = |text: Cow<'_, str>| Cow::<'static, str>::Owned(text.into_owned());
        TapeRecord {
            number: self.number,
            at: self.at,
            connection: own(self.connection),
            begins: self.begins,
            opening: self.opening.map(|opening| Opening {
                seed: own(opening.seed),
                hint: opening.hint.map(own),
            }),
            what: match self.what {
                Recorded::Line(direction, text) => Recorded::Line(direction, own(text)),
                Recorded::TooLong(direction, prefix, bytes) => {
                    Recorded::TooLong(direction, own(prefix), bytes)
                }
                Recorded::Stderr(text) => Recorded::Stderr(own(text)),
                Recorded::Exit { code, signal } => Recorded::Exit {
                    code,
                    signal: signal.map(own),
                },
                Recorded::Close => Recorded::Close,
                Recorded::Did(text) => Recorded::Did(own(text)),
            },
        }
    }
}

impl<'a> TapeRecord<'a> {
    /// Reads what [`TapeRecord::encode`] wrote.
    ///
    /// # Errors
    /// Where the bytes are no record that this version knows.
    pub fn decode(number: u64, at: Option<Time>, bytes: &'a [u8]) -> Result<Self, TapeError> {
        let [tag, flags, rest @ ..] = bytes else {
            return Err(TapeError::Damaged {
                number,
                what: "it is too short",
            });
        };
        if tag >> 4 != VERSION {
            return Err(TapeError::Newer {
                number,
                found: tag >> 4,
            });
        }
        let mut rest = Rest { number, bytes: rest };
        let connection = rest.string()?.into();
        let opening = if flags & TAPE_BEGINS == 0 {
            None
        } else {
            let seed = rest.string()?.into();
            let hint = Some(rest.string()?)
                .filter(|hint| !hint.is_empty())
                .map(Cow::from);
            Some(Opening { seed, hint })
        };
        let direction = if tag & 1 == 0 {
            Direction::In
        } else {
            Direction::Out
        };
        let what = match tag & 0xf {
            0 | 1 => Recorded::Line(direction, rest.text()?.into()),
            2 | 3 => {
                let bytes = rest.varint()?;
                Recorded::TooLong(direction, rest.text()?.into(), bytes)
            }
            4 => Recorded::Stderr(rest.text()?.into()),
            5 => {
                let value = rest.varint()?;
                let value = (value >> 1).cast_signed() ^ -((value & 1).cast_signed());
                let has = rest.byte()?;
                Recorded::Exit {
                    code: (has & HAS_CODE != 0).then_some(value),
                    signal: if has & HAS_SIGNAL == 0 {
                        None
                    } else {
                        Some(rest.text()?.into())
                    },
                }
            }
            6 => Recorded::Close,
            7 => Recorded::Did(rest.text()?.into()),
            _ => return Err(rest.damaged("its kind is unknown")),
        };
        Ok(Self {
            number,
            at,
            connection,
            begins: flags & CONNECTION_BEGINS != 0,
            opening,
            what,
        })
    }
}

/// The timeline that some records tell, from the first on.
pub fn rebuild<'a>(records: impl IntoIterator<Item = TapeRecord<'a>>) -> Recorder<Memory> {
    let mut recorder = Recorder::new(Memory::new(), None);
    for record in records {
        recorder.record(&record);
    }
    recorder
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// What is still to be read of a record.
struct Rest<'a> {
    number: u64,
    bytes: &'a [u8],
}

impl<'a> Rest<'a> {
    fn damaged(&self, what: &'static str) -> TapeError {
        TapeError::Damaged {
            number: self.number,
            what,
        }
    }

    fn byte(&mut self) -> Result<u8, TapeError> {
        let (first, rest) = self
            .bytes
            .split_first()
            .ok_or_else(|| self.damaged("it ends too early"))?;
        self.bytes = rest;
        Ok(*first)
    }

    fn varint(&mut self) -> Result<u64, TapeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if (part << shift) >> shift != part {
                break;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damaged("a number in it is too large"))
    }

    fn string(&mut self) -> Result<&'a str, TapeError> {
        let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        let (text, rest) = self
            .bytes
            .split_at_checked(length)
            .ok_or_else(|| self.damaged("it ends too early"))?;
        self.bytes = rest;
        std::str::from_utf8(text).map_err(|_| self.damaged("a text in it is no UTF-8"))
    }

    fn text(&mut self) -> Result<&'a str, TapeError> {
        let text = std::mem::take(&mut self.bytes);
        std::str::from_utf8(text).map_err(|_| self.damaged("its text is no UTF-8"))
    }
}

//! The tail of a tape: a small file beside the journal to which streamed text is appended, with the inputs it came in.
//!
//! SQLite writes whole pages, and a quarter of a second of a streamed reply is a few hundred bytes: written into tables it
//! costs many times its size. So a batch that only appends goes to the end of this file, packed, and is on stable storage
//! when [`Tail::append`] returns. The next commit of its writer takes everything in the tail into the tables, in
//! its own transaction ([`super::store::Store::take_in`]).
//!
//! A tail holds what came after everything in the tables, or nothing. So it names the last input that stands there, its
//! *base*. Tables whose last input is another have taken it in already, and for them the tail is empty, whatever still stands
//! in the file; or they are older than the tail, and whoever reads them must look again. That needs each commit to
//! the tables to bring an input; where one did not, nothing goes to the tail until the next that does
//! ([`super::store::Store::stream`]).
//!
//! A record is a header of [`HEADER`] bytes and its packed content; the content before it is its dictionary, since the frames of a
//! message differ in little. The header has the base, the record's ordinal and a check of everything. Each record is
//! on stable storage before the next is written: a record that does not check is the torn end of a write that nobody was told of,
//! unless a good one of the same base stands behind it, which is damage.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tapline_timeline::{Grows, RowId};

use crate::batch::{Batch, Grown, Op};
use crate::error::Error;
use crate::home::{file_error, private_file};
use crate::tape;
use crate::writer::Hold;

/// Longest text and tape of a batch that goes to the tail, in bytes. One that is longer fills pages by itself.
pub(super) const BATCH_BYTES: usize = 32 * 1024;

/// What a tail holds before the tables take it in, in bytes before packing: readers read all of it.
pub(super) const TAIL_BYTES: usize = tape::BLOCK_BYTES;

/// Longest file that is read, in bytes: what packs badly, and the headers of the shortest records, are in it.
const FILE_LIMIT: u64 = 16 * TAIL_BYTES as u64;

/// Longest content of a record that is taken as one, in bytes.
const CONTENT_LIMIT: usize = 1 << 20;

const MAGIC: [u8; 4] = *b"tail";
/// Magic, base, ordinal, length packed, length before, check.
const HEADER: usize = 4 + 8 + 4 + 4 + 4 + 8;

/// One batch as it stands in the tail.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    pub(super) entries: Vec<StreamedEntry>,
    text: String,
    /// Inputs, as records of a tape.
    pub(super) tape: Vec<u8>,
    /// Numbers of the first and the last input.
    pub(super) numbers: Option<(u64, u64)>,
}

/// Text that a row grew by.
#[derive(Debug)]
pub(super) struct StreamedEntry {
    /// Number of the session.
    pub(super) session: i64,
    /// Under which hold it was written.
    pub(super) generation: u64,
    pub(super) cursor: u64,
    /// Its id is not known here.
    pub(super) grown: Grown,
}

impl Streamed {
    pub(super) fn text(&self, entry: &StreamedEntry) -> &str {
        // The bounds were checked when the record was read.
        self.text
            .get(entry.grown.from..entry.grown.to)
            .unwrap_or_default()
    }

    /// Whether a batch is one for the tail.
    pub(super) fn takes(batch: &Batch) -> bool {
        batch.text.len() + batch.tape.len() <= BATCH_BYTES
            && batch.blobs.is_empty()
            && batch.providers.is_empty()
            && !batch.entries.is_empty()
            && batch.numbers.is_some()
            && batch
                .entries
                .iter()
                .all(|entry| matches!(entry.op, Op::Append(_)))
    }

    /// The content of a record.
    fn write(batch: &Batch, holds: &[Hold]) -> Vec<u8> {
        let mut out = Vec::with_capacity(batch.text.len() + batch.tape.len() + 80 * batch.entries.len());
        let appends = batch.entries.iter().filter_map(|entry| match &entry.op {
            Op::Append(grown) => Some((&holds[entry.session], entry.cursor, grown)),
            _ => None,
        });
        // The longest batch has fewer entries than bytes.
        let count = u32::try_from(batch.entries.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&count.to_le_bytes());
        let mut text = String::with_capacity(batch.text.len());
        for (hold, cursor, grown) in appends {
            let member = match grown.member {
                Grows::Text => u64::MAX,
                Grows::Terminal(index) => index as u64,
            };
            let piece = &batch.text[grown.from..grown.to];
            text.push_str(piece);
            let numbers = [
                hold.number.unsigned_abs(),
                hold.generation,
                cursor,
                grown.seq,
                member,
                grown.offset,
                grown.revision,
                grown.frame,
                piece.len() as u64,
            ];
            for number in numbers {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        out.extend_from_slice(text.as_bytes());
        let (first, last) = batch.numbers.unwrap_or((u64::MAX, 0));
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&last.to_le_bytes());
        out.extend_from_slice(&batch.tape);
        out
    }

    /// Reads the content of a record.
    fn read(content: &[u8]) -> Option<Self> {
        let (count, mut rest) = content.split_first_chunk::<4>()?;
        let mut number = || {
            let (number, behind) = rest.split_first_chunk::<8>()?;
            rest = behind;
            Some(u64::from_le_bytes(*number))
        };
        let mut out = Self::default();
        let mut at = 0usize;
        for _ in 0..u32::from_le_bytes(*count) {
            let (session, generation, cursor, seq) = (number()?, number()?, number()?, number()?);
            let (member, offset, revision, frame) = (number()?, number()?, number()?, number()?);
            let to = at.checked_add(usize::try_from(number()?).ok()?)?;
            let member = match member {
                u64::MAX => Grows::Text,
                index => Grows::Terminal(usize::try_from(index).ok()?),
            };
            let grown = Grown {
                id: RowId::from(""),
                seq,
                member,
                offset,
                from: at,
                to,
                revision,
                frame,
            };
            out.entries.push(StreamedEntry {
                session: i64::try_from(session).ok()?,
                generation,
                cursor,
                grown,
            });
            at = to;
        }
        let (text, behind) = rest.split_at_checked(at)?;
        rest = behind;
        out.text = std::str::from_utf8(text).ok()?.to_owned();
        let whole = |entry: &StreamedEntry| out.text.get(entry.grown.from..entry.grown.to).is_some();
        if !out.entries.iter().all(whole) {
            return None;
        }
        let (first, behind) = rest.split_first_chunk::<8>()?;
        let (last, tape) = behind.split_first_chunk::<8>()?;
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        out.numbers = (first <= last).then_some((first, last));
        out.tape = tape.to_vec();
        Some(out)
    }
}

/// What stands in the file of a tail.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Of the records; nothing where there is none.
    pub(super) base: Option<u64>,
    pub(super) records: Vec<Streamed>,
    /// Where the last whole record ends.
    end: usize,
    /// What the records hold, before packing.
    bytes: usize,
    /// The last content: the next record's dictionary.
    last: Vec<u8>,
}

/// What a reader finds at the place of a tail.
#[derive(Debug)]
pub(super) enum Found {
    /// No file, or an empty one: there is no tail, or it was taken in a moment ago.
    Nothing,
    /// The file was begun anew while it was read.
    Moved,
    Content(Content),
}

/// The file of a tape's tail.
pub(super) fn path_of(live: &Path, tape: i64) -> PathBuf {
    live.join(format!("{tape}.tail"))
}

/// The tails in a folder, each with the number of its tape.
pub(super) fn all(live: &Path) -> impl Iterator<Item = (PathBuf, i64)> + use<> {
    let entries = std::fs::read_dir(live).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let path = entry.path();
        let name = path.file_name()?.to_str()?;
        let tape = name.strip_suffix(".tail")?.parse().ok()?;
        Some((path, tape))
    })
}

/// Reads the tail of a tape. `tape` is in the check of each record: a file of another tape has none.
///
/// # Errors
/// What the system says, and [`Error::Damaged`] for a broken record with a good one behind it.
pub(super) fn find(live: &Path, tape: i64) -> Result<Found, Error> {
    let path = path_of(live, tape);
    let say = |error| file_error(&path, "reading it", error);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(say(error)),
    };
    let mut bytes = Vec::new();
    (&mut file)
        .take(FILE_LIMIT)
        .read_to_end(&mut bytes)
        .map_err(say)?;
    if bytes.is_empty() {
        return Ok(Found::Nothing);
    }
    // Whoever begins it anew cuts it first, so the same first header means the same file all the while.
    let mut again = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.take(HEADER as u64).read_to_end(&mut again))
        .map_err(say)?;
    if bytes.get(..again.len()) != Some(&again[..]) || again.len() < HEADER.min(bytes.len()) {
        return Ok(Found::Moved);
    }
    match Content::scan(&bytes, tape) {
        Ok(content) => Ok(Found::Content(content)),
        Err(detail) => Err(Error::Damaged { path, detail }),
    }
}

impl Content {
    /// Reads records until one is not whole.
    fn scan(bytes: &[u8], tape: i64) -> Result<Self, String> {
        let mut out = Self::default();
        while let Some((base, content, next)) = out.record(bytes, tape) {
            let Some(streamed) = Streamed::read(&content) else {
                return Err(format!(
                    "the record at byte {} checks and cannot be read",
                    out.end
                ));
            };
            out.base = Some(base);
            out.records.push(streamed);
            out.bytes += content.len();
            out.last = content;
            out.end = next;
        }
        match out.behind(bytes, tape) {
            None => Ok(out),
            Some(at) => Err(format!(
                "its record at byte {} is broken, and a good one stands behind it at byte {at}",
                out.end
            )),
        }
    }

    /// The next record: its base, its content, and where it ends.
    fn record(&self, bytes: &[u8], tape: i64) -> Option<(u64, Vec<u8>, usize)> {
        let head = Head::at(bytes, self.end, tape)?;
        let follows = head.ordinal as usize == self.records.len() && self.base.is_none_or(|e| e == head.base);
        if !follows || head.size > CONTENT_LIMIT {
            return None;
        }
        let content = unpack(head.packed, head.size, &self.last)?;
        Some((head.base, content, self.end + HEADER + head.packed.len()))
    }

    /// A good record behind the end: of the same base, and later than the last.
    fn behind(&self, bytes: &[u8], tape: i64) -> Option<usize> {
        let rest = bytes.get(self.end + 1..)?;
        let places = rest.windows(MAGIC.len()).enumerate();
        places
            .filter(|(_, window)| **window == MAGIC)
            .map(|(at, _)| self.end + 1 + at)
            .find(|at| {
                Head::at(bytes, *at, tape).is_some_and(|head| {
                    head.ordinal as usize > self.records.len() && self.base.is_none_or(|e| e == head.base)
                })
            })
    }

    /// Number of the last input.
    pub(super) fn last_input(&self) -> u64 {
        let lasts = self.records.iter().filter_map(|record| record.numbers);
        lasts.map(|(_, last)| last).max().unwrap_or(0)
    }
}

/// A record whose check is right.
struct Head<'a> {
    base: u64,
    ordinal: u32,
    size: usize,
    packed: &'a [u8],
}

impl<'a> Head<'a> {
    fn at(bytes: &'a [u8], at: usize, tape: i64) -> Option<Self> {
        let rest = bytes.get(at..)?.strip_prefix(&MAGIC)?;
        let (base, rest) = rest.split_first_chunk::<8>()?;
        let (ordinal, rest) = rest.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (check, rest) = rest.split_first_chunk::<8>()?;
        let packed = rest.get(..u32::from_le_bytes(*length) as usize)?;
        let head = Self {
            base: u64::from_le_bytes(*base),
            ordinal: u32::from_le_bytes(*ordinal),
            size: u32::from_le_bytes(*size) as usize,
            packed,
        };
        (head.check(tape) == *check).then_some(head)
    }

    fn check(&self, tape: i64) -> [u8; 8] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&tape.to_le_bytes());
        hasher.update(&self.base.to_le_bytes());
        hasher.update(&self.ordinal.to_le_bytes());
        hasher.update(&(self.size as u64).to_le_bytes());
        hasher.update(self.packed);
        let mut check = [0; 8];
        check.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        check
    }

    fn write(&self, tape: i64) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + self.packed.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.base.to_le_bytes());
        out.extend_from_slice(&self.ordinal.to_le_bytes());
        // Both are below the limit of a content.
        out.extend_from_slice(&(self.packed.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.size as u32).to_le_bytes());
        out.extend_from_slice(&self.check(tape));
        out.extend_from_slice(self.packed);
        out
    }
}

/// The tail of a tape that we write.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    file: File,
    tape: i64,
    base: u64,
    ordinal: u32,
    end: u64,
    bytes: usize,
    last: Vec<u8>,
}

impl Tail {
    /// Opens the tail of a tape for appending, and makes it where there is none. What stands in it of an earlier base is
    /// cut off.
    pub(super) fn open(live: &Path, tape: i64, base: u64) -> Result<Self, Error> {
        let content = match find(live, tape)? {
            Found::Content(content) if content.base == Some(base) => content,
            _ => Content::default(),
        };
        let path = path_of(live, tape);
        let say = |error| file_error(&path, "opening it", error);
        let fresh = !path.exists();
        let file = private_file(&path).map_err(say)?;
        if fresh {
            // A new file's name is on stable storage with its folder.
            sync_folder(live).map_err(say)?;
        }
        file.set_len(content.end as u64).map_err(say)?;
        Ok(Self {
            file,
            tape,
            base,
            // A tail has at most as many records as bytes.
            ordinal: content.records.len() as u32,
            end: content.end as u64,
            bytes: content.bytes,
            last: content.last,
            path,
        })
    }

    /// The base that it writes.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Whether there is room for this batch.
    pub(super) fn has_room(&self, batch: &Batch) -> bool {
        self.bytes + batch.text.len() + batch.tape.len() <= TAIL_BYTES
    }

    /// Appends a batch; it is on stable storage when this returns. After an error the tail must be opened anew.
    pub(super) fn append(&mut self, batch: &Batch, holds: &[Hold]) -> Result<(), Error> {
        let say = |error| file_error(&self.path, "appending to it", error);
        let content = Streamed::write(batch, holds);
        let packed = pack(&content, &self.last).map_err(say)?;
        let head = Head {
            base: self.base,
            ordinal: self.ordinal,
            size: content.len(),
            packed: &packed,
        };
        let record = head.write(self.tape);
        let written = self
            .file
            .seek(SeekFrom::Start(self.end))
            .and_then(|_| self.file.write_all(&record))
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Best effort: what stays is the torn end of a write that nobody is told of.
            let _ = self.file.set_len(self.end);
            return Err(file_error(&self.path, "appending to it", error));
        }
        self.ordinal += 1;
        self.end += record.len() as u64;
        self.bytes += content.len();
        self.last = content;
        Ok(())
    }
}

/// Packs a content; what the one before it has costs next to nothing.
fn pack(content: &[u8], before: &[u8]) -> std::io::Result<Vec<u8>> {
    zstd::bulk::Compressor::with_dictionary(3, before)?.compress(content)
}

fn unpack(packed: &[u8], size: usize, before: &[u8]) -> Option<Vec<u8>> {
    let mut unpacker = zstd::bulk::Decompressor::with_dictionary(before).ok()?;
    let content = unpacker.decompress(packed, size).ok()?;
    (content.len() == size).then_some(content)
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

//! A record of a tail: one batch, packed behind a header that checks it.

use tapline_timeline::{Grows, RowId};

use crate::batch::{Batch, Grown, Op};
use crate::writer::Hold;

/// Longest content of a batch that goes to the tail, in bytes. One that is longer fills pages by itself. It has fewer changes than
/// bytes, so this is also more changes than any record has.
pub(in super::super) const BATCH_BYTES: usize = 32 * 1024;

/// Longest content of a record that is taken as one, in bytes, packed or not.
pub(super) const CONTENT_LIMIT: usize = 2 * BATCH_BYTES;

/// The numbers of an append.
const ENTRY: usize = 9 * 8;

pub(super) const MAGIC: [u8; 4] = *b"tail";
/// Magic, base, ordinal, length packed, length before, check.
pub(super) const HEADER: usize = 4 + 8 + 4 + 4 + 4 + 8;

/// One batch as it stands in the tail.
#[derive(Debug, Default)]
pub(in super::super) struct Streamed {
    pub(in super::super) entries: Vec<StreamedEntry>,
    text: String,
    /// Inputs, as records of a tape.
    pub(in super::super) tape: Vec<u8>,
    /// Numbers of the first and the last input.
    pub(in super::super) numbers: Option<(u64, u64)>,
}

/// Text that a row grew by.
#[derive(Debug)]
pub(in super::super) struct StreamedEntry {
    /// Number of the session.
    pub(in super::super) session: i64,
    /// Under which hold it was written.
    pub(in super::super) generation: u64,
    pub(in super::super) cursor: u64,
    /// Its id is not known here.
    pub(in super::super) grown: Grown,
}

impl Streamed {
    pub(in super::super) fn text(&self, entry: &StreamedEntry) -> &str {
        // The bounds were checked when the record was read.
        self.text
            .get(entry.grown.from..entry.grown.to)
            .unwrap_or_default()
    }

    /// Whether a batch is one for the tail.
    pub(in super::super) fn takes(batch: &Batch) -> bool {
        Self::bytes(batch) <= BATCH_BYTES
            && batch.blobs.is_empty()
            && batch.providers.is_empty()
            && !batch.entries.is_empty()
            && batch.numbers.is_some()
            && batch
                .entries
                .iter()
                .all(|entry| matches!(entry.op, Op::Append(_)))
    }

    /// Length of the content of its record.
    pub(super) fn bytes(batch: &Batch) -> usize {
        4 + ENTRY * batch.entries.len() + batch.text.len() + 16 + batch.tape.len()
    }

    /// The content of a record.
    pub(super) fn write(batch: &Batch, holds: &[Hold]) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::bytes(batch));
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
    pub(super) fn read(content: &[u8]) -> Option<Self> {
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

/// A record whose check is right.
pub(super) struct Head<'a> {
    pub(super) base: u64,
    pub(super) ordinal: u32,
    pub(super) size: usize,
    pub(super) packed: &'a [u8],
}

impl<'a> Head<'a> {
    pub(super) fn at(bytes: &'a [u8], at: usize, tape: i64) -> Option<Self> {
        let rest = bytes.get(at..)?.strip_prefix(&MAGIC)?;
        let (base, rest) = rest.split_first_chunk::<8>()?;
        let (ordinal, rest) = rest.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (check, rest) = rest.split_first_chunk::<8>()?;
        let length = Some(u32::from_le_bytes(*length) as usize).filter(|length| *length <= CONTENT_LIMIT)?;
        let packed = rest.get(..length)?;
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

    pub(super) fn write(&self, tape: i64) -> Vec<u8> {
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

/// Packs a content; what the one before it has costs next to nothing.
pub(super) fn pack(content: &[u8], before: &[u8]) -> std::io::Result<Vec<u8>> {
    zstd::bulk::Compressor::with_dictionary(3, before)?.compress(content)
}

pub(super) fn unpack(packed: &[u8], size: usize, before: &[u8]) -> Option<Vec<u8>> {
    let mut unpacker = zstd::bulk::Decompressor::with_dictionary(before).ok()?;
    let content = unpacker.decompress(packed, size).ok()?;
    (content.len() == size).then_some(content)
}

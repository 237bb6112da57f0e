//! The form of a tape: records of inputs, and blocks of records that carry the hash of the block before.
//!
//! A record is number, time, length and bytes, all little-endian. A block holds about [`BLOCK_BYTES`] of records,
//! compressed; its hash covers the hash of the block before, its own place and the records as they were before
//! compression. So nothing on a tape can be changed, left out or moved without every later hash telling, and another
//! version of the compressor changes no hash. The open end is stored with each commit, in pieces that are packed as well:
//! the frames of a streamed message differ in little, and each piece shares its pages with nothing.

use tapline_timeline::Time;

use crate::model::TapeInput;

/// Size of a block before compression, in bytes.
pub const BLOCK_BYTES: usize = 256 * 1024;

/// Longest block that is taken as one, in bytes: a single input may be longer than [`BLOCK_BYTES`].
pub const BLOCK_LIMIT: usize = 64 * 1024 * 1024;

const HEADER: usize = 8 + 1 + 8 + 4;

/// The hash before the first block.
pub(crate) const START: [u8; 32] = [0; 32];

/// Adds a record.
pub(crate) fn push_record(out: &mut Vec<u8>, number: u64, at: Option<Time>, bytes: &[u8]) {
    let (tag, time) = match at {
        None => (0u8, 0u64),
        Some(Time::At(ms)) => (1, ms as u64),
        Some(Time::Since(ms)) => (2, ms),
    };
    // A longer input than 4 GiB cannot come: the longest line is 16 MiB.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.reserve(HEADER + bytes.len());
    out.extend_from_slice(&number.to_le_bytes());
    out.push(tag);
    out.extend_from_slice(&time.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&bytes[..length as usize]);
}

/// Reads records in order. The first broken one ends the reading.
pub(crate) fn records(data: &[u8]) -> Records<'_> {
    Records { rest: data }
}

/// The records of some data.
pub(crate) struct Records<'a> {
    rest: &'a [u8],
}

impl Records<'_> {
    fn step(&mut self) -> Option<TapeInput> {
        let (number, rest) = self.rest.split_first_chunk::<8>()?;
        let (tag, rest) = rest.split_first_chunk::<1>()?;
        let (time, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let bytes = rest.get(..u32::from_le_bytes(*length) as usize)?;
        let time = u64::from_le_bytes(*time);
        let at = match tag[0] {
            0 => None,
            1 => Some(Time::At(time as i64)),
            2 => Some(Time::Since(time)),
            _ => return None,
        };
        let input = TapeInput {
            number: u64::from_le_bytes(*number),
            at,
            bytes: bytes.to_vec(),
        };
        self.rest = &rest[bytes.len()..];
        Some(input)
    }
}

impl Iterator for Records<'_> {
    type Item = Result<TapeInput, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match self.step() {
            Some(input) => Some(Ok(input)),
            None => {
                self.rest = &[];
                Some(Err("a record is broken"))
            }
        }
    }
}

/// A run of whole records.
pub(crate) struct Piece {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Numbers of its first and last record.
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Cuts records into pieces of at least `size` bytes; the last may be smaller.
pub(crate) fn pieces(data: &[u8], size: usize) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut piece: Option<Piece> = None;
    while let Some(header) = data.get(at..at + HEADER) {
        let (number, _) = header
            .split_first_chunk::<8>()
            .map_or((0, ()), |(n, _)| (u64::from_le_bytes(*n), ()));
        let (_, length) = header
            .split_last_chunk::<4>()
            .map_or(((), 0), |(_, l)| ((), u32::from_le_bytes(*l)));
        let to = (at + HEADER + length as usize).min(data.len());
        let open = piece.get_or_insert(Piece {
            from: at,
            to,
            first: number,
            last: number,
        });
        (open.to, open.last) = (to, number);
        if open.to - open.from >= size {
            out.extend(piece.take());
        }
        at = to;
    }
    out.extend(piece);
    out
}

/// The hash of a block.
pub(crate) fn block_hash(before: &[u8; 32], first: u64, last: u64, data: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before);
    hasher.update(&first.to_le_bytes());
    hasher.update(&last.to_le_bytes());
    hasher.update(data);
    *hasher.finalize().as_bytes()
}

/// Compresses a block or a blob.
pub(crate) fn pack(data: &[u8]) -> std::io::Result<Vec<u8>> {
    zstd::bulk::compress(data, 3)
}

/// Undoes [`pack`]. `size` is the size before, as it was stored beside.
pub(crate) fn unpack(data: &[u8], size: usize) -> Result<Vec<u8>, String> {
    if size > BLOCK_LIMIT {
        return Err(format!("it claims {size} bytes, more than any block has"));
    }
    let out = zstd::bulk::decompress(data, size).map_err(|error| error.to_string())?;
    if out.len() != size {
        Err(format!("it has {} bytes, not {size}", out.len()))
    } else {
        Ok(out)
    }
}

/// A piece of the open end as it was before it was packed; with size 0 it stands plain.
pub(crate) fn open_piece(data: Vec<u8>, size: usize) -> Result<Vec<u8>, String> {
    if size == 0 { Ok(data) } else { unpack(&data, size) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back_as_they_were(inputs in prop::collection::vec((any::<u64>(), any::<Option<i64>>(), any::<Vec<u8>>()), 0..20)) {
            let mut data = Vec::new();
            for (number, at, bytes) in &inputs {
                push_record(&mut data, *number, at.map(Time::At), bytes);
            }
            let back: Vec<_> = records(&data).map(|r| r.unwrap()).map(|i| (i.number, i.at, i.bytes)).collect();
            let want: Vec<_> = inputs.into_iter().map(|(n, at, bytes)| (n, at.map(Time::At), bytes)).collect();
            prop_assert_eq!(back, want);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(data: Vec<u8>) {
            let broken = records(&data).filter(Result::is_err).count();
            prop_assert!(broken <= 1);
        }
    }

    #[test]
    fn a_torn_record_is_told() {
        let mut data = Vec::new();
        push_record(&mut data, 1, None, b"one");
        push_record(&mut data, 2, Some(Time::Since(5)), b"two");
        data.pop();
        let read: Vec<_> = records(&data).collect();
        assert_eq!(read.len(), 2);
        assert!(read[0].is_ok() && read[1].is_err());
    }

    #[test]
    fn a_block_is_bound_to_its_place_and_to_what_came_before() {
        let hash = block_hash(&START, 1, 2, b"data");
        assert_ne!(hash, block_hash(&[1; 32], 1, 2, b"data"));
        assert_ne!(hash, block_hash(&START, 1, 3, b"data"));
        assert_ne!(hash, block_hash(&START, 1, 2, b"dato"));
        let packed = pack(b"data").unwrap();
        assert_eq!(unpack(&packed, 4).unwrap(), b"data");
        assert!(unpack(&packed, 3).is_err() && unpack(&packed, usize::MAX).is_err());
    }
}

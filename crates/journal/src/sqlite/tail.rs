//! The tail of a tape: a small file beside the journal to which streamed text is appended, with the inputs it came in.
//!
//! SQLite writes whole pages, and a quarter of a second of a streamed reply is a few hundred bytes: written into tables it
//! costs many times its size. So a batch that only appends goes to the end of this file, packed, and is on stable storage
//! when [`Tail::append`] returns. The next commit of its writer takes everything in the tail into the tables, in
//! its own transaction ([`super::store::Store::take_in`]).
//!
//! A tape has one writer, who holds the lock of this file as long as it may write ([`Written`]). Whoever else takes a tail in, or
//! removes it, takes the lock first: so nobody takes in half of what a living writer reports as saved, nor removes a file that
//! another has begun to write.
//!
//! A tail holds what came after everything in the tables, or nothing. So it names the last input that stands there, its
//! *base*. Tables whose last input is another have taken it in already, and for them the tail is empty, whatever still stands
//! in the file; or they are older than the tail, and whoever reads them must look again. That needs each commit to
//! the tables to bring an input; where one did not, nothing goes to the tail until the next that does
//! ([`super::store::Store::stream`]).
//!
//! A record ([`record`]) is a header and its packed content; the content before it is its dictionary, since the frames of a
//! message differ in little. The header has the base, the record's ordinal and a check of everything. Each record is
//! on stable storage before the next is written: a record that does not check is the torn end of a write that nobody was told of,
//! unless a good one of the same base stands behind it, which is damage.

mod own;
mod record;

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::home::file_error;
use crate::tape;

pub(super) use own::{Tail, Written};
pub(super) use record::{BATCH_BYTES, Streamed, StreamedEntry};
use record::{CONTENT_LIMIT, HEADER, Head, MAGIC, unpack};

/// What a tail holds before the tables take it in, in bytes before packing: readers read all of it.
pub(super) const TAIL_BYTES: usize = tape::BLOCK_BYTES;

/// Longest file that is read, in bytes: what packs badly, and the headers of the shortest records, are in it.
const FILE_LIMIT: u64 = 16 * TAIL_BYTES as u64;

/// What stands in the file of a tail.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Of the records; nothing where there is none.
    pub(super) base: Option<u64>,
    pub(super) records: Vec<Streamed>,
    /// Where the last whole record ends.
    end: usize,
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

/// Reads the tail of a tape for tables whose last input is `base`. `tape` is in the check of each record: a file of another tape has
/// none.
///
/// # Errors
/// What the system says, and [`Error::Damaged`] for a broken record with a good one behind it.
pub(super) fn find(live: &Path, tape: i64, base: u64) -> Result<Found, Error> {
    let path = path_of(live, tape);
    match File::open(&path) {
        Ok(file) => read(&file, &path, tape, base),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(file_error(&path, "reading it", error)),
    }
}

fn read(mut file: &File, path: &Path, tape: i64, base: u64) -> Result<Found, Error> {
    let say = |error| file_error(path, "reading it", error);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.take(FILE_LIMIT).read_to_end(&mut bytes))
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
    match Content::scan(&bytes, tape, base) {
        Ok(content) => Ok(Found::Content(content)),
        Err(detail) => Err(Error::Damaged {
            path: path.to_owned(),
            detail,
        }),
    }
}

/// What is said of a tail that goes on from tables that are not there.
pub(super) fn younger(live: &Path, tape: i64) -> Error {
    Error::Damaged {
        path: path_of(live, tape),
        detail: "it is younger than the journal, which must be an older copy: put the right one back, or move this file away"
            .to_owned(),
    }
}

impl Content {
    /// Reads records until one is not whole. Of a tail that the tables have taken in only the base is read.
    fn scan(bytes: &[u8], tape: i64, base: u64) -> Result<Self, String> {
        let mut out = Self::default();
        if let Some(head) = Head::at(bytes, 0, tape).filter(|head| head.base < base) {
            out.base = Some(head.base);
            return Ok(out);
        }
        while let Some((base, content, next)) = out.record(bytes, tape) {
            let Some(streamed) = Streamed::read(&content) else {
                return Err(format!(
                    "the record at byte {} checks and cannot be read",
                    out.end
                ));
            };
            out.base = Some(base);
            out.records.push(streamed);
            out.last = content;
            out.end = next;
        }
        match out.behind(bytes, tape, base) {
            None => Ok(out),
            Some(at) => Err(format!(
                "its record at byte {} is broken, and a good one stands behind it at byte {at}. To go on with what was saved before \
                 it streamed, move this file away",
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

    /// A good record behind the end: of the same base, and later than the last; where not even the first is good, of a base that
    /// the tables have not taken in.
    fn behind(&self, bytes: &[u8], tape: i64, base: u64) -> Option<usize> {
        let rest = bytes.get(self.end + 1..)?;
        let places = rest.windows(MAGIC.len()).enumerate();
        places
            .filter(|(_, window)| **window == MAGIC)
            .map(|(at, _)| self.end + 1 + at)
            .find(|at| {
                Head::at(bytes, *at, tape).is_some_and(|head| {
                    let ours = self.base.map_or(head.base >= base, |base| head.base == base);
                    ours && head.ordinal as usize > self.records.len()
                })
            })
    }

    /// Number of the last input.
    pub(super) fn last_input(&self) -> u64 {
        let lasts = self.records.iter().filter_map(|record| record.numbers);
        lasts.map(|(_, last)| last).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::record::pack;
    use super::*;
    use crate::batch::Batch;

    /// A tail of tape 1 behind input 5, as it is written.
    fn tail(records: u64) -> (tempfile::TempDir, Vec<u8>) {
        let dir = tempfile::tempdir().expect("a folder");
        let (mut tail, _written) = Tail::take(dir.path(), 1).expect("made").expect("free");
        for number in 6..6 + records {
            let mut batch = Batch::default();
            batch.input(number, None, format!("frame {number}").as_bytes());
            assert!(tail.append(5, &batch, &[]).expect("written"));
        }
        let bytes = std::fs::read(path_of(dir.path(), 1)).expect("read");
        (dir, bytes)
    }

    #[test]
    fn a_tail_has_one_writer_and_is_removed_by_none_but_its_own() {
        let (dir, _) = tail(1);
        let (first, written) = Tail::take(dir.path(), 1).expect("there").expect("free");
        assert!(first.is_written());
        assert!(Tail::take(dir.path(), 1).expect("there").is_none());
        drop(written);
        assert!(!first.is_written());
        let (second, _written) = Tail::take(dir.path(), 1).expect("there").expect("free again");
        second.remove();
        let (_third, _written) = Tail::take(dir.path(), 1).expect("made").expect("free");
        first.remove();
        assert!(path_of(dir.path(), 1).exists(), "it is another file");
    }

    #[test]
    fn what_was_taken_in_stands_behind_a_torn_first_record_and_is_no_damage() {
        let (_dir, old) = tail(3);
        let mut bytes = old.clone();
        bytes[40] ^= 1;
        assert!(Content::scan(&bytes, 1, 5).is_err(), "the tables lack it");
        let content = Content::scan(&bytes, 1, 8).expect("the tables have it");
        assert_eq!((content.base, content.records.len()), (None, 0));
        assert_eq!(Content::scan(&old, 1, 8).expect("reads").base, Some(5));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, base: u64) {
            let _ = Content::scan(&bytes, 1, base);
            let _ = Streamed::read(&bytes);
        }

        #[test]
        fn any_content_that_checks_is_read_without_a_panic(content in prop::collection::vec(any::<u8>(), 0..400), size: u32) {
            let packed = pack(&content, &[]).expect("packs");
            for size in [content.len(), size as usize] {
                let head = Head { base: 5, ordinal: 0, size, packed: &packed };
                let _ = Content::scan(&head.write(1), 1, 5);
            }
        }

        #[test]
        fn any_change_to_a_tail_leaves_a_prefix_or_is_told(at: prop::sample::Index, with: u8, cut: prop::sample::Index) {
            let (_dir, whole) = tail(4);
            let mut bytes = whole.clone();
            bytes[at.index(whole.len())] ^= with;
            bytes.truncate(cut.index(whole.len() + 1));
            if let Ok(content) = Content::scan(&bytes, 1, 5) {
                let numbers: Vec<_> = content.records.iter().filter_map(|record| record.numbers).collect();
                prop_assert_eq!(numbers, (6..6 + content.records.len() as u64).map(|n| (n, n)).collect::<Vec<_>>());
            }
        }
    }
}

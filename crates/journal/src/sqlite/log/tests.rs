use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write;

use rusqlite::Connection;

use super::*;

const SALTS: Salts = [0, 0, 0, 7, 1, 2, 3, 4];

/// A log, made frame by frame: the length of each transaction.
struct Made {
    shape: Shape,
    bytes: Vec<u8>,
    sum: Sum,
    frames: u64,
}

impl Made {
    fn new(shape: Shape, salts: Salts) -> Self {
        let mut bytes = Vec::new();
        let magic = Head::MAGIC | u32::from(shape.order == Order::Big);
        for number in [magic, Head::VERSION, shape.page as u32, 0] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(salts);
        let sum = Sum::default().with(&bytes, shape.order);
        bytes.extend([sum.0, sum.1].map(u32::to_be_bytes).as_flattened());
        Self {
            shape,
            bytes,
            sum,
            frames: 0,
        }
    }

    fn transaction(&mut self, frames: u64) -> &mut Self {
        for frame in 1..=frames {
            let mark = if frame == frames { 5 } else { 0 };
            self.frames += 1;
            let mut head = [self.frames as u32, mark]
                .map(u32::to_be_bytes)
                .as_flattened()
                .to_vec();
            let page: Vec<u8> = (0..self.shape.page)
                .map(|i| (i as u64 * self.frames) as u8)
                .collect();
            self.sum = self
                .sum
                .with(&head, self.shape.order)
                .with(&page, self.shape.order);
            head.extend_from_slice(&self.bytes[16..24]);
            head.extend([self.sum.0, self.sum.1].map(u32::to_be_bytes).as_flattened());
            self.bytes.extend(head.into_iter().chain(page));
        }
        self
    }

    fn offset(&self, frame: u64) -> usize {
        self.shape.offset(frame) as usize
    }
}

/// A file that a log is written into again and again.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn find(&self, log: &[u8]) -> Option<LogDamage> {
        self.find_with(log, None)
    }

    fn find_with(&self, log: &[u8], index: Option<Index>) -> Option<LogDamage> {
        let path = self.0.path().join("log");
        // Written over and not anew, which some file systems would put on the disk each time.
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .unwrap();
        file.write_all(log).unwrap();
        file.set_len(log.len() as u64).unwrap();
        find(&path, || index).unwrap()
    }
}

const SMALL: Shape = Shape {
    order: Order::Little,
    page: 512,
};

/// What counts is where the last transaction begins: everything before is told, everything from there on is not. No head
/// of a frame stands in two sectors here.
#[test]
fn every_bit_before_the_last_transaction_counts() {
    let place = Place::new();
    for order in [Order::Little, Order::Big] {
        let mut made = Made::new(Shape { order, ..SMALL }, SALTS);
        made.transaction(1).transaction(2).transaction(2).transaction(3);
        assert_eq!(place.find(&made.bytes), None);
        let last = made.offset(6);
        for byte in 0..made.bytes.len() {
            let in_head = byte < Head::BYTES || (byte - Head::BYTES) % (FRAME_HEAD + SMALL.page) < FRAME_HEAD;
            for bit in 0..if in_head { 8 } else { 1 } {
                made.bytes[byte] ^= 1 << bit;
                let found = place.find(&made.bytes).map(|damage| damage.fault);
                made.bytes[byte] ^= 1 << bit;
                let number = 1 + (byte.saturating_sub(Head::BYTES) / (FRAME_HEAD + SMALL.page)) as u64;
                let fault = LogFault::Frame {
                    number,
                    offset: SMALL.offset(number),
                };
                // A mark that appears in the middle of the last transaction makes two of it.
                let divides = number < 8 && (4..8).contains(&(byte - made.offset(number).min(byte)));
                let expected = match byte {
                    _ if byte < Head::BYTES => Some(LogFault::Head),
                    _ if byte < last || divides => Some(fault),
                    _ => None,
                };
                assert_eq!(found, expected, "bit {bit} of byte {byte}");
            }
        }
    }
}

#[test]
fn what_stands_behind_is_counted() {
    let mut made = Made::new(SMALL, SALTS);
    made.transaction(4).transaction(3).transaction(2);
    let at = made.offset(2);
    made.bytes[at + 100] ^= 1;
    let damage = Place::new().find(&made.bytes).unwrap();
    assert_eq!(
        (damage.frames, damage.transactions, damage.committed),
        (7, 3, None)
    );
    let sentence = damage.to_string();
    assert!(
        sentence.starts_with("frame 2 of its log, from byte 568 of "),
        "{sentence}"
    );
    assert!(
        sentence.ends_with("whole frames behind it: 7, ends of transactions among them: 3"),
        "{sentence}"
    );
}

/// A whole sector is gone, the mark of a transaction's end with it: it is the ends behind it that tell.
#[test]
fn a_hole_is_told() {
    let mut made = Made::new(SMALL, SALTS);
    made.transaction(4).transaction(3).transaction(2).transaction(1);
    let place = Place::new();
    for first in 1..made.bytes.len() / 512 - 4 {
        let mut bytes = made.bytes.clone();
        bytes[first * 512..(first + 2) * 512].fill(0);
        let damage = place.find(&bytes).unwrap();
        let within = first * 512 - Head::BYTES;
        let number = 1 + (within / (FRAME_HEAD + SMALL.page)) as u64;
        assert!(matches!(damage.fault, LogFault::Frame { number: n, .. } if n == number));
    }
    // The head, whatever else is gone with it.
    for end in [1, 32, 512, 4096] {
        let mut bytes = made.bytes.clone();
        bytes[..end].fill(0);
        assert_eq!(place.find(&bytes).unwrap().fault, LogFault::Head, "{end}");
    }
}

/// Two broken frames, of which the second ends the last transaction but one.
#[test]
fn a_broken_end_that_was_built_upon_is_told() {
    let mut made = Made::new(SMALL, SALTS);
    made.transaction(4).transaction(3).transaction(2);
    for frame in [6, 7] {
        let at = made.offset(frame);
        made.bytes[at + 300] ^= 1;
    }
    let damage = Place::new().find(&made.bytes).unwrap();
    assert!(matches!(damage.fault, LogFault::Frame { number: 6, .. }));
    assert_eq!((damage.frames, damage.transactions), (2, 1));
}

/// One frame is enough, and each bit of the head counts.
#[test]
fn a_damaged_head_is_told_by_the_first_frame() {
    let place = Place::new();
    let mut made = Made::new(SMALL, SALTS);
    made.transaction(1);
    for bit in 0..Head::BYTES * 8 {
        made.bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            place.find(&made.bytes).unwrap().fault,
            LogFault::Head,
            "bit {bit}"
        );
        made.bytes[bit / 8] ^= 1 << (bit % 8);
    }
    // Nothing at all, which has a checksum of nothing, is no frame.
    for head in [0, 0x5a] {
        let mut bytes = vec![0; 20_000];
        bytes[..Head::BYTES].fill(head);
        assert_eq!(place.find(&bytes), None);
    }
}

/// The first frame of the last transaction, torn within its head: the mark is one of an earlier use of the file, and the
/// checksum is new.
#[test]
fn a_mark_that_may_be_older_than_its_frame_proves_nothing() {
    let shape = Shape {
        order: Order::Little,
        page: 1024,
    };
    let (in_two, in_one) = (63, 62);
    let end_of_head = |frame| shape.offset(frame) % SECTOR + FRAME_HEAD as u64;
    assert!(end_of_head(in_two) > SECTOR && end_of_head(in_one) <= SECTOR);
    let place = Place::new();
    for (frame, told) in [(in_two, false), (in_one, true)] {
        let mut made = Made::new(shape, SALTS);
        made.transaction(frame - 1).transaction(8);
        let at = made.offset(frame);
        made.bytes[at..at + 8].copy_from_slice(&[0, 0, 0, 9, 0, 0, 0, 5]);
        assert_eq!(place.find(&made.bytes).is_some(), told);
    }
}

/// A log that is begun anew stands before what it held before.
#[test]
fn what_an_earlier_use_left_is_no_damage_and_cannot_be_damaged() {
    let place = Place::new();
    let mut old = Made::new(SMALL, SALTS);
    old.transaction(3).transaction(3).transaction(3);
    let mut new = Made::new(SMALL, [0, 0, 0, 8, 9, 9, 9, 9]);
    for transactions in 0..3 {
        let mut bytes = old.bytes.clone();
        bytes[..new.bytes.len()].copy_from_slice(&new.bytes);
        assert_eq!(place.find(&bytes), None);
        for at in (new.bytes.len()..bytes.len()).step_by(7) {
            bytes[at] ^= 4;
            assert_eq!(place.find(&bytes), None);
            bytes[at] ^= 4;
        }
        // The head is the new one: where it alone was written, nothing is lost with it.
        bytes[5] ^= 1;
        assert_eq!(place.find(&bytes).is_some(), transactions > 0);
        new.transaction(2);
    }
}

/// Frames of transactions that were given up, with the salts of the log: their ends are nobody's begin.
#[test]
fn what_was_given_up_is_no_damage() {
    let place = Place::new();
    let begin = |frames: &[u64]| {
        let mut made = Made::new(SMALL, SALTS);
        for frames in frames {
            made.transaction(*frames);
        }
        made.bytes
    };
    // Each shorter than the one before, all from the same end on.
    let mut bytes = begin(&[2, 9]);
    for given_up in [6, 4, 1] {
        let over = begin(&[2, given_up]);
        // Another page than before, and so another checksum from the first frame on.
        let shorter = rewritten(over, given_up as u8);
        bytes[..shorter.len()].copy_from_slice(&shorter);
        assert_eq!(place.find(&bytes), None);
    }
}

/// The same log with other content from frame 3 on.
fn rewritten(bytes: Vec<u8>, content: u8) -> Vec<u8> {
    let mut made = Made::new(SMALL, SALTS);
    made.transaction(2);
    let (kept, mut sum) = (made.bytes.len(), made.sum);
    let mut bytes = bytes;
    for frame in bytes[kept..].chunks_mut(FRAME_HEAD + SMALL.page) {
        frame[FRAME_HEAD] ^= content;
        sum = sum
            .with(&frame[..8], SMALL.order)
            .with(&frame[FRAME_HEAD..], SMALL.order);
        frame[16..24].copy_from_slice([sum.0, sum.1].map(u32::to_be_bytes).as_flattened());
    }
    bytes
}

#[test]
fn the_index_says_how_much_there_was() {
    let mut made = Made::new(SMALL, SALTS);
    made.transaction(4).transaction(3);
    let place = Place::new();
    let index = |salts, frames| Some(Index { salts, frames });
    assert_eq!(place.find_with(&made.bytes, index(SALTS, 7)), None);
    let short = place.find_with(&made.bytes, index(SALTS, 9)).unwrap();
    let (number, offset) = (8, SMALL.offset(8));
    assert_eq!(
        (short.fault, short.committed),
        (LogFault::End { number, offset }, Some(9))
    );
    assert_eq!(
        place.find_with(&made.bytes, index([1; 8], 9)),
        None,
        "it is of another log"
    );
    let at = made.offset(6);
    made.bytes[at + 50] ^= 1;
    assert_eq!(place.find_with(&made.bytes, index(SALTS, 5)), None);
    let last = place.find_with(&made.bytes, index(SALTS, 6)).unwrap();
    assert!(matches!(last.fault, LogFault::Frame { number: 6, .. }));
}

#[test]
fn there_may_be_no_log_or_a_part_of_its_head() {
    let place = Place::new();
    assert_eq!(find(&place.0.path().join("none"), || None).unwrap(), None);
    let made = Made::new(SMALL, SALTS);
    for length in 0..=made.bytes.len() {
        assert_eq!(place.find(&made.bytes[..length]), None);
    }
}

/// SQLite appends, gives up, overwrites, writes into the file and begins anew, as fast as it can, while we look. Its index
/// is read from a descriptor that stays open, since closing one would drop the locks of these very connections.
#[test]
fn writers_that_hurry_never_alarm() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("journal.db");
    let log = beside(&database, "-wal");
    let open = || {
        let conn = Connection::open(&database).unwrap();
        conn.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
        conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = 8; PRAGMA wal_autocheckpoint = 20")
            .unwrap();
        conn
    };
    let first = open();
    first
        .execute_batch(
            "PRAGMA page_size = 512; PRAGMA journal_mode = WAL; CREATE TABLE t (a INTEGER PRIMARY KEY, b)",
        )
        .unwrap();
    let index = RefCell::new(File::open(beside(&database, "-shm")).unwrap());
    let generations = RefCell::new(BTreeSet::new());
    let mut looks = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let open = &open;
                scope.spawn(move || {
                    let conn = open();
                    for round in 0..80u32 {
                        let pages = 1 + (round * 7 + writer) % 40;
                        conn.execute_batch("BEGIN IMMEDIATE").unwrap();
                        for page in 0..pages {
                            conn.execute("INSERT OR REPLACE INTO t VALUES (?, randomblob(450))", [page])
                                .unwrap();
                        }
                        // What no longer fits the cache stands in the log by now, also where it is given up.
                        conn.execute_batch(if round % 3 == 0 { "ROLLBACK" } else { "COMMIT" })
                            .unwrap();
                    }
                })
            })
            .collect();
        while !writers.iter().all(|writer| writer.is_finished()) {
            let found = find(&log, || {
                let mut index = index.borrow_mut();
                index.rewind().ok()?;
                let read = Index::read(&mut *index);
                generations.borrow_mut().extend(read.map(|index| index.salts));
                read
            })
            .unwrap();
            assert_eq!(found, None);
            looks += 1;
        }
    });
    let generations = generations.borrow().len();
    assert!(
        looks > 10 && generations > 10,
        "{looks} looks at {generations} logs"
    );
}

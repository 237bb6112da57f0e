//! Damage in SQLite's write-ahead log, against the sentence "a damaged file is reported, never silently shortened".
//!
//! The logs are those of a process that was killed. Each test prints the seed that repeats it
//! (`TAPLINE_SEED=… cargo test -p tapline-journal --test log`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod torment;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tapline_journal::contract::seed;
use tapline_journal::*;
use tapline_timeline::SessionId;
use torment::{Torment, check_prefix};

const SESSION: &str = "s";

/// Bytes of the head of a log, and of that of a frame.
const HEAD: usize = 32;
const FRAME_HEAD: usize = 24;

/// What a killed process left, as bytes, and what it had been told is saved.
struct Left {
    seed: u64,
    saved: u64,
    database: Vec<u8>,
    log: Vec<u8>,
    index: Vec<u8>,
}

/// A journal with some of that, in a folder of its own.
struct Copy {
    _dir: tempfile::TempDir,
    home: Home,
    database: PathBuf,
    log: PathBuf,
    index: PathBuf,
}

impl Left {
    /// A chat that is killed after some reports: a log of many transactions, the first of which stands at its begin.
    fn new(seed: u64) -> Self {
        // A chat that stands in tables: the log holds what was saved.
        let seed = seed & !1;
        let dir = tempfile::tempdir().unwrap();
        let saved = Torment::start(dir.path(), SESSION, seed, 1_000_000).kill_after(10);
        let at = |name: &str| fs::read(dir.path().join(name)).unwrap();
        let left = Self {
            seed,
            saved,
            database: at("journal.db"),
            log: at("journal.db-wal"),
            index: at("journal.db-shm"),
        };
        assert!(left.ends().len() > 5, "there are transactions enough to lose");
        left
    }

    fn copy(&self, log: &[u8], index: Option<&[u8]>) -> Copy {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let copy = Copy {
            database: home.database(),
            log: dir.path().join("journal.db-wal"),
            index: dir.path().join("journal.db-shm"),
            home,
            _dir: dir,
        };
        fs::write(&copy.database, &self.database).unwrap();
        fs::write(&copy.log, log).unwrap();
        if let Some(index) = index {
            fs::write(&copy.index, index).unwrap();
        }
        copy
    }

    fn frame_bytes(&self) -> usize {
        FRAME_HEAD + number(&self.log, 8)
    }

    fn frames(&self) -> usize {
        (self.log.len() - HEAD) / self.frame_bytes()
    }

    /// Where a frame stands in the log; the first is 1.
    fn frame(&self, number: usize) -> Range<usize> {
        let from = HEAD + (number - 1) * self.frame_bytes();
        from..from + self.frame_bytes()
    }

    /// The frames that end a transaction.
    fn ends(&self) -> Vec<usize> {
        (1..=self.frames())
            .filter(|frame| number(&self.log, self.frame(*frame).start + 4) != 0)
            .collect()
    }

    /// The cursor that a reader sees of the log up to a frame; none before there is a session.
    fn cursor_at(&self, frame: usize) -> Option<u64> {
        let copy = self.copy(&self.log[..self.frame(frame).end], None);
        cursor(&SqliteJournal::open(&copy.home).unwrap())
    }
}

impl Copy {
    /// Opens it; damage must be told as what it is, and leave every byte as it was.
    fn open(&self) -> Result<SqliteJournal, LogDamage> {
        let before = self.bytes();
        match SqliteJournal::open(&self.home) {
            Ok(journal) => Ok(journal),
            Err(Error::DamagedLog { path, damage }) => {
                assert_eq!((path, &damage.log), (self.database.clone(), &self.log));
                assert_eq!(self.bytes(), before, "what is damaged is left as it is");
                Err(damage)
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn bytes(&self) -> [Option<Vec<u8>>; 3] {
        [&self.database, &self.log, &self.index].map(|file| fs::read(file).ok())
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn cursor(journal: &SqliteJournal) -> Option<u64> {
    let follow = Follow {
        limit: 1_000_000,
        appends: true,
    };
    let read = journal.follow(&SessionId::from(SESSION), 0, follow);
    read.ok().map(|followed| followed.cursor)
}

/// Numbers as a seed rolls them.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn within(&mut self, range: Range<usize>) -> usize {
        range.start + self.below(range.len())
    }
}

fn dice(seed: u64) -> Dice {
    Dice(seed | 1)
}

/// Bits to flip: every one of the head, some of the heads of frames, some anywhere.
fn bits(left: &Left, dice: &mut Dice) -> Vec<(usize, u8)> {
    let mut bits: Vec<(usize, u8)> = (0..HEAD * 8).map(|bit| (bit / 8, (bit % 8) as u8)).collect();
    for _ in 0..150 {
        let frame = dice.within(1..left.frames() + 1);
        let from = left.frame(frame).start;
        bits.push((dice.within(from..from + FRAME_HEAD), dice.below(8) as u8));
        bits.push((
            dice.within(HEAD..left.frame(left.frames()).end),
            dice.below(8) as u8,
        ));
    }
    // Where it matters most: around the last two ends.
    let ends = left.ends();
    for end in &ends[ends.len() - 2..] {
        for frame in *end..=(end + 1).min(left.frames()) {
            for _ in 0..20 {
                let from = left.frame(frame).start;
                bits.push((dice.within(from..from + FRAME_HEAD), dice.below(8) as u8));
                bits.push((dice.within(left.frame(frame)), dice.below(8) as u8));
            }
        }
    }
    bits
}

fn flipped(log: &[u8], (byte, bit): (usize, u8)) -> Vec<u8> {
    let mut log = log.to_vec();
    log[byte] ^= 1 << bit;
    log
}

/// The frame that a byte stands in; 0 is the head.
fn frame_of(left: &Left, byte: usize) -> usize {
    if byte < HEAD {
        0
    } else {
        1 + (byte - HEAD) / left.frame_bytes()
    }
}

fn names(damage: &LogDamage, left: &Left, frame: usize) {
    let expected = match frame {
        0 => LogFault::Head,
        _ => LogFault::Frame {
            number: frame as u64,
            offset: left.frame(frame).start as u64,
        },
    };
    assert_eq!(damage.fault, expected);
}

/// Without its index: damage up to the end of the last transaction but one is told, and named to the frame. What is not
/// told is damage in the last transaction, of which nobody can know whether it ever was whole; then the journal shows
/// what was saved before it. Two things about the frame that ends the transaction before are not told either: that it
/// ends one, where the damage took just that mark; and its damage, where its head stands in two sectors of the disk.
#[test]
fn a_flipped_bit_is_told_or_is_in_the_last_transaction() {
    let seed = seed();
    let left = Left::new(seed);
    let ends = left.ends();
    let [.., third, before, last] = ends[..] else {
        unreachable!()
    };
    let (at_third, at_before, at_last) = (
        left.cursor_at(third),
        left.cursor_at(before),
        left.cursor_at(last),
    );
    assert!(at_third <= at_before && at_before < at_last && at_last >= Some(left.saved));
    let in_two_sectors = left.frame(before).start % 512 + FRAME_HEAD > 512;
    let mut told = 0;
    for bit in bits(&left, &mut dice(seed)) {
        let frame = frame_of(&left, bit.0);
        let log = flipped(&left.log, bit);
        let copy = left.copy(&log, None);
        match copy.open() {
            Err(damage) => {
                told += 1;
                names(&damage, &left, frame);
                assert!(frame <= last, "what never was committed is no loss");
                let sentence = SqliteJournal::open(&copy.home).err().unwrap().to_string();
                assert!(sentence.contains("--cut-log"), "{sentence}");
            }
            Ok(journal) => {
                let (shown, wanted) = if frame > last {
                    (cursor(&journal), at_last)
                } else if frame > before {
                    (cursor(&journal), at_before)
                } else {
                    let mark_is_gone = number(&log, left.frame(before).start + 4) == 0;
                    assert!(
                        frame == before && (in_two_sectors || mark_is_gone),
                        "byte {} of frame {frame}, of which {last} are committed, is not told",
                        bit.0
                    );
                    (cursor(&journal), at_third)
                };
                assert_eq!(shown, wanted);
                check_prefix(&journal, SESSION, left.seed, 0);
            }
        }
    }
    assert!(told > HEAD * 8, "most damage is told");
}

/// The index of a killed process says how far the log was committed, so nothing of it can be lost unseen.
#[test]
fn with_its_index_the_last_transaction_is_told_too() {
    let seed = seed();
    let left = Left::new(seed);
    let last = *left.ends().last().unwrap();
    // SQLite's index in the machine's own order: `mxFrame` is its fifth number. A kill between the log and the index
    // leaves a last transaction that the index does not know.
    let known = u32::from_ne_bytes(left.index[16..20].try_into().unwrap()) as usize;
    assert!(known > 0 && known <= last);
    for bit in bits(&left, &mut dice(seed)) {
        let frame = frame_of(&left, bit.0);
        let copy = left.copy(&flipped(&left.log, bit), Some(&left.index));
        match copy.open() {
            Err(damage) => names(&damage, &left, frame),
            Ok(journal) => {
                assert!(frame > known, "frame {frame} of {known} that are committed");
                let cursor = check_prefix(&journal, SESSION, left.seed, 0);
                assert!(cursor >= left.saved);
            }
        }
    }
    // A log that was cut off is told as well, and so is one that ends in zeros.
    for number in [1, known / 2, known] {
        let frame = left.frame(number);
        let cut = left.copy(&left.log[..frame.end - 1], Some(&left.index));
        let damage = cut.open().err().expect("told");
        let offset = frame.start as u64;
        let number = number as u64;
        assert_eq!(damage.fault, LogFault::End { number, offset });
        assert_eq!(damage.committed, Some(known as u64));
        let mut zeroed = left.log.clone();
        zeroed[frame.start..].fill(0);
        let damage = left.copy(&zeroed, Some(&left.index)).open().err().expect("told");
        assert_eq!(damage.fault, LogFault::Frame { number, offset });
    }
    // Damage of the index itself is nothing: it is made anew.
    for byte in 0..96 {
        let copy = left.copy(&left.log, Some(&flipped(&left.index, (byte, byte as u8 % 8))));
        assert!(check_prefix(&copy.open().unwrap(), SESSION, left.seed, 0) >= left.saved);
    }
    // Nor does the index of another log say anything.
    let other = Left::new(seed.wrapping_add(2));
    let copy = left.copy(&left.log, Some(&other.index));
    assert!(check_prefix(&copy.open().unwrap(), SESSION, left.seed, 0) >= left.saved);
}

/// A power cut writes any sectors of the last transaction and leaves in the others what stood there: nothing, another
/// use of the log, a transaction that was given up. None of that is damage.
#[test]
fn a_torn_end_is_no_damage() {
    let seed = seed();
    let mut dice = dice(seed);
    let left = Left::new(seed);
    let other = Left::new(seed.wrapping_add(2));
    let [.., third, before, last] = left.ends()[..] else {
        unreachable!()
    };
    let (saved, all) = (left.cursor_at(before), left.cursor_at(last));
    let end = left.frame(before).end;
    let length = end - left.frame(third).end;
    for round in 0..150 {
        let mut log = left.log.clone();
        let from = end / 512;
        for sector in from..log.len().div_ceil(512) {
            if dice.below(3) > 0 {
                continue;
            }
            for byte in (sector * 512).max(end)..((sector + 1) * 512).min(log.len()) {
                log[byte] = match round % 3 {
                    0 => 0,
                    1 => other.log.get(byte).copied().unwrap_or_default(),
                    // A transaction that was given up at its very end: it has the salts of the log, and nothing behind it.
                    _ if byte - end < length => left.log[byte - length],
                    _ => 0,
                };
            }
        }
        let copy = left.copy(&log, None);
        let journal = copy.open().unwrap_or_else(|damage| panic!("{damage}"));
        let shown = cursor(&journal);
        assert!(
            shown == saved || shown == all,
            "{shown:?} is neither {saved:?} nor {all:?}"
        );
        check_prefix(&journal, SESSION, left.seed, 0);
    }
}

/// A log of which nothing stands behind some byte cannot be told from one that was torn there.
#[test]
fn a_log_that_ends_in_zeros_is_no_damage() {
    let seed = seed();
    let mut dice = dice(seed);
    let left = Left::new(seed);
    for _ in 0..60 {
        let from = dice.below(left.log.len());
        let mut log = left.log.clone();
        log[from..].fill(0);
        left.copy(&log, None)
            .open()
            .unwrap_or_else(|damage| panic!("{damage}"));
        log.truncate(from);
        left.copy(&log, None)
            .open()
            .unwrap_or_else(|damage| panic!("{damage}"));
    }
}

/// Eight processes append to the log, write it into the file and begin it anew while the journal is opened again and
/// again.
#[test]
fn writers_never_alarm() {
    let seed = seed();
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let writers: Vec<_> = (0..8)
        .map(|index| {
            let session = format!("s{index}");
            let writer = Torment::start(dir.path(), &session, seed.wrapping_add(index), 600);
            std::thread::spawn(move || writer.finish())
        })
        .collect();
    let mut openings = 0;
    while !writers.iter().all(|writer| writer.is_finished()) {
        drop(SqliteJournal::open(&home).unwrap_or_else(|error| panic!("{error}")));
        openings += 1;
    }
    assert!(openings > 10);
    let ends: Vec<u64> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    let journal = SqliteJournal::open(&home).unwrap();
    for (index, end) in (0..).zip(ends) {
        check_prefix(&journal, &format!("s{index}"), seed.wrapping_add(index), end);
    }
    assert_eq!(journal.verify(None).unwrap(), []);
}

#[test]
fn verify_tells_of_a_log_that_is_damaged_while_it_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(&Home::at(dir.path())).unwrap();
    for connection in ["a", "b", "c"] {
        drop(journal.writer(connection, WriterOptions::default()).unwrap());
    }
    assert_eq!(journal.verify(None).unwrap(), []);
    // The checksum of the first frame: SQLite itself no longer looks at that while the journal is open.
    let log = dir.path().join("journal.db-wal");
    fs::write(&log, flipped(&fs::read(&log).unwrap(), (HEAD + 16, 3))).unwrap();
    let findings = journal.verify(None).unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].text.contains("frame 1 of its log"), "{findings:?}");
}

#[test]
fn a_damaged_log_is_cut_when_somebody_says_so() {
    let seed = seed();
    let left = Left::new(seed);
    let ends = left.ends();
    let end = ends[ends.len() / 2];
    let bit = (left.frame(end + 1).start + FRAME_HEAD, 0);
    let copy = left.copy(&flipped(&left.log, bit), Some(&left.index));
    let before = copy.bytes();
    copy.open().err().expect("told");
    let cut = SqliteJournal::cut_log(&copy.home)
        .unwrap()
        .expect("it is damaged");
    names(&cut.damage, &left, end + 1);
    let kept =
        ["journal.db", "journal.db-wal", "journal.db-shm"].map(|name| fs::read(cut.copy.join(name)).ok());
    assert!(kept == before, "all that there was is kept");
    let journal = copy.open().expect("it goes on");
    assert_eq!(cursor(&journal), left.cursor_at(end));
    check_prefix(&journal, SESSION, left.seed, 0);
    assert_eq!(journal.verify(None).unwrap(), []);
    drop(journal);
    assert!(
        SqliteJournal::cut_log(&copy.home).unwrap().is_none(),
        "nothing is left to cut"
    );
}

#[cfg(unix)]
#[test]
fn a_journal_that_somebody_has_open_is_not_cut() {
    use std::os::unix::fs::FileExt;

    let seed = seed();
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let folders = |home: &Path| {
        let kept = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("damaged");
        fs::read_dir(home)
            .unwrap()
            .map(Result::unwrap)
            .filter(kept)
            .count()
    };
    // In another process …
    let torment = Torment::start(dir.path(), SESSION, seed, 1_000_000);
    let log = dir.path().join("journal.db-wal");
    while fs::metadata(&log).unwrap().len() < 100_000 {
        std::thread::yield_now();
    }
    // Only the byte is written, so that nothing that the other appends meanwhile is lost.
    let mut byte = [0];
    let file = fs::File::options().read(true).write(true).open(&log).unwrap();
    file.read_exact_at(&mut byte, HEAD as u64 + 16).unwrap();
    file.write_all_at(&[byte[0] ^ 1], HEAD as u64 + 16).unwrap();
    assert!(matches!(
        SqliteJournal::open(&home),
        Err(Error::DamagedLog { .. })
    ));
    assert!(matches!(SqliteJournal::cut_log(&home), Err(Error::Locked { .. })));
    assert_eq!(folders(dir.path()), 0);
    torment.kill_after(0);
    assert!(SqliteJournal::cut_log(&home).unwrap().is_some());
    assert_eq!(folders(dir.path()), 1);
    // … and in this one.
    let _journal = SqliteJournal::open(&home).unwrap();
    assert!(matches!(SqliteJournal::cut_log(&home), Err(Error::Locked { .. })));
}

/// POSIX drops the locks that a process has on a file when it closes any descriptor of it. A second opening beside the
/// first must not: another process would take the first for gone, and delete the log under it.
#[test]
fn a_second_opening_leaves_the_locks_of_the_first() {
    let seed = seed();
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let first = SqliteJournal::open(&home).unwrap();
    drop(first.writer("first", WriterOptions::default()).unwrap());
    drop(SqliteJournal::open(&home).unwrap());
    let log = dir.path().join("journal.db-wal");
    assert!(log.exists());
    // Another process comes and goes.
    Torment::start(dir.path(), SESSION, seed, 5).finish();
    assert!(log.exists(), "the log of a journal that is open is never deleted");
    drop(first);
    assert!(!log.exists());
}

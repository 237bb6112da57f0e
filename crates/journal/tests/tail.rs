//! The tail: where streamed text stands until the tables take it in.
//!
//! Random tests print the seed that repeats them (`TAPLINE_SEED=… cargo test -p tapline-journal --test tail`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tapline_journal::contract::{begin, row, seed};
use tapline_journal::*;
use tapline_timeline::{Append, Body, Change, Close, Grows, Row, SessionId, TextState};

/// A message that streams.
struct Stream {
    writer: Writer,
    message: Arc<Row>,
    offset: u64,
    revision: u64,
}

impl Stream {
    fn begin(journal: &SqliteJournal) -> Self {
        let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
        writer.begin(&begin("s", Mode::Wrapped)).unwrap();
        let body = json!({"kind": "assistant", "state": "open", "text": "Well: "});
        let message = row("s", 1, body);
        writer.input(1, None, b"input 1").unwrap();
        writer.apply(&Change::Put(&message)).unwrap();
        writer.flush().unwrap();
        Self {
            writer,
            message,
            offset: 6,
            revision: 1,
        }
    }

    /// Adds text and waits until it is saved; its cursor.
    fn say(&mut self, text: &str) -> u64 {
        self.revision += 1;
        self.writer
            .input(self.revision, None, format!("input {}", self.revision).as_bytes())
            .unwrap();
        let append = Append {
            id: &self.message.id,
            seq: 1,
            member: Grows::Text,
            offset: self.offset,
            text,
            revision: self.revision,
            frame: self.revision,
        };
        let cursor = self.writer.apply(&Change::Append(append)).unwrap();
        self.offset += text.len() as u64;
        self.writer.flush().unwrap();
        cursor
    }

    fn close(&mut self) {
        self.revision += 1;
        self.writer
            .input(self.revision, None, format!("input {}", self.revision).as_bytes())
            .unwrap();
        let close = Close {
            id: &self.message.id,
            seq: 1,
            state: TextState::Ended,
            superseded: false,
            ended_at: None,
            cut_bytes: None,
            revision: self.revision,
            frame: self.revision,
        };
        self.writer.apply(&Change::Close(close)).unwrap();
        self.writer.flush().unwrap();
    }
}

/// A new journal, and its folder.
fn fresh() -> (tempfile::TempDir, Home, SqliteJournal) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let journal = SqliteJournal::open(&home).unwrap();
    (dir, home, journal)
}

fn id() -> SessionId {
    SessionId::from("s")
}

fn said(journal: &SqliteJournal) -> String {
    let rows = journal.rows(&id(), Window::Last(1)).unwrap();
    match &rows[0].body {
        Body::Assistant(message) => message.content.as_text().to_owned(),
        other => panic!("{other:?}"),
    }
}

fn inputs(journal: &SqliteJournal) -> Vec<u64> {
    let inputs = journal.read_tape("c", 1, 10_000).unwrap();
    for input in &inputs {
        assert_eq!(input.bytes, format!("input {}", input.number).as_bytes());
    }
    inputs.iter().map(|input| input.number).collect()
}

fn tail(home: &Home) -> PathBuf {
    home.live().join("1.tail")
}

fn log_length(home: &Home) -> u64 {
    fs::metadata(home.root().join("journal.db-wal")).unwrap().len()
}

/// What stands in a home, as a kill of its owner leaves it.
fn copy(from: &Home, to: &Path) -> Home {
    let home = Home::at(to);
    home.prepare().unwrap();
    for folder in [from.root().to_owned(), from.live()] {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            // The lock is the owner's alone.
            if path.is_file() && path.extension().is_none_or(|e| e != "lock" && e != "db-shm") {
                let place = home.root().join(path.strip_prefix(from.root()).unwrap());
                fs::copy(&path, place).unwrap();
            }
        }
    }
    home
}

/// A journal whose owner is gone, with five pieces of text that were reported as saved, in the tail.
fn abandoned() -> (tempfile::TempDir, Home) {
    let (_dir, home, journal) = fresh();
    let mut stream = Stream::begin(&journal);
    for word in ["one ", "two ", "three ", "four ", "five "] {
        stream.say(word);
    }
    let left = tempfile::tempdir().unwrap();
    let copy = copy(&home, left.path());
    (left, copy)
}

#[test]
fn streamed_text_is_read_from_the_tail_and_the_tables_stay_as_they_are() {
    let (_dir, home, journal) = fresh();
    // Another process, as far as the journal is concerned.
    let other = SqliteJournal::open(&home).unwrap();
    let mut stream = Stream::begin(&journal);
    let log = log_length(&home);
    for (text, count) in [("one ", 2), ("two ", 3), ("three", 4)] {
        let before = other.mark();
        let cursor = stream.say(text);
        for reader in [&journal, &other] {
            assert!(
                reader
                    .wait(&Watch::Session(id(), cursor - 1), Duration::from_secs(10))
                    .unwrap()
            );
            assert!(said(reader).ends_with(text));
            assert_eq!(inputs(reader).len(), count);
            let entry = reader.session(&id()).unwrap().unwrap();
            assert_eq!((entry.cursor, entry.status), (cursor, Status::Live));
            let follow = |appends| {
                reader
                    .follow(&id(), cursor - 1, Follow { limit: 10, appends })
                    .unwrap()
            };
            let followed = follow(true);
            assert_eq!(followed.cursor, cursor);
            assert!(matches!(&followed.news[..], [News::Append { text: piece, .. }] if piece == text));
            assert!(matches!(&follow(false).news[..], [News::Row(row)] if row.cursor == Some(cursor)));
            assert_eq!(reader.verify(None).unwrap(), []);
            assert_eq!(reader.tapes(None).unwrap()[0].last, count as u64);
        }
        assert!(
            other.wait(&Watch::Any(before), Duration::from_secs(10)).unwrap(),
            "it is told of"
        );
    }
    assert_eq!(log_length(&home), log, "not a page was written");
    stream.close();
    for reader in [&journal, &other] {
        assert_eq!(said(reader), "Well: one two three");
        assert_eq!(inputs(reader), [1, 2, 3, 4, 5]);
        assert_eq!(reader.verify(None).unwrap(), []);
    }
    stream.writer.end(&id()).unwrap();
    drop(stream);
    drop(journal);
    assert!(!tail(&home).exists(), "a tail goes with its connection");
    assert_eq!(inputs(&other), [1, 2, 3, 4, 5]);
}

#[test]
fn what_a_dead_owner_left_in_its_tail_is_taken_in_by_who_settles() {
    let (_dir, home) = abandoned();
    let journal = SqliteJournal::open(&home).unwrap();
    assert_eq!(
        said(&journal),
        "Well: one two three four five ",
        "it is read before it is settled"
    );
    assert_eq!(journal.verify(None).unwrap(), []);
    let entry = journal.session(&id()).unwrap().unwrap();
    assert_eq!(entry.status, Status::Ended, "no turn was open");
    assert!(entry.cursor > 6, "what is settled comes behind what was said");
    assert!(!tail(&home).exists());
    let rows = journal.rows(&id(), Window::From(1, 1)).unwrap();
    assert!(
        matches!(&rows[0].body, Body::Assistant(m) if m.content.as_text() == "Well: one two three four five ")
    );
    assert_eq!(inputs(&journal), [1, 2, 3, 4, 5, 6]);
    assert_eq!(journal.verify(None).unwrap(), []);
}

#[test]
fn a_tape_goes_on_behind_what_its_tail_holds() {
    let (_dir, home) = abandoned();
    let journal = SqliteJournal::open(&home).unwrap();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    assert_eq!(writer.saved_input(), 6);
    assert!(!writer.input(6, None, b"input 6").unwrap(), "it is there");
    assert!(writer.input(7, None, b"input 7").unwrap());
    writer.flush().unwrap();
    assert_eq!(inputs(&journal), [1, 2, 3, 4, 5, 6, 7]);
    // And with its session, which is settled first.
    assert_eq!(writer.begin(&begin("s", Mode::Wrapped)).unwrap().number, 3);
    assert_eq!(said(&journal), "Well: one two three four five ");
    assert!(journal.open_rows(&id()).unwrap().is_empty());
    writer.input(8, None, b"input 8").unwrap();
    writer.flush().unwrap();
    assert!(tail(&home).exists(), "it is this writer's now");
    assert_eq!(journal.verify(None).unwrap(), []);
}

#[test]
fn a_torn_tail_leaves_a_prefix() {
    let (_dir, home) = abandoned();
    let whole = fs::read(tail(&home)).unwrap();
    let mut last = 0;
    for keep in 0..=whole.len() {
        let torn = tempfile::tempdir().unwrap();
        let copy = copy(&home, torn.path());
        let mut bytes = whole[..keep].to_vec();
        // A crash of the machine may leave zeros where nothing arrived.
        bytes.resize(if keep % 2 == 0 { whole.len() } else { keep }, 0);
        fs::write(tail(&copy), bytes).unwrap();
        let journal = SqliteJournal::open(&copy).unwrap();
        let (text, count) = (said(&journal), inputs(&journal).len());
        assert!("Well: one two three four five ".starts_with(&text));
        assert_eq!(
            text.split_whitespace().count(),
            count,
            "text and inputs end together"
        );
        assert!(count >= last, "a longer tail holds no less");
        last = count;
        assert_eq!(journal.verify(None).unwrap(), []);
        journal.settle_dead().unwrap();
        assert_eq!(inputs(&journal).len(), count);
    }
    assert_eq!(last, 6);
}

#[test]
fn a_flipped_bit_in_a_tail_is_told_unless_it_is_in_the_last_record() {
    let (_dir, home) = abandoned();
    let whole = fs::read(tail(&home)).unwrap();
    let starts: Vec<usize> = whole
        .windows(4)
        .enumerate()
        .filter(|(_, w)| *w == b"tail")
        .map(|(at, _)| at)
        .collect();
    assert_eq!(starts.len(), 5, "five records");
    let mut dice = seed();
    for at in 0..whole.len() {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let torn = tempfile::tempdir().unwrap();
        let copy = copy(&home, torn.path());
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (dice >> 61);
        fs::write(tail(&copy), bytes).unwrap();
        let journal = SqliteJournal::open(&copy).unwrap();
        if at < starts[4] {
            let error = journal.rows(&id(), Window::Last(1)).unwrap_err();
            assert!(
                matches!(&error, Error::Damaged { path, .. } if path.ends_with("1.tail")),
                "{error}"
            );
            assert!(!journal.verify(None).unwrap().is_empty());
            assert!(journal.settle_dead().is_err(), "nothing is settled over it");
            assert!(tail(&copy).exists());
        } else {
            assert_eq!(
                said(&journal),
                "Well: one two three four ",
                "as if it had been torn"
            );
        }
    }
}

#[test]
fn a_tail_that_stands_in_the_tables_already_is_empty() {
    let (_dir, home, journal) = fresh();
    let mut stream = Stream::begin(&journal);
    stream.say("once");
    let old = fs::read(tail(&home)).unwrap();
    stream.close();
    // The owner was killed after its commit and before it began the tail anew.
    let left = tempfile::tempdir().unwrap();
    let copy = copy(&home, left.path());
    fs::write(tail(&copy), old).unwrap();
    let journal = SqliteJournal::open(&copy).unwrap();
    assert_eq!(said(&journal), "Well: once");
    assert_eq!(inputs(&journal), [1, 2, 3]);
    assert_eq!(journal.verify(None).unwrap(), []);
    journal.settle_dead().unwrap();
    assert_eq!(inputs(&journal), [1, 2, 3]);
    assert_eq!(journal.verify(None).unwrap(), []);
}

#[test]
fn a_tail_that_is_younger_than_its_journal_is_told() {
    let (_dir, home, journal) = fresh();
    let mut stream = Stream::begin(&journal);
    stream.say("one ");
    let left = tempfile::tempdir().unwrap();
    let copy = copy(&home, left.path());
    // Something settles, and text streams again; then an older copy of the journal is put back.
    stream.writer.provider(&id(), "agent", "x").unwrap();
    stream.say("two ");
    stream.writer.flush().unwrap();
    stream.say("three ");
    fs::copy(tail(&home), tail(&copy)).unwrap();
    let journal = SqliteJournal::open(&copy).unwrap();
    for error in [
        journal.settle_dead().unwrap_err(),
        journal.rows(&id(), Window::Last(1)).unwrap_err(),
    ] {
        assert!(error.to_string().contains("put the right one back"), "{error}");
    }
    assert!(!journal.verify(None).unwrap().is_empty());
    fs::remove_file(tail(&copy)).unwrap();
    journal.settle_dead().unwrap();
}

#[cfg(unix)]
#[test]
fn a_tail_that_cannot_be_written_is_done_without() {
    let (dir, home, journal) = fresh();
    let mut stream = Stream::begin(&journal);
    fs::remove_file(tail(&home)).unwrap();
    std::os::unix::fs::symlink(dir.path().join("no/such/folder"), tail(&home)).unwrap();
    let log = log_length(&home);
    let cursor = stream.say("one");
    assert!(log_length(&home) > log, "it goes to the tables");
    assert_eq!(journal.session(&id()).unwrap().unwrap().cursor, cursor);
    assert_eq!(said(&journal), "Well: one");
}

#[test]
fn a_tail_is_taken_in_when_it_is_full() {
    let (_dir, home, journal) = fresh();
    let mut stream = Stream::begin(&journal);
    let piece = "a word and another one ".repeat(400);
    let mut longest = 0;
    for _ in 0..100 {
        stream.say(&piece);
        longest = longest.max(fs::metadata(tail(&home)).unwrap().len());
    }
    assert!(longest < 256 * 1024, "{longest}");
    assert_eq!(said(&journal).len(), 6 + 100 * piece.len());
    assert_eq!(inputs(&journal).len(), 101);
    stream.close();
    assert_eq!(said(&journal).len(), 6 + 100 * piece.len());
    assert_eq!(journal.verify(None).unwrap(), []);
}

#[test]
fn an_owner_that_lost_its_session_saves_nothing_more_in_its_tail() {
    let (_dir, home, journal) = fresh();
    let other = SqliteJournal::open(&home).unwrap();
    let mut stream = Stream::begin(&journal);
    stream.say("one ");
    stream.writer.lose_locks();
    other.settle_dead().unwrap();
    let before = other.rows(&id(), Window::From(0, 10)).unwrap();
    stream.writer.input(9, None, b"input 9").unwrap();
    let append = Append {
        id: &stream.message.id,
        seq: 1,
        member: Grows::Text,
        offset: 10,
        text: "two",
        revision: 9,
        frame: 9,
    };
    stream.writer.apply(&Change::Append(append)).unwrap();
    let error = stream.writer.flush().unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
    assert_eq!(other.rows(&id(), Window::From(0, 10)).unwrap(), before);
    assert_eq!(other.verify(None).unwrap(), []);
}

#[test]
fn a_tail_that_goes_on_from_what_was_cut_off_the_log_goes_to_the_copy() {
    let frame = 24 + 1024;
    // The last transactions of the log are those of the session: its beginning, and its row. One of them is hit and the last
    // is whole; or the first frame of all is hit, and no table is left.
    for from_the_end in [12, 1000] {
        let (_dir, home) = abandoned();
        let log = home.root().join("journal.db-wal");
        let mut bytes = fs::read(&log).unwrap();
        let at = bytes.len().saturating_sub(from_the_end * frame) + 500;
        bytes[at] ^= 1;
        fs::write(&log, bytes).unwrap();
        let error = SqliteJournal::open(&home).err().expect("a damaged log is told");
        assert!(matches!(error, Error::DamagedLog { .. }), "{error}");
        let cut = SqliteJournal::cut_log(&home)
            .unwrap()
            .expect("there is something to cut");
        assert!(cut.copy.join("1.tail").exists());
        assert!(!tail(&home).exists());
        let journal = SqliteJournal::open(&home).unwrap();
        journal.settle_dead().unwrap();
        assert_eq!(journal.verify(None).unwrap(), []);
    }
}

/// Text that one row after the other grows by, in so many pieces, with one input.
fn say_in_pieces(journal: &SqliteJournal, stream: &mut Stream, count: u64) -> u64 {
    let second = row("s", 2, json!({"kind": "assistant", "state": "open", "text": ""}));
    stream.revision += 1;
    stream.writer.input(stream.revision, None, b"second").unwrap();
    stream.writer.apply(&Change::Put(&second)).unwrap();
    stream.writer.flush().unwrap();
    stream.revision += 1;
    stream.writer.input(stream.revision, None, b"pieces").unwrap();
    let mut cursor = 0;
    for piece in 0..count {
        for (id, seq, offset) in [(&stream.message.id, 1, 6 + piece), (&second.id, 2, piece)] {
            let append = Append {
                id,
                seq,
                member: Grows::Text,
                offset,
                text: "x",
                revision: stream.revision + piece,
                frame: stream.revision,
            };
            cursor = stream.writer.apply(&Change::Append(append)).unwrap();
        }
    }
    stream.writer.flush().unwrap();
    assert_eq!(stream.writer.saved(&id()), cursor);
    let entry = journal.session(&id()).unwrap().unwrap();
    assert_eq!(entry.cursor, cursor, "what was saved is seen");
    cursor
}

#[test]
fn a_batch_of_very_many_pieces_is_saved_as_well() {
    for count in [100, 10_000] {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let journal = SqliteJournal::open(&home).unwrap();
        let mut stream = Stream::begin(&journal);
        say_in_pieces(&journal, &mut stream, count);
        let left = tempfile::tempdir().unwrap();
        let copy = copy(&home, left.path());
        let journal = SqliteJournal::open(&copy).unwrap();
        journal.settle_dead().unwrap();
        for row in journal.rows(&id(), Window::Last(2)).unwrap() {
            let Body::Assistant(message) = &row.body else {
                panic!("{row:?}")
            };
            assert_eq!(message.content.as_text().matches('x').count() as u64, count);
        }
    }
}

#[test]
fn what_is_forgotten_leaves_no_tail_and_nothing_for_who_comes_after() {
    let (_dir, home) = abandoned();
    let journal = SqliteJournal::open(&home).unwrap();
    journal.forget(&id()).unwrap();
    assert!(!tail(&home).exists(), "its words are gone");
    // Numbers of tapes and sessions are used again.
    let mut stream = Stream::begin(&journal);
    stream.say("anew");
    assert_eq!(said(&journal), "Well: anew");
}

#[test]
fn a_tape_that_begins_takes_nothing_from_a_tail_that_stands_in_its_place() {
    let (_dir, home) = abandoned();
    let old = fs::read(tail(&home)).unwrap();
    let (_dir, home, journal) = fresh();
    fs::write(tail(&home), old).unwrap();
    let mut stream = Stream::begin(&journal);
    assert_eq!(said(&journal), "Well: ");
    stream.say("anew");
    assert_eq!(said(&journal), "Well: anew");
}

#[test]
fn a_broken_tail_is_in_the_way_of_its_own_session_alone() {
    let (_dir, home) = abandoned();
    {
        let journal = SqliteJournal::open(&home).unwrap();
        let mut writer = journal.writer("other", WriterOptions::default()).unwrap();
        writer.begin(&begin("t", Mode::Wrapped)).unwrap();
        writer.input(1, None, b"input 1").unwrap();
        writer
            .apply(&Change::Put(&row(
                "t",
                1,
                json!({"kind": "assistant", "state": "open", "text": "a"}),
            )))
            .unwrap();
        writer.flush().unwrap();
    }
    let mut bytes = fs::read(tail(&home)).unwrap();
    bytes[40] ^= 1;
    fs::write(tail(&home), bytes).unwrap();
    let journal = SqliteJournal::open(&home).unwrap();
    let entries = journal.sessions(&SessionQuery::default()).unwrap();
    assert_eq!(entries.len(), 2, "they are listed");
    assert!(
        matches!(journal.rows(&id(), Window::Last(1)), Err(Error::Damaged { .. })),
        "it is told"
    );
    assert!(journal.settle_dead().is_err(), "it is told here too");
    let other = journal.session(&SessionId::from("t")).unwrap().unwrap();
    assert!(matches!(other.status, Status::Ended | Status::Cut));
    assert!(
        journal.open_rows(&SessionId::from("t")).unwrap().is_empty(),
        "the other one is settled"
    );
}

#[test]
fn a_connection_has_one_writer() {
    let (_dir, home, journal) = fresh();
    let other = SqliteJournal::open(&home).unwrap();
    let mut stream = Stream::begin(&journal);
    stream.say("one ");
    // Another process imports the same file, or folds a side file in: it must not touch what the first one writes.
    let error = other
        .writer("c", WriterOptions::default())
        .expect_err("it is written");
    assert!(error.to_string().contains("is written by another"), "{error}");
    stream.say("two ");
    drop(other);
    assert_eq!(said(&journal), "Well: one two ");
    stream.close();
    drop(stream);
    assert_eq!(inputs(&journal), [1, 2, 3, 4]);
    assert_eq!(journal.verify(None).unwrap(), []);
    drop(journal);
    let journal = SqliteJournal::open(&home).unwrap();
    journal.writer("c", WriterOptions::default()).unwrap();
}

#[cfg(unix)]
#[test]
fn a_tail_that_is_deleted_under_its_owner_costs_nothing() {
    let (_dir, home, journal) = fresh();
    let mut stream = Stream::begin(&journal);
    stream.say("one ");
    fs::remove_file(tail(&home)).unwrap();
    stream.say("two ");
    assert_eq!(said(&journal), "Well: one two ");
    fs::remove_file(tail(&home)).ok();
    stream.close();
    assert_eq!(said(&journal), "Well: one two ");
    assert_eq!(inputs(&journal), [1, 2, 3, 4]);
}

/// Readers see what was written before it is on stable storage. A power cut takes it from the disk and not from a page on another
/// machine.
#[test]
fn a_reader_that_saw_what_a_power_cut_took_is_told_what_came_instead() {
    let (_dir, home) = abandoned();
    let journal = SqliteJournal::open(&home).unwrap();
    let seen = journal
        .follow(
            &id(),
            0,
            Follow {
                limit: 10,
                appends: true,
            },
        )
        .unwrap()
        .cursor;
    drop(journal);
    let whole = fs::read(tail(&home)).unwrap();
    let at = whole.windows(4).rposition(|window| window == b"tail").unwrap();
    fs::write(tail(&home), &whole[..at]).unwrap();
    let journal = SqliteJournal::open(&home).unwrap();
    journal.settle_dead().unwrap();
    let followed = journal
        .follow(
            &id(),
            seen,
            Follow {
                limit: 10,
                appends: true,
            },
        )
        .unwrap();
    assert_eq!(said(&journal), "Well: one two three four ");
    assert!(
        followed.news.iter().any(|news| matches!(news, News::Row(row)
            if matches!(&row.body, Body::Assistant(m) if m.content.as_text() == "Well: one two three four "))),
        "{followed:?}"
    );
}

#[test]
fn a_tail_that_nobody_needs_any_more_goes() {
    let (_dir, home) = abandoned();
    let journal = SqliteJournal::open(&home).unwrap();
    let old = fs::read(tail(&home)).unwrap();
    journal.settle_dead().unwrap();
    // Its owner was killed after its last session had ended.
    fs::write(tail(&home), old).unwrap();
    journal.settle_dead().unwrap();
    assert!(!tail(&home).exists());
    assert_eq!(said(&journal), "Well: one two three four five ");
    assert_eq!(journal.verify(None).unwrap(), []);
}

#[test]
fn a_session_is_not_forgotten_while_its_connection_is_written() {
    let (_dir, home, journal) = fresh();
    let other = SqliteJournal::open(&home).unwrap();
    let mut stream = Stream::begin(&journal);
    stream.say("one ");
    stream.writer.end(&id()).unwrap();
    let error = other.forget(&id()).unwrap_err();
    assert!(matches!(error, Error::Held { .. }), "{error}");
    assert_eq!(said(&other), "Well: one ");
    drop(stream);
    drop(journal);
    other.forget(&id()).unwrap();
    assert!(!tail(&home).exists());
}

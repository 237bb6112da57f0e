//! Files that are full, foreign, newer, damaged or tampered with: told in a sentence, nothing overwritten.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::sync::Arc;

use rusqlite::Connection;
use serde_json::json;
use tapline_journal::contract::{begin, row};
use tapline_journal::*;
use tapline_timeline::{Change, SessionId};

fn journal_with_rows(home: &Home, rows: u64) {
    let journal = SqliteJournal::open(home).unwrap();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    for seq in 1..=rows {
        writer.input(seq, None, &vec![seq as u8; 2_000]).unwrap();
        let text = format!("row {seq} {}", "word ".repeat(100));
        writer
            .apply(&Change::Put(&row(
                "s",
                seq,
                json!({"kind": "user", "text": text}),
            )))
            .unwrap();
        writer.seal().unwrap();
    }
    writer.end(&SessionId::from("s")).unwrap();
}

#[test]
fn a_full_disk_is_told_and_what_was_saved_stays() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    drop(SqliteJournal::open(&home).unwrap());
    let journal = SqliteJournal::open_with(
        &home,
        SqliteOptions {
            max_bytes: Some(480 * 1024),
            ..SqliteOptions::default()
        },
    )
    .unwrap();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let session = SessionId::from("s");
    let mut seq = 0;
    let trouble = loop {
        seq += 1;
        assert!(seq < 10_000, "the quota is reached");
        writer.input(seq, None, &vec![b'x'; 3_000]).unwrap();
        let text = format!("row {seq} {}", "word ".repeat(100));
        writer
            .apply(&Change::Put(&row(
                "s",
                seq,
                json!({"kind": "user", "text": text}),
            )))
            .unwrap();
        if let Err(error) = writer.flush() {
            break error;
        }
    };
    assert!(
        matches!(trouble, Error::Full { .. }) && trouble.may_pass(),
        "{trouble}"
    );
    let saved = writer.saved(&session);
    assert_eq!(saved, seq - 1);
    assert!(writer.seal().is_err(), "the trouble is told as long as it lasts");
    let unsaved: Vec<u64> = writer.unsaved_inputs().iter().map(|input| input.number).collect();
    assert_eq!(unsaved, [seq], "what is not saved can be kept elsewhere");
    writer.abandon();
    assert_eq!(
        journal.rows(&session, Window::Last(100_000)).unwrap().len() as u64,
        saved
    );
    drop(journal);
    // With space again the session goes on where it was saved.
    let journal = SqliteJournal::open(&home).unwrap();
    assert_eq!(journal.verify(None).unwrap(), []);
    let mut writer = journal.writer("c2", WriterOptions::default()).unwrap();
    assert_eq!(writer.begin(&begin("s", Mode::Wrapped)).unwrap().last_seq, saved);
}

#[test]
fn a_locked_journal_is_told_and_caught_up_with() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let options = SqliteOptions {
        lock_wait: Some(std::time::Duration::from_millis(1)),
        ..SqliteOptions::default()
    };
    let journal = SqliteJournal::open_with(&home, options).unwrap();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let other = Connection::open(home.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    writer.input(1, None, b"held").unwrap();
    writer
        .apply(&Change::Put(&row(
            "s",
            1,
            json!({"kind": "user", "text": "held"}),
        )))
        .unwrap();
    let error = writer.flush().unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert_eq!(
        (writer.saved(&SessionId::from("s")), writer.unsaved_inputs().len()),
        (0, 1)
    );
    // Readers are not held up by any of this.
    assert!(
        journal
            .rows(&SessionId::from("s"), Window::Last(5))
            .unwrap()
            .is_empty()
    );
    other.execute_batch("ROLLBACK").unwrap();
    while writer.flush().is_err() {}
    assert_eq!(writer.saved(&SessionId::from("s")), 1);
    assert_eq!(journal.read_tape("c", 0, 5).unwrap().len(), 1);
}

#[test]
fn a_file_that_is_not_ours_or_newer_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let foreign = Connection::open(home.database()).unwrap();
    foreign
        .execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
        .unwrap();
    drop(foreign);
    let before = std::fs::read(home.database()).unwrap();
    assert!(matches!(SqliteJournal::open(&home), Err(Error::Foreign { .. })));
    assert_eq!(std::fs::read(home.database()).unwrap(), before);

    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    journal_with_rows(&home, 3);
    Connection::open(home.database())
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    let before = std::fs::read(home.database()).unwrap();
    let error = SqliteJournal::open(&home).err().unwrap();
    assert!(matches!(error, Error::Newer { found: 99, .. }), "{error}");
    assert_eq!(std::fs::read(home.database()).unwrap(), before);
}

#[test]
fn a_damaged_file_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    journal_with_rows(&home, 300);
    let whole = std::fs::read(home.database()).unwrap();

    std::fs::write(home.database(), &whole[..whole.len() / 2]).unwrap();
    let cut = SqliteJournal::open(&home)
        .and_then(|journal| journal.rows(&SessionId::from("s"), Window::Last(1_000)));
    assert!(
        matches!(cut, Err(Error::Damaged { .. })),
        "a file that was cut never reads as a shorter one"
    );

    let mut zeroed = whole.clone();
    zeroed[..100].fill(0);
    std::fs::write(home.database(), &zeroed).unwrap();
    assert!(matches!(SqliteJournal::open(&home), Err(Error::Damaged { .. })));
    assert_eq!(
        std::fs::read(home.database()).unwrap(),
        zeroed,
        "nothing was overwritten"
    );

    let mut holed = whole.clone();
    let pages = whole.len() / 4096;
    for page in pages / 2..pages / 2 + 20 {
        holed[page * 4096..(page + 1) * 4096].fill(0);
    }
    std::fs::write(home.database(), &holed).unwrap();
    let told = match SqliteJournal::open(&home).and_then(|journal| journal.verify(None)) {
        Ok(findings) => !findings.is_empty(),
        Err(error) => matches!(error, Error::Damaged { .. }),
    };
    assert!(told);
}

#[test]
fn verify_finds_what_was_changed_behind_our_back() {
    let changes = [
        (
            "UPDATE tape_blocks SET hash = zeroblob(32) WHERE tid = (SELECT min(tid) FROM tape_blocks)",
            "hash",
        ),
        (
            "DELETE FROM tape_blocks WHERE tid = (SELECT min(tid) FROM tape_blocks)",
            "missing",
        ),
        (
            "UPDATE rows SET body = '{}' WHERE rid = (SELECT max(rid) FROM rows)",
            "cannot be read",
        ),
        (
            "DELETE FROM rows WHERE rid = (SELECT min(rid) FROM rows)",
            "should have",
        ),
        ("UPDATE rows SET cursor = cursor + 1000000", "beyond"),
        ("INSERT INTO blobs VALUES ('abc', 1, 0, x'00')", "another hash"),
        ("INSERT INTO blob_uses VALUES (1, 'abc')", "missing"),
    ];
    for (sql, words) in changes {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        journal_with_rows(&home, 400);
        Connection::open(home.database())
            .unwrap()
            .execute(sql, [])
            .unwrap();
        let findings = SqliteJournal::open(&home).unwrap().verify(None).unwrap();
        assert!(
            findings.iter().any(|finding| finding.text.contains(words)),
            "{sql}: {findings:?}"
        );
    }
}

#[test]
fn a_tape_that_was_changed_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    journal_with_rows(&home, 400);
    let sql = "UPDATE tape_blocks SET last = last + 1 WHERE tid = (SELECT min(tid) FROM tape_blocks)";
    Connection::open(home.database())
        .unwrap()
        .execute(sql, [])
        .unwrap();
    let read = SqliteJournal::open(&home).unwrap().read_tape("c", 1, 10);
    assert!(matches!(read, Err(Error::BadTape { number: 1, .. })));
}

#[test]
fn a_writer_that_is_far_behind_is_refused_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let journal = SqliteJournal::open(&home).unwrap();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    // An input that is not sealed cannot be taken away: it fills the backlog.
    let big = Arc::new(vec![7u8; BACKLOG_BYTES / 2 + 1]);
    let mut number = 0;
    let refused = loop {
        number += 1;
        if let Err(error) = writer.input(number, None, &big) {
            break error;
        }
    };
    assert!(
        matches!(refused, Error::Behind { bytes, limit } if bytes > limit),
        "{refused}"
    );
    writer.flush().unwrap();
    assert_eq!(writer.saved_input(), number - 1);
    assert!(
        writer.input(number, None, b"again").unwrap(),
        "with the backlog gone it goes on"
    );
}

/// Nothing can be committed, so a writer with patience waits for it at the limit, and is told when it is at its end.
#[test]
fn a_patient_writer_waits_at_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let options = SqliteOptions {
        lock_wait: Some(std::time::Duration::from_secs(60)),
        ..SqliteOptions::default()
    };
    let journal = SqliteJournal::open_with(&home, options).unwrap();
    let patient = WriterOptions {
        patience: Some(std::time::Duration::from_millis(1)),
        on_saved: None,
    };
    let mut writer = journal.writer("c", patient).unwrap();
    let other = Connection::open(home.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut taken = 0;
    let (bytes, limit) = loop {
        taken += 1;
        writer.input(taken, None, &[7; 100_000]).unwrap();
        match writer.seal() {
            Ok(()) => {}
            Err(Error::Behind { bytes, limit }) => break (bytes, limit),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(bytes > PATIENT_BYTES && limit == PATIENT_BYTES);
    assert!(taken as usize * 100_000 > PATIENT_BYTES - 200_000, "not before");
    other.execute_batch("ROLLBACK").unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.saved_input(), taken, "what was taken is kept");
}

#[test]
fn every_list_and_search_uses_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    journal_with_rows(&home, 3);
    let conn = Connection::open(home.database()).unwrap();
    let queries = [
        "SELECT num FROM sessions WHERE 1 ORDER BY changed_ms DESC, num DESC LIMIT 5",
        "SELECT num FROM sessions WHERE live = 1 AND ended = 0 AND waiting = 0 ORDER BY changed_ms DESC, num DESC LIMIT 5",
        "SELECT num FROM sessions WHERE parent = 'x' ORDER BY changed_ms DESC, num DESC LIMIT 5",
        "SELECT rid FROM rows WHERE session = 1 AND cursor > 5 ORDER BY cursor LIMIT 5",
        "SELECT rid FROM rows WHERE rid BETWEEN 1 AND 5 ORDER BY rid DESC LIMIT 5",
        "SELECT rid FROM rows WHERE session = 1 AND open = 1 ORDER BY rid",
        "SELECT aid FROM appends WHERE aid BETWEEN 1 AND 5 AND rid = 1 ORDER BY aid",
        "SELECT id FROM intents WHERE state = 'open' AND id > 5 ORDER BY id LIMIT 5",
        "SELECT rowid FROM search WHERE search MATCH 'said : (\"x\")' AND rowid BETWEEN 1 AND 5 ORDER BY rowid DESC LIMIT 5",
    ];
    for query in queries {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let plan: Vec<String> = statement
            .query_map([], |row| row.get(3))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(
            !plan.iter().any(|step| step.contains("TEMP B-TREE")),
            "{query}: {plan:?}"
        );
    }
}

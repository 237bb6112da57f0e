//! Journals of earlier formats open, are brought up to date, and lose nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use rusqlite::Connection;
use serde_json::json;
use tapline_journal::contract::{begin, row};
use tapline_journal::*;
use tapline_timeline::{Append, Body, Change, Grows, SessionId};

fn number(file: &Connection, pragma: &str) -> i64 {
    file.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
        .unwrap()
}

/// A journal as it is while a message streams, copied into another home.
fn copy_of_a_live_journal(to: &Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let journal = SqliteJournal::open(&home).unwrap();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let message = row(
        "s",
        1,
        json!({"kind": "assistant", "state": "open", "text": "Well, "}),
    );
    writer.input(1, None, b"first").unwrap();
    writer.apply(&Change::Put(&message)).unwrap();
    writer.flush().unwrap();
    for (revision, text) in [(2, "this is "), (3, "old.")] {
        writer.input(revision, None, text.as_bytes()).unwrap();
        let append = Append {
            id: &message.id,
            seq: 1,
            member: Grows::Text,
            offset: if revision == 2 { 6 } else { 14 },
            text,
            revision,
            frame: revision,
        };
        writer.apply(&Change::Append(append)).unwrap();
        // With this in it, a commit goes to the tables: the first format knew no tails.
        writer.provider(&SessionId::from("s"), "agent", text).unwrap();
        writer.flush().unwrap();
    }
    let file = Connection::open(home.database()).unwrap();
    let copy = to.database();
    file.execute("VACUUM INTO ?", [copy.to_str().unwrap()]).unwrap();
}

#[test]
fn a_journal_of_the_first_format_is_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    copy_of_a_live_journal(&home);
    let file = Connection::open(home.database()).unwrap();
    assert_eq!(number(&file, "page_size"), 1024, "a new journal has small pages");
    // Pieces as short as these are not packed, so what stands in the first format's tables is the same.
    file.execute_batch(
        "ALTER TABLE rows DROP COLUMN grows; ALTER TABLE tape_open DROP COLUMN size;
         CREATE INDEX appends_row ON appends (rid); DELETE FROM formats WHERE format > 1; PRAGMA user_version = 1;
         PRAGMA page_size = 4096; VACUUM;",
    )
    .unwrap();
    assert_eq!(number(&file, "page_size"), 4096);
    let first: Vec<String> = tables(&file);
    let shipped = Connection::open_in_memory().unwrap();
    shipped
        .execute_batch(include_str!("../src/sqlite/schema.sql"))
        .unwrap();
    assert_eq!(first, tables(&shipped), "what was made is the first format");
    drop(file);

    let journal = SqliteJournal::open(&home).unwrap();
    let inputs = journal.read_tape("c", 1, 10).unwrap();
    assert_eq!(
        inputs.iter().map(|i| &i.bytes[..]).collect::<Vec<_>>(),
        [&b"first"[..], b"this is ", b"old."]
    );
    let rows = journal.rows(&SessionId::from("s"), Window::Last(10)).unwrap();
    let Body::Assistant(message) = &rows[0].body else {
        panic!("{rows:?}")
    };
    assert_eq!(message.content.as_text(), "Well, this is old.");
    assert_eq!(journal.verify(None).unwrap(), []);
    // Its owner is gone: what it left is settled, with the text in its place, and the session goes on.
    journal.settle_dead().unwrap();
    let mut writer = journal.writer("d", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    writer.end(&SessionId::from("s")).unwrap();
    assert_eq!(journal.verify(None).unwrap(), []);
    drop(journal);
    let file = Connection::open(home.database()).unwrap();
    assert_eq!(number(&file, "user_version"), 3);
    assert_eq!(number(&file, "page_size"), 4096, "the size of a page stays");
}

/// Names of tables and indexes with their columns.
fn tables(file: &Connection) -> Vec<String> {
    let sql = "SELECT t.name || ' ' || ifnull((SELECT group_concat(c.name || ' ' || c.type) FROM pragma_table_info(t.name) c), '')
               FROM sqlite_schema t WHERE t.name NOT IN ('formats', 'sqlite_sequence') ORDER BY t.name";
    let mut statement = file.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

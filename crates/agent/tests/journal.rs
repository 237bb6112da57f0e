//! A journal behind the recorder gives the rows that memory gives, and a rebuild from its tape gives them again.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tapline_agent::archive::{ArchiveOptions, JournalArchive, JournalLedger};
use tapline_agent::wrap::{Archive, Ledger};
use tapline_journal::{Home, Journal, MemoryJournal, Mode, SessionQuery, SqliteJournal, Status, Window};
use tapline_recorder::{Memory, Recorder, Recording, TapeRecord, rebuild};
use tapline_timeline::{Row, Timeline};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "jsonl"));
    files.sort();
    files
}

/// A row's JSON without the cursor and without the name of its session.
fn plain(row: &Row, session: &str) -> String {
    let mut row = row.clone();
    row.cursor = None;
    let text = serde_json::to_string(&row).unwrap();
    let (id, named) = (
        format!("\"id\":\"{session}/"),
        format!("\"session\":\"{session}\""),
    );
    // Ids of rows stand in several members, and all begin with that of the session.
    text.replace(&id, "\"id\":\"S/")
        .replace(&named, "\"session\":\"S\"")
        .replace(&format!("\":\"{session}/"), "\":\"S/")
}

fn timeline(timeline: &Timeline) -> Vec<String> {
    let session = timeline.session().unwrap().id.to_string();
    timeline.rows().iter().map(|row| plain(row, &session)).collect()
}

fn check(journal: Arc<dyn Journal>) {
    let mut rows = 0;
    for (number, file) in cases().into_iter().enumerate() {
        let text = std::fs::read_to_string(&file).unwrap();
        // An agent of its own each, so that no session goes on with that of another case.
        let options = ArchiveOptions {
            mode: Mode::Imported,
            agent: file.to_string_lossy().into_owned(),
            origin: Some(file.to_string_lossy().into_owned()),
            patience: Some(Duration::from_secs(60)),
        };
        let archive = JournalArchive::new(Arc::clone(&journal), options);
        let connection = format!("c{number}");
        let ledger = archive.ledger(&connection).unwrap();
        let seed = format!("{connection}.");
        let mut recording = Recording::new(move |hint| Recorder::new(ledger, hint).with_seed(&seed));
        for line in text.lines() {
            recording.line(line).unwrap();
        }
        let (mut ledger, _): (JournalLedger, _) = recording.finish().into_parts();
        ledger.flush();
        assert_eq!(ledger.trouble(), None, "{}", file.display());
        let last = ledger.saved();
        let ids: Vec<String> = ledger.sessions().map(ToString::to_string).collect();
        ledger.end().unwrap();
        let mut memory = Recording::new({
            let seed = format!("{connection}.");
            move |hint| Recorder::new(Memory::new(), hint).with_seed(&seed)
        });
        for line in text.lines() {
            memory.line(line).unwrap();
        }
        let memory = memory.finish();
        assert_eq!(last, memory.number());
        let mut tape = Vec::new();
        loop {
            let inputs = archive.tape(&connection, tape.len() as u64 + 1).unwrap();
            if inputs.is_empty() {
                break;
            }
            tape.extend(inputs);
        }
        let rebuilt = rebuild(
            tape.iter()
                .map(|(number, at, bytes)| TapeRecord::decode(*number, *at, bytes).unwrap()),
        );
        for (place, expected) in memory.store().timelines().iter().enumerate() {
            let id = ids[place].clone();
            let stored = journal
                .rows(&id.as_str().into(), Window::From(0, 100_000))
                .unwrap();
            let stored: Vec<String> = stored.iter().map(|row| plain(row, &id)).collect();
            assert_eq!(stored, timeline(expected), "{}", file.display());
            assert_eq!(timeline(&rebuilt.store().timelines()[place]), timeline(expected));
            rows += stored.len();
        }
    }
    assert!(rows > 200, "only {rows} rows were compared");
    let query = SessionQuery {
        status: Some(Status::Live),
        ..SessionQuery::default()
    };
    assert_eq!(
        journal.sessions(&query).unwrap(),
        [],
        "all were ended in good order"
    );
    assert_eq!(journal.verify(None).unwrap(), []);
}

#[test]
fn every_case_is_the_same_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(&Home::at(folder.path())).unwrap();
    check(Arc::new(journal));
}

#[test]
fn every_case_is_the_same_in_memory() {
    check(Arc::new(MemoryJournal::new()));
}

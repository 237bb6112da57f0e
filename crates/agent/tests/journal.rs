//! A journal as the place where a recorder writes: the same rows as in memory, also when it was broken off.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

#[path = "common/fixtures.rs"]
mod fixtures;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fixtures::fixtures;
use tapline_agent::archive::{ArchiveOptions, JournalArchive};
use tapline_journal::{Home, Journal, Mode, SqliteJournal, Status, Window};
use tapline_recorder::{Memory, Recorder, Recording, Silent, Store};
use tapline_timeline::{Body, Row, RowId, Session, SessionId};

fn options(name: &str) -> ArchiveOptions {
    ArchiveOptions {
        mode: Mode::Imported,
        agent: Some(name.to_owned()),
        origin: Some(name.to_owned()),
        patience: Some(Duration::from_secs(60)),
        resume: None,
    }
}

/// Reads the lines of a file into a recorder; without `whole` the recorder is left as a killed process leaves it.
fn read<S: Store + 'static>(lines: &[&str], store: S) -> Recorder<S> {
    let mut recording: Recording<S, Silent> =
        Recording::new(move |hint| Recorder::new(store, hint).with_seed("seed."));
    for line in lines {
        let _ = recording.line(line);
    }
    recording.finish()
}

/// Rows as JSON, under neutral session ids and without what only a journal knows.
fn told(sessions: &[(Session, Vec<Arc<Row>>)]) -> Vec<String> {
    let number = |id: &SessionId| {
        sessions
            .iter()
            .position(|(s, _)| s.id == *id)
            .map(|n| SessionId::from(format!("<{n}>")))
    };
    let session = |id: &SessionId| number(id).unwrap_or_else(|| SessionId::from("<other>"));
    let mut out = Vec::new();
    for (n, (known, rows)) in sessions.iter().enumerate() {
        let id = |id: &RowId| RowId::spell(&session(&known.id), id.key(&known.id));
        for row in rows {
            let mut row = Row::clone(row);
            row.cursor = None;
            row.id = id(&row.id);
            row.turn = row.turn.as_ref().map(id);
            row.parent = row.parent.as_ref().map(id);
            row.session = session(&row.session);
            match &mut row.body {
                Body::Request(request) => request.tool = request.tool.as_ref().map(id),
                Body::Helper(helper) => helper.child = helper.child.as_ref().map(session),
                _ => {}
            }
            out.push(format!("{n} {}", serde_json::to_string(&row).unwrap()));
        }
        out.push(format!(
            "{n} {:?} {:?} {:?}",
            known.title, known.context, known.provider_sessions
        ));
    }
    out
}

/// The first place in which two timelines differ, so that a failure can be read.
fn same(name: &str, left: &[(Session, Vec<Arc<Row>>)], right: &[(Session, Vec<Arc<Row>>)]) {
    let (left, right) = (told(left), told(right));
    for (n, (l, r)) in left.iter().zip(&right).enumerate() {
        assert_eq!(l, r, "{name}, line {n}");
    }
    assert_eq!(left.len(), right.len(), "{name}");
}

fn in_memory(lines: &[&str]) -> Vec<(Session, Vec<Arc<Row>>)> {
    let recorder = read(lines, Memory::new());
    let timelines = recorder.store().timelines();
    timelines
        .iter()
        .filter_map(|t| Some((t.session()?.clone(), t.rows().to_vec())))
        .collect()
}

fn in_journal(journal: &dyn Journal, ids: &[SessionId]) -> Vec<(Session, Vec<Arc<Row>>)> {
    ids.iter()
        .map(|id| {
            let entry = journal.session(id).unwrap().unwrap();
            assert_ne!(entry.status, Status::Live, "nothing reads as running");
            (
                entry.session,
                journal.rows(id, Window::From(1, 1_000_000)).unwrap(),
            )
        })
        .collect()
}

#[test]
fn one_path_every_recording_gives_the_same_rows_in_a_journal_as_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(&Home::at(folder.path())).unwrap());
    let files = fixtures();
    assert!(files.len() > 500);
    for file in &files {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let name = file.to_string_lossy().into_owned();
        let ledger = JournalArchive::new(Arc::clone(&journal), options(&name))
            .ledger(&name)
            .unwrap();
        let (ledger, _) = read(&lines, ledger).into_parts();
        let ids: Vec<_> = ledger.sessions().cloned().collect();
        ledger.end().unwrap();
        same(&name, &in_journal(&*journal, &ids), &in_memory(&lines));
    }
    assert!(journal.verify(None).unwrap().is_empty());
}

#[test]
fn saved_means_saved_an_import_that_was_broken_off_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(&Home::at(folder.path())).unwrap());
    let some = [
        "claude/s14-subagent",
        "grok/background-complete",
        "codex/s3-tools-allow",
        "claude/s10s-two-sessions",
        "grok/two-sessions",
    ];
    for name in some {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/recordings")
            .join(format!("{name}.jsonl"));
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for part in [lines.len() / 4, lines.len() / 2, lines.len() - 2] {
            let name = format!("{name} {part}");
            let archive = JournalArchive::new(Arc::clone(&journal), options(&name));
            // The first part is saved, and then the process is gone: nobody tells the end of the recording.
            let mut recording: Recording<_, Silent> = Recording::new({
                let ledger = archive.ledger(&name).unwrap();
                move |hint| Recorder::new(ledger, hint).with_seed("seed.")
            });
            for line in &lines[..part] {
                recording.line(line).unwrap();
            }
            recording.abandon(|recorder| recorder.store_mut().save().unwrap());
            let ledger = archive.ledger(&name).unwrap();
            let (ledger, _) = read(&lines, ledger).into_parts();
            let ids: Vec<_> = ledger.sessions().cloned().collect();
            ledger.end().unwrap();
            // Whoever opened the journal in between settled what the dead process had left, and said so in a row of its own.
            // The real news then completed it; nothing else is left of the settlement but the numbers of later rows.
            let mut told = in_journal(&*journal, &ids);
            let mut memory = in_memory(&lines);
            for (_, rows) in told.iter_mut().chain(&mut memory) {
                rows.retain(|row| !row.id.as_str().contains("/cut:"));
                for (n, row) in rows.iter_mut().enumerate() {
                    let row = Arc::make_mut(row);
                    (row.seq, row.revision) = (n as u64, 0);
                }
            }
            same(&name, &told, &memory);
        }
    }
}

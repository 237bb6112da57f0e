//! What the journal costs: a streamed turn, many rows, the end of a long chat, a search in a million rows.
//!
//! `cargo bench -p tapline-journal`. The journals stand in the system's temporary folder; `TMPDIR` moves them to
//! another disk.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::sync::{Arc, OnceLock};

use divan::Bencher;
use serde_json::json;
use tapline_journal::contract::{begin, row};
use tapline_journal::{
    Follow, Home, Journal, MemoryJournal, Mode, SearchQuery, SessionQuery, SqliteJournal, Window, Writer,
    WriterOptions,
};
use tapline_timeline::{Append, Change, Close, Grows, Row, SessionId, TextState};

const FRAME: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0199b0c2-6e5a-7f10-b1c4-d9a3f6f0a001","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"some twenty letters "}}}}"#;

fn main() {
    divan::main();
}

/// Streams a reply of so many chunks: one frame, one append, one seal each.
fn stream(writer: &mut Writer, chunks: u64) {
    let first = row(
        "s",
        1,
        json!({"kind": "assistant", "state": "open", "text": "Well, "}),
    );
    writer.input(1, None, FRAME.as_bytes()).unwrap();
    writer.apply(&Change::Put(&first)).unwrap();
    writer.seal().unwrap();
    let text = "some twenty letters ";
    for chunk in 0..chunks {
        let append = Append {
            id: &first.id,
            seq: 1,
            member: Grows::Text,
            offset: 6 + chunk * text.len() as u64,
            text,
            revision: 2 + chunk,
            frame: 2 + chunk,
        };
        writer.input(2 + chunk, None, FRAME.as_bytes()).unwrap();
        writer.apply(&Change::Append(append)).unwrap();
        writer.seal().unwrap();
    }
    let close = Close {
        id: &first.id,
        seq: 1,
        state: TextState::Ended,
        superseded: false,
        ended_at: None,
        cut_bytes: None,
        revision: 2 + chunks,
        frame: 2 + chunks,
    };
    writer.apply(&Change::Close(close)).unwrap();
    writer.flush().unwrap();
}

fn writer(journal: &dyn Journal) -> Writer {
    let patience = Some(std::time::Duration::from_secs(60));
    let mut writer = journal
        .writer(
            "c",
            WriterOptions {
                patience,
                on_saved: None,
            },
        )
        .unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    writer
}

#[divan::bench(args = [20_000, 200_000], sample_count = 5, sample_size = 1)]
fn stream_sqlite(bencher: Bencher<'_, '_>, chunks: u64) {
    bencher
        .counter(divan::counter::ItemsCount::new(chunks))
        .with_inputs(|| {
            let dir = tempfile::tempdir().unwrap();
            let journal = SqliteJournal::open(&Home::at(dir.path())).unwrap();
            let writer = writer(&journal);
            (writer, journal, dir)
        })
        .bench_local_refs(|(writer, ..)| stream(writer, chunks));
}

#[divan::bench(args = [20_000, 200_000], sample_count = 5, sample_size = 1)]
fn stream_memory(bencher: Bencher<'_, '_>, chunks: u64) {
    bencher
        .counter(divan::counter::ItemsCount::new(chunks))
        .with_inputs(|| writer(&MemoryJournal::new()))
        .bench_local_refs(|writer| stream(writer, chunks));
}

fn tool(seq: u64) -> Arc<Row> {
    let name = format!("file{}.rs", seq % 1_000);
    let members = json!({
        "kind": "tool", "call": format!("c{seq}"), "title": format!("Read {name}"), "state": "completed",
        "authorization": "not_asked", "input": {"path": name}, "output": format!("fn item_{seq}() {{ common words }}"),
    });
    row("s", seq, members)
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn rows_100_000(bencher: Bencher<'_, '_>) {
    let rows: Vec<Arc<Row>> = (1..=100_000).map(tool).collect();
    bencher
        .counter(divan::counter::ItemsCount::new(rows.len()))
        .with_inputs(|| {
            let dir = tempfile::tempdir().unwrap();
            let journal = SqliteJournal::open(&Home::at(dir.path())).unwrap();
            let writer = writer(&journal);
            (writer, journal, dir)
        })
        .bench_local_refs(|(writer, ..)| {
            for row in &rows {
                writer.apply(&Change::Put(row)).unwrap();
                writer.seal().unwrap();
            }
            writer.flush().unwrap();
        });
}

/// A chat of a million rows, and ten thousand other sessions; made once.
fn long_chat() -> &'static (SqliteJournal, tempfile::TempDir) {
    static CHAT: OnceLock<(SqliteJournal, tempfile::TempDir)> = OnceLock::new();
    CHAT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&Home::at(dir.path())).unwrap();
        let mut long = writer(&journal);
        for seq in 1..=1_000_000 {
            long.apply(&Change::Put(&tool(seq))).unwrap();
            long.seal().unwrap();
        }
        long.end(&SessionId::from("s")).unwrap();
        for chunk in 0..10 {
            let mut many = journal
                .writer(&format!("many{chunk}"), WriterOptions::default())
                .unwrap();
            for index in 0..1_000 {
                let id = format!("other{chunk}-{index}");
                many.begin(&begin(&id, Mode::Wrapped)).unwrap();
                many.apply(&Change::Put(&row(
                    &id,
                    1,
                    json!({"kind": "user", "text": "hello"}),
                )))
                .unwrap();
                many.end(&SessionId::from(id)).unwrap();
            }
        }
        (journal, dir)
    })
}

#[divan::bench(sample_count = 50)]
fn last_200_of_1_000_000(bencher: Bencher<'_, '_>) {
    let (journal, _) = long_chat();
    let session = SessionId::from("s");
    bencher.bench(|| assert_eq!(journal.rows(&session, Window::Last(200)).unwrap().len(), 200));
}

#[divan::bench(sample_count = 50)]
fn news_200_of_1_000_000(bencher: Bencher<'_, '_>) {
    let (journal, _) = long_chat();
    let session = SessionId::from("s");
    let follow = Follow {
        limit: 200,
        appends: true,
    };
    bencher.bench(|| assert_eq!(journal.follow(&session, 500_000, follow).unwrap().news.len(), 200));
}

#[divan::bench(args = ["common", "item_77", "\"common words\" file7", "item_999999"], sample_count = 20)]
fn search_in_1_000_000(bencher: Bencher<'_, '_>, words: &str) {
    let (journal, _) = long_chat();
    let query = SearchQuery {
        words: words.to_owned(),
        ..SearchQuery::default()
    };
    bencher.bench(|| assert!(!journal.search(&query).unwrap().is_empty()));
}

#[divan::bench(sample_count = 50)]
fn list_of_10_000_sessions(bencher: Bencher<'_, '_>) {
    let (journal, _) = long_chat();
    let query = SessionQuery {
        limit: 50,
        ..SessionQuery::default()
    };
    bencher.bench(|| assert_eq!(journal.sessions(&query).unwrap().len(), 50));
}

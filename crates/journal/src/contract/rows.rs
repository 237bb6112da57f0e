//! Rows: what is written is what is read, whole or by following.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tapline_timeline::{Append, Body, Change, Lookup, Row, RowId, SessionId, Time};

use super::script::*;
use super::*;
use crate::*;

pub(super) fn rows_are_the_fold_of_changes(subject: &dyn Subject) {
    let mut dice = Dice(seed());
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let mut script = Script::written("s", seed(), &mut writer);
    for _ in 0..40 {
        for _ in 0..dice.roll(25) {
            script.step();
        }
        script.flush();
        let rows = all(&*subject.open(), "s");
        assert_eq!(bare(&rows), bare(script.timeline().rows()));
        assert!(
            rows.iter()
                .all(|row| row.cursor.is_some_and(|cursor| cursor <= script.cursor()))
        );
        for row in rows.iter().take(3) {
            assert_eq!(journal.row(&row.id).unwrap().as_deref(), Some(&**row));
        }
    }
    let entry = journal.session(&SessionId::from("s")).unwrap().unwrap();
    assert_eq!(entry.cursor, script.cursor());
    assert_eq!(entry.rows, script.timeline().rows().len() as u64);
    assert_eq!(
        entry.session.title,
        script
            .timeline()
            .session()
            .and_then(|session| session.title.clone())
    );
    assert_eq!(journal.row(&RowId::from("s/none")).unwrap(), None);
    assert_eq!(journal.row(&RowId::from("other/r:1")).unwrap(), None);
}

pub(super) fn a_follower_misses_nothing(subject: &dyn Subject) {
    let mut dice = Dice(seed());
    let journal = subject.open();
    let session = SessionId::from("s");
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let mut script = Script::written("s", seed(), &mut writer);
    let mut readers: Vec<(Follow, u64, HashMap<u64, Row>)> =
        [(1, false), (3, true), (1_000, true), (1_000, false)]
            .map(|(limit, appends)| (Follow { limit, appends }, 0, HashMap::new()))
            .to_vec();
    for round in 0..30 {
        for _ in 0..dice.roll(20) {
            script.step();
        }
        script.flush();
        for (follow, after, rows) in &mut readers {
            if round % 3 != 2 && dice.roll(2) == 0 {
                continue;
            }
            loop {
                let followed = journal.follow(&session, *after, *follow).unwrap();
                assert!(followed.news.len() <= follow.limit && followed.cursor >= *after);
                for news in &followed.news {
                    assert!(news.cursor() > *after, "news come in the order of cursors");
                    *after = news.cursor();
                    tell(rows, news);
                }
                *after = followed.cursor;
                if !followed.more {
                    break;
                }
            }
            let mut seen: Vec<_> = rows.values().cloned().map(Arc::new).collect();
            seen.sort_by_key(|row| row.seq);
            assert_eq!(texts(&seen), texts(script.timeline().rows()));
        }
    }
    let end = journal
        .follow(
            &session,
            script.cursor(),
            Follow {
                limit: 10,
                appends: true,
            },
        )
        .unwrap();
    assert_eq!(
        end,
        Followed {
            news: Vec::new(),
            cursor: script.cursor(),
            more: false
        }
    );
}

/// What a reader makes of one piece of news.
pub(super) fn tell(rows: &mut HashMap<u64, Row>, news: &News) {
    match news {
        News::Session(_) => {}
        News::Row(row) => {
            rows.insert(row.seq, Row::clone(row));
        }
        News::Append {
            id,
            seq,
            member,
            offset,
            text,
            ..
        } => {
            let row = rows.get_mut(seq).expect("growth comes after its row");
            assert_eq!(row.id, *id);
            assert_eq!(
                text_of(row).len() as u64,
                *offset,
                "growth fits what the reader has"
            );
            let append = Append {
                id,
                seq: *seq,
                member: *member,
                offset: *offset,
                text,
                revision: 0,
                frame: 0,
            };
            tapline_timeline::grow(row, &append);
        }
    }
}

pub(super) fn text_of(row: &Row) -> String {
    match &row.body {
        Body::Assistant(m) | Body::Reasoning(m) => m.content.as_text().to_owned(),
        Body::User(user) => user.content.as_text().to_owned(),
        Body::Tool(tool) => match &tool.content[0] {
            tapline_timeline::ToolItem::Terminal(terminal) => terminal.output.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

pub(super) fn texts(rows: &[Arc<Row>]) -> Vec<(u64, String, Option<Time>)> {
    rows.iter()
        .map(|row| (row.seq, text_of(row), row.ended_at))
        .collect()
}

pub(super) fn windows(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    for session in ["a", "b", "c"] {
        writer.begin(&begin(session, Mode::Wrapped)).unwrap();
        for seq in 1..=20 {
            writer
                .apply(&Change::Put(&row(
                    session,
                    seq,
                    json!({"kind": "status", "tone": "info", "text": "x"}),
                )))
                .unwrap();
        }
    }
    writer.flush().unwrap();
    let read = |window| {
        let rows = journal.rows(&SessionId::from("b"), window).unwrap();
        assert!(rows.iter().all(|row| row.session.as_str() == "b"));
        rows.iter().map(|row| row.seq).collect::<Vec<_>>()
    };
    assert_eq!(read(Window::Last(3)), [18, 19, 20]);
    assert_eq!(read(Window::Before(3, 5)), [1, 2]);
    assert_eq!(read(Window::Before(9, 2)), [7, 8]);
    assert_eq!(read(Window::Before(1, 2)), [0; 0]);
    assert_eq!(read(Window::From(19, 5)), [19, 20]);
    assert_eq!(read(Window::From(u64::MAX, 5)), [0; 0]);
    assert_eq!(read(Window::Before(u64::MAX, 1)), [20]);
    assert!(
        journal
            .rows(&SessionId::from("none"), Window::Last(1))
            .unwrap()
            .is_empty()
    );
}

/// A flush with nothing to save must not leave the journal asleep: what is sealed later is saved by itself.
pub(super) fn an_empty_flush_stops_nothing(subject: &dyn Subject) {
    let (ours, theirs) = (subject.open(), subject.open());
    let session = SessionId::from("s");
    let mut writer = ours.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Hosted)).unwrap();
    for seq in 1..=3 {
        writer.flush().unwrap();
        writer.flush().unwrap();
        let status = json!({"kind": "status", "tone": "info", "text": "x"});
        writer.apply(&Change::Put(&row("s", seq, status))).unwrap();
        writer.seal().unwrap();
        let since = std::time::Instant::now();
        while theirs.rows(&session, Window::Last(5)).unwrap().len() < seq as usize {
            // A safety net only.
            assert!(since.elapsed().as_secs() < 60, "row {seq} was never saved");
            let mark = theirs.mark();
            theirs
                .wait(&Watch::Any(mark), std::time::Duration::from_millis(20))
                .unwrap();
        }
    }
}

pub(super) fn saved_means_committed(subject: &dyn Subject) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&told);
    let on_saved: OnSaved =
        Box::new(move |session, cursor| hear.lock().unwrap().push((session.clone(), cursor)));
    let journal = subject.open();
    let session = SessionId::from("s");
    let mut writer = journal
        .writer(
            "c",
            WriterOptions {
                on_saved: Some(on_saved),
                ..WriterOptions::default()
            },
        )
        .unwrap();
    let generation = writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    assert_eq!(
        (
            generation.number,
            generation.cursor,
            generation.last_seq,
            writer.saved(&session)
        ),
        (1, 0, 0, 0)
    );
    writer.input(7, None, b"seven").unwrap();
    writer
        .apply(&Change::Put(&row(
            "s",
            1,
            json!({"kind": "status", "tone": "info", "text": "x"}),
        )))
        .unwrap();
    writer.flush().unwrap();
    assert_eq!((writer.saved(&session), writer.saved_input()), (1, 7));
    assert!(writer.unsaved_inputs().is_empty() && writer.trouble().is_none());
    assert_eq!(told.lock().unwrap().last(), Some(&(session.clone(), 1)));
    assert_eq!(subject.open().rows(&session, Window::Last(5)).unwrap().len(), 1);
    let stranger = writer.apply(&Change::Put(&row(
        "t",
        1,
        json!({"kind": "status", "tone": "info", "text": "x"}),
    )));
    assert!(matches!(stranger, Err(Error::NotBegun { .. })));
}

pub(super) fn a_look_up_sees_what_is_not_committed(subject: &dyn Subject) {
    let mut dice = Dice(seed());
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let lookup = writer.lookup();
    let mut script = Script::written("s", seed(), &mut writer);
    for _ in 0..400 {
        script.step();
        if dice.roll(20) == 0 {
            script.flush();
        }
        let count = script.timeline().rows().len() as u64;
        if count > 0 {
            let want = script.row(1 + dice.roll(count));
            let got = lookup.row(&want.id).expect("the row is there");
            assert_eq!(bare(&[got]), bare(&[want]));
        }
    }
    assert_eq!(lookup.row(&RowId::from("s/none")), None);
}

pub(super) fn large_values_come_back(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let text = "long words ".repeat(10_000);
    let message = row(
        "s",
        1,
        json!({"kind": "assistant", "state": "open", "text": text}),
    );
    let tool = row(
        "s",
        2,
        json!({"kind": "tool", "call": "c", "state": "completed", "authorization": "not_asked",
        "input": {"big": text, "n": 1.0}, "output": text, "content": [{"type": "text", "text": text}]}),
    );
    let mut script = Script::written("s", seed(), &mut writer);
    script.put(&message);
    script.put(&tool);
    for _ in 0..50 {
        script.append(1, &"more ".repeat(1_000));
    }
    script.flush();
    assert_eq!(bare(&all(&*journal, "s")), bare(script.timeline().rows()));
    script.close(1);
    let hash = script.writer().blob(b"\x89PNG picture").unwrap();
    let image = json!([{"type": "image", "media_type": "image/png", "bytes": 12, "blob": hash}]);
    script.put(&row("s", 3, json!({"kind": "user", "parts": image})));
    script.flush();
    assert_eq!(bare(&all(&*subject.open(), "s")), bare(script.timeline().rows()));
    assert_eq!(
        journal.blob(&hash).unwrap().as_deref(),
        Some(&b"\x89PNG picture"[..])
    );
    assert_eq!(journal.blob("none").unwrap(), None);
}

pub(super) fn tapes(subject: &dyn Subject) {
    let mut dice = Dice(seed());
    let journal = subject.open();
    let mut writer = journal.writer("line", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let mut want = Vec::new();
    let mut number = 0;
    for _ in 0..300 {
        number += 1 + dice.roll(3);
        let at = [None, Some(Time::At(-5)), Some(Time::Since(number))][dice.roll(3) as usize];
        let bytes: Vec<u8> = (0..dice.roll(6_000)).map(|i| (i * number) as u8).collect();
        assert!(writer.input(number, at, &bytes).unwrap());
        want.push(TapeInput { number, at, bytes });
        writer.seal().unwrap();
        if dice.roll(30) == 0 {
            writer.flush().unwrap();
        }
    }
    assert!(
        !writer.input(number, None, b"again").unwrap(),
        "what is on the tape is not put there twice"
    );
    writer.flush().unwrap();
    let read = |from: u64, limit: usize| {
        let mut all = Vec::new();
        let mut next = from;
        loop {
            let piece = journal.read_tape("line", next, limit).unwrap();
            assert!(piece.len() <= limit);
            let Some(last) = piece.last() else { break };
            next = last.number + 1;
            all.extend(piece);
        }
        all
    };
    assert_eq!(read(0, 1_000), want);
    assert_eq!(read(want[150].number, 7), want[150..]);
    assert_eq!(
        read(want[150].number - 1, 1)
            .first()
            .map(|input| input.number >= want[149].number),
        Some(true)
    );
    assert!(journal.read_tape("other", 0, 10).unwrap().is_empty());
    drop(writer);
    assert_eq!(read(0, 1_000), want, "the end of a tape changes nothing of it");
    let mut writer = journal.writer("line", WriterOptions::default()).unwrap();
    assert!(
        !writer.input(number, None, b"again").unwrap() && writer.input(number + 1, None, b"more").unwrap()
    );
    writer.flush().unwrap();
    let infos = journal.tapes(Some(&SessionId::from("s"))).unwrap();
    assert_eq!(
        (infos.len(), infos[0].connection.as_str(), infos[0].last),
        (1, "line", number + 1)
    );
    assert_eq!(infos[0].sessions, [SessionId::from("s")]);
    assert!(journal.verify(None).unwrap().is_empty());
}

pub(super) fn a_sound_journal_has_no_findings(subject: &dyn Subject) {
    let _dice = Dice(seed());
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let mut script = Script::written("s", seed(), &mut writer);
    for number in 1..200 {
        script
            .writer()
            .input(number, None, &[number as u8; 3_000])
            .unwrap();
        script.step();
    }
    script.flush();
    assert_eq!(journal.verify(None).unwrap(), []);
    assert_eq!(journal.verify(Some(&SessionId::from("s"))).unwrap(), []);
}

//! What every journal must do, as tests that run against any of them.
//!
//! A journal under test is a [`Subject`]: something that can be opened again and again, each time as another process
//! would see it. [`TESTS`] names every test; a journal that passes them all can stand in the place of any other. The
//! centre is [`rows_are_the_fold_of_changes`]: whatever is written, in whatever pieces, is read as the reference reader
//! of changes ([`tapline_timeline::Timeline`]) has it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "these are tests, kept where other crates can run them"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tapline_timeline::{
    Append, Body, Change, Close, End, Grows, Json, Kind, Lookup, Outcome, RequestState, Row, RowId, Session,
    SessionId, SessionState, TextState, Time, Timeline, ToolState, WorkState,
};

use crate::*;

/// A journal that can be opened more than once.
pub trait Subject {
    /// Opens it, as another process would.
    fn open(&self) -> Box<dyn Journal>;
}

/// A test: its name and what it does.
pub type Test = (&'static str, fn(&dyn Subject));

/// Every test.
pub const TESTS: &[Test] = &[
    ("rows_are_the_fold_of_changes", rows_are_the_fold_of_changes),
    ("a_follower_misses_nothing", a_follower_misses_nothing),
    ("windows", windows),
    ("saved_means_committed", saved_means_committed),
    (
        "a_look_up_sees_what_is_not_committed",
        a_look_up_sees_what_is_not_committed,
    ),
    ("an_old_generation_is_refused", an_old_generation_is_refused),
    ("a_dead_owner_is_settled", a_dead_owner_is_settled),
    (
        "a_generation_that_ended_is_not_settled",
        a_generation_that_ended_is_not_settled,
    ),
    ("large_values_come_back", large_values_come_back),
    ("tapes", tapes),
    ("sessions_are_listed", sessions_are_listed),
    ("sessions_are_found", sessions_are_found),
    ("imports_are_told_apart", imports_are_told_apart),
    ("intents", intents),
    ("an_intent_is_claimed_once", an_intent_is_claimed_once),
    ("search", search),
    ("waiting", waiting),
    ("forgetting", forgetting),
    ("a_sound_journal_has_no_findings", a_sound_journal_has_no_findings),
];

/// Runs every test, each against a fresh journal.
pub fn run(fresh: &dyn Fn() -> Box<dyn Subject>) {
    for (name, test) in TESTS {
        eprintln!("contract: {name}");
        test(&*fresh());
    }
}

/// What a session begins with.
pub fn begin(session: &str, mode: Mode) -> Begin {
    let owner = Owner {
        pid: std::process::id(),
        host: "here".to_owned(),
        started: Time::At(1_700_000_000_000),
    };
    Begin {
        session: SessionId::from(session),
        owner,
        mode,
        origin: None,
    }
}

/// A row from its JSON; what every row needs is filled in.
pub fn row(session: &str, seq: u64, members: Value) -> Arc<Row> {
    let mut all = json!({
        "id": RowId::spell(&SessionId::from(session), &format!("r:{seq}")), "seq": seq, "session": session,
        "revision": 1, "frames": [seq, seq],
    });
    let members = members.as_object().expect("members are an object").clone();
    all.as_object_mut().expect("an object").extend(members);
    Arc::new(serde_json::from_value(all).expect("a row"))
}

/// Writes changes of one session as they come and keeps the timeline that they make.
struct Script<'a> {
    writer: &'a mut Writer,
    timeline: Timeline,
    cursor: u64,
}

impl Script<'_> {
    fn change(&mut self, change: Change<'_>) {
        self.timeline.apply(&change);
        let cursor = self.writer.apply(&change).unwrap();
        assert!(cursor > self.cursor, "cursors rise");
        self.cursor = cursor;
        self.writer.seal().unwrap();
    }

    fn put(&mut self, row: &Arc<Row>) {
        self.change(Change::Put(row));
    }

    fn append(&mut self, seq: u64, text: &str) {
        let row = self.row(seq);
        let (member, offset) = match &row.body {
            Body::Assistant(m) | Body::Reasoning(m) => (Grows::Text, m.content.as_text().len()),
            Body::User(user) => (Grows::Text, user.content.as_text().len()),
            Body::Tool(tool) => match &tool.content[0] {
                tapline_timeline::ToolItem::Terminal(t) => (Grows::Terminal(0), t.output.len()),
                _ => panic!("the tool has a terminal"),
            },
            _ => panic!("the row grows"),
        };
        let (revision, frame) = (row.revision + 1, row.frames[1] + 1);
        let offset = offset as u64;
        self.change(Change::Append(Append {
            id: &row.id,
            seq,
            member,
            offset,
            text,
            revision,
            frame,
        }));
    }

    fn close(&mut self, seq: u64) {
        let row = self.row(seq);
        let close = Close {
            id: &row.id,
            seq,
            state: TextState::Ended,
            superseded: seq % 7 == 0,
            ended_at: Some(Time::At(1_700_000_000_000 + seq as i64)),
            cut_bytes: (seq % 5 == 0).then_some(1_000_000),
            revision: row.revision + 1,
            frame: row.frames[1] + 1,
        };
        self.change(Change::Close(close));
    }

    fn row(&self, seq: u64) -> Arc<Row> {
        Arc::clone(&self.timeline.rows()[seq as usize - 1])
    }
}

/// Small random numbers that a seed repeats.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A seed of its own for each run, printed; `TAPLINE_SEED` repeats one.
pub fn seed() -> u64 {
    let seed = std::env::var("TAPLINE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| {
            use std::hash::{BuildHasher, Hasher};
            std::hash::RandomState::new().build_hasher().finish()
        });
    eprintln!("TAPLINE_SEED={seed}");
    seed
}

/// One step of a random chat: rows come, grow, change and close.
fn step(script: &mut Script<'_>, session: &str, dice: &mut Dice) {
    let count = script.timeline.rows().len() as u64;
    let open: Vec<u64> = script
        .timeline
        .rows()
        .iter()
        .filter(|row| match &row.body {
            Body::Assistant(m) | Body::Reasoning(m) => m.state == TextState::Open,
            Body::Tool(tool) => tool.state == ToolState::Running,
            Body::User(_) => true,
            _ => false,
        })
        .map(|row| row.seq)
        .collect();
    let pick = |dice: &mut Dice| open[dice.roll(open.len() as u64) as usize];
    match dice.roll(10) {
        0 => {
            let kinds = ["assistant", "reasoning"];
            let kind = kinds[dice.roll(2) as usize];
            script.put(&row(session, count + 1, json!({"kind": kind, "state": "open", "text": "Begin ✓ "})));
        }
        1 => script.put(&row(
            session,
            count + 1,
            json!({"kind": "tool", "call": format!("c{count}"), "state": "running", "authorization": "not_asked",
                   "content": [{"type": "terminal", "output": "$ "}]}),
        )),
        2 => {
            let parts = json!([{"type": "text", "text": "see "}, {"type": "image", "bytes": 3}]);
            script.put(&row(session, count + 1, json!({"kind": "user", "delivery": "accepted", "text": "see ", "parts": parts})));
        }
        3 if !open.is_empty() => {
            let seq = pick(dice);
            let old = script.row(seq);
            match &old.body {
                Body::Tool(_) => {
                    let mut new = Row::clone(&old);
                    new.revision += 1;
                    if let Body::Tool(tool) = &mut new.body {
                        tool.state = ToolState::Completed;
                        tool.output = Some("o".repeat(dice.roll(40_000) as usize));
                    }
                    script.put(&Arc::new(new));
                }
                Body::User(_) => {
                    let mut new = Row::clone(&old);
                    new.revision += 1;
                    script.put(&Arc::new(new));
                }
                _ => script.close(seq),
            }
        }
        4 => {
            let mut object = Session::new(SessionId::from(session));
            object.title = Some(format!("Title {}", dice.roll(100)));
            script.change(Change::Session(&object));
        }
        _ if !open.is_empty() => {
            let text = "chunk é\n".repeat(1 + dice.roll(3) as usize);
            let seq = pick(dice);
            script.append(seq, &text);
        }
        _ => {}
    }
}

/// The rows of a timeline without cursors.
fn bare(rows: &[Arc<Row>]) -> Vec<Row> {
    let strip = |row: &Arc<Row>| {
        let mut row = Row::clone(row);
        row.cursor = None;
        row
    };
    rows.iter().map(strip).collect()
}

fn all(journal: &dyn Journal, session: &str) -> Vec<Arc<Row>> {
    journal
        .rows(&SessionId::from(session), Window::From(0, 1_000_000))
        .unwrap()
}

fn rows_are_the_fold_of_changes(subject: &dyn Subject) {
    let mut dice = Dice(seed());
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let mut script = Script {
        writer: &mut writer,
        timeline: Timeline::new(),
        cursor: 0,
    };
    for _ in 0..40 {
        for _ in 0..dice.roll(25) {
            step(&mut script, "s", &mut dice);
        }
        script.writer.flush().unwrap();
        let rows = all(&*subject.open(), "s");
        assert_eq!(bare(&rows), bare(script.timeline.rows()));
        assert!(
            rows.iter()
                .all(|row| row.cursor.is_some_and(|cursor| cursor <= script.cursor))
        );
        for row in rows.iter().take(3) {
            assert_eq!(journal.row(&row.id).unwrap().as_deref(), Some(&**row));
        }
    }
    let entry = journal.session(&SessionId::from("s")).unwrap().unwrap();
    assert_eq!(entry.cursor, script.cursor);
    assert_eq!(entry.rows, script.timeline.rows().len() as u64);
    assert_eq!(
        entry.session.title,
        script
            .timeline
            .session()
            .and_then(|session| session.title.clone())
    );
    assert_eq!(journal.row(&RowId::from("s/none")).unwrap(), None);
    assert_eq!(journal.row(&RowId::from("other/r:1")).unwrap(), None);
}

fn a_follower_misses_nothing(subject: &dyn Subject) {
    let mut dice = Dice(seed());
    let journal = subject.open();
    let session = SessionId::from("s");
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let mut script = Script {
        writer: &mut writer,
        timeline: Timeline::new(),
        cursor: 0,
    };
    let mut readers: Vec<(Follow, u64, HashMap<u64, Row>)> =
        [(1, false), (3, true), (1_000, true), (1_000, false)]
            .map(|(limit, appends)| (Follow { limit, appends }, 0, HashMap::new()))
            .to_vec();
    for round in 0..30 {
        for _ in 0..dice.roll(20) {
            step(&mut script, "s", &mut dice);
        }
        script.writer.flush().unwrap();
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
            assert_eq!(texts(&seen), texts(script.timeline.rows()));
        }
    }
    let end = journal
        .follow(
            &session,
            script.cursor,
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
            cursor: script.cursor,
            more: false
        }
    );
}

/// What a reader makes of one piece of news.
fn tell(rows: &mut HashMap<u64, Row>, news: &News) {
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

fn text_of(row: &Row) -> String {
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

fn texts(rows: &[Arc<Row>]) -> Vec<(u64, String, Option<Time>)> {
    rows.iter()
        .map(|row| (row.seq, text_of(row), row.ended_at))
        .collect()
}

fn windows(subject: &dyn Subject) {
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

fn saved_means_committed(subject: &dyn Subject) {
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

fn a_look_up_sees_what_is_not_committed(subject: &dyn Subject) {
    let mut dice = Dice(seed());
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let lookup = writer.lookup();
    let mut script = Script {
        writer: &mut writer,
        timeline: Timeline::new(),
        cursor: 0,
    };
    for _ in 0..400 {
        step(&mut script, "s", &mut dice);
        if dice.roll(20) == 0 {
            script.writer.flush().unwrap();
        }
        let count = script.timeline.rows().len() as u64;
        if count > 0 {
            let want = script.row(1 + dice.roll(count));
            let got = lookup.row(&want.id).expect("the row is there");
            assert_eq!(bare(&[got]), bare(&[want]));
        }
    }
    assert_eq!(lookup.row(&RowId::from("s/none")), None);
}

fn an_old_generation_is_refused(subject: &dyn Subject) {
    let (one, two) = (subject.open(), subject.open());
    let session = SessionId::from("s");
    let mut old = one.writer("c1", WriterOptions::default()).unwrap();
    old.begin(&begin("s", Mode::Wrapped)).unwrap();
    let mut new = two.writer("c2", WriterOptions::default()).unwrap();
    let held = new.begin(&begin("s", Mode::Wrapped)).unwrap_err();
    assert!(
        matches!(held, Error::Held { pid, .. } if pid == std::process::id()),
        "{held}"
    );
    old.begin(&begin("other", Mode::Wrapped)).unwrap();
    old.lose_locks();
    let generation = new.begin(&begin("s", Mode::Wrapped)).unwrap();
    assert!(generation.number > 1);
    new.apply(&Change::Put(&row(
        "s",
        1,
        json!({"kind": "status", "tone": "info", "text": "new"}),
    )))
    .unwrap();
    new.flush().unwrap();
    // What the old owner still has is refused when it is committed, and it is told from then on.
    let late = row("s", 1, json!({"kind": "status", "tone": "info", "text": "old"}));
    let refused = old
        .apply(&Change::Put(&late))
        .and_then(|_| old.flush())
        .unwrap_err();
    assert!(
        matches!(refused, Error::Fenced { held: 1, current, .. } if current == generation.number),
        "{refused}"
    );
    assert!(matches!(
        old.apply(&Change::Put(&late)),
        Err(Error::Fenced { .. })
    ));
    let rows = one.rows(&session, Window::Last(5)).unwrap();
    assert!(rows.len() == 1 && matches!(&rows[0].body, Body::Status(status) if status.text == "new"));
}

fn a_dead_owner_is_settled(subject: &dyn Subject) {
    let journal = subject.open();
    let session = SessionId::from("s");
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Hosted)).unwrap();
    let turn = RowId::from("s/r:1");
    let rows = [
        json!({"kind": "turn", "origin": "prompt", "state": "open"}),
        json!({"kind": "user", "text": "go", "delivery": "accepted", "turn": turn}),
        json!({"kind": "assistant", "state": "open", "text": "I wil", "turn": turn}),
        json!({"kind": "tool", "call": "c", "state": "running", "authorization": "not_asked", "turn": turn}),
        json!({"kind": "tool", "call": "d", "state": "completed", "authorization": "not_asked", "turn": turn}),
        json!({"kind": "request", "ask": "permission", "state": "pending", "turn": turn}),
        json!({"kind": "task", "task": "t", "task_kind": "command", "label": "make", "state": "running"}),
        json!({"kind": "helper", "helper": "h", "label": "help", "state": "running"}),
        json!({"kind": "user", "text": "next", "delivery": "queued"}),
        json!({"kind": "turn", "origin": "prompt", "state": "ended", "end": "completed"}),
        json!({"kind": "turn", "origin": "agent", "state": "open"}),
    ];
    let mut script = Script {
        writer: &mut writer,
        timeline: Timeline::new(),
        cursor: 0,
    };
    for (index, members) in rows.into_iter().enumerate() {
        script.put(&row("s", index as u64 + 1, members));
    }
    script.append(3, "l look");
    let before = script.cursor;
    writer.flush().unwrap();
    let entry = journal.session(&session).unwrap().unwrap();
    assert_eq!((entry.status, entry.waiting), (Status::Waiting, 1));
    assert_eq!(journal.open_rows(&session).unwrap().len(), 8);
    drop(writer);
    let entry = subject.open().session(&session).unwrap().unwrap();
    assert_eq!(
        (entry.status, entry.waiting, entry.session.state),
        (Status::Cut, 0, SessionState::Ended)
    );
    assert!(journal.settle_dead().unwrap().is_empty(), "once is enough");
    assert!(journal.open_rows(&session).unwrap().is_empty());
    let rows = all(&*journal, "s");
    assert_eq!(rows.len(), 13, "one warning for each cut turn, nothing else");
    let ends: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            if let Body::Turn(turn) = &row.body {
                turn.end
            } else {
                None
            }
        })
        .collect();
    assert_eq!(ends, [End::Cut, End::Completed, End::Cut]);
    let warnings: Vec<_> = rows
        .iter()
        .filter(|row| row.kind() == Kind::Status)
        .map(|row| row.turn.clone().unwrap())
        .collect();
    assert_eq!(warnings, [rows[0].id.clone(), rows[10].id.clone()]);
    let Body::Assistant(message) = &rows[2].body else {
        panic!("a message")
    };
    assert_eq!(
        (message.state, message.content.as_text()),
        (TextState::Cut, "I will look")
    );
    let Body::Tool(tool) = &rows[3].body else {
        panic!("a tool")
    };
    assert_eq!(tool.state, ToolState::Interrupted);
    assert!(rows[4].revision == 1, "what had settled is left alone");
    let Body::Request(request) = &rows[5].body else {
        panic!("a request")
    };
    assert_eq!(
        (request.state, request.outcome),
        (RequestState::Settled, Some(Outcome::Cancelled))
    );
    assert!(
        matches!((&rows[6].body, &rows[7].body), (Body::Task(t), Body::Helper(h))
        if t.state == WorkState::Unknown && h.state == WorkState::Unknown)
    );
    let followed = journal
        .follow(
            &session,
            before,
            Follow {
                limit: 100,
                appends: true,
            },
        )
        .unwrap();
    assert_eq!(
        followed.news.len(),
        11,
        "a follower sees what was settled: 8 rows, 2 warnings, the session"
    );
    assert_eq!(followed.cursor, entry.cursor);
    let generations = journal.generations(&session).unwrap();
    assert!(generations.len() == 1 && generations[0].end == GenerationEnd::Settled);
    let mut writer = journal.writer("c2", WriterOptions::default()).unwrap();
    let generation = writer.begin(&begin("s", Mode::Hosted)).unwrap();
    assert_eq!(
        (generation.number, generation.cursor, generation.last_seq),
        (3, entry.cursor, 13)
    );
}

fn a_generation_that_ended_is_not_settled(subject: &dyn Subject) {
    let journal = subject.open();
    let session = SessionId::from("s");
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    writer
        .apply(&Change::Put(&row(
            "s",
            1,
            json!({"kind": "turn", "origin": "prompt", "state": "ended", "end": "completed"}),
        )))
        .unwrap();
    let user = row("s", 2, json!({"kind": "user", "text": "a"}));
    writer.apply(&Change::Put(&user)).unwrap();
    let append = Append {
        id: &user.id,
        seq: 2,
        member: Grows::Text,
        offset: 1,
        text: "b",
        revision: 2,
        frame: 2,
    };
    writer.apply(&Change::Append(append)).unwrap();
    writer.end(&session).unwrap();
    let entry = subject.open().session(&session).unwrap().unwrap();
    assert_eq!(
        (entry.status, entry.session.state, entry.cursor),
        (Status::Ended, SessionState::Ended, 3)
    );
    assert_eq!(text_of(&all(&*journal, "s")[1]), "ab");
    assert!(matches!(
        writer.apply(&Change::Put(&user)),
        Err(Error::NotBegun { .. })
    ));
    assert_eq!(writer.begin(&begin("s", Mode::Wrapped)).unwrap().number, 2);
    assert_eq!(journal.session(&session).unwrap().unwrap().status, Status::Live);
}

fn large_values_come_back(subject: &dyn Subject) {
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
    let mut script = Script {
        writer: &mut writer,
        timeline: Timeline::new(),
        cursor: 0,
    };
    script.put(&message);
    script.put(&tool);
    for _ in 0..50 {
        script.append(1, &"more ".repeat(1_000));
    }
    script.writer.flush().unwrap();
    assert_eq!(bare(&all(&*journal, "s")), bare(script.timeline.rows()));
    script.close(1);
    let hash = script.writer.blob(b"\x89PNG picture").unwrap();
    let image = json!([{"type": "image", "media_type": "image/png", "bytes": 12, "blob": hash}]);
    script.put(&row("s", 3, json!({"kind": "user", "parts": image})));
    script.writer.flush().unwrap();
    assert_eq!(bare(&all(&*subject.open(), "s")), bare(script.timeline.rows()));
    assert_eq!(
        journal.blob(&hash).unwrap().as_deref(),
        Some(&b"\x89PNG picture"[..])
    );
    assert_eq!(journal.blob("none").unwrap(), None);
}

fn tapes(subject: &dyn Subject) {
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

fn sessions_are_listed(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    for index in 0..25 {
        let id = format!("s{index:02}");
        writer.begin(&begin(&id, Mode::Hosted)).unwrap();
        let mut object = Session::new(SessionId::from(id.as_str()));
        object.parent = (index % 5 == 4).then(|| SessionId::from("s00"));
        writer.apply(&Change::Session(&object)).unwrap();
        writer.flush().unwrap();
        if index % 2 == 0 {
            writer.end(&object.id).unwrap();
        }
    }
    writer
        .apply(&Change::Put(&row(
            "s03",
            1,
            json!({"kind": "request", "ask": "question", "state": "pending"}),
        )))
        .unwrap();
    writer.flush().unwrap();
    let list = |query: &SessionQuery| journal.sessions(query).unwrap();
    let mut seen = Vec::new();
    let mut query = SessionQuery {
        limit: 4,
        ..SessionQuery::default()
    };
    loop {
        let page = list(&query);
        let Some(last) = page.last() else { break };
        query.after = Some(last.place);
        seen.extend(page);
    }
    assert_eq!(seen.len(), 25);
    assert!(
        seen.is_sorted_by(|a, b| a.place > b.place),
        "newest change first, none twice"
    );
    let count = |status| {
        list(&SessionQuery {
            status: Some(status),
            ..SessionQuery::default()
        })
        .len()
    };
    assert_eq!(
        [Status::Live, Status::Waiting, Status::Ended, Status::Cut].map(count),
        [11, 1, 13, 0]
    );
    let children = list(&SessionQuery {
        parent: Some(SessionId::from("s00")),
        ..SessionQuery::default()
    });
    assert_eq!(children.len(), 5);
}

fn sessions_are_found(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let session = SessionId::from("s");
    writer.provider(&session, "grok", "first").unwrap();
    let mut object = Session::new(session.clone());
    object.agent = Some(tapline_timeline::Agent {
        name: "grok".to_owned(),
        version: None,
    });
    object.provider_session = Some("third".to_owned());
    object.provider_sessions = vec!["second".to_owned(), "third".to_owned()];
    writer.apply(&Change::Session(&object)).unwrap();
    writer.flush().unwrap();
    for provider in ["first", "second", "third"] {
        assert_eq!(
            journal.session_of_provider("grok", provider).unwrap().as_ref(),
            Some(&session)
        );
    }
    assert_eq!(journal.session_of_provider("other", "first").unwrap(), None);
    assert_eq!(journal.session(&SessionId::from("none")).unwrap(), None);
}

fn imports_are_told_apart(subject: &dyn Subject) {
    let journal = subject.open();
    let mut first = begin("s", Mode::Imported);
    first.origin = Some("content".to_owned());
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&first).unwrap();
    assert_eq!(
        journal.session_of_origin("content").unwrap(),
        Some((SessionId::from("s"), false))
    );
    writer.end(&SessionId::from("s")).unwrap();
    let again = writer
        .begin(&Begin {
            session: SessionId::from("t"),
            ..first
        })
        .unwrap_err();
    assert!(
        matches!(again, Error::AlreadyHere { complete: true, .. }),
        "{again}"
    );
    assert_eq!(journal.session_of_origin("other").unwrap(), None);
}

fn new_intent(session: &str, words: &str) -> NewIntent {
    NewIntent {
        session: SessionId::from(session),
        kind: "prompt".to_owned(),
        payload: Json::string(words),
        by: "page".to_owned(),
    }
}

fn intents(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("wrapped", Mode::Wrapped)).unwrap();
    let generation = writer.begin(&begin("hosted", Mode::Hosted)).unwrap();
    let refused = journal.post_intent(&new_intent("wrapped", "x")).unwrap_err();
    assert!(
        matches!(&refused, Error::IntentRefused { reason } if reason.contains("editor")),
        "{refused}"
    );
    assert!(matches!(
        journal.post_intent(&new_intent("none", "x")),
        Err(Error::NoSession { .. })
    ));
    let posted: Vec<Intent> = ["one", "two", "three"]
        .iter()
        .map(|words| journal.post_intent(&new_intent("hosted", words)).unwrap())
        .collect();
    assert!(posted.is_sorted_by(|a, b| a.id < b.id));
    let edited = journal
        .edit_intent(posted[0].id, &Json::string("better"))
        .unwrap();
    assert_eq!(
        (edited.payload.as_str(), edited.state),
        ("\"better\"", IntentState::Open)
    );
    journal.withdraw_intent(posted[1].id).unwrap();
    let claimed = journal.claim_intent(posted[0].id, &generation).unwrap();
    assert_eq!(
        (claimed.state, claimed.generation),
        (IntentState::Claimed, Some(1))
    );
    for id in [posted[0].id, posted[1].id] {
        assert!(matches!(
            journal.edit_intent(id, &Json::string("x")),
            Err(Error::IntentTaken { .. })
        ));
        assert!(matches!(
            journal.withdraw_intent(id),
            Err(Error::IntentTaken { .. })
        ));
        assert!(matches!(
            journal.claim_intent(id, &generation),
            Err(Error::IntentTaken { .. })
        ));
    }
    assert!(matches!(
        journal.finish_intent(posted[2].id, &generation, &Json::string("x")),
        Err(Error::IntentTaken { .. })
    ));
    let done = journal
        .finish_intent(posted[0].id, &generation, &Json::string("sent"))
        .unwrap();
    assert_eq!(
        (done.state, done.outcome.unwrap().as_str()),
        (IntentState::Done, "\"sent\"")
    );
    let old = Generation {
        number: 0,
        ..generation
    };
    assert!(matches!(
        journal.claim_intent(posted[2].id, &old),
        Err(Error::Fenced { .. })
    ));
    assert!(matches!(
        journal.claim_intent(IntentId(99), &old),
        Err(Error::NoIntent { .. })
    ));
    let ids = |query: IntentQuery| {
        journal
            .intents(&query)
            .unwrap()
            .iter()
            .map(|intent| intent.id)
            .collect::<Vec<_>>()
    };
    let session = Some(SessionId::from("hosted"));
    assert_eq!(
        ids(IntentQuery {
            session,
            state: Some(IntentState::Open),
            ..IntentQuery::default()
        }),
        [posted[2].id]
    );
    assert_eq!(
        ids(IntentQuery {
            after: Some(posted[0].id),
            limit: 1,
            ..IntentQuery::default()
        }),
        [posted[1].id]
    );
}

fn an_intent_is_claimed_once(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    let generation = writer.begin(&begin("s", Mode::Hosted)).unwrap();
    let others: Vec<Box<dyn Journal>> = (0..4).map(|_| subject.open()).collect();
    for _ in 0..10 {
        let intent = journal.post_intent(&new_intent("s", "answer")).unwrap().id;
        let winners: usize = std::thread::scope(|scope| {
            let tries: Vec<_> = others
                .iter()
                .map(|other| scope.spawn(|| usize::from(other.claim_intent(intent, &generation).is_ok())))
                .collect();
            tries.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(winners, 1);
    }
}

fn search(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    for session in ["a", "b"] {
        writer.begin(&begin(session, Mode::Wrapped)).unwrap();
        let rows = [
            json!({"kind": "user", "text": "Please fix the Größe of the parser"}),
            json!({"kind": "assistant", "state": "open", "text": "unfinished parser words"}),
            json!({"kind": "tool", "call": "c", "title": "Read parser.rs", "state": "completed", "authorization": "not_asked",
                   "output": "fn parse_all() {}", "input": {"path": "src/parser.rs"}}),
            json!({"kind": "session_message", "text": "the parser again"}),
        ];
        for (index, members) in rows.into_iter().enumerate() {
            writer
                .apply(&Change::Put(&row(session, index as u64 + 1, members)))
                .unwrap();
        }
    }
    writer.flush().unwrap();
    let find = |query: SearchQuery| {
        let hits = journal.search(&query).unwrap();
        hits.iter()
            .map(|hit| (hit.session.to_string(), hit.seq))
            .collect::<Vec<_>>()
    };
    let words = |words: &str| SearchQuery {
        words: words.to_owned(),
        ..SearchQuery::default()
    };
    let hit = |session: &str, seq| (session.to_owned(), seq);
    let all = [
        hit("b", 4),
        hit("b", 3),
        hit("b", 1),
        hit("a", 4),
        hit("a", 3),
        hit("a", 1),
    ];
    assert_eq!(find(words("PARSER")), all, "open text is not found yet");
    assert_eq!(find(words("grosse")), [], "ß is no s");
    assert_eq!(
        find(words("große parser")),
        [hit("b", 1), hit("a", 1)],
        "all words, accents aside"
    );
    assert_eq!(find(words("\"parser again\"")), [hit("b", 4), hit("a", 4)]);
    assert_eq!(find(words("pars*")).len(), 6);
    assert_eq!(find(words("parse_all")), [hit("b", 3), hit("a", 3)]);
    for odd in ["", "\"", "AND", "(", "kind:tool", "a OR", "-parser^", "\0"] {
        let _ = find(words(odd));
    }
    let session = Some(SessionId::from("a"));
    assert_eq!(
        find(SearchQuery {
            session,
            ..words("parser")
        }),
        all[3..]
    );
    assert_eq!(
        find(SearchQuery {
            kinds: vec![Kind::Tool, Kind::SessionMessage],
            ..words("parser")
        })
        .len(),
        4
    );
    let first = journal
        .search(&SearchQuery {
            limit: 2,
            ..words("parser")
        })
        .unwrap();
    assert_eq!(
        find(SearchQuery {
            after: Some(first[1].place),
            ..words("parser")
        }),
        all[2..]
    );
    let snippet = &first[0].snippet;
    assert_eq!(
        snippet
            .matches
            .iter()
            .map(|(a, b)| &snippet.text[*a..*b])
            .collect::<Vec<_>>(),
        ["parser"]
    );
    assert_eq!(
        (first[0].kind, first[0].row.as_str()),
        (Kind::SessionMessage, "b/r:4")
    );
    // A row that changes is found by its new words only, one that closes by all of them.
    let mut changed = Row::clone(&row(
        "a",
        4,
        json!({"kind": "session_message", "text": "other words"}),
    ));
    changed.revision = 2;
    writer.apply(&Change::Put(&Arc::new(changed))).unwrap();
    let open = RowId::from("a/r:2");
    let close = Close {
        id: &open,
        seq: 2,
        state: TextState::Ended,
        superseded: false,
        ended_at: None,
        cut_bytes: None,
        revision: 2,
        frame: 9,
    };
    writer.apply(&Change::Close(close)).unwrap();
    writer.flush().unwrap();
    let session = Some(SessionId::from("a"));
    assert_eq!(
        find(SearchQuery {
            session,
            ..words("parser")
        }),
        [hit("a", 3), hit("a", 2), hit("a", 1)]
    );
}

fn waiting(subject: &dyn Subject) {
    let (one, two) = (subject.open(), subject.open());
    let session = SessionId::from("s");
    let mut writer = one.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Hosted)).unwrap();
    let short = Duration::from_millis(1);
    let long = Duration::from_secs(60);
    assert!(!two.wait(&Watch::Session(session.clone(), 0), short).unwrap());
    assert!(!two.wait(&Watch::Intent(None, IntentId(0)), short).unwrap());
    assert!(matches!(
        two.wait(&Watch::Session(SessionId::from("none"), 0), short),
        Err(Error::NoSession { .. })
    ));
    let mark = two.mark();
    std::thread::scope(|scope| {
        let rows = scope.spawn(|| two.wait(&Watch::Session(session.clone(), 0), long).unwrap());
        let any = scope.spawn(|| two.wait(&Watch::Any(mark), long).unwrap());
        let near = scope.spawn(|| one.wait(&Watch::Session(session.clone(), 0), long).unwrap());
        let text = row("s", 1, json!({"kind": "assistant", "state": "open", "text": "a"}));
        writer.apply(&Change::Put(&text)).unwrap();
        writer.flush().unwrap();
        assert!(rows.join().unwrap() && any.join().unwrap() && near.join().unwrap());
        let grown = scope.spawn(|| two.wait(&Watch::Session(session.clone(), 1), long).unwrap());
        let intent = scope.spawn(|| {
            one.wait(&Watch::Intent(Some(session.clone()), IntentId(0)), long)
                .unwrap()
        });
        let append = Append {
            id: &text.id,
            seq: 1,
            member: Grows::Text,
            offset: 1,
            text: "b",
            revision: 2,
            frame: 2,
        };
        writer.apply(&Change::Append(append)).unwrap();
        writer.seal().unwrap();
        two.post_intent(&new_intent("s", "x")).unwrap();
        assert!(grown.join().unwrap() && intent.join().unwrap());
    });
}

fn forgetting(subject: &dyn Subject) {
    let journal = subject.open();
    let mut shared = journal.writer("shared", WriterOptions::default()).unwrap();
    for session in ["gone", "stays"] {
        shared.begin(&begin(session, Mode::Hosted)).unwrap();
    }
    let mut own = journal.writer("own", WriterOptions::default()).unwrap();
    let mut hashes = Vec::new();
    for (session, bytes) in [("gone", "mine"), ("gone", "both"), ("stays", "both")] {
        let hash = shared.blob(bytes.as_bytes()).unwrap();
        let part = json!([{"type": "text", "text": "secret"}, {"type": "file", "blob": hash}]);
        let seq = 1 + hashes.len() as u64;
        shared
            .apply(&Change::Put(&row(
                session,
                seq,
                json!({"kind": "user", "parts": part}),
            )))
            .unwrap();
        hashes.push(hash);
    }
    shared.input(1, None, b"frame").unwrap();
    let gone = SessionId::from("gone");
    shared.provider(&gone, "agent", "p").unwrap();
    shared.flush().unwrap();
    journal.post_intent(&new_intent("gone", "x")).unwrap();
    assert!(
        matches!(journal.forget(&gone), Err(Error::Held { .. })),
        "a session that is written stays"
    );
    shared.end(&gone).unwrap();
    own.begin(&begin("gone", Mode::Hosted)).unwrap();
    own.input(1, None, b"frame").unwrap();
    own.end(&gone).unwrap();
    drop(own);
    let forgotten = journal.forget(&gone).unwrap();
    assert_eq!((forgotten.rows, forgotten.blobs, forgotten.tapes), (2, 1, 1));
    assert_eq!(forgotten.shared_tapes, ["shared"]);
    assert_eq!(journal.session(&gone).unwrap(), None);
    assert!(journal.rows(&gone, Window::Last(9)).unwrap().is_empty());
    assert!(
        journal.read_tape("own", 0, 9).unwrap().is_empty()
            && journal.read_tape("shared", 0, 9).unwrap().len() == 1
    );
    assert_eq!(
        (
            journal.blob(&hashes[0]).unwrap(),
            journal.blob(&hashes[1]).unwrap()
        ),
        (None, Some(b"both".to_vec()))
    );
    assert_eq!(journal.session_of_provider("agent", "p").unwrap(), None);
    assert!(journal.intents(&IntentQuery::default()).unwrap().is_empty());
    let hits = journal
        .search(&SearchQuery {
            words: "secret".to_owned(),
            ..SearchQuery::default()
        })
        .unwrap();
    assert!(hits.iter().all(|hit| hit.session.as_str() == "stays") && hits.len() == 1);
    assert!(matches!(journal.forget(&gone), Err(Error::NoSession { .. })));
    assert!(journal.verify(None).unwrap().is_empty());
    // The same id again is a new session.
    let mut again = journal.writer("again", WriterOptions::default()).unwrap();
    assert_eq!(again.begin(&begin("gone", Mode::Hosted)).unwrap().cursor, 0);
}

fn a_sound_journal_has_no_findings(subject: &dyn Subject) {
    let mut dice = Dice(seed());
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let mut script = Script {
        writer: &mut writer,
        timeline: Timeline::new(),
        cursor: 0,
    };
    for number in 1..200 {
        script.writer.input(number, None, &[number as u8; 3_000]).unwrap();
        step(&mut script, "s", &mut dice);
    }
    script.writer.flush().unwrap();
    assert_eq!(journal.verify(None).unwrap(), []);
    assert_eq!(journal.verify(Some(&SessionId::from("s"))).unwrap(), []);
}

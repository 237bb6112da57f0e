//! Writers and readers that work at once, for as long as one likes.
//!
//! Several connections stream into several sessions each, with settlements, commits that bring no input, sessions that end and begin
//! again in between; processes among them are killed. Readers follow each session and look at its rows all the while. What
//! is checked: cursors only rise; what was reported as saved is seen by whoever looks after that; text comes without a gap and
//! without being told twice; what each follower made of it is what stands there in the end.
//!
//! A few seconds by itself; `TAPLINE_STORM_SECONDS=600 cargo test -p tapline-journal --test storm` for longer. Prints the seed that
//! repeats its dice (not the interleaving).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod torment;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tapline_journal::contract::{begin, row, seed};
use tapline_journal::*;
use tapline_timeline::{Append, Body, Change, Close, Grows, Row, Session, SessionId, TextState, ToolItem};
use torment::Torment;

/// Connections that stream at once.
const CONNECTIONS: u64 = 4;
/// Sessions of each.
const SESSIONS: u64 = 2;
/// Processes that are killed.
const VICTIMS: u64 = 4;

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

/// What was reported as saved, by session.
type Saved = Arc<Mutex<HashMap<String, u64>>>;

#[test]
fn readers_see_what_writers_wrote_whatever_the_order() {
    let seed = seed();
    let seconds: u64 = std::env::var("TAPLINE_STORM_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(4);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut rounds = 0;
    while rounds == 0 || Instant::now() < until {
        round(seed.wrapping_add(rounds * 7919));
        rounds += 1;
    }
    eprintln!("{rounds} rounds");
}

fn round(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let journal = SqliteJournal::open(&home).unwrap();
    let saved = Saved::default();
    let over = AtomicBool::new(false);
    let names: Vec<String> = (0..CONNECTIONS)
        .flat_map(|c| (0..SESSIONS).map(move |s| format!("c{c}s{s}")))
        .collect();
    let victims: Vec<String> = (0..VICTIMS).map(|index| format!("victim{index}")).collect();
    std::thread::scope(|scope| {
        let mut work = Vec::new();
        for connection in 0..CONNECTIONS {
            let (home, saved) = (&home, Arc::clone(&saved));
            work.push(scope.spawn(move || write(home, connection, seed.wrapping_add(connection), &saved)));
        }
        for (index, name) in (0..).zip(&victims) {
            let path = dir.path();
            work.push(scope.spawn(move || {
                let seed = seed.wrapping_add(100 + index);
                Torment::start(path, name, seed, 1_000_000).kill_after(10 + seed % 60);
            }));
        }
        let mut followers = Vec::new();
        for (index, name) in (0..).zip(names.iter().chain(&victims)) {
            let (home, over) = (&home, &over);
            let appends = (seed + index).is_multiple_of(2);
            followers.push(scope.spawn(move || follow(home, name, appends, over)));
        }
        for index in 0..2 {
            let (home, over, saved, names) = (&home, &over, &saved, &names);
            scope.spawn(move || look(home, names, Dice(seed ^ index), saved, over));
        }
        let (home, over) = (&home, &over);
        scope.spawn(move || meddle(home, Dice(!seed), over));
        for work in work {
            work.join().unwrap();
        }
        // Whoever looks settles what the killed left.
        journal.settle_dead().unwrap();
        over.store(true, Ordering::Release);
        for (name, follower) in names.iter().chain(&victims).zip(followers) {
            let seen = follower.join().unwrap();
            let rows = journal
                .rows(&SessionId::from(name.as_str()), Window::From(0, 1_000_000))
                .unwrap();
            assert_eq!(seen.len(), rows.len(), "{name}");
            for row in rows {
                assert_eq!(seen[&row.seq].body, row.body, "row {} of {name}", row.seq);
            }
        }
    });
    assert_eq!(journal.verify(None).unwrap(), []);
    for connection in 0..CONNECTIONS {
        let mut next = 1;
        loop {
            let inputs = journal.read_tape(&format!("c{connection}"), next, 1000).unwrap();
            if inputs.is_empty() {
                break;
            }
            for input in inputs {
                assert_eq!(input.number, next, "no input is missing on c{connection}");
                assert_eq!(input.bytes, format!("input {next}").as_bytes());
                next += 1;
            }
        }
        assert!(next > 500);
    }
    let left: Vec<_> = std::fs::read_dir(home.live())
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .collect();
    drop(journal);
    assert!(
        left.iter()
            .all(|path| path.extension().is_none_or(|e| e != "tail")),
        "{left:?}"
    );
}

/// Rows of one session that grow, by `seq`: length and revision.
#[derive(Default)]
struct Chat {
    open: Vec<(u64, u64, u64)>,
    rows: u64,
    live: bool,
}

/// One connection with its sessions.
fn write(home: &Home, connection: u64, seed: u64, saved: &Saved) {
    let journal = SqliteJournal::open(home).unwrap();
    let mut dice = Dice(seed);
    let told = Arc::clone(saved);
    let on_saved: OnSaved = Box::new(move |session, cursor| {
        let mut told = told.lock().unwrap();
        let last = told.entry(session.as_str().to_owned()).or_default();
        assert!(cursor >= *last, "what is saved only rises");
        *last = cursor;
    });
    let options = WriterOptions {
        patience: Some(Duration::from_secs(60)),
        on_saved: Some(on_saved),
    };
    let mut writer = journal.writer(&format!("c{connection}"), options).unwrap();
    let mut chats: Vec<Chat> = (0..SESSIONS).map(|_| Chat::default()).collect();
    let mut input = 0;
    for step in 0..1_500 {
        let index = dice.roll(SESSIONS) as usize;
        let name = format!("c{connection}s{index}");
        let chat = &mut chats[index];
        if !chat.live {
            writer.begin(&begin(&name, Mode::Wrapped)).unwrap();
            chat.live = true;
        }
        // A quarter of a second of a chat that streams, most of the time; else anything.
        let kind = if step / 40 % 2 == 1 && !chat.open.is_empty() {
            90
        } else {
            dice.roll(100)
        };
        if kind == 0 {
            writer.end(&SessionId::from(name.as_str())).unwrap();
            chat.live = false;
            chat.open.clear();
            continue;
        }
        if kind == 1 {
            // A commit that brings no input.
            writer
                .provider(
                    &SessionId::from(name.as_str()),
                    "agent",
                    &format!("{name}-{step}"),
                )
                .unwrap();
            writer.seal().unwrap();
            continue;
        }
        input += 1;
        writer
            .input(input, None, format!("input {input}").as_bytes())
            .unwrap();
        match kind {
            2..12 => {
                chat.rows += 1;
                let body = match dice.roll(2) {
                    0 => json!({"kind": "assistant", "state": "open", "text": "Begin "}),
                    _ => {
                        json!({"kind": "tool", "call": format!("t{step}"), "state": "running", "authorization": "not_asked",
                                "content": [{"type": "terminal", "output": "Begin "}]})
                    }
                };
                let row = row(&name, chat.rows, body);
                writer.apply(&Change::Put(&row)).unwrap();
                chat.open.push((row.seq, 6, 1));
            }
            12..16 if chat.open.len() > 1 => {
                let at = dice.roll(chat.open.len() as u64) as usize;
                let (seq, _, revision) = chat.open[at];
                let id = row(
                    &name,
                    seq,
                    json!({"kind": "assistant", "state": "open", "text": ""}),
                )
                .id
                .clone();
                let close = Close {
                    id: &id,
                    seq,
                    state: TextState::Ended,
                    superseded: false,
                    ended_at: None,
                    cut_bytes: None,
                    revision: revision + 1,
                    frame: input,
                };
                writer.apply(&Change::Close(close)).unwrap();
                chat.open.remove(at);
            }
            16..20 => {
                let mut object = Session::new(SessionId::from(name.as_str()));
                object.title = Some(format!("Title {step}"));
                writer.apply(&Change::Session(&object)).unwrap();
            }
            _ if !chat.open.is_empty() => {
                for _ in 0..=dice.roll(3) {
                    let at = dice.roll(chat.open.len() as u64) as usize;
                    let (seq, length, revision) = &mut chat.open[at];
                    let id = row(
                        &name,
                        *seq,
                        json!({"kind": "assistant", "state": "open", "text": ""}),
                    )
                    .id
                    .clone();
                    let text = format!("[{input} é] ");
                    *revision += 1;
                    let lookup = writer.lookup();
                    let kind = tapline_timeline::Lookup::row(&lookup, &id).unwrap().kind();
                    let member = match kind {
                        tapline_timeline::Kind::Tool => Grows::Terminal(0),
                        _ => Grows::Text,
                    };
                    let append = Append {
                        id: &id,
                        seq: *seq,
                        member,
                        offset: *length,
                        text: &text,
                        revision: *revision,
                        frame: input,
                    };
                    writer.apply(&Change::Append(append)).unwrap();
                    *length += text.len() as u64;
                }
            }
            _ => {}
        }
        writer.seal().unwrap();
        if dice.roll(6) == 0 {
            writer.flush().unwrap();
        }
    }
    for (index, chat) in chats.iter().enumerate() {
        if chat.live {
            writer
                .end(&SessionId::from(format!("c{connection}s{index}")))
                .unwrap();
        }
    }
}

fn text_of(row: &Row, member: Grows) -> &str {
    match (&row.body, member) {
        (Body::Assistant(message) | Body::Reasoning(message), Grows::Text) => message.content.as_text(),
        (Body::User(user), Grows::Text) => user.content.as_text(),
        (Body::Tool(tool), Grows::Terminal(index)) => match &tool.content[index] {
            ToolItem::Terminal(terminal) => &terminal.output,
            other => panic!("{other:?}"),
        },
        (body, member) => panic!("{body:?} {member:?}"),
    }
}

/// Follows a session until all is over; what the follower has then.
fn follow(home: &Home, name: &str, appends: bool, over: &AtomicBool) -> BTreeMap<u64, Row> {
    let journal = SqliteJournal::open(home).unwrap();
    let session = SessionId::from(name);
    let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
    let mut after = 0;
    loop {
        let last = over.load(Ordering::Acquire);
        if !last
            && matches!(
                journal.wait(
                    &Watch::Session(session.clone(), after),
                    Duration::from_millis(200)
                ),
                Err(Error::NoSession { .. })
            )
        {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let followed = journal
            .follow(&session, after, Follow { limit: 20, appends })
            .unwrap();
        let mut told = after;
        for news in &followed.news {
            assert!(
                news.cursor() > told || (news.cursor() == told && told > after),
                "{name}: {} after {told}",
                news.cursor()
            );
            told = news.cursor();
            match news {
                News::Session(_) => {}
                News::Row(row) => {
                    if let Some(old) = rows.get(&row.seq) {
                        assert!(old.revision <= row.revision, "{name}: a row goes back");
                    }
                    rows.insert(row.seq, Row::clone(row));
                }
                News::Append {
                    seq,
                    member,
                    offset,
                    text,
                    ..
                } => {
                    let row = rows.get_mut(seq).expect("a row comes before its text");
                    let have = text_of(row, *member);
                    assert_eq!(
                        have.len() as u64,
                        *offset,
                        "{name}: row {seq} at {told}: text is missing or told twice"
                    );
                    let append = Append {
                        id: &row.id.clone(),
                        seq: *seq,
                        member: *member,
                        offset: *offset,
                        text,
                        revision: row.revision,
                        frame: 0,
                    };
                    tapline_timeline::grow(row, &append);
                }
            }
        }
        assert!(followed.cursor >= told);
        after = followed.cursor;
        if last && !followed.more && followed.news.is_empty() {
            return rows;
        }
    }
}

/// Does what other processes do at the wrong moment: opens connections that are written, settles, checks.
fn meddle(home: &Home, mut dice: Dice, over: &AtomicBool) {
    while !over.load(Ordering::Acquire) {
        let journal = SqliteJournal::open(home).unwrap();
        for _ in 0..10 {
            match dice.roll(8) {
                0..3 => {
                    // One that is over by now can be written again.
                    let connection = format!("c{}", dice.roll(CONNECTIONS));
                    drop(journal.writer(&connection, WriterOptions::default()));
                }
                3..7 => drop(journal.settle_dead().unwrap()),
                _ => assert_eq!(journal.verify(None).unwrap(), []),
            }
            std::thread::sleep(Duration::from_millis(dice.roll(30)));
        }
    }
}

/// Looks at sessions at random: nothing goes back, and what was saved before a look is in it.
fn look(home: &Home, names: &[String], mut dice: Dice, saved: &Saved, over: &AtomicBool) {
    let journal = SqliteJournal::open(home).unwrap();
    let mut cursors: HashMap<&str, u64> = HashMap::new();
    let mut revisions: HashMap<(&str, u64), u64> = HashMap::new();
    while !over.load(Ordering::Acquire) {
        let name = names[dice.roll(names.len() as u64) as usize].as_str();
        let session = SessionId::from(name);
        let before = saved.lock().unwrap().get(name).copied().unwrap_or(0);
        let mut see = |cursor: u64| {
            let last = cursors.entry(name).or_default();
            assert!(cursor >= *last, "{name}: cursor {cursor} after {last}");
            assert!(cursor >= before, "{name}: {before} was saved, {cursor} is seen");
            *last = cursor;
        };
        match dice.roll(3) {
            0 => {
                if let Some(entry) = journal.session(&session).unwrap() {
                    see(entry.cursor);
                }
            }
            1 => {
                let entries = journal.sessions(&SessionQuery::default()).unwrap();
                if let Some(entry) = entries.iter().find(|entry| entry.session.id == session) {
                    see(entry.cursor);
                }
            }
            _ => {
                let rows = journal.rows(&session, Window::Last(50)).unwrap();
                for row in rows {
                    let last = revisions.entry((name, row.seq)).or_default();
                    assert!(row.revision >= *last, "{name}: row {} goes back", row.seq);
                    *last = row.revision;
                }
            }
        }
    }
}

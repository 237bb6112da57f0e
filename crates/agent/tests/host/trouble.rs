//! A journal that cannot be written: the session stops, says why, and goes on.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tapline_agent::host::{Judge, Verdict};
use tapline_journal::{Error, SqliteOptions, Status, Watch, Window};
use tapline_timeline::{End, Kind, Outcome, Request, Row, Tool};

use crate::rig::{Chat, LONG, Rig, request_of, texts};
use crate::wire::{answers, tape};

const SCENARIO: &str = r#"
[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "edit"
steps = [{ permission = { tool = { id = "edit-1", title = "Edit a.txt" }, allow = [{ text = "Edited." }], reject = [{ text = "Left alone." }] } }]

[[turn]]
when = "gate"
steps = [{ text = "At the gate." }, { run = { command = "cat", args = ["gate"] } }, { text = "Through." }]

[[turn]]
when = "much"
steps = [{ flood = { count = 20000, text = "{{i}} of many lines that the agent says; " } }]
"#;

/// Another program that writes the journal and does not come to an end.
#[derive(Clone, Default)]
struct Locker(Arc<Mutex<Option<Connection>>>);

impl Locker {
    fn lock(&self, rig_home: &std::path::Path) {
        let other =
            Connection::open(tapline_journal::Home::at(rig_home).database()).expect("the journal opens");
        other.busy_timeout(LONG).expect("it may wait");
        other.execute_batch("BEGIN IMMEDIATE").expect("it is locked");
        *self.0.lock().expect("nobody panicked") = Some(other);
    }

    fn unlock(&self) {
        self.0.lock().expect("nobody panicked").take();
    }
}

/// Allows everything, and has the journal locked before the answer can be saved.
struct LocksAndAllows {
    locker: Locker,
    home: std::path::PathBuf,
}

impl Judge for LocksAndAllows {
    fn decide(&self, _: &Row, request: &Request, _: Option<&Tool>) -> Verdict {
        self.locker.lock(&self.home);
        Verdict::Choose {
            option: request.options[0].id.clone(),
            by: "policy".to_owned(),
        }
    }
}

fn options(max_bytes: Option<u64>) -> SqliteOptions {
    SqliteOptions {
        max_bytes,
        lock_wait: Some(Duration::from_millis(1)),
    }
}

/// What the session says of its trouble, once it does.
fn trouble(chat: &Chat) -> String {
    chat.until("the trouble is told", |_| chat.hosted.standing().trouble)
}

fn without_trouble(chat: &Chat) {
    chat.until("the trouble is over", |_| {
        chat.hosted.standing().trouble.is_none().then_some(())
    });
}

/// What the agent has told anybody so far, from its own memory: also what we have not read.
fn agent_has_said(rig: &Rig, words: &str) -> bool {
    let state = std::fs::read_dir(rig.dir.path().join("state")).expect("the agent's memory");
    state
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .any(|path| {
            std::fs::read_to_string(path)
                .expect("its memory is text")
                .contains(words)
        })
}

/// An answer that could not be saved is not sent until it is. Meanwhile the session says why it takes no prompts; when the
/// journal can be written again, it goes on by itself, and nothing is missing.
#[test]
fn an_answer_that_cannot_be_saved_is_not_sent_until_it_is() {
    let rig = Rig::with(options(None));
    let locker = Locker::default();
    let mut options = rig.options(SCENARIO);
    options.judge = Box::new(LocksAndAllows {
        locker: locker.clone(),
        home: rig.home(),
    });
    let chat = rig.begin(options).expect("the session begins");
    let sent = chat.prompt("edit");
    let told = trouble(&chat);
    assert!(
        told.starts_with("The record cannot be written, so no prompts are taken until it can: "),
        "{told}"
    );
    let refused = rig.journal.post_intent(&tapline_journal::NewIntent {
        session: chat.id.clone(),
        kind: "prompt".to_owned(),
        payload: tapline_timeline::Json::of(&serde_json::json!({ "text": "hello" })).expect("JSON"),
        by: "test".to_owned(),
    });
    assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    // The agent acts at once on what it is sent; it has had the time.
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(400) {
        assert!(!agent_has_said(&rig, "Edited."), "the answer was sent unsaved");
        std::thread::yield_now();
    }
    // The request itself may not have been saved either; its end is not.
    assert!(
        !chat
            .rows()
            .iter()
            .any(|row| row.kind() == Kind::Request && !row.is_open())
    );

    locker.unlock();
    chat.says("Edited.");
    without_trouble(&chat);
    assert_eq!(chat.outcome(sent)["delivery"], "accepted");
    let rows = chat.rows();
    let request = rows
        .iter()
        .find(|row| row.kind() == Kind::Request)
        .expect("a row");
    let (_, outcome, by) = request_of(&*rig.journal, &request.id);
    assert_eq!((outcome, by.as_deref()), (Some(Outcome::Allowed), Some("policy")));
    let answered = answers(&tape(&*rig.journal, &chat.id), "session/request_permission");
    assert_eq!(answered.len(), 1);
    chat.ask("hello");
    chat.close();
}

/// An answer that a person gave just before the journal was locked has its outcome when it is saved, and not before; what
/// was wanted meanwhile is done afterwards.
#[test]
fn what_is_wanted_while_the_journal_is_locked_is_done_afterwards() {
    let rig = Rig::with(options(None));
    let chat = rig.start(SCENARIO);
    chat.prompt("edit");
    let request = chat.request();
    let answered = chat.answer(&request, "allow-once");
    let locker = Locker::default();
    locker.lock(&rig.home());
    // The intent stands; whether it was claimed before the lock is up to chance, and must not matter.
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(200) {
        std::thread::yield_now();
    }
    locker.unlock();
    assert_eq!(
        chat.outcome(answered),
        serde_json::json!({ "outcome": "allowed" })
    );
    chat.says("Edited.");
    without_trouble(&chat);
    chat.ask("hello");
    chat.close();
}

/// A session cannot begin in a journal that cannot be written, and the error says why.
#[test]
fn a_start_while_the_journal_is_locked_fails_and_says_why() {
    let rig = Rig::with(options(None));
    let locker = Locker::default();
    locker.lock(&rig.home());
    let error = rig.begin(rig.options(SCENARIO)).err().expect("it is locked");
    assert!(
        matches!(&error, tapline_agent::host::StartError::Journal(why) if why.contains("locked")),
        "{error}"
    );
    locker.unlock();
    rig.start(SCENARIO).close();
}

/// Trouble with what came last is told although nothing more comes.
#[test]
fn trouble_with_the_last_words_is_told_without_more_of_them() {
    let rig = Rig::with(options(None));
    let made = std::process::Command::new("mkfifo")
        .arg(rig.cwd().join("gate"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    let chat = rig.start(SCENARIO);
    chat.prompt("gate");
    chat.says("At the gate.");
    let locker = Locker::default();
    locker.lock(&rig.home());
    std::fs::write(rig.cwd().join("gate"), "open").expect("somebody waits at the gate");
    trouble(&chat);
    locker.unlock();
    chat.says("Through.");
    without_trouble(&chat);
    chat.close();
}

/// A session that is closed while its journal cannot be written ends all the same, and says what was in the way; the journal
/// then shows what was saved, settled as the end of a process that said nothing.
#[test]
fn a_close_while_the_journal_is_locked_ends_and_says_what_was_in_the_way() {
    let rig = Rig::with(options(None));
    let locker = Locker::default();
    let mut options = rig.options(SCENARIO);
    options.judge = Box::new(LocksAndAllows {
        locker: locker.clone(),
        home: rig.home(),
    });
    options.patience.stop = Duration::from_millis(50);
    let chat = rig.begin(options).expect("the session begins");
    chat.prompt("edit");
    trouble(&chat);
    let id = chat.id.clone();
    let over = chat.close();
    assert!(over.trouble.is_some());
    assert!(over.end.is_some());
    locker.unlock();
    let since = Instant::now();
    loop {
        let entry = rig.journal.session(&id).expect("read").expect("there");
        if matches!(entry.status, Status::Cut | Status::Ended) {
            break;
        }
        assert!(since.elapsed() < LONG, "it is still {}", entry.status);
        let mark = rig.journal.mark();
        let _ = rig.journal.wait(&Watch::Any(mark), Duration::from_millis(20));
    }
    let rows = rig.journal.rows(&id, Window::Last(100)).expect("rows");
    assert!(rows.iter().all(|row| !row.is_open()), "{rows:?}");
}

/// A journal that is full stops the session: it reads no more of the agent, which waits at its own pipe, and says why. With
/// space again it goes on, and all that the agent said is there.
#[test]
fn a_full_journal_stops_the_session_until_there_is_space() {
    let rig = Rig::with(options(Some(1500 * 4096)));
    let filler = Connection::open(tapline_journal::Home::at(rig.home()).database()).expect("it opens");
    filler.busy_timeout(LONG).expect("it may wait");
    filler
        .execute_batch("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(5500000));")
        .expect("it is filled");
    let chat = rig.start(SCENARIO);
    let turn = chat.prompt("much");
    let told = trouble(&chat);
    assert!(told.contains("space") || told.contains("full"), "{told}");
    assert!(!chat.hosted.is_over());
    filler.execute_batch("DROP TABLE filler").expect("there is space");
    without_trouble(&chat);
    chat.until_ended(&[End::Completed]);
    assert_eq!(chat.outcome(turn)["delivery"], "accepted");
    let said = texts(&chat.rows(), Kind::Assistant).concat();
    let expected: String = (0..20000)
        .map(|i| format!("{i} of many lines that the agent says; "))
        .collect();
    assert!(said == expected, "{} of {} bytes", said.len(), expected.len());
    chat.ask("hello");
    assert_eq!(chat.close().trouble, None);
}

//! The owner of a session is killed at a random moment: what was open reads cut with one explanation, what was claimed is never done
//! again, what was not is not lost, another process goes on, and nothing of the dead one runs on.
//!
//! A failure prints the seed that repeats it: `TAPLINE_SEED=… TAPLINE_KILLS=1 cargo test -p tapline-agent --test host kill`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tapline_agent::host::intent;
use tapline_journal::{IntentId, IntentQuery, IntentState, SessionQuery, Status, Watch};
use tapline_timeline::{Body, Delivery, End, Kind, RequestState};

use crate::process::{HostProcess, left};
use crate::raw::until;
use crate::rig::{LONG, Rig, Talk, find};

/// Each prompt's number stands in its words, so that what the agent was told can be counted.
const SCENARIO: &str = r#"
[[turn]]
when = "talk"
steps = [{ thought = "Hm." }, { text = { text = "A reply that comes in several pieces, one after the other.", pieces = 12 } }]
[[turn]]
when = "ask"
steps = [
  { tool = { id = "t", title = "Do it" } },
  { permission = { tool = "t", allow = [{ finish = "t" }, { text = "Done." }], reject = [{ fail = "t" }] } },
]
[[turn]]
when = "run"
steps = [{ tool = { id = "r", title = "sleep", kind = "execute" } }, { run = { tool = "r", command = "sleep 1000", wait = false } }, { text = "It runs." }]
[[turn]]
when = "hang"
steps = [{ text = "I hang." }, { hold_pipe = 1000 }, "wait_for_cancel"]
[[turn]]
steps = [{ text = "Something else." }]
"#;

const KINDS: [&str; 5] = ["talk", "ask", "talk", "run", "hang"];

#[test]
fn an_owner_that_is_killed_leaves_a_session_that_goes_on() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("TAPLINE_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    let kills = number("TAPLINE_KILLS").unwrap_or(6);
    let mut moments = BTreeMap::new();
    for round in 0..kills {
        let seed = seed.wrapping_add(round);
        println!("TAPLINE_SEED={seed}");
        *moments.entry(kill_one(seed)).or_insert(0) += 1;
    }
    println!("where the kills came: {moments:#?}");
}

/// One session, one kill. Says what stood open then.
fn kill_one(seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let rig = Rig::new();
    let words = rig.scripted(SCENARIO);
    let mut host = HostProcess::start(&rig, None, &words);
    let mark = host.mark.clone();

    if random.u32(..12) == 0 {
        // Before, or just as, the session begins.
        std::thread::sleep(Duration::from_micros(random.u64(..60_000)));
        host.kill();
        until("nothing of it is left", || left(&mark).is_empty());
        for entry in rig.journal.sessions(&SessionQuery::default()).expect("sessions") {
            assert!(
                matches!(entry.status, Status::Ended | Status::Cut),
                "{:?}",
                entry.status
            );
        }
        assert_eq!(rig.journal.verify(None).expect("it can be checked"), []);
        return "before it began".to_owned();
    }

    let id = host.session();
    let talk = rig.talk(&id);
    let mut prompts: Vec<(IntentId, String)> = Vec::new();
    for number in 0..random.usize(1..7) {
        // One that hangs ends the talk, so it is rare.
        let kind = match random.usize(..KINDS.len() * 2) {
            n if n < KINDS.len() => KINDS[n],
            _ => "talk",
        };
        let text = format!("{kind} number-{number};");
        prompts.push((talk.prompt(&text), text));
    }
    let answers = drive(&talk, &mut random);
    host.kill();

    let mut open = check_dead(&talk, &mark, 1);
    let provider = talk.session().provider_session.expect("the agent gave it an id");
    let mut kills = 1;
    while kills < 3 && random.u32(..3) == 0 {
        // Whoever goes on is killed too: while it loads, or when it works on what was open.
        let mut host = HostProcess::start(&rig, Some((&id, &provider)), &words);
        std::thread::sleep(Duration::from_micros(random.u64(..150_000)));
        host.kill();
        kills += 1;
        open = check_dead(&talk, &host.mark, kills);
    }

    // Another process goes on: what was open is done now, what was claimed is not done again.
    let mut host = HostProcess::start(&rig, Some((&id, &provider)), &words);
    let mark = host.mark.clone();
    assert_eq!(host.session(), id);
    let after = talk.prompt("something after;");
    settle(&talk, after);
    assert_eq!(talk.outcome(after)["delivery"], "accepted");
    for id in &open {
        assert_eq!(
            talk.outcome(*id)["delivery"],
            "accepted",
            "what was open is not lost"
        );
    }
    host.close();
    until("nothing of it is left", || left(&mark).is_empty());
    let heard = heard(&rig.dir.path().join("state"));
    let rows = talk.rows();
    for (id, text) in &prompts {
        let times = heard.matches(text.as_str()).count();
        let told = rows
            .iter()
            .filter(|row| matches!(&row.body, Body::User(u) if !u.by_agent && u.content.as_text() == text.as_str()))
            .count();
        let was_open = open.contains(id);
        assert!(
            times <= 1 && told <= 1,
            "{text} was sent {times} times and has {told} rows"
        );
        assert!(!was_open || (times == 1 && told == 1), "{text} was lost");
        assert_eq!(find(&*talk.journal, *id).state, IntentState::Done);
    }
    let rows_of_answers = rows.iter().filter(|row| row.kind() == Kind::Request).count();
    assert!(rows_of_answers >= usize::from(answers > 0));
    assert_eq!(rig.journal.verify(None).expect("it can be checked"), []);
    let cut = rows
        .iter()
        .filter(|row| matches!(&row.body, Body::Turn(t) if t.end == Some(End::Cut)))
        .count();
    format!("{kills} kills, {} prompts left open, {cut} turns cut", open.len())
}

/// What a dead owner must leave; gives the prompts that nobody has taken yet.
fn check_dead(talk: &Talk, mark: &str, kills: usize) -> Vec<IntentId> {
    until("nothing of it is left", || left(mark).is_empty());
    let journal = &talk.journal;
    let entry = journal.session(&talk.id).expect("read").expect("it is there");
    assert!(
        matches!(entry.status, Status::Ended | Status::Cut),
        "{:?}",
        entry.status
    );
    assert!(journal.open_rows(&talk.id).expect("rows").is_empty());
    let rows = talk.rows();
    let cut: Vec<_> = rows
        .iter()
        .filter(|row| matches!(&row.body, Body::Turn(t) if t.end == Some(End::Cut)))
        .map(|row| row.id.clone())
        .collect();
    assert!(cut.len() <= kills, "{}", talk.told());
    let explanations: Vec<_> = rows
        .iter()
        .filter(|row| matches!(&row.body, Body::Status(s) if s.detail.as_ref().and_then(|d| d.code.as_deref()) == Some("recorder_gone")))
        .map(|row| row.turn.clone().expect("it stands in its turn"))
        .collect();
    assert_eq!(explanations, cut, "one explanation for what was cut");
    let last = rows.iter().rev().find_map(|row| match &row.body {
        Body::Turn(turn) => Some(turn.end == Some(End::Cut)),
        _ => None,
    });
    assert_eq!(entry.status == Status::Cut, last == Some(true));
    for row in &rows {
        let open = match &row.body {
            Body::Turn(turn) => turn.end.is_none(),
            Body::Tool(tool) => tool.state.is_open(),
            Body::Request(request) => request.state == RequestState::Pending,
            Body::User(user) => matches!(user.delivery, Some(Delivery::Sent | Delivery::Queued)),
            _ => false,
        };
        assert!(!open, "{row:?}");
    }
    assert_eq!(journal.verify(None).expect("it can be checked"), []);
    let intents = journal.intents(&IntentQuery::default()).expect("intents");
    assert!(
        intents.iter().all(|intent| intent.state != IntentState::Claimed),
        "{intents:?}"
    );
    intents
        .iter()
        .filter(|intent| intent.state == IntentState::Open && intent.kind == intent::PROMPT)
        .map(|intent| intent.id)
        .collect()
}

/// Answers what is asked until a random moment.
fn drive(talk: &Talk, random: &mut fastrand::Rng) -> usize {
    let enough = random.u64(..90);
    let more = Duration::from_micros(random.u64(..8_000));
    let since = Instant::now();
    // A talk that says nothing more for so long has come to its end, or hangs.
    let mut quiet = Instant::now();
    let mut last = 0;
    let mut answered = Vec::new();
    loop {
        for row in talk.rows() {
            let waits = matches!(&row.body, Body::Request(r) if r.state == RequestState::Pending);
            if waits && !answered.contains(&row.id) && random.bool() {
                talk.answer(
                    &row,
                    if random.bool() {
                        "allow-once"
                    } else {
                        "reject-once"
                    },
                );
                answered.push(row.id.clone());
            }
        }
        let cursor = talk
            .journal
            .session(&talk.id)
            .expect("read")
            .expect("there")
            .cursor;
        if cursor != last {
            (last, quiet) = (cursor, Instant::now());
        }
        if cursor >= enough || quiet.elapsed() > Duration::from_millis(700) || since.elapsed() > LONG {
            std::thread::sleep(more);
            return answered.len();
        }
        let mark = talk.journal.mark();
        let _ = talk.journal.wait(&Watch::Any(mark), Duration::from_millis(5));
    }
}

/// Has everything settled that was wanted before this prompt, and it too.
fn settle(talk: &Talk, last: IntentId) {
    let since = Instant::now();
    while find(&*talk.journal, last).state != IntentState::Done {
        for row in talk.rows() {
            let Body::Request(request) = &row.body else {
                continue;
            };
            if request.state == RequestState::Pending {
                talk.answer(&row, "allow-once");
            }
        }
        let hangs = talk.rows().iter().any(|row| match &row.body {
            Body::Turn(turn) if turn.end.is_none() => talk.rows().iter().any(|said| {
                said.turn.as_ref() == Some(&row.id)
                    && matches!(&said.body, Body::Assistant(m) if m.content.as_text().contains("I hang."))
            }),
            _ => false,
        });
        if hangs {
            let stop = talk.post(intent::STOP, json!({}));
            talk.settled(stop);
            // What waits behind a stop goes on once somebody wants more.
            talk.prompt("something more;");
        }
        assert!(since.elapsed() < LONG, "{}", talk.told());
        let mark = talk.journal.mark();
        let _ = talk.journal.wait(&Watch::Any(mark), Duration::from_millis(20));
    }
}

/// Everything that the agents keep, as text.
fn heard(state: &Path) -> String {
    let mut all = String::new();
    let mut folders = vec![state.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
                all.push_str(&text);
            }
        }
    }
    all
}

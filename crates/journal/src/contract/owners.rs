//! Who holds a session, and what becomes of it when its owner is gone.

use serde_json::json;
use tapline_timeline::{
    Append, Body, Change, Delivery, End, Grows, Json, Kind, Outcome, RequestState, RowId, SessionId,
    SessionState, TextState, ToolState, WorkState,
};

use super::script::*;
use super::*;
use crate::*;

pub(super) fn an_old_generation_is_refused(subject: &dyn Subject) {
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

pub(super) fn a_dead_owner_is_settled(subject: &dyn Subject) {
    let journal = subject.open();
    let session = SessionId::from("s");
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    let generation = writer.begin(&begin("s", Mode::Hosted)).unwrap();
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
    let mut script = Script::written("s", seed(), &mut writer);
    for (index, members) in rows.into_iter().enumerate() {
        script.put(&row("s", index as u64 + 1, members));
    }
    script.append(3, "l look");
    let before = script.cursor();
    writer.flush().unwrap();
    let entry = journal.session(&session).unwrap().unwrap();
    assert_eq!((entry.status, entry.waiting), (Status::Waiting, 1));
    assert_eq!(journal.open_rows(&session).unwrap().len(), 8);
    let intent = NewIntent {
        session: session.clone(),
        kind: "stop".to_owned(),
        payload: Json::string("now"),
        by: "page".to_owned(),
    };
    let (taken, open) = (
        journal.post_intent(&intent).unwrap().id,
        journal.post_intent(&intent).unwrap().id,
    );
    journal.claim_intent(taken, &generation).unwrap();
    drop(writer);
    let entry = subject.open().session(&session).unwrap().unwrap();
    assert_eq!(
        (entry.status, entry.waiting, entry.session.state),
        (Status::Cut, 0, SessionState::Ended)
    );
    assert!(journal.settle_dead().unwrap().is_empty(), "once is enough");
    assert!(journal.open_rows(&session).unwrap().is_empty());
    let intents = journal.intents(&IntentQuery::default()).unwrap();
    assert!(intents[0].id == taken && intents[0].state == IntentState::Done && intents[0].outcome.is_some());
    assert!(
        intents[1].id == open && intents[1].state == IntentState::Open,
        "the next owner may take it"
    );
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

/// The owner went away right after it sent a prompt; one that was answered before stays as it is.
pub(super) fn a_prompt_of_which_nothing_was_heard_is_unconfirmed(subject: &dyn Subject) {
    for heard in [false, true] {
        let journal = subject.open();
        let name = if heard { "heard" } else { "unheard" };
        let session = SessionId::from(name);
        let mut writer = journal.writer(name, WriterOptions::default()).unwrap();
        writer.begin(&begin(name, Mode::Hosted)).unwrap();
        let turn = |seq: u64| RowId::spell(&session, &format!("r:{seq}"));
        let mut rows = vec![
            json!({"kind": "turn", "origin": "prompt", "state": "ended", "end": "completed"}),
            json!({"kind": "user", "text": "one", "delivery": "accepted", "turn": turn(1)}),
            json!({"kind": "turn", "origin": "prompt", "state": "open"}),
            json!({"kind": "user", "text": "two", "delivery": "accepted", "turn": turn(3)}),
        ];
        if heard {
            rows.push(json!({"kind": "assistant", "state": "ended", "text": "So", "turn": turn(3)}));
        }
        for (seq, body) in (1..).zip(rows) {
            writer.apply(&Change::Put(&row(name, seq, body))).unwrap();
        }
        writer.flush().unwrap();
        writer.lose_locks();
        drop(writer);
        journal.settle_dead().unwrap();
        let deliveries: Vec<_> = all(&*journal, name)
            .iter()
            .filter_map(|row| match &row.body {
                Body::User(user) => user.delivery,
                _ => None,
            })
            .collect();
        let second = if heard {
            Delivery::Accepted
        } else {
            Delivery::Unconfirmed
        };
        assert_eq!(deliveries, [Delivery::Accepted, second], "{name}");
    }
}

pub(super) fn a_generation_that_ended_is_not_settled(subject: &dyn Subject) {
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

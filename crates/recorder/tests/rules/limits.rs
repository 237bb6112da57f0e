//! *bounded*: each named limit of the translator is reached, the cut shows, and the session goes on.

use serde_json::json;
use tapline_timeline::{Body, Kind, SessionState};
use tapline_translate::limits::*;

use crate::tape::*;

#[track_caller]
fn goes_on(t: &mut Tape) {
    t.prompt(700, "Still there?");
    t.says("Yes");
    t.ends(700, "end_turn");
    let turn = t.all(Kind::Turn).pop().expect("a turn").clone();
    assert!(matches!(&turn.body, Body::Turn(turn) if turn.end.is_some_and(|e| e.as_str() == "completed")));
    t.agree();
}

#[test]
fn pending_calls_the_oldest_on_which_nothing_hangs_is_forgotten() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    for id in 0..PENDING_CALLS as u64 - 1 {
        t.call(10_000 + id, "_vendor/ask", json!({"sessionId": "s1"}));
    }
    let told = t.told(|t| t.call(9_999, "_vendor/ask", json!({"sessionId": "s1"})));
    assert!(told.contains(&"call-forgotten"), "{told:?}");
    assert_eq!(t.told(|t| t.answers(10_000, json!({}))), ["answer-to-nothing"]);
    assert_eq!(t.told(|t| t.answers(9_999, json!({}))), ["answered"]);
    t.ends(1, "end_turn");
    t.shows(&["1 turn prompt completed", "1 user accepted \"Go\""]);
    goes_on(&mut t);
}

#[test]
fn pending_calls_a_prompt_that_is_forgotten_ends_as_unknown() {
    let mut t = Tape::bare();
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    // A prompt in each of many sessions, since one session lets its own go much earlier.
    let sessions = 8;
    for n in 0..sessions {
        t.call(1, "session/new", json!({"cwd": "/p", "mcpServers": []}));
        t.answers(1, json!({"sessionId": format!("p{n}")}));
    }
    for id in 0..=PENDING_CALLS as u64 {
        t.in_session(&format!("p{}", id % sessions));
        t.prompt(10 + id, "Go");
    }
    let turn = t.the(Kind::Turn);
    assert!(
        matches!(&turn.body, Body::Turn(turn) if turn.end.is_some_and(|e| e.as_str() == "unknown")),
        "{turn:?}"
    );
    assert_eq!(t.told(|t| t.ends(10, "end_turn")), ["answer-to-nothing"]);
    t.ends(10 + sessions, "end_turn");
    assert_eq!(t.all(Kind::Turn).len(), 2);
}

#[test]
fn pending_calls_of_the_agent_the_oldest_is_forgotten_and_its_row_settles_with_its_turn() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    let permission = json!({"sessionId": "s1", "toolCall": {"toolCallId": "c"}, "options": [{"optionId": "y", "name": "Y", "kind": "allow_once"}]});
    t.asks(0, "session/request_permission", permission.clone());
    for id in 1..PENDING_CALLS as u64 {
        t.asks(id, "fs/read_text_file", json!({"sessionId": "s1", "path": "/a"}));
    }
    let told = t.told(|t| t.asks(PENDING_CALLS as u64, "session/request_permission", permission));
    assert!(told.contains(&"request-forgotten"), "{told:?}");
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "y"}});
    assert_eq!(
        t.told(|t| t.client_answers(0, yes.clone())),
        ["answer-to-nothing"]
    );
    t.client_answers(PENDING_CALLS as u64, yes);
    t.ends(1, "end_turn");
    t.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 request permission cancelled",
        "1 request permission allowed",
    ]);
    goes_on(&mut t);
}

#[test]
fn held_frames_the_oldest_is_dropped_by_name() {
    let mut t = Tape::new();
    for n in 0..HELD_FRAMES {
        t.update_of("later", chunk("agent_message_chunk", None, &format!("{n} ")));
    }
    let told = t.told(|t| t.update_of("later", chunk("agent_message_chunk", None, "last")));
    assert_eq!(told, ["held", "held-too-long"]);
    t.update(json!({"sessionUpdate": "subagent_update", "sessionId": "later", "state": "running"}));
    let Body::Assistant(message) = &t.timelines()[1].rows()[1].body else {
        panic!("the held words")
    };
    assert!(message.content.as_text().starts_with("1 2 3 ") && message.content.as_text().ends_with("last"));
    goes_on(&mut t);
}

#[test]
fn held_bytes_the_oldest_is_dropped_by_name() {
    let mut t = Tape::new();
    let half = "h".repeat(HELD_BYTES / 2);
    assert_eq!(
        t.told(|t| t.update_of("later", chunk("agent_message_chunk", None, &half))),
        ["held"]
    );
    let told = t.told(|t| t.update_of("later", chunk("agent_message_chunk", None, &half)));
    assert_eq!(told, ["held", "held-too-long"]);
    goes_on(&mut t);
}

#[test]
fn last_words_are_the_last_lines_and_each_has_its_bound() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    for n in 0..LAST_WORDS_LINES + 1 {
        t.recorder
            .stderr("", &format!("line {n} {}", "!".repeat(LAST_WORDS_BYTES)), None);
    }
    t.recorder.exit("", Some(1), None, None);
    let Body::Status(status) = &t.the(Kind::Status).body else {
        unreachable!()
    };
    let more = status
        .detail
        .as_ref()
        .and_then(|d| d.more.as_ref())
        .expect("the last words")
        .as_str();
    let words: String = serde_json::from_str(more).expect("a string");
    let lines: Vec<&str> = words.lines().collect();
    assert_eq!(lines.len(), LAST_WORDS_LINES);
    assert!(lines[0].starts_with("line 1 ") && lines.iter().all(|l| l.len() <= LAST_WORDS_BYTES));
    assert!(lines[0].ends_with('…'), "a cut line says so");
}

#[test]
fn sessions_the_oldest_in_which_nothing_runs_is_let_go_and_can_come_back() {
    let mut t = Tape::new();
    t.prompt(1, "A long turn");
    t.call(2, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.answers(2, json!({"sessionId": "idle"}));
    for n in 0..SESSIONS - 2 {
        t.call(2, "session/new", json!({"cwd": "/p", "mcpServers": []}));
        t.answers(2, json!({"sessionId": format!("x{n}")}));
    }
    t.call(2, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    let told = t.told(|t| t.answers(2, json!({"sessionId": "one too many"})));
    assert!(told.contains(&"session-let-go"), "{told:?}");
    let state = |t: &Tape| t.timelines()[1].session().map(|s| s.state);
    assert_eq!(
        state(&t),
        Some(SessionState::Ended),
        "the idle one reads as ended"
    );
    t.in_session("idle");
    t.prompt(3, "Back?");
    t.says("Back.");
    t.ends(3, "end_turn");
    assert_eq!(state(&t), Some(SessionState::Live));
    t.session_shows(
        1,
        &[
            "1 turn prompt completed",
            "1 user accepted \"Back?\"",
            "1 assistant \"Back.\"",
        ],
    );
    t.in_session("s1");
    t.ends(1, "end_turn");
    t.shows(&["1 turn prompt completed", "1 user accepted \"A long turn\""]);
    goes_on(&mut t);
}

//! Sessions that are loaded, forked, refused or never given.

use serde_json::json;
use tapline_timeline::{Body, Context, Kind, SessionState};

use crate::tape::*;

fn loading(t: &mut Tape) {
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    t.call(
        1,
        "session/load",
        json!({"sessionId": "s1", "cwd": "/p", "mcpServers": []}),
    );
}

#[test]
fn history_a_failed_load_leaves_one_warning_and_a_new_session_carries_it_on() {
    let mut t = Tape::bare();
    loading(&mut t);
    t.refuses(1, json!({"code": -32603, "message": "No such session"}));
    t.call(2, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.answers(2, json!({"sessionId": "fresh"}));
    t.in_session("fresh");
    t.prompt(3, "Go");
    t.ends(3, "end_turn");
    t.shows(&[
        "- status warning \"No such session\"",
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
    ]);
    assert_eq!(t.timelines().len(), 1, "it is the same session of ours");
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(session.provider_session.as_deref(), Some("fresh"));
}

#[test]
fn history_sessions_that_could_not_be_loaded_end_with_their_connection() {
    let mut t = Tape::bare();
    loading(&mut t);
    t.refuses(1, json!({"code": -32603, "message": "No such session"}));
    t.call(
        2,
        "session/load",
        json!({"sessionId": "s2", "cwd": "/p", "mcpServers": []}),
    );
    t.refuses(2, json!({"code": -32603, "message": "Nor that"}));
    t.recorder.exit("", Some(0), None, None);
    t.close();
    t.shows(&["- status warning \"No such session\""]);
    t.session_shows(1, &["- status warning \"Nor that\""]);
    assert_eq!(t.timelines().len(), 2, "no session is made up beside them");
    for timeline in t.timelines() {
        assert_eq!(timeline.session().map(|s| s.state), Some(SessionState::Ended));
    }
}

#[test]
fn history_a_session_whose_id_the_agent_gives_anew_ends() {
    let mut t = Tape::bare();
    t.prompt(1, "Before it was there");
    t.set_up(None, "s1");
    t.shows(&["1 turn prompt cut", "1 user accepted \"Before it was there\""]);
    assert_eq!(t.timelines().len(), 2);
}

#[test]
fn history_a_fork_is_a_session_of_its_own_under_the_one_it_came_from() {
    let mut t = Tape::new();
    t.call(
        2,
        "session/fork",
        json!({"sessionId": "s1", "cwd": "/other", "mcpServers": []}),
    );
    t.answers(2, json!({"sessionId": "s2"}));
    let sessions: Vec<_> = t.timelines().iter().filter_map(|t| t.session()).collect();
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        (sessions[1].parent.as_ref(), sessions[1].cwd.as_deref()),
        (Some(&sessions[0].id), Some("/other"))
    );
    assert_eq!(sessions[0].parent, None);
}

#[test]
fn history_replayed_twice_stays_silent() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(chunk("agent_message_chunk", Some("m1"), "Hello"));
    t.tool("tool_call", "c1", "completed");
    t.ends(1, "end_turn");
    let rows = t.timelines()[0].rows().to_vec();
    for id in [10, 11] {
        t.call(
            id,
            "session/load",
            json!({"sessionId": "s1", "cwd": "/p", "mcpServers": []}),
        );
        t.update(chunk("user_message_chunk", None, "Go"));
        t.update(chunk("agent_message_chunk", Some("m1"), "Hello"));
        t.tool("tool_call", "c1", "failed");
        t.update(json!({"sessionUpdate": "usage_update", "used": id, "size": 100}));
        t.answers(id, json!({}));
    }
    assert_eq!(t.timelines()[0].rows(), rows, "replay-silent");
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(
        session.context,
        Some(Context {
            used: Some(11),
            size: Some(100)
        })
    );
}

#[test]
fn history_a_session_that_was_never_given_still_holds_what_went_wrong() {
    let mut t = Tape::bare();
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.recorder.stderr("", "no such key", None);
    t.recorder.exit("", Some(1), None, None);
    t.close();
    t.shows(&["- status error \"The agent could not be started: its process ended with exit \"…"]);
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(
        (session.state, &session.provider_session),
        (SessionState::Ended, &None)
    );
    let Body::Status(status) = &t.the(Kind::Status).body else {
        unreachable!()
    };
    assert!(status.text.contains("no such key"), "{}", status.text);
}

#[test]
fn history_a_refused_session_is_told_in_the_agents_words() {
    let mut t = Tape::bare();
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    t.call(1, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.refuses(
        1,
        json!({"code": -32000, "message": "Authentication required: run login"}),
    );
    t.shows(&["- status error \"Authentication required: run login\""]);
}

#[test]
fn history_an_error_that_is_null_is_an_error_of_which_nothing_is_known() {
    let mut t = Tape::bare();
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    t.call(1, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.refuses(1, json!(null));
    t.shows(&["- status error \"The agent refused a session with an error.\""]);
    let row = t.the(Kind::Status);
    let written = serde_json::to_value(row).expect("a row has a JSON form");
    assert_eq!(
        written["detail"],
        json!({"source": "session/new"}),
        "a `null` in it would not be read again"
    );
}

#[test]
fn history_frames_of_an_unknown_session_are_held_until_it_is_explained() {
    let mut t = Tape::new();
    t.update_of("child", chunk("agent_message_chunk", None, "Early words"));
    t.update(json!({"sessionUpdate": "subagent_update", "sessionId": "child", "title": "Reviewer", "state": "running"}));
    t.update_of("child", chunk("agent_message_chunk", None, " and more"));
    t.update(json!({"sessionUpdate": "subagent_update", "sessionId": "child", "state": {"state": "idle", "stopReason": "end_turn"}}));
    t.shows(&["- helper completed \"Reviewer\""]);
    t.session_shows(
        1,
        &["1 turn agent completed", "1 assistant \"Early words and more\""],
    );
    let child = t.timelines()[1].session().expect("a session").clone();
    assert_eq!(
        child.parent,
        Some(t.timelines()[0].session().expect("a session").id.clone())
    );
    assert!(matches!(&t.the(Kind::Helper).body, Body::Helper(h) if h.child == Some(child.id)));
}

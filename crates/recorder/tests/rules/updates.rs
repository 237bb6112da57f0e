//! What updates say of the session: the newly stable ones, unknown ones, settings and measures, each test named by its rule.

use serde_json::{Value, json};
use tapline_timeline::{Body, Kind};

use crate::tape::*;

fn written(row: &tapline_timeline::Row) -> Value {
    serde_json::to_value(row).expect("a row has a JSON form")
}

#[test]
fn updates_notice_is_a_status_row() {
    let mut t = Tape::new();
    for (severity, tone) in [
        ("info", "info"),
        ("warning", "warning"),
        ("error", "error"),
        ("shout", "info"),
    ] {
        t.update(json!({"sessionUpdate": "notice", "severity": severity, "title": "Heads up", "description": severity}));
        let last = t.all(Kind::Status).pop().expect("a row").clone();
        assert!(
            matches!(&last.body, Body::Status(s) if s.tone.as_str() == tone && s.text == format!("Heads up\n{severity}"))
        );
    }
}

#[test]
fn updates_compaction_and_its_chunks_are_one_row() {
    let mut t = Tape::new();
    t.prompt(1, "/compact");
    t.update(json!({"sessionUpdate": "compaction_update", "compactionId": "k1", "status": "in_progress"}));
    t.update(json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "k1", "content": {"type": "text", "text": "We "}}));
    t.update(json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "k1", "content": {"type": "text", "text": "read"}}));
    t.update(json!({"sessionUpdate": "compaction_update", "compactionId": "k1", "status": "completed"}));
    t.shows(&[
        "1 turn prompt open",
        "1 user accepted \"/compact\"",
        "1 compaction completed \"We read\"",
    ]);
}

#[test]
fn updates_plan_update_and_plan_removed_name_their_plan() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "plan_update", "plan": {"planId": "p1", "type": "items", "entries": [{"content": "Read", "status": "pending"}]}}));
    t.update(json!({"sessionUpdate": "plan_update", "plan": {"planId": "p2", "type": "markdown", "content": "# Do"}}));
    t.update(json!({"sessionUpdate": "plan_removed", "planId": "p1"}));
    t.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 plan removed [pending] Read",
        "1 plan \"# Do\"",
    ]);
}

#[test]
fn updates_session_messages_name_both_ends() {
    let mut t = Tape::new();
    t.update(json!({"sessionUpdate": "session_message", "messageId": "g1", "senderSessionId": "s1", "recipientSessionId": "s9", "content": [{"type": "text", "text": "Look"}]}));
    t.update(json!({"sessionUpdate": "session_message_chunk", "messageId": "g1", "content": {"type": "text", "text": " here"}}));
    t.shows(&["- session_message s1>s9 \"Look here\""]);
}

#[test]
fn updates_unknown_kinds_are_rows_and_unknown_notices_are_none() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "weather", "sky": "blue"}));
    let told = t.told(|t| t.notice("_vendor/weather", json!({"sessionId": "s1", "sky": "blue"})));
    assert_eq!(told, ["vendor-notice"]);
    t.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 unknown session/update weather",
    ]);
    let Body::Unknown(unknown) = &t.the(Kind::Unknown).body else {
        unreachable!()
    };
    assert!(
        unknown
            .payload
            .as_ref()
            .is_some_and(|p| p.as_str().contains("\"sky\":\"blue\""))
    );
}

#[test]
fn updates_session_facts_change_the_session_and_no_row() {
    let mut t = Tape::new();
    t.update(json!({"sessionUpdate": "session_info_update", "title": "A title", "updatedAt": "2026-01-02T03:04:05Z"}));
    t.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}));
    t.update(json!({"sessionUpdate": "session_info_update", "updatedAt": "yesterday"}));
    t.shows(&[]);
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(
        (session.title.as_deref(), session.mode.as_deref()),
        (Some("A title"), Some("plan"))
    );
    assert!(session.updated_at.is_some());
    t.update(json!({"sessionUpdate": "session_info_update", "title": null}));
    assert_eq!(t.timelines()[0].session().expect("a session").title, None);
}

#[test]
fn updates_of_a_known_kind_that_cannot_be_read_are_kept_as_unknown() {
    for kind in [
        "agent_message_chunk",
        "user_message_chunk",
        "tool_call",
        "plan",
        "plan_update",
        "notice",
        "compaction_update",
        "subagent_update",
        "session_message",
    ] {
        let mut t = Tape::new();
        t.update(json!({"sessionUpdate": kind, "odd": 1}));
        t.shows(&[&format!("- unknown session/update {kind}")]);
    }
    let mut t = Tape::new();
    let told = t.told(|t| t.update(json!({"sessionUpdate": "plan_update", "plan": {"planId": "p1"}})));
    assert_eq!(told, ["plan-unreadable"]);
}

#[test]
fn updates_subagent_update_says_how_a_helper_stands() {
    for (state, stands) in [
        (json!("running"), "running"),
        (json!("requires_action"), "running"),
        (json!({"type": "running"}), "running"),
        (json!("unknown"), "unknown"),
        (json!("idle"), "completed"),
        (json!({"state": "idle", "stopReason": "cancelled"}), "stopped"),
        (
            json!({"state": "idle", "stopReason": "end_turn", "error": null}),
            "completed",
        ),
        (json!({"state": "idle", "error": {"message": "broken"}}), "failed"),
        (json!("of the future"), "running"),
    ] {
        let mut t = Tape::new();
        t.update(json!({"sessionUpdate": "subagent_update", "sessionId": "child", "description": "Look", "state": state}));
        assert_eq!(written(t.the(Kind::Helper))["state"], stands, "{state}");
        assert_eq!(written(t.the(Kind::Helper))["label"], "Look");
    }
}

#[test]
fn updates_a_compaction_ends_as_it_says() {
    for (status, state) in [
        ("in_progress", "running"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
    ] {
        let mut t = Tape::new();
        t.update(
            json!({"sessionUpdate": "compaction_update", "compactionId": "k1", "status": "in_progress",
            "summary": [{"type": "text", "text": "We read"}]}),
        );
        t.update(json!({"sessionUpdate": "compaction_update", "compactionId": "k1", "status": status, "error": {"code": 1}}));
        let row = written(t.the(Kind::Compaction));
        assert_eq!(
            (&row["state"], &row["text"], &row["detail"]),
            (&json!(state), &json!("We read"), &json!({"code": 1})),
            "{row}"
        );
    }
}

#[test]
fn session_settings_are_told_by_answers_and_by_updates() {
    let options = |mode: &str, model: &str| json!([{"id": "m", "category": "mode", "currentValue": mode}, {"id": "model", "currentValue": model}, {"id": "x"}]);
    let mut t = Tape::bare();
    t.call(1, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.answers(
        1,
        json!({"sessionId": "s1", "modes": {"currentModeId": "ask"}, "models": {"currentModelId": "large"},
        "configOptions": options("no", "no")}),
    );
    let settings = |t: &Tape| {
        let session = t.timelines()[0].session().expect("a session");
        [&session.mode, &session.model].map(|s| s.clone().unwrap_or_default())
    };
    assert_eq!(settings(&t), ["ask", "large"]);
    for (method, params, result, told) in [
        (
            "session/set_mode",
            json!({"modeId": "plan"}),
            json!({}),
            ["plan", "large"],
        ),
        (
            "session/set_model",
            json!({"modelId": "small"}),
            json!({}),
            ["plan", "small"],
        ),
        (
            "session/set_config_option",
            json!({"configId": "m", "value": "code"}),
            json!({"configOptions": options("code", "tiny")}),
            ["code", "tiny"],
        ),
    ] {
        let mut params = params;
        params["sessionId"] = json!("s1");
        t.call(2, method, params);
        t.answers(2, result);
        assert_eq!(settings(&t), told, "{method}");
    }
    t.update(json!({"sessionUpdate": "config_option_update", "configOptions": options("ask", "large")}));
    assert_eq!(settings(&t), ["ask", "large"]);
}

// Measures

#[test]
fn measures_zero_and_an_unknown_window() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "usage_update", "used": 0, "size": 0}));
    t.shows(&["1 turn prompt open", "1 user accepted \"Go\""]);
    t.update(json!({"sessionUpdate": "usage_update", "used": 42, "size": 100}));
    t.update(json!({"sessionUpdate": "usage_update", "used": 50}));
    t.shows(&["1 turn prompt open 50/100", "1 user accepted \"Go\""]);
    t.update(json!({"sessionUpdate": "usage_update", "used": 60, "size": 0, "cost": {"amount": 0.5, "currency": "USD"}}));
    t.shows(&["1 turn prompt open 60/?", "1 user accepted \"Go\""]);
    let usage = t.timelines()[0]
        .session()
        .expect("a session")
        .usage
        .clone()
        .expect("usage");
    assert_eq!(usage.cost.map(|c| c.amount), Some(0.5));
}

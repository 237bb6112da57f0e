//! Grok: subagents as helpers with sessions of their own (group GS of the scenarios).
#![allow(clippy::unwrap_used)] // It is all test code.

mod common;

use serde_json::{Value, json};

use common::grok::{S, Talk};

fn spawned(id: &str, description: Option<&str>) -> Value {
    json!({"sessionUpdate": "subagent_spawned", "subagent_id": id, "child_session_id": id, "parent_prompt_id": "p1",
        "subagent_type": "explore", "description": description})
}

fn finished(id: &str, status: &str, more: Value) -> Value {
    let mut update = json!({"sessionUpdate": "subagent_finished", "subagent_id": id, "child_session_id": id, "status": status});
    for (name, value) in more.as_object().unwrap() {
        update[name] = value.clone();
    }
    update
}

fn with_helper() -> Talk {
    let mut talk = Talk::new();
    talk.prompt("p1");
    talk.announces(
        "p1",
        "c1",
        "spawn_subagent",
        json!({"description": "Count lines", "prompt": "Count the lines"}),
    );
    talk.notice(spawned("H", Some("Count lines")));
    talk
}

#[test]
fn gs_1_a_start_is_a_row_under_its_tool() {
    let told = with_helper().told();
    let helper = told.one("helper");
    assert_eq!(
        (&helper["label"], &helper["helper"]),
        (&json!("Count lines"), &json!("H"))
    );
    assert_eq!(helper["parent"], told.one("tool")["id"]);
    assert_eq!(helper["turn"], told.one("turn")["id"]);
    let child = told.sessions.iter().find(|s| s["id"] == helper["child"]).unwrap();
    assert_eq!(
        (&child["parent"], &child["title"]),
        (&json!(S), &json!("Count lines"))
    );
}

#[test]
fn gs_2_without_a_description_the_type_is_the_label() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    talk.notice(spawned("H", None));
    assert_eq!(talk.told().one("helper")["label"], "explore");
}

#[test]
fn gs_3_progress_changes_tokens_only() {
    let mut talk = with_helper();
    let before = talk.told().one("helper").clone();
    talk.notice(json!({"sessionUpdate": "subagent_progress", "subagent_id": "H", "tokens_used": 4091}));
    talk.notice(json!({"sessionUpdate": "subagent_progress", "subagent_id": "unheard-of", "tokens_used": 1}));
    let told = talk.told();
    let after = told.one("helper");
    assert_eq!(after["tokens"], 4091);
    for member in ["state", "label", "parent", "turn", "text"] {
        assert_eq!(after[member], before[member]);
    }
}

#[test]
fn gs_4_how_a_helper_ends() {
    let ends = [
        ("completed", "completed"),
        ("success", "completed"),
        ("failed", "failed"),
        ("error", "failed"),
        ("cancelled", "stopped"),
        ("killed", "stopped"),
    ];
    for (status, state) in ends {
        let mut talk = with_helper();
        talk.notice(json!({"sessionUpdate": "subagent_progress", "subagent_id": "H", "tokens_used": 900}));
        talk.notice(finished(
            "H",
            status,
            json!({"tokens_used": 0, "output": "42 lines"}),
        ));
        let told = talk.told();
        let helper = told.one("helper");
        assert_eq!(
            (&helper["state"], &helper["tokens"], &helper["text"]),
            (&json!(state), &json!(900), &json!("42 lines"))
        );
    }
    let mut talk = with_helper();
    talk.notice(finished("H", "of the future", json!({})));
    talk.notice(finished("H", "completed", json!({})));
    assert_eq!(talk.told().one("helper")["state"], "completed");
}

#[test]
fn gs_5_the_child_speaks_in_its_own_session() {
    let mut talk = with_helper();
    let marks = json!({"promptId": "c-p1", "streamStartMs": 5});
    talk.notify(
        "_x.ai/queue/changed",
        json!({"sessionId": "H", "entries": [], "runningPromptId": "c-p1"}),
    );
    let user = json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Count the lines"}});
    talk.update("H", user, json!({"eventId": "H-1"}));
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "42"}});
    talk.update("H", chunk, marks);
    talk.says("p1", "waiting");
    let usage = json!({"sessionUpdate": "response_completed", "usage": {"input_tokens": 13795}});
    talk.notify(
        "_x.ai/session_notification",
        json!({"sessionId": "H", "update": usage}),
    );
    let end = json!({"sessionUpdate": "turn_completed", "prompt_id": "c-p1", "stop_reason": "end_turn"});
    talk.notify(
        "_x.ai/session_notification",
        json!({"sessionId": "H", "update": end}),
    );
    let told = talk.told();
    let child: Vec<&Value> = told.rows.iter().filter(|r| r["session"] == "H").collect();
    let kinds: Vec<&Value> = child.iter().map(|r| &r["kind"]).collect();
    assert_eq!(kinds, ["turn", "user", "assistant"]);
    assert_eq!(
        (&child[0]["origin"], &child[0]["end"]),
        (&json!("agent"), &json!("completed"))
    );
    let own = told.sessions.iter().find(|s| s["id"] == S).unwrap();
    assert_eq!(
        own["context"],
        Value::Null,
        "a child's measure is not its parent's"
    );
}

#[test]
fn gs_5b_what_a_child_says_before_its_start_is_told_is_not_lost() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "early"}});
    talk.update("H", chunk, json!({"promptId": "c-p1"}));
    talk.notice(spawned("H", Some("Count lines")));
    let told = talk.told();
    assert_eq!(told.one("assistant")["session"], "H");
}

#[test]
fn gs_6_both_spellings_and_replay() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    talk.notify(
        "x.ai/session_notification",
        json!({"sessionId": S, "update": spawned("H", None)}),
    );
    talk.replays(spawned("old", None));
    talk.replays(finished("H", "failed", json!({})));
    talk.notify(
        "x.ai/session/update",
        json!({"sessionId": S, "update": finished("H", "completed", json!({}))}),
    );
    assert_eq!(talk.told().one("helper")["state"], "completed");
}

#[test]
fn gs_7_a_tool_that_waited_ends_its_helper() {
    let mut talk = with_helper();
    let reply = "42\n\n<subagent_meta>id=H, turns=1</subagent_meta>\n\n<subagent_result>\nsubagent_id: H\n</subagent_result>";
    talk.tool(
        "p1",
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": reply}}],
        "rawOutput": {"type": "SubagentCompleted", "subagent_id": "H", "output": reply}}),
    );
    let told = talk.told();
    assert_eq!(
        (&told.one("helper")["state"], &told.one("helper")["text"]),
        (&json!("completed"), &json!("42"))
    );
    assert_eq!(
        told.one("tool")["content"],
        json!([{"type": "text", "text": "42"}])
    );
}

#[test]
fn gs_8_an_acknowledgement_starts_a_helper_by_its_id_line() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    let text = "Subagent started in background.\nsubagent_id: H\n\nWhen you need its result, ask.";
    talk.announces(
        "p1",
        "c1",
        "spawn_subagent",
        json!({"prompt": "Count the lines of all files\nand more", "background": true}),
    );
    talk.tool("p1", json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": text}}], "rawOutput": {"type": "Text", "text": text}}));
    let told = talk.told();
    let helper = told.one("helper");
    assert_eq!(
        (&helper["helper"], &helper["label"]),
        (&json!("H"), &json!("Count the lines of all files"))
    );
    assert_eq!(helper["parent"], told.one("tool")["id"]);
    assert_eq!(
        told.one("tool")["content"],
        Value::Null,
        "the note is for the model"
    );
    // The notice that follows gives the better name.
    talk.notice(spawned("H", Some("Count lines")));
    assert_eq!(talk.told().one("helper")["label"], "Count lines");
}

#[test]
fn gs_9_a_start_in_progress_proves_nothing() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    talk.announces("p1", "c1", "spawn_subagent", json!({"prompt": "x"}));
    talk.tool(
        "p1",
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress",
        "rawOutput": {"type": "Text", "text": "subagent_id: H"}}),
    );
    assert!(talk.told().of("helper").is_empty());
}

#[test]
fn gs_10_a_read_settles_a_helper_and_makes_no_task() {
    let mut talk = with_helper();
    let results = json!([
        {"task_id": "H", "command": "[subagent:explore] Count lines", "status": "completed", "output": "42\n\n<subagent_meta>x</subagent_meta>"},
        {"task_id": "T", "command": "make", "status": "running"},
        {"task_id": "unheard-of", "command": "[subagent:explore] Other", "status": "running"},
    ]);
    talk.ran(
        "p1",
        "r",
        "get_command_or_subagent_output",
        json!({}),
        json!({"type": "TaskOutput", "MultiResult": {"results": results}}),
    );
    let told = talk.told();
    assert_eq!(
        (&told.one("helper")["state"], &told.one("helper")["text"]),
        (&json!("completed"), &json!("42"))
    );
    assert_eq!(told.one("task")["task"], "T");
}

#[test]
fn gs_11_a_kill_stops_a_helper_and_makes_no_task() {
    for told_by in [
        json!({"type": "KillTask", "Result": {"task_id": "H", "outcome": "killed"}}),
        json!({"type": "KillTask"}),
    ] {
        let mut talk = with_helper();
        talk.ran(
            "p1",
            "k",
            "kill_command_or_subagent",
            json!({"task_id": "H"}),
            told_by,
        );
        talk.notice(finished("H", "cancelled", json!({})));
        talk.notice(spawned("H", None));
        let told = talk.told();
        assert_eq!(told.one("helper")["state"], "stopped");
        assert!(told.of("task").is_empty());
    }
}

#[test]
fn gs_12_many_helpers_all_stay_and_settled_ones_are_not_relit() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    for n in 0..600 {
        talk.notice(spawned(&format!("H{n}"), Some("Same name")));
    }
    talk.notice(finished("H0", "completed", json!({})));
    talk.notice(spawned("H0", Some("Same name")));
    let told = talk.told();
    assert_eq!(told.of("helper").len(), 600);
    assert_eq!(told.of("helper")[0]["state"], "completed");
}

#[test]
fn gs_13_a_label_is_bounded() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    talk.notice(spawned("H", Some(&"long ".repeat(10_000))));
    assert!(talk.told().one("helper")["label"].as_str().unwrap().len() <= tapline_timeline_limit());
}

fn tapline_timeline_limit() -> usize {
    tapline_timeline::limits::LABEL_BYTES
}

#[test]
fn gs_14_after_the_end_nothing_revives_a_helper() {
    let mut talk = with_helper();
    talk.lines.push(json!({"dir": "in", "exit": {"code": 0}}));
    talk.notice(json!({"sessionUpdate": "subagent_progress", "subagent_id": "H", "tokens_used": 5}));
    let told = talk.told();
    assert_eq!(
        (&told.one("helper")["state"], &told.one("helper")["tokens"]),
        (&json!("unknown"), &Value::Null)
    );
    assert!(told.rules().contains(&"after-the-end"));
}

#[test]
fn a_childs_permission_names_it_and_tells_its_tool() {
    for (option, state, authorization) in [
        ("allow-once", "completed", "asked_allowed"),
        ("reject-once", "rejected", "asked_rejected"),
    ] {
        let mut talk = with_helper();
        let tool = |update: Value| (update, json!({"promptId": "c-p1"}));
        let (announced, marks) = tool(
            json!({"sessionUpdate": "tool_call", "toolCallId": "rm", "title": "run_terminal_command",
            "rawInput": {"command": "rm x"}}),
        );
        talk.update("H", announced, marks);
        // It comes with the parent's session id.
        talk.asks_permission(1, S, "rm").chooses(1, option);
        let status = if option == "allow-once" {
            "completed"
        } else {
            "failed"
        };
        let (ended, marks) =
            tool(json!({"sessionUpdate": "tool_call_update", "toolCallId": "rm", "status": status}));
        talk.update("H", ended, marks);
        let told = talk.told();
        let request = told.one("request");
        assert_eq!(
            (&request["session"], &request["producer"]),
            (&json!(S), &json!({"agent": "Count lines", "session": "H"}))
        );
        let tool = told.of("tool").into_iter().find(|t| t["call"] == "rm").unwrap();
        assert_eq!(
            (&tool["state"], &tool["authorization"]),
            (&json!(state), &json!(authorization))
        );
    }
}

#[test]
fn during_a_load_a_helper_that_is_not_known_stays_unknown() {
    let mut talk = with_helper();
    let load = talk.restart();
    talk.replays(spawned("old", None));
    talk.notice(spawned("unmarked", None));
    talk.notice(finished(
        "old",
        "cancelled",
        json!({"error": "interrupted by process restart"}),
    ));
    talk.notice(finished(
        "H",
        "cancelled",
        json!({"error": "interrupted by process restart"}),
    ));
    talk.result(load, json!({}));
    let told = talk.told();
    assert_eq!(
        (&told.one("helper")["helper"], &told.one("helper")["state"]),
        (&json!("H"), &json!("stopped"))
    );
}

#[test]
fn of_two_starts_each_helper_stands_under_the_one_described_like_it() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    for (call, description) in [("c1", "One"), ("c2", "Two"), ("c3", "Three")] {
        let input = json!({"description": description, "prompt": "x"});
        talk.announces("p1", call, "spawn_subagent", input);
    }
    // Two that are left, and nothing that tells them apart: no guess.
    talk.notice(spawned("H2", Some("Two")))
        .notice(spawned("unknown", None))
        .notice(spawned("H3", Some("Three")))
        .notice(spawned("H1", Some("Another name")));
    let told = talk.told();
    let call_of = |helper: &str| {
        let row = told
            .of("helper")
            .into_iter()
            .find(|h| h["helper"] == helper)
            .unwrap();
        let tool = told.of("tool").into_iter().find(|t| t["id"] == row["parent"]);
        tool.map_or(Value::Null, |t| t["call"].clone())
    };
    assert_eq!(
        ["H1", "H2", "H3", "unknown"].map(call_of),
        [json!("c1"), json!("c2"), json!("c3"), Value::Null]
    );
}

#[test]
fn a_helper_told_by_a_standard_update_stands_in_the_turn_it_names() {
    let mut talk = Talk::new();
    talk.prompt("p1");
    talk.says("p1", "one");
    talk.prompt("p2");
    talk.says("p2", "two");
    talk.tool(
        "p2",
        json!({"sessionUpdate": "subagent_update", "sessionId": "H", "title": "Look", "state": "running"}),
    );
    let told = talk.told();
    assert_eq!(told.one("helper")["turn"], told.of("turn")[1]["id"]);
}

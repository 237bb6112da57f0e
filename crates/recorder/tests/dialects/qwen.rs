use serde_json::json;

use crate::talk::Talk;

#[test]
fn an_empty_chunk_tells_what_the_newest_call_was_given_and_splits_nothing() {
    let mut talk = Talk::with("qwen");
    talk.prompt("Hi")
        .says("One ")
        .update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""},
            "_meta": {"usage": {"inputTokens": 900, "outputTokens": 5, "totalTokens": 905}}}),
        )
        .says("two");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.texts("assistant"), ["One two"]);
    assert_eq!(rows.only("turn")["context"]["used"], 900);
}

#[test]
fn a_discrete_message_is_a_message_of_its_own() {
    let mut talk = Talk::with("qwen");
    talk.prompt("Hi").says("Reply").update(json!({"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "Background shell completed."}, "_meta": {"qwenDiscreteMessage": true}}));
    assert_eq!(
        talk.says("goes on").ends("end_turn").rows().texts("assistant"),
        ["Reply", "Background shell completed.", "goes on"]
    );
}

#[test]
fn requests_of_its_own_make_no_row_and_its_turns_end_by_its_word() {
    let mut talk = Talk::with("qwen");
    talk.prompt("Hi")
        .says("Hi")
        .ends("end_turn")
        .asks(0, "_qwencode/start_turn", json!({"sessionId": "s"}))
        .says("The command finished.")
        .notice("_qwencode/end_turn", json!({"sessionId": "s"}))
        .asks(1, "craft/drainMidTurnQueue", json!({"sessionId": "s"}))
        .notice(
            "qwen/notify/session/mode-update",
            json!({"sessionId": "s", "modeId": "plan"}),
        );
    let rows = talk.rows();
    assert!(rows.of("request").is_empty() && rows.of("unknown").is_empty());
    assert_eq!(talk.drops(), ["turn-start", "queue-asked"]);
    let turns = rows.of("turn");
    assert_eq!(
        (&turns[1]["origin"], &turns[1]["end"]),
        (&json!("agent"), &json!("completed"))
    );
    assert_eq!(rows.only("session")["mode"], "plan");
}

#[test]
fn a_helpers_tools_stand_under_its_call_and_its_calls_are_not_the_sessions_context() {
    let under = json!({"parentToolCallId": "a", "usage": {"inputTokens": 77}});
    let mut talk = Talk::with("qwen");
    talk.prompt("Help")
        .tool("a", json!({"title": "Agent", "status": "in_progress", "_meta": {"toolName": "agent"}}))
        .tool("a1", json!({"title": "Read", "status": "in_progress", "_meta": under}))
        .update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": under}));
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.tool("a1")["parent"], rows.tool("a")["id"]);
    assert_eq!(rows.tool("a")["name"], "agent");
    assert!(rows.only("turn").get("context").is_none());
}

#[test]
fn a_discrete_message_says_how_a_background_task_ended() {
    let note = |task: serde_json::Value| {
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done."},
            "_meta": {"qwenDiscreteMessage": true, "backgroundTask": task}})
    };
    let mut talk = Talk::with("qwen");
    talk.prompt("Run")
        .tool("t", json!({"title": "Shell", "status": "completed"}))
        .update(note(
            json!({"taskId": "w", "status": "failed", "kind": "shell", "toolUseId": "t"}),
        ))
        .update(note(
            json!({"taskId": "h", "status": "completed", "kind": "agent", "toolUseId": "t"}),
        ));
    let rows = talk.ends("end_turn").rows();
    let (task, helper) = (rows.only("task"), rows.only("helper"));
    assert_eq!(
        (&task["state"], &task["task_kind"]),
        (&json!("failed"), &json!("command"))
    );
    assert_eq!(
        (&helper["state"], &helper["parent"]),
        (&json!("completed"), &rows.only("tool")["id"])
    );
}

#[test]
fn how_background_work_stands_is_said_by_its_words() {
    let after = |task: serde_json::Value| {
        let mut talk = Talk::with("qwen");
        talk.prompt("Run").update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""},
                "_meta": {"backgroundTask": task}}),
        );
        talk.rows()
    };
    for (word, state) in [
        // It began, and the record ends before it does.
        ("running", "unknown"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("cancelled", "stopped"),
        ("stopped", "stopped"),
        ("killed", "stopped"),
    ] {
        let rows = after(json!({"taskId": "w", "status": word, "kind": "command"}));
        assert_eq!(rows.only("task")["state"], state, "{word}");
    }
    assert!(
        after(json!({"taskId": "w", "status": "of the future"}))
            .of("task")
            .is_empty()
    );
    for (word, kind) in [("monitor", "monitor"), ("command", "command"), ("dream", "other")] {
        let rows = after(json!({"taskId": "w", "status": "running", "kind": word}));
        assert_eq!(rows.only("task")["task_kind"], kind, "{word}");
    }
}

#[test]
fn a_count_stands_under_either_name() {
    let mut talk = Talk::with("qwen");
    talk.prompt("Hi").update(
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""},
            "_meta": {"parentToolCallId": null, "usage": {"promptTokens": 900}}}),
    );
    assert_eq!(talk.rows().only("turn")["context"]["used"], 900);
}

#[test]
fn its_mode_stands_under_any_of_three_names() {
    for name in ["currentModeId", "modeId", "mode"] {
        let mut talk = Talk::with("qwen");
        talk.notice(
            "qwen/notify/session/mode-update",
            json!({"sessionId": "s", name: "plan"}),
        );
        assert_eq!(talk.rows().only("session")["mode"], "plan", "{name}");
    }
    let mut talk = Talk::with("qwen");
    talk.notice("qwen/notify/session/mode-update", json!({"sessionId": "s"}));
    assert_eq!(talk.drops(), ["vendor-notice"]);
}

#[test]
fn error_words_are_read_out_of_json_text() {
    let mut talk = Talk::with("qwen");
    talk.prompt("Hi")
        .fails(json!({"code": 429, "message": "{\"error\":{\"message\":\"Too many requests\"}}"}));
    assert_eq!(talk.rows().only("status")["text"], "Too many requests");
}

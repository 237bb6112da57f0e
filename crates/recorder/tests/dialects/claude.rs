use serde_json::json;

use crate::talk::{Talk, recording, text};

#[test]
fn a_tool_is_called_what_meta_says() {
    let mut talk = Talk::with("claude");
    talk.prompt("Read").tool(
        "t",
        json!({"title": "Read a", "kind": "read", "status": "pending", "_meta": {"claudeCode": {"toolName": "Read"}}}),
    );
    assert_eq!(talk.ends("end_turn").rows().tool("t")["name"], "Read");
}

#[test]
fn b079_a_helpers_tool_stands_under_its_call_and_an_update_without_the_mark_does_not_untie_it() {
    let mut talk = Talk::with("claude");
    let under = json!({"claudeCode": {"toolName": "Read", "parentToolUseId": "a"}});
    talk.prompt("Help")
        .tool("a", json!({"title": "Helper A", "status": "in_progress"}))
        .tool(
            "a1",
            json!({"title": "Read", "status": "in_progress", "_meta": under}),
        )
        .news("a", json!({"status": "completed"}))
        .news(
            "a1",
            json!({"status": "failed", "_meta": {"claudeCode": {"toolName": "Read"}}}),
        );
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.tool("a1")["parent"], rows.tool("a")["id"]);
    assert_eq!(
        (&rows.tool("a")["state"], &rows.tool("a1")["state"]),
        (&json!("completed"), &json!("failed"))
    );
}

#[test]
fn fences_are_no_part_of_the_output_and_it_is_told_once() {
    let mut talk = Talk::with("claude");
    talk.prompt("Read").tool("t", json!({"title": "Read a", "kind": "read"})).news(
        "t",
        json!({"status": "completed", "content": text("```\n1\tone\n2\ttwo\n```"), "rawOutput": "1\tone\n2\ttwo\n3\t"}),
    );
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        rows.tool("t")["content"],
        json!([{"type": "text", "text": "1\tone\n2\ttwo"}])
    );
    assert!(rows.tool("t").get("output").is_none());
}

#[test]
fn a_failed_command_begins_with_its_exit_code() {
    let mut talk = Talk::with("claude");
    talk.prompt("Run").tool("t", json!({"title": "Terminal", "kind": "execute"})).news(
        "t",
        json!({"status": "failed", "content": text("```\nExit code 3\nout\n```"), "rawOutput": "Exit code 3\nout"}),
    );
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.tool("t")["exit_code"], 3);
    assert_eq!(rows.tool("t")["content"][0]["text"], "out");
}

#[test]
fn a_background_command_is_a_task_and_its_notice_a_turn_of_the_agents_own() {
    let rows = recording("claude/s9b-shell-bg.jsonl");
    let task = rows.only("task");
    let label = "for i in 1 2 3 4; do echo \"bg $i\"; sleep 1; done";
    assert_eq!(
        (&task["task_kind"], &task["label"]),
        (&json!("command"), &json!(label))
    );
    assert_eq!(task["parent"], rows.only("tool")["id"]);
    assert!(
        task["output_file"]
            .as_str()
            .is_some_and(|f| f.ends_with("bopj4vcgj.output"))
    );
    // Nothing on the wire says how it ended.
    assert_eq!(task["state"], "unknown");
    let own: Vec<_> = rows
        .of("turn")
        .into_iter()
        .filter(|t| t["origin"] == "agent")
        .collect();
    assert_eq!(own.len(), 1);
    assert_eq!(own[0]["end"], "completed");
}

#[test]
fn an_agent_that_works_aside_is_a_helper_and_what_is_for_the_model_is_left_out() {
    let rows = recording("claude/s14-subagent.jsonl");
    let (helper, tool) = (rows.only("helper"), rows.tool("toolu_000002"));
    assert_eq!(
        (&helper["label"], &helper["parent"]),
        (&json!("fake run"), &tool["id"])
    );
    assert!(tool.get("content").is_none() && tool.get("result").is_none());
    assert_eq!(rows.tool("toolu_000004")["parent"], tool["id"]);
}

#[test]
fn an_agent_that_is_waited_for_ends_with_its_tool() {
    let mut talk = Talk::with("claude");
    let response = json!({"agentId": "h", "isAsync": false, "totalTokens": 900,
        "content": [{"type": "text", "text": "It is so."}]});
    talk.prompt("Help")
        .tool(
            "t",
            json!({"title": "Task", "rawInput": {"description": "Look into it"}}),
        )
        .news(
            "t",
            json!({"status": "completed", "_meta": {"claudeCode": {"toolName": "Agent", "toolResponse": response}}}),
        );
    let rows = talk.ends("end_turn").rows();
    let helper = rows.only("helper");
    assert_eq!(
        (
            &helper["state"],
            &helper["label"],
            &helper["tokens"],
            &helper["text"]
        ),
        (
            &json!("completed"),
            &json!("Look into it"),
            &json!(900),
            &json!("It is so.")
        )
    );
    assert_eq!(helper["parent"], rows.only("tool")["id"]);
}

#[test]
fn the_same_words_as_text_and_as_error_make_one_message_and_one_error_row() {
    let rows = recording("claude/s7-err500.jsonl");
    let errors: Vec<_> = rows
        .of("status")
        .into_iter()
        .filter(|s| s["tone"] == "error")
        .collect();
    assert_eq!(errors.len(), 1);
    let words = errors[0]["text"].as_str().expect("words");
    assert!(words.starts_with("API Error: 500 Internal server error (scripted)."));
    assert_eq!(rows.texts("assistant").iter().filter(|t| **t == words).count(), 1);
}

#[test]
fn a_note_of_the_machinery_is_a_message_of_its_own() {
    let rows = recording("claude/s7-refusal.jsonl");
    let texts = rows.texts("assistant");
    assert_eq!(texts.len(), 3);
    assert!(texts[1].starts_with("**Notice:**"));
    // Also where no message has an id.
    let mut talk = Talk::with("claude");
    talk.prompt("Hi")
        .says("Re")
        .update(json!({"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "Note"}, "_meta": {"claudeCode": {"kind": "informational"}}}));
    let rows = talk.says("ply").ends("end_turn").rows();
    assert_eq!(rows.texts("assistant"), ["Re", "Note", "ply"]);
}

#[test]
fn the_answer_counts_the_turn_without_cached_tokens() {
    let mut talk = Talk::with("claude");
    talk.prompt("Hi")
        .says("Hi")
        .answer(json!({"stopReason": "end_turn", "usage": {
        "inputTokens": 10, "outputTokens": 2, "cachedReadTokens": 90, "totalTokens": 102}}));
    let rows = talk.rows();
    let usage = &rows.only("turn")["usage"];
    assert_eq!(
        (&usage["measure"], &usage["input_holds_cached"]),
        (&json!("turn"), &json!(false))
    );
}

#[test]
fn the_status_of_the_sign_in_makes_no_row() {
    let mut talk = Talk::with("claude");
    talk.notice("_auth/status_update", json!({"authenticated": true}))
        .prompt("Hi")
        .says("Hi");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.0.len(), 4, "session, turn, user, assistant");
    assert!(talk.drops().contains(&"sign-in-status"));
}

#[test]
fn a_command_that_worked_ends_with_0_unless_its_response_says_otherwise() {
    assert_eq!(
        recording("claude/s9-shell-long.jsonl").only("tool")["exit_code"],
        0
    );
    let run = |response: serde_json::Value| {
        let mut talk = Talk::with("claude");
        talk.prompt("Run")
            .tool("t", json!({"title": "grep", "kind": "execute"}))
            .news(
                "t",
                json!({"_meta": {"claudeCode": {"toolName": "Bash", "toolResponse": response}}}),
            )
            .news(
                "t",
                json!({"status": "completed", "content": text("```console\nout\n```")}),
            );
        talk.ends("end_turn")
            .rows()
            .only("tool")
            .get("exit_code")
            .cloned()
    };
    assert_eq!(
        run(json!({"stdout": "out", "interrupted": false})),
        Some(json!(0))
    );
    assert_eq!(run(json!({"stdout": "", "interrupted": true})), None);
    assert_eq!(
        run(json!({"stdout": "", "interrupted": false, "returnCodeInterpretation": "No matches found"})),
        None
    );
    assert_eq!(
        run(json!({"stdout": "", "interrupted": false, "backgroundTaskId": "b"})),
        None
    );
    assert_eq!(run(json!({"file": {}})), None);
}

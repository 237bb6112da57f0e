//! A tool's three facts: how it ran, who allowed it, what it changed.

use serde_json::{Value, json};

use crate::talk::{Rows, Talk, recording};

fn edit_tools(rows: &Rows) -> Vec<(String, String, Vec<String>)> {
    let word = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let edits = rows.of("tool").into_iter().filter_map(|tool| {
        let items = tool["content"].as_array()?;
        let effects: Vec<String> = items
            .iter()
            .filter(|i| i["type"] == "diff")
            .map(|i| word(&i["effect"]))
            .collect();
        (!effects.is_empty()).then(|| (word(&tool["state"]), word(&tool["authorization"]), effects))
    });
    edits.collect()
}

#[test]
fn an_allowed_edit_is_applied_in_every_recording() {
    for agent in ["claude", "codex", "gemini", "opencode", "kilo", "kimi", "fast"] {
        let rows = recording(&format!("{agent}/s3-tools-allow.jsonl"));
        let want = (
            "completed".to_owned(),
            "asked_allowed".to_owned(),
            vec!["applied".to_owned()],
        );
        assert_eq!(edit_tools(&rows), [want], "{agent}");
    }
}

#[test]
fn an_edit_without_a_question_is_applied_and_can_be_found() {
    let rows = recording("pi/s3-tools-allow.jsonl");
    let want = (
        "completed".to_owned(),
        "not_asked".to_owned(),
        vec!["applied".to_owned()],
    );
    assert_eq!(edit_tools(&rows), [want]);
}

#[test]
fn a_refused_edit_reads_as_discarded_in_every_recording_that_shows_the_tool() {
    for agent in [
        "claude",
        "codex",
        "opencode",
        "kilo",
        "kimi",
        "fast",
        "deepagents",
    ] {
        let rows = recording(&format!("{agent}/s4-reject.jsonl"));
        let want = (
            "rejected".to_owned(),
            "asked_rejected".to_owned(),
            vec!["discarded".to_owned()],
        );
        assert_eq!(edit_tools(&rows), [want], "{agent}");
        let request = rows.only("request");
        assert_eq!(
            (&request["outcome"], &request["tool"]),
            (&json!("rejected"), &rows.only("tool")["id"]),
            "{agent}"
        );
    }
}

#[test]
fn a_refused_edit_of_a_tool_that_never_came_reads_as_discarded_in_the_request() {
    let rows = recording("gemini/s4-reject.jsonl");
    assert!(rows.of("tool").is_empty());
    let request = rows.only("request");
    assert_eq!(
        (&request["outcome"], &request["content"][0]["effect"]),
        (&json!("rejected"), &json!("discarded"))
    );
}

#[test]
fn a_refused_command_is_rejected_in_every_recording_that_ends_it_as_failed() {
    for agent in ["claude", "opencode", "kimi", "cline", "fast"] {
        let rows = recording(&format!("{agent}/s4s-reject-shell.jsonl"));
        let tool = rows.only("tool");
        assert_eq!(
            (&tool["state"], &tool["authorization"]),
            (&json!("rejected"), &json!("asked_rejected")),
            "{agent}"
        );
    }
    // It ran as far as the agent says, and was refused all the same.
    let rows = recording("deepagents/s4s-reject-shell.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["authorization"]),
        (&json!("completed"), &json!("asked_rejected"))
    );
}

#[test]
fn a_stop_while_asking_cancels_the_question_and_its_tool() {
    for agent in [
        "claude",
        "codex",
        "gemini",
        "opencode",
        "kimi",
        "cline",
        "fast",
        "deepagents",
    ] {
        let path = format!("{agent}/s4c-cancel-at-permission.jsonl");
        let rows = recording(&path);
        assert_eq!(rows.of("request")[0]["outcome"], "cancelled", "{agent}");
        assert_eq!(rows.of("turn")[0]["end"], "stopped", "{agent}");
        for tool in rows.of("tool") {
            assert_eq!(tool["authorization"], "asked_cancelled", "{agent}");
            assert!(
                ["failed", "interrupted"].contains(&tool["state"].as_str().unwrap_or_default()),
                "{agent}"
            );
        }
    }
}

#[test]
fn what_a_permission_shows_fills_the_gaps_of_its_tool_and_no_more() {
    let mut talk = Talk::with("generic");
    let diff = json!([{"type": "diff", "path": "/a", "oldText": "x\n", "newText": "y\n"}]);
    talk.prompt("Edit")
        .tool("t", json!({"title": "edit", "kind": "edit", "status": "pending"}))
        .permission(
            0,
            json!({"toolCallId": "t", "title": "Edit /a", "rawInput": {"path": "/a"}, "content": diff,
            "locations": [{"path": "/a"}]}),
        );
    let rows = talk.rows();
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["title"], &tool["input"]),
        (&json!("edit"), &json!({"path": "/a"}))
    );
    assert_eq!(
        (&tool["content"][0]["effect"], &tool["locations"][0]["path"]),
        (&json!("proposed"), &json!("/a"))
    );
    talk.chooses(0, "no").news(
        "t",
        json!({"status": "failed", "rawInput": {"path": "/a", "force": true}}),
    );
    let rows = talk.ends("end_turn").rows();
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["content"][0]["effect"]),
        (&json!("rejected"), &json!("discarded"))
    );
    assert_eq!(tool["input"], json!({"path": "/a", "force": true}));
}

#[test]
fn a_tools_own_diff_is_not_doubled_by_its_permissions() {
    let mut talk = Talk::with("generic");
    let diff = |new: &str| json!([{"type": "diff", "path": "/a", "oldText": "x\n", "newText": new}]);
    talk.prompt("Edit")
        .tool(
            "t",
            json!({"title": "edit", "status": "pending", "content": diff("y\n")}),
        )
        .permission(0, json!({"toolCallId": "t", "content": diff("z\n")}))
        .chooses(0, "once")
        .news("t", json!({"status": "completed"}));
    let rows = talk.ends("end_turn").rows();
    let content = rows.only("tool")["content"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(content.len(), 1);
    assert!(content[0]["patch"].as_str().is_some_and(|p| p.contains("+y")));
    assert_eq!(content[0]["effect"], "applied");
}

#[test]
fn a_settled_tool_is_not_changed_by_a_later_permission() {
    let mut talk = Talk::with("generic");
    talk.prompt("Edit")
        .tool("t", json!({"title": "edit", "status": "pending"}))
        .news("t", json!({"status": "completed"}))
        .permission(
            0,
            json!({"toolCallId": "t", "rawInput": {"late": true},
            "content": [{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}]}),
        );
    let rows = talk.rows();
    assert!(rows.only("tool").get("content").is_none() && rows.only("tool").get("input").is_none());
}

#[test]
fn output_that_a_terminal_shows_is_not_repeated_though_its_colours_are_gone() {
    let mut talk = Talk::with("generic");
    let coloured = "\u{1b}[31mred\u{1b}[0m\n";
    talk.prompt("Run")
        .tool(
            "t",
            json!({"title": "x", "kind": "execute", "content": [{"type": "terminal", "terminalId": "t"}]}),
        )
        .news(
            "t",
            json!({"_meta": {"terminal_output": {"terminal_id": "t", "data": coloured}}}),
        )
        .news(
            "t",
            json!({"status": "completed", "rawOutput": coloured,
            "_meta": {"terminal_exit": {"terminal_id": "t", "exit_code": 0}}}),
        );
    let rows = talk.ends("end_turn").rows();
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["content"][0]["output"], &tool["exit_code"]),
        (&json!("red\n"), &json!(0))
    );
    assert!(tool.get("output").is_none());
}

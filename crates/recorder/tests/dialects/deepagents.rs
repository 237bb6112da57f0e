use serde_json::json;

use crate::talk::{Talk, recording};

#[test]
fn a_permission_under_a_made_up_id_is_tied_to_the_tool_with_its_title() {
    let rows = recording("deepagents/s4-reject.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["authorization"]),
        (&json!("rejected"), &json!("asked_rejected"))
    );
    assert_eq!(tool["content"][0]["effect"], "discarded");
    assert_eq!(rows.only("request")["tool"], tool["id"]);
}

#[test]
fn a_permission_under_a_made_up_id_is_tied_to_the_tool_with_its_input() {
    let rows = recording("deepagents/s9f-shell-fail.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["authorization"], &tool["exit_code"]),
        (&json!("asked_allowed"), &json!(3))
    );
    assert_eq!(
        tool["content"],
        json!([{"type": "text", "text": "some output\n\n[stderr] an error"}])
    );
}

#[test]
fn two_tools_that_look_alike_are_not_guessed_at() {
    let mut talk = Talk::with("deepagents");
    talk.prompt("Go")
        .tool(
            "a",
            json!({"title": "Edit `x`", "kind": "edit", "status": "pending"}),
        )
        .tool(
            "b",
            json!({"title": "Edit `x`", "kind": "edit", "status": "pending"}),
        )
        .permission(0, json!({"toolCallId": "made-up", "title": "Edit `x`"}))
        .chooses(0, "no");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.of("tool").len(), 2, "a made-up id makes no tool");
    assert!(rows.only("request").get("tool").is_none());
    assert!(rows.of("tool").iter().all(|t| t["authorization"] == "not_asked"));
}

#[test]
fn an_edit_that_never_ends_is_unknown_and_its_change_stays_proposed() {
    let rows = recording("deepagents/s3-tools-allow.jsonl");
    let edit = rows.tool("call_000003");
    assert_eq!(
        (&edit["state"], &edit["authorization"]),
        (&json!("unknown"), &json!("asked_allowed"))
    );
    assert_eq!(edit["content"][0]["effect"], "proposed");
}

#[test]
fn a_commands_status_says_its_exit_code() {
    assert_eq!(
        recording("deepagents/s9-shell-long.jsonl").only("tool")["exit_code"],
        0
    );
}

#[test]
fn a_to_do_list_told_to_the_model_is_left_out_and_the_plan_stands() {
    let rows = recording("deepagents/s8-todo.jsonl");
    assert!(
        rows.of("tool")
            .iter()
            .all(|t| t["name"] == "write_todos" && t.get("content").is_none())
    );
    assert_eq!(rows.only("plan")["entries"].as_array().map(Vec::len), Some(3));
}

#[test]
fn an_id_that_a_tool_has_is_not_made_up() {
    let mut talk = Talk::with("deepagents");
    talk.prompt("Go")
        .tool("a", json!({"title": "Edit `x`", "status": "pending"}))
        .tool("b", json!({"title": "Edit `x`", "status": "pending"}))
        .permission(0, json!({"toolCallId": "b", "title": "Edit `x`"}))
        .chooses(0, "once");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.tool("b")["authorization"], "asked_allowed");
    assert_eq!(rows.tool("a")["authorization"], "not_asked");
}

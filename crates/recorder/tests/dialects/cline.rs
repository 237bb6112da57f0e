use serde_json::json;

use crate::talk::{Talk, recording};

#[test]
fn a_title_is_the_name_and_what_the_call_is_about() {
    let rows = recording("cline/s3-tools-allow.jsonl");
    let read = rows.tool("call_000001");
    assert_eq!(
        (&read["name"], &read["title"]),
        (&json!("read_files"), &json!("read_files: /work-dir/ws/notes.txt"))
    );
    assert_eq!(
        read["output"],
        "1 | Teh quick brown fox\n2 | jumps over the lazy dog."
    );
    assert_eq!(rows.tool("call_000003")["name"], "apply_patch");
    assert!(
        rows.of("request")
            .iter()
            .all(|r| !r["title"].as_str().unwrap_or_default().contains('{'))
    );
}

#[test]
fn a_commands_result_gives_its_output_and_exit_code() {
    let rows = recording("cline/s9f-shell-fail.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["exit_code"], &tool["output"]),
        (&json!(3), &json!("some output\n\n[stderr]\nan error\n"))
    );
    assert!(tool.get("result").is_none());
}

#[test]
fn an_error_that_is_json_text_is_read() {
    let rows = recording("cline/s4-reject.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["authorization"]),
        (&json!("rejected"), &json!("asked_rejected"))
    );
    assert!(
        tool["output"]
            .as_str()
            .is_some_and(|o| o.starts_with("User rejected the tool call"))
    );
}

#[test]
fn a_result_of_another_shape_is_kept() {
    let mut talk = Talk::with("cline");
    talk.prompt("Go")
        .tool("t", json!({"title": "odd", "status": "pending"}))
        .news("t", json!({"status": "completed", "rawOutput": {"rows": 3}}));
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        rows.only("tool")["result"],
        json!({"type": "json", "value": {"rows": 3}})
    );
}

#[test]
fn commands_that_all_worked_end_with_0_and_nothing_else_does() {
    assert_eq!(
        recording("cline/s9-shell-long.jsonl").only("tool")["exit_code"],
        0
    );
    assert!(
        recording("cline/s3-tools-allow.jsonl")
            .of("tool")
            .iter()
            .all(|t| t.get("exit_code").is_none())
    );
    let stopped = recording("cline/s5t-cancel-tool.jsonl");
    assert!(stopped.only("tool").get("exit_code").is_none());
}

use serde_json::json;

use crate::talk::{Talk, recording};

#[test]
fn a_warning_before_the_reply_is_a_message_of_its_own() {
    let rows = recording("codex/s1-basic.jsonl");
    let texts = rows.texts("assistant");
    assert!(texts[0].starts_with("Model metadata for `"), "{texts:?}");
    assert!(texts[0].ends_with("cause issues."), "{texts:?}");
    assert!(texts[1].starts_with("Hello!"), "{texts:?}");
}

#[test]
fn a_tools_input_is_without_the_agents_book_keeping() {
    let rows = recording("codex/s9f-shell-fail.jsonl");
    let tool = rows.only("tool");
    let command = json!(["/bin/bash", "-lc", "echo some output; echo an error >&2; exit 3"]);
    assert_eq!(tool["input"], json!({"command": command, "cwd": "/work-dir/ws"}));
    assert_eq!(
        (&tool["exit_code"], &tool["output"]),
        (&json!(3), &json!("some output\nan error\n"))
    );
    assert_eq!(rows.only("request")["input"], tool["input"]);
}

#[test]
fn what_the_options_say_is_not_what_the_tool_shows() {
    let rows = recording("codex/s5t-cancel-tool.jsonl");
    assert!(rows.only("tool").get("content").is_none());
    assert!(rows.only("request").get("content").is_none());
    assert_eq!(rows.only("tool")["state"], "interrupted");
}

#[test]
fn terminal_output_comes_as_deltas_and_is_not_repeated_as_output() {
    let rows = recording("codex/s9m-shell-long-meta.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        tool["content"][0]["output"],
        "tick 2\ntick 3\ntick 4\ntick 5\ntick 6\nred\n"
    );
    assert_eq!(
        (&tool["content"][0]["exit_code"], &tool["exit_code"]),
        (&json!(0), &json!(0))
    );
    assert!(tool.get("output").is_none());
}

#[test]
fn error_words_are_read_out_of_json_text() {
    let rows = recording("codex/s7-err400.jsonl");
    assert_eq!(
        rows.only("status")["text"],
        "Bad request: the scripted server refused this."
    );
    assert_eq!(
        recording("codex/s7-err500.jsonl").only("status")["text"],
        "We're currently experiencing high demand, which may cause temporary errors."
    );
}

#[test]
fn a_result_as_the_model_was_told_it_gives_output_and_exit_code() {
    let mut talk = Talk::with("codex");
    talk.prompt("Go").tool("t", json!({"title": "exec", "status": "in_progress"})).news(
        "t",
        json!({"status": "completed", "rawOutput":
            "Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 2\nOriginal token count: 1\nOutput:\nhi\n"}),
    );
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        (&rows.only("tool")["exit_code"], &rows.only("tool")["output"]),
        (&json!(2), &json!("hi\n"))
    );
}

#[test]
fn a_prompt_that_is_never_answered_is_unconfirmed() {
    let rows = recording("codex/s10c-concurrent.jsonl");
    assert_eq!(rows.of("user")[1]["delivery"], "unconfirmed");
}

#[test]
fn output_is_what_was_printed_in_the_order_in_which_it_was() {
    let mut talk = Talk::with("codex");
    talk.prompt("Go")
        .tool(
            "t",
            json!({"title": "make", "kind": "execute", "status": "in_progress"}),
        )
        .news(
            "t",
            json!({"status": "failed", "rawOutput": {"stdout": "one\nthree\n", "stderr": "two\n",
            "aggregated_output": "one\ntwo\nthree\n", "exit_code": 2}}),
        );
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        (&rows.only("tool")["output"], &rows.only("tool")["exit_code"]),
        (&json!("one\ntwo\nthree\n"), &json!(2))
    );
}

#[test]
fn fences_are_no_part_of_the_output_and_it_is_told_once() {
    let rows = recording("codex/s9-shell-long.jsonl");
    let tool = rows.only("tool");
    let printed = "tick 2\ntick 3\ntick 4\ntick 5\ntick 6\nred";
    assert_eq!(tool["content"], json!([{"type": "text", "text": printed}]));
    assert!(tool.get("output").is_none());
}

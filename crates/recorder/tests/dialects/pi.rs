use serde_json::json;

use crate::talk::recording;

#[test]
fn what_its_queue_does_is_a_message_of_its_own() {
    let rows = recording("pi/s10c-concurrent.jsonl");
    let texts = rows.texts("assistant");
    assert!(texts.contains(&"Queued message (position 1)."), "{texts:?}");
    assert!(
        texts.contains(&"Starting queued message. (0 remaining)"),
        "{texts:?}"
    );
    assert_eq!(rows.of("turn").len(), 2);
}

#[test]
fn retries_are_messages_of_their_own_and_no_failure() {
    let rows = recording("pi/s7-err500.jsonl");
    assert_eq!(
        rows.texts("assistant")[0],
        "Retrying (attempt 1/3, waiting 2s)..."
    );
    assert_eq!(rows.texts("assistant")[3], "Retry finished, resuming.");
    assert!(rows.of("status").is_empty());
}

#[test]
fn a_failed_commands_exit_code_is_the_one_that_was_printed() {
    let rows = recording("pi/s9f-shell-fail.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["exit_code"]),
        (&json!("failed"), &json!(3))
    );
    assert_eq!(tool["content"][0]["exit_code"], 3);
}

#[test]
fn terminal_output_comes_as_deltas() {
    let rows = recording("pi/s9-shell-long.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        tool["content"][0]["output"],
        "tick 1\ntick 2\ntick 3\ntick 4\ntick 5\ntick 6\nred\n"
    );
    assert_eq!(tool["exit_code"], 0);
}

#[test]
fn results_are_told_once_and_commands_have_no_name() {
    let rows = recording("pi/s3-tools-allow.jsonl");
    let read = rows.tool("call_000001");
    assert_eq!(read["name"], "read");
    assert!(read.get("output").is_none() && read.get("result").is_none());
    assert!(
        recording("pi/s16-list-grep.jsonl")
            .of("tool")
            .iter()
            .all(|t| t.get("name").is_none())
    );
    assert_eq!(rows.tool("call_000003")["content"][0]["effect"], "applied");
    assert_eq!(rows.tool("call_000003")["authorization"], "not_asked");
}

use serde_json::json;

use crate::talk::{Talk, recording, text};

#[test]
fn arguments_that_grow_as_content_are_the_input_once_they_are_whole() {
    let mut talk = Talk::with("kimi");
    talk.prompt("Read")
        .tool(
            "t",
            json!({"title": "ReadFile", "status": "in_progress", "content": text("")}),
        )
        .news(
            "t",
            json!({"title": "ReadFile: a", "status": "in_progress", "content": text("{\"path\":\"a")}),
        );
    let rows = talk.rows();
    assert!(rows.only("tool").get("content").is_none() && rows.only("tool").get("input").is_none());
    talk.news(
        "t",
        json!({"status": "in_progress", "content": text("{\"path\":\"a\"}")}),
    )
    .news("t", json!({"status": "completed", "content": text("{\"a\": 1}")}));
    let rows = talk.ends("end_turn").rows();
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["name"], &tool["input"]),
        (&json!("ReadFile"), &json!({"path": "a"}))
    );
    assert_eq!(
        tool["content"],
        json!([{"type": "text", "text": "{\"a\": 1}"}]),
        "a result that is JSON stays"
    );
}

#[test]
fn a_clients_terminal_is_shown_after_it_was_released() {
    let rows = recording("kimi/s9f-shell-fail.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["exit_code"]),
        (&json!("failed"), &json!(3))
    );
    assert_eq!(tool["content"][0]["output"], "some output\nan error\n");
}

#[test]
fn a_helpers_result_is_its_summary() {
    let rows = recording("kimi/s14-subagent.jsonl");
    let helper = rows.only("helper");
    assert_eq!(
        (
            &helper["helper"],
            &helper["state"],
            &helper["label"],
            &helper["text"]
        ),
        (
            &json!("ae6cf3994"),
            &json!("completed"),
            &json!("fake run"),
            &json!("run the tests")
        )
    );
    assert_eq!(
        rows.only("tool")["content"],
        json!([{"type": "text", "text": "run the tests"}])
    );
}

#[test]
fn a_helper_ended_as_the_head_of_its_result_says() {
    for (word, state) in [
        ("completed", "completed"),
        ("failed", "failed"),
        ("of the future", "unknown"),
    ] {
        let mut talk = Talk::with("kimi");
        let result = format!("agent_id: h\nstatus: {word}\n\n[summary]\nIt is so.\n");
        talk.prompt("Help")
            .tool("t", json!({"title": "Agent", "status": "in_progress"}))
            .news("t", json!({"status": "completed", "content": text(&result)}));
        let rows = talk.ends("end_turn").rows();
        let helper = rows.only("helper");
        assert_eq!(
            (&helper["state"], &helper["text"], &helper["parent"]),
            (&json!(state), &json!("It is so."), &rows.only("tool")["id"]),
            "{word}"
        );
    }
}

#[test]
fn a_diff_that_only_the_permission_showed_reads_as_discarded() {
    let rows = recording("kimi/s4-reject.jsonl");
    let tool = rows.only("tool");
    let diff = tool["content"]
        .as_array()
        .and_then(|c| c.iter().find(|i| i["type"] == "diff"));
    assert_eq!(diff.map(|d| &d["effect"]), Some(&json!("discarded")));
    assert_eq!(rows.only("request")["content"][0]["effect"], "discarded");
}

#[test]
fn words_of_an_error_stand_under_the_name_of_what_is_wrong() {
    assert_eq!(
        recording("kimi/s6x-load-unknown.jsonl").texts("status"),
        ["Session not found", "Session not found"]
    );
}

#[test]
fn arguments_as_json_are_no_title() {
    let mut talk = Talk::with("kimi");
    talk.prompt("Ask")
        .tool("t", json!({"title": "AskUserQuestion", "status": "in_progress"}));
    talk.news(
        "t",
        json!({"title": "AskUserQuestion: {\"questions\":[{...", "status": "in_progress"}),
    );
    assert_eq!(
        talk.ends("end_turn").rows().only("tool")["title"],
        "AskUserQuestion"
    );
}

#[test]
fn a_diff_of_an_empty_file_is_a_new_file() {
    let rows = recording("kimi/s3w-write-new.jsonl");
    assert_eq!(rows.only("tool")["content"][0]["change"], "add");
    assert_eq!(rows.only("request")["content"][0]["change"], "add");
}

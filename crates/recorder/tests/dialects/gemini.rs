use serde_json::json;

use crate::talk::{Talk, recording, text};

#[test]
fn a_tools_name_stands_in_front_of_its_id() {
    let rows = recording("gemini/s3-tools-allow.jsonl");
    let names: Vec<_> = rows.of("tool").iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["read_file", "replace"]);
}

#[test]
fn b063_what_it_replays_after_the_loads_answer_is_history() {
    let rows = recording("gemini/s6-loadb.jsonl");
    assert_eq!(rows.of("turn").len(), 1);
    assert_eq!(rows.texts("user"), ["Say hello. SCENARIO:second"]);
    assert_eq!(rows.of("assistant").len(), 1);
}

#[test]
fn error_words_are_read_out_of_json_text_and_http_codes_kept() {
    let rows = recording("gemini/s7-err500.jsonl");
    let error = rows.only("status");
    assert_eq!(
        (&error["text"], &error["detail"]["code"]),
        (&json!("Internal server error (scripted)."), &json!("500"))
    );
    assert_eq!(
        recording("gemini/s7-err429.jsonl").only("status")["text"],
        "Rate limit reached for requests. Please try again later."
    );
}

#[test]
fn the_folder_in_a_permission_is_about_the_question_not_the_tools_output() {
    let mut talk = Talk::with("gemini");
    talk.prompt("Run")
        .permission(
            0,
            json!({"toolCallId": "run_shell_command__1", "title": "ls", "kind": "execute",
            "content": text("[current working directory /project]")}),
        )
        .chooses(0, "once")
        .news("run_shell_command__1", json!({"status": "completed"}));
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        rows.only("request")["text"],
        "[current working directory /project]"
    );
    let tool = rows.only("tool");
    assert!(tool.get("content").is_none());
    assert_eq!(
        (&tool["name"], &tool["title"]),
        (&json!("run_shell_command"), &json!("ls"))
    );
    assert_eq!(
        (&tool["state"], &tool["authorization"]),
        (&json!("completed"), &json!("asked_allowed"))
    );
}

#[test]
fn the_quota_counts_the_turn() {
    let rows = recording("gemini/s3-tools-allow.jsonl");
    assert_eq!(
        rows.only("turn")["usage"],
        json!({"measure": "turn", "input": 18810, "input_holds_cached": true, "output": 75})
    );
    assert!(
        rows.only("turn").get("context").is_none(),
        "a sum over calls is no context"
    );
}

#[test]
fn a_mode_that_is_said_as_text_is_the_sessions_mode_and_a_message_of_its_own() {
    let mut talk = Talk::with("gemini");
    talk.prompt("Go")
        .says("Working")
        .says("[MODE_UPDATE] yolo")
        .says(" on it");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        rows.texts("assistant"),
        ["Working", "[MODE_UPDATE] yolo", " on it"]
    );
    assert_eq!(rows.only("session")["mode"], "yolo");
}

//! RO-1 to RO-5, and Kilo.

use serde_json::json;

use crate::talk::{Talk, recording, shared, text};

#[test]
fn ro_1_the_exit_code_is_shown_and_the_output_once() {
    let rows = recording("opencode/s9f-shell-fail.jsonl");
    let tool = rows.only("tool");
    assert_eq!((&tool["name"], &tool["exit_code"]), (&json!("bash"), &json!(3)));
    assert_eq!(
        tool["content"],
        json!([{"type": "text", "text": "some output\nan error\n"}])
    );
    assert!(tool.get("output").is_none() && tool.get("result").is_none());
}

#[test]
fn ro_2_a_refused_edit_is_rejected_and_its_turn_a_success() {
    let rows = recording("opencode/s4-reject.jsonl");
    let (tool, turn) = (rows.only("tool"), rows.only("turn"));
    assert_eq!(
        (&tool["state"], &turn["end"]),
        (&json!("rejected"), &json!("completed"))
    );
    let diff = tool["content"]
        .as_array()
        .and_then(|c| c.iter().find(|i| i["type"] == "diff"));
    assert_eq!(diff.map(|d| &d["effect"]), Some(&json!("discarded")));
}

#[test]
fn ro_2_the_recording_with_a_refused_write() {
    let Some(rows) = shared("opencode", "orca/opencode-v1-deny.jsonl") else {
        return;
    };
    let (tool, turn) = (rows.only("tool"), rows.only("turn"));
    assert_eq!(
        (&tool["name"], &tool["state"], &turn["end"]),
        (&json!("write"), &json!("rejected"), &json!("completed"))
    );
    assert_eq!(rows.only("request")["outcome"], "rejected");
    assert_eq!(rows.of("reasoning").len(), 1);
    // 150 + 10 240 cached, no output counted; 150 + 87 + 44 + 10 240 = 10 521 is the agent's own total.
    assert_eq!(
        (&turn["context"]["used"], &turn["usage"]["total"]),
        (&json!(10390), &json!(10521))
    );
    assert_eq!(
        (&turn["usage"]["measure"], &turn["usage"]["input_holds_cached"]),
        (&json!("call"), &json!(false))
    );
}

#[test]
fn ro_3_a_permission_that_never_arrives_leaves_a_turn_that_only_a_stop_ends() {
    let mut talk = Talk::with("opencode");
    talk.prompt("Delegate")
        .tool(
            "t",
            json!({"title": "task", "kind": "think", "status": "in_progress"}),
        )
        .stop();
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        (&rows.only("turn")["end"], &rows.only("tool")["state"]),
        (&json!("stopped"), &json!("interrupted"))
    );
}

#[test]
fn ro_4_the_stray_write_after_an_edit_makes_no_row() {
    let rows = recording("opencode/s3-tools-allow.jsonl");
    let diffs = rows
        .of("tool")
        .into_iter()
        .filter_map(|t| t["content"].as_array());
    assert_eq!(diffs.flatten().filter(|i| i["type"] == "diff").count(), 1);
    assert_eq!(rows.of("request").len(), 1);
}

#[test]
fn what_a_read_shows_is_not_told_again_in_the_markup_for_the_model() {
    let rows = recording("opencode/s3-tools-allow.jsonl");
    let read = rows.tool("call_000002");
    assert_eq!(
        read["content"],
        json!([{"type": "text", "text": "Teh quick brown fox\njumps over the lazy dog."}])
    );
    assert!(read.get("output").is_none() && read.get("result").is_none());
}

#[test]
fn ro_5_the_providers_error_words_without_metadata() {
    let mut talk = Talk::with("opencode");
    talk.prompt("Hi").fails(
        json!({"code": -32603, "message": "Internal error: Rate limit reached",
        "data": {"service": "session", "errorName": "APIError"}}),
    );
    assert_eq!(talk.rows().only("status")["text"], "Rate limit reached");
}

#[test]
fn always_lasts_as_long_as_its_process() {
    for (agent, label) in [
        ("opencode", "Allow until OpenCode restarts"),
        ("kilo", "Allow until Kilo restarts"),
    ] {
        let mut talk = Talk::with(agent);
        talk.prompt("Go")
            .permission(0, json!({"toolCallId": "t", "title": "x"}));
        assert_eq!(talk.rows().only("request")["options"][1]["label"], label);
    }
}

#[test]
fn a_to_do_list_is_a_plan() {
    for path in ["opencode/s8-todo.jsonl", "kilo/s8-todo.jsonl"] {
        let rows = recording(path);
        let plan = rows.only("plan");
        assert_eq!(plan["entries"].as_array().map(Vec::len), Some(3));
        assert!(
            plan["entries"]
                .as_array()
                .is_some_and(|e| e.iter().all(|e| e["status"] == "completed"))
        );
        assert!(
            rows.of("tool")
                .iter()
                .all(|t| t.get("content").is_none() && t.get("result").is_none())
        );
    }
}

#[test]
fn a_tasks_result_is_its_helpers_reply() {
    for path in ["opencode/s14-subagent.jsonl", "kilo/s14-subagent.jsonl"] {
        let rows = recording(path);
        let helper = rows.only("helper");
        assert_eq!(
            (&helper["label"], &helper["state"], &helper["text"]),
            (
                &json!("fake run"),
                &json!("completed"),
                &json!("The file has been read.")
            )
        );
        assert_eq!(helper["parent"], rows.only("tool")["id"]);
    }
}

#[test]
fn output_that_comes_whole_each_time_is_stored_once() {
    let mut talk = Talk::with("opencode");
    talk.prompt("Run")
        .tool("t", json!({"title": "bash", "kind": "execute", "rawInput": {}}));
    for said in ["a\n", "a\nb\n", "a\nb\nc\n"] {
        talk.news("t", json!({"status": "in_progress", "content": text(said)}));
    }
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        rows.only("tool")["content"],
        json!([{"type": "text", "text": "a\nb\nc\n"}])
    );
}

#[test]
fn the_answer_counts_the_newest_call_and_nothing_is_no_count() {
    let rows = recording("opencode/s3-tools-allow.jsonl");
    assert_eq!(rows.only("turn")["usage"]["measure"], "call");
    let stopped = recording("opencode/s5t-cancel-tool.jsonl");
    assert!(stopped.of("turn")[0].get("usage").is_none());
}

#[test]
fn a_diff_of_an_empty_file_is_a_new_file() {
    let rows = recording("opencode/s3w-write-new.jsonl");
    let diff = rows.only("tool")["content"]
        .as_array()
        .and_then(|c| c.iter().find(|i| i["type"] == "diff"));
    assert_eq!(
        diff.map(|d| (&d["change"], &d["effect"])),
        Some((&json!("add"), &json!("applied")))
    );
}

//! RM-1 to RM-4, and the recording with exit code 3.

use serde_json::json;

use crate::talk::{Talk, shared, text};

fn result(said: &str, details: serde_json::Value) -> serde_json::Value {
    json!({"content": [{"type": "text", "text": said}], "details": details})
}

#[test]
fn rm_1_a_thought_and_a_reply_under_one_message_id_are_both_kept() {
    let mut talk = Talk::with("omp");
    let chunk = |kind: &str, text: &str| json!({"sessionUpdate": kind, "messageId": "m", "content": {"type": "text", "text": text}});
    talk.prompt("Hi")
        .update(chunk("agent_thought_chunk", "Hm, "))
        .update(chunk("agent_message_chunk", "Hel"))
        .update(chunk("agent_thought_chunk", "well."))
        .update(chunk("agent_message_chunk", "lo"));
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        (rows.texts("reasoning"), rows.texts("assistant")),
        (vec!["Hm, well."], vec!["Hello"])
    );
}

#[test]
fn rm_2_exit_3_and_output_hi() {
    let mut talk = Talk::with("omp");
    let said = "hi\n\nWall time: 0.09 seconds\n\nCommand exited with code 3";
    let echo = json!({"type": "content", "content": {"type": "text", "text": "$ printf hi; exit 3"}});
    let told = json!({"type": "content", "content": {"type": "text", "text": said}});
    talk.prompt("Run")
        .tool("c", json!({"title": "$ printf hi; exit 3", "kind": "execute", "status": "pending", "content": [echo]}))
        .news("c", json!({"status": "failed", "content": [echo, told],
            "rawOutput": result(said, json!({"wallTimeMs": 87.6, "exitCode": 3}))}));
    let rows = talk.ends("end_turn").rows();
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["output"], &tool["exit_code"]),
        (&json!("failed"), &json!("hi"), &json!(3))
    );
    assert!(tool.get("content").is_none() && tool.get("result").is_none());
}

#[test]
fn rm_2_the_recording_says_the_same() {
    let Some(rows) = shared("omp", "orca/omp-v17-shell-exit-3.jsonl") else {
        return;
    };
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["output"], &tool["exit_code"]),
        (&json!("failed"), &json!("hi"), &json!(3))
    );
    let turn = rows.only("turn");
    assert_eq!(
        (&turn["end"], &turn["context"]["used"]),
        (&json!("completed"), &json!(18220))
    );
    // 18 459 + 49 + 17 920 = 36 428: the cached tokens are not in the input.
    assert_eq!(
        (&turn["usage"]["input_holds_cached"], &turn["usage"]["total"]),
        (&json!(false), &json!(36428))
    );
    assert_eq!(rows.of("assistant").len(), 1);
}

#[test]
fn rm_3_exit_0_is_read_from_a_wall_time_and_nothing_against_it() {
    let run = |details: serde_json::Value| {
        let mut talk = Talk::with("omp");
        talk.prompt("Run")
            .tool("c", json!({"title": "$ true", "kind": "execute"}))
            .news(
                "c",
                json!({"status": "completed", "content": text("ok"), "rawOutput": result("ok", details)}),
            );
        talk.ends("end_turn")
            .rows()
            .only("tool")
            .get("exit_code")
            .cloned()
    };
    assert_eq!(run(json!({"wallTimeMs": 5})), Some(json!(0)));
    assert_eq!(run(json!({})), None);
    for against in ["timedOut", "async", "service"] {
        assert_eq!(run(json!({"wallTimeMs": 5, against: true})), None, "{against}");
    }
    assert_eq!(run(json!({"wallTimeMs": 5, "signal": "SIGTERM"})), None);
    // What is null or false does not speak against it.
    assert_eq!(
        run(json!({"wallTimeMs": 5, "timedOut": false, "async": null, "signal": null})),
        Some(json!(0))
    );
}

#[test]
fn rm_4_a_tool_that_was_stopped_is_interrupted_and_has_no_output() {
    let mut talk = Talk::with("omp");
    talk.prompt("Run")
        .tool("c", json!({"title": "$ sleep 60", "kind": "execute", "status": "in_progress", "content": text("$ sleep 60")}))
        .stop();
    let rows = talk.ends("cancelled").rows();
    let tool = rows.only("tool");
    assert_eq!(tool["state"], "interrupted");
    assert!(tool.get("output").is_none() && tool.get("content").is_none());
}

#[test]
fn an_update_with_the_shared_fields_is_left_alone() {
    let mut talk = Talk::with("omp");
    talk.prompt("Run").tool("c", json!({"title": "x"})).news(
        "c",
        json!({"status": "completed", "rawOutput": {"stdout": "out", "exitCode": 4, "content": [{"type": "text", "text": "other"}]}}),
    );
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        (&rows.only("tool")["output"], &rows.only("tool")["exit_code"]),
        (&json!("out"), &json!(4))
    );
}

#[test]
fn nobody_signed_in_is_said_in_its_own_words() {
    let mut talk = Talk::with("omp");
    talk.prompt("Hi")
        .fails(json!({"code": -32603, "message": "Internal error",
        "data": {"details": "No model selected. Use /login first."}}));
    assert_eq!(
        talk.rows().only("status")["text"],
        "No model selected. Use /login first."
    );
}

#[test]
fn the_echo_in_a_permission_is_words_of_the_question() {
    let mut talk = Talk::with("omp");
    talk.prompt("Run")
        .permission(
            0,
            json!({"toolCallId": "c", "title": "printf hi", "content": text("$ printf hi")}),
        )
        .chooses(0, "once")
        .tool("c", json!({"title": "$ printf hi", "status": "pending"}));
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.only("request")["text"], "$ printf hi");
    assert!(rows.only("tool").get("content").is_none());
}

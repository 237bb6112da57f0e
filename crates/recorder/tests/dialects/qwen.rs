use serde_json::json;

use crate::talk::Talk;

#[test]
fn an_empty_chunk_tells_what_the_newest_call_was_given_and_splits_nothing() {
    let mut talk = Talk::with("qwen");
    talk.prompt("Hi")
        .says("One ")
        .update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""},
            "_meta": {"usage": {"inputTokens": 900, "outputTokens": 5, "totalTokens": 905}}}),
        )
        .says("two");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.texts("assistant"), ["One two"]);
    assert_eq!(rows.only("turn")["context"]["used"], 900);
}

#[test]
fn a_discrete_message_is_a_message_of_its_own() {
    let mut talk = Talk::with("qwen");
    talk.prompt("Hi").says("Reply").update(json!({"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "Background shell completed."}, "_meta": {"qwenDiscreteMessage": true}}));
    assert_eq!(
        talk.says("goes on").ends("end_turn").rows().texts("assistant"),
        ["Reply", "Background shell completed.", "goes on"]
    );
}

#[test]
fn requests_of_its_own_make_no_row_and_its_turns_end_by_its_word() {
    let mut talk = Talk::with("qwen");
    talk.prompt("Hi")
        .says("Hi")
        .ends("end_turn")
        .asks(0, "_qwencode/start_turn", json!({"sessionId": "s"}))
        .says("The command finished.")
        .notice("_qwencode/end_turn", json!({"sessionId": "s"}))
        .asks(1, "craft/drainMidTurnQueue", json!({"sessionId": "s"}))
        .notice(
            "qwen/notify/session/mode-update",
            json!({"sessionId": "s", "modeId": "plan"}),
        );
    let rows = talk.rows();
    assert!(rows.of("request").is_empty() && rows.of("unknown").is_empty());
    let turns = rows.of("turn");
    assert_eq!(
        (&turns[1]["origin"], &turns[1]["end"]),
        (&json!("agent"), &json!("completed"))
    );
    assert_eq!(rows.only("session")["mode"], "plan");
}

//! How turns end, and what prompts, stops and answers have to do with it.

use serde_json::{Value, json};

use crate::tape::*;

#[test]
fn turns_an_answer_without_a_stop_reason_is_unknown() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.answers(1, json!({}));
    t.shows(&["1 turn prompt unknown", "1 user accepted \"Go\""]);
}

#[test]
fn turns_two_prompts_at_once_answered_in_reverse() {
    let mut t = Tape::new();
    t.prompt(1, "One");
    t.prompt(2, "Two");
    t.says("one");
    t.ends(2, "end_turn");
    t.ends(1, "end_turn");
    let told = t.told(|t| t.ends(1, "refusal"));
    assert_eq!(told, ["answer-to-nothing"]);
    t.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "2 user accepted \"Two\"",
        "1 assistant \"one\"",
        "2 turn prompt completed",
    ]);
}

#[test]
fn turns_a_cancel_and_a_late_answer() {
    let mut t = Tape::new();
    t.prompt(1, "One");
    t.says("Half");
    t.cancel();
    t.says("More");
    t.prompt(2, "Two");
    let told = t.told(|t| t.ends(1, "end_turn"));
    assert_eq!(told, ["late-answer"]);
    t.ends(2, "end_turn");
    t.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"One\"",
        "1 assistant \"Half\"",
        "2 turn prompt completed",
        "2 user accepted \"Two\"",
    ]);
}

#[test]
fn turns_words_of_an_error_are_the_agents_and_never_the_protocols() {
    let cases: [(Value, &str); 15] = [
        (
            json!({"code": 1, "message": "Invalid request body"}),
            "Invalid request body",
        ),
        (
            json!({"code": -32603, "message": " Internal error. ", "data": {"message": " ", "detail": "Five"}}),
            "Five",
        ),
        (
            json!({"code": -32603, "message": "Internal error", "data": " "}),
            "The agent ended this turn with an error.",
        ),
        (
            json!({"code": -32603, "message": "Internal error"}),
            "The agent ended this turn with an error.",
        ),
        (
            json!({"code": -32700, "message": "Parse error"}),
            "The agent ended this turn with an error.",
        ),
        (
            json!({"code": -32600, "message": "INVALID REQUEST"}),
            "The agent ended this turn with an error.",
        ),
        (
            json!({"code": -32601, "message": "Method not found"}),
            "The agent ended this turn with an error.",
        ),
        (
            json!({"code": -32602, "message": "invalid params: no model"}),
            "no model",
        ),
        (
            json!({"code": -32603, "message": "Internal error", "data": "Out of credit"}),
            "Out of credit",
        ),
        (
            json!({"code": -32603, "message": "Internal error", "data": {"message": "One"}}),
            "One",
        ),
        (
            json!({"code": -32603, "message": "Internal error", "data": {"details": "Two", "error": "x"}}),
            "Two",
        ),
        (
            json!({"code": -32603, "message": "", "data": {"detail": "Three"}}),
            "Three",
        ),
        (
            json!({"code": -32603, "message": "", "data": {"error": "Four"}}),
            "Four",
        ),
        (
            json!({"code": -32603, "message": "Internal error", "data": {"error": {"deep": 1}}}),
            "The agent ended this turn with an error.",
        ),
        (
            json!({"code": 1, "message": "Overloaded", "data": {"message": "other"}}),
            "Overloaded",
        ),
    ];
    for (error, words) in cases {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.refuses(1, error.clone());
        t.shows(&[
            "1 turn prompt failed",
            "1 user accepted \"Go\"",
            &format!("1 status error {words:?}"),
        ]);
    }
}

#[test]
fn turns_an_error_that_is_no_error_has_no_words_of_the_agent() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.refuses(1, json!("broken"));
    t.shows(&[
        "1 turn prompt failed",
        "1 user accepted \"Go\"",
        "1 status error \"The agent ended this turn with an error.\"",
    ]);
}

#[test]
fn turns_an_answer_that_is_built_wrongly_fails_its_turn_at_once() {
    for answer in [
        json!({"jsonrpc": "2.0", "id": 1}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": "Both"}}),
    ] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.agent_sends(&answer);
        t.shows(&[
            "1 turn prompt failed",
            "1 user accepted \"Go\"",
            "1 status error \"The agent's answer could not be read.\"",
        ]);
        let told = t.told(|t| t.agent_sends(&answer));
        assert!(
            told[0].starts_with("envelope-"),
            "nobody waits for a second one: {told:?}"
        );
        t.prompt(2, "Next");
        t.ends(2, "end_turn");
    }
}

#[test]
fn turns_ids_are_matched_exactly() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    let told = t
        .told(|t| t.agent_sends(&json!({"jsonrpc": "2.0", "id": "1", "result": {"stopReason": "end_turn"}})));
    assert_eq!(told, ["answer-to-nothing"]);
    t.shows(&["1 turn prompt open", "1 user accepted \"Go\""]);
}

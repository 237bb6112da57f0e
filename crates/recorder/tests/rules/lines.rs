//! Lines that are no frame, and lines that are too long.

use serde_json::json;
use tapline_timeline::{Body, Kind};

use crate::tape::*;

#[test]
fn lines_that_are_no_frame_are_counted_and_skipped() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    for line in [
        "",
        "  ",
        "hello",
        "[1]",
        "42",
        "{\"id\":1}",
        "{\"jsonrpc\":\"1.0\",\"method\":\"x\"}",
        "{\"jsonrpc\":\"2.0\"}",
    ] {
        let told = t.told(|t| t.line(tapline_recorder::Direction::In, line));
        assert_eq!(told.len(), 1, "{line:?}: {told:?}");
    }
    t.ends(1, "end_turn");
    t.shows(&["1 turn prompt completed", "1 user accepted \"Go\""]);
}

#[test]
fn lines_too_long_are_told_and_whoever_waits_is_told() {
    let long = "x".repeat(17 << 20);
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(chunk("agent_message_chunk", None, &long));
    t.says("after it");
    t.agent_sends(&json!({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn", "more": long}}));
    let rows = t.all(Kind::Status);
    assert_eq!(rows.len(), 2);
    for (row, tone) in rows.iter().zip(["warning", "error"]) {
        assert!(
            matches!(&row.body, Body::Status(s) if s.tone.as_str() == tone && s.text.contains("too long to read")),
            "{row:?}"
        );
    }
    let failed = serde_json::to_value(rows[1]).expect("a row has a JSON form");
    assert_eq!(failed["detail"], json!({"source": "answer"}));
    t.prompt(2, "Still there?");
    t.ends(2, "end_turn");
    assert!(
        matches!(&t.all(Kind::Turn)[0].body, Body::Turn(turn) if turn.end.is_some_and(|e| e.as_str() == "failed"))
    );
    assert!(
        matches!(&t.all(Kind::Turn)[1].body, Body::Turn(turn) if turn.end.is_some_and(|e| e.as_str() == "completed"))
    );
}

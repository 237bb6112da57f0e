//! Tools: what they print, give and hold.

use serde_json::{Value, json};
use tapline_timeline::{Body, Kind, ToolItem};

use crate::tape::*;

#[test]
fn tools_terminal_answers_fill_the_tools_content() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "content": [{"type": "terminal", "terminalId": "t1"}]}));
    t.asks(
        1,
        "terminal/output",
        json!({"sessionId": "s1", "terminalId": "t1"}),
    );
    t.client_answers(
        1,
        json!({"output": "\u{1b}[1mone\u{1b}[0m\n", "truncated": false}),
    );
    t.asks(
        2,
        "terminal/wait_for_exit",
        json!({"sessionId": "s1", "terminalId": "t1"}),
    );
    t.client_answers(2, json!({"exitCode": 2}));
    t.tool("tool_call_update", "c1", "failed");
    let tool = t.the_tool();
    let ToolItem::Terminal(terminal) = &tool.content[0] else {
        panic!("a terminal")
    };
    assert_eq!(
        (terminal.output.as_str(), terminal.exit_code, tool.exit_code),
        ("one\n", Some(2), Some(2))
    );
}

#[test]
fn tools_bytes_never_stand_as_text() {
    let data =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    for raw in [json!(data), json!({"content": [{"deep": data}]})] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "status": "completed", "rawOutput": raw,
            "content": [{"type": "content", "content": {"type": "image", "mimeType": "image/png", "data": data}}]}));
        let tool = t.the_tool();
        assert!(
            matches!(&tool.content[0], ToolItem::Image(media) if media.bytes == Some(70) && media.blob.is_some())
        );
        assert_eq!((&tool.output, &tool.result), (&None, &None));
    }
}

#[test]
fn tools_output_that_stands_in_the_content_is_not_repeated() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "status": "completed", "rawOutput": "a\nb\n", "content": [text_item("a\nb")]}));
    assert_eq!(t.the_tool().output, None);
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c2", "status": "failed", "rawOutput": {"stdout": "out", "stderr": "err", "exitCode": 3}}));
    let Body::Tool(second) = &t.all(Kind::Tool)[1].body else {
        unreachable!()
    };
    assert_eq!(
        (second.output.as_deref(), second.exit_code),
        (Some("out\nerr"), Some(3))
    );
}

#[test]
fn tools_a_result_gives_its_streams_and_exit_code_or_is_kept_as_it_is() {
    for (raw, output, code, result) in [
        (
            json!({"stdout": "out", "exitCode": 0}),
            json!("out"),
            json!(0),
            Value::Null,
        ),
        (
            json!({"stdout": "", "stderr": "err", "exit_code": 3}),
            json!("err"),
            json!(3),
            Value::Null,
        ),
        (
            json!({"stdout": "", "exitCode": 4}),
            Value::Null,
            json!(4),
            json!({"stdout": "", "exitCode": 4}),
        ),
        (json!([1]), Value::Null, Value::Null, json!([1])),
        (json!(true), Value::Null, Value::Null, json!(true)),
    ] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "status": "completed", "rawOutput": raw}));
        let row = serde_json::to_value(t.the(Kind::Tool)).expect("a row has a JSON form");
        assert_eq!(
            (&row["output"], &row["exit_code"], &row["result"]["value"]),
            (&output, &code, &result),
            "{row}"
        );
    }
}

#[test]
fn tools_terminal_news_beside_a_tool_add_up_and_end_it() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "content": [{"type": "terminal", "terminalId": "t1"}]}));
    for meta in [
        json!({"terminal_output": {"terminal_id": "t1", "data": "one ", "exit_code": 9, "signal": "no"}}),
        json!({"terminal_output_delta": {"terminal_id": "t1", "data": "two"}, "other": {"terminal_id": "t1", "data": "no"}}),
        json!({"terminal_output": {"data": "nobody's"}}),
    ] {
        t.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "_meta": meta}));
    }
    let terminal = |t: &Tape| {
        let ToolItem::Terminal(terminal) = &t.the_tool().content[0] else {
            panic!("a terminal")
        };
        (
            terminal.output.clone(),
            terminal.exit_code,
            terminal.signal.clone(),
        )
    };
    // What it printed may wait until it is known to be no secret.
    let (_, code, signal) = terminal(&t);
    assert_eq!((code, signal), (None, None), "it has not ended");
    t.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed",
        "_meta": {"terminal_exit": {"terminal_id": "t1", "data": "no", "exit_code": 2, "signal": "TERM"}}}),
    );
    assert_eq!(
        terminal(&t),
        ("one two".to_owned(), Some(2), Some("TERM".to_owned()))
    );
}

#[test]
fn tools_nulls_change_nothing_and_a_broken_item_never_loses_the_list() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Look", "kind": "read", "status": "in_progress",
        "rawInput": {"a": 1}, "locations": [{"path": "a.txt"}, 7, {"line": 3}], "content": [3, text_item("kept"), {"type": "diff"}]}));
    t.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "title": null, "kind": null, "status": null,
        "rawInput": null, "content": null, "locations": null}));
    let tool = t.the_tool();
    assert_eq!(
        (tool.title.as_deref(), tool.state.as_str()),
        (Some("Look"), "running")
    );
    assert!(tool.input.is_some());
    assert!(
        tool.content.contains(&ToolItem::Text {
            text: "kept".to_owned()
        }),
        "{:?}",
        tool.content
    );
    assert_eq!(tool.locations.len(), 1);
}

//! Rules of the design that the translator keeps, each test named by its rule; those on updates of the session stand in
//! `updates.rs`.

use serde_json::{Value, json};
use tapline_timeline::{Body, Context, Kind, Part, SessionState, ToolItem};

use crate::tape::*;

fn permission(session: Option<&str>, call: &str) -> Value {
    let mut params = json!({"toolCall": {"toolCallId": call, "title": "Run it", "rawInput": {"command": "ls"}},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]});
    if let Some(session) = session {
        params["sessionId"] = session.into();
    }
    params
}

fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

// Turns

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

// Words

#[test]
fn words_a_user_chunk_is_an_echo_or_the_agents_own() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(chunk("user_message_chunk", None, "Go"));
    t.update(chunk("user_message_chunk", Some("m1"), "A task "));
    t.update(chunk("user_message_chunk", Some("m1"), "has ended"));
    t.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 user by agent \"A task has ended\"",
    ]);
}

#[test]
fn words_data_that_cannot_be_read_is_no_blob_and_has_the_size_it_would_have() {
    for (data, bytes, blob) in [("AAAA", 3, true), ("!!!!!!!!", 6, false)] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "mimeType": "image/png", "data": data}}),
        );
        let Body::Assistant(message) = &t.the(Kind::Assistant).body else {
            unreachable!()
        };
        let image = message.content.media().next();
        assert!(
            matches!(image, Some(Part::Image(media)) if media.bytes == Some(bytes) && media.blob.is_some() == blob
                && media.media_type.as_deref() == Some("image/png")),
            "{image:?}"
        );
    }
}

#[test]
fn words_files_are_called_what_their_uri_ends_with() {
    for (uri, name) in [
        ("file:///a/b.png", Some("b.png")),
        ("file:///a/b.png?size=1#top", Some("b.png")),
        ("data:image/png;base64,AAAA", None),
        ("file:///a/", None),
    ] {
        let mut t = Tape::new();
        let block =
            json!({"type": "resource", "resource": {"uri": uri, "text": "four", "mimeType": "text/plain"}});
        t.call(
            1,
            "session/prompt",
            json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "See "}, block]}),
        );
        let Body::User(user) = &t.the(Kind::User).body else {
            unreachable!()
        };
        let file = user.content.media().next();
        let file = serde_json::to_value(file).expect("a part has a JSON form");
        let mut expected =
            json!({"type": "file", "media_type": "text/plain", "uri": uri, "bytes": 4, "text": "four"});
        if let Some(name) = name {
            expected["name"] = json!(name);
        }
        assert_eq!(file, expected);
    }
}

// Tools and requests

#[test]
fn requests_with_an_id_that_is_open_are_the_first_ones_again() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.asks(7, "session/request_permission", permission(Some("s"), "a"));
    let told = t.told(|t| t.asks(7, "session/request_permission", permission(Some("s"), "b")));
    assert_eq!(told, ["request-doubled"]);
    t.client_answers(7, selected("y"));
    t.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 request permission allowed \"Run it\"",
    ]);
    // Once it is answered, or its turn is over, the id is free.
    t.asks(7, "session/request_permission", permission(Some("s"), "c"));
    t.ends(1, "end_turn");
    t.prompt(2, "Next");
    t.asks(7, "session/request_permission", permission(Some("s"), "d"));
    t.client_answers(7, selected("n"));
    let outcomes: Vec<String> = t
        .rows()
        .iter()
        .filter_map(|row| match &row.body {
            Body::Request(request) => request.outcome.map(|outcome| outcome.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, ["allowed", "cancelled", "rejected"]);
}

#[test]
fn requests_without_a_session_belong_to_the_one_that_runs() {
    let mut t = Tape::new();
    t.call(902, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.answers(902, json!({"sessionId": "s2"}));
    let told = t.told(|t| t.asks(1, "session/request_permission", permission(None, "c1")));
    assert_eq!(told, ["request-without-session"], "nothing runs");
    t.in_session("s2");
    t.prompt(5, "Go");
    t.asks(2, "session/request_permission", permission(None, "c1"));
    t.client_answers(2, selected("y"));
    t.in_session("s1");
    t.prompt(6, "Go too");
    let told = t.told(|t| t.asks(3, "session/request_permission", permission(None, "c1")));
    assert_eq!(told, ["request-without-session"], "two run");
    t.session_shows(
        1,
        &[
            "1 turn prompt open",
            "1 user accepted \"Go\"",
            "1 request permission allowed \"Run it\"",
        ],
    );
}

#[test]
fn requests_permission_then_tool_then_answer_in_any_order() {
    let steps: [fn(&mut Tape); 3] = [
        |t| t.asks(7, "session/request_permission", permission(Some("s1"), "c1")),
        |t| t.client_answers(7, selected("n")),
        |t| t.tool("tool_call_update", "c1", "failed"),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [2, 0, 1]] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        for step in order {
            steps[step](&mut t);
        }
        t.ends(1, "end_turn");
        assert_eq!(t.the_tool().state.as_str(), "rejected", "{order:?}");
        assert_eq!(t.the_tool().authorization.as_str(), "asked_rejected");
    }
}

#[test]
fn requests_asked_once_a_second_answer_changes_nothing() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.asks(7, "session/request_permission", permission(Some("s1"), "c1"));
    t.client_answers(7, selected("y"));
    let told = t.told(|t| t.client_answers(7, selected("n")));
    assert_eq!(told, ["answer-to-nothing"]);
    let Body::Request(request) = &t.the(Kind::Request).body else {
        unreachable!()
    };
    let answer = request.answer.as_ref().expect("an answer");
    assert_eq!(
        (answer.option.as_deref(), answer.by.as_deref()),
        (Some("y"), Some("client"))
    );
}

#[test]
fn requests_cancel_request_and_an_error_as_the_answer_settle_as_cancelled() {
    for by_error in [true, false] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.asks(7, "session/request_permission", permission(Some("s1"), "c1"));
        if by_error {
            t.client_sends(
                &json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32800, "message": "Cancelled"}}),
            );
        } else {
            t.notice("$/cancel_request", json!({"requestId": 7}));
            let told = t.told(|t| t.client_answers(7, selected("y")));
            assert_eq!(told, ["request-settled"], "a late answer changes nothing");
        }
        t.shows(&[
            "1 turn prompt open",
            "1 user accepted \"Go\"",
            "1 request permission cancelled \"Run it\"",
        ]);
    }
}

#[test]
fn requests_an_elicitation_is_a_question_with_its_answers() {
    for (action, outcome) in [
        ("accept", "answered"),
        ("decline", "rejected"),
        ("cancel", "cancelled"),
    ] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.asks(7, "elicitation/create", json!({"sessionId": "s1", "mode": "form", "message": "Which colour?", "requestedSchema":
            {"type": "object", "properties": {"colour": {"type": "string", "title": "Colour", "enum": ["red", "blue"]}}}}));
        t.client_answers(7, json!({"action": action, "content": {"colour": "blue"}}));
        t.shows(&[
            "1 turn prompt open",
            "1 user accepted \"Go\"",
            &format!("1 request question {outcome}"),
        ]);
        let Body::Request(request) = &t.the(Kind::Request).body else {
            unreachable!()
        };
        assert_eq!(request.text.as_deref(), Some("Which colour?"));
        assert_eq!(request.questions[0].options.len(), 2);
        let given = request
            .answer
            .as_ref()
            .and_then(|a| a.answers.first())
            .and_then(|a| a.text.as_deref());
        assert_eq!(given, (action == "accept").then_some("blue"));
    }
}

#[test]
fn requests_a_question_is_asked_in_its_own_words_and_answered_in_the_clients() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.asks(
        7,
        "elicitation/create",
        json!({"sessionId": "s1", "message": "Some things", "url": "https://example.org/ask",
        "requestedSchema": {"type": "object", "title": "A form", "properties": {
            "both": {"type": "string", "title": "Name", "description": "as written"},
            "one": {"type": "boolean", "description": "Sure?"},
            "bare": {"type": "integer"},
            "many": {"type": "array", "title": "Which", "items": {"enum": ["a", "b", "c"]}},
            "left": {"type": "string", "title": "Left out"}}}}),
    );
    t.client_answers(
        7,
        json!({"action": "accept", "content":
        {"both": "Ada", "one": true, "bare": 7, "many": ["a", "c"], "left": null}}),
    );
    let row = serde_json::to_value(t.the(Kind::Request)).expect("a row has a JSON form");
    assert_eq!(
        (&row["title"], &row["text"]),
        (&json!("A form"), &json!("Some things\nhttps://example.org/ask"))
    );
    let list = |of: &Value, read: fn(&Value) -> String| -> Vec<String> {
        of.as_array().into_iter().flatten().map(read).collect()
    };
    let text = |q: &Value| format!("{}={}/{}", q["id"], q["text"], q["multiple"] == true);
    assert_eq!(
        list(&row["questions"], text),
        [
            r#""both"="Name: as written"/false"#,
            r#""one"="Sure?"/false"#,
            r#""bare"="bare"/false"#,
            r#""many"="Which"/true"#,
            r#""left"="Left out"/false"#
        ]
    );
    let given = |a: &Value| format!("{}={}{}", a["question"], a["text"], a["options"]);
    assert_eq!(
        list(&row["answer"]["answers"], given),
        [
            r#""both"="Ada"null"#,
            r#""one"="true"null"#,
            r#""bare"="7"null"#,
            r#""many"=null["a","c"]"#
        ]
    );
}

#[test]
fn requests_a_permission_ends_as_the_kind_of_the_chosen_option_says() {
    let chosen = |option: &str| json!({"outcome": {"outcome": "selected", "optionId": option}});
    for (result, outcome) in [
        (chosen("once"), "allowed"),
        (chosen("always"), "allowed"),
        (chosen("never"), "rejected"),
        (chosen("other"), "answered"),
        (chosen("bare"), "answered"),
        (chosen("nobody offered it"), "answered"),
        (json!({"outcome": {"outcome": "cancelled"}}), "cancelled"),
        (json!({}), "cancelled"),
    ] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.asks(7, "session/request_permission", json!({"sessionId": "s1", "toolCall": {"toolCallId": "c1"}, "options": [
            {"optionId": "once", "name": "Yes", "kind": "allow_once"}, {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "never", "name": "Never", "kind": "reject_always"}, {"optionId": "other", "name": "Perhaps", "kind": "perhaps"},
            {"optionId": "bare", "name": "Bare"}]}));
        t.client_answers(7, result.clone());
        t.shows(&[
            "1 turn prompt open",
            "1 user accepted \"Go\"",
            &format!("1 request permission {outcome}"),
        ]);
    }
}

#[test]
fn requests_for_files_terminals_and_what_nobody_knows_make_no_row() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    let told = t.told(|t| t.asks(1, "fs/read_text_file", json!({"sessionId": "s1", "path": "/a"})));
    assert_eq!(told, ["client-service"]);
    t.client_answers(1, json!({"content": "x"}));
    let told = t.told(|t| t.asks(2, "terminal/create", json!({"sessionId": "s1", "command": "ls"})));
    assert_eq!(told, ["client-service"]);
    t.client_answers(2, json!({"terminalId": "t1"}));
    let told = t.told(|t| t.asks(3, "_vendor/thing", json!({"sessionId": "s1"})));
    assert_eq!(told, ["unknown-request"]);
    t.client_sends(
        &json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "Method not found"}}),
    );
    t.shows(&["1 turn prompt open", "1 user accepted \"Go\""]);
}

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

// History

fn loading(t: &mut Tape) {
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    t.call(
        1,
        "session/load",
        json!({"sessionId": "s1", "cwd": "/p", "mcpServers": []}),
    );
}

#[test]
fn history_a_failed_load_leaves_one_warning_and_a_new_session_carries_it_on() {
    let mut t = Tape::bare();
    loading(&mut t);
    t.refuses(1, json!({"code": -32603, "message": "No such session"}));
    t.call(2, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.answers(2, json!({"sessionId": "fresh"}));
    t.in_session("fresh");
    t.prompt(3, "Go");
    t.ends(3, "end_turn");
    t.shows(&[
        "- status warning \"No such session\"",
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
    ]);
    assert_eq!(t.timelines().len(), 1, "it is the same session of ours");
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(session.provider_session.as_deref(), Some("fresh"));
}

#[test]
fn history_sessions_that_could_not_be_loaded_end_with_their_connection() {
    let mut t = Tape::bare();
    loading(&mut t);
    t.refuses(1, json!({"code": -32603, "message": "No such session"}));
    t.call(
        2,
        "session/load",
        json!({"sessionId": "s2", "cwd": "/p", "mcpServers": []}),
    );
    t.refuses(2, json!({"code": -32603, "message": "Nor that"}));
    t.recorder.exit("", Some(0), None, None);
    t.close();
    t.shows(&["- status warning \"No such session\""]);
    t.session_shows(1, &["- status warning \"Nor that\""]);
    assert_eq!(t.timelines().len(), 2, "no session is made up beside them");
    for timeline in t.timelines() {
        assert_eq!(timeline.session().map(|s| s.state), Some(SessionState::Ended));
    }
}

#[test]
fn history_a_session_whose_id_the_agent_gives_anew_ends() {
    let mut t = Tape::bare();
    t.prompt(1, "Before it was there");
    t.set_up(None, "s1");
    t.shows(&["1 turn prompt cut", "1 user accepted \"Before it was there\""]);
    assert_eq!(t.timelines().len(), 2);
}

#[test]
fn history_a_fork_is_a_session_of_its_own_under_the_one_it_came_from() {
    let mut t = Tape::new();
    t.call(
        2,
        "session/fork",
        json!({"sessionId": "s1", "cwd": "/other", "mcpServers": []}),
    );
    t.answers(2, json!({"sessionId": "s2"}));
    let sessions: Vec<_> = t.timelines().iter().filter_map(|t| t.session()).collect();
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        (sessions[1].parent.as_ref(), sessions[1].cwd.as_deref()),
        (Some(&sessions[0].id), Some("/other"))
    );
    assert_eq!(sessions[0].parent, None);
}

#[test]
fn history_replayed_twice_stays_silent() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(chunk("agent_message_chunk", Some("m1"), "Hello"));
    t.tool("tool_call", "c1", "completed");
    t.ends(1, "end_turn");
    let rows = t.timelines()[0].rows().to_vec();
    for id in [10, 11] {
        t.call(
            id,
            "session/load",
            json!({"sessionId": "s1", "cwd": "/p", "mcpServers": []}),
        );
        t.update(chunk("user_message_chunk", None, "Go"));
        t.update(chunk("agent_message_chunk", Some("m1"), "Hello"));
        t.tool("tool_call", "c1", "failed");
        t.update(json!({"sessionUpdate": "usage_update", "used": id, "size": 100}));
        t.answers(id, json!({}));
    }
    assert_eq!(t.timelines()[0].rows(), rows, "replay-silent");
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(
        session.context,
        Some(Context {
            used: Some(11),
            size: Some(100)
        })
    );
}

#[test]
fn history_a_session_that_was_never_given_still_holds_what_went_wrong() {
    let mut t = Tape::bare();
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.recorder.stderr("", "no such key", None);
    t.recorder.exit("", Some(1), None, None);
    t.close();
    t.shows(&["- status error \"The agent could not be started: its process ended with exit \"…"]);
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(
        (session.state, &session.provider_session),
        (SessionState::Ended, &None)
    );
    let Body::Status(status) = &t.the(Kind::Status).body else {
        unreachable!()
    };
    assert!(status.text.contains("no such key"), "{}", status.text);
}

#[test]
fn history_a_refused_session_is_told_in_the_agents_words() {
    let mut t = Tape::bare();
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    t.call(1, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.refuses(
        1,
        json!({"code": -32000, "message": "Authentication required: run login"}),
    );
    t.shows(&["- status error \"Authentication required: run login\""]);
}

#[test]
fn history_an_error_that_is_null_is_an_error_of_which_nothing_is_known() {
    let mut t = Tape::bare();
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    t.call(1, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.refuses(1, json!(null));
    t.shows(&["- status error \"The agent refused a session with an error.\""]);
    let row = t.the(Kind::Status);
    let written = serde_json::to_value(row).expect("a row has a JSON form");
    assert_eq!(
        written["detail"],
        json!({"source": "session/new"}),
        "a `null` in it would not be read again"
    );
}

#[test]
fn history_frames_of_an_unknown_session_are_held_until_it_is_explained() {
    let mut t = Tape::new();
    t.update_of("child", chunk("agent_message_chunk", None, "Early words"));
    t.update(json!({"sessionUpdate": "subagent_update", "sessionId": "child", "title": "Reviewer", "state": "running"}));
    t.update_of("child", chunk("agent_message_chunk", None, " and more"));
    t.update(json!({"sessionUpdate": "subagent_update", "sessionId": "child", "state": {"state": "idle", "stopReason": "end_turn"}}));
    t.shows(&["- helper completed \"Reviewer\""]);
    t.session_shows(
        1,
        &["1 turn agent completed", "1 assistant \"Early words and more\""],
    );
    let child = t.timelines()[1].session().expect("a session").clone();
    assert_eq!(
        child.parent,
        Some(t.timelines()[0].session().expect("a session").id.clone())
    );
    assert!(matches!(&t.the(Kind::Helper).body, Body::Helper(h) if h.child == Some(child.id)));
}

// Lines

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

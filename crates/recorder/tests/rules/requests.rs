//! What the agent asks: permissions, questions, services of the client.

use serde_json::{Value, json};
use tapline_timeline::{Body, Kind};

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

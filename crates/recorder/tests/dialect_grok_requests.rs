//! Grok: questions, plans, permissions, and the replies in the shapes that Grok reads (GD-1 to GD-3, RV-3).
#![allow(clippy::unwrap_used)] // It is all test code.

mod common;

use serde_json::{Value, json};
use tapline_timeline::{Answer, QuestionAnswer};
use tapline_translate::{Reply, dialects};
use tapline_wire::{OwnedRawValue, RawValue};

use common::grok::{S, Talk};

const METHODS: [&str; 2] = ["_x.ai/ask_user_question", "x.ai/ask_user_question"];
const PLANS: [&str; 2] = ["_x.ai/exit_plan_mode", "x.ai/exit_plan_mode"];

fn raw(value: &Value) -> OwnedRawValue {
    RawValue::parse(&value.to_string()).unwrap().to_owned()
}

fn reply(method: &str, params: &Value, answer: Option<&Answer>) -> Reply {
    dialects::by_name("grok")
        .unwrap()
        .reply(method, &raw(params), answer)
        .unwrap()
}

fn question() -> Value {
    json!({"sessionId": S, "toolCallId": "c1", "mode": "default", "questions": [
        {"question": "Which style?", "options": [{"label": "Formal"}, {"label": "Casual"}], "multiSelect": null}]})
}

fn two_questions() -> Value {
    json!({"sessionId": S, "toolCallId": "c1", "questions": [
        {"question": "Which style?", "options": [{"label": "Formal"}, {"label": "Casual"}]},
        {"question": "Which files?", "options": [{"label": "a"}, {"label": "b"}, {"label": "c"}], "multiSelect": true}]})
}

fn answer(of: &[(&str, &[&str], Option<&str>)]) -> Answer {
    let answers = of.iter().map(|(question, options, text)| QuestionAnswer {
        question: (*question).to_owned(),
        options: options.iter().map(|o| (*o).to_owned()).collect(),
        text: text.map(str::to_owned),
    });
    Answer {
        answers: answers.collect(),
        ..Answer::default()
    }
}

#[test]
fn gd_1_a_permission_keeps_the_agents_own_labels() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.announces("p1", "c1", "write", json!({}));
    talk.asks_permission(0, S, "c1").chooses(0, "always-allow");
    talk.asks_permission(1, S, "c1")
        .replies(1, json!({"outcome": {"outcome": "cancelled"}}));
    talk.asks_permission(2, S, "c1");
    talk.stop().answers(prompt, "cancelled");
    let told = talk.told();
    let labels: Vec<&Value> = told.of("request")[0]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| &o["label"])
        .collect();
    assert_eq!(labels, ["Yes, always", "Yes, proceed", "No, tell Grok"]);
    assert_eq!(
        told.all("request", "outcome"),
        ["allowed", "cancelled", "cancelled"]
    );
}

#[test]
fn two_open_permissions_answered_in_reverse_order() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.announces("p1", "c1", "write", json!({}))
        .announces("p1", "c2", "write", json!({}));
    talk.asks_permission(0, S, "c1").asks_permission(1, S, "c2");
    talk.chooses(1, "reject-once").chooses(0, "allow-once");
    let end = |call: &str, status: &str| json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status});
    talk.tool("p1", end("c2", "failed"))
        .tool("p1", end("c1", "completed"));
    talk.answers(prompt, "end_turn");
    let told = talk.told();
    assert_eq!(told.all("request", "outcome"), ["allowed", "rejected"]);
    assert_eq!(told.all("tool", "state"), ["completed", "rejected"]);
    assert_eq!(
        told.all("tool", "authorization"),
        ["asked_allowed", "asked_rejected"]
    );
}

#[test]
fn gd_2_the_replies_to_questions() {
    let one = [
        (
            Some(answer(&[("Which style?", &["Casual"], None)])),
            json!({"outcome": "accepted", "answers": {"Which style?": "Casual"}}),
        ),
        (
            Some(answer(&[("Which style?", &[], Some("Like a pirate"))])),
            json!({"outcome": "accepted", "answers": {"Which style?": "Other"}, "annotations": {"Which style?": {"notes": "Like a pirate"}}}),
        ),
        (
            Some(answer(&[("Which style?", &["Casual"], Some("but short"))])),
            json!({"outcome": "accepted", "answers": {"Which style?": "Casual"}, "annotations": {"Which style?": {"notes": "but short"}}}),
        ),
        (None, json!({"outcome": "cancelled"})),
    ];
    for method in METHODS {
        for (given, want) in &one {
            assert_eq!(
                reply(method, &question(), given.as_ref()),
                Reply::Result(want.clone())
            );
        }
        let several = answer(&[
            ("Which files?", &["a", "c"], None),
            ("Which style?", &["Formal"], None),
        ]);
        let want =
            json!({"outcome": "accepted", "answers": {"Which style?": "Formal", "Which files?": ["a", "c"]}});
        assert_eq!(
            reply(method, &two_questions(), Some(&several)),
            Reply::Result(want)
        );
    }
}

#[test]
fn gd_2b_an_answer_that_does_not_fit_leaves_the_question_open() {
    let wrong = [
        answer(&[]),
        answer(&[("Which style?", &[], None)]),
        answer(&[("Which style?", &["Formal", "Casual"], None)]),
        answer(&[("Which style?", &["Purple"], None)]),
        answer(&[("Another question?", &["Formal"], None)]),
    ];
    for given in wrong {
        let Reply::Invalid(sentence) = reply(METHODS[0], &question(), Some(&given)) else {
            panic!("{given:?} was taken");
        };
        assert!(
            sentence.contains("Which style?") && sentence.ends_with('.'),
            "{sentence}"
        );
    }
}

#[test]
fn gd_2c_a_request_that_nobody_can_answer_is_a_fault() {
    let broken = [
        json!({"toolCallId": "c1", "questions": [{"question": "?"}]}),
        json!({"sessionId": S, "questions": [{"question": "?"}]}),
        json!({"sessionId": S, "toolCallId": "c1"}),
        json!({"sessionId": S, "toolCallId": "c1", "questions": []}),
        json!({"sessionId": S, "toolCallId": "c1", "questions": [{"question": "  "}, 7]}),
    ];
    for params in broken {
        assert!(
            matches!(reply(METHODS[0], &params, None), Reply::Fault(_)),
            "{params}"
        );
        let mut talk = Talk::new();
        talk.prompt("p1");
        talk.asks(0, METHODS[0], params.clone());
        assert!(talk.told().of("request").is_empty(), "{params}");
    }
    assert!(matches!(
        reply(PLANS[0], &json!({"sessionId": S}), None),
        Reply::Fault(_)
    ));
    assert!(
        dialects::by_name("grok")
            .unwrap()
            .reply("_x.ai/another", &raw(&json!({})), None)
            .is_none()
    );
}

#[test]
fn gd_2d_what_the_clients_answer_says() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    for (n, method) in METHODS.into_iter().enumerate() {
        talk.asks(n as u64, method, two_questions());
        talk.replies(
            n as u64,
            json!({"outcome": "accepted", "answers": {"Which style?": "Other", "Which files?": ["a", "c"]},
                "annotations": {"Which style?": {"notes": "Like a pirate"}}}),
        );
    }
    talk.asks(7, METHODS[0], question())
        .replies(7, json!({"outcome": "cancelled"}));
    talk.asks(8, METHODS[0], question())
        .replies(8, json!({"outcome": "skip_interview", "partial_answers": {}}));
    talk.answers(prompt, "end_turn");
    let told = talk.told();
    assert_eq!(
        told.all("request", "outcome"),
        ["answered", "answered", "cancelled", "rejected"]
    );
    for request in &told.of("request")[..2] {
        assert_eq!(
            request["answer"]["answers"],
            json!([{"question": "Which style?", "text": "Like a pirate"}, {"question": "Which files?", "options": ["a", "c"]}])
        );
        assert_eq!(request["questions"][1]["multiple"], true);
    }
}

#[test]
fn gd_3_the_replies_to_a_plan() {
    let params = json!({"sessionId": S, "toolCallId": "c1", "planContent": "# Plan"});
    let says = |option: &str| Answer {
        option: Some(option.to_owned()),
        ..Answer::default()
    };
    for method in PLANS {
        for option in ["approved", "cancelled", "abandoned"] {
            assert_eq!(
                reply(method, &params, Some(&says(option))),
                Reply::Result(json!({"outcome": option}))
            );
        }
        assert_eq!(
            reply(method, &params, None),
            Reply::Result(json!({"outcome": "abandoned"}))
        );
        assert!(matches!(
            reply(method, &params, Some(&says("maybe"))),
            Reply::Invalid(_)
        ));
    }
    let feedback = Answer {
        option: Some("cancelled".to_owned()),
        ..answer(&[("feedback", &[], Some("smaller steps"))])
    };
    let want = json!({"outcome": "cancelled", "feedback": "smaller steps"});
    assert_eq!(reply(PLANS[0], &params, Some(&feedback)), Reply::Result(want));
}

#[test]
fn rv_3_a_plan_request_shows_the_plan_or_says_that_there_is_none() {
    for method in PLANS {
        for plan in [json!(""), json!(null), json!("# Plan")] {
            let mut talk = Talk::new();
            let prompt = talk.prompt("p1");
            talk.announces("p1", "c1", "exit_plan_mode", json!({}));
            talk.asks(
                0,
                method,
                json!({"sessionId": S, "toolCallId": "c1", "planContent": plan}),
            );
            talk.replies(0, json!({"outcome": "cancelled", "feedback": "smaller steps"}))
                .answers(prompt, "end_turn");
            let told = talk.told();
            let request = told.one("request");
            let text = plan
                .as_str()
                .filter(|p| !p.is_empty())
                .unwrap_or("The agent asks to leave plan mode; it wrote no plan.");
            assert_eq!(
                (&request["ask"], &request["text"]),
                (&json!("plan"), &json!(text))
            );
            assert_eq!(
                (&request["outcome"], &request["tool"]),
                (&json!("rejected"), &told.one("tool")["id"])
            );
            assert_eq!(
                request["answer"]["answers"],
                json!([{"question": "feedback", "text": "smaller steps"}])
            );
        }
    }
}

#[test]
fn a_clients_error_cancels_a_request() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.asks(0, METHODS[0], question());
    talk.lines.push(common::out(
        json!({"id": 0, "error": {"code": -32601, "message": "Method not found"}}),
    ));
    talk.answers(prompt, "end_turn");
    assert_eq!(talk.told().one("request")["outcome"], "cancelled");
}

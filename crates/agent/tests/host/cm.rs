//! CM: permissions that are not as the book has them.

use serde_json::json;
use tapline_agent::host::{Judge, Verdict};
use tapline_timeline::{Body, End, Kind, Outcome, Request, Row, Tool};

use crate::rig::{Rig, ends};

fn request(row: &Row) -> &Request {
    match &row.body {
        Body::Request(request) => request,
        _ => panic!("no request"),
    }
}

/// Kinds of options that nobody knows yet are shown as they are, and can be chosen.
#[test]
fn cm_1_newer_kinds_of_options_are_unchanged() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ permission = { tool = { id = "t", title = "Do it" }, options = [{ id = "s", name = "This session", kind = "allow_session" }, { id = "n", name = "No", kind = "reject_once" }], allow = [{ text = "Allowed." }] } }]"#,
    );
    chat.prompt("go");
    let row = chat.request();
    let kinds: Vec<_> = request(&row).options.iter().map(|o| o.kind.as_deref()).collect();
    assert_eq!(kinds, [Some("allow_session"), Some("reject_once")]);
    chat.outcome(chat.answer(&row, "s"));
    chat.says("Allowed.");
    assert!(
        chat.sent()
            .iter()
            .any(|f| f["result"]["outcome"]["optionId"] == "s")
    );
    chat.close();
}

/// What cannot be read of a permission is left out; it is asked all the same, and answered in the agent's own words.
#[test]
fn cm_2_unreadable_members_are_left_out() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; mine=$id
        request 7 session/request_permission '{"sessionId":"s","toolCall":{"toolCallId":"t9","title":"Write notes","kind":"edit","status":3,"content":[{"type":"mystery"}]},"options":[{"optionId":"yes","kind":"allow_once"},{"name":"no id"}]}'
        until_heard '"id":7'; done_with $mine; until_heard nothing"#,
    );
    let sent = chat.prompt("go");
    let row = chat.request();
    let asked = request(&row);
    assert_eq!(asked.title.as_deref(), Some("Write notes"));
    assert_eq!(asked.options.len(), 1);
    assert_eq!(
        (asked.options[0].id.as_str(), asked.options[0].label.as_deref()),
        ("yes", Some("yes"))
    );
    chat.outcome(chat.answer(&row, "yes"));
    assert_eq!(
        chat.reply(&json!(7))["result"],
        json!({"outcome": {"outcome": "selected", "optionId": "yes"}})
    );
    chat.outcome(sent);
    chat.close();
}

/// Decides nonsense.
struct Fool;

impl Judge for Fool {
    fn decide(&self, _: &Row, _: &Request, _: Option<&Tool>) -> Verdict {
        Verdict::Choose {
            option: "whatever".to_owned(),
            by: "a fool".to_owned(),
        }
    }
}

/// A judge that decides what the agent does not offer has decided nothing: it is answered as put away, and the row says by whom.
#[test]
fn cm_3_a_judge_that_decides_nonsense_cancels() {
    let rig = Rig::new();
    let mut options = rig.options(
        r#"[[turn]]
steps = [{ permission = { tool = { id = "t", title = "Do it" }, allow = [{ text = "Allowed." }], cancelled = [{ text = "Put away." }] } }]"#,
    );
    options.judge = Box::new(Fool);
    let chat = rig.begin(options).expect("it begins");
    chat.ask("go");
    chat.says("Put away.");
    let rows = chat.rows();
    let row = rows
        .iter()
        .find(|row| row.kind() == Kind::Request)
        .expect("a row");
    let settled = request(row);
    assert_eq!(settled.outcome, Some(Outcome::Cancelled));
    assert_eq!(
        settled.answer.as_ref().and_then(|a| a.by.as_deref()),
        Some("a fool")
    );
    chat.close();
}

/// A question that stands when its turn is stopped is put away in its own form, and whoever answers later is told.
#[test]
fn cm_4_a_question_is_put_away_by_a_stop() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ question = { message = "Which?", options = ["a", "b"], accept = [{ text = "You chose {{answer}}." }] } }]"#,
    );
    chat.prompt("go");
    let row = chat.request();
    assert!(chat.outcome(chat.stop())["stopped"].is_string());
    chat.until_sent("the answer", |frame| frame["result"]["action"] == "cancel");
    let late = chat.post(
        tapline_agent::host::intent::ANSWER,
        json!({"request": row.id, "answers": [{"question": "answer", "options": ["a"]}]}),
    );
    let late = chat.outcome(late);
    assert!(
        late["error"].as_str().is_some_and(|e| e.contains("cancelled")),
        "{late}"
    );
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped)]);
    chat.close();
}

/// A permission that comes while no prompt of ours runs is answered at once as put away, since nobody waits for it (Orca leaves it
/// with its owner); its row says so.
#[test]
fn cm_5_a_permission_outside_a_prompt_is_put_away() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; text "On my own."; permission '"p"' t1; until_heard '"p"'; : > told; until_heard nothing"#,
    );
    assert_eq!(
        chat.reply(&json!("p"))["result"]["outcome"]["outcome"],
        "cancelled"
    );
    crate::raw::until_file(&rig.cwd().join("told"));
    let row = chat.until("a row", |rows| {
        rows.iter().find(|row| row.kind() == Kind::Request).cloned()
    });
    let settled = request(&row);
    assert_eq!(settled.outcome, Some(Outcome::Cancelled));
    let by = settled.answer.as_ref().and_then(|a| a.by.as_deref());
    assert_eq!(by, Some("tapline: no prompt is running"));
    chat.close();
}

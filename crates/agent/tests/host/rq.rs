//! RQ: questions are for a person who waits.

use tapline_timeline::{Body, Kind, Outcome, RequestState};

use crate::rig::{Chat, Rig, request_of};
use crate::wire::{answers, place, tape};

const SCENARIO: &str = r#"
[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "ask"
steps = [{ question = { message = "Which one?", options = ["red", "blue"], accept = [{ text = "Then {{answer}}." }] } }]

[[turn]]
when = "persist"
steps = [
  { permission = { tool = { id = "rm-1", title = "Remove it" }, cancelled = [
    { question = { message = "Are you sure?", options = ["yes", "no"], cancel = [{ thought = "No word." }] } },
  ] } },
]

[[turn]]
when = "later"
steps = [
  { answer = "end_turn" }, { text = "On my own." },
  { question = { message = "Which one?", options = ["red", "blue"], cancel = [{ text = "Nobody said." }] } },
]

[[turn]]
when = "quietly"
steps = [
  { answer = "end_turn" },
  { question = { message = "Which one?", options = ["red", "blue"], cancel = [{ text = "Nobody said." }] } },
]
"#;

const GROK: &str = r#"
[agent]
name = "grok"
title = "Grok"
version = "0.2"

[[turn]]
steps = [
  { answer = "end_turn" }, { text = "On my own." },
  { ask = { method = "x.ai/ask_user_question", params = { sessionId = "{{session}}", toolCallId = "q-1", questions = [{ question = "Which one?", options = [{ label = "red" }, { label = "blue" }] }] } } },
  { ask = { method = "x.ai/exit_plan_mode", params = { sessionId = "{{session}}", toolCallId = "plan-1", planContent = "Do it." } } },
]
"#;

/// Every question of the session was answered as put away, so many there are.
fn all_put_away(chat: &Chat, count: usize) {
    let tape = tape(&*chat.journal, &chat.id);
    let answers = answers(&tape, "elicitation/create");
    assert_eq!(answers.len(), count);
    for (_, answer) in &answers {
        assert_eq!(answer["result"]["action"], "cancel");
    }
}

/// A question stands in the timeline and waits; a stop puts it away.
#[test]
fn rq_1_a_question_waits_and_is_put_away_by_a_stop() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("ask");
    let request = chat.request();
    let Body::Request(asked) = &request.body else {
        panic!("a request")
    };
    assert_eq!(asked.questions[0].options.len(), 2);
    chat.outcome(chat.stop());
    assert_eq!(request_of(&*rig.journal, &request.id).1, Some(Outcome::Cancelled));
    all_put_away(&chat, 1);
    chat.close();
}

/// A prompt that steers puts away what the turn it ends has asked, before it goes out.
#[test]
fn rq_2_a_question_is_put_away_by_a_steer() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("ask");
    let request = chat.request();
    chat.outcome(chat.steer("hello"));
    chat.says("Hi there.");
    assert_eq!(request_of(&*rig.journal, &request.id).1, Some(Outcome::Cancelled));
    all_put_away(&chat, 1);
    let tape = tape(&*rig.journal, &chat.id);
    let answered = answers(&tape, "elicitation/create")[0].0;
    assert!(place(&tape, "session/cancel", 0) < answered);
    assert!(answered < place(&tape, "session/prompt", 1));
    chat.close();
}

/// What an agent asks after it was told to stop is put away at once.
#[test]
fn rq_3_a_question_after_a_stop_is_put_away_at_once() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("persist");
    chat.request();
    let stopped = chat.outcome(chat.stop());
    assert!(
        stopped["stopped"].is_string() && stopped.get("process_ended").is_none(),
        "{stopped}"
    );
    all_put_away(&chat, 1);
    chat.close();
}

/// What an agent asks while its turn makes way for a prompt that steers is put away at once.
#[test]
fn rq_4_a_question_during_a_steer_is_put_away_at_once() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("persist");
    chat.request();
    chat.outcome(chat.steer("hello"));
    chat.says("Hi there.");
    all_put_away(&chat, 1);
    chat.close();
}

/// In a turn that the agent began itself a question and a plan are both put away at once; both stand in that turn.
/// (Orca shows the plan only. Here every request has a row.)
#[test]
fn rq_5_in_the_agents_own_turn_questions_and_plans_are_put_away_and_shown() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.ask("later");
    chat.says("Nobody said.");
    all_put_away(&chat, 1);
    chat.close();

    let rig = Rig::new();
    let chat = rig.start(GROK);
    chat.ask("go");
    chat.says("exit_plan_mode: {\"outcome\":\"abandoned\"}");
    chat.says("ask_user_question: {\"outcome\":\"cancelled\"}");
    let rows = chat.rows();
    let own = rows.iter().rfind(|row| row.kind() == Kind::Turn).expect("a turn");
    let requests: Vec<_> = rows.iter().filter(|row| row.kind() == Kind::Request).collect();
    assert_eq!(requests.len(), 2, "{}", chat.told());
    for request in requests {
        assert_eq!(request.turn.as_ref(), Some(&own.id));
        assert_eq!(request_of(&*rig.journal, &request.id).0, RequestState::Settled);
    }
    chat.close();
}

/// A question with no turn at all is put away at once.
#[test]
fn rq_6_a_question_without_a_turn_is_put_away_at_once() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.ask("quietly");
    chat.says("Nobody said.");
    all_put_away(&chat, 1);
    let rows = chat.rows();
    let waits = |row: &&std::sync::Arc<tapline_timeline::Row>| matches!(&row.body, Body::Request(r) if r.state == RequestState::Pending);
    assert_eq!(rows.iter().filter(waits).count(), 0);
    chat.close();
}

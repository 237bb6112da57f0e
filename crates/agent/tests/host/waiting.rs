//! Intents: from anywhere, changed while they wait, and never acted on twice.

use std::sync::Arc;

use serde_json::json;
use tapline_agent::host::intent;
use tapline_journal::{Error, IntentState, Journal, Window};
use tapline_timeline::{Body, Delivery, End, Json, Kind, ToolState};

use crate::process::{HostProcess, Poster};
use crate::rig::{Chat, LONG, Rig, ends, find, texts};
use crate::wire::{calls, tape};

const SCENARIO: &str = r#"
[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "edit"
steps = [
  { tool = { id = "edit-1", title = "Edit a.txt", kind = "edit" } },
  { permission = { tool = "edit-1", allow = [{ finish = "edit-1" }, { text = "Edited." }] } },
]

[[turn]]
when = "wait"
steps = [{ text = "Waiting." }, { tool = { id = "run-1", title = "Run", status = "in_progress" } }, "wait_for_cancel"]
"#;

/// A session whose turn runs.
fn waiting(rig: &Rig) -> Chat {
    let chat = rig.start(SCENARIO);
    chat.prompt("wait");
    chat.says("Waiting.");
    chat
}

/// What is wanted in another process, of the same journal, is done as if it was wanted here: a prompt, an answer, a stop,
/// an end.
#[test]
fn another_process_drives_the_session() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let mut other = Poster::start(&rig, &chat.id, "cli:ann");
    let mut wants = |kind: &str, payload| {
        other.post(kind, &payload);
        other.posted()
    };
    let prompt = wants(intent::PROMPT, json!({ "text": "edit" }));
    assert_eq!(chat.outcome(prompt)["delivery"], "accepted");
    let request = chat.request();
    let answer = wants(
        intent::ANSWER,
        json!({ "request": request.id, "option": "allow-once" }),
    );
    assert_eq!(chat.outcome(answer), json!({ "outcome": "allowed" }));
    let by = crate::rig::request_of(&*rig.journal, &request.id).2;
    assert_eq!(by.as_deref(), Some("cli:ann"));
    chat.says("Edited.");
    wants(intent::PROMPT, json!({ "text": "wait" }));
    chat.says("Waiting.");
    let stop = wants(intent::STOP, json!({}));
    assert!(chat.outcome(stop)["stopped"].is_string());
    let close = wants(intent::CLOSE, json!({}));
    assert_eq!(chat.outcome(close), json!({ "closed": true }));
    assert_eq!(chat.hosted.join().trouble, None);
}

/// What nobody can read, and what nobody knows, is refused with a sentence, and the session goes on.
#[test]
fn what_cannot_be_read_is_refused_with_a_sentence() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let wrong = [
        (intent::PROMPT, json!({ "text": 5 }), "It cannot be read"),
        (intent::PROMPT, json!(["hello"]), "It cannot be read"),
        (intent::PROMPT, json!({}), "The prompt is empty."),
        (
            intent::PROMPT,
            json!({ "text": "hello", "parts": [{ "type": "text", "text": "x" }, 5] }),
            "Part 2 of the prompt is no content block.",
        ),
        (intent::ANSWER, json!({ "option": "x" }), "It cannot be read"),
        (
            intent::ANSWER,
            json!({ "request": "nothing", "option": "x" }),
            "Nobody waits for this answer any more.",
        ),
        (intent::STOP, json!([]), "It cannot be read"),
        (intent::SET_OPTION, json!({}), "It says neither"),
        ("dance", json!({}), "Nobody knows what \"dance\" is"),
    ];
    for (kind, payload, sentence) in wrong {
        let outcome = chat.outcome(chat.post(kind, payload.clone()));
        let said = outcome["error"].as_str().unwrap_or_default();
        assert!(said.starts_with(sentence), "{kind} {payload}: {outcome}");
    }
    chat.prompt("edit");
    let request = chat.request();
    let outcome = chat.outcome(chat.answer(&request, "perhaps"));
    assert_eq!(
        outcome["error"],
        "The agent does not offer \"perhaps\". Choose one of: allow-once, allow-always, reject-once."
    );
    assert_eq!(
        chat.outcome(chat.answer(&request, "allow-once"))["outcome"],
        "allowed"
    );
    chat.says("Edited.");
    chat.close();
}

/// A prompt that is too long for a line is rejected with the reason, stands nowhere as sent, and the next one goes out.
#[test]
fn a_prompt_that_is_too_long_is_rejected_and_was_never_sent() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let long = "x".repeat(tapline_agent::host::WRITE_LINE_BYTES);
    let outcome = chat.outcome(chat.prompt(&long));
    assert_eq!(outcome["delivery"], "rejected", "{outcome}");
    assert!(
        outcome["reason"]
            .as_str()
            .is_some_and(|why| why.contains("16 MiB")),
        "{outcome}"
    );
    chat.ask("hello");
    assert_eq!(ends(&chat.rows()), [Some(End::Completed)]);
    assert_eq!(calls(&tape(&*rig.journal, &chat.id), "session/prompt").len(), 1);
    chat.close();
}

/// A prompt that waits behind a running turn can be edited and withdrawn by anyone; what is sent is what it says last. One
/// that was sent can be neither.
#[test]
fn a_prompt_that_waits_can_be_edited_and_withdrawn() {
    let rig = Rig::new();
    let other = rig.other();
    let chat = waiting(&rig);
    let (edited, withdrawn) = (chat.prompt("hello twice"), chat.prompt("hello never"));
    let payload = Json::of(&json!({ "text": "hello once" })).expect("JSON");
    other.edit_intent(edited, &payload).expect("it waits");
    other.withdraw_intent(withdrawn).expect("it waits");
    chat.outcome(chat.stop());
    let last = chat.prompt("hello last");
    assert_eq!(chat.outcome(edited)["delivery"], "accepted");
    assert_eq!(chat.outcome(last)["delivery"], "accepted");
    assert_eq!(find(&*other, withdrawn).state, IntentState::Withdrawn);
    assert_eq!(
        texts(&chat.rows(), Kind::User),
        ["wait", "hello once", "hello last"]
    );
    let late = other.edit_intent(edited, &payload);
    assert!(matches!(late, Err(Error::IntentTaken { .. })), "{late:?}");
    let late = other.withdraw_intent(edited);
    assert!(matches!(late, Err(Error::IntentTaken { .. })), "{late:?}");
    chat.close();
}

/// What is wanted after a stop waits for the agent's own end of the stopped turn, and then goes out.
#[test]
fn a_prompt_after_a_stop_waits_for_the_end_of_the_stopped_turn() {
    let rig = Rig::new();
    let chat = waiting(&rig);
    let stop = chat.stop();
    let prompt = chat.prompt("hello");
    assert!(chat.outcome(stop).get("process_ended").is_none());
    assert_eq!(chat.outcome(prompt)["delivery"], "accepted");
    chat.says("Hi there.");
    chat.until_ended(&[End::Stopped, End::Completed]);
    assert_eq!(calls(&tape(&*rig.journal, &chat.id), "session/cancel").len(), 1);
    chat.close();
}

/// A close leaves what waits for whoever holds the session next, who sends it.
#[test]
fn what_waits_at_the_end_is_sent_by_whoever_goes_on() {
    let rig = Rig::new();
    let chat = waiting(&rig);
    let waits = chat.prompt("hello later");
    let session = chat.session();
    chat.close();
    assert_eq!(find(&*rig.journal, waits).state, IntentState::Open);
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    assert_eq!(chat.outcome(waits)["delivery"], "accepted");
    chat.says("Hi there.");
    assert_eq!(texts(&chat.rows(), Kind::User), ["wait", "hello later"]);
    chat.close();
}

/// When the process that holds a session is killed, its agent goes too; the turn reads cut, with one explanation; the
/// prompt that was under way is not sent again by itself; what nobody had taken is, once somebody goes on. (The prompt
/// reads `accepted`, since its turn had opened: DESIGN. `unconfirmed` is what never had a turn.)
#[test]
fn a_prompt_under_way_at_a_crash_is_never_sent_again() {
    let rig = Rig::new();
    let mut host = HostProcess::start(&rig, None, &rig.scripted(SCENARIO));
    let id = host.session();
    let post = |text: &str| {
        crate::rig::post(
            &*rig.journal,
            &id,
            intent::PROMPT,
            json!({ "text": text }),
            "test",
        )
    };
    let rows = || {
        rig.journal
            .rows(&id, Window::Last(100))
            .expect("the rows can be read")
    };
    let under_way = post("wait");
    let since = std::time::Instant::now();
    while !rows().iter().any(|row| row.kind() == Kind::Tool) {
        assert!(since.elapsed() < LONG, "the agent never answered");
        let mark = rig.journal.mark();
        let _ = rig.journal.wait(
            &tapline_journal::Watch::Any(mark),
            std::time::Duration::from_millis(20),
        );
    }
    let waits = post("hello");
    host.kill();
    let entry = rig.journal.session(&id).expect("read").expect("there");
    let settled: Arc<dyn Journal> = rig.other();
    let settled = settled
        .rows(&id, Window::Last(100))
        .expect("the rows can be read");
    assert_eq!(ends(&settled), [Some(End::Cut)], "{:?}", entry.status);
    let delivery = settled.iter().find_map(|row| match &row.body {
        Body::User(user) => user.delivery,
        _ => None,
    });
    assert_eq!(delivery, Some(Delivery::Accepted));
    let tool = settled.iter().find_map(|row| match &row.body {
        Body::Tool(tool) => Some(tool.state),
        _ => None,
    });
    assert_eq!(tool, Some(ToolState::Interrupted));
    assert_eq!(texts(&settled, Kind::Status).len(), 1);
    assert_eq!(find(&*rig.journal, under_way).state, IntentState::Done);
    assert_eq!(find(&*rig.journal, waits).state, IntentState::Open);

    let session = rig.journal.session(&id).expect("read").expect("there").session;
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    assert_eq!(chat.outcome(waits)["delivery"], "accepted");
    chat.says("Hi there.");
    assert_eq!(texts(&chat.rows(), Kind::User), ["wait", "hello"]);
    let prompts = calls(&tape(&*rig.journal, &id), "session/prompt");
    assert_eq!(prompts.len(), 2);
    assert_eq!(ends(&chat.rows())[0], Some(End::Cut));
    chat.close();
}

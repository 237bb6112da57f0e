//! RS: a message while a turn runs waits in the open, or steers.

use std::time::{Duration, Instant};

use serde_json::json;
use tapline_agent::host::intent;
use tapline_journal::IntentState;
use tapline_timeline::{End, Kind};

use crate::rig::{Rig, find, texts};
use crate::wire::{calls, place, sent, tape};

const SCENARIO: &str = r#"
[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "wait"
steps = [{ text = "Waiting: {{prompt}}." }, "wait_for_cancel"]

[[turn]]
when = "later"
steps = [{ answer = "end_turn" }, { text = "On my own." }, "wait_for_prompt", { text = "Made way." }]
"#;

/// The gate is a pipe of the folder: whoever reads it waits until somebody opens it.
const DEAF: &str = r#"
ignores_cancel = true

[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "gate"
steps = [{ text = "At the gate." }, { run = { command = "cat", args = ["gate"] } }]
"#;

fn gate(rig: &Rig) {
    let made = std::process::Command::new("mkfifo")
        .arg(rig.cwd().join("gate"))
        .status();
    assert!(made.expect("mkfifo runs").success());
}

fn open_gate(rig: &Rig) {
    std::fs::write(rig.cwd().join("gate"), "open").expect("somebody waits at the gate");
}

/// A prompt that steers has the running turn cancelled, and goes out when that has ended.
#[test]
fn rs_1_a_steer_cancels_then_sends() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("wait one");
    chat.says("Waiting: wait one.");
    let outcome = chat.outcome(chat.steer("hello"));
    assert_eq!(outcome["delivery"], "accepted");
    chat.says("Hi there.");
    chat.until_ended(&[End::Stopped, End::Completed]);
    let tape = tape(&*rig.journal, &chat.id);
    assert!(place(&tape, "session/cancel", 0) < place(&tape, "session/prompt", 1));
    assert_eq!(calls(&tape, "session/cancel").len(), 1);
    chat.close();
}

/// Of two that steer one after the other, both are sent in order: the second cuts the first.
#[test]
fn rs_2_two_quick_steers_are_both_sent_in_order() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("wait one");
    chat.says("Waiting: wait one.");
    let first = chat.steer("wait two");
    let second = chat.steer("hello");
    assert_eq!(chat.outcome(first)["delivery"], "accepted");
    assert_eq!(chat.outcome(second)["delivery"], "accepted");
    chat.says("Hi there.");
    let tape = tape(&*rig.journal, &chat.id);
    let order: Vec<String> = sent(&tape).into_iter().skip(2).collect();
    let (prompt, cancel) = ("session/prompt", "session/cancel");
    assert_eq!(order, [prompt, cancel, prompt, cancel, prompt]);
    assert_eq!(texts(&chat.rows(), Kind::User), ["wait one", "wait two", "hello"]);
    chat.close();
}

/// A stop withdraws what was to steer and has not gone out.
#[test]
fn rs_4_a_stop_withdraws_a_steer_that_waits() {
    let rig = Rig::new();
    gate(&rig);
    let chat = rig.start(DEAF);
    chat.prompt("gate");
    chat.says("At the gate.");
    let steer = chat.steer("hello");
    let stop = chat.stop();
    assert_eq!(chat.settled(steer).state, IntentState::Withdrawn);
    open_gate(&rig);
    assert!(chat.outcome(stop)["stopped"].is_string());
    assert_eq!(texts(&chat.rows(), Kind::User), ["gate"]);
    assert_eq!(
        calls(&tape(&*rig.journal, &chat.id), "session/cancel").len(),
        1,
        "it was cancelled already"
    );
    chat.close();
}

/// A prompt that steers waits for the end of the turn it cut without a limit: the grace is that of a stop.
#[test]
fn rs_5_a_steer_waits_for_the_cut_turn_without_a_limit() {
    let grace = Duration::from_millis(50);
    let rig = Rig::new();
    gate(&rig);
    let mut options = rig.options(DEAF);
    options.patience.stop = grace;
    let chat = rig.begin(options).expect("the session begins");
    chat.prompt("gate");
    chat.says("At the gate.");
    let steer = chat.steer("hello");
    let since = Instant::now();
    // Other intents are looked at meanwhile; each says that the loop has had its chance to lose patience.
    while since.elapsed() < 4 * grace {
        let stop = chat.post(intent::STOP, json!({ "turn": "no such turn" }));
        assert_eq!(chat.outcome(stop)["error"], "That turn does not run any more.");
    }
    assert_eq!(find(&*rig.journal, steer).state, IntentState::Open);
    assert!(!chat.hosted.is_over());
    open_gate(&rig);
    assert_eq!(chat.outcome(steer)["delivery"], "accepted");
    chat.says("Hi there.");
    chat.close();
}

/// A turn that the agent began itself is not cancelled for a prompt, even one that steers: the agent queues it. A second
/// that steers cuts the first.
#[test]
fn rs_6_the_agents_own_turn_is_not_cancelled_for_a_prompt() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.ask("later");
    chat.says("On my own.");
    chat.steer("wait one");
    chat.says("Made way.");
    chat.says("Waiting: wait one.");
    assert!(calls(&tape(&*rig.journal, &chat.id), "session/cancel").is_empty());
    chat.steer("hello");
    chat.says("Hi there.");
    let tape = tape(&*rig.journal, &chat.id);
    assert_eq!(calls(&tape, "session/cancel").len(), 1);
    assert!(place(&tape, "session/prompt", 1) < place(&tape, "session/cancel", 0));
    chat.close();
}

/// Prompts behind a running one wait in the open, in order; one of them can be made to steer by taking it back and sending
/// it so; after a stop the rest waits until somebody wants something again, and then goes first.
#[test]
fn rs_7_prompts_wait_in_the_open_and_pause_after_a_stop() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("wait one");
    chat.says("Waiting: wait one.");
    let second = chat.prompt("wait two");
    let third = chat.prompt("hello three");
    rig.journal.withdraw_intent(second).expect("it waits");
    chat.steer("wait two");
    chat.says("Waiting: wait two.");
    assert_eq!(find(&*rig.journal, third).state, IntentState::Open);
    assert!(chat.outcome(chat.stop())["stopped"].is_string());
    // A stop with nothing to stop shows that the loop went on and sent nothing.
    assert!(chat.outcome(chat.stop())["error"].is_string());
    assert_eq!(
        find(&*rig.journal, third).state,
        IntentState::Open,
        "it is paused"
    );
    let fourth = chat.prompt("hello four");
    assert_eq!(chat.outcome(third)["delivery"], "accepted");
    assert_eq!(chat.outcome(fourth)["delivery"], "accepted");
    assert_eq!(
        texts(&chat.rows(), Kind::User),
        ["wait one", "wait two", "hello three", "hello four"]
    );
    chat.close();
}

//! RD and RH: how a session ends, and what a stop leaves.

use std::time::{Duration, Instant};

use serde_json::json;
use tapline_agent::wrap::End as ProcessEnd;
use tapline_journal::Window;
use tapline_timeline::{Body, End, Kind, WorkState};

use crate::rig::{Chat, LONG, Rig, ends, texts};
use crate::rl::without_input;
use crate::wire::{Input, calls, tape};

const SCENARIO: &str = r#"
[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "wait"
steps = [{ text = "Waiting." }, "wait_for_cancel"]

[[turn]]
when = "crash"
steps = [{ text = "Oh no." }, { exit = { code = 101 } }]
"#;

/// An agent that hears of nothing, not even of a signal.
const STUBBORN: &str = r#"
ignores_cancel = true
ignores_eof = true
ignores_sigterm = true

[[turn]]
steps = [{ text = "Waiting." }, "wait_for_cancel"]
"#;

const GROK: &str = r#"
ignores_cancel = true

[agent]
name = "grok"
title = "Grok"
version = "0.2"

[[turn]]
when = "later"
steps = [
  { answer = "end_turn" }, { text = "On my own." }, { run = { command = "cat", args = ["gate"] } },
  { frame = { jsonrpc = "2.0", method = "_x.ai/session_notification", params = { sessionId = "{{session}}", update = { sessionUpdate = "turn_completed", stop_reason = "cancelled" } } } },
]

[[turn]]
when = "background"
steps = [
  { tool = { id = "run-1", title = "Serve", kind = "execute" } },
  { background = { id = "task-1", tool = "run-1", command = "serve", label = "Serves", style = "grok" } },
]
"#;

fn waiting(rig: &Rig, scenario: &str, grace: Duration) -> Chat {
    let mut options = rig.options(scenario);
    options.patience.stop = grace;
    let chat = rig.begin(options).expect("the session begins");
    chat.prompt("wait");
    chat.says("Waiting.");
    chat
}

/// A session that is closed while its turn runs cancels that first; then its agent leaves in order.
#[test]
fn rd_1_a_close_cancels_first() {
    let rig = Rig::new();
    let chat = waiting(&rig, SCENARIO, LONG);
    let id = chat.id.clone();
    let over = chat.close();
    assert_eq!((over.end, over.trouble), (Some(ProcessEnd::Code(0)), None));
    assert_eq!(
        ends(&rig.journal.rows(&id, Window::Last(100)).expect("rows")),
        [Some(End::Stopped)]
    );
    assert_eq!(calls(&tape(&*rig.journal, &id), "session/cancel").len(), 1);
}

/// An agent that does not end its turn when it is closed is ended after the grace of a stop, however stubborn.
#[test]
fn rd_2_a_close_ends_a_stubborn_agent_after_the_grace() {
    let rig = Rig::new();
    let chat = waiting(&rig, STUBBORN, Duration::from_millis(50));
    let id = chat.id.clone();
    let over = chat.close();
    assert_eq!(over.end, Some(ProcessEnd::Signal(9)));
    assert_eq!(
        ends(&rig.journal.rows(&id, Window::Last(100)).expect("rows")),
        [Some(End::Stopped)]
    );
}

/// A program that leaves takes all its sessions with it, in order.
#[test]
fn rd_3_dropping_sessions_ends_them_all() {
    let rig = Rig::new();
    let chats: Vec<Chat> = (0..3).map(|_| waiting(&rig, SCENARIO, LONG)).collect();
    let ids: Vec<_> = chats.iter().map(|chat| chat.id.clone()).collect();
    let pids: Vec<u32> = chats.iter().map(|chat| chat.hosted.pid()).collect();
    drop(chats);
    for (id, pid) in ids.iter().zip(pids) {
        let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a process id");
        assert!(
            rustix::process::test_kill_process(pid).is_err(),
            "{pid:?} is still there"
        );
        let entry = rig.journal.session(id).expect("read").expect("there");
        assert_eq!(entry.status, tapline_journal::Status::Ended);
        assert_eq!(
            ends(&rig.journal.rows(id, Window::Last(100)).expect("rows")),
            [Some(End::Stopped)]
        );
    }
}

/// A cancel that cannot be written ends the agent at once: there is nobody to wait for.
#[test]
fn rd_4_a_cancel_that_cannot_be_written_ends_the_agent() {
    let rig = Rig::new();
    let chat = without_input(&rig);
    let (id, since) = (chat.id.clone(), Instant::now());
    chat.close();
    assert!(since.elapsed() < LONG, "the grace was not waited for");
    assert_eq!(
        ends(&rig.journal.rows(&id, Window::Last(100)).expect("rows")),
        [Some(End::Stopped)]
    );
}

/// A close after a stop sends no second cancel and has what is left of the stop's grace.
#[test]
fn rd_5_a_close_after_a_stop_has_what_is_left_of_the_grace() {
    let grace = Duration::from_millis(400);
    let rig = Rig::new();
    let chat = waiting(&rig, STUBBORN, grace);
    let since = Instant::now();
    let stop = chat.stop();
    chat.until("it is told to cancel", |_| {
        (!calls(&tape(&*rig.journal, &chat.id), "session/cancel").is_empty()).then_some(())
    });
    chat.hosted.close();
    let stopped = chat.outcome(stop);
    assert_eq!(stopped["process_ended"], true);
    assert!(since.elapsed() >= grace);
    assert_eq!(calls(&tape(&*rig.journal, &chat.id), "session/cancel").len(), 1);
    chat.hosted.join();
}

/// An idle session is closed at once, and nothing is cancelled.
#[test]
fn rd_6_an_idle_session_closes_at_once() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.ask("hello");
    let id = chat.id.clone();
    let closed = chat.post("close", json!({}));
    assert_eq!(chat.outcome(closed), json!({ "closed": true }));
    assert_eq!(chat.hosted.join().end, Some(ProcessEnd::Code(0)));
    assert!(calls(&tape(&*rig.journal, &id), "session/cancel").is_empty());
}

/// Nothing is sent on a connection whose other end is gone.
#[test]
fn rd_7_a_connection_that_is_gone_is_sent_no_cancel() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("crash");
    chat.until_ended(&[End::Cut]);
    let Chat { hosted, talk } = chat;
    let id = talk.id;
    hosted.close();
    hosted.join();
    let tape = tape(&*rig.journal, &id);
    assert!(calls(&tape, "session/cancel").is_empty());
    assert!(matches!(tape.last(), Some(Input::Other)), "{:?}", tape.last());
}

/// After a stop the same process takes the next prompt. (Orca ends the process of every agent that was stopped and loads
/// the session again. DESIGN: an agent that ended its turn stays.)
#[test]
fn rh_1_after_a_stop_the_same_process_goes_on() {
    let rig = Rig::new();
    let chat = waiting(&rig, SCENARIO, LONG);
    chat.outcome(chat.stop());
    chat.ask("hello");
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped), Some(End::Completed)]);
    assert_eq!(rig.journal.generations(&chat.id).expect("read").len(), 1);
    assert!(texts(&chat.rows(), Kind::Status).is_empty(), "{}", chat.told());
    chat.close();
}

/// A stop that ended the process is told as a stop, not as a crash; the session goes on in another process.
#[test]
fn rh_2_a_stop_that_ended_the_process_is_no_crash() {
    let scenario = format!("ignores_cancel = true\n{SCENARIO}");
    let rig = Rig::new();
    let chat = waiting(&rig, &scenario, Duration::from_millis(50));
    assert_eq!(chat.outcome(chat.stop())["process_ended"], true);
    let session = chat.session();
    chat.hosted.join();
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    chat.ask("hello");
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped), Some(End::Completed)]);
    assert!(texts(&chat.rows(), Kind::Status).is_empty(), "{}", chat.told());
    chat.close();
}

/// A stop of the agent's own turn waits for the agent's own word on its end, where its dialect has one.
#[test]
fn rh_3_a_stop_of_the_agents_own_turn_waits_for_its_word() {
    let rig = Rig::new();
    let made = std::process::Command::new("mkfifo")
        .arg(rig.cwd().join("gate"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    let mut options = rig.options(GROK);
    options.patience.stop = LONG;
    let chat = rig.begin(options).expect("the session begins");
    chat.ask("later");
    chat.says("On my own.");
    let stop = chat.stop();
    chat.until("it is told to cancel", |_| {
        (!calls(&tape(&*rig.journal, &chat.id), "session/cancel").is_empty()).then_some(())
    });
    std::fs::write(rig.cwd().join("gate"), "open").expect("somebody waits at the gate");
    let stopped = chat.outcome(stop);
    assert!(
        stopped["stopped"].is_string() && stopped.get("process_ended").is_none(),
        "{stopped}"
    );
    assert_eq!(ends(&chat.rows()), [Some(End::Completed), Some(End::Stopped)]);
    chat.close();
}

/// A background task that runs when its agent ends reads as unknown, and says so.
#[test]
fn rh_4_a_task_that_runs_at_the_end_is_unknown() {
    let rig = Rig::new();
    let chat = rig.start(GROK);
    chat.ask("background");
    let state = |rows: &[std::sync::Arc<tapline_timeline::Row>]| {
        rows.iter().find_map(|row| match &row.body {
            Body::Task(task) => Some(task.state),
            _ => None,
        })
    };
    assert_eq!(state(&chat.rows()), Some(WorkState::Running), "{}", chat.told());
    let id = chat.id.clone();
    chat.close();
    let rows = rig.journal.rows(&id, Window::Last(100)).expect("rows");
    assert_eq!(state(&rows), Some(WorkState::Unknown));
}

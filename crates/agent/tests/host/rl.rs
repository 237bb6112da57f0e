//! RL: stops that miss, agents that do not stop, and pipes that break.

use std::time::Duration;

use serde_json::json;
use tapline_agent::host::{Hosted, StartError, intent};
use tapline_agent::wrap::End as ProcessEnd;
use tapline_journal::IntentState;
use tapline_timeline::{Body, Delivery, End, Kind, Origin, Tone};

use crate::rig::{Chat, LONG, Rig, ends, find, texts};
use crate::wire::{calls, tape};

const SCENARIO: &str = r#"
[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "wait"
steps = [{ text = "Waiting." }, "wait_for_cancel"]

[[turn]]
when = "later"
steps = [{ answer = "end_turn" }, { text = "On my own." }, "wait_for_cancel"]

[[turn]]
when = "crash"
steps = [{ text = "Oh no." }, { stderr = "panicked: out of cheese" }, { exit = { code = 101 } }]

[[turn]]
when = "tear"
steps = [{ text = "Half a" }, { raw = "{\"jsonrpc\":\"2.0\",\"method\":\"session/upd" }, { exit = { code = 1 } }]

[[turn]]
when = "garble"
steps = [{ text = "Well." }, { frame = { jsonrpc = "2.0", id = 3, error = 5 } }]

[[turn]]
when = "shut"
steps = [{ text = "Good night." }, "close_stdout", "wait_for_cancel"]

[[turn]]
when = "refuse"
steps = [{ error = { code = -32603, message = "The model is overloaded." } }]

[[turn]]
when = "fail"
steps = [{ text = "Let me" }, { error = { code = -32603, message = "The model is overloaded." } }]
"#;

/// An agent that closes its input in the middle of its first turn and then asks for leave.
const NO_INPUT: &str = r#"
say() { printf '%s\n' "$1"; }
read call; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read call; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
read call; exec 0<&-
say '{"jsonrpc":"2.0","id":"r1","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"Go on"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}'
say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I hear nothing."}}}}'
exec sleep 1000
"#;

/// A session whose agent cannot be written to any more; nobody has tried yet.
pub(crate) fn without_input(rig: &Rig) -> Chat {
    let mut options = rig.command(&["sh", "-c", NO_INPUT]);
    options.patience.stop = LONG;
    let chat = rig.begin(options).expect("the session begins");
    chat.prompt("go");
    chat.says("I hear nothing.");
    chat
}

/// The status rows that are no mere information, in order.
fn troubles(chat: &Chat) -> Vec<String> {
    let rows = chat.rows();
    let of = |row: &std::sync::Arc<tapline_timeline::Row>| match &row.body {
        Body::Status(status) if status.tone != Tone::Info => Some(status.text.clone()),
        _ => None,
    };
    rows.iter().filter_map(of).collect()
}

/// A stop that names a turn which has ended stops nothing.
#[test]
fn rl_1_a_stop_of_an_ended_turn_stops_nothing() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let ended = chat.ask("hello");
    chat.prompt("wait");
    chat.says("Waiting.");
    let outcome = chat.outcome(chat.post(intent::STOP, json!({ "turn": ended.id })));
    assert_eq!(outcome["error"], "That turn does not run any more.");
    assert_eq!(ends(&chat.rows()), [Some(End::Completed), None]);
    assert!(calls(&tape(&*rig.journal, &chat.id), "session/cancel").is_empty());
    chat.outcome(chat.stop());
    chat.close();
}

/// A stop right behind a prompt stops that prompt's turn. (Orca has a gap before the turn opens. Here a turn opens with
/// its prompt, and intents are taken in order, so there is none.)
#[test]
fn rl_2_a_stop_right_behind_a_prompt_stops_it() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let sent = chat.prompt("wait");
    let stop = chat.stop();
    let turn = chat.outcome(sent)["turn"].clone();
    assert_eq!(chat.outcome(stop), json!({ "stopped": turn }));
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped)]);
    chat.close();
}

/// A stop that names the running turn stops it.
#[test]
fn rl_3_a_stop_names_the_running_turn() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let turn = chat.outcome(chat.prompt("wait"))["turn"].clone();
    let stop = chat.post(intent::STOP, json!({ "turn": turn }));
    assert_eq!(chat.outcome(stop), json!({ "stopped": turn }));
    chat.close();
}

/// A turn that the agent began itself can be stopped. The protocol has no word for its end, so an agent whose dialect has
/// none either is silent, and is ended after the grace; RH-3 has one that says it.
#[test]
fn rl_4_a_turn_of_the_agents_own_can_be_stopped() {
    let rig = Rig::new();
    let mut options = rig.options(SCENARIO);
    options.patience.stop = Duration::from_millis(50);
    let chat = rig.begin(options).expect("the session begins");
    chat.ask("later");
    chat.says("On my own.");
    let rows = chat.rows();
    let own = rows
        .iter()
        .find(|row| matches!(&row.body, Body::Turn(turn) if turn.origin == Origin::Agent))
        .expect("its own turn");
    let ended = json!({ "stopped": own.id, "process_ended": true });
    assert_eq!(chat.outcome(chat.stop()), ended);
    assert_eq!(ends(&chat.rows()), [Some(End::Completed), Some(End::Stopped)]);
    assert_eq!(calls(&tape(&*rig.journal, &chat.id), "session/cancel").len(), 1);
    chat.hosted.join();
}

/// An agent that does not end a stopped turn within the grace is ended; so is one that is stopped a second time.
#[test]
fn rl_5_a_silent_agent_is_ended_after_the_grace() {
    let scenario = format!("ignores_cancel = true\n{SCENARIO}");
    let rig = Rig::new();
    let mut options = rig.options(&scenario);
    options.patience.stop = Duration::from_millis(50);
    let chat = rig.begin(options).expect("the session begins");
    let turn = chat.outcome(chat.prompt("wait"))["turn"].clone();
    let stopped = chat.outcome(chat.stop());
    assert_eq!(stopped, json!({ "stopped": turn, "process_ended": true }));
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped)]);
    assert!(chat.hosted.join().end.is_some());

    let rig = Rig::new();
    let mut options = rig.options(&scenario);
    options.patience.stop = LONG;
    let chat = rig.begin(options).expect("the session begins");
    let turn = chat.outcome(chat.prompt("wait"))["turn"].clone();
    let (first, second) = (chat.stop(), chat.stop());
    let ended = json!({ "stopped": turn, "process_ended": true });
    assert_eq!(
        (chat.outcome(first), chat.outcome(second)),
        (ended.clone(), ended)
    );
    chat.hosted.join();
}

/// An agent whose input breaks is ended: its turn is cut, and what waits stays for whoever holds the session next. (Orca
/// rejects held sends. Here they are open intents, which outlive the process.)
#[test]
fn rl_6_a_broken_input_ends_the_agent_and_keeps_what_waits() {
    let rig = Rig::new();
    let chat = without_input(&rig);
    let waits = chat.prompt("later");
    let request = chat.request();
    chat.answer(&request, "yes");
    let Chat { hosted, talk } = chat;
    let id = talk.id;
    assert_eq!(hosted.join().trouble, None);
    let rows = rig
        .journal
        .rows(&id, tapline_journal::Window::Last(100))
        .expect("the rows can be read");
    assert_eq!(ends(&rows), [Some(End::Cut)]);
    assert_eq!(find(&*rig.journal, waits).state, IntentState::Open);
}

/// An agent that crashes in a turn cuts it, and one row tells its last words.
#[test]
fn rl_7_a_crash_cuts_the_turn_and_tells_the_last_words() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("crash");
    chat.until_ended(&[End::Cut]);
    let told = chat.told();
    assert!(told.contains("panicked: out of cheese"), "{}", chat.told());
    assert_eq!(troubles(&chat).len(), 1, "{}", chat.told());
    assert_eq!(chat.hosted.join().end, Some(ProcessEnd::Code(101)));
}

/// A crash stays a crash, whatever is asked afterwards.
#[test]
fn rl_8_a_crash_stays_a_crash_when_it_is_closed_afterwards() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("crash");
    chat.until_ended(&[End::Cut]);
    let rows = chat.rows();
    let Chat { hosted, talk } = chat;
    let id = talk.id;
    hosted.close();
    assert_eq!(hosted.join().end, Some(ProcessEnd::Code(101)));
    let now = rig
        .journal
        .rows(&id, tapline_journal::Window::Last(100))
        .expect("the rows can be read");
    assert_eq!(now, rows);
}

/// A turn in the middle of which the connection tears is cut, and half a line adds nothing.
#[test]
fn rl_9_a_connection_that_tears_cuts_the_turn() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("tear");
    chat.until_ended(&[End::Cut]);
    assert_eq!(texts(&chat.rows(), Kind::Assistant), ["Half a"]);
    chat.hosted.join();
}

/// An answer to a prompt that cannot be read fails the turn in our words, and the next prompt goes out.
#[test]
fn rl_10_an_answer_that_cannot_be_read_fails_the_turn() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.ask("garble");
    assert_eq!(ends(&chat.rows()), [Some(End::Failed)]);
    assert_eq!(troubles(&chat).len(), 1, "{}", chat.told());
    chat.ask("hello");
    assert_eq!(ends(&chat.rows()), [Some(End::Failed), Some(End::Completed)]);
    chat.close();
}

/// An agent that closes its output and lives on keeps its turn running; it can be stopped, and takes no more prompts.
#[test]
fn rl_11_a_closed_output_keeps_the_turn_running() {
    let rig = Rig::new();
    let mut options = rig.options(SCENARIO);
    options.patience.stop = Duration::from_millis(50);
    let chat = rig.begin(options).expect("the session begins");
    chat.prompt("shut");
    chat.until("it is deaf", |_| chat.hosted.standing().deaf.then_some(()));
    assert_eq!(ends(&chat.rows()), [None]);
    assert!(!chat.hosted.is_over());
    let stopped = chat.outcome(chat.stop());
    assert_eq!(stopped["process_ended"], true);
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped)]);
    chat.hosted.join();
}

/// A refusal before anything came fails the turn in the agent's words. (Orca makes it a rejection without a turn. DESIGN:
/// a prompt that waits behind no other has opened its turn, so an error fails that.)
#[test]
fn rl_12_a_refusal_before_anything_came_fails_the_turn() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let turn = chat.ask("refuse");
    assert!(matches!(&turn.body, Body::Turn(turn) if turn.end == Some(End::Failed)));
    assert_eq!(troubles(&chat), ["The model is overloaded."]);
    let rows = chat.rows();
    let user = rows.iter().find_map(|row| match &row.body {
        Body::User(user) => Some(user.delivery),
        _ => None,
    });
    assert_eq!(user, Some(Some(Delivery::Accepted)));
    chat.close();
}

/// An error after the turn began fails it, with one row of the agent's words.
#[test]
fn rl_13_an_error_after_the_start_is_one_row() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.ask("fail");
    assert_eq!(ends(&chat.rows()), [Some(End::Failed)]);
    assert_eq!(troubles(&chat), ["The model is overloaded."]);
    assert_eq!(texts(&chat.rows(), Kind::Assistant), ["Let me"]);
    chat.close();
}

/// A start that hangs can be closed, killed and dropped.
#[test]
fn rl_14_a_hung_start_can_be_closed_killed_and_dropped() {
    for silent in ["initialize", "session/new"] {
        for end in [Hosted::close, Hosted::kill, |_: &Hosted| {}] {
            let rig = Rig::new();
            let scenario = format!("never_answers = [\"{silent}\"]");
            let hosted = Hosted::start(rig.journal.clone(), rig.options(&scenario)).expect("it starts");
            end(&hosted);
            let told = hosted.session(Duration::ZERO);
            assert!(
                matches!(told, Err(StartError::Waiting(_) | StartError::GivenUp)),
                "{told:?}"
            );
            drop(hosted);
        }
    }
}

//! RB: real children that do not end as children should.

use tapline_journal::IntentState;
use tapline_timeline::End;

use crate::raw::{runs, until};
use crate::rig::{Rig, ends};

/// An agent that closes its output and lives: the turn goes on until somebody stops it, and no prompt is sent into the void.
#[test]
fn rb_1_a_closed_output_leaves_the_turn_running() {
    let rig = Rig::new();
    let mut options =
        rig.options("[[turn]]\nsteps = [{ text = \"Begun.\" }, \"close_stdout\", \"wait_for_cancel\"]");
    options.patience.stop = std::time::Duration::from_millis(100);
    let chat = rig.begin(options).expect("it begins");
    chat.prompt("go");
    chat.says("Begun.");
    until("its output is closed", || chat.hosted.standing().deaf);
    assert_eq!(ends(&chat.rows()), [None]);
    let waits = chat.prompt("next");
    let stopped = chat.outcome(chat.stop());
    assert_eq!(stopped["process_ended"], true, "{stopped}");
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped)]);
    let journal = std::sync::Arc::clone(&chat.journal);
    assert!(chat.over().end.is_some());
    // It was never sent, so it is for whoever holds the session next.
    assert_eq!(crate::rig::find(&*journal, waits).state, IntentState::Open);
}

/// An agent that exits while something it started holds its output: the turn is cut, with one explanation, and that is ended.
#[test]
fn rb_2_an_exit_while_a_grandchild_holds_the_output_cuts_the_turn() {
    let rig = Rig::new();
    let chat =
        rig.start("[[turn]]\nsteps = [{ text = \"Begun.\" }, { hold_pipe = 1000 }, { exit = { code = 5 } }]");
    chat.prompt("go");
    chat.until_ended(&[End::Cut]);
    let (journal, id) = (std::sync::Arc::clone(&chat.journal), chat.id.clone());
    assert_eq!(chat.over().end, Some(tapline_agent::wrap::End::Code(5)));
    let rows = journal
        .rows(&id, tapline_journal::Window::From(1, 100))
        .expect("rows");
    let told = crate::rig::texts(&rows, tapline_timeline::Kind::Status);
    assert_eq!(told.len(), 1, "{told:?}");
    let words = crate::raw::tape(&*journal, &id)
        .into_iter()
        .find_map(|record| match record.what {
            tapline_recorder::Recorded::Stderr(line) => line.strip_prefix("grandchild ").map(str::to_owned),
            _ => None,
        });
    let pid: u32 = words.expect("it is named").trim().parse().expect("a number");
    until("the grandchild is ended", || !runs(pid));
}

//! CC: the agent as a process. (CC-7, subscribers, and CC-10, limits refused before the spawn, have no counterpart: nobody subscribes,
//! and the limits are constants or durations, of which every one is good.)

use std::sync::Arc;

use tapline_agent::host::{Hosted, StartError};
use tapline_journal::{Status, Window};
use tapline_timeline::{End, Kind};

use crate::raw::{runs, until, until_file};
use crate::rig::{LONG, Rig, ends, texts};

/// The agent runs in the session's folder, with the variables it was given, in a process group that is not ours.
#[test]
fn cc_1_a_spawn_has_its_folder_its_variables_and_its_group() {
    let rig = Rig::new();
    let mut options = rig.shell(
        r#"begin; until_heard session/prompt; text "$COLOUR in $PWD, group $(ps -o pgid= -p $$)."; done_with $id; until_heard nothing"#,
    );
    options.launch.set_env("COLOUR", "green");
    let chat = rig.begin(options).expect("it begins");
    chat.ask("go");
    let said = texts(&chat.rows(), Kind::Assistant).concat();
    assert!(
        said.starts_with(&format!("green in {}, group ", rig.cwd().display())),
        "{said}"
    );
    let group: u32 = said
        .rsplit(' ')
        .next()
        .and_then(|g| g.trim_end_matches('.').parse().ok())
        .expect("a number");
    let ours = rustix::process::getpgrp().as_raw_nonzero().get().cast_unsigned();
    assert_ne!(group, ours);
    chat.close();
}

/// An end of the process is an end, although something that it started holds its output open; and that is ended too.
#[test]
fn cc_2_an_exit_counts_although_the_output_is_held_open() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; text "Begun."; sleep 1000 & echo $! > grandchild; exit 0"#,
    );
    chat.prompt("go");
    chat.until_ended(&[End::Cut]);
    let over = chat.over();
    assert_eq!(over.end, Some(tapline_agent::wrap::End::Code(0)));
    let pid = std::fs::read_to_string(rig.cwd().join("grandchild")).expect("a file");
    let pid: u32 = pid.trim().parse().expect("a number");
    until("the grandchild is ended", || !runs(pid));
}

/// An agent that has closed its output can still be told to stop; a second stop ends it, since it can say nothing.
#[test]
fn cc_3_a_cancel_reaches_an_agent_that_has_closed_its_output() {
    let rig = Rig::new();
    let mut options = rig.shell(
        r#"begin; until_heard session/prompt; text "Begun."; exec >&-; until_heard session/cancel; : > cancelled; until_heard nothing"#,
    );
    options.patience.stop = LONG;
    let chat = rig.begin(options).expect("it begins");
    chat.prompt("go");
    until("its output is closed", || chat.hosted.standing().deaf);
    assert_eq!(ends(&chat.rows()), [None], "the turn goes on");
    let stop = chat.stop();
    until_file(&rig.cwd().join("cancelled"));
    chat.stop();
    let stopped = chat.outcome(stop);
    assert_eq!(stopped["process_ended"], true, "{stopped}");
    let rows = chat.rows();
    assert_eq!(ends(&rows), [Some(End::Stopped)]);
    assert!(chat.over().end.is_some());
}

/// An agent that has closed its input is ended, and its end is recorded when it comes, be it late.
#[test]
fn cc_4_a_broken_input_ends_the_agent_and_its_exit_comes_later() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"trap 'echo "Goodbye" >&2; exit 7' TERM
        begin; exec 0<&-; : > closed; while :; do sleep 0.02; done"#,
    );
    until_file(&rig.cwd().join("closed"));
    chat.prompt("go");
    let (journal, id) = (Arc::clone(&chat.journal), chat.id.clone());
    assert_eq!(chat.over().end, Some(tapline_agent::wrap::End::Code(7)));
    let rows = journal.rows(&id, Window::From(1, 100)).expect("rows");
    assert_eq!(ends(&rows), [Some(End::Cut)]);
    assert!(format!("{rows:?}").contains("Goodbye"), "its last words are kept");
}

/// Closing twice, and killing after that, is one end.
#[test]
fn cc_5_closes_join() {
    let rig = Rig::new();
    let chat = rig.start("[[turn]]\nsteps = [{ text = \"Hi.\" }]");
    chat.ask("go");
    let (journal, id) = (Arc::clone(&chat.journal), chat.id.clone());
    chat.hosted.close();
    chat.hosted.close();
    chat.hosted.kill();
    assert_eq!(chat.over().trouble, None);
    assert_eq!(
        journal.session(&id).expect("read").expect("there").status,
        Status::Ended
    );
    assert_eq!(journal.generations(&id).expect("read").len(), 1);
}

/// Whatever an agent started in its group is gone after it, also what ignores the polite signal.
#[test]
fn cc_6_nothing_of_the_tree_is_left() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt
        sh -c 'trap "" TERM; echo $$ >> pids; sh -c "trap \"\" TERM; echo \$\$ >> pids; while :; do sleep 0.05; done" & while :; do sleep 0.05; done' &
        while [ "$(wc -l < pids 2>/dev/null || echo 0)" -lt 2 ]; do sleep 0.02; done
        text "Begun."; until_heard nothing"#,
    );
    chat.prompt("go");
    chat.says("Begun.");
    chat.hosted.kill();
    assert!(chat.over().end.is_some());
    let pids = std::fs::read_to_string(rig.cwd().join("pids")).expect("a file");
    for pid in pids.lines() {
        let pid: u32 = pid.trim().parse().expect("a number");
        until("it is gone", || !runs(pid));
    }
}

/// A program that cannot be started is an error with its name, and leaves no session.
#[test]
fn cc_8_a_failed_spawn_is_told_and_leaves_nothing() {
    let rig = Rig::new();
    let error = Hosted::start(Arc::clone(&rig.journal), rig.command(&["no-such-agent-anywhere"]))
        .map(|_| ())
        .expect_err("it cannot start");
    assert!(matches!(error, StartError::Spawn { .. }), "{error}");
    assert!(error.to_string().contains("no-such-agent-anywhere"), "{error}");
    let sessions = rig
        .journal
        .sessions(&tapline_journal::SessionQuery::default())
        .expect("read");
    assert_eq!(sessions.len(), 0);
    let mut options = rig.shell("begin");
    options.cwd = rig.cwd().join("nowhere");
    let error = Hosted::start(Arc::clone(&rig.journal), options)
        .map(|_| ())
        .expect_err("no folder");
    assert!(matches!(error, StartError::Folder(_)), "{error}");
}

/// An agent that closes its standard error works on.
#[test]
fn cc_9_a_closed_standard_error_is_no_end() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; echo "one line" >&2; exec 2>&-; while :; do until_heard session/prompt; text "Here."; done_with $id; done"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    assert_eq!(chat.end_of("again"), Some(End::Completed));
    chat.close();
}

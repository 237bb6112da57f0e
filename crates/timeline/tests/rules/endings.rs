//! How tools end, and what is settled once: groups AE, AH, AR and AZ of the scenarios.

use tapline_timeline::*;

use crate::bench::*;

#[test]
fn ae_1_stop_and_exit_interrupt_a_tool() {
    for by_exit in [false, true] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        b.tool_is("c1", ToolStatus::Running);
        if by_exit {
            b.exit(137);
        } else {
            b.stop();
            b.apply(answer("1", End::Stopped));
        }
        assert_eq!(b.tool("c1").state, ToolState::Interrupted);
        assert!(b.the(Kind::Tool).ended_at.is_some());
    }
}

#[test]
fn ae_2_a_persons_stop_wins_over_what_the_agent_then_says() {
    for end in [End::Completed, End::Stopped, End::Failed, End::Unknown] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        b.tool_is("c1", ToolStatus::Running);
        b.stop();
        b.apply(answer("1", end));
        b.shows(&[
            "1 turn prompt stopped",
            "1 user accepted \"Go\"",
            "1 tool c1 interrupted",
        ]);
    }
}

#[test]
fn ae_3_a_tool_completed_after_the_stop_stays_completed() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.stop();
    b.tool_is("c1", ToolStatus::Completed);
    b.exit(1);
    assert_eq!(b.tool("c1").state, ToolState::Completed);
}

/// Orca says failed and unverifiable. Here what nobody told of reads as interrupted by the end of its process.
#[test]
fn ae_4_ae_9_a_tool_whose_process_is_gone_is_interrupted_and_may_still_be_told() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.apply(record_ends());
    b.restart("2");
    assert_eq!(b.tool("c1").state, ToolState::Interrupted);
    b.tool_is("c1", ToolStatus::Completed);
    assert_eq!(b.tool("c1").state, ToolState::Completed);
}

#[test]
fn ae_5_a_stopped_turn_whose_record_ends_is_stopped() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.stop();
    b.apply(record_ends());
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "1 tool c1 interrupted",
    ]);
}

#[test]
fn ae_6_an_earlier_failure_is_kept() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Failed);
    b.stop();
    b.exit(1);
    assert_eq!(b.tool("c1").state, ToolState::Failed);
}

#[test]
fn ae_7_the_agents_own_word_that_it_was_cancelled_interrupts() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.apply(answer("1", End::Stopped));
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "1 tool c1 interrupted",
    ]);
}

/// Orca says failed. Here nobody said how it ended, and the row says so.
#[test]
fn ae_8_a_turn_that_ends_well_around_a_tool_leaves_it_unknown() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.ends("1");
    assert_eq!(b.tool("c1").state, ToolState::Unknown);
    b.tool_is("c1", ToolStatus::Completed);
    assert_eq!(
        b.tool("c1").state,
        ToolState::Completed,
        "a tool may still end after its turn"
    );
}

#[test]
fn ae_10_what_ended_before_the_stop_is_unchanged() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Completed);
    let revision = b.the(Kind::Tool).revision;
    b.stop();
    b.apply(answer("1", End::Stopped));
    assert_eq!(b.the(Kind::Tool).revision, revision);
}

#[test]
fn ah_1_the_sessions_end_settles_open_rows_only() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.tool_is("c1", ToolStatus::Completed);
    b.ends("1");
    b.prompt("2", "Two");
    b.tool_is("c2", ToolStatus::Running);
    let before: Vec<u64> = b.rows().iter().take(3).map(|r| r.revision).collect();
    b.exit(1);
    let after: Vec<u64> = b.rows().iter().take(3).map(|r| r.revision).collect();
    assert_eq!(before, after);
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "1 tool c1 completed",
        "2 turn prompt cut",
        "2 user accepted \"Two\"",
        "2 tool c2 interrupted",
        "2 status warning \"The agent process ended with exit code 1 in the middle of th\"…",
    ]);
}

#[test]
fn ah_2_a_settled_tool_is_never_lit_again() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Failed);
    b.ends("1");
    for status in [ToolStatus::Pending, ToolStatus::Running, ToolStatus::Completed] {
        assert_eq!(b.counted(update("c1", status)), 0);
    }
    assert_eq!(b.tool("c1").state, ToolState::Failed);
}

#[test]
fn ah_3_ah_4_a_key_used_again_is_a_new_row_and_a_withdrawal_reaches_only_that() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("7", None));
    b.apply(settle("7", Outcome::Cancelled));
    b.apply(ask("7", None));
    b.apply(settle("7", Outcome::Allowed));
    b.apply(ask("7", None));
    b.apply(settle("7", Outcome::Cancelled));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 request permission cancelled",
        "1 request permission allowed",
        "1 request permission cancelled",
    ]);
}

#[test]
fn ah_5_an_answer_stands_against_a_later_withdrawal() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("7", None));
    b.apply(settle("7", Outcome::Allowed));
    b.dropped(settle("7", Outcome::Cancelled), "request-settled");
}

/// An assembler that remembers nothing asks for the rows it may meet, so it never writes over one.
#[test]
fn ah_6_an_assembler_that_starts_anew_never_overwrites() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("7", None));
    b.apply(settle("7", Outcome::Allowed));
    b.tool_is("c1", ToolStatus::Completed);
    b.apply(say_as("m1", "Hello"));
    b.apply(task("w1", WorkState::Completed));
    b.ends("1");
    // The same connection's name, so that every id is spelled alike.
    b.restart("1");
    b.apply(ask("7", None));
    b.tool_is("c1", ToolStatus::Running);
    b.apply(say_as("m1", "!"));
    b.apply(task("w1", WorkState::Running));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 request permission allowed",
        "1 tool c1 completed",
        "1 assistant \"Hello!\"",
        "1 task completed \"Background command \\\"w1\\\" finished\"",
        "- request permission pending",
    ]);
}

/// What takes the place of a refused event that is tried again: the same news twice settles once.
#[test]
fn ar_1_the_same_end_twice_settles_once() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.ends("1");
    let rows: Vec<u64> = b.rows().iter().map(|r| r.revision).collect();
    b.dropped(answer("1", End::Completed), "late-answer");
    assert_eq!(rows, b.rows().iter().map(|r| r.revision).collect::<Vec<_>>());
}

#[test]
fn ar_2_a_close_keeps_the_text() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("Kept");
    b.apply(call("c1"));
    b.ends("1");
    assert!(matches!(&b.the(Kind::Assistant).body, Body::Assistant(m) if m.content.as_text() == "Kept"));
}

#[test]
fn ar_4_the_end_of_the_session_may_come_twice() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.exit(1);
    let rows: Vec<u64> = b.rows().iter().map(|r| r.revision).collect();
    b.exit(1);
    assert_eq!(rows, b.rows().iter().map(|r| r.revision).collect::<Vec<_>>());
}

/// A prompt that cannot be taken (its id is in use) leaves the open turns open.
#[test]
fn ar_5_a_prompt_that_is_dropped_ends_no_turn() {
    let mut b = Bench::new();
    b.apply(started("own"));
    b.prompt("1", "One");
    b.say("I wake up");
    b.dropped(prompt("1", "Again"), "prompt-id-in-use");
    b.stop();
    b.prompt("1", "The stopped one does not count");
    assert_eq!(b.all(Kind::Turn).len(), 3);
}

/// Orca's budget refuses the 129th as failed and ends the session. Here more than that are open, and none is lost.
#[test]
fn ar_6_ar_7_far_more_than_128_open_things_are_admitted() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for n in 0..1100 {
        let id = format!("x{n}");
        b.tool_is(&id, ToolStatus::Running);
        b.apply(say_as(&id, "text"));
    }
    for n in 0..1000 {
        b.apply(ask(&format!("q{n}"), None));
    }
    assert_eq!(b.all(Kind::Tool).len(), 1100);
    assert_eq!(b.all(Kind::Assistant).len(), 1100);
    assert_eq!(b.all(Kind::Request).len(), 1000);
    b.ends("1");
    assert_eq!(b.assembler.counters(), Counters::default());
    assert!(b.rows().iter().all(|row| match &row.body {
        Body::Tool(tool) => tool.state == ToolState::Unknown,
        Body::Request(request) => request.outcome == Some(Outcome::Cancelled),
        Body::Assistant(message) => message.state == TextState::Ended,
        _ => true,
    }));
}

/// What a second process finds after the first was killed: settled rows stay, a new turn and its request are its own.
#[test]
fn az_1_a_second_process_lights_nothing_of_the_first() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.tool_is("c1", ToolStatus::Running);
    b.apply(ask("0", Some("c1")));
    b.exit(137);
    b.restart("2");
    b.apply(Event::Attached);
    b.tool_is("c1", ToolStatus::Running);
    b.named_prompt("1", "b", "Two");
    b.apply(ask("0", None));
    b.shows(&[
        "1 turn prompt cut",
        "1 user accepted \"One\"",
        "1 tool c1 interrupted asked_cancelled",
        "1 request permission cancelled",
        "1 status warning \"The agent process ended with exit code 137 in the middle of \"…",
        "2 turn prompt open",
        "2 user accepted \"Two\"",
        "2 request permission pending",
    ]);
}

/// The other half of it: a tool that begins in a turn which is over cannot read as running.
#[test]
fn az_1_a_tool_that_begins_in_a_turn_that_is_over_is_settled_with_it() {
    for (stop, state) in [(true, ToolState::Interrupted), (false, ToolState::Unknown)] {
        let mut b = Bench::new();
        b.named_prompt("1", "a", "One");
        if stop {
            b.stop();
        }
        b.ends("1");
        b.apply(tool(ToolNews {
            turn: Some("a"),
            call: "c9",
            announced: true,
            ..ToolNews::default()
        }));
        assert_eq!(b.tool("c9").state, state);
        assert!(b.the(Kind::Tool).ended_at.is_some());
        b.tool_is("c9", ToolStatus::Completed);
        assert_eq!(b.tool("c9").state, ToolState::Completed);
    }
}

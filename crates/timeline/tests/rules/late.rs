//! What comes at, around and after the end of a turn or of the session: groups AW, AS and AX of the scenarios.

use tapline_timeline::*;

use crate::bench::*;

#[test]
fn aw_1_a_dropped_event_takes_no_number() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.dropped(settle("9", Outcome::Allowed), "request-unknown");
    b.dropped(say(""), "empty-chunk");
    b.say("x");
    let seqs: Vec<u64> = b.rows().iter().map(|r| r.seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
}

#[test]
fn aw_2_a_task_updated_after_its_turn_keeps_its_turn() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.apply(task("w1", WorkState::Running));
    b.ends("1");
    let turn = b.the(Kind::Task).turn.clone();
    assert!(turn.is_some());
    b.apply(task("w1", WorkState::Stopped));
    assert_eq!(b.the(Kind::Task).turn, turn);
}

/// Orca refuses a delta after the close. Here a known message keeps its row and its turn.
#[test]
fn aw_4_a_late_piece_of_a_known_message_joins_it() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.apply(say_as("m1", "Hel"));
    b.ends("1");
    b.prompt("2", "Two");
    b.apply(say_as("m1", "lo"));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "1 assistant \"Hello\"",
        "2 turn prompt open",
        "2 user accepted \"Two\"",
    ]);
}

#[test]
fn aw_5_a_request_key_can_be_used_as_often_as_the_agent_likes() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for _ in 0..129 {
        b.apply(ask("7", None));
        b.apply(settle("7", Outcome::Allowed));
    }
    let requests = b.all(Kind::Request);
    assert_eq!(requests.len(), 129);
    assert_eq!(requests[128].id.as_str(), "s/q:1:7#129");
}

#[test]
fn aw_7_a_key_of_a_mebibyte_is_cut_to_a_digest_and_works() {
    let mut b = Bench::new();
    let long = "k".repeat(1 << 20);
    b.prompt("1", "Go");
    b.apply(call(&long));
    b.tool_is(&long, ToolStatus::Completed);
    let row = b.the(Kind::Tool);
    assert!(row.id.as_str().len() < 400);
    assert!(
        matches!(&row.body, Body::Tool(t) if t.state == ToolState::Completed && t.call.len() == limits::LABEL_BYTES)
    );
}

#[test]
fn as_1_an_observed_exit_cuts_the_turn_and_keeps_what_was_said() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("7", None));
    b.tool_is("c1", ToolStatus::Running);
    b.say("Half a sen");
    b.exit(1);
    b.shows(&[
        "1 turn prompt cut",
        "1 user accepted \"Go\"",
        "1 request permission cancelled",
        "1 tool c1 interrupted",
        "1 assistant cut \"Half a sen\"",
        "1 status warning \"The agent process ended with exit code 1 in the middle of th\"…",
    ]);
    assert!(matches!(b.host.timeline.session(), Some(s) if s.state == SessionState::Ended));
}

/// Orca's lost child is a record that ends without an exit: nobody crashed, so no row says so.
#[test]
fn as_2_a_record_that_ends_settles_everything_and_blames_nobody() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.apply(ask("7", Some("c1")));
    b.apply(task("w1", WorkState::Running));
    b.apply(record_ends());
    b.shows(&[
        "1 turn prompt cut",
        "1 user accepted \"Go\"",
        "1 tool c1 interrupted asked_cancelled",
        "1 request permission cancelled",
        "1 task unknown \"Background command \\\"w1\\\" stopped reporting\"",
    ]);
}

/// Orca drops all that follows. Here another process may go on with the session (the translator drops what a connection says
/// after its end).
#[test]
fn as_3_after_the_end_another_process_goes_on() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.exit(1);
    b.apply(Event::Attached);
    b.connection = "2".to_owned();
    b.prompt("1", "Two");
    b.say("Here");
    b.ends("1");
    assert_eq!(b.all(Kind::Turn).len(), 2);
    assert!(matches!(b.host.timeline.session(), Some(s) if s.state == SessionState::Live));
}

#[test]
fn as_4_the_same_key_while_it_waits_is_the_same_request() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("7", None));
    b.dropped(ask("7", None), "request-duplicate");
}

#[test]
fn as_5_the_end_of_its_turn_cancels_a_request() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("7", None));
    b.ends("1");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 request permission cancelled",
    ]);
}

#[test]
fn as_6_an_answered_request_stays_answered() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("7", None));
    b.apply(settle("7", Outcome::Allowed));
    b.dropped(settle("7", Outcome::Rejected), "request-settled");
    b.ends("1");
    b.exit(1);
    assert!(matches!(&b.the(Kind::Request).body, Body::Request(r) if r.outcome == Some(Outcome::Allowed)));
}

#[test]
fn as_7_a_request_is_withdrawn_once() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("7", None));
    b.apply(settle("7", Outcome::Cancelled));
    b.dropped(settle("7", Outcome::Cancelled), "request-settled");
    b.dropped(settle("8", Outcome::Cancelled), "request-unknown");
}

#[test]
fn as_8_context_reaches_a_turn_that_just_ended() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.ends("1");
    b.apply(context(42, 100));
    b.shows(&["1 turn prompt completed 42/100", "1 user accepted \"Go\""]);
}

/// Tapline keeps no live line; what Orca's dialects feed into it is no row here either.
#[test]
fn as_9_usage_without_a_turn_is_dropped_by_name() {
    let mut b = Bench::new();
    let usage = Usage {
        measure: Measure::Turn,
        input: Some(1),
        input_holds_cached: None,
        output: None,
        cached_read: None,
        cached_write: None,
        thought: None,
        total: None,
        cost: None,
    };
    b.dropped(Event::Usage { turn: None, usage }, "no-turn");
}

#[test]
fn as_10_what_nothing_covers_stands_in_the_open_turn() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(Event::Unknown {
        method: "session/update",
        name: Some("weather"),
        payload: Some("{\"sky\":\"blue\"}"),
    });
    b.ends("1");
    b.apply(Event::Unknown {
        method: "session/update",
        name: Some("weather"),
        payload: None,
    });
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 unknown session/update weather",
        "- unknown session/update weather",
    ]);
}

/// What takes the place of a delta that was admitted before the end and written after it: a piece that comes after the end
/// of its turn, with neither id nor turn, is work that the agent began itself.
#[test]
fn ax_1_an_unnamed_piece_after_the_end_is_the_agents_own_turn() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("Done");
    b.ends("1");
    b.say("One more thing");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 assistant \"Done\"",
        "2 turn agent open",
        "2 assistant open \"One more thing\"",
    ]);
}

/// A person's stop is an event of the same order, so nobody else writes: it ends the text at once.
#[test]
fn ax_2_a_stop_ends_the_stream_at_once() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("Half");
    b.stop();
    assert!(matches!(&b.the(Kind::Assistant).body, Body::Assistant(m) if m.state == TextState::Ended));
    b.dropped(say(" more"), "turn-stopped");
}

#[test]
fn ax_3_late_text_with_an_id_still_lands_in_its_row() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(say_as("m1", "Almost"));
    b.ends("1");
    b.apply(say_as("m1", " all"));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 assistant \"Almost all\"",
    ]);
}

#[test]
fn ax_4_a_turn_name_of_a_mebibyte_ends_nothing() {
    let mut b = Bench::new();
    let long = "n".repeat(1 << 20);
    b.apply(started(&long));
    b.apply(say_in(&long, "Hello"));
    b.apply(ended(Some(&long), End::Completed));
    b.shows(&["1 turn agent completed", "1 assistant \"Hello\""]);
    assert!(b.the(Kind::Turn).id.as_str().len() < 400);
}

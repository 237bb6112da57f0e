//! A person's stop: group AP of the scenarios.

use tapline_timeline::*;

use crate::bench::*;

#[test]
fn ap_1_a_stop_cancels_the_question_at_once_and_its_tool_settles_at_the_agents_end() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.apply(ask("7", None));
    b.stop();
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 tool c1 running",
        "1 request permission cancelled",
    ]);
    b.apply(answer("1", End::Completed));
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "1 tool c1 interrupted",
        "1 request permission cancelled",
    ]);
}

/// The agent's end came first on the wire, so it stands; a stop that follows finds nothing to stop.
#[test]
fn ap_2_a_stop_after_the_end_finds_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.ends("1");
    b.dropped(Event::Stop, "nothing-runs");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 tool c1 unknown",
    ]);
}

#[test]
fn ap_3_no_other_event_settles_the_tool_of_a_stopped_turn() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.stop();
    b.apply(context(42, 100));
    b.dropped(say("text"), "turn-stopped");
    b.apply(Event::Unknown {
        method: "session/update",
        name: Some("x"),
        payload: None,
    });
    assert_eq!(b.tool("c1").state, ToolState::Running);
}

#[test]
fn ap_4_progress_and_completion_of_a_tool_land_after_the_stop() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.stop();
    b.apply(tool(ToolNews {
        call: "c1",
        output: Some("half".into()),
        ..ToolNews::default()
    }));
    assert_eq!(b.tool("c1").output.as_deref(), Some("half"));
    b.tool_is("c1", ToolStatus::Completed);
    b.apply(answer("1", End::Stopped));
    assert_eq!(b.tool("c1").state, ToolState::Completed);
}

#[test]
fn ap_5_what_ended_before_the_stop_is_kept() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Completed);
    b.stop();
    b.apply(answer("1", End::Stopped));
    assert_eq!(b.tool("c1").state, ToolState::Completed);
}

/// The end of a stopped turn may come without a name: it is the running prompt's. A second one finds no turn.
#[test]
fn ap_6_an_unnamed_end_ends_the_stopped_turn_once() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.stop();
    b.apply(ended(None, End::Failed));
    b.shows(&["1 turn prompt stopped", "1 user accepted \"Go\""]);
    b.dropped(ended(None, End::Failed), "no-turn");
}

#[test]
fn ap_7_the_next_prompt_ends_a_stopped_turn_that_nobody_answers() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.stop();
    b.prompt("2", "Rather this");
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "1 tool c1 interrupted",
        "2 turn prompt open",
        "2 user accepted \"Rather this\"",
    ]);
    b.dropped(answer("1", End::Completed), "late-answer");
}

/// Orca counts stopped tools in its budget of 128. Here nothing is refused: more than that stay open until their end.
#[test]
fn ap_8_many_tools_of_a_stopped_turn_all_settle_at_its_end() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let calls: Vec<String> = (0..200).map(|n| format!("c{n}")).collect();
    for call in &calls {
        b.tool_is(call, ToolStatus::Running);
    }
    b.stop();
    b.apply(answer("1", End::Stopped));
    assert_eq!(b.all(Kind::Tool).len(), 200);
    assert!(
        calls
            .iter()
            .all(|call| b.tool(call).state == ToolState::Interrupted)
    );
}

#[test]
fn ap_9_stopped_turns_with_streams_fill_no_budget() {
    let mut b = Bench::new();
    for n in 0..140 {
        let key = n.to_string();
        b.prompt(&key, "Go");
        b.say("Half");
        b.stop();
    }
    b.prompt("last", "Go");
    b.say("Whole");
    b.apply(answer("last", End::Completed));
    assert_eq!(b.all(Kind::Assistant).len(), 141);
    assert_eq!(b.assembler.counters(), Counters::default(), "nothing was let go");
}

/// Messages of turns that are over leave the list of those at hand first, so they never cost a running one its place.
#[test]
fn ap_10_messages_of_ended_turns_go_first() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for n in 0..limits::OPEN_TEXTS {
        b.apply(say_as(&format!("old{n}"), "said"));
    }
    b.stop();
    b.prompt("2", "On");
    b.say("A");
    b.think("Hm");
    b.apply(say_as("new", "A"));
    for n in 0..limits::OPEN_TEXTS - 2 {
        b.apply(Event::Text(text(
            Channel::Reasoning,
            Some(&format!("r{n}")),
            "hm",
        )));
    }
    let asked = b.host.asked.get();
    b.apply(say_as("new", "B"));
    assert_eq!(b.host.asked.get(), asked, "it is still at hand");
    let last = b.all(Kind::Assistant).pop().expect("a message").clone();
    assert!(matches!(&last.body, Body::Assistant(m) if m.content.as_text() == "AB"));
}

#[test]
fn ap_11_trailing_text_of_a_stopped_turn_is_dropped_named_or_not() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "Go");
    b.apply(say_as("m1", "Half"));
    b.stop();
    b.dropped(say(" more"), "turn-stopped");
    b.dropped(say_in("a", " more"), "turn-stopped");
    b.dropped(say_as("m1", " more"), "turn-stopped");
    b.dropped(say_as("m2", "another"), "turn-stopped");
    b.apply(answer("1", End::Stopped));
    b.dropped(say_in("a", " more"), "turn-stopped");
    b.dropped(say_as("m1", " more"), "turn-stopped");
    b.restart("2");
    b.dropped(say_in("a", " more"), "turn-stopped");
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "1 assistant \"Half\"",
    ]);
}

/// Orca lands it at the thread; here unnamed text after the agent's own end is the agent's own turn.
#[test]
fn ap_12_unnamed_text_after_the_agents_end_is_its_own_turn() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.stop();
    b.apply(answer("1", End::Stopped));
    b.say("Anyway");
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "2 turn agent open",
        "2 assistant open \"Anyway\"",
    ]);
}

#[test]
fn ap_13_the_next_turn_begins_its_own_message() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("Half");
    b.stop();
    b.prompt("2", "Go on");
    b.say("New");
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "1 assistant \"Half\"",
        "2 turn prompt open",
        "2 user accepted \"Go on\"",
        "2 assistant open \"New\"",
    ]);
}

#[test]
fn stop_is_for_the_running_turn_only() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.prompt("2", "Two");
    b.stop();
    b.apply(answer("1", End::Stopped));
    b.say("Two it is");
    b.ends("2");
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"One\"",
        "2 user accepted \"Two\"",
        "2 turn prompt completed",
        "2 assistant \"Two it is\"",
    ]);
}

#[test]
fn stop_wins_over_an_error_and_over_the_end_of_the_process() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.stop();
    b.apply(error("1", "Request was aborted"));
    b.shows(&["1 turn prompt stopped", "1 user accepted \"One\""]);
    b.prompt("2", "Two");
    b.stop();
    b.exit(1);
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"One\"",
        "2 turn prompt stopped",
        "2 user accepted \"Two\"",
    ]);
}

#[test]
fn stop_never_makes_the_next_prompt_queued() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.stop();
    b.prompt("2", "Two");
    assert_eq!(b.counted(answer("1", End::Stopped)), 0);
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"One\"",
        "2 turn prompt open",
        "2 user accepted \"Two\"",
    ]);
}

#[test]
fn stop_of_the_agents_own_turn_ends_its_words_too() {
    let mut b = Bench::new();
    b.say("I wake up");
    b.stop();
    b.dropped(say(" and talk"), "turn-stopped");
    b.prompt("1", "Quiet");
    b.shows(&[
        "1 turn agent stopped",
        "1 assistant \"I wake up\"",
        "2 turn prompt open",
        "2 user accepted \"Quiet\"",
    ]);
}

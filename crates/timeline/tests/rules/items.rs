//! Items: groups AI, AO, AW, AS and AX of the scenarios.

use tapline_timeline::*;

use crate::bench::*;

#[test]
fn ai_1_tools_and_texts_stand_in_the_order_they_came() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("First ");
    b.say("I look");
    b.apply(call("c1"));
    b.tool_is("c1", ToolStatus::Completed);
    b.say("Then ");
    b.apply(call("c2"));
    b.say("done");
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 assistant \"First I look\"",
        "1 tool c1 completed",
        "1 assistant \"Then \"",
        "1 tool c2 pending",
        "1 assistant open \"done\"",
    ]);
}

#[test]
fn ai_2_a_second_end_of_a_tool_changes_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Completed);
    let told = b.apply(update("c1", ToolStatus::Failed));
    assert_eq!(told, ["tool-unchanged"]);
    assert_eq!(b.tool("c1").state, ToolState::Completed);
}

/// Orca drops the whole update. Here a late one fills gaps and moves nothing.
#[test]
fn ai_3_news_after_the_end_only_fills_gaps() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let news = |input: &str, output: &str| ToolNews {
        call: "c1",
        input: Json::parse(input).ok(),
        output: Some(output.to_owned().into()),
        ..ToolNews::default()
    };
    b.apply(tool(ToolNews {
        output: Some("42".into()),
        status: Some(ToolStatus::Completed),
        call: "c1",
        ..ToolNews::default()
    }));
    b.apply(tool(ToolNews {
        status: Some(ToolStatus::Running),
        ..news("{\"a\":1}", "43")
    }));
    b.apply(tool(news("{\"a\":2}", "44")));
    let tool = b.tool("c1");
    assert_eq!(tool.state, ToolState::Completed);
    assert_eq!(tool.output.as_deref(), Some("42"));
    assert_eq!(
        tool.input.as_ref().map(Json::as_str),
        Some("{\"a\":1}"),
        "the gap is filled once"
    );
}

/// What the end of a process settled is only completed by what really happened, never lit again.
#[test]
fn ai_4_a_verdict_of_the_sweep_stands_against_a_late_running() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.exit(137);
    b.restart("2");
    assert_eq!(b.apply(update("c1", ToolStatus::Running)), ["tool-unchanged"]);
    assert_eq!(b.tool("c1").state, ToolState::Interrupted);
    b.tool_is("c1", ToolStatus::Failed);
    assert_eq!(b.tool("c1").state, ToolState::Failed, "the real news");
}

/// Orca reopens the item. Here a tool that ended in its own turn stays; in a later turn it is a new one.
#[test]
fn ai_5_only_an_announcement_in_a_later_turn_opens_a_call_again() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Completed);
    b.apply(call("c1"));
    assert_eq!(b.all(Kind::Tool).len(), 1);
    b.ends("1");
    b.prompt("2", "Again");
    b.tool_is("c1", ToolStatus::Running);
    assert_eq!(
        b.all(Kind::Tool).len(),
        1,
        "an update is news of the tool that ended"
    );
    b.apply(call("c1"));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 tool c1 completed",
        "2 turn prompt open",
        "2 user accepted \"Again\"",
        "2 tool c1 pending",
    ]);
    assert_eq!(b.all(Kind::Tool)[1].id.as_str(), "s/c:c1#2");
}

#[test]
fn ai_6_a_plan_is_replaced_in_place() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(plan(&[("Read", "in_progress"), ("Write", "pending")]));
    b.apply(call("c1"));
    b.apply(plan(&[("Read", "completed"), ("Write", "in_progress")]));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 plan [completed] Read [in_progress] Write",
        "1 tool c1 pending",
    ]);
    b.ends("1");
    let plan = b.the(Kind::Plan);
    assert!(
        matches!(&plan.body, Body::Plan(p) if p.entries[1].status == "pending"),
        "nothing is in progress after the turn"
    );
}

/// Orca writes a thread row. Here a tool with no turn open is work that the agent began itself.
#[test]
fn ai_7_a_tool_without_a_turn_opens_one_of_the_agents_own() {
    let mut b = Bench::new();
    b.apply(call("c1"));
    b.shows(&["1 turn agent open", "1 tool c1 pending"]);
    b.prompt("1", "Go");
    b.shows(&[
        "1 turn agent unknown",
        "1 tool c1 unknown",
        "2 turn prompt open",
        "2 user accepted \"Go\"",
    ]);
}

#[test]
fn ai_8_a_stopped_turn_interrupts_its_tool_and_its_task_goes_on() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.apply(Event::Task(TaskNews {
        call: Some("c1".into()),
        ..task_news("w1")
    }));
    b.stop();
    b.apply(answer("1", End::Stopped));
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "1 tool c1 interrupted",
        "1 task running \"Started background command \\\"w1\\\"\"",
    ]);
    b.prompt("2", "More");
    b.apply(task("w1", WorkState::Completed));
    let task = b.the(Kind::Task);
    assert_eq!(
        task.turn,
        b.all(Kind::Tool)[0].turn,
        "it stays in the turn that launched it"
    );
    assert_eq!(task.parent, Some(b.all(Kind::Tool)[0].id.clone()));
    assert!(matches!(&task.body, Body::Task(t) if t.state == WorkState::Completed));
}

fn task_news(id: &str) -> TaskNews<'_> {
    TaskNews {
        task: id.into(),
        kind: Some(TaskKind::Command),
        state: Some(WorkState::Running),
        ..TaskNews::default()
    }
}

#[test]
fn ai_9_who_made_a_row_stands_on_it() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let producer = Producer {
        agent: "reviewer".to_owned(),
        session: Some("child".to_owned()),
    };
    b.apply(tool(ToolNews {
        call: "c1",
        announced: true,
        producer: Some(producer.clone()),
        ..ToolNews::default()
    }));
    let news = RequestNews {
        producer: Some(producer.clone()),
        ..request("7", None)
    };
    b.apply(Event::Request(Box::new(news)));
    assert_eq!(b.the(Kind::Tool).producer.as_ref(), Some(&producer));
    assert_eq!(b.the(Kind::Request).producer.as_ref(), Some(&producer));
}

/// Orca gathers deltas for 60 ms before it writes a row whole. Here each delta is one append of its own bytes; gathering
/// is the journal's.
#[test]
fn ai_10_ai_11_each_delta_is_one_append_of_its_own_bytes() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("a");
    for _ in 0..100 {
        let before = b.host.ledger.appended;
        assert_eq!(b.counted(say("bc")), 1);
        assert_eq!(b.host.ledger.appended - before, 2);
    }
}

#[test]
fn ai_12_a_message_has_one_row_however_often_its_id_comes() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(say_as("m1", "Hel"));
    b.apply(call("c1"));
    b.apply(say_as("m1", "lo"));
    b.ends("1");
    b.apply(say_as("m1", "!"));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 assistant \"Hello!\"",
        "1 tool c1 unknown",
    ]);
}

#[test]
fn ai_13_a_thought_is_reasoning() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.think("Hm");
    b.say("Yes");
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 reasoning \"Hm\"",
        "1 assistant open \"Yes\"",
    ]);
}

#[test]
fn ai_14_what_is_blank_makes_no_row_until_there_is_something_to_read() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("\n");
    b.say("  ");
    assert!(b.all(Kind::Assistant).is_empty());
    b.say("x");
    b.apply(call("c1"));
    b.say(" \n ");
    b.ends("1");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 assistant \"\\n  x\"",
        "1 tool c1 unknown",
    ]);
}

#[test]
fn ao_1_named_messages_have_rows_of_their_own() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(say_as("m1", "One"));
    b.apply(say_as("m2", "Two"));
    b.apply(say_as("m1", " more"));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 assistant \"One more\"",
        "1 assistant open \"Two\"",
    ]);
}

/// Orca drops the second channel. Here the same id on two channels is two messages.
#[test]
fn ao_2_one_id_on_two_channels_is_two_messages() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(Event::Text(text(Channel::Reasoning, Some("m1"), "Hm")));
    b.apply(say_as("m1", "Yes"));
    b.apply(Event::Text(text(Channel::Reasoning, Some("m1"), ", hm")));
    let (reasoning, reply) = (b.the(Kind::Reasoning), b.the(Kind::Assistant));
    assert!(matches!(&reasoning.body, Body::Reasoning(m) if m.content.as_text() == "Hm, hm"));
    assert!(matches!(&reply.body, Body::Assistant(m) if m.content.as_text() == "Yes"));
}

/// What another model call streams (its mark differs) is another message, as another producer's is in Orca.
#[test]
fn ao_3_another_stream_begins_another_message() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for (mark, words) in [("x", "One"), ("x", " more"), ("y", "Two")] {
        b.apply(Event::Text(Text {
            mark: Some(mark),
            ..text(Channel::Assistant, None, words)
        }));
    }
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 assistant \"One more\"",
        "1 assistant open \"Two\"",
    ]);
}

#[test]
fn ao_4_a_block_that_says_the_stream_again_with_an_id_adds_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("Hel");
    b.say("lo");
    b.dropped(say_as("m1", "Hello"), "restated");
    b.apply(say_as("m1", "!"));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 assistant open \"Hello!\"",
    ]);
}

/// Orca's full budget keeps a text that it no longer streams. Here a message that is no longer at hand is asked for.
#[test]
fn ao_5_a_message_that_was_pushed_out_keeps_its_text_and_goes_on() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(say_as("m", "A"));
    for n in 0..=limits::OPEN_TEXTS {
        b.apply(say_as(&format!("x{n}"), "other"));
    }
    b.apply(say_as("m", "B"));
    assert!(matches!(&b.all(Kind::Assistant)[0].body, Body::Assistant(m) if m.content.as_text() == "AB"));
}

#[test]
fn ao_6_text_before_a_tool_is_closed_before_it() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("Look");
    b.apply(call("c1"));
    let said = b.the(Kind::Assistant);
    assert!(matches!(&said.body, Body::Assistant(m) if m.state == TextState::Ended));
    assert!(said.seq < b.the(Kind::Tool).seq);
}

/// Orca splits an unnamed message at a context report. Here metadata splits nothing.
#[test]
fn ao_7_metadata_splits_no_message() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("one ");
    b.apply(context(42, 100));
    b.say("two ");
    b.apply(Event::Session(SessionFacts {
        title: Some("T".into()),
        mode: Some("code".into()),
        ..SessionFacts::default()
    }));
    b.say("three ");
    b.apply(Event::Unknown {
        method: "session/update",
        name: Some("weather"),
        payload: None,
    });
    b.say("four ");
    b.apply(call("c1"));
    b.say("five ");
    b.tool_is("c1", ToolStatus::Completed);
    b.say("six ");
    b.prompt("2", "queued");
    b.say("seven ");
    b.apply(Event::Status {
        turn: None,
        tone: Tone::Info,
        text: "A notice".into(),
        detail: None,
    });
    b.say("eight");
    let texts: Vec<&str> = b
        .all(Kind::Assistant)
        .iter()
        .map(|row| match &row.body {
            Body::Assistant(m) => m.content.as_text(),
            _ => "",
        })
        .collect();
    assert_eq!(texts, ["one two three four ", "five six seven eight"]);
}

#[test]
fn ao_8_a_dropped_event_splits_no_message() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("one ");
    b.dropped(say(""), "empty-chunk");
    b.dropped(settle("9", Outcome::Allowed), "request-unknown");
    b.dropped(answer("9", End::Completed), "late-answer");
    b.say("two");
    assert!(matches!(&b.the(Kind::Assistant).body, Body::Assistant(m) if m.content.as_text() == "one two"));
}

#[test]
fn ao_9_a_late_item_goes_to_the_turn_it_names() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.ends("1");
    b.named_prompt("2", "b", "Two");
    b.apply(say_in("a", "Late"));
    b.apply(tool(ToolNews {
        turn: Some("a"),
        call: "c1",
        announced: true,
        status: Some(ToolStatus::Completed),
        ..ToolNews::default()
    }));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "2 turn prompt open",
        "2 user accepted \"Two\"",
        "1 assistant \"Late\"",
        "1 tool c1 completed",
    ]);
}

#[test]
fn ao_10_a_task_stays_in_the_turn_it_began_in() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.apply(task("w1", WorkState::Running));
    b.ends("1");
    b.prompt("2", "Two");
    b.apply(task("w1", WorkState::Failed));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "1 task failed \"Background command \\\"w1\\\" failed\"",
        "2 turn prompt open",
        "2 user accepted \"Two\"",
    ]);
}

#[test]
fn ao_11_context_goes_to_the_turn_it_names() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.ends("1");
    b.named_prompt("2", "b", "Two");
    let of = |turn: &'static str| Event::Context {
        turn: Some(turn.into()),
        context: Context {
            used: Some(7),
            size: Some(100),
        },
        replay: false,
    };
    b.apply(of("a"));
    b.shows(&[
        "1 turn prompt completed 7/100",
        "1 user accepted \"One\"",
        "2 turn prompt open",
        "2 user accepted \"Two\"",
    ]);
}

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

//! Which message a piece of text belongs to: group AO of the scenarios.

use tapline_timeline::*;

use crate::bench::*;

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

//! Words: messages and what divides them, echoes, retries, and parts that are no text.

use tapline_timeline::*;

use crate::bench::*;

#[test]
fn words_an_echo_alone_adds_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "List the files");
    assert_eq!(b.counted(user_piece(None, "List the files")), 0);
    b.say("a.txt");
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"List the files\"",
        "1 assistant open \"a.txt\"",
    ]);
}

#[test]
fn words_an_echo_in_several_chunks_adds_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "List the files");
    for piece in ["List ", "the", " files"] {
        assert_eq!(b.counted(user_piece(Some("u1"), piece)), 0);
    }
    b.ends("1");
    b.shows(&["1 turn prompt completed", "1 user accepted \"List the files\""]);
}

#[test]
fn words_an_echo_after_earlier_prompts_adds_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "First ask");
    b.ends("1");
    b.prompt("2", "Second ask");
    b.apply(user_piece(None, "First ask\n\nSecond ask"));
    b.say("ok");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"First ask\"",
        "2 turn prompt open",
        "2 user accepted \"Second ask\"",
        "2 assistant open \"ok\"",
    ]);
}

#[test]
fn words_an_echo_of_a_later_prompt_adds_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "First");
    b.prompt("2", "Second");
    assert_eq!(b.counted(user_piece(None, "Second")), 0);
    b.say("ok");
    assert_eq!(b.all(Kind::User).len(), 2);
}

#[test]
fn words_white_space_after_an_echo_is_told_as_blank() {
    let mut b = Bench::new();
    b.prompt("1", "First");
    b.prompt("2", "Second");
    b.dropped(user_piece(Some("u1"), "Second"), "echo");
    b.dropped(user_piece(Some("u1"), "\n"), "blank-message");
}

#[test]
fn words_what_the_agent_puts_in_itself_is_its_own_user_row() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("Let me see");
    b.apply(user_piece(None, "Reminder: the build failed"));
    b.say("I see");
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 assistant \"Let me see\"",
        "1 user by agent \"Reminder: the build failed\"",
        "1 assistant open \"I see\"",
    ]);
}

#[test]
fn words_a_message_of_the_agents_own_in_several_chunks_is_one_row() {
    for id in [None, Some("u9")] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        for piece in ["Reminder: ", "the build ", "failed"] {
            b.apply(user_piece(id, piece));
        }
        b.say("I see");
        b.shows(&[
            "1 turn prompt open",
            "1 user accepted \"Go\"",
            "1 user by agent \"Reminder: the build failed\"",
            "1 assistant open \"I see\"",
        ]);
    }
}

#[test]
fn words_another_message_of_the_agents_own_is_another_row() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(user_piece(None, "One"));
    b.say("ok");
    b.apply(user_piece(None, "Two"));
    b.apply(user_piece(Some("u1"), "Three"));
    b.apply(user_piece(Some("u2"), "Four"));
    b.apply(user_piece(Some("u1"), " and a half"));
    let texts: Vec<&str> = b
        .all(Kind::User)
        .iter()
        .skip(1)
        .map(|row| match &row.body {
            Body::User(user) => user.content.as_text(),
            _ => "",
        })
        .collect();
    assert_eq!(texts, ["One", "Two", "Three and a half", "Four"]);
}

#[test]
fn words_the_agents_own_user_message_opens_a_turn() {
    let mut b = Bench::new();
    b.apply(user_piece(None, "The build just finished."));
    b.say("Good");
    b.shows(&[
        "1 turn agent open",
        "1 user by agent \"The build just finished.\"",
        "1 assistant open \"Good\"",
    ]);
}

#[test]
fn words_a_new_message_begins_after_each_barrier() {
    let barriers: [fn() -> Event<'static>; 5] = [
        || call("c1"),
        || plan(&[("Read", "pending")]),
        || ask("7", None),
        || {
            Event::Request(Box::new(RequestNews {
                ask: Ask::Question,
                ..request("8", None)
            }))
        },
        || think("Hm"),
    ];
    for barrier in barriers {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        b.say("before");
        b.apply(barrier());
        b.say("after");
        assert_eq!(b.all(Kind::Assistant).len(), 2, "{:?}", barrier());
    }
}

#[test]
fn words_a_retry_that_the_agent_marks_supersedes_the_first_row() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let piece = |mark, words| {
        Event::Text(Text {
            mark: Some(mark),
            ..text(Channel::Assistant, None, words)
        })
    };
    b.apply(piece("call-1", "The answer is"));
    b.apply(Event::Superseded {
        turn: None,
        mark: "call-1".into(),
    });
    b.apply(piece("call-2", "The answer is 42"));
    b.dropped(
        Event::Superseded {
            turn: None,
            mark: "call-9".into(),
        },
        "nothing-to-supersede",
    );
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 assistant superseded \"The answer is\"",
        "1 assistant open \"The answer is 42\"",
    ]);
}

#[test]
fn words_no_guess_by_content_without_a_mark() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("The answer");
    b.say("The answer is 42");
    assert!(
        matches!(&b.the(Kind::Assistant).body, Body::Assistant(m) if m.content.as_text() == "The answerThe answer is 42")
    );
}

#[test]
fn words_only_a_whole_block_on_the_same_channel_counts_as_restated() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("Hello");
    b.apply(say_as("m1", "Hell"));
    b.apply(Event::Text(text(Channel::Reasoning, Some("m2"), "Hello")));
    assert_eq!(b.all(Kind::Assistant).len(), 2);
    assert_eq!(b.all(Kind::Reasoning).len(), 1);
}

#[test]
fn words_an_image_is_a_part_where_it_came() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("before ");
    b.apply(Event::Media {
        turn: None,
        channel: Channel::Assistant,
        message: None,
        part: Part::Image(Media {
            media_type: Some("image/png".to_owned()),
            ..Media::default()
        }),
    });
    b.say("after");
    let Body::Assistant(message) = &b.the(Kind::Assistant).body else {
        unreachable!()
    };
    let parts = message.content.parts();
    assert_eq!(parts.len(), 3);
    assert!(matches!(&parts[1], Part::Image(_)));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 assistant open \"before after\" <image>",
    ]);
}

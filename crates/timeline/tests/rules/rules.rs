//! The rules of the design that no scenario covers, each test named by its rule.

use tapline_timeline::*;

use crate::bench::*;

// Turns

#[test]
fn queue_two_prompts_answered_in_reverse() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.prompt("2", "Two");
    b.say("one");
    b.apply(answer("2", End::Refused));
    b.say(" still one");
    b.apply(answer("1", End::Completed));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "2 user accepted \"Two\"",
        "1 assistant \"one still one\"",
        "2 turn prompt refused",
    ]);
}

#[test]
fn queue_an_error_answer_to_a_queued_prompt_rejects_it_with_the_reason() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.prompt("2", "Two");
    b.apply(error("2", "Busy"));
    b.ends("1");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "- user rejected \"Two\" because \"Busy\"",
    ]);
    assert!(b.all(Kind::User)[1].ended_at.is_some());
}

#[test]
fn queue_what_never_opened_is_unconfirmed_at_the_end() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.prompt("2", "Two");
    b.exit(1);
    b.shows(&[
        "1 turn prompt cut",
        "1 user accepted \"One\"",
        "- user unconfirmed \"Two\"",
        "1 status warning \"The agent process ended with exit code 1 in the middle of th\"…",
    ]);
}

#[test]
fn queue_a_prompt_taken_back_is_withdrawn() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.prompt("2", "Two");
    b.apply(Event::Answer {
        key: "2",
        answer: PromptAnswer::Withdrawn,
    });
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"One\"",
        "- user withdrawn \"Two\"",
    ]);
}

#[test]
fn turns_an_error_answer_fails_the_turn_also_when_nothing_came_before() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.apply(error("1", "No money"));
    b.shows(&[
        "1 turn prompt failed",
        "1 user accepted \"One\"",
        "1 status error \"No money\"",
    ]);
}

#[test]
fn one_failure_whichever_copy_of_the_reason_comes_first() {
    let words = "The model is overloaded";
    let told = |turn| Event::Failure {
        turn,
        failure: failure("The model is overloaded"),
    };
    let by_notice = Event::TurnEnded(TurnEnded {
        turn: Some("a"),
        end: End::Failed,
        stop_reason: Some("error".into()),
        duration_ms: None,
        failure: failure(""),
        usage: None,
    });
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut b = Bench::new();
        b.named_prompt("1", "a", "One");
        for step in order {
            b.apply(match step {
                0 => told(Some("a".into())),
                1 => by_notice.clone(),
                _ => error("1", words),
            });
        }
        b.shows(&[
            "1 turn prompt failed",
            "1 user accepted \"One\"",
            &format!("1 status error {words:?}"),
        ]);
    }
}

#[test]
fn one_failure_a_copy_without_words_erases_nothing() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.apply(Event::Failure {
        turn: Some("a".into()),
        failure: failure("Overloaded"),
    });
    b.apply(error("1", ""));
    b.shows(&[
        "1 turn prompt failed",
        "1 user accepted \"One\"",
        "1 status error \"Overloaded\"",
    ]);
}

#[test]
fn turns_the_answer_decides_over_a_notice_that_it_is_done() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.apply(Event::TurnEnded(TurnEnded {
        turn: Some("a"),
        end: End::Completed,
        stop_reason: None,
        duration_ms: Some(70),
        failure: Failure::default(),
        usage: None,
    }));
    b.shows(&["1 turn prompt open", "1 user accepted \"One\""]);
    b.apply(answer("1", End::Refused));
    b.shows(&["1 turn prompt refused 70ms", "1 user accepted \"One\""]);
}

#[test]
fn turns_the_agents_own_ends_by_its_word_or_at_the_next_prompt() {
    let mut b = Bench::new();
    b.say("Awake");
    b.prompt("1", "Go");
    b.ends("1");
    b.apply(started("own"));
    b.apply(ended(Some("own"), End::Completed));
    b.say("Again");
    b.apply(record_ends());
    b.shows(&[
        "1 turn agent unknown",
        "1 assistant \"Awake\"",
        "2 turn prompt completed",
        "2 user accepted \"Go\"",
        "3 turn agent completed",
        "4 turn agent unknown",
        "4 assistant \"Again\"",
    ]);
}

// Words

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

// Tools

fn titled<'a>(id: &'a str, announced: bool, title: &'a str) -> ToolNews<'a> {
    ToolNews {
        call: id,
        announced,
        title: Some(title.into()),
        ..ToolNews::default()
    }
}

#[test]
fn tools_a_late_announcement_gives_its_title_and_moves_no_state() {
    for state in [ToolStatus::Pending, ToolStatus::Running, ToolStatus::Completed] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        b.tool_is("c1", state);
        let before = b.tool("c1").state;
        b.apply(tool(ToolNews {
            status: Some(ToolStatus::Running),
            ..titled("c1", true, "Read a.txt")
        }));
        assert_eq!(b.tool("c1").state, before);
        assert_eq!(b.tool("c1").title.as_deref(), Some("Read a.txt"));
    }
}

#[test]
fn tools_the_first_name_and_the_last_title_stay() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(tool(ToolNews {
        name: Some("grep".into()),
        ..titled("c1", true, "Search")
    }));
    b.apply(tool(ToolNews {
        name: Some("other".into()),
        status: Some(ToolStatus::Completed),
        ..titled("c1", false, "Searched")
    }));
    assert_eq!(b.tool("c1").name.as_deref(), Some("grep"));
    assert_eq!(b.tool("c1").title.as_deref(), Some("Searched"));
}

#[test]
fn tools_an_unknown_status_keeps_the_last_known_state() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(call("c1"));
    b.apply(tool(titled("c1", false, "Paused")));
    assert_eq!(b.tool("c1").state, ToolState::Pending);
    b.tool_is("c1", ToolStatus::Running);
    b.apply(tool(titled("c1", false, "Paused again")));
    assert_eq!(b.tool("c1").state, ToolState::Running);
}

#[test]
fn tools_running_is_never_pending_again() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.tool_is("c1", ToolStatus::Pending);
    assert_eq!(b.tool("c1").state, ToolState::Running);
}

#[test]
fn tools_rejected_when_refused_and_failed_or_left_open_but_completed_stands() {
    for (then, state) in [
        (Some(ToolStatus::Failed), ToolState::Rejected),
        (None, ToolState::Rejected),
        (Some(ToolStatus::Completed), ToolState::Completed),
    ] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        b.apply(call("c1"));
        b.apply(ask("7", Some("c1")));
        b.apply(settle("7", Outcome::Rejected));
        if let Some(status) = then {
            b.tool_is("c1", status);
        }
        b.ends("1");
        assert_eq!(b.tool("c1").state, state);
        assert_eq!(b.tool("c1").authorization, Authorization::AskedRejected);
    }
}

#[test]
fn tools_a_refusal_that_is_known_after_the_failure_explains_it() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(call("c1"));
    b.apply(ask("7", Some("c1")));
    b.tool_is("c1", ToolStatus::Failed);
    b.apply(settle("7", Outcome::Rejected));
    assert_eq!(b.tool("c1").state, ToolState::Rejected);
}

#[test]
fn tools_a_permission_for_an_unannounced_tool_is_taken_over_by_its_own_first_frame() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let shown = RequestNews {
        title: Some("Edit a.txt".into()),
        tool_kind: Some("edit".into()),
        input: Json::parse("{\"path\":\"a.txt\"}").ok(),
        content: vec![ToolItem::Text {
            text: "shown".to_owned(),
        }],
        ..request("7", Some("c1"))
    };
    b.apply(Event::Request(Box::new(shown)));
    assert!(b.all(Kind::Tool).is_empty(), "a permission makes no tool");
    b.apply(settle("7", Outcome::Allowed));
    b.tool_is("c1", ToolStatus::Completed);
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 request permission allowed \"Edit a.txt\"",
        "1 tool c1 completed asked_allowed \"Edit a.txt\"",
    ]);
    assert_eq!(b.tool("c1").tool_kind.as_deref(), Some("edit"));
    assert_eq!(
        b.tool("c1").input.as_ref().map(Json::as_str),
        Some("{\"path\":\"a.txt\"}")
    );
    assert!(
        matches!(&b.the(Kind::Request).body, Body::Request(r) if r.tool == Some(b.the(Kind::Tool).id.clone()))
    );
}

#[test]
fn tools_two_permissions_answered_in_reverse_are_matched_by_their_ids() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(call("c1"));
    b.apply(call("c2"));
    b.apply(ask("1", Some("c1")));
    b.apply(ask("2", Some("c2")));
    b.apply(settle("2", Outcome::Rejected));
    b.apply(settle("1", Outcome::Allowed));
    assert_eq!(b.tool("c1").authorization, Authorization::AskedAllowed);
    assert_eq!(b.tool("c2").authorization, Authorization::AskedRejected);
}

#[test]
fn tools_an_id_made_up_per_permission_leaves_no_tool() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(ask("1", Some("shell-permission")));
    b.apply(settle("1", Outcome::Allowed));
    b.tool_is("c1", ToolStatus::Completed);
    b.apply(ask("2", Some("shell-permission")));
    b.apply(settle("2", Outcome::Rejected));
    b.tool_is("c2", ToolStatus::Failed);
    b.ends("1");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 request permission allowed",
        "1 tool c1 completed",
        "1 request permission rejected",
        "1 tool c2 failed",
    ]);
}

#[test]
fn tools_cumulative_output_is_stored_once_and_not_beside_content() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for output in ["one\n", "one\ntwo\n", "one\ntwo\nthree\n"] {
        b.apply(tool(ToolNews {
            call: "c1",
            output: Some(output.into()),
            ..ToolNews::default()
        }));
    }
    assert_eq!(b.tool("c1").output.as_deref(), Some("one\ntwo\nthree\n"));
    let content = vec![ToolItem::Text {
        text: "one\ntwo\nthree\n".to_owned(),
    }];
    b.apply(tool(ToolNews {
        call: "c1",
        content: Some(content),
        ..ToolNews::default()
    }));
    assert_eq!(b.tool("c1").output, None);
}

#[test]
fn tools_a_diff_follows_how_its_tool_ran() {
    for (status, effect) in [
        (ToolStatus::Completed, Effect::Applied),
        (ToolStatus::Failed, Effect::Discarded),
    ] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        let items = vec![ToolItem::Diff(diff("a", Some("x\n"), Some("y\n")))];
        b.apply(tool(ToolNews {
            call: "c1",
            announced: true,
            content: Some(items),
            ..ToolNews::default()
        }));
        let effect_of = |b: &Bench| match &b.tool("c1").content[0] {
            ToolItem::Diff(d) => d.effect,
            other => panic!("{other:?} is no diff"),
        };
        assert_eq!(effect_of(&b), Effect::Proposed);
        b.tool_is("c1", status);
        assert_eq!(effect_of(&b), effect);
    }
}

#[test]
fn tools_terminal_answers_fill_the_tools_terminal() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let shown = ToolItem::Terminal(Terminal {
        terminal: Some("t1".to_owned()),
        ..Terminal::default()
    });
    b.apply(tool(ToolNews {
        call: "c1",
        announced: true,
        content: Some(vec![shown]),
        ..ToolNews::default()
    }));
    let news = |output, exit_code| {
        Event::Terminal(TerminalNews {
            terminal: "t1",
            output,
            exit_code,
            signal: None,
        })
    };
    b.apply(news(Printed::Whole("one\n"), None));
    b.apply(news(Printed::More("\u{1b}[31mtwo\u{1b}[0m\n"), None));
    b.apply(news(Printed::More("three\n"), None));
    b.apply(news(Printed::Nothing, Some(3)));
    let ToolItem::Terminal(terminal) = &b.tool("c1").content[0] else {
        panic!("a terminal")
    };
    assert_eq!(terminal.output, "one\ntwo\nthree\n");
    assert_eq!(terminal.exit_code, Some(3));
    assert_eq!(b.tool("c1").exit_code, Some(3));
    assert!(
        b.host.ledger.appended >= "three\n".len() as u64,
        "what it prints is appended"
    );
}

#[test]
fn tools_a_terminal_may_end_before_its_tool_shows_it() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(Event::Terminal(TerminalNews {
        terminal: "t1",
        output: Printed::Whole("early\n"),
        exit_code: Some(0),
        signal: None,
    }));
    let shown = ToolItem::Terminal(Terminal {
        terminal: Some("t1".to_owned()),
        ..Terminal::default()
    });
    b.apply(tool(ToolNews {
        call: "c1",
        announced: true,
        content: Some(vec![shown]),
        ..ToolNews::default()
    }));
    let ToolItem::Terminal(terminal) = &b.tool("c1").content[0] else {
        panic!("a terminal")
    };
    assert_eq!(
        (terminal.output.as_str(), terminal.exit_code),
        ("early\n", Some(0))
    );
}

#[test]
fn tools_late_output_of_a_tool_nobody_knows_opens_nothing() {
    let mut b = Bench::new();
    b.dropped(
        tool(ToolNews {
            call: "c1",
            late: true,
            output: Some("x".into()),
            ..ToolNews::default()
        }),
        "late-output-of-an-unknown-tool",
    );
}

#[test]
fn tools_what_a_helper_runs_stands_under_the_tool_that_began_it() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(call("task"));
    b.apply(tool(ToolNews {
        call: "c1",
        parent: Some("task"),
        ..ToolNews::default()
    }));
    assert_eq!(b.all(Kind::Tool)[1].parent, Some(b.all(Kind::Tool)[0].id.clone()));
}

// Plans

#[test]
fn plans_an_equal_plan_adds_nothing_also_in_a_later_turn() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(plan(&[("Read", "pending")]));
    b.dropped(plan(&[("Read", "pending")]), "plan-unchanged");
    b.ends("1");
    b.prompt("2", "On");
    b.dropped(plan(&[("Read", "pending")]), "plan-unchanged");
    b.apply(plan(&[("Read", "completed")]));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 plan [pending] Read",
        "2 turn prompt open",
        "2 user accepted \"On\"",
        "2 plan [completed] Read",
    ]);
}

#[test]
fn plans_an_empty_plan_is_removed() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.dropped(plan(&[]), "no-plan");
    b.apply(plan(&[("Read", "pending")]));
    b.apply(plan(&[]));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 plan removed [pending] Read",
    ]);
    b.apply(plan(&[("Read", "pending")]));
    let plan = b.the(Kind::Plan);
    assert!(
        matches!(&plan.body, Body::Plan(p) if p.state == PlanState::Active),
        "the same plan may be made again"
    );
}

#[test]
fn plans_several_plans_have_rows_of_their_own() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for (name, words) in [("a", "# A"), ("b", "# B"), ("a", "# A2")] {
        b.apply(Event::Plan(PlanNews {
            turn: None,
            plan: Some(name),
            body: PlanBody::Text(words.into()),
        }));
    }
    b.apply(Event::Plan(PlanNews {
        turn: None,
        plan: Some("b"),
        body: PlanBody::Removed,
    }));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 plan \"# A2\"",
        "1 plan removed \"# B\"",
    ]);
}

// Tasks and helpers

#[test]
fn tasks_an_end_is_never_left_and_silence_may_still_be_broken() {
    let ends = [WorkState::Completed, WorkState::Failed, WorkState::Stopped];
    for end in ends {
        let mut b = Bench::new();
        b.apply(task("w1", WorkState::Running));
        b.apply(task("w1", end));
        for other in ends.into_iter().chain([WorkState::Running, WorkState::Unknown]) {
            b.apply(task("w1", other));
            assert!(matches!(&b.the(Kind::Task).body, Body::Task(t) if t.state == end));
        }
    }
    let mut b = Bench::new();
    b.apply(helper("h1", WorkState::Running));
    b.apply(record_ends());
    b.apply(helper("h1", WorkState::Running));
    assert!(matches!(&b.the(Kind::Helper).body, Body::Helper(h) if h.state == WorkState::Unknown));
    b.apply(helper("h1", WorkState::Completed));
    assert!(matches!(&b.the(Kind::Helper).body, Body::Helper(h) if h.state == WorkState::Completed));
}

#[test]
fn tasks_in_a_load_only_tell_how_an_unknown_one_ended() {
    let mut b = Bench::new();
    let told = |id, state| {
        Event::Task(TaskNews {
            task: id,
            state: Some(state),
            only_if_unknown: true,
            ..TaskNews::default()
        })
    };
    b.dropped(told("w1".into(), WorkState::Completed), "history");
    b.apply(task("w1", WorkState::Running));
    b.dropped(told("w1".into(), WorkState::Completed), "history");
    b.apply(record_ends());
    b.apply(told("w1".into(), WorkState::Completed));
    assert!(matches!(&b.the(Kind::Task).body, Body::Task(t) if t.state == WorkState::Completed));
}

#[test]
fn tasks_a_helper_is_never_also_a_task() {
    let mut b = Bench::new();
    b.apply(helper("x", WorkState::Running));
    b.dropped(task("x", WorkState::Running), "task-is-a-helper");
}

#[test]
fn tasks_a_guess_never_beats_what_was_named() {
    let mut b = Bench::new();
    let guess = TaskNews {
        task: "w1".into(),
        kind_guess: Some(TaskKind::Monitor),
        label_guess: Some("guess".into()),
        ..TaskNews::default()
    };
    b.apply(Event::Task(guess.clone()));
    b.apply(Event::Task(TaskNews {
        task: "w1".into(),
        kind: Some(TaskKind::Command),
        label: Some("npm test".into()),
        ..TaskNews::default()
    }));
    b.apply(Event::Task(guess));
    assert!(
        matches!(&b.the(Kind::Task).body, Body::Task(t) if t.task_kind == TaskKind::Command && t.label == "npm test")
    );
}

// Measures

#[test]
fn measures_nothing_is_no_measurement_and_a_window_of_nothing_is_unknown() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.dropped(context(0, 0), "no-measurement");
    b.apply(context(42, 100));
    b.apply(Event::Context {
        turn: None,
        context: Context {
            used: Some(50),
            size: None,
        },
        replay: false,
    });
    b.apply(Event::Context {
        turn: None,
        context: Context {
            used: Some(0),
            size: None,
        },
        replay: false,
    });
    b.shows(&["1 turn prompt open 50/100", "1 user accepted \"Go\""]);
    b.apply(Event::Context {
        turn: None,
        context: Context {
            used: Some(60),
            size: Some(0),
        },
        replay: false,
    });
    b.shows(&["1 turn prompt open 60/?", "1 user accepted \"Go\""]);
}

#[test]
fn measures_of_a_replay_go_to_the_session_and_to_no_row() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.ends("1");
    b.apply(Event::Context {
        turn: None,
        context: Context {
            used: Some(42),
            size: Some(100),
        },
        replay: true,
    });
    b.shows(&["1 turn prompt completed", "1 user accepted \"Go\""]);
    assert_eq!(
        b.host.timeline.session().and_then(|s| s.context),
        Some(Context {
            used: Some(42),
            size: Some(100)
        })
    );
}

// Newly stable updates, and what goes wrong with a session

#[test]
fn compaction_is_one_row_that_grows_and_settles() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let news = |state, piece: Option<&str>| {
        Event::Compaction(CompactionNews {
            compaction: "k1".into(),
            turn: None,
            state,
            summary: None,
            piece: piece.map(|text| Part::Text {
                text: text.to_owned(),
            }),
            detail: None,
        })
    };
    b.apply(news(Some(CompactionState::Running), None));
    b.apply(news(None, Some("We read ")));
    b.apply(news(None, Some("a file")));
    b.apply(news(Some(CompactionState::Completed), None));
    b.apply(news(Some(CompactionState::Running), None));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 compaction completed \"We read a file\"",
    ]);
}

#[test]
fn session_messages_are_one_row_each() {
    let mut b = Bench::new();
    let news = |content: Option<&str>, piece: Option<&str>| {
        Event::SessionMessage(SessionMessageNews {
            message: "g1",
            from: Some("parent".into()),
            to: Some("child".into()),
            content: content.map(Content::text),
            piece: piece.map(|text| Part::Text {
                text: text.to_owned(),
            }),
        })
    };
    b.apply(news(None, Some("Look ")));
    b.apply(news(None, Some("here")));
    b.shows(&["- session_message parent>child \"Look here\""]);
    b.apply(news(Some("Look here!"), None));
    b.shows(&["- session_message parent>child \"Look here!\""]);
}

#[test]
fn history_a_failed_load_leaves_one_warning_that_says_how_it_went_on() {
    let mut b = Bench::new();
    b.apply(Event::LoadFailed(failure("No such session")));
    b.apply(Event::CarriedOn {
        provider_session: "fresh",
    });
    b.prompt("1", "Go");
    b.shows(&[
        "- status warning \"No such session\"",
        "1 turn prompt open",
        "1 user accepted \"Go\"",
    ]);
    let Body::Status(status) = &b.the(Kind::Status).body else {
        panic!("a status")
    };
    let more = status
        .detail
        .as_ref()
        .and_then(|d| d.more.as_ref())
        .map(Json::as_str)
        .unwrap_or_default();
    assert!(more.contains("fresh"), "{more}");
}

#[test]
fn session_facts_keep_what_they_do_not_name() {
    let mut b = Bench::new();
    b.apply(Event::Session(SessionFacts {
        title: Some("A title".into()),
        cwd: Some("/p".into()),
        ..SessionFacts::default()
    }));
    assert_eq!(
        b.apply(Event::Session(SessionFacts::default())),
        ["session-unchanged"]
    );
    b.apply(Event::Session(SessionFacts {
        mode: Some("code".into()),
        ..SessionFacts::default()
    }));
    b.apply(Event::Session(SessionFacts {
        provider_session: Some("p1".into()),
        ..SessionFacts::default()
    }));
    b.apply(Event::Session(SessionFacts {
        provider_session: Some("p2".into()),
        ..SessionFacts::default()
    }));
    let session = b.assembler.session();
    assert_eq!(
        (session.title.as_deref(), session.cwd.as_deref()),
        (Some("A title"), Some("/p"))
    );
    assert_eq!(session.provider_session.as_deref(), Some("p2"));
    assert_eq!(session.provider_sessions, ["p1", "p2"]);
}

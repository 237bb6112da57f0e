//! Turns: groups AT, AL, AA and AY of the scenarios, and the rules on queued, stopped and late.

use tapline_timeline::*;

use crate::bench::*;

#[test]
fn at_1_a_turn_is_one_row_that_opens_and_ends() {
    let mut b = Bench::new();
    b.now = 40;
    b.prompt("1", "Hi");
    let told = Event::Answer {
        key: "1",
        answer: PromptAnswer::Ended(Ending {
            stop_reason: Some("end_turn".into()),
            duration_ms: Some(12),
            ..Ending::of(End::Completed)
        }),
    };
    b.now = 80;
    b.apply(told);
    b.shows(&["1 turn prompt completed 12ms", "1 user accepted \"Hi\""]);
    let turn = b.the(Kind::Turn);
    assert_eq!(turn.revision, 2);
    assert_eq!(
        (turn.at, turn.ended_at),
        (Some(Time::Since(41)), Some(Time::Since(81)))
    );
    assert!(matches!(&turn.body, Body::Turn(t) if t.stop_reason.as_deref() == Some("end_turn")));
}

#[test]
fn at_2_the_agents_own_word_can_stop_a_turn() {
    let mut b = Bench::new();
    b.prompt("1", "Hi");
    b.apply(answer("1", End::Stopped));
    b.shows(&["1 turn prompt stopped", "1 user accepted \"Hi\""]);
}

#[test]
fn at_3_refusals_and_limits_stay_what_they_are() {
    for end in [End::Refused, End::Limit] {
        let mut b = Bench::new();
        b.prompt("1", "Hi");
        b.apply(answer("1", end));
        b.shows(&[&format!("1 turn prompt {end}"), "1 user accepted \"Hi\""]);
    }
}

#[test]
fn at_4_no_verdict_is_unknown_and_never_success() {
    let mut b = Bench::new();
    b.prompt("1", "Hi");
    b.apply(answer("1", End::Unknown));
    b.shows(&["1 turn prompt unknown", "1 user accepted \"Hi\""]);
}

#[test]
fn at_5_a_turn_nobody_named_has_an_id_of_its_connection() {
    let mut b = Bench::new();
    b.say("I wake up");
    assert_eq!(b.the(Kind::Turn).id.as_str(), "s/t:1:@1");
    b.restart("2");
    b.exit(0);
    b.frame = 0;
    b.say("Again");
    let ids: Vec<&str> = b.all(Kind::Turn).iter().map(|r| r.id.as_str()).collect();
    assert_eq!(
        ids,
        ["s/t:1:@1", "s/t:2:@1"],
        "the same frame number of another connection"
    );
}

#[test]
fn at_6_a_prompt_names_its_turn_and_stands_in_it() {
    let mut b = Bench::new();
    b.named_prompt("1", "p-1", "Hi");
    b.apply(say_in("p-1", "Hello"));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Hi\"",
        "1 assistant open \"Hello\"",
    ]);
    assert_eq!(b.the(Kind::Turn).id.as_str(), "s/t:p-1");
    assert_eq!(b.the(Kind::User).turn.as_ref(), Some(&b.the(Kind::Turn).id));
}

#[test]
fn at_7_queued_prompts_open_turns_in_order() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.prompt("2", "Two");
    b.prompt("3", "Three");
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"One\"",
        "- user queued \"Two\"",
        "- user queued \"Three\"",
    ]);
    for key in ["1", "2", "3"] {
        b.say(key);
        b.ends(key);
    }
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "2 user accepted \"Two\"",
        "3 user accepted \"Three\"",
        "1 assistant \"1\"",
        "2 turn prompt completed",
        "2 assistant \"2\"",
        "3 turn prompt completed",
        "3 assistant \"3\"",
    ]);
}

/// Orca supersedes the open turn. Here both stay: each turn ends by its own answer.
#[test]
fn at_8_a_turn_opened_beside_another_leaves_it_open() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.apply(started("own"));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"One\"",
        "2 turn agent open",
    ]);
    b.apply(ended(Some("own"), End::Completed));
    b.ends("1");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "2 turn agent completed",
    ]);
}

#[test]
fn at_9_four_ways_to_say_nothing_new_of_a_turn() {
    let mut b = Bench::new();
    b.dropped(ended(None, End::Completed), "no-turn");
    b.named_prompt("1", "a", "One");
    let told = b.apply(started("a"));
    assert_eq!(
        told,
        ["turn-started"],
        "a second start of an open turn changes no row"
    );
    b.ends("1");
    b.dropped(answer("1", End::Failed), "late-answer");
    b.dropped(started("a"), "turn-settled");
    b.dropped(ended(Some("a"), End::Failed), "turn-settled");
    b.shows(&["1 turn prompt completed", "1 user accepted \"One\""]);
}

/// What takes the place of an open admitted before the sink is bound: whoever starts anew over rows that another settled
/// asks for them by id, and a settled turn stays.
#[test]
fn at_10_a_new_assembler_never_opens_a_turn_that_the_rows_show_settled() {
    let mut b = Bench::new();
    b.apply(started("a"));
    b.apply(ended(Some("a"), End::Completed));
    b.restart("2");
    b.dropped(started("a"), "turn-settled");
    b.shows(&["1 turn agent completed"]);
}

#[test]
fn al_1_the_end_of_an_earlier_turn_leaves_the_other_alone() {
    let mut b = Bench::new();
    b.apply(started("own"));
    b.named_prompt("1", "a", "One");
    b.apply(say_in("a", "Hel"));
    b.apply(call("c1"));
    b.apply(say_in("a", "so "));
    b.apply(ended(Some("own"), End::Completed));
    b.apply(say_in("a", "far"));
    b.shows(&[
        "1 turn agent completed",
        "2 turn prompt open",
        "2 user accepted \"One\"",
        "2 assistant \"Hel\"",
        "2 tool c1 pending",
        "2 assistant open \"so far\"",
    ]);
}

#[test]
fn aa_1_a_request_key_used_again_is_another_row_in_its_turn() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.apply(ask("7", None));
    b.apply(settle("7", Outcome::Allowed));
    b.ends("1");
    b.prompt("2", "Two");
    b.apply(ask("7", None));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "1 request permission allowed",
        "2 turn prompt open",
        "2 user accepted \"Two\"",
        "2 request permission pending",
    ]);
    let ids: Vec<&str> = b.all(Kind::Request).iter().map(|r| r.id.as_str()).collect();
    assert_eq!(ids, ["s/q:1:7", "s/q:1:7#2"]);
    b.exit(1);
    b.restart("2");
    b.apply(ask("7", None));
    assert_eq!(b.all(Kind::Request)[2].id.as_str(), "s/q:2:7");
}

/// A turn that another writer ended (here: the sweep after a kill) is not opened by what still waits for it.
#[test]
fn aa_2_a_swept_turn_is_not_opened_again() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.exit(137);
    b.restart("2");
    b.dropped(started("a"), "turn-settled");
    b.shows(&[
        "1 turn prompt cut",
        "1 user accepted \"One\"",
        "1 status warning \"The agent process ended with exit code 137 in the middle of \"…",
    ]);
}

#[test]
fn aa_3_a_prompt_may_name_a_turn_that_opens_later() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.named_prompt("2", "b", "Two");
    b.apply(say_in("b", "Second first"));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"One\"",
        "2 user accepted \"Two\"",
        "2 turn prompt open",
        "2 assistant open \"Second first\"",
    ]);
}

/// The turn of a prompt is its own: no later prompt becomes its opener.
#[test]
fn aa_4_a_turn_keeps_its_prompt() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.named_prompt("2", "a", "Two");
    b.apply(say_in("a", "Mine"));
    assert_eq!(b.all(Kind::User)[0].turn, b.all(Kind::Assistant)[0].turn);
    assert_eq!(b.all(Kind::User)[1].turn, None);
}

#[test]
fn aa_5_a_prompt_waits_for_its_own_turn_not_the_next() {
    let mut b = Bench::new();
    b.named_prompt("1", "a", "One");
    b.named_prompt("2", "b", "Two");
    b.apply(started("own"));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"One\"",
        "- user queued \"Two\"",
        "2 turn agent open",
    ]);
}

#[test]
fn aa_6_a_task_outlives_its_turn_and_a_straggler_changes_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.apply(task("w1", WorkState::Running));
    b.ends("1");
    b.apply(task("w1", WorkState::Completed));
    let told = b.apply(task("w1", WorkState::Running));
    assert_eq!(told, ["task-unchanged"]);
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "1 task completed \"Background command \\\"w1\\\" finished\"",
    ]);
}

#[test]
fn aa_7_the_sessions_end_leaves_tasks_and_helpers_unknown() {
    let mut b = Bench::new();
    b.prompt("1", "One");
    b.apply(task("w1", WorkState::Running));
    b.apply(helper("h1", WorkState::Running));
    b.ends("1");
    b.exit(0);
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "1 task unknown \"Background command \\\"w1\\\" stopped reporting\"",
        "1 helper unknown \"h1\"",
    ]);
    b.apply(task("w1", WorkState::Failed));
    assert!(
        matches!(&b.the(Kind::Task).body, Body::Task(t) if t.state == WorkState::Failed),
        "real news"
    );
}

#[test]
fn ay_3_no_key_of_an_agent_spells_a_row_of_ours() {
    let mut b = Bench::new();
    b.frame = 6;
    b.say("minted");
    b.apply(started("1:@7"));
    b.apply(started("@7"));
    assert_eq!(b.all(Kind::Turn).len(), 3);
}

#[test]
fn ay_4_a_requests_id_holds_its_connection_and_number() {
    let mut b = Bench::new();
    b.apply(ask("\"a/b\"", None));
    assert_eq!(b.the(Kind::Request).id.as_str(), "s/q:1:\"a%2Fb\"");
}

#[test]
fn ay_5_turn_rows_have_a_prefix_of_their_own() {
    let mut b = Bench::new();
    b.named_prompt("1", "x", "One");
    b.apply(Event::Tool(Box::new(ToolNews {
        call: "x",
        announced: true,
        ..ToolNews::default()
    })));
    b.apply(say_as("x", "text"));
    b.apply(task("x", WorkState::Running));
    let ids: Vec<&str> = b.rows().iter().map(|r| r.id.as_str()).collect();
    assert_eq!(ids, ["s/t:x", "s/u.t:x", "s/c:x", "s/a:x", "s/w:x"]);
}

// Prompts that wait, failures, ends

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
        ending: Ending {
            stop_reason: Some("error".into()),
            failure: failure(""),
            ..Ending::of(End::Failed)
        },
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
        ending: Ending {
            duration_ms: Some(70),
            ..Ending::of(End::Completed)
        },
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

//! Tools with their requests, diffs and terminals; plans; tasks and helpers.

use tapline_timeline::*;

use crate::bench::*;

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

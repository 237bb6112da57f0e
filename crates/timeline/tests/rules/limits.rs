//! *bounded*: each named limit of the assembler is reached, the cut shows, and the session goes on.

use tapline_timeline::limits::*;
use tapline_timeline::*;

use crate::bench::*;

/// The session still takes a turn from beginning to end.
#[track_caller]
fn goes_on(b: &mut Bench) {
    let turns = b.all(Kind::Turn).len();
    b.prompt("the last", "Still there?");
    b.apply(answer("the last", End::Completed));
    let all = b.all(Kind::Turn);
    assert_eq!(all.len(), turns + 1);
    assert!(matches!(&all[turns].body, Body::Turn(t) if t.end == Some(End::Completed)));
    b.host.ledger.agrees_with(&b.host.timeline);
}

#[track_caller]
fn is_cut(row: &Row, member: &str, bytes: usize) {
    let cut = row.truncated.iter().find(|t| t.member == member);
    let cut = cut.unwrap_or_else(|| panic!("{member} of {} is not told as cut: {:?}", row.id, row.truncated));
    assert_eq!(cut.bytes, bytes as u64, "the size before");
}

#[test]
fn message_bytes_of_a_reply_and_of_a_message_of_the_agents_own() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let piece = "x".repeat(1 << 20);
    for _ in 0..16 {
        b.say(&piece);
    }
    assert_eq!(b.apply(say("over")), ["message-full"]);
    b.apply(call("c1"));
    is_cut(b.the(Kind::Assistant), "text", MESSAGE_BYTES + 4);
    assert_eq!(b.assembler.counters().text_bytes_left_out, 4);
    for _ in 0..17 {
        b.apply(user_piece(Some("u1"), &piece));
    }
    let own = b.all(Kind::User)[1];
    assert!(matches!(&own.body, Body::User(u) if u.content.as_text().len() == MESSAGE_BYTES));
    is_cut(own, "text", MESSAGE_BYTES + piece.len());
    b.ends("1");
    goes_on(&mut b);
}

#[test]
fn value_bytes_of_every_value() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let long = "v".repeat(VALUE_BYTES + 1);
    let json = Json::string(&long);
    b.apply(tool(ToolNews {
        call: "c1",
        announced: true,
        input: Some(json.clone()),
        output: Some(long.clone().into()),
        content: Some(vec![
            ToolItem::Diff(diff("a", None, Some(&long))),
            ToolItem::File(Media {
                text: Some("f".repeat(VALUE_BYTES + 1)),
                ..Media::default()
            }),
            ToolItem::Text {
                text: "t".repeat(VALUE_BYTES + 1),
            },
        ]),
        result: Some(ToolResult {
            kind: "json".to_owned(),
            value: Some(json.clone()),
        }),
        ..ToolNews::default()
    }));
    let row = b.the(Kind::Tool);
    is_cut(row, "input", VALUE_BYTES + 3);
    is_cut(row, "output", VALUE_BYTES + 1);
    is_cut(row, "content.1.text", VALUE_BYTES + 1);
    is_cut(row, "content.2.text", VALUE_BYTES + 1);
    is_cut(row, "result", VALUE_BYTES + 3);
    assert!(
        row.truncated
            .iter()
            .any(|t| t.member == "content.0.patch" && t.blob.is_some())
    );
    assert!(
        b.host.blobs.iter().any(|(_, bytes)| *bytes == VALUE_BYTES + 1),
        "the whole goes to the blob store"
    );
    let asked = RequestNews {
        text: Some(long.clone().into()),
        input: Some(json),
        ..request("7", None)
    };
    b.apply(Event::Request(Box::new(asked)));
    is_cut(b.the(Kind::Request), "text", VALUE_BYTES + 1);
    is_cut(b.the(Kind::Request), "input", VALUE_BYTES + 3);
    b.apply(Event::Plan(PlanNews {
        turn: None,
        plan: None,
        body: PlanBody::Text(long.clone().into()),
    }));
    is_cut(b.the(Kind::Plan), "text", VALUE_BYTES + 1);
    b.apply(Event::Plan(PlanNews {
        turn: None,
        plan: None,
        body: PlanBody::Text("short".into()),
    }));
    assert!(
        b.the(Kind::Plan).truncated.is_empty(),
        "the plan that stands now is whole"
    );
    b.apply(Event::Helper(HelperNews {
        helper: "h1".into(),
        text: Some(long.clone().into()),
        ..HelperNews::default()
    }));
    is_cut(b.the(Kind::Helper), "text", VALUE_BYTES + 1);
    for _ in 0..2 {
        let piece = Some(Part::Text {
            text: "p".repeat(VALUE_BYTES - 1),
        });
        b.apply(Event::Compaction(CompactionNews {
            compaction: "k".into(),
            turn: None,
            state: None,
            summary: None,
            piece: piece.clone(),
            detail: None,
        }));
        b.apply(Event::SessionMessage(SessionMessageNews {
            message: "g",
            from: None,
            to: None,
            content: None,
            piece,
        }));
    }
    is_cut(b.the(Kind::Compaction), "text", 2 * (VALUE_BYTES - 1));
    is_cut(b.the(Kind::SessionMessage), "text", 2 * (VALUE_BYTES - 1));
    b.ends("1");
    goes_on(&mut b);
}

#[test]
fn value_bytes_of_a_terminal_whether_it_comes_whole_or_in_pieces() {
    for whole in [true, false] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        let shown = ToolItem::Terminal(Terminal {
            terminal: Some("t".to_owned()),
            ..Terminal::default()
        });
        b.apply(tool(ToolNews {
            call: "c1",
            content: Some(vec![shown]),
            ..ToolNews::default()
        }));
        let line = format!("{}\n", "l".repeat(1023));
        let output = line.repeat(VALUE_BYTES / line.len() + 1);
        let news = |output, exit_code| {
            Event::Terminal(TerminalNews {
                terminal: "t",
                output,
                exit_code,
                signal: None,
            })
        };
        if whole {
            b.apply(news(Printed::Whole(&output), None));
        } else {
            for _ in 0..output.len() / line.len() {
                b.apply(news(Printed::More(&line), None));
            }
        }
        is_cut(b.the(Kind::Tool), "content.0.output", output.len());
        b.apply(news(Printed::Nothing, Some(0)));
        assert!(
            matches!(&b.tool("c1").content[0], ToolItem::Terminal(t) if t.output.len() == VALUE_BYTES && t.exit_code == Some(0))
        );
        b.ends("1");
        goes_on(&mut b);
    }
}

#[test]
fn label_bytes_a_cut_label_ends_with_an_ellipsis() {
    let mut b = Bench::new();
    let long = "ä".repeat(LABEL_BYTES);
    b.apply(Event::Session(SessionFacts {
        title: Some(long.clone().into()),
        ..SessionFacts::default()
    }));
    b.prompt("1", "Go");
    b.apply(tool(ToolNews {
        call: "c1",
        title: Some(long.clone().into()),
        name: Some(long.clone().into()),
        ..ToolNews::default()
    }));
    b.apply(Event::Task(TaskNews {
        task: "w".into(),
        label: Some(long.clone().into()),
        ..TaskNews::default()
    }));
    let cut = |text: &str| {
        assert!(
            text.len() <= LABEL_BYTES && text.len() > LABEL_BYTES - 4 && text.ends_with('…'),
            "{} bytes",
            text.len()
        );
    };
    cut(b.tool("c1").title.as_deref().unwrap_or_default());
    cut(b.tool("c1").name.as_deref().unwrap_or_default());
    cut(b.assembler.session().title.as_deref().unwrap_or_default());
    assert!(matches!(&b.the(Kind::Task).body, Body::Task(t) if t.label.ends_with('…')));
    b.ends("1");
    goes_on(&mut b);
}

#[test]
fn words_bytes_of_failures_and_status_rows() {
    let mut b = Bench::new();
    let long = "w".repeat(WORDS_BYTES + 1);
    b.prompt("1", "Go");
    b.prompt("2", "Queued");
    b.apply(error("2", &long));
    b.apply(error("1", &long));
    is_cut(b.the(Kind::Status), "text", WORDS_BYTES + 1);
    is_cut(b.all(Kind::User)[1], "reason", WORDS_BYTES + 1);
    b.apply(Event::Status {
        turn: None,
        tone: Tone::Info,
        text: long.clone().into(),
        detail: None,
    });
    b.apply(Event::LoadFailed(failure(&long)));
    for row in b.all(Kind::Status) {
        is_cut(row, "text", WORDS_BYTES + 1);
    }
    b.apply(Event::Task(TaskNews {
        state: Some(WorkState::Failed),
        task: "w".into(),
        summary: Some(long.into()),
        ..TaskNews::default()
    }));
    is_cut(b.the(Kind::Task), "summary", WORDS_BYTES + 1);
    goes_on(&mut b);
}

#[test]
fn items_of_tools_requests_and_plans() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let items = |n| vec![ToolItem::Text { text: "i".to_owned() }; n];
    let size = |n: usize| serde_json::to_string(&items(n)).expect("JSON").len();
    let location = Location {
        path: "p".to_owned(),
        line: None,
    };
    b.apply(tool(ToolNews {
        call: "c1",
        content: Some(items(ITEMS + 1)),
        locations: Some(vec![location; ITEMS + 1]),
        ..ToolNews::default()
    }));
    is_cut(b.the(Kind::Tool), "content", size(ITEMS + 1));
    assert_eq!(
        (b.tool("c1").content.len(), b.tool("c1").locations.len()),
        (ITEMS, ITEMS)
    );
    assert!(
        b.the(Kind::Tool)
            .truncated
            .iter()
            .any(|t| t.member == "locations")
    );
    b.apply(Event::Request(Box::new(RequestNews {
        content: items(ITEMS + 1),
        ..request("7", None)
    })));
    is_cut(b.the(Kind::Request), "content", size(ITEMS + 1));
    b.apply(plan(&vec![("step", "pending"); ITEMS + 1]));
    let row = b.the(Kind::Plan);
    assert!(matches!(&row.body, Body::Plan(p) if p.entries.len() == ITEMS));
    assert!(row.truncated.iter().any(|t| t.member == "entries"));
    b.ends("1");
    goes_on(&mut b);
}

#[test]
fn unknown_bytes_of_what_nothing_covers() {
    let mut b = Bench::new();
    let payload = format!("{{\"sky\":\"{}\"}}", "b".repeat(UNKNOWN_BYTES));
    b.apply(Event::Unknown {
        method: "session/update",
        name: Some("weather"),
        payload: Some(&payload),
    });
    is_cut(b.the(Kind::Unknown), "payload", payload.len());
    goes_on(&mut b);
}

/// A message that is no longer at hand goes on: its row is asked for.
#[test]
fn open_texts_a_message_beyond_them_still_grows() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let ids: Vec<String> = (0..=OPEN_TEXTS).map(|n| format!("m{n}")).collect();
    for id in &ids {
        b.apply(say_as(id, "first "));
    }
    for id in &ids {
        b.apply(say_as(id, "second"));
    }
    b.ends("1");
    assert_eq!(b.all(Kind::Assistant).len(), OPEN_TEXTS + 1);
    for row in b.all(Kind::Assistant) {
        assert!(
            matches!(&row.body, Body::Assistant(m) if m.content.as_text() == "first second" && m.state == TextState::Ended),
            "{row:?}"
        );
    }
    goes_on(&mut b);
}

/// Beyond the bound a block that says it all again is no longer known, so it stands twice rather than be guessed at.
#[test]
fn restated_bytes_a_longer_text_is_not_compared() {
    for (length, rows) in [(RESTATED_BYTES, 1), (RESTATED_BYTES + 1, 2)] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        let words = "r".repeat(length);
        b.say(&words[..10]);
        b.say(&words[10..]);
        b.apply(say_as("m1", &words));
        b.ends("1");
        assert_eq!(b.all(Kind::Assistant).len(), rows);
        goes_on(&mut b);
    }
}

#[test]
fn restated_bytes_a_blank_that_long_is_shown() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say(&" ".repeat(RESTATED_BYTES));
    assert_eq!(b.all(Kind::Assistant).len(), 1);
    b.ends("1");
    goes_on(&mut b);
}

#[test]
fn open_tools_the_oldest_is_let_go_as_unknown_and_may_still_end() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for n in 0..=OPEN_TOOLS {
        b.tool_is(&format!("c{n}"), ToolStatus::Running);
    }
    assert_eq!(b.assembler.counters().tools_let_go, 1);
    assert_eq!(b.tool("c0").state, ToolState::Unknown);
    assert_eq!(b.tool("c1").state, ToolState::Running);
    b.tool_is("c0", ToolStatus::Completed);
    assert_eq!(b.tool("c0").state, ToolState::Completed);
    b.ends("1");
    assert_eq!(b.tool("c1").state, ToolState::Unknown);
    goes_on(&mut b);
}

#[test]
fn tool_cache_bytes_rows_beyond_it_are_asked_for_again() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let output = "o".repeat(VALUE_BYTES);
    let count = TOOL_CACHE_BYTES / VALUE_BYTES + 4;
    for n in 0..count {
        b.apply(tool(ToolNews {
            call: &format!("c{n}"),
            output: Some(output.clone().into()),
            ..ToolNews::default()
        }));
    }
    for n in 0..count {
        let call = format!("c{n}");
        b.apply(tool(ToolNews {
            call: &call,
            title: Some("titled".into()),
            ..ToolNews::default()
        }));
        b.tool_is(&call, ToolStatus::Completed);
    }
    for n in 0..count {
        let tool = b.tool(&format!("c{n}"));
        assert_eq!(
            (tool.output.as_ref().map(String::len), tool.title.as_deref()),
            (Some(VALUE_BYTES), Some("titled"))
        );
        assert_eq!(tool.state, ToolState::Completed);
    }
    b.ends("1");
    goes_on(&mut b);
}

#[test]
fn ended_tools_one_that_was_forgotten_still_takes_late_news() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for n in 0..3 * ENDED_TOOLS {
        b.tool_is(&format!("c{n}"), ToolStatus::Completed);
    }
    b.apply(tool(ToolNews {
        call: "c0",
        title: Some("late".into()),
        status: Some(ToolStatus::Failed),
        ..ToolNews::default()
    }));
    assert_eq!(b.tool("c0").title.as_deref(), Some("late"));
    assert_eq!(b.tool("c0").state, ToolState::Completed);
    assert_eq!(b.all(Kind::Tool).len(), 3 * ENDED_TOOLS);
    b.ends("1");
    goes_on(&mut b);
}

#[test]
fn open_requests_the_oldest_is_let_go_as_cancelled() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for n in 0..=OPEN_REQUESTS {
        b.apply(ask(&format!("q{n}"), None));
    }
    assert_eq!(b.assembler.counters().requests_let_go, 1);
    let outcome = |b: &Bench, at: usize| match &b.all(Kind::Request)[at].body {
        Body::Request(request) => request.outcome,
        _ => None,
    };
    assert_eq!((outcome(&b, 0), outcome(&b, 1)), (Some(Outcome::Cancelled), None));
    b.dropped(settle("q0", Outcome::Allowed), "request-settled");
    b.apply(settle("q1", Outcome::Allowed));
    assert_eq!(outcome(&b, 1), Some(Outcome::Allowed));
    b.ends("1");
    goes_on(&mut b);
}

/// What the oldest permission showed is not taken over any more; the request's own row keeps it, and the tool says that
/// nothing is known of one.
#[test]
fn unannounced_a_permission_beyond_them_keeps_its_row() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for n in 0..=UNANNOUNCED {
        let (key, call) = (format!("q{n}"), format!("c{n}"));
        b.apply(Event::Request(Box::new(RequestNews {
            title: Some("Shown".into()),
            ..request(&key, Some(&call))
        })));
        b.apply(settle(&key, Outcome::Allowed));
    }
    for call in ["c0", "c1"] {
        b.tool_is(call, ToolStatus::Completed);
    }
    assert_eq!(b.tool("c0").title, None);
    assert_eq!(b.tool("c1").title.as_deref(), Some("Shown"));
    assert!(matches!(&b.all(Kind::Request)[0].body, Body::Request(r) if r.title.as_deref() == Some("Shown")));
    b.ends("1");
    goes_on(&mut b);
}

/// What the oldest large permissions held is let go first; their titles are still taken over.
#[test]
fn unannounced_bytes_the_oldest_permission_keeps_its_title_alone() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let large = "x".repeat(UNANNOUNCED_BYTES / 4);
    for n in 0..5 {
        let (key, call) = (format!("q{n}"), format!("c{n}"));
        b.apply(Event::Request(Box::new(RequestNews {
            title: Some("Shown".into()),
            input: Some(Json::string(&large)),
            ..request(&key, Some(&call))
        })));
        b.apply(settle(&key, Outcome::Allowed));
    }
    for call in ["c0", "c1", "c4"] {
        b.tool_is(call, ToolStatus::Completed);
        assert_eq!(b.tool(call).title.as_deref(), Some("Shown"));
    }
    let has_input = |b: &Bench, call: &str| b.tool(call).input.is_some();
    assert!(!has_input(&b, "c0"), "the oldest went");
    assert!(has_input(&b, "c4"), "the newest stayed");
    b.ends("1");
    goes_on(&mut b);
}

#[test]
fn open_work_the_oldest_is_let_go_as_unknown_and_may_still_end() {
    let mut b = Bench::new();
    for n in 0..=OPEN_WORK {
        b.apply(task(&format!("w{n}"), WorkState::Running));
    }
    assert_eq!(b.assembler.counters().work_let_go, 1);
    let state = |b: &Bench, at: usize| match &b.all(Kind::Task)[at].body {
        Body::Task(task) => task.state,
        _ => WorkState::Running,
    };
    assert_eq!(
        (state(&b, 0), state(&b, 1)),
        (WorkState::Unknown, WorkState::Running)
    );
    b.apply(task("w0", WorkState::Completed));
    assert_eq!(state(&b, 0), WorkState::Completed);
    goes_on(&mut b);
}

#[test]
fn open_prompts_the_oldest_that_waits_is_let_go_as_unconfirmed() {
    let mut b = Bench::new();
    for n in 0..=OPEN_PROMPTS {
        b.prompt(&n.to_string(), "Go");
    }
    assert_eq!(b.assembler.counters().prompts_let_go, 1);
    let delivery = |b: &Bench, at: usize| match &b.all(Kind::User)[at].body {
        Body::User(user) => user.delivery,
        _ => None,
    };
    assert_eq!(delivery(&b, 0), Some(Delivery::Accepted));
    assert_eq!(delivery(&b, 1), Some(Delivery::Unconfirmed));
    assert_eq!(delivery(&b, 2), Some(Delivery::Queued));
    b.dropped(answer("1", End::Completed), "late-answer");
    b.ends("0");
    b.ends("2");
    assert_eq!(b.all(Kind::Turn).len(), 2);
}

#[test]
fn open_turns_the_oldest_is_let_go_as_unknown() {
    let mut b = Bench::new();
    for n in 0..=OPEN_TURNS {
        b.apply(started(&format!("own{n}")));
    }
    assert_eq!(b.assembler.counters().turns_let_go, 1);
    let end = |b: &Bench, at: usize| match &b.all(Kind::Turn)[at].body {
        Body::Turn(turn) => turn.end,
        _ => None,
    };
    assert_eq!((end(&b, 0), end(&b, 1)), (Some(End::Unknown), None));
    b.apply(ended(Some("own1"), End::Completed));
    assert_eq!(end(&b, 1), Some(End::Completed));
    goes_on(&mut b);
}

/// A turn that is no longer remembered is asked for by its name.
#[test]
fn ended_turns_a_forgotten_one_still_takes_what_is_late() {
    let mut b = Bench::new();
    for n in 0..=ENDED_TURNS {
        let name = format!("t{n}");
        b.named_prompt(&name, &name, "Go");
        b.apply(answer(&name, End::Completed));
    }
    b.apply(say_in("t0", "Late"));
    assert_eq!(b.the(Kind::Assistant).turn, Some(b.all(Kind::Turn)[0].id.clone()));
    b.dropped(ended(Some("t0"), End::Failed), "turn-settled");
    goes_on(&mut b);
}

#[test]
fn echo_prompts_an_echo_reaches_back_that_far() {
    for (prompts, own) in [(ECHO_PROMPTS, 0), (ECHO_PROMPTS + 1, 1)] {
        let mut b = Bench::new();
        let mut all = String::new();
        for n in 0..prompts {
            let (key, words) = (n.to_string(), format!("Prompt number {n}."));
            all.push_str(&words);
            b.prompt(&key, &words);
            if n + 1 < prompts {
                b.ends(&key);
            }
        }
        b.apply(user_piece(None, &all));
        b.say("ok");
        assert_eq!(b.all(Kind::User).len(), prompts + own);
        b.ends(&(prompts - 1).to_string());
        goes_on(&mut b);
    }
}

#[test]
fn echo_bytes_a_longer_prompt_is_not_compared_and_its_echo_stands() {
    for (length, own) in [(ECHO_BYTES, 0), (ECHO_BYTES + 1, 1)] {
        let mut b = Bench::new();
        let words = "e".repeat(length);
        b.prompt("1", &words);
        b.apply(user_piece(None, &words));
        b.say("ok");
        assert_eq!(b.all(Kind::User).len(), 1 + own);
        b.ends("1");
        goes_on(&mut b);
    }
}

/// What the oldest printed is not remembered any more; the rows that show it keep it.
#[test]
fn terminals_one_beyond_them_keeps_what_its_row_shows() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    for n in 0..=TERMINALS {
        let (id, call) = (format!("t{n}"), format!("c{n}"));
        let shown = ToolItem::Terminal(Terminal {
            terminal: Some(id.clone()),
            ..Terminal::default()
        });
        b.apply(tool(ToolNews {
            call: &call,
            content: Some(vec![shown.clone()]),
            ..ToolNews::default()
        }));
        b.apply(Event::Terminal(TerminalNews {
            terminal: &id,
            output: Printed::Whole("printed\n"),
            exit_code: None,
            signal: None,
        }));
    }
    let shown = ToolItem::Terminal(Terminal {
        terminal: Some("t0".to_owned()),
        ..Terminal::default()
    });
    b.apply(tool(ToolNews {
        call: "c0",
        content: Some(vec![shown]),
        status: Some(ToolStatus::Completed),
        ..ToolNews::default()
    }));
    assert!(matches!(&b.tool("c0").content[0], ToolItem::Terminal(t) if t.output == "printed\n"));
    b.ends("1");
    goes_on(&mut b);
}

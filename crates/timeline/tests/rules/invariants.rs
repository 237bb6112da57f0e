//! The invariants over whatever order events come in, and what one chunk costs.

use proptest::prelude::*;
use tapline_timeline::*;

use crate::bench::*;

/// One event over few names, so that they meet.
#[derive(Debug, Clone)]
enum Step {
    Prompt(u8, bool),
    Answer(u8, u8),
    Stop,
    Started(u8),
    Ended(Option<u8>, u8),
    Failed(Option<u8>, bool),
    Text(Option<u8>, Option<u8>, bool, u8),
    Image,
    User(Option<u8>, u8),
    Tool(u8, bool, u8, Option<u8>),
    Plan(u8),
    Ask(u8, Option<u8>),
    Settle(u8, u8),
    Task(u8, u8),
    Helper(u8, u8),
    Context(u64),
    Compaction(u8, u8),
    Unknown,
    Exit(bool),
    Restart(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || prop::option::of(0u8..3);
    prop_oneof![
        3 => (0u8..6, any::<bool>()).prop_map(|(k, named)| Step::Prompt(k, named)),
        3 => (0u8..6, 0u8..9).prop_map(|(k, how)| Step::Answer(k, how)),
        1 => Just(Step::Stop),
        1 => (0u8..3).prop_map(Step::Started),
        1 => (name(), 0u8..7).prop_map(|(t, end)| Step::Ended(t, end)),
        1 => (name(), any::<bool>()).prop_map(|(t, words)| Step::Failed(t, words)),
        6 => (name(), name(), any::<bool>(), 0u8..5).prop_map(|(t, m, r, w)| Step::Text(t, m, r, w)),
        1 => Just(Step::Image),
        2 => (name(), 0u8..5).prop_map(|(m, w)| Step::User(m, w)),
        6 => (0u8..4, any::<bool>(), 0u8..5, name()).prop_map(|(c, a, s, t)| Step::Tool(c, a, s, t)),
        1 => (0u8..4).prop_map(Step::Plan),
        2 => (0u8..3, prop::option::of(0u8..4)).prop_map(|(k, c)| Step::Ask(k, c)),
        2 => (0u8..3, 0u8..4).prop_map(|(k, o)| Step::Settle(k, o)),
        2 => (0u8..3, 0u8..5).prop_map(|(k, s)| Step::Task(k, s)),
        1 => (0u8..3, 0u8..5).prop_map(|(k, s)| Step::Helper(k, s)),
        1 => (0u64..3).prop_map(Step::Context),
        1 => (0u8..2, 0u8..5).prop_map(|(k, s)| Step::Compaction(k, s)),
        1 => Just(Step::Unknown),
        1 => any::<bool>().prop_map(Step::Exit),
        1 => (1u8..3).prop_map(Step::Restart),
    ]
}

const WORDS: [&str; 5] = ["Hello", " ", "Go 1", "Hel", "\n"];
const ENDS: [End; 7] = [
    End::Completed,
    End::Stopped,
    End::Cut,
    End::Failed,
    End::Refused,
    End::Limit,
    End::Unknown,
];
const TOOLS: [Option<ToolStatus>; 5] = [
    None,
    Some(ToolStatus::Pending),
    Some(ToolStatus::Running),
    Some(ToolStatus::Completed),
    Some(ToolStatus::Failed),
];

fn take(b: &mut Bench, step: &Step) {
    let turn = |t: &Option<u8>| t.map(|t| format!("t{t}"));
    match step {
        Step::Prompt(k, named) => {
            let (key, name) = (k.to_string(), format!("t{k}"));
            b.apply(Event::Prompt(Prompt {
                key: &key,
                turn: named.then_some(&*name),
                content: Content::text(format!("Go {k}")),
                agent_ends_own_turns: *named,
            }));
        }
        Step::Answer(k, how) => {
            let key = k.to_string();
            b.apply(match how {
                7 => error(&key, "It broke"),
                8 => Event::Answer {
                    key: &key,
                    answer: PromptAnswer::Withdrawn,
                },
                end => answer(&key, ENDS[usize::from(*end)]),
            });
        }
        Step::Stop => b.stop(),
        Step::Started(t) => {
            b.apply(started(&format!("t{t}")));
        }
        Step::Ended(t, end) => {
            b.apply(ended(turn(t).as_deref(), ENDS[usize::from(*end)]));
        }
        Step::Failed(t, words) => {
            let words = if *words { "It broke" } else { "" };
            b.apply(Event::Failure {
                turn: turn(t).map(Into::into),
                failure: failure(words),
            });
        }
        Step::Text(t, m, thinks, w) => {
            let (turn, message) = (turn(t), m.map(|m| format!("m{m}")));
            let channel = if *thinks {
                Channel::Reasoning
            } else {
                Channel::Assistant
            };
            b.apply(Event::Text(Text {
                turn: turn.as_deref(),
                ..text(channel, message.as_deref(), WORDS[usize::from(*w)])
            }));
        }
        Step::Image => {
            b.apply(Event::Media {
                turn: None,
                channel: Channel::Assistant,
                message: None,
                part: Part::Image(Media::default()),
            });
        }
        Step::User(m, w) => {
            let message = m.map(|m| format!("m{m}"));
            b.apply(user_piece(message.as_deref(), WORDS[usize::from(*w)]));
        }
        Step::Tool(c, announced, status, t) => {
            let (call, turn) = (format!("c{c}"), turn(t));
            b.apply(tool(ToolNews {
                call: &call,
                turn: turn.as_deref(),
                announced: *announced,
                status: TOOLS[usize::from(*status)],
                ..ToolNews::default()
            }));
        }
        Step::Plan(n) => {
            let entries = [
                ("Read", "in_progress"),
                ("Write", "pending"),
                ("Test", "completed"),
            ];
            b.apply(plan(&entries[..usize::from(*n)]));
        }
        Step::Ask(k, c) => {
            let (key, call) = (k.to_string(), c.map(|c| format!("c{c}")));
            b.apply(ask(&key, call.as_deref()));
        }
        Step::Settle(k, o) => {
            b.apply(settle(&k.to_string(), Outcome::ALL[usize::from(*o)]));
        }
        Step::Task(k, s) => {
            b.apply(task(&format!("w{k}"), WorkState::ALL[usize::from(*s)]));
        }
        Step::Helper(k, s) => {
            b.apply(helper(&format!("w{k}"), WorkState::ALL[usize::from(*s)]));
        }
        Step::Context(used) => {
            b.apply(context(*used, 100));
        }
        Step::Compaction(k, s) => {
            b.apply(Event::Compaction(CompactionNews {
                compaction: format!("k{k}").into(),
                turn: None,
                state: CompactionState::ALL.get(usize::from(*s)).copied(),
                summary: None,
                piece: Some(Part::Text {
                    text: "piece".to_owned(),
                }),
                detail: None,
            }));
        }
        Step::Unknown => {
            b.apply(Event::Unknown {
                method: "session/update",
                name: Some("x"),
                payload: Some("{}"),
            });
        }
        Step::Exit(crashed) => {
            b.apply(if *crashed { exit(1) } else { record_ends() });
        }
        Step::Restart(n) => {
            // Whoever starts anew settles first what the one before left open.
            b.apply(record_ends());
            b.restart(&n.to_string());
            b.apply(Event::Attached);
        }
    }
}

fn nothing_runs(b: &Bench) {
    for row in b.rows() {
        let runs = match &row.body {
            Body::Turn(turn) => turn.end.is_none(),
            Body::Tool(tool) => tool.state.is_open(),
            Body::Request(request) => request.state == RequestState::Pending,
            Body::Task(task) => task.state == WorkState::Running,
            Body::Helper(helper) => helper.state == WorkState::Running,
            Body::Assistant(message) | Body::Reasoning(message) => message.state == TextState::Open,
            Body::User(user) => matches!(user.delivery, Some(Delivery::Queued | Delivery::Sent)),
            _ => false,
        };
        assert!(!runs, "after the end it still runs: {row:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// *settled-stays*, *one-failure*, *accounted* and the three-way *fold*, which the bench checks at every step; and at the end
    /// nothing reads as running.
    #[test]
    fn any_order_of_events_keeps_the_invariants(steps in prop::collection::vec(step(), 0..80), at in 0usize..80) {
        let mut b = Bench::new();
        for (n, step) in steps.iter().enumerate() {
            if n == at {
                b.host.ledger.cut_here();
            }
            take(&mut b, step);
        }
        b.apply(record_ends());
        b.host.ledger.agrees_with(&b.host.timeline);
        nothing_runs(&b);
    }

    /// *one-path*: the same events give the same rows.
    #[test]
    fn the_same_events_give_the_same_rows(steps in prop::collection::vec(step(), 0..60)) {
        let rows = |steps: &[Step]| {
            let mut b = Bench::new();
            for step in steps {
                take(&mut b, step);
            }
            serde_json::to_string(&b.rows().iter().map(|row| &**row).collect::<Vec<_>>()).expect("rows have a JSON form")
        };
        prop_assert_eq!(rows(&steps), rows(&steps));
    }

    /// Each event told twice settles nothing anew: duplicates add no turn, tool, task or helper.
    #[test]
    fn an_event_told_twice_moves_nothing_that_settled(steps in prop::collection::vec(step(), 0..60)) {
        let mut b = Bench::new();
        for step in &steps {
            take(&mut b, step);
            take(&mut b, step);
        }
        b.apply(record_ends());
        nothing_runs(&b);
    }
}

/// *constant-delta*: the 100,000th chunk of a message is one append of its own bytes, as the second was, and asks for no row.
#[test]
fn constant_delta_the_hundred_thousandth_chunk_costs_what_the_second_did() {
    for id in [None, Some("m1")] {
        let mut b = Bench::new();
        b.prompt("1", "Go");
        let piece = Event::Text(text(Channel::Assistant, id, "twelve bytes"));
        b.apply(piece.clone());
        let cost = |b: &mut Bench| {
            let (changes, bytes, asked) = (b.host.changes, b.host.ledger.appended, b.host.asked.get());
            b.apply(piece.clone());
            (
                b.host.changes - changes,
                b.host.ledger.appended - bytes,
                b.host.asked.get() - asked,
            )
        };
        let second = cost(&mut b);
        assert_eq!(second, (1, 12, 0));
        for _ in 0..100_000 {
            assert_eq!(cost(&mut b), second);
        }
    }
}

/// The same for tools: news of the ten-thousandth costs as many changes and look-ups as news of the first.
#[test]
fn constant_delta_the_ten_thousandth_tool_costs_what_the_first_did() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let mut costs = Vec::new();
    for n in 0..10_000 {
        let call = format!("c{n}");
        let (changes, asked) = (b.host.changes, b.host.asked.get());
        b.tool_is(&call, ToolStatus::Running);
        b.tool_is(&call, ToolStatus::Completed);
        costs.push((b.host.changes - changes, b.host.asked.get() - asked));
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{:?}", &costs[..3]);
}

//! Rows of every kind with strings that an enemy would choose.

use indexmap::IndexMap;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use tapline_timeline::*;

/// Text with what a terminal, a reader or a Markdown parser could trip over.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z .,]{0,12}",
        1 => any::<char>().prop_map(String::from),
        1 => "\\PC{0,8}",
        2 => select(vec![
            "\n", "\r", "\r\n", "\t", "\u{8}", "\u{7}", "\0", "\u{7f}", "\u{85}", "\u{2028}", "\u{1b}[31m", "\u{1b}[2J",
            "\u{1b}]0;owned\u{7}", "\u{1b}]8;;http://evil\u{1b}\\", "\u{1b}P", "\u{9b}31m", "\u{9d}0;x\u{9c}", "\u{202e}",
            "\u{2066}", "\u{200f}", "\u{e0041}", "\u{feff}", "漢字", "👩\u{200d}💻", "e\u{301}",
        ]).prop_map(str::to_owned),
        2 => select(vec![
            "# ", "```", "~~~~", "`", "``", "> ", "- ", "1. ", "9999999999. ", "* * *", "<details>", "<script>", "</b>", "[a](b)",
            "![i](\u{1b}x)", "| a | b |\n|---|---|\n| 1 |", "**", "_", "\\", "&amp;", "&#27;[31m", "[x]: y", "---", "    ", "<!--", "$",
        ]).prop_map(str::to_owned),
        1 => (select(vec!["> ", "- ", "x", " ", "[", "*", "`"]), 1..200_usize).prop_map(|(text, n)| text.repeat(n)),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn json() -> impl Strategy<Value = Json> {
    prop_oneof![
        text().prop_map(|text| Json::string(&text)),
        vec(text(), 0..3).prop_map(|list| Json::of(&list).expect("a list of strings is JSON")),
        (0..3_u8).prop_map(|_| Json::parse("{\"a\": \n{\"b\": null}}").expect("this is JSON")),
    ]
}

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    select(all)
}

fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        any::<i64>().prop_map(Time::At),
        (0..4_000_000_000_000_i64).prop_map(Time::At),
        any::<u64>().prop_map(Time::Since)
    ]
}

fn media() -> impl Strategy<Value = Media> {
    (of(text()), of(text()), of(any::<u64>()), of(text()), of(text())).prop_map(
        |(name, media_type, bytes, uri, text)| Media {
            name,
            media_type,
            bytes,
            uri,
            text,
            blob: None,
            reference: None,
        },
    )
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        text().prop_map(|text| Part::Text { text }),
        media().prop_map(Part::Image),
        media().prop_map(Part::Audio),
        media().prop_map(Part::File),
        (text(), of(text()), of(text()), of(text())).prop_map(|(uri, name, title, media_type)| Part::Link {
            uri,
            name,
            title,
            media_type
        }),
        text().prop_map(|custom| Part::Custom { custom, value: None }),
    ]
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        text().prop_map(Content::text),
        vec(part(), 0..4).prop_map(Content::from_parts)
    ]
}

fn item() -> impl Strategy<Value = ToolItem> {
    let diff = (
        text(),
        of(text()),
        word(FileChange::ALL),
        word(Effect::ALL),
        text(),
        any::<u64>(),
        any::<u64>(),
    );
    prop_oneof![
        part().prop_map(ToolItem::from),
        diff.prop_map(|(path, old_path, change, effect, patch, added, removed)| {
            ToolItem::Diff(Diff {
                path,
                old_path,
                change,
                effect,
                patch,
                added,
                removed,
            })
        }),
        (text(), of(any::<i64>()), of(text())).prop_map(|(output, exit_code, signal)| ToolItem::Terminal(
            Terminal {
                terminal: None,
                output,
                exit_code,
                signal
            }
        )),
    ]
}

fn turn() -> impl Strategy<Value = Body> {
    let context = (of(any::<u64>()), of(any::<u64>())).prop_map(|(used, size)| Context { used, size });
    let measure = select(vec![
        Measure::Call,
        Measure::Turn,
        Measure::TurnWithHelpers,
        Measure::Session,
        Measure::Unsaid,
    ]);
    let usage = (
        measure,
        of(any::<u64>()),
        of(any::<u64>()),
        of((any::<f64>(), text())),
    )
        .prop_map(|(measure, input, total, cost)| Usage {
            measure,
            input,
            input_holds_cached: None,
            output: None,
            cached_read: None,
            cached_write: None,
            thought: None,
            total,
            cost: cost.map(|(amount, currency)| Cost { amount, currency }),
        });
    (
        word(Origin::ALL),
        of(word(End::ALL)),
        of(text()),
        of(any::<u64>()),
        of(context),
        of(usage),
    )
        .prop_map(|(origin, end, stop_reason, duration_ms, context, usage)| {
            Body::Turn(Turn {
                origin,
                end,
                stop_reason,
                duration_ms,
                context,
                usage,
            })
        })
}

fn tool() -> impl Strategy<Value = Body> {
    let names = (text(), of(text()), of(text()), of(text()));
    let result = (text(), of(json())).prop_map(|(kind, value)| ToolResult { kind, value });
    let location = (text(), of(any::<u64>())).prop_map(|(path, line)| Location { path, line });
    let shown = (
        of(json()),
        vec(item(), 0..3),
        of(text()),
        of(any::<i64>()),
        of(result),
        vec(location, 0..2),
    );
    (names, word(ToolState::ALL), word(Authorization::ALL), shown).prop_map(
        |(
            (call, name, title, tool_kind),
            state,
            authorization,
            (input, content, output, exit_code, result, locations),
        )| {
            Body::Tool(Box::new(Tool {
                call,
                name,
                title,
                tool_kind,
                state,
                authorization,
                input,
                content,
                output,
                exit_code,
                result,
                locations,
            }))
        },
    )
}

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    vec(
        (text(), of(text()), of(text())).prop_map(|(id, label, kind)| Choice { id, label, kind }),
        0..3,
    )
}

fn request() -> impl Strategy<Value = Body> {
    let question =
        (text(), text(), any::<bool>(), choices()).prop_map(|(id, text, multiple, options)| Question {
            id,
            text,
            multiple,
            options,
        });
    let one = (text(), vec(text(), 0..2), of(text())).prop_map(|(question, options, text)| QuestionAnswer {
        question,
        options,
        text,
    });
    let answer =
        (of(text()), vec(one, 0..3), of(text()), of(time())).prop_map(|(option, answers, by, at)| Answer {
            option,
            answers,
            by,
            at,
        });
    let said = (
        word(Ask::ALL),
        of(text()),
        of(text()),
        of(json()),
        vec(item(), 0..2),
    );
    (
        said,
        of(id()),
        choices(),
        vec(question, 0..3),
        word(RequestState::ALL),
        of(word(Outcome::ALL)),
        of(answer),
    )
        .prop_map(
            |((ask, title, text, input, content), tool, options, questions, state, outcome, answer)| {
                Body::Request(Box::new(Request {
                    ask,
                    title,
                    text,
                    tool,
                    input,
                    content,
                    options,
                    questions,
                    state,
                    outcome,
                    answer,
                }))
            },
        )
}

/// The body of a row.
pub(crate) fn body() -> impl Strategy<Value = Body> {
    let message = || {
        (content(), word(TextState::ALL), any::<bool>()).prop_map(|(content, state, superseded)| Message {
            content,
            state,
            superseded,
        })
    };
    let user = (content(), of(word(Delivery::ALL)), of(text()), any::<bool>()).prop_map(
        |(content, delivery, reason, by_agent)| {
            Body::User(User {
                content,
                delivery,
                reason,
                by_agent,
            })
        },
    );
    let entry = (text(), text(), of(text())).prop_map(|(text, status, priority)| PlanEntry {
        text,
        status,
        priority,
    });
    let plan = (of(text()), vec(entry, 0..4), of(text()), word(PlanState::ALL)).prop_map(
        |(plan, entries, text, state)| {
            Body::Plan(Plan {
                plan,
                entries,
                text,
                state,
            })
        },
    );
    let task = (
        text(),
        word(TaskKind::ALL),
        text(),
        word(WorkState::ALL),
        of(any::<i64>()),
        (of(text()), of(text()), of(text())),
    )
        .prop_map(
            |(task, task_kind, label, state, exit_code, (signal, output_file, summary))| {
                Body::Task(Task {
                    task,
                    task_kind,
                    label,
                    state,
                    exit_code,
                    signal,
                    output_file,
                    summary,
                })
            },
        );
    let helper = (text(), text(), word(WorkState::ALL), of(any::<u64>()), of(text())).prop_map(
        |(helper, label, state, tokens, text)| {
            Body::Helper(Helper {
                helper,
                label,
                state,
                tokens,
                child: Some("s".into()),
                text,
            })
        },
    );
    let detail =
        (of(text()), of(text()), of(json())).prop_map(|(code, source, more)| Detail { code, source, more });
    prop_oneof![
        turn(),
        content().prop_map(Body::System),
        user,
        message().prop_map(Body::Assistant),
        message().prop_map(Body::Reasoning),
        tool(),
        plan,
        request(),
        task,
        helper,
        (word(CompactionState::ALL), content(), of(json())).prop_map(|(state, content, detail)| {
            Body::Compaction(Compaction {
                state,
                content,
                detail,
            })
        }),
        (of(text()), of(text()), content())
            .prop_map(|(from, to, content)| Body::SessionMessage(SessionMessage { from, to, content })),
        (word(Tone::ALL), text(), of(detail)).prop_map(|(tone, text, detail)| Body::Status(Status {
            tone,
            text,
            detail
        })),
        (text(), of(text()), of(json())).prop_map(|(method, name, payload)| Body::Unknown(Unknown {
            method,
            name,
            payload
        })),
    ]
}

/// One of the few ids that the rows of a random timeline have, so that they stand under each other, also in rings.
fn id() -> impl Strategy<Value = RowId> {
    (1..8_u64).prop_map(|n| RowId::from(format!("s/r{n}")))
}

/// The rows of a session.
pub(crate) fn rows() -> impl Strategy<Value = Vec<Row>> {
    let producer = text().prop_map(|agent| Producer { agent, session: None });
    let cut = (text(), any::<u64>()).prop_map(|(member, bytes)| Truncated {
        member,
        bytes,
        blob: None,
    });
    let row = (
        body(),
        of(id()),
        of(id()),
        (of(time()), of(time())),
        of(producer),
        vec(cut, 0..2),
    );
    vec(row, 0..8).prop_map(|rows| {
        let numbered = rows.into_iter().zip(1..);
        numbered
            .map(
                |((body, turn, parent, (at, ended_at), producer, truncated), seq)| Row {
                    id: RowId::from(format!("s/r{seq}")),
                    seq,
                    session: SessionId::from("s"),
                    turn,
                    parent,
                    producer,
                    at,
                    ended_at,
                    revision: 1,
                    cursor: None,
                    frames: [seq, seq],
                    truncated,
                    extra: IndexMap::new(),
                    body,
                },
            )
            .collect()
    })
}

/// A session with strings that an enemy would choose.
pub(crate) fn session() -> impl Strategy<Value = Session> {
    (
        of(text()),
        of(text()),
        of(text()),
        of(text()),
        of((text(), of(text()))),
    )
        .prop_map(|(title, cwd, mode, model, agent)| {
            let agent = agent.map(|(name, version)| Agent { name, version });
            Session {
                title,
                cwd,
                mode,
                model,
                agent,
                ..Session::new("s".into())
            }
        })
}

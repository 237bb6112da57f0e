//! Whoever answers first: several processes at the same instant.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use tapline_agent::host::intent;
use tapline_journal::Window;
use tapline_timeline::{Body, RequestState, Row, ToolState};

use crate::process::Poster;
use crate::rig::{Chat, Rig};
use crate::wire::{Input, answers, tape};

/// How many permissions a turn of the script asks.
const BATCH: usize = 25;

/// Who answers, and what.
const WHO: [(&str, &str); 3] = [
    ("ann", "allow-once"),
    ("bob", "allow-always"),
    ("cid", "reject-once"),
];

fn scenario(rounds: usize) -> String {
    let mut script = String::new();
    for first in (0..rounds).step_by(BATCH) {
        write!(script, "[[turn]]\nwhen = \"from {first}.\"\nsteps = [\n").expect("a string");
        for n in first..rounds.min(first + BATCH) {
            writeln!(
                script,
                "{{ permission = {{ tool = {{ id = \"t{n}\", title = \"Number {n}\" }}, allow = [{{ tool = \"t{n}\" }}, {{ finish = \"t{n}\" }}], reject = [{{ tool = \"t{n}\" }}, {{ fail = \"t{n}\" }}] }} }},"
            )
            .expect("a string");
        }
        script.push_str("]\n");
    }
    script
}

fn newest(chat: &Chat) -> Vec<Arc<Row>> {
    chat.journal
        .rows(&chat.id, Window::Last(16))
        .expect("the rows can be read")
}

/// Three processes answer one permission at the same instant: one effect, one answer to the agent, one note of who and
/// when, and the others learn who was first. A hundred times; `TAPLINE_ANSWERS=1000` for more.
#[test]
fn three_processes_answer_one_permission_at_the_same_instant() {
    let rounds = std::env::var("TAPLINE_ANSWERS").ok();
    let rounds: usize = rounds.map_or(100, |said| said.parse().expect("a number"));
    let rig = Rig::new();
    let chat = rig.start(&scenario(rounds));
    let mut processes: Vec<Poster> = WHO
        .iter()
        .map(|(by, _)| Poster::start(&rig, &chat.id, by))
        .collect();
    let mut winners = Vec::new();
    for n in 0..rounds {
        if n % BATCH == 0 {
            chat.prompt(&format!("from {n}."));
        }
        let title = format!("Number {n}");
        let request = chat.until(&title, |_| {
            let asks = |row: &&Arc<Row>| matches!(&row.body, Body::Request(r) if r.state == RequestState::Pending && r.title.as_deref() == Some(&title));
            newest(&chat).iter().find(asks).cloned()
        });
        for (process, (_, option)) in processes.iter_mut().zip(WHO) {
            process.post(
                intent::ANSWER,
                &json!({ "request": request.id, "option": option }),
            );
        }
        let outcomes: Vec<Value> = processes
            .iter_mut()
            .map(|process| chat.outcome(process.posted()))
            .collect();
        let won: Vec<usize> = (0..WHO.len())
            .filter(|who| outcomes[*who].get("error").is_none())
            .collect();
        assert_eq!(won.len(), 1, "{n}: {outcomes:?}");
        let (by, option) = WHO[won[0]];
        for (who, outcome) in outcomes.iter().enumerate() {
            if who == won[0] {
                let said = if option == "reject-once" {
                    "rejected"
                } else {
                    "allowed"
                };
                assert_eq!(*outcome, json!({ "outcome": said }), "{n}");
            } else {
                assert_eq!(outcome["by"], by, "{n}: {outcome}");
            }
        }
        let row = chat.journal.row(&request.id).expect("read").expect("there");
        let Body::Request(settled) = &row.body else {
            panic!("a request")
        };
        let answer = settled.answer.as_ref().expect("an answer");
        assert_eq!(
            (answer.by.as_deref(), answer.option.as_deref()),
            (Some(by), Some(option))
        );
        assert!(answer.at.is_some());
        winners.push(won[0]);
    }
    let ended = chat.until("the last tool ends", |rows| {
        let tools: Vec<ToolState> = rows
            .iter()
            .filter_map(|row| match &row.body {
                Body::Tool(tool) => Some(tool.state),
                _ => None,
            })
            .collect();
        (tools.len() == rounds && tools.iter().all(|state| !state.is_open())).then_some(tools)
    });
    for (n, (state, won)) in ended.iter().zip(&winners).enumerate() {
        let expected = if WHO[*won].1 == "reject-once" {
            ToolState::Rejected
        } else {
            ToolState::Completed
        };
        assert_eq!(*state, expected, "{n}");
    }
    let tape = tape(&*rig.journal, &chat.id);
    let sent = answers(&tape, "session/request_permission");
    let ids: BTreeSet<String> = sent.iter().map(|(_, answer)| answer["id"].to_string()).collect();
    assert_eq!((sent.len(), ids.len()), (rounds, rounds));
    for ((_, answer), won) in sent.iter().zip(&winners) {
        assert_eq!(answer["result"]["outcome"]["optionId"], WHO[*won].1);
    }
    let noted = tape
        .iter()
        .filter(|input| matches!(input, Input::Did(did) if did.get("answer").is_some()));
    assert_eq!(noted.count(), rounds);
    chat.close();
}

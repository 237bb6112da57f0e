//! A timeline in few words, one line a row: what the scenarios compare with.
//!
//! Each line begins with the number of the row's turn (the first turn is 1; `-` is no turn), then the kind, the states, and
//! what a person reads.

use tapline_timeline::{Authorization, Body, PlanState, Row, RowId, TextState, Timeline};

/// The rows of a timeline.
pub(crate) fn picture(timeline: &Timeline) -> Vec<String> {
    let mut turns: Vec<&RowId> = Vec::new();
    for row in timeline.rows() {
        if matches!(row.body, Body::Turn(_)) {
            turns.push(&row.id);
        }
    }
    let number = |id: Option<&RowId>| match id.and_then(|id| turns.iter().position(|t| *t == id)) {
        Some(at) => (at + 1).to_string(),
        None => "-".to_owned(),
    };
    timeline
        .rows()
        .iter()
        .map(|row| {
            let turn = match row.body {
                Body::Turn(_) => number(Some(&row.id)),
                _ => number(row.turn.as_ref()),
            };
            format!("{turn} {}", line(row))
        })
        .collect()
}

fn short(text: &str) -> String {
    let head: String = text.chars().take(60).collect();
    if head.len() < text.len() {
        format!("{head:?}…")
    } else {
        format!("{head:?}")
    }
}

fn line(row: &Row) -> String {
    let mut words = vec![row.kind().as_str().to_owned()];
    let mut say = |text: String| words.push(text);
    match &row.body {
        Body::Turn(turn) => {
            say(turn.origin.to_string());
            say(turn.end.map_or("open".to_owned(), |end| end.to_string()));
            if let Some(ms) = turn.duration_ms {
                say(format!("{ms}ms"));
            }
            if let Some(context) = turn.context {
                let number = |n: Option<u64>| n.map_or("?".to_owned(), |n| n.to_string());
                say(format!("{}/{}", number(context.used), number(context.size)));
            }
        }
        Body::System(content) => say(short(content.as_text())),
        Body::User(user) => {
            if user.by_agent {
                say("by agent".to_owned());
            }
            if let Some(delivery) = user.delivery {
                say(delivery.to_string());
            }
            say(short(user.content.as_text()));
            for part in user.content.media() {
                say(kind_of(part));
            }
            if let Some(reason) = &user.reason {
                say(format!("because {reason:?}"));
            }
        }
        Body::Assistant(message) | Body::Reasoning(message) => {
            if message.state != TextState::Ended {
                say(message.state.to_string());
            }
            if message.superseded {
                say("superseded".to_owned());
            }
            say(short(message.content.as_text()));
            for part in message.content.media() {
                say(kind_of(part));
            }
        }
        Body::Tool(tool) => {
            say(tool.call.clone());
            say(tool.state.to_string());
            if tool.authorization != Authorization::NotAsked {
                say(tool.authorization.to_string());
            }
            if let Some(title) = &tool.title {
                say(short(title));
            }
        }
        Body::Plan(plan) => {
            if plan.state == PlanState::Removed {
                say("removed".to_owned());
            }
            if let Some(text) = &plan.text {
                say(short(text));
            }
            for entry in &plan.entries {
                say(format!("[{}] {}", entry.status, entry.text));
            }
        }
        Body::Request(request) => {
            say(request.ask.to_string());
            say(request.outcome.map_or("pending".to_owned(), |o| o.to_string()));
            if let Some(title) = &request.title {
                say(short(title));
            }
        }
        Body::Task(task) => {
            say(task.state.to_string());
            say(short(&task.sentence()));
        }
        Body::Helper(helper) => {
            say(helper.state.to_string());
            say(short(&helper.label));
        }
        Body::Compaction(compaction) => {
            say(compaction.state.to_string());
            say(short(compaction.content.as_text()));
        }
        Body::SessionMessage(message) => {
            let name = |n: &Option<String>| n.clone().unwrap_or_default();
            say(format!("{}>{}", name(&message.from), name(&message.to)));
            say(short(message.content.as_text()));
        }
        Body::Status(status) => {
            say(status.tone.to_string());
            say(short(&status.text));
        }
        Body::Unknown(unknown) => {
            say(unknown.method.clone());
            say(unknown.name.clone().unwrap_or_default());
        }
    }
    words.join(" ")
}

fn kind_of(part: &tapline_timeline::Part) -> String {
    let json = serde_json::to_value(part).expect("a part has a JSON form");
    format!("<{}>", json["type"].as_str().unwrap_or_default())
}

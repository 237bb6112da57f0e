//! What stands at the head of a session and of each turn: titles, facts and measures.

use tapline_timeline::{Context, End, Origin, Row, Session, Time, Turn};

use super::page::Page;
use crate::safe::{code, inline};

impl Page {
    pub(super) fn session(&mut self, session: &Session) {
        let title = session
            .title
            .as_deref()
            .map(inline)
            .filter(|title| !title.is_empty());
        self.block(&format!(
            "# Session: {}",
            title.unwrap_or_else(|| "without a title".to_owned())
        ));
        let mut facts = Vec::new();
        if let Some(agent) = &session.agent {
            let version = agent.version.as_deref().unwrap_or_default();
            facts.push(("Agent", inline(&format!("{} {version}", agent.name))));
        }
        let told = [
            ("Model", &session.model),
            ("Mode", &session.mode),
            ("Folder", &session.cwd),
        ];
        facts.extend(
            told.into_iter()
                .filter_map(|(name, fact)| Some((name, code(fact.as_deref()?)))),
        );
        facts.push(("Session", code(session.id.as_str())));
        facts.extend(
            session
                .parent
                .as_ref()
                .map(|parent| ("Started from", code(parent.as_str()))),
        );
        facts.extend(session.context.and_then(context).map(|text| ("Context", text)));
        facts.extend(session.updated_at.map(|at| ("Updated", moment(at))));
        self.loose(
            &facts
                .iter()
                .map(|(name, fact)| format!("- {name}: {fact}\n"))
                .collect::<String>(),
        );
    }

    pub(super) fn turn(&mut self, row: &Row, turn: &Turn) {
        self.turns += 1;
        let end = match turn.end {
            None => "still running",
            Some(End::Completed) => "completed",
            Some(End::Stopped) => "stopped",
            Some(End::Cut) => "cut, the agent process ended",
            Some(End::Failed) => "failed",
            Some(End::Refused) => "refused by the agent",
            Some(End::Limit) => "stopped at a limit",
            Some(End::Unknown) => "ended without a verdict",
        };
        self.block(&format!("## Turn {}: {end}", self.turns));
        let mut facts = Vec::new();
        if turn.origin == Origin::Agent {
            facts.push("begun by the agent".to_owned());
        }
        facts.extend(row.at.map(moment));
        facts.extend(turn.duration_ms.map(|ms| format!("took {}", seconds(ms))));
        facts.extend(
            turn.context
                .and_then(context)
                .map(|text| format!("context {text}")),
        );
        if let Some(usage) = &turn.usage {
            let counts = [
                (usage.input, "tokens in"),
                (usage.output, "tokens out"),
                (usage.cached_read, "cached"),
            ];
            facts.extend(
                counts
                    .into_iter()
                    .filter_map(|(count, name)| Some(format!("{} {name}", count?))),
            );
            facts.extend(
                usage
                    .cost
                    .as_ref()
                    .map(|cost| format!("{:.4} {}", cost.amount, inline(&cost.currency))),
            );
        }
        let reason = turn
            .stop_reason
            .as_deref()
            .filter(|_| turn.end != Some(End::Completed));
        facts.extend(reason.map(|reason| format!("stop reason {}", code(reason))));
        if let Some(first) = facts.first_mut() {
            *first = capital(first);
            self.block(&format!("{}.", facts.join(", ")));
        }
    }
}

pub(super) fn moment(time: Time) -> String {
    match (time.rfc3339(), time) {
        (Some(text), _) => text,
        (None, Time::Since(ms)) => format!("{} after the start", seconds(ms)),
        (None, Time::At(ms)) => format!("{ms} ms"),
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1000, ms % 1000)
}

fn context(context: Context) -> Option<String> {
    match (context.used, context.size) {
        (Some(used), Some(size)) => Some(format!("{used} of {size} tokens")),
        (Some(used), None) => Some(format!("{used} tokens")),
        _ => None,
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

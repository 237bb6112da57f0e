//! A session as a Markdown document: title, facts, a heading for each turn, and below it what was asked, said and done.

mod head;
mod page;
mod request;
mod tool;
mod work;

use std::sync::Arc;

use tapline_timeline::{
    Body, Compaction, CompactionState, Delivery, Message, Plan, PlanState, Row, Session, SessionMessage,
    Status, TextState, Tone, Unknown, User, outline,
};

use self::page::{Page, Words};
use crate::safe::{code, fenced, inline, nested, quoted};

/// Writes a session and its rows (in the order of `seq`) as Markdown: CommonMark with GitHub's tables and task lists.
pub fn markdown(session: &Session, rows: &[Arc<Row>]) -> String {
    let mut page = Page::default();
    page.session(session);
    for place in outline(rows) {
        page.row(&rows[place.row]);
    }
    page.out
}

impl Page {
    fn row(&mut self, row: &Row) {
        match &row.body {
            Body::Turn(turn) => self.turn(row, turn),
            Body::System(content) => {
                self.headline("Instructions", "", &[]);
                self.content(content, Words::Plain);
            }
            Body::User(user) => self.user(user),
            Body::Assistant(message) => self.assistant(message),
            Body::Reasoning(message) => {
                let cut = (message.state == TextState::Cut).then(|| "cut off".to_owned());
                self.headline("Thought", "", &cut.into_iter().collect::<Vec<_>>());
                self.content(&message.content, Words::Plain);
            }
            Body::Tool(tool) => self.tool(tool),
            Body::Plan(plan) => self.plan(plan),
            Body::Request(request) => self.request(request),
            Body::Task(task) => self.task(task),
            Body::Helper(helper) => self.helper(helper),
            Body::Compaction(compaction) => self.compaction(compaction),
            Body::SessionMessage(message) => self.session_message(message),
            Body::Status(status) => self.status(status),
            Body::Unknown(unknown) => self.unknown(unknown),
        }
        for cut in &row.truncated {
            self.block(&format!(
                "*Cut here: {} ({} bytes at the source).*",
                inline(&cut.member),
                cut.bytes
            ));
        }
        if let Some(producer) = &row.producer {
            self.block(&format!("*By {}.*", inline(&producer.agent)));
        }
    }

    fn user(&mut self, user: &User) {
        let mut notes = Vec::new();
        if user.by_agent {
            notes.push("put in by the agent itself".to_owned());
        }
        notes.extend(match user.delivery {
            Some(Delivery::Queued) => Some("queued behind another prompt".to_owned()),
            Some(Delivery::Sent) => Some("sent, not yet taken up".to_owned()),
            Some(Delivery::Withdrawn) => Some("withdrawn".to_owned()),
            Some(Delivery::Unconfirmed) => {
                Some("unconfirmed: the connection ended before the agent took it up".to_owned())
            }
            Some(Delivery::Rejected) => Some("rejected by the agent".to_owned()),
            Some(Delivery::Accepted) | None => None,
        });
        notes.extend(
            user.reason
                .as_deref()
                .map(|reason| format!("reason: {}", inline(reason))),
        );
        let mut inside = Page::default();
        inside.content(&user.content, Words::Markdown);
        self.block(&quoted(&inside.out));
        if !notes.is_empty() {
            self.headline("Prompt", "", &notes);
        }
    }

    fn assistant(&mut self, message: &Message) {
        if message.superseded {
            self.headline("Broken off and said again", "", &[]);
            return self.content(&message.content, Words::Plain);
        }
        self.content(&message.content, Words::Markdown);
        if message.state == TextState::Cut {
            self.headline("Cut off here", "", &["the agent process ended".to_owned()]);
        }
    }

    fn plan(&mut self, plan: &Plan) {
        let mut facts = Vec::new();
        facts.extend(plan.plan.as_deref().map(inline));
        if plan.state == PlanState::Removed {
            facts.push("taken back".to_owned());
        }
        self.headline("Plan", "", &facts);
        let mut list = String::new();
        for entry in &plan.entries {
            let (mark, note) = match entry.status.as_str() {
                "completed" => ("x", String::new()),
                "pending" => (" ", String::new()),
                "in_progress" => (" ", " *(in progress)*".to_owned()),
                other => (" ", format!(" *({})*", inline(other))),
            };
            // A word of ours keeps what follows from being read as the start of a block.
            list.push_str(&format!("- [{mark}] Step: {}{note}\n", inline(&entry.text)));
        }
        self.loose(&list);
        if let Some(text) = &plan.text {
            self.loose(&nested(text));
        }
    }

    fn compaction(&mut self, compaction: &Compaction) {
        let what = match compaction.state {
            CompactionState::Running => "Shortening its context",
            CompactionState::Completed => "Context shortened",
            CompactionState::Failed => "Shortening the context failed",
            CompactionState::Cancelled => "Shortening the context was broken off",
        };
        self.headline(what, "", &[]);
        self.content(&compaction.content, Words::Plain);
        if let Some(detail) = &compaction.detail {
            self.block(&fenced("json", detail.as_str()));
        }
    }

    fn session_message(&mut self, message: &SessionMessage) {
        let from = message.from.as_deref().map(|from| format!("from {}", code(from)));
        let to = message.to.as_deref().map(|to| format!("to {}", code(to)));
        self.headline("Message", "", &from.into_iter().chain(to).collect::<Vec<_>>());
        self.content(&message.content, Words::Markdown);
    }

    fn status(&mut self, status: &Status) {
        let what = match status.tone {
            Tone::Info => "Note:",
            Tone::Warning => "Warning:",
            Tone::Error => "Error:",
        };
        let code_said = status.detail.as_ref().and_then(|detail| detail.code.as_deref());
        let facts: Vec<String> = code_said
            .map(|said| format!("code {}", code(said)))
            .into_iter()
            .collect();
        if status.text.trim().contains('\n') {
            self.headline(what, "", &facts);
            self.block(&fenced("text", status.text.trim()));
        } else {
            self.headline(what, &inline(&status.text), &facts);
        }
        if let Some(more) = status.detail.as_ref().and_then(|detail| detail.more.as_ref()) {
            self.block(&fenced("json", more.as_str()));
        }
    }

    fn unknown(&mut self, unknown: &Unknown) {
        let what = unknown.name.as_deref().unwrap_or(&unknown.method);
        self.headline(
            "Unknown update",
            &code(what),
            &[format!("by {}", code(&unknown.method))],
        );
        if let Some(payload) = &unknown.payload {
            self.block(&fenced("json", payload.as_str()));
        }
    }
}

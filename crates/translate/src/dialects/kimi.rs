//! Kimi CLI.
//!
//! A tool is announced by its name; while the model still writes its arguments, they grow as text content, and what follows
//! replaces them. So such content is the input, once it is whole. A helper's result is a head of facts and a summary.

use std::borrow::Cow;

use tapline_timeline::{Event, HelperNews, Json, ToolItem, ToolNews, WorkState};
use tapline_wire::{RawValue, Update, value};

use super::table::{Memory, NameAt, Table};
use super::text;
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "kimi",
    agent: "Kimi",
    tool_name: NameAt::Title { commands: true },
    permission_text: true,
    empty_is_new: true,
    words: &[&["session_id"]],
    sign_in_words: &["Authentication required", "LLM not set"],
    tool,
    ..Table::PLAIN
};

fn tool<'a>(memory: &mut Memory, update: &Update<'a>, news: &mut ToolNews<'a>, facts: &mut Facts<'a>) {
    let bare = news.title.as_deref().and_then(text::name_before_json);
    if let Some(name) = bare.map(str::to_owned) {
        news.title = Some(Cow::Owned(name));
    }
    let is_settled = matches!(update.fields.status.as_deref(), Some("completed" | "failed"));
    let Some([ToolItem::Text { text }]) = news.content.as_deref() else {
        return;
    };
    if !is_settled && (text.is_empty() || text.starts_with('{')) {
        if let Ok(input) = Json::parse(text)
            && let read = RawValue::of(input.raw())
            && value::is_object(read)
        {
            if let Some(about) = value::member_text(read, "description") {
                memory.note(news.call, &about);
            }
            news.input = Some(input);
        }
        news.content = Some(Vec::new());
        return;
    }
    if let Some((head, summary)) = text.split_once("\n\n[summary]\n")
        && head.starts_with("agent_id: ")
        && let Some(frame) = update.fields.content.map(RawValue::get)
        && let Some(id) = text::between(frame, "agent_id: ", "\\n")
    {
        let state = match head.lines().find_map(|l| l.strip_prefix("status: ")) {
            Some("completed") => WorkState::Completed,
            Some("failed") => WorkState::Failed,
            _ => WorkState::Unknown,
        };
        let summary = summary.trim().to_owned();
        facts.push(Event::Helper(HelperNews {
            helper: id.into(),
            call: Some(news.call.into()),
            label: memory.about(news.call).map(|l| Cow::Owned(l.to_owned())),
            state: Some(state),
            text: Some(Cow::Owned(summary.clone())),
            ..HelperNews::default()
        }));
        news.content = Some(vec![ToolItem::Text { text: summary }]);
    }
}

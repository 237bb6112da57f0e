//! OpenCode, and Kilo, which is made of it.
//!
//! A tool is announced by its name as the title; its result stands in `rawOutput.output`, with a command's exit code and the
//! like in `metadata`, and again as content. A to-do list is a tool's result, and the plan. After an allowed edit it
//! writes the file once more through the client, which is no second edit (no client's service makes a row). Its answer
//! counts the newest model call; "always" lasts as long as its process.

use std::borrow::Cow;

use tapline_timeline::{Event, HelperNews, Measure, ToolItem, ToolNews, WorkState};
use tapline_wire::{RawValue, Update, value};

use super::table::{Counts, Memory, NameAt, Table, id_at, plan_of, worked};
use super::text;
use crate::dialect::Facts;

const SHARED: Table = Table {
    tool_name: NameAt::Title { commands: true },
    exit_code: &[&["metadata", "exit"]],
    output: &[&["output"], &["error"]],
    content_retells_output: true,
    empty_is_new: true,
    counts: Some(Counts {
        measure: Measure::Call,
        input_holds_cached: Some(false),
        at: None,
    }),
    tool,
    ..Table::PLAIN
};

pub(super) static TABLE: Table = Table {
    name: "opencode",
    agent: "OpenCode",
    options: &[("always", "Allow until OpenCode restarts")],
    ..SHARED
};

pub(super) static KILO: Table = Table {
    name: "kilo",
    agent: "Kilo",
    options: &[("always", "Allow until Kilo restarts")],
    ..SHARED
};

fn tool<'a>(memory: &mut Memory, update: &Update<'a>, news: &mut ToolNews<'a>, facts: &mut Facts<'a>) {
    if let Some(input) = update.fields.raw_input {
        if value::members(input).next().is_none() {
            // The announcement comes before the input.
            news.input = None;
        }
        if let Some(about) = value::member_text(input, "description") {
            memory.note(news.call, &about);
        }
    }
    let Some(metadata) = update
        .fields
        .raw_output
        .and_then(|r| value::member(r, "metadata"))
    else {
        return;
    };
    if let Some(plan) = value::member(metadata, "todos")
        .filter(|_| worked(news))
        .and_then(plan_of)
    {
        facts.push(plan);
        // The list as JSON is the plan, which stands in a row of its own.
        news.content = Some(Vec::new());
        news.output = None;
    }
    helper(memory, metadata, news, facts);
}

/// The result of a task is its helper's last words, in markup for the model.
fn helper<'a>(memory: &Memory, metadata: &'a RawValue, news: &mut ToolNews<'a>, facts: &mut Facts<'a>) {
    let Some(session) =
        id_at(metadata, &["sessionId"]).filter(|_| id_at(metadata, &["parentSessionId"]).is_some())
    else {
        return;
    };
    let result = news.output.as_deref().and_then(|output| {
        let inner = text::between(output, "<task_result>", "</task_result>")?;
        Some(inner.trim().to_owned())
    });
    let state = worked(news).then_some(WorkState::Completed);
    if let Some(result) = &result {
        let text = result.clone();
        news.content = Some(vec![ToolItem::Text { text }]);
        news.output = None;
    }
    facts.push(Event::Helper(HelperNews {
        helper: session.into(),
        call: Some(news.call.into()),
        label: memory.about(news.call).map(|l| Cow::Owned(l.to_owned())),
        state: state.or(Some(WorkState::Running)),
        text: result.map(Cow::Owned),
        ..HelperNews::default()
    }));
}

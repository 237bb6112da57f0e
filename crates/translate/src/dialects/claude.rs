//! Claude Code, through `claude-agent-acp`.
//!
//! It says in `_meta.claudeCode` what a tool is called (`toolName`) and under which call it runs (`parentToolUseId`), puts
//! what a tool printed into Markdown fences and says it again in `rawOutput`, and begins the content of a failed command
//! with its exit code; a command that worked says none, and 0 is read from its response. Work that outlives its tool is named in `toolResponse`: a command by `backgroundTaskId`, an agent
//! by `agentId`; their end is only told to the model, after which a turn of the agent's own runs that is marked at its end
//! by `_claude/origin`.

use std::borrow::Cow;

use tapline_timeline::{
    End, Ending, Event, HelperNews, Measure, TaskKind, TaskNews, ToolItem, ToolNews, ToolStatus, TurnEnded,
    WorkState,
};
use tapline_wire::{RawValue, Update, value};

use super::table::{Counts, Memory, NameAt, Note, Table, id_at, text_at};
use super::text;
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "claude",
    agent: "Claude",
    tool_name: NameAt::Meta(&[&["claudeCode", "toolName"]]),
    parent: &[&["claudeCode", "parentToolUseId"]],
    content_retells_output: true,
    fences: true,
    model_only: &["Async agent launched successfully."],
    counts: Some(Counts {
        measure: Measure::Turn,
        input_holds_cached: Some(false),
        at: None,
    }),
    notes: &[Note::Marked(&["claudeCode", "kind"])],
    silent: &[("auth/status_update", "sign-in-status")],
    sign_in_words: &["Authentication required", "Invalid API key", "Please run /login"],
    tool,
    update,
    ..Table::PLAIN
};

fn tool<'a>(memory: &mut Memory, update: &Update<'a>, news: &mut ToolNews<'a>, facts: &mut Facts<'a>) {
    if let Some(input) = update.fields.raw_input
        && let Some(about) = ["description", "command"]
            .iter()
            .find_map(|n| value::member_text(input, n))
    {
        memory.note(news.call, &about);
    }
    if let Some(response) = update
        .fields
        .meta
        .and_then(|m| value::path(m, &["claudeCode", "toolResponse"]))
    {
        if ended_well(response) {
            news.exit_code = Some(0);
        }
        background_command(memory, news.call, response, facts);
        helper(memory, news.call, response, facts);
    }
    if let Some(output) = update.fields.raw_output.map(RawValue::get)
        && let Some(task) = text::between(output, "running in background with ID: ", ".")
        && let Some(file) = text::between(output, "Output is being written to: ", ". ")
    {
        facts.push(Event::Task(TaskNews {
            task: task.into(),
            output_file: Some(Cow::Borrowed(file)),
            only_if_known: true,
            ..TaskNews::default()
        }));
    }
    exit_code(news);
}

/// A failed command's content begins with its exit code.
fn exit_code(news: &mut ToolNews<'_>) {
    if news.status != Some(ToolStatus::Failed) {
        return;
    }
    let Some(content) = &mut news.content else { return };
    for item in content {
        if let ToolItem::Text { text } = item
            && let Some(inner) = text::unfenced(text)
            && let Some((rest, code)) = text::first_line_number(&inner, "Exit code ", "")
        {
            news.exit_code = Some(code);
            *text = rest.to_owned();
            return;
        }
    }
}

/// A command's response is only told where it did not fail; an exit code that is no failure (`grep` without a hit) is
/// told apart by an interpretation.
fn ended_well(response: &RawValue) -> bool {
    let names = [
        "stdout",
        "interrupted",
        "returnCodeInterpretation",
        "backgroundTaskId",
    ];
    let [stdout, interrupted, interpretation, background] = value::pick(response, names);
    let is_there = |member: Option<&RawValue>| member.is_some_and(|v| !value::is_null(v));
    is_there(stdout)
        && interrupted.and_then(value::bool) == Some(false)
        && !is_there(interpretation)
        && !is_there(background)
}

fn background_command<'a>(memory: &Memory, call: &'a str, response: &'a RawValue, facts: &mut Facts<'a>) {
    let Some(task) = id_at(response, &["backgroundTaskId"]) else {
        return;
    };
    facts.push(Event::Task(TaskNews {
        task: task.into(),
        call: Some(call.into()),
        kind: Some(TaskKind::Command),
        label: memory.about(call).map(|l| Cow::Owned(l.to_owned())),
        state: Some(WorkState::Running),
        ..TaskNews::default()
    }));
}

fn helper<'a>(memory: &Memory, call: &'a str, response: &'a RawValue, facts: &mut Facts<'a>) {
    let Some(id) = id_at(response, &["agentId"]) else {
        return;
    };
    let flag = |name| value::member(response, name).and_then(value::bool);
    let is_running = flag("isAsync") == Some(true);
    facts.push(Event::Helper(HelperNews {
        helper: id.into(),
        call: Some(call.into()),
        label: value::member_text(response, "description")
            .or_else(|| memory.about(call).map(|l| Cow::Owned(l.to_owned()))),
        state: Some(match is_running {
            true => WorkState::Running,
            false => WorkState::Completed,
        }),
        tokens: value::member(response, "totalTokens").and_then(value::u64),
        text: if is_running {
            None
        } else {
            text_at(response, &[&["content"]])
        },
        ..HelperNews::default()
    }));
}

/// The last count of a turn says what began it. One that a finished task began has no answer of its own.
fn update<'a>(update: &Update<'a>, facts: &mut Facts<'a>) {
    let origin = || value::path(update.fields.meta?, &["_claude/origin", "kind"]).and_then(value::text);
    if update.kind.as_deref() == Some("usage_update") && origin().as_deref() == Some("task-notification") {
        facts.push(Event::TurnEnded(TurnEnded {
            turn: None,
            ending: Ending::of(End::Completed),
        }));
    }
}

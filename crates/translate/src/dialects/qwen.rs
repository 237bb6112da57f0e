//! Qwen Code.
//!
//! It came from Gemini CLI and says more: a tool's name in `_meta.toolName`, the counts of each model call in the `_meta` of
//! an empty chunk, the call under which a helper's frames stand (`parentToolCallId`), notes of its machinery marked as
//! discrete messages (with how a background task ended), and the beginning and end of its own turns by requests and notices
//! of its own.

use tapline_timeline::{
    Context, End, Ending, Event, HelperNews, SessionFacts, TaskKind, TaskNews, TurnEnded, WorkState,
};
use tapline_wire::{RawValue, Update, value};

use super::table::{NameAt, Note, Table};
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "qwen",
    agent: "Qwen Code",
    tool_name: NameAt::Meta(&[&["toolName"]]),
    parent: &[&["parentToolCallId"]],
    json_words: true,
    notes: &[Note::Marked(&["qwenDiscreteMessage"])],
    silent: &[
        ("qwencode/start_turn", "turn-start"),
        ("qwencode/end_turn", "turn-end"),
        ("qwencode/", "vendor-notice"),
        ("craft/drainMidTurnQueue", "queue-asked"),
        ("qwen/notify/session/prompt-suggestion", "suggestion"),
        ("qwen/notify/", "vendor-notice"),
    ],
    update,
    notice,
    ..Table::PLAIN
};

fn update<'a>(update: &Update<'a>, facts: &mut Facts<'a>) {
    let Some(meta) = update.fields.meta else { return };
    if let Some(task) = value::member(meta, "backgroundTask") {
        background_task(task, facts);
    }
    // A helper's model calls say nothing of the session's own context.
    if value::member(meta, "parentToolCallId").is_none_or(value::is_null)
        && let Some(usage) = value::member(meta, "usage")
    {
        context(usage, facts);
    }
}

/// What the newest model call was given, cached tokens included.
fn context<'a>(usage: &'a RawValue, facts: &mut Facts<'a>) {
    let names = ["inputTokens", "promptTokens"];
    let used = names
        .iter()
        .find_map(|n| value::member(usage, n).and_then(value::u64));
    if let Some(used) = used {
        facts.push(Event::Context {
            turn: None,
            context: Context {
                used: Some(used),
                size: None,
            },
            replay: false,
        });
    }
}

/// How work ended that outlived its turn.
fn background_task<'a>(task: &'a RawValue, facts: &mut Facts<'a>) {
    let Some(id) = value::member_text(task, "taskId") else {
        return;
    };
    let state = match value::member_text(task, "status").as_deref() {
        Some("running") => WorkState::Running,
        Some("completed") => WorkState::Completed,
        Some("failed") => WorkState::Failed,
        Some("cancelled" | "stopped" | "killed") => WorkState::Stopped,
        _ => return,
    };
    let call = value::member_text(task, "toolUseId");
    match value::member_text(task, "kind").as_deref() {
        Some("agent") => facts.push(Event::Helper(HelperNews {
            helper: id,
            call,
            state: Some(state),
            ..HelperNews::default()
        })),
        kind => facts.push(Event::Task(TaskNews {
            task: id,
            call,
            kind: Some(match kind {
                Some("monitor") => TaskKind::Monitor,
                Some("shell" | "command") => TaskKind::Command,
                _ => TaskKind::Other,
            }),
            state: Some(state),
            ..TaskNews::default()
        })),
    }
}

fn notice<'a>(method: &str, params: &'a RawValue, facts: &mut Facts<'a>) -> bool {
    match method.strip_prefix('_').unwrap_or(method) {
        "qwencode/end_turn" => facts.push(Event::TurnEnded(TurnEnded {
            turn: None,
            ending: Ending {
                stop_reason: value::member_text(params, "stopReason"),
                ..Ending::of(End::Completed)
            },
        })),
        "qwen/notify/session/mode-update" => {
            let names = ["currentModeId", "modeId", "mode"];
            let Some(mode) = names.iter().find_map(|n| value::member_text(params, n)) else {
                return false;
            };
            facts.push(Event::Session(SessionFacts {
                mode: Some(mode),
                ..SessionFacts::default()
            }));
        }
        _ => return false,
    }
    true
}

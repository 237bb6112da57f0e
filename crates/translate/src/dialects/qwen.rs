//! Qwen Code.
//!
//! It came from Gemini CLI and says more: a tool's name in `_meta.toolName`, the counts of each model call in the `_meta` of
//! an empty chunk, notes of its machinery marked as discrete messages, and the beginning and end of its own turns by
//! requests and notices of its own.

use tapline_timeline::{Context, End, Event, Failure, SessionFacts, TurnEnded};
use tapline_wire::{RawValue, Update, value};

use super::table::{NameAt, Note, Table};
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "qwen",
    agent: "Qwen Code",
    tool_name: NameAt::Meta(&[&["toolName"]]),
    content_retells_output: true,
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

/// What the newest model call was given, cached tokens included.
fn update<'a>(update: &Update<'a>, facts: &mut Facts<'a>) {
    let Some(usage) = update.fields.meta.and_then(|m| value::member(m, "usage")) else {
        return;
    };
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

fn notice<'a>(method: &str, params: &'a RawValue, facts: &mut Facts<'a>) -> bool {
    match method.strip_prefix('_').unwrap_or(method) {
        "qwencode/end_turn" => facts.push(Event::TurnEnded(TurnEnded {
            turn: None,
            end: End::Completed,
            stop_reason: value::member_text(params, "stopReason"),
            duration_ms: None,
            failure: Failure::default(),
            usage: None,
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

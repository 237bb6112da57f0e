//! Codex, through `codex-acp`.
//!
//! Tool inputs carry its own book-keeping (turn and process ids, times), results its exit code and streams. Each reply is
//! preceded by warnings in the reply's own channel; errors may be the provider's JSON as text. A permission's text content
//! lists the decisions that its options are.

use std::borrow::Cow;

use tapline_timeline::{ToolItem, ToolNews};
use tapline_wire::Update;

use super::table::{Memory, Note, Table};
use super::text;
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "codex",
    agent: "Codex",
    output: &[&["aggregated_output"]],
    fences: true,
    input_noise: &[
        "call_id",
        "turn_id",
        "process_id",
        "started_at_ms",
        "completed_at_ms",
        "source",
        "auto_approved",
        "available_decisions",
        "proposed_execpolicy_amendment",
        "parsed_cmd",
    ],
    permission_text: true,
    permission_cut: &["Proposed Amendment:", "Available Decisions:"],
    json_words: true,
    sign_in_words: &["unexpected status 401"],
    notes: &[Note::Begins("Model metadata for `")],
    tool,
    ..Table::PLAIN
};

/// A replayed result is what the model was told: a head with the exit code, then the output.
fn tool<'a>(_: &mut Memory, _: &Update<'a>, news: &mut ToolNews<'a>, _: &mut Facts<'a>) {
    if let Some(output) = &news.output
        && let Some((head, rest)) = output.split_once("\nOutput:\n")
        && let Some((_, code)) = head
            .lines()
            .find_map(|l| text::last_line_number(l, "Process exited with code ", ""))
    {
        news.exit_code = news.exit_code.or(Some(code));
        news.output = Some(Cow::Owned(rest.to_owned()));
    }
    // An edit's summary only names the files that its diffs show.
    let has_diff = |items: &Vec<ToolItem>| items.iter().any(|i| matches!(i, ToolItem::Diff(_)));
    if news.content.as_ref().is_some_and(has_diff)
        && news
            .output
            .as_deref()
            .is_some_and(|o| o.starts_with("Success. Updated"))
    {
        news.output = None;
    }
}

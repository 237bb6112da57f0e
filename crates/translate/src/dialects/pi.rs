//! Pi, through `pi-acp`.
//!
//! It asks no permissions. Tools that are no commands are announced by their name; results are a list of text parts, told
//! again as content; commands print to a terminal of their own, told as deltas in `_meta`. What its queue and its retries do
//! is said in the reply's own channel.

use tapline_timeline::{Event, Printed, TerminalNews, ToolNews};
use tapline_wire::{Update, value};

use super::table::{Memory, NameAt, Note, Table, id_at};
use super::text;
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "pi",
    agent: "Pi",
    tool_name: NameAt::Title { commands: false },
    output: &[&["content"]],
    notes: &[
        Note::Begins("Queued message (position "),
        Note::Begins("Starting queued message. ("),
        Note::Begins("Retrying (attempt "),
        Note::Begins("Retry finished, resuming."),
    ],
    tool,
    ..Table::PLAIN
};

/// Every failed command ends its terminal with 1; the code that it had is said in the last line it printed.
fn tool<'a>(_: &mut Memory, update: &Update<'a>, news: &mut ToolNews<'a>, facts: &mut Facts<'a>) {
    let Some(meta) = update.fields.meta else { return };
    let Some(terminal) = id_at(meta, &["terminal_exit", "terminal_id"]) else {
        return;
    };
    let said = value::path(meta, &["terminal_output", "data"]).and_then(value::text);
    let code = said.and_then(|s| Some(text::last_line_number(&s, "Command exited with code ", "")?.1));
    if let Some(code) = code {
        news.exit_code = Some(code);
        facts.push(Event::Terminal(TerminalNews {
            terminal,
            output: Printed::Nothing,
            exit_code: Some(code),
            signal: None,
        }));
    }
}

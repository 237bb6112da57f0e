//! Pi, through `pi-acp`.
//!
//! It asks no permissions. Tools that are no commands are announced by their name; results are a list of text parts, told
//! again as content; commands print to a terminal of their own, told as deltas in `_meta`. What its queue and its retries do
//! is said in the reply's own channel.

use super::table::{NameAt, Note, Table};

pub(super) static TABLE: Table = Table {
    name: "pi",
    agent: "Pi",
    tool_name: NameAt::Title { commands: false },
    output: &[&["content"]],
    content_retells_output: true,
    notes: &[
        Note::Begins("Queued message (position "),
        Note::Begins("Starting queued message. ("),
        Note::Begins("Retrying (attempt "),
        Note::Begins("Retry finished, resuming."),
    ],
    ..Table::PLAIN
};

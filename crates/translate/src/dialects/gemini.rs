//! Gemini CLI.
//!
//! A call's id begins with the tool's name. Token counts stand in the answer's `_meta.quota`. Errors have HTTP codes and
//! JSON as text. A mode that was set is also said in the reply's channel. After it has answered a load it goes on replaying.

use std::borrow::Cow;

use tapline_timeline::{Event, Measure, SessionFacts};
use tapline_wire::{Update, value};

use super::table::{Counts, NameAt, Note, Table};
use crate::dialect::Facts;

/// In front of the mode, as text, where the mode was set.
const MODE: &str = "[MODE_UPDATE] ";

pub(super) static TABLE: Table = Table {
    name: "gemini",
    agent: "Gemini",
    tool_name: NameAt::BeforeInCall("__"),
    permission_text: true,
    json_words: true,
    sign_in_words: &["Gemini API key is missing", "Authentication required"],
    counts: Some(Counts {
        measure: Measure::Turn,
        input_holds_cached: Some(true),
        at: Some(&["quota", "token_count"]),
    }),
    replay_tail: true,
    notes: &[Note::Begins(MODE)],
    update,
    ..Table::PLAIN
};

fn update<'a>(update: &Update<'a>, facts: &mut Facts<'a>) {
    if update.kind.as_deref() != Some("agent_message_chunk") {
        return;
    }
    let said = update.fields.content.and_then(|c| value::member_text(c, "text"));
    if let Some(mode) = said.as_deref().and_then(|s| s.strip_prefix(MODE)) {
        facts.push(Event::Session(SessionFacts {
            mode: Some(Cow::Owned(mode.to_owned())),
            ..SessionFacts::default()
        }));
    }
}

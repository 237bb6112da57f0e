//! Gemini CLI.
//!
//! A call's id begins with the tool's name. Token counts stand in the answer's `_meta.quota`. Errors have HTTP codes and
//! JSON as text. After it has answered a load it goes on replaying.

use tapline_timeline::Measure;

use super::table::{Counts, NameAt, Table};

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
    ..Table::PLAIN
};

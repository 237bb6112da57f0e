//! Mistral Vibe.
//!
//! It echoes prompts and sends plans twice, which the core knows, and alone tells that it tries a model call again.

use std::borrow::Cow;

use tapline_timeline::{Detail, Event, Tone};
use tapline_wire::{RawValue, value};

use super::table::Table;
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "vibe",
    agent: "Vibe",
    notice,
    ..Table::PLAIN
};

/// A retry is no failure: a line about it, in the agent's words where it gives some.
fn notice<'a>(method: &str, params: &'a RawValue, facts: &mut Facts<'a>) -> bool {
    if method.trim_start_matches('_') != "session/retrying" {
        return false;
    }
    let names = ["detail", "message", "error"];
    let words = names.iter().find_map(|n| value::member_text(params, n));
    facts.push(Event::Status {
        turn: None,
        tone: Tone::Info,
        text: words.unwrap_or(Cow::Borrowed("Vibe tries the model call again.")),
        detail: Some(Detail {
            code: value::member_text(params, "category").map(Cow::into_owned),
            source: Some("retry".to_owned()),
            more: crate::parts::json(params),
        }),
    });
    true
}

//! What the tests of this crate share: timelines made by hand, and rows made at random.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod random;

use std::sync::Arc;

use tapline_render::{Chat, Terminal, render};
use tapline_timeline::{Row, Session};

/// A timeline that holds every kind of row in every state, and the session of a helper.
pub(crate) const EVERY_KIND: &str = include_str!("../timelines/every-kind.jsonl");

/// Sessions and their rows, as they stand in a file.
pub(crate) fn read(text: &str) -> Vec<(Session, Vec<Arc<Row>>)> {
    let mut chats: Vec<(Session, Vec<Arc<Row>>)> = Vec::new();
    for line in text.lines() {
        if line.starts_with(r#"{"kind":"session""#) {
            chats.push((serde_json::from_str(line).expect(line), Vec::new()));
        } else {
            let row: Row = serde_json::from_str(line).expect(line);
            chats
                .last_mut()
                .expect("a session comes first")
                .1
                .push(Arc::new(row));
        }
    }
    chats
}

/// Those as text.
pub(crate) fn show(chats: &[(Session, Vec<Arc<Row>>)], terminal: &Terminal) -> String {
    let chats: Vec<Chat<'_>> = chats
        .iter()
        .map(|(session, rows)| Chat { session, rows })
        .collect();
    render(&chats, terminal)
}

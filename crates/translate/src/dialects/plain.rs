//! Agents that say little or nothing beyond the protocol, as far as they are known: a name each, and where a tool's name
//! stands.

use super::table::{NameAt, Table};

/// GitHub Copilot CLI. One tool id may serve many permissions, which the core knows.
pub(super) static COPILOT: Table = Table {
    name: "copilot",
    agent: "Copilot",
    ..Table::PLAIN
};

/// goose.
pub(super) static GOOSE: Table = Table {
    name: "goose",
    agent: "goose",
    tool_name: NameAt::Meta(&[&["goose", "toolCall", "toolName"], &["goose", "toolCall", "name"]]),
    ..Table::PLAIN
};

/// Cursor's agent.
pub(super) static CURSOR: Table = Table {
    name: "cursor",
    agent: "Cursor",
    ..Table::PLAIN
};

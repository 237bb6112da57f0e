//! Hermes.
//!
//! Permissions come under ids made up for them; a message that follows a tool begins with blank lines; a second prompt is
//! answered at once with a note that it waits.

use super::table::{Note, Table};

pub(super) static TABLE: Table = Table {
    name: "hermes",
    agent: "Hermes",
    made_up_calls: true,
    blank_lead: true,
    notes: &[Note::Begins("Queued for the next turn")],
    ..Table::PLAIN
};

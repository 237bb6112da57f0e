//! The reference reader of changes: what a session's timeline is after a row of changes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::change::{Append, Change, Grows};
use crate::content::ToolItem;
use crate::id::RowId;
use crate::lookup::Lookup;
use crate::row::{Body, Row};
use crate::session::Session;

/// The timeline of one session, in memory.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    session: Option<Session>,
    rows: Vec<Arc<Row>>,
    by_id: HashMap<RowId, usize>,
}

impl Timeline {
    /// An empty timeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// The session object, once one came.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The rows in the order of `seq`.
    pub fn rows(&self) -> &[Arc<Row>] {
        &self.rows
    }

    /// Applies one change. A change of a row that never came is ignored: it cannot happen to a reader that began at
    /// the start.
    pub fn apply(&mut self, change: &Change<'_>) {
        match change {
            Change::Session(session) => self.session = Some((*session).clone()),
            Change::Put(row) => {
                let place = place_of(row.seq);
                if place < self.rows.len() {
                    self.rows[place] = Arc::clone(row);
                } else {
                    self.by_id.insert(row.id.clone(), place);
                    self.rows.push(Arc::clone(row));
                }
            }
            Change::Append(append) => {
                if let Some(row) = self.rows.get_mut(place_of(append.seq)) {
                    grow(Arc::make_mut(row), append);
                }
            }
            Change::Close(close) => {
                if let Some(row) = self.rows.get_mut(place_of(close.seq)) {
                    let row = Arc::make_mut(row);
                    row.revision = close.revision;
                    row.frames[1] = row.frames[1].max(close.frame);
                    row.ended_at = close.ended_at;
                    if let Some(bytes) = close.cut_bytes {
                        row.cut("text", bytes);
                    }
                    if let Body::Assistant(message) | Body::Reasoning(message) = &mut row.body {
                        message.state = close.state;
                        message.superseded = close.superseded;
                    }
                }
            }
        }
    }
}

fn place_of(seq: u64) -> usize {
    usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// Applies an append to a row.
pub fn grow(row: &mut Row, append: &Append<'_>) {
    row.revision = append.revision;
    row.frames[1] = row.frames[1].max(append.frame);
    match (append.member, &mut row.body) {
        (Grows::Text, Body::Assistant(message) | Body::Reasoning(message)) => {
            message.content.push_text(append.text)
        }
        (Grows::Text, Body::User(user)) => user.content.push_text(append.text),
        (Grows::Terminal(index), Body::Tool(tool)) => {
            if let Some(ToolItem::Terminal(terminal)) = tool.content.get_mut(index) {
                terminal.output.push_str(append.text);
            }
        }
        _ => {}
    }
}

impl Lookup for Timeline {
    fn row(&self, id: &RowId) -> Option<Arc<Row>> {
        self.by_id.get(id).map(|place| Arc::clone(&self.rows[*place]))
    }
}

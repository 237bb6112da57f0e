//! What the loop sees of the timeline it makes.
//!
//! The loop acts on what the traffic meant, not on the traffic: which turn runs, which request waits, how a prompt fared.
//! All of that stands in rows, and rows pass through here on their way into the journal.

use std::sync::Arc;

use tapline_recorder::{Opened, SessionRef, Store, TapeRecord, Way};
use tapline_timeline::{Change, Kind, Row, RowId, Session};

/// One thing that was seen.
pub(super) enum Seen {
    /// A turn, a user message, a request or a task changed.
    Row(Arc<Row>),
    /// The session object changed.
    Session(Box<Session>),
}

/// A store that notes what passes.
pub(super) struct Observed<S> {
    pub(super) store: S,
    seen: Vec<Seen>,
}

impl<S> Observed<S> {
    pub(super) fn new(store: S) -> Self {
        Self {
            store,
            seen: Vec::new(),
        }
    }

    /// What was seen since this was asked last.
    pub(super) fn take(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }
}

impl<S: Store> Store for Observed<S> {
    fn open(&mut self, session: SessionRef, provider: Option<&str>, way: Way) -> Opened {
        self.store.open(session, provider, way)
    }

    fn change(&mut self, session: SessionRef, change: &Change<'_>) {
        match change {
            Change::Put(row)
                if matches!(row.kind(), Kind::Turn | Kind::User | Kind::Request | Kind::Task) =>
            {
                self.seen.push(Seen::Row(Arc::clone(row)));
            }
            Change::Session(now) => self.seen.push(Seen::Session(Box::new((*now).clone()))),
            _ => {}
        }
        self.store.change(session, change);
    }

    fn row(&self, session: SessionRef, id: &RowId) -> Option<Arc<Row>> {
        self.store.row(session, id)
    }

    fn blob(&mut self, hash: &str, bytes: &[u8]) {
        self.store.blob(hash, bytes);
    }

    fn input(&mut self, record: &TapeRecord<'_>) {
        self.store.input(record);
    }

    fn complete(&mut self) {
        self.store.complete();
    }
}

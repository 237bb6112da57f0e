//! Timelines in memory: what `translate` and `show FILE` read from, and the reference for every other store.

use std::collections::HashMap;
use std::sync::Arc;

use tapline_timeline::{Change, Lookup, Row, RowId, Session, SessionId, Timeline};
use tapline_translate::{SessionRef, Way};

use crate::recorder::{Opened, Store};

/// The timelines of a recording, one a session, in the order in which the sessions appeared.
#[derive(Debug, Default)]
pub struct Memory {
    timelines: Vec<Timeline>,
    names: HashMap<String, u32>,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The timelines, in the order in which the sessions appeared.
    pub fn timelines(&self) -> &[Timeline] {
        &self.timelines
    }
}

impl Store for Memory {
    /// A session is called what the agent calls it; a second one of that name gets a number.
    fn open(&mut self, session: SessionRef, provider: Option<&str>, _: Way) -> Opened {
        let name = provider.unwrap_or("session");
        let n = self.names.entry(name.to_owned()).or_default();
        *n += 1;
        let id = if *n == 1 { SessionId::from(name) } else { SessionId::from(format!("{name}#{n}")) };
        debug_assert_eq!(session.0 as usize, self.timelines.len());
        self.timelines.push(Timeline::new());
        Opened { session: Session::new(id), seq: 0 }
    }

    fn change(&mut self, session: SessionRef, change: &Change<'_>) {
        if let Some(timeline) = self.timelines.get_mut(session.0 as usize) {
            timeline.apply(change);
        }
    }

    fn row(&self, session: SessionRef, id: &RowId) -> Option<Arc<Row>> {
        self.timelines.get(session.0 as usize)?.row(id)
    }
}

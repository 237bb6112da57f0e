//! What a writer and its journal share: the sessions it holds, and the changes on their way.
//!
//! The writer fills `ready` under the lock and says when an input is complete; the journal's thread takes what is due as
//! one batch, which flies until it is on stable storage or given up. Nothing else passes between the two.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tapline_timeline::{Row, RowId, SessionId};

use super::{BACKLOG_BYTES, GATHER_TAPE_BYTES, GATHER_TIME, OnSaved};
use crate::batch::{Batch, GATHER_BYTES, Op};
use crate::error::Error;
use crate::model::{Begin, Generation};

/// What a journal does for its writers.
pub(crate) trait Backend: Send + Sync {
    /// Whether everything sealed is taken at once.
    fn eager(&self) -> bool;
    /// Something was sealed, or is due.
    fn wake(&self, slot: &Arc<Slot>);
    /// Begins a generation on the slot's connection.
    fn begin(&self, slot: &Slot, begin: &Begin) -> Result<Begun, Error>;
    /// A row as it is committed.
    fn committed_row(&self, id: &RowId) -> Result<Option<Arc<Row>>, Error>;
    /// The writer is gone.
    fn leave(&self, slot: &Arc<Slot>);
}

/// A generation as the journal began it.
pub(crate) struct Begun {
    /// The session's number in the journal.
    pub(crate) number: i64,
    pub(crate) generation: Generation,
    pub(crate) lock: Option<Lock>,
}

/// Proof that the owner of a session lives, or that a tape has its writer; whoever drops it is gone.
pub(crate) type Lock = Box<dyn Send + Sync>;

/// A session that a writer holds.
pub(crate) struct Held {
    pub(crate) id: SessionId,
    pub(crate) number: i64,
    pub(crate) generation: u64,
    /// Cursor of the last change.
    pub(super) cursor: u64,
    pub(super) saved: u64,
    /// Why it can no longer be written.
    pub(super) dead: Option<Error>,
    pub(super) lock: Option<Lock>,
}

/// Sessions of a batch that someone else holds now, by their place in the writer's list.
pub(crate) type Refused = Vec<(usize, Error)>;

/// What a commit needs to know of a session.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) id: SessionId,
    pub(crate) number: i64,
    pub(crate) generation: u64,
}

/// What a writer and its journal share.
pub(crate) struct Slot {
    pub(crate) connection: String,
    /// Number of the tape in the journal.
    pub(crate) tape: i64,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    on_saved: Option<OnSaved>,
    pub(super) saved_input: AtomicU64,
}

pub(super) struct State {
    pub(super) sessions: Vec<Held>,
    /// The hold on the tape.
    pub(super) tape: Option<Lock>,
    pub(super) ready: Batch,
    /// The last input in `ready` is not complete.
    pub(super) open: bool,
    /// What is being committed, or waits to be tried again.
    pub(super) flying: Option<Arc<Batch>>,
    /// A cleared batch whose memory is used again.
    pub(super) spare: Option<Batch>,
    /// How far the journal was told: 0 nothing, 1 something waits, 2 something is due.
    pub(super) told: u8,
    pub(super) trouble: Option<Error>,
    pub(super) last_input: u64,
    pub(super) closing: bool,
    /// Number of commits.
    pub(super) commits: u64,
    /// A session that was refused since the last flush, and why.
    pub(super) refused: Option<Error>,
}

impl Slot {
    pub(crate) fn new(connection: &str, tape: i64, last_input: u64, on_saved: Option<OnSaved>) -> Self {
        Self {
            connection: connection.to_owned(),
            tape,
            state: Mutex::new(State {
                sessions: Vec::new(),
                tape: None,
                ready: Batch::default(),
                open: false,
                flying: None,
                spare: None,
                told: 0,
                trouble: None,
                last_input,
                closing: false,
                commits: 0,
                refused: None,
            }),
            changed: Condvar::new(),
            on_saved,
            saved_input: AtomicU64::new(last_input),
        }
    }

    /// The same, with a hold on its tape.
    pub(crate) fn held_by(self, tape: Lock) -> Self {
        self.lock().tape = Some(tape);
        self
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock leaves the state half changed when it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When this slot must be committed at the latest; nothing if nothing waits.
    pub(crate) fn deadline(&self, now: Instant) -> Option<Instant> {
        let mut state = self.lock();
        if state.flying.is_some() || state.ready.is_empty() {
            return None;
        }
        let due = state.ready.born.map_or(now, |born| born + GATHER_TIME);
        if state.open {
            // The writer is in the middle of an input; sealing it wakes the journal again.
            state.told = 0;
            return None;
        }
        Some(if state.is_due() { now } else { due })
    }

    /// Takes what is to be committed; on a `retry` also what failed before.
    pub(crate) fn take(&self, now: Instant, retry: bool, all: bool) -> Option<(Arc<Batch>, Vec<Hold>)> {
        let mut state = self.lock();
        if state.flying.is_some() {
            if !retry {
                return None;
            }
        } else {
            let due = state.is_due() || all || state.ready.born.is_some_and(|born| born + GATHER_TIME <= now);
            if state.open && !state.ready.is_empty() {
                state.told = 0;
                return None;
            }
            if state.ready.is_empty() || !due {
                return None;
            }
            let fresh = state.spare.take().unwrap_or_default();
            let batch = std::mem::replace(&mut state.ready, fresh);
            state.flying = Some(Arc::new(batch));
            state.told = 0;
        }
        let holds = state.sessions.iter().map(Held::hold).collect();
        state.flying.clone().map(|batch| (batch, holds))
    }

    /// A batch is on stable storage, except for the sessions in `refused`.
    pub(crate) fn committed(&self, batch: Arc<Batch>, refused: Refused) {
        let mut saved = Vec::new();
        {
            let mut state = self.lock();
            for (index, error) in refused {
                state.refused = Some(error.clone());
                state.sessions[index].dead = Some(error);
                state.sessions[index].lock = None;
            }
            for entry in &batch.entries {
                let held = &mut state.sessions[entry.session];
                if held.dead.is_none() {
                    held.saved = held.saved.max(entry.cursor);
                    if matches!(entry.op, Op::End) {
                        held.lock = None;
                    }
                }
            }
            if self.on_saved.is_some() {
                let mut changed: Vec<usize> = batch.entries.iter().map(|entry| entry.session).collect();
                changed.sort_unstable();
                changed.dedup();
                saved.extend(
                    changed
                        .into_iter()
                        .map(|i| (state.sessions[i].id.clone(), state.sessions[i].saved)),
                );
            }
            if let Some((_, last)) = batch.numbers {
                self.saved_input.store(last, Ordering::Release);
            }
        }
        // Told before a flush returns: whoever waited for it knows that all was told.
        if let Some(on_saved) = &self.on_saved {
            for (id, cursor) in saved {
                on_saved(&id, cursor);
            }
        }
        let mut state = self.lock();
        state.flying = None;
        state.trouble = None;
        state.commits += 1;
        if let Ok(batch) = Arc::try_unwrap(batch) {
            state.spare = Some(batch.recycle());
        }
        drop(state);
        self.changed.notify_all();
    }

    /// A commit failed; the batch stays and is tried again.
    pub(crate) fn failed(&self, error: Error) {
        self.lock().trouble = Some(error);
        self.changed.notify_all();
    }

    /// Whether a batch waits to be tried again.
    pub(crate) fn has_failed(&self) -> bool {
        self.lock().flying.is_some()
    }

    /// Lets the sessions go: nothing more will be written.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        for held in &mut state.sessions {
            held.lock = None;
        }
        state.tape = None;
    }

    /// The journal is gone: nothing will be committed any more.
    pub(crate) fn lost(&self) {
        let mut state = self.lock();
        if !state.ready.is_empty() || state.flying.is_some() {
            state.trouble.get_or_insert(Error::Closed);
        }
        for held in &mut state.sessions {
            held.dead.get_or_insert(Error::Closed);
            held.lock = None;
        }
        state.tape = None;
        drop(state);
        self.changed.notify_all();
    }

    /// Whether the writer is gone and nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.lock();
        state.closing && state.flying.is_none() && state.ready.is_empty()
    }

    pub(super) fn row(&self, id: &RowId, backend: &dyn Backend) -> Option<Arc<Row>> {
        loop {
            let (commits, unsaved, needs_base) = self.replay(id, None);
            if unsaved.is_some() && !needs_base {
                return unsaved;
            }
            let base = match backend.committed_row(id) {
                Ok(row) => row,
                Err(error) => {
                    // A look-up has no way to fail; the writer tells at its next seal.
                    self.lock().trouble.get_or_insert(error);
                    None
                }
            };
            let (after, row, _) = self.replay(id, base);
            // What was committed between the two looks may be in neither: look again.
            if after == commits {
                return row;
            }
        }
    }

    /// What the changes in memory make of a row, and whether one of them needed a row that is not in memory.
    fn replay(&self, id: &RowId, base: Option<Arc<Row>>) -> (u64, Option<Arc<Row>>, bool) {
        let state = self.lock();
        let mut row = base;
        let mut needs_base = false;
        for batch in state.flying.as_deref().into_iter().chain([&state.ready]) {
            needs_base |= batch.replay(id, &mut row);
        }
        (state.commits, row, needs_base)
    }
}

impl Held {
    fn hold(&self) -> Hold {
        Hold {
            id: self.id.clone(),
            number: self.number,
            generation: self.generation,
        }
    }
}

impl State {
    pub(super) fn is_due(&self) -> bool {
        self.ready.urgent
            || self.ready.text.len() >= GATHER_BYTES
            || self.ready.tape.len() >= GATHER_TAPE_BYTES
            || self.closing
    }

    pub(super) fn backlog(&self) -> usize {
        self.ready.bytes + self.flying.as_ref().map_or(0, |batch| batch.bytes)
    }

    pub(super) fn touch(&mut self) -> Result<(), Error> {
        let bytes = self.backlog();
        if bytes > BACKLOG_BYTES {
            return Err(Error::Behind {
                bytes,
                limit: BACKLOG_BYTES,
            });
        }
        if self.ready.born.is_none() {
            self.ready.born = Some(Instant::now());
        }
        self.open = true;
        Ok(())
    }

    pub(super) fn find(&self, session: &str) -> Result<usize, Error> {
        // Newest first: a connection works on one session at a time, most often the last it began.
        let place = self.sessions.iter().rposition(|held| held.id.as_str() == session);
        match place {
            Some(place) => match &self.sessions[place].dead {
                Some(error) => Err(error.clone()),
                None => Ok(place),
            },
            None => Err(Error::NotBegun {
                session: SessionId::from(session),
            }),
        }
    }

    pub(super) fn next(&mut self, place: usize) -> u64 {
        let cursor = &mut self.sessions[place].cursor;
        *cursor += 1;
        *cursor
    }
}

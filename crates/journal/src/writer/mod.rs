//! The writing side: one [`Writer`] per connection, whatever the journal behind it.
//!
//! A writer numbers the changes of its sessions (only the owner of a generation writes a session, so it knows the next
//! cursor), gathers them, and hands them over. What belongs to one input is *sealed* together and committed together:
//! the tape never holds an input without its changes, nor the other way round. Settlements are handed over when they
//! are sealed; text waits for more, at most [`GATHER_TIME`] or [`crate::GATHER_BYTES`].
//!
//! A journal that cannot keep up or cannot write holds what it was given, tries again, and says so: `seal` returns the
//! trouble, [`Writer::unsaved_inputs`] gives back what is not on stable storage, and beyond [`BACKLOG_BYTES`] nothing
//! more is taken.

mod slot;

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tapline_timeline::{Change, Lookup, Row, RowId, SessionId, Time};

use crate::batch::{Batch, Closed, Op};
use crate::body::blob_hash;
use crate::error::Error;
use crate::model::{Begin, Generation, TapeInput};

use slot::Held;
pub(crate) use slot::{Backend, Begun, Hold, Refused, Slot};

/// Longest time that streamed text waits for more before it is committed.
pub const GATHER_TIME: Duration = Duration::from_millis(250);

/// Tape gathered before it is committed, in bytes.
pub const GATHER_TAPE_BYTES: usize = 64 * 1024;

/// What may wait to be written, in bytes; a writer that is beyond it is refused.
pub const BACKLOG_BYTES: usize = 32 * 1024 * 1024;

/// What may wait to be written before a writer with patience waits for the journal, in bytes. Enough for the disk to be
/// busy all the time, and little beside all else that a process holds.
pub const PATIENT_BYTES: usize = 2 * 1024 * 1024;

/// How long a writer that is dropped waits for what was sealed to be saved.
const LEAVE_WAIT: Duration = Duration::from_secs(5);

/// Sessions that one connection can hold at once.
pub const SESSIONS_LIMIT: usize = 4096;

/// How a writer behaves.
#[derive(Default)]
pub struct WriterOptions {
    /// How long [`Writer::seal`] waits when [`PATIENT_BYTES`] wait to be written. Nothing: never.
    pub patience: Option<Duration>,
    /// Called with a session and its saved cursor after each commit, on the journal's own thread: it must return at
    /// once.
    pub on_saved: Option<OnSaved>,
}

/// Told what is saved.
pub type OnSaved = Box<dyn Fn(&SessionId, u64) + Send + Sync>;

/// Writes what happens on one connection: its inputs, and the changes of the sessions it holds.
///
/// Dropping a writer commits what was sealed and lets go of its sessions; those that were not ended read as cut.
pub struct Writer {
    slot: Arc<Slot>,
    backend: Arc<dyn Backend>,
    patience: Option<Duration>,
}

impl Writer {
    pub(crate) fn new(slot: Arc<Slot>, backend: Arc<dyn Backend>, patience: Option<Duration>) -> Self {
        Self {
            slot,
            backend,
            patience,
        }
    }

    /// The connection.
    pub fn connection(&self) -> &str {
        &self.slot.connection
    }

    /// Begins a generation: from now on this writer holds the session. What a dead owner left is settled first.
    ///
    /// # Errors
    /// [`Error::Held`] where a live process holds it, [`Error::AlreadyHere`] where `origin` was imported before.
    pub fn begin(&mut self, begin: &Begin) -> Result<Generation, Error> {
        if self.slot.lock().sessions.len() >= SESSIONS_LIMIT {
            return Err(Error::TooManySessions {
                limit: SESSIONS_LIMIT,
            });
        }
        let begun = self.backend.begin(&self.slot, begin)?;
        let mut state = self.slot.lock();
        state.sessions.push(Held {
            id: begin.session.clone(),
            number: begun.number,
            generation: begun.generation.number,
            cursor: begun.generation.cursor,
            saved: begun.generation.cursor,
            dead: None,
            lock: begun.lock,
        });
        Ok(begun.generation)
    }

    /// Puts an input on the tape. One whose number is not higher than the last on the tape is there already and is left
    /// out; says whether it was new.
    ///
    /// # Errors
    /// [`Error::Behind`] where nothing more is taken.
    pub fn input(&mut self, number: u64, at: Option<Time>, bytes: &[u8]) -> Result<bool, Error> {
        let mut state = self.slot.lock();
        state.touch()?;
        if number <= state.last_input {
            return Ok(false);
        }
        state.last_input = number;
        state.ready.input(number, at, bytes);
        Ok(true)
    }

    /// Takes a change and gives it its cursor.
    ///
    /// # Errors
    /// [`Error::Fenced`] where someone else holds the session now, [`Error::Behind`] where nothing more is taken.
    pub fn apply(&mut self, change: &Change<'_>) -> Result<u64, Error> {
        let mut state = self.slot.lock();
        state.touch()?;
        let session = match change {
            Change::Session(session) => session.id.as_str(),
            Change::Put(row) => row.session.as_str(),
            Change::Append(append) => session_of(append.id),
            Change::Close(close) => session_of(close.id),
        };
        let place = state.find(session)?;
        let cursor = state.next(place);
        match change {
            Change::Session(session) => {
                state
                    .ready
                    .push(place, cursor, Op::Session(Box::new((*session).clone())))
            }
            Change::Put(row) => state.ready.push(place, cursor, Op::Put(Arc::clone(row))),
            Change::Append(append) => state.ready.append(place, cursor, append),
            Change::Close(close) => state.ready.push(place, cursor, Op::Close(Closed::from(close))),
        }
        Ok(cursor)
    }

    /// Stores bytes once under their hash, for a row that will name it.
    ///
    /// # Errors
    /// [`Error::Behind`] where nothing more is taken.
    pub fn blob(&mut self, bytes: &[u8]) -> Result<String, Error> {
        let hash = blob_hash(bytes);
        let mut state = self.slot.lock();
        state.touch()?;
        if !state.ready.blobs.iter().any(|(known, _)| *known == hash) {
            state.ready.bytes += bytes.len();
            state.ready.blobs.push((hash.clone(), bytes.to_vec()));
        }
        Ok(hash)
    }

    /// Remembers the agent's own id of a session.
    ///
    /// # Errors
    /// As [`Writer::apply`].
    pub fn provider(&mut self, session: &SessionId, agent: &str, provider: &str) -> Result<(), Error> {
        let mut state = self.slot.lock();
        state.touch()?;
        let place = state.find(session.as_str())?;
        state
            .ready
            .providers
            .push((place, agent.to_owned(), provider.to_owned()));
        state.ready.urgent = true;
        Ok(())
    }

    /// Says that one input and its changes are complete: they may be committed, together.
    ///
    /// # Errors
    /// The trouble of the last commit, while it lasts: what was sealed is kept and tried again. [`Error::Behind`] where
    /// the journal did not keep up within the writer's patience.
    pub fn seal(&mut self) -> Result<(), Error> {
        let mut state = self.slot.lock();
        state.open = false;
        if state.ready.is_empty() {
            state.ready.born = None;
            return state.trouble.clone().map_or(Ok(()), Err);
        }
        let late = || state.ready.born.is_some_and(|born| born.elapsed() >= GATHER_TIME);
        let level = if self.backend.eager() || state.is_due() || (state.told < 2 && state.told > 0 && late())
        {
            2
        } else {
            1
        };
        if level > state.told {
            state.told = level;
            drop(state);
            self.backend.wake(&self.slot);
            state = self.slot.lock();
        }
        if let Some(trouble) = &state.trouble {
            return Err(trouble.clone());
        }
        let limit = PATIENT_BYTES;
        if state.backlog() > limit
            && let Some(patience) = self.patience
        {
            let until = Instant::now() + patience;
            while state.backlog() > limit && state.trouble.is_none() {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(Error::Behind {
                        bytes: state.backlog(),
                        limit,
                    });
                }
                state = self
                    .slot
                    .changed
                    .wait_timeout(state, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
        }
        state.trouble.clone().map_or(Ok(()), Err)
    }

    /// Seals, and waits until everything is on stable storage.
    ///
    /// # Errors
    /// What is in the way: the trouble of the commit, or [`Error::Fenced`] for a session that someone else turned out to
    /// hold since the last flush.
    pub fn flush(&mut self) -> Result<(), Error> {
        let mut state = self.slot.lock();
        state.open = false;
        state.trouble = None;
        let waits = !state.ready.is_empty();
        if waits {
            state.ready.urgent = true;
            // Only what is taken from here says that it was told of: where nothing waits, nobody would.
            state.told = 2;
        }
        drop(state);
        self.backend.wake(&self.slot);
        let mut state = self.slot.lock();
        while !(state.ready.is_empty() && state.flying.is_none()) {
            if let Some(trouble) = &state.trouble {
                return Err(trouble.clone());
            }
            state = self
                .slot
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.refused.take().map_or(Ok(()), Err)
    }

    /// Ends the generation of a session in good order, with everything before it, and waits until that is saved.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn end(&mut self, session: &SessionId) -> Result<(), Error> {
        let mut state = self.slot.lock();
        let place = state.find(session.as_str())?;
        let cursor = state.sessions[place].cursor;
        state.ready.born.get_or_insert_with(Instant::now);
        state.ready.push(place, cursor, Op::End);
        drop(state);
        self.flush()?;
        self.slot.lock().sessions[place].dead = Some(Error::NotBegun {
            session: session.clone(),
        });
        Ok(())
    }

    /// Cursor of the last change of a session that is on stable storage; 0 for one that is not held.
    pub fn saved(&self, session: &SessionId) -> u64 {
        let state = self.slot.lock();
        state
            .sessions
            .iter()
            .rev()
            .find(|held| held.id == *session)
            .map_or(0, |held| held.saved)
    }

    /// Number of the last input that is on stable storage.
    pub fn saved_input(&self) -> u64 {
        self.slot.saved_input.load(Ordering::Acquire)
    }

    /// What keeps the last commit from succeeding, while it lasts.
    pub fn trouble(&self) -> Option<Error> {
        self.slot.lock().trouble.clone()
    }

    /// The inputs that this writer took and that are not on stable storage, in order: for a side file.
    pub fn unsaved_inputs(&self) -> Vec<TapeInput> {
        let state = self.slot.lock();
        let flying = state
            .flying
            .as_ref()
            .map(|batch| batch.inputs())
            .unwrap_or_default();
        flying.into_iter().chain(state.ready.inputs()).collect()
    }

    /// Lets go at once: what is not on stable storage is given up. For a writer in trouble whose inputs are safe
    /// elsewhere.
    pub fn abandon(self) {
        let mut state = self.slot.lock();
        state.ready = Batch::default();
        state.open = false;
        state.flying = None;
        state.closing = true;
    }

    /// Lets the proofs go that this writer lives, as the end of its process would, and nothing else.
    #[cfg(feature = "contract")]
    pub fn lose_locks(&self) {
        self.slot.release();
    }

    /// Finds rows of this writer's sessions, what is not committed yet included.
    pub fn lookup(&self) -> RowLookup {
        RowLookup {
            slot: Arc::clone(&self.slot),
            backend: Arc::clone(&self.backend),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        {
            let mut state = self.slot.lock();
            state.open = false;
            if !state.closing {
                state.closing = true;
                state.told = 2;
            }
        }
        self.backend.wake(&self.slot);
        let until = Instant::now() + LEAVE_WAIT;
        let mut state = self.slot.lock();
        while !(state.ready.is_empty() && state.flying.is_none()) && state.trouble.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self
                .slot
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        let done = state.ready.is_empty() && state.flying.is_none();
        drop(state);
        if done {
            self.slot.release();
        }
        self.backend.leave(&self.slot);
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("connection", &self.slot.connection)
            .finish_non_exhaustive()
    }
}

/// Finds rows by id, with what its writer has not committed yet.
#[derive(Clone)]
pub struct RowLookup {
    slot: Arc<Slot>,
    backend: Arc<dyn Backend>,
}

impl Lookup for RowLookup {
    fn row(&self, id: &RowId) -> Option<Arc<Row>> {
        self.slot.row(id, &*self.backend)
    }
}

/// The session in a row's id: what stands before the last slash, since keys hold none.
pub(crate) fn session_of(id: &RowId) -> &str {
    id.as_str().rsplit_once('/').map_or("", |(session, _)| session)
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

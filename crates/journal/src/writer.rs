//! The writing side: one [`Writer`] per connection, whatever the journal behind it.
//!
//! A writer numbers the changes of its sessions (only the owner of a generation writes a session, so it knows the next
//! cursor), gathers them, and hands them over. What belongs to one input is *sealed* together and committed together:
//! the tape never holds an input without its changes, nor the other way round. Settlements are handed over when they
//! are sealed; text waits for more, at most [`GATHER_TIME`] or [`GATHER_BYTES`].
//!
//! A journal that cannot keep up or cannot write holds what it was given, tries again, and says so: `seal` returns the
//! trouble, [`Writer::unsaved_inputs`] gives back what is not on stable storage, and beyond [`BACKLOG_BYTES`] nothing
//! more is taken.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tapline_timeline::{Change, Lookup, Row, RowId, SessionId, Time};

use crate::batch::{Batch, Closed, GATHER_BYTES, Op};
use crate::body::blob_hash;
use crate::error::Error;
use crate::model::{Begin, Generation, TapeInput};

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

/// Proof that the owner lives; whoever drops it is gone.
pub(crate) type Lock = Box<dyn Send + Sync>;

/// A session that a writer holds.
pub(crate) struct Held {
    pub(crate) id: SessionId,
    pub(crate) number: i64,
    pub(crate) generation: u64,
    /// Cursor of the last change.
    cursor: u64,
    saved: u64,
    /// Why it can no longer be written.
    dead: Option<Error>,
    lock: Option<Lock>,
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
    state: Mutex<State>,
    changed: Condvar,
    on_saved: Option<OnSaved>,
    saved_input: AtomicU64,
}

struct State {
    sessions: Vec<Held>,
    ready: Batch,
    /// The last input in `ready` is not complete.
    open: bool,
    /// What is being committed, or waits to be tried again.
    flying: Option<Arc<Batch>>,
    /// A cleared batch whose memory is used again.
    spare: Option<Batch>,
    /// How far the journal was told: 0 nothing, 1 something waits, 2 something is due.
    told: u8,
    trouble: Option<Error>,
    last_input: u64,
    closing: bool,
    /// Number of commits.
    commits: u64,
    /// A session that was refused since the last flush, and why.
    refused: Option<Error>,
}

impl Slot {
    pub(crate) fn new(connection: &str, tape: i64, last_input: u64, on_saved: Option<OnSaved>) -> Self {
        Self {
            connection: connection.to_owned(),
            tape,
            state: Mutex::new(State {
                sessions: Vec::new(),
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

    fn lock(&self) -> MutexGuard<'_, State> {
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
        for held in &mut self.lock().sessions {
            held.lock = None;
        }
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
        drop(state);
        self.changed.notify_all();
    }

    /// Whether the writer is gone and nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.lock();
        state.closing && state.flying.is_none() && state.ready.is_empty()
    }

    fn row(&self, id: &RowId, backend: &dyn Backend) -> Option<Arc<Row>> {
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
    fn is_due(&self) -> bool {
        self.ready.urgent
            || self.ready.text.len() >= GATHER_BYTES
            || self.ready.tape.len() >= GATHER_TAPE_BYTES
            || self.closing
    }

    fn backlog(&self) -> usize {
        self.ready.bytes + self.flying.as_ref().map_or(0, |batch| batch.bytes)
    }

    fn touch(&mut self) -> Result<(), Error> {
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

    fn find(&self, session: &str) -> Result<usize, Error> {
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

    fn next(&mut self, place: usize) -> u64 {
        let cursor = &mut self.sessions[place].cursor;
        *cursor += 1;
        *cursor
    }
}

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

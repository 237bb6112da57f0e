//! The one thread of a process that writes the file.
//!
//! It takes what writers sealed and jobs that callers wait for, puts as much as there is into one transaction, for at
//! most [`GROUP_COMMIT`], and tells everyone when that is on stable storage. When nothing more waits it commits at once,
//! so a lone settlement pays for one commit and no waiting. A batch that only streams text needs no transaction: it is
//! appended to its tape's [tail](super::tail). What cannot be committed stays with its writer and is tried
//! again; jobs are answered with the error.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::error::Error;
use crate::writer::{Hold, Refused, Slot};

use super::held::Held;
use super::store::Store;

/// Longest time that a transaction stays open for more to join.
pub const GROUP_COMMIT: Duration = Duration::from_millis(10);

/// Time between two tries of what could not be committed.
pub const RETRY: Duration = Duration::from_millis(500);

type Answer = Box<dyn FnOnce(Result<(), Error>) + Send>;
type Job = Box<dyn FnOnce(Result<&mut Store, Error>) -> Answer + Send>;

/// What callers and the thread share.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    slots: Vec<Arc<Slot>>,
    kicked: bool,
    stop: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Lists and flags only: no panic leaves them half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something is due, or its deadline must be known.
    pub(super) fn kick(&self) {
        self.lock().kicked = true;
        self.wake.notify_one();
    }

    /// Takes care of a writer from now on.
    pub(super) fn join(&self, slot: Arc<Slot>) {
        self.lock().slots.push(slot);
    }

    /// Ends the thread after what was sealed is committed.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.wake.notify_one();
    }

    /// Does something in a transaction and waits until it is on stable storage.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (tell, told) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |store| {
            let result = store.and_then(|store| in_savepoint(store, work));
            Box::new(move |committed| {
                // Nobody listens any more if the caller is gone.
                let _ = tell.send(committed.and(result));
            })
        });
        {
            let mut state = self.lock();
            if state.stop {
                return Err(Error::Closed);
            }
            state.jobs.push_back(job);
        }
        self.wake.notify_one();
        told.recv().unwrap_or(Err(Error::Closed))
    }
}

/// Runs a piece of work so that its failure leaves the rest of the transaction as it was.
fn in_savepoint<T>(store: &mut Store, work: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
    store.exec("beginning a change", "SAVEPOINT piece", [])?;
    match work(store) {
        Ok(value) => {
            store.exec("ending a change", "RELEASE piece", [])?;
            Ok(value)
        }
        Err(error) => {
            store.forget_cache();
            if !store.conn.is_autocommit() {
                store.exec("undoing a change", "ROLLBACK TO piece", [])?;
                store.exec("undoing a change", "RELEASE piece", [])?;
            }
            Err(error)
        }
    }
}

/// The thread's own side.
pub(super) struct Engine {
    pub(super) queue: Arc<Queue>,
    pub(super) store: Store,
    /// Called after each commit.
    pub(super) on_commit: Box<dyn Fn() + Send>,
    /// Goes after the connection does.
    pub(super) _held: Arc<Held>,
}

/// What a transaction holds so far.
#[derive(Default)]
struct Round {
    answers: Vec<Answer>,
    done: Vec<(Arc<Slot>, Arc<Batch>, Refused)>,
}

/// What a slot gave to be committed.
type Taken = (Arc<Slot>, Arc<Batch>, Vec<Hold>);

/// Takes what is due.
fn take(slots: &[Arc<Slot>], retry: bool, all: bool) -> Vec<Taken> {
    let now = Instant::now();
    let due = slots.iter().filter_map(|slot| {
        let (batch, holds) = slot.take(now, retry, all)?;
        Some((Arc::clone(slot), batch, holds))
    });
    due.collect()
}

impl Engine {
    /// Works until the journal is closed.
    pub(super) fn work(mut self) {
        let mut retry_at: Option<Instant> = None;
        loop {
            let (jobs, stop) = self.next(retry_at);
            let retry = stop || retry_at.is_some_and(|at| at <= Instant::now());
            let fine = self.round(jobs, retry, stop);
            let failed = self.slots().iter().any(|slot| slot.has_failed());
            retry_at = match (failed, fine) {
                (false, _) => None,
                (true, _) if retry || retry_at.is_none() => Some(Instant::now() + RETRY),
                (true, _) => retry_at,
            };
            self.leave();
            if stop {
                break;
            }
        }
    }

    fn slots(&self) -> Vec<Arc<Slot>> {
        self.queue.lock().slots.clone()
    }

    /// Waits until there is something to do.
    fn next(&self, retry_at: Option<Instant>) -> (Vec<Job>, bool) {
        let mut state = self.queue.lock();
        loop {
            let now = Instant::now();
            let due = state
                .slots
                .iter()
                .filter_map(|slot| slot.deadline(now))
                .chain(retry_at)
                .min();
            let over = state.slots.iter().any(|slot| slot.is_over());
            if state.stop || over || !state.jobs.is_empty() || due.is_some_and(|due| due <= now) {
                state.kicked = false;
                return (state.jobs.drain(..).collect(), state.stop);
            }
            if std::mem::take(&mut state.kicked) {
                continue;
            }
            state = match due {
                Some(due) => {
                    self.queue
                        .wake
                        .wait_timeout(state, due - now)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => self
                    .queue
                    .wake
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Takes what is due, and appends what is streamed text to the tails; what is left needs a transaction.
    fn stream(&mut self, slots: &[Arc<Slot>], retry: bool, all: bool) -> Vec<Taken> {
        let due = take(slots, retry, all);
        if retry {
            // What failed goes the long way, which says what is wrong.
            return due;
        }
        let (mut left, count) = (Vec::new(), due.len());
        for (slot, batch, holds) in due {
            match self.store.stream(slot.tape, &batch, &holds) {
                Some(refused) => slot.committed(batch, refused),
                None => left.push((slot, batch, holds)),
            }
        }
        if left.len() < count {
            (self.on_commit)();
        }
        left
    }

    /// One transaction.
    fn round(&mut self, mut jobs: Vec<Job>, retry: bool, all: bool) -> bool {
        let slots = self.slots();
        let now = Instant::now();
        let due = |slot: &Arc<Slot>| {
            (retry && slot.has_failed()) || all || slot.deadline(now).is_some_and(|due| due <= now)
        };
        if jobs.is_empty() && !slots.iter().any(due) {
            return true;
        }
        let mut batches = self.stream(&slots, retry, all);
        if jobs.is_empty() && batches.is_empty() {
            return true;
        }
        let mut round = Round::default();
        if let Err(error) = self.store.exec("beginning a commit", "BEGIN IMMEDIATE", []) {
            for (slot, ..) in batches {
                slot.failed(error.clone());
            }
            return self.fail(round, jobs, &slots, retry, all, error);
        }
        let started = Instant::now();
        loop {
            for job in jobs.drain(..) {
                round.answers.push(job(Ok(&mut self.store)));
            }
            let mut taken = std::mem::take(&mut batches).into_iter();
            while let Some((slot, batch, holds)) = taken.next() {
                let tape = slot.tape;
                match in_savepoint(&mut self.store, |store| store.apply(tape, &batch, &holds)) {
                    Ok(refused) => round.done.push((slot, batch, refused)),
                    Err(error) => slot.failed(error),
                }
                if self.store.conn.is_autocommit() {
                    // SQLite gave the whole transaction up (a full disk does that).
                    let error = Error::Full {
                        path: self.store.path.clone(),
                    };
                    for (slot, ..) in taken {
                        slot.failed(error.clone());
                    }
                    return self.fail(round, jobs, &slots, retry, all, error);
                }
            }
            jobs.extend(self.queue.lock().jobs.drain(..));
            let now = Instant::now();
            let fresh = |slot: &Arc<Slot>| slot.deadline(now).is_some_and(|due| due <= now);
            if now - started >= GROUP_COMMIT || (jobs.is_empty() && !slots.iter().any(fresh)) {
                break;
            }
            batches = take(&slots, false, all);
        }
        if let Err(error) = self.store.exec("committing", "COMMIT", []) {
            return self.fail(round, jobs, &slots, retry, all, error);
        }
        // Jobs that came too late for this transaction begin the next.
        let mut state = self.queue.lock();
        for job in jobs.into_iter().rev() {
            state.jobs.push_front(job);
        }
        drop(state);
        self.store.committed();
        for (slot, batch, refused) in round.done {
            slot.committed(batch, refused);
        }
        for answer in round.answers {
            answer(Ok(()));
        }
        (self.on_commit)();
        true
    }

    fn fail(
        &mut self,
        round: Round,
        jobs: Vec<Job>,
        slots: &[Arc<Slot>],
        retry: bool,
        all: bool,
        error: Error,
    ) -> bool {
        if !self.store.conn.is_autocommit() {
            let _ = self.store.exec("undoing a commit", "ROLLBACK", []);
        }
        self.store.forget_cache();
        for (slot, ..) in round.done {
            slot.failed(error.clone());
        }
        // What is due and was not reached fares no better.
        for slot in slots {
            if slot.take(Instant::now(), retry, all).is_some() {
                slot.failed(error.clone());
            }
        }
        for answer in round.answers {
            answer(Err(error.clone()));
        }
        for job in jobs {
            job(Err(error.clone()))(Err(error.clone()));
        }
        false
    }

    /// Lets writers go that are done.
    fn leave(&mut self) {
        let over: Vec<Arc<Slot>> = {
            let mut state = self.queue.lock();
            let (over, stay) = state.slots.drain(..).partition(|slot| slot.is_over());
            state.slots = stay;
            over
        };
        for slot in over {
            slot.release();
            let tape = slot.tape;
            if self.store.exec("closing a tape", "BEGIN IMMEDIATE", []).is_ok() {
                // A tape whose open end stays plain is whole all the same: the next to open it goes on.
                let closed = in_savepoint(&mut self.store, |store| {
                    store.take_in(tape, |_, _| false)?;
                    store.over.push(tape);
                    store.close_tape(tape)
                });
                let end = if closed.is_ok() { "COMMIT" } else { "ROLLBACK" };
                match self.store.exec("closing a tape", end, []) {
                    Ok(_) if closed.is_ok() => self.store.committed(),
                    Err(_) if !self.store.conn.is_autocommit() => {
                        let _ = self.store.exec("closing a tape", "ROLLBACK", []);
                    }
                    Ok(_) | Err(_) => {}
                }
                self.store.forget_cache();
            }
        }
    }
}

impl Drop for Engine {
    /// Tells everyone who waits that nothing more comes, also when the thread ends by a panic.
    fn drop(&mut self) {
        let (slots, jobs) = {
            let mut state = self.queue.lock();
            state.stop = true;
            (std::mem::take(&mut state.slots), std::mem::take(&mut state.jobs))
        };
        for slot in slots {
            slot.lost();
        }
        for job in jobs {
            job(Err(Error::Closed))(Err(Error::Closed));
        }
    }
}

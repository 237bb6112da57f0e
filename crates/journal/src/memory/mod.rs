//! The journal in memory: for tests, for one-shot work, and as the measure that the other journals are held to.
//!
//! Everything is committed as it is sealed and saved as long as the process lives. It keeps rows whole and searches by
//! reading them: what is clever elsewhere can be compared with what is plain here.

mod chat;
mod state;

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tapline_timeline::{Json, Row, RowId, SessionId};

use crate::LIST_LIMIT;
use crate::error::Error;
use crate::journal::Journal;
use crate::model::*;
use crate::tape::BLOCK_BYTES;
use crate::writer::{Backend, Begun, Slot, Writer, WriterOptions, now_ms, session_of};

use chat::{Chat, Kept};
use state::State;

/// A journal in memory. Clones share it.
#[derive(Clone, Default)]
pub struct MemoryJournal {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    moved: Condvar,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under this lock is a defect of this file alone; what stands is still whole rows.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moved(&self, state: &mut State) {
        state.mark += 1;
        self.moved.notify_all();
    }
}

impl Backend for Shared {
    fn eager(&self) -> bool {
        true
    }

    fn wake(&self, slot: &Arc<Slot>) {
        while let Some((batch, holds)) = slot.take(Instant::now(), false, true) {
            let refused = {
                let mut state = self.lock();
                let refused = state.apply(slot.tape, &batch, &holds);
                self.moved(&mut state);
                refused
            };
            slot.committed(batch, refused);
        }
    }

    fn begin(&self, slot: &Slot, begin: &Begin) -> Result<Begun, Error> {
        let mut state = self.lock();
        let begun = state.begin(&slot.connection, begin)?;
        self.moved(&mut state);
        Ok(begun)
    }

    fn committed_row(&self, id: &RowId) -> Result<Option<Arc<Row>>, Error> {
        let state = self.lock();
        let chat = state.sessions.get(session_of(id));
        Ok(chat.and_then(|chat| chat.row(*chat.by_id.get(id)?)))
    }

    fn leave(&self, slot: &Arc<Slot>) {
        slot.release();
    }
}

impl Journal for MemoryJournal {
    fn writer(&self, connection: &str, options: WriterOptions) -> Result<Writer, Error> {
        let mut state = self.shared.lock();
        let known = state
            .tapes
            .iter()
            .find(|(_, tape)| tape.connection == connection)
            .map(|(number, _)| *number);
        let number = known.unwrap_or_else(|| state.tapes.keys().next_back().copied().unwrap_or(0) + 1);
        let tape = state.tapes.entry(number).or_default();
        tape.connection = connection.to_owned();
        let last = tape.inputs.last().map_or(0, |input| input.number);
        let slot = Arc::new(Slot::new(connection, number, last, options.on_saved));
        Ok(Writer::new(
            slot,
            Arc::clone(&self.shared) as Arc<dyn Backend>,
            options.patience,
        ))
    }

    fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionEntry>, Error> {
        let mut state = self.shared.lock();
        state.settle_dead();
        let mut entries: Vec<SessionEntry> = state
            .sessions
            .values()
            .map(Chat::entry)
            .filter(|entry| query.status.is_none_or(|status| entry.status == status))
            .filter(|entry| query.parent.is_none() || entry.session.parent == query.parent)
            .filter(|entry| query.after.is_none_or(|after| entry.place < after))
            .collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.place));
        entries.truncate(if query.limit == 0 { LIST_LIMIT } else { query.limit });
        Ok(entries)
    }

    fn session(&self, session: &SessionId) -> Result<Option<SessionEntry>, Error> {
        let mut state = self.shared.lock();
        state.settle_dead();
        Ok(state.sessions.get(session).map(Chat::entry))
    }

    fn session_of_provider(&self, agent: &str, provider: &str) -> Result<Option<SessionId>, Error> {
        Ok(self
            .shared
            .lock()
            .providers
            .get(&(agent.to_owned(), provider.to_owned()))
            .cloned())
    }

    fn session_of_origin(&self, origin: &str) -> Result<Option<(SessionId, bool)>, Error> {
        let state = self.shared.lock();
        let chat = state
            .sessions
            .values()
            .find(|chat| chat.origin.as_deref() == Some(origin));
        Ok(chat.map(|chat| (chat.object.id.clone(), chat.complete)))
    }

    fn generations(&self, session: &SessionId) -> Result<Vec<GenerationInfo>, Error> {
        let state = self.shared.lock();
        let all = &state.need(session)?.generations;
        // The generation of a settlement has no owner; it is a number only.
        let settled: HashSet<u64> = all
            .iter()
            .filter(|(info, _)| info.end == GenerationEnd::Settled)
            .map(|(info, _)| info.number + 1)
            .collect();
        Ok(all
            .iter()
            .map(|(info, _)| info)
            .filter(|info| !settled.contains(&info.number))
            .cloned()
            .collect())
    }

    fn row(&self, id: &RowId) -> Result<Option<Arc<Row>>, Error> {
        self.shared.committed_row(id)
    }

    fn rows(&self, session: &SessionId, window: Window) -> Result<Vec<Arc<Row>>, Error> {
        let state = self.shared.lock();
        let Some(chat) = state.sessions.get(session) else {
            return Ok(Vec::new());
        };
        let mut rows: Vec<_> = match window {
            Window::Last(limit) => chat.rows.values().rev().take(limit).map(Kept::shown).collect(),
            Window::Before(seq, limit) => chat
                .rows
                .range(..seq)
                .rev()
                .take(limit)
                .map(|(_, k)| k.shown())
                .collect(),
            Window::From(seq, limit) => chat
                .rows
                .range(seq..)
                .take(limit)
                .map(|(_, k)| k.shown())
                .collect(),
        };
        if !matches!(window, Window::From(..)) {
            rows.reverse();
        }
        Ok(rows)
    }

    fn open_rows(&self, session: &SessionId) -> Result<Vec<Arc<Row>>, Error> {
        let state = self.shared.lock();
        Ok(state
            .need(session)?
            .rows
            .values()
            .filter(|kept| kept.row.is_open())
            .map(Kept::shown)
            .collect())
    }

    fn follow(&self, session: &SessionId, after: u64, follow: Follow) -> Result<Followed, Error> {
        Ok(self.shared.lock().need(session)?.follow(after, follow))
    }

    fn mark(&self) -> Mark {
        Mark(self.shared.lock().mark)
    }

    fn wait(&self, watch: &Watch, timeout: Duration) -> Result<bool, Error> {
        let until = Instant::now() + timeout;
        let mut state = self.shared.lock();
        loop {
            let changed = match watch {
                Watch::Any(mark) => state.mark > mark.0,
                Watch::Session(session, after) => state.need(session)?.cursor > *after,
                Watch::Intent(session, after) => state.intents.values().any(|intent| {
                    intent.id > *after && session.as_ref().is_none_or(|id| *id == intent.session)
                }),
            };
            let left = until.saturating_duration_since(Instant::now());
            if changed || left.is_zero() {
                return Ok(changed);
            }
            state = self
                .shared
                .moved
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, Error> {
        Ok(self.shared.lock().search(query))
    }

    fn blob(&self, hash: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.shared.lock().blobs.get(hash).cloned())
    }

    fn tapes(&self, session: Option<&SessionId>) -> Result<Vec<TapeInfo>, Error> {
        let state = self.shared.lock();
        if let Some(session) = session {
            state.need(session)?;
        }
        let infos = state.tapes.values().map(|tape| {
            let users = state.made.iter().filter(|id| {
                let generations = state.sessions.get(*id).map(|chat| &chat.generations);
                generations
                    .into_iter()
                    .flatten()
                    .any(|(info, _)| info.connection == tape.connection)
            });
            TapeInfo {
                connection: tape.connection.clone(),
                last: tape.inputs.last().map_or(0, |input| input.number),
                blocks: 0,
                head: None,
                sessions: users.cloned().collect(),
            }
        });
        Ok(infos
            .filter(|info| session.is_none_or(|session| info.sessions.contains(session)))
            .collect())
    }

    fn read_tape(&self, connection: &str, number: u64, limit: usize) -> Result<Vec<TapeInput>, Error> {
        let state = self.shared.lock();
        let Some(tape) = state.tapes.values().find(|tape| tape.connection == connection) else {
            return Ok(Vec::new());
        };
        let first = tape.inputs.partition_point(|input| input.number < number);
        let mut bytes = 0;
        let fits = |input: &&TapeInput| {
            let fits = bytes < BLOCK_BYTES;
            bytes += input.bytes.len();
            fits
        };
        Ok(tape.inputs[first..]
            .iter()
            .take(limit)
            .take_while(fits)
            .cloned()
            .collect())
    }

    fn post_intent(&self, new: &NewIntent) -> Result<Intent, Error> {
        let mut state = self.shared.lock();
        state.need(&new.session)?.mode.takes_intents()?;
        state.last_intent += 1;
        let intent = Intent {
            id: IntentId(state.last_intent),
            session: new.session.clone(),
            kind: new.kind.clone(),
            payload: new.payload.clone(),
            by: new.by.clone(),
            posted_ms: now_ms(),
            state: IntentState::Open,
            generation: None,
            outcome: None,
        };
        state.intents.insert(intent.id, intent.clone());
        self.shared.moved(&mut state);
        Ok(intent)
    }

    fn edit_intent(&self, intent: IntentId, payload: &Json) -> Result<Intent, Error> {
        let mut state = self.shared.lock();
        let open = |intent: &Intent| intent.state == IntentState::Open;
        state.change_intent(intent, open, |intent| intent.payload = payload.clone())
    }

    fn withdraw_intent(&self, intent: IntentId) -> Result<Intent, Error> {
        let mut state = self.shared.lock();
        let open = |intent: &Intent| intent.state == IntentState::Open;
        state.change_intent(intent, open, |intent| intent.state = IntentState::Withdrawn)
    }

    fn claim_intent(&self, intent: IntentId, generation: &Generation) -> Result<Intent, Error> {
        let mut state = self.shared.lock();
        state.check_owner(intent, generation)?;
        let open = |intent: &Intent| intent.state == IntentState::Open;
        state.change_intent(intent, open, |intent| {
            intent.state = IntentState::Claimed;
            intent.generation = Some(generation.number);
        })
    }

    fn finish_intent(
        &self,
        intent: IntentId,
        generation: &Generation,
        outcome: &Json,
        kept: Option<&Json>,
    ) -> Result<Intent, Error> {
        let mut state = self.shared.lock();
        state.check_owner(intent, generation)?;
        let mine = |intent: &Intent| {
            intent.state == IntentState::Claimed && intent.generation == Some(generation.number)
        };
        state.change_intent(intent, mine, |intent| {
            intent.state = IntentState::Done;
            intent.outcome = Some(outcome.clone());
            if let Some(kept) = kept {
                intent.payload = kept.clone();
            }
        })
    }

    fn intents(&self, query: &IntentQuery) -> Result<Vec<Intent>, Error> {
        let state = self.shared.lock();
        let wanted = state
            .intents
            .values()
            .filter(|intent| query.after.is_none_or(|after| intent.id > after))
            .filter(|intent| query.state.is_none_or(|state| intent.state == state))
            .filter(|intent| {
                query
                    .session
                    .as_ref()
                    .is_none_or(|session| *session == intent.session)
            });
        Ok(wanted
            .take(if query.limit == 0 { LIST_LIMIT } else { query.limit })
            .cloned()
            .collect())
    }

    fn settle_dead(&self) -> Result<Vec<Settled>, Error> {
        Ok(self.shared.lock().settle_dead())
    }

    fn forget(&self, session: &SessionId) -> Result<Forgotten, Error> {
        self.shared.lock().forget(session)
    }

    fn verify(&self, session: Option<&SessionId>) -> Result<Vec<Finding>, Error> {
        let state = self.shared.lock();
        let chats = state
            .sessions
            .values()
            .filter(|chat| session.is_none_or(|session| *session == chat.object.id));
        let wrong = |chat: &Chat| {
            chat.by_cursor
                .keys()
                .next_back()
                .is_some_and(|last| *last > chat.cursor)
        };
        let finding = |chat: &Chat| Finding {
            about: Some(chat.object.id.to_string()),
            text: "A row has a cursor beyond the session's last.".to_owned(),
        };
        Ok(chats.filter(|chat| wrong(chat)).map(finding).collect())
    }
}

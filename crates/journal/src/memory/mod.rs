//! The journal in memory: for tests, for one-shot work, and as the measure that the other journals are held to.
//!
//! Everything is committed as it is sealed and saved as long as the process lives. It keeps rows whole and searches by
//! reading them: what is clever elsewhere can be compared with what is plain here.

mod chat;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tapline_timeline::{Json, Kind, Row, RowId, SessionId, SessionState};

use crate::batch::{Batch, Op};
use crate::body::attachments;
use crate::error::Error;
use crate::journal::Journal;
use crate::model::*;
use crate::settle::TAKER_GONE;
use crate::tape::BLOCK_BYTES;
use crate::text::{Query, words_of};
use crate::writer::{Backend, Begun, Hold, Refused, Slot, Writer, WriterOptions, now_ms, session_of};
use crate::{LIST_LIMIT, SEARCH_LIMIT};

use chat::{Chat, Kept};

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

#[derive(Default)]
struct State {
    sessions: HashMap<SessionId, Chat>,
    /// Sessions by number, as they were made; forgotten ones keep their number.
    made: Vec<SessionId>,
    providers: HashMap<(String, String), SessionId>,
    tapes: BTreeMap<i64, Tape>,
    blobs: HashMap<String, Vec<u8>>,
    intents: BTreeMap<IntentId, Intent>,
    last_intent: u64,
    mark: u64,
}

#[derive(Default)]
struct Tape {
    connection: String,
    inputs: Vec<TapeInput>,
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

impl State {
    fn need(&self, session: &SessionId) -> Result<&Chat, Error> {
        self.sessions.get(session).ok_or_else(|| Error::NoSession {
            session: session.clone(),
        })
    }

    fn apply(&mut self, tape: i64, batch: &Batch, holds: &[Hold]) -> Refused {
        let mut refused: Refused = Vec::new();
        let used: HashSet<usize> = batch
            .entries
            .iter()
            .map(|e| e.session)
            .chain(batch.providers.iter().map(|(s, _, _)| *s))
            .collect();
        for index in used {
            let Hold { id, generation, .. } = &holds[index];
            match self.sessions.get(id).map(Chat::generation) {
                None => refused.push((index, Error::NoSession { session: id.clone() })),
                Some(current) if current != *generation => {
                    refused.push((
                        index,
                        Error::Fenced {
                            session: id.clone(),
                            held: *generation,
                            current,
                        },
                    ));
                }
                Some(_) => {}
            }
        }
        let held = |index: usize| !refused.iter().any(|(i, _)| *i == index);
        self.blobs.extend(batch.blobs.iter().cloned());
        if let Some(tape) = self.tapes.get_mut(&tape) {
            tape.inputs.extend(batch.inputs());
        }
        let mut providers = batch.providers.clone();
        for entry in batch.entries.iter().filter(|entry| held(entry.session)) {
            if let Some(chat) = self.sessions.get_mut(&holds[entry.session].id) {
                chat.apply(batch, entry.cursor, &entry.op);
                if let (Op::Session(_), Some(agent)) = (&entry.op, &chat.object.agent) {
                    let ids = chat
                        .object
                        .provider_sessions
                        .iter()
                        .chain(&chat.object.provider_session);
                    providers.extend(ids.map(|id| (entry.session, agent.name.clone(), id.clone())));
                }
            }
        }
        for (index, agent, provider) in providers {
            if held(index) {
                self.providers.insert((agent, provider), holds[index].id.clone());
            }
        }
        refused
    }

    fn begin(&mut self, connection: &str, begin: &Begin) -> Result<Begun, Error> {
        self.settle_dead();
        let origin = begin.origin.as_ref();
        if let Some(chat) = self
            .sessions
            .values()
            .find(|chat| origin.is_some() && chat.origin.as_ref() == origin)
        {
            return Err(Error::AlreadyHere {
                session: chat.object.id.clone(),
                complete: chat.complete,
            });
        }
        if !self.sessions.contains_key(&begin.session) {
            self.made.push(begin.session.clone());
        }
        let number = self.made.len() as i64;
        let chat = self
            .sessions
            .entry(begin.session.clone())
            .or_insert_with(|| Chat::new(number, begin));
        if chat.live {
            let owner = chat.generations.last().map(|(info, _)| info.owner.clone());
            let (pid, host) = owner.map_or((0, String::new()), |owner| (owner.pid, owner.host));
            return Err(Error::Held {
                session: begin.session.clone(),
                pid,
                host,
            });
        }
        let alive = Arc::new(());
        let info = GenerationInfo {
            number: chat.generation() + 1,
            connection: connection.to_owned(),
            owner: begin.owner.clone(),
            mode: begin.mode,
            end: GenerationEnd::Running,
        };
        let generation = Generation {
            session: begin.session.clone(),
            number: info.number,
            cursor: chat.cursor,
            last_seq: chat.rows.keys().next_back().copied().unwrap_or(0),
        };
        chat.generations.push((info, Arc::downgrade(&alive)));
        chat.live = true;
        chat.object.state = SessionState::Live;
        chat.mode = begin.mode;
        chat.complete = false;
        chat.origin = begin.origin.clone().or(chat.origin.take());
        Ok(Begun {
            number: chat.number,
            generation,
            lock: Some(Box::new(alive)),
        })
    }

    fn settle_dead(&mut self) -> Vec<Settled> {
        let settled: Vec<Settled> = self
            .sessions
            .values_mut()
            .filter(|chat| chat.is_dead())
            .map(Chat::settle)
            .collect();
        for intent in self
            .intents
            .values_mut()
            .filter(|intent| intent.state == IntentState::Claimed)
        {
            if settled.iter().any(|settled| settled.session == intent.session) {
                intent.state = IntentState::Done;
                intent.outcome = Json::parse(TAKER_GONE).ok();
            }
        }
        settled
    }

    fn search(&self, query: &SearchQuery) -> Vec<Hit> {
        let words = Query::parse(&query.words);
        let mut hits = Vec::new();
        if words.is_empty() {
            return hits;
        }
        let limit = if query.limit == 0 {
            SEARCH_LIMIT
        } else {
            query.limit
        };
        let chats = self.made.iter().rev().filter_map(|id| self.sessions.get(id));
        for chat in chats.filter(|chat| query.session.as_ref().is_none_or(|id| *id == chat.object.id)) {
            for kept in chat.rows.values().rev() {
                let row = &kept.row;
                let place = HitPlace((chat.number << 40) | row.seq as i64);
                let grows = row.is_open()
                    && matches!(
                        row.kind(),
                        Kind::Assistant | Kind::Reasoning | Kind::Tool | Kind::Compaction | Kind::Helper
                    );
                let wanted = (query.kinds.is_empty() || query.kinds.contains(&row.kind()))
                    && query.after.is_none_or(|after| place < after)
                    && !grows;
                if !wanted {
                    continue;
                }
                let text = words_of(row);
                if words.matches(&text) {
                    let (session, id) = (chat.object.id.clone(), row.id.clone());
                    let snippet = words.snippet(&text);
                    hits.push(Hit {
                        session,
                        row: id,
                        seq: row.seq,
                        kind: row.kind(),
                        snippet,
                        place,
                    });
                    if hits.len() == limit {
                        return hits;
                    }
                }
            }
        }
        hits
    }

    fn forget(&mut self, session: &SessionId) -> Result<Forgotten, Error> {
        self.need(session)?;
        let mut forgotten = Forgotten::default();
        if let Some(chat) = self
            .sessions
            .get(session)
            .filter(|chat| chat.live && !chat.is_dead())
        {
            let owner = chat.generations.last().map(|(info, _)| info.owner.clone());
            let (pid, host) = owner.map_or((0, String::new()), |owner| (owner.pid, owner.host));
            return Err(Error::Held {
                session: session.clone(),
                pid,
                host,
            });
        }
        let Some(chat) = self.sessions.remove(session) else {
            return Ok(forgotten);
        };
        forgotten.rows = chat.rows.len() as u64;
        let mut mine: HashSet<String> = chat
            .rows
            .values()
            .flat_map(|kept| attachments(&kept.row))
            .collect();
        for kept in self.sessions.values().flat_map(|chat| chat.rows.values()) {
            for hash in attachments(&kept.row) {
                mine.remove(&hash);
            }
        }
        forgotten.blobs = mine
            .iter()
            .filter(|hash| self.blobs.remove(*hash).is_some())
            .count() as u64;
        let connections: HashSet<&String> = chat
            .generations
            .iter()
            .map(|(info, _)| &info.connection)
            .collect();
        for connection in connections {
            let mut others = self.sessions.values().flat_map(|chat| &chat.generations);
            if others.any(|(info, _)| info.connection == *connection) {
                forgotten.shared_tapes.push(connection.clone());
            } else {
                forgotten.tapes += 1;
                self.tapes.retain(|_, tape| tape.connection != *connection);
            }
        }
        self.providers.retain(|_, id| id != session);
        self.intents.retain(|_, intent| intent.session != *session);
        Ok(forgotten)
    }

    /// Changes an intent that stands as it must.
    fn change_intent(
        &mut self,
        id: IntentId,
        stands: impl FnOnce(&Intent) -> bool,
        change: impl FnOnce(&mut Intent),
    ) -> Result<Intent, Error> {
        let intent = self.intents.get_mut(&id).ok_or(Error::NoIntent { intent: id })?;
        if !stands(intent) {
            return Err(Error::IntentTaken {
                intent: id,
                state: intent.state,
            });
        }
        change(intent);
        Ok(intent.clone())
    }

    fn check_owner(&self, id: IntentId, owner: &Generation) -> Result<(), Error> {
        let known = self
            .intents
            .get(&id)
            .is_some_and(|intent| intent.session == owner.session);
        match self.sessions.get(&owner.session).map(Chat::generation) {
            Some(current) if known && current == owner.number => Ok(()),
            Some(current) if known => Err(Error::Fenced {
                session: owner.session.clone(),
                held: owner.number,
                current,
            }),
            _ => Err(Error::NoIntent { intent: id }),
        }
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

//! Everything that the journal holds, under its one lock: what each act changes, and what it refuses.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tapline_timeline::{Json, Kind, SessionId, SessionState};

use super::chat::Chat;
use crate::SEARCH_LIMIT;
use crate::batch::{Batch, Op};
use crate::body::attachments;
use crate::error::Error;
use crate::model::*;
use crate::settle::TAKER_GONE;
use crate::text::{Query, words_of};
use crate::writer::{Begun, Hold, Refused};

#[derive(Default)]
pub(super) struct State {
    pub(super) sessions: HashMap<SessionId, Chat>,
    /// Sessions by number, as they were made; forgotten ones keep their number.
    pub(super) made: Vec<SessionId>,
    pub(super) providers: HashMap<(String, String), SessionId>,
    pub(super) tapes: BTreeMap<i64, Tape>,
    pub(super) blobs: HashMap<String, Vec<u8>>,
    pub(super) intents: BTreeMap<IntentId, Intent>,
    pub(super) last_intent: u64,
    pub(super) mark: u64,
}

#[derive(Default)]
pub(super) struct Tape {
    pub(super) connection: String,
    pub(super) inputs: Vec<TapeInput>,
}

impl State {
    pub(super) fn need(&self, session: &SessionId) -> Result<&Chat, Error> {
        self.sessions.get(session).ok_or_else(|| Error::NoSession {
            session: session.clone(),
        })
    }

    pub(super) fn apply(&mut self, tape: i64, batch: &Batch, holds: &[Hold]) -> Refused {
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

    pub(super) fn begin(&mut self, connection: &str, begin: &Begin) -> Result<Begun, Error> {
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
            return Err(chat.held());
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

    pub(super) fn settle_dead(&mut self) -> Vec<Settled> {
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

    pub(super) fn search(&self, query: &SearchQuery) -> Vec<Hit> {
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

    pub(super) fn forget(&mut self, session: &SessionId) -> Result<Forgotten, Error> {
        self.need(session)?;
        let mut forgotten = Forgotten::default();
        if let Some(chat) = self
            .sessions
            .get(session)
            .filter(|chat| chat.live && !chat.is_dead())
        {
            return Err(chat.held());
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
    pub(super) fn change_intent(
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

    pub(super) fn check_owner(&self, id: IntentId, owner: &Generation) -> Result<(), Error> {
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

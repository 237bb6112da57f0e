//! One session in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use tapline_timeline::{Body, End, Grows, Row, RowId, Session, SessionState, Time};

use crate::batch::{Batch, Op};
use crate::error::Error;
use crate::model::*;
use crate::settle::{is_waiting, settle};
use crate::writer::now_ms;

/// A session.
pub(super) struct Chat {
    pub(super) number: i64,
    pub(super) object: Session,
    pub(super) object_cursor: u64,
    pub(super) cursor: u64,
    pub(super) generations: Vec<(GenerationInfo, Weak<()>)>,
    pub(super) live: bool,
    pub(super) cut: bool,
    pub(super) mode: Mode,
    pub(super) origin: Option<String>,
    pub(super) complete: bool,
    pub(super) created_ms: i64,
    pub(super) changed_ms: i64,
    pub(super) rows: BTreeMap<u64, Kept>,
    pub(super) by_id: HashMap<RowId, u64>,
    pub(super) by_cursor: BTreeMap<u64, u64>,
}

/// A row.
pub(super) struct Kept {
    pub(super) row: Arc<Row>,
    /// Cursor of its last change.
    pub(super) cursor: u64,
    /// Cursor of its last whole write.
    pub(super) put: u64,
    /// The row as it was written then.
    pub(super) base: Arc<Row>,
    /// What it grew by since.
    pub(super) grown: Vec<Growth>,
}

pub(super) struct Growth {
    pub(super) member: Grows,
    pub(super) offset: u64,
    pub(super) text: String,
    pub(super) cursor: u64,
}

impl Chat {
    pub(super) fn new(number: i64, begin: &Begin) -> Self {
        let now = now_ms();
        Self {
            number,
            object: Session::new(begin.session.clone()),
            object_cursor: 0,
            cursor: 0,
            generations: Vec::new(),
            live: false,
            cut: false,
            mode: begin.mode,
            origin: None,
            complete: false,
            created_ms: now,
            changed_ms: now,
            rows: BTreeMap::new(),
            by_id: HashMap::new(),
            by_cursor: BTreeMap::new(),
        }
    }

    pub(super) fn put(&mut self, cursor: u64, row: Arc<Row>) {
        if let Body::Turn(turn) = &row.body {
            self.cut = turn.end == Some(End::Cut);
        }
        self.by_id.insert(row.id.clone(), row.seq);
        let seq = row.seq;
        let kept = Kept {
            base: Arc::clone(&row),
            row,
            cursor,
            put: cursor,
            grown: Vec::new(),
        };
        if let Some(old) = self.rows.insert(seq, kept) {
            self.by_cursor.remove(&old.cursor);
        }
        self.by_cursor.insert(cursor, seq);
        self.cursor = cursor;
        self.changed_ms = self.changed_ms.max(now_ms());
    }

    pub(super) fn apply(&mut self, batch: &Batch, cursor: u64, op: &Op) {
        match op {
            Op::Session(session) => {
                self.object = Session::clone(session);
                self.object_cursor = cursor;
                self.changed_ms = self.changed_ms.max(now_ms());
            }
            Op::Put(row) => self.put(cursor, Arc::clone(row)),
            Op::Append(grown) => {
                if let Some(kept) = self.rows.get_mut(&grown.seq) {
                    let text = &batch.text[grown.from..grown.to];
                    grown.apply(&mut kept.row, text);
                    let (member, offset, text) = (grown.member, grown.offset, text.to_owned());
                    kept.grown.push(Growth {
                        member,
                        offset,
                        text,
                        cursor,
                    });
                    self.by_cursor.remove(&kept.cursor);
                    kept.cursor = cursor;
                    self.by_cursor.insert(cursor, grown.seq);
                }
            }
            Op::Close(closed) => {
                if let Some(mut row) = self.rows.get(&closed.seq).map(|kept| Arc::clone(&kept.row)) {
                    closed.apply(&mut row);
                    self.put(cursor, row);
                }
            }
            Op::End => {
                self.object.state = SessionState::Ended;
                self.live = false;
                self.complete = true;
                if let Some((generation, _)) = self.generations.last_mut() {
                    generation.end = GenerationEnd::Ended;
                }
            }
        }
        self.cursor = self.cursor.max(cursor);
    }

    pub(super) fn generation(&self) -> u64 {
        self.generations.last().map_or(0, |(info, _)| info.number)
    }

    pub(super) fn is_dead(&self) -> bool {
        self.live
            && self
                .generations
                .last()
                .is_some_and(|(_, alive)| alive.strong_count() == 0)
    }

    /// That another owner has it.
    pub(super) fn held(&self) -> Error {
        let owner = self.generations.last().map(|(info, _)| info.owner.clone());
        let (pid, host) = owner.map_or((0, String::new()), |owner| (owner.pid, owner.host));
        Error::Held {
            session: self.object.id.clone(),
            pid,
            host,
        }
    }

    pub(super) fn row(&self, seq: u64) -> Option<Arc<Row>> {
        self.rows.get(&seq).map(Kept::shown)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.rows.values().filter(|kept| is_waiting(&kept.row)).count() as u64
    }

    pub(super) fn status(&self) -> Status {
        Status::of(
            self.live,
            self.object.state == SessionState::Ended,
            self.waiting(),
            self.cut,
        )
    }

    pub(super) fn entry(&self) -> SessionEntry {
        let mut session = self.object.clone();
        session.cursor = (self.object_cursor > 0).then_some(self.object_cursor);
        SessionEntry {
            session,
            status: self.status(),
            mode: self.mode,
            rows: self.rows.len() as u64,
            waiting: self.waiting(),
            cursor: self.cursor,
            created_ms: self.created_ms,
            changed_ms: self.changed_ms,
            place: Place {
                changed_ms: self.changed_ms,
                number: self.number,
            },
        }
    }

    pub(super) fn settle(&mut self) -> Settled {
        let at = Time::At(self.changed_ms);
        let open: Vec<Row> = self
            .rows
            .values()
            .map(|kept| &kept.row)
            .filter(|row| row.is_open())
            .map(|row| Row::clone(row))
            .collect();
        let last = self.rows.values().next_back().map(|kept| Arc::clone(&kept.row));
        let dead = self.generation();
        if let Some((info, _)) = self.generations.last_mut() {
            info.end = GenerationEnd::Settled;
            let (owner, mode) = (info.owner.clone(), info.mode);
            // As in the other journals the settlement has a generation of its own.
            let next = GenerationInfo {
                number: dead + 1,
                end: GenerationEnd::Ended,
                ..info.clone()
            };
            self.generations.push((next, Weak::new()));
            for row in settle(&mut self.object, open, last.as_deref(), (&owner, mode), at) {
                self.put(self.cursor + 1, Arc::new(row));
            }
        }
        self.cursor += 1;
        self.object_cursor = self.cursor;
        self.live = false;
        Settled {
            session: self.object.id.clone(),
            dead,
            cursor: self.cursor,
        }
    }

    pub(super) fn follow(&self, after: u64, follow: Follow) -> Followed {
        let mut news = Vec::new();
        if self.object_cursor > after {
            let mut session = self.object.clone();
            session.cursor = Some(self.object_cursor);
            news.push(News::Session(Box::new(session)));
        }
        for kept in self
            .by_cursor
            .range(after + 1..)
            .filter_map(|(_, seq)| self.rows.get(seq))
        {
            if !follow.appends {
                news.push(News::Row(kept.shown()));
                continue;
            }
            if kept.put > after {
                news.push(News::Row(with_cursor(&kept.base, kept.put)));
            }
            news.extend(
                kept.grown
                    .iter()
                    .filter(|growth| growth.cursor > after)
                    .map(|growth| News::Append {
                        id: kept.row.id.clone(),
                        seq: kept.row.seq,
                        member: growth.member,
                        offset: growth.offset,
                        text: growth.text.clone(),
                        cursor: growth.cursor,
                    }),
            );
        }
        news.sort_by_key(News::cursor);
        let limit = follow.limit.max(1);
        let more = news.len() > limit;
        news.truncate(limit);
        let cursor = if more {
            news.last().map_or(after, News::cursor)
        } else {
            self.cursor.max(after)
        };
        Followed { news, cursor, more }
    }
}

impl Kept {
    pub(super) fn shown(&self) -> Arc<Row> {
        with_cursor(&self.row, self.cursor)
    }
}

pub(super) fn with_cursor(row: &Arc<Row>, cursor: u64) -> Arc<Row> {
    let mut row = Arc::clone(row);
    Arc::make_mut(&mut row).cursor = Some(cursor);
    row
}

//! A strict reader of changes: it holds the timeline a second way and refuses whatever breaks an invariant.
//!
//! Every test that runs events through it checks, beside what it asserts itself: changes of a row come in order and
//! raise its revision by one (*fold*), text is appended where it ends and never rewritten (*constant-delta*), a settled
//! row is never moved back (*settled-stays*), a failed turn has at most one error row (*one-failure*), and the rows that
//! the changes add up to are those that [`Timeline`] holds, also from a snapshot and its tail.

use std::collections::HashMap;
use std::sync::Arc;

use tapline_timeline::{
    Append, Body, Change, Close, CompactionState, Delivery, End, Grows, Kind, Row, RowId, Session, TextState,
    Timeline, Tone, ToolItem, ToolState, WorkState,
};

/// One session, kept by a strict reader.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    rows: Vec<Row>,
    by_id: HashMap<RowId, usize>,
    session: Option<Session>,
    /// Changes told so far.
    pub(crate) changes: u64,
    /// Bytes of text in appends so far.
    pub(crate) appended: u64,
    /// The rows as they were written out at some point, and the changes since.
    snapshot: Option<Vec<String>>,
    tail: Vec<Told>,
}

/// A change, owned.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    Session(Box<Session>),
    Put(Arc<Row>),
    Append(RowId, u64, Grows, u64, String, u64, u64),
    Close(
        RowId,
        u64,
        TextState,
        bool,
        Option<tapline_timeline::Time>,
        Option<u64>,
        u64,
        u64,
    ),
}

impl Told {
    pub(crate) fn own(change: &Change<'_>) -> Self {
        match change {
            Change::Session(session) => Told::Session(Box::new((*session).clone())),
            Change::Put(row) => Told::Put(Arc::clone(row)),
            Change::Append(a) => Told::Append(
                a.id.clone(),
                a.seq,
                a.member,
                a.offset,
                a.text.to_owned(),
                a.revision,
                a.frame,
            ),
            Change::Close(c) => Told::Close(
                c.id.clone(),
                c.seq,
                c.state,
                c.superseded,
                c.ended_at,
                c.cut_bytes,
                c.revision,
                c.frame,
            ),
        }
    }

    pub(crate) fn apply(&self, timeline: &mut Timeline) {
        match self {
            Told::Session(session) => timeline.apply(&Change::Session(session)),
            Told::Put(row) => timeline.apply(&Change::Put(row)),
            Told::Append(id, seq, member, offset, text, revision, frame) => {
                timeline.apply(&Change::Append(Append {
                    id,
                    seq: *seq,
                    member: *member,
                    offset: *offset,
                    text,
                    revision: *revision,
                    frame: *frame,
                }))
            }
            Told::Close(id, seq, state, superseded, ended_at, cut_bytes, revision, frame) => {
                timeline.apply(&Change::Close(Close {
                    id,
                    seq: *seq,
                    state: *state,
                    superseded: *superseded,
                    ended_at: *ended_at,
                    cut_bytes: *cut_bytes,
                    revision: *revision,
                    frame: *frame,
                }))
            }
        }
    }
}

impl Ledger {
    /// Takes a change, or panics with the invariant that it breaks.
    pub(crate) fn take(&mut self, change: &Change<'_>) {
        self.changes += 1;
        if self.snapshot.is_some() {
            self.tail.push(Told::own(change));
        }
        match change {
            Change::Session(session) => self.session = Some((*session).clone()),
            Change::Put(row) => self.put(row),
            Change::Append(append) => self.append(append),
            Change::Close(close) => self.close(close),
        }
    }

    fn put(&mut self, row: &Row) {
        let place = usize::try_from(row.seq).expect("fits") - 1;
        if place == self.rows.len() {
            assert_eq!(
                row.revision, 1,
                "fold: the first change of {} is not its first",
                row.id
            );
            let old = self.by_id.insert(row.id.clone(), place);
            assert!(old.is_none(), "fold: the id {} is used twice", row.id);
            self.rows.push(row.clone());
        } else {
            let old = self.rows.get(place).expect("fold: a row was skipped");
            assert_eq!(old.id, row.id, "fold: a row changed its id");
            assert_eq!(
                old.revision + 1,
                row.revision,
                "fold: a change of {} is missing",
                row.id
            );
            assert_eq!(old.kind(), row.kind(), "fold: {} changed its kind", row.id);
            assert!(old.frames[0] == row.frames[0] && old.frames[1] <= row.frames[1]);
            settled_stays(old, row);
            self.rows[place] = row.clone();
        }
        self.one_failure(row);
    }

    fn one_failure(&self, row: &Row) {
        let Some(turn) = row.turn.as_ref().filter(|_| row.kind() == Kind::Status) else {
            return;
        };
        let is_failure = |r: &&Row| {
            r.turn.as_ref() == Some(turn)
                && matches!(&r.body, Body::Status(s) if s.tone == Tone::Error
                    && s.detail.as_ref().and_then(|d| d.source.as_deref()) != Some("notice"))
        };
        let errors = self.rows.iter().filter(is_failure).count();
        assert!(errors <= 1, "one-failure: {turn} has {errors} error rows");
    }

    fn append(&mut self, append: &Append<'_>) {
        self.appended += append.text.len() as u64;
        let place = *self
            .by_id
            .get(append.id)
            .expect("fold: an append to a row that never came");
        let row = &mut self.rows[place];
        assert_eq!(row.seq, append.seq);
        assert_eq!(
            row.revision + 1,
            append.revision,
            "fold: a change of {} is missing",
            append.id
        );
        assert!(!append.text.is_empty(), "constant-delta: an append of nothing");
        let length = match (append.member, &row.body) {
            (Grows::Text, Body::Assistant(m) | Body::Reasoning(m)) => m.content.as_text().len(),
            (Grows::Text, Body::User(user)) => user.content.as_text().len(),
            (Grows::Terminal(at), Body::Tool(tool)) => match &tool.content[at] {
                ToolItem::Terminal(terminal) => terminal.output.len(),
                other => panic!("fold: {other:?} does not grow"),
            },
            (grows, _) => panic!("fold: {grows:?} of a row of kind {}", row.kind()),
        };
        assert_eq!(
            append.offset, length as u64,
            "constant-delta: text is not appended where it ends"
        );
        tapline_timeline::grow(row, append);
    }

    fn close(&mut self, close: &Close<'_>) {
        let place = *self
            .by_id
            .get(close.id)
            .expect("fold: a close of a row that never came");
        let old = self.rows[place].clone();
        assert_eq!(
            old.revision + 1,
            close.revision,
            "fold: a change of {} is missing",
            close.id
        );
        let row = &mut self.rows[place];
        row.revision = close.revision;
        row.frames[1] = row.frames[1].max(close.frame);
        row.ended_at = close.ended_at;
        if let Some(bytes) = close.cut_bytes {
            row.cut("text", bytes);
        }
        let (Body::Assistant(message) | Body::Reasoning(message)) = &mut row.body else {
            panic!("fold: a close of a row that is no message");
        };
        message.state = close.state;
        message.superseded = close.superseded;
        settled_stays(&old, row);
    }

    /// Begins a snapshot: from here on, the tail is kept.
    pub(crate) fn cut_here(&mut self) {
        self.snapshot = Some(self.written());
        self.tail.clear();
    }

    fn written(&self) -> Vec<String> {
        self.rows.iter().map(written).collect()
    }

    /// Three ways to the same rows: this reader, the reference reader, and a snapshot with its tail.
    pub(crate) fn agrees_with(&self, timeline: &Timeline) {
        let live: Vec<String> = timeline.rows().iter().map(|row| written(row)).collect();
        assert_eq!(
            live,
            self.written(),
            "fold: two readers of the same changes disagree"
        );
        assert_eq!(timeline.session(), self.session.as_ref());
        let Some(snapshot) = &self.snapshot else { return };
        let mut resumed = Timeline::new();
        for line in snapshot {
            let row: Row = serde_json::from_str(line).expect("a written row is read again");
            resumed.apply(&Change::Put(&Arc::new(row)));
        }
        for told in &self.tail {
            told.apply(&mut resumed);
        }
        let resumed: Vec<String> = resumed.rows().iter().map(|row| written(row)).collect();
        assert_eq!(resumed, live, "fold: a snapshot and its tail are not the whole");
    }
}

fn written(row: &Row) -> String {
    serde_json::to_string(row).expect("a row has a JSON form")
}

/// Panics where `new` moves what had settled in `old` back.
pub(crate) fn settled_stays(old: &Row, new: &Row) {
    let moved = match (&old.body, &new.body) {
        (Body::Turn(old), Body::Turn(new)) => old.end.is_some() && old.end != new.end,
        (Body::Tool(old), Body::Tool(new)) => match (old.state, new.state) {
            (a, b) if a == b => false,
            (ToolState::Pending, _) => false,
            (ToolState::Running, b) => b == ToolState::Pending,
            // The refusal that explains a failure may be known after it.
            (ToolState::Failed, ToolState::Rejected) => false,
            (ToolState::Interrupted | ToolState::Unknown, b) => !b.is_final(),
            _ => true,
        },
        (Body::Request(old), Body::Request(new)) => {
            old.outcome.is_some() && (old.outcome != new.outcome || old.answer != new.answer)
        }
        (Body::Task(old), Body::Task(new)) => work_moved(old.state, new.state),
        (Body::Helper(old), Body::Helper(new)) => work_moved(old.state, new.state),
        (Body::Compaction(old), Body::Compaction(new)) => {
            old.state != CompactionState::Running && old.state != new.state
        }
        (Body::Assistant(old), Body::Assistant(new)) | (Body::Reasoning(old), Body::Reasoning(new)) => {
            (old.state != TextState::Open && old.state != new.state) || (old.superseded && !new.superseded)
        }
        (Body::User(old), Body::User(new)) => match (old.delivery, new.delivery) {
            (a, b) if a == b => false,
            (None | Some(Delivery::Queued | Delivery::Sent), _) => false,
            _ => true,
        },
        _ => false,
    };
    assert!(!moved, "settled-stays: {old:?}\nbecame\n{new:?}");
}

fn work_moved(old: WorkState, new: WorkState) -> bool {
    match (old, new) {
        (a, b) if a == b => false,
        (WorkState::Running, _) => false,
        (WorkState::Unknown, b) => b == WorkState::Running,
        _ => true,
    }
}

/// How a turn ended, for tests that look at one.
#[allow(dead_code)] // Not every test crate that shares this file asks.
pub(crate) fn end_of(row: &Row) -> Option<End> {
    match &row.body {
        Body::Turn(turn) => turn.end,
        _ => None,
    }
}

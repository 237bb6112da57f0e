//! Random chats that a seed repeats, and the timeline they make.

use std::sync::Arc;

use serde_json::json;
use tapline_timeline::{
    Append, Body, Change, Close, Grows, Row, Session, SessionId, TextState, Time, Timeline, ToolState,
};

use super::*;
use crate::*;

/// A chat of one session: changes as a seed rolls them, the timeline that they make, and a writer that takes them.
pub struct Script<'a> {
    writer: Option<&'a mut Writer>,
    session: String,
    dice: Dice,
    timeline: Timeline,
    cursor: u64,
    /// Half of the time text streams.
    streams: bool,
}

impl<'a> Script<'a> {
    /// A chat that nobody writes: what it would be. One with an odd seed streams half of the time, so that much of it
    /// stands in a tail; of one with an even seed next to all stands in tables.
    pub fn new(session: &str, seed: u64) -> Self {
        Self {
            writer: None,
            session: session.to_owned(),
            dice: Dice(seed),
            timeline: Timeline::new(),
            cursor: 0,
            streams: seed % 2 == 1,
        }
    }

    /// A chat that this writer takes.
    pub fn written(session: &str, seed: u64, writer: &'a mut Writer) -> Self {
        Self {
            writer: Some(writer),
            ..Self::new(session, seed)
        }
    }

    /// The timeline now.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Cursor of the last change.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Waits until everything is saved.
    pub(super) fn flush(&mut self) {
        self.writer().flush().unwrap();
    }

    pub(super) fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().expect("this chat is written")
    }

    /// A change, with an input of the same number on the tape.
    pub(super) fn change(&mut self, change: Change<'_>) {
        self.timeline.apply(&change);
        self.cursor += 1;
        if let Some(writer) = &mut self.writer {
            writer.input(self.cursor, None, &input(self.cursor)).unwrap();
            let cursor = writer.apply(&change).unwrap();
            assert_eq!(cursor, self.cursor, "cursors rise one by one");
            writer.seal().unwrap();
        }
    }

    pub(super) fn put(&mut self, row: &Arc<Row>) {
        self.change(Change::Put(row));
    }

    pub(super) fn append(&mut self, seq: u64, text: &str) {
        let row = self.row(seq);
        let (member, offset) = match &row.body {
            Body::Assistant(m) | Body::Reasoning(m) => (Grows::Text, m.content.as_text().len()),
            Body::User(user) => (Grows::Text, user.content.as_text().len()),
            Body::Tool(tool) => match &tool.content[0] {
                tapline_timeline::ToolItem::Terminal(t) => (Grows::Terminal(0), t.output.len()),
                _ => panic!("the tool has a terminal"),
            },
            _ => panic!("the row grows"),
        };
        let (revision, frame) = (row.revision + 1, row.frames[1] + 1);
        let offset = offset as u64;
        self.change(Change::Append(Append {
            id: &row.id,
            seq,
            member,
            offset,
            text,
            revision,
            frame,
        }));
    }

    pub(super) fn close(&mut self, seq: u64) {
        let row = self.row(seq);
        let close = Close {
            id: &row.id,
            seq,
            state: TextState::Ended,
            superseded: seq.is_multiple_of(7),
            ended_at: Some(Time::At(1_700_000_000_000 + seq as i64)),
            cut_bytes: seq.is_multiple_of(5).then_some(1_000_000),
            revision: row.revision + 1,
            frame: row.frames[1] + 1,
        };
        self.change(Change::Close(close));
    }

    pub(super) fn row(&self, seq: u64) -> Arc<Row> {
        Arc::clone(&self.timeline.rows()[seq as usize - 1])
    }

    /// One step: a row comes, grows, changes or closes, or nothing happens.
    pub fn step(&mut self) {
        let session = self.session.clone();
        let session = session.as_str();
        let count = self.timeline.rows().len() as u64;
        // Only young rows change: a step costs the same however long the chat is.
        let open: Vec<u64> = self
            .timeline
            .rows()
            .iter()
            .rev()
            .take(64)
            .filter(|row| match &row.body {
                Body::Assistant(m) | Body::Reasoning(m) => m.state == TextState::Open,
                Body::Tool(tool) => tool.state == ToolState::Running,
                Body::User(_) => true,
                _ => false,
            })
            .map(|row| row.seq)
            .collect();
        let pick = |dice: &mut Dice| open[dice.roll(open.len() as u64) as usize];
        // With little in between, and some of it is saved before the rest comes.
        if self.streams && self.cursor / STREAM % 2 == 1 && !open.is_empty() && self.dice.roll(16) > 0 {
            let seq = pick(&mut self.dice);
            self.append(seq, &format!("chunk {} é\n", self.cursor));
            if self.dice.roll(4) == 0 && self.writer.is_some() {
                self.flush();
            }
            return;
        }
        match self.dice.roll(10) {
            0 => {
                let kinds = ["assistant", "reasoning"];
                let kind = kinds[self.dice.roll(2) as usize];
                self.put(&row(session, count + 1, json!({"kind": kind, "state": "open", "text": "Begin ✓ "})));
            }
            1 => self.put(&row(
                session,
                count + 1,
                json!({"kind": "tool", "call": format!("c{count}"), "state": "running", "authorization": "not_asked",
                       "content": [{"type": "terminal", "output": "$ "}]}),
            )),
            2 => {
                let parts = json!([{"type": "text", "text": "see "}, {"type": "image", "bytes": 3}]);
                self.put(&row(session, count + 1, json!({"kind": "user", "delivery": "accepted", "text": "see ", "parts": parts})));
            }
            3 if !open.is_empty() => {
                let seq = pick(&mut self.dice);
                let old = self.row(seq);
                match &old.body {
                    Body::Tool(_) => {
                        let mut new = Row::clone(&old);
                        new.revision += 1;
                        if let Body::Tool(tool) = &mut new.body {
                            tool.state = ToolState::Completed;
                            tool.output = Some(OUTPUT.repeat(1 + self.dice.roll(20) as usize * self.dice.roll(200) as usize));
                        }
                        self.put(&Arc::new(new));
                    }
                    Body::User(_) => {
                        let mut new = Row::clone(&old);
                        new.revision += 1;
                        self.put(&Arc::new(new));
                    }
                    _ => self.close(seq),
                }
            }
            4 => {
                let mut object = Session::new(SessionId::from(session));
                object.title = Some(format!("Title {}", self.dice.roll(100)));
                self.change(Change::Session(&object));
            }
            _ if !open.is_empty() => {
                let text = "chunk é\n".repeat(1 + self.dice.roll(3) as usize);
                let seq = pick(&mut self.dice);
                self.append(seq, &text);
            }
            _ => {}
        }
    }
}

/// Changes until a chat streams, and until it stops to.
const STREAM: u64 = 64;

/// Output of a tool; often enough of it is more than a row holds itself.
const OUTPUT: &str = "output ";

/// Small random numbers that a seed repeats.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A seed of its own for each run, printed; `TAPLINE_SEED` repeats one.
pub fn seed() -> u64 {
    let seed = std::env::var("TAPLINE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| {
            use std::hash::{BuildHasher, Hasher};
            std::hash::RandomState::new().build_hasher().finish()
        });
    eprintln!("TAPLINE_SEED={seed}");
    seed
}

/// What stands on the tape for a change.
pub fn input(number: u64) -> Vec<u8> {
    format!("input {number} {}", "frame ".repeat(number as usize % 50)).into_bytes()
}

/// The rows of a timeline without cursors.
pub fn bare(rows: &[Arc<Row>]) -> Vec<Row> {
    let strip = |row: &Arc<Row>| {
        let mut row = Row::clone(row);
        row.cursor = None;
        row
    };
    rows.iter().map(strip).collect()
}

pub(super) fn all(journal: &dyn Journal, session: &str) -> Vec<Arc<Row>> {
    journal
        .rows(&SessionId::from(session), Window::From(0, 1_000_000))
        .unwrap()
}

//! What the benches, examples and memory tests of the recorder share: frames as inputs, and the stores and peers they
//! are measured with.
#![allow(dead_code, reason = "each user takes what it needs")]

use std::borrow::Cow;
use std::sync::Arc;

use agent_client_protocol_schema::v1::SessionNotification;
use serde::Deserialize;
use serde_json::value::RawValue;
use tapline_recorder::{Direction, Memory, Opened, Recorder, SessionRef, Stamp, Store};
use tapline_testkit::generate::{self, Frame};
use tapline_timeline::{Change, Event, Row, RowId, Session, SessionId};
use tapline_translate::{Opening, Out, Translator, Way};

/// One line of the pipe.
pub(crate) type Input = (Direction, String);

/// A generated frame as a line of the pipe.
pub(crate) fn input(frame: Frame) -> Input {
    let direction = match frame.direction {
        generate::Direction::FromAgent => Direction::In,
        generate::Direction::FromClient => Direction::Out,
    };
    let mut text = String::from_utf8(frame.bytes).expect("frames are UTF-8");
    text.truncate(text.trim_end().len());
    (direction, text)
}

/// The frames of a recording, without what stands around them.
pub(crate) fn frames_of(recording: &str) -> Vec<Input> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(borrow)]
        dir: Cow<'a, str>,
        #[serde(borrow)]
        msg: &'a RawValue,
    }
    let entries = recording
        .lines()
        .filter_map(|line| serde_json::from_str::<Entry<'_>>(line).ok());
    let frame = |entry: Entry<'_>| {
        let direction = if entry.dir == "in" {
            Direction::In
        } else {
            Direction::Out
        };
        (direction, entry.msg.get().to_owned())
    };
    entries.map(frame).collect()
}

/// A real recording of the repository, again and again until there are `count` frames.
pub(crate) fn real(count: usize) -> Vec<Input> {
    let recording = include_str!("../../../../fixtures/recordings/claude/s17-many-tools.jsonl");
    frames_of(recording).into_iter().cycle().take(count).collect()
}

/// Only the envelopes, with `serde_json`: how many bytes their parts have.
pub(crate) fn envelopes(lines: &[Input]) -> usize {
    lines.iter().map(|(_, line)| envelope(line)).sum()
}

fn envelope(line: &str) -> usize {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        jsonrpc: Cow<'a, str>,
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        #[serde(borrow, default)]
        method: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
        #[serde(borrow, default)]
        result: Option<&'a RawValue>,
        #[serde(borrow, default)]
        error: Option<&'a RawValue>,
    }
    let read: Envelope<'_> = serde_json::from_str(line).expect("a frame");
    let parts = [read.id, read.params, read.result, read.error];
    let parts: usize = parts.into_iter().flatten().map(|raw| raw.get().len()).sum();
    parts + read.jsonrpc.len() + read.method.map_or(0, |method| method.len())
}

/// Session updates into the types of `agent-client-protocol-schema`, of anything else the envelope. How many it could
/// not read: its enums are strict.
pub(crate) fn typed(lines: &[Input]) -> usize {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(rename = "jsonrpc", borrow)]
        _jsonrpc: &'a str,
        #[serde(rename = "method", borrow)]
        _method: &'a str,
        #[serde(rename = "params")]
        _params: SessionNotification,
    }
    let mut failed = 0;
    for (direction, line) in lines {
        if *direction == Direction::In && line.contains("\"session/update\"") {
            failed += usize::from(std::hint::black_box(serde_json::from_str::<Typed<'_>>(line)).is_err());
        } else {
            std::hint::black_box(envelope(line));
        }
    }
    failed
}

/// Frames → events, unmasked and unassembled: how many events.
pub(crate) fn events(lines: &[Input]) -> u64 {
    let mut translator = Translator::new(None);
    let mut count = Count::default();
    for (number, (direction, line)) in lines.iter().enumerate() {
        let stamp = Stamp {
            number: number as u64,
            at: None,
        };
        if let Ok(frame) = tapline_wire::read(line) {
            translator.frame(stamp, *direction, &frame, line, &mut count);
        }
    }
    count.events
}

/// Frames → rows, in memory: how many frames.
pub(crate) fn rows(lines: &[Input]) -> u64 {
    let mut recorder = Recorder::new(Memory::new(), None);
    for (direction, line) in lines {
        recorder.line("", *direction, line, None);
    }
    recorder.close();
    recorder.number()
}

/// Counts events.
#[derive(Default)]
struct Count {
    events: u64,
    sessions: u32,
}

impl Out for Count {
    fn open(&mut self, _: Stamp, _: Opening<'_>) -> SessionRef {
        self.sessions += 1;
        SessionRef(self.sessions - 1)
    }
    fn event(&mut self, _: Stamp, _: SessionRef, _: Event<'_>) {
        self.events += 1;
    }
    fn state(&mut self, _: Stamp, _: &'static str) {}
    fn drop(&mut self, _: Stamp, _: &'static str) {}
    fn blob(&mut self, _: &str, _: &[u8]) {}
    fn is_running(&self, _: SessionRef) -> bool {
        false
    }
    fn session_id(&self, _: SessionRef) -> Option<SessionId> {
        None
    }
}

/// A store that keeps nothing, so that what is left is the recorder's own memory. It stands for a journal on disk, whose
/// rows are out of memory too; a recorder asks it only for what it has itself forgotten.
#[derive(Debug, Default)]
pub(crate) struct Forgetful {
    /// How many changes it was given.
    pub(crate) changes: u64,
    /// How many rows began.
    pub(crate) rows: u64,
}

impl Store for Forgetful {
    fn open(&mut self, _: SessionRef, provider: Option<&str>, _: Way) -> Opened {
        let session = Session::new(SessionId::from(provider.unwrap_or("session")));
        Opened { session, seq: 0 }
    }

    fn change(&mut self, _: SessionRef, change: &Change<'_>) {
        self.changes += 1;
        self.rows = self.rows.max(change.seq().unwrap_or(0));
    }

    fn row(&self, _: SessionRef, _: &RowId) -> Option<Arc<Row>> {
        None
    }
}

/// Plays frames into a recorder that keeps no rows. The recorder stays, so that its memory can be looked at.
pub(crate) fn play(frames: impl Iterator<Item = Frame>) -> Recorder<Forgetful> {
    let mut recorder = Recorder::new(Forgetful::default(), None);
    for frame in frames {
        let (direction, line) = input(frame);
        recorder.line("", direction, &line, None);
    }
    recorder
}

//! A recorder that is fed frame by frame: the real path, frames in and rows out.

use std::collections::HashMap;

use serde_json::{Value, json};
use tapline_recorder::{Direction, Memory, Recorder, Seen, Stamp, Watch};
use tapline_timeline::{Body, Change, Kind, Row, SessionId, Timeline, Tool};

use crate::ledger::Ledger;
use crate::picture::picture;

/// The input before which each session's rows are written out, to be joined with the changes that follow.
const SNAPSHOT: u64 = 20;

/// Keeps a strict reader per session, and what was told beside changes.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) ledgers: HashMap<SessionId, Ledger>,
    pub(crate) told: Vec<&'static str>,
    pub(crate) inputs: u64,
}

impl Watch for Desk {
    fn input(&mut self, _: Stamp, _: &str, _: Seen<'_>) {
        self.inputs += 1;
        if self.inputs == SNAPSHOT {
            self.ledgers.values_mut().for_each(Ledger::cut_here);
        }
    }
    fn change(&mut self, _: Stamp, session: &SessionId, change: &Change<'_>) {
        self.ledgers.entry(session.clone()).or_default().take(change);
    }
    fn state(&mut self, _: Stamp, what: &'static str) {
        self.told.push(what);
    }
    fn drop(&mut self, _: Stamp, reason: &'static str) {
        self.told.push(reason);
    }
}

/// One connection to one agent.
pub(crate) struct Tape {
    pub(crate) recorder: Recorder<Memory, Desk>,
    pub(crate) process: String,
    session: String,
}

impl Tape {
    /// A connection on which nothing was said.
    pub(crate) fn bare() -> Self {
        Self {
            recorder: Recorder::watched(Memory::new(), None, Desk::default()),
            process: String::new(),
            session: "s1".to_owned(),
        }
    }

    /// A connection with a session `s1`, to an agent that calls itself so.
    pub(crate) fn to(agent: Option<&str>) -> Self {
        let mut tape = Self::bare();
        tape.set_up(agent, "s1");
        tape
    }

    pub(crate) fn new() -> Self {
        Self::to(None)
    }

    /// The handshake and a new session.
    pub(crate) fn set_up(&mut self, agent: Option<&str>, session: &str) {
        self.call(900, "initialize", json!({"protocolVersion": 1}));
        let info = agent.map_or(json!({}), |name| json!({"name": name, "version": "1.0.0"}));
        self.answers(900, json!({"protocolVersion": 1, "agentInfo": info}));
        self.call(901, "session/new", json!({"cwd": "/project", "mcpServers": []}));
        self.answers(901, json!({"sessionId": session}));
        self.session = session.to_owned();
    }

    /// Which session the next frames name.
    pub(crate) fn in_session(&mut self, session: &str) {
        self.session = session.to_owned();
    }

    pub(crate) fn line(&mut self, direction: Direction, line: &str) {
        self.recorder.line(&self.process, direction, line, None);
        assert_eq!(
            self.recorder.unaccounted(),
            0,
            "accounted: nothing became of {line}"
        );
    }

    pub(crate) fn agent_sends(&mut self, frame: &Value) {
        self.line(Direction::In, &frame.to_string());
    }

    pub(crate) fn client_sends(&mut self, frame: &Value) {
        self.line(Direction::Out, &frame.to_string());
    }

    /// What was told of the next frame beside changes.
    pub(crate) fn told(&mut self, send: impl FnOnce(&mut Self)) -> Vec<&'static str> {
        let before = self.recorder.watch_mut().told.len();
        send(self);
        self.recorder.watch_mut().told[before..].to_vec()
    }

    pub(crate) fn call(&mut self, id: u64, method: &str, params: Value) {
        self.client_sends(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(crate) fn answers(&mut self, id: u64, result: Value) {
        self.agent_sends(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub(crate) fn refuses(&mut self, id: u64, error: Value) {
        self.agent_sends(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    pub(crate) fn asks(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.agent_sends(&json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}));
    }

    pub(crate) fn client_answers(&mut self, id: impl Into<Value>, result: Value) {
        self.client_sends(&json!({"jsonrpc": "2.0", "id": id.into(), "result": result}));
    }

    pub(crate) fn update(&mut self, update: Value) {
        let session = self.session.clone();
        self.update_of(&session, update);
    }

    pub(crate) fn update_of(&mut self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.agent_sends(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    pub(crate) fn notice(&mut self, method: &str, params: Value) {
        self.agent_sends(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn prompt(&mut self, id: u64, text: &str) {
        let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": text}]});
        self.call(id, "session/prompt", params);
    }

    pub(crate) fn ends(&mut self, id: u64, reason: &str) {
        self.answers(id, json!({"stopReason": reason}));
    }

    pub(crate) fn cancel(&mut self) {
        let params = json!({"sessionId": self.session});
        self.client_sends(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
    }

    pub(crate) fn says(&mut self, text: &str) {
        self.update(chunk("agent_message_chunk", None, text));
    }

    pub(crate) fn tool(&mut self, kind: &str, call: &str, status: &str) {
        self.update(json!({"sessionUpdate": kind, "toolCallId": call, "status": status}));
    }

    pub(crate) fn timelines(&self) -> &[Timeline] {
        self.recorder.store().timelines()
    }

    /// The rows of the first session, as far as they are.
    #[track_caller]
    pub(crate) fn shows(&mut self, expected: &[&str]) {
        self.session_shows(0, expected);
    }

    #[track_caller]
    pub(crate) fn session_shows(&mut self, at: usize, expected: &[&str]) {
        let is = picture(&self.timelines()[at]);
        assert!(
            is == expected,
            "the timeline is\n{}\nand should be\n{}",
            is.join("\n"),
            expected.join("\n")
        );
        self.agree();
    }

    /// Every session's rows are the same three ways.
    pub(crate) fn agree(&mut self) {
        let timelines = self.timelines().to_vec();
        let desk = self.recorder.watch_mut();
        for timeline in &timelines {
            if let Some(session) = timeline.session() {
                desk.ledgers[&session.id].agrees_with(timeline);
            }
        }
    }

    pub(crate) fn rows(&self) -> Vec<&Row> {
        self.timelines()[0].rows().iter().map(|row| &**row).collect()
    }

    pub(crate) fn all(&self, kind: Kind) -> Vec<&Row> {
        self.rows().into_iter().filter(|row| row.kind() == kind).collect()
    }

    #[track_caller]
    pub(crate) fn the(&self, kind: Kind) -> &Row {
        let rows = self.all(kind);
        assert_eq!(rows.len(), 1, "rows of kind {kind}");
        rows[0]
    }

    #[track_caller]
    pub(crate) fn the_tool(&self) -> &Tool {
        match &self.the(Kind::Tool).body {
            Body::Tool(tool) => tool,
            _ => unreachable!("a row of kind tool holds a tool"),
        }
    }

    /// The end of the record.
    pub(crate) fn close(&mut self) {
        self.recorder.close();
        assert_eq!(self.recorder.unaccounted(), 0);
        self.agree();
    }
}

pub(crate) fn chunk(kind: &str, message: Option<&str>, text: &str) -> Value {
    let mut chunk = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    if let Some(message) = message {
        chunk["messageId"] = message.into();
    }
    chunk
}

pub(crate) fn text_item(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

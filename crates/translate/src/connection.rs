//! One connection: every input comes in here and goes to the part of the translator that reads its kind.

use std::borrow::Cow;

use indexmap::IndexMap;
use tapline_timeline::{Channel, Event, Text, Tone};
use tapline_wire::{Frame, Id, NotAFrame, OwnedId, Params, RawValue, TooLongHint, value};

use crate::calls::Call;
use crate::dialect::{Around, Dialect, Facts};
use crate::dialects;
use crate::end::LastWords;
use crate::io::{Direction, Input, Io, Out, SessionRef, Stamp};
use crate::requests::AgentCall;
use crate::sessions::{Held, SessionState};

/// Reads one connection.
pub struct Translator {
    pub(crate) dialect: Box<dyn Dialect>,
    /// The dialect was chosen by something that names the agent; a weaker sign does not change it.
    pub(crate) certain: bool,
    pub(crate) agent: Option<(String, Option<String>)>,
    /// What the agent is called in a sentence.
    pub(crate) agent_label: Option<String>,
    pub(crate) sessions: IndexMap<Box<str>, SessionState>,
    pub(crate) calls: IndexMap<OwnedId, Call>,
    pub(crate) agent_calls: IndexMap<OwnedId, AgentCall>,
    pub(crate) nameless: Option<SessionRef>,
    /// The session that could not be loaded: the next new one carries it on.
    pub(crate) lost: Option<SessionRef>,
    /// The chunk that was read last, if nothing was read since.
    pub(crate) last_chunk: Option<LastChunk>,
    pub(crate) held: Held,
    pub(crate) last_words: LastWords,
    /// The agent answered the first call: it was there.
    pub(crate) handshake: bool,
    /// Nothing more is read.
    pub(crate) over: bool,
}

/// What a chunk of text belongs to.
#[derive(Debug)]
pub(crate) struct LastChunk {
    pub session: SessionRef,
    pub channel: Channel,
    pub message: Option<Box<str>>,
}

impl std::fmt::Debug for Translator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Translator")
            .field("dialect", &self.dialect.name())
            .field("sessions", &self.sessions)
            .finish_non_exhaustive()
    }
}

impl Translator {
    /// A translator for a connection to an agent of which `hint` is known: a name from a recording's header or a launch
    /// command. Something stronger (the agent's own name, its way of speaking) beats it later.
    pub fn new(hint: Option<&str>) -> Self {
        let dialect = hint.and_then(dialects::by_name).unwrap_or_else(dialects::generic);
        let certain = dialect.name() != "generic";
        Self {
            dialect,
            certain,
            agent: None,
            agent_label: None,
            sessions: IndexMap::new(),
            calls: IndexMap::new(),
            agent_calls: IndexMap::new(),
            nameless: None,
            lost: None,
            last_chunk: None,
            held: Held::default(),
            last_words: LastWords::default(),
            handshake: false,
            over: false,
        }
    }

    /// Name of the dialect that is spoken.
    pub fn dialect(&self) -> &'static str {
        self.dialect.name()
    }

    /// Reads one frame. `line` is the line it was read from.
    pub fn frame(
        &mut self,
        stamp: Stamp,
        direction: Direction,
        frame: &Frame<'_>,
        line: &str,
        out: &mut dyn Out,
    ) {
        let mut io = Io { stamp, out };
        let io = &mut io;
        self.last_chunk = None;
        if self.over {
            io.drop("after-the-end");
            return;
        }
        match (direction, frame) {
            (
                Direction::In,
                Frame::Notification {
                    params: Params::Update(update),
                    ..
                },
            ) => {
                let Some(id) = update.session_id.as_deref() else {
                    io.drop("update-without-session");
                    return;
                };
                match self.sessions.get_index_of(id) {
                    Some(at) => self.update(io, at, update),
                    None => self.hold(io, id, line),
                }
            }
            (Direction::In, Frame::Notification { method, params }) => self.notice(io, method, params, line),
            (Direction::In, Frame::Request { id, method, params }) => self.agent_call(io, id, method, params),
            (Direction::In, Frame::Answer { id, outcome }) => self.answer(io, id, outcome),
            (Direction::Out, Frame::Request { id, method, params }) => {
                self.call(io, id, method, params.raw())
            }
            (Direction::Out, Frame::Notification { method, params }) => {
                self.client_notice(io, method, params.raw())
            }
            (Direction::Out, Frame::Answer { id, outcome }) => self.client_answer(io, id, outcome),
        }
    }

    /// Reads a line that is no frame. Nothing hangs on it, unless it is an answer that is built wrongly: then its call will
    /// get no other.
    pub fn not_a_frame(&mut self, stamp: Stamp, direction: Direction, fault: &NotAFrame, out: &mut dyn Out) {
        self.last_chunk = None;
        let mut io = Io { stamp, out };
        let io = &mut io;
        let stranded = match fault {
            NotAFrame::Envelope(envelope) if direction == Direction::In && !self.over => {
                envelope.stranded_call()
            }
            _ => None,
        };
        let call = stranded.and_then(|id| Some((id, self.calls.shift_remove(&id.as_ref().into_owned())?)));
        let Some((id, call)) = call else {
            io.drop(fault.name());
            return;
        };
        const SENTENCE: &str = "The agent's answer could not be read.";
        if let Some(session) = self.unreadable_answer(io, id, call, SENTENCE) {
            io.status(session, Tone::Warning, Cow::Borrowed(SENTENCE));
        }
    }

    /// Whether the frame read last was a chunk of text that [`Translator::repeat`] can repeat with another text.
    pub fn can_repeat(&self) -> bool {
        self.last_chunk.is_some()
    }

    /// Reads a frame that differs from the one read last in its text alone.
    pub fn repeat(&mut self, stamp: Stamp, text: &str, out: &mut dyn Out) {
        if let Some(LastChunk {
            session,
            channel,
            message,
        }) = &self.last_chunk
        {
            let text = Text {
                turn: None,
                channel: *channel,
                message: message.as_deref(),
                mark: None,
                text,
            };
            out.event(stamp, *session, Event::Text(text));
        }
    }

    /// Reads what is no frame.
    pub fn input(&mut self, stamp: Stamp, input: Input<'_>, out: &mut dyn Out) {
        self.last_chunk = None;
        let mut io = Io { stamp, out };
        let io = &mut io;
        match input {
            Input::Stderr(line) => {
                self.last_words.push(line);
                io.state("last-words");
            }
            Input::TooLong {
                direction,
                prefix,
                bytes,
            } => self.too_long(io, direction, prefix, bytes),
            Input::Exit { code, signal } => self.exited(io, code, signal),
            Input::Close => self.end(io, None),
            Input::Did(what) => self.did(io, what),
        }
    }

    /// The dialect that is spoken, for what a client needs to know of it.
    pub fn spoken(&self) -> &dyn Dialect {
        &*self.dialect
    }

    /// A notification of the agent that is no readable `session/update`.
    fn notice(&mut self, io: &mut Io<'_>, method: &str, params: &Params<'_>, line: &str) {
        let Some(raw) = params.raw() else {
            io.drop("notice-without-params");
            return;
        };
        if method == "$/cancel_request" {
            return self.agent_withdraws(io, raw);
        }
        self.hear_method(method);
        match value::member(raw, "sessionId").and_then(value::name) {
            Some(id) => match self.sessions.get_index_of(&*id) {
                Some(at) => self.session_notice(io, at, method, raw),
                None => self.hold(io, &id, line),
            },
            None => self.connection_notice(io, method, raw),
        }
    }

    fn session_notice(&mut self, io: &mut Io<'_>, at: usize, method: &str, raw: &RawValue) {
        let Some((name, state)) = self.sessions.get_index(at) else {
            return;
        };
        let name = name.clone();
        let around = Around {
            loading: state.replays(),
            marked: is_marked(value::member(raw, "_meta")),
            ..Around::live(&name, io.stamp.at)
        };
        let mut facts = Facts::default();
        self.dialect.notification(around, method, raw, &mut facts);
        let taken = facts.taken_by;
        let any = !facts.events.is_empty() || !facts.children.is_empty();
        self.tell(io, at, facts);
        if !any {
            io.drop(taken.unwrap_or("vendor-notice"));
        }
    }

    /// What concerns the whole connection concerns each session.
    fn connection_notice(&mut self, io: &mut Io<'_>, method: &str, raw: &RawValue) {
        let around = Around {
            marked: is_marked(value::member(raw, "_meta")),
            ..Around::live("", io.stamp.at)
        };
        let mut facts = Facts::default();
        self.dialect.notification(around, method, raw, &mut facts);
        if facts.events.is_empty() || self.sessions.is_empty() {
            io.drop(facts.taken_by.unwrap_or("vendor-notice"));
            return;
        }
        for state in self.sessions.values() {
            for event in &facts.events {
                io.event(state.session, event.clone());
            }
        }
    }

    /// A vendor's own method tells its dialect, where nothing stronger did.
    pub(crate) fn hear_method(&mut self, method: &str) {
        if !self.certain
            && let Some(dialect) = dialects::by_method(method)
        {
            self.dialect = dialect;
            self.certain = true;
        }
    }

    /// A notification of the client.
    fn client_notice(&mut self, io: &mut Io<'_>, method: &str, params: Option<&RawValue>) {
        let session = params
            .and_then(|p| value::member(p, "sessionId"))
            .and_then(value::name);
        match method {
            "session/cancel" => match session.as_deref().and_then(|id| self.sessions.get(id)) {
                Some(state) => {
                    let session = state.session;
                    self.requests_over(session);
                    io.event(session, Event::Stop);
                }
                None => io.drop("unknown-session"),
            },
            "$/cancel_request" => io.state("client-withdraws-a-call"),
            _ => io.state("client-notice"),
        }
    }

    /// A line that was too long to read is told, and so is whoever waited for it.
    fn too_long(&mut self, io: &mut Io<'_>, direction: Direction, prefix: &str, bytes: u64) {
        let hint = TooLongHint::read(prefix);
        let sentence = format!("A message of {bytes} bytes was too long to read and is missing here.");
        let mut target = None;
        let id = match hint {
            TooLongHint::Answer { id } => Some(id),
            TooLongHint::MaybeAnswer { id } => id,
            TooLongHint::Request { .. } | TooLongHint::Nothing { .. } => None,
        };
        if direction == Direction::In
            && let Some(id) = id
            && let Some(call) = self.calls.shift_remove(&id.as_ref().into_owned())
        {
            // Whoever waits for this answer waits for nothing else.
            target = self.unreadable_answer(io, &id, call, &sentence);
            if target.is_none() {
                return;
            }
        }
        let session = target
            .or_else(|| self.session_in_prefix(prefix))
            .or_else(|| self.sessions.values().next().map(|s| s.session));
        match session {
            Some(session) => io.status(session, Tone::Warning, Cow::Owned(sentence)),
            None => io.drop("line-too-long"),
        }
    }
}

/// Whether `_meta` says that the frame is history.
pub(crate) fn is_marked(meta: Option<&RawValue>) -> bool {
    meta.and_then(|m| value::member(m, "isReplay"))
        .and_then(value::bool)
        == Some(true)
}

/// The key of a call: its id in JSON, so that `1` is not `"1"`.
pub(crate) fn key_of(id: &Id<'_>) -> String {
    id.to_string()
}

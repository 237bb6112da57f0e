//! One connection: routing, calls and their answers, sessions, loads.

use std::borrow::Cow;
use std::collections::VecDeque;

use indexmap::IndexMap;
use tapline_timeline::{Channel, Detached, Event, Exit, SessionFacts, SessionId, Text, Time, Tone};
use tapline_wire::{Frame, Id, NotAFrame, OwnedId, Params, RawValue, TooLongHint, value};

use crate::calls::Call;
use crate::dialect::{Around, Dialect, Facts};
use crate::dialects;
use crate::limits;
use crate::requests::AgentCall;

/// Which way a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the agent to the client.
    In,
    /// From the client to the agent.
    Out,
}

/// When an input came, and its number on the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its number.
    pub number: u64,
    /// When it came.
    pub at: Option<Time>,
}

/// A session of the one who listens: an index of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef(pub u32);

/// How a session came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The agent just made it.
    New,
    /// The client speaks of it: it may have been there before.
    Known,
    /// Another session started it.
    Child(SessionRef),
    /// The connection never gave a session: something must hold what went wrong.
    Nameless,
}

/// A session that must be opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The agent's id of it.
    pub provider: Option<&'a str>,
    /// How it came to be known.
    pub way: Way,
    /// The session of ours that it goes on with.
    pub continues: Option<SessionRef>,
}

/// Takes what the translator has to tell.
pub trait Out {
    /// Finds or makes the session of ours.
    fn open(&mut self, stamp: Stamp, opening: Opening<'_>) -> SessionRef;
    /// An event of a session.
    fn event(&mut self, stamp: Stamp, session: SessionRef, event: Event<'_>);
    /// Something else changed.
    fn state(&mut self, stamp: Stamp, what: &'static str);
    /// The input was dropped.
    fn drop(&mut self, stamp: Stamp, reason: &'static str);
    /// Bytes that a row names by their hash.
    fn blob(&mut self, hash: &str, bytes: &[u8]);
    /// Whether a turn runs in this session.
    fn is_running(&self, session: SessionRef) -> bool;
    /// The id of this session.
    fn session_id(&self, session: SessionRef) -> Option<SessionId>;
}

/// What is no frame.
#[derive(Debug, Clone)]
pub enum Input<'a> {
    /// A line over the limit, of which only the beginning is known.
    TooLong {
        /// Which way it went.
        direction: Direction,
        /// Its beginning.
        prefix: &'a str,
        /// How long it was, in bytes.
        bytes: u64,
    },
    /// A line of the agent's standard error.
    Stderr(&'a str),
    /// The agent process ended.
    Exit {
        /// Its exit code.
        code: Option<i64>,
        /// The signal that ended it.
        signal: Option<&'a str>,
    },
    /// Nothing more will be heard of the connection.
    Close,
    /// What Tapline itself did as the client, as a JSON object with one member:
    ///
    /// - `{"answer": {"request": ID, "by": "…"}}`: who decided the answer that is sent next to the agent's request of this id;
    /// - anything else is kept on the tape and changes nothing.
    Did(&'a str),
}

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
    held: VecDeque<Held>,
    held_bytes: usize,
    last_words: VecDeque<String>,
    handshake: bool,
    over: bool,
}

#[derive(Debug)]
pub(crate) struct SessionState {
    pub session: SessionRef,
    pub loading: bool,
    /// The agent goes on replaying after its answer to the load.
    pub replay_tail: bool,
}

/// What a chunk of text belongs to.
#[derive(Debug)]
pub(crate) struct LastChunk {
    pub session: SessionRef,
    pub channel: Channel,
    pub message: Option<Box<str>>,
}

struct Held {
    stamp: Stamp,
    session: Box<str>,
    line: String,
}

impl std::fmt::Debug for Translator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Translator")
            .field("dialect", &self.dialect.name())
            .field("sessions", &self.sessions)
            .finish_non_exhaustive()
    }
}

/// What one frame's reading needs: when it came, and who listens.
pub(crate) struct Io<'o> {
    pub stamp: Stamp,
    pub out: &'o mut dyn Out,
}

impl Io<'_> {
    pub(crate) fn event(&mut self, session: SessionRef, event: Event<'_>) {
        self.out.event(self.stamp, session, event);
    }
    pub(crate) fn state(&mut self, what: &'static str) {
        self.out.state(self.stamp, what);
    }
    pub(crate) fn drop(&mut self, reason: &'static str) {
        self.out.drop(self.stamp, reason);
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
            held: VecDeque::new(),
            held_bytes: 0,
            last_words: VecDeque::new(),
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
            let status = Event::Status {
                turn: None,
                tone: Tone::Warning,
                text: Cow::Borrowed(SENTENCE),
                detail: None,
            };
            io.event(session, status);
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
                if self.last_words.len() >= limits::LAST_WORDS_LINES {
                    self.last_words.pop_front();
                }
                self.last_words.push_back(last_words(line));
                io.state("last-words");
            }
            Input::TooLong {
                direction,
                prefix,
                bytes,
            } => self.too_long(io, direction, prefix, bytes),
            Input::Exit { code, signal } => {
                let words = self.words();
                let exit = Exit {
                    code,
                    signal: signal.map(Cow::Borrowed),
                    last_words: words.as_deref().map(Cow::Borrowed),
                };
                self.end(io, Some(exit));
            }
            Input::Close => self.end(io, None),
            Input::Did(what) => self.did(io, what),
        }
    }

    /// The dialect that is spoken, for what a client needs to know of it.
    pub fn spoken(&self) -> &dyn Dialect {
        &*self.dialect
    }

    /// The last lines of standard error.
    fn words(&self) -> Option<String> {
        let lines: Vec<&str> = self
            .last_words
            .iter()
            .map(|l| l.trim())
            .filter(|l| !l.is_empty())
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn end(&mut self, io: &mut Io<'_>, exit: Option<Exit<'_>>) {
        if std::mem::replace(&mut self.over, true) {
            io.drop("after-the-end");
            return;
        }
        for held in std::mem::take(&mut self.held) {
            io.out.drop(held.stamp, "unknown-session");
        }
        if self.sessions.is_empty() && self.lost.is_none() {
            let session = self.nameless(io);
            if let Some(exit) = &exit {
                let text = start_failure(exit, self.handshake);
                io.event(
                    session,
                    Event::Status {
                        turn: None,
                        tone: Tone::Error,
                        text: Cow::Owned(text),
                        detail: None,
                    },
                );
            }
            io.event(session, Event::Detached(Detached { exit }));
            return;
        }
        // One that could not be loaded, or never was given, is held by nothing else.
        let held = self.sessions.values().map(|s| s.session);
        let mut sessions: Vec<SessionRef> = held.chain(self.lost).chain(self.nameless).collect();
        sessions.sort_unstable();
        sessions.dedup();
        for session in sessions {
            io.event(session, Event::Detached(Detached { exit: exit.clone() }));
        }
    }

    /// The session that holds what went wrong before there was one.
    pub(crate) fn nameless(&mut self, io: &mut Io<'_>) -> SessionRef {
        if let Some(session) = self.nameless {
            return session;
        }
        let session = io.out.open(
            io.stamp,
            Opening {
                provider: None,
                way: Way::Nameless,
                continues: None,
            },
        );
        self.nameless = Some(session);
        self.tell_agent(io, session, SessionFacts::default());
        session
    }

    /// Tells a session the facts, with the agent's name.
    pub(crate) fn tell_agent(&self, io: &mut Io<'_>, session: SessionRef, facts: SessionFacts<'_>) {
        let borrow = Cow::Borrowed;
        let agent = self
            .agent
            .as_ref()
            .map(|(name, version)| (borrow(name.as_str()), version.as_deref().map(borrow)));
        io.event(session, Event::Session(SessionFacts { agent, ..facts }));
    }

    /// Opens a session, and reads the frames that were held for it.
    pub(crate) fn open(
        &mut self,
        io: &mut Io<'_>,
        provider: &str,
        way: Way,
        continues: Option<SessionRef>,
    ) -> SessionRef {
        let session = io.out.open(
            io.stamp,
            Opening {
                provider: Some(provider),
                way,
                continues,
            },
        );
        if self.sessions.len() >= limits::SESSIONS {
            self.let_session_go(io);
        }
        let earlier = self.sessions.insert(
            provider.into(),
            SessionState {
                session,
                loading: false,
                replay_tail: false,
            },
        );
        // The agent gave a session that was spoken of already its id anew: nothing holds the earlier one any more.
        if let Some(earlier) = earlier.filter(|earlier| earlier.session != session) {
            io.event(earlier.session, Event::Detached(Detached { exit: None }));
        }
        session
    }

    /// Forgets the oldest session in which nothing runs (or the oldest of all). It reads as ended from now on; whoever speaks
    /// of it again takes it up again.
    fn let_session_go(&mut self, io: &mut Io<'_>) {
        let idle = self.sessions.values().position(|s| !io.out.is_running(s.session));
        if let Some((_, state)) = self.sessions.shift_remove_index(idle.unwrap_or(0)) {
            io.state("session-let-go");
            io.event(state.session, Event::Detached(Detached { exit: None }));
        }
    }

    /// Reads the frames that were held for a session that is known now.
    pub(crate) fn release(&mut self, io: &mut Io<'_>, provider: &str) {
        let (ready, rest): (VecDeque<Held>, VecDeque<Held>) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|h| &*h.session == provider);
        self.held = rest;
        for held in ready {
            self.held_bytes -= held.line.len();
            if let Ok(frame) = tapline_wire::read(&held.line) {
                self.frame(held.stamp, Direction::In, &frame, &held.line, io.out);
            }
        }
    }

    fn hold(&mut self, io: &mut Io<'_>, session: &str, line: &str) {
        io.state("held");
        self.held_bytes += line.len();
        self.held.push_back(Held {
            stamp: io.stamp,
            session: session.into(),
            line: line.to_owned(),
        });
        while self.held.len() > limits::HELD_FRAMES || self.held_bytes > limits::HELD_BYTES {
            let Some(oldest) = self.held.pop_front() else {
                return;
            };
            self.held_bytes -= oldest.line.len();
            io.out.drop(oldest.stamp, "held-too-long");
        }
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
        if !self.certain
            && let Some(dialect) = dialects::by_method(method)
        {
            self.dialect = dialect;
            self.certain = true;
        }
        let id = value::member(raw, "sessionId").and_then(value::name);
        let at = match id.as_deref() {
            Some(id) => match self.sessions.get_index_of(id) {
                Some(at) => Some(at),
                None => return self.hold(io, id, line),
            },
            None => None,
        };
        let marked = is_marked(value::member(raw, "_meta"));
        let mut facts = Facts::default();
        match at {
            Some(at) => {
                let (name, state) = match self.sessions.get_index(at) {
                    Some((name, state)) => (name.clone(), state),
                    None => return,
                };
                let loading = state.loading || state.replay_tail;
                let around = Around {
                    session: &name,
                    loading,
                    marked,
                    at: io.stamp.at,
                };
                self.dialect.notification(around, method, raw, &mut facts);
                let taken = facts.taken_by;
                let any = !facts.events.is_empty() || !facts.children.is_empty();
                self.tell(io, at, facts);
                if !any {
                    io.drop(taken.unwrap_or("vendor-notice"));
                }
            }
            None => {
                let around = Around {
                    session: "",
                    loading: false,
                    marked,
                    at: io.stamp.at,
                };
                self.dialect.notification(around, method, raw, &mut facts);
                let refs: Vec<SessionRef> = self.sessions.values().map(|s| s.session).collect();
                if facts.events.is_empty() || refs.is_empty() {
                    io.drop(facts.taken_by.unwrap_or("vendor-notice"));
                    return;
                }
                // What concerns the whole connection concerns each session.
                for session in refs {
                    for event in &facts.events {
                        io.event(session, event.clone());
                    }
                }
            }
        }
    }

    /// Tells a session what a dialect read.
    pub(crate) fn tell(&mut self, io: &mut Io<'_>, at: usize, facts: Facts<'_>) {
        let Some((_, state)) = self.sessions.get_index(at) else {
            return;
        };
        let parent = state.session;
        for child in &facts.children {
            if !self.sessions.contains_key(&*child.session) {
                let session = self.open(io, &child.session, Way::Child(parent), None);
                let told = SessionFacts {
                    title: child.title.clone(),
                    provider_session: Some(child.session.clone()),
                    ..SessionFacts::default()
                };
                self.tell_agent(io, session, told);
            }
        }
        for mut event in facts.events {
            if let Event::Helper(news) = &mut event
                && let Some(child) = facts
                    .children
                    .iter()
                    .find(|c| c.helper == Some(news.helper.clone()))
                && let Some(state) = self.sessions.get(&*child.session)
            {
                news.child = io.out.session_id(state.session);
            }
            io.event(parent, event);
        }
        for child in facts.children {
            self.release(io, &child.session);
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
            Some(session) => {
                let text = Cow::Owned(sentence);
                io.event(
                    session,
                    Event::Status {
                        turn: None,
                        tone: Tone::Warning,
                        text,
                        detail: None,
                    },
                );
            }
            None => io.drop("line-too-long"),
        }
    }

    /// The session that the beginning of a line names.
    fn session_in_prefix(&self, prefix: &str) -> Option<SessionRef> {
        let at = prefix.find("\"sessionId\"")?;
        let rest = prefix[at + 11..]
            .trim_start()
            .strip_prefix(':')?
            .trim_start()
            .strip_prefix('"')?;
        let id = &rest[..rest.find('"')?];
        self.sessions.get(id).map(|s| s.session)
    }

    pub(crate) fn handshake_done(&mut self) {
        self.handshake = true;
    }

    /// Index of the session that a request of the agent belongs to.
    pub(crate) fn session_of_request(&self, io: &Io<'_>, params: Option<&RawValue>) -> Option<usize> {
        let id = params
            .and_then(|p| value::member(p, "sessionId"))
            .and_then(value::name);
        if let Some(at) = id.as_deref().and_then(|id| self.sessions.get_index_of(id)) {
            return Some(at);
        }
        // A request is never held: it belongs to the one session in which a turn runs.
        let mut running = (0..self.sessions.len()).filter(|at| {
            self.sessions
                .get_index(*at)
                .is_some_and(|(_, s)| io.out.is_running(s.session))
        });
        let first = running.next();
        if running.next().is_some() { None } else { first }
    }
}

/// Whether `_meta` says that the frame is history.
pub(crate) fn is_marked(meta: Option<&RawValue>) -> bool {
    meta.and_then(|m| value::member(m, "isReplay"))
        .and_then(value::bool)
        == Some(true)
}

/// How a connection ended that never gave a session, as a sentence.
fn start_failure(exit: &Exit<'_>, handshake: bool) -> String {
    let how = match (exit.code, &exit.signal) {
        (_, Some(signal)) => format!("its process was ended by {signal}"),
        (Some(code), None) => format!("its process ended with exit code {code}"),
        (None, None) => "its process ended".to_owned(),
    };
    let what = if handshake {
        "The agent gave no session"
    } else {
        "The agent could not be started"
    };
    match &exit.last_words {
        Some(words) => format!("{what}: {how}. Its last words: {words}"),
        None => format!("{what}: {how}."),
    }
}

/// A line of standard error within its bound; one that had to be cut ends with `…`.
fn last_words(line: &str) -> String {
    if line.len() <= limits::LAST_WORDS_BYTES {
        return line.to_owned();
    }
    let mut cut = limits::LAST_WORDS_BYTES - '…'.len_utf8();
    while !line.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}…", &line[..cut])
}

/// The key of a call: its id in JSON, so that `1` is not `"1"`.
pub(crate) fn key_of(id: &Id<'_>) -> String {
    id.to_string()
}

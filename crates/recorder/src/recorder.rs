//! The recorder: one value that takes inputs and yields changes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use tapline_redact::Rules;
use tapline_timeline::{
    Assembler, Change, Cx, Event, Lookup, Reason, Row, RowId, Session, SessionFacts, SessionId, Sink, Time,
};
use tapline_translate::{Direction, Input, Opening, Out, SessionRef, Stamp, Translator, Way};
use tapline_wire::{Frame, LINE_LIMIT, Line, LineReader};

use crate::masking::{Masking, default_rules};

/// A session as a store has it.
#[derive(Debug)]
pub struct Opened {
    /// What is known of it.
    pub session: Session,
    /// `seq` of its newest row.
    pub seq: u64,
}

/// Where changes go: memory, or a journal.
pub trait Store {
    /// Finds or makes the session that the recorder will call `session` from now on. It is asked once for each.
    fn open(&mut self, session: SessionRef, provider: Option<&str>, way: Way) -> Opened;
    /// Takes a change. A later [`Store::row`] sees it.
    fn change(&mut self, session: SessionRef, change: &Change<'_>);
    /// A row as its last change left it.
    fn row(&self, session: SessionRef, id: &RowId) -> Option<Arc<Row>>;
    /// Bytes that a row names by their hash (BLAKE3, hex).
    fn blob(&mut self, hash: &str, bytes: &[u8]) {
        let _ = (hash, bytes);
    }
}

/// Looks on: what `explain` and `translate --format events` print. Every method has a default that does nothing.
pub trait Watch {
    /// An input begins: what it is, after masking.
    fn input(&mut self, stamp: Stamp, connection: &str, what: Seen<'_>) {
        let _ = (stamp, connection, what);
    }
    /// An event was read from an input.
    fn event(&mut self, stamp: Stamp, session: &SessionId, event: &Event<'_>) {
        let _ = (stamp, session, event);
    }
    /// A row or session changed.
    fn change(&mut self, stamp: Stamp, session: &SessionId, change: &Change<'_>) {
        let _ = (stamp, session, change);
    }
    /// Something else changed.
    fn state(&mut self, stamp: Stamp, what: &'static str) {
        let _ = (stamp, what);
    }
    /// An input, or a piece of it, was dropped.
    fn drop(&mut self, stamp: Stamp, reason: &'static str) {
        let _ = (stamp, reason);
    }
}

/// Nobody looks on.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Watch for Silent {}

/// One input, for a [`Watch`].
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// A line of the pipe.
    Line(Direction, &'a str),
    /// A line over the limit.
    TooLong(Direction, u64),
    /// A line of standard error.
    Stderr(&'a str),
    /// The process ended.
    Exit,
    /// The record of the connection ends.
    Close,
}

/// Turns the inputs of one recording, or of one live connection, into changes.
pub struct Recorder<S, W = Silent> {
    hint: Option<String>,
    /// Begins the label of each connection, so that labels of different recorders differ.
    seed: String,
    connections: IndexMap<Box<str>, Connection>,
    made: u32,
    rules: Rules,
    desk: Desk<S, W>,
}

struct Connection {
    label: String,
    translator: Translator,
    initialized: bool,
    over: bool,
    masking: Masking,
    incoming: LineReader,
    outgoing: LineReader,
}

/// Everything that outlives a connection.
struct Desk<S, W> {
    store: S,
    watch: W,
    slots: Vec<Slot>,
    by_provider: HashMap<Box<str>, SessionRef>,
    connection: String,
    number: u64,
    last_at: Option<Time>,
    told: u64,
    unaccounted: u64,
}

struct Slot {
    assembler: Assembler,
}

impl<S: Store> Recorder<S> {
    /// A recorder into `store`. `hint` names the agent where that is known beforehand.
    pub fn new(store: S, hint: Option<&str>) -> Self {
        Self::watched(store, hint, Silent)
    }
}

impl<S: Store, W: Watch> Recorder<S, W> {
    /// A recorder on which someone looks.
    pub fn watched(store: S, hint: Option<&str>, watch: W) -> Self {
        Self {
            hint: hint.map(str::to_owned),
            seed: String::new(),
            connections: IndexMap::new(),
            made: 0,
            rules: default_rules(),
            desk: Desk {
                store,
                watch,
                slots: Vec::new(),
                by_provider: HashMap::new(),
                connection: String::new(),
                number: 0,
                last_at: None,
                told: 0,
                unaccounted: 0,
            },
        }
    }

    /// Names this recorder's connections after `seed`: a random id for a live connection, one made from the content for an
    /// imported one. It becomes part of the ids of rows that only a connection numbers.
    #[must_use]
    pub fn with_seed(mut self, seed: &str) -> Self {
        seed.clone_into(&mut self.seed);
        self
    }

    /// Masks by other rules than [`default_rules`], on connections that begin after this.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The number of the newest input.
    pub fn number(&self) -> u64 {
        self.desk.number
    }

    /// How many inputs ended as nothing: 0, or there is a bug.
    pub fn unaccounted(&self) -> u64 {
        self.desk.unaccounted
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.desk.store
    }

    /// The store, to change it.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.desk.store
    }

    /// The one who looks on.
    pub fn watch_mut(&mut self) -> &mut W {
        &mut self.desk.watch
    }

    /// Gives the store and the watch back.
    pub fn into_parts(self) -> (S, W) {
        (self.desk.store, self.desk.watch)
    }

    /// The sessions so far, with what their assemblers count.
    pub fn sessions(&self) -> impl Iterator<Item = &Assembler> {
        self.desk.slots.iter().map(|s| &s.assembler)
    }

    /// The dialect that is spoken on a connection.
    pub fn dialect(&self, connection: &str) -> Option<&'static str> {
        self.connections.get(connection).map(|c| c.translator.dialect())
    }

    /// Takes bytes of the pipe, cut anywhere.
    pub fn bytes(&mut self, connection: &str, direction: Direction, bytes: &[u8], at: Option<Time>) {
        let mut lines = Vec::new();
        let reader = self.reader(connection, direction);
        reader.push(bytes, |line| lines.push(own(line)));
        for line in lines {
            self.take(connection, direction, line, at);
        }
    }

    /// Takes one whole line of the pipe, without its end.
    pub fn line(&mut self, connection: &str, direction: Direction, line: &str, at: Option<Time>) {
        self.flush(connection, direction, at);
        if line.len() > LINE_LIMIT {
            let mut cut = tapline_wire::PREFIX_LIMIT;
            while !line.is_char_boundary(cut) {
                cut -= 1;
            }
            return self.too_long(connection, direction, &line[..cut], line.len() as u64, at);
        }
        self.one_line(connection, direction, line, at);
    }

    /// Takes the beginning of a line that is over the limit, and its length.
    pub fn too_long(
        &mut self,
        connection: &str,
        direction: Direction,
        prefix: &str,
        bytes: u64,
        at: Option<Time>,
    ) {
        self.input(
            connection,
            at,
            Seen::TooLong(direction, bytes),
            Input::TooLong {
                direction,
                prefix,
                bytes,
            },
        );
    }

    /// Takes a line of the agent's standard error.
    pub fn stderr(&mut self, connection: &str, line: &str, at: Option<Time>) {
        let masked = self.connection(connection).masking.text(line).into_owned();
        self.input(connection, at, Seen::Stderr(&masked), Input::Stderr(&masked));
    }

    /// The agent process ended.
    pub fn exit(&mut self, connection: &str, code: Option<i64>, signal: Option<&str>, at: Option<Time>) {
        self.flush(connection, Direction::In, at);
        self.flush(connection, Direction::Out, at);
        self.input(connection, at, Seen::Exit, Input::Exit { code, signal });
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.over = true;
        }
    }

    /// Nothing more comes on any connection.
    pub fn close(&mut self) {
        let at = self.desk.last_at;
        let names: Vec<Box<str>> = self.connections.keys().cloned().collect();
        for name in names {
            self.flush(&name, Direction::In, at);
            self.flush(&name, Direction::Out, at);
            if self.connections.get(&name).is_some_and(|c| !c.over) {
                self.input(&name, at, Seen::Close, Input::Close);
                if let Some(connection) = self.connections.get_mut(&name) {
                    connection.over = true;
                }
            }
        }
    }

    fn reader(&mut self, connection: &str, direction: Direction) -> &mut LineReader {
        let connection = self.connection(connection);
        match direction {
            Direction::In => &mut connection.incoming,
            Direction::Out => &mut connection.outgoing,
        }
    }

    /// What a reader holds of a line without an end is a line, once something else comes.
    fn flush(&mut self, connection: &str, direction: Direction, at: Option<Time>) {
        let Some(known) = self.connections.get_mut(connection) else {
            return;
        };
        let reader = match direction {
            Direction::In => &mut known.incoming,
            Direction::Out => &mut known.outgoing,
        };
        let mut lines = Vec::new();
        reader.finish(|line| lines.push(own(line)));
        for line in lines {
            self.take(connection, direction, line, at);
        }
    }

    fn take(&mut self, connection: &str, direction: Direction, line: Line<'static>, at: Option<Time>) {
        match line {
            Line::Text(text) => self.one_line(connection, direction, &text, at),
            Line::TooLong { prefix, bytes } => self.too_long(connection, direction, &prefix, bytes, at),
        }
    }

    fn connection(&mut self, name: &str) -> &mut Connection {
        if !self.connections.contains_key(name) {
            let connection = self.new_connection();
            self.connections.insert(name.into(), connection);
        }
        &mut self.connections[name]
    }

    fn new_connection(&mut self) -> Connection {
        self.made += 1;
        Connection {
            label: format!("{}{}", self.seed, self.made),
            translator: Translator::new(self.hint.as_deref()),
            initialized: false,
            over: false,
            masking: Masking::new(self.rules.clone()),
            incoming: LineReader::new(),
            outgoing: LineReader::new(),
        }
    }

    /// The hot path: one line, read once.
    fn one_line(&mut self, name: &str, direction: Direction, line: &str, at: Option<Time>) {
        let frame = tapline_wire::read(line);
        if let (Direction::Out, Ok(Frame::Request { method, .. })) = (direction, &frame)
            && method == "initialize"
        {
            self.new_process(name, at);
        }
        if !self.connections.contains_key(name) {
            self.connection(name);
        }
        let Some(connection) = self.connections.get_mut(name) else {
            return;
        };
        let masked = connection.masking.line(direction, line, frame.as_ref().ok());
        for rest in &masked.before {
            self.desk.masked_line(connection, Direction::In, rest, at);
        }
        match (&masked.line, &frame) {
            (Cow::Borrowed(line), Ok(frame)) => self.desk.frame(connection, direction, frame, line, at),
            (line, _) => self.desk.masked_line(connection, direction, line, at),
        }
    }

    /// `initialize` begins a connection; after an end, or on one that was set up before, a new one.
    fn new_process(&mut self, name: &str, at: Option<Time>) {
        let Some(connection) = self.connections.get_mut(name) else {
            self.connection(name).initialized = true;
            return;
        };
        if !connection.initialized && !connection.over {
            connection.initialized = true;
            return;
        }
        if !connection.over {
            self.input(name, at, Seen::Close, Input::Close);
        }
        let mut connection = self.new_connection();
        connection.initialized = true;
        self.connections.insert(name.into(), connection);
    }

    fn input(&mut self, name: &str, at: Option<Time>, seen: Seen<'_>, input: Input<'_>) {
        if !self.connections.contains_key(name) {
            self.connection(name);
        }
        let Some(connection) = self.connections.get_mut(name) else {
            return;
        };
        if matches!(seen, Seen::Exit | Seen::Close) {
            for rest in connection.masking.finish() {
                self.desk.masked_line(connection, Direction::In, &rest, at);
            }
        }
        let stamp = self.desk.begin(&connection.label, at);
        self.desk.watch.input(stamp, &connection.label, seen);
        connection.translator.input(stamp, input, &mut self.desk);
        self.desk.end(stamp);
    }
}

fn own(line: Line<'_>) -> Line<'static> {
    match line {
        Line::Text(text) => Line::Text(text.into_owned().into()),
        Line::TooLong { prefix, bytes } => Line::TooLong {
            prefix: prefix.into_owned().into(),
            bytes,
        },
    }
}

impl<S: Store, W: Watch> Desk<S, W> {
    /// Takes a line as it stands on the tape.
    fn masked_line(
        &mut self,
        connection: &mut Connection,
        direction: Direction,
        line: &str,
        at: Option<Time>,
    ) {
        match tapline_wire::read(line) {
            Ok(frame) => self.frame(connection, direction, &frame, line, at),
            Err(why) => {
                let stamp = self.begin(&connection.label, at);
                self.watch
                    .input(stamp, &connection.label, Seen::Line(direction, line));
                self.drop(stamp, why.name());
                self.end(stamp);
            }
        }
    }

    fn frame(
        &mut self,
        connection: &mut Connection,
        direction: Direction,
        frame: &Frame<'_>,
        line: &str,
        at: Option<Time>,
    ) {
        let stamp = self.begin(&connection.label, at);
        self.watch
            .input(stamp, &connection.label, Seen::Line(direction, line));
        connection.translator.frame(stamp, direction, frame, line, self);
        self.end(stamp);
    }

    fn begin(&mut self, connection: &str, at: Option<Time>) -> Stamp {
        self.number += 1;
        self.told = 0;
        if at.is_some() {
            self.last_at = at;
        }
        if self.connection != connection {
            connection.clone_into(&mut self.connection);
        }
        Stamp {
            number: self.number,
            at,
        }
    }

    fn end(&mut self, _: Stamp) {
        if self.told == 0 {
            self.unaccounted += 1;
        }
    }
}

impl<S: Store, W: Watch> Out for Desk<S, W> {
    fn open(&mut self, stamp: Stamp, opening: Opening<'_>) -> SessionRef {
        if let Some(session) = opening.continues {
            if let Some(provider) = opening.provider {
                self.by_provider.insert(provider.into(), session);
            }
            return session;
        }
        if let (Some(provider), Way::Known | Way::Child(_)) = (opening.provider, opening.way)
            && let Some(session) = self.by_provider.get(provider)
        {
            return *session;
        }
        let session = SessionRef(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        let opened = self.store.open(session, opening.provider, opening.way);
        let is_new = opened.seq == 0;
        self.slots.push(Slot {
            assembler: Assembler::new(opened.session, opened.seq),
        });
        if let Some(provider) = opening.provider {
            self.by_provider.insert(provider.into(), session);
        }
        if is_new {
            let parent = match opening.way {
                Way::Child(parent) => self.session_id(parent),
                _ => None,
            };
            let facts = SessionFacts {
                parent,
                ..SessionFacts::default()
            };
            self.event(stamp, session, Event::Attached);
            if facts.parent.is_some() {
                self.event(stamp, session, Event::Session(facts));
            }
        }
        session
    }

    fn event(&mut self, stamp: Stamp, session: SessionRef, event: Event<'_>) {
        let Some(slot) = self.slots.get_mut(session.0 as usize) else {
            return;
        };
        self.watch.event(stamp, &slot.assembler.session().id, &event);
        let id = slot.assembler.session().id.clone();
        let mut host = Host {
            store: &mut self.store,
            watch: &mut self.watch,
            session,
            id: &id,
            stamp,
            told: &mut self.told,
        };
        let mut cx = Cx {
            at: stamp.at,
            frame: stamp.number,
            connection: &self.connection,
            host: &mut host,
        };
        slot.assembler.apply(&mut cx, event);
    }

    fn state(&mut self, stamp: Stamp, what: &'static str) {
        self.told += 1;
        self.watch.state(stamp, what);
    }

    fn drop(&mut self, stamp: Stamp, reason: &'static str) {
        self.told += 1;
        self.watch.drop(stamp, reason);
    }

    fn blob(&mut self, hash: &str, bytes: &[u8]) {
        self.store.blob(hash, bytes);
    }

    fn is_running(&self, session: SessionRef) -> bool {
        self.slots
            .get(session.0 as usize)
            .is_some_and(|s| s.assembler.has_running_turn())
    }

    fn session_id(&self, session: SessionRef) -> Option<SessionId> {
        self.slots
            .get(session.0 as usize)
            .map(|s| s.assembler.session().id.clone())
    }
}

/// What an assembler sees while it handles one event.
struct Host<'d, S, W> {
    store: &'d mut S,
    watch: &'d mut W,
    session: SessionRef,
    id: &'d SessionId,
    stamp: Stamp,
    told: &'d mut u64,
}

impl<S: Store, W: Watch> Sink for Host<'_, S, W> {
    fn change(&mut self, change: Change<'_>) {
        *self.told += 1;
        self.watch.change(self.stamp, self.id, &change);
        self.store.change(self.session, &change);
    }

    fn state(&mut self, what: &'static str) {
        *self.told += 1;
        self.watch.state(self.stamp, what);
    }

    fn drop(&mut self, reason: Reason) {
        *self.told += 1;
        self.watch.drop(self.stamp, reason.0);
    }

    fn blob(&mut self, hash: &str, bytes: &[u8]) {
        self.store.blob(hash, bytes);
    }
}

impl<S: Store, W: Watch> Lookup for Host<'_, S, W> {
    fn row(&self, id: &RowId) -> Option<Arc<Row>> {
        self.store.row(self.session, id)
    }
}

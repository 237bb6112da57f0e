//! The recorder: one value that takes inputs and yields changes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use tapline_redact::Rules;
use tapline_timeline::{
    Assembler, Change, Cx, Event, Lookup, Reason, Row, RowId, Session, SessionFacts, SessionId, Sink, Time,
};
use tapline_translate::{Dialect, Direction, Input, Opening, Out, SessionRef, Stamp, Translator, Way};
use tapline_wire::Frame;

use crate::intake::{Intake, Take, is_at};
use crate::tape::{Recorded, TapeRecord};

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
    /// An input begins; what it changes comes next.
    fn input(&mut self, record: &TapeRecord<'_>) {
        let _ = record;
    }
    /// The input that began last has changed all that it does.
    fn complete(&mut self) {}
}

impl<T: Store + ?Sized> Store for Box<T> {
    fn open(&mut self, session: SessionRef, provider: Option<&str>, way: Way) -> Opened {
        (**self).open(session, provider, way)
    }
    fn change(&mut self, session: SessionRef, change: &Change<'_>) {
        (**self).change(session, change);
    }
    fn row(&self, session: SessionRef, id: &RowId) -> Option<Arc<Row>> {
        (**self).row(session, id)
    }
    fn blob(&mut self, hash: &str, bytes: &[u8]) {
        (**self).blob(hash, bytes);
    }
    fn input(&mut self, record: &TapeRecord<'_>) {
        (**self).input(record);
    }
    fn complete(&mut self) {
        (**self).complete();
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
    /// What Tapline itself did, as JSON.
    Did(&'a str),
}

/// Turns the inputs of one recording, or of one live connection, into changes.
pub struct Recorder<S, W = Silent> {
    intake: Intake,
    core: Core<S, W>,
}

/// What is behind the intake: records into changes.
struct Core<S, W> {
    hint: Option<String>,
    /// Begins the label of each connection, so that labels of different recorders differ.
    seed: String,
    connections: IndexMap<Box<str>, Connection>,
    /// Index of the connection that was used last.
    last: usize,
    made: u32,
    desk: Desk<S, W>,
}

struct Connection {
    label: String,
    translator: Translator,
}

/// Everything that outlives a connection.
struct Desk<S, W> {
    store: S,
    watch: W,
    slots: Vec<Slot>,
    by_provider: HashMap<Box<str>, SessionRef>,
    connection: String,
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
            intake: Intake::new("", hint),
            core: Core {
                hint: None,
                seed: String::new(),
                connections: IndexMap::new(),
                last: 0,
                made: 0,
                desk: Desk {
                    store,
                    watch,
                    slots: Vec::new(),
                    by_provider: HashMap::new(),
                    connection: String::new(),
                    told: 0,
                    unaccounted: 0,
                },
            },
        }
    }

    /// Names this recorder's connections after `seed`: a random id for a live connection, one made from the content for an
    /// imported one. It becomes part of the ids of rows that only a connection numbers.
    #[must_use]
    pub fn with_seed(mut self, seed: &str) -> Self {
        seed.clone_into(&mut self.intake.seed);
        self
    }

    /// Masks by other rules than [`default_rules`](crate::default_rules), on connections that begin after this.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.intake.rules = rules;
        self
    }

    /// The number of the newest input.
    pub fn number(&self) -> u64 {
        self.intake.number()
    }

    /// How many inputs ended as nothing: 0, or there is a bug.
    pub fn unaccounted(&self) -> u64 {
        self.core.desk.unaccounted
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.core.desk.store
    }

    /// The store, to change it.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.core.desk.store
    }

    /// The one who looks on.
    pub fn watch_mut(&mut self) -> &mut W {
        &mut self.core.desk.watch
    }

    /// Gives the store and the watch back.
    pub fn into_parts(self) -> (S, W) {
        (self.core.desk.store, self.core.desk.watch)
    }

    /// The sessions so far, with what their assemblers count.
    pub fn sessions(&self) -> impl Iterator<Item = &Assembler> {
        self.core.desk.slots.iter().map(|s| &s.assembler)
    }

    /// The dialect that is spoken on a connection.
    pub fn dialect(&self, connection: &str) -> Option<&'static str> {
        self.core
            .connections
            .get(connection)
            .map(|c| c.translator.dialect())
    }

    /// The dialect that is spoken on a connection, for what a client must know of it.
    pub fn spoken(&self, connection: &str) -> Option<&dyn Dialect> {
        let connection = self.core.connections.get(connection)?;
        Some(connection.translator.spoken())
    }

    /// A line of JSON as this recorder would keep it.
    pub fn masked<'t>(&self, json: &'t str) -> Cow<'t, str> {
        self.intake.rules.mask_json(json)
    }

    /// Takes bytes of the pipe, cut anywhere.
    pub fn bytes(&mut self, connection: &str, direction: Direction, bytes: &[u8], at: Option<Time>) {
        self.intake
            .bytes(connection, direction, bytes, at, &mut self.core);
    }

    /// Takes one whole line of the pipe, without its end.
    pub fn line(&mut self, connection: &str, direction: Direction, line: &str, at: Option<Time>) {
        self.intake.line(connection, direction, line, at, &mut self.core);
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
        self.intake
            .too_long(connection, direction, prefix, bytes, at, &mut self.core);
    }

    /// Takes a line of the agent's standard error.
    pub fn stderr(&mut self, connection: &str, line: &str, at: Option<Time>) {
        self.intake.stderr(connection, line, at, &mut self.core);
    }

    /// The agent process ended.
    pub fn exit(&mut self, connection: &str, code: Option<i64>, signal: Option<&str>, at: Option<Time>) {
        self.intake.exit(connection, code, signal, at, &mut self.core);
    }

    /// Takes what Tapline itself did: a JSON object, as [`Input::Did`] says.
    pub fn did(&mut self, connection: &str, what: &str, at: Option<Time>) {
        self.intake.did(connection, what, at, &mut self.core);
    }

    /// Nothing more comes on any connection.
    pub fn close(&mut self) {
        self.intake.close(&mut self.core);
    }

    /// Takes an input as it stands on a tape: masked, and with its number. Records come in order and without a gap.
    pub fn record(&mut self, record: &TapeRecord<'_>) {
        self.intake.saw(record);
        self.core.record(record, None);
    }
}

impl<S: Store, W: Watch> Take for Core<S, W> {
    fn take(&mut self, record: TapeRecord<'_>, frame: Option<&Frame<'_>>) {
        self.record(&record, frame);
    }

    fn can_repeat(&self, name: &str) -> bool {
        is_at(&self.connections, self.last, name) && self.connections[self.last].translator.can_repeat()
    }

    fn repeat(&mut self, record: TapeRecord<'_>, text: &str) {
        let Connection { label, translator } = &mut self.connections[self.last];
        let desk = &mut self.desk;
        let stamp = Stamp {
            number: record.number,
            at: record.at,
        };
        desk.begin(label, &record);
        if let Recorded::Line(direction, line) = &record.what {
            desk.watch.input(stamp, label, Seen::Line(*direction, line));
        }
        translator.repeat(stamp, text, desk);
        desk.end();
    }
}

impl<S: Store, W: Watch> Core<S, W> {
    fn record(&mut self, record: &TapeRecord<'_>, frame: Option<&Frame<'_>>) {
        if let Some(opening) = &record.opening {
            opening.seed.as_ref().clone_into(&mut self.seed);
            self.hint = opening.hint.as_deref().map(str::to_owned);
            // Several tapes read one after the other count their connections each from the start, as they were made.
            self.made = 0;
        }
        let name = record.connection.as_ref();
        if record.begins || !is_at(&self.connections, self.last, name) {
            self.last = match self.connections.get_index_of(name).filter(|_| !record.begins) {
                Some(at) => at,
                None => {
                    self.made += 1;
                    let connection = Connection {
                        label: format!("{}{}", self.seed, self.made),
                        translator: Translator::new(self.hint.as_deref()),
                    };
                    self.connections.insert_full(name.into(), connection).0
                }
            };
        }
        let Connection { label, translator } = &mut self.connections[self.last];
        let desk = &mut self.desk;
        let stamp = Stamp {
            number: record.number,
            at: record.at,
        };
        desk.begin(label, record);
        match &record.what {
            Recorded::Line(direction, line) => {
                desk.watch.input(stamp, label, Seen::Line(*direction, line));
                let read = match frame {
                    Some(_) => None,
                    None => Some(tapline_wire::read(line)),
                };
                match (frame, &read) {
                    (Some(frame), _) | (None, Some(Ok(frame))) => {
                        translator.frame(stamp, *direction, frame, line, desk);
                    }
                    (None, Some(Err(why))) => translator.not_a_frame(stamp, *direction, why, desk),
                    // It is read above whenever there is no frame.
                    (None, None) => {}
                }
            }
            Recorded::TooLong(direction, prefix, bytes) => {
                desk.watch.input(stamp, label, Seen::TooLong(*direction, *bytes));
                let (direction, bytes) = (*direction, *bytes);
                let input = Input::TooLong {
                    direction,
                    prefix,
                    bytes,
                };
                translator.input(stamp, input, desk);
            }
            Recorded::Stderr(line) => {
                desk.watch.input(stamp, label, Seen::Stderr(line));
                translator.input(stamp, Input::Stderr(line), desk);
            }
            Recorded::Exit { code, signal } => {
                desk.watch.input(stamp, label, Seen::Exit);
                let (code, signal) = (*code, signal.as_deref());
                translator.input(stamp, Input::Exit { code, signal }, desk);
            }
            Recorded::Close => {
                desk.watch.input(stamp, label, Seen::Close);
                translator.input(stamp, Input::Close, desk);
            }
            Recorded::Did(what) => {
                desk.watch.input(stamp, label, Seen::Did(what));
                translator.input(stamp, Input::Did(what), desk);
            }
        }
        desk.end();
    }
}

impl<S: Store, W: Watch> Desk<S, W> {
    fn begin(&mut self, connection: &str, record: &TapeRecord<'_>) {
        self.told = 0;
        if self.connection != connection {
            connection.clone_into(&mut self.connection);
        }
        self.store.input(record);
    }

    fn end(&mut self) {
        if self.told == 0 {
            self.unaccounted += 1;
        }
        self.store.complete();
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

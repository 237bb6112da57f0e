//! The way in: bytes into lines, lines into masked records.
//!
//! An intake knows which connections there are and where each begins and ends; it does not know what their frames mean. A
//! [`Recorder`](crate::Recorder) has one of its own. Whoever may not wait for the recorder, or has lost it, keeps the records
//! of an intake elsewhere and gives them to [`Recorder::record`](crate::Recorder::record) later: they are the same.

use std::borrow::Cow;

use indexmap::IndexMap;
use tapline_redact::Rules;
use tapline_timeline::Time;
use tapline_translate::Direction;
use tapline_wire::{Frame, LINE_LIMIT, Line, LineReader};

use crate::masking::{Masking, Repeated, default_rules};
use crate::tape::{Opening, Recorded, TapeRecord};

/// Takes a record, and the frame that its line was read as where that is at hand.
pub trait Take {
    /// Takes it.
    fn take(&mut self, record: TapeRecord<'_>, frame: Option<&Frame<'_>>);
    /// Whether the next record may be given to [`Take::repeat`], if its line differs from the one before in the text of
    /// a message alone.
    fn can_repeat(&self, connection: &str) -> bool {
        let _ = connection;
        false
    }
    /// Takes a record whose line differs from the one before in its text alone.
    fn repeat(&mut self, record: TapeRecord<'_>, text: &str) {
        let _ = text;
        self.take(record, None);
    }
}

impl<F: FnMut(TapeRecord<'_>)> Take for F {
    fn take(&mut self, record: TapeRecord<'_>, _: Option<&Frame<'_>>) {
        self(record);
    }
}

/// Makes records of what comes in.
pub struct Intake {
    pub(crate) seed: String,
    pub(crate) hint: Option<String>,
    pub(crate) rules: Rules,
    connections: IndexMap<Box<str>, Connection>,
    /// Index of the connection that was used last.
    last: usize,
    number: u64,
    last_at: Option<Time>,
}

struct Connection {
    initialized: bool,
    over: bool,
    /// Nothing of it was told yet.
    fresh: bool,
    masking: Masking,
    incoming: LineReader,
    outgoing: LineReader,
}

impl Intake {
    /// An intake whose connections are named after `seed`; `hint` names the agent where that is known beforehand.
    pub fn new(seed: &str, hint: Option<&str>) -> Self {
        Self {
            seed: seed.to_owned(),
            hint: hint.map(str::to_owned),
            rules: default_rules(),
            connections: IndexMap::new(),
            last: 0,
            number: 0,
            last_at: None,
        }
    }

    /// Masks by other rules than [`default_rules`], on connections that begin after this.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The number of the newest record.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Takes bytes of the pipe, cut anywhere.
    pub fn bytes(
        &mut self,
        name: &str,
        direction: Direction,
        bytes: &[u8],
        at: Option<Time>,
        to: &mut impl Take,
    ) {
        let mut lines = Vec::new();
        self.connection(name)
            .reader(direction)
            .push(bytes, |line| lines.push(own(line)));
        for line in lines {
            self.whole(name, direction, line, at, to);
        }
    }

    /// Takes one whole line of the pipe, without its end.
    pub fn line(
        &mut self,
        name: &str,
        direction: Direction,
        line: &str,
        at: Option<Time>,
        to: &mut impl Take,
    ) {
        self.flush(name, direction, at, to);
        if line.len() > LINE_LIMIT {
            let cut = line.floor_char_boundary(tapline_wire::PREFIX_LIMIT);
            return self.too_long(name, direction, &line[..cut], line.len() as u64, at, to);
        }
        self.one_line(name, direction, line, at, to);
    }

    /// Takes the beginning of a line that is over the limit, and its length.
    pub fn too_long(
        &mut self,
        name: &str,
        direction: Direction,
        prefix: &str,
        bytes: u64,
        at: Option<Time>,
        to: &mut impl Take,
    ) {
        let prefix = self.connection(name).masking.text(prefix).into_owned();
        self.give(
            name,
            at,
            Recorded::TooLong(direction, prefix.into(), bytes),
            None,
            to,
        );
    }

    /// Bytes of the pipe could not be looked at. The line that they were part of counts as one that is too long.
    pub fn missing(
        &mut self,
        name: &str,
        direction: Direction,
        bytes: u64,
        at: Option<Time>,
        to: &mut impl Take,
    ) {
        let mut prefix = String::new();
        self.connection(name).reader(direction).finish(|line| {
            let (Line::Text(text) | Line::TooLong { prefix: text, .. }) = line;
            let cut = text.floor_char_boundary(tapline_wire::PREFIX_LIMIT);
            text[..cut].clone_into(&mut prefix);
        });
        self.too_long(name, direction, &prefix, bytes, at, to);
    }

    /// Takes a line of the agent's standard error.
    pub fn stderr(&mut self, name: &str, line: &str, at: Option<Time>, to: &mut impl Take) {
        let line = self.connection(name).masking.text(line);
        let line = line.into_owned();
        self.give(name, at, Recorded::Stderr(line.into()), None, to);
    }

    /// Takes what Tapline itself did, as a JSON object.
    pub fn did(&mut self, name: &str, what: &str, at: Option<Time>, to: &mut impl Take) {
        let what = self.connection(name).masking.text(what).into_owned();
        self.give(name, at, Recorded::Did(what.into()), None, to);
    }

    /// The agent process ended.
    pub fn exit(
        &mut self,
        name: &str,
        code: Option<i64>,
        signal: Option<&str>,
        at: Option<Time>,
        to: &mut impl Take,
    ) {
        self.flush(name, Direction::In, at, to);
        self.flush(name, Direction::Out, at, to);
        let signal = signal.map(Cow::from);
        self.end(name, at, Recorded::Exit { code, signal }, to);
    }

    /// Nothing more comes on any connection.
    pub fn close(&mut self, to: &mut impl Take) {
        let at = self.last_at;
        let names: Vec<Box<str>> = self.connections.keys().cloned().collect();
        for name in names {
            self.flush(&name, Direction::In, at, to);
            self.flush(&name, Direction::Out, at, to);
            if !self.connection(&name).over {
                self.end(&name, at, Recorded::Close, to);
            }
        }
    }

    /// Goes on behind a record that came another way.
    pub(crate) fn saw(&mut self, record: &TapeRecord<'_>) {
        if let Some(opening) = &record.opening {
            opening.seed.as_ref().clone_into(&mut self.seed);
            self.hint = opening.hint.as_deref().map(str::to_owned);
        }
        if record.begins {
            let fresh = self.new_connection();
            self.connections.insert(record.connection.as_ref().into(), fresh);
        }
        self.number = record.number;
        self.last_at = record.at.or(self.last_at);
        let connection = self.connection(&record.connection);
        connection.fresh = false;
        match &record.what {
            Recorded::Line(Direction::Out, line) => {
                connection.initialized |= is_initialize(tapline_wire::read(line).ok().as_ref())
            }
            Recorded::Exit { .. } | Recorded::Close => connection.over = true,
            _ => {}
        }
    }

    /// What a reader holds of a line without an end is a line, once something else comes.
    fn flush(&mut self, name: &str, direction: Direction, at: Option<Time>, to: &mut impl Take) {
        let reader = self.connection(name).reader(direction);
        if !reader.is_in_a_line() {
            return;
        }
        let mut lines = Vec::new();
        reader.finish(|line| lines.push(own(line)));
        for line in lines {
            self.whole(name, direction, line, at, to);
        }
    }

    fn whole(
        &mut self,
        name: &str,
        direction: Direction,
        line: Line<'static>,
        at: Option<Time>,
        to: &mut impl Take,
    ) {
        match line {
            Line::Text(text) => self.one_line(name, direction, &text, at, to),
            Line::TooLong { prefix, bytes } => self.too_long(name, direction, &prefix, bytes, at, to),
        }
    }

    fn connection(&mut self, name: &str) -> &mut Connection {
        if !is_at(&self.connections, self.last, name) {
            self.last = match self.connections.get_index_of(name) {
                Some(at) => at,
                None => {
                    let connection = self.new_connection();
                    self.connections.insert_full(name.into(), connection).0
                }
            };
        }
        &mut self.connections[self.last]
    }

    fn new_connection(&self) -> Connection {
        Connection {
            initialized: false,
            over: false,
            fresh: true,
            masking: Masking::new(self.rules.clone()),
            incoming: LineReader::new(),
            outgoing: LineReader::new(),
        }
    }

    /// The hot path: one line, read once.
    fn one_line(
        &mut self,
        name: &str,
        direction: Direction,
        line: &str,
        at: Option<Time>,
        to: &mut impl Take,
    ) {
        // Most lines of a long reply differ from the one before in their text alone: they need no second reading.
        if direction == Direction::In
            && to.can_repeat(name)
            && let Some(Repeated { line, text }) = self.connection(name).masking.repeat(line)
        {
            let record = self.record(name, at, Recorded::Line(direction, line));
            return to.repeat(record, &text);
        }
        let frame = tapline_wire::read(line);
        if direction == Direction::Out && is_initialize(frame.as_ref().ok()) {
            self.new_process(name, at, to);
        }
        let masked = self
            .connection(name)
            .masking
            .line(direction, line, frame.as_ref().ok());
        for rest in masked.before {
            self.give(name, at, Recorded::Line(Direction::In, rest.into()), None, to);
        }
        let frame = match &masked.line {
            Cow::Borrowed(_) => frame.ok(),
            Cow::Owned(_) => None,
        };
        self.give(
            name,
            at,
            Recorded::Line(direction, masked.line),
            frame.as_ref(),
            to,
        );
    }

    /// `initialize` begins a connection; after an end, or on one that was set up before, a new one.
    fn new_process(&mut self, name: &str, at: Option<Time>, to: &mut impl Take) {
        let connection = self.connection(name);
        if connection.initialized || connection.over {
            if !connection.over {
                self.end(name, at, Recorded::Close, to);
            }
            let fresh = self.new_connection();
            self.connections.insert(name.into(), fresh);
        }
        self.connection(name).initialized = true;
    }

    /// The connection ends: nothing is held back any more.
    fn end(&mut self, name: &str, at: Option<Time>, what: Recorded<'_>, to: &mut impl Take) {
        for rest in self.connection(name).masking.finish() {
            self.give(name, at, Recorded::Line(Direction::In, rest.into()), None, to);
        }
        self.give(name, at, what, None, to);
        self.connection(name).over = true;
    }

    fn give(
        &mut self,
        name: &str,
        at: Option<Time>,
        what: Recorded<'_>,
        frame: Option<&Frame<'_>>,
        to: &mut impl Take,
    ) {
        let record = self.record(name, at, what);
        to.take(record, frame);
    }

    /// The next record.
    fn record<'r>(&'r mut self, name: &'r str, at: Option<Time>, what: Recorded<'r>) -> TapeRecord<'r> {
        let begins = std::mem::take(&mut self.connection(name).fresh);
        self.number += 1;
        self.last_at = at.or(self.last_at);
        let opening = (self.number == 1).then(|| Opening {
            seed: self.seed.as_str().into(),
            hint: self.hint.as_deref().map(Cow::from),
        });
        TapeRecord {
            number: self.number,
            at,
            connection: name.into(),
            begins,
            opening,
            what,
        }
    }
}

impl Connection {
    fn reader(&mut self, direction: Direction) -> &mut LineReader {
        match direction {
            Direction::In => &mut self.incoming,
            Direction::Out => &mut self.outgoing,
        }
    }
}

/// Whether the connection at this index has this name. The usual name is the empty one.
pub(crate) fn is_at<T>(connections: &IndexMap<Box<str>, T>, at: usize, name: &str) -> bool {
    let known = connections.get_index(at).map(|(known, _)| known);
    known.is_some_and(|known| known.len() == name.len() && (name.is_empty() || **known == *name))
}

fn is_initialize(frame: Option<&Frame<'_>>) -> bool {
    matches!(frame, Some(Frame::Request { method, .. }) if method == "initialize")
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

//! What each input became: the account behind `tapline explain`.

use serde::Serialize;
use tapline_timeline::{Change, Event, RowId, SessionId};
use tapline_translate::{Direction, Stamp};
use tapline_wire::{Frame, Params};

use crate::recorder::{Seen, Watch};

/// Longest description of an input, in bytes.
const WHAT_BYTES: usize = 120;

/// What became of one input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The input's number on the tape.
    pub input: u64,
    /// The connection it came by.
    pub connection: String,
    /// `in`, `out`, `stderr`, `exit` or `close`.
    pub direction: &'static str,
    /// What it is, in a few words: a method, and the kind of an update.
    pub what: String,
    /// Rows that it made or changed, in order, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Touched>,
    /// Other state that it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<&'static str>,
    /// Why it, or pieces of it, changed nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<&'static str>,
}

/// A row that an input made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// The row; the session itself where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<RowId>,
    /// The session.
    pub session: SessionId,
    /// `new`, `changed`, `grown`, `closed` or `session`.
    pub how: &'static str,
    /// The row's kind, where the change says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
}

/// Collects what became of every input.
#[derive(Debug, Default)]
pub struct Account {
    entries: Vec<Entry>,
    /// Where the entries of the tape begin that is read now.
    tape: usize,
}

impl Account {
    /// An empty account.
    pub fn new() -> Self {
        Self::default()
    }

    /// What became of each input, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn at(&mut self, stamp: Stamp) -> Option<&mut Entry> {
        // Numbers rise by one on each tape; what a held frame became is told under its own number.
        let tape = self.entries.get_mut(self.tape..)?;
        let first = tape.first()?.input;
        let place = usize::try_from(stamp.number.checked_sub(first)?).ok()?;
        tape.get_mut(place)
    }
}

impl Watch for Account {
    fn input(&mut self, stamp: Stamp, connection: &str, what: Seen<'_>) {
        let (direction, what) = describe(what);
        let connection = connection.to_owned();
        if self.entries.last().is_some_and(|last| last.input >= stamp.number) {
            self.tape = self.entries.len();
        }
        self.entries.push(Entry {
            input: stamp.number,
            connection,
            direction,
            what,
            ..Entry::default()
        });
    }

    fn event(&mut self, _: Stamp, _: &SessionId, _: &Event<'_>) {}

    fn change(&mut self, stamp: Stamp, session: &SessionId, change: &Change<'_>) {
        let Some(entry) = self.at(stamp) else { return };
        let (row, how, kind) = match change {
            Change::Session(_) => (None, "session", None),
            Change::Put(row) if row.revision == 1 => (Some(row.id.clone()), "new", Some(row.kind().as_str())),
            Change::Put(row) => (Some(row.id.clone()), "changed", Some(row.kind().as_str())),
            Change::Append(append) => (Some(append.id.clone()), "grown", None),
            Change::Close(close) => (Some(close.id.clone()), "closed", None),
        };
        if !entry.rows.iter().any(|t| t.row == row && t.session == *session) {
            entry.rows.push(Touched {
                row,
                session: session.clone(),
                how,
                kind,
            });
        }
    }

    fn state(&mut self, stamp: Stamp, what: &'static str) {
        if let Some(entry) = self.at(stamp)
            && !entry.state.contains(&what)
        {
            entry.state.push(what);
        }
    }

    fn drop(&mut self, stamp: Stamp, reason: &'static str) {
        if let Some(entry) = self.at(stamp)
            && !entry.dropped.contains(&reason)
        {
            entry.dropped.push(reason);
        }
    }
}

fn describe(seen: Seen<'_>) -> (&'static str, String) {
    match seen {
        Seen::Line(direction, line) => (name(direction), cut(what_line(line))),
        Seen::TooLong(direction, bytes) => (name(direction), format!("a line of {bytes} bytes")),
        Seen::Stderr(line) => ("stderr", cut(line.to_owned())),
        Seen::Exit => ("exit", "the process ended".to_owned()),
        Seen::Did(what) => ("did", what.to_owned()),
        Seen::Close => ("close", "the record of the connection ends".to_owned()),
    }
}

fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "in",
        Direction::Out => "out",
    }
}

fn what_line(line: &str) -> String {
    match tapline_wire::read(line) {
        Ok(Frame::Request { id, method, .. }) => format!("{method} (call {id})"),
        Ok(Frame::Notification {
            method,
            params: Params::Update(update),
        }) => {
            format!("{method} {}", update.kind.as_deref().unwrap_or("without a kind"))
        }
        Ok(Frame::Notification { method, .. }) => method.into_owned(),
        Ok(Frame::Answer { id, outcome: Ok(_) }) => format!("answer to call {id}"),
        Ok(Frame::Answer {
            id,
            outcome: Err(error),
        }) => format!("error {} as answer to call {id}", error.code),
        Err(why) => why.to_string(),
    }
}

fn cut(mut text: String) -> String {
    if text.len() > WHAT_BYTES {
        text.truncate(text.floor_char_boundary(WHAT_BYTES));
        text.push('…');
    }
    text
}

//! A ledger in plain files that can misbehave: what wrap is tested against where no journal is.
//!
//! `CONNECTION.tape` holds the inputs, one JSON array a line; `CONNECTION.rows` the timeline, written when the ledger is
//! closed.
#![allow(dead_code, unreachable_pub)]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tapline_agent::archive::{ArchiveOptions, JournalArchive};
use tapline_agent::wrap::{Archive, Input, Ledger, Trouble};
use tapline_journal::{Home, Mode, SqliteJournal};
use tapline_recorder::{Memory, Opened, SessionRef, Store, TapeRecord, Way};
use tapline_timeline::{Change, Row, RowId, Time};

/// How a ledger behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Good,
    /// It cannot be opened.
    Shut,
    /// It fails for good at this input.
    Fails(u64),
    /// It panics at this input.
    Panics(u64),
    /// It never comes back from this input.
    Hangs(u64),
    /// It waits at this input for a file `go` to appear beside its tape.
    Waits(u64),
    /// It takes this long for an input.
    Slow(Duration),
    /// It is in passing trouble from this input on, until it was looked at so often.
    Passes(u64, u32),
}

impl Mood {
    pub fn parse(text: &str) -> Self {
        let (word, number) = text.split_once(':').unwrap_or((text, "0"));
        let number = number.parse().expect("a number");
        match word {
            "good" => Self::Good,
            "shut" => Self::Shut,
            "fails" => Self::Fails(number),
            "panics" => Self::Panics(number),
            "hangs" => Self::Hangs(number),
            "waits" => Self::Waits(number),
            "slow" => Self::Slow(Duration::from_micros(number)),
            "passes" => Self::Passes(number, 5),
            _ => panic!("no mood {word}"),
        }
    }
}

/// A journal that is opened by whoever writes it.
pub struct InJournal(pub PathBuf);

impl InJournal {
    fn archive(&self) -> Result<JournalArchive, String> {
        let journal = SqliteJournal::open(&Home::at(&self.0)).map_err(|e| e.to_string())?;
        let options = ArchiveOptions {
            mode: Mode::Wrapped,
            agent: None,
            origin: None,
            patience: Some(Duration::from_secs(1)),
            resume: None,
        };
        Ok(JournalArchive::new(Arc::new(journal), options))
    }
}

impl Archive for InJournal {
    fn open(&self, connection: &str) -> Result<Box<dyn Ledger>, String> {
        self.archive()?.open(connection)
    }

    fn tape(&self, connection: &str, number: u64) -> Result<Vec<Input>, String> {
        self.archive()?.tape(connection, number)
    }
}

pub struct Files {
    pub folder: PathBuf,
    pub mood: Mood,
}

struct Book {
    memory: Memory,
    rows: PathBuf,
    tape: File,
    mood: Mood,
    saved: u64,
    open: Option<(u64, Option<Vec<u8>>)>,
    failed: bool,
    looks: std::cell::Cell<u32>,
}

impl Archive for Files {
    fn open(&self, connection: &str) -> Result<Box<dyn Ledger>, String> {
        if self.mood == Mood::Shut {
            return Err("the ledger is shut".to_owned());
        }
        let path = self.folder.join(format!("{connection}.tape"));
        let saved = inputs(&path).last().map_or(0, |input| input.0);
        let tape = OpenOptions::new().create(true).append(true).open(path);
        Ok(Box::new(Book {
            memory: Memory::new(),
            rows: self.folder.join(format!("{connection}.rows")),
            tape: tape.map_err(|e| e.to_string())?,
            mood: self.mood,
            saved,
            open: None,
            failed: false,
            looks: std::cell::Cell::new(0),
        }))
    }

    fn tape(&self, connection: &str, number: u64) -> Result<Vec<Input>, String> {
        let mut inputs = inputs(&self.folder.join(format!("{connection}.tape")));
        inputs.retain(|input| input.0 >= number);
        inputs.truncate(7);
        Ok(inputs)
    }
}

/// What stands on a tape.
pub fn inputs(path: &Path) -> Vec<Input> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let (number, at, text): (u64, Option<i64>, String) =
            serde_json::from_str(line).expect("a tape is good");
        let bytes = text.chars().map(|c| u8::try_from(c).expect("one byte a letter"));
        (number, at.map(Time::At), bytes.collect())
    };
    text.lines().map(line).collect()
}

/// The timeline, one JSON object a line.
pub fn rows(memory: &Memory) -> String {
    let mut out = String::new();
    for timeline in memory.timelines() {
        let session = timeline
            .session()
            .map(|s| serde_json::to_string(s).expect("a session is JSON"));
        let rows = timeline.rows().iter();
        let rows = rows.map(|row| serde_json::to_string(&**row).expect("a row is JSON"));
        for line in session.into_iter().chain(rows) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

impl Store for Book {
    fn open(&mut self, session: SessionRef, provider: Option<&str>, way: Way) -> Opened {
        self.memory.open(session, provider, way)
    }

    fn change(&mut self, session: SessionRef, change: &Change<'_>) {
        self.memory.change(session, change);
    }

    fn row(&self, session: SessionRef, id: &RowId) -> Option<Arc<Row>> {
        self.memory.row(session, id)
    }

    fn input(&mut self, record: &TapeRecord<'_>) {
        match self.mood {
            Mood::Panics(number) if number == record.number => panic!("the ledger panics at input {number}"),
            Mood::Hangs(number) if number == record.number => loop {
                std::thread::park();
            },
            Mood::Waits(number) if number == record.number => {
                while !self.rows.with_file_name("go").exists() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            Mood::Fails(number) if number <= record.number => self.failed = true,
            Mood::Slow(time) => std::thread::sleep(time),
            _ => {}
        }
        let new = record.number > self.saved && !self.failed;
        let bytes = new.then(|| {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            let at = record.at.map(|at| match at {
                Time::At(ms) => ms,
                Time::Since(_) => panic!("a live input has an absolute time"),
            });
            // One letter a byte, so that a tape can be read.
            let text: String = bytes.into_iter().map(char::from).collect();
            serde_json::to_vec(&(record.number, at, text)).expect("an input is JSON")
        });
        self.open = Some((record.number, bytes));
    }

    fn complete(&mut self) {
        if let Some((number, Some(mut line))) = self.open.take() {
            line.push(b'\n');
            self.tape.write_all(&line).expect("the tape can be written");
            self.saved = number;
        }
    }
}

impl Ledger for Book {
    fn saved(&self) -> u64 {
        self.saved
    }

    fn trouble(&self) -> Option<Trouble> {
        if self.failed {
            return Some(Trouble::Lasting("the ledger has failed".to_owned()));
        }
        if let Mood::Passes(number, looks) = self.mood
            && self.saved + 1 >= number
            && self.looks.get() < looks
        {
            self.looks.set(self.looks.get() + 1);
            return Some(Trouble::Passing("the ledger is locked".to_owned()));
        }
        None
    }

    fn flush(&mut self) {}
}

impl Drop for Book {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.failed {
            let _ = fs::write(&self.rows, rows(&self.memory));
        }
    }
}

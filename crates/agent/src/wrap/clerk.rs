//! The clerk: copies into masked records, and records to where they are safe.
//!
//! The clerk stands between the pumps, which must never wait, and the recorder thread, which may wait for ever. It never
//! touches the ledger. It keeps every record until the ledger has saved it; when that becomes too much, or the ledger is in
//! trouble, or the recorder is gone, the records go to a side file ([`spill`]).
//!
//! A recorder that was only slow is told to read on in the side file once it has done what it was given, and is given
//! records directly again behind that. What is left in a side file at the end is folded in later.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tapline_recorder::{Direction, Intake, Recorded, TapeRecord};
use tapline_timeline::Time;
use tapline_wire::{Line, LineReader};

use super::keeper::{Keeper, Work};
use super::ledger::Archive;
use super::spill::Spill;
use super::tap::{Copied, Copies, News, Stream};
use super::{End, signals};

/// What may be held that is not saved yet, in bytes; beyond it the side file is used. One record may be larger.
pub const UNSAVED_BYTES: usize = 16 << 20;

/// How much of a connection's beginning is kept when the rest has to go, in bytes: it names the agent and the session.
const OPENING_BYTES: usize = 64 << 10;

/// How long a record may wait to be saved before it is put into the side file: what may be lost when we are killed.
pub const UNSAVED_TIME: Duration = Duration::from_secs(1);

/// The longest line of standard error that is kept whole, in bytes.
pub const ERROR_LINE_BYTES: usize = 64 << 10;

/// How long the end of the agent is held up for the ledger.
pub const FINISH_WAIT: Duration = Duration::from_secs(2);

/// How often the clerk looks around while nothing comes.
const LOOK: Duration = Duration::from_millis(50);

/// The name of the one connection on the tape of a wrapped agent.
const NAME: &str = "";

/// How a wrapped agent is recorded.
#[derive(Clone)]
pub struct RecordOptions {
    /// The connection's own name: random, and never used twice. It may stand in the name of a file.
    pub connection: String,
    /// What the agent is called or how it is started, where that is known.
    pub hint: Option<String>,
    /// Values that are secret besides those that the rules know: the secret variables of the environment, say.
    pub secrets: Vec<String>,
    /// The folder of the side files.
    pub spill: PathBuf,
    /// Where the record goes.
    pub archive: Arc<dyn Archive>,
}

impl std::fmt::Debug for RecordOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordOptions")
            .field("connection", &self.connection)
            .field("spill", &self.spill)
            .finish_non_exhaustive()
    }
}

/// What the record of a wrapped agent came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// How many inputs there were.
    pub inputs: u64,
    /// How many of them are in the ledger.
    pub saved: u64,
    /// The file that holds the others.
    pub side_file: Option<PathBuf>,
    /// How many are nowhere, because the side file could not be written either.
    pub lost: u64,
    /// Bytes that could not even be looked at, because the clerk did not keep up.
    pub missing_bytes: u64,
    /// What went wrong, in a sentence.
    pub trouble: Option<String>,
}

pub(super) struct Clerk {
    intake: Intake,
    errors: LineReader,
    shelf: Shelf,
    missing_bytes: u64,
}

/// Where records are until they are saved.
struct Shelf {
    folder: PathBuf,
    connection: String,
    keeper: Option<Keeper>,
    /// Records that are neither saved nor in the side file, and what they weigh together.
    held: VecDeque<Held>,
    bytes: usize,
    /// What the keeper was given and has not done: numbers, weights, and the sum of these.
    on_way: VecDeque<(u64, usize)>,
    on_way_bytes: usize,
    spill: Option<Spill>,
    /// The last record the keeper was given, or told to read.
    given: u64,
    last: u64,
    trouble: Option<String>,
    /// First and last number of each run of records that are neither held nor in the side file. The keeper may still save
    /// them.
    gone: Vec<(u64, u64)>,
}

struct Held {
    record: Arc<TapeRecord<'static>>,
    weight: usize,
    since: Instant,
}

/// What became too much while even the side file could not be written: it goes, and one record says how much it was.
#[derive(Default)]
struct Gap {
    bytes: u64,
    first: Option<u64>,
    last: Option<Arc<TapeRecord<'static>>>,
}

impl Gap {
    fn add(&mut self, held: &Held) {
        self.bytes += match &held.record.what {
            // A gap of before among them.
            Recorded::TooLong(_, _, bytes) => *bytes,
            Recorded::Line(_, text) | Recorded::Stderr(text) | Recorded::Did(text) => text.len() as u64,
            Recorded::Exit { .. } | Recorded::Close => 0,
        };
        self.first.get_or_insert(held.record.number);
        self.last = Some(Arc::clone(&held.record));
    }

    /// The record that stands for all, with the number of the last.
    fn into_held(self) -> Option<Held> {
        let last = self.last?;
        let record = TapeRecord {
            number: last.number,
            at: last.at,
            connection: last.connection.clone(),
            begins: false,
            opening: None,
            what: Recorded::TooLong(Direction::In, "".into(), self.bytes),
        };
        Some(Held {
            weight: weight(&record),
            record: Arc::new(record),
            since: Instant::now(),
        })
    }
}

impl Clerk {
    pub(super) fn new(options: RecordOptions) -> Self {
        let rules = tapline_recorder::default_rules();
        let rules = if options.secrets.is_empty() {
            rules
        } else {
            rules.with_secrets(&options.secrets)
        };
        let keeper = Keeper::start(Arc::clone(&options.archive), &options.connection);
        let (keeper, trouble) = match keeper {
            Ok(keeper) => (Some(keeper), None),
            Err(error) => (None, Some(format!("the recorder could not be started: {error}"))),
        };
        let seed = format!("{}.", options.connection);
        Self {
            intake: Intake::new(&seed, options.hint.as_deref()).with_rules(rules),
            errors: LineReader::with_limit(ERROR_LINE_BYTES),
            shelf: Shelf {
                folder: options.spill,
                connection: options.connection,
                keeper,
                held: VecDeque::new(),
                bytes: 0,
                on_way: VecDeque::new(),
                on_way_bytes: 0,
                spill: None,
                given: 0,
                last: 0,
                trouble,
                gone: Vec::new(),
            },
            missing_bytes: 0,
        }
    }

    /// Keeps the record until the agent has ended, and sees that it is safe.
    pub(super) fn run(mut self, copies: &Copies) -> Recording {
        loop {
            match copies.next(LOOK) {
                News::Copied(copied) => self.copied(&copied),
                News::Nothing => {}
                News::Ended(end, at) => {
                    self.ended(end, time(at));
                    break;
                }
                News::Gone => break,
            }
            self.shelf.look();
        }
        self.close()
    }

    /// Sees that everything is safe, and says what the record came to.
    fn close(mut self) -> Recording {
        let shelf = &mut self.shelf;
        self.intake.close(&mut |record: TapeRecord<'_>| shelf.put(record));
        let saved = self.shelf.finish();
        Recording {
            inputs: self.shelf.last,
            saved,
            lost: self.shelf.lost(saved),
            side_file: self.shelf.spill.as_ref().map(|spill| spill.path().to_owned()),
            missing_bytes: self.missing_bytes,
            trouble: self.shelf.trouble.take(),
        }
    }

    fn copied(&mut self, copied: &Copied) {
        let at = time(copied.at);
        let Self { intake, shelf, .. } = self;
        let mut put = |record: TapeRecord<'_>| shelf.put(record);
        self.missing_bytes += copied.missing;
        let direction = match copied.stream {
            Stream::Input => Direction::Out,
            Stream::Output => Direction::In,
            Stream::Errors => {
                if copied.missing > 0 {
                    self.errors.finish(|line| error_line(intake, &line, at, &mut put));
                    let text = format!("[{} bytes of standard error are missing here]", copied.missing);
                    intake.stderr(NAME, &text, at, &mut put);
                }
                self.errors
                    .push(&copied.bytes, |line| error_line(intake, &line, at, &mut put));
                return;
            }
        };
        if copied.missing > 0 {
            intake.missing(NAME, direction, copied.missing, at, &mut put);
        }
        intake.bytes(NAME, direction, &copied.bytes, at, &mut put);
    }

    fn ended(&mut self, end: End, at: Option<Time>) {
        let Self { intake, shelf, .. } = self;
        let mut put = |record: TapeRecord<'_>| shelf.put(record);
        self.errors.finish(|line| error_line(intake, &line, at, &mut put));
        match end {
            End::Code(code) => intake.exit(NAME, Some(code.into()), None, at, &mut put),
            End::Signal(signal) => {
                let name = signals::name(signal);
                intake.exit(NAME, None, Some(&name), at, &mut put);
            }
        }
    }
}

fn error_line(intake: &mut Intake, line: &Line<'_>, at: Option<Time>, put: &mut impl tapline_recorder::Take) {
    match line {
        Line::Text(text) => intake.stderr(NAME, text, at, put),
        Line::TooLong { prefix, bytes } => {
            intake.stderr(NAME, &format!("{prefix}… [a line of {bytes} bytes]"), at, put);
        }
    }
}

impl Shelf {
    fn put(&mut self, record: TapeRecord<'_>) {
        let record = Arc::new(record.into_owned());
        let weight = weight(&record);
        self.last = record.number;
        self.bytes += weight;
        self.held.push_back(Held {
            record: Arc::clone(&record),
            weight,
            since: Instant::now(),
        });
        self.give(record, weight);
        if self.bytes > UNSAVED_BYTES {
            self.look();
        }
    }

    /// Gives the keeper a record, unless it lacks the one before, or has too much to do as it is.
    fn give(&mut self, record: Arc<TapeRecord<'static>>, weight: usize) {
        let number = record.number;
        let Some(keeper) = &self.keeper else { return };
        let done = keeper.progress.done();
        while let Some((_, weight)) = self.on_way.pop_front_if(|(number, _)| *number <= done) {
            self.on_way_bytes -= weight;
        }
        let fits = self.on_way.is_empty() || self.on_way_bytes + weight <= UNSAVED_BYTES;
        if fits && number == self.given + 1 && keeper.give(Work::Record(record)) {
            self.given = number;
            self.on_way.push_back((number, weight));
            self.on_way_bytes += weight;
        }
    }

    /// Lets go of what is saved, and puts what is in danger into the side file.
    fn look(&mut self) {
        let saved = self.saved();
        while let Some(held) = self.held.pop_front_if(|held| held.record.number <= saved) {
            self.bytes -= held.weight;
        }
        let late = self
            .held
            .front()
            .is_some_and(|held| held.since.elapsed() > UNSAVED_TIME);
        let trouble = match &self.keeper {
            Some(keeper) => {
                let gone = || {
                    (keeper.is_gone() && self.saved() < self.last)
                        .then(|| "the recorder has ended".to_owned())
                };
                keeper.progress.trouble().or_else(gone)
            }
            None => self.trouble.clone(),
        };
        let in_danger = late || trouble.is_some() || self.given < self.last || self.bytes > UNSAVED_BYTES;
        self.trouble = trouble.or_else(|| self.trouble.take());
        if in_danger && let Err(error) = self.spill() {
            self.trouble = Some(format!(
                "the side file in {} cannot be written: {error}",
                self.folder.display()
            ));
            self.forget();
        }
        self.catch_up(saved);
    }

    fn saved(&self) -> u64 {
        self.keeper.as_ref().map_or(0, |keeper| keeper.progress.saved())
    }

    /// Puts all that is held into the side file.
    fn spill(&mut self) -> io::Result<()> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None if self.held.is_empty() => return Ok(()),
            None => self.spill.insert(Spill::create(&self.folder, &self.connection)?),
        };
        while let Some(held) = self.held.front() {
            spill.push(&held.record)?;
            self.bytes -= held.weight;
            self.held.pop_front();
        }
        spill.flush()
    }

    /// Where even the side file fails, the oldest records go, so that memory does not grow for ever. Those with which the
    /// connection begins stay: without them the others say little.
    fn forget(&mut self) {
        let mut gap = Gap::default();
        let mut opening = Vec::new();
        let mut room = OPENING_BYTES;
        while self.bytes > UNSAVED_BYTES
            && let Some(held) = self.held.pop_front()
        {
            let next = opening.len() as u64 + 1;
            let is_gap = matches!(held.record.what, Recorded::TooLong(..));
            let stays = held.record.begins || (held.record.number == next && held.weight <= room);
            if stays && !is_gap && gap.first.is_none() {
                room = room.saturating_sub(held.weight);
                opening.push(held);
                continue;
            }
            self.bytes -= held.weight;
            gap.add(&held);
        }
        if let (Some(first), Some(held)) = (gap.first, gap.into_held()) {
            self.went(first, held.record.number);
            self.bytes += held.weight;
            self.held.push_front(held);
        }
        for held in opening.into_iter().rev() {
            self.held.push_front(held);
        }
    }

    /// Notes records that only the keeper has now, if anybody has.
    fn went(&mut self, first: u64, last: u64) {
        match self.gone.last_mut() {
            // A gap swallows the one before it.
            Some(gone) if first <= gone.1 + 1 => *gone = (first.min(gone.0), last),
            _ => self.gone.push((first, last)),
        }
    }

    /// How many records are nowhere, once this one is the last that the ledger has saved.
    fn lost(&self, saved: u64) -> u64 {
        let runs = self
            .gone
            .iter()
            .map(|(first, last)| last.saturating_sub((*first).max(saved + 1) - 1));
        runs.sum()
    }

    /// Sends a keeper that has done all it was given to the side file for the rest, and removes a file that is not needed
    /// any more.
    fn catch_up(&mut self, saved: u64) {
        let (Some(spill), Some(keeper)) = (&self.spill, &self.keeper) else {
            return;
        };
        let Some((first, last)) = spill.numbers else {
            return;
        };
        if spill.first_waiting().is_some() {
            return;
        }
        if saved >= last {
            if let Some(spill) = self.spill.take() {
                spill.remove();
            }
            self.trouble = None;
        } else if self.given < last
            && first <= self.given + 1
            && keeper.progress.done() == self.given
            && keeper.progress.trouble().is_none()
            && keeper.give(Work::Read {
                file: spill.path().to_owned(),
                from: self.given + 1,
                to: last,
            })
        {
            // All that is held was put into the file before, so the next record goes directly.
            self.given = last;
        }
    }

    /// Waits a while until everything is saved, and puts the rest into the side file. Says what is saved.
    fn finish(&mut self) -> u64 {
        let until = Instant::now() + FINISH_WAIT;
        let mut flushed = false;
        loop {
            self.look();
            if self.saved() >= self.last {
                break;
            }
            let Some(keeper) = &self.keeper else { break };
            if keeper.is_gone() || Instant::now() >= until {
                break;
            }
            if self.given == self.last && !flushed {
                flushed = keeper.give(Work::Flush);
            }
            std::thread::sleep(LOOK / 10);
        }
        if let Some(keeper) = self.keeper.as_mut() {
            keeper.leave(until);
        }
        self.look();
        if self.saved() < self.last {
            let done = match (self.spill(), &mut self.spill) {
                (Ok(()), Some(spill)) => spill.sync(),
                (done, _) => done,
            };
            if let Err(error) = done {
                let waiting = self.spill.as_ref().and_then(Spill::first_waiting);
                let held = self.held.front().map(|held| held.record.number);
                if let Some(first) = waiting.or(held) {
                    self.went(first, self.last);
                }
                self.trouble = Some(format!(
                    "the side file in {} cannot be written: {error}",
                    self.folder.display()
                ));
            }
        }
        self.saved()
    }
}

/// What a record weighs in memory, roughly.
fn weight(record: &TapeRecord<'_>) -> usize {
    let text = match &record.what {
        Recorded::Line(_, text)
        | Recorded::Stderr(text)
        | Recorded::TooLong(_, text, _)
        | Recorded::Did(text) => text.len(),
        Recorded::Exit { .. } | Recorded::Close => 0,
    };
    size_of::<TapeRecord<'_>>() + text
}

fn time(at: SystemTime) -> Option<Time> {
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Time::At)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tapline_journal::{Journal, MemoryJournal, Mode, SessionQuery, Window};
    use tapline_timeline::{Body, End as TurnEnd};

    use super::super::fold_in;
    use super::super::ledger::{Input, Ledger};
    use super::*;
    use crate::archive::{ArchiveOptions, JournalArchive};

    /// A ledger that cannot be opened.
    struct Shut;

    impl Archive for Shut {
        fn open(&self, _: &str) -> Result<Box<dyn Ledger>, String> {
            Err("it is shut".to_owned())
        }

        fn tape(&self, _: &str, _: u64) -> Result<Vec<Input>, String> {
            Err("it is shut".to_owned())
        }
    }

    fn hear(clerk: &mut Clerk, stream: Stream, line: &str) {
        let copied = Copied {
            stream,
            at: UNIX_EPOCH,
            missing: 0,
            bytes: format!("{line}\n").into_bytes(),
        };
        clerk.copied(&copied);
        clerk.shelf.look();
    }

    #[test]
    fn a_side_file_that_could_not_be_written_for_a_while_tells_of_the_gap() {
        let folder = tempfile::tempdir().unwrap();
        let spill = folder.path().join("spill");
        // Something is in the way of the side file.
        fs::write(&spill, "").unwrap();
        let mut clerk = Clerk::new(RecordOptions {
            connection: "c".to_owned(),
            hint: None,
            secrets: Vec::new(),
            spill: spill.clone(),
            archive: Arc::new(Shut),
        });
        let opening = [
            (
                Stream::Input,
                r#"{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
            ),
            (
                Stream::Output,
                r#"{"jsonrpc":"2.0","id":0,"result":{"sessionId":"s"}}"#,
            ),
            (
                Stream::Input,
                r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#,
            ),
        ];
        for (stream, line) in opening {
            hear(&mut clerk, stream, line);
        }
        let text = "word ".repeat(20_000);
        let chunk = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
        );
        let chunks = 2 * UNSAVED_BYTES / chunk.len();
        for _ in 0..chunks {
            hear(&mut clerk, Stream::Output, &chunk);
        }
        assert!(
            clerk.shelf.bytes <= UNSAVED_BYTES + chunk.len(),
            "memory is bounded"
        );
        fs::remove_file(&spill).unwrap();
        hear(
            &mut clerk,
            Stream::Output,
            r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}"#,
        );
        clerk.ended(End::Code(0), None);
        let recording = clerk.close();
        assert_eq!((recording.saved, recording.inputs), (0, chunks as u64 + 5));
        // The inputs with which the connection begins stay, and all behind the gap.
        assert!(
            recording.lost > chunks as u64 / 3 && recording.lost < chunks as u64,
            "{recording:?}"
        );

        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let options = ArchiveOptions {
            mode: Mode::Wrapped,
            agent: None,
            origin: None,
            patience: Some(Duration::from_secs(60)),
            resume: None,
        };
        let archive = JournalArchive::new(Arc::clone(&journal), options);
        let folded = fold_in(&spill, &archive).unwrap();
        assert_eq!(
            folded[0].outcome,
            Ok(recording.inputs - recording.lost + 1),
            "and the one that tells"
        );
        assert_eq!(fs::read_dir(&spill).unwrap().count(), 0);
        let sessions = journal.sessions(&SessionQuery::default()).unwrap();
        let rows = journal
            .rows(&sessions[0].session.id, Window::From(1, 1000))
            .unwrap();
        let tells = |row: &&Arc<tapline_timeline::Row>| matches!(&row.body, Body::Status(status) if status.text.contains("bytes"));
        assert_eq!(rows.iter().filter(tells).count(), 1, "{rows:?}");
        assert!(
            rows.iter()
                .all(|row| !matches!(&row.body, Body::Turn(turn) if turn.end == Some(TurnEnd::Cut)))
        );
    }
}

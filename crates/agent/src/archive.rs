//! A journal as the place where a recorder writes.
//!
//! Between the two stands little: the recorder's inputs become the tape, its changes the rows, both of one input committed
//! together. What needs care is going on with a connection of which a part is saved already (a side file is folded in, or an
//! import was broken off): its inputs are given once more, so that the assemblers reach the state in which they were, and
//! until then nothing is written. Meanwhile rows are looked up in what was given again, as they were then.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tapline_journal::{Begin, Error, Generation, Journal, Mode, Owner, RowLookup, Writer, WriterOptions};
use tapline_recorder::{Opened, SessionRef, Store, TapeRecord, Way};
use tapline_timeline::{
    Append, Change, Close, Lookup as _, Row, RowId, Session, SessionId, SessionState, Time, Timeline,
};

use crate::wrap::{Archive, Input, Ledger, Trouble};

/// How a connection is written.
#[derive(Debug, Clone)]
pub struct ArchiveOptions {
    /// How Tapline came to the sessions.
    pub mode: Mode,
    /// Under what the agent's own session ids are kept: a name or command of the agent, the same each time. Nothing: what
    /// the record's own opening calls it.
    pub agent: Option<String>,
    /// For an import: a key made from the content.
    pub origin: Option<String>,
    /// How long writing an input may wait when the journal is behind. Nothing: never, the caller keeps inputs elsewhere.
    pub patience: Option<Duration>,
    /// The session that is gone on with: the first one that the connection speaks of by an id it had before. Nothing: the
    /// one that has that id at this agent, if there is one.
    pub resume: Option<SessionId>,
}

/// A journal, opened for connections.
#[derive(Clone)]
pub struct JournalArchive {
    journal: Arc<dyn Journal>,
    options: ArchiveOptions,
}

impl JournalArchive {
    /// The journal, for connections that are written as `options` say.
    pub fn new(journal: Arc<dyn Journal>, options: ArchiveOptions) -> Self {
        Self { journal, options }
    }

    /// Opens the ledger of a connection.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn ledger(&self, connection: &str) -> Result<JournalLedger, Error> {
        let options = WriterOptions {
            patience: self.options.patience,
            on_saved: None,
        };
        let writer = self.journal.writer(connection, options)?;
        let saved = writer.saved_input();
        let before = match saved {
            0 => Vec::new(),
            _ => {
                let tapes = self.journal.tapes(None)?;
                let tape = tapes.into_iter().find(|t| t.connection == connection);
                tape.map(|t| t.sessions).unwrap_or_default()
            }
        };
        Ok(JournalLedger {
            journal: Arc::clone(&self.journal),
            agent: self.options.agent.clone().unwrap_or_default(),
            options: self.options.clone(),
            connection: connection.to_owned(),
            lookup: writer.lookup(),
            writer,
            saved,
            number: 0,
            before,
            held: Vec::new(),
            bytes: Vec::new(),
            lasting: None,
        })
    }
}

impl Archive for JournalArchive {
    fn open(&self, connection: &str) -> Result<Box<dyn Ledger>, String> {
        match self.ledger(connection) {
            Ok(ledger) => Ok(Box::new(ledger)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn tape(&self, connection: &str, number: u64) -> Result<Vec<Input>, String> {
        let inputs = self.journal.read_tape(connection, number, 4096);
        let inputs = inputs.map_err(|e| e.to_string())?;
        Ok(inputs.into_iter().map(|i| (i.number, i.at, i.bytes)).collect())
    }
}

/// One connection's part of a journal.
pub struct JournalLedger {
    journal: Arc<dyn Journal>,
    options: ArchiveOptions,
    /// Under what the agent's own session ids are kept.
    agent: String,
    connection: String,
    writer: Writer,
    lookup: RowLookup,
    /// Inputs up to this one were saved before.
    saved: u64,
    /// The input that is handled.
    number: u64,
    /// Sessions of this connection that were saved before and are not open yet, in the order in which they began.
    before: Vec<SessionId>,
    held: Vec<Held>,
    bytes: Vec<u8>,
    lasting: Option<String>,
}

struct Held {
    id: SessionId,
    /// What was given again of a session that was saved before, until that is all.
    again: Option<Box<Timeline>>,
    /// The journal's rows from here on are numbered this much higher than the recorder's: rows that a settlement added
    /// meanwhile.
    from: u64,
    shift: u64,
    /// It goes on behind what was saved before.
    resumed: bool,
    /// The hold on it, once there is one.
    generation: Option<Generation>,
    provider: Option<String>,
    /// The agent process is gone, by the session's own last word.
    ended: bool,
}

impl JournalLedger {
    /// The journal's sessions of this connection so far.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        self.held.iter().map(|h| &h.id)
    }

    /// The hold on a session of this connection.
    pub fn generation(&self, session: &SessionId) -> Option<&Generation> {
        let held = self.held.iter().find(|held| held.id == *session);
        held.and_then(|held| held.generation.as_ref())
    }

    /// A row as it stands now, saved or not.
    pub fn newest(&self, id: &RowId) -> Option<Arc<Row>> {
        self.lookup.row(id)
    }

    /// Whether all that was given is on stable storage.
    pub fn is_saved(&self) -> bool {
        self.writer.saved_input() >= self.number
    }

    /// Whether what comes now was saved before.
    fn is_again(&self) -> bool {
        self.number <= self.saved
    }

    /// Ends the generations of this connection: nothing more comes. Waits until all is saved.
    ///
    /// # Errors
    /// Where the journal cannot save it.
    pub fn end(mut self) -> Result<(), Error> {
        self.writer.flush()?;
        self.release()
    }

    /// Ends the generations of sessions that have ended.
    fn release(&mut self) -> Result<(), Error> {
        for held in self.held.iter().filter(|held| held.ended) {
            match self.writer.end(&held.id) {
                Ok(()) | Err(Error::NotBegun { .. } | Error::Fenced { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until all is saved.
    ///
    /// # Errors
    /// Where the journal cannot save it.
    pub fn save(&mut self) -> Result<(), Error> {
        if let Some(lasting) = &self.lasting {
            return Err(Error::IntentRefused {
                reason: lasting.clone(),
            });
        }
        self.writer.flush()
    }

    /// What the journal has taken it keeps and tries again; these pass.
    fn fail(&mut self, error: &Error) {
        if !matches!(
            error,
            Error::Full { .. } | Error::Locked { .. } | Error::Behind { .. }
        ) {
            self.lose(error);
        }
    }

    /// The journal has not taken something: nothing that comes after it may be written.
    fn lose(&mut self, error: &Error) {
        self.lasting.get_or_insert_with(|| error.to_string());
    }

    /// `place` is the session's place in an import, of which it keeps the key; nothing for a session that is there.
    fn begin(&mut self, id: &SessionId, place: Option<usize>) -> Option<Generation> {
        let origin = match (&self.options.origin, place) {
            (None, _) | (_, None) => None,
            (Some(origin), Some(0)) => Some(origin.clone()),
            // The key must differ for each session of one import.
            (Some(origin), Some(n)) => Some(format!("{origin}#{}", n + 1)),
        };
        let begin = Begin {
            session: id.clone(),
            owner: owner(),
            mode: self.options.mode,
            origin,
        };
        match self.writer.begin(&begin) {
            Ok(generation) => Some(generation),
            Err(error) => {
                self.lasting.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }

    /// Goes over from what is given again to what is new.
    fn go_on(&mut self, at: usize) {
        let Some(again) = self.held[at].again.take() else {
            return;
        };
        let id = self.held[at].id.clone();
        let seq = again.rows().last().map_or(0, |row| row.seq);
        if let Some(generation) = self.begin(&id, None) {
            let held = &mut self.held[at];
            let shift = generation.last_seq.saturating_sub(seq);
            (held.from, held.shift, held.resumed) = (seq, shift, true);
            held.generation = Some(generation);
        }
    }

    fn new_id(&self, provider: Option<&str>) -> SessionId {
        match self.options.mode {
            // The same file gives the same ids.
            Mode::Imported => {
                let n = self.held.len() + 1;
                let name = provider.unwrap_or("session");
                let key = format!("{}\n{n}\n{name}", self.connection);
                SessionId::from(format!("i{}", &blake3::hash(key.as_bytes()).to_hex()[..20]))
            }
            Mode::Wrapped | Mode::Hosted => SessionId::from(uuid::Uuid::now_v7().simple().to_string()),
        }
    }
}

/// A session whose end was told is let go in order; any other is settled by whoever sees it next.
impl Drop for JournalLedger {
    fn drop(&mut self) {
        if self.lasting.is_none() && self.writer.trouble().is_none() {
            let _ = self.release();
        }
    }
}

impl Store for JournalLedger {
    fn open(&mut self, _: SessionRef, provider: Option<&str>, way: Way) -> Opened {
        if self.is_again() && !self.before.is_empty() {
            // The one that has this id at the agent; one without any had none when it began.
            let place = self.before.iter().position(|id| {
                let known = self.journal.session(id).ok().flatten();
                let ids = known.map(|k| k.session.provider_sessions).unwrap_or_default();
                provider.map_or(ids.is_empty(), |p| ids.iter().any(|id| id == p))
            });
            let id = self.before.remove(place.unwrap_or(0));
            let known = self.journal.session(&id).ok().flatten();
            let held = Held {
                id: id.clone(),
                again: Some(Box::default()),
                from: 0,
                shift: 0,
                resumed: false,
                generation: None,
                provider: known.and_then(|k| k.session.provider_session),
                ended: false,
            };
            self.held.push(held);
            return Opened {
                session: Session::new(id),
                seq: 0,
            };
        }
        let known = match (provider, way) {
            (Some(_), Way::Known) if self.options.resume.is_some() => self.options.resume.take(),
            (Some(provider), Way::Known | Way::Child(_)) => self
                .journal
                .session_of_provider(&self.agent, provider)
                .ok()
                .flatten(),
            _ => None,
        };
        let entry = known
            .as_ref()
            .and_then(|id| self.journal.session(id).ok().flatten());
        let id = known.unwrap_or_else(|| self.new_id(provider));
        let generation = self.begin(&id, Some(self.held.len()));
        let seq = generation.as_ref().map_or(0, |generation| generation.last_seq);
        self.held.push(Held {
            id: id.clone(),
            again: None,
            from: 0,
            shift: 0,
            resumed: false,
            generation,
            provider: None,
            ended: false,
        });
        let session = entry.map_or_else(|| Session::new(id), |entry| entry.session);
        Opened { session, seq }
    }

    fn change(&mut self, session: SessionRef, change: &Change<'_>) {
        let at = session.0 as usize;
        if at >= self.held.len() || self.lasting.is_some() {
            return;
        }
        if self.is_again() {
            if let Some(again) = &mut self.held[at].again {
                again.apply(change);
            }
            return;
        }
        self.go_on(at);
        let Held {
            from, shift, resumed, ..
        } = self.held[at];
        // A settlement has changed each row that was open once, so what goes on with one counts from there.
        let moved = |seq: u64| if seq > from { (seq + shift, 0) } else { (seq, 1) };
        let told = match change {
            Change::Put(row) if shift > 0 && row.seq > from => {
                let mut row = Row::clone(row);
                row.seq += shift;
                self.writer.apply(&Change::Put(&Arc::new(row)))
            }
            Change::Append(append) if resumed => {
                let (seq, more) = moved(append.seq);
                self.writer.apply(&Change::Append(Append {
                    seq,
                    revision: append.revision + more,
                    ..*append
                }))
            }
            Change::Close(close) if resumed => {
                let (seq, more) = moved(close.seq);
                self.writer.apply(&Change::Close(Close {
                    seq,
                    revision: close.revision + more,
                    ..*close
                }))
            }
            change => self.writer.apply(change),
        };
        if let Err(error) = told {
            self.lose(&error);
        }
        if let Change::Session(session) = change {
            self.held[at].ended = session.state == SessionState::Ended;
        }
        if let Change::Session(session) = change
            && let Some(provider) = &session.provider_session
            && self.held[at].provider.as_ref() != Some(provider)
        {
            self.held[at].provider = Some(provider.clone());
            let kept = self.writer.provider(&session.id, &self.agent, provider);
            if let Err(error) = kept {
                self.lose(&error);
            }
        }
    }

    fn row(&self, session: SessionRef, id: &RowId) -> Option<Arc<Row>> {
        let held = self.held.get(session.0 as usize)?;
        if let Some(again) = &held.again {
            return again.row(id);
        }
        let mut row = self.lookup.row(id)?;
        if held.shift > 0 && row.seq > held.from {
            Arc::make_mut(&mut row).seq -= held.shift;
        }
        Some(row)
    }

    fn blob(&mut self, _: &str, bytes: &[u8]) {
        if self.is_again() || self.lasting.is_some() {
            return;
        }
        if let Err(error) = self.writer.blob(bytes) {
            self.lose(&error);
        }
    }

    fn input(&mut self, record: &TapeRecord<'_>) {
        self.number = record.number;
        if self.options.agent.is_none()
            && let Some(opening) = &record.opening
        {
            self.agent = opening.hint.as_deref().unwrap_or_default().to_owned();
        }
        if self.is_again() || self.lasting.is_some() {
            return;
        }
        self.bytes.clear();
        record.encode(&mut self.bytes);
        if let Err(error) = self.writer.input(record.number, record.at, &self.bytes) {
            self.lose(&error);
        }
    }

    fn complete(&mut self) {
        if self.is_again() || self.lasting.is_some() {
            return;
        }
        // A journal that is behind is waited for, where the caller has patience: what was taken is kept, and the next
        // change might not be.
        while let Err(error) = self.writer.seal() {
            let waits = matches!(error, Error::Behind { .. }) && self.options.patience.is_some();
            if !waits {
                self.fail(&error);
                return;
            }
        }
    }
}

impl Ledger for JournalLedger {
    fn saved(&self) -> u64 {
        self.writer.saved_input()
    }

    fn trouble(&self) -> Option<Trouble> {
        if let Some(lasting) = &self.lasting {
            return Some(Trouble::Lasting(lasting.clone()));
        }
        self.writer
            .trouble()
            .map(|error| Trouble::Passing(error.to_string()))
    }

    fn flush(&mut self) {
        if self.lasting.is_none()
            && let Err(error) = self.writer.flush()
        {
            self.fail(&error);
        }
    }
}

/// This process, as the owner of what it writes.
pub fn owner() -> Owner {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Owner {
        pid: std::process::id(),
        host,
        started: Time::At(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
    }
}

//! The journal as a ledger: what a recorder changes goes to one writer, input by input.
//!
//! A session of ours is named after the connection and counted on it, so that the same tape gives the same ids. One that the
//! client asks for by the agent's own id goes on where the journal has it, unless another process holds it right now: then
//! this connection keeps a record of its own.
//!
//! The writer takes an input and its changes together or not at all. It holds what the journal cannot write yet and tries
//! again; what it refuses for good ends this ledger, and whoever gave it the inputs keeps them elsewhere.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tapline_journal::{Begin, Error, Journal, Mode, Owner, RowLookup, Writer, WriterOptions};
use tapline_recorder::{Opened, SessionRef, Store, TapeRecord, Way};
use tapline_timeline::{Change, Lookup, Row, RowId, Session, SessionId, Time};

use crate::wrap::{Archive, Input, Ledger, Trouble};

/// How long the recorder thread waits at once for a journal that is behind.
const PATIENCE: Duration = Duration::from_millis(250);

/// How many inputs of a tape are read at once.
const TAPE_WINDOW: usize = 1024;

/// A journal in which connections are recorded.
#[derive(Clone)]
pub struct JournalArchive {
    journal: Arc<dyn Journal>,
    /// Under which name the agent's own session ids are remembered.
    agent: String,
    mode: Mode,
}

impl JournalArchive {
    /// Records connections to `agent` in a journal.
    pub fn new(journal: Arc<dyn Journal>, agent: &str, mode: Mode) -> Self {
        Self {
            journal,
            agent: agent.to_owned(),
            mode,
        }
    }

    /// The ledger of a connection of which nothing is in the journal yet.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn ledger(&self, connection: &str) -> Result<JournalLedger, Error> {
        let options = WriterOptions {
            patience: Some(PATIENCE),
            on_saved: None,
        };
        let writer = self.journal.writer(connection, options)?;
        Ok(JournalLedger {
            archive: self.clone(),
            connection: connection.to_owned(),
            lookup: writer.lookup(),
            writer,
            sessions: Vec::new(),
            bytes: Vec::new(),
            failed: None,
        })
    }
}

impl Archive for JournalArchive {
    fn open(&self, connection: &str) -> Result<Box<dyn Ledger>, String> {
        let ledger = self.ledger(connection).map_err(|error| error.to_string())?;
        match ledger.saved() {
            0 => Ok(Box::new(ledger)),
            // Its owner died and was settled, or is about to be: rows that say so stand where the rest would go.
            saved => Err(format!(
                "the journal has the first {saved} inputs of connection {connection}; the rest stays in its side file"
            )),
        }
    }

    fn tape(&self, connection: &str, number: u64) -> Result<Vec<Input>, String> {
        let inputs = self.journal.read_tape(connection, number, TAPE_WINDOW);
        let inputs = inputs.map_err(|error| error.to_string())?;
        Ok(inputs
            .into_iter()
            .map(|input| (input.number, input.at, input.bytes))
            .collect())
    }
}

/// The ledger of one connection in a journal.
///
/// Dropping it ends its sessions in good order.
pub struct JournalLedger {
    archive: JournalArchive,
    connection: String,
    writer: Writer,
    lookup: RowLookup,
    sessions: Vec<Held>,
    bytes: Vec<u8>,
    failed: Option<Error>,
}

struct Held {
    id: SessionId,
    /// The agent's id of it that the journal was told last.
    provider: Option<String>,
}

impl JournalLedger {
    /// Begins a generation; says what is known of the session.
    fn begin(&mut self, id: &SessionId) -> Result<Opened, Error> {
        let generation = self.writer.begin(&Begin {
            session: id.clone(),
            owner: owner(),
            mode: self.archive.mode,
            origin: None,
        })?;
        let known = if generation.last_seq == 0 {
            None
        } else {
            self.archive.journal.session(id)?
        };
        Ok(Opened {
            session: known.map_or_else(|| Session::new(id.clone()), |entry| entry.session),
            seq: generation.last_seq,
        })
    }

    fn find_or_make(
        &mut self,
        session: SessionRef,
        provider: Option<&str>,
        way: Way,
    ) -> Result<Opened, Error> {
        if let (Some(provider), Way::Known | Way::Child(_)) = (provider, way)
            && let Some(id) = self
                .archive
                .journal
                .session_of_provider(&self.archive.agent, provider)?
        {
            match self.begin(&id) {
                Err(Error::Held { .. }) => {}
                opened => return opened,
            }
        }
        self.begin(&SessionId::from(format!(
            "{}-{}",
            self.connection,
            u64::from(session.0) + 1
        )))
    }

    fn tell_provider(&mut self, place: usize, provider: &str) -> Result<(), Error> {
        let Some(held) = self.sessions.get_mut(place) else {
            return Ok(());
        };
        if held.provider.as_deref() == Some(provider) {
            return Ok(());
        }
        held.provider = Some(provider.to_owned());
        self.writer.provider(&held.id, &self.archive.agent, provider)
    }

    fn note<T>(&mut self, done: Result<T, Error>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }
}

impl Store for JournalLedger {
    fn open(&mut self, session: SessionRef, provider: Option<&str>, way: Way) -> Opened {
        let opened = match self.find_or_make(session, provider, way) {
            Ok(opened) => opened,
            Err(error) => {
                self.failed.get_or_insert(error);
                // The recorder goes on; the ledger takes nothing more.
                Opened {
                    session: Session::new(SessionId::from(format!("{}-lost", self.connection))),
                    seq: 0,
                }
            }
        };
        debug_assert_eq!(session.0 as usize, self.sessions.len());
        self.sessions.push(Held {
            id: opened.session.id.clone(),
            provider: None,
        });
        if let Some(provider) = provider
            && self.failed.is_none()
        {
            let told = self.tell_provider(session.0 as usize, provider);
            self.note(told);
        }
        opened
    }

    fn change(&mut self, session: SessionRef, change: &Change<'_>) {
        if self.failed.is_some() {
            return;
        }
        let applied = self.writer.apply(change);
        self.note(applied);
        if let Change::Session(Session {
            provider_session: Some(provider),
            ..
        }) = change
        {
            let told = self.tell_provider(session.0 as usize, provider);
            self.note(told);
        }
    }

    fn row(&self, _: SessionRef, id: &RowId) -> Option<Arc<Row>> {
        self.lookup.row(id)
    }

    fn blob(&mut self, _: &str, bytes: &[u8]) {
        if self.failed.is_none() {
            let stored = self.writer.blob(bytes);
            self.note(stored);
        }
    }

    fn input(&mut self, record: &TapeRecord<'_>) {
        if self.failed.is_some() {
            return;
        }
        self.bytes.clear();
        record.encode(&mut self.bytes);
        let taken = self.writer.input(record.number, record.at, &self.bytes);
        self.note(taken);
    }

    fn complete(&mut self) {
        if self.failed.is_some() {
            return;
        }
        // A journal that is behind is waited for, however long it takes: only this thread waits.
        while let Err(error) = self.writer.seal() {
            if !matches!(error, Error::Behind { .. }) {
                if !error.may_pass() {
                    self.failed = Some(error);
                }
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
        if let Some(error) = &self.failed {
            return Some(Trouble::Lasting(error.to_string()));
        }
        self.writer.trouble().map(|error| {
            let text = error.to_string();
            if error.may_pass() {
                Trouble::Passing(text)
            } else {
                Trouble::Lasting(text)
            }
        })
    }

    fn flush(&mut self) {
        // What keeps it from being saved is told as trouble.
        let _ = self.writer.flush();
    }
}

impl Drop for JournalLedger {
    fn drop(&mut self) {
        // One that failed or panicked has not heard all: its sessions are not ended in good order.
        if self.failed.is_some() || std::thread::panicking() {
            return;
        }
        for held in &self.sessions {
            let _ = self.writer.end(&held.id);
        }
    }
}

fn owner() -> Owner {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Owner {
        pid: std::process::id(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        started: Time::At(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
    }
}

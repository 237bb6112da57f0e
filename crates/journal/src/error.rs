//! What can go wrong, as sentences a person can act on.
//!
//! Errors are cheap to clone: when one commit fails, everyone whose changes stood in it is told the same thing. The
//! engine's own error is kept as the source, so that a log can show it; the sentence never depends on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tapline_timeline::{RowId, SessionId};

use crate::model::{IntentId, IntentState};
use crate::sqlite::LogDamage;

/// An error of the engine or of the system below, kept as the source of ours.
pub type Source = Arc<dyn std::error::Error + Send + Sync>;

/// What can go wrong with a journal.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No place for the journal is known.
    #[error(
        "No folder for the journal is known: this account has no home. Set TAPLINE_HOME to a folder of yours."
    )]
    NoHome,
    /// The system does not let us in.
    #[error("No permission for {}. Make it yours (chown), or set TAPLINE_HOME to a folder of yours.", path.display())]
    NoPermission {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: Source,
    },
    /// The journal can be read and not written.
    #[error("The journal {} can be read but not written. Nothing was changed; make the file and its folder writable.", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The disk, or the journal's own limit, is full.
    #[error("No space is left for the journal {}. What was reported as saved is safe; free some space.", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the journal.
    #[error("Another process kept the journal {} locked for {} ms. It is tried again; if it goes on, look who holds the file.", path.display(), waited.as_millis())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long we waited.
        waited: Duration,
    },
    /// The file is no longer what was written.
    #[error("The journal {} is damaged: {detail}. Nothing was changed; keep a copy of the file and restore a backup.", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, as far as it is known.
        detail: String,
    },
    /// The log of the file is no longer what was written, in a part that was committed. SQLite would drop what stands behind
    /// that without a word, so it is not asked to open the file.
    #[error("The journal {} is damaged: {damage}. Nothing was changed. Keep a copy of its folder and restore a backup; or run `tapline doctor --cut-log`, which keeps a copy and goes on with what stands before the damage.", path.display())]
    DamagedLog {
        /// The file.
        path: PathBuf,
        /// Where its log is damaged, and what stands behind.
        damage: LogDamage,
    },
    /// The file was written by a newer Tapline.
    #[error("The journal {} has format {found}, this Tapline knows {known} and older. Nothing was changed; use a newer Tapline.", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// The file is no journal.
    #[error("The file {} is no journal of Tapline. Nothing was changed; move it away or choose another TAPLINE_HOME.", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Someone else writes this session now.
    #[error(
        "Session {session} is held by generation {current} now; this writer has generation {held} and may no longer write it."
    )]
    Fenced {
        /// The session.
        session: SessionId,
        /// The generation of the writer.
        held: u64,
        /// The generation that holds the session.
        current: u64,
    },
    /// A live process holds this session.
    #[error("Session {session} is held by process {pid} on {host}. End that process first.")]
    Held {
        /// The session.
        session: SessionId,
        /// The owner's process id.
        pid: u32,
        /// The owner's machine.
        host: String,
    },
    /// There is no such session.
    #[error("The journal has no session {session}.")]
    NoSession {
        /// The session.
        session: SessionId,
    },
    /// There is no such row.
    #[error("The journal has no row {row}.")]
    NoRow {
        /// The row.
        row: RowId,
    },
    /// The writer was never given this session.
    #[error("This writer holds no generation of session {session}; begin one first.")]
    NotBegun {
        /// The session.
        session: SessionId,
    },
    /// The connection holds as many sessions as one can.
    #[error("This connection holds {limit} sessions already; end one before another is begun.")]
    TooManySessions {
        /// The limit.
        limit: usize,
    },
    /// This source was imported before.
    #[error("This recording is in the journal already, as session {session}.")]
    AlreadyHere {
        /// The session it became.
        session: SessionId,
        /// Whether its import was finished.
        complete: bool,
    },
    /// An intent that the session cannot take.
    #[error("{reason}")]
    IntentRefused {
        /// Why, as a sentence.
        reason: String,
    },
    /// There is no such intent.
    #[error("The journal has no intent {intent}.")]
    NoIntent {
        /// The intent.
        intent: IntentId,
    },
    /// An intent that is no longer open.
    #[error("Intent {intent} is {state} already.")]
    IntentTaken {
        /// The intent.
        intent: IntentId,
        /// Where it stands.
        state: IntentState,
    },
    /// The journal cannot keep up with the writer.
    #[error(
        "The journal is behind: {bytes} bytes wait to be written, the limit is {limit}. Keep the inputs elsewhere or wait."
    )]
    Behind {
        /// What waits.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A stored row that cannot be read.
    #[error("Row {seq} of session {session} cannot be read: {detail}. Run `tapline rebuild {session}`.")]
    BadRow {
        /// The session.
        session: SessionId,
        /// The row's place.
        seq: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// A tape that cannot be read.
    #[error("The tape {connection} cannot be read from input {number} on: {detail}.")]
    BadTape {
        /// The connection.
        connection: String,
        /// The first input of the piece that is broken.
        number: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// The journal was closed.
    #[error("The journal is closed.")]
    Closed,
    /// Anything else that the engine said.
    #[error("The journal failed while it was {doing}: {source}.")]
    Store {
        /// What was being done, as a phrase.
        doing: &'static str,
        /// What the engine said.
        source: Source,
    },
}

impl Error {
    /// Whether trying the same again later can work: the state of the disk or of another process is in the way.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Error::Full { .. }
                | Error::Locked { .. }
                | Error::ReadOnly { .. }
                | Error::NoPermission { .. }
                | Error::Behind { .. }
                | Error::Store { .. }
        )
    }
}

//! What every journal can do. `contract` holds the tests that say what exactly.

use std::sync::Arc;
use std::time::Duration;

use tapline_timeline::{Json, Row, RowId, SessionId};

use crate::error::Error;
use crate::model::*;
use crate::writer::{Writer, WriterOptions};

/// The durable store of sessions, rows, tapes and intents.
///
/// All calls block until they are done: whoever runs on an async runtime calls them from a thread that may block. Reads
/// see what is committed, at one moment, and never hold up a writer.
pub trait Journal: Send + Sync {
    /// A writer for one connection: its tape, and the sessions it will begin.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    fn writer(&self, connection: &str, options: WriterOptions) -> Result<Writer, Error>;

    /// Sessions, newest change first. Those whose owner is gone are settled before they are shown.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionEntry>, Error>;

    /// One session; settled first if its owner is gone.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn session(&self, session: &SessionId) -> Result<Option<SessionEntry>, Error>;

    /// The session that has, or had, this id at this agent.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn session_of_provider(&self, agent: &str, provider: &str) -> Result<Option<SessionId>, Error>;

    /// The session that was imported under this key, and whether its import was finished.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn session_of_origin(&self, origin: &str) -> Result<Option<(SessionId, bool)>, Error>;

    /// The generations of a session, oldest first.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn generations(&self, session: &SessionId) -> Result<Vec<GenerationInfo>, Error>;

    /// One row.
    ///
    /// # Errors
    /// Where the journal or the row cannot be read.
    fn row(&self, id: &RowId) -> Result<Option<Arc<Row>>, Error>;

    /// A window of rows, in the order of `seq`.
    ///
    /// # Errors
    /// Where the journal or a row cannot be read.
    fn rows(&self, session: &SessionId, window: Window) -> Result<Vec<Arc<Row>>, Error>;

    /// The rows that have not settled, in the order of `seq`: what an assembler that goes on must know.
    ///
    /// # Errors
    /// Where the journal or a row cannot be read.
    fn open_rows(&self, session: &SessionId) -> Result<Vec<Arc<Row>>, Error>;

    /// What changed after a cursor, in the order of cursors.
    ///
    /// # Errors
    /// Where the journal or a row cannot be read.
    fn follow(&self, session: &SessionId, after: u64, follow: Follow) -> Result<Followed, Error>;

    /// The moment now, for [`Watch::Any`].
    fn mark(&self) -> Mark;

    /// Waits until what is watched has changed, or the time is over; says whether it has. Sees what other processes
    /// write too.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn wait(&self, watch: &Watch, timeout: Duration) -> Result<bool, Error>;

    /// Rows that hold all words, newest first.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, Error>;

    /// The bytes of a blob.
    ///
    /// # Errors
    /// Where the journal cannot be read, or the bytes are not those of that name.
    fn blob(&self, hash: &str) -> Result<Option<Vec<u8>>, Error>;

    /// The tapes of a session's connections, or all.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn tapes(&self, session: Option<&SessionId>) -> Result<Vec<TapeInfo>, Error>;

    /// Inputs of a tape from `number` on, in order: at most `limit`, and at most about a block's worth of bytes more than
    /// the first. An empty answer means the end.
    ///
    /// # Errors
    /// [`Error::BadTape`] where the tape is not what was written.
    fn read_tape(&self, connection: &str, number: u64, limit: usize) -> Result<Vec<TapeInput>, Error>;

    /// Posts an intent.
    ///
    /// # Errors
    /// [`Error::IntentRefused`] where Tapline does not drive the session.
    fn post_intent(&self, intent: &NewIntent) -> Result<Intent, Error>;

    /// Changes what an open intent wants.
    ///
    /// # Errors
    /// [`Error::IntentTaken`] once it is no longer open.
    fn edit_intent(&self, intent: IntentId, payload: &Json) -> Result<Intent, Error>;

    /// Takes an open intent back.
    ///
    /// # Errors
    /// [`Error::IntentTaken`] once it is no longer open.
    fn withdraw_intent(&self, intent: IntentId) -> Result<Intent, Error>;

    /// Takes an open intent for the session's owner. Of all who try, one wins.
    ///
    /// # Errors
    /// [`Error::IntentTaken`] for all others; [`Error::Fenced`] for an owner of the past.
    fn claim_intent(&self, intent: IntentId, generation: &Generation) -> Result<Intent, Error>;

    /// Says what became of a claimed intent. `kept` stands in the place of what it wanted from now on, where that must not
    /// be kept as it was.
    ///
    /// # Errors
    /// [`Error::IntentTaken`] where this generation does not hold it.
    fn finish_intent(
        &self,
        intent: IntentId,
        generation: &Generation,
        outcome: &Json,
        kept: Option<&Json>,
    ) -> Result<Intent, Error>;

    /// Intents in the order they were posted.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    fn intents(&self, query: &IntentQuery) -> Result<Vec<Intent>, Error>;

    /// Settles every session whose owner is gone.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    fn settle_dead(&self) -> Result<Vec<Settled>, Error>;

    /// Removes a session with everything that only it has.
    ///
    /// # Errors
    /// [`Error::Held`] where a process writes it.
    fn forget(&self, session: &SessionId) -> Result<Forgotten, Error>;

    /// Checks what can be checked without the recorder: cursors, rows, blobs, tapes, and the file itself.
    ///
    /// # Errors
    /// Where the journal cannot be read at all; what is wrong in it is no error but a finding.
    fn verify(&self, session: Option<&SessionId>) -> Result<Vec<Finding>, Error>;
}

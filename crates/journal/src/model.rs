//! The plain data that goes in and out of a journal.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tapline_timeline::{Grows, Json, Kind, Row, RowId, Session, SessionId, Time};

use crate::error::Error;

/// Who holds a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// When it started.
    pub started: Time,
}

/// How Tapline came to a session; it decides who may be asked to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// An editor drives the agent and Tapline listens.
    Wrapped,
    /// Tapline is the client.
    Hosted,
    /// Traffic recorded elsewhere.
    Imported,
}

impl Mode {
    pub(crate) const ALL: [Mode; 3] = [Mode::Wrapped, Mode::Hosted, Mode::Imported];

    /// The word that stands for it in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Wrapped => "wrapped",
            Mode::Hosted => "hosted",
            Mode::Imported => "imported",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }

    /// Refuses intents that nobody could carry out, with the reason.
    pub(crate) fn takes_intents(self) -> Result<(), Error> {
        let reason = match self {
            Mode::Hosted => return Ok(()),
            Mode::Wrapped => {
                "This session belongs to the editor that started its agent; Tapline only listens. Ask there."
            }
            Mode::Imported => "This session was imported from a recording; there is no agent to ask.",
        };
        Err(Error::IntentRefused {
            reason: reason.to_owned(),
        })
    }
}

/// What a generation begins with.
#[derive(Debug, Clone)]
pub struct Begin {
    /// The session; made if the journal has none of this id.
    pub session: SessionId,
    /// Who holds it.
    pub owner: Owner,
    /// How Tapline came to it.
    pub mode: Mode,
    /// For an import: a key made from the content, unique in the journal.
    pub origin: Option<String>,
}

/// One agent process's hold on a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// The session.
    pub session: SessionId,
    /// Its number, rising from 1.
    pub number: u64,
    /// Cursor of the session's last change when it began.
    pub cursor: u64,
    /// Highest `seq` the session has.
    pub last_seq: u64,
}

/// What is remembered of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerationInfo {
    /// Its number.
    pub number: u64,
    /// The connection whose tape holds its inputs.
    pub connection: String,
    /// Who held it.
    pub owner: Owner,
    /// How Tapline came to the session.
    pub mode: Mode,
    /// How it ended.
    pub end: GenerationEnd,
}

/// How a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenerationEnd {
    /// It has not.
    Running,
    /// Its owner said so.
    Ended,
    /// Its owner was gone and someone else settled what it left. Its number is that of the settling generation.
    Settled,
}

/// Where a session stands, as a list shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A process holds it.
    Live,
    /// A process holds it and someone must decide something.
    Waiting,
    /// Nobody holds it.
    Ended,
    /// Nobody holds it, and its last turn was cut.
    Cut,
}

impl Status {
    /// Where a session stands: held or not, its object ended or not, requests that wait, its last turn cut or not.
    pub(crate) fn of(live: bool, ended: bool, waiting: u64, cut: bool) -> Self {
        match (live && !ended, waiting > 0, cut) {
            (true, true, _) => Status::Waiting,
            (true, false, _) => Status::Live,
            (false, _, true) => Status::Cut,
            (false, _, false) => Status::Ended,
        }
    }

    /// The word that stands for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Live => "live",
            Status::Waiting => "waiting",
            Status::Ended => "ended",
            Status::Cut => "cut",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// The session object, with its cursor.
    pub session: Session,
    /// Where it stands.
    pub status: Status,
    /// How Tapline came to it.
    pub mode: Mode,
    /// How many rows it has.
    pub rows: u64,
    /// How many requests wait for someone.
    pub waiting: u64,
    /// Cursor of its last change of any kind.
    pub cursor: u64,
    /// When the journal first heard of it, milliseconds since 1970.
    pub created_ms: i64,
    /// When the journal last changed it, milliseconds since 1970.
    pub changed_ms: i64,
    /// Where the next page begins, if this is the last entry of one.
    pub place: Place,
}

/// A place in the list of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Milliseconds since 1970 of the last change.
    pub changed_ms: i64,
    /// Number of the session in this journal.
    pub number: i64,
}

/// Which sessions a list shows: newest change first.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// Only those that stand so.
    pub status: Option<Status>,
    /// Only those that were started from this one.
    pub parent: Option<SessionId>,
    /// Only what comes after this place.
    pub after: Option<Place>,
    /// How many at most; 0 means [`crate::LIST_LIMIT`].
    pub limit: usize,
}

/// Which rows of a session, in the order of `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The last so many.
    Last(usize),
    /// The last so many before this `seq`.
    Before(u64, usize),
    /// So many from this `seq` on.
    From(u64, usize),
}

/// How a reader follows a session.
#[derive(Debug, Clone, Copy)]
pub struct Follow {
    /// How many items at most.
    pub limit: usize,
    /// Tell a row as it was last written and what it grew by since as [`News::Append`]; else each changed row comes once,
    /// whole.
    pub appends: bool,
}

/// What a follower reads: everything that changed after its cursor, in the order of cursors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Followed {
    /// What changed.
    pub news: Vec<News>,
    /// The cursor to go on from.
    pub cursor: u64,
    /// Whether there is more already.
    pub more: bool,
}

/// One piece of news.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// The session object as it is now; its cursor stands in it.
    Session(Box<Session>),
    /// A row as it is now; its cursor stands in it.
    Row(Arc<Row>),
    /// Text that a row grew by.
    Append {
        /// The row.
        id: RowId,
        /// Its place.
        seq: u64,
        /// What grew.
        member: Grows,
        /// Length of the member before, in bytes.
        offset: u64,
        /// What was added.
        text: String,
        /// Cursor of the change.
        cursor: u64,
    },
}

impl News {
    /// The cursor of the change.
    pub fn cursor(&self) -> u64 {
        match self {
            News::Session(session) => session.cursor.unwrap_or(0),
            News::Row(row) => row.cursor.unwrap_or(0),
            News::Append { cursor, .. } => *cursor,
        }
    }
}

/// One input on a tape. The recorder owns the meaning of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapeInput {
    /// Its number on the connection, rising.
    pub number: u64,
    /// When it came.
    pub at: Option<Time>,
    /// What it is.
    pub bytes: Vec<u8>,
}

/// What is known of a tape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapeInfo {
    /// The connection.
    pub connection: String,
    /// Number of its last input, 0 where it has none.
    pub last: u64,
    /// How many compressed blocks it has.
    pub blocks: u64,
    /// Hash of the last block, hex.
    pub head: Option<String>,
    /// The sessions that used the connection.
    pub sessions: Vec<SessionId>,
}

/// Number of an intent, rising over the whole journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IntentId(pub u64);

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What someone wants of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct NewIntent {
    /// The session.
    pub session: SessionId,
    /// What kind: `prompt`, `answer`, `stop`, `set_option`, …; the words are the caller's.
    pub kind: String,
    /// What exactly.
    pub payload: Json,
    /// Who wants it.
    pub by: String,
}

/// An intent as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// Its number.
    pub id: IntentId,
    /// The session.
    pub session: SessionId,
    /// What kind.
    pub kind: String,
    /// What exactly.
    pub payload: Json,
    /// Who wants it.
    pub by: String,
    /// When it was posted, milliseconds since 1970.
    pub posted_ms: i64,
    /// Where it stands.
    pub state: IntentState,
    /// The generation that claimed it.
    pub generation: Option<u64>,
    /// What became of it.
    pub outcome: Option<Json>,
}

/// Where an intent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentState {
    /// Nobody took it yet.
    Open,
    /// The session's owner took it.
    Claimed,
    /// It has an outcome.
    Done,
    /// It was taken back before anyone took it.
    Withdrawn,
}

impl IntentState {
    pub(crate) const ALL: [IntentState; 4] = [
        IntentState::Open,
        IntentState::Claimed,
        IntentState::Done,
        IntentState::Withdrawn,
    ];

    /// The word that stands for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            IntentState::Open => "open",
            IntentState::Claimed => "claimed",
            IntentState::Done => "done",
            IntentState::Withdrawn => "withdrawn",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

impl fmt::Display for IntentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which intents to list, in the order they were posted.
#[derive(Debug, Clone, Default)]
pub struct IntentQuery {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those that stand so.
    pub state: Option<IntentState>,
    /// Only those after this one.
    pub after: Option<IntentId>,
    /// How many at most; 0 means [`crate::LIST_LIMIT`].
    pub limit: usize,
}

/// What to search for.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// A person's words; all must occur. `"two words"` in quotes must stand together; a word with `*` at its end is a
    /// beginning.
    pub words: String,
    /// Only rows of these kinds; all where it is empty.
    pub kinds: Vec<Kind>,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// How many hits at most; 0 means [`crate::SEARCH_LIMIT`].
    pub limit: usize,
    /// Only hits after this one, for the next page.
    pub after: Option<HitPlace>,
}

/// A place in a list of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HitPlace(pub i64);

/// A row that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// The row.
    pub row: RowId,
    /// Its place.
    pub seq: u64,
    /// Its kind.
    pub kind: Kind,
    /// The words around the first match.
    pub snippet: Snippet,
    /// Where the next page begins, if this is the last hit of one.
    pub place: HitPlace,
}

/// Some text with the matches in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// The text, on one line.
    pub text: String,
    /// Where the words that were searched for stand in it, as byte ranges.
    pub matches: Vec<(usize, usize)>,
}

/// What a wait looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    /// A change of this session after this cursor.
    Session(SessionId, u64),
    /// A change of anything after this mark.
    Any(Mark),
    /// An intent after this one, of any session or of one.
    Intent(Option<SessionId>, IntentId),
}

/// A moment in the life of a journal as this process sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Mark(pub u64);

/// A session that was settled because its owner is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The session.
    pub session: SessionId,
    /// The generation whose owner is gone.
    pub dead: u64,
    /// Cursor after the settlement.
    pub cursor: u64,
}

/// What forgetting removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Rows.
    pub rows: u64,
    /// Blobs that nothing else used.
    pub blobs: u64,
    /// Tapes.
    pub tapes: u64,
    /// Connections whose tape stays because another session used them too: its frames are on it still.
    pub shared_tapes: Vec<String>,
}

/// Something that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The session or connection it is about; none for the file as a whole.
    pub about: Option<String>,
    /// What is wrong, as a sentence.
    pub text: String,
}

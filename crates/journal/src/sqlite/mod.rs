//! The journal in one SQLite file.
//!
//! One thread per process writes ([`engine`]); reads have connections of their own and never wait for it. Several
//! processes may write different sessions of one file: SQLite's lock orders their transactions, the generation in each
//! transaction keeps them apart. Rows and inputs are keyed by `session << 40 | seq` and `tape << 40 | number`: a window
//! of a session is one stretch of the table.

mod cut;
mod engine;
mod find;
mod held;
mod intake;
mod intents;
mod log;
mod news;
mod owner;
mod read;
mod schema;
mod store;
mod tail;
mod tails;
mod tapes;
mod taping;
mod verify;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use tapline_timeline::{Json, Row, RowId, SessionId};

use crate::error::Error;
use crate::home::Home;
use crate::journal::Journal;
use crate::model::*;
use crate::writer::{Backend, Begun, Slot, Writer, WriterOptions};

pub use cut::CutLog;
use engine::{Engine, Queue};
pub use engine::{GROUP_COMMIT, RETRY};
use held::Held;
pub use log::{LogDamage, LogFault};
use read::Db;
pub use schema::LOCK_WAIT;
use store::Store;
use tails::Tails;

/// Bits of a key below the session or tape.
const SHIFT: u32 = 40;
const MASK: i64 = (1 << SHIFT) - 1;

/// Connections that wait for the next reader.
const IDLE_READERS: usize = 8;

/// Time between two looks for what other processes wrote, while someone waits.
const POLL: Duration = Duration::from_millis(20);

/// A journal in an SQLite file. Cheap to clone; the last clone to go commits what was sealed and closes the file.
#[derive(Clone)]
pub struct SqliteJournal {
    shared: Arc<Shared>,
    _thread: Arc<Thread>,
}

/// How a journal is opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct SqliteOptions {
    /// Most bytes that the file may have: a quota of our own.
    pub max_bytes: Option<u64>,
    /// How long the writing thread waits for another process; [`LOCK_WAIT`] where nothing is said.
    pub lock_wait: Option<Duration>,
}

struct Shared {
    path: PathBuf,
    live: PathBuf,
    queue: Arc<Queue>,
    readers: Mutex<Vec<Connection>>,
    changes: Arc<Changes>,
    /// Goes after the connections do.
    _held: Arc<Held>,
}

/// Wakes those who wait for a change.
#[derive(Default)]
struct Changes {
    seen: Mutex<Seen>,
    moved: Condvar,
}

#[derive(Default)]
struct Seen {
    mark: u64,
    /// SQLite's own count of what others wrote, as the watching connection saw it last.
    version: i64,
    /// What the tails were like then.
    tails: u64,
    looked: Option<Instant>,
    watch: Option<Connection>,
}

/// Ends the writing thread when the journal goes.
struct Thread {
    queue: Arc<Queue>,
    handle: Option<JoinHandle<()>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

impl SqliteJournal {
    /// Opens the journal of a home, and makes it where there is none.
    ///
    /// # Errors
    /// A sentence each for: no permission, no space, read-only, locked, damaged, newer than this Tapline, not ours.
    /// Nothing is changed then.
    pub fn open(home: &Home) -> Result<Self, Error> {
        Self::open_with(home, SqliteOptions::default())
    }

    /// Opens it with options.
    ///
    /// # Errors
    /// As [`SqliteJournal::open`].
    pub fn open_with(home: &Home, options: SqliteOptions) -> Result<Self, Error> {
        let (conn, held) = schema::open(home)?;
        let held = Arc::new(held);
        let path = home.database();
        if let Some(bytes) = options.max_bytes {
            let page = schema::pragma(&conn, &path, "page_size")?.max(1);
            let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page;
            conn.pragma_update(None, "max_page_count", pages)
                .map_err(|e| sql_error(&path, "opening it", e))?;
        }
        if let Some(wait) = options.lock_wait {
            conn.busy_timeout(wait)
                .map_err(|e| sql_error(&path, "opening it", e))?;
        }
        let queue = Arc::new(Queue::default());
        let changes = Arc::new(Changes::default());
        let bump = Arc::clone(&changes);
        let engine = Engine {
            queue: Arc::clone(&queue),
            store: Store::new(conn, path.clone(), home.live()),
            on_commit: Box::new(move || bump.bump()),
            _held: Arc::clone(&held),
        };
        let handle = std::thread::Builder::new()
            .name("tapline-journal".to_owned())
            .spawn(move || engine.work())
            .map_err(|error| Error::Store {
                doing: "starting its thread",
                source: Arc::new(error),
            })?;
        let shared = Shared {
            path,
            live: home.live(),
            queue: Arc::clone(&queue),
            readers: Mutex::default(),
            changes,
            _held: held,
        };
        Ok(Self {
            shared: Arc::new(shared),
            _thread: Arc::new(Thread {
                queue,
                handle: Some(handle),
            }),
        })
    }

    /// Gives up what stands behind damage in the log of a journal that cannot be opened for it ([`Error::DamagedLog`]), and
    /// keeps a copy of all that there was. Nothing is done where the log is not damaged.
    ///
    /// # Errors
    /// [`Error::Locked`] while any process has the journal open; [`Error::Full`] where there is no room for the copy. Nothing
    /// is changed then.
    pub fn cut_log(home: &Home) -> Result<Option<CutLog>, Error> {
        cut::cut_log(home)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }
}

impl Shared {
    /// Reads at one moment: what stands in the tables, and in the tails that belong to them.
    fn read<T>(&self, read: impl Fn(Db<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => self.reader()?,
        };
        let (result, sound) = self.read_with(&conn, read);
        if sound {
            let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
            if readers.len() < IDLE_READERS {
                readers.push(conn);
            }
        }
        result
    }

    /// The same with a connection; says whether it can be used again. A tail that was taken in between the beginning of the
    /// transaction and the look at it belongs to younger tables: they are looked at again.
    fn read_with<T>(
        &self,
        conn: &Connection,
        read: impl Fn(Db<'_>) -> Result<T, Error>,
    ) -> (Result<T, Error>, bool) {
        let say = |error| sql_error(&self.path, "reading", error);
        let run = |sql| {
            conn.prepare_cached(sql)
                .and_then(|mut s| s.execute([]))
                .map_err(say)
        };
        let tails = Tails::new(&self.live);
        loop {
            if let Err(error) = run("BEGIN") {
                return (Err(error), false);
            }
            let result = read(Db {
                conn,
                path: &self.path,
                tails: Some(&tails),
            });
            let sound = run("COMMIT").is_ok();
            if !sound || tails.were_right() {
                return (result, sound);
            }
        }
    }

    fn reader(&self) -> Result<Connection, Error> {
        let conn = schema::connect(&self.path)?;
        conn.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -1024")
            .map_err(|error| sql_error(&self.path, "opening it", error))?;
        Ok(conn)
    }

    /// Settles what dead owners left; where that cannot be written, says whose sessions those are.
    fn settle_seen(&self, session: Option<&SessionId>) -> Result<HashSet<i64>, Error> {
        let dead: HashSet<i64> = self.read(|db| {
            let number = match session {
                Some(session) => match db.number(session)? {
                    Some(number) => Some(number),
                    None => return Ok(HashSet::new()),
                },
                None => None,
            };
            let running = db.running(number)?;
            Ok(running
                .iter()
                .filter(|r| r.is_dead(&self.live))
                .map(|r| r.session)
                .collect())
        })?;
        if dead.is_empty() {
            return Ok(dead);
        }
        let only = session.is_some().then(|| dead.iter().next().copied()).flatten();
        match self.queue.run(move |store| store.settle_dead(only)) {
            Ok(_) => Ok(HashSet::new()),
            Err(_) => Ok(dead),
        }
    }

    fn has_changed(&self, watch: &Watch) -> Result<bool, Error> {
        match watch {
            Watch::Any(mark) => Ok(self.changes.mark() > mark.0),
            Watch::Session(session, after) => self.read(|db| Ok(db.cursor(db.need(session)?)? > *after)),
            Watch::Intent(session, after) => self.read(|db| db.has_intent(session.as_ref(), *after)),
        }
    }

    /// Looks whether another process wrote; at most once in [`POLL`], whoever waits.
    fn look(&self) -> Result<(), Error> {
        let mut seen = self.changes.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.looked.is_some_and(|looked| looked.elapsed() < POLL) {
            return Ok(());
        }
        seen.looked = Some(Instant::now());
        let watch = match seen.watch.take() {
            Some(watch) => watch,
            None => self.reader()?,
        };
        let version = watch
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut s| s.query_row([], |row| row.get(0)))
            .map_err(|error| sql_error(&self.path, "looking for changes", error))?;
        let tails = tails::look(&self.live);
        if (version, tails) != (seen.version, seen.tails) {
            (seen.version, seen.tails) = (version, tails);
            seen.mark += 1;
            self.changes.moved.notify_all();
        }
        seen.watch = Some(watch);
        Ok(())
    }
}

impl Changes {
    fn bump(&self) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).mark += 1;
        self.moved.notify_all();
    }

    fn mark(&self) -> u64 {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).mark
    }

    /// Waits until the mark moves.
    fn wait(&self, mark: u64, time: Duration) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self
            .moved
            .wait_timeout_while(seen, time, |seen| seen.mark == mark);
    }
}

impl Backend for Shared {
    fn eager(&self) -> bool {
        false
    }

    fn wake(&self, _: &Arc<Slot>) {
        self.queue.kick();
    }

    fn begin(&self, slot: &Slot, begin: &Begin) -> Result<Begun, Error> {
        let (tape, begin) = (slot.tape, begin.clone());
        self.queue.run(move |store| store.begin(tape, &begin))
    }

    fn committed_row(&self, id: &RowId) -> Result<Option<Arc<Row>>, Error> {
        self.read(|db| db.row(id))
    }

    fn leave(&self, _: &Arc<Slot>) {
        self.queue.kick();
    }
}

impl Journal for SqliteJournal {
    fn writer(&self, connection: &str, options: WriterOptions) -> Result<Writer, Error> {
        let name = connection.to_owned();
        let (tape, last) = self.shared.queue.run(move |store| store.tape_of(&name))?;
        let slot = Arc::new(Slot::new(connection, tape, last, options.on_saved));
        self.shared.queue.join(Arc::clone(&slot));
        Ok(Writer::new(
            slot,
            Arc::clone(&self.shared) as Arc<dyn Backend>,
            options.patience,
        ))
    }

    fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionEntry>, Error> {
        let dead = self.shared.settle_seen(None)?;
        self.shared.read(|db| db.sessions(query, &dead))
    }

    fn session(&self, session: &SessionId) -> Result<Option<SessionEntry>, Error> {
        let dead = self.shared.settle_seen(Some(session))?;
        self.shared.read(|db| db.session(session, &dead))
    }

    fn session_of_provider(&self, agent: &str, provider: &str) -> Result<Option<SessionId>, Error> {
        let sql = "SELECT id FROM providers JOIN sessions ON num = session WHERE agent = ? AND provider = ?";
        let id = self.shared.read(|db| {
            db.one("finding a session", sql, [agent, provider], |row| {
                row.get::<_, String>(0)
            })
        })?;
        Ok(id.map(SessionId::from))
    }

    fn session_of_origin(&self, origin: &str) -> Result<Option<(SessionId, bool)>, Error> {
        let sql = "SELECT id, complete FROM sessions WHERE origin = ?";
        let found = self.shared.read(|db| {
            db.one("finding an import", sql, [origin], |row| {
                Ok((row.get::<_, String>(0)?, row.get(1)?))
            })
        })?;
        Ok(found.map(|(id, complete)| (SessionId::from(id), complete)))
    }

    fn generations(&self, session: &SessionId) -> Result<Vec<GenerationInfo>, Error> {
        self.shared.read(|db| db.generations(db.need(session)?))
    }

    fn row(&self, id: &RowId) -> Result<Option<Arc<Row>>, Error> {
        self.shared.read(|db| db.row(id))
    }

    fn rows(&self, session: &SessionId, window: Window) -> Result<Vec<Arc<Row>>, Error> {
        self.shared.read(|db| db.rows(session, window))
    }

    fn open_rows(&self, session: &SessionId) -> Result<Vec<Arc<Row>>, Error> {
        self.shared.read(|db| db.open_rows(db.need(session)?))
    }

    fn follow(&self, session: &SessionId, after: u64, follow: Follow) -> Result<Followed, Error> {
        self.shared.read(|db| db.follow(session, after, follow))
    }

    fn mark(&self) -> Mark {
        // What another process wrote until now is behind the mark, whether it was looked for or not.
        let _ = self.shared.look();
        Mark(self.shared.changes.mark())
    }

    fn wait(&self, watch: &Watch, timeout: Duration) -> Result<bool, Error> {
        let until = Instant::now() + timeout;
        loop {
            self.shared.look()?;
            let mark = self.shared.changes.mark();
            if self.shared.has_changed(watch)? {
                return Ok(true);
            }
            loop {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(false);
                }
                self.shared.changes.wait(mark, left.min(POLL));
                self.shared.look()?;
                if self.shared.changes.mark() != mark {
                    break;
                }
            }
        }
    }

    fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, Error> {
        self.shared.read(|db| db.search(query))
    }

    fn blob(&self, hash: &str) -> Result<Option<Vec<u8>>, Error> {
        self.shared.read(|db| db.blob(hash))
    }

    fn tapes(&self, session: Option<&SessionId>) -> Result<Vec<TapeInfo>, Error> {
        self.shared.read(|db| db.tapes(session))
    }

    fn read_tape(&self, connection: &str, number: u64, limit: usize) -> Result<Vec<TapeInput>, Error> {
        self.shared.read(|db| db.read_tape(connection, number, limit))
    }

    fn post_intent(&self, intent: &NewIntent) -> Result<Intent, Error> {
        let intent = intent.clone();
        self.shared.queue.run(move |store| store.post_intent(&intent))
    }

    fn edit_intent(&self, intent: IntentId, payload: &Json) -> Result<Intent, Error> {
        let payload = payload.clone();
        self.shared
            .queue
            .run(move |store| store.edit_intent(intent, &payload))
    }

    fn withdraw_intent(&self, intent: IntentId) -> Result<Intent, Error> {
        self.shared.queue.run(move |store| store.withdraw_intent(intent))
    }

    fn claim_intent(&self, intent: IntentId, generation: &Generation) -> Result<Intent, Error> {
        let generation = generation.clone();
        self.shared
            .queue
            .run(move |store| store.claim_intent(intent, &generation))
    }

    fn finish_intent(
        &self,
        intent: IntentId,
        generation: &Generation,
        outcome: &Json,
        kept: Option<&Json>,
    ) -> Result<Intent, Error> {
        let (generation, outcome, kept) = (generation.clone(), outcome.clone(), kept.cloned());
        self.shared
            .queue
            .run(move |store| store.finish_intent(intent, &generation, &outcome, kept.as_ref()))
    }

    fn intents(&self, query: &IntentQuery) -> Result<Vec<Intent>, Error> {
        self.shared.read(|db| db.intents(query))
    }

    fn settle_dead(&self) -> Result<Vec<Settled>, Error> {
        self.shared.queue.run(|store| store.settle_dead(None))
    }

    fn forget(&self, session: &SessionId) -> Result<Forgotten, Error> {
        let session = session.clone();
        self.shared.queue.run(move |store| store.forget(&session))
    }

    fn verify(&self, session: Option<&SessionId>) -> Result<Vec<Finding>, Error> {
        // A connection of its own: the check of the word index trusts what its connection remembers of it, which may be
        // older than the file.
        let conn = self.shared.reader()?;
        let mut findings = self.shared.read_with(&conn, |db| db.verify(session)).0?;
        if session.is_none()
            && let Err(error) = log::check_beside(&self.shared.path)
        {
            findings.push(Finding {
                about: None,
                text: error.to_string(),
            });
        }
        Ok(findings)
    }
}

/// The key of something in a session or on a tape.
fn place(group: i64, number: u64) -> i64 {
    // 2^40 rows, changes or inputs of one session are beyond any chat; a number beyond is kept inside its session.
    (group << SHIFT) | i64::try_from(number).unwrap_or(MASK).min(MASK)
}

/// The first and the last key of a session or a tape.
fn session_range(group: i64) -> (i64, i64) {
    (group << SHIFT, (group << SHIFT) | MASK)
}

/// The sentence for what SQLite said.
fn sql_error(path: &Path, doing: &'static str, error: rusqlite::Error) -> Error {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full { path },
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Locked {
            path,
            waited: LOCK_WAIT,
        },
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged {
            path,
            detail: error.to_string(),
        },
        Some(ErrorCode::NotADatabase) => Error::Damaged {
            path,
            detail: "its head is not that of a journal".to_owned(),
        },
        Some(ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => Error::NoPermission {
            path,
            source: Arc::new(error),
        },
        _ => Error::Store {
            doing,
            source: Arc::new(error),
        },
    }
}

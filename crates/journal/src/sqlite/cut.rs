//! Going on without what stands behind damage in the log.
//!
//! Somebody decided that: a journal with a damaged log is not opened by itself. All files are copied first, so that a
//! better way to read them stays open; then SQLite does what it always does with a log that breaks off, on a file that
//! it has for itself. What comes of it is whole transactions up to the damage. If the log was already being written
//! into the file, pages of later transactions may stand there beside older ones; `verify` finds that.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;
use crate::home::{Home, file_error, private_folder, sync_folder};
use crate::writer::now_ms;

use super::held::Held;
use super::log::{self, LogDamage};
use super::read::Db;
use super::tail::{self, Found};
use super::{schema, sql_error};

/// A log that was cut off where it was damaged.
#[derive(Debug, Clone)]
pub struct CutLog {
    /// The damage.
    pub damage: LogDamage,
    /// The folder with the copy of all that there was.
    pub copy: PathBuf,
}

pub(super) fn cut_log(home: &Home) -> Result<Option<CutLog>, Error> {
    let path = home.database();
    Held::alone(&path, || cut_alone(home, &path)).unwrap_or_else(|| Err(locked(&path)))
}

fn cut_alone(home: &Home, path: &Path) -> Result<Option<CutLog>, Error> {
    let damage = match log::check(path) {
        Ok(()) => return Ok(None),
        Err(Error::DamagedLog { damage, .. }) => damage,
        Err(error) => return Err(error),
    };
    let copy = home.root().join(format!("damaged-{}", now_ms()));
    let live = home.live();
    let done = keep(path, &live, &copy)
        .map_err(|error| file_error(&copy, "keeping a copy", error))
        .and_then(|()| cut(path, &live));
    match done {
        Ok(()) => Ok(Some(CutLog { damage, copy })),
        Err(error) => {
            // The original is as it was; half a copy serves nobody.
            let _ = fs::remove_dir_all(&copy);
            Err(error)
        }
    }
}

/// Copies the journal, its log, its index and its tails, and waits until the copy is on stable storage.
fn keep(path: &Path, live: &Path, copy: &Path) -> io::Result<()> {
    private_folder(copy)?;
    let own = [
        path.to_owned(),
        log::beside(path, "-wal"),
        log::beside(path, "-shm"),
    ];
    for file in own.into_iter().chain(tail::all(live).map(|(file, _)| file)) {
        let Some(name) = file.file_name().filter(|_| file.exists()) else {
            continue;
        };
        let to = copy.join(name);
        fs::copy(&file, &to)?;
        File::open(&to)?.sync_all()?;
    }
    [Some(copy), copy.parent()]
        .into_iter()
        .flatten()
        .try_for_each(sync_folder)
}

/// Lets SQLite read the log up to the damage, write that into the file and begin the log anew.
fn cut(path: &Path, live: &Path) -> Result<(), Error> {
    let say = |error| match sql_error(path, "cutting its log", error) {
        Error::Locked { .. } => locked(path),
        other => other,
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(say)?;
    conn.busy_timeout(Duration::ZERO).map_err(say)?;
    // Exclusive from the first read on: beside another connection that would use the index as it stands, and the damage
    // would get into the file.
    conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL")
        .map_err(say)?;
    let on_close = |keeps| conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps);
    on_close(true).map_err(say)?;
    schema::check(&conn, path)?;
    let busy: i64 = conn
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(say)?;
    if busy != 0 {
        return Err(locked(path));
    }
    on_close(false).map_err(say)?;
    // A tail that goes on from what was cut off belongs to nothing any more; it is in the copy.
    let db = Db {
        conn: &conn,
        path,
        tails: None,
    };
    // Where the damage is at the log's beginning, not even the tables are left.
    let made = schema::pragma(&conn, path, "user_version")?;
    for (file, tape) in tail::all(live) {
        let base = match made {
            0 => 0,
            _ => db.stored_input(tape)?,
        };
        if let Ok(Found::Content(content)) = tail::find(live, tape, base)
            && content.base > Some(base)
        {
            fs::remove_file(&file).map_err(|error| file_error(&file, "removing it", error))?;
        }
    }
    Ok(())
}

fn locked(path: &Path) -> Error {
    Error::Locked {
        path: path.to_owned(),
        waited: Duration::ZERO,
    }
}

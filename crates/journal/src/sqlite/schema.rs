//! Opening the file: whose it is, which format it has, and bringing it up to the newest.
//!
//! A format that was shipped is never edited: each has its own SQL file, whose hash stands here and in the journal.
//! Whatever is not ours, newer than us or damaged is left exactly as it is.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::Error;
use crate::home::{Home, file_error, private_file};

use super::held::Held;
use super::{log, sql_error};

/// How long a process waits for another to let the journal go.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Size of a page of a new journal, in bytes. Each commit writes whole pages, and one of streamed text changes a few hundred
/// bytes in each, so a small page is what keeps the log small. A journal keeps the size that it was made with.
pub(super) const PAGE_BYTES: u32 = 1024;

/// How long the log becomes before it is written into the file, in bytes. A page that changes often is written into the
/// file once for all its changes.
const LOG_BYTES: i64 = 4 << 20;

/// Marks the file as ours in SQLite's header: `TAPL`.
const APPLICATION: i32 = 0x5441_504c;

struct Migration {
    sql: &'static str,
    /// BLAKE3 of `sql`, hex.
    hash: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        sql: include_str!("schema.sql"),
        hash: "64e449082913e5ddd245669e9d92bf7c52fb4aef0704bf0d6ba835a4030a49e1",
    },
    Migration {
        sql: include_str!("schema2.sql"),
        hash: "821a76d20dc79d1c0726ab609660e4355098bd1d13f3232c9aba97b7bbb1c799",
    },
    Migration {
        sql: include_str!("schema3.sql"),
        hash: "0ccdc0edba6087b687ddc88452066200d6998d1fd03f03722ab9608cc71c8639",
    },
];

/// The newest format.
pub(crate) const NEWEST: u32 = MIGRATIONS.len() as u32;

/// Opens the journal of a home for writing, makes it where there is none, and brings it up to date.
pub(super) fn open(home: &Home) -> Result<(Connection, Held), Error> {
    home.prepare()?;
    let path = home.database();
    let held = Held::after(&path, || {
        private_file(&path).map_err(|error| file_error(&path, "opening it", error))?;
        // Before SQLite reads the log: what it takes for the end of the log it writes over.
        log::check(&path)
    })?;
    let mut conn = connect(&path)?;
    check(&conn, &path)?;
    let say = |e| sql_error(&path, "opening it", e);
    // Means something only to a file that has no page yet.
    conn.pragma_update(None, "page_size", PAGE_BYTES).map_err(say)?;
    set_wal(&conn, &path)?;
    migrate(&mut conn, &path)?;
    let page = pragma(&conn, &path, "page_size")?.max(1);
    conn.pragma_update(None, "wal_autocheckpoint", LOG_BYTES / page)
        .map_err(say)?;
    Ok((conn, held))
}

/// A connection with our settings. The file must be there.
pub(super) fn connect(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(|e| sql_error(path, "opening it", e))?;
    conn.busy_timeout(LOCK_WAIT)
        .map_err(|e| sql_error(path, "opening it", e))?;
    conn.set_prepared_statement_cache_capacity(128);
    // FULL: a commit is on stable storage when it returns; on macOS that takes more than its fsync. No mmap: a file that shrinks under us must be an error and
    // not a signal. A cap on the log left behind by a burst; caches small enough that memory stays flat.
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
         PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;
         PRAGMA cache_size = -4096; PRAGMA journal_size_limit = 67108864; PRAGMA trusted_schema = OFF;",
    )
    .map_err(|e| sql_error(path, "opening it", e))?;
    Ok(conn)
}

/// Refuses a file that is not ours or is newer than us, before anything is written to it.
pub(super) fn check(conn: &Connection, path: &Path) -> Result<(), Error> {
    let number = |name| pragma(conn, path, name);
    let (application, format) = (number("application_id")?, number("user_version")?);
    let tables: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|e| sql_error(path, "reading its head", e))?;
    if application != i64::from(APPLICATION) {
        let fresh = application == 0 && format == 0 && tables == 0;
        return if fresh {
            Ok(())
        } else {
            Err(Error::Foreign {
                path: path.to_owned(),
            })
        };
    }
    let found = u32::try_from(format).unwrap_or(u32::MAX);
    if found > NEWEST {
        return Err(Error::Newer {
            path: path.to_owned(),
            found,
            known: NEWEST,
        });
    }
    Ok(())
}

pub(super) fn pragma(conn: &Connection, path: &Path, name: &str) -> Result<i64, Error> {
    conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
        .map_err(|e| sql_error(path, "reading its head", e))
}

/// Turns the log on. SQLite does not wait for others at this one point, so we do: several processes may open a new
/// journal at once.
fn set_wal(conn: &Connection, path: &Path) -> Result<(), Error> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        let mode: Result<String, _> = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {
                return Err(Error::ReadOnly {
                    path: path.to_owned(),
                });
            }
            Err(error) => {
                let error = sql_error(path, "turning its log on", error);
                if !matches!(error, Error::Locked { .. }) || Instant::now() >= until {
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn migrate(conn: &mut Connection, path: &Path) -> Result<(), Error> {
    let say = |e| sql_error(path, "bringing it up to date", e);
    let format = pragma(conn, path, "user_version")?;
    if format < i64::from(NEWEST) {
        let tx = conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(say)?;
        // Another process may have done it while we waited for the lock.
        check(&tx, path)?;
        let done = usize::try_from(pragma(&tx, path, "user_version")?).unwrap_or(0);
        for (index, migration) in MIGRATIONS.iter().enumerate().skip(done) {
            if index == 0 {
                tx.execute_batch(&format!(
                    "PRAGMA application_id = {APPLICATION};
                     CREATE TABLE formats (format INTEGER PRIMARY KEY, hash TEXT NOT NULL) STRICT;"
                ))
                .map_err(say)?;
            }
            tx.execute_batch(migration.sql).map_err(say)?;
            tx.execute("INSERT INTO formats VALUES (?, ?)", (index + 1, migration.hash))
                .map_err(say)?;
            tx.execute_batch(&format!("PRAGMA user_version = {}", index + 1))
                .map_err(say)?;
        }
        tx.commit().map_err(say)?;
    }
    let mut statement = conn
        .prepare("SELECT format, hash FROM formats ORDER BY format")
        .map_err(say)?;
    let formats: Vec<(i64, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .and_then(Iterator::collect)
        .map_err(say)?;
    let as_shipped = formats.len() == MIGRATIONS.len()
        && formats
            .iter()
            .zip(MIGRATIONS)
            .enumerate()
            .all(|(i, ((n, hash), m))| *n == i as i64 + 1 && hash == m.hash);
    if as_shipped {
        Ok(())
    } else {
        let detail = "its list of formats is not the one that was shipped".to_owned();
        Err(Error::Damaged {
            path: path.to_owned(),
            detail,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_were_shipped_are_never_edited() {
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            let hash = blake3::hash(migration.sql.as_bytes()).to_hex();
            assert_eq!(
                hash.as_str(),
                migration.hash,
                "format {} was edited: add another instead",
                index + 1
            );
        }
    }
}

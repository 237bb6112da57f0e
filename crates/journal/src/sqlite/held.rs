//! Which journals this process has open.
//!
//! POSIX drops every lock that a process has on a file as soon as the process closes any descriptor of that file. SQLite
//! holds such locks on the journal and on its index for as long as a connection lives; were one of these files opened and
//! closed beside it, by the same process, other processes could take this one for gone and delete the log under it. So
//! whatever touches these files by itself does it through here: only while nobody in this process has the journal open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// How many hold each journal.
static OPEN: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

fn open() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    // Counts only: no panic leaves them half changed.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that this process has a journal open. Must outlive the last connection to it.
pub(super) struct Held(PathBuf);

impl Held {
    /// Holds a journal; where nobody in this process does yet, `first` comes before, and has the file for itself.
    ///
    /// # Errors
    /// What `first` says; the journal is not held then.
    pub(super) fn after(path: &Path, first: impl FnOnce() -> Result<(), Error>) -> Result<Self, Error> {
        let path = plain(path);
        let mut open = open();
        if !open.contains_key(&path) {
            first()?;
        }
        *open.entry(path.clone()).or_default() += 1;
        Ok(Self(path))
    }

    /// Does something with a journal that nobody in this process has open, and keeps it so meanwhile; nothing where
    /// somebody has.
    pub(super) fn alone<T>(path: &Path, work: impl FnOnce() -> T) -> Option<T> {
        let path = plain(path);
        let open = open();
        (!open.contains_key(&path)).then(work)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut open = open();
        if let Some(count) = open.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.0);
            }
        }
    }
}

/// One spelling for each file, whatever links lead to its folder.
fn plain(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

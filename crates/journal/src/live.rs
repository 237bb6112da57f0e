//! The live lock: proof that a generation's process runs, dropped by the system when it does not.
//!
//! The owner holds an exclusive lock on a file of its own; whoever wants to know takes a shared lock for an instant. A
//! crash, a kill and a power cut all release it, and no clock, heartbeat or process id is involved. Testers share the
//! lock, so that two of them never take each other for the owner. The name is never used twice: no stale file can be
//! taken for a new owner's.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::home::{file_error, private_file};

/// A held lock. Dropping it, or the end of the process, releases it.
#[derive(Debug)]
pub(crate) struct LiveLock {
    file: File,
    path: PathBuf,
}

impl LiveLock {
    /// Takes the lock `name` in `folder`.
    pub(crate) fn take(folder: &Path, name: &str) -> Result<Self, Error> {
        let path = folder.join(name);
        let file = private_file(&path).map_err(|error| file_error(&path, "taking its live lock", error))?;
        // The file is new and only we know its name: nobody but a tester can hold it, and only for an instant.
        file.lock()
            .map_err(|error| file_error(&path, "taking its live lock", error))?;
        Ok(Self { file, path })
    }
}

impl Drop for LiveLock {
    fn drop(&mut self) {
        // Unlink first: whoever tests after this sees no file, which reads as "gone" just as a free lock does.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Whether the process that took the lock `name` still holds it. Doubt (a file we may not open) reads as held: a
/// session that runs must never be settled under its owner.
pub(crate) fn is_held(folder: &Path, name: &str) -> bool {
    let file = match File::open(folder.join(name)) {
        Ok(file) => file,
        Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
    };
    // Where the file system knows no locks nothing can be told, which again is doubt.
    file.try_lock_shared().is_err()
}

/// Removes what a dead owner left.
pub(crate) fn remove(folder: &Path, name: &str) {
    let _ = std::fs::remove_file(folder.join(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_held(dir.path(), "a"));
        let lock = LiveLock::take(dir.path(), "a").unwrap();
        assert!(is_held(dir.path(), "a") && is_held(dir.path(), "a"));
        drop(lock);
        assert!(!is_held(dir.path(), "a"));
    }

    #[test]
    fn a_file_that_nobody_locks_is_a_dead_owner() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "").unwrap();
        assert!(!is_held(dir.path(), "a"));
        remove(dir.path(), "a");
        assert!(!dir.path().join("a").exists());
    }
}

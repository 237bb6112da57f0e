//! Where a journal stands on this machine.
//!
//! Everything lives in one folder that its owner alone can read: `journal.db` (with SQLite's own `-wal` and `-shm`
//! beside it) and `live/`, with one lock file per generation whose process runs, and the tails of what streams. The environment is read in one place,
//! [`Home::from_env`]; everything else is given a `Home`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;

/// The variable that names the folder.
pub const HOME_VARIABLE: &str = "TAPLINE_HOME";

/// The folder that holds a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The journal in this folder. Nothing is touched yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder that `TAPLINE_HOME` names, else the platform's data folder.
    ///
    /// # Errors
    /// [`Error::NoHome`] where neither is known.
    pub fn from_env() -> Result<Self, Error> {
        if let Some(root) = std::env::var_os(HOME_VARIABLE).filter(|root| !root.is_empty()) {
            return Ok(Self::at(root));
        }
        let dirs = directories::ProjectDirs::from("", "", "tapline").ok_or(Error::NoHome)?;
        Ok(Self::at(dirs.data_local_dir()))
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The journal's file.
    pub fn database(&self) -> PathBuf {
        self.root.join("journal.db")
    }

    /// The folder of the live locks and of the tails.
    pub fn live(&self) -> PathBuf {
        self.root.join("live")
    }

    /// Makes the folders, readable by their owner alone.
    ///
    /// # Errors
    /// [`Error::NoPermission`], [`Error::Full`] or [`Error::Store`] where they cannot be made.
    pub fn prepare(&self) -> Result<(), Error> {
        for folder in [self.root.clone(), self.live()] {
            private_folder(&folder).map_err(|error| file_error(&folder, "making its folder", error))?;
        }
        Ok(())
    }
}

/// Makes a folder of mode 0700. One that stands there already is left as its owner set it, except that nobody else
/// keeps access to it.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        builder.mode(0o700).create(path)?;
        let mode = fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(mode & !0o077))?;
        }
        Ok(())
    }
    #[cfg(not(unix))]
    builder.create(path)
}

/// Opens a file for writing, made with mode 0600 where it is not there.
pub(crate) fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

/// Puts the names in a folder on stable storage: a new file is there after a power cut only if its name is.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The sentence for what the system said about a file.
pub(crate) fn file_error(path: &Path, doing: &'static str, error: io::Error) -> Error {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::PermissionDenied => Error::NoPermission {
            path,
            source: Arc::new(error),
        },
        io::ErrorKind::ReadOnlyFilesystem => Error::ReadOnly { path },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full { path },
        _ => Error::Store {
            doing,
            source: Arc::new(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn folders_and_files_are_readable_by_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("a/b"));
        fs::create_dir_all(home.root()).unwrap();
        fs::set_permissions(home.root(), fs::Permissions::from_mode(0o755)).unwrap();
        home.prepare().unwrap();
        private_file(&home.database()).unwrap();
        for (path, mode) in [
            (home.root().to_owned(), 0o700),
            (home.live(), 0o700),
            (home.database(), 0o600),
        ] {
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                mode,
                "{}",
                path.display()
            );
        }
    }
}

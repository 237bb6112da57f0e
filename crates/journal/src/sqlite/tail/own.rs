//! The tail of a tape that is ours: its lock, and appending to it.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use crate::batch::Batch;
use crate::error::Error;
use crate::home::{file_error, private_file, sync_folder};
use crate::writer::Hold;

use super::record::{Head, Streamed, pack};
use super::{Found, TAIL_BYTES, path_of, read};

/// Proof that we write a tape, and nobody else does. Whoever drops it lets others.
#[derive(Debug)]
pub(in super::super) struct Written(Arc<File>);

impl Drop for Written {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The tail of a tape that we write.
#[derive(Debug)]
pub(in super::super) struct Tail {
    path: PathBuf,
    file: Arc<File>,
    tape: i64,
    written: Weak<Written>,
    /// Its name is on stable storage.
    named: bool,
    begun: Option<Begun>,
}

/// What stands in a tail since it was begun anew.
#[derive(Debug)]
struct Begun {
    base: u64,
    ordinal: u32,
    end: u64,
    /// Before packing.
    bytes: usize,
    last: Vec<u8>,
}

impl Tail {
    /// Takes the tail of a tape for ourselves, and makes its file where there is none. Nothing where somebody writes the tape.
    pub(in super::super) fn take(live: &Path, tape: i64) -> Result<Option<(Self, Arc<Written>)>, Error> {
        let path = path_of(live, tape);
        let say = |error| file_error(&path, "taking its lock", error);
        loop {
            let file = private_file(&path).map_err(say)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(say(error)),
            }
            // Whoever had it before may have removed it in between.
            if is_at(&file, &path) {
                let file = Arc::new(file);
                let written = Arc::new(Written(Arc::clone(&file)));
                let tail = Self {
                    path,
                    file,
                    tape,
                    written: Arc::downgrade(&written),
                    named: false,
                    begun: None,
                };
                return Ok(Some((tail, written)));
            }
        }
    }

    /// Leaves nothing in it: what stands there belongs to no table of ours.
    pub(in super::super) fn clear(&self) -> Result<(), Error> {
        self.file
            .set_len(0)
            .map_err(|error| file_error(&self.path, "emptying it", error))
    }

    /// Whether we write the tape still.
    pub(in super::super) fn is_written(&self) -> bool {
        self.written.strong_count() > 0
    }

    /// What stands in it, for tables whose last input is `base`.
    pub(in super::super) fn find(&self, base: u64) -> Result<Found, Error> {
        read(&self.file, &self.path, self.tape, base)
    }

    /// Appends a batch to what came after the input `base`, the last in the tables; it is on stable storage when this returns. Says
    /// whether there was room. After an error the tail must be taken in.
    pub(in super::super) fn append(&mut self, base: u64, batch: &Batch, holds: &[Hold]) -> io::Result<bool> {
        if !is_at(&self.file, &self.path) {
            return Err(ErrorKind::NotFound.into());
        }
        let begun = match self.begun.take().filter(|begun| begun.base == base) {
            Some(begun) => begun,
            None => self.begin(base)?,
        };
        let begun = self.begun.insert(begun);
        if begun.bytes + Streamed::bytes(batch) > TAIL_BYTES {
            return Ok(false);
        }
        let content = Streamed::write(batch, holds);
        let packed = pack(&content, &begun.last)?;
        let head = Head {
            base,
            ordinal: begun.ordinal,
            size: content.len(),
            packed: &packed,
        };
        let record = head.write(self.tape);
        let mut file = &*self.file;
        let written = file
            .seek(SeekFrom::Start(begun.end))
            .and_then(|_| file.write_all(&record))
            .and_then(|()| file.sync_data());
        if let Err(error) = written {
            // Best effort: what stays is the torn end of a write that nobody is told of.
            let _ = self.file.set_len(begun.end);
            return Err(error);
        }
        begun.ordinal += 1;
        begun.end += record.len() as u64;
        begun.bytes += content.len();
        begun.last = content;
        Ok(true)
    }

    /// Begins it anew: what stands in it the tables have.
    fn begin(&mut self, base: u64) -> io::Result<Begun> {
        self.file.set_len(0)?;
        if !self.named {
            // A new file's name is on stable storage with its folder.
            self.path.parent().map_or(Ok(()), sync_folder)?;
            self.named = true;
        }
        Ok(Begun {
            base,
            ordinal: 0,
            end: 0,
            bytes: 0,
            last: Vec::new(),
        })
    }

    /// Removes it. We write the tape until this returns.
    pub(in super::super) fn remove(self) {
        if is_at(&self.file, &self.path) {
            // One that stays has a base that is past, and is empty for every reader.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a file stands at its path, and no other or none.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        match (file.metadata(), std::fs::metadata(path)) {
            (Ok(file), Ok(there)) => (file.dev(), file.ino()) == (there.dev(), there.ino()),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

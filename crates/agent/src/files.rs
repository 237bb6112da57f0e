//! Files that an agent may read and write through us: `fs/read_text_file` and `fs/write_text_file`.
//!
//! An agent is untrusted, and so is what it leaves in a folder: it can put a link there a moment before it asks for the file
//! behind it. So no path is checked first and opened then. Each of the session's folders is opened once, and every path is
//! walked from such a handle by `cap-std`, which refuses to leave it by `..`, by a link or by a mount in disguise. On Linux
//! this is `openat2` with `RESOLVE_BENEATH`, done by the kernel in one step; elsewhere, and on kernels without it, `cap-std`
//! opens one component after the other. That fallback is why it is used rather than the system call itself.
//!
//! `cap-std` takes relative paths alone and calls every absolute link a way out, also one that leads to where we are. For
//! these, and for a folder that has several names, the system is asked once where the path leads. Its answer is a hint about
//! which folder to walk from and proves nothing: the walk begins again from that folder's handle, under the same rules.
//!
//! What is no plain file (a pipe, a device, a socket) is refused before it is opened, and opened so that it could not block
//! if it took a file's place in between.
//!
//! A file is written whole: beside the old one under a name of ours, then moved into its place. Whoever reads sees the old
//! text or the new one. The new file has the permissions of the old one without the bits that lend rights, and its owner
//! where we may give it; another hard link of the old file keeps the old text.
//!
//! All calls wait for the disk, and [`Folders::read`] as long as it takes to find the line that was asked for: a caller
//! that must not wait makes them on a thread of its own ([`Folders`] is cheap to clone).

use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use rustix::fs::{Gid, OFlags, Uid, fchown};

/// Most text of one answer, in bytes.
pub const READ_BYTES: usize = 8 << 20;

/// Most that the text of one answer may take as a JSON string, in bytes: a line of the protocol ends at 16 MiB, and text
/// that is full of control characters grows sixfold on its way there.
pub const ANSWER_BYTES: usize = 15 << 20;

/// How much of a path an error repeats, in characters.
const SHOWN_PATH: usize = 400;

/// How much is read from the disk at once, in bytes.
const CHUNK: usize = 64 << 10;

/// Never waits for the other end of a pipe, never takes a terminal over.
const HARMLESS: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// The folders of a session: the one it works in and its additional ones. Opened once; clones share them.
#[derive(Clone)]
pub struct Folders {
    roots: Arc<[Root]>,
}

struct Root {
    /// As the session names it.
    named: PathBuf,
    /// Without links.
    real: PathBuf,
    dir: Dir,
}

/// The text of a file, or of some of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text, line ends as they stand in the file.
    pub text: String,
    /// Whether bytes that are no UTF-8 were replaced by U+FFFD. Such a text must not be written back.
    pub replaced: bool,
}

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The protocol wants absolute paths.
    #[error("the path `{0}` is not absolute. Give the whole path.")]
    Relative(Shown),
    /// Its name, `..` in it or a link on the way lead elsewhere.
    #[error(
        "the path `{path}` leads out of the folders of this session ({folders}). Only files inside them are offered."
    )]
    Outside {
        /// The path.
        path: Shown,
        /// The folders, for people.
        folders: String,
    },
    /// There is nothing.
    #[error("there is no file `{0}`.")]
    Missing(Shown),
    /// It is a folder.
    #[error("`{0}` is a folder, not a file.")]
    Folder(Shown),
    /// It is no folder, where one is needed.
    #[error("`{0}` is not a folder.")]
    NoFolder(Shown),
    /// It is a pipe, a device or a socket.
    #[error("`{0}` is neither a file nor a folder (a pipe, a device or a socket), so it is not touched.")]
    Special(Shown),
    /// More than [`READ_BYTES`], or more than fits into one answer.
    #[error(
        "what was asked for of `{0}` is more than fits into one answer (8 MiB of text). Ask for fewer lines with `line` and `limit`."
    )]
    TooLarge(Shown),
    /// The system refused.
    #[error("`{path}` could not be {deed}: {source}.")]
    System {
        /// The path.
        path: Shown,
        /// `read`, `written` or `opened`.
        deed: &'static str,
        /// What it said.
        source: io::Error,
    },
}

impl FileError {
    /// The JSON-RPC error code of the answer.
    pub fn code(&self) -> i32 {
        match self {
            Self::Relative(_) | Self::Outside { .. } => -32602,
            Self::Missing(_) => -32002,
            Self::Folder(_) | Self::NoFolder(_) | Self::Special(_) => -32603,
            Self::TooLarge(_) | Self::System { .. } => -32603,
        }
    }
}

/// A path as an error shows it: shortened, since an agent chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown(String);

impl From<&Path> for Shown {
    fn from(path: &Path) -> Self {
        let whole = path.to_string_lossy();
        match whole.char_indices().nth(SHOWN_PATH) {
            Some((end, _)) => Self(format!("{}…", &whole[..end])),
            None => Self(whole.into_owned()),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What went wrong, before it is said of a path.
enum Fault {
    Folder,
    NoFolder,
    Special,
    TooLarge,
    System(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl Fault {
    /// Whether `cap-std` stopped the walk. It says so with an error of its own, which unlike the system's has no number.
    fn is_escape(&self) -> bool {
        matches!(self, Self::System(e) if e.kind() == ErrorKind::PermissionDenied && e.raw_os_error().is_none())
    }

    fn of(self, path: &Path, deed: &'static str) -> FileError {
        let path = Shown::from(path);
        match self {
            Self::Folder => FileError::Folder(path),
            Self::NoFolder => FileError::NoFolder(path),
            Self::Special => FileError::Special(path),
            Self::TooLarge => FileError::TooLarge(path),
            Self::System(error) if error.kind() == ErrorKind::NotFound => FileError::Missing(path),
            Self::System(source) => FileError::System { path, deed, source },
        }
    }
}

impl Folders {
    /// Opens the folder a session works in, and its additional ones.
    ///
    /// # Errors
    /// Where one of them is not absolute, is missing, or cannot be opened.
    pub fn open(cwd: &Path, more: &[PathBuf]) -> Result<Self, FileError> {
        let open = |named: &Path| {
            if !named.is_absolute() {
                return Err(FileError::Relative(named.into()));
            }
            let opened = fs::canonicalize(named).and_then(|real| {
                let dir = Dir::open_ambient_dir(&real, ambient_authority())?;
                Ok(Root {
                    named: named.to_owned(),
                    real,
                    dir,
                })
            });
            opened.map_err(|error| match error.kind() {
                ErrorKind::NotADirectory => FileError::NoFolder(named.into()),
                _ => Fault::System(error).of(named, "opened"),
            })
        };
        let roots: Result<_, _> = std::iter::once(cwd)
            .chain(more.iter().map(PathBuf::as_path))
            .map(open)
            .collect();
        Ok(Self { roots: roots? })
    }

    /// The folder the session works in, without links.
    pub fn cwd(&self) -> &Path {
        // `open` puts it there before all others.
        &self.roots[0].real
    }

    /// Reads a file, or `limit` of its lines from `line` on (from 1). Lines are found in constant memory, however large
    /// the file is; behind its end there is no text.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn read(&self, path: &Path, line: Option<u64>, limit: Option<u64>) -> Result<String, FileError> {
        self.read_text(path, line, limit).map(|text| text.text)
    }

    /// As [`Folders::read`], and says whether bytes had to be replaced.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn read_text(&self, path: &Path, line: Option<u64>, limit: Option<u64>) -> Result<Text, FileError> {
        let file = self.walk(path, "read", open_to_read)?;
        let skip = line.unwrap_or(1).saturating_sub(1);
        let bytes =
            lines(BufReader::with_capacity(CHUNK, file), skip, limit).map_err(|f| f.of(path, "read"))?;
        let (text, replaced) = match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        };
        if text.len() > READ_BYTES || json_bytes(&text) > ANSWER_BYTES {
            return Err(FileError::TooLarge(path.into()));
        }
        Ok(Text { text, replaced })
    }

    /// Writes a file whole, and makes it and its folders where they are missing. A link that stays inside is followed.
    ///
    /// # Errors
    /// See [`FileError`]; the file is as it was then.
    pub fn write(&self, path: &Path, content: &str) -> Result<(), FileError> {
        self.walk(path, "written", |dir, path| replace(dir, path, content))
    }

    /// Where a folder inside really is, for a process that shall run there.
    ///
    /// # Errors
    /// Where it is missing, no folder, or outside.
    pub fn folder(&self, path: &Path) -> Result<PathBuf, FileError> {
        self.walk(path, "opened", |dir, path| {
            if !dir.metadata(path)?.is_dir() {
                return Err(Fault::NoFolder);
            }
            let inner = dir.canonicalize(path)?;
            let root = self.roots.iter().find(|root| std::ptr::eq(&root.dir, dir));
            // `walk` gives the handle of one of the roots, so there is one.
            Ok(root.map_or_else(PathBuf::new, |root| root.real.join(&inner).components().collect()))
        })
    }

    /// Does something with a path from the handle of the folder it is in.
    fn walk<T>(
        &self,
        path: &Path,
        deed: &'static str,
        act: impl Fn(&Dir, &Path) -> Result<T, Fault>,
    ) -> Result<T, FileError> {
        if !path.is_absolute() {
            return Err(FileError::Relative(path.into()));
        }
        for spelled in [Some(path.to_owned()), real(path)].into_iter().flatten() {
            for (root, inner) in self.inside(&spelled) {
                match act(&root.dir, inner) {
                    Err(fault) if fault.is_escape() => {}
                    done => return done.map_err(|fault| fault.of(path, deed)),
                }
            }
        }
        let folders: Vec<_> = self
            .roots
            .iter()
            .map(|root| root.named.to_string_lossy())
            .collect();
        Err(FileError::Outside {
            path: path.into(),
            folders: folders.join(", "),
        })
    }

    /// The folders that a path begins with, and the rest of it.
    fn inside<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = (&'a Root, &'a Path)> {
        self.roots.iter().filter_map(|root| {
            let inner = path
                .strip_prefix(&root.named)
                .or_else(|_| path.strip_prefix(&root.real))
                .ok()?;
            let itself = inner.as_os_str().is_empty();
            Some((root, if itself { Path::new(".") } else { inner }))
        })
    }
}

impl fmt::Debug for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.roots.iter().map(|root| &root.named))
            .finish()
    }
}

/// Where a path leads at this moment: a hint. What does not exist yet is added as it stands.
fn real(path: &Path) -> Option<PathBuf> {
    let (existing, real) = path
        .ancestors()
        .find_map(|above| Some((above, fs::canonicalize(above).ok()?)))?;
    let rest = path.strip_prefix(existing).ok()?;
    Some(if rest.as_os_str().is_empty() {
        real
    } else {
        real.join(rest)
    })
}

/// Opens a plain file, and nothing else.
fn open_to_read(dir: &Dir, path: &Path) -> Result<fs::File, Fault> {
    plain(dir.metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(HARMLESS.bits().cast_signed());
    let file = dir.open_with(path, &options)?;
    plain(file.metadata()?.file_type())?;
    Ok(file.into_std())
}

fn plain(kind: cap_std::fs::FileType) -> Result<(), Fault> {
    match kind {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(Fault::Folder),
        _ => Err(Fault::Special),
    }
}

/// Leaves `skip` lines out and takes `limit` of them, or all.
fn lines(mut from: impl BufRead, mut skip: u64, limit: Option<u64>) -> Result<Vec<u8>, Fault> {
    let mut taken = Vec::new();
    let mut left = limit;
    while left != Some(0) {
        let chunk = match from.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() {
            break;
        }
        let start = after_lines(chunk, &mut skip);
        let wanted = &chunk[start..];
        let end = match &mut left {
            Some(left) => after_lines(wanted, left),
            None => wanted.len(),
        };
        taken.extend_from_slice(&wanted[..end]);
        let used = start + end;
        from.consume(used);
        if taken.len() > READ_BYTES {
            return Err(Fault::TooLarge);
        }
    }
    Ok(taken)
}

/// Where the next `count` lines end, or all of it; counts down those that end here.
fn after_lines(bytes: &[u8], count: &mut u64) -> usize {
    if *count == 0 {
        return 0;
    }
    for end in memchr::memchr_iter(b'\n', bytes) {
        *count -= 1;
        if *count == 0 {
            return end + 1;
        }
    }
    bytes.len()
}

/// Puts `content` in the place of what stands at `path`.
fn replace(dir: &Dir, path: &Path, content: &str) -> Result<(), Fault> {
    let target = target(dir, path)?;
    let name = target.file_name().ok_or(Fault::Folder)?;
    // From here on everything happens in this one folder, whatever becomes of the path to it.
    let parent = match target.parent() {
        Some(above) if !above.as_os_str().is_empty() => dir.open_dir(above)?,
        _ => dir.try_clone()?,
    };
    let old = old_file(&parent, Path::new(name))?;
    let beside = format!(".tapline-{}", uuid::Uuid::now_v7().simple());
    let written = write_new(&parent, &beside, old.as_ref(), content)
        .and_then(|()| parent.rename(&beside, &parent, name));
    if written.is_err() {
        let _ = parent.remove_file(&beside);
    }
    Ok(written?)
}

/// The path without links, from `dir`; its folder exists afterwards.
fn target(dir: &Dir, path: &Path) -> Result<PathBuf, Fault> {
    match dir.metadata(path) {
        Ok(found) => {
            plain(found.file_type())?;
            return Ok(dir.canonicalize(path)?);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    // A path that ends with `..` names a folder.
    let name = path.file_name().ok_or(Fault::Folder)?;
    let above = match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    dir.create_dir_all(above)?;
    if dir.symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        // A link to a file that is not there yet: opened through the link, it appears where that leads.
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .custom_flags(HARMLESS.bits().cast_signed());
        dir.open_with(path, &options)?;
        return Ok(dir.canonicalize(path)?);
    }
    Ok(dir.canonicalize(above)?.join(name))
}

/// What a new file takes over from the old one.
struct Old {
    mode: u32,
    owner: (u32, u32),
}

/// Opens the old file for writing, though nothing is written to it: who may not write a file may not replace it either.
fn old_file(parent: &Dir, name: &Path) -> Result<Option<Old>, Fault> {
    let mut options = OpenOptions::new();
    let flags = HARMLESS.union(OFlags::NOFOLLOW);
    options.write(true).custom_flags(flags.bits().cast_signed());
    match parent.symlink_metadata(name) {
        Ok(found) => plain(found.file_type())?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let found = match parent.open_with(name, &options) {
        Ok(file) => file.metadata()?,
        // A program that runs cannot be written, only replaced, which is what we do.
        Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => parent.symlink_metadata(name)?,
        Err(error) => return Err(error.into()),
    };
    plain(found.file_type())?;
    Ok(Some(Old {
        mode: found.mode() & 0o777,
        owner: (found.uid(), found.gid()),
    }))
}

fn write_new(parent: &Dir, name: &str, old: Option<&Old>, content: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // Nobody else reads it before it has the permissions of the old one.
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    options.write(true).create_new(true).mode(mode);
    let mut file = parent.open_with(name, &options)?;
    file.write_all(content.as_bytes())?;
    if let Some(old) = old {
        let now = file.metadata()?;
        if (now.uid(), now.gid()) != old.owner {
            let (user, group) = old.owner;
            // Only root may give a file away. Everybody else keeps it.
            let _ = fchown(&file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        }
        file.set_permissions(Permissions::from_mode(old.mode))?;
    }
    file.sync_all()
}

/// How long a text is between the quotes of a JSON string, in bytes.
pub(crate) fn json_bytes(text: &str) -> usize {
    text.bytes().map(json_byte).sum()
}

/// How long one byte of UTF-8 is in a JSON string, in bytes.
pub(crate) fn json_byte(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

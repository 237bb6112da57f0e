//! Side files: the inputs of a connection that its ledger could not be given, masked, until it can.
//!
//! A file begins with a line that names the form and goes on with records: length and checksum (CRC-32) of what follows,
//! number, kind of time, time, and the bytes of a [`TapeRecord`]; all numbers little-endian. A file that was torn by a
//! crash is good up to the tear. Its owner holds a lock on it, so that nobody takes it for one that was left behind.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tapline_recorder::{Recorded, Recorder, TapeRecord};
use tapline_timeline::Time;

use super::ledger::{Archive, Input, Trouble};

const FIRST_LINE: &[u8] = b"tapline side file 1\n";

/// How the name of a side file ends.
const ENDING: &str = "spill";

/// Length, checksum, number, kind of time, time.
const HEADER: usize = 4 + 4 + 8 + 1 + 8;

/// The longest record that is read, in bytes: a line of the longest kind, with room for its masking and its envelope.
const RECORD_LIMIT: usize = 64 << 20;

/// How often folding in looks whether the ledger has saved, and how long it waits for it.
const LOOK: std::time::Duration = std::time::Duration::from_millis(5);
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// What is gathered before it is written, in bytes.
const GATHER: usize = 64 << 10;

/// A side file that is being written.
///
/// What could not be written waits here and is tried again, from the byte at which the system stopped: a disk that was
/// full for a while leaves no tear in the middle of the file.
pub(super) struct Spill {
    path: PathBuf,
    file: File,
    /// What the system has not taken yet, and the number of the first record in it, which may be there in part only.
    waiting: Vec<u8>,
    first_waiting: Option<u64>,
    /// Numbers of its first and last record.
    pub(super) numbers: Option<(u64, u64)>,
}

impl Spill {
    /// Makes the side file of a connection, readable by its owner alone.
    pub(super) fn create(folder: &Path, connection: &str) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join(format!("{connection}.{ENDING}"));
        let file = loop {
            let mut options = OpenOptions::new();
            let file = options.write(true).create_new(true).mode(0o600).open(&path)?;
            file.lock()?;
            // Someone who folds in may have taken the empty file for a forgotten one before we held the lock.
            if fs::metadata(&path).is_ok_and(|now| file.metadata().is_ok_and(|ours| ours.ino() == now.ino()))
            {
                break file;
            }
        };
        Ok(Self {
            path,
            file,
            waiting: FIRST_LINE.to_vec(),
            first_waiting: None,
            numbers: None,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a record, unless what it took before still waits for a disk that refuses it.
    pub(super) fn push(&mut self, record: &TapeRecord<'_>) -> io::Result<()> {
        if self.waiting.len() >= GATHER {
            self.flush()?;
        }
        let mut bytes = vec![0; 8];
        bytes.extend_from_slice(&record.number.to_le_bytes());
        let (tag, time) = match record.at {
            None => (0, 0),
            Some(Time::At(ms)) => (1, ms.cast_unsigned()),
            Some(Time::Since(ms)) => (2, ms),
        };
        bytes.push(tag);
        bytes.extend_from_slice(&time.to_le_bytes());
        record.encode(&mut bytes);
        let length = u32::try_from(bytes.len() - 8).map_err(|_| io::ErrorKind::InvalidInput)?;
        let checksum = crc32fast::hash(&bytes[8..]);
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        self.waiting.extend_from_slice(&bytes);
        self.first_waiting.get_or_insert(record.number);
        let first = self.numbers.map_or(record.number, |(first, _)| first);
        self.numbers = Some((first, record.number));
        Ok(())
    }

    /// Hands everything to the system, which keeps it when we are killed.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let mut written = 0;
        let done = loop {
            match self.file.write(&self.waiting[written..]) {
                _ if written == self.waiting.len() => break Ok(()),
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => written += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.waiting.drain(..written);
        if self.waiting.is_empty() {
            self.first_waiting = None;
            self.waiting.shrink_to(GATHER);
        }
        done
    }

    /// Number of the first record that the system has not taken, or not to its end as far as we know.
    pub(super) fn first_waiting(&self) -> Option<u64> {
        self.first_waiting
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }

    /// Everything in it is in the ledger now.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Reads a side file.
#[derive(Debug)]
pub(super) struct Reader {
    file: BufReader<File>,
    over: bool,
}

impl Reader {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let mut first = [0; FIRST_LINE.len()];
        match file.read_exact(&mut first) {
            // Killed before it could write anything.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(error),
            Ok(()) if first == FIRST_LINE => {}
            Ok(()) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it is no side file of this version",
                ));
            }
        }
        Ok(Self { file, over: false })
    }

    /// The next record; nothing at the end, or at a tear.
    fn step(&mut self) -> io::Result<Option<Input>> {
        let mut header = [0; HEADER];
        match self.file.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let length = word(0) as usize;
        if !(HEADER - 8..=RECORD_LIMIT).contains(&length) {
            return Ok(None);
        }
        let mut bytes = vec![0; length - (HEADER - 8)];
        match self.file.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&header[8..]);
        checksum.update(&bytes);
        if checksum.finalize() != word(4) {
            return Ok(None);
        }
        let at = match header[16] {
            1 => Some(Time::At(long(17).cast_signed())),
            2 => Some(Time::Since(long(17))),
            _ => None,
        };
        Ok(Some((long(8), at, bytes)))
    }
}

impl Iterator for Reader {
    type Item = io::Result<Input>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let step = self.step().transpose();
        self.over = !matches!(step, Some(Ok(_)));
        step
    }
}

pub(super) fn sentence(path: &Path, error: &io::Error) -> String {
    format!("the side file {} cannot be read: {error}", path.display())
}

/// What became of a side file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// The file.
    pub file: PathBuf,
    /// The connection whose inputs it held.
    pub connection: String,
    /// How many inputs were added; or a sentence that says why it still stands there.
    pub outcome: Result<u64, String>,
}

/// Gives what stands in side files to the ledgers that it was meant for, and removes the files. Those of agents that still
/// run are left alone.
///
/// # Errors
/// Where the folder cannot be read. What goes wrong with one file is told beside it, and the file stays.
pub fn fold_in(folder: &Path, archive: &dyn Archive) -> io::Result<Vec<Folded>> {
    let mut all = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
        entries => entries?,
    };
    for entry in entries {
        let file = entry?.path();
        let connection = match (file.file_stem(), file.extension()) {
            (Some(stem), Some(ending)) if ending == ENDING => stem.to_string_lossy().into_owned(),
            _ => continue,
        };
        // Whoever holds the lock, its owner or another who folds in, takes care of it.
        let Ok(held) = File::open(&file) else { continue };
        if held.try_lock().is_err() || !file.exists() {
            continue;
        }
        let outcome = fold_one(&file, &connection, archive);
        if outcome.is_ok() {
            fs::remove_file(&file)?;
        }
        all.push(Folded {
            file,
            connection,
            outcome,
        });
    }
    Ok(all)
}

fn fold_one(file: &Path, connection: &str, archive: &dyn Archive) -> Result<u64, String> {
    let ledger = archive.open(connection)?;
    let saved = ledger.saved();
    let mut recorder = Recorder::new(ledger, None);
    let mut take = |(number, at, bytes): &Input| {
        let record = TapeRecord::decode(*number, *at, bytes).map_err(|e| e.to_string())?;
        recorder.record(&record);
        match recorder.store().trouble() {
            Some(trouble) => Err(trouble.text().to_owned()),
            None => Ok(()),
        }
    };
    let (mut last, mut added) = (0, 0);
    while last < saved {
        let inputs = archive.tape(connection, last + 1)?;
        for input in &inputs {
            take(input)?;
            last = input.0;
        }
        if inputs.is_empty() {
            return Err(format!(
                "the tape of {connection} ends at input {last} and should reach {saved}"
            ));
        }
    }
    for input in Reader::open(file).map_err(|e| sentence(file, &e))? {
        let input = input.map_err(|e| sentence(file, &e))?;
        if input.0 <= last {
            continue;
        }
        // Inputs that nothing could keep leave a hole, and the record behind it says how much is missing.
        if input.0 != last + 1 && !is_gap(&input)? {
            return Err(format!(
                "inputs {} to {} of {connection} are neither in the journal nor in {}",
                last + 1,
                input.0 - 1,
                file.display()
            ));
        }
        take(&input)?;
        last = input.0;
        added += 1;
    }
    recorder.store_mut().flush();
    let since = std::time::Instant::now();
    loop {
        match recorder.store().trouble() {
            Some(Trouble::Lasting(why) | Trouble::Passing(why)) => return Err(why),
            None if recorder.store().saved() >= last => return Ok(added),
            None if since.elapsed() > PATIENCE => {
                return Err("the journal did not save it in time".to_owned());
            }
            None => std::thread::sleep(LOOK),
        }
    }
}

/// Whether an input stands for others before it that are lost.
fn is_gap((number, at, bytes): &Input) -> Result<bool, String> {
    let record = TapeRecord::decode(*number, *at, bytes).map_err(|e| e.to_string())?;
    Ok(matches!(record.what, Recorded::TooLong(..)))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn record(number: u64) -> TapeRecord<'static> {
        TapeRecord {
            number,
            at: (number > 2).then_some(Time::At(-5)),
            connection: Cow::Borrowed(""),
            begins: number == 1,
            opening: None,
            what: Recorded::Stderr(Cow::Owned("x".repeat(number as usize * 100))),
        }
    }

    #[test]
    fn a_side_file_is_good_up_to_where_it_was_torn() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::create(folder.path(), "c").unwrap();
        let mut ends = vec![FIRST_LINE.len()];
        for number in 1..=5 {
            spill.push(&record(number)).unwrap();
            spill.sync().unwrap();
            ends.push(fs::metadata(spill.path()).unwrap().len() as usize);
        }
        let whole = fs::read(spill.path()).unwrap();
        for cut in 0..=whole.len() {
            let path = folder.path().join("torn");
            fs::write(&path, &whole[..cut]).unwrap();
            let read: Vec<Input> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
            let expected = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            assert_eq!(read.len(), expected, "cut at {cut}");
            for (at, (number, time, bytes)) in read.iter().enumerate() {
                assert_eq!(
                    TapeRecord::decode(*number, *time, bytes).unwrap(),
                    record(at as u64 + 1)
                );
            }
        }
        // A flipped bit ends it as well.
        let mut broken = whole.clone();
        broken[ends[2] + 60] ^= 1;
        let path = folder.path().join("broken");
        fs::write(&path, &broken).unwrap();
        assert_eq!(Reader::open(&path).unwrap().count(), 2);
    }

    #[test]
    fn a_side_file_is_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("home/spill");
        let spill = Spill::create(&folder, "c").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(spill.path())), (0o700, 0o600));
    }
}

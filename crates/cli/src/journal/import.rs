//! `tapline import`: traffic that was recorded elsewhere, into the journal.
//!
//! A recording is known by its content, so it is read twice: for its hash, and into the journal. What comes through a pipe
//! can be read only once; it is held in memory meanwhile, since unmasked traffic must not lie on a disk.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use tapline_agent::archive::{ArchiveOptions, JournalArchive};
use tapline_journal::{Journal, Mode};
use tapline_recorder::Recorder;

use super::{failed, open};
use crate::failure::{Failure, say};
use crate::{Outcome, input};

/// Most that is taken from a pipe, in bytes.
const PIPED: usize = 256 << 20;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tapline import recordings/*.jsonl
  zcat old.jsonl.gz | tapline import -")]
pub(crate) struct Args {
    /// The recordings (`-`: standard input)
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (_, journal) = open()?;
    let mut failures = Vec::new();
    for file in &args.files {
        let trouble = match one(&journal, file) {
            Ok((done, trouble)) => {
                let mut out = io::stdout().lock();
                writeln!(out, "{}: {done}", input::name(file))?;
                trouble
            }
            Err(failure) => Some(failure),
        };
        match trouble {
            None => {}
            // One bad file does not keep the others out.
            Some(failure) if failure.is_of_one_input() && args.files.len() > 1 => {
                say(&failure);
                failures.push(failure);
            }
            Some(failure) => return Err(failure),
        }
    }
    match failures.as_slice() {
        [] => Ok(()),
        [first, ..] => {
            let (bad, all) = (failures.len(), args.files.len());
            let what = format!("{bad} of {all} recordings were not imported whole");
            Err(Failure::Some(first.code(), what))
        }
    }
}

/// Imports one file; the same content is imported once. Gives what came of it, and what could not be read of it.
fn one(journal: &Arc<dyn Journal>, file: &str) -> Result<(String, Option<Failure>), Failure> {
    let source = Source::open(file)?;
    let hash = source.hash.clone();
    let origin = format!("recording:{hash}");
    let connection = format!("import-{}", &hash[..32]);
    match journal.session_of_origin(&origin).map_err(failed)? {
        Some((session, true)) => {
            return Ok((format!("is in the journal already, as session {session}"), None));
        }
        // An import that was broken off begins anew: its source is at hand.
        Some((_, false)) => {
            let tapes = journal.tapes(None).map_err(failed)?;
            for session in tapes
                .iter()
                .filter(|t| t.connection == connection)
                .flat_map(|t| &t.sessions)
            {
                journal.forget(session).map_err(failed)?;
            }
        }
        None => {}
    }
    let options = ArchiveOptions {
        mode: Mode::Imported,
        // Sessions of a file are that file's own: another recording of the same session is another import.
        agent: Some(connection.clone()),
        origin: Some(origin),
        patience: Some(Duration::from_secs(30)),
        resume: None,
    };
    let ledger = JournalArchive::new(Arc::clone(journal), options)
        .ledger(&connection)
        .map_err(failed)?;
    let seed = format!("{}.", &hash[..12]);
    let start = move |hint: Option<&str>| Recorder::new(ledger, hint).with_seed(&seed);
    let (recorder, trouble) = match &source.piped {
        None => input::read(file, start)?,
        Some(bytes) => input::read_from(file, bytes.as_slice(), Some(bytes.len() as u64), start)?,
    };
    let inputs = recorder.number();
    let (ledger, _) = recorder.into_parts();
    let sessions: Vec<String> = ledger.sessions().map(ToString::to_string).collect();
    ledger.end().map_err(failed)?;
    let word = if sessions.len() == 1 {
        "session"
    } else {
        "sessions"
    };
    Ok((
        format!("{inputs} inputs, {word} {}", sessions.join(", ")),
        trouble,
    ))
}

/// A recording before it is read as one.
struct Source {
    /// BLAKE3 of its content, in hex.
    hash: String,
    /// What came through a pipe; a file can be read again.
    piped: Option<Vec<u8>>,
}

impl Source {
    fn open(name: &str) -> Result<Self, Failure> {
        let (mut input, bytes) = input::open(name)?;
        let mut hasher = blake3::Hasher::new();
        let mut piped = bytes.is_none().then(Vec::new);
        let mut buffer = vec![0; 256 << 10];
        loop {
            let new = match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => &buffer[..n],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(name, &error)),
            };
            hasher.update(new);
            if let Some(piped) = &mut piped {
                if piped.len() + new.len() > PIPED {
                    let what = format!(
                        "is longer than the {} MiB that are taken from a pipe; write it to a file, and import that",
                        PIPED >> 20
                    );
                    return Err(input::no_input(name, &what));
                }
                piped.extend_from_slice(new);
            }
        }
        let hash = hasher.finalize().to_hex().to_string();
        Ok(Self { hash, piped })
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let what = match error.kind() {
        io::ErrorKind::IsADirectory => input::A_FOLDER.to_owned(),
        _ => format!("could not be read to its end: {error}"),
    };
    input::no_input(name, &what)
}

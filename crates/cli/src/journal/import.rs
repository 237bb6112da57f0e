//! `tapline import`: traffic that was recorded elsewhere, into the journal.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tapline_agent::archive::{ArchiveOptions, JournalArchive};
use tapline_journal::{Journal, Mode};
use tapline_recorder::Recorder;

use super::{failed, open};
use crate::failure::Failure;
use crate::{Outcome, input};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recordings
    #[arg(required = true)]
    files: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (_, journal) = open()?;
    let mut first = None;
    for file in &args.files {
        match one(&journal, file) {
            Ok(done) => {
                let mut out = std::io::stdout().lock();
                writeln!(out, "{file}: {done}")?;
            }
            // One bad file does not keep the others out.
            Err(failure @ (Failure::NoInput { .. } | Failure::Data { .. })) => {
                eprintln!("tapline: {failure}");
                first.get_or_insert(Failure::Data {
                    path: file.clone(),
                    what: "was not imported whole".to_owned(),
                });
            }
            Err(failure) => return Err(failure),
        }
    }
    first.map_or(Ok(()), Err)
}

/// Imports one file; the same content is imported once.
pub(crate) fn one(journal: &Arc<dyn Journal>, file: &str) -> Result<String, Failure> {
    let hash = content_hash(file)?;
    let origin = format!("recording:{hash}");
    let connection = format!("import-{}", &hash[..32]);
    match journal.session_of_origin(&origin).map_err(failed)? {
        Some((session, true)) => return Ok(format!("is in the journal already, as session {session}")),
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
    let (recorder, trouble) = input::read(file, move |hint| Recorder::new(ledger, hint).with_seed(&seed))?;
    let inputs = recorder.number();
    let (ledger, _) = recorder.into_parts();
    let sessions: Vec<String> = ledger.sessions().map(ToString::to_string).collect();
    ledger.end().map_err(failed)?;
    if let Some(trouble) = trouble {
        eprintln!("tapline: {trouble}");
    }
    Ok(format!("{inputs} inputs, session {}", sessions.join(", ")))
}

/// BLAKE3 of the file's content, in hex.
fn content_hash(path: &str) -> Result<String, Failure> {
    let no_input = |e: io::Error| {
        let what = match e.kind() {
            io::ErrorKind::NotFound => "does not exist".to_owned(),
            io::ErrorKind::PermissionDenied => "may not be read by you; check its permissions".to_owned(),
            io::ErrorKind::IsADirectory => "is a folder; name a recording in it".to_owned(),
            _ => e.to_string(),
        };
        Failure::NoInput {
            path: path.to_owned(),
            what,
        }
    };
    let mut file = File::open(path).map_err(no_input)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer).map_err(no_input)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            n => hasher.update(&buffer[..n]),
        };
    }
}

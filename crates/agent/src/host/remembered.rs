//! What a session's tapes remember of how its agent was started.

use std::path::PathBuf;

use tapline_journal::{Error, Journal};
use tapline_recorder::{Recorded, TapeRecord};
use tapline_timeline::SessionId;

use crate::catalogue::Launch;

/// How the agent of a session was started last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// What it was called: a name of the catalogue, or its command.
    pub name: String,
    /// How it was started, where Tapline itself did that. Values that are secret are masked in it.
    pub launch: Option<Launch>,
    /// The folder it worked in, where Tapline itself chose that.
    pub cwd: Option<PathBuf>,
}

/// How the agent of a session was started last; nothing where no tape tells.
///
/// # Errors
/// Where the journal cannot be read.
pub fn remembered(journal: &dyn Journal, session: &SessionId) -> Result<Option<Remembered>, Error> {
    let mut last = None;
    for generation in journal.generations(session)?.iter().rev() {
        if generation.connection.is_empty() {
            continue;
        }
        let inputs = journal.read_tape(&generation.connection, 1, 8)?;
        let mut found: Option<Remembered> = None;
        for input in &inputs {
            let Ok(record) = TapeRecord::decode(input.number, input.at, &input.bytes) else {
                continue;
            };
            if let Some(hint) = record
                .opening
                .as_ref()
                .and_then(|opening| opening.hint.as_deref())
            {
                found = Some(Remembered {
                    name: hint.to_owned(),
                    launch: None,
                    cwd: None,
                });
            }
            if let Recorded::Did(what) = &record.what
                && let Some(told) = launch(what)
            {
                return Ok(Some(told));
            }
        }
        last = last.or(found);
    }
    Ok(last)
}

fn launch(what: &str) -> Option<Remembered> {
    let what: serde_json::Value = serde_json::from_str(what).ok()?;
    let launch = what.get("launch")?;
    let text = |name: &str| launch.get(name)?.as_str().map(str::to_owned);
    let arguments = launch.get("arguments")?.as_array()?;
    let words = arguments
        .iter()
        .filter_map(|word| word.as_str().map(str::to_owned));
    Some(Remembered {
        name: text("name")?,
        launch: Launch::from_words(text("program").into_iter().chain(words)),
        cwd: text("cwd").map(PathBuf::from),
    })
}

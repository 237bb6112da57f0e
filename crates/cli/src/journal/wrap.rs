//! `tapline wrap`: a drop-in for the agent command in any editor's settings.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use tapline_agent::archive::{ArchiveOptions, JournalArchive};
use tapline_agent::wrap::{self, Archive, Input, Ledger, RecordOptions, WrapOptions, guard};
use tapline_journal::{Home, Journal, Mode, SqliteJournal};

use crate::failure::say_as;

/// The word that starts what ends the agent when `wrap` is killed.
pub(crate) const GUARD: &str = "__guard";

/// How long the recorder thread waits at once for a journal that is behind. It waits again and again; the pipe never does.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The agent's command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs the agent, and ends this process as the agent ended.
pub(crate) fn run(args: Args) -> ! {
    let mut command = args.command.into_iter();
    let program = command.next().unwrap_or_default();
    let arguments: Vec<OsString> = command.collect();
    let record = Home::from_env().ok().map(|home| {
        let hint = hint_of(&program, &arguments);
        RecordOptions {
            connection: uuid::Uuid::now_v7().simple().to_string(),
            hint: Some(hint),
            secrets: secrets(),
            spill: home.root().join("spill"),
            archive: Arc::new(Late { home }),
        }
    });
    if record.is_none() {
        say_as(
            "tapline wrap",
            "nothing is recorded, since no folder for the journal is known; set TAPLINE_HOME",
        );
    }
    let options = WrapOptions {
        program,
        arguments,
        guard: guard_command(),
        record,
    };
    match wrap::run(options) {
        Ok(ended) => {
            ended.tell();
            ended.end.pass_on()
        }
        Err(error) => {
            say_as("tapline wrap", &error);
            std::process::exit(error.code());
        }
    }
}

/// The command that watches over an agent from outside.
pub(crate) fn guard_command() -> Option<Vec<OsString>> {
    let exe = std::env::current_exe().ok()?;
    Some(vec![exe.into_os_string(), OsString::from(GUARD)])
}

/// Watches over an agent from outside.
pub(crate) fn run_guard() -> ! {
    std::process::exit(i32::from(guard::run().is_err()));
}

/// What the agent is started as: the last part of its program's path, or of the script that its program runs.
pub(crate) fn hint_of(program: &OsString, arguments: &[OsString]) -> String {
    let name = |text: &OsString| {
        Path::new(text)
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let own = name(program);
    let runs_others = matches!(
        own.as_str(),
        "node" | "npx" | "bun" | "bunx" | "deno" | "python" | "python3" | "uv" | "uvx" | "env" | "ssh"
    );
    let script = arguments
        .iter()
        .filter(|_| runs_others)
        .map(name)
        .find(|a| !a.starts_with('-') && !a.is_empty());
    script.unwrap_or(own)
}

/// Values of the environment whose names say that they are secret.
pub(crate) fn secrets() -> Vec<String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| tapline_redact::is_secret_name(name) && value.len() >= 8)
        .map(|(_, value)| value)
        .collect()
}

/// A journal that is opened by the thread that writes it: `wrap` never waits for it.
struct Late {
    home: Home,
}

impl Late {
    fn archive(&self) -> Result<JournalArchive, String> {
        let journal = SqliteJournal::open(&self.home).map_err(|e| e.to_string())?;
        let journal: Arc<dyn Journal> = Arc::new(journal);
        let options = ArchiveOptions {
            mode: Mode::Wrapped,
            // What the agent is called stands in the record, also in one that is folded in later.
            agent: None,
            origin: None,
            patience: Some(PATIENCE),
            resume: None,
        };
        Ok(JournalArchive::new(journal, options))
    }
}

impl Archive for Late {
    fn open(&self, connection: &str) -> Result<Box<dyn Ledger>, String> {
        self.archive()?.open(connection)
    }

    fn tape(&self, connection: &str, number: u64) -> Result<Vec<Input>, String> {
        self.archive()?.tape(connection, number)
    }
}

/// Folds side files of earlier runs into the journal.
pub(crate) fn fold_in(home: &Home) -> std::io::Result<Vec<wrap::Folded>> {
    wrap::fold_in(&home.root().join("spill"), &Late { home: home.clone() })
}

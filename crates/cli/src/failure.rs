//! What a command says when it cannot do what was asked, and the exit code it ends with.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use thiserror::Error;

/// The exit codes, as help prints them.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done · 1 what was looked for is not there, or a check found faults · \
2 wrong arguments · 65 an input is not what it should be (what could be read of it was used) · 66 an input cannot be \
opened · 69 the journal cannot do it · 74 reading or writing failed · 76 the agent could not be set up · 77 nobody is signed in · \
78 the configuration is not what it should be · 130 interrupted · 141 the reader of the output went away";

/// Why a command failed. The words say what happened, where, and what to do.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// What was asked for is not there, or a check found faults.
    #[error("{0}")]
    NotThere(String),
    /// An input that cannot be opened.
    #[error("{path}: {what}")]
    NoInput { path: String, what: String },
    /// An input that is not what it should be.
    #[error("{path}: {what}")]
    Data { path: String, what: String },
    /// The journal cannot do what was asked.
    #[error("{0}")]
    Journal(String),
    /// Another process is at it now.
    #[error("{0}")]
    Busy(String),
    /// The configuration, or the user's own file of agents, is not what it should be.
    #[error("{0}")]
    Config(String),
    /// The arguments do not fit together.
    #[error("{0}")]
    Usage(String),
    /// The agent could not be started or set up.
    #[error("{0}")]
    Agent(String),
    /// Nobody is signed in.
    #[error("{0}")]
    SignIn(String),
    /// A turn did not end as was hoped: the exit code, and how it ended.
    #[error("{1}")]
    Turn(u8, String),
    /// Some of several inputs failed, each of which was told: the exit code of the first, and how many.
    #[error("{1}")]
    Some(u8, String),
    /// Nobody reads the output any more.
    #[error("the reader of the output went away")]
    ClosedPipe,
    /// Reading or writing failed.
    #[error("{path}: {what}")]
    Io { path: String, what: String },
}

impl Failure {
    /// Prints the words to standard error and gives the exit code. A closed pipe is nobody's fault: it ends quietly, as a
    /// program does that SIGPIPE ends.
    pub(crate) fn report(self) -> ExitCode {
        if !matches!(self, Failure::ClosedPipe) {
            say(&self);
        }
        ExitCode::from(self.code())
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::ClosedPipe => 141,
            Failure::NotThere(_) => 1,
            Failure::Data { .. } => 65,
            Failure::Journal(_) | Failure::Busy(_) => 69,
            Failure::NoInput { .. } => 66,
            Failure::Io { .. } => 74,
            Failure::Config(_) => 78,
            Failure::Usage(_) => 2,
            Failure::Agent(_) => 76,
            Failure::SignIn(_) => 77,
            Failure::Turn(code, _) | Failure::Some(code, _) => *code,
        }
    }

    /// Whether only the one input it names failed, so that others can be gone on with.
    pub(crate) fn is_of_one_input(&self) -> bool {
        matches!(
            self,
            Failure::NoInput { .. } | Failure::Data { .. } | Failure::Busy(_)
        )
    }
}

/// Tells a person something, on standard error. If nobody reads that any more, nobody misses it.
pub(crate) fn say(what: impl Display) {
    say_as("tapline", what);
}

/// The same under another name: `wrap` shares its standard error with the agent.
pub(crate) fn say_as(who: &str, what: impl Display) {
    let line = format!("{who}: {what}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// A failed write to standard output.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure::ClosedPipe;
        }
        Failure::Io {
            path: "standard output".to_owned(),
            what: format!("could not be written: {error}"),
        }
    }
}

//! What a command says when it cannot do what was asked, and the exit code it ends with.

use std::process::ExitCode;

use thiserror::Error;

/// Why a command failed. The words say what happened, where, and what to do.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// An input that cannot be opened.
    #[error("{path}: {what}")]
    NoInput { path: String, what: String },
    /// An input that is not what it should be.
    #[error("{path}: {what}")]
    Data { path: String, what: String },
    /// Nobody reads the output any more.
    #[error("the reader of the output went away")]
    ClosedPipe,
    /// Reading or writing failed.
    #[error("{path}: {what}")]
    Io { path: String, what: String },
}

impl Failure {
    /// Prints the words to standard error and gives the exit code: 65 for bad data, 66 for an input that cannot be
    /// opened, 74 for a failed read or write. A closed pipe is no failure of ours: it ends quietly, as after SIGPIPE.
    pub(crate) fn report(self) -> ExitCode {
        let code = match self {
            Failure::ClosedPipe => return ExitCode::from(141),
            Failure::Data { .. } => 65,
            Failure::NoInput { .. } => 66,
            Failure::Io { .. } => 74,
        };
        eprintln!("tapline: {self}");
        ExitCode::from(code)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure::ClosedPipe;
        }
        Failure::Io { path: "standard output".to_owned(), what: error.to_string() }
    }
}

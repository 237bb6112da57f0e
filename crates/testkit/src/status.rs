//! How a scripted agent ends.

use rustix::process::{Signal, getpid, kill_process};

/// The end of an agent process.
///
/// [`crate::agent::run`] returns it instead of ending the process itself, so that a test can run an agent inside a
/// thread; a command calls [`Status::end_process`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exits with this code.
    Code(i32),
    /// It dies by the signal with this number.
    Signal(i32),
}

const NAMES: [(&str, Signal); 11] = [
    ("HUP", Signal::HUP),
    ("INT", Signal::INT),
    ("QUIT", Signal::QUIT),
    ("ABRT", Signal::ABORT),
    ("BUS", Signal::BUS),
    ("FPE", Signal::FPE),
    ("KILL", Signal::KILL),
    ("USR1", Signal::USR1),
    ("SEGV", Signal::SEGV),
    ("PIPE", Signal::PIPE),
    ("TERM", Signal::TERM),
];

impl Status {
    /// The death by a signal that is named as in `SIGKILL` or `KILL`.
    pub fn signal_named(name: &str) -> Result<Self, String> {
        let short = name.strip_prefix("SIG").unwrap_or(name);
        let known = NAMES.iter().find(|(known, _)| *known == short);
        known
            .map(|(_, signal)| Self::Signal(signal.as_raw()))
            .ok_or_else(|| format!("`{name}` is no signal that an agent here can die of"))
    }

    /// Ends this process as the status says. The caller has flushed what it wants to be read.
    pub fn end_process(self) -> ! {
        match self {
            Self::Code(code) => std::process::exit(code),
            Self::Signal(number) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    // An error leaves the shell's way of saying it, below.
                    let _ = kill_process(getpid(), signal);
                }
                // Reached only where the signal is blocked or caught.
                std::process::exit(128 + number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_with_and_without_their_prefix() {
        assert_eq!(Status::signal_named("SIGKILL"), Ok(Status::Signal(9)));
        assert_eq!(Status::signal_named("TERM"), Ok(Status::Signal(15)));
        assert!(Status::signal_named("SIGNONE").unwrap_err().contains("SIGNONE"));
    }
}

//! The guard: a process that ends the agent when we are killed.
//!
//! Nothing can be done in a process that was killed, so a second one watches: it leads the process group that the agent
//! joins, and waits for the end of a pipe that only we hold. A byte on the pipe means that all is well and it leaves. An
//! end without the byte means that we are gone: it asks the group to end, gives it [`GRACE`], and ends it.
//!
//! The guard leads the group before the agent exists, so there is no moment in which the agent runs and would not be found;
//! and as long as the guard lives, no other group can have its number. It works wherever there are process groups, which
//! the parent-death signal of Linux does not.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::process::{Signal, kill_current_process_group};
use signal_hook::consts::signal::*;

/// How long the agent and what it started may take to end before they are ended.
pub const GRACE: Duration = Duration::from_secs(1);

/// What we say when the agent has ended by itself.
const DISMISSED: u8 = b'.';

/// Signals that are meant for the agent: the guard is in its group and must outlive them.
const SHRUGGED_OFF: [i32; 10] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU,
];

/// A guard that runs.
pub(crate) struct Guard {
    child: Child,
    line: ChildStdin,
}

impl Guard {
    /// Starts a guard, which leads a new group.
    pub(crate) fn start(command: &[OsString]) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let line = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut ready = [0];
        let mut said = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        // A program that is no guard would be in the agent's group and die by its first signal.
        if said.read_exact(&mut ready).is_err() || ready != [DISMISSED] {
            let _ = child.kill();
            let _ = child.wait();
            return Err(io::Error::other("the guard did not start"));
        }
        Ok(Self { child, line })
    }

    /// The group it leads.
    pub(crate) fn group(&self) -> u32 {
        self.child.id()
    }

    /// The agent has ended: what it left running may go on.
    pub(crate) fn dismiss(mut self) {
        let _ = self.line.write_all(&[DISMISSED]);
        drop(self.line);
        let _ = self.child.wait();
    }
}

/// The work of the guard, as a process of its own.
///
/// # Errors
/// Where it cannot stand its ground against signals, or cannot say that it is ready.
pub fn run() -> io::Result<()> {
    for signal in SHRUGGED_OFF {
        // A handler that does nothing, rather than to ignore the signal, since only this is safe.
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    // No folder is kept from being unmounted by us.
    let _ = std::env::set_current_dir("/");
    let mut stdout = io::stdout();
    stdout.write_all(&[DISMISSED])?;
    stdout.flush()?;
    let null = std::fs::File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    let mut said = Vec::new();
    // A broken pipe is an end like any other.
    let _ = io::stdin().lock().read_to_end(&mut said);
    if said != [DISMISSED] {
        let _ = kill_current_process_group(Signal::TERM);
        // One that was stopped hears nothing until it goes on.
        let _ = kill_current_process_group(Signal::CONT);
        std::thread::sleep(GRACE);
        let _ = kill_current_process_group(Signal::KILL);
    }
    Ok(())
}

//! Terminals that an agent may run through us: `terminal/create`, `output`, `wait_for_exit`, `kill` and `release`.
//!
//! A terminal is a process with a process group of its own. Its standard output and error are one and the same pipe, so
//! that what it says stands in the order in which it was said; its input is empty. No emulator is behind it: agents want
//! text, and a program that finds no terminal writes plainer text.
//!
//! # Who waits
//!
//! Nothing here makes the caller wait, except [`Terminals::create`] for the start of the process and the drop of
//! [`Terminals`]. Each terminal has a *keeper*, a thread that reads the pipe for as long as anybody holds its other end,
//! sends the signals when they are due, and calls back; and a *waiter*, which does nothing but wait for the process. The
//! exit is told when the process has ended, even if something that it started goes on holding the pipe, and after all that
//! the process itself has written was read.
//!
//! # Who ends
//!
//! The process is waited for without being reaped until its terminal is released. A process that was not reaped keeps its
//! number, so the group that we signal is always the one that we made. Releasing a terminal ends the whole group, also what
//! a command that has ended by itself left running; what made a session of its own (`setsid`) is out of reach. To end means
//! SIGTERM, and SIGKILL after [`GRACE`]; what has lost both its leader and the pipe gets no grace. Dropping [`Terminals`]
//! ends all of them and waits for that.
//!
//! None of this happens when we are killed ourselves. For that each terminal is put into the group of a guard of its own
//! (see [`crate::wrap::guard`]), where a command for one is given: the guard sees us gone and ends the group.

mod keeper;
mod tail;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::files::{FileError, Folders, Shown};
use crate::wrap::guard::{GRACE, Guard};

use keeper::{Process, Shared, State};

/// Most terminals that an agent may have at once.
pub const TERMINALS: usize = 64;

/// Most terminals that run or have been released and are still ending.
pub const LIVING: usize = 2 * TERMINALS;

/// How much output is kept where the agent does not say, in bytes.
pub const OUTPUT_BYTES: usize = 1 << 20;

/// Most output that is kept whatever the agent says, in bytes.
pub const OUTPUT_BYTES_MOST: usize = 4 << 20;

/// Most who wait for the exit of one terminal.
pub const WAITING: usize = 64;

/// How long the drop of [`Terminals`] waits for the system to end what was killed, beyond [`GRACE`].
const FAREWELL: Duration = Duration::from_secs(5);

/// What to run.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    /// The program. Without arguments it may be a line of shell, since several agents send such lines.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that are added to ours.
    pub env: Vec<(String, String)>,
    /// The folder it runs in; the session's where there is none.
    pub cwd: Option<PathBuf>,
    /// How much of the output's end is kept, in bytes.
    pub output_byte_limit: Option<u64>,
}

/// How a process ended. Exactly one of the two is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// It left with this code.
    pub code: Option<i32>,
    /// The signal with this name ended it.
    pub signal: Option<String>,
}

/// What a terminal has printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The end of it.
    pub text: String,
    /// Whether there was more before.
    pub truncated: bool,
    /// How the process ended, once it has.
    pub exit: Option<Exit>,
}

/// Why something was not done with a terminal.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// There are [`TERMINALS`], or [`LIVING`] with those that still end.
    #[error("there are {0} terminals already, more are not kept. Release some with `terminal/release`.")]
    TooMany(usize),
    /// [`WAITING`] wait already.
    #[error("{WAITING} requests wait for the exit of terminal `{0}` already.")]
    TooManyWait(Shown),
    /// No such terminal, or it was released.
    #[error("there is no terminal `{0}`; it was never created, or it was released.")]
    Unknown(Shown),
    /// The folder is none of the session's.
    #[error("the terminal was not started: {0}")]
    Folder(#[from] FileError),
    /// A name that no variable can have.
    #[error("the terminal was not started: no variable can have the name `{0}`.")]
    Variable(Shown),
    /// The system refused.
    #[error("`{command}` could not be started: {source}.")]
    Start {
        /// The command.
        command: Shown,
        /// What it said.
        source: io::Error,
    },
}

impl TerminalError {
    /// The JSON-RPC error code of the answer.
    pub fn code(&self) -> i32 {
        match self {
            Self::Unknown(_) => -32002,
            Self::Variable(_) => -32602,
            Self::Folder(error) => error.code(),
            Self::TooMany(_) | Self::TooManyWait(_) | Self::Start { .. } => -32603,
        }
    }
}

/// The terminals of a session.
#[derive(Debug)]
pub struct Terminals {
    folders: Folders,
    guard: Option<Vec<OsString>>,
    open: BTreeMap<String, Terminal>,
    /// Stands in the ids of its terminals.
    mark: String,
    created: u64,
    living: Arc<Living>,
}

impl Terminals {
    /// None yet. `guard` is the program that runs [`crate::wrap::guard::run`], and its arguments; without it, what runs in
    /// a terminal outlives us when we are killed.
    pub fn new(folders: Folders, guard: Option<Vec<OsString>>) -> Self {
        Self {
            folders,
            guard,
            open: BTreeMap::new(),
            mark: String::new(),
            created: 0,
            living: Arc::default(),
        }
    }

    /// The same for a session that goes on: no process of ours gives an id that another one gave. An agent may take such an
    /// id for a name of its own, as Grok does for a background command, and the session remembers that.
    #[must_use]
    pub fn going_on(mut self) -> Self {
        let random = uuid::Uuid::now_v7().simple().to_string();
        // The beginning of such an id is the time, its end is random. Models read it, so it is kept short.
        self.mark = format!("{}-", &random[random.len() - 8..]);
        self
    }

    /// Starts a process and returns the id of its terminal.
    ///
    /// # Errors
    /// Where there are too many, the folder is not inside the session's, or the process cannot be started.
    pub fn create(&mut self, spec: Spec) -> Result<String, TerminalError> {
        if self.open.len() >= TERMINALS {
            return Err(TerminalError::TooMany(self.open.len()));
        }
        let alive = Alive::new(&self.living).map_err(TerminalError::TooMany)?;
        let cwd = match &spec.cwd {
            Some(cwd) => self.folders.folder(cwd)?,
            None => self.folders.cwd().to_owned(),
        };
        let unfit = |name: &str| name.is_empty() || name.contains(['=', '\0']);
        if let Some((name, _)) = spec.env.iter().find(|(name, _)| unfit(name)) {
            return Err(TerminalError::Variable(Path::new(name).into()));
        }
        let terminal = start(&spec, &cwd, self.guard.as_deref(), alive);
        let terminal = terminal.map_err(|source| TerminalError::Start {
            command: Path::new(&spec.command).into(),
            source,
        })?;
        self.created += 1;
        let id = format!("term-{}{}", self.mark, self.created);
        self.open.insert(id.clone(), terminal);
        Ok(id)
    }

    /// What a terminal has printed by now.
    ///
    /// # Errors
    /// Where there is no such terminal.
    pub fn output(&self, id: &str) -> Result<Output, TerminalError> {
        // Copied under the lock and read without it: who asks all the time must not keep the terminal from being read.
        let (tail, closed, exit) = {
            let state = self.get(id)?.shared.lock();
            (state.tail.clone(), state.closed, state.exit.clone())
        };
        let (text, truncated) = tail.text(closed);
        Ok(Output {
            text,
            truncated,
            exit,
        })
    }

    /// Calls back once with the exit: at once if the process has ended, else from the terminal's own thread.
    ///
    /// # Errors
    /// Where there is no such terminal, or too many wait for it; the callback is dropped then.
    pub fn on_exit(
        &self,
        id: &str,
        callback: impl FnOnce(Exit) + Send + 'static,
    ) -> Result<(), TerminalError> {
        let mut state = self.get(id)?.shared.lock();
        match state.exit.clone() {
            Some(exit) => {
                drop(state);
                callback(exit);
            }
            None if state.waiting.len() >= WAITING => {
                return Err(TerminalError::TooManyWait(Path::new(id).into()));
            }
            None => state.waiting.push(Box::new(callback)),
        }
        Ok(())
    }

    /// Ends the process and what it started. The terminal and its output stay.
    ///
    /// # Errors
    /// Where there is no such terminal.
    pub fn kill(&self, id: &str) -> Result<(), TerminalError> {
        self.get(id)?.ask(|state| state.kill = true);
        Ok(())
    }

    /// Ends the process and what it started, if anything still runs, and forgets the terminal.
    ///
    /// # Errors
    /// Where there is no such terminal.
    pub fn release(&mut self, id: &str) -> Result<(), TerminalError> {
        // Its drop says the rest.
        self.open.remove(id).map(drop).ok_or_else(|| unknown(id))
    }

    fn get(&self, id: &str) -> Result<&Terminal, TerminalError> {
        self.open.get(id).ok_or_else(|| unknown(id))
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        self.open.clear();
        self.living.wait(GRACE + FAREWELL);
    }
}

fn unknown(id: &str) -> TerminalError {
    TerminalError::Unknown(Path::new(id).into())
}

/// How many keepers there are.
#[derive(Debug, Default)]
struct Living {
    count: Mutex<usize>,
    fewer: Condvar,
}

impl Living {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are none, but not longer than this.
    fn wait(&self, most: Duration) {
        let waited = self
            .fewer
            .wait_timeout_while(self.count(), most, |count| *count > 0);
        drop(waited);
    }
}

/// Counts one of [`Living`] for as long as it lives.
struct Alive(Arc<Living>);

impl Alive {
    fn new(living: &Arc<Living>) -> Result<Self, usize> {
        let mut count = living.count();
        if *count >= LIVING {
            return Err(*count);
        }
        *count += 1;
        Ok(Self(living.clone()))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.fewer.notify_all();
    }
}

/// Our end of a terminal. Its drop releases it.
#[derive(Debug)]
struct Terminal {
    shared: Arc<Shared>,
}

impl Terminal {
    /// Asks the keeper for something.
    fn ask(&self, what: impl FnOnce(&mut State)) {
        what(&mut self.shared.lock());
        self.shared.wake();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.ask(|state| (state.kill, state.released) = (true, true));
    }
}

fn start(spec: &Spec, cwd: &Path, guard: Option<&[OsString]>, alive: Alive) -> io::Result<Terminal> {
    let (bell, ring) = io::pipe()?;
    let (pipe, output) = io::pipe()?;
    let limit = spec.output_byte_limit.map_or(OUTPUT_BYTES, |limit| {
        usize::try_from(limit).map_or(OUTPUT_BYTES_MOST, |limit| limit.min(OUTPUT_BYTES_MOST))
    });
    let shared = Arc::new(Shared::new(limit, ring));
    // The thread first: a process that nobody keeps would be the worse remainder.
    let (hand_over, process) = channel();
    let kept = shared.clone();
    thread::Builder::new()
        .name("tapline-terminal".to_owned())
        .spawn(move || keeper::keep(&process, pipe, bell, &kept, alive))?;
    let guard = guard.map(Guard::start).transpose()?;
    let group = guard.as_ref().map_or(0, |guard| guard.group().cast_signed());
    let child = command(spec, cwd)
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output)
        .process_group(group)
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            if let Some(guard) = guard {
                guard.dismiss();
            }
            return Err(error);
        }
    };
    // The keeper waits for nothing else, so it is there.
    let _ = hand_over.send(Process { child, guard });
    Ok(Terminal { shared })
}

/// The program and its arguments, or a shell for a line of shell.
fn command(spec: &Spec, cwd: &Path) -> Command {
    let mut command;
    if spec.args.is_empty() && !cwd.join(&spec.command).is_file() {
        // The lines that models write are written for bash more often than for the least that `sh` can be.
        let bash = Path::new("/bin/bash");
        command = Command::new(if bash.exists() { bash } else { Path::new("/bin/sh") });
        command.arg("-c").arg(&spec.command);
    } else {
        command = Command::new(&spec.command);
        command.args(&spec.args);
    }
    command
}

//! `tapline wrap -- CMD ARG…`: a drop-in for the agent command in any editor's settings.
//!
//! Three threads, one a pipe, do nothing but read, leave a copy for the recorder (`tap`) and write (`pump`). They hold
//! no lock for longer than it takes to hang a copy into a queue, touch no file, and know nothing of frames: bytes that are
//! no JSON pass like all others. Who dies first, and what is left then, is the business of `guard` and `signals`.
//!
//! What the editor sees is what it would see without us:
//!
//! - End of input, a closed output and a broken pipe are passed on in both directions, as soon as they happen.
//! - The exit code is passed on; death by a signal becomes death by the same signal ([`End::pass_on`]).
//! - Signals that reach us reach the agent's process group.
//! - When we are killed, the agent is ended.
//! - What could be kept nowhere is told in one line of standard error, once the agent's own is closed ([`Ended::tell`]).

mod clerk;
pub mod guard;
mod keeper;
mod ledger;
mod pump;
mod signals;
mod spill;
mod tap;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::thread;

use clerk::Clerk;
use tap::{Tap, Taps};

pub use clerk::{ERROR_LINE_BYTES, FINISH_WAIT, RecordOptions, Recording, UNSAVED_BYTES, UNSAVED_TIME};
pub use ledger::{Archive, Input, Ledger, Trouble};
pub use spill::{Folded, fold_in};
pub use tap::QUEUE_BYTES;

/// What to run, and how.
#[derive(Debug, Clone, Default)]
pub struct WrapOptions {
    /// The agent's program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The program that runs [`guard::run`], and its arguments. Without it the agent is not ended when this process is
    /// killed.
    pub guard: Option<Vec<OsString>>,
    /// How it is recorded, if it is.
    pub record: Option<RecordOptions>,
}

/// How the agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It left with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Why the agent could not be run.
#[derive(Debug, thiserror::Error)]
pub enum WrapError {
    /// Its program was not started.
    #[error(
        "the agent `{program}` could not be started: {source}. Check the command behind `tapline wrap --`."
    )]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused something that every process needs.
    #[error("`tapline wrap` could not be set up: {0}")]
    Setup(#[from] io::Error),
}

impl WrapError {
    /// The code that a shell would end with.
    pub fn code(&self) -> i32 {
        match self {
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::Start { .. } => 126,
            Self::Setup(_) => 125,
        }
    }
}

impl End {
    /// Ends this process the way the agent ended.
    pub fn pass_on(self) -> ! {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(signal) => {
                signals::die_by(signal);
                // The signal left us alive: say it as a shell does.
                128 + signal
            }
        };
        std::process::exit(code)
    }
}

/// The standard streams of this process, which from now on are the agent's.
struct Streams {
    stdin: File,
    stdout: File,
    stderr: File,
}

impl Streams {
    /// Takes the three streams and leaves the null device in their places, so that they can be closed, and so that
    /// nothing of ours is ever written among what the agent says.
    fn take() -> io::Result<Self> {
        let own = |fd: io::Result<std::os::fd::OwnedFd>| fd.map(File::from);
        let streams = Self {
            stdin: own(io::stdin().as_fd().try_clone_to_owned())?,
            stdout: own(io::stdout().as_fd().try_clone_to_owned())?,
            stderr: own(io::stderr().as_fd().try_clone_to_owned())?,
        };
        let null = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        Ok(streams)
    }
}

/// How the agent ended, and what became of its record.
#[derive(Debug)]
pub struct Ended {
    /// How the agent ended.
    pub end: End,
    /// What became of its record; nothing if it was not recorded, or the recording itself broke down.
    pub recording: Option<Recording>,
    /// Our own way to standard error.
    errors: Option<File>,
}

impl Ended {
    /// Says on standard error what of the agent's record is lost for good, if anything is.
    pub fn tell(&self) {
        let Some(Recording {
            inputs,
            lost: lost @ 1..,
            trouble,
            ..
        }) = &self.recording
        else {
            return;
        };
        let why = trouble.as_deref().unwrap_or("the journal cannot be written");
        let line = format!(
            "tapline wrap: {lost} of {inputs} inputs of this agent are not recorded: {why}. The agent itself was not \
             affected. Mend that, and run `tapline doctor`.\n"
        );
        if let Some(mut errors) = self.errors.as_ref() {
            // Nobody may be left to read it.
            let _ = errors.write_all(line.as_bytes());
        }
    }
}

/// Runs the agent on the standard streams of this process until it ends.
///
/// The standard streams belong to the agent from now on: whatever else this process writes to them goes nowhere. One thread
/// may go on reading standard input; the caller ends the process, best with [`End::pass_on`].
///
/// # Errors
/// Where the agent could not be started; nothing has been written then, and the streams are as they were.
pub fn run(mut options: WrapOptions) -> Result<Ended, WrapError> {
    let guard = options
        .guard
        .as_deref()
        .and_then(|command| guard::Guard::start(command).ok());
    let mut child = start(&options, guard.as_ref())?;
    let group = guard.as_ref().map_or(child.id(), guard::Guard::group);
    let signals = signals::Forwarding::start(group)?;
    let streams = Streams::take()?;
    let (taps, clerk) = match options.record.take() {
        None => (Taps::closed(), None),
        Some(record) => {
            let (taps, copies) = Taps::new();
            // Without a clerk nothing is recorded, and the bytes pass all the same.
            let clerk = thread::Builder::new()
                .name("tapline-clerk".to_owned())
                .spawn(move || {
                    step_back();
                    Clerk::new(record).run(&copies)
                });
            (taps, clerk.ok())
        }
    };
    let (end, errors) = pass(&mut child, streams, taps)?;
    // The editor has seen the end of all output by now; only our exit waits for the record, and not for long.
    let recording = clerk.and_then(|clerk| clerk.join().ok());
    signals.stop();
    if let Some(guard) = guard {
        guard.dismiss();
    }
    Ok(Ended {
        end,
        recording,
        errors,
    })
}

fn start(options: &WrapOptions, guard: Option<&guard::Guard>) -> Result<Child, WrapError> {
    // The group of the guard, or one of its own: the same signals reach it, but no guard watches over it.
    let group = guard.map_or(0, |guard| guard.group().cast_signed());
    Command::new(&options.program)
        .args(&options.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(group)
        .spawn()
        .map_err(|source| WrapError::Start {
            program: options.program.to_string_lossy().into_owned(),
            source,
        })
}

/// Passes the bytes until the agent has ended and its output is drained. Gives standard error back, where the agent left it
/// open to its end.
fn pass(child: &mut Child, streams: Streams, taps: Taps) -> io::Result<(End, Option<File>)> {
    let (over, ended) = io::pipe()?;
    let missing = || io::Error::other("a pipe of the agent is missing");
    let input = child.stdin.take().ok_or_else(missing)?;
    let output = child.stdout.take().ok_or_else(missing)?;
    let errors = child.stderr.take().ok_or_else(missing)?;
    let errors_are_kept = taps.are_heard();
    let Taps {
        input: input_tap,
        output: output_tap,
        errors: errors_tap,
        end: ending,
    } = taps;
    let file = |fd: std::os::fd::OwnedFd| File::from(fd);
    // This one may wait for the editor for ever; it ends with the process.
    spawn("tapline-input", {
        let pipe = pump::Pipe::new(streams.stdin, file(input.into()), input_tap);
        move || drop(pipe.run())
    })?;
    let output = pump::Pipe::new(file(output.into()), streams.stdout, output_tap).until(over.try_clone()?);
    let output = spawn("tapline-output", move || drop(output.run()))?;
    let errors = pump::Pipe::new(file(errors.into()), streams.stderr, errors_tap).until(over);
    let errors = if errors_are_kept { errors.keep() } else { errors };
    let errors = spawn("tapline-errors", move || errors.run())?;
    let status = child.wait()?;
    drop(ended);
    // A pump cannot panic; if one does, the others have done their work all the same.
    let _ = output.join();
    let errors = errors.join().ok().flatten();
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code),
        (None, Some(signal)) => End::Signal(signal),
        // No system that we know ends a process without one of the two.
        (None, None) => End::Code(1),
    };
    ending.tell(end);
    Ok((end, errors))
}

/// Lets the pumps go first where the processor is short. Only on Linux has a thread a priority of its own.
fn step_back() {
    #[cfg(target_os = "linux")]
    {
        // Where it is refused everything works, only less smoothly.
        let _ = rustix::process::setpriority_process(None, 5);
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

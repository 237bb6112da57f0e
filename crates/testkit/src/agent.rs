//! The scripted agent: a real ACP agent whose behaviour comes from a small file.
//!
//! [`run`] speaks over any reader and writers with plain blocking I/O and threads, so it can be a process (the
//! `scripted-agent` binary of this crate, `tapline demo-agent`) or a thread inside a test. It plays two kinds of
//! script: a [recording](crate::recording), byte for byte, and a [scenario](crate::scenario), which reacts to what
//! the client does.

mod host;
mod replay;
mod stage;
mod steps;
mod store;
mod tasks;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

pub use replay::CLIENT_LEFT;

use crate::Status;
use crate::script::Script;

/// The three streams of an agent.
pub struct Io {
    /// What the client writes.
    pub input: Box<dyn Read + Send>,
    /// What the client reads. Dropping it must close the stream.
    pub output: Box<dyn Write + Send>,
    /// Standard error.
    pub errors: Box<dyn Write + Send>,
}

/// How fast a script is played.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Pace {
    /// As the script says: a recording's own times, a scenario's own pauses.
    Real,
    /// Without any pause.
    #[default]
    None,
    /// So many frames of the agent a second.
    PerSecond(f64),
}

/// What the starter of an agent may choose.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How fast it speaks.
    pub pace: Pace,
    /// Which process of a recording to play, from 0. Without it the first, or the next one where there is a `state`.
    pub process: Option<usize>,
    /// Folder in which a scenario keeps what it said, so that another process can load the session.
    pub state: Option<PathBuf>,
}

/// Runs an agent until it ends, and says how. Threads that still read from the client are left behind.
pub fn run(script: &Script, options: &Options, mut io: Io) -> Status {
    match script {
        Script::Recording(recording) => {
            let index = match next_process(options) {
                Ok(index) => index,
                Err(error) => {
                    let _ = writeln!(
                        io.errors,
                        "the number of the next process cannot be kept: {error}"
                    );
                    return Status::Code(1);
                }
            };
            let Some(process) = recording.processes.get(index) else {
                let count = recording.processes.len();
                let _ = writeln!(
                    io.errors,
                    "the recording has {count} processes, so there is no process {index}"
                );
                return Status::Code(2);
            };
            replay::run(process, options.pace, io)
        }
        Script::Scenario(scenario) => host::run(scenario, options, io),
    }
}

impl std::str::FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "real" => Ok(Self::Real),
            "none" => Ok(Self::None),
            _ => match text.strip_suffix("/s").map(str::parse::<f64>) {
                Some(Ok(rate)) if rate > 0.0 => Ok(Self::PerSecond(rate)),
                _ => Err(format!(
                    "`{text}` is no pace; say `real`, `none` or, for example, `200/s`"
                )),
            },
        }
    }
}

/// Which process of a recording this one plays.
fn next_process(options: &Options) -> std::io::Result<usize> {
    let (None, Some(state)) = (options.process, &options.state) else {
        return Ok(options.process.unwrap_or(0));
    };
    std::fs::create_dir_all(state)?;
    let file = state.join("next-process");
    let index = std::fs::read_to_string(&file)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0);
    std::fs::write(&file, format!("{}\n", index + 1))?;
    Ok(index)
}

/// What reached the agent.
enum Input {
    /// One line, its line feed included.
    Line(Vec<u8>),
    /// The client closed its side.
    Closed,
}

/// The lines of the client, read by a thread of their own so that a client is never blocked by a long answer.
struct Inbox {
    lines: Receiver<Vec<u8>>,
}

/// Lines that may wait unread before the client feels it.
const UNREAD_LINES: usize = 1024;

impl Inbox {
    fn start(input: Box<dyn Read + Send>) -> Self {
        let (sender, lines) = sync_channel(UNREAD_LINES);
        thread::spawn(move || read_lines(input, |line| sender.send(line).is_ok()));
        Self { lines }
    }

    fn next(&mut self) -> Input {
        self.lines.recv().map_or(Input::Closed, Input::Line)
    }
}

/// Reads lines until the end, or until nobody takes them.
fn read_lines(input: Box<dyn Read + Send>, mut take: impl FnMut(Vec<u8>) -> bool) {
    let mut reader = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if !take(line) => return,
            Ok(_) => {}
        }
    }
}

/// Keeps a recording's time, or a rate.
struct Pacer {
    pace: Pace,
    /// Recorded time and real time at the last step.
    last: (u64, Instant),
}

impl Pacer {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            last: (0, Instant::now()),
        }
    }

    /// A step that waited for something else happened now.
    fn mark(&mut self, t_ms: Option<u64>) {
        self.last = (t_ms.unwrap_or(self.last.0), Instant::now());
    }

    /// Waits until a step of the agent is due.
    fn wait(&mut self, t_ms: Option<u64>) {
        let gap = match self.pace {
            Pace::None => return,
            Pace::Real => Duration::from_millis(t_ms.unwrap_or(self.last.0).saturating_sub(self.last.0)),
            Pace::PerSecond(rate) => Duration::from_secs_f64(1.0 / rate),
        };
        let due = self.last.1 + gap;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        self.last = (t_ms.unwrap_or(self.last.0), due);
    }
}

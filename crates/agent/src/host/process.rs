//! The agent as a process: its pipes, and its end.
//!
//! One thread reads each of its outputs, one writes its input, one waits for its end. They know nothing of frames. What is
//! read goes through a queue of a few pieces, so that an agent that floods is slowed by its own pipe; what is written waits
//! in a queue with a limit in bytes, and a line that nobody wants any more can be taken out of it while it waits.
//!
//! The agent leads nothing: it joins the process group of a guard (see [`crate::wrap::guard`]), which ends the whole group
//! when we are gone, however we went. When the agent has ended, what it left running in its group is ended too: a hosted
//! session leaves no orphan.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use rustix::process::{Pid, Signal, kill_process_group};

use super::news::News;
use crate::catalogue::Launch;
use crate::wrap::End;
use crate::wrap::guard::{GRACE, Guard};

/// How much is read at once, in bytes.
const READ: usize = 64 << 10;

/// How many pieces that were read may wait.
const PIECES: usize = 8;

/// How many bytes may wait to be written to the agent, the line that is being written included.
pub const WRITE_BYTES: usize = 32 << 20;

/// Longest line that is written to an agent, in bytes.
pub const WRITE_LINE_BYTES: usize = 16 << 20;

/// What came out of the agent.
pub(super) enum Output {
    /// Bytes of its standard output.
    Bytes(Vec<u8>),
    /// Bytes of its standard error.
    Errors(Vec<u8>),
    /// Its standard output is closed.
    Closed,
    /// Its standard error is closed.
    ErrorsClosed,
}

/// An agent that runs, or has run.
pub(super) struct Process {
    group: u32,
    guard: Option<Guard>,
    /// It was told to end.
    ending: bool,
    pub(super) pid: u32,
    pub(super) input: Input,
}

impl Process {
    /// Starts the agent. What it says comes by the receiver, its end and a broken input by `tell`.
    pub(super) fn start(
        launch: &Launch,
        cwd: &Path,
        guard: Option<&[std::ffi::OsString]>,
        tell: &Sender<News>,
    ) -> io::Result<(Self, Receiver<Output>)> {
        let guard = guard.and_then(|command| Guard::start(command).ok());
        let group = guard.as_ref().map_or(0, |guard| guard.group().cast_signed());
        let mut child = launch
            .command()
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(group)
            .spawn()?;
        let missing = || io::Error::other("a pipe of the agent is missing");
        let input = File::from(OwnedFd::from(child.stdin.take().ok_or_else(missing)?));
        let output = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        let pid = child.id();
        let (pieces, received) = bounded(PIECES);
        spawn("tapline-agent-output", {
            let pieces = pieces.clone();
            move || read(output, &pieces, Output::Bytes, Output::Closed)
        })?;
        spawn("tapline-agent-errors", move || {
            read(errors, &pieces, Output::Errors, Output::ErrorsClosed);
        })?;
        let queue = Input::default();
        spawn("tapline-agent-input", {
            let (queue, tell) = (queue.clone(), tell.clone());
            move || queue.write_to(input, &tell)
        })?;
        spawn("tapline-agent-end", {
            let tell = tell.clone();
            move || {
                let end = match child.wait() {
                    Ok(status) => match (status.code(), status.signal()) {
                        (Some(code), _) => End::Code(code),
                        (None, signal) => End::Signal(signal.unwrap_or_default()),
                    },
                    // Nobody else waits for it, so this cannot be; an end it is all the same.
                    Err(_) => End::Code(1),
                };
                let _ = tell.send(News::Exited(end));
            }
        })?;
        let group = guard.as_ref().map_or(pid, Guard::group);
        let process = Self {
            group,
            guard,
            ending: false,
            pid,
            input: queue,
        };
        Ok((process, received))
    }

    /// Asks the whole group to end, and ends it after a grace. It does not wait.
    pub(super) fn end(&mut self) {
        if std::mem::replace(&mut self.ending, true) {
            return;
        }
        self.input.close();
        match self.guard.take() {
            // The guard does it, and goes on if we are gone by then.
            Some(guard) => guard.end_group(),
            None => end_group(self.group),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends a group that no guard watches over.
fn end_group(group: u32) {
    let Some(group) = Pid::from_raw(group.cast_signed()) else {
        return;
    };
    // It fails where the group is gone, and then there is nobody to end.
    let _ = kill_process_group(group, Signal::TERM);
    let _ = kill_process_group(group, Signal::CONT);
    let _ = spawn("tapline-agent-kill", move || {
        thread::sleep(GRACE);
        let _ = kill_process_group(group, Signal::KILL);
    });
}

fn read(mut from: impl Read, to: &Sender<Output>, wrap: impl Fn(Vec<u8>) -> Output, end: Output) {
    let mut buffer = vec![0; READ];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                if to.send(wrap(buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The other side is broken, which for a reader is an end.
            Err(_) => break,
        }
    }
    let _ = to.send(end);
}

pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// The way to the agent's input: lines that wait to be written.
#[derive(Clone, Default)]
pub(super) struct Input {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    moved: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<Line>,
    /// Bytes that wait, the line that is being written included.
    bytes: usize,
    /// The call whose line is being written.
    active: Option<Option<i64>>,
    /// Nothing more is taken.
    closed: bool,
}

struct Line {
    /// The call that it makes, if it makes one.
    call: Option<i64>,
    bytes: Vec<u8>,
}

/// Why a line was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The agent reads too slowly.
    Full,
    /// The line itself is over the limit.
    TooLong,
    /// Its input is closed or broken.
    Closed,
}

/// How far a line had come that nobody wants any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Withdrawn {
    /// It never left.
    Unsent,
    /// A part of it may have left.
    Half,
    /// It has left.
    Sent,
}

impl Input {
    /// Whether anything is still taken.
    pub(super) fn is_open(&self) -> bool {
        !self.lock().closed
    }

    /// Whether a line of this length would be taken now.
    pub(super) fn room(&self, line: usize) -> Result<(), Refused> {
        room(&self.lock(), line)
    }

    /// Takes a line, without its end.
    pub(super) fn push(&self, call: Option<i64>, line: &str) -> Result<(), Refused> {
        let mut queue = self.lock();
        room(&queue, line.len())?;
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        queue.bytes += bytes.len();
        queue.lines.push_back(Line { call, bytes });
        self.shared.moved.notify_all();
        Ok(())
    }

    /// Takes the line of a call back, if that can still be done.
    pub(super) fn withdraw(&self, call: i64) -> Withdrawn {
        let mut queue = self.lock();
        if queue.active == Some(Some(call)) {
            return Withdrawn::Half;
        }
        match queue.lines.iter().position(|line| line.call == Some(call)) {
            Some(at) => {
                let line = queue.lines.remove(at);
                queue.bytes -= line.map_or(0, |line| line.bytes.len());
                Withdrawn::Unsent
            }
            None => Withdrawn::Sent,
        }
    }

    /// Nothing more is taken; what waits is still written, then the agent's input ends.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.shared.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut to: File, tell: &Sender<News>) {
        loop {
            let mut queue = self.lock();
            let line = loop {
                if let Some(line) = queue.lines.pop_front() {
                    break line;
                }
                if queue.closed {
                    return;
                }
                queue = self
                    .shared
                    .moved
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            };
            queue.active = Some(line.call);
            drop(queue);
            let written = to.write_all(&line.bytes);
            let mut queue = self.lock();
            queue.active = None;
            queue.bytes -= line.bytes.len();
            if written.is_err() {
                let was_open = !std::mem::replace(&mut queue.closed, true);
                queue.lines.clear();
                queue.bytes = 0;
                drop(queue);
                if was_open {
                    let _ = tell.send(News::InputBroken);
                }
                return;
            }
        }
    }
}

fn room(queue: &Queue, line: usize) -> Result<(), Refused> {
    if line >= WRITE_LINE_BYTES {
        return Err(Refused::TooLong);
    }
    if queue.closed {
        return Err(Refused::Closed);
    }
    if queue.bytes + line >= WRITE_BYTES {
        return Err(Refused::Full);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_13_a_line_that_waits_can_be_taken_back_and_frees_its_place() {
        let input = Input::default();
        input.push(Some(1), "one").expect("there is room");
        input.push(Some(2), "two").expect("there is room");
        assert_eq!(input.withdraw(2), Withdrawn::Unsent);
        assert_eq!(input.withdraw(3), Withdrawn::Sent, "nothing is known of it");
        assert_eq!(input.lock().bytes, 4);
        input.lock().active = Some(Some(7));
        assert_eq!(input.withdraw(7), Withdrawn::Half);
    }

    #[test]
    fn cp_11_what_waits_has_a_limit() {
        let input = Input::default();
        let line = "x".repeat(WRITE_LINE_BYTES - 1);
        input.push(Some(1), &line).expect("the first fits");
        input.push(None, &line).expect("and a second");
        assert_eq!(input.push(None, "short"), Err(Refused::Full));
        assert_eq!(
            input.push(None, &"x".repeat(WRITE_LINE_BYTES)),
            Err(Refused::TooLong)
        );
        assert_eq!(input.withdraw(1), Withdrawn::Unsent);
        assert_eq!(input.lock().bytes, WRITE_BYTES / 2);
        input.push(None, "short").expect("a short one still fits");
        input.close();
        assert_eq!(input.push(None, "late"), Err(Refused::Closed));
    }

    #[test]
    fn cp_11_what_waits_is_written_in_order_before_the_end() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let input = Input::default();
        input.push(None, "a").expect("there is room");
        input.push(None, "b").expect("there is room");
        input.close();
        let (tell, _news) = crossbeam_channel::unbounded();
        input.write_to(File::from(OwnedFd::from(writer)), &tell);
        let mut reader = reader;
        let mut all = String::new();
        reader.read_to_string(&mut all).expect("text");
        assert_eq!(all, "a\nb\n");
    }

    #[test]
    fn cp_15_a_broken_input_is_told_once() {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let input = Input::default();
        input.push(Some(1), "a").expect("there is room");
        let (tell, news) = crossbeam_channel::unbounded();
        input.write_to(File::from(OwnedFd::from(writer)), &tell);
        assert!(matches!(news.try_recv(), Ok(News::InputBroken)));
        assert_eq!(input.push(None, "b"), Err(Refused::Closed));
    }
}

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

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use crate::files::{ANSWER_BYTES, FileError, Folders, Shown, json_byte};
use crate::wrap::guard::{GRACE, Guard};

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

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// How much is read after the process has ended before its exit is told, in bytes: the most that a pipe can hold.
const LAST_WORDS: usize = 1 << 20;

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
            created: 0,
            living: Arc::default(),
        }
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
        let id = format!("term-{}", self.created);
        self.open.insert(id.clone(), terminal);
        Ok(id)
    }

    /// What a terminal has printed by now.
    ///
    /// # Errors
    /// Where there is no such terminal.
    pub fn output(&self, id: &str) -> Result<Output, TerminalError> {
        let state = self.get(id)?.shared.lock();
        let (text, truncated) = state.tail.text(state.closed);
        Ok(Output {
            text,
            truncated,
            exit: state.exit.clone(),
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

/// What the keeper, the waiter and we know of a terminal.
struct Shared {
    state: Mutex<State>,
    /// A byte in it wakes the keeper.
    bell: PipeWriter,
}

struct State {
    tail: Tail,
    /// Nobody holds the pipe any more.
    closed: bool,
    /// What the waiter saw.
    ended: Option<Exit>,
    /// The same, once all that the process said was read.
    exit: Option<Exit>,
    waiting: Vec<Box<dyn FnOnce(Exit) + Send>>,
    /// It shall end.
    kill: bool,
    /// And nobody wants to know more of it.
    released: bool,
    /// The bell was rung and not heard yet.
    rung: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds it can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // One byte at most is in the pipe, so nobody ever waits for room.
        if !std::mem::replace(&mut self.lock().rung, true) {
            let _ = (&self.bell).write_all(&[0]);
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.lock();
        f.debug_struct("Shared")
            .field("exit", &state.exit)
            .field("released", &state.released)
            .finish_non_exhaustive()
    }
}

fn start(spec: &Spec, cwd: &Path, guard: Option<&[OsString]>, alive: Alive) -> io::Result<Terminal> {
    let (bell, ring) = io::pipe()?;
    let (pipe, output) = io::pipe()?;
    let limit = spec.output_byte_limit.map_or(OUTPUT_BYTES, |limit| {
        usize::try_from(limit).map_or(OUTPUT_BYTES_MOST, |limit| limit.min(OUTPUT_BYTES_MOST))
    });
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            tail: Tail::new(limit),
            closed: false,
            ended: None,
            exit: None,
            waiting: Vec::new(),
            kill: false,
            released: false,
            rung: false,
        }),
        bell: ring,
    });
    // The thread first: a process that nobody keeps would be the worse remainder.
    let (hand_over, process) = channel();
    let kept = shared.clone();
    thread::Builder::new()
        .name("tapline-terminal".to_owned())
        .spawn(move || keep(&process, pipe, bell, &kept, alive))?;
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

/// A process that was started.
struct Process {
    child: Child,
    guard: Option<Guard>,
}

impl Process {
    /// Signals its group, which is ours as long as the process is not reaped or the guard stands.
    fn signal(&self, signals: &[Signal]) {
        let group = self.guard.as_ref().map_or(self.child.id(), Guard::group);
        if let Some(group) = Pid::from_raw(group.cast_signed()) {
            for signal in signals {
                // It fails where everything has ended, and then there is nobody to tell.
                let _ = kill_process_group(group, *signal);
            }
        }
    }
}

/// The work of the keeper.
fn keep(process: &Receiver<Process>, pipe: PipeReader, bell: PipeReader, shared: &Arc<Shared>, alive: Alive) {
    let Ok(mut process) = process.recv() else {
        return;
    };
    watch(&process.child, shared);
    let mut pipe = Some(pipe);
    let mut buffer = vec![0; CHUNK];
    let mut told = false;
    let mut end = Ending::NotAsked;
    loop {
        let mut room = CHUNK;
        let news = wait(pipe.as_ref(), &bell, end.timeout());
        if news.bell {
            listen(&bell, shared);
        }
        let (ended, kill, released) = {
            let state = shared.lock();
            (state.ended.clone(), state.kill, state.released)
        };
        if !told && ended.is_some() {
            room = LAST_WORDS;
        }
        if news.output || room > CHUNK {
            read(&mut pipe, &mut buffer, room, shared);
        }
        if let Some(exit) = ended.filter(|_| !told) {
            told = true;
            tell(&exit, shared);
        }
        if kill && matches!(end, Ending::NotAsked) {
            // One that was stopped hears nothing until it goes on.
            process.signal(&[Signal::TERM, Signal::CONT]);
            end = Ending::Asked(Instant::now() + GRACE);
        }
        if end.is_due() || (matches!(end, Ending::Asked(_)) && told && pipe.is_none()) {
            process.signal(&[Signal::KILL]);
            end = Ending::Ended;
        }
        if released && told && matches!(end, Ending::Ended) {
            break;
        }
    }
    // Now its number may be given to others.
    let _ = process.child.wait();
    if let Some(guard) = process.guard.take() {
        guard.dismiss();
    }
    drop(alive);
}

/// How far the end of a group is.
#[derive(Clone, Copy)]
enum Ending {
    NotAsked,
    /// It was asked to end until then.
    Asked(Instant),
    /// It was ended.
    Ended,
}

impl Ending {
    fn timeout(self) -> Option<Duration> {
        match self {
            Self::Asked(until) => Some(until.saturating_duration_since(Instant::now())),
            Self::NotAsked | Self::Ended => None,
        }
    }

    fn is_due(self) -> bool {
        self.timeout() == Some(Duration::ZERO)
    }
}

/// Waits for the end of the process on a thread of its own.
fn watch(child: &Child, shared: &Arc<Shared>) {
    let pid = Pid::from_child(child);
    let watched = shared.clone();
    let waiter = thread::Builder::new()
        .name("tapline-waiter".to_owned())
        .spawn(move || {
            let exit = exit_of(pid);
            watched.lock().ended = Some(exit);
            watched.wake();
        });
    if waiter.is_err() {
        // Without a waiter its end would never be seen, so it ends now.
        let _ = kill_process(pid, Signal::KILL);
        let exit = exit_of(pid);
        shared.lock().ended = Some(exit);
        shared.wake();
    }
}

/// Waits for the end of a process and leaves it to be reaped.
fn exit_of(pid: Pid) -> Exit {
    let status = loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other,
        }
    };
    let status = status.ok().flatten();
    match status.as_ref().and_then(|status| status.terminating_signal()) {
        Some(signal) => Exit {
            code: None,
            signal: Some(match signal_hook::low_level::signal_name(signal) {
                Some(name) => name.to_owned(),
                None => format!("signal {signal}"),
            }),
        },
        // Who ignores the end of children is told no code, only that they are gone.
        None => Exit {
            code: Some(status.and_then(|status| status.exit_status()).unwrap_or(-1)),
            signal: None,
        },
    }
}

/// What woke the keeper.
struct News {
    output: bool,
    bell: bool,
}

fn wait(pipe: Option<&PipeReader>, bell: &PipeReader, timeout: Option<Duration>) -> News {
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: timeout.as_secs().cast_signed(),
        tv_nsec: i64::from(timeout.subsec_nanos()) as _,
    });
    let mut fds = vec![PollFd::new(bell, PollFlags::IN)];
    fds.extend(pipe.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    if poll(&mut fds, timeout.as_ref()).is_err() {
        // Interrupted, or out of memory for a moment.
        return News {
            output: false,
            bell: false,
        };
    }
    let has = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
    News {
        output: has(1),
        bell: has(0),
    }
}

fn listen(mut bell: &PipeReader, shared: &Shared) {
    let mut heard = [0; 8];
    let _ = bell.read(&mut heard);
    shared.lock().rung = false;
}

/// Reads what is there, `room` bytes at most.
fn read(pipe: &mut Option<PipeReader>, buffer: &mut [u8], mut room: usize, shared: &Shared) {
    while let Some(from) = pipe.as_mut().filter(|_| room > 0) {
        let mut fds = [PollFd::new(&*from, PollFlags::IN)];
        match poll(&mut fds, Some(&Timespec::default())) {
            Ok(0) => return,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        match from.read(buffer) {
            Ok(n @ 1..) => {
                shared.lock().tail.push(&buffer[..n]);
                room = room.saturating_sub(n);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The end, or a broken pipe, which for a reader is one.
            Ok(0) | Err(_) => {
                *pipe = None;
                shared.lock().closed = true;
            }
        }
    }
}

fn tell(exit: &Exit, shared: &Shared) {
    let waiting = {
        let mut state = shared.lock();
        state.exit = Some(exit.clone());
        std::mem::take(&mut state.waiting)
    };
    for callback in waiting {
        // Whatever a callback does, the others are called and the group is ended.
        let _ = catch_unwind(AssertUnwindSafe(|| callback(exit.clone())));
    }
}

/// The end of an output.
#[derive(Debug)]
struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    /// There was more before.
    cut: bool,
}

impl Tail {
    fn new(limit: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            limit,
            cut: false,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let fits = &bytes[bytes.len().saturating_sub(self.limit)..];
        let over = (self.bytes.len() + fits.len()).saturating_sub(self.limit);
        self.cut |= over > 0 || fits.len() < bytes.len();
        self.bytes.drain(..over);
        let needed = self.bytes.len() + fits.len();
        if needed > self.bytes.capacity() {
            // As vectors grow, but never beyond what is kept.
            let most = (2 * needed).min(self.limit);
            self.bytes.reserve_exact(most - self.bytes.len());
        }
        self.bytes.extend(fits);
    }

    /// The text, and whether something is missing before it. A character that has not come whole yet is left out, unless
    /// the output is `complete`.
    fn text(&self, complete: bool) -> (String, bool) {
        let (head, rest) = self.bytes.as_slices();
        let bytes = [head, rest].concat();
        let continues = |byte: &&u8| (0x80..0xc0).contains(*byte);
        let start = match self.cut {
            true => bytes.iter().take(3).take_while(continues).count(),
            false => 0,
        };
        let end = if complete { bytes.len() } else { whole(&bytes) };
        let text = String::from_utf8_lossy(bytes.get(start..end).unwrap_or_default());
        // Bytes that were replaced are longer now, and control characters will be.
        let fit = fitting(&text, self.limit);
        (text[fit..].to_owned(), self.cut || fit > 0)
    }
}

/// Where the last character that has come whole ends.
fn whole(bytes: &[u8]) -> usize {
    for (behind, byte) in bytes.iter().rev().take(3).enumerate() {
        let length = match byte {
            0x80..0xc0 => continue,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0.. => 4,
            _ => 1,
        };
        return if length > behind + 1 {
            bytes.len() - behind - 1
        } else {
            bytes.len()
        };
    }
    bytes.len()
}

/// Where the longest end of a text begins that has at most `limit` bytes and fits into an answer.
fn fitting(text: &str, limit: usize) -> usize {
    let (mut plain, mut escaped) = (0, 0);
    for (at, char) in text.char_indices().rev() {
        plain += char.len_utf8();
        escaped += if char.is_ascii() {
            json_byte(char as u8)
        } else {
            char.len_utf8()
        };
        if plain > limit || escaped > ANSWER_BYTES {
            return at + char.len_utf8();
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(limit: usize, pieces: &[&[u8]]) -> Tail {
        let mut tail = Tail::new(limit);
        for piece in pieces {
            tail.push(piece);
        }
        tail
    }

    #[test]
    fn the_end_of_an_output_is_kept_and_begins_with_a_character() {
        assert_eq!(tail(4, &[b"ab", b"cd"]).text(true), ("abcd".into(), false));
        assert_eq!(tail(4, &[b"ab", b"cde"]).text(true), ("bcde".into(), true));
        assert_eq!(tail(4, &[b"abcdefgh"]).text(true), ("efgh".into(), true));
        assert_eq!(tail(0, &[b"a"]).text(true), (String::new(), true));
        assert_eq!(tail(0, &[]).text(true), (String::new(), false));
        let snowmen = "☃☃☃".as_bytes();
        for (limit, text) in [(9, "☃☃☃"), (8, "☃☃"), (7, "☃☃"), (6, "☃☃"), (2, "")] {
            assert_eq!(tail(limit, &[snowmen]).text(true), (text.to_owned(), limit < 9));
        }
    }

    #[test]
    fn a_character_that_has_not_come_whole_is_not_shown_yet() {
        for text in ["é", "☃", "𝄞"] {
            let bytes = text.as_bytes();
            for cut in 1..bytes.len() {
                let mut tail = tail(100, &[b"a", &bytes[..cut]]);
                assert_eq!(tail.text(false).0, "a");
                assert_eq!(tail.text(true).0, "a\u{fffd}");
                tail.push(&bytes[cut..]);
                assert_eq!(tail.text(false).0, format!("a{text}"));
            }
        }
        // Bytes that never become a character hold nothing up.
        assert_eq!(
            tail(100, &[b"a\x80\x80\x80"]).text(false).0,
            "a\u{fffd}\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn what_grows_on_its_way_is_cut_to_the_limit_again() {
        let (text, truncated) = tail(9, &[&[0xff; 9]]).text(true);
        assert_eq!((text.as_str(), truncated), ("\u{fffd}\u{fffd}\u{fffd}", true));
        let control = vec![1; OUTPUT_BYTES_MOST];
        let (text, truncated) = tail(OUTPUT_BYTES_MOST, &[&control]).text(true);
        assert!(truncated && crate::files::json_bytes(&text) <= ANSWER_BYTES);
        assert_eq!(text.len(), ANSWER_BYTES / 6);
    }

    #[test]
    fn an_output_without_end_takes_no_more_than_its_limit() {
        let mut tail = Tail::new(100_000);
        for _ in 0..100 {
            tail.push(&[b'x'; 7_001]);
            assert!(tail.bytes.capacity() <= 100_000);
        }
        assert_eq!(tail.text(true).0.len(), 100_000);
    }
}

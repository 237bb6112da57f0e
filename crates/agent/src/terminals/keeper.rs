//! The keeper of a terminal: one thread that reads, signals and calls back, and one that waits for the process.
//!
//! What the owner wants stands in [`State`]; a byte in a pipe, the bell, tells the keeper to look. So the owner never waits
//! for it, and the keeper waits for output, for news and for the next signal that is due with a single `poll`.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use super::tail::Tail;
use super::{Alive, Exit};
use crate::wrap::guard::{GRACE, Guard};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// How much is read after the process has ended before its exit is told, in bytes: the most that a pipe can hold.
const LAST_WORDS: usize = 1 << 20;

/// What the keeper, the waiter and we know of a terminal.
pub(super) struct Shared {
    state: Mutex<State>,
    /// A byte in it wakes the keeper.
    bell: PipeWriter,
}

pub(super) struct State {
    pub tail: Tail,
    /// Nobody holds the pipe any more.
    pub closed: bool,
    /// What the waiter saw.
    ended: Option<Exit>,
    /// The same, once all that the process said was read.
    pub exit: Option<Exit>,
    pub waiting: Vec<Box<dyn FnOnce(Exit) + Send>>,
    /// It shall end.
    pub kill: bool,
    /// And nobody wants to know more of it.
    pub released: bool,
    /// The bell was rung and not heard yet.
    rung: bool,
}

impl Shared {
    /// Of a process that keeps the last `limit` bytes of its output.
    pub(super) fn new(limit: usize, bell: PipeWriter) -> Self {
        Self {
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
            bell,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds it can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake(&self) {
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

/// A process that was started.
pub(super) struct Process {
    pub child: Child,
    pub guard: Option<Guard>,
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

/// The work of the keeper. It counts as `alive` until nothing is left of the terminal.
pub(super) fn keep(
    process: &Receiver<Process>,
    pipe: PipeReader,
    bell: PipeReader,
    shared: &Arc<Shared>,
    alive: Alive,
) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_there_is_read_however_small_the_pieces_are() {
        let (bell, ring) = io::pipe().unwrap();
        let (pipe, mut output) = io::pipe().unwrap();
        output.write_all(&[b'x'; 60_000]).unwrap();
        let shared = Shared::new(100_000, ring);
        let mut pipe = Some(pipe);
        let length = || shared.lock().tail.text(true).0.len();
        read(&mut pipe, &mut [0; 100], 1000, &shared);
        assert_eq!(length(), 1000);
        // Somebody still holds the other end, and that keeps nobody.
        read(&mut pipe, &mut [0; 100], LAST_WORDS, &shared);
        assert_eq!(length(), 60_000);
        assert!(pipe.is_some() && !shared.lock().closed);
        drop(output);
        read(&mut pipe, &mut [0; 100], LAST_WORDS, &shared);
        assert!(pipe.is_none() && shared.lock().closed);
        drop(bell);
    }
}

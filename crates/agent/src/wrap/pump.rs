//! One pipe: read, leave a copy, write.
//!
//! The copy is left before the write. Otherwise the answer to a request could be noted before the request itself, because
//! the agent may answer while the thread that wrote the request sleeps. To leave a copy is to hang it into a queue; it
//! cannot wait for anyone. Whoever listens is woken after the write.
//!
//! A pipe also waits for the one it writes to going away. So an editor that leaves breaks the agent's pipe at once, and an
//! agent that closes its input breaks the editor's, as if they were joined.

use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Tap;

/// How much is read at once, in bytes: what a pipe holds on Linux.
const READ: usize = 64 << 10;

/// How long after the agent's end its descendants are waited for, if they hold its output open and say nothing.
const QUIET: Duration = Duration::from_millis(100);

/// How long they are waited for if they go on talking.
const TALKING: Duration = Duration::from_secs(2);

/// What is still read after that, in bytes: the most that a pipe can hold, which may be the agent's own last words.
const LAST_WORDS: usize = 1 << 20;

/// A way from one side to the other.
pub(super) struct Pipe {
    from: File,
    to: File,
    tap: Tap,
    /// Its other end closes when the agent has ended.
    over: Option<PipeReader>,
    /// Whether the side that is written to is wanted back.
    keep: bool,
}

/// What a pipe waits for.
enum News {
    /// There is something to read, or the end.
    Input,
    /// Nobody reads any more what is written.
    Gone,
    /// The agent has ended.
    Over,
    /// Nothing came in the given time.
    Quiet,
}

impl Pipe {
    pub(super) fn new(from: File, to: File, tap: Tap) -> Self {
        Self {
            from,
            to,
            tap,
            over: None,
            keep: false,
        }
    }

    /// Stops when this pipe is closed at its other end and nothing is left to read.
    pub(super) fn until(mut self, over: PipeReader) -> Self {
        self.over = Some(over);
        self
    }

    /// Gives the side it writes to back when the agent has ended.
    pub(super) fn keep(mut self) -> Self {
        self.keep = true;
        self
    }

    /// Passes everything, and closes both sides when either is closed.
    pub(super) fn run(mut self) -> Option<File> {
        let is_read = self.pass();
        // The agent's end closes its pipes before we hear of it; a pipe that it closes while it lives is closed here too.
        (self.keep && is_read && self.is_over()).then_some(self.to)
    }

    /// Whether the agent has ended, or does so at once.
    fn is_over(&self) -> bool {
        let Some(over) = &self.over else { return true };
        let mut fds = [PollFd::new(over, PollFlags::IN)];
        let timeout = Timespec::try_from(QUIET).ok();
        poll(&mut fds, timeout.as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Says whether someone still reads what is written.
    fn pass(&mut self) -> bool {
        let mut buffer = vec![0; READ];
        let mut ended: Option<Instant> = None;
        let mut after = 0;
        loop {
            let timeout = ended.map(|since| {
                let late = since.elapsed() >= TALKING;
                if late { Duration::ZERO } else { QUIET }
            });
            match self.wait(timeout) {
                News::Gone => return false,
                News::Quiet => return true,
                News::Over => {
                    ended = Some(Instant::now());
                    self.over = None;
                    continue;
                }
                News::Input => {}
            }
            let n = match self.from.read(&mut buffer) {
                Ok(0) => return true,
                Ok(n) => n,
                Err(error) if may_pass(&error) => continue,
                // The other side is broken, which for a reader is an end.
                Err(_) => return true,
            };
            self.tap.copy(&buffer[..n]);
            let is_read = self.write(&buffer[..n]);
            self.tap.tell();
            if !is_read {
                return false;
            }
            if ended.is_some_and(|since| since.elapsed() >= TALKING) {
                after += n;
                if after >= LAST_WORDS {
                    return true;
                }
            }
        }
    }

    /// Writes all of it; says whether someone still reads.
    fn write(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match self.to.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // The other side made the pipe non-blocking; it is its pipe too.
                    let mut fds = [PollFd::new(&self.to, PollFlags::OUT)];
                    let _ = poll(&mut fds, None);
                }
                Err(error) if may_pass(&error) => {}
                Err(_) => return false,
            }
        }
        true
    }

    fn wait(&self, timeout: Option<Duration>) -> News {
        // An empty set of events still reports that a side has gone.
        let (from, to) = (
            PollFd::new(&self.from, PollFlags::IN),
            PollFd::new(&self.to, PollFlags::empty()),
        );
        let fds: &mut [PollFd<'_>] = match &self.over {
            Some(over) => &mut [from, to, PollFd::new(over, PollFlags::IN)],
            None => &mut [from, to],
        };
        // A wait of seconds fits into any system's time.
        let timeout = timeout.and_then(|t| Timespec::try_from(t).ok());
        loop {
            match poll(fds, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                // What cannot be polled (some devices on macOS) is simply read.
                Err(_) => return News::Input,
                Ok(0) => return News::Quiet,
                Ok(_) => break,
            }
        }
        let gone = PollFlags::ERR | PollFlags::HUP;
        if fds[1].revents().intersects(gone) {
            News::Gone
        } else if !fds[0].revents().is_empty() {
            News::Input
        } else if fds.get(2).is_some_and(|fd| !fd.revents().is_empty()) {
            News::Over
        } else {
            News::Input
        }
    }
}

fn may_pass(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

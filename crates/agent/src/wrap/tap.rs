//! Copies of what passes, on their way to the recorder.
//!
//! A pump hangs its copy into an unbounded channel, which never waits, after adding its length to a common count. Beyond
//! [`QUEUE_BYTES`] nothing is copied any more and only what is left out is counted: the pipe goes on, and the next copy
//! that fits says how much is missing before it.
//!
//! To wake another thread costs more than the copy, so it is not done between a read and its write. The listener never
//! waits inside the channel: while bytes come it naps for [`NAP`] and takes what has gathered, and after a nap in which
//! nothing came it goes to sleep, from which the pump wakes it once the bytes are written ([`Tap::tell`]).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, SystemTime};

use super::End;

/// What may wait to be looked at, in bytes.
pub const QUEUE_BYTES: usize = 32 << 20;

/// How long the listener lets copies gather while they come: little beside the quarter of a second for which the journal
/// gathers text, and long beside the way of a frame.
const NAP: Duration = Duration::from_millis(4);

/// One of the three ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// From the client to the agent.
    Input,
    /// From the agent to the client.
    Output,
    /// The agent's standard error.
    Errors,
}

/// A copy of the bytes of one read.
#[derive(Debug)]
pub(super) struct Copied {
    /// Which way they went.
    pub(super) stream: Stream,
    /// When they were read.
    pub(super) at: SystemTime,
    /// How many bytes before them were not copied.
    pub(super) missing: u64,
    /// The bytes.
    pub(super) bytes: Vec<u8>,
}

/// What arrives.
#[derive(Debug)]
pub(super) enum News {
    /// A copy.
    Copied(Copied),
    /// The agent has ended, and all of its output came before this.
    Ended(End, SystemTime),
    /// Nothing came in the given time.
    Nothing,
    /// Nothing will come any more.
    Gone,
}

/// Where copies arrive.
#[derive(Debug)]
pub(super) struct Copies {
    receiver: Receiver<News>,
    shared: Arc<Shared>,
    /// Something came since the last nap.
    busy: Cell<bool>,
}

/// What taps and their listener share.
#[derive(Debug, Default)]
struct Shared {
    /// Bytes that wait to be looked at.
    waiting: AtomicUsize,
    /// The listener sleeps until it is told.
    asleep: AtomicBool,
    listener: OnceLock<Thread>,
}

impl Shared {
    /// Wakes a listener that sleeps.
    fn tell(&self) {
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(listener) = self.listener.get() {
            listener.unpark();
        }
    }
}

impl Copies {
    /// What comes next, within about a time. Always called by the same thread.
    pub(super) fn next(&self, within: Duration) -> News {
        if let Some(news) = self.take() {
            return news;
        }
        if self.busy.replace(false) {
            self.shared.listener.get_or_init(std::thread::current);
            std::thread::park_timeout(NAP);
            if let Some(news) = self.take() {
                return news;
            }
        }
        self.shared.listener.get_or_init(std::thread::current);
        self.shared.asleep.store(true, Ordering::SeqCst);
        // What was left before the flag stood is not told: look once more.
        let news = self.take();
        if news.is_none() {
            std::thread::park_timeout(within);
        }
        self.shared.asleep.store(false, Ordering::SeqCst);
        news.or_else(|| self.take()).unwrap_or(News::Nothing)
    }

    fn take(&self) -> Option<News> {
        let news = match self.receiver.try_recv() {
            Ok(news) => news,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => return Some(News::Gone),
        };
        if let News::Copied(copied) = &news {
            self.shared
                .waiting
                .fetch_sub(copied.bytes.len(), Ordering::Relaxed);
        }
        self.busy.set(true);
        Some(news)
    }
}

/// Where one pump leaves its copies.
#[derive(Debug)]
pub(super) struct Tap {
    stream: Stream,
    missing: u64,
    to: Option<(Sender<News>, Arc<Shared>)>,
}

/// The three taps of an agent.
#[derive(Debug)]
pub(super) struct Taps {
    pub(super) input: Tap,
    pub(super) output: Tap,
    pub(super) errors: Tap,
    pub(super) end: Ending,
}

/// Where the end of the agent is told.
#[derive(Debug)]
pub(super) struct Ending(Option<(Sender<News>, Arc<Shared>)>);

impl Ending {
    /// Tells it.
    pub(super) fn tell(&self, end: End) {
        if let Some((to, shared)) = &self.0 {
            // Nobody has to listen.
            let _ = to.send(News::Ended(end, SystemTime::now()));
            shared.wake();
        }
    }
}

impl Taps {
    /// Taps, and where their copies arrive.
    pub(super) fn new() -> (Self, Copies) {
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared::default());
        let tap = |stream| Tap {
            stream,
            missing: 0,
            to: Some((sender.clone(), Arc::clone(&shared))),
        };
        let taps = Self {
            input: tap(Stream::Input),
            output: tap(Stream::Output),
            errors: tap(Stream::Errors),
            end: Ending(Some((sender.clone(), Arc::clone(&shared)))),
        };
        let copies = Copies {
            receiver,
            shared,
            busy: Cell::new(false),
        };
        (taps, copies)
    }

    /// Whether somebody listens.
    pub(super) fn are_heard(&self) -> bool {
        self.end.0.is_some()
    }

    /// Taps that nobody listens to.
    pub(super) fn closed() -> Self {
        let tap = |stream| Tap {
            stream,
            missing: 0,
            to: None,
        };
        Self {
            input: tap(Stream::Input),
            output: tap(Stream::Output),
            errors: tap(Stream::Errors),
            end: Ending(None),
        }
    }
}

impl Tap {
    /// Wakes the listener if it sleeps. What is not told it finds before long.
    pub(super) fn tell(&self) {
        if let Some((_, shared)) = &self.to {
            shared.tell();
        }
    }

    /// Leaves a copy, or counts it as missing. Never waits, and wakes nobody.
    pub(super) fn copy(&mut self, bytes: &[u8]) {
        let Some((sender, shared)) = &self.to else { return };
        let waiting = &shared.waiting;
        let length = bytes.len();
        // Two pumps may pass this test together and go over the limit by one read each.
        if waiting.load(Ordering::Relaxed) + length > QUEUE_BYTES {
            self.missing += length as u64;
            return;
        }
        waiting.fetch_add(length, Ordering::Relaxed);
        let copied = Copied {
            stream: self.stream,
            at: SystemTime::now(),
            missing: std::mem::take(&mut self.missing),
            bytes: bytes.to_vec(),
        };
        if sender.send(News::Copied(copied)).is_err() {
            // Nobody listens any more.
            self.to = None;
        }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // What is missing at the end is told by an empty copy.
        if let (missing @ 1.., Some((sender, _))) = (self.missing, &self.to) {
            let _ = sender.send(News::Copied(Copied {
                stream: self.stream,
                at: SystemTime::now(),
                missing,
                bytes: Vec::new(),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(copies: &Copies) -> Copied {
        match copies.next(Duration::ZERO) {
            News::Copied(copied) => copied,
            news => panic!("{news:?}"),
        }
    }

    #[test]
    fn beyond_the_limit_copies_are_counted_and_the_next_one_tells() {
        let (mut taps, copies) = Taps::new();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..QUEUE_BYTES / piece.len() + 3 {
            taps.output.copy(&piece);
        }
        for _ in 0..QUEUE_BYTES / piece.len() {
            assert_eq!(next(&copies).missing, 0);
        }
        taps.output.copy(b"more");
        let copied = next(&copies);
        assert_eq!((copied.missing, &copied.bytes[..]), (3 << 20, &b"more"[..]));
        taps.output.copy(b"again");
        assert_eq!(next(&copies).missing, 0);
        assert_eq!(copies.shared.waiting.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_missing_at_the_end_is_told() {
        let (mut taps, copies) = Taps::new();
        taps.input.copy(&vec![0; QUEUE_BYTES]);
        taps.input.copy(b"lost");
        drop(taps);
        assert_eq!(next(&copies).bytes.len(), QUEUE_BYTES);
        let last = next(&copies);
        assert_eq!((last.missing, last.bytes.len()), (4, 0));
        assert!(matches!(copies.next(Duration::ZERO), News::Gone));
    }
}

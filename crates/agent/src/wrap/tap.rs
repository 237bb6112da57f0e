//! Copies of what passes, on their way to the recorder.
//!
//! A pump hangs its copy into an unbounded channel, which never waits, after adding its length to a common count. Beyond
//! [`QUEUE_BYTES`] nothing is copied any more and only what is left out is counted: the pipe goes on, and the next copy
//! that fits says how much is missing before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};

use super::End;

/// What may wait to be looked at, in bytes.
pub const QUEUE_BYTES: usize = 32 << 20;

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
    waiting: Arc<AtomicUsize>,
}

impl Copies {
    /// What comes next, within a time.
    pub(super) fn next(&self, within: Duration) -> News {
        match self.receiver.recv_timeout(within) {
            Ok(News::Copied(copied)) => {
                self.waiting.fetch_sub(copied.bytes.len(), Ordering::Relaxed);
                News::Copied(copied)
            }
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout) => News::Nothing,
            Err(RecvTimeoutError::Disconnected) => News::Gone,
        }
    }
}

/// Where one pump leaves its copies.
#[derive(Debug)]
pub(super) struct Tap {
    stream: Stream,
    missing: u64,
    to: Option<(Sender<News>, Arc<AtomicUsize>)>,
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
pub(super) struct Ending(Option<Sender<News>>);

impl Ending {
    /// Tells it.
    pub(super) fn tell(&self, end: End) {
        if let Some(to) = &self.0 {
            // Nobody has to listen.
            let _ = to.send(News::Ended(end, SystemTime::now()));
        }
    }
}

impl Taps {
    /// Taps, and where their copies arrive.
    pub(super) fn new() -> (Self, Copies) {
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let tap = |stream| Tap {
            stream,
            missing: 0,
            to: Some((sender.clone(), Arc::clone(&waiting))),
        };
        let taps = Self {
            input: tap(Stream::Input),
            output: tap(Stream::Output),
            errors: tap(Stream::Errors),
            end: Ending(Some(sender.clone())),
        };
        (taps, Copies { receiver, waiting })
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
    /// Leaves a copy, or counts it as missing. Never waits.
    pub(super) fn copy(&mut self, bytes: &[u8]) {
        let Some((sender, waiting)) = &self.to else { return };
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
        assert_eq!(copies.waiting.load(Ordering::Relaxed), 0);
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

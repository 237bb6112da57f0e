//! What the loop of a chat waits for: keys, signals, and changes of the journal, each told by a thread of its own.
//!
//! The threads end with the process. One that has nobody to tell any more ends by itself.

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use tapline_journal::{Journal, Watch};

use crate::Outcome;
use crate::failure::Failure;

/// How long one look for changes waits; a change is seen at once.
const LOOK: Duration = Duration::from_millis(500);

/// What comes from outside of the loop.
pub(super) enum Event {
    /// From the terminal.
    Terminal(crossterm::event::Event),
    /// A line from a terminal that cannot be drawn on.
    Line(String),
    /// The terminal is gone, or its input has ended.
    End,
    /// Somebody sent an interrupt.
    Interrupt,
    /// Somebody wants this process to end.
    Terminate,
}

/// Tells what is pressed and what signals come.
pub(super) fn listen(tell: Sender<Event>, drawn_on: bool) -> Outcome {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let failed = |error: std::io::Error| Failure::Io {
        path: "the terminal".to_owned(),
        what: format!("cannot be listened to: {error}"),
    };
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(failed)?;
    let of_signals = tell.clone();
    spawn("tapline-signals", move || {
        for signal in signals.forever() {
            let event = if signal == SIGINT {
                Event::Interrupt
            } else {
                Event::Terminate
            };
            if of_signals.send(event).is_err() {
                return;
            }
        }
    })
    .map_err(failed)?;
    spawn("tapline-keys", move || {
        if drawn_on {
            while let Ok(event) = crossterm::event::read() {
                if tell.send(Event::Terminal(event)).is_err() {
                    return;
                }
            }
        } else {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if tell.send(Event::Line(line)).is_err() {
                    return;
                }
            }
        }
        // The loop may have ended already.
        let _ = tell.send(Event::End);
    })
    .map_err(failed)
}

/// Tells whenever the journal has changed, as long as somebody listens.
pub(super) fn changes(journal: Arc<dyn Journal>) -> Result<Receiver<()>, Failure> {
    let (tell, told) = bounded(1);
    spawn("tapline-changes", move || {
        loop {
            // The mark is taken before it is told, so that nothing falls between.
            let mark = journal.mark();
            if let Err(TrySendError::Disconnected(())) = tell.try_send(()) {
                return;
            }
            if journal.wait(&Watch::Any(mark), LOOK).is_err() {
                std::thread::sleep(LOOK);
            }
        }
    })
    .map_err(|error| Failure::Io {
        path: "the journal".to_owned(),
        what: format!("cannot be watched: {error}"),
    })?;
    Ok(told)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(drop)
}

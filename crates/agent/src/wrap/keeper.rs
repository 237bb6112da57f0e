//! The recorder thread: it alone touches the ledger, and it may wait for it, fail and panic as it likes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tapline_recorder::{Recorder, TapeRecord};

use super::ledger::{Archive, Ledger, Trouble};
use super::spill;

/// How often an idle recorder looks whether its ledger has saved what it was given.
const LOOK: Duration = Duration::from_millis(20);

/// How often a ledger in trouble is looked at.
const TROUBLED_LOOK: Duration = Duration::from_millis(100);

/// What the recorder thread is told.
pub(super) enum Work {
    /// The next input.
    Record(Arc<TapeRecord<'static>>),
    /// The next inputs stand in a side file, from this number to that.
    Read { file: PathBuf, from: u64, to: u64 },
    /// There will be no more.
    Flush,
}

/// How far the recorder has come; read by others at any time.
#[derive(Default)]
pub(super) struct Progress {
    /// The last input that was handled.
    done: AtomicU64,
    /// The last input that is on stable storage.
    saved: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl Progress {
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    pub(super) fn saved(&self) -> u64 {
        self.saved.load(Ordering::Acquire)
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, trouble: Option<&Trouble>) {
        let mut slot = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_deref() != trouble.map(Trouble::text) {
            *slot = trouble.map(|trouble| trouble.text().to_owned());
        }
    }
}

/// A recorder thread.
pub(super) struct Keeper {
    work: Option<Sender<Work>>,
    thread: JoinHandle<()>,
    pub(super) progress: Arc<Progress>,
}

impl Keeper {
    pub(super) fn start(archive: Arc<dyn Archive>, connection: &str) -> std::io::Result<Self> {
        let (work, receiver) = channel();
        let progress = Arc::new(Progress::default());
        let connection = connection.to_owned();
        let shared = Arc::clone(&progress);
        let thread = std::thread::Builder::new()
            .name("tapline-recorder".to_owned())
            .spawn(move || {
                let why = match archive.open(&connection) {
                    Ok(ledger) => keep(ledger, &receiver, &shared),
                    Err(why) => Err(why),
                };
                if let Err(why) = why {
                    shared.set(Some(&Trouble::Lasting(why)));
                }
            })?;
        Ok(Self {
            work: Some(work),
            thread,
            progress,
        })
    }

    /// Gives it work; says whether it can still take some.
    pub(super) fn give(&self, work: Work) -> bool {
        !self.thread.is_finished() && self.work.as_ref().is_some_and(|to| to.send(work).is_ok())
    }

    /// Tells it that there will be no more, and waits until then at most for it to close its ledger.
    pub(super) fn leave(&mut self, until: Instant) {
        self.work = None;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether it will do nothing more.
    pub(super) fn is_gone(&self) -> bool {
        self.thread.is_finished()
    }
}

/// Keeps the record until there is no more of it.
fn keep(ledger: Box<dyn Ledger>, work: &Receiver<Work>, progress: &Progress) -> Result<(), String> {
    let mut recorder = Recorder::new(ledger, None);
    let mut look = LOOK;
    loop {
        match work.recv_timeout(look) {
            Ok(Work::Record(record)) => take(&mut recorder, &record, progress)?,
            Ok(Work::Read { file, from, to }) => {
                let reader = spill::Reader::open(&file).map_err(|e| spill::sentence(&file, &e))?;
                let mut next = from;
                for record in reader {
                    let record = record.map_err(|e| spill::sentence(&file, &e))?;
                    let (number, at, bytes) = &record;
                    if (from..=to).contains(number) {
                        let record = TapeRecord::decode(*number, *at, bytes).map_err(|e| e.to_string())?;
                        take(&mut recorder, &record, progress)?;
                        next = number + 1;
                    }
                    if next > to {
                        break;
                    }
                }
                if next <= to {
                    return Err(format!("the side file {} ends before input {to}", file.display()));
                }
            }
            Ok(Work::Flush) => recorder.store_mut().flush(),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        report(&**recorder.store(), progress)?;
        // Nothing is asked of the ledger while everything is saved.
        let idle = recorder.store().saved() >= progress.done();
        look = if idle { Duration::from_secs(3600) } else { LOOK };
    }
}

/// Takes a record once the ledger is out of trouble.
fn take(
    recorder: &mut Recorder<Box<dyn Ledger>>,
    record: &TapeRecord<'_>,
    progress: &Progress,
) -> Result<(), String> {
    while report(&**recorder.store(), progress)? {
        std::thread::sleep(TROUBLED_LOOK);
    }
    recorder.record(record);
    progress.done.store(record.number, Ordering::Release);
    Ok(())
}

/// Tells how far the ledger is, and whether it is in trouble.
fn report(ledger: &dyn Ledger, progress: &Progress) -> Result<bool, String> {
    progress.saved.store(ledger.saved(), Ordering::Release);
    let trouble = ledger.trouble();
    progress.set(trouble.as_ref());
    match trouble {
        None => Ok(false),
        Some(Trouble::Passing(_)) => Ok(true),
        Some(Trouble::Lasting(why)) => Err(why),
    }
}

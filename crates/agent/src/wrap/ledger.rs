//! Where the record of a wrapped agent goes.

use tapline_recorder::Store;

/// A store that tells how far it has come. A journal is one.
///
/// A ledger is opened for one connection. If inputs of that connection are on stable storage already, it begins with
/// [`Ledger::saved`] at the last of them; they are given to it once more, so that the recorder reaches the state in which it
/// was, and it stores neither them nor their changes a second time.
pub trait Ledger: Store + Send {
    /// Number of the last input that is on stable storage, with all its changes.
    fn saved(&self) -> u64;

    /// What is in the way, while it lasts.
    fn trouble(&self) -> Option<Trouble>;

    /// Saves all that it was given, as soon as that can be done. Need not wait.
    fn flush(&mut self);
}

/// Why a ledger does not save what it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It keeps what it was given and tries again. It should be given no more until then.
    Passing(String),
    /// It will save nothing more.
    Lasting(String),
}

impl Trouble {
    /// The sentence.
    pub fn text(&self) -> &str {
        let (Self::Passing(text) | Self::Lasting(text)) = self;
        text
    }
}

/// Where ledgers come from.
pub trait Archive: Send + Sync {
    /// Opens the ledger of a connection.
    ///
    /// # Errors
    /// A sentence that says why it cannot be opened now.
    fn open(&self, connection: &str) -> Result<Box<dyn Ledger>, String>;

    /// The inputs of a connection that are on stable storage, from `number` on: their numbers, times and records. An empty
    /// answer is the end.
    ///
    /// # Errors
    /// A sentence that says why they cannot be read.
    fn tape(&self, connection: &str, number: u64) -> Result<Vec<Input>, String>;
}

/// An input as it was stored: number, time, and the bytes of its [`TapeRecord`](tapline_recorder::TapeRecord).
pub type Input = (u64, Option<tapline_timeline::Time>, Vec<u8>);

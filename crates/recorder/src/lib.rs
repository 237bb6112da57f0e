//! The path of a frame as one thing: inputs in, changes out.
//!
//! Whatever the way in (a wrapped pipe, a hosted agent, an imported file, a tape that is read again), an input takes the
//! same path through a [`Recorder`]: it is masked, read as a frame, translated to events, and assembled to changes of
//! rows, which a [`Store`] takes. A [`Recording`] reads files of recorded traffic into a recorder.
//!
//! # Invariants
//!
//! - *one-path*: same inputs, same rows, whoever holds them.
//! - *accounted*: every input ends as a row change, a state change or a drop with a named reason; a [`Watch`] is told
//!   which, and [`Recorder::unaccounted`] counts what ended as nothing (it stays 0).
//! - *masked*: an input is masked before anything else sees it; what a stream still holds back when it ends becomes an
//!   input of its own.
#![forbid(unsafe_code)]

mod explain;
mod intake;
mod masking;
mod memory;
mod reading;
mod recorder;
mod tape;

pub use explain::{Account, Entry, Touched};
pub use intake::{Intake, Take};
pub use masking::default_rules;
pub use memory::Memory;
pub use reading::{BadLine, Header, LINE_LIMIT, Recording};
pub use recorder::{Opened, Recorder, Seen, Silent, Store, Watch};
pub use tape::{Opening, Recorded, TapeError, TapeRecord, rebuild};
pub use tapline_translate::{
    Dialect, Direction, Reply, SessionRef, Stamp, Way, Work, WorkStop, WorkStopped, error_words,
};

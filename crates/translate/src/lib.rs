//! Frames in, events out: what the traffic of an ACP connection means.
//!
//! A [`Translator`] reads one connection, both directions: what the client sends opens, stops and answers; what the
//! agent sends says, runs, asks and ends. It matches answers to calls, routes frames to sessions, tells history from
//! live traffic, and puts every frame into the small vocabulary of [`tapline_timeline::Event`]. It knows no journal and no rows,
//! and decides nothing about lifecycle: that is the assembler's.
//!
//! What one vendor's agent says beyond the protocol is read by its [`Dialect`], one file or folder each under
//! `dialects/`; the rest of this crate names no vendor.
//!
//! Every frame enters through `connection.rs`, which gives it to the file of its kind: `calls.rs` (what the client asks, and
//! the answers), `requests.rs` (what the agent asks), `update/` (what the agent tells). `sessions.rs` knows whose frame it is.
//!
//! # Invariants
//!
//! - *accounted*: every frame ends as an event, a state change or a drop with a named reason.
//! - *replay-silent*: between a load and its answer everything unmarked is history, and so is everything marked, at any
//!   time: only its context usage is taken.
//! - *bounded*: calls that wait for an answer, frames held for an unknown session and last words have limits ([`limits`]).
//! - *untrusted*: no frame, however broken, is an error.
#![forbid(unsafe_code)]

mod calls;
mod connection;
mod dialect;
pub mod dialects;
mod end;
mod errors;
mod io;
pub mod limits;
mod parts;
mod requests;
mod sessions;
mod settings;
mod update;

pub use connection::Translator;
pub use dialect::{
    AnswerReading, Around, Child, Chunk, Dialect, Facts, Marks, Reply, VendorRequest, Work, WorkStop,
    WorkStopped,
};
pub use errors::words as error_words;
pub use io::{Direction, Input, Opening, Out, SessionRef, Stamp, Way};

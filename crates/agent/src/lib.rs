//! Running agents.
//!
//! [`wrap`] stands between an editor and its agent: the bytes pass untouched and the record is made on the side. [`setup`]
//! puts it into an editor's settings. [`host`] is the client itself: it starts an agent, talks, answers, stops, resumes, and offers
//! it [`files`] and [`terminals`]; [`policy`] decides what needs no asking. [`catalogue`] knows which agents there are and how to
//! start each, [`config`] what the user set. [`archive`] lets a recorder write into a journal.
//!
//! # Invariants
//!
//! - *transparent*: `wrap` never changes, delays measurably, reorders or loses a byte, whatever happens to the recorder.
//! - *masked*: what leaves the pipe for a disk, be it the journal or a side file, was masked before.
//! - *bounded*: what waits for the recorder has a named limit, and what is beyond it is told.
//! - *asked-once*: a hosted agent gets one answer to each request, from whoever was first, and it stands in the journal before.
#![forbid(unsafe_code)]

#[cfg(unix)]
pub mod archive;
pub mod catalogue;
pub mod config;
#[cfg(unix)]
pub mod files;
#[cfg(unix)]
pub mod host;
pub mod origin;
pub mod policy;
pub mod setup;
#[cfg(unix)]
pub mod terminals;
mod toml_file;
#[cfg(unix)]
pub mod wrap;

//! What the tests, the demo and the benches of Tapline share: an agent that does as it is told, a client that does
//! as was recorded, and traffic made from a seed.
//!
//! Tapline lives between clients and agents, and real agents are slow, need accounts and never fail when a test wants
//! them to. So this crate has an agent of its own. It is a real process on standard input and output
//! ([`command`]; the binary `scripted-agent`, and `tapline demo-agent`), and its behaviour is a small file
//! ([`script`]) of one of two kinds:
//!
//! - a [`recording`] of a real agent, of which it plays the agent's side byte for byte, with [`client::play`] as the
//!   client's side at the other end;
//! - a [`scenario`], which reacts: it streams, plans, runs tools, asks, fails, remembers its sessions, and misbehaves
//!   in every way that a client has to survive. `SCRIPTS.md` beside this crate shows the form; [`script::catalogue`]
//!   lists those that come with it.
//!
//! [`generate`] makes traffic of any length, and random lives of an agent, for benches and property tests.
//!
//! Everything here blocks and uses plain threads. The agent has few clients and no need for a runtime, and an agent
//! that shares no code with the thing it tests cannot share its mistakes; for the same reason the crate reads and
//! writes frames itself and uses no other crate of Tapline.
//!
//! # Invariants
//!
//! - *Exact.* A replayed recording gives the recorded bytes: raw ones, invalid ones, repeated ones. The only thing
//!   ever replaced is the id in an answer, and only for a client that numbers its requests differently.
//! - *Ordered.* With the scripted agent at one end of a pipe and [`client::play`] at the other, the merged order of
//!   frames is the recorded one, without a clock: each side waits for the other's frames.
//! - *Seeded.* The same script and the same client give the same frames, in the same order within a turn; the same seed
//!   gives the same traffic.
//! - *Checked.* A script is read whole before the agent starts, and an unknown word in it is an error with its line.

#![forbid(unsafe_code)]

pub mod agent;
pub mod client;
pub mod command;
pub mod generate;
pub mod recording;
pub mod scenario;
pub mod script;
mod status;

pub use status::Status;

//! A scripted agent, a driver for it, and generators: what the tests, the demo and the benches of Tapline share.

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

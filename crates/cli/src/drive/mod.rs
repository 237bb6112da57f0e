//! Commands that drive agents: `chat`, `exec`, `resume`, and what reaches a session from outside.

pub(crate) mod agent;
pub(crate) mod chat;
pub(crate) mod exec;
pub(crate) mod inbox;
pub(crate) mod reach;
mod rules;
mod turn;
pub(crate) mod watch;

//! Commands that drive agents: `chat`, `exec`, `resume`, and what reaches a session from outside.

pub(crate) mod agent;
pub(crate) mod chat;
pub(crate) mod exec;
pub(crate) mod inbox;
pub(crate) mod queue;
pub(crate) mod reach;
mod rules;
pub(crate) mod sessions;
mod turn;
pub(crate) mod watch;

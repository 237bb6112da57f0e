//! What reaches the loop of a hosted session from elsewhere than the agent's outputs.

use std::time::Duration;

use crossbeam_channel::Sender;
use tapline_journal::Intent;
use tapline_wire::OwnedId;

use super::peer::CallError;
use crate::wrap::End;

/// One piece of news.
pub(super) enum News {
    /// The agent process has ended.
    Exited(End),
    /// The agent's input cannot be written any more.
    InputBroken,
    /// Somebody wants something.
    Intent(Box<Intent>),
    /// A service for the agent is done: the answer to its request.
    Served(OwnedId, Served),
    /// This process wants to know something of the agent.
    Ask(Box<Ask>),
    /// This process wants the session to end.
    Close,
    /// This process wants the session to end at once.
    Kill,
}

/// A call of the agent's methods for somebody outside the loop.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) method: &'static str,
    pub(super) params: serde_json::Value,
    pub(super) wait: Duration,
    pub(super) answer: Sender<Result<serde_json::Value, CallError>>,
}

/// What a service gave: the result as JSON, or a code and a sentence.
pub(super) type Served = Result<serde_json::Value, (i64, String)>;

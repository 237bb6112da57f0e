//! What reaches the loop of a hosted session from elsewhere than the agent's outputs.

use tapline_journal::Intent;
use tapline_wire::OwnedId;

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
    /// This process wants the session to end.
    Close,
    /// This process wants the session to end at once.
    Kill,
}

/// What a service gave: the result as JSON, or a code and a sentence.
pub(super) type Served = Result<serde_json::Value, (i64, String)>;

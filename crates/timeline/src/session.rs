//! The session that rows belong to, and what is measured of it and of its turns.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::time::Time;
use crate::word::SessionState;

/// A session: one chat. Outlives agent processes and their own session ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Session {
    /// Always `session`.
    pub kind: SessionTag,
    /// Its id.
    pub id: SessionId,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Its title, if the agent gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The session it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The agent's id of it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_session: Option<String>,
    /// All ids that the agent ever gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provider_sessions: Vec<String>,
    /// What the newest model call was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The newest totals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The agent's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's own time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Time>,
    /// Whether an agent process holds it.
    pub state: SessionState,
    /// Cursor of its last change, once a journal gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
}

impl Session {
    /// A new session that nothing is known of.
    pub fn new(id: SessionId) -> Self {
        Self {
            kind: SessionTag::Session,
            id,
            agent: None,
            title: None,
            cwd: None,
            parent: None,
            provider_session: None,
            provider_sessions: Vec::new(),
            context: None,
            usage: None,
            mode: None,
            model: None,
            updated_at: None,
            state: SessionState::Live,
            cursor: None,
        }
    }
}

/// The `kind` of a session object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionTag {
    /// The only one.
    Session,
}

/// An agent's name and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// How full the model's context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Context {
    /// Tokens that the newest model call was given: input with cached tokens, output not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// Size of the model's window in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// Tokens and cost, with what they measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    /// What the numbers add up.
    pub measure: Measure,
    /// Tokens given to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Whether `input` holds the cached tokens; nothing where the agent's habit is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_holds_cached: Option<bool>,
    /// Tokens the model made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_read: Option<u64>,
    /// Tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_write: Option<u64>,
    /// Tokens of reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<u64>,
    /// The agent's own total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Cost, as the agent said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// What token counts add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The newest model call.
    Call,
    /// All model calls of the turn.
    Turn,
    /// All model calls of the turn and of the helpers it started.
    TurnWithHelpers,
    /// All of the session so far.
    Session,
    /// The agent does not say.
    Unsaid,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// Of what: a currency code.
    pub currency: String,
}

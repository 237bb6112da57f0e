//! The other parameters and results that tell something about a session: the handshake, its set-up, a prompt and
//! its end.

use std::borrow::Cow;

use crate::raw::RawValue;

use crate::content::{Block, List};
use crate::value;

fn some<'a>(object: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    value::member(object, name).filter(|member| !value::is_null(member))
}

fn name<'a>(object: &'a RawValue, key: &str) -> Option<Cow<'a, str>> {
    value::member(object, key).and_then(value::name)
}

/// Who a client or an agent says it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Implementation<'a> {
    /// Its name for programs.
    pub name: Option<Cow<'a, str>>,
    /// Its name for people.
    pub title: Option<Cow<'a, str>>,
    /// Its version.
    pub version: Option<Cow<'a, str>>,
}

impl<'a> Implementation<'a> {
    /// Reads `clientInfo` or `agentInfo`.
    pub fn read(raw: &'a RawValue) -> Self {
        Self {
            name: value::member_text(raw, "name"),
            title: value::member_text(raw, "title"),
            version: name(raw, "version"),
        }
    }
}

/// The parameters of `initialize`.
#[derive(Debug, Clone, Default)]
pub struct InitializeParams<'a> {
    /// The newest version that the client speaks.
    pub protocol_version: Option<u64>,
    /// Who the client is.
    pub client_info: Implementation<'a>,
    /// What the client can do.
    pub capabilities: Option<&'a RawValue>,
    /// What the client adds on its own account.
    pub meta: Option<&'a RawValue>,
}

impl<'a> InitializeParams<'a> {
    /// Reads the parameters.
    pub fn read(params: &'a RawValue) -> Self {
        Self {
            protocol_version: some(params, "protocolVersion").and_then(value::u64),
            client_info: some(params, "clientInfo")
                .map(Implementation::read)
                .unwrap_or_default(),
            capabilities: some(params, "clientCapabilities"),
            meta: some(params, "_meta"),
        }
    }
}

/// The result of `initialize`.
#[derive(Debug, Clone, Default)]
pub struct InitializeAnswer<'a> {
    /// The version that the agent wants to speak.
    pub protocol_version: Option<u64>,
    /// Who the agent is.
    pub agent_info: Implementation<'a>,
    /// What the agent can do.
    pub capabilities: Option<&'a RawValue>,
    /// How one can sign in.
    pub auth_methods: List<AuthMethod<'a>>,
    /// What the agent adds on its own account.
    pub meta: Option<&'a RawValue>,
}

impl<'a> InitializeAnswer<'a> {
    /// Reads the result.
    pub fn read(result: &'a RawValue) -> Self {
        Self {
            protocol_version: some(result, "protocolVersion").and_then(value::u64),
            agent_info: some(result, "agentInfo")
                .map(Implementation::read)
                .unwrap_or_default(),
            capabilities: some(result, "agentCapabilities"),
            auth_methods: some(result, "authMethods")
                .map(|list| List::read(list, AuthMethod::read))
                .unwrap_or_default(),
            meta: some(result, "_meta"),
        }
    }

    /// Whether the agent can load a saved session.
    pub fn can_load(&self) -> bool {
        self.capabilities
            .and_then(|raw| some(raw, "loadSession"))
            .and_then(value::bool)
            == Some(true)
    }

    /// Whether the agent has an ability of its sessions: `resume`, `list`, `close`, `delete` and the like.
    pub fn has_session_ability(&self, name: &str) -> bool {
        let abilities = self.capabilities.and_then(|raw| some(raw, "sessionCapabilities"));
        let ability = abilities.and_then(|raw| some(raw, name));
        ability.is_some_and(|raw| value::bool(raw) != Some(false))
    }
}

/// A way to sign in.
#[derive(Debug, Clone)]
pub struct AuthMethod<'a> {
    /// What `authenticate` names.
    pub id: Cow<'a, str>,
    /// What a person reads.
    pub name: Option<Cow<'a, str>>,
    /// More words about it.
    pub description: Option<Cow<'a, str>>,
    /// The method as it stands.
    pub raw: &'a RawValue,
}

impl<'a> AuthMethod<'a> {
    fn read(raw: &'a RawValue) -> Option<Self> {
        Some(Self {
            id: name(raw, "id")?,
            name: value::member_text(raw, "name"),
            description: value::member_text(raw, "description"),
            raw,
        })
    }
}

/// The parameters of `session/new`, `session/load`, `session/resume` and `session/fork`.
#[derive(Debug, Clone, Default)]
pub struct SessionParams<'a> {
    /// The session to load or resume.
    pub session_id: Option<Cow<'a, str>>,
    /// The folder to work in.
    pub cwd: Option<Cow<'a, str>>,
    /// What the client adds on its own account.
    pub meta: Option<&'a RawValue>,
}

impl<'a> SessionParams<'a> {
    /// Reads the parameters.
    pub fn read(params: &'a RawValue) -> Self {
        Self {
            session_id: name(params, "sessionId"),
            cwd: value::member_text(params, "cwd"),
            meta: some(params, "_meta"),
        }
    }
}

/// The result of `session/new`, `session/load`, `session/resume` and `session/fork`. It may be `null` for the middle two.
#[derive(Debug, Clone, Default)]
pub struct SessionAnswer<'a> {
    /// The session, where the agent named one.
    pub session_id: Option<Cow<'a, str>>,
    /// The mode and the modes there are.
    pub modes: Option<&'a RawValue>,
    /// The model and the models there are, as agents told them before there were options.
    pub models: Option<&'a RawValue>,
    /// The options.
    pub config_options: Option<&'a RawValue>,
    /// What the agent adds on its own account.
    pub meta: Option<&'a RawValue>,
}

impl<'a> SessionAnswer<'a> {
    /// Reads the result.
    pub fn read(result: &'a RawValue) -> Self {
        Self {
            session_id: name(result, "sessionId"),
            modes: some(result, "modes"),
            models: some(result, "models"),
            config_options: some(result, "configOptions"),
            meta: some(result, "_meta"),
        }
    }
}

/// The parameters of `session/prompt`.
#[derive(Debug, Clone, Default)]
pub struct PromptParams<'a> {
    /// The session.
    pub session_id: Option<Cow<'a, str>>,
    /// What is said.
    pub blocks: List<Block<'a>>,
    /// What is said, as it stands.
    pub raw_blocks: Option<&'a RawValue>,
    /// What the client adds on its own account.
    pub meta: Option<&'a RawValue>,
}

impl<'a> PromptParams<'a> {
    /// Reads the parameters.
    pub fn read(params: &'a RawValue) -> Self {
        let raw_blocks = some(params, "prompt");
        Self {
            session_id: name(params, "sessionId"),
            blocks: raw_blocks.map(Block::read_all).unwrap_or_default(),
            raw_blocks,
            meta: some(params, "_meta"),
        }
    }
}

/// The result of `session/prompt`.
#[derive(Debug, Clone, Default)]
pub struct PromptAnswer<'a> {
    /// Why the turn ended, in any spelling.
    pub stop_reason: Option<Cow<'a, str>>,
    /// What was used, where the agent says it.
    pub usage: Option<Usage>,
    /// The same, as it stands.
    pub raw_usage: Option<&'a RawValue>,
    /// What the agent adds on its own account.
    pub meta: Option<&'a RawValue>,
}

impl<'a> PromptAnswer<'a> {
    /// Reads the result.
    pub fn read(result: &'a RawValue) -> Self {
        let raw_usage = some(result, "usage");
        Self {
            stop_reason: value::member_text(result, "stopReason"),
            usage: raw_usage.and_then(Usage::read),
            raw_usage,
            meta: some(result, "_meta"),
        }
    }
}

/// Token counts as an agent gives them. What they count differs from agent to agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// All of them.
    pub total: Option<u64>,
    /// What was read.
    pub input: Option<u64>,
    /// What was written.
    pub output: Option<u64>,
    /// What was thought.
    pub thought: Option<u64>,
    /// What was read from a cache.
    pub cached_read: Option<u64>,
    /// What was written to a cache.
    pub cached_write: Option<u64>,
}

impl Usage {
    /// Reads the counts; none if the value is no object.
    pub fn read(raw: &RawValue) -> Option<Self> {
        let count = |name| some(raw, name).and_then(value::u64);
        value::is_object(raw).then(|| Self {
            total: count("totalTokens"),
            input: count("inputTokens"),
            output: count("outputTokens"),
            thought: count("thoughtTokens"),
            cached_read: count("cachedReadTokens"),
            cached_write: count("cachedWriteTokens"),
        })
    }
}

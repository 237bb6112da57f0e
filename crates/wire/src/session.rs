//! The other parameters and results that tell something about a session: the handshake, its set-up, a prompt and
//! its end.

use std::borrow::Cow;

use crate::raw::RawValue;

use crate::content::{Block, List};
use crate::value;

/// Members of an object in one walk; `null` reads as absent.
fn pick<'a, const N: usize>(object: &'a RawValue, names: [&str; N]) -> [Option<&'a RawValue>; N] {
    value::pick(object, names).map(|member| member.filter(|member| !value::is_null(member)))
}

fn some<'a>(object: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    let [member] = pick(object, [name]);
    member
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
        let [name, title, version] = pick(raw, ["name", "title", "version"]);
        Self {
            name: name.and_then(value::text),
            title: title.and_then(value::text),
            version: version.and_then(value::name),
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
        let names = ["protocolVersion", "clientInfo", "clientCapabilities", "_meta"];
        let [version, info, capabilities, meta] = pick(params, names);
        Self {
            protocol_version: version.and_then(value::u64),
            client_info: info.map(Implementation::read).unwrap_or_default(),
            capabilities,
            meta,
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
        let names = [
            "protocolVersion",
            "agentInfo",
            "agentCapabilities",
            "authMethods",
            "_meta",
        ];
        let [version, info, capabilities, methods, meta] = pick(result, names);
        Self {
            protocol_version: version.and_then(value::u64),
            agent_info: info.map(Implementation::read).unwrap_or_default(),
            capabilities,
            auth_methods: methods
                .map(|list| List::read(list, AuthMethod::read))
                .unwrap_or_default(),
            meta,
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
        let [id, name, description] = pick(raw, ["id", "name", "description"]);
        Some(Self {
            id: id.and_then(value::name)?,
            name: name.and_then(value::text),
            description: description.and_then(value::text),
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
        let [session_id, cwd, meta] = pick(params, ["sessionId", "cwd", "_meta"]);
        Self {
            session_id: session_id.and_then(value::name),
            cwd: cwd.and_then(value::text),
            meta,
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
        let names = ["sessionId", "modes", "models", "configOptions", "_meta"];
        let [session_id, modes, models, config_options, meta] = pick(result, names);
        Self {
            session_id: session_id.and_then(value::name),
            modes,
            models,
            config_options,
            meta,
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
        let [session_id, raw_blocks, meta] = pick(params, ["sessionId", "prompt", "_meta"]);
        Self {
            session_id: session_id.and_then(value::name),
            blocks: raw_blocks.map(Block::read_all).unwrap_or_default(),
            raw_blocks,
            meta,
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
        let [stop_reason, raw_usage, meta] = pick(result, ["stopReason", "usage", "_meta"]);
        Self {
            stop_reason: stop_reason.and_then(value::text),
            usage: raw_usage.and_then(Usage::read),
            raw_usage,
            meta,
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
        let names = [
            "totalTokens",
            "inputTokens",
            "outputTokens",
            "thoughtTokens",
            "cachedReadTokens",
            "cachedWriteTokens",
        ];
        let counts = value::pick(raw, names).map(|count| count.and_then(value::u64));
        let [total, input, output, thought, cached_read, cached_write] = counts;
        value::is_object(raw).then_some(Self {
            total,
            input,
            output,
            thought,
            cached_read,
            cached_write,
        })
    }
}

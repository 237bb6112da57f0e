//! What can be set: the one list.

/// A setting's name, and what it is for.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// The name, with the table it is in: `limits.stop_seconds`.
    pub name: &'static str,
    /// What it is for, in a sentence without its full stop.
    pub about: &'static str,
    /// A value as it would stand in the file; the default where there is one.
    pub(super) example: &'static str,
}

impl Key {
    /// The variable of the environment that sets it.
    pub fn variable(&self) -> String {
        format!("TAPLINE_{}", self.name.replace('.', "_").to_uppercase())
    }
}

pub(super) static POLICY: Key = Key {
    name: "policy",
    about: "What an agent may do when it asks: `ask` you, `allow-reads`, `allow-all` or `deny`",
    example: "\"ask\"",
};
pub(super) static AGENT: Key = Key {
    name: "agent",
    about: "The agent that is meant where none is named; `tapline agents` lists them",
    example: "\"claude\"",
};
pub(super) static COLOR: Key = Key {
    name: "color",
    about: "When to use colour: `auto` (on a terminal, unless NO_COLOR is set), `always` or `never`",
    example: "\"auto\"",
};
pub(super) static CATALOGUE_AGENTS: Key = Key {
    name: "catalogue.agents",
    about: "Your own file of agents; else `agents.toml` beside this file",
    example: "\"agents.toml\"",
};
pub(super) static CATALOGUE_REGISTRY: Key = Key {
    name: "catalogue.registry",
    about: "A file in the format of the public ACP registry, whose agents are known too",
    example: "\"registry.json\"",
};
pub(super) static FOLD: Key = Key {
    name: "chat.fold",
    about: "How much of a chat is shown: `brief` (a line for each tool), `usual` or `full`",
    example: "\"usual\"",
};
pub(super) static START: Key = Key {
    name: "limits.start_seconds",
    about: "How long an agent may take to start and to open a session",
    example: "60",
};
pub(super) static LOAD: Key = Key {
    name: "limits.load_seconds",
    about: "How long an agent may take to bring back a session",
    example: "120",
};
pub(super) static STOP: Key = Key {
    name: "limits.stop_seconds",
    about: "How long a stopped turn may take to end before its agent is ended",
    example: "4",
};

/// All of them, those of one table together.
pub static KEYS: [&Key; 9] = [
    &POLICY,
    &AGENT,
    &COLOR,
    &CATALOGUE_AGENTS,
    &CATALOGUE_REGISTRY,
    &FOLD,
    &START,
    &LOAD,
    &STOP,
];

/// The table that another module reads.
pub(super) const PERMISSIONS: &str = "permissions";

/// What the example says of it.
pub(super) const PERMISSIONS_EXAMPLE: &str = "\n# Rules that decide before `policy` does; the first that fits counts.\n\
     #[[permissions.rules]]\n#kind = \"edit\"\n#path = \"src/**\"\n#decide = \"allow\"\n";

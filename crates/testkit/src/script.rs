//! Scripts: what a scripted agent plays, from a file or from the catalogue of those that come with this crate.

use std::path::Path;

use crate::recording::{Recording, RecordingError};
use crate::scenario::Scenario;

/// What a scripted agent plays.
#[derive(Debug, Clone)]
pub enum Script {
    /// The agent's side of a recording, byte for byte.
    Recording(Recording),
    /// An agent that reacts.
    Scenario(Box<Scenario>),
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is no recording.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The file cannot be read.
    #[error("the scenario {path} cannot be read: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no scenario.
    #[error("{name} is no scenario: {source}")]
    Scenario {
        /// The script's name.
        name: String,
        /// What is wrong, with the line.
        source: toml::de::Error,
    },
    /// There is no such script in the catalogue.
    #[error("there is no script `builtin:{0}`; there are {names}", names = names())]
    Unknown(String),
}

/// The prefix of the names of scripts in the catalogue.
pub const BUILTIN: &str = "builtin:";

impl Script {
    /// Reads a script: `builtin:NAME` from the [catalogue], a scenario (a file that ends in `.toml`) or a recording.
    pub fn open(name: &str) -> Result<Self, ScriptError> {
        if let Some(short) = name.strip_prefix(BUILTIN) {
            let found = catalogue().iter().find(|builtin| builtin.name == short);
            let builtin = found.ok_or_else(|| ScriptError::Unknown(short.to_owned()))?;
            return Self::scenario(name, builtin.text);
        }
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(path).map_err(|source| ScriptError::Io {
                path: name.to_owned(),
                source,
            })?;
            return Self::scenario(name, &text);
        }
        Ok(Self::Recording(Recording::open(path)?))
    }

    /// Reads a scenario from its text; the name is for the error.
    pub fn scenario(name: &str, text: &str) -> Result<Self, ScriptError> {
        let parsed = toml::from_str::<Scenario>(text);
        let scenario = parsed.map_err(|source| ScriptError::Scenario {
            name: name.to_owned(),
            source,
        })?;
        Ok(Self::Scenario(Box::new(scenario)))
    }
}

/// A script that comes with this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name, without the prefix.
    pub name: &'static str,
    /// The scenario.
    pub text: &'static str,
}

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../scripts/", $name, ".toml")) }),*]
    };
}

/// The scripts that come with this crate: the demo, the long stream, and one for each way to misbehave.
pub fn catalogue() -> &'static [Builtin] {
    builtins![
        "demo",
        "echo",
        "steps",
        "stream-20000",
        "big-frame",
        "big-write",
        "busy-reject",
        "closed-stdout",
        "deaf",
        "early-updates",
        "endless-terminal",
        "escape-read",
        "exit-mid-line",
        "exit-signal",
        "failing",
        "flood",
        "grandchild",
        "huge-line",
        "invalid-utf8",
        "needs-login",
        "never-cancel",
        "never-initialize",
        "never-load",
        "noise",
        "repeated-ids",
        "slow-reader",
        "stderr-noise",
        "unknown-tool-permission",
        "wrong-order",
    ]
}

fn names() -> String {
    catalogue()
        .iter()
        .map(|builtin| builtin.name)
        .collect::<Vec<_>>()
        .join(", ")
}

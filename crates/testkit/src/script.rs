//! Scripts: what a scripted agent plays.

use std::path::Path;

use crate::recording::{Recording, RecordingError};

/// What a scripted agent plays.
#[derive(Debug, Clone)]
pub enum Script {
    /// The agent's side of a recording, byte for byte.
    Recording(Recording),
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is no recording.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl Script {
    /// Reads a script: `builtin:NAME`, a recording (`.jsonl`) or a scenario (`.toml`).
    pub fn open(name: &str) -> Result<Self, ScriptError> {
        Ok(Self::Recording(Recording::open(Path::new(name))?))
    }
}

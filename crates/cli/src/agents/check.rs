//! Starts agents to see whether they work, and whether one is signed in.
//!
//! An agent says that one is signed in by beginning a session, and that one is not by refusing with the protocol's own code.
//! Nothing else tells: that it offers ways to sign in means nothing. So each is started, greeted and asked for a session, in
//! an empty folder that is gone afterwards, and ended again; no prompt is sent. What it says is recorded in memory only.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tapline_agent::catalogue::Launch;
use tapline_agent::host::{HostOptions, Hosted, Patience, StartError};
use tapline_journal::MemoryJournal;

use crate::drive::agent::failed_to_start;
use crate::failure::Failure;
use crate::journal::wrap::{guard_command, secrets};

/// How long an agent may take until its session has begun, where the configuration gives it more.
const LIMIT: Duration = Duration::from_secs(60);

/// What a check has found.
#[derive(Debug, Clone)]
pub(super) enum Checked {
    /// It began a session.
    Works,
    /// It wants to be signed in to, or could not be set up.
    Failed(StartError),
    /// It had not begun a session by then.
    Slow(Duration),
}

impl Checked {
    /// Whether one is signed in, as far as the agent says.
    pub(super) fn signed_in(&self) -> Option<bool> {
        match self {
            Self::Works => Some(true),
            Self::Failed(StartError::SignIn { .. }) => Some(false),
            Self::Failed(_) | Self::Slow(_) => None,
        }
    }

    /// What was in the way, as the failure of a command that was to check this agent alone.
    pub(super) fn failure(&self) -> Option<Failure> {
        match self {
            Self::Works => None,
            Self::Failed(error) => Some(failed_to_start(error.clone())),
            Self::Slow(limit) => Some(Failure::Agent(format!(
                "The agent had not begun a session within {} s, so it was ended.",
                limit.as_secs_f32()
            ))),
        }
    }
}

/// Checks agents, as many at once as there are processors, and gives what was found in their order.
pub(super) fn all(agents: &[(&str, &Launch)], limit: Duration) -> Result<Vec<Checked>, Failure> {
    let limit = limit.min(LIMIT);
    let many = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..many.min(agents.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, launch)) = agents.get(at) else {
                        return;
                    };
                    let checked = one(name, launch, limit);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.insert(at, checked);
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.into_values().collect()
}

/// Checks one agent. It has left when this returns.
fn one(name: &str, launch: &Launch, limit: Duration) -> Result<Checked, Failure> {
    let folder = tempfile::tempdir().map_err(|error| Failure::Io {
        path: std::env::temp_dir().display().to_string(),
        what: format!("an empty folder for the agent could not be made: {error}"),
    })?;
    let since = Instant::now();
    let mut options = HostOptions::new(name, launch.clone(), folder.path().to_path_buf());
    options.attended = false;
    options.guard = guard_command();
    options.secrets = secrets();
    options.patience = Patience {
        start: Some(limit),
        ..Patience::default()
    };
    let hosted = match Hosted::start(Arc::new(MemoryJournal::new()), options) {
        Ok(hosted) => hosted,
        Err(error) => return Ok(Checked::Failed(error)),
    };
    // Each call has the limit for itself; here it is for all of them.
    let checked = match hosted.session(limit.saturating_sub(since.elapsed())) {
        Ok(_) => Checked::Works,
        Err(StartError::Waiting(_)) => Checked::Slow(limit),
        Err(error) => Checked::Failed(error),
    };
    match checked {
        Checked::Slow(_) => hosted.kill(),
        _ => hosted.close(),
    }
    hosted.join();
    Ok(checked)
}

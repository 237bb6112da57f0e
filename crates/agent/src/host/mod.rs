//! Tapline as the client: one agent process that is started, talked to, answered, stopped and resumed.
//!
//! A [`Hosted`] agent is one process and one session of ours. One thread, the loop, owns everything about it: the
//! recorder, the calls and requests that are open, and what people want. All that is sent and all that comes goes through
//! the recorder, so the timeline is made on the same path as under `wrap`; the loop writes no row itself, it reads from the
//! rows what the traffic meant.
//!
//! Nobody calls the loop to make it do something. What a person or program wants is an *intent* in the journal: a page, a
//! second terminal and this very process all post one ([`tapline_journal::Journal::post_intent`]), the loop claims it once, acts, and says
//! what became of it. So an answer happens exactly once, whoever gives it, and a prompt that waits can be seen, edited and
//! taken back by anyone. [`intent`] has the kinds.
//!
//! What is promised beyond that:
//!
//! - *asked-once*: a request is answered by whoever was first. The answer stands in the journal, with who and when, before
//!   the agent hears of it.
//! - *saved-means-saved*: a prompt stands in the journal before it is sent. If we are killed, it is known to have been on its
//!   way: its turn reads `cut`, one that never had a turn `unconfirmed`, and nobody sends it again by itself.
//! - *bounded*: calls, requests, what waits to be written, what an agent may keep in files and terminals.
//! - A journal that cannot be written stops the session from taking prompts, and from reading what the agent says: the
//!   agent waits at its own pipe until the record can go on.

mod context;
mod desk;
mod hearing;
pub mod intent;
mod intents;
mod news;
mod offer;
mod peer;
mod process;
mod remembered;
mod replies;
mod requests;
mod seen;
mod sending;
mod services;
mod set_up;
mod turns;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use serde_json::value::RawValue;
use tapline_journal::Journal;
use tapline_timeline::{Request, Row, SessionId, Tool};

use crate::catalogue::Launch;
use crate::wrap::End;
use desk::Desk;
use news::{Ask, News};

pub use offer::{AgentCommand, Offer, OptionChoice, SessionOption};
pub use peer::{CallError, OPEN_REQUEST_BYTES, OPEN_REQUESTS, PENDING_CALLS};
pub use process::{WRITE_BYTES, WRITE_LINE_BYTES};
pub use remembered::{Remembered, remembered};

/// Which session to go on with.
#[derive(Debug, Clone)]
pub enum Begin {
    /// A new one.
    New,
    /// None: the agent is only set up, to be asked something ([`Hosted::ask`]).
    Nothing,
    /// One that the agent has and the journal may not know. What was said in it before is not recorded.
    Adopt {
        /// The agent's id of it.
        provider: String,
    },
    /// One of ours that the agent has, or had.
    Resume {
        /// The session of ours.
        session: SessionId,
        /// The agent's id of it.
        provider: String,
        /// If the agent no longer has it: go on in a fresh session of the agent, which is given the chat so far as context.
        /// Otherwise such a start fails.
        afresh: bool,
    },
}

impl Begin {
    /// The agent's id of the session that it goes on with.
    pub(super) fn provider(&self) -> Option<&str> {
        match self {
            Self::Adopt { provider } | Self::Resume { provider, .. } => Some(provider),
            Self::New | Self::Nothing => None,
        }
    }

    /// The session of ours that it goes on with.
    pub(super) fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Resume { session, .. } => Some(session),
            Self::New | Self::Nothing | Self::Adopt { .. } => None,
        }
    }
}

/// How long the agent may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For `initialize`, `authenticate` and `session/new`. Nothing: for ever.
    pub start: Option<Duration>,
    /// For `session/load` and `session/resume`.
    pub load: Option<Duration>,
    /// For its own end of a turn that was stopped; after that its process is ended.
    pub stop: Duration,
    /// For setting a mode, a model or an option.
    pub setting: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            start: Some(Duration::from_secs(120)),
            load: Some(Duration::from_secs(120)),
            stop: Duration::from_secs(4),
            setting: Duration::from_secs(30),
        }
    }
}

/// Who decides, in a request's answer, where nobody can be asked.
pub const NOBODY_TO_ASK: &str = "tapline: nobody to ask";

/// What is decided about a permission without asking anyone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Somebody must be asked.
    Ask,
    /// This option of the agent is chosen; `by` says who decided, as the row will.
    Choose {
        /// The option's id.
        option: String,
        /// Who decided.
        by: String,
    },
    /// It is refused, and the agent offers no option for that.
    Cancel {
        /// Who decided.
        by: String,
    },
}

/// Decides permissions that nobody is asked about.
pub trait Judge: Send {
    /// Looks at what the agent asks. `tool` is what is known of the tool that it is about.
    fn decide(&self, row: &Row, request: &Request, tool: Option<&Tool>) -> Verdict;
}

/// Asks about everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskAlways;

impl Judge for AskAlways {
    fn decide(&self, _: &Row, _: &Request, _: Option<&Tool>) -> Verdict {
        Verdict::Ask
    }
}

/// What is hosted, and how.
pub struct HostOptions {
    /// How to start the agent.
    pub launch: Launch,
    /// What the agent is called in the catalogue, or its command. Its own session ids are kept under this name.
    pub name: String,
    /// The folder it works in, as an absolute path.
    pub cwd: PathBuf,
    /// More folders that belong to the session.
    pub folders: Vec<PathBuf>,
    /// Which session.
    pub begin: Begin,
    /// What is decided without asking.
    pub judge: Box<dyn Judge>,
    /// Somebody can be asked. Otherwise what would be asked is refused.
    pub attended: bool,
    /// The program that runs [`crate::wrap::guard::run`], and its arguments. Without it, an agent may outlive this process
    /// when that is killed.
    pub guard: Option<Vec<OsString>>,
    /// Values that must not be recorded.
    pub secrets: Vec<String>,
    /// How long the agent may take.
    pub patience: Patience,
    /// The way to sign in, by the agent's id of it, if the agent asks for that. Nothing: then the start fails.
    pub sign_in: Option<String>,
    /// Tool servers to offer to the agent, as a JSON array in the protocol's form.
    pub mcp_servers: Option<Box<RawValue>>,
}

impl std::fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostOptions")
            .field("launch", &self.launch.program)
            .field("name", &self.name)
            .field("cwd", &self.cwd)
            .field("begin", &self.begin)
            .finish_non_exhaustive()
    }
}

impl HostOptions {
    /// A new session of an agent in a folder, that asks about everything.
    pub fn new(name: &str, launch: Launch, cwd: PathBuf) -> Self {
        Self {
            launch,
            name: name.to_owned(),
            cwd,
            folders: Vec::new(),
            begin: Begin::New,
            judge: Box::new(AskAlways),
            attended: true,
            guard: None,
            secrets: Vec::new(),
            patience: Patience::default(),
            sign_in: None,
            mcp_servers: None,
        }
    }
}

/// A way to sign in that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// What [`HostOptions::sign_in`] names.
    pub id: String,
    /// What a person reads.
    pub name: Option<String>,
    /// More words about it.
    pub description: Option<String>,
}

/// Why a session did not begin.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StartError {
    /// The program was not started.
    #[error("The agent `{program}` could not be started: {why}. Check the command.")]
    Spawn {
        /// The program.
        program: String,
        /// What the system said.
        why: String,
    },
    /// The folder that it should work in cannot be opened.
    #[error("{0}")]
    Folder(String),
    /// The agent wants to be signed in to.
    #[error("{agent} is not signed in{}. {}", .words.as_ref().map(|w| format!(": {w}")).unwrap_or_default(), how_to_sign_in(.methods))]
    SignIn {
        /// The agent.
        agent: String,
        /// Its words.
        words: Option<String>,
        /// The ways that it offers.
        methods: Vec<SignIn>,
    },
    /// The agent speaks another version of the protocol.
    #[error(
        "{agent} speaks version {found} of the Agent Client Protocol, and Tapline speaks version 1. Use another version of the agent."
    )]
    Version {
        /// The agent.
        agent: String,
        /// What it said.
        found: String,
    },
    /// The agent can neither load nor resume sessions.
    #[error("{agent} can neither load nor resume a session. Begin a new one.")]
    CannotLoad {
        /// The agent.
        agent: String,
    },
    /// The agent no longer has the session.
    #[error(
        "{agent} could not load the session: {why}. Resume it afresh to go on in a new session of the agent with the chat so far as context."
    )]
    Lost {
        /// The agent.
        agent: String,
        /// Why.
        why: String,
    },
    /// The agent failed to set up the session.
    #[error("{agent} could not be set up: {why}{}", .words.as_ref().map(|w| format!(". Its last words: {w}")).unwrap_or_default())]
    SetUp {
        /// The agent.
        agent: String,
        /// What went wrong.
        why: CallError,
        /// The last words of its standard error.
        words: Option<String>,
    },
    /// The journal cannot be written.
    #[error("{0}")]
    Journal(String),
    /// The start was given up.
    #[error("The start was given up.")]
    GivenUp,
    /// It did not begin within the time that the caller had.
    #[error("The agent has not begun a session within {} s; it is still tried.", .0.as_secs_f32())]
    Waiting(Duration),
}

fn how_to_sign_in(methods: &[SignIn]) -> String {
    if methods.is_empty() {
        return "Sign in with the agent's own command first.".to_owned();
    }
    let names: Vec<String> = methods
        .iter()
        .map(|m| match &m.name {
            Some(name) => format!("`{}` ({name})", m.id),
            None => format!("`{}`", m.id),
        })
        .collect();
    format!(
        "Sign in with the agent's own command, or choose a way with --sign-in: {}.",
        names.join(", ")
    )
}

/// Where a hosted session stands beside its timeline.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// What the agent offers: commands, modes, models, options.
    pub offer: Offer,
    /// Why no prompts are taken now.
    pub trouble: Option<String>,
    /// The agent has closed its output: nothing more will be heard of it.
    pub deaf: bool,
}

/// How a hosted session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// How the agent process ended; nothing where it never ran or its end was not seen.
    pub end: Option<End>,
    /// What went wrong with the record.
    pub trouble: Option<String>,
    /// The last words of its standard error.
    pub words: Option<String>,
}

/// A hosted session.
///
/// Dropping it closes the session in order and waits for that.
pub struct Hosted {
    tell: Sender<News>,
    ready: Receiver<Result<SessionId, StartError>>,
    began: Mutex<Option<Result<SessionId, StartError>>>,
    standing: Arc<Mutex<Standing>>,
    thread: Option<JoinHandle<Over>>,
    pid: u32,
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosted")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

impl Hosted {
    /// Starts an agent. Its session begins later: see [`Hosted::session`].
    ///
    /// # Errors
    /// Where the agent or its record cannot be started.
    pub fn start(journal: Arc<dyn Journal>, options: HostOptions) -> Result<Self, StartError> {
        let (tell, news) = unbounded();
        let (begun, ready) = bounded(1);
        let standing = Arc::new(Mutex::new(Standing::default()));
        let desk = Desk::new(journal, options, tell.clone(), news, begun, Arc::clone(&standing))?;
        let pid = desk.pid();
        let thread = std::thread::Builder::new()
            .name("tapline-host".to_owned())
            .spawn(move || desk.run())
            .map_err(|error| StartError::Journal(format!("The session could not be started: {error}.")))?;
        Ok(Self {
            tell,
            ready,
            began: Mutex::new(None),
            standing,
            thread: Some(thread),
            pid,
        })
    }

    /// Process id of the agent.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The session of ours, once the agent has begun it; waits that long.
    ///
    /// # Errors
    /// Why it did not begin; [`StartError::Waiting`] where that is not known yet.
    pub fn session(&self, wait: Duration) -> Result<SessionId, StartError> {
        let mut began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*began {
            return known.clone();
        }
        let told = match self.ready.recv_timeout(wait) {
            Ok(told) => told,
            Err(RecvTimeoutError::Timeout) => return Err(StartError::Waiting(wait)),
            Err(RecvTimeoutError::Disconnected) => Err(StartError::GivenUp),
        };
        *began = Some(told.clone());
        told
    }

    /// Where it stands.
    pub fn standing(&self) -> Standing {
        self.standing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether the loop has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Calls a method of the agent that belongs to no turn, such as `session/list`, and waits that long for its answer.
    ///
    /// # Errors
    /// Why there is no result.
    pub fn ask(
        &self,
        method: &'static str,
        params: serde_json::Value,
        wait: Duration,
    ) -> Result<serde_json::Value, CallError> {
        let (answer, answered) = bounded(1);
        let ask = Ask {
            method,
            params,
            wait,
            answer,
        };
        let gone = || CallError::Closed { method, words: None };
        self.tell.send(News::Ask(Box::new(ask))).map_err(|_| gone())?;
        // The loop keeps the time.
        answered.recv().map_err(|_| gone())?
    }

    /// Asks for an end in order: a running turn is stopped, the agent gets the end of its input and a grace. It does not wait.
    pub fn close(&self) {
        let _ = self.tell.send(News::Close);
    }

    /// Ends the agent's process group now. It does not wait.
    pub fn kill(&self) {
        let _ = self.tell.send(News::Kill);
    }

    /// Waits for the end.
    pub fn join(mut self) -> Over {
        self.wait()
    }

    fn wait(&mut self) -> Over {
        let over = self.thread.take().and_then(|thread| thread.join().ok());
        over.unwrap_or(Over {
            end: None,
            trouble: Some("The thread of the session broke down.".to_owned()),
            words: None,
        })
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.close();
            self.wait();
        }
    }
}

//! From a process to a session: `initialize`, signing in, `session/new`, `load` or `resume`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tapline_journal::{Intent, IntentId, IntentQuery, IntentState, Journal, Watch};
use tapline_timeline::Session;
use tapline_wire::client::{self, Capabilities, ClientInfo, Workspace};
use tapline_wire::session::{InitializeAnswer, SessionAnswer};
use tapline_wire::{RawValue, value};

use super::desk::{Desk, Purpose};
use super::news::News;
use super::peer::CallError;
use super::process::spawn;
use super::{Begin, SignIn, StartError};

/// How long an agent may take to close its session.
const GOODBYE: Duration = Duration::from_secs(1);

/// How far the session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The agent is set up.
    Start,
    /// It has no session, and is only asked things.
    Idle,
    /// It takes prompts.
    Ready,
    /// It never began.
    Failed,
}

/// What is known of the agent.
#[derive(Debug, Default)]
pub(super) struct Agent {
    pub(super) name: String,
    can_load: bool,
    can_resume: bool,
    can_close: bool,
    sign_in: Vec<SignIn>,
    /// The client has signed in once; it never tries twice.
    signed_in: bool,
    /// The session that could not be loaded: what the agent said.
    pub(super) lost: Option<String>,
}

impl Agent {
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }
}

impl Desk {
    pub(super) fn initialize(&mut self) {
        let text = |text: &std::ffi::OsString| text.to_string_lossy().into_owned();
        let launch = serde_json::json!({ "launch": {
            "name": self.options.name,
            "program": text(&self.options.launch.program),
            "arguments": self.options.launch.args.iter().map(text).collect::<Vec<_>>(),
            "cwd": self.options.cwd.to_string_lossy(),
        }});
        self.did(&launch);
        let limit = self.options.patience.start;
        let info = ClientInfo {
            name: "tapline",
            title: "Tapline",
            version: env!("CARGO_PKG_VERSION"),
        };
        let all = Capabilities::all();
        self.call("initialize", Purpose::Initialize, limit, |id| {
            client::initialize(id, &info, all)
        });
    }

    pub(super) fn set_up_answered(&mut self, purpose: &Purpose, outcome: Result<&RawValue, CallError>) {
        if self.stage != Stage::Start {
            return;
        }
        if self.is_given_up() {
            // Nothing more is begun with an agent that is asked to leave.
            return self.fail(StartError::GivenUp);
        }
        match (purpose, outcome) {
            (Purpose::Initialize, Ok(result)) => self.initialized(result),
            (Purpose::Authenticate, Ok(_)) => self.open(),
            (Purpose::New | Purpose::Load | Purpose::Resume, Ok(result)) => self.opened(purpose, result),
            (_, Err(error)) if error.asks_for_sign_in() => self.sign_in(error),
            (Purpose::Load | Purpose::Resume, Err(error)) => self.lost(error),
            (_, Err(error)) => self.fail_set_up(error),
            _ => {}
        }
    }

    fn initialized(&mut self, result: &RawValue) {
        let read = InitializeAnswer::read(result);
        let info = &read.agent_info;
        if let Some(name) = info.title.as_deref().or(info.name.as_deref()) {
            self.agent.name = name.to_owned();
        }
        if read.protocol_version != Some(u64::from(client::PROTOCOL_VERSION)) {
            let found = value::member(result, "protocolVersion");
            let found = found.map_or_else(|| "none".to_owned(), |raw| raw.get().to_owned());
            let agent = self.agent.name.clone();
            return self.fail(StartError::Version { agent, found });
        }
        self.agent.can_load = read.can_load();
        self.agent.can_resume = read.has_session_ability("resume");
        self.agent.can_close = read.has_session_ability("close");
        let methods = read.auth_methods.items.iter().map(|method| SignIn {
            id: method.id.as_ref().to_owned(),
            name: method.name.as_deref().map(str::to_owned),
            description: method.description.as_deref().map(str::to_owned),
        });
        self.agent.sign_in = methods.collect();
        self.standing().offer.abilities(read.capabilities);
        if matches!(self.options.begin, Begin::Nothing) {
            self.stage = Stage::Idle;
            return self.ask_early();
        }
        self.open();
    }

    /// Begins the session, or goes on with one.
    fn open(&mut self) {
        let cwd = self.options.cwd.to_string_lossy().into_owned();
        let folders: Vec<String> = self
            .options
            .folders
            .iter()
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect();
        let servers = self.options.mcp_servers.clone();
        let workspace = Workspace {
            cwd: &cwd,
            additional_directories: &folders,
            mcp_servers: servers.as_deref(),
        };
        let patience = self.options.patience;
        let before = self
            .options
            .begin
            .provider()
            .filter(|_| self.agent.lost.is_none());
        let Some(provider) = before.map(str::to_owned) else {
            self.call("session/new", Purpose::New, patience.start, |id| {
                client::session_new(id, &workspace)
            });
            return;
        };
        if self.agent.can_load {
            self.call("session/load", Purpose::Load, patience.load, |id| {
                client::session_load(id, &provider, &workspace)
            });
        } else if self.agent.can_resume {
            self.call("session/resume", Purpose::Resume, patience.load, |id| {
                client::session_resume(id, &provider, &workspace)
            });
        } else {
            let agent = self.agent.name.clone();
            self.fail(StartError::CannotLoad { agent });
        }
    }

    fn opened(&mut self, purpose: &Purpose, result: &RawValue) {
        self.standing().offer.set_up(result);
        let answer = SessionAnswer::read(result);
        let provider = match purpose {
            Purpose::New => answer.session_id.map(std::borrow::Cow::into_owned),
            _ => self.options.begin.provider().map(str::to_owned),
        };
        let (Some(provider), Some(_)) = (provider, &self.session) else {
            let why = "it names no session".to_owned();
            let method = "session/new";
            return self.fail_set_up(CallError::Unreadable { method, why });
        };
        self.provider = Some(provider);
        self.stage = Stage::Ready;
        self.tell_begun();
    }

    /// Says that the session has begun, once whoever asks for it next finds it in the journal.
    pub(super) fn tell_begun(&mut self) {
        if self.stage != Stage::Ready || self.begun.is_none() || !self.save() {
            return;
        }
        self.watch_intents();
        self.ask_early();
        if let (Some(begun), Some(session)) = (self.begun.take(), self.session.clone()) {
            let _ = begun.send(Ok(session));
        }
        for intent in std::mem::take(&mut self.early) {
            self.intent(intent);
        }
    }

    /// The session object changed: the newest one that is no child is ours.
    pub(super) fn session_seen(&mut self, session: &Session) {
        let named = session.provider_session.as_deref();
        let is_new = self.session.is_none() && session.parent.is_none();
        if is_new || (self.stage == Stage::Start && named.is_some() && session.parent.is_none()) {
            self.session = Some(session.id.clone());
        }
    }

    /// Tells an agent that wants to know that its session is closed; false where none does.
    pub(super) fn say_goodbye(&mut self) -> bool {
        let Some(provider) = self.provider.clone().filter(|_| self.agent.can_close) else {
            return false;
        };
        self.call("session/close", Purpose::CloseSession, Some(GOODBYE), |id| {
            client::session_close(id, &provider)
        });
        true
    }

    /// The agent wants to be signed in to. The way that was named is tried, once; nothing is guessed.
    fn sign_in(&mut self, error: CallError) {
        let named = self.options.sign_in.clone().filter(|_| !self.agent.signed_in);
        let offered = named.filter(|named| self.agent.sign_in.iter().any(|method| method.id == *named));
        if let Some(method) = offered {
            self.agent.signed_in = true;
            let limit = self.options.patience.start;
            self.call("authenticate", Purpose::Authenticate, limit, |id| {
                client::authenticate(id, &method)
            });
            return;
        }
        let words = match error {
            CallError::Agent { words, .. } => Some(words).filter(|w| !w.is_empty()),
            _ => None,
        };
        self.fail(StartError::SignIn {
            agent: self.agent.name.clone(),
            words,
            methods: self.agent.sign_in.clone(),
        });
    }

    /// The agent does not have the session any more.
    fn lost(&mut self, error: CallError) {
        let refused = error.code().is_some();
        let why = match error {
            CallError::Agent { words, .. } if !words.is_empty() => words,
            error => error.to_string(),
        };
        match &self.options.begin {
            Begin::Resume { afresh: true, .. } if refused => {
                self.agent.lost = Some(why);
                self.open();
            }
            _ => self.fail(StartError::Lost {
                agent: self.agent.name.clone(),
                why,
            }),
        }
    }

    fn fail_set_up(&mut self, why: CallError) {
        self.fail(StartError::SetUp {
            agent: self.agent.name.clone(),
            words: match &why {
                // They stand in it.
                CallError::Closed { .. } => None,
                _ => self.last_words(),
            },
            why,
        });
    }

    /// The session never begins.
    pub(super) fn fail(&mut self, error: StartError) {
        self.stage = Stage::Failed;
        if let Some(begun) = self.begun.take() {
            let _ = begun.send(Err(error));
        }
        self.close();
    }

    /// Tells the loop of every intent from now on, and of those that wait already.
    fn watch_intents(&self) {
        let (journal, tell) = (Arc::clone(&self.journal), self.tell.clone());
        let alive = Arc::downgrade(&self.alive);
        let started = spawn("tapline-intents", move || {
            watch(&*journal, &alive, |intent| {
                tell.send(News::Intent(Box::new(intent))).is_ok()
            });
        });
        if let Err(error) = started {
            self.standing().trouble = Some(format!(
                "Nothing that is wanted of the session reaches it: {error}."
            ));
        }
    }
}

/// How long one look for intents waits.
const LOOK: Duration = Duration::from_millis(500);

/// Gives each open intent, in order, as long as the loop is alive.
fn watch(journal: &dyn Journal, alive: &Weak<()>, mut give: impl FnMut(Intent) -> bool) {
    let mut query = IntentQuery {
        state: Some(IntentState::Open),
        ..IntentQuery::default()
    };
    while alive.strong_count() > 0 {
        let Ok(intents) = journal.intents(&query) else {
            std::thread::sleep(LOOK);
            continue;
        };
        if intents.is_empty() {
            // From here on those that someone else has dealt with already are passed too, or the wait would see them again.
            query.state = None;
            let after = query.after.unwrap_or(IntentId(0));
            if journal.wait(&Watch::Intent(None, after), LOOK).is_err() {
                std::thread::sleep(LOOK);
            }
            continue;
        }
        for intent in intents {
            query.after = Some(intent.id);
            if intent.state == IntentState::Open && !give(intent) {
                return;
            }
        }
    }
}

//! Which agent, in which folder, under which rules: the flags that all commands share that start an agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::json;
use tapline_agent::catalogue::{Launch, Search};
use tapline_agent::config::{Config, Flag};
use tapline_agent::host::{Begin, HostOptions, Offer, Patience, StartError, intent};
use tapline_journal::{Journal, SessionEntry};
use tapline_timeline::SessionId;

use crate::failure::Failure;
use crate::journal::wrap::{guard_command, hint_of, secrets};
use crate::settings::{self, Set, flag};

/// How an agent is started.
#[derive(clap::Args)]
pub(crate) struct AgentArgs {
    /// The folder that the agent works in; by default this one
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    cwd: Option<PathBuf>,
    /// What the agent may do without asking
    #[arg(long, value_name = "POLICY", value_parser = ["ask", "allow-reads", "allow-all", "deny"])]
    policy: Option<String>,
    /// The way to sign in, by the agent's name for it, if the agent asks for that
    #[arg(long, value_name = "METHOD")]
    sign_in: Option<String>,
    #[command(flatten)]
    set: Set,
}

/// What is set before the first prompt.
#[derive(clap::Args)]
pub(crate) struct SettingArgs {
    /// The model, by the agent's name for it
    #[arg(long)]
    model: Option<String>,
    /// The mode, by the agent's name for it
    #[arg(long)]
    mode: Option<String>,
    /// Another option of the agent's
    #[arg(long = "option", value_name = "ID=VALUE")]
    options: Vec<String>,
}

impl SettingArgs {
    /// What is wanted of an agent that offers this, as the payloads of intents.
    pub(crate) fn intents(&self, offer: &Offer) -> Result<Vec<serde_json::Value>, Failure> {
        let mut wanted = Vec::new();
        for (word, value, beside) in [
            ("model", &self.model, &offer.models),
            ("mode", &self.mode, &offer.modes),
        ] {
            let Some(value) = value else { continue };
            // What an agent has among its options is set there.
            let option = offer
                .options
                .iter()
                .find(|o| o.category.as_deref().unwrap_or(&o.id) == word);
            wanted.push(match option {
                Some(option) if beside.is_empty() => json!({ "option": option.id, "value": value }),
                _ => json!({ word: value }),
            });
        }
        for option in &self.options {
            let (id, value) = option
                .split_once('=')
                .ok_or_else(|| Failure::Usage(format!("--option {option} has no `=`; write ID=VALUE")))?;
            let boolean = offer.options.iter().any(|o| o.id == id && o.boolean);
            wanted.push(match (boolean, value) {
                (true, "true" | "on" | "yes") => json!({ "option": id, "value": true }),
                (true, "false" | "off" | "no") => json!({ "option": id, "value": false }),
                _ => json!({ "option": id, "value": value }),
            });
        }
        Ok(wanted)
    }

    /// Sets what was wanted, one after the other.
    pub(crate) fn apply(
        &self,
        journal: &dyn Journal,
        session: &SessionId,
        offer: &Offer,
    ) -> Result<(), Failure> {
        for setting in self.intents(offer)? {
            let id = super::turn::post(journal, session, intent::SET_OPTION, &setting)?;
            let outcome = super::reach::wait(journal, session, id, false)?;
            if let Some(error) = outcome["error"].as_str() {
                let error = tapline_render::clean_line(error, true);
                let what = named(&setting);
                return Err(Failure::Agent(format!("{what} could not be set: {error}")));
            }
        }
        Ok(())
    }
}

/// What an intent of this kind sets, in words.
fn named(setting: &serde_json::Value) -> String {
    let value = |of: &serde_json::Value| of.as_str().map_or_else(|| of.to_string(), str::to_owned);
    for word in ["model", "mode"] {
        if !setting[word].is_null() {
            return format!("the {word} `{}`", value(&setting[word]));
        }
    }
    format!(
        "the option {}={}",
        value(&setting["option"]),
        value(&setting["value"])
    )
}

/// What is started: an agent of the catalogue, or a command.
pub(crate) enum Wanted<'a> {
    Named(&'a str),
    Command(&'a [OsString]),
}

impl AgentArgs {
    /// The configuration, with the flags of this command on top: these, and `more` of its own.
    pub(crate) fn config(&self, more: Vec<Flag>) -> Result<Config, Failure> {
        let mut flags = self.set.flags();
        flags.extend(more);
        flags.extend(
            self.policy
                .as_ref()
                .map(|policy| flag("policy", "--policy", policy)),
        );
        settings::load(flags)
    }

    /// A new session of an agent.
    pub(crate) fn new_session(&self, config: &Config, wanted: &Wanted<'_>) -> Result<HostOptions, Failure> {
        let (name, launch) = launch(config, wanted)?;
        let cwd = folder(self.cwd.as_deref())?;
        self.options(config, &name, launch, cwd)
    }

    /// A session that goes on.
    pub(crate) fn resumed_session(
        &self,
        config: &Config,
        journal: &dyn Journal,
        entry: &SessionEntry,
        wanted: Option<&Wanted<'_>>,
        afresh: bool,
    ) -> Result<HostOptions, Failure> {
        let session = &entry.session;
        let Some(provider) = session.provider_session.clone() else {
            let why = "the agent never gave it an id, so there is nothing to go on with; begin a new session";
            return Err(Failure::NotThere(format!("session {}: {why}", session.id)));
        };
        let known = tapline_agent::host::remembered(journal, &session.id).map_err(crate::journal::failed)?;
        let (name, launch) = match (wanted, &known) {
            (Some(wanted), _) => launch(config, wanted)?,
            (None, Some(known)) => match &known.launch {
                Some(launch) => (known.name.clone(), launch.clone()),
                None => launch_named(config, &known.name)?,
            },
            (None, None) => {
                let why = "nothing tells how its agent was started; name the agent (`--agent NAME`) or its command (`-- CMD`)";
                return Err(Failure::NotThere(format!("session {}: {why}", session.id)));
            }
        };
        let before = known
            .and_then(|known| known.cwd)
            .or_else(|| session.cwd.clone().map(PathBuf::from));
        let cwd = match (&self.cwd, before) {
            (None, Some(before)) if before.is_dir() => before,
            (given, _) => folder(given.as_deref())?,
        };
        let mut options = self.options(config, &name, launch, cwd)?;
        options.begin = Begin::Resume {
            session: session.id.clone(),
            provider,
            afresh,
        };
        Ok(options)
    }

    fn options(
        &self,
        config: &Config,
        name: &str,
        launch: Launch,
        cwd: PathBuf,
    ) -> Result<HostOptions, Failure> {
        let mut options = HostOptions::new(name, launch, cwd.clone());
        options.judge = super::rules::judge(config, &cwd)?;
        options.sign_in.clone_from(&self.sign_in);
        options.secrets = secrets();
        options.guard = guard_command();
        options.patience = Patience {
            start: Some(config.start.value),
            load: Some(config.load.value),
            stop: config.stop.value,
            ..Patience::default()
        };
        Ok(options)
    }
}

/// What is started, and what it is called.
fn launch(config: &Config, wanted: &Wanted<'_>) -> Result<(String, Launch), Failure> {
    match wanted {
        Wanted::Named(name) => launch_named(config, name),
        Wanted::Command(words) => {
            let launch = Launch::from_words(words.iter().cloned())
                .ok_or_else(|| Failure::Usage("no command stands behind `--`".to_owned()))?;
            Ok((hint_of(&launch.program, &launch.args), launch))
        }
    }
}

fn launch_named(config: &Config, name: &str) -> Result<(String, Launch), Failure> {
    let (catalogue, failure) = settings::catalogue(config);
    let agent = match catalogue.get(name) {
        Ok(agent) => agent,
        // An entry that is wrong takes its agent away: the fault is the better answer.
        Err(error) => return Err(failure.unwrap_or(Failure::NotThere(error.to_string()))),
    };
    let launch = agent
        .start_in(&Search::from_env())
        .map_err(|error| Failure::NotThere(error.to_string()))?;
    Ok((agent.name.clone(), launch))
}

fn folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let here = given.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let whole = here.canonicalize().map_err(|error| Failure::NoInput {
        path: here.display().to_string(),
        what: format!("cannot be the agent's folder: {error}"),
    })?;
    if whole.is_dir() {
        return Ok(whole);
    }
    Err(Failure::NoInput {
        path: here.display().to_string(),
        what: "is no folder, and an agent needs one to work in".to_owned(),
    })
}

/// Who posts an intent from this terminal.
pub(crate) fn me() -> String {
    let name = ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    format!(
        "cli:{}",
        name.unwrap_or_else(|| rustix::process::getuid().as_raw().to_string())
    )
}

/// Why a session did not begin, as the failure of a command.
#[allow(clippy::needless_pass_by_value)] // It is made for `map_err`.
pub(crate) fn failed_to_start(error: StartError) -> Failure {
    let text = error.to_string();
    match error {
        StartError::SignIn { .. } => Failure::SignIn(text),
        StartError::Journal(_) => Failure::Journal(text),
        _ => Failure::Agent(text),
    }
}

//! `tapline exec`: one prompt to an agent, for scripts and for the impatient. `tapline resume` is the same in a session that
//! goes on.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tapline_agent::config::Config;
use tapline_agent::host::{Begin, HostOptions, Hosted, StartError, intent};
use tapline_journal::Journal;
use tapline_timeline::{End, SessionId};

use super::agent::{AgentArgs, SettingArgs, Wanted, failed_to_start};
use super::chat;
use super::turn::{Ended, Format, Run};
use crate::Outcome;
use crate::failure::{Failure, say};
use crate::journal::{find, open};
use crate::terminal::{ViewArgs, configured};

/// How long one look waits whether the session has begun.
const LOOK: Duration = Duration::from_millis(100);

/// What `exec` and `resume` share.
#[derive(clap::Args)]
pub(crate) struct TurnArgs {
    /// What is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Stop the turn after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Let what the agent asks wait until `tapline answer` answers it, instead of refusing
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    agent: AgentArgs,
}

/// One prompt to an agent
#[derive(clap::Args)]
#[command(
    after_help = "The prompt is read from standard input where it is left out, or is `-`.\n\nExamples:
  tapline exec codex 'Why does the build fail?'
  git diff | tapline exec claude --format quiet
  tapline exec --policy allow-reads --format json 'Review this.' -- CMD ARG…\n\nExit codes of a turn: 0 completed · 10 failed · \
11 the agent declined · 12 a limit was reached · 13 stopped · 14 the agent went away in the middle · 15 it ended without a verdict · \
16 the prompt was not taken · 76 the agent could not be set up · 77 not signed in · 124 out of time · 130 interrupted"
)]
pub(crate) struct ExecArgs {
    /// An agent of the catalogue (see `tapline agents`), then the prompt; with `--agent` or a command, the prompt alone. With the
    /// setting `agent`, one word in quotes is the prompt
    #[arg(value_name = "AGENT PROMPT")]
    words: Vec<String>,
    /// The agent; every word is part of the prompt then
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    agent: Option<String>,
    /// The agent's command instead of a name of the catalogue
    #[arg(last = true, value_name = "CMD ARG")]
    command: Vec<OsString>,
    #[command(flatten)]
    turn: TurnArgs,
}

/// Go on with a session: the agent loads it, and is given the prompt; on a terminal without a prompt, a talk goes on
#[derive(clap::Args)]
#[command(after_help = "Exit codes as those of `tapline exec`.\n\nExamples:
  tapline resume last
  tapline resume last 'And now fix it.'
  tapline resume --adopt --agent claude ID 'Go on.'")]
pub(crate) struct ResumeArgs {
    /// The session: its id, a beginning of it, or `last`; with `--adopt` the agent's own id of it
    session: String,
    /// Go on with a session that the agent keeps and the journal does not know (see `tapline sessions`)
    #[arg(long)]
    adopt: bool,
    /// The prompt; read from standard input where it is left out, or is `-`
    prompt: Vec<String>,
    /// Fail if the agent no longer has the session, instead of going on afresh with the chat so far as context
    #[arg(long)]
    no_context: bool,
    /// The agent, where the session does not tell how its own was started
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    agent: Option<String>,
    /// The agent's command, in the place of the one it was started with
    #[arg(last = true, value_name = "CMD ARG")]
    command: Vec<OsString>,
    #[command(flatten)]
    turn: TurnArgs,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "it is no number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "it must be more than 0 seconds".to_owned())
}

pub(crate) fn exec(args: &ExecArgs) -> Outcome {
    let config = args.turn.config()?;
    let mut words = args.words.as_slice();
    let default = config.agent.value.clone();
    let wanted = match (&args.agent, args.command.as_slice(), words) {
        (Some(name), _, _) => Wanted::Named(name),
        (None, [_, ..], _) => Wanted::Command(&args.command),
        // What has blanks in it is no name: it is the prompt.
        (None, [], [prompt]) if prompt.contains(char::is_whitespace) => match &default {
            Some(name) => Wanted::Named(name),
            None => {
                let what = "name an agent before the prompt (`tapline agents` shows all), or set one as `agent` in the configuration";
                return Err(Failure::Usage(what.to_owned()));
            }
        },
        (None, [], [name, rest @ ..]) => {
            words = rest;
            Wanted::Named(name)
        }
        (None, [], []) => match &default {
            Some(name) => Wanted::Named(name),
            None => {
                let what = "name an agent (`tapline agents` shows all), or give its command behind `--`";
                return Err(Failure::Usage(what.to_owned()));
            }
        },
    };
    let options = args.turn.agent.new_session(&config, &wanted)?;
    let prompt = prompt(words)?;
    let (_, journal) = open()?;
    args.turn.run(&config, journal, options, prompt)
}

pub(crate) fn resume(args: &ResumeArgs) -> Outcome {
    let wanted = match (&args.agent, args.command.as_slice()) {
        (Some(name), _) => Some(Wanted::Named(name)),
        (None, [_, ..]) => Some(Wanted::Command(&args.command)),
        (None, []) => None,
    };
    if args.adopt && wanted.is_none() {
        let what = "--adopt needs the agent that keeps the session: --agent NAME, or its command behind `--`";
        return Err(Failure::Usage(what.to_owned()));
    }
    let config = args.turn.config()?;
    if args.prompt.is_empty() && args.turn.is_for_a_talk() && chat::has_terminal() {
        let start = chat::Start {
            agent: &args.turn.agent,
            settings: &args.turn.settings,
            wanted,
            which: if args.adopt {
                chat::Which::Adopted(&args.session)
            } else {
                chat::Which::Resumed(&args.session)
            },
            afresh: !args.no_context,
        };
        return chat::begin(start, config);
    }
    let (_, journal) = open()?;
    if let Some(wanted) = wanted.as_ref().filter(|_| args.adopt) {
        let mut options = args.turn.agent.new_session(&config, wanted)?;
        options.begin = Begin::Adopt {
            provider: args.session.clone(),
        };
        return args.turn.run(&config, journal, options, prompt(&args.prompt)?);
    }
    let entry = find(&*journal, &args.session)?;
    let options =
        args.turn
            .agent
            .resumed_session(&config, &*journal, &entry, wanted.as_ref(), !args.no_context)?;
    let prompt = prompt(&args.prompt)?;
    args.turn.run(&config, journal, options, prompt)
}

/// The words of the prompt, or standard input.
fn prompt(words: &[String]) -> Result<String, Failure> {
    let empty = || Failure::Usage("the prompt is empty".to_owned());
    if !words.is_empty() && words != ["-"] {
        let text = words.join(" ");
        return if text.trim().is_empty() {
            Err(empty())
        } else {
            Ok(text)
        };
    }
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() && words.is_empty() {
        return Err(Failure::Usage(
            "the prompt is missing: give it as words, or on standard input".to_owned(),
        ));
    }
    let mut text = String::new();
    stdin.read_to_string(&mut text).map_err(|error| Failure::Io {
        path: "standard input".to_owned(),
        what: format!("could not be read as the prompt: {error}"),
    })?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.trim().is_empty() {
        return Err(empty());
    }
    Ok(text.to_owned())
}

impl TurnArgs {
    /// Nothing is wanted that only a single turn has.
    fn is_for_a_talk(&self) -> bool {
        self.format == Format::Text && self.timeout.is_none() && !self.wait
    }

    /// The configuration under the flags of this command.
    fn config(&self) -> Result<Config, Failure> {
        self.agent.config(self.view.flags())
    }

    fn run(
        &self,
        config: &Config,
        journal: Arc<dyn Journal>,
        mut options: HostOptions,
        prompt: String,
    ) -> Outcome {
        options.attended = self.wait;
        let terminal = configured(config);
        let interrupts = interrupts()?;
        let hosted = Hosted::start(Arc::clone(&journal), options).map_err(failed_to_start)?;
        let session = begun(&hosted, self.timeout, &interrupts)?;
        self.settings
            .apply(&*journal, &session, &hosted.standing().offer)?;
        let run = Run {
            journal: &*journal,
            hosted: &hosted,
            session: &session,
            timeout: self.timeout,
            interrupts: &interrupts,
        };
        let prompt = intent::Prompt {
            text: prompt,
            ..intent::Prompt::default()
        };
        let ended = run.prompt(&prompt, self.format, &terminal, &mut std::io::stdout().lock());
        let over = hosted.join();
        if let Some(trouble) = over.trouble {
            say(trouble);
        }
        verdict(ended?, &session)
    }
}

/// Waits until the session has begun.
fn begun(hosted: &Hosted, timeout: Option<Duration>, interrupts: &AtomicUsize) -> Result<SessionId, Failure> {
    let due = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        match hosted.session(LOOK) {
            Ok(session) => return Ok(session),
            Err(StartError::Waiting(_)) => {
                if interrupts.load(Ordering::Relaxed) > 0 {
                    hosted.kill();
                    return Err(Failure::Turn(
                        130,
                        "interrupted before the session began".to_owned(),
                    ));
                }
                if due.is_some_and(|due| due <= Instant::now()) {
                    hosted.kill();
                    return Err(Failure::Turn(
                        124,
                        "out of time before the session began".to_owned(),
                    ));
                }
            }
            Err(error) => return Err(failed_to_start(error)),
        }
    }
}

/// Counts how often somebody wants this to end.
pub(crate) fn interrupts() -> Result<Arc<AtomicUsize>, Failure> {
    let count = Arc::new(AtomicUsize::new(0));
    let failed = |error: std::io::Error| Failure::Io {
        path: "signals".to_owned(),
        what: format!("cannot be waited for: {error}"),
    };
    let mut signals =
        signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM])
            .map_err(failed)?;
    let seen = Arc::clone(&count);
    std::thread::Builder::new()
        .name("tapline-interrupts".to_owned())
        .spawn(move || {
            for _ in signals.forever() {
                seen.fetch_add(1, Ordering::Relaxed);
            }
        })
        .map_err(failed)?;
    Ok(count)
}

/// The exit code and the last word on a turn.
fn verdict(ended: Ended, session: &SessionId) -> Outcome {
    let (code, what) = match ended {
        Ended::Turn(End::Completed) => return Ok(()),
        Ended::Turn(End::Failed) => (10, "the turn failed".to_owned()),
        Ended::Turn(End::Refused) => (11, "the agent declined".to_owned()),
        Ended::Turn(End::Limit) => (12, "the turn reached a limit".to_owned()),
        Ended::Turn(End::Stopped) => (13, "the turn was stopped".to_owned()),
        Ended::Turn(End::Cut) => (14, "the agent went away in the middle of the turn".to_owned()),
        Ended::Turn(End::Unknown) => (15, "the turn ended without a verdict".to_owned()),
        Ended::Rejected(why) => (16, format!("the prompt was not taken: {why}")),
        Ended::OutOfTime => (124, "out of time: the turn was stopped".to_owned()),
        Ended::Interrupted => (130, "interrupted: the turn was stopped".to_owned()),
    };
    Err(Failure::Turn(code, format!("{what} (`tapline show {session}`)")))
}

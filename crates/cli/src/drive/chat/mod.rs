//! `tapline chat`: a talk with an agent.
//!
//! The chat is one more reader and writer of the journal. What it shows it reads from the session's rows; what a person wants
//! becomes an intent, as from any other process. So a second terminal, a page and `tapline answer` can take part in the same
//! talk, and see the same. Beside that it hosts the agent, starts it again when it went away, and does nothing else to it.
//!
//! - [`talk`] is the loop: one thing after the other from keys, the journal and the clock ([`events`]). [`acts`] does what
//!   commands say, [`prompts`] sends, [`hosting`] looks after the agent, [`told`] knows what stands in the session, [`lower`] says
//!   what stands under the text.
//! - [`writer`] is the line editor, on a [`draft`], with a [`history`] and what [`complete`] offers; [`dialogue`] reads answers,
//!   [`command`] reads commands, [`attach`] reads files that go with a prompt.
//! - [`screen`] is the terminal. Its page says why the editor is our own.
//!
//! Keys and changes come from threads of their own through channels. The loop may stand still (a terminal that is stopped with
//! Ctrl-S): neither the agent nor the journal waits for it.
//!
//! *untrusted*: everything that an agent wrote goes through `tapline_render::clean`, or through what does.

mod acts;
mod attach;
mod command;
mod complete;
mod dialogue;
mod draft;
mod events;
mod history;
mod hosting;
mod lower;
mod prompts;
mod screen;
mod talk;
mod told;
mod writer;

use std::ffi::OsString;
use std::io::IsTerminal;

use tapline_agent::config::Config;

use super::agent::{AgentArgs, SettingArgs, Wanted};
use crate::Outcome;
use crate::failure::Failure;
use crate::journal::open;
use crate::terminal::ViewArgs;
use talk::Talk;

/// Talk with an agent
#[derive(clap::Args)]
#[command(
    after_help = "In the chat: Enter sends, Tab completes, @FILE attaches a file, Ctrl-C stops the turn, Ctrl-D leaves, /help tells the rest.\n\n\
Exit codes: 76 the agent could not be set up · 77 not signed in · 130 interrupted"
)]
pub(crate) struct Args {
    /// An agent of the catalogue (see `tapline agents`); without one, that of the setting `agent`
    #[arg(value_name = "AGENT", conflicts_with = "command")]
    name: Option<String>,
    /// Go on with this session: its id, a beginning of it, or `last`
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// Fail if the agent no longer has the session, instead of going on afresh with the chat so far as context
    #[arg(long)]
    no_context: bool,
    /// The agent's command instead of a name of the catalogue
    #[arg(last = true, value_name = "CMD ARG")]
    command: Vec<OsString>,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    agent: AgentArgs,
}

/// Which session.
pub(crate) enum Which<'a> {
    /// A new one.
    New,
    /// One of the journal: its id, a beginning of it, or `last`.
    Resumed(&'a str),
    /// One that the agent keeps under this id.
    Adopted(&'a str),
}

/// What a chat begins with.
pub(crate) struct Start<'a> {
    pub(crate) agent: &'a AgentArgs,
    /// What is set before the first prompt.
    pub(crate) settings: &'a SettingArgs,
    /// The agent; a session that goes on knows its own.
    pub(crate) wanted: Option<Wanted<'a>>,
    pub(crate) which: Which<'a>,
    /// An agent that no longer has the session is given the chat so far as context.
    pub(crate) afresh: bool,
}

/// Whether there is somebody to talk with.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

pub(crate) fn run(args: &Args) -> Outcome {
    let config = args.agent.config(args.view.flags())?;
    let default = config.agent.value.clone();
    let wanted = match (&args.name, args.command.as_slice(), &default) {
        (Some(name), ..) => Some(Wanted::Named(name)),
        (None, [_, ..], _) => Some(Wanted::Command(&args.command)),
        (None, [], _) if args.resume.is_some() => None,
        (None, [], Some(name)) => Some(Wanted::Named(name)),
        (None, [], None) => {
            let what = "name an agent (`tapline agents` shows all), give its command behind `--`, or a session with `--resume`";
            return Err(Failure::Usage(what.to_owned()));
        }
    };
    let start = Start {
        agent: &args.agent,
        settings: &args.settings,
        wanted,
        which: args.resume.as_deref().map_or(Which::New, Which::Resumed),
        afresh: !args.no_context,
    };
    begin(start, config)
}

/// Talks until somebody has had enough.
pub(crate) fn begin(start: Start<'_>, config: Config) -> Outcome {
    if !has_terminal() {
        let what = "a chat needs a terminal on standard input and output; `tapline exec` gives an agent one prompt without one";
        return Err(Failure::Usage(what.to_owned()));
    }
    let (home, journal) = open()?;
    Talk::begin(start, config, home.root(), journal)?.run()
}

//! The `tapline` command. It finds out what the machine and the terminal are like, and leaves the work to the libraries.
#![forbid(unsafe_code)]

mod agents;
mod clock;
mod config;
mod demo_agent;
#[cfg(unix)]
mod drive;
mod explain;
mod failure;
mod generate;
mod input;
#[cfg(unix)]
mod journal;
mod prompt;
mod schema;
mod settings;
#[cfg(unix)]
mod setup;
mod show;
mod terminal;
mod translate;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Failure;

/// The flight recorder and control desk for coding agents: ACP traffic in, one clean timeline out.
#[derive(Parser)]
#[command(name = "tapline", version, about, max_term_width = 100, after_help = after_help())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn recorded traffic into a timeline, as JSON Lines or Markdown
    Translate(translate::Args),
    /// Read a timeline in the terminal
    Show(show::Args),
    /// Tell what each input of a recording became, or why it became nothing
    Explain(explain::Args),
    /// Talk with an agent
    #[cfg(unix)]
    Chat(drive::chat::Args),
    /// Give an agent one prompt, and print what comes of it
    #[cfg(unix)]
    Exec(drive::exec::ExecArgs),
    /// Go on with a session: the agent loads it, and is given a prompt
    #[cfg(unix)]
    Resume(drive::exec::ResumeArgs),
    /// List the sessions that an agent itself keeps
    #[cfg(unix)]
    Sessions(drive::sessions::Args),
    /// Send a prompt to a session that another process hosts
    #[cfg(unix)]
    Send(drive::reach::SendArgs),
    /// Show, change or take back the prompts that wait in a session
    #[cfg(unix)]
    Queue(drive::queue::Args),
    /// Answer what an agent asks
    #[cfg(unix)]
    Answer(drive::reach::AnswerArgs),
    /// Stop a turn, a background task, or a whole session
    #[cfg(unix)]
    Stop(drive::reach::StopArgs),
    /// Show what waits for me, over all sessions
    #[cfg(unix)]
    Inbox(drive::inbox::Args),
    /// Show the sessions as they change
    #[cfg(unix)]
    Watch(drive::watch::Args),
    /// Stand between an editor and its agent: the bytes pass untouched, the record is made on the side
    #[cfg(unix)]
    Wrap(journal::wrap::Args),
    /// Show or make the change in an editor's settings that puts `tapline wrap` before its agent
    #[cfg(unix)]
    Setup(setup::Args),
    /// Bring traffic that was recorded elsewhere into the journal
    #[cfg(unix)]
    Import(journal::import::Args),
    /// List the sessions of the journal
    #[cfg(unix)]
    List(journal::chats::ListArgs),
    /// Find words in everything that was said and run
    #[cfg(unix)]
    Search(journal::search::Args),
    /// Write a session out
    #[cfg(unix)]
    Export(journal::export::Args),
    /// Check the journal against its own hashes and its tapes
    #[cfg(unix)]
    Verify(journal::rebuild::VerifyArgs),
    /// Print a session as its tapes give it
    #[cfg(unix)]
    Rebuild(journal::rebuild::RebuildArgs),
    /// Tell where things are, what is wrong, and what to do
    #[cfg(unix)]
    Doctor(journal::doctor::Args),
    /// Remove a session with everything that only it has
    #[cfg(unix)]
    Forget(journal::chats::ForgetArgs),
    /// Watch a scripted agent being recorded, on a bare machine
    #[cfg(unix)]
    Demo(journal::demo::Args),
    /// List the agents that are known, here or not, and what installs them
    Agents(agents::Args),
    /// Show each setting and where it came from
    Config(config::Args),
    /// Check and convert AI SDK prompts (`LanguageModelV4Prompt`)
    Prompt(prompt::Args),
    /// Print the JSON Schema of the timeline format
    Schema,
    /// Be an agent that follows a script: for demonstrations and tests
    DemoAgent(demo_agent::Args),
    /// Print the completions for a shell
    Completions(generate::CompletionArgs),
    /// Write the man pages into a folder
    Man(generate::ManArgs),
}

fn main() -> std::process::ExitCode {
    // What `wrap` starts to watch over the agent is for no person: neither help nor completions know it.
    #[cfg(unix)]
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == journal::wrap::GUARD)
    {
        journal::wrap::run_guard();
    }
    let outcome = match Cli::parse().command {
        Command::Translate(args) => translate::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Explain(args) => explain::run(&args),
        #[cfg(unix)]
        Command::Chat(args) => drive::chat::run(&args),
        #[cfg(unix)]
        Command::Exec(args) => drive::exec::exec(&args),
        #[cfg(unix)]
        Command::Resume(args) => drive::exec::resume(&args),
        #[cfg(unix)]
        Command::Sessions(args) => drive::sessions::run(&args),
        #[cfg(unix)]
        Command::Send(args) => drive::reach::send(&args),
        #[cfg(unix)]
        Command::Queue(args) => drive::queue::run(&args),
        #[cfg(unix)]
        Command::Answer(args) => drive::reach::answer(&args),
        #[cfg(unix)]
        Command::Stop(args) => drive::reach::stop(&args),
        #[cfg(unix)]
        Command::Inbox(args) => drive::inbox::run(&args),
        #[cfg(unix)]
        Command::Watch(args) => drive::watch::run(&args),
        #[cfg(unix)]
        Command::Wrap(args) => journal::wrap::run(args),
        #[cfg(unix)]
        Command::Setup(args) => setup::run(&args),
        #[cfg(unix)]
        Command::Import(args) => journal::import::run(&args),
        #[cfg(unix)]
        Command::List(args) => journal::chats::list(&args),
        #[cfg(unix)]
        Command::Search(args) => journal::search::run(&args),
        #[cfg(unix)]
        Command::Export(args) => journal::export::run(&args),
        #[cfg(unix)]
        Command::Verify(args) => journal::rebuild::verify(&args),
        #[cfg(unix)]
        Command::Rebuild(args) => journal::rebuild::rebuild(&args),
        #[cfg(unix)]
        Command::Doctor(args) => journal::doctor::run(&args),
        #[cfg(unix)]
        Command::Forget(args) => journal::chats::forget(&args),
        #[cfg(unix)]
        Command::Demo(args) => journal::demo::run(&args),
        Command::Agents(args) => agents::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Prompt(args) => prompt::run(&args),
        Command::Schema => schema::run(),
        Command::DemoAgent(args) => demo_agent::run(args),
        Command::Completions(args) => generate::completions(&args, Cli::command()),
        Command::Man(args) => generate::man(&args, Cli::command()),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// What help says at its end.
fn after_help() -> String {
    format!("{ENVIRONMENT}\n\n{}", failure::EXIT_CODES)
}

const ENVIRONMENT: &str = "Environment: TAPLINE_HOME the folder of the journal · TAPLINE_CONFIG the configuration's file · \
TAPLINE_… any setting (`tapline config`) · PAGER what `show` is read in · NO_COLOR no colours";

type Outcome = Result<(), Failure>;

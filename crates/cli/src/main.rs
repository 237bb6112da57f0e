//! The `tapline` command. It finds out what the machine and the terminal are like, and leaves the work to the libraries.
#![forbid(unsafe_code)]

mod demo_agent;
mod explain;
mod failure;
mod generate;
mod input;
mod prompt;
mod schema;
mod show;
mod terminal;
mod translate;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Failure;

/// The flight recorder and control desk for coding agents: ACP traffic in, one clean timeline out.
#[derive(Parser)]
#[command(name = "tapline", version, about, max_term_width = 100, after_help = failure::EXIT_CODES)]
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
    let outcome = match Cli::parse().command {
        Command::Translate(args) => translate::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Explain(args) => explain::run(&args),
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

type Outcome = Result<(), Failure>;

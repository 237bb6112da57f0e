//! The `tapline` command.
#![forbid(unsafe_code)]

mod failure;
mod input;
mod translate;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Tapline: the flight recorder and control desk for coding agents.
#[derive(Parser)]
#[command(name = "tapline", version, about, long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn recorded traffic into a timeline
    Translate(translate::Args),
}

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Translate(args) => translate::run(&args),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

type Outcome = Result<(), Failure>;

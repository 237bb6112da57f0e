//! `tapline demo-agent`: the scripted agent of the test kit.

use std::io::Write;
use std::path::PathBuf;

use tapline_testkit::agent::{Options, Pace};
use tapline_testkit::command;
use tapline_testkit::script::Script;

use crate::Outcome;
use crate::failure::Failure;

#[derive(clap::Args)]
#[command(
    after_help = "It speaks ACP on its standard streams, as a real agent does. Examples:
  tapline demo-agent --list
  tapline chat -- tapline demo-agent --pace real builtin:demo"
)]
pub(crate) struct Args {
    /// A recording (`.jsonl`), a scenario (`.toml`) or `builtin:NAME`
    #[arg(default_value = "builtin:demo", value_hint = clap::ValueHint::FilePath)]
    script: String,
    /// Play with the script's own pauses (`real`), with none, or so many frames a second (`200/s`)
    #[arg(long, default_value = "none", value_parser = str::parse::<Pace>)]
    pace: Pace,
    /// Play this process of a recording that has several, from 0
    #[arg(long, value_name = "NUMBER")]
    process: Option<usize>,
    /// Keep sessions in this folder, so that the next process can load them
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    state: Option<PathBuf>,
    /// Name the scripts that come with the command
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: Args) -> Outcome {
    if args.list {
        return Ok(std::io::stdout().lock().write_all(command::list().as_bytes())?);
    }
    let script = Script::open(&args.script).map_err(|error| Failure::Usage(error.to_string()))?;
    let options = Options {
        pace: args.pace,
        process: args.process,
        state: args.state,
    };
    command::run_process(&script, &options).end_process()
}

//! `tapline demo-agent`: the scripted agent of the test kit.

use crate::Outcome;

#[derive(clap::Args)]
#[command(trailing_var_arg = true, disable_help_flag = true)]
pub(crate) struct Args {
    /// What the scripted agent takes: `[--pace real|none|N/s] [--process N] [--state DIR] [SCRIPT]`, or `--list`
    #[arg(allow_hyphen_values = true, num_args = 0..)]
    rest: Vec<String>,
}

pub(crate) fn run(args: Args) -> Outcome {
    tapline_testkit::command::run(args.rest).end_process()
}

//! Completions and man pages, made from the arguments themselves.

use std::path::PathBuf;

use crate::Outcome;
use crate::failure::Failure;

#[derive(clap::Args)]
#[command(after_help = "Example, for bash:
  tapline completions bash > ~/.local/share/bash-completion/completions/tapline")]
pub(crate) struct CompletionArgs {
    /// The shell
    shell: clap_complete::Shell,
}

#[derive(clap::Args)]
#[command(after_help = "Example:
  tapline man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder, made if it is not there
    folder: PathBuf,
}

pub(crate) fn completions(args: &CompletionArgs, mut command: clap::Command) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "tapline", &mut text);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &text)?;
    Ok(())
}

pub(crate) fn man(args: &ManArgs, command: clap::Command) -> Outcome {
    let failed = |e: std::io::Error| Failure::Io {
        path: args.folder.display().to_string(),
        what: format!("could not be written: {e}"),
    };
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(command, &args.folder).map_err(failed)
}

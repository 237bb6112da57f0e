//! `tapline prompt`: AI SDK prompts, checked and converted.

use std::io::{BufRead, BufWriter, Read, Write};

use clap::Subcommand;
use tapline_prompt::check::Checks;
use tapline_prompt::providers::convert_line;
use tapline_prompt::types::Prompt;

use crate::failure::Failure;
use crate::{Outcome, input};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn prompts into provider requests: JSON Lines on standard input, one answer a line out
    Convert,
    /// Tell every fault of a prompt, with its path; exit code 1 if there is one
    Check {
        /// The prompt (`-`: standard input)
        #[arg(default_value = "-")]
        file: String,
        /// Check the form alone, not what it means
        #[arg(long)]
        form_only: bool,
    },
    /// Tell the media type of files, from their first bytes
    MediaType {
        /// The files
        #[arg(required = true)]
        files: Vec<String>,
    },
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::Convert => convert(),
        Command::Check { file, form_only } => check(file, *form_only),
        Command::MediaType { files } => media_types(files),
    }
}

fn convert() -> Outcome {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| Failure::Io {
            path: "standard input".to_owned(),
            what: e.to_string(),
        })?;
        if line.trim().is_empty() {
            continue;
        }
        out.write_all(convert_line(&line).as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

fn check(file: &str, form_only: bool) -> Outcome {
    let mut text = String::new();
    let (mut input, _) = input::open(file)?;
    input
        .read_to_string(&mut text)
        .map_err(|e| unreadable(file, &e))?;
    let file = input::name(file);
    let faults = match Prompt::parse(&text) {
        Ok(_) if form_only => Vec::new(),
        Ok(prompt) => Checks::all().run(&prompt),
        Err(faults) => faults.iter().cloned().collect(),
    };
    let mut out = std::io::stdout().lock();
    for fault in &faults {
        writeln!(out, "{fault}")?;
    }
    match faults.len() {
        0 => Ok(writeln!(out, "{file}: no faults")?),
        1 => Err(Failure::NotThere(format!("{file}: 1 fault"))),
        n => Err(Failure::NotThere(format!("{file}: {n} faults"))),
    }
}

fn media_types(files: &[String]) -> Outcome {
    let mut out = std::io::stdout().lock();
    let mut unknown = 0;
    for file in files {
        let (mut input, _) = input::open(file)?;
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(|e| unreadable(file, &e))?;
        match tapline_prompt::media_type::detect_bytes(&bytes, None) {
            Some(kind) => writeln!(out, "{file}: {kind}")?,
            None => {
                unknown += 1;
                writeln!(out, "{file}: unknown")?;
            }
        }
    }
    if unknown > 0 {
        Err(Failure::NotThere(format!(
            "{unknown} of {} files have no known signature",
            files.len()
        )))
    } else {
        Ok(())
    }
}

fn unreadable(file: &str, error: &std::io::Error) -> Failure {
    let what = match error.kind() {
        std::io::ErrorKind::IsADirectory => "is a folder; name a file in it".to_owned(),
        std::io::ErrorKind::InvalidData => "is no text in UTF-8".to_owned(),
        _ => format!("could not be read to its end: {error}"),
    };
    input::no_input(file, &what)
}

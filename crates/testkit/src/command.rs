//! The scripted agent as a command: `scripted-agent` here, `tapline demo-agent` in the command line.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::Status;
use crate::agent::{self, Io, Options};
use crate::script::{Script, catalogue};

/// The arguments, in one sentence each.
pub const USAGE: &str = "\
usage: scripted-agent [--pace real|none|N/s] [--process N] [--state DIR] [SCRIPT]
       scripted-agent --list

SCRIPT is a recording (.jsonl), a scenario (.toml) or builtin:NAME; without one it is builtin:demo.
  --pace     play with the script's own pauses, with none (the default) or at N frames a second
  --process  play this process of a recording that has several, from 0
  --state    keep sessions in this folder, so that the next process can load them
  --list     name the scripts that come with the command
";

/// Runs the command with these arguments (the program's name left out) on the standard streams of this process.
pub fn run(arguments: impl IntoIterator<Item = String>) -> Status {
    let arguments: Vec<_> = arguments.into_iter().collect();
    if arguments == ["--list"] {
        print!("{}", list());
        return Status::Code(0);
    }
    match parse(arguments) {
        Ok((script, options)) => run_process(&script, &options),
        Err(sentence) => {
            eprintln!("scripted-agent: {sentence}\n{USAGE}");
            Status::Code(2)
        }
    }
}

/// Runs a script on the standard streams of this process.
pub fn run_process(script: &Script, options: &Options) -> Status {
    let io = Io {
        input: Box::new(io::stdin()),
        output: Box::new(Stdout),
        errors: Box::new(io::stderr()),
    };
    agent::run(script, options, io)
}

/// The catalogue of scripts, one a line with what it is for.
pub fn list() -> String {
    let about = |text: &str| match Script::scenario("builtin", text) {
        Ok(Script::Scenario(scenario)) => scenario.about,
        Ok(Script::Recording(_)) => String::new(),
        Err(error) => error.to_string(),
    };
    let lines = catalogue()
        .iter()
        .map(|builtin| format!("builtin:{:<24} {}\n", builtin.name, about(builtin.text)));
    lines.collect()
}

fn parse(arguments: impl IntoIterator<Item = String>) -> Result<(Script, Options), String> {
    let mut options = Options::default();
    let mut name = None;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| format!("`{argument}` needs a value"))
        };
        match argument.as_str() {
            "--pace" => options.pace = value()?.parse()?,
            "--process" => {
                let text = value()?;
                options.process = Some(
                    text.parse()
                        .map_err(|_| format!("`{text}` is no number of a process"))?,
                );
            }
            "--state" => options.state = Some(PathBuf::from(value()?)),
            flag if flag.starts_with("--") => return Err(format!("there is no option `{flag}`")),
            _ if name.is_some() => return Err(format!("`{argument}` is a second script; one is enough")),
            _ => name = Some(argument),
        }
    }
    let name = name.unwrap_or_else(|| "builtin:demo".to_owned());
    let script = Script::open(&name).map_err(|error| error.to_string())?;
    Ok((script, options))
}

/// The standard output of this process, unbuffered; dropping it closes the pipe, which `std` never does.
struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        rustix::io::write(rustix::stdio::stdout(), bytes).map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stdout {
    fn drop(&mut self) {
        // Nothing can be done where even this fails; the pipe then stays open until the process ends.
        if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(&nowhere);
        }
    }
}

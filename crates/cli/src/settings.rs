//! The configuration as commands use it: the layers of this process, with the flags of this command on top.

use tapline_agent::catalogue::Catalogue;
use tapline_agent::config::{Config, Flag, Layers};

use crate::failure::{Failure, say};

/// `--set`, for commands that follow many settings.
#[derive(clap::Args)]
pub(crate) struct Set {
    /// Let a setting be this, whatever the environment and the file say
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

impl Set {
    /// As flags.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        let flags = self.set.iter().map(|(key, value)| Flag {
            key: key.clone(),
            flag: "--set".to_owned(),
            value: value.clone(),
        });
        flags.collect()
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.trim().to_owned(), value.to_owned()))
        .ok_or_else(|| "it has no `=`; write KEY=VALUE, such as policy=deny".to_owned())
}

/// A number of things, of which there must be one at least.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be 1 or more".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("it is no number".to_owned()),
    }
}

/// A flag of its own that sets one thing.
pub(crate) fn flag(key: &str, flag: &str, value: &str) -> Flag {
    Flag {
        key: key.to_owned(),
        flag: flag.to_owned(),
        value: value.to_owned(),
    }
}

/// Reads the configuration.
pub(crate) fn load(flags: Vec<Flag>) -> Result<Config, Failure> {
    let layers = Layers {
        flags,
        ..Layers::from_env()
    };
    Config::load(&layers).map_err(|error| Failure::Config(error.to_string()))
}

/// Reads the agent catalogue. What is wrong with one entry of a registry is told at once and harms nothing; the rest is given
/// back as a failure, for the command to stop at, or to end with.
pub(crate) fn catalogue(config: &Config) -> (Catalogue, Option<Failure>) {
    let (catalogue, problems) = Catalogue::load(&config.sources());
    let mut faults = Vec::new();
    for problem in problems {
        // Others wrote the registry.
        let text = tapline_render::clean_line(&problem.to_string(), true);
        if problem.is_minor() {
            say(text);
        } else {
            faults.push(text);
        }
    }
    let failure = (!faults.is_empty()).then(|| Failure::Config(faults.join("\n")));
    (catalogue, failure)
}

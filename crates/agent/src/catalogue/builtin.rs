//! The agents that Tapline knows by itself: data, in `builtin.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::launch::{Launch, quoted};
use super::{Agent, Packages, Runner, Source};

const TEXT: &str = include_str!("builtin.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    title: String,
    command: Vec<String>,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    npm: Vec<String>,
    #[serde(default)]
    pypi: Vec<String>,
    #[serde(default)]
    requires: Vec<String>,
    install: Option<String>,
    needs: Option<String>,
    sign_in: Option<String>,
    homepage: Option<String>,
}

/// All of them, by name.
pub(super) fn agents() -> Vec<Agent> {
    // The text is part of the program, and a test reads it.
    let entries: BTreeMap<String, Entry> =
        toml::from_str(TEXT).expect("the built-in list is read by a test of this module");
    entries
        .into_iter()
        .filter_map(|(name, entry)| entry.agent(name))
        .collect()
}

impl Entry {
    /// Nothing: the command is empty, which the test of this module rules out.
    fn agent(self, name: String) -> Option<Agent> {
        let launch = Launch::from_words(&self.command)?;
        let (runner, names) = if self.npm.is_empty() {
            (Runner::Uvx, self.pypi)
        } else {
            (Runner::Npx, self.npm)
        };
        let packages = (!names.is_empty()).then(|| Packages::with_program(runner, names, &launch));
        Some(Agent {
            title: self.title,
            description: None,
            version: None,
            aliases: self.aliases,
            install: self.install.or_else(|| packages.as_ref().map(Packages::install)),
            packages,
            launch,
            requires: self.requires,
            needs: self.needs,
            sign_in: self.sign_in,
            homepage: self.homepage,
            source: Source::BuiltIn,
            name,
        })
    }
}

impl Runner {
    /// The program that runs a package without installing it.
    pub fn program(self) -> &'static str {
        match self {
            Runner::Npx => "npx",
            Runner::Uvx => "uvx",
        }
    }
}

impl Packages {
    /// Packages that hold a program whose name is known.
    pub(super) fn with_program(runner: Runner, names: Vec<String>, program: &Launch) -> Self {
        let mut launch = Launch::new(runner.program());
        match runner {
            Runner::Npx => {
                launch.args.push("--yes".into());
                for name in &names {
                    launch.args.push(format!("--package={name}").into());
                }
                launch.args.push("--".into());
            }
            Runner::Uvx => {
                for (n, name) in names.iter().enumerate() {
                    launch.args.push(if n == 0 { "--from" } else { "--with" }.into());
                    launch.args.push(name.into());
                }
            }
        }
        launch.args.push(program.program.clone());
        launch.args.extend(program.args.iter().cloned());
        launch.env.clone_from(&program.env);
        Self {
            runner,
            names,
            launch,
        }
    }

    /// A package whose one program the runner finds by itself.
    pub(super) fn with_its_program(runner: Runner, name: String, arguments: Vec<String>) -> Self {
        let mut launch = Launch::new(runner.program());
        if runner == Runner::Npx {
            launch.args.push("--yes".into());
        }
        launch.args.push((&name).into());
        launch.args.extend(arguments.into_iter().map(Into::into));
        Self {
            runner,
            names: vec![name],
            launch,
        }
    }

    /// The command that installs them.
    pub(super) fn install(&self) -> String {
        let mut line = match self.runner {
            Runner::Npx => "npm install -g",
            Runner::Uvx => "pip install",
        }
        .to_owned();
        for name in &self.names {
            line.push(' ');
            // `uvx` takes a version behind an `@` too, `pip` does not.
            let name = match self.runner {
                Runner::Npx => name.clone(),
                Runner::Uvx => name.replacen('@', "==", 1),
            };
            line.push_str(&quoted(&name));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_list_is_whole() {
        let entries: BTreeMap<String, Entry> = toml::from_str(TEXT).unwrap();
        let known = agents();
        assert_eq!(known.len(), entries.len(), "every entry has a command");
        let mut words: Vec<&str> = known
            .iter()
            .flat_map(|a| std::iter::once(a.name.as_str()).chain(a.aliases.iter().map(String::as_str)))
            .collect();
        words.sort_unstable();
        let all = words.len();
        words.dedup();
        assert_eq!(words.len(), all, "no name stands for two agents");
        for name in [
            "grok",
            "claude",
            "codex",
            "gemini",
            "opencode",
            "kilo",
            "qwen",
            "kimi",
            "cline",
            "pi",
            "omp",
            "copilot",
            "goose",
            "cursor",
            "vibe",
            "hermes",
            "fast-agent",
        ] {
            assert!(known.iter().any(|a| a.name == name), "{name}");
        }
        for agent in &known {
            let told = agent.install.as_ref().or(agent.homepage.as_ref());
            assert!(told.is_some(), "{}: nothing says how to get it", agent.name);
            assert!(entries[&agent.name].npm.is_empty() || entries[&agent.name].pypi.is_empty());
            assert!(agent.homepage.as_ref().is_none_or(|h| h.starts_with("https://")));
        }
    }

    #[test]
    fn a_runner_is_told_the_package_and_the_program() {
        let find = |name: &str| agents().into_iter().find(|a| a.name == name).unwrap();
        let line = |name: &str| find(name).packages.unwrap().launch.to_string();
        assert_eq!(
            line("gemini"),
            "npx --yes --package=@google/gemini-cli -- gemini --acp"
        );
        assert_eq!(line("hermes"), "uvx --from 'hermes-agent[acp]' hermes-acp");
        assert_eq!(
            find("pi").install.unwrap(),
            "npm install -g pi-acp @earendil-works/pi-coding-agent"
        );
        assert_eq!(find("hermes").install.unwrap(), "pip install 'hermes-agent[acp]'");
        assert_eq!(find("goose").install, None);
        assert_eq!(
            find("omp").install.unwrap(),
            "bun install -g @oh-my-pi/pi-coding-agent"
        );
    }
}

//! Which agents there are, and how to start each.
//!
//! Three sources, in this order: the user's own file, the list that is built in, a registry file in the format of the
//! public ACP registry. The user's file overrides single members of an agent, or adds one. A registry never replaces what
//! is known already, since it seldom knows the name of the program that an installed agent has; it fills gaps and adds
//! agents. Nothing here opens a connection: the registry is a file that the user fetched.
//!
//! What is known of an agent is data. What is seen on this machine ([`Presence`]) is looked up when it is asked for.
//!
//! ```toml
//! # agents.toml
//! [agents.claude]                 # one that is known: only what is said changes
//! env = { CLAUDE_CONFIG_DIR = "/home/me/.claude-work" }
//!
//! [agents.far]                    # one of the user's own
//! title = "Codex on the big machine"
//! command = ["ssh", "big", "codex-acp"]
//! ```

mod builtin;
mod launch;
mod presence;
mod registry;
mod user;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use launch::Launch;
pub use presence::{NotHere, Presence, Search};

use crate::origin::{Problem, alike};

/// The limits of this module.
pub mod limits {
    /// Longest file of the user's own, in bytes.
    pub const USER_FILE: usize = 1 << 20;
    /// Longest registry, in bytes.
    pub const REGISTRY_FILE: usize = 16 << 20;
    /// Most agents taken from a registry.
    pub const REGISTRY_AGENTS: usize = 4096;
    /// Longest name of an agent, in bytes.
    pub const NAME: usize = 64;
    /// Most names offered for a misspelled one.
    pub const SUGGESTIONS: usize = 3;
}

/// An agent, and how to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The word it is asked for by.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// What it is, in a sentence.
    pub description: Option<String>,
    /// The version that the registry lists; not necessarily the one that is installed.
    pub version: Option<String>,
    /// Other words that it is asked for by.
    pub aliases: Vec<String>,
    /// How it is started where it is installed.
    pub launch: Launch,
    /// The packages that hold it.
    pub packages: Option<Packages>,
    /// Programs that it starts itself.
    pub requires: Vec<String>,
    /// What must be on the machine, in words.
    pub needs: Option<String>,
    /// The command that installs it, or what to do instead.
    pub install: Option<String>,
    /// How one signs in, in words.
    pub sign_in: Option<String>,
    /// Where it lives.
    pub homepage: Option<String>,
    /// Who knows of it.
    pub source: Source,
}

/// Packages that a runner can start without installing them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages {
    /// Who runs them.
    pub runner: Runner,
    /// Their names in the runner's registry, with a version where one is wanted.
    pub names: Vec<String>,
    /// The runner's command. It fetches what it does not have.
    pub launch: Launch,
}

/// A program that fetches and runs packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// `npx`, for packages of npm.
    Npx,
    /// `uvx`, for packages of PyPI.
    Uvx,
}

/// Who knows of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Tapline itself.
    BuiltIn,
    /// The user, in this file.
    User(Arc<Path>),
    /// A registry, in this file.
    Registry(Arc<Path>),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("built in"),
            Source::User(path) | Source::Registry(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Where the catalogue is read from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The user's own file.
    pub user: Option<PathBuf>,
    /// Whether it is a fault if that file is not there.
    pub user_must_exist: bool,
    /// A registry.
    pub registry: Option<PathBuf>,
}

/// All agents that are known.
#[derive(Debug, Clone)]
pub struct Catalogue {
    agents: BTreeMap<String, Agent>,
}

/// No agent has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no agent is called `{name}`{} (`tapline agents --all` lists them)",
    did_you_mean(suggestions)
)]
pub struct UnknownAgent {
    /// The name that was asked for.
    pub name: String,
    /// The names most like it, the best first.
    pub suggestions: Vec<String>,
}

fn did_you_mean(suggestions: &[String]) -> String {
    let quoted: Vec<String> = suggestions.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, rest)) => format!("; did you mean {} or {last}?", rest.join(", ")),
    }
}

impl Catalogue {
    /// Reads the sources. What cannot be read of one is told, and costs only itself: an entry of the user's file that is
    /// wrong takes the agent of that name away, so that it is never started in another way than the user meant.
    ///
    /// Who starts an agent should stop at any problem that is not [minor](Problem::is_minor).
    pub fn load(sources: &Sources) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut catalogue = Self {
            agents: builtin::agents()
                .into_iter()
                .map(|a| (a.name.clone(), a))
                .collect(),
        };
        if let Some(path) = &sources.registry {
            for agent in registry::read(path, &mut problems) {
                catalogue.fill(agent);
            }
        }
        if let Some(path) = &sources.user {
            user::read(
                path,
                sources.user_must_exist,
                &mut catalogue.agents,
                &mut problems,
            );
        }
        (catalogue, problems)
    }

    /// All of them, by name.
    pub fn agents(&self) -> impl ExactSizeIterator<Item = &Agent> {
        self.agents.values()
    }

    /// The agent that is asked for by this word: its name, else another word for it, whatever the case of its letters.
    pub fn find(&self, word: &str) -> Option<&Agent> {
        self.agents.get(word).or_else(|| {
            let same = |known: &String| known.eq_ignore_ascii_case(word);
            let mut all = self.agents.values();
            all.find(|agent| same(&agent.name)).or_else(|| {
                let mut all = self.agents.values();
                all.find(|agent| agent.aliases.iter().any(same))
            })
        })
    }

    /// The same, with what to say where there is none.
    ///
    /// # Errors
    /// [`UnknownAgent`], with the names most like this one.
    pub fn get(&self, word: &str) -> Result<&Agent, UnknownAgent> {
        self.find(word).ok_or_else(|| UnknownAgent {
            name: word.to_owned(),
            suggestions: self.suggestions(word),
        })
    }

    /// The names most like a misspelled one, the best first.
    pub fn suggestions(&self, word: &str) -> Vec<String> {
        let words = self.agents.values().flat_map(|agent| {
            let aliases = agent.aliases.iter().map(String::as_str);
            std::iter::once(agent.name.as_str()).chain(aliases)
        });
        let mut names: Vec<String> = Vec::new();
        for known in alike(word, words) {
            // Another word for an agent leads to its name.
            if let Some(agent) = self.find(known).filter(|agent| !names.contains(&agent.name)) {
                names.push(agent.name.clone());
            }
        }
        names.truncate(limits::SUGGESTIONS);
        names
    }

    /// Takes an agent of a registry: as it is where it is new, else only what was not known of it.
    fn fill(&mut self, new: Agent) {
        let mut built_in = self.agents.values_mut().filter(|a| a.source == Source::BuiltIn);
        let Some(known) = built_in.find(|known| is_the_same(known, &new)) else {
            self.agents.insert(new.name.clone(), new);
            return;
        };
        if new.name != known.name && !known.aliases.contains(&new.name) {
            known.aliases.push(new.name);
        }
        known.description = known.description.take().or(new.description);
        known.version = known.version.take().or(new.version);
        known.homepage = known.homepage.take().or(new.homepage);
        known.install = known.install.take().or(new.install);
        known.packages = known.packages.take().or(new.packages);
    }
}

/// Whether two entries are of one agent: the same word, or the same package.
fn is_the_same(known: &Agent, new: &Agent) -> bool {
    let package = |agent: &Agent| {
        let packages = agent.packages.as_ref()?;
        Some((packages.runner, bare(packages.names.first()?).to_owned()))
    };
    known.name == new.name
        || known.aliases.contains(&new.name)
        || package(known).is_some_and(|known| Some(known) == package(new))
}

/// A package's name without its version. A scope's `@` at the beginning is no version.
fn bare(package: &str) -> &str {
    let end = package
        .char_indices()
        .skip(1)
        .find(|(_, c)| matches!(c, '@' | '=' | '<' | '>' | '~' | '!'))
        .map_or(package.len(), |(at, _)| at);
    &package[..end]
}

/// Whether an agent may have this name: a word that can be typed, and that no command takes for a flag.
fn is_name(name: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control();
    !name.is_empty() && name.len() <= limits::NAME && !name.starts_with('-') && name.chars().all(plain)
}

/// What a name must be, in words.
const NAME_RULE: &str = "a word of at most 64 bytes without blanks that does not begin with `-`";

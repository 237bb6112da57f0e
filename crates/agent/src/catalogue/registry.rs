//! A registry file in the format of the public ACP registry.
//!
//! ```json
//! {"agents": [{"id": "…", "name": "…", "version": "…", "description": "…", "distribution": {
//!    "npx": {"package": "…", "args": ["…"], "env": {"NAME": "…"}},
//!    "uvx": {"package": "…"},
//!    "binary": {"linux-x86_64": {"archive": "https://…", "cmd": "./…", "args": ["…"]}}}}]}
//! ```
//!
//! It is read leniently, since it is others who write it and its format grows: what is not known is passed over, and an
//! entry that cannot be used is told and loses nothing but itself. A binary distribution counts as installed where its
//! program stands in `PATH`; nothing is fetched.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::launch::Launch;
use super::{Agent, NAME_RULE, Packages, Runner, Source, is_name, limits};
use crate::origin::{Origin, Problem};
use crate::toml_file::read as read_text;

/// Reads the agents of a registry.
pub(super) fn read(path: &Path, problems: &mut Vec<Problem>) -> Vec<Agent> {
    let text = match read_text(path, limits::REGISTRY_FILE) {
        Ok(text) => text,
        Err(problem) => {
            problems.push(problem);
            return Vec::new();
        }
    };
    let syntax = |line: usize, what: String| Problem::Syntax {
        at: Origin::File {
            path: path.into(),
            line: line.max(1),
        },
        language: "registry",
        what,
    };
    let root: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(root) => root,
        Err(error) => {
            problems.push(syntax(error.line(), error.to_string()));
            return Vec::new();
        }
    };
    let Some(entries) = root.get("agents").and_then(Value::as_array) else {
        problems.push(syntax(1, "it has no list `agents`".to_owned()));
        return Vec::new();
    };
    let mut reader = Reader {
        path: path.into(),
        problems,
    };
    let mut seen = BTreeSet::new();
    let mut agents = Vec::new();
    for (n, entry) in entries.iter().enumerate() {
        if n == limits::REGISTRY_AGENTS {
            let what = format!("at most {} agents are read", limits::REGISTRY_AGENTS);
            reader.problem(format!("entry {} and what follows", n + 1), what);
            break;
        }
        let Some(agent) = reader.agent(n, entry) else {
            continue;
        };
        if !seen.insert(agent.name.clone()) {
            reader.problem(
                format!("entry {}", n + 1),
                format!("`{}` stands there twice", agent.name),
            );
            continue;
        }
        agents.push(agent);
    }
    agents
}

struct Reader<'p> {
    path: Arc<Path>,
    problems: &'p mut Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, entry: String, what: impl Into<String>) {
        self.problems.push(Problem::Entry {
            path: self.path.to_path_buf(),
            entry,
            what: what.into(),
        });
    }

    fn agent(&mut self, n: usize, entry: &Value) -> Option<Agent> {
        let Some(name) = text(entry, "id") else {
            self.problem(format!("entry {}", n + 1), "it has no `id`");
            return None;
        };
        if !is_name(&name) {
            self.problem(format!("entry {}", n + 1), format!("its `id` is not {NAME_RULE}"));
            return None;
        }
        let place = format!("`{name}`");
        let Some(distribution) = entry.get("distribution").and_then(Value::as_object) else {
            self.problem(place, "it has no `distribution`");
            return None;
        };
        let binary = self.binary(&place, distribution);
        let packages = self
            .packages(&place, distribution, Runner::Npx)
            .or_else(|| self.packages(&place, distribution, Runner::Uvx));
        let launch = match (&binary, &packages) {
            (Some(binary), _) => binary.launch.clone(),
            (None, Some(packages)) => packages.launch.clone(),
            (None, None) => {
                self.problem(
                    place,
                    "its `distribution` has none of npx, uvx and binary that can be read",
                );
                return None;
            }
        };
        let install = packages
            .as_ref()
            .map(Packages::install)
            .or(binary.and_then(|binary| binary.install));
        Some(Agent {
            title: text(entry, "name").unwrap_or_else(|| name.clone()),
            description: text(entry, "description"),
            version: text(entry, "version"),
            aliases: Vec::new(),
            launch,
            packages,
            requires: Vec::new(),
            needs: None,
            install,
            sign_in: None,
            homepage: text(entry, "website").or_else(|| text(entry, "repository")),
            source: Source::Registry(Arc::clone(&self.path)),
            name,
        })
    }

    fn packages(
        &mut self,
        place: &str,
        distribution: &Map<String, Value>,
        runner: Runner,
    ) -> Option<Packages> {
        let entry = distribution.get(runner.program())?;
        let Some(name) = text(entry, "package").filter(|name| !name.starts_with('-')) else {
            self.problem(
                place.to_owned(),
                format!("its `{}` names no `package`", runner.program()),
            );
            return None;
        };
        let mut packages = Packages::with_its_program(runner, name, self.args(place, entry)?);
        self.env(place, entry, &mut packages.launch)?;
        Some(packages)
    }

    /// The program for this kind of machine; else, so that it can be found in `PATH` all the same, that for another one.
    fn binary(&mut self, place: &str, distribution: &Map<String, Value>) -> Option<Binary> {
        let kinds = distribution.get("binary")?;
        let own = kinds.get(platform().as_str());
        let entry = own.or_else(|| kinds.as_object()?.values().next());
        let program = entry.and_then(|entry| program(&text(entry, "cmd")?));
        let (Some(entry), Some(program)) = (entry, program) else {
            self.problem(place.to_owned(), "its `binary` names no `cmd`");
            return None;
        };
        let mut launch = Launch::new(program);
        launch.args = self.args(place, entry)?.into_iter().map(Into::into).collect();
        self.env(place, entry, &mut launch)?;
        let archive = own.and_then(|entry| text(entry, "archive"));
        Some(Binary {
            install: archive.map(|archive| {
                format!(
                    "fetch {archive} and put its `{}` into PATH",
                    launch.program.to_string_lossy()
                )
            }),
            launch,
        })
    }

    /// The arguments. Nothing: they are there and cannot be used, which is told.
    fn args(&mut self, place: &str, entry: &Value) -> Option<Vec<String>> {
        let Some(args) = entry.get("args").filter(|args| !args.is_null()) else {
            return Some(Vec::new());
        };
        let words: Option<Vec<String>> = args
            .as_array()
            .and_then(|list| list.iter().map(|w| w.as_str().map(str::to_owned)).collect());
        if words.is_none() {
            self.problem(place.to_owned(), "its `args` are no list of strings");
        }
        words
    }

    fn env(&mut self, place: &str, entry: &Value, launch: &mut Launch) -> Option<()> {
        let Some(env) = entry.get("env").filter(|env| !env.is_null()) else {
            return Some(());
        };
        let fits = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        for (name, value) in env.as_object().into_iter().flatten() {
            match value.as_str().filter(|_| fits(name)) {
                Some(value) => launch.set_env(name, value),
                None => {
                    self.problem(
                        place.to_owned(),
                        format!("`{name}` in its `env` is no variable with a string"),
                    );
                    return None;
                }
            }
        }
        if !env.is_object() {
            self.problem(place.to_owned(), "its `env` is no object");
            return None;
        }
        Some(())
    }
}

struct Binary {
    launch: Launch,
    install: Option<String>,
}

/// The name of the program in a `cmd`, which is a path inside the archive.
fn program(cmd: &str) -> Option<String> {
    let name = cmd.rsplit(['/', '\\']).next().unwrap_or(cmd);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    (!name.is_empty() && name != "." && name != "..").then(|| name.to_owned())
}

/// This kind of machine, as the registry spells it.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    format!("{system}-{}", std::env::consts::ARCH)
}

/// A member that is a string with something in it.
fn text(entry: &Value, member: &str) -> Option<String> {
    let text = entry.get(member)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

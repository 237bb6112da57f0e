//! The user's own file, `agents.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::launch::Launch;
use super::{Agent, NAME_RULE, Source, is_name, limits};
use crate::origin::{Origin, Problem, alike};
use crate::toml_file::{TomlFile, kind};

/// What may be said of an agent.
const MEMBERS: [&str; 7] = [
    "title", "command", "env", "install", "needs", "sign_in", "homepage",
];

/// Reads the file over what is known.
pub(super) fn read(
    path: &Path,
    must_exist: bool,
    agents: &mut BTreeMap<String, Agent>,
    problems: &mut Vec<Problem>,
) {
    let file = match TomlFile::read(path, limits::USER_FILE) {
        Ok(Some(file)) => file,
        Ok(None) if !must_exist => return,
        Ok(None) => {
            return problems.push(Problem::Unreadable {
                path: path.to_owned(),
                source: std::io::ErrorKind::NotFound.into(),
            });
        }
        Err(problem) => return problems.push(problem),
    };
    let root = match file.parse() {
        Ok(root) => root,
        Err(problem) => return problems.push(problem),
    };
    let mut reader = Reader {
        file: &file,
        problems,
    };
    for (key, value) in &root {
        if key.get_ref() != "agents" {
            reader.unknown(key.get_ref(), key, &["agents"]);
            continue;
        }
        let Some(table) = reader.table("agents", value) else {
            continue;
        };
        for (name, value) in table {
            let known = agents.remove(name.get_ref().as_ref());
            if let Some(agent) = reader.agent(name, value, known) {
                agents.insert(agent.name.clone(), agent);
            }
        }
    }
}

struct Reader<'f, 'p> {
    file: &'f TomlFile,
    problems: &'p mut Vec<Problem>,
}

impl Reader<'_, '_> {
    /// One agent, over what is known of it. Nothing: something in it is wrong, and told.
    fn agent(
        &mut self,
        name: &Spanned<impl AsRef<str>>,
        value: &Spanned<DeValue<'_>>,
        known: Option<Agent>,
    ) -> Option<Agent> {
        let before = self.problems.len();
        let at = self.file.at(name.span());
        let name = name.get_ref().as_ref();
        let key = format!("agents.{name}");
        if !is_name(name) {
            self.wrong(at.clone(), "agents", NAME_RULE, format!("`{name}`"));
        }
        let table = self.table(&key, value)?;
        let mut said = Said::default();
        for (member, value) in table {
            let path = format!("{key}.{}", member.get_ref());
            match member.get_ref().as_ref() {
                "title" => said.title = self.text(&path, value),
                "install" => said.install = self.text(&path, value),
                "needs" => said.needs = self.text(&path, value),
                "sign_in" => said.sign_in = self.text(&path, value),
                "homepage" => said.homepage = self.text(&path, value),
                "command" => said.command = self.command(&path, value),
                "env" => said.env = self.env(&path, value),
                _ => self.unknown(&path, member, &MEMBERS),
            }
        }
        if self.problems.len() > before {
            return None;
        }
        match (known, said.command.take()) {
            (None, None) => {
                self.problems.push(Problem::Missing {
                    at,
                    key: format!("{key}.command"),
                    why: "no other source says how this agent is started",
                });
                None
            }
            (Some(known), None) => Some(said.over(known, self.source())),
            (known, Some(launch)) => Some(said.over(replaced(name, launch, known), self.source())),
        }
    }

    fn source(&self) -> Source {
        Source::User(self.file.path().into())
    }

    fn table<'v, 'i>(&mut self, key: &str, value: &'v Spanned<DeValue<'i>>) -> Option<&'v DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong_type(key, "a table", value);
        }
        table
    }

    fn text(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong_type(key, "a string", value);
        }
        text
    }

    fn command(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Launch> {
        const WANTED: &str = "a list of strings: the program and its arguments";
        let Some(list) = value.get_ref().as_array() else {
            self.wrong_type(key, WANTED, value);
            return None;
        };
        let mut words = Vec::with_capacity(list.len());
        for word in list.iter() {
            let Some(text) = word.get_ref().as_str() else {
                self.wrong(
                    self.file.at(word.span()),
                    key,
                    WANTED,
                    format!("a list with {} in it", kind(word.get_ref())),
                );
                return None;
            };
            words.push(text.to_owned());
        }
        let launch = Launch::from_words(words);
        if launch.is_none() {
            let at = self.file.at(value.span());
            self.wrong(at, key, WANTED, "without a program".to_owned());
        }
        launch
    }

    fn env(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Vec<(String, String)> {
        let mut env = Vec::new();
        for (name, value) in self.table(key, value).into_iter().flatten() {
            let path = format!("{key}.{}", name.get_ref());
            if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
                let at = self.file.at(name.span());
                self.wrong(at, &path, "named as a variable can be", "not".to_owned());
            } else if let Some(text) = self.text(&path, value) {
                env.push((name.get_ref().as_ref().to_owned(), text));
            }
        }
        env
    }

    fn unknown<T>(&mut self, path: &str, key: &Spanned<T>, known: &[&str])
    where
        T: AsRef<str>,
    {
        let nearest = alike(key.get_ref().as_ref(), known.iter().copied());
        self.problems.push(Problem::UnknownKey {
            at: self.file.at(key.span()),
            key: path.to_owned(),
            nearest: nearest.first().map(|&word| word.to_owned()),
        });
    }

    fn wrong_type(&mut self, key: &str, wanted: &str, value: &Spanned<DeValue<'_>>) {
        let at = self.file.at(value.span());
        self.wrong(at, key, wanted, kind(value.get_ref()).to_owned());
    }

    fn wrong(&mut self, at: Origin, key: &str, wanted: &str, found: String) {
        self.problems.push(Problem::WrongValue {
            at,
            key: key.to_owned(),
            wanted: wanted.into(),
            found: found.into(),
            nearest: None,
        });
    }
}

/// What the file says of one agent.
#[derive(Default)]
struct Said {
    title: Option<String>,
    command: Option<Launch>,
    env: Vec<(String, String)>,
    install: Option<String>,
    needs: Option<String>,
    sign_in: Option<String>,
    homepage: Option<String>,
}

impl Said {
    fn over(self, mut agent: Agent, source: Source) -> Agent {
        for (name, value) in self.env {
            if let Some(packages) = &mut agent.packages {
                packages.launch.set_env(&name, &value);
            }
            agent.launch.set_env(name, value);
        }
        Agent {
            title: self.title.unwrap_or(agent.title),
            install: self.install.or(agent.install),
            needs: self.needs.or(agent.needs),
            sign_in: self.sign_in.or(agent.sign_in),
            homepage: self.homepage.or(agent.homepage),
            source,
            ..agent
        }
    }
}

/// An agent with a command of the user's. What is known of the packages of the old one says nothing of the new one.
fn replaced(name: &str, launch: Launch, known: Option<Agent>) -> Agent {
    let known = known.as_ref();
    Agent {
        name: name.to_owned(),
        title: known.map_or_else(|| name.to_owned(), |k| k.title.clone()),
        description: known.and_then(|k| k.description.clone()),
        version: None,
        aliases: known.map(|k| k.aliases.clone()).unwrap_or_default(),
        launch,
        packages: None,
        requires: Vec::new(),
        needs: None,
        install: None,
        sign_in: known.and_then(|k| k.sign_in.clone()),
        homepage: known.and_then(|k| k.homepage.clone()),
        // `over` says who is behind it.
        source: Source::BuiltIn,
    }
}

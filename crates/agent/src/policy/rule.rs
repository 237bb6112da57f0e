//! One rule: what it matches, and how it is read from a configuration.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::command::CommandPattern;
use super::seen::{Named, Seen};

/// The kind of tools that run commands.
const EXECUTE: &str = "execute";

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decide {
    /// Allowed.
    Allow,
    /// Refused.
    Deny,
    /// A person decides.
    Ask,
}

/// A rule as it stands in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    decide: Decide,
}

/// What matches a kind of tool, a path and a command, and what is decided then. What it does not name may be anything.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "RuleText", into = "RuleText")]
pub struct Rule {
    text: RuleText,
    path: Option<PathPattern>,
    command: Option<CommandPattern>,
}

/// Why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuleError {
    #[error("it names no `kind`, `path` or `command` and would match everything. Say that with `mode`.")]
    Everything,
    #[error("`{0}` must not be empty.")]
    Empty(&'static str),
    #[error("`{0}` is no pattern of paths: {1}.")]
    Glob(String, globset::ErrorKind),
    #[error("the path `{0}` begins with `~`, which only a shell understands. Write the whole path.")]
    Home(String),
    #[error("the path `{0}` holds `..`. Write the path it leads to.")]
    Dots(String),
    #[error("`{0}` is too long a pattern of commands.")]
    Long(String),
}

impl From<Rule> for RuleText {
    fn from(rule: Rule) -> Self {
        rule.text
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        // The rest is made from it.
        self.text == other.text
    }
}

impl TryFrom<RuleText> for Rule {
    type Error = RuleError;

    fn try_from(text: RuleText) -> Result<Self, RuleError> {
        let members = [
            ("kind", &text.kind),
            ("path", &text.path),
            ("command", &text.command),
        ];
        if members.iter().all(|(_, value)| value.is_none()) {
            return Err(RuleError::Everything);
        }
        let blank = |value: &Option<String>| value.as_ref().is_some_and(|text| text.trim().is_empty());
        if let Some((name, _)) = members.iter().find(|(_, value)| blank(value)) {
            return Err(RuleError::Empty(name));
        }
        let allows = text.decide == Decide::Allow;
        let path = text
            .path
            .as_deref()
            .map(|path| PathPattern::new(path, allows))
            .transpose()?;
        let command = text
            .command
            .as_deref()
            .map(|command| CommandPattern::new(command).map_err(|_| RuleError::Long(command.to_owned())));
        let command = command.transpose()?;
        Ok(Self { text, path, command })
    }
}

impl Rule {
    /// What it decides.
    pub fn decide(&self) -> Decide {
        self.text.decide
    }

    /// Whether it is for this. The module's first page says why to allow is another thing than to refuse.
    pub(super) fn matches(&self, seen: &Seen<'_>) -> bool {
        let kind = self.text.kind.as_deref();
        if kind.is_some_and(|kind| seen.kind != Some(kind)) {
            return false;
        }
        match self.text.decide {
            Decide::Allow => self.covers(seen),
            Decide::Deny | Decide::Ask => self.touches(seen),
        }
    }

    /// Whether everything that is named matches.
    fn covers(&self, seen: &Seen<'_>) -> bool {
        let command = match &self.command {
            Some(pattern) => {
                !seen.commands.is_empty() && seen.commands.iter().all(|line| pattern.covers(line))
            }
            // What runs a command can do anything: it is allowed by its command, or by the kind that says so.
            None => seen.commands.is_empty() || self.text.kind.as_deref() == Some(EXECUTE),
        };
        let path = match &self.path {
            Some(pattern) => !seen.paths.is_empty() && seen.paths.iter().all(|path| pattern.covers(path)),
            // The same line does something else in another folder.
            None if self.command.is_some() => seen.paths.iter().all(|path| path.inside.is_some()),
            None => true,
        };
        // What was too large to be shown may name anything.
        let whole = !seen.hidden || (self.path.is_none() && self.command.is_none());
        command && path && whole
    }

    /// Whether it might refuse this if more of it were to be seen.
    pub(super) fn is_in_doubt(&self, seen: &Seen<'_>) -> bool {
        let of_kind = self
            .text
            .kind
            .as_deref()
            .is_none_or(|kind| seen.kind == Some(kind));
        let looks = self.path.is_some() || self.command.is_some();
        seen.hidden && looks && of_kind && self.text.decide != Decide::Allow
    }

    /// Whether something that is named matches, or might be meant.
    fn touches(&self, seen: &Seen<'_>) -> bool {
        let lines = || seen.commands.iter().map(String::as_str).chain(seen.title);
        let command = |pattern: &CommandPattern| lines().any(|line| pattern.touches(line));
        let path = |pattern: &PathPattern| {
            let mut paths = seen.paths.iter().chain(&seen.mentioned);
            paths.any(|path| pattern.touches(path))
        };
        self.command.as_ref().is_none_or(command) && self.path.as_ref().is_none_or(path)
    }
}

/// A pattern of paths: relative to the session's folder, or absolute.
#[derive(Debug, Clone)]
struct PathPattern {
    glob: GlobMatcher,
    absolute: bool,
}

impl PathPattern {
    fn new(text: &str, allows: bool) -> Result<Self, RuleError> {
        if text.starts_with('~') {
            return Err(RuleError::Home(text.to_owned()));
        }
        if text.split('/').any(|part| part == "..") {
            return Err(RuleError::Dots(text.to_owned()));
        }
        let plain = text.trim_start_matches("./");
        let glob = GlobBuilder::new(plain)
            .literal_separator(true)
            // Many file systems do not tell `.env` from `.ENV`.
            .case_insensitive(!allows)
            .build()
            .map_err(|error| RuleError::Glob(text.to_owned(), error.kind().clone()))?;
        Ok(Self {
            glob: glob.compile_matcher(),
            absolute: std::path::Path::new(plain).is_absolute(),
        })
    }

    fn covers(&self, path: &Named) -> bool {
        match self.absolute {
            true => path.is_exact() && self.glob.is_match(&path.absolute),
            false => path
                .inside
                .as_ref()
                .is_some_and(|inside| self.glob.is_match(inside)),
        }
    }

    fn touches(&self, path: &Named) -> bool {
        let spelled = [Some(&path.absolute), path.relative.as_ref(), path.inside.as_ref()];
        spelled.into_iter().flatten().any(|path| self.glob.is_match(path))
    }
}

/// Reads the rules of a configuration, so that an error names the rule it is in.
pub(super) fn rules<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Rule>, D::Error> {
    struct Rules;

    impl<'de> Visitor<'de> for Rules {
        type Value = Vec<Rule>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of rules")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut rules = Vec::new();
            loop {
                match list.next_element() {
                    Ok(Some(rule)) => rules.push(rule),
                    Ok(None) => return Ok(rules),
                    Err(error) => {
                        let error = error.to_string();
                        let number = rules.len() + 1;
                        return Err(de::Error::custom(format!(
                            "rule {number} of the permissions: {}",
                            error.trim_end()
                        )));
                    }
                }
            }
        }
    }

    from.deserialize_seq(Rules)
}

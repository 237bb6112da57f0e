//! Reading one setting after another out of the layers, and telling what is left.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{KEYS, Key, PERMISSIONS};
use super::value::{Context, Value};
use super::{Layers, Setting, limits};
use crate::origin::{Origin, Problem, alike};
use crate::toml_file::{TomlFile, kind};

pub(super) struct Reader<'a> {
    layers: &'a Layers,
    file: Option<&'a TomlFile>,
    /// What the file says, by whole names, that nobody has taken yet.
    said: BTreeMap<String, (Range<usize>, &'a Spanned<DeValue<'a>>)>,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(layers: &'a Layers, file: Option<(&'a TomlFile, &'a DeTable<'a>)>) -> Self {
        let mut reader = Self {
            layers,
            file: file.map(|(file, _)| file),
            said: BTreeMap::new(),
            problems: Vec::new(),
        };
        if let Some((_, root)) = file {
            reader.spread("", root);
        }
        reader
    }

    /// Puts what a table says under whole names. A table that is no table of settings is left as one value.
    fn spread(&mut self, above: &str, table: &'a DeTable<'a>) {
        for (key, value) in table {
            let name = match above {
                "" => key.get_ref().as_ref().to_owned(),
                above => format!("{above}.{}", key.get_ref()),
            };
            let prefix = format!("{name}.");
            let is_table = KEYS.iter().any(|known| known.name.starts_with(&prefix));
            match value.get_ref().as_table() {
                Some(below) if is_table => self.spread(&name, below),
                _ if name == PERMISSIONS && value.get_ref().is_table() => {}
                None if is_table || name == PERMISSIONS => {
                    let found = kind(value.get_ref()).to_owned();
                    self.wrong(self.at(value.span()), &name, "a table".to_owned(), found, None);
                }
                _ => {
                    self.said.insert(name, (key.span(), value));
                }
            }
        }
    }

    /// A setting that always has a value.
    pub(super) fn setting<T: Value>(&mut self, key: &'static Key, default: T) -> Setting<T> {
        let (value, origin) = self.find(key).unwrap_or((default, Origin::Default));
        Setting { value, origin, key }
    }

    /// A setting that may have none.
    pub(super) fn optional<T: Value>(&mut self, key: &'static Key, default: Option<T>) -> Setting<Option<T>> {
        let (value, origin) = match self.find(key) {
            Some((value, origin)) => (Some(value), origin),
            None => (default, Origin::Default),
        };
        Setting { value, origin, key }
    }

    /// Every fault that was found, in the order of the file's lines, then those of variables and flags.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        for (name, (span, _)) in std::mem::take(&mut self.said) {
            self.problems.push(Problem::UnknownKey {
                at: self.at(span),
                nearest: nearest_key(&name),
                key: name,
            });
        }
        for flag in &self.layers.flags {
            if !KEYS.iter().any(|key| key.name == flag.key) {
                self.problems.push(Problem::UnknownKey {
                    at: Origin::Flag(flag.flag.clone()),
                    nearest: nearest_key(&flag.key),
                    key: flag.key.clone(),
                });
            }
        }
        self.problems.sort_by_key(|problem| match problem {
            Problem::UnknownKey { at, .. } | Problem::WrongValue { at, .. } => match at {
                Origin::File { line, .. } => *line,
                _ => usize::MAX,
            },
            _ => 0,
        });
        self.problems
    }

    /// What the highest layer says. A fault in a lower one is told all the same.
    fn find<T: Value>(&mut self, key: &'static Key) -> Option<(T, Origin)> {
        let mut found = None;
        if let (Some((_, value)), Some(file)) = (self.said.remove(key.name), self.file) {
            let context = Context {
                folder: file.path().parent(),
                home: self.layers.variables.get("HOME").map(Path::new),
            };
            let read = T::from_toml(value.get_ref(), &context);
            let at = self.at(value.span());
            let what = match value.get_ref() {
                DeValue::String(text) if T::words().is_empty() => format!("a string: `{text}`"),
                DeValue::String(text) => format!("`{text}`"),
                DeValue::Integer(number) => format!("`{number}`"),
                DeValue::Float(number) => format!("`{number}`"),
                other => kind(other).to_owned(),
            };
            found = self.checked(key, read, at, what).or(found);
        }
        let context = Context {
            folder: None,
            home: None,
        };
        let variable = key.variable();
        if let Some(value) = self.layers.variables.get(&variable).filter(|v| !v.is_empty()) {
            let read = value.to_str().and_then(|text| T::from_text(text, &context));
            let what = format!("`{}`", value.to_string_lossy());
            found = self
                .checked(key, read, Origin::Variable(variable), what)
                .or(found);
        }
        // Of a flag that is said twice, the last one counts.
        for flag in self.layers.flags.iter().filter(|flag| flag.key == key.name) {
            let read = T::from_text(&flag.value, &context);
            let what = format!("`{}`", flag.value);
            found = self
                .checked(key, read, Origin::Flag(flag.flag.clone()), what)
                .or(found);
        }
        found
    }

    fn checked<T: Value>(
        &mut self,
        key: &Key,
        read: Option<T>,
        at: Origin,
        found: String,
    ) -> Option<(T, Origin)> {
        if let Some(value) = read {
            return Some((value, at));
        }
        let word = found.trim_matches('`');
        let nearest = alike(word, T::words().iter().copied());
        let nearest = nearest.first().map(|&word| word.to_owned());
        self.wrong(at, key.name, T::wanted(), found, nearest);
        None
    }

    fn wrong(&mut self, at: Origin, key: &str, wanted: String, mut found: String, nearest: Option<String>) {
        if let Some((end, _)) = found.char_indices().nth(limits::FOUND) {
            found.truncate(end);
            found.push('…');
        }
        self.problems.push(Problem::WrongValue {
            at,
            key: key.to_owned(),
            wanted: wanted.into(),
            found: found.into(),
            nearest,
        });
    }

    /// A line of the file.
    fn at(&self, span: Range<usize>) -> Origin {
        self.file.map_or(Origin::Default, |file| file.at(span))
    }
}

/// The key most like an unknown one. One that stands in the wrong table is most like that of the same last word.
fn nearest_key(name: &str) -> Option<String> {
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let word = name.rsplit('.').next().unwrap_or(name);
    let same = KEYS.iter().find(|key| last(key.name) == word);
    let found = same.map(|key| key.name).or_else(|| {
        let tables = KEYS
            .iter()
            .filter_map(|key| key.name.split_once('.'))
            .map(|(t, _)| t);
        let names = KEYS.iter().map(|key| key.name);
        alike(name, names.chain(tables).chain([PERMISSIONS]))
            .first()
            .copied()
    });
    found.map(str::to_owned)
}

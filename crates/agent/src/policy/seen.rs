//! What a permission shows of its tool: paths and commands, in the words of many agents.
//!
//! The protocol says of a tool's input only that it is JSON. Claude names a file `file_path`, opencode `filepath`, cline
//! `files[].path`; codex puts changes under the paths themselves and a command as a list with the shell before it. So a
//! member is read by the last word of its name. What is named in none of these ways is not seen, which is why a rule that
//! allows by path or command wants to have seen one, and why an input that was cut counts as [`Seen::hidden`].

use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use tapline_timeline::{Request, ToolItem, limits};

use super::{Asked, command};

/// How deep an input is looked into. What is deeper counts as hidden.
const DEPTH: usize = 16;

/// Last words of members that name a path or several.
const PATHS: [&str; 22] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "cwd",
    "root",
    "roots",
    "workdir",
    "uri",
    "src",
    "dst",
    "destination",
];

/// Last words of members that name a command or several.
const COMMANDS: [&str; 5] = ["command", "commands", "cmd", "cmds", "script"];

/// Members that hold the arguments of a command beside it.
const ARGUMENTS: [&str; 2] = ["args", "arguments"];

/// Most words that are looked at as paths because something may be refused by them.
const MENTIONED: usize = 4096;

/// Members that say where relative paths begin.
const BASES: [&str; 4] = ["cwd", "workdir", "working_directory", "workingDirectory"];

/// Members whose own members are named after paths.
const BY_PATH: [&str; 2] = ["changes", "files"];

/// What a permission shows.
pub(super) struct Seen<'a> {
    pub kind: Option<&'a str>,
    pub paths: Vec<Named>,
    pub commands: Vec<String>,
    /// Words that may be paths: those of commands, and all others of a tool that names no path. Good enough to refuse by.
    pub mentioned: Vec<Named>,
    /// The headline of a tool that may run commands and shows none, likewise.
    pub title: Option<&'a str>,
    /// There is more than can be read here.
    pub hidden: bool,
    /// A change of a file is shown.
    changes: bool,
    /// There is a string that might be a place outside, whatever its member is called.
    strays: bool,
    /// There is any input at all.
    input: bool,
}

/// A path that was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// From the session's folder, where it never leaves it.
    pub inside: Option<PathBuf>,
    /// From the session's folder, where it ends in it.
    pub relative: Option<PathBuf>,
    /// From the root. Written as it stands if it is nothing that can be followed by spelling alone.
    pub absolute: PathBuf,
    /// It holds no `..`, variable or the like.
    exact: bool,
}

impl Named {
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Reads a path. Relative ones begin at `base`, which is the session's folder or inside it.
    fn new(text: &str, base: &Path, cwd: &Path) -> Self {
        let path = match text.strip_prefix("file://") {
            // Where a part of it stands for another character, it is not read.
            Some(path) if path.starts_with('/') && !path.contains('%') => path,
            _ => text,
        };
        // What a shell or a search expands is no path yet.
        let odd = path.starts_with(['~', '$'])
            || path.contains("://")
            || path.contains(['\0', '\n', '\r'])
            || (path.contains('{') && path.contains(','));
        if odd {
            return Self {
                inside: None,
                relative: None,
                absolute: path.into(),
                exact: false,
            };
        }
        let path = Path::new(path);
        let whole = base.join(path);
        let absolute = normal(&whole);
        let inside = match path.is_absolute() {
            true => path
                .strip_prefix(cwd)
                .ok()
                .and_then(|rest| descend(Path::new(""), rest)),
            false => base.strip_prefix(cwd).ok().and_then(|base| descend(base, path)),
        };
        Self {
            inside,
            relative: absolute.strip_prefix(cwd).ok().map(Path::to_owned),
            exact: !whole.components().any(|part| part == Component::ParentDir),
            absolute,
        }
    }
}

/// Follows `path` down from `base`; nothing where it leaves the folder that `base` begins in, even if it comes back.
fn descend(base: &Path, path: &Path) -> Option<PathBuf> {
    let mut at = base.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => at.push(name),
            Component::CurDir => {}
            Component::ParentDir if at.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(at)
}

/// The path without `.` and `..`, by spelling alone.
fn normal(path: &Path) -> PathBuf {
    let mut at = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            // The root's parent is the root.
            Component::ParentDir => drop(at.pop()),
            other => at.push(other),
        }
    }
    at
}

impl<'a> Seen<'a> {
    pub(super) fn of(asked: Asked<'a>) -> Self {
        let Asked {
            request,
            tool_kind,
            locations,
            cwd,
        } = asked;
        let mut seen = Self {
            kind: tool_kind,
            paths: Vec::new(),
            commands: Vec::new(),
            mentioned: Vec::new(),
            title: None,
            // More items are not kept than these.
            hidden: request.content.len() >= limits::ITEMS,
            changes: false,
            strays: false,
            input: false,
        };
        let cwd = normal(cwd);
        for location in locations {
            seen.paths.push(Named::new(&location.path, &cwd, &cwd));
        }
        for item in &request.content {
            if let ToolItem::Diff(diff) = item {
                seen.changes = true;
                let paths = std::iter::once(&diff.path).chain(&diff.old_path);
                seen.paths.extend(paths.map(|path| Named::new(path, &cwd, &cwd)));
            }
        }
        seen.input(request, &cwd);
        if seen.commands.is_empty() && matches!(tool_kind, None | Some("execute")) {
            seen.title = request.title.as_deref();
        }
        let mut mentioned = Vec::new();
        for text in seen.commands.iter().map(String::as_str).chain(seen.title) {
            mention(text, &mut mentioned);
        }
        if let (true, Some(input)) = (seen.paths.is_empty(), &request.input) {
            mention(input.as_str(), &mut mentioned);
        }
        seen.mentioned = mentioned
            .iter()
            .map(|word| Named::new(word, &cwd, &cwd))
            .collect();
        seen
    }

    /// Whether it is nothing but looking at files inside the session's folder.
    ///
    /// The kind alone does not say so: codex calls a command `read` that it takes for one. A tool that reads must name what
    /// it reads; one that searches may begin in the session's folder without saying so.
    pub(super) fn only_reads(&self) -> bool {
        let named = match self.kind {
            Some("read") => !self.paths.is_empty(),
            Some("search") => self.input || !self.paths.is_empty(),
            _ => false,
        };
        named
            && !self.hidden
            && !self.changes
            && !self.strays
            && self.commands.is_empty()
            && self.paths.iter().all(|path| path.inside.is_some())
    }

    fn input(&mut self, request: &Request, cwd: &Path) {
        let Some(input) = &request.input else {
            return;
        };
        match serde_json::from_str(input.as_str()) {
            Ok(Value::Object(members)) => {
                self.input = !members.is_empty();
                // Where the input has a folder of its own, its relative paths begin there.
                let base = BASES.iter().find_map(|name| members.get(*name)?.as_str());
                let base = base.map(|base| Named::new(base, cwd, cwd));
                let inside = base.as_ref().and_then(|base| base.inside.as_ref());
                let base = match (&base, inside) {
                    (None, _) => cwd.to_owned(),
                    (Some(_), Some(inside)) => cwd.join(inside),
                    (Some(base), None) => base.absolute.clone(),
                };
                let walk = Walk { base: &base, cwd };
                self.object(&members, &walk, DEPTH);
            }
            Ok(Value::Null) => {}
            // A text is what is left of an input that was too large, and of agents that send one.
            Ok(_) | Err(_) => self.hidden = true,
        }
    }

    fn object(&mut self, members: &serde_json::Map<String, Value>, walk: &Walk<'_>, depth: usize) {
        for (name, value) in members {
            let last = last_word(name);
            if COMMANDS.contains(&last.as_str()) {
                let arguments = ARGUMENTS.iter().find_map(|name| members.get(*name));
                self.command(value, last.ends_with('s'), arguments);
            }
            if BY_PATH.contains(&name.as_str())
                && let Value::Object(by_path) = value
            {
                let paths = by_path.keys().map(|path| walk.path(path));
                self.paths.extend(paths);
            }
            self.value(value, PATHS.contains(&last.as_str()), walk, depth);
        }
    }

    fn value(&mut self, value: &Value, is_path: bool, walk: &Walk<'_>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            self.hidden = true;
            return;
        };
        match value {
            Value::String(text) if is_path => self.paths.push(walk.path(text)),
            Value::String(text) => self.strays |= might_lead_outside(text),
            Value::Array(items) => {
                for item in items {
                    self.value(item, is_path, walk, depth);
                }
            }
            Value::Object(members) => self.object(members, walk, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// One command, as a line or in words; or `several`, each a line.
    fn command(&mut self, value: &Value, several: bool, arguments: Option<&Value>) {
        let words = |list: &Vec<Value>| -> Option<Vec<String>> {
            list.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let joined = |words: &[String]| command::line(&words.iter().map(String::as_str).collect::<Vec<_>>());
        match (value, arguments) {
            (Value::String(line), None | Some(Value::Null)) => self.commands.push(line.clone()),
            (Value::String(program), Some(Value::String(rest))) => {
                self.commands.push(format!("{program} {rest}"));
            }
            (Value::String(program), Some(Value::Array(rest))) => match words(rest) {
                Some(rest) if rest.is_empty() => self.commands.push(program.clone()),
                Some(rest) => {
                    let all: Vec<_> = std::iter::once(program.clone()).chain(rest).collect();
                    self.commands.push(joined(&all));
                }
                None => self.hidden = true,
            },
            (Value::Array(list), _) => match words(list) {
                Some(lines) if several || lines.len() < 2 => self.commands.extend(lines),
                Some(words) => self.commands.push(joined(&words)),
                // Objects are looked into like all others.
                None => self.hidden |= !list.iter().all(Value::is_object),
            },
            (Value::String(_), Some(_)) => self.hidden = true,
            // Whether there is a command, or what is known of one: no command itself.
            (Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_), _) => {}
        }
    }
}

/// Where paths begin.
struct Walk<'a> {
    base: &'a Path,
    cwd: &'a Path,
}

impl Walk<'_> {
    fn path(&self, text: &str) -> Named {
        Named::new(text, self.base, self.cwd)
    }
}

/// Whether a string may name a place outside, alone or among others (`{src,/etc}/**`).
fn might_lead_outside(text: &str) -> bool {
    let between = |c: char| c.is_whitespace() || "{},()|;:=\"'`".contains(c);
    text.contains("://")
        || text
            .split(['/', '\\'])
            .any(|part| part.trim_matches(between) == "..")
        || text.split(between).any(|part| part.starts_with(['/', '~', '$']))
        || (cfg!(windows) && text.contains([':', '\\']))
}

/// Adds the words of a text that may be paths.
fn mention<'t>(text: &'t str, words: &mut Vec<&'t str>) {
    let between = |c: char| c.is_whitespace() || "{},()|;&<>:=\"'`\\".contains(c);
    let some = text.split(between).filter(|word| !word.is_empty());
    words.extend(some.take(MENTIONED));
}

/// The last word of `file_path`, `filePath`, `file-path` or `FILE_PATH2`, in small letters.
fn last_word(name: &str) -> String {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let small = |c: char| c.is_lowercase();
    let start = name.char_indices().rev().find_map(|(at, c)| {
        let next = at + c.len_utf8();
        match c {
            '_' | '-' | '.' | ' ' => Some(next),
            // The hump of `filePath`, but not each letter of `PATH`.
            c if c.is_uppercase() && name[next..].starts_with(small) => Some(at),
            _ => None,
        }
    });
    name[start.unwrap_or(0)..].to_lowercase()
}

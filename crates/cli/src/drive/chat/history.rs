//! What was typed before, over all chats: a file beside the journal that its owner alone can read.
//!
//! One line is one entry, as a JSON string, so that an entry of several lines stays one. An entry in which the masking finds a
//! secret is remembered in this chat and not written. A file that cannot be read or written costs the history, never the chat.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tapline_redact::Rules;

/// Entries that are kept.
const ENTRIES: usize = 1000;
/// Longest entry that is written, in bytes.
const ENTRY_BYTES: usize = 16 << 10;
/// As much of the file as is read.
const FILE_BYTES: u64 = 8 << 20;

/// The file's name in the journal's home.
pub(super) const FILE: &str = "chat-history";

/// What was typed, and where a person is in it.
pub(super) struct History {
    path: PathBuf,
    rules: Rules,
    entries: Vec<String>,
    /// The entry that is looked at, counted from the newest; and the draft that waits for the way back.
    at: Option<(usize, String)>,
}

impl History {
    /// The history of this home.
    pub(super) fn open(home: &Path, rules: Rules) -> Self {
        let path = home.join(FILE);
        let (entries, lines) = read(&path);
        let history = Self {
            path,
            rules,
            entries,
            at: None,
        };
        if lines > 2 * ENTRIES {
            // What cannot be shortened now is shortened another time.
            let _ = history.shorten();
        }
        history
    }

    /// Remembers what was typed.
    pub(super) fn add(&mut self, text: &str) {
        self.at = None;
        let text = text.trim();
        if text.is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return;
        }
        if text.len() <= ENTRY_BYTES && self.rules.mask(text) == text {
            let _ = append(&self.path, text);
        }
        self.entries.push(text.to_owned());
        if self.entries.len() > ENTRIES {
            self.entries.remove(0);
        }
    }

    /// The entry before; `draft` is what stands there now.
    pub(super) fn older(&mut self, draft: &str) -> Option<&str> {
        let (next, kept) = match self.at.take() {
            None => (0, draft.to_owned()),
            Some((at, kept)) => (at + 1, kept),
        };
        let last = self.entries.len().checked_sub(1)?;
        let next = next.min(last);
        self.at = Some((next, kept));
        self.entries.get(last - next).map(String::as_str)
    }

    /// The entry after, in the end the draft.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, kept) = self.at.take()?;
        let Some(next) = at.checked_sub(1) else {
            return Some(kept);
        };
        self.at = Some((next, kept));
        self.entries.get(self.entries.len() - 1 - next).cloned()
    }

    /// The newest entry with these words, `skip` of them passed over.
    pub(super) fn find(&self, words: &str, skip: usize) -> Option<&str> {
        let words = words.to_lowercase();
        let mut found: Vec<&String> = Vec::new();
        for entry in self.entries.iter().rev() {
            if entry.to_lowercase().contains(&words) && !found.contains(&entry) {
                found.push(entry);
                if found.len() > skip {
                    break;
                }
            }
        }
        found.get(skip).map(|entry| entry.as_str())
    }

    /// Writes the file anew with the newest entries alone.
    fn shorten(&self) -> io::Result<()> {
        let fresh = self.path.with_extension(format!("{}", std::process::id()));
        let mut text = String::new();
        for entry in &self.entries {
            text.push_str(&line(entry));
        }
        let written = private(&fresh)?
            .write_all(text.as_bytes())
            .and_then(|()| fs::rename(&fresh, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written
    }
}

fn line(entry: &str) -> String {
    format!("{}\n", serde_json::Value::from(entry))
}

fn private(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

/// One write, so that two chats never mix their lines.
fn append(path: &Path, entry: &str) -> io::Result<()> {
    private(path)?.write_all(line(entry).as_bytes())
}

/// The newest entries, and how many lines there are.
fn read(path: &Path) -> (Vec<String>, usize) {
    let mut text = Vec::new();
    let Ok(file) = fs::File::open(path) else {
        return (Vec::new(), 0);
    };
    if file.take(FILE_BYTES).read_to_end(&mut text).is_err() {
        return (Vec::new(), 0);
    }
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().count();
    let entries = text.lines().skip(lines.saturating_sub(ENTRIES));
    let entries = entries.filter_map(|line| serde_json::from_str(line).ok());
    (entries.collect(), lines)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn open(home: &Path) -> History {
        History::open(home, tapline_recorder::default_rules())
    }

    #[test]
    fn what_was_typed_is_there_in_the_next_chat_and_the_draft_comes_back() {
        let home = tempfile::tempdir().expect("a folder");
        let mut history = open(home.path());
        for entry in ["one", "two\nlines", "two\nlines", " "] {
            history.add(entry);
        }
        let mut history = open(home.path());
        assert_eq!(history.older("draft"), Some("two\nlines"));
        assert_eq!(history.older("two\nlines"), Some("one"));
        assert_eq!(history.older("one"), Some("one"), "the oldest stays");
        assert_eq!(history.newer().as_deref(), Some("two\nlines"));
        assert_eq!(history.newer().as_deref(), Some("draft"));
        assert_eq!(history.newer(), None);
        assert_eq!(history.find("LINES", 0), Some("two\nlines"));
        assert_eq!(history.find("n", 1), Some("one"));
        assert_eq!(history.find("n", 2), None);
    }

    #[test]
    fn masked_a_secret_is_never_written_and_the_file_is_its_owners() {
        let home = tempfile::tempdir().expect("a folder");
        let rules = tapline_recorder::default_rules().with_secrets(["correct horse battery"]);
        let mut history = History::open(home.path(), rules);
        history.add("use correct horse battery for it");
        history.add("hello");
        assert_eq!(history.find("horse", 0), Some("use correct horse battery for it"));
        let path = home.path().join(FILE);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "\"hello\"\n");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn bounded_the_file_is_shortened_and_broken_lines_cost_nothing_else() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join(FILE);
        let mut text = "not JSON\n".to_owned();
        for n in 0..=2 * ENTRIES {
            text.push_str(&line(&n.to_string()));
        }
        fs::write(&path, text).expect("it is written");
        let mut history = open(home.path());
        assert_eq!(history.older(""), Some("2000"));
        let lines = fs::read_to_string(&path).expect("it is there").lines().count();
        assert_eq!(lines, ENTRIES);
    }
}

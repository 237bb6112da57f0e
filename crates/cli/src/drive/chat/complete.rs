//! What `Tab` offers: commands at the start of a line, files of the session's folder behind an `@`.

use std::path::Path;

use super::attach::{full, mention, open_mention};

/// Most candidates that are looked at; a folder may hold any number of files.
const CANDIDATES: usize = 500;

/// One thing that could stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// What is put in.
    pub(super) text: String,
    /// What a person reads.
    pub(super) name: String,
    /// What it is for.
    pub(super) about: String,
}

/// What could stand before the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Completion {
    /// So many bytes before the cursor are replaced.
    pub(super) replaces: usize,
    pub(super) candidates: Vec<Candidate>,
}

impl Completion {
    /// What all candidates begin with.
    pub(super) fn common(&self) -> &str {
        let Some((first, rest)) = self.candidates.split_first() else {
            return "";
        };
        let mut end = first.text.len();
        for other in rest {
            let same = first.text.bytes().zip(other.text.bytes());
            end = end.min(same.take_while(|(a, b)| a == b).count());
        }
        while !first.text.is_char_boundary(end) {
            end -= 1;
        }
        &first.text[..end]
    }
}

/// Completes what stands before the cursor. `commands` are names without the slash, and what they do.
pub(super) fn complete<'c>(
    before: &str,
    commands: impl Iterator<Item = (&'c str, &'c str)>,
    cwd: &Path,
) -> Option<Completion> {
    if let Some((at, path)) = open_mention(before) {
        let candidates = files(&path, cwd);
        return (!candidates.is_empty()).then_some(Completion {
            replaces: before.len() - at,
            candidates,
        });
    }
    let typed = before
        .strip_prefix('/')
        .filter(|name| !name.contains(char::is_whitespace))?;
    let mut candidates: Vec<Candidate> = Vec::new();
    for (name, about) in commands.take(CANDIDATES) {
        let text = format!("/{name} ");
        if name.starts_with(typed) && candidates.iter().all(|known| known.text != text) {
            candidates.push(Candidate {
                text,
                name: format!("/{name}"),
                about: about.to_owned(),
            });
        }
    }
    (!candidates.is_empty()).then_some(Completion {
        replaces: before.len(),
        candidates,
    })
}

/// The files whose path begins so.
fn files(path: &str, cwd: &Path) -> Vec<Candidate> {
    let (folder, begins) = match path.rfind('/') {
        Some(at) => path.split_at(at + 1),
        None => ("", path),
    };
    let Ok(list) = std::fs::read_dir(full(folder, cwd)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in list.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if !name.starts_with(begins) || (name.starts_with('.') && !begins.starts_with('.')) {
            continue;
        }
        // A link to a folder is gone into as well.
        let is_folder = entry.path().is_dir();
        let path = format!("{folder}{name}");
        let text = if is_folder {
            let open = mention(&format!("{path}/"));
            open.strip_suffix('"').map(str::to_owned).unwrap_or(open)
        } else {
            format!("{} ", mention(&path))
        };
        found.push(Candidate {
            text,
            name: if is_folder { format!("{name}/") } else { name },
            about: String::new(),
        });
        if found.len() >= CANDIDATES {
            break;
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(before: &str, cwd: &Path) -> Vec<String> {
        let commands = [
            ("help", "ours"),
            ("review", "the agent's"),
            ("reset", ""),
            ("help", "the agent's"),
        ];
        let found = complete(before, commands.into_iter(), cwd);
        found.map_or_else(Vec::new, |found| {
            found.candidates.into_iter().map(|one| one.text).collect()
        })
    }

    #[test]
    fn commands_are_completed_at_the_start_alone() {
        let nowhere = Path::new("/nonexistent");
        assert_eq!(texts("/re", nowhere), ["/review ", "/reset "]);
        assert_eq!(texts("/h", nowhere), ["/help "], "ours comes first and once");
        for before in ["say /re", "/review x", "re", ""] {
            assert_eq!(texts(before, nowhere), [""; 0], "{before}");
        }
        let completion = complete("/r", [("review", ""), ("reset", "")].into_iter(), nowhere);
        assert_eq!(completion.expect("two").common(), "/re");
    }

    #[test]
    fn files_are_completed_behind_an_at() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["main.rs", "man page.md", ".hidden"] {
            std::fs::write(folder.path().join(name), "").expect("it is written");
        }
        std::fs::create_dir_all(folder.path().join("my src/deep")).expect("a folder");
        let texts = |before| texts(before, folder.path());
        assert_eq!(texts("see @ma"), ["@main.rs ", "@\"man page.md\" "]);
        assert_eq!(texts("@my"), ["@\"my src/"]);
        assert_eq!(texts("@\"my src/"), ["@\"my src/deep/"]);
        assert_eq!(texts("@.h"), ["@.hidden "]);
        assert_eq!(texts("@nothing"), [""; 0]);
        assert!(!texts("@").iter().any(|text| text.contains("hidden")));
    }
}

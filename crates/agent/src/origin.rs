//! Where a setting came from, and what is wrong with one.
//!
//! The configuration and the agent catalogue read files that a person wrote. Whoever reads a message about one must be
//! able to go straight to the line, so every value and every [`Problem`] carries its [`Origin`].

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is what holds where nobody said anything.
    Default,
    /// A line of a file.
    File {
        /// The file.
        path: Arc<Path>,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Variable(String),
    /// A flag of the command.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Variable(name) => write!(f, "variable {name}"),
            Origin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// What is wrong with a setting, or with the file that holds it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("{} cannot be read: {}{}", path.display(), reason(source), advice(source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is longer than any that a person would write.
    #[error("{} is longer than {limit} bytes; nothing of it was read", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The file is not in its language at all.
    #[error("{at}: this is no {language}: {what}")]
    Syntax {
        /// Where the reader stopped.
        at: Origin,
        /// `TOML` or `JSON`.
        language: &'static str,
        /// What the reader said.
        what: String,
    },
    /// A key that means nothing here.
    #[error("{at}: `{key}` is not known{}", hint(nearest.as_deref(), "; remove it"))]
    UnknownKey {
        /// Where it stands.
        at: Origin,
        /// The key, with the tables it is in.
        key: String,
        /// The known key that is most like it.
        nearest: Option<String>,
    },
    /// A value of the wrong type, or none of those allowed.
    #[error("{at}: `{key}` must be {wanted}, but is {found}{}", hint(nearest.as_deref(), ""))]
    WrongValue {
        /// Where it stands.
        at: Origin,
        /// The key, with the tables it is in.
        key: String,
        /// What it may be.
        wanted: Box<str>,
        /// What it is.
        found: Box<str>,
        /// The allowed word that is most like it.
        nearest: Option<String>,
    },
    /// Something that has to be said is not.
    #[error("{at}: `{key}` is missing: {why}")]
    Missing {
        /// Where it would stand.
        at: Origin,
        /// The key, with the tables it is in.
        key: String,
        /// What it is needed for.
        why: &'static str,
    },
    /// An entry of a registry that cannot be used. The others are.
    #[error("{}: {entry} cannot be used: {what}", path.display())]
    Entry {
        /// The registry's file.
        path: PathBuf,
        /// Which entry, by its id or its number.
        entry: String,
        /// Why not.
        what: String,
    },
}

impl Problem {
    /// Whether nothing is lost but one entry of a registry.
    pub fn is_minor(&self) -> bool {
        matches!(self, Problem::Entry { .. })
    }
}

/// Why a file cannot be read.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        _ => error.to_string(),
    }
}

/// What to do about a file that cannot be read.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; make it, or take its name out of the configuration",
        io::ErrorKind::PermissionDenied => "; check who may read it",
        _ => "",
    }
}

fn hint(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(
        || otherwise.to_owned(),
        |word| format!("; did you mean `{word}`?"),
    )
}

/// Likeness (Jaro and Winkler's, from 0 to 1) from which on a word is taken for a misspelling of another.
const ALIKE: f64 = 0.8;

/// The words most like `word`, the best first; none that is unlike it.
pub(crate) fn alike<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let mut found: Vec<(f64, &str)> = known
        .into_iter()
        .map(|known| (likeness(&word, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.dedup_by(|a, b| a.1 == b.1);
    found.into_iter().map(|(_, known)| known).collect()
}

/// Jaro and Winkler's measure sees nothing alike in short words with two letters changed round; one slip of the finger is
/// a misspelling in any word that is not tiny.
fn likeness(word: &str, known: &str) -> f64 {
    let likeness = strsim::jaro_winkler(word, known);
    let near = known.len() >= 3 && known.len().abs_diff(word.len()) <= 2;
    if near && strsim::osa_distance(word, known) <= 1 {
        likeness.max(ALIKE)
    } else {
        likeness
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likest_word_comes_first_and_an_unlike_one_not_at_all() {
        let known = ["policy", "agent", "limits.load_seconds"];
        assert_eq!(alike("polcy", known), ["policy"]);
        assert_eq!(alike("limits.load_second", known), ["limits.load_seconds"]);
        assert_eq!(alike("aks", ["allow", "ask"]), ["ask"]);
        assert!(alike("zebra", known).is_empty());
    }

    #[test]
    fn a_problem_is_one_sentence_that_names_the_place() {
        let at = Origin::File {
            path: Path::new("/c/config.toml").into(),
            line: 3,
        };
        let problem = Problem::UnknownKey {
            at,
            key: "polcy".to_owned(),
            nearest: Some("policy".to_owned()),
        };
        assert_eq!(
            problem.to_string(),
            "/c/config.toml:3: `polcy` is not known; did you mean `policy`?"
        );
    }
}

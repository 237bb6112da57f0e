//! Patterns of command lines.
//!
//! A pattern without `*` and `?` is the beginning of a line, word by word: `git status` is for `git status` and for
//! `git status --short`. With them it is the whole line: `npm run *`. What they stand for, and the arguments that may follow,
//! never hold what a shell acts on. There is no way to write a `*` that means itself.

use regex::{Regex, RegexBuilder};

/// What a shell acts on: what ends a command, joins commands, puts the result of one into another, redirects, expands
/// variables, or escapes what follows. Control characters are among them, of which the line feed is one that matters.
const ACTS: &str = r"[^;&|<>`$()\\\p{Cc}]";

/// Largest compiled pattern, in bytes.
const SIZE: usize = 1 << 20;

/// How many words may stand before a command that is looked for: `sudo`, `env A=B` and the like.
const BEFORE: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    /// The line and nothing else.
    strict: Regex,
    /// The line, or the beginning of it.
    loose: Regex,
}

impl CommandPattern {
    pub(super) fn new(text: &str) -> Result<Self, regex::Error> {
        let whole = text.contains(['*', '?']);
        let build = |any: &str, blank: &str, insensitive: bool| {
            let mut pattern = String::from("^");
            for char in text.trim().chars() {
                match char {
                    '*' => pattern.extend([any, "*"]),
                    '?' => pattern.push_str(any),
                    other => pattern.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
                }
            }
            if !whole {
                pattern.push_str(&format!("(?:{blank}{any}*)?"));
            }
            pattern.push('$');
            RegexBuilder::new(&pattern)
                .case_insensitive(insensitive)
                .dot_matches_new_line(true)
                .size_limit(SIZE)
                .build()
        };
        Ok(Self {
            strict: build(ACTS, "[ ]", false)?,
            loose: build(".", r"\s", true)?,
        })
    }

    /// Whether the line is what the pattern says and plain arguments.
    pub(super) fn covers(&self, line: &str) -> bool {
        self.strict.is_match(line.trim_matches(' '))
    }

    /// Whether the line, or a command somewhere in it, might be what the pattern says.
    pub(super) fn touches(&self, line: &str) -> bool {
        const ENDS: [char; 14] = [
            ';', '&', '|', '\n', '\r', '`', '(', ')', '{', '}', '<', '>', '"', '\'',
        ];
        let is = |part: &str| {
            let words: Vec<_> = part.split_whitespace().collect();
            (0..words.len().min(BEFORE)).any(|from| self.loose.is_match(&words[from..].join(" ")))
        };
        self.loose.is_match(line.trim()) || line.split(ENDS).any(is)
    }
}

/// A program and its arguments as one line. An argument that is more than a word is put into quotes.
pub(super) fn line(words: &[&str]) -> String {
    // `bash -lc LINE`: the line is what counts.
    if let [shell, flags, line] = words
        && is_shell(shell)
        && is_command_flag(flags)
    {
        return (*line).to_owned();
    }
    let plain = |word: &str| {
        let fits = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
        !word.is_empty() && word.chars().all(fits)
    };
    let quoted = words.iter().map(|word| match plain(word) {
        true => (*word).to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    ["sh", "bash", "zsh", "dash", "ksh"].contains(&name)
}

/// `-c`, alone or with letters that change nothing about what is run.
fn is_command_flag(flags: &str) -> bool {
    flags.strip_prefix('-').is_some_and(|letters| {
        letters.ends_with('c') && letters.chars().all(|letter| "cleiux".contains(letter))
    })
}

//! How a program is started: what to run, with what, in which environment.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::Command;

/// A program with its arguments and what is added to its environment. It is no line of a shell: nothing in it is
/// expanded or split. An agent on another machine is `ssh host agent …`.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program: a name that is looked for in `PATH`, or a path.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables added to its environment. Their values may be secret: they are never shown.
    pub env: Vec<(OsString, OsString)>,
}

impl Launch {
    /// A program without arguments.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
        }
    }

    /// The program and its arguments as one list. Nothing: the list is empty, or its program is.
    pub fn from_words<I>(words: I) -> Option<Self>
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        let mut words = words.into_iter().map(Into::into);
        let program = words.next().filter(|program| !program.is_empty())?;
        Some(Self {
            program,
            args: words.collect(),
            env: Vec::new(),
        })
    }

    /// Sets a variable, in place of what it was.
    pub fn set_env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        let (name, value) = (name.into(), value.into());
        match self.env.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.env.push((name, value)),
        }
    }

    /// The command, ready to be given its pipes and its folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What one of its own variables is.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }
}

/// The line that a person would type into a POSIX shell, without the environment.
impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.program.to_string_lossy()))?;
        self.args
            .iter()
            .try_for_each(|word| write!(f, " {}", quoted(&word.to_string_lossy())))
    }
}

/// Without the values of variables, which may be keys.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Launch")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .finish()
    }
}

/// One word for a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_reads_as_a_shell_line_and_hides_what_variables_hold() {
        let mut launch = Launch::from_words(["ssh", "far away", "it's", "a", ""]).unwrap();
        launch.set_env("API_KEY", "old");
        launch.set_env("API_KEY", "s3cret");
        assert_eq!(launch.to_string(), r"ssh 'far away' 'it'\''s' a ''");
        let debug = format!("{launch:?}");
        assert!(debug.contains("API_KEY") && !debug.contains("s3cret"), "{debug}");
        assert_eq!(launch.env.len(), 1);
        assert_eq!(launch.variable("API_KEY"), Some(OsStr::new("s3cret")));
    }

    #[test]
    fn no_words_are_no_launch() {
        assert_eq!(Launch::from_words::<[&str; 0]>([]), None);
        assert_eq!(Launch::from_words([""]), None);
    }
}

//! Whether an agent is on this machine.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::launch::Launch;
use super::{Agent, Packages};

/// Where programs are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// What `PATH` holds.
    pub path: Option<OsString>,
    /// The folder that a relative path starts from.
    pub folder: PathBuf,
}

impl Search {
    /// Where this process would look.
    pub fn from_env() -> Self {
        Self {
            path: std::env::var_os("PATH"),
            folder: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// The program's file, as `launch` would find it: a `PATH` of its own goes before that of this process.
    fn find(&self, program: &OsStr, launch: &Launch) -> Option<PathBuf> {
        let path = launch.variable("PATH").or(self.path.as_deref());
        which::which_in(program, path, &self.folder).ok()
    }
}

/// Whether an agent is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// Its program is here.
    Installed(PathBuf),
    /// Its program is not here, but a runner of packages is, which fetches it when it is started.
    Runnable {
        /// `npx` or `uvx`.
        by: &'static str,
        /// Where the runner is.
        path: PathBuf,
    },
    /// It cannot be started.
    Missing {
        /// The program that was not found.
        program: String,
    },
}

impl Presence {
    /// Whether it can be started, now or after the runner has fetched it.
    pub fn is_here(&self) -> bool {
        !matches!(self, Presence::Missing { .. })
    }
}

/// An agent that cannot be started here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{title} cannot be started: no program `{program}` was found{}", advice(install.as_deref(), homepage.as_deref()))]
pub struct NotHere {
    /// What it is called.
    pub title: String,
    /// The program that was not found.
    pub program: String,
    /// The command that installs it.
    pub install: Option<String>,
    /// Where it lives.
    pub homepage: Option<String>,
}

fn advice(install: Option<&str>, homepage: Option<&str>) -> String {
    match (install, homepage) {
        (Some(install), _) => format!("; install it with `{install}`"),
        (None, Some(homepage)) => format!("; {homepage} says how to install it"),
        (None, None) => " in PATH".to_owned(),
    }
}

impl Agent {
    /// Whether it is on this machine, seen from this process.
    pub fn presence(&self) -> Presence {
        self.presence_in(&Search::from_env())
    }

    /// Whether it is where `search` looks. A program that it starts itself has to be there too.
    pub fn presence_in(&self, search: &Search) -> Presence {
        let missing = match self.installed(search) {
            Ok(path) => return Presence::Installed(path),
            Err(program) => program,
        };
        let runner = self.packages.as_ref().and_then(|packages| {
            let by = packages.runner.program();
            let path = search.find(OsStr::new(by), &packages.launch)?;
            Some(Presence::Runnable { by, path })
        });
        runner.unwrap_or(Presence::Missing { program: missing })
    }

    /// How to start it here: by its program if that is here, else by the runner of its packages.
    ///
    /// # Errors
    /// [`NotHere`], with the command that installs it.
    pub fn start_in(&self, search: &Search) -> Result<Launch, NotHere> {
        let (launch, path) = match (self.presence_in(search), &self.packages) {
            (Presence::Installed(path), _) => (&self.launch, path),
            (Presence::Runnable { path, .. }, Some(Packages { launch, .. })) => (launch, path),
            (Presence::Runnable { by: program, .. }, None) => return Err(self.not_here(program)),
            (Presence::Missing { program }, _) => return Err(self.not_here(&program)),
        };
        // The found path, since a child's own folder may be another one than where a relative path was looked up.
        Ok(Launch {
            program: path.into_os_string(),
            ..launch.clone()
        })
    }

    fn not_here(&self, program: &str) -> NotHere {
        NotHere {
            title: self.title.clone(),
            program: program.to_owned(),
            install: self.install.clone(),
            homepage: self.homepage.clone(),
        }
    }

    /// Its program's file, or the name of the first program that is not there.
    fn installed(&self, search: &Search) -> Result<PathBuf, String> {
        let find = |program: &OsStr| {
            search
                .find(program, &self.launch)
                .ok_or_else(|| program.to_string_lossy().into_owned())
        };
        if self.is_only_a_package() {
            return Err(self.launch.program.to_string_lossy().into_owned());
        }
        let path = find(&self.launch.program)?;
        for program in &self.requires {
            find(OsStr::new(program))?;
        }
        Ok(path)
    }

    /// Whether nothing is known but its package, so that finding the runner is not finding the agent.
    fn is_only_a_package(&self) -> bool {
        self.packages
            .as_ref()
            .is_some_and(|packages| packages.launch == self.launch)
    }
}

//! `tapline doctor`: where things are, what is wrong, what to do.

use std::io::{StdoutLock, Write};
use std::path::Path;

use tapline_agent::catalogue::Catalogue;
use tapline_agent::config::{self, Config, KEYS, Layers};
use tapline_agent::policy::Policy;
use tapline_journal::{Error, HOME_VARIABLE, Home, Journal as _, SqliteJournal};

use super::{failed, many, open_at, wrap};
use crate::Outcome;
use crate::failure::Failure;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the journal's log is damaged: keep a copy of everything, and go on with what stands before the damage
    #[arg(long)]
    cut_log: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut doctor = Doctor {
        out: std::io::stdout().lock(),
        faults: 0,
    };
    writeln!(doctor.out, "tapline {}", env!("CARGO_PKG_VERSION"))?;
    doctor.configuration()?;
    doctor.journal(args)?;
    match doctor.faults {
        0 => Ok(writeln!(doctor.out, "all is well")?),
        n => {
            let need = if n == 1 { "needs" } else { "need" };
            Err(Failure::NotThere(format!(
                "{} {need} attention",
                many(n as u64, "thing")
            )))
        }
    }
}

/// Looks at one thing after the other, and counts what needs attention.
struct Doctor {
    out: StdoutLock<'static>,
    faults: usize,
}

impl Doctor {
    fn fault(&mut self, what: impl std::fmt::Display) -> Outcome {
        self.faults += 1;
        // Others wrote some of what is told here.
        let what = tapline_render::clean(&what.to_string(), true);
        Ok(writeln!(self.out, "{what}")?)
    }

    /// Which files say what is set, and what is wrong in them.
    fn configuration(&mut self) -> Outcome {
        let layers = Layers::from_env();
        match &layers.file {
            Some(path) => writeln!(self.out, "config   {}", file(path, "defaults hold"))?,
            None => writeln!(self.out, "config   no folder for it is known; defaults hold")?,
        }
        self.variables(&layers)?;
        let config = match Config::load(&layers) {
            Ok(config) => config,
            Err(error) => {
                for problem in error.problems() {
                    self.fault(problem)?;
                }
                return Ok(());
            }
        };
        if let Err(error) = config.permissions::<Policy>() {
            for problem in error.problems() {
                self.fault(problem)?;
            }
        }
        for (name, path) in [
            ("agents", &config.catalogue_agents.value),
            ("registry", &config.catalogue_registry.value),
        ] {
            if let Some(path) = path {
                writeln!(
                    self.out,
                    "{name:<8} {}",
                    file(path, "only those that Tapline knows")
                )?;
            }
        }
        for problem in Catalogue::load(&config.sources()).1 {
            self.fault(problem)?;
        }
        Ok(())
    }

    /// Variables that set something, and those that look so and set nothing.
    fn variables(&mut self, layers: &Layers) -> Outcome {
        let names = layers
            .variables
            .keys()
            .filter(|name| name.starts_with("TAPLINE_"));
        for name in names.filter(|name| ![HOME_VARIABLE, config::FILE_VARIABLE].contains(&name.as_str())) {
            if KEYS.iter().any(|key| key.variable() == **name) {
                writeln!(self.out, "variable {name} is set")?;
            } else {
                writeln!(
                    self.out,
                    "variable {name} sets nothing; `tapline config` shows what can be set"
                )?;
            }
        }
        Ok(())
    }

    /// The folder, the journal in it, and what was left beside it.
    fn journal(&mut self, args: &Args) -> Outcome {
        let home = match Home::from_env() {
            Ok(home) => home,
            Err(error) => return self.fault(error),
        };
        let is_named = std::env::var_os(HOME_VARIABLE).is_some_and(|root| !root.is_empty());
        let from = if is_named {
            "from TAPLINE_HOME"
        } else {
            "the platform's data folder"
        };
        writeln!(self.out, "folder   {} ({from})", home.root().display())?;
        if args.cut_log {
            match SqliteJournal::cut_log(&home).map_err(not_cut)? {
                Some(cut) => writeln!(
                    self.out,
                    "{}; the journal goes on with what stands before that, and a copy of all there was is in {}",
                    cut.damage,
                    cut.copy.display()
                )?,
                None => writeln!(self.out, "the log is not damaged; nothing was cut")?,
            }
        }
        let journal = match open_at(&home) {
            Ok(journal) => journal,
            Err(error) => {
                writeln!(self.out, "journal  {}", home.database().display())?;
                return self.fault(error);
            }
        };
        writeln!(
            self.out,
            "journal  {} ({})",
            home.database().display(),
            size(&home)
        )?;
        match wrap::fold_in(&home) {
            Ok(folded) => {
                for fold in folded {
                    match fold.outcome {
                        Ok(n) => writeln!(
                            self.out,
                            "side file of connection {}: {n} inputs folded in",
                            fold.connection
                        )?,
                        Err(why) => self.fault(format!("side file {} stays: {why}", fold.file.display()))?,
                    }
                }
            }
            Err(error) => self.fault(format!(
                "side files could not be looked at: {error}; check the folder's permissions"
            ))?,
        }
        match journal.settle_dead() {
            Ok(all) => {
                for settled in all {
                    writeln!(
                        self.out,
                        "session {} was left by a process that is gone; it is settled now",
                        settled.session
                    )?;
                }
            }
            // What else is wrong is told all the same.
            Err(error) => self.fault(error)?,
        }
        for finding in journal.verify(None).map_err(failed)? {
            self.fault(finding.text)?;
        }
        Ok(())
    }
}

/// A file, and what holds where it is not there.
fn file(path: &Path, otherwise: &str) -> String {
    if path.exists() {
        path.display().to_string()
    } else {
        format!("{} (not there: {otherwise})", path.display())
    }
}

/// How large the journal is, with what its engine has not put into the file yet.
fn size(home: &Home) -> String {
    let database = home.database();
    let mut log = database.clone().into_os_string();
    log.push("-wal");
    let bytes: u64 = [database.as_os_str(), log.as_os_str()]
        .into_iter()
        .filter_map(|path| std::fs::metadata(path).ok())
        .map(|data| data.len())
        .sum();
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Nobody waits for a lock here: whoever has the journal open may have it so for days.
fn not_cut(error: Error) -> Failure {
    match error {
        Error::Locked { path, .. } => Failure::Journal(format!(
            "The journal {} is open in another process. Nothing was changed; end that process and run this again.",
            path.display()
        )),
        error => failed(error),
    }
}

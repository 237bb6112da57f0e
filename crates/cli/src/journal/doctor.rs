//! `tapline doctor`: where things are, what is wrong, what to do.

use std::io::Write;

use tapline_journal::{Error, Home, Journal as _, SqliteJournal};

use super::{failed, wrap};
use crate::Outcome;
use crate::failure::Failure;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the journal's log is damaged: keep a copy of everything, and go on with what stands before the damage
    #[arg(long)]
    cut_log: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = std::io::stdout().lock();
    let mut faults = 0;
    let home = Home::from_env().map_err(failed)?;
    writeln!(out, "tapline {}", env!("CARGO_PKG_VERSION"))?;
    let from = if std::env::var_os("TAPLINE_HOME").is_some() {
        "from TAPLINE_HOME"
    } else {
        "the platform's data folder"
    };
    writeln!(out, "folder   {} ({from})", home.root().display())?;
    let size = std::fs::metadata(home.database()).map(|m| m.len()).unwrap_or(0);
    writeln!(
        out,
        "journal  {} ({:.1} MB)",
        home.database().display(),
        size as f64 / 1e6
    )?;
    if args.cut_log {
        match SqliteJournal::cut_log(&home).map_err(not_cut)? {
            Some(cut) => writeln!(
                out,
                "{}; the journal goes on with what stands before that, and a copy of all there was is in {}",
                cut.damage,
                cut.copy.display()
            )?,
            None => writeln!(out, "the log is not damaged; nothing was cut")?,
        }
    }
    match SqliteJournal::open(&home) {
        Ok(journal) => {
            match wrap::fold_in(&home) {
                Ok(folded) => {
                    for fold in folded {
                        match fold.outcome {
                            Ok(n) => writeln!(
                                out,
                                "side file of connection {}: {n} inputs folded in",
                                fold.connection
                            )?,
                            Err(why) => {
                                faults += 1;
                                writeln!(out, "side file {} stays: {why}", fold.file.display())?;
                            }
                        }
                    }
                }
                Err(error) => {
                    faults += 1;
                    writeln!(
                        out,
                        "side files could not be looked at: {error}; check the folder's permissions"
                    )?;
                }
            }
            for settled in journal.settle_dead().map_err(failed)? {
                writeln!(
                    out,
                    "session {} was left by a process that is gone; it is settled now",
                    settled.session
                )?;
            }
            for finding in journal.verify(None).map_err(failed)? {
                faults += 1;
                writeln!(out, "{}", finding.text)?;
            }
        }
        Err(error) => {
            faults += 1;
            writeln!(out, "{error}")?;
        }
    }
    match faults {
        0 => Ok(writeln!(out, "all is well")?),
        n => Err(Failure::NotThere(format!("{n} things need attention"))),
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

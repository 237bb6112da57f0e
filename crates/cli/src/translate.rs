//! `tapline translate`: recorded traffic as a timeline.

use std::io::{BufWriter, Write};

use clap::ValueEnum;
use tapline_recorder::{Memory, Recorder};

use crate::failure::Failure;
use crate::{Outcome, input};

/// What `translate` is asked.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recording (`-`: standard input)
    #[arg(default_value = "-")]
    file: String,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Rows)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The timeline, one JSON object a line
    Rows,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let Format::Rows = args.format;
    let (recorder, failure) = input::read(&args.file, |hint| Recorder::new(Memory::new(), hint))?;
    let (store, _) = recorder.into_parts();
    let mut out = BufWriter::new(std::io::stdout().lock());
    for timeline in store.timelines() {
        if let Some(session) = timeline.session() {
            line(&mut out, session)?;
        }
        for row in timeline.rows() {
            line(&mut out, &**row)?;
        }
    }
    out.flush()?;
    failure.map_or(Ok(()), Err)
}

fn line(out: &mut impl Write, value: &impl serde::Serialize) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

//! `tapline explain`: what each input became.

use std::io::{BufWriter, Write};

use tapline_recorder::{Account, Entry, Memory, Recorder};
use tapline_timeline::Lookup as _;

use crate::failure::Failure;
use crate::{Outcome, input, translate};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recording (`-`: standard input)
    #[arg(default_value = "-")]
    file: String,
    /// Only the inputs that made or changed this row (its id, or the end of it)
    row: Option<String>,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (mut recorder, failure) = input::read(&args.file, |hint| Recorder::watched(Memory::new(), hint, Account::new()))?;
    let account = std::mem::take(recorder.watch_mut());
    let mut out = BufWriter::new(std::io::stdout().lock());
    let row = match &args.row {
        Some(wanted) => Some(find(&recorder, wanted)?),
        None => None,
    };
    for entry in account.entries() {
        if let Some(row) = &row
            && !entry.rows.iter().any(|t| t.row.as_ref().is_some_and(|r| r.as_str() == row))
        {
            continue;
        }
        if args.json {
            translate::line(&mut out, entry)?;
        } else {
            text(&mut out, entry)?;
        }
    }
    if !args.json && row.is_none() {
        summary(&mut out, account.entries())?;
    }
    out.flush()?;
    failure.map_or(Ok(()), Err)
}

/// The row that is meant: by its id, or by an ending of it that no other row has.
fn find<W: tapline_recorder::Watch>(recorder: &Recorder<Memory, W>, wanted: &str) -> Result<String, Failure> {
    let mut found = Vec::new();
    for timeline in recorder.store().timelines() {
        if timeline.row(&wanted.into()).is_some() {
            return Ok(wanted.to_owned());
        }
        found.extend(timeline.rows().iter().filter(|r| r.id.as_str().ends_with(wanted)).map(|r| r.id.to_string()));
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Failure::NotThere(format!("no row has the id {wanted}; `tapline translate FILE` prints all ids"))),
        n => {
            let some: Vec<&str> = found.iter().take(5).map(String::as_str).collect();
            Err(Failure::NotThere(format!("{n} row ids end in {wanted}; give more of one: {}", some.join(", "))))
        }
    }
}

fn text(out: &mut impl Write, entry: &Entry) -> Outcome {
    let what = tapline_render::clean_line(&entry.what, true);
    let arrow = match entry.direction {
        "in" => "<-",
        "out" => "->",
        _ => "--",
    };
    writeln!(out, "{:>6} {arrow} {what}", entry.input)?;
    for touched in &entry.rows {
        let kind = touched.kind.map(|k| format!(" {k}")).unwrap_or_default();
        match &touched.row {
            Some(row) => writeln!(out, "          {}{kind} {}", touched.how, tapline_render::clean_line(row.as_str(), true))?,
            None => writeln!(out, "          session {}", tapline_render::clean_line(touched.session.as_str(), true))?,
        }
    }
    for state in &entry.state {
        writeln!(out, "          state: {state}")?;
    }
    for reason in &entry.dropped {
        writeln!(out, "          dropped: {reason}")?;
    }
    Ok(())
}

fn summary(out: &mut impl Write, entries: &[Entry]) -> Outcome {
    let changed = entries.iter().filter(|e| !e.rows.is_empty()).count();
    let state = entries.iter().filter(|e| e.rows.is_empty() && !e.state.is_empty()).count();
    let dropped = entries.iter().filter(|e| e.rows.is_empty() && e.state.is_empty()).count();
    writeln!(out, "\n{} inputs: {changed} changed rows or a session, {state} changed other state, {dropped} were dropped", entries.len())?;
    Ok(())
}

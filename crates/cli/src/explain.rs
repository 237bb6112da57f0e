//! `tapline explain`: what each input became.

use std::io::{BufWriter, Write};

use tapline_recorder::{Account, Entry, Memory, Recorder};
use tapline_timeline::RowId;

use crate::failure::Failure;
use crate::{Outcome, input, translate};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tapline explain last
  tapline explain recording.jsonl @20")]
pub(crate) struct Args {
    /// A recording (`-`: standard input), or a session of the journal: its id, a beginning of it, or `last`
    #[arg(default_value = "-")]
    what: String,
    /// Only the inputs that made or changed this row (its id, or the end of it)
    row: Option<String>,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    #[cfg(unix)]
    if !input::is_file(&args.what) {
        return crate::journal::rebuild::explain_session(&args.what, args.row.as_deref(), args.json);
    }
    let (mut recorder, failure) = input::read(&args.what, |hint| {
        Recorder::watched(Memory::new(), hint, Account::new())
    })?;
    let account = std::mem::take(recorder.watch_mut());
    let row = match &args.row {
        Some(wanted) => {
            let rows = recorder
                .store()
                .timelines()
                .iter()
                .flat_map(|t| t.rows().iter().map(|r| &r.id));
            Some(find_row(rows, wanted)?)
        }
        None => None,
    };
    print(account.entries(), row.as_deref(), args.json)?;
    failure.map_or(Ok(()), Err)
}

/// Prints an account: all of it, or what concerns one row.
pub(crate) fn print(entries: &[Entry], row: Option<&str>, json: bool) -> Outcome {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let concerns = |entry: &&Entry| {
        row.is_none_or(|row| {
            entry
                .rows
                .iter()
                .any(|t| t.row.as_ref().is_some_and(|r| r.as_str() == row))
        })
    };
    for entry in entries.iter().filter(concerns) {
        if json {
            translate::line(&mut out, entry)?
        } else {
            text(&mut out, entry)?
        }
    }
    if !json && row.is_none() {
        summary(&mut out, entries)?;
    }
    Ok(out.flush()?)
}

/// The row that is meant: by its id, or by an ending of it that no other row has.
pub(crate) fn find_row<'r>(rows: impl Iterator<Item = &'r RowId>, wanted: &str) -> Result<String, Failure> {
    let mut found = Vec::new();
    for id in rows {
        if id.as_str() == wanted {
            return Ok(wanted.to_owned());
        }
        if id.as_str().ends_with(wanted) {
            found.push(id.to_string());
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Failure::NotThere(format!(
            "no row has the id {wanted}; `tapline show --json` prints all ids"
        ))),
        n => {
            let some: Vec<&str> = found.iter().take(5).map(String::as_str).collect();
            Err(Failure::NotThere(format!(
                "{n} row ids end in {wanted}; give more of one: {}",
                some.join(", ")
            )))
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
            Some(row) => writeln!(
                out,
                "          {}{kind} {}",
                touched.how,
                tapline_render::clean_line(row.as_str(), true)
            )?,
            None => writeln!(
                out,
                "          session {}",
                tapline_render::clean_line(touched.session.as_str(), true)
            )?,
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
    let state = entries
        .iter()
        .filter(|e| e.rows.is_empty() && !e.state.is_empty())
        .count();
    let dropped = entries
        .iter()
        .filter(|e| e.rows.is_empty() && e.state.is_empty())
        .count();
    writeln!(
        out,
        "\n{} inputs: {changed} changed rows or a session, {state} changed other state, {dropped} were dropped",
        entries.len()
    )?;
    Ok(())
}

//! `tapline show`: a timeline for a person to read.

use std::io::{BufWriter, Write};

use tapline_recorder::{Memory, Recorder};
use tapline_render::{Chat, Terminal, render_to};

use crate::failure::Failure;
use crate::settings::count;
use crate::terminal::{Output, ViewArgs, configured};
use crate::{Outcome, clock, input, settings, translate};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A recording (`-`: standard input), or a session of the journal: its id, a beginning of it, or `last`
    #[arg(default_value = "-")]
    what: String,
    /// Of a session of the journal, go on as it grows
    #[arg(long, short)]
    follow: bool,
    /// Of a session of the journal, only this many rows from its end
    #[arg(long, short = 'n', value_name = "ROWS", value_parser = count)]
    last: Option<usize>,
    /// Print the timeline as JSON Lines; with --follow each row once it has settled
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    view: ViewArgs,
    /// Do not page
    #[arg(long)]
    no_pager: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    #[cfg(unix)]
    if !input::is_file(&args.what) {
        return session(args);
    }
    if args.follow || args.last.is_some() {
        let what = "is a file; --follow and --last are for sessions of the journal";
        return Err(Failure::Usage(format!("{} {what}", args.what)));
    }
    let (recorder, failure) = input::read(&args.what, |hint| Recorder::new(Memory::new(), hint))?;
    let timelines = recorder.store().timelines();
    if args.json {
        translate::rows(timelines)?;
        return failure.map_or(Ok(()), Err);
    }
    let terminal = terminal(args)?;
    let chats: Vec<Chat<'_>> = timelines
        .iter()
        .filter_map(|t| {
            t.session().map(|session| Chat {
                session,
                rows: t.rows(),
            })
        })
        .collect();
    draw(&chats, &terminal, !args.no_pager)?;
    failure.map_or(Ok(()), Err)
}

/// What is drawn for.
fn terminal(args: &Args) -> Result<Terminal, Failure> {
    Ok(configured(&settings::load(args.view.flags())?))
}

fn draw(chats: &[Chat<'_>], terminal: &Terminal, paged: bool) -> Outcome {
    let mut out = Text {
        out: BufWriter::new(Output::paged(paged)),
        error: None,
    };
    let paged = out.out.get_ref().is_paged();
    let drawn = render_to(chats, terminal, &mut out);
    let written = match (drawn, out.error.take()) {
        (Err(_), Some(error)) => Err(error),
        _ => out.out.flush(),
    };
    match written {
        Err(error) if paged && error.kind() == std::io::ErrorKind::BrokenPipe => {
            // What the pager did not take is not for anybody.
            drop(out.out.into_parts().0);
            Ok(())
        }
        written => Ok(written?),
    }
}

/// A session of the journal.
#[cfg(unix)]
fn session(args: &Args) -> Outcome {
    use crate::journal;
    let (_, store) = journal::open()?;
    let entry = journal::find(&*store, &args.what)?;
    let terminal = Terminal {
        minutes_east: clock::minutes_east(entry.changed_ms),
        ..terminal(args)?
    };
    if args.follow {
        return match args.json {
            true => journal::follow::follow_json(&*store, &entry, args.last),
            false => {
                journal::follow::follow(&*store, &entry, args.last, &terminal, journal::follow::has_ended)
            }
        };
    }
    let family = journal::family(&*store, entry)?;
    let mut all = Vec::with_capacity(family.len());
    for entry in &family {
        all.push(journal::follow::rows(&*store, &entry.session.id, args.last)?);
    }
    if args.json {
        let mut out = BufWriter::new(std::io::stdout().lock());
        for (entry, rows) in family.iter().zip(&all) {
            translate::line(&mut out, &entry.session)?;
            rows.iter()
                .try_for_each(|row| translate::line(&mut out, &**row))?;
        }
        return Ok(out.flush()?);
    }
    let chats: Vec<Chat<'_>> = family
        .iter()
        .zip(&all)
        .map(|(entry, rows)| Chat {
            session: &entry.session,
            rows,
        })
        .collect();
    draw(&chats, &terminal, !args.no_pager)
}

/// Text written to bytes.
struct Text<W: Write> {
    out: W,
    error: Option<std::io::Error>,
}

impl<W: Write> std::fmt::Write for Text<W> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            std::fmt::Error
        })
    }
}

//! `tapline export`: a session as a file that can be handed on.

use std::io::{BufWriter, Write};

use clap::ValueEnum;

use super::{each_page, failed, family, find, open};
use crate::{Outcome, translate};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tapline export last --format markdown > chat.md
  tapline export 01a2 | jq -r 'select(.kind == \"user\").text'")]
pub(crate) struct Args {
    /// The session: its id, a beginning of it, or `last`
    session: String,
    /// The form
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The timeline format: JSON Lines
    Json,
    /// A document
    Markdown,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (_, journal) = open()?;
    let entry = find(&*journal, &args.session)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (n, entry) in family(&*journal, entry)?.into_iter().enumerate() {
        match args.format {
            Format::Json => {
                translate::line(&mut out, &entry.session)?;
                each_page(&*journal, &entry.session.id, |rows| {
                    rows.iter().try_for_each(|row| translate::line(&mut out, &**row))
                })?;
            }
            Format::Markdown => {
                let rows = journal
                    .rows(
                        &entry.session.id,
                        tapline_journal::Window::From(1, crate::journal::ALL_ROWS),
                    )
                    .map_err(failed)?;
                if n > 0 {
                    out.write_all(b"\n")?;
                }
                out.write_all(tapline_export::markdown(&entry.session, &rows).as_bytes())?;
            }
        }
    }
    Ok(out.flush()?)
}

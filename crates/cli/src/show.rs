//! `tapline show`: a timeline for a person to read.

use std::io::{BufWriter, Write};

use tapline_recorder::{Memory, Recorder};
use tapline_render::{Chat, Fold, render_to};

use crate::failure::Failure;
use crate::terminal::{Color, Output, of_standard_output};
use crate::{Outcome, input, translate};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recording (`-`: standard input)
    #[arg(default_value = "-")]
    file: String,
    /// Print the timeline as JSON Lines
    #[arg(long)]
    json: bool,
    /// Show everything: whole reasoning, inputs and outputs
    #[arg(long, conflicts_with = "brief")]
    full: bool,
    /// Show a line for each tool
    #[arg(long)]
    brief: bool,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// Do not page
    #[arg(long)]
    no_pager: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (recorder, failure) = input::read(&args.file, |hint| Recorder::new(Memory::new(), hint))?;
    let timelines = recorder.store().timelines();
    if args.json {
        translate::rows(timelines)?;
        return failure.map_or(Ok(()), Err);
    }
    let fold = match (args.full, args.brief) {
        (true, _) => Fold::Open,
        (_, true) => Fold::Tight,
        _ => Fold::Usual,
    };
    let terminal = of_standard_output(args.color, fold);
    let chats: Vec<Chat<'_>> = timelines
        .iter()
        .filter_map(|t| t.session().map(|session| Chat { session, rows: t.rows() }))
        .collect();
    let mut out = Text { out: BufWriter::new(Output::paged(!args.no_pager)), error: None };
    let drawn = render_to(&chats, &terminal, &mut out);
    if let (Err(_), Some(error)) = (drawn, out.error.take()) {
        // Leaving a pager before its end is no failure.
        return match Failure::from(error) {
            Failure::ClosedPipe => Err(Failure::ClosedPipe),
            other => Err(other),
        };
    }
    out.out.flush()?;
    failure.map_or(Ok(()), Err)
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

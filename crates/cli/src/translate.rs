//! `tapline translate`: recorded traffic as a timeline.

use std::io::{BufWriter, Write};

use clap::ValueEnum;
use serde_json::Value;
use tapline_recorder::{Memory, Recorder, Stamp, Watch};
use tapline_timeline::{Event, SessionId, Timeline};

use crate::{Outcome, input};

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
    /// The timeline: sessions and rows, one JSON object a line
    Rows,
    /// What each input means, one JSON object a line
    Events,
    /// The timeline as a document
    Markdown,
}

pub(crate) fn run(args: &Args) -> Outcome {
    match args.format {
        Format::Rows => {
            let (recorder, failure) = input::read(&args.file, |hint| Recorder::new(Memory::new(), hint))?;
            rows(recorder.store().timelines())?;
            failure.map_or(Ok(()), Err)
        }
        Format::Events => events(&args.file),
        Format::Markdown => {
            let (recorder, failure) = input::read(&args.file, |hint| Recorder::new(Memory::new(), hint))?;
            let mut out = BufWriter::new(std::io::stdout().lock());
            for (n, timeline) in recorder.store().timelines().iter().enumerate() {
                let Some(session) = timeline.session() else {
                    continue;
                };
                if n > 0 {
                    out.write_all(b"\n")?;
                }
                out.write_all(tapline_export::markdown(session, timeline.rows()).as_bytes())?;
            }
            out.flush()?;
            failure.map_or(Ok(()), Err)
        }
    }
}

/// Prints timelines in the public format.
pub(crate) fn rows(timelines: &[Timeline]) -> Outcome {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for timeline in timelines {
        if let Some(session) = timeline.session() {
            line(&mut out, session)?;
        }
        for row in timeline.rows() {
            line(&mut out, &**row)?;
        }
    }
    Ok(out.flush()?)
}

/// Writes one JSON object and a line feed.
pub(crate) fn line(out: &mut impl Write, value: &impl serde::Serialize) -> Outcome {
    serde_json::to_writer(&mut *out, value).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

fn events(file: &str) -> Outcome {
    let (mut recorder, failure) = input::read(file, |hint| {
        Recorder::watched(Memory::new(), hint, Printer::default())
    })?;
    let printer = recorder.watch_mut();
    if let Some(error) = printer.error.take() {
        return Err(error.into());
    }
    printer.out.flush()?;
    failure.map_or(Ok(()), Err)
}

/// Prints events as they are read.
struct Printer {
    out: BufWriter<std::io::Stdout>,
    error: Option<std::io::Error>,
}

impl Default for Printer {
    fn default() -> Self {
        Self {
            out: BufWriter::new(std::io::stdout()),
            error: None,
        }
    }
}

impl Watch for Printer {
    fn event(&mut self, stamp: Stamp, session: &SessionId, event: &Event<'_>) {
        if self.error.is_some() {
            return;
        }
        let mut object = serde_json::json!({ "input": stamp.number, "session": session });
        if let (Some(object), Ok(Value::Object(members))) =
            (object.as_object_mut(), serde_json::to_value(event))
        {
            object.extend(
                members
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, without_nothing(value)?))),
            );
        }
        let written = serde_json::to_writer(&mut self.out, &object).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|()| self.out.write_all(b"\n")) {
            self.error = Some(error);
        }
    }
}

/// The value without members that say nothing.
fn without_nothing(value: Value) -> Option<Value> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Object(members) => {
            let members: serde_json::Map<_, _> = members
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_nothing(value)?)))
                .collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        other => Some(other),
    }
}

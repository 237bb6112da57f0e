//! `tapline list` and `tapline forget`.

use std::io::{BufWriter, Write};

use clap::ValueEnum;
use tapline_journal::{Journal, SessionEntry, SessionQuery, Status, Window};
use tapline_timeline::Body;
use unicode_width::UnicodeWidthStr;

use super::{failed, find, many, open};
use crate::failure::{Failure, say};
use crate::settings::count;
use crate::terminal::{shortened, told_width};
use crate::{Outcome, clock, translate};

/// Widest title, in columns.
const TITLE: usize = 100;
/// Among so many rows at its beginning the first prompt of a session is looked for.
const FIRST_ROWS: usize = 8;

#[derive(clap::Args)]
#[command(after_help = "Times are local; with --json they are in UTC.\n\nExamples:
  tapline list --status waiting
  tapline list --json -n 1000 | jq -r .id")]
pub(crate) struct ListArgs {
    /// Print JSON Lines: one session object each
    #[arg(long)]
    json: bool,
    /// Only sessions that stand so
    #[arg(long, value_enum)]
    status: Option<Wanted>,
    /// Only sessions in which a tool changed something without asking
    #[arg(long)]
    unasked: bool,
    /// At most this many
    #[arg(long, short = 'n', value_name = "SESSIONS", default_value_t = 50, value_parser = count)]
    limit: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Wanted {
    /// An agent process holds it
    Live,
    /// It waits for someone
    Waiting,
    /// It ended in order
    Ended,
    /// Its process went away in the middle
    Cut,
}

#[derive(clap::Args)]
pub(crate) struct ForgetArgs {
    /// The session: its id, a beginning of it, or `last`
    session: String,
}

pub(crate) fn list(args: &ListArgs) -> Outcome {
    let (_, journal) = open()?;
    journal.settle_dead().map_err(failed)?;
    let status = args.status.map(|s| match s {
        Wanted::Live => Status::Live,
        Wanted::Waiting => Status::Waiting,
        Wanted::Ended => Status::Ended,
        Wanted::Cut => Status::Cut,
    });
    let mut out = BufWriter::new(std::io::stdout().lock());
    let width = told_width();
    let mut query = SessionQuery {
        status,
        limit: 200.min(args.limit.saturating_add(1)),
        ..SessionQuery::default()
    };
    let mut told = 0;
    let more = 'all: loop {
        let page = journal.sessions(&query).map_err(failed)?;
        let Some(last) = page.last() else { break false };
        query.after = Some(last.place);
        for entry in page {
            if args.unasked && !super::search::has_unasked(&*journal, &entry.session.id)? {
                continue;
            }
            if told == args.limit {
                break 'all true;
            }
            told += 1;
            if args.json {
                translate::line(&mut out, &object(&entry)?)?
            } else {
                text(&mut out, &*journal, &entry, width)?
            }
        }
    };
    out.flush()?;
    if !args.json && told == 0 {
        say(if status.is_some() || args.unasked {
            "no session is like that; `tapline list` shows all"
        } else {
            "the journal has no session yet; `tapline wrap`, `chat`, `exec` and `import` bring some"
        });
    }
    if !args.json && more {
        say(format!(
            "there are more than these {told}; `--limit` lists more, `tapline search` finds words in all"
        ));
    }
    Ok(())
}

/// The session object, with where it stands.
pub(crate) fn object(entry: &SessionEntry) -> Result<serde_json::Value, Failure> {
    let mut value = serde_json::to_value(&entry.session).map_err(std::io::Error::from)?;
    if let Some(object) = value.as_object_mut() {
        object.insert(
            "status".to_owned(),
            serde_json::to_value(entry.status).map_err(std::io::Error::from)?,
        );
        object.insert("rows".to_owned(), entry.rows.into());
        object.insert("waiting".to_owned(), entry.waiting.into());
        object.insert("cursor".to_owned(), entry.cursor.into());
    }
    Ok(value)
}

/// Tells one session: on a line, or on two where it would not fit.
pub(crate) fn text(
    out: &mut impl Write,
    journal: &dyn Journal,
    entry: &SessionEntry,
    width: Option<usize>,
) -> Outcome {
    let session = &entry.session;
    let clean = |text: &str| tapline_render::clean_line(text, true);
    let when = clock::minute(entry.changed_ms).unwrap_or_default();
    let mark = match entry.status {
        Status::Live => "live",
        Status::Waiting => "waits for you",
        Status::Ended => "ended",
        Status::Cut => "cut",
    };
    let indent = if session.parent.is_some() { "  " } else { "" };
    let rows = if entry.rows == 1 { "row " } else { "rows" };
    let id = clean(session.id.as_str());
    let head = format!("{indent}{id}  {when}  {mark:<13}  {:>6} {rows}", entry.rows);
    let agent = session.agent.as_ref().map(|agent| clean(&agent.name) + "  ");
    let what = agent.unwrap_or_default() + &about(journal, entry)?;
    match width {
        Some(width) if head.width() + 2 + what.width() > width => {
            writeln!(
                out,
                "{head}\n    {indent}{}",
                shortened(&what, width.saturating_sub(4 + indent.len()))
            )?;
        }
        _ => writeln!(out, "{head}  {what}")?,
    }
    Ok(())
}

/// What a session is about: its title; where the agent gave it none, the first prompt.
fn about(journal: &dyn Journal, entry: &SessionEntry) -> Result<String, Failure> {
    let clean = |text: &str| shortened(&tapline_render::clean_line(text, true), TITLE);
    if let Some(title) = entry.session.title.as_deref() {
        return Ok(clean(title));
    }
    let first = journal
        .rows(&entry.session.id, Window::From(1, FIRST_ROWS))
        .map_err(failed)?;
    let prompt = first.iter().find_map(|row| match &row.body {
        Body::User(user) => Some(clean(user.content.as_text())).filter(|text| !text.is_empty()),
        _ => None,
    });
    Ok(prompt.unwrap_or_else(|| "untitled".to_owned()))
}

pub(crate) fn forget(args: &ForgetArgs) -> Outcome {
    let (_, journal) = open()?;
    let entry = find(&*journal, &args.session)?;
    let gone = journal.forget(&entry.session.id).map_err(failed)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Forgot session {}: {}, {}, {}.",
        entry.session.id,
        many(gone.rows, "row"),
        many(gone.blobs, "blob"),
        many(gone.tapes, "tape")
    )?;
    if !gone.shared_tapes.is_empty() {
        return Err(Failure::NotThere(format!(
            "these tapes hold other sessions too and were kept: {}; forget those sessions as well",
            gone.shared_tapes.join(", ")
        )));
    }
    Ok(())
}

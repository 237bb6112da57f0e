//! `tapline list` and `tapline forget`.

use std::io::{BufWriter, Write};

use clap::ValueEnum;
use tapline_journal::{SessionEntry, SessionQuery, Status};

use super::{failed, find, open};
use crate::failure::Failure;
use crate::{Outcome, translate};

#[derive(clap::Args)]
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
    #[arg(long, short = 'n', default_value_t = 50)]
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
    let mut query = SessionQuery {
        status,
        limit: 200.min(args.limit.max(1)),
        ..SessionQuery::default()
    };
    let mut left = args.limit;
    while left > 0 {
        let page = journal.sessions(&query).map_err(failed)?;
        let Some(last) = page.last() else { break };
        query.after = Some(last.place);
        for entry in page {
            if args.unasked && !super::search::has_unasked(&*journal, &entry.session.id)? {
                continue;
            }
            if left == 0 {
                break;
            }
            left -= 1;
            if args.json {
                translate::line(&mut out, &object(&entry)?)?
            } else {
                text(&mut out, &entry)?
            }
        }
    }
    Ok(out.flush()?)
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

pub(crate) fn text(out: &mut impl Write, entry: &SessionEntry) -> Outcome {
    let session = &entry.session;
    let clean = |text: &str| tapline_render::clean_line(text, true);
    let agent = session.agent.as_ref().map_or("", |a| a.name.as_str());
    let title = session.title.as_deref().unwrap_or("untitled");
    let when = tapline_timeline::Time::At(entry.changed_ms)
        .rfc3339()
        .unwrap_or_default();
    let when = when.get(..16).unwrap_or_default().replace('T', " ");
    let mark = match entry.status {
        Status::Live => "live",
        Status::Waiting => "waits for you",
        Status::Ended => "ended",
        Status::Cut => "cut",
    };
    let indent = if session.parent.is_some() { "  " } else { "" };
    writeln!(
        out,
        "{indent}{}  {when}  {mark:<13}  {:>6} rows  {}  {}",
        clean(session.id.as_str()),
        entry.rows,
        clean(agent),
        clean(title),
    )?;
    Ok(())
}

pub(crate) fn forget(args: &ForgetArgs) -> Outcome {
    let (_, journal) = open()?;
    let entry = find(&*journal, &args.session)?;
    let gone = journal.forget(&entry.session.id).map_err(failed)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Forgot session {}: {} rows, {} blobs, {} tapes.",
        entry.session.id, gone.rows, gone.blobs, gone.tapes
    )?;
    if !gone.shared_tapes.is_empty() {
        return Err(Failure::NotThere(format!(
            "these tapes hold other sessions too and were kept: {}; forget those sessions as well",
            gone.shared_tapes.join(", ")
        )));
    }
    Ok(())
}

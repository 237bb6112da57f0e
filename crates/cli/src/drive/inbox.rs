//! `tapline inbox`: what waits for me, over all sessions.

use std::io::Write;
use std::sync::Arc;

use tapline_journal::{Journal, SessionQuery, Status};
use tapline_timeline::{Body, Request, RequestState, Row, SessionId};

use crate::failure::Failure;
use crate::journal::{failed, open};
use crate::{Outcome, translate};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print JSON Lines: one request each
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (_, journal) = open()?;
    journal.settle_dead().map_err(failed)?;
    let mut out = std::io::stdout().lock();
    let mut count = 0;
    for row in waiting(&*journal)? {
        count += 1;
        if args.json {
            translate::line(&mut out, &*row)?;
        } else if let Body::Request(request) = &row.body {
            text(&mut out, &row, request)?;
        }
    }
    if count == 0 && !args.json {
        writeln!(out, "Nothing waits for you.")?;
    }
    Ok(out.flush()?)
}

/// Every request that waits, in the order of the sessions' last changes.
pub(crate) fn waiting(journal: &dyn Journal) -> Result<Vec<Arc<Row>>, Failure> {
    let mut query = SessionQuery {
        status: Some(Status::Waiting),
        limit: 200,
        ..SessionQuery::default()
    };
    let mut all = Vec::new();
    loop {
        let page = journal.sessions(&query).map_err(failed)?;
        let Some(last) = page.last() else { return Ok(all) };
        query.after = Some(last.place);
        for entry in page {
            all.extend(waiting_in(journal, &entry.session.id)?);
        }
    }
}

/// The requests that wait in a session.
pub(crate) fn waiting_in(journal: &dyn Journal, session: &SessionId) -> Result<Vec<Arc<Row>>, Failure> {
    let mut rows = journal.open_rows(session).map_err(failed)?;
    rows.retain(|row| matches!(&row.body, Body::Request(r) if r.state == RequestState::Pending));
    Ok(rows)
}

/// Tells one request, and how it is answered.
pub(crate) fn text(out: &mut impl Write, row: &Row, request: &Request) -> Outcome {
    let clean = |text: &str| tapline_render::clean_line(text, true);
    let what = request
        .title
        .as_deref()
        .or(request.text.as_deref())
        .unwrap_or("something");
    writeln!(out, "{}  {}", clean(row.id.as_str()), clean(what))?;
    for (n, option) in request.options.iter().enumerate() {
        let label = option.label.as_deref().unwrap_or(&option.id);
        writeln!(out, "    {}  {}  ({})", n + 1, clean(label), clean(&option.id))?;
    }
    for question in &request.questions {
        writeln!(out, "    {}: {}", clean(&question.id), clean(&question.text))?;
        for option in &question.options {
            writeln!(
                out,
                "        {}",
                clean(option.label.as_deref().unwrap_or(&option.id))
            )?;
        }
    }
    writeln!(out, "    tapline answer {} CHOICE", clean(row.id.as_str()))?;
    Ok(())
}

//! `tapline show ID`: a session of the journal, and its changes as they come.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tapline_journal::{Follow, Journal, News, SessionEntry, Status, Watch, Window};
use tapline_render::{Live, Terminal};
use tapline_timeline::{Append, Change, Row, Session, SessionId};

use super::failed;
use crate::failure::Failure;
use crate::{Outcome, translate};

/// How long one look for changes waits.
const LOOK: Duration = Duration::from_millis(500);

/// The rows of a session: all, or the last few.
pub(crate) fn rows(
    journal: &dyn Journal,
    session: &SessionId,
    last: Option<usize>,
) -> Result<Vec<Arc<Row>>, Failure> {
    let window = last.map_or(Window::From(1, crate::journal::ALL_ROWS), Window::Last);
    journal.rows(session, window).map_err(failed)
}

/// Prints a session as it grows, until `over` says so after it has stood still.
pub(crate) fn follow(
    journal: &dyn Journal,
    entry: &SessionEntry,
    last: Option<usize>,
    terminal: &Terminal,
    mut over: impl FnMut(&SessionEntry) -> bool,
) -> Outcome {
    let id = &entry.session.id;
    let mut live = Live::new(terminal);
    let mut text = String::new();
    let mut out = std::io::stdout().lock();
    live.change(&Change::Session(&entry.session), &mut text);
    let rows = rows(journal, id, last)?;
    let mut cursor = rows.iter().filter_map(|r| r.cursor).max().unwrap_or(0);
    for row in &rows {
        live.change(&Change::Put(row), &mut text);
    }
    loop {
        out.write_all(text.as_bytes())?;
        out.flush()?;
        text.clear();
        let followed = journal
            .follow(
                id,
                cursor,
                Follow {
                    limit: 1000,
                    appends: true,
                },
            )
            .map_err(failed)?;
        cursor = followed.cursor.max(cursor);
        for news in &followed.news {
            tell(news, &mut live, &mut text);
        }
        if followed.more || !text.is_empty() {
            continue;
        }
        let now = journal.session(id).map_err(failed)?;
        if now.is_none_or(|now| over(&now)) {
            live.finish(&mut text);
            out.write_all(text.as_bytes())?;
            return Ok(out.flush()?);
        }
        journal
            .wait(&Watch::Session(id.clone(), cursor), LOOK)
            .map_err(failed)?;
    }
}

/// Prints a session as JSON Lines as it grows, until nobody holds it any more: the session, and each row once it has settled
/// (again if it changes after that).
pub(crate) fn follow_json(journal: &dyn Journal, entry: &SessionEntry, last: Option<usize>) -> Outcome {
    let id = &entry.session.id;
    let mut out = std::io::stdout().lock();
    let mut told = entry.session.clone();
    translate::line(&mut out, &told)?;
    let rows = rows(journal, id, last)?;
    let mut cursor = rows.iter().filter_map(|r| r.cursor).max().unwrap_or(0);
    for row in rows.iter().filter(|row| !row.is_open()) {
        translate::line(&mut out, &**row)?;
    }
    let how = Follow {
        limit: 1000,
        appends: false,
    };
    loop {
        out.flush()?;
        // It is looked whether it is over before the last news is read.
        let now = journal.session(id).map_err(failed)?;
        let followed = journal.follow(id, cursor, how).map_err(failed)?;
        cursor = followed.cursor.max(cursor);
        for news in &followed.news {
            match news {
                News::Session(session) if **session != told => {
                    translate::line(&mut out, session)?;
                    told = Session::clone(session);
                }
                News::Row(row) if !row.is_open() => translate::line(&mut out, &**row)?,
                News::Session(_) | News::Row(_) | News::Append { .. } => {}
            }
        }
        if followed.more || !followed.news.is_empty() {
            continue;
        }
        if now.is_none_or(|now| has_ended(&now)) {
            return Ok(());
        }
        journal
            .wait(&Watch::Session(id.clone(), cursor), LOOK)
            .map_err(failed)?;
    }
}

/// Nobody holds it any more.
pub(crate) fn has_ended(entry: &SessionEntry) -> bool {
    matches!(entry.status, Status::Ended | Status::Cut)
}

pub(crate) fn tell(news: &News, live: &mut Live, text: &mut String) {
    match news {
        News::Session(session) => live.change(&Change::Session(session), text),
        News::Row(row) => live.change(&Change::Put(row), text),
        News::Append {
            id,
            seq,
            member,
            offset,
            text: added,
            ..
        } => {
            // A view needs to know neither the revision nor the input.
            let append = Append {
                id,
                seq: *seq,
                member: *member,
                offset: *offset,
                text: added,
                revision: 0,
                frame: 0,
            };
            live.change(&Change::Append(append), text);
        }
    }
}

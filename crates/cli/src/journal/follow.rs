//! `tapline show ID`: a session of the journal, and its changes as they come.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tapline_journal::{Follow, Journal, News, SessionEntry, Status, Watch, Window};
use tapline_render::{Live, Terminal};
use tapline_timeline::{Append, Change, Row, SessionId};

use super::failed;
use crate::Outcome;
use crate::failure::Failure;

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

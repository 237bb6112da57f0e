//! Commands that read and keep the journal.

pub(crate) mod chats;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod follow;
pub(crate) mod import;
pub(crate) mod rebuild;
pub(crate) mod search;
pub(crate) mod wrap;

use std::sync::Arc;

use tapline_journal::{Error, Home, Journal, SessionEntry, SessionQuery, SqliteJournal, Window};
use tapline_timeline::{Row, SessionId};

use crate::failure::Failure;

/// Stands for all rows where a window wants a number.
pub(crate) const ALL_ROWS: usize = u32::MAX as usize;

/// The journal of this person, made if there is none.
pub(crate) fn open() -> Result<(Home, Arc<dyn Journal>), Failure> {
    let home = Home::from_env().map_err(failed)?;
    let journal = open_at(&home)?;
    Ok((home, Arc::new(journal)))
}

/// The journal of a folder. Where the engine's own words name no place, the folder is added.
pub(crate) fn open_at(home: &Home) -> Result<SqliteJournal, Failure> {
    SqliteJournal::open(home).map_err(|error| match error {
        Error::Store { .. } => Failure::Journal(format!(
            "{error} Its folder is {}; TAPLINE_HOME names another one.",
            home.root().display()
        )),
        error => failed(error),
    })
}

/// What the journal says, as a failure of the command.
#[allow(clippy::needless_pass_by_value)] // It is made for `map_err`.
pub(crate) fn failed(error: Error) -> Failure {
    match error {
        Error::NoSession { .. } | Error::NoRow { .. } => Failure::NotThere(error.to_string()),
        Error::Held { .. } => Failure::Busy(error.to_string()),
        error => Failure::Journal(error.to_string()),
    }
}

/// The session that is meant: by its id, by a beginning of it that no other has, or `last` for the newest.
pub(crate) fn find(journal: &dyn Journal, wanted: &str) -> Result<SessionEntry, Failure> {
    if wanted.is_empty() {
        let what = "the session's id is empty; `tapline list` shows all, and `last` is the newest";
        return Err(Failure::Usage(what.to_owned()));
    }
    if let Some(entry) = journal.session(&SessionId::from(wanted)).map_err(failed)? {
        return Ok(entry);
    }
    let mut found: Vec<SessionEntry> = Vec::new();
    let mut query = SessionQuery {
        limit: 500,
        ..SessionQuery::default()
    };
    loop {
        let page = journal.sessions(&query).map_err(failed)?;
        let Some(last) = page.last() else { break };
        query.after = Some(last.place);
        for entry in page {
            if wanted == "last" && entry.session.parent.is_none() {
                return Ok(entry);
            }
            let of_provider = entry.session.provider_sessions.iter().any(|p| p == wanted);
            if of_provider || entry.session.id.as_str().starts_with(wanted) {
                found.push(entry);
            }
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Failure::NotThere(format!(
            "the journal has no session {wanted}; `tapline list` shows all"
        ))),
        n => {
            let some: Vec<String> = found.iter().take(4).map(|e| e.session.id.to_string()).collect();
            Err(Failure::NotThere(format!(
                "{n} sessions begin with {wanted}; give more of one: {}",
                some.join(", ")
            )))
        }
    }
}

/// So many of something whose word takes an `s`.
pub(crate) fn many(number: impl Into<u128>, word: &str) -> String {
    let number = number.into();
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {word}{s}")
}

/// Every session, newest change first.
pub(crate) fn all(journal: &dyn Journal) -> Result<Vec<SessionEntry>, Failure> {
    let mut all = Vec::new();
    let mut query = SessionQuery {
        limit: 500,
        ..SessionQuery::default()
    };
    loop {
        let page = journal.sessions(&query).map_err(failed)?;
        let Some(last) = page.last() else { return Ok(all) };
        query.after = Some(last.place);
        all.extend(page);
    }
}

/// All rows of a session, in pages, so that a long chat does not stand in memory twice.
pub(crate) fn each_page(
    journal: &dyn Journal,
    session: &SessionId,
    mut page: impl FnMut(&[Arc<Row>]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut from = 1;
    loop {
        let rows = journal.rows(session, Window::From(from, 1000)).map_err(failed)?;
        let Some(last) = rows.last() else { return Ok(()) };
        from = last.seq + 1;
        page(&rows)?;
    }
}

/// A session and the sessions that it started, the parent first.
pub(crate) fn family(journal: &dyn Journal, entry: SessionEntry) -> Result<Vec<SessionEntry>, Failure> {
    let mut all = vec![entry];
    let mut at = 0;
    while at < all.len() {
        let query = SessionQuery {
            parent: Some(all[at].session.id.clone()),
            limit: 500,
            ..SessionQuery::default()
        };
        let children = journal.sessions(&query).map_err(failed)?;
        all.extend(
            children
                .into_iter()
                .filter(|c| c.session.parent.as_ref() == query.parent.as_ref()),
        );
        at += 1;
    }
    Ok(all)
}

//! `tapline verify`, `tapline rebuild` and `tapline explain ID`: what the tapes say.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use tapline_journal::{GenerationEnd, Journal, SessionEntry, Window};
use tapline_recorder::{Account, Opened, Recorder, SessionRef, Silent, Store, TapeRecord, Watch, Way};
use tapline_timeline::{Change, Lookup as _, Row, RowId, Session, SessionId, Timeline};

use super::{all, failed, find, many, open};
use crate::failure::{Failure, say};
use crate::terminal::Progress;
use crate::{Outcome, explain, translate};

#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    /// Only this session: its id, a beginning of it, or `last`
    session: Option<String>,
}

#[derive(clap::Args)]
pub(crate) struct RebuildArgs {
    /// The session: its id, a beginning of it, or `last`
    session: String,
}

/// What tapes give, under the ids that the journal has.
struct Rebuilt {
    names: HashMap<String, SessionId>,
    nameless: Vec<SessionId>,
    timelines: Vec<(SessionId, Timeline)>,
}

impl Store for Rebuilt {
    fn open(&mut self, _: SessionRef, provider: Option<&str>, _: Way) -> Opened {
        let named = provider.and_then(|p| self.names.get(p)).cloned();
        let id = named.or_else(|| (!self.nameless.is_empty()).then(|| self.nameless.remove(0)));
        let id = id.unwrap_or_else(|| SessionId::from(format!("unknown-{}", self.timelines.len())));
        // A second session of the same name has another id.
        let taken = self.timelines.iter().any(|(known, _)| *known == id);
        let id = if taken {
            SessionId::from(format!("{id}#{}", self.timelines.len()))
        } else {
            id
        };
        self.timelines.push((id.clone(), Timeline::new()));
        Opened {
            session: Session::new(id),
            seq: 0,
        }
    }

    fn change(&mut self, session: SessionRef, change: &Change<'_>) {
        if let Some((_, timeline)) = self.timelines.get_mut(session.0 as usize) {
            timeline.apply(change);
        }
    }

    fn row(&self, session: SessionRef, id: &RowId) -> Option<Arc<Row>> {
        self.timelines.get(session.0 as usize)?.1.row(id)
    }
}

/// Reads the tapes of a session again.
fn replay<W: Watch>(
    journal: &dyn Journal,
    entry: &SessionEntry,
    watch: W,
) -> Result<(Recorder<Rebuilt, W>, u64), Failure> {
    let mut names = HashMap::new();
    let mut nameless = Vec::new();
    let tapes = journal.tapes(Some(&entry.session.id)).map_err(failed)?;
    for session in tapes.iter().flat_map(|t| &t.sessions) {
        let Some(known) = journal.session(session).map_err(failed)? else {
            continue;
        };
        if known.session.provider_sessions.is_empty() {
            nameless.push(session.clone());
        }
        for provider in known.session.provider_sessions {
            names.insert(provider, session.clone());
        }
    }
    let mut recorder = Recorder::watched(
        Rebuilt {
            names,
            nameless,
            timelines: Vec::new(),
        },
        None,
        watch,
    );
    let mut inputs = 0;
    for tape in &tapes {
        let mut number = 1;
        loop {
            let page = journal
                .read_tape(&tape.connection, number, 4096)
                .map_err(failed)?;
            let Some(last) = page.last() else { break };
            number = last.number + 1;
            for input in &page {
                let record = TapeRecord::decode(input.number, input.at, &input.bytes);
                let record =
                    record.map_err(|e| Failure::Journal(format!("tape {}: {e}", tape.connection)))?;
                recorder.record(&record);
                inputs += 1;
            }
        }
    }
    Ok((recorder, inputs))
}

/// Where a session's rows differ from what its tapes give; the first few, as sentences.
pub(crate) fn differences(journal: &dyn Journal, entry: &SessionEntry) -> Result<Vec<String>, Failure> {
    let id = &entry.session.id;
    let settled = journal
        .generations(id)
        .map_err(failed)?
        .iter()
        .any(|g| g.end == GenerationEnd::Settled);
    let live = journal
        .generations(id)
        .map_err(failed)?
        .iter()
        .any(|g| g.end == GenerationEnd::Running);
    let (recorder, _) = replay(journal, entry, Silent)?;
    let store = recorder.store();
    let Some((_, timeline)) = store.timelines.iter().find(|(known, _)| known == id) else {
        return Ok(vec![format!("session {id}: its tapes do not hold it")]);
    };
    let mut wrong = Vec::new();
    let mut seen = 0usize;
    super::each_page(journal, id, |rows| {
        for row in rows {
            let from_tape = timeline.row(&row.id);
            let same = from_tape.as_ref().is_some_and(|tape| equal(tape, row));
            seen += usize::from(from_tape.is_some());
            // What a settlement wrote stands on no tape, nor what a live process has not written yet.
            if !same && !settled && !live && wrong.len() < 8 {
                let what = if from_tape.is_some() {
                    "differs from"
                } else {
                    "is not in"
                };
                wrong.push(format!("row {} {what} what the tape gives", row.id));
            }
        }
        Ok(())
    })?;
    if seen < timeline.rows().len() && !live {
        wrong.push(format!(
            "session {id}: {} rows of the tape are not in the journal",
            timeline.rows().len() - seen
        ));
    }
    Ok(wrong)
}

/// Equal but for the cursor, which only the journal knows, and the number, which a settlement may have moved.
fn equal(tape: &Row, row: &Row) -> bool {
    let mut row = row.clone();
    row.cursor = None;
    row.seq = tape.seq;
    row == *tape
}

pub(crate) fn verify(args: &VerifyArgs) -> Outcome {
    let (_, journal) = open()?;
    let entries = match &args.session {
        Some(wanted) => vec![find(&*journal, wanted)?],
        None => all(&*journal)?,
    };
    let only = args.session.as_ref().map(|_| entries[0].session.id.clone());
    let mut out = std::io::stdout().lock();
    let mut faults = 0;
    for finding in journal.verify(only.as_ref()).map_err(failed)? {
        faults += 1;
        writeln!(out, "{}", finding.text)?;
    }
    let mut progress = Progress::new("verify".to_owned(), Some(entries.len() as u64));
    for (n, entry) in entries.iter().enumerate() {
        progress.at(n as u64);
        for wrong in differences(&*journal, entry)? {
            faults += 1;
            writeln!(out, "{wrong}")?;
        }
    }
    drop(progress);
    if faults > 0 {
        return Err(Failure::NotThere(format!(
            "{} in {}",
            many(faults as u64, "fault"),
            many(entries.len() as u64, "session")
        )));
    }
    Ok(writeln!(
        out,
        "{}: cursors rise, tapes and blobs match their hashes, rows equal what the tapes give",
        many(entries.len() as u64, "session")
    )?)
}

pub(crate) fn rebuild(args: &RebuildArgs) -> Outcome {
    let (_, journal) = open()?;
    let entry = find(&*journal, &args.session)?;
    let (recorder, inputs) = replay(&*journal, &entry, Silent)?;
    let id = &entry.session.id;
    let Some((_, timeline)) = recorder.store().timelines.iter().find(|(known, _)| known == id) else {
        return Err(Failure::Journal(format!(
            "the tapes of session {id} do not hold it"
        )));
    };
    say(format!("{inputs} inputs read again"));
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if let Some(session) = timeline.session() {
        translate::line(&mut out, session)?;
    }
    for row in timeline.rows() {
        translate::line(&mut out, &**row)?;
    }
    Ok(out.flush()?)
}

/// What each input of a session's tapes became.
pub(crate) fn explain_session(wanted: &str, row: Option<&str>, json: bool) -> Outcome {
    let (_, journal) = open()?;
    let entry = find(&*journal, wanted)?;
    let (mut recorder, _) = replay(&*journal, &entry, Account::new())?;
    let account = std::mem::take(recorder.watch_mut());
    let row = match row {
        Some(row) => {
            let rows = journal
                .rows(&entry.session.id, Window::From(1, crate::journal::ALL_ROWS))
                .map_err(failed)?;
            Some(explain::find_row(rows.iter().map(|r| &r.id), row)?)
        }
        None => None,
    };
    explain::print(account.entries(), row.as_deref(), json)
}

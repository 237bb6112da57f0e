//! `tapline watch`: the sessions as they change.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use tapline_journal::{Journal, SessionEntry, SessionQuery, Status, Watch};

use crate::failure::Failure;
use crate::journal::{chats, failed, open};
use crate::settings::count;
use crate::terminal::{is_dumb, told_width};
use crate::{Outcome, translate};

/// How long one look waits; a change is seen at once.
const LOOK: Duration = Duration::from_secs(2);

/// Most sessions that are shown.
const SHOWN: usize = 500;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print JSON Lines: a session object whenever one changes
    #[arg(long)]
    json: bool,
    /// Print the list once more only so many times, then leave
    #[arg(long, hide = true)]
    times: Option<usize>,
    /// Show at most this many sessions
    #[arg(long, short = 'n', value_name = "SESSIONS", default_value_t = 20, value_parser = count)]
    limit: usize,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (_, journal) = open()?;
    // A terminal that only prints gets news as a pipe does.
    let on_terminal = std::io::stdout().is_terminal() && !args.json && !is_dumb();
    let mut known: Vec<(String, u64, Status)> = Vec::new();
    let mut times = 0;
    loop {
        let mark = journal.mark();
        journal.settle_dead().map_err(failed)?;
        let entries = newest(&*journal, args.limit)?;
        let now: Vec<_> = entries
            .iter()
            .map(|e| (e.session.id.to_string(), e.cursor, e.status))
            .collect();
        if now != known {
            let width = told_width();
            let mut lines = Vec::new();
            for (entry, state) in entries.iter().zip(&now) {
                if !on_terminal && known.contains(state) {
                    continue;
                }
                if args.json {
                    let value = chats::object(entry)?;
                    translate::line(&mut lines, &value)?;
                } else {
                    chats::text(&mut lines, &*journal, entry, width)?;
                }
            }
            let mut out = std::io::stdout().lock();
            if on_terminal {
                // Home, and whatever was below is cleared. What has no room at the foot would push the top away.
                write!(out, "\x1b[H\x1b[2J")?;
                let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
                let room = lines
                    .split_inclusive(|b| *b == b'\n')
                    .take(height.saturating_sub(1));
                let shown: usize = room.map(<[u8]>::len).sum();
                out.write_all(&lines[..shown])?;
            } else {
                out.write_all(&lines)?;
            }
            out.flush()?;
            known = now;
            times += 1;
            if args.times.is_some_and(|limit| times >= limit) {
                return Ok(());
            }
        }
        journal.wait(&Watch::Any(mark), LOOK).map_err(failed)?;
    }
}

/// The sessions that need someone first, then those that run, then the others; within that the newest change first.
fn newest(journal: &dyn Journal, limit: usize) -> Result<Vec<SessionEntry>, Failure> {
    let mut query = SessionQuery {
        limit: SHOWN,
        ..SessionQuery::default()
    };
    let mut all = Vec::new();
    for status in [Status::Waiting, Status::Live] {
        query.status = Some(status);
        all.extend(journal.sessions(&query).map_err(failed)?);
    }
    query.status = None;
    query.limit = limit.clamp(1, SHOWN);
    let rest = journal.sessions(&query).map_err(failed)?;
    all.extend(
        rest.into_iter()
            .filter(|e| !matches!(e.status, Status::Waiting | Status::Live)),
    );
    all.truncate(limit.max(1));
    Ok(all)
}

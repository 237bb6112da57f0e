//! Somebody in another process who wants something of a hosted session, for tests of several at once.
//!
//! `tapline-post HOME SESSION BY` posts an intent for each line of its input, `{"kind": "…", "payload": …}`, and says the number
//! of each on a line of its own.

#![forbid(unsafe_code)]

use std::io::Write as _;

use serde::Deserialize;
use tapline_journal::{Home, Journal as _, NewIntent, SqliteJournal};
use tapline_timeline::{Json, SessionId};

#[derive(Deserialize)]
struct Wanted {
    kind: String,
    payload: Json,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const USAGE: &str = "usage: tapline-post HOME SESSION BY";
    let mut arguments = std::env::args().skip(1);
    let mut word = || arguments.next().ok_or(USAGE);
    let (home, session, by) = (word()?, SessionId::from(word()?), word()?);
    let journal = SqliteJournal::open(&Home::at(home))?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lines() {
        let wanted: Wanted = serde_json::from_str(&line?)?;
        let intent = journal.post_intent(&NewIntent {
            session: session.clone(),
            kind: wanted.kind,
            payload: wanted.payload,
            by: by.clone(),
        })?;
        writeln!(out, "{}", intent.id)?;
        out.flush()?;
    }
    Ok(())
}

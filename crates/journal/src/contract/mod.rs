//! What every journal must do, as tests that run against any of them.
//!
//! A journal under test is a [`Subject`]: something that can be opened again and again, each time as another process
//! would see it. [`TESTS`] names every test; a journal that passes them all can stand in the place of any other. The
//! centre is `rows_are_the_fold_of_changes`: whatever is written, in whatever pieces, is read as the reference reader
//! of changes ([`tapline_timeline::Timeline`]) has it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "these are tests, kept where other crates can run them"
)]

mod owners;
mod rows;
mod script;
mod sessions;

use std::sync::Arc;

use serde_json::{Value, json};
use tapline_timeline::{Row, RowId, SessionId, Time};

use crate::{Begin, Journal, Mode, Owner};

use owners::*;
use rows::*;
pub use script::{Script, bare, input, seed};
use sessions::*;

/// A journal that can be opened more than once.
pub trait Subject {
    /// Opens it, as another process would.
    fn open(&self) -> Box<dyn Journal>;
}

/// A test: its name and what it does.
pub type Test = (&'static str, fn(&dyn Subject));

/// Every test.
pub const TESTS: &[Test] = &[
    ("rows_are_the_fold_of_changes", rows_are_the_fold_of_changes),
    ("a_follower_misses_nothing", a_follower_misses_nothing),
    ("windows", windows),
    ("saved_means_committed", saved_means_committed),
    ("an_empty_flush_stops_nothing", an_empty_flush_stops_nothing),
    (
        "a_look_up_sees_what_is_not_committed",
        a_look_up_sees_what_is_not_committed,
    ),
    ("an_old_generation_is_refused", an_old_generation_is_refused),
    ("a_dead_owner_is_settled", a_dead_owner_is_settled),
    (
        "a_prompt_of_which_nothing_was_heard_is_unconfirmed",
        a_prompt_of_which_nothing_was_heard_is_unconfirmed,
    ),
    (
        "a_generation_that_ended_is_not_settled",
        a_generation_that_ended_is_not_settled,
    ),
    ("large_values_come_back", large_values_come_back),
    ("tapes", tapes),
    ("sessions_are_listed", sessions_are_listed),
    ("sessions_are_found", sessions_are_found),
    ("imports_are_told_apart", imports_are_told_apart),
    ("intents", intents),
    ("an_intent_is_claimed_once", an_intent_is_claimed_once),
    ("search", search),
    ("waiting", waiting),
    ("forgetting", forgetting),
    ("a_sound_journal_has_no_findings", a_sound_journal_has_no_findings),
];

/// Runs every test, each against a fresh journal.
pub fn run(fresh: &dyn Fn() -> Box<dyn Subject>) {
    for (name, test) in TESTS {
        eprintln!("contract: {name}");
        test(&*fresh());
    }
}

/// What a session begins with.
pub fn begin(session: &str, mode: Mode) -> Begin {
    let owner = Owner {
        pid: std::process::id(),
        host: "here".to_owned(),
        started: Time::At(1_700_000_000_000),
    };
    Begin {
        session: SessionId::from(session),
        owner,
        mode,
        origin: None,
    }
}

/// A row from its JSON; what every row needs is filled in.
pub fn row(session: &str, seq: u64, members: Value) -> Arc<Row> {
    let mut all = json!({
        "id": RowId::spell(&SessionId::from(session), &format!("r:{seq}")), "seq": seq, "session": session,
        "revision": 1, "frames": [seq, seq],
    });
    let members = members.as_object().expect("members are an object").clone();
    all.as_object_mut().expect("an object").extend(members);
    Arc::new(serde_json::from_value(all).expect("a row"))
}

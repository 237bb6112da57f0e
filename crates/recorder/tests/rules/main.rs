//! The rules of the whole path, one test each, named by the scenario or the rule: frames in, rows out.

#[path = "../../../timeline/tests/rules/ledger.rs"]
mod ledger;
#[path = "../../../timeline/tests/rules/picture.rs"]
mod picture;
mod tape;

mod docs;
mod history;
mod invariants;
mod limits;
mod lines;
mod requests;
mod scenarios;
mod tools;
mod turns;
mod updates;
mod words;

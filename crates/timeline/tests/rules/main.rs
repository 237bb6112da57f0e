//! The rules of the assembler, one test each, named by the scenario or the rule: events in, rows out.

mod bench;
mod ledger;
mod picture;

mod endings;
mod invariants;
mod items;
mod late;
mod limits;
mod messages;
mod session;
mod stop;
mod text;
mod tools;
mod turns;

//! Every journal against the contract.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use tapline_journal::contract::{Subject, run};
use tapline_journal::{Home, Journal, MemoryJournal, SqliteJournal};

struct Memory(MemoryJournal);

impl Subject for Memory {
    fn open(&self) -> Box<dyn Journal> {
        Box::new(self.0.clone())
    }
}

struct Sqlite(tempfile::TempDir);

impl Subject for Sqlite {
    fn open(&self) -> Box<dyn Journal> {
        // Not a clone: another connection, another writing thread, as another process has.
        Box::new(SqliteJournal::open(&Home::at(self.0.path())).unwrap())
    }
}

#[test]
fn memory_keeps_the_contract() {
    run(&|| Box::new(Memory(MemoryJournal::new())));
}

#[test]
fn sqlite_keeps_the_contract() {
    run(&|| Box::new(Sqlite(tempfile::tempdir().unwrap())));
}

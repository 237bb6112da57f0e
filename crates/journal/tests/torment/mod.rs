//! A writer in a process of its own, and what must stand in its file.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use tapline_journal::contract::{Script, bare, input};
use tapline_journal::*;
use tapline_timeline::{Row, SessionId};

/// A writer in a process of its own.
pub(crate) struct Torment {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Torment {
    pub(crate) fn start(home: &Path, session: &str, seed: u64, steps: u64) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_journal-torment"))
            .args([
                home.as_os_str(),
                session.as_ref(),
                seed.to_string().as_ref(),
                steps.to_string().as_ref(),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "begun");
        Self { child, lines }
    }

    /// Reads reports until there are so many, kills the process, and gives the last cursor it reported.
    pub(crate) fn kill_after(mut self, reports: u64) -> u64 {
        let mut saved = 0;
        let mut count = 0;
        while count < reports {
            let Some(line) = self.lines.next() else { break };
            saved = cursor_of(&line.unwrap()).unwrap_or(saved);
            count += 1;
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        // What it printed before it died was reported as well.
        for line in self.lines.map_while(Result::ok) {
            saved = cursor_of(&line).unwrap_or(saved);
        }
        saved
    }

    pub(crate) fn finish(mut self) -> u64 {
        let done = self
            .lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|l| l.strip_prefix("done ")?.parse().ok());
        assert!(self.child.wait().unwrap().success());
        done.expect("it says how far it came")
    }
}

fn cursor_of(line: &str) -> Option<u64> {
    line.split_once(' ')?.1.parse().ok()
}

/// The chat of `seed` after so many changes.
pub(crate) fn chat(session: &str, seed: u64, cursor: u64) -> Vec<Row> {
    let mut script = Script::new(session, seed);
    while script.cursor() < cursor {
        script.step();
    }
    bare(script.timeline().rows())
}

/// What stands in the file is a prefix of the chat, rows and tape alike, that holds what was reported.
pub(crate) fn check_prefix(journal: &dyn Journal, session: &str, seed: u64, saved: u64) -> u64 {
    let id = SessionId::from(session);
    let cursor = journal
        .follow(
            &id,
            0,
            Follow {
                limit: 1_000_000,
                appends: true,
            },
        )
        .unwrap()
        .cursor;
    assert!(
        cursor >= saved,
        "change {saved} was reported as saved, the file ends at {cursor}"
    );
    let rows = journal.rows(&id, Window::From(0, 1_000_000)).unwrap();
    assert_eq!(bare(&rows), chat(session, seed, cursor));
    let mut number = 0;
    loop {
        let inputs = journal.read_tape(session, number + 1, 10_000).unwrap();
        if inputs.is_empty() {
            break;
        }
        for read in inputs {
            number += 1;
            assert_eq!((read.number, &read.bytes), (number, &input(number)));
        }
    }
    assert_eq!(
        number, cursor,
        "the tape holds the inputs of exactly these changes"
    );
    cursor
}

//! The durability sentence, against processes that are killed and files that are torn.
//!
//! Each test prints the seed that repeats it (`TAPLINE_SEED=… cargo test -p tapline-journal --test crash`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use tapline_journal::contract::{Script, bare, input, seed};
use tapline_journal::*;
use tapline_timeline::{Row, SessionId};

/// A writer in a process of its own.
struct Torment {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Torment {
    fn start(home: &Path, session: &str, seed: u64, steps: u64) -> Self {
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
    fn kill_after(mut self, reports: u64) -> u64 {
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

    fn finish(mut self) -> u64 {
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
fn chat(session: &str, seed: u64, cursor: u64) -> Vec<Row> {
    let mut script = Script::new(session, seed);
    while script.cursor() < cursor {
        script.step();
    }
    bare(script.timeline().rows())
}

/// What stands in the file is a prefix of the chat, rows and tape alike, that holds what was reported.
fn check_prefix(journal: &dyn Journal, session: &str, seed: u64, saved: u64) -> u64 {
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

#[test]
fn what_was_reported_survives_a_kill_at_any_moment() {
    let base = seed();
    for round in 0..12 {
        let dir = tempfile::tempdir().unwrap();
        let seed = base.wrapping_add(round);
        let saved = Torment::start(dir.path(), "s", seed, 1_000_000).kill_after(1 + seed % 12);
        let journal = SqliteJournal::open(&Home::at(dir.path())).unwrap();
        let cursor = check_prefix(&journal, "s", seed, saved);
        assert_eq!(journal.verify(None).unwrap(), []);
        // Whoever looks first settles what the dead process left.
        let entry = journal.session(&SessionId::from("s")).unwrap().unwrap();
        assert!(matches!(entry.status, Status::Cut | Status::Ended) && entry.cursor > cursor);
        assert!(journal.open_rows(&SessionId::from("s")).unwrap().is_empty());
        assert_eq!(journal.verify(None).unwrap(), []);
    }
}

#[test]
fn a_torn_log_leaves_a_prefix() {
    let base = seed();
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let torment = Torment::start(dir.path(), "s", base, 1_000_000);
    torment.kill_after(8);
    let (database, log) = (home.database(), home.root().join("journal.db-wal"));
    let whole = std::fs::read(&log).unwrap();
    assert!(whole.len() > 20_000, "there is a log to tear");
    let mut last = 0;
    for step in 0..12u64 {
        // A crash of the machine keeps a part of what was not synced yet: the tail is cut, zeroed or scrambled.
        let torn = tempfile::tempdir().unwrap();
        let copy = Home::at(torn.path());
        copy.prepare().unwrap();
        std::fs::copy(&database, copy.database()).unwrap();
        let keep = (whole.len() / 12 * step as usize) / 512 * 512;
        let mut log = whole.clone();
        match step % 3 {
            0 => log.truncate(keep),
            1 => log[keep..].fill(0),
            _ => log[keep..]
                .iter_mut()
                .for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7)),
        }
        std::fs::write(copy.root().join("journal.db-wal"), &log).unwrap();
        let journal = match SqliteJournal::open(&copy) {
            Ok(journal) => journal,
            Err(error) => panic!("{error}"),
        };
        if journal
            .follow(
                &SessionId::from("s"),
                0,
                Follow {
                    limit: 1,
                    appends: true,
                },
            )
            .is_ok()
        {
            let cursor = check_prefix(&journal, "s", base, 0);
            assert!(cursor >= last, "a longer log holds no less");
            last = cursor;
        }
        assert_eq!(journal.verify(None).unwrap(), []);
    }
    assert!(last > 0);
}

#[test]
fn several_processes_write_and_a_reader_of_each_misses_nothing() {
    let base = seed();
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..4).map(|index| format!("s{index}")).collect();
    let writers: Vec<Torment> = names
        .iter()
        .zip(0..)
        .map(|(name, index)| Torment::start(dir.path(), name, base.wrapping_add(index), 1_000))
        .collect();
    let journal = SqliteJournal::open(&Home::at(dir.path())).unwrap();
    let followers: Vec<_> = names
        .iter()
        .map(|name| {
            let (journal, session) = (journal.clone(), SessionId::from(name.as_str()));
            std::thread::spawn(move || follow_to_the_end(&journal, &session))
        })
        .collect();
    let ends: Vec<u64> = writers.into_iter().map(Torment::finish).collect();
    for (index, follower) in followers.into_iter().enumerate() {
        let seen = follower.join().unwrap();
        let want = chat(&names[index], base.wrapping_add(index as u64), ends[index]);
        assert_eq!(seen.len(), want.len());
        for (seen, want) in seen.iter().zip(&want) {
            assert_eq!(seen, want);
        }
        check_prefix(
            &journal,
            &names[index],
            base.wrapping_add(index as u64),
            ends[index],
        );
    }
    assert_eq!(journal.verify(None).unwrap(), []);
}

/// Follows a session in another process until it has ended; what the reader has then.
fn follow_to_the_end(journal: &SqliteJournal, session: &SessionId) -> Vec<Row> {
    let mut rows: HashMap<u64, Row> = HashMap::new();
    let mut after = 0;
    loop {
        let ended = journal.session(session).unwrap().unwrap().status == Status::Ended;
        let followed = journal
            .follow(
                session,
                after,
                Follow {
                    limit: 50,
                    appends: false,
                },
            )
            .unwrap();
        for news in &followed.news {
            assert!(news.cursor() > after);
            after = news.cursor();
            if let News::Row(row) = news {
                rows.insert(row.seq, Row::clone(row));
            }
        }
        after = after.max(followed.cursor);
        if ended && !followed.more && followed.news.is_empty() {
            break;
        }
        if followed.news.is_empty() {
            journal
                .wait(
                    &Watch::Session(session.clone(), after),
                    Duration::from_millis(100),
                )
                .unwrap();
        }
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| row.seq);
    rows.iter_mut().for_each(|row| row.cursor = None);
    rows
}

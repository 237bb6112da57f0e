//! The durability sentence, against processes that are killed and files that are torn.
//!
//! Each test prints the seed that repeats it (`TAPLINE_SEED=… cargo test -p tapline-journal --test crash`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod torment;

use std::collections::HashMap;
use std::time::Duration;

use tapline_journal::contract::seed;
use tapline_journal::*;
use tapline_timeline::{Row, SessionId};
use torment::{Torment, chat, check_prefix};

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

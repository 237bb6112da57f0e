//! Checking what stands in the file: what is wrong is a finding, never an error and never repaired.

use std::collections::HashSet;

use rusqlite::params;
use tapline_timeline::SessionId;

use crate::error::Error;
use crate::model::Finding;
use crate::tape;

use super::read::{Db, low};
use super::tapes::OpenPiece;
use super::{place, session_range};

/// Findings of one kind that are told one by one.
const FINDINGS_LIMIT: usize = 100;

impl Db<'_> {
    pub(super) fn verify(self, session: Option<&SessionId>) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        if session.is_none() {
            let told = self.list("checking the file", "PRAGMA integrity_check(100)", [], |row| {
                row.get::<_, String>(0)
            });
            match told {
                Ok(lines) => findings.extend(
                    lines
                        .into_iter()
                        .filter(|line| line != "ok")
                        .map(|text| Finding { about: None, text }),
                ),
                Err(error) => findings.push(Finding {
                    about: None,
                    text: error.to_string(),
                }),
            }
        }
        let sessions: Vec<(i64, String)> = self.list(
            "checking sessions",
            "SELECT num, id FROM sessions WHERE ?1 IS NULL OR id = ?1 ORDER BY num",
            [session.map(|session| session.as_str())],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        // The tables by themselves: a tail that is broken is a finding of its tape.
        let tables = Self { tails: None, ..self };
        for (number, id) in &sessions {
            tables.verify_session(*number, id, &mut findings)?;
        }
        let tapes: Vec<(i64, String)> = self.list(
            "checking tapes",
            "SELECT num, connection FROM tapes
             WHERE ?1 IS NULL OR num IN (SELECT tape FROM generations JOIN sessions s ON s.num = session WHERE s.id = ?1)",
            [session.map(|session| session.as_str())],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        for (tape, connection) in &tapes {
            self.verify_tape(*tape, connection, &mut findings)?;
        }
        if session.is_none() {
            self.verify_blobs(&mut findings)?;
        }
        Ok(findings)
    }

    fn verify_session(self, number: i64, id: &str, findings: &mut Vec<Finding>) -> Result<(), Error> {
        let mut say = |text: String| {
            findings.push(Finding {
                about: Some(id.to_owned()),
                text,
            })
        };
        let (from, to) = session_range(number);
        let last = self.cursor(number)?;
        let beyond: Vec<i64> = self.list(
            "checking cursors",
            "SELECT rid FROM rows WHERE session = ?1 AND cursor > ?2 LIMIT 100",
            params![number, last],
            |row| row.get(0),
        )?;
        for rid in beyond {
            say(format!(
                "Row {} has a cursor beyond the session's last, {last}.",
                low(rid)
            ));
        }
        let counted: Option<(u64, u64)> = self.one(
            "checking rows",
            "SELECT rows, (SELECT count(*) FROM rows r WHERE r.rid BETWEEN ?2 AND ?3) FROM sessions WHERE num = ?1",
            params![number, from, to],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        if let Some((said, there)) = counted.filter(|(said, there)| said != there) {
            say(format!("The session should have {said} rows and has {there}."));
        }
        let mut next = from;
        let mut told = 0;
        loop {
            let rids: Vec<i64> = self.list(
                "checking rows",
                "SELECT rid FROM rows WHERE rid BETWEEN ? AND ? ORDER BY rid LIMIT 500",
                [next, to],
                |row| row.get(0),
            )?;
            let Some(end) = rids.last() else { break };
            next = end + 1;
            for rid in &rids {
                let wrong = match self.row_at(*rid) {
                    Ok(Some(row)) if row.seq != low(*rid) => {
                        Some(format!("Row {} stands at place {}.", row.seq, low(*rid)))
                    }
                    Ok(_) => None,
                    Err(error) => Some(error.to_string()),
                };
                if let Some(text) = wrong.filter(|_| told < FINDINGS_LIMIT) {
                    told += 1;
                    say(text);
                }
            }
        }
        Ok(())
    }

    fn verify_tape(self, tape: i64, connection: &str, findings: &mut Vec<Finding>) -> Result<(), Error> {
        let mut say = |text: String| {
            findings.push(Finding {
                about: Some(connection.to_owned()),
                text,
            })
        };
        let mut head = tape::START;
        let mut next = 0;
        while let Some(block) = self.block_from(tape, next)? {
            if block.before != head {
                say(format!(
                    "The block from input {} does not follow the one before it: a block is missing or changed.",
                    block.first
                ));
            }
            match block.records() {
                Err(error) => say(format!(
                    "The block from input {} is damaged: {error}.",
                    block.first
                )),
                Ok(data) => {
                    let numbers: Vec<u64> = tape::records(&data)
                        .filter_map(Result::ok)
                        .map(|input| input.number)
                        .collect();
                    if !numbers.is_sorted_by(|a, b| a < b) || numbers.first() != Some(&block.first) {
                        say(format!("The inputs from {} on are not in order.", block.first));
                    }
                }
            }
            head = block.hash;
            next = block.last + 1;
        }
        let sql = format!(
            "SELECT {} FROM tape_open WHERE tid BETWEEN ? AND ? ORDER BY tid",
            OpenPiece::COLUMNS
        );
        let range = [place(tape, 0), session_range(tape).1];
        for piece in self.list("checking tapes", &sql, range, OpenPiece::read)? {
            let (first, last) = (piece.first, piece.last);
            if piece.records().is_err() {
                say(format!("The open end from input {first} is damaged."));
            }
            if first < next {
                say(format!(
                    "The open end begins at input {first}, which stands in a block already."
                ));
            }
            next = last + 1;
        }
        match self.tail(tape) {
            Err(error @ Error::Damaged { .. }) => say(error.to_string()),
            Err(error) => return Err(error),
            Ok(tail) => {
                for (first, last) in tail.records.iter().filter_map(|record| record.numbers) {
                    if first < next {
                        say(format!(
                            "The tail begins at input {first}, which stands on the tape already."
                        ));
                    }
                    next = last + 1;
                }
            }
        }
        Ok(())
    }

    fn verify_blobs(self, findings: &mut Vec<Finding>) -> Result<(), Error> {
        let hashes: Vec<String> =
            self.list("checking values", "SELECT hash FROM blobs", [], |row| row.get(0))?;
        for hash in &hashes {
            if let Err(error) = self.blob(hash) {
                findings.push(Finding {
                    about: None,
                    text: error.to_string(),
                });
            }
        }
        let known: HashSet<&String> = hashes.iter().collect();
        let used: Vec<String> = self.list(
            "checking values",
            "SELECT DISTINCT hash FROM blob_uses",
            [],
            |row| row.get(0),
        )?;
        for hash in used.iter().filter(|hash| !known.contains(hash)) {
            findings.push(Finding {
                about: None,
                text: format!("A row uses value {hash}, which is missing."),
            });
        }
        Ok(())
    }
}

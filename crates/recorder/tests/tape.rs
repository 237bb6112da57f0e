//! *one-path*: what was recorded, put on a tape and read again is the same timeline.
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use tapline_recorder::{
    Direction, Memory, Opened, Opening, Recorded, Recorder, Recording, SessionRef, Store, TapeError,
    TapeRecord, rebuild,
};
use tapline_timeline::{Change, Row, RowId, Time};
use tapline_translate::Way;

/// Memory that also keeps the tape.
#[derive(Default)]
struct Taped {
    memory: Memory,
    tape: Vec<(u64, Option<Time>, Vec<u8>)>,
    open: bool,
}

impl Store for Taped {
    fn open(&mut self, session: SessionRef, provider: Option<&str>, way: Way) -> Opened {
        self.memory.open(session, provider, way)
    }
    fn change(&mut self, session: SessionRef, change: &Change<'_>) {
        assert!(self.open, "every change belongs to an input");
        self.memory.change(session, change);
    }
    fn row(&self, session: SessionRef, id: &RowId) -> Option<Arc<Row>> {
        self.memory.row(session, id)
    }
    fn input(&mut self, record: &TapeRecord<'_>) {
        assert!(!std::mem::replace(&mut self.open, true));
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        self.tape.push((record.number, record.at, bytes));
    }
    fn complete(&mut self) {
        assert!(std::mem::replace(&mut self.open, false));
    }
}

fn rows(memory: &Memory) -> Vec<String> {
    let mut lines = Vec::new();
    for timeline in memory.timelines() {
        lines.extend(timeline.session().map(|s| serde_json::to_string(s).unwrap()));
        lines.extend(
            timeline
                .rows()
                .iter()
                .map(|row| serde_json::to_string(&**row).unwrap()),
        );
    }
    lines
}

fn fixtures() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "jsonl")
                && !path.to_string_lossy().contains("vectors")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn decoded(tape: &[(u64, Option<Time>, Vec<u8>)]) -> impl Iterator<Item = TapeRecord<'_>> {
    tape.iter()
        .map(|(number, at, bytes)| TapeRecord::decode(*number, *at, bytes).unwrap())
}

/// Rebuilds, and also breaks off anywhere and goes on.
fn check(name: &str, taped: &Taped, seed: u64) {
    let expected = rows(&taped.memory);
    assert!(
        taped
            .tape
            .iter()
            .enumerate()
            .all(|(at, (number, ..))| *number == at as u64 + 1)
    );
    assert_eq!(rows(rebuild(decoded(&taped.tape)).store()), expected, "{name}");
    let at = fastrand::Rng::with_seed(seed).usize(0..=taped.tape.len());
    let mut recorder = rebuild(decoded(&taped.tape[..at]));
    for record in decoded(&taped.tape[at..]) {
        recorder.record(&record.into_owned());
    }
    assert_eq!(rows(recorder.store()), expected, "{name} in two parts at {at}");
    assert_eq!(recorder.unaccounted(), 0);
}

#[test]
fn every_fixture_is_the_same_after_a_rebuild_from_its_tape() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let files = fixtures();
    assert!(files.len() > 500, "only {} fixtures were found", files.len());
    let mut inputs = 0;
    for file in files {
        let mut recording = Recording::new(|hint| Recorder::new(Taped::default(), hint).with_seed("seed-"));
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            // What is no line of a recording is no input.
            let _ = recording.line(line);
        }
        let (taped, _) = recording.finish().into_parts();
        inputs += taped.tape.len();
        check(&file.to_string_lossy(), &taped, seed ^ inputs as u64);
    }
    assert!(inputs > 10_000, "only {inputs} inputs were compared");
}

fn chunk(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{text}}}}}}}}}"#
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What masking holds back and lets out later stands on the tape, and is not held back again.
    #[test]
    fn secrets_that_are_cut_anywhere_are_rebuilt_as_they_were(cuts in prop::collection::vec(1usize..12, 1..12), breaks in prop::collection::vec(any::<bool>(), 12)) {
        let text = "The key is ghp_abcdefghijklmnopqrstuvwxyz0123456789 and sk- ends";
        let mut recorder = Recorder::new(Taped::default(), None).with_seed("x");
        recorder.line("", Direction::Out, r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#, None);
        recorder.line("", Direction::Out, r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#, None);
        let mut rest = text;
        for (cut, ends) in cuts.iter().zip(breaks) {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            recorder.line("", Direction::In, &chunk(piece), Some(Time::At(5)));
            rest = after;
            if ends {
                recorder.line("", Direction::In, r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}"#, None);
            }
        }
        recorder.line("", Direction::In, &chunk(rest), None);
        recorder.line("", Direction::Out, r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#, None);
        recorder.close();
        check("cut", recorder.store(), 7);
    }

    #[test]
    fn a_record_is_read_as_it_was_written(
        number in 1u64.., name: String, text: String, begins: bool, seed in prop::option::of(any::<String>()),
        hint in prop::option::of(".+"), kind in 0..8, bytes: u64, code: Option<i64>, signal: Option<String>,
    ) {
        let direction = if kind % 2 == 0 { Direction::In } else { Direction::Out };
        let what = match kind {
            0 | 1 => Recorded::Line(direction, text.into()),
            2 | 3 => Recorded::TooLong(direction, text.into(), bytes),
            4 => Recorded::Stderr(text.into()),
            5 => Recorded::Exit { code, signal: signal.map(Into::into) },
            6 => Recorded::Close,
            _ => Recorded::Did(text.into()),
        };
        let opening = seed.map(|seed| Opening { seed: seed.into(), hint: hint.map(Into::into) });
        let record = TapeRecord { number, at: Some(Time::At(-1)), connection: name.into(), begins, opening, what };
        let mut out = Vec::new();
        record.encode(&mut out);
        prop_assert_eq!(TapeRecord::decode(number, record.at, &out).unwrap(), record);
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes: Vec<u8>, tag in 0u8..16) {
        let _ = TapeRecord::decode(1, None, &bytes);
        let bytes: Vec<u8> = [0x10 | tag, 3].into_iter().chain(bytes).collect();
        let _ = TapeRecord::decode(1, None, &bytes);
    }
}

#[test]
fn a_record_of_a_newer_version_is_told() {
    let error = TapeRecord::decode(7, None, &[0x20, 0, 0]).unwrap_err();
    assert_eq!(error, TapeError::Newer { number: 7, found: 2 });
    assert!(matches!(
        TapeRecord::decode(7, None, &[]),
        Err(TapeError::Damaged { number: 7, .. })
    ));
}

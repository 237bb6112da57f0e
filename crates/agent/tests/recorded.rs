//! The record of what passes: the same as of the file, whatever happens to the ledger.
#![cfg(unix)]

mod common;
#[path = "common/archive.rs"]
mod archive;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use archive::{Files, Mood, inputs, rows};
use common::{Wrapped, line, read_all};
use rustix::process::Signal;
use serde_json::Value;
use tapline_agent::wrap::{End, fold_in};
use tapline_recorder::{Memory, Recorder, TapeRecord, rebuild};
use tapline_testkit::Status;
use tapline_testkit::client::play;
use tapline_testkit::recording::Recording;

/// The scripted agent, which cargo has built beside us.
fn scripted_agent() -> String {
    let us = Path::new(env!("CARGO_BIN_EXE_tapline-wrap"));
    let agent = us.with_file_name("scripted-agent");
    assert!(agent.exists(), "build it first: cargo build -p tapline-testkit --bins");
    agent.to_str().expect("a plain path").to_owned()
}

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut folders = vec![root.join("cases"), root.join("recordings")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn start(folder: &Path, mood: &str, command: &[&str]) -> Wrapped {
    let folder = folder.to_str().unwrap();
    Wrapped::start_with(command, &[("TAPLINE_TEST_RECORD", folder), ("TAPLINE_TEST_MOOD", mood)])
}

/// What stands in the folder of a ledger.
fn recorded(folder: &Path) -> String {
    fs::read_to_string(folder.join("connection.rows")).unwrap_or_default()
}

/// The rows that a rebuild from the ledger's tape gives.
fn rebuilt(folder: &Path) -> String {
    let tape = inputs(&folder.join("connection.tape"));
    let records = tape.iter().map(|(number, at, bytes)| TapeRecord::decode(*number, *at, bytes).unwrap());
    rows(rebuild(records).store())
}

fn side_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join("spill")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Rows without what depends on the clock and on the connection's own name.
fn plain(rows: &str) -> Vec<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for name in ["at", "t_ms", "ended_at", "duration_ms", "updated_at"] {
                    map.remove(name);
                }
                map.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::String(text) => *text = text.replace("connection.1", "1"),
            _ => {}
        }
    }
    rows.lines()
        .map(|line| {
            let mut row = serde_json::from_str(line).unwrap();
            strip(&mut row);
            row
        })
        .collect()
}

fn whole(file: &Path, process: usize, folder: &Path, mood: &str) -> Recording {
    let recording = Recording::open(file).unwrap();
    let agent = scripted_agent();
    let number = process.to_string();
    let mut wrapped = start(folder, mood, &[&agent, "--process", &number, file.to_str().unwrap()]);
    let (output, input) = (wrapped.output(), wrapped.input());
    let received = play(&recording.processes[process], output, input).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    assert!(received == recording.processes[process].agent_bytes());
    let (end, errors) = wrapped.end();
    let expected = match recording.processes[process].exit.unwrap_or(Status::Code(0)) {
        Status::Code(code) => End::Code(code),
        Status::Signal(signal) => End::Signal(signal),
    };
    assert_eq!(end, expected, "{}", file.display());
    assert_eq!(String::from_utf8_lossy(&errors), recording.processes[process].agent_stderr());
    recording
}

/// The rows of the file as it stands, with an end of the process where the file has none.
fn translated(file: &Path) -> String {
    let mut recording =
        tapline_recorder::Recording::new(|_| Recorder::new(Memory::new(), None).with_seed("connection."));
    let text = fs::read_to_string(file).unwrap();
    let mut ends = false;
    for line in text.lines() {
        ends = line.contains("\"exit\"");
        recording.line(line).unwrap();
    }
    if !ends {
        recording.line(r#"{"dir":"in","exit":{"code":0}}"#).unwrap();
    }
    rows(recording.finish().store())
}

#[test]
fn every_recording_gives_through_wrap_the_rows_of_its_file() {
    let mut compared = 0;
    let mut differ = Vec::new();
    for file in fixtures() {
        let folder = tempfile::tempdir().unwrap();
        let recording = whole(&file, 0, folder.path(), "good");
        let live = recorded(folder.path());
        assert!(!live.is_empty(), "{}", file.display());
        assert_eq!(live, rebuilt(folder.path()), "{}: rebuild", file.display());
        assert_eq!(side_files(folder.path()), Vec::<PathBuf>::new(), "{}", file.display());
        if recording.processes.len() == 1 {
            compared += 1;
            if plain(&live) != plain(&translated(&file)) {
                differ.push((file, plain(&live), plain(&translated(&fixtures()[0]))));
            }
        }
    }
    for (file, live, _) in &differ {
        let expected = plain(&translated(file));
        println!("== {}", file.display());
        for at in 0..live.len().max(expected.len()) {
            if live.get(at) != expected.get(at) {
                println!("live {:?}\nfile {:?}", live.get(at).map(Value::to_string), expected.get(at).map(Value::to_string));
                break;
            }
        }
    }
    assert!(differ.is_empty(), "{} of {compared} differ", differ.len());
    assert!(compared > 450, "only {compared} were compared");
}

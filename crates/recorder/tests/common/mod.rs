//! What the tests of the dialects share: recorded lines in, rows as public JSON out.
#![allow(dead_code, unreachable_pub)] // Each test file is a crate of its own and uses its part.
#![allow(clippy::unwrap_used)] // It is all test code.

pub mod grok;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tapline_recorder::{Memory, Recorder, Recording, Stamp, Watch};

/// Every drop, with the number of its input.
#[derive(Debug, Default, Clone)]
pub struct Drops(Arc<Mutex<Vec<(u64, &'static str)>>>);

impl Watch for Drops {
    fn drop(&mut self, stamp: Stamp, reason: &'static str) {
        self.0.lock().unwrap().push((stamp.number, reason));
    }
}

/// What a recording says.
#[derive(Debug)]
pub struct Told {
    /// The session objects.
    pub sessions: Vec<Value>,
    /// All rows, by session and then in their order.
    pub rows: Vec<Value>,
    /// Every drop: number of the input, reason.
    pub drops: Vec<(u64, &'static str)>,
}

impl Told {
    /// The rows of a kind.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.rows.iter().filter(|row| row["kind"] == kind).collect()
    }

    /// The one row of a kind.
    pub fn one(&self, kind: &str) -> &Value {
        let rows = self.of(kind);
        assert_eq!(rows.len(), 1, "want one {kind}, have {rows:#?}");
        rows[0]
    }

    /// One member of each row of a kind.
    pub fn all(&self, kind: &str, member: &str) -> Vec<Value> {
        self.of(kind).iter().map(|row| row[member].clone()).collect()
    }

    /// The texts of a kind's rows in a turn.
    pub fn said(&self, kind: &str, turn: &Value) -> Vec<&str> {
        self.of(kind)
            .into_iter()
            .filter(|r| r["turn"] == turn["id"])
            .filter_map(|r| r["text"].as_str())
            .collect()
    }

    /// The rules that dropped inputs.
    pub fn rules(&self) -> Vec<&'static str> {
        self.drops.iter().map(|(_, rule)| *rule).collect()
    }
}

/// Reads the lines of a recording.
pub fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Told {
    let drops = Drops::default();
    let watch = drops.clone();
    let mut recording = Recording::new(move |hint| Recorder::watched(Memory::new(), hint, watch));
    for line in lines {
        recording.line(line).unwrap();
    }
    let recorder = recording.finish();
    assert_eq!(recorder.unaccounted(), 0, "an input ended as nothing");
    let (store, _) = recorder.into_parts();
    let mut told = Told {
        sessions: Vec::new(),
        rows: Vec::new(),
        drops: drops.0.lock().unwrap().clone(),
    };
    for timeline in store.timelines() {
        told.sessions.extend(timeline.session().map(value));
        told.rows.extend(timeline.rows().iter().map(|row| value(&**row)));
    }
    told
}

fn value(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap()
}

/// Reads frames: `{"dir", "msg"}` and the other lines of a recording.
pub fn timeline(lines: &[Value]) -> Told {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    read(lines.iter().map(String::as_str))
}

/// Reads recorded files, one process after the other.
pub fn files(paths: &[PathBuf]) -> Told {
    let mut lines = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        if n > 0 {
            lines.push(json!({"dir": "in", "exit": {"code": 0}}).to_string());
        }
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        lines.extend(text.lines().map(str::to_owned));
    }
    read(lines.iter().map(String::as_str))
}

/// The folder of the recordings that are part of the project.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// A file of the recordings that are no part of the project; says so and gives nothing where they are not at hand.
pub fn shared(file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("TAPLINE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = folder.join("recordings").join(file);
    if !path.exists() {
        eprintln!("skipped: {} is not at hand (set TAPLINE_SHARED)", path.display());
        return None;
    }
    Some(path)
}

/// From the client to the agent.
pub fn out(msg: Value) -> Value {
    line("out", msg)
}

/// From the agent to the client.
pub fn incoming(msg: Value) -> Value {
    line("in", msg)
}

fn line(dir: &str, mut msg: Value) -> Value {
    msg["jsonrpc"] = json!("2.0");
    json!({"dir": dir, "msg": msg})
}

//! The command as a process, and what it prints.
#![allow(dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub fn tapline(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
    command
        .args(arguments)
        .env("TAPLINE_HOME", home)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

pub fn run(home: &Path, arguments: &[&str]) -> Output {
    tapline(home, arguments).output().expect("tapline runs")
}

pub fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{:?}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(name)
}

/// Rows without what differs between two records of the same traffic: ids, times, numbers.
pub fn bare(lines: &str) -> Vec<Value> {
    let mut rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|row| row["kind"] != "session")
        .collect();
    for row in &mut rows {
        let row = row.as_object_mut().expect("an object");
        for name in [
            "id",
            "session",
            "turn",
            "parent",
            "tool",
            "child",
            "frames",
            "cursor",
            "revision",
            "at",
            "ended_at",
            "t_ms",
            "ended_t_ms",
        ] {
            row.remove(name);
        }
        if let Some(answer) = row.get_mut("answer").and_then(Value::as_object_mut) {
            answer.remove("at");
        }
    }
    rows
}

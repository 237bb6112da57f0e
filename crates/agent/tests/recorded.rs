//! The record of what passes: the same as of the file, whatever happens to the ledger.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

#[path = "common/archive.rs"]
mod archive;
mod common;
#[path = "common/fixtures.rs"]
mod fixtures;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use archive::{Files, Mood, inputs, rows};
use common::{Wrapped, line, read_all};
use fixtures::fixtures;
use rustix::process::Signal;
use serde_json::Value;
use tapline_agent::wrap::{End, fold_in};
use tapline_journal::{Home, Journal, SessionQuery, SqliteJournal, Status as Stands};
use tapline_recorder::{Memory, Recorder, TapeRecord, rebuild};
use tapline_testkit::Status;
use tapline_testkit::client::play;
use tapline_testkit::recording::Recording;

/// The scripted agent, which cargo has built beside us.
fn scripted_agent() -> String {
    let us = Path::new(env!("CARGO_BIN_EXE_tapline-wrap"));
    let agent = us.with_file_name("scripted-agent");
    assert!(
        agent.exists(),
        "build it first: cargo build -p tapline-testkit --bins"
    );
    agent.to_str().expect("a plain path").to_owned()
}

/// Begins a session with the agent; what a prompt is sent with.
fn begin<R: std::io::Read, W: Write>(talk: &mut tapline_testkit::client::Talk<R, W>) -> Value {
    talk.call("initialize", serde_json::json!({"protocolVersion": 1}))
        .unwrap();
    let session = talk
        .call("session/new", serde_json::json!({"cwd": "/", "mcpServers": []}))
        .unwrap();
    let prompt = serde_json::json!([{"type": "text", "text": "go"}]);
    serde_json::json!({"sessionId": session["result"]["sessionId"], "prompt": prompt})
}

fn start(folder: &Path, mood: &str, command: &[&str]) -> Wrapped {
    let folder = folder.to_str().unwrap();
    Wrapped::start_with(
        command,
        &[("TAPLINE_TEST_RECORD", folder), ("TAPLINE_TEST_MOOD", mood)],
    )
}

/// What stands in the folder of a ledger.
fn recorded(folder: &Path) -> String {
    fs::read_to_string(folder.join("connection.rows")).unwrap_or_default()
}

/// The rows that a rebuild from the ledger's tape gives.
fn rebuilt(folder: &Path) -> String {
    let tape = inputs(&folder.join("connection.tape"));
    let records = tape
        .iter()
        .map(|(number, at, bytes)| TapeRecord::decode(*number, *at, bytes).unwrap());
    rows(rebuild(records).store())
}

fn side_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join("spill")) else {
        return Vec::new();
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Rows also without the numbers of inputs: two pipes have no order between them, so what standard error says may be counted
/// before or after a frame.
fn unnumbered(rows: &str) -> Vec<Value> {
    let mut rows = plain(rows);
    rows.iter_mut().for_each(without_numbers);
    rows
}

/// Rows without what depends on the clock and on the connection's own name.
fn plain(rows: &str) -> Vec<Value> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                let times = ["at", "ended_at", "duration_ms", "updated_at"];
                map.retain(|name, _| !times.contains(&&**name) && !name.ends_with("t_ms"));
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

/// Leaves out the numbers of inputs, also where they stand in ids.
fn without_numbers(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("frames");
            map.values_mut().for_each(without_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(without_numbers),
        Value::String(text) => {
            if let Some((before, number)) = text.rsplit_once('@')
                && number.bytes().all(|b| b.is_ascii_digit())
            {
                *text = before.to_owned();
            }
        }
        _ => {}
    }
}

fn whole(file: &Path, process: usize, folder: &Path, mood: &str) -> Recording {
    let recording = Recording::open(file).unwrap();
    let agent = scripted_agent();
    let number = process.to_string();
    let mut wrapped = start(
        folder,
        mood,
        &[&agent, "--process", &number, file.to_str().unwrap()],
    );
    let (output, input) = (wrapped.output(), wrapped.input());
    let received = play(&recording.processes[process], output, input)
        .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    assert!(received == recording.processes[process].agent_bytes());
    let (end, errors) = wrapped.end();
    let expected = match recording.processes[process].exit.unwrap_or(Status::Code(0)) {
        Status::Code(code) => End::Code(code),
        Status::Signal(signal) => End::Signal(signal),
    };
    assert_eq!(end, expected, "{}", file.display());
    assert_eq!(
        String::from_utf8_lossy(&errors),
        recording.processes[process].agent_stderr()
    );
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
        assert_eq!(
            side_files(folder.path()),
            Vec::<PathBuf>::new(),
            "{}",
            file.display()
        );
        if recording.processes.len() == 1 {
            compared += 1;
            let silent = recording.processes[0].agent_stderr().is_empty();
            let form = if silent { plain } else { unnumbered };
            let (live, expected) = (form(&live), form(&translated(&file)));
            if live != expected {
                differ.push((file, live, expected));
            }
        }
    }
    for (file, live, expected) in &differ {
        println!("== {}", file.display());
        for at in 0..live.len().max(expected.len()) {
            if live.get(at) != expected.get(at) {
                let text = |rows: &[Value]| rows.get(at).map(Value::to_string);
                println!("live {:?}\nfile {:?}", text(live), text(expected));
                break;
            }
        }
    }
    assert!(differ.is_empty(), "{} of {compared} differ", differ.len());
    assert!(compared > 450, "only {compared} were compared");
}

/// A chat with a secret in it, and a failure.
fn chat() -> PathBuf {
    let file = fixtures()
        .into_iter()
        .find(|file| file.ends_with("cases/B109-token-in-tool-output.jsonl"));
    file.expect("the case is there")
}

/// Folds what stands in side files into a ledger that behaves.
fn fold(folder: &Path) -> u64 {
    let files = Files {
        folder: folder.to_owned(),
        mood: Mood::Good,
    };
    let folded = fold_in(&folder.join("spill"), &files).unwrap();
    assert_eq!(folded.len(), 1, "{folded:?}");
    assert_eq!(side_files(folder), Vec::<PathBuf>::new());
    folded[0].outcome.clone().unwrap()
}

#[test]
fn whatever_happens_to_the_ledger_nothing_is_lost_and_the_rows_are_the_same() {
    let good = tempfile::tempdir().unwrap();
    let secret = token(&chat());
    whole(&chat(), 0, good.path(), "good");
    let expected = unnumbered(&recorded(good.path()));
    let inputs_in_all = inputs(&good.path().join("connection.tape")).len() as u64;
    assert!(inputs_in_all > 8 && !recorded(good.path()).contains(&secret));
    for mood in [
        "shut", "fails:1", "fails:4", "panics:1", "panics:4", "hangs:1", "hangs:4",
    ] {
        let folder = tempfile::tempdir().unwrap();
        whole(&chat(), 0, folder.path(), mood);
        let before = inputs(&folder.path().join("connection.tape")).len() as u64;
        let files = side_files(folder.path());
        assert_eq!(files.len(), 1, "{mood}");
        let bytes = fs::read(&files[0]).unwrap();
        assert!(
            !contains(&bytes, secret.as_bytes()),
            "{mood}: the side file holds the secret"
        );
        assert_eq!(before + fold(folder.path()), inputs_in_all, "{mood}");
        assert_eq!(unnumbered(&recorded(folder.path())), expected, "{mood}");
        assert_eq!(recorded(folder.path()), rebuilt(folder.path()), "{mood}");
    }
    for mood in ["slow:300", "passes:3"] {
        let folder = tempfile::tempdir().unwrap();
        whole(&chat(), 0, folder.path(), mood);
        assert_eq!(side_files(folder.path()), Vec::<PathBuf>::new(), "{mood}");
        assert_eq!(unnumbered(&recorded(folder.path())), expected, "{mood}");
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The token in the chat.
fn token(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let (_, behind) = text.split_once("API_TOKEN=").expect("the case has a token");
    let end = behind
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')
        .unwrap();
    assert!(end > 8);
    behind[..end].to_owned()
}

#[test]
fn a_secret_of_the_environment_is_masked_in_the_side_file_and_passes_the_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "correct-horse-battery";
    let variables = [
        ("TAPLINE_TEST_RECORD", folder.path().to_str().unwrap()),
        ("TAPLINE_TEST_MOOD", "shut"),
        ("TAPLINE_TEST_SECRET", secret),
    ];
    let mut wrapped = Wrapped::start_with(&["sh", "-c", "cat; echo $TAPLINE_TEST_SECRET >&2"], &variables);
    let output = read_all(wrapped.output());
    let said = format!("words about {secret}, twice {secret}\n");
    wrapped.input().write_all(said.as_bytes()).unwrap();
    assert_eq!(output.join().unwrap(), said.as_bytes());
    assert_eq!(wrapped.end(), (End::Code(0), format!("{secret}\n").into_bytes()));
    let bytes = fs::read(&side_files(folder.path())[0]).unwrap();
    assert!(contains(&bytes, b"words about ") && !contains(&bytes, b"horse"));
}

#[test]
fn a_slow_ledger_is_helped_by_a_side_file_and_catches_up() {
    const FRAMES: usize = 1500;
    let folder = tempfile::tempdir().unwrap();
    // 1500 frames of 16 KiB are more than may be held.
    let scenario = folder.path().join("flood.toml");
    let text = "word ".repeat(3200);
    let steps = format!("[[turn]]\nsteps = [{{ flood = {{ count = {FRAMES}, text = \"{text}\" }} }}]\n");
    fs::write(&scenario, format!("about = \"Floods.\"\n{steps}")).unwrap();
    let agent = scripted_agent();
    let mut wrapped = start(folder.path(), "waits:9", &[&agent, scenario.to_str().unwrap()]);
    let mut talk = tapline_testkit::client::Talk::new(wrapped.output(), wrapped.input());
    let params = begin(&mut talk);
    let answer = talk.call("session/prompt", params).unwrap();
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    // The ledger has taken eight inputs, and more waits than may be held: a side file comes, and stays until it goes on.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    for comes in [true, false] {
        while side_files(folder.path()).is_empty() == comes {
            assert!(
                std::time::Instant::now() < until,
                "no side file came, or it never went"
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        fs::write(folder.path().join("go"), "").unwrap();
    }
    talk.close();
    assert_eq!(wrapped.end().0, End::Code(0));
    if !side_files(folder.path()).is_empty() {
        // Only where this machine is too busy for the last few inputs to be saved in time.
        fold(folder.path());
    }
    let tape = inputs(&folder.path().join("connection.tape"));
    assert!(tape.iter().map(|input| input.0).eq(1..=tape.len() as u64));
    let chunks = tape
        .iter()
        .filter(|input| contains(&input.2[..input.2.len().min(400)], b"agent_message_chunk"));
    assert_eq!(chunks.count(), FRAMES);
    let rows = plain(&rebuilt(folder.path()));
    assert!(
        rows.iter()
            .any(|row| row["kind"] == "turn" && row["end"] == "completed")
    );
}

#[test]
fn killing_the_wrapper_leaves_what_a_stuck_ledger_did_not_take() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrapped = start(folder.path(), "hangs:1", &["cat"]);
    let (mut input, mut output) = (wrapped.input(), wrapped.output());
    for number in 0..20 {
        let frame = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{number}}}\n");
        input.write_all(frame.as_bytes()).unwrap();
        assert_eq!(format!("{}\n", line(&mut output)), frame);
    }
    // As soon as the side file holds all of it, a kill takes nothing away.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while side_files(folder.path())
        .first()
        .is_none_or(|file| fs::metadata(file).unwrap().len() < 2000)
    {
        assert!(
            std::time::Instant::now() < until,
            "the side file was never written"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // While it lives its file is its own.
    let files = Files {
        folder: folder.path().to_owned(),
        mood: Mood::Good,
    };
    assert_eq!(fold_in(&folder.path().join("spill"), &files).unwrap(), []);
    wrapped.signal(Signal::KILL);
    wrapped.wait();
    assert_eq!(fold(folder.path()), 40);
}

/// What a connection has on its tape.
fn tape_of(journal: &SqliteJournal, connection: &str) -> Vec<tapline_journal::TapeInput> {
    let mut tape: Vec<tapline_journal::TapeInput> = Vec::new();
    loop {
        let next = tape.last().map_or(1, |input| input.number + 1);
        let inputs = journal.read_tape(connection, next, 1000).unwrap();
        if inputs.is_empty() {
            return tape;
        }
        tape.extend(inputs);
    }
}

#[test]
fn killing_the_wrapper_at_any_moment_leaves_a_good_journal_and_no_session_that_runs() {
    let seed = std::env::var("TAPLINE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("TAPLINE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let mut kept = 0;
    for round in 0..20 {
        let connection = format!("round{round}");
        let variables = [
            ("TAPLINE_TEST_RECORD", folder.path().to_str().unwrap()),
            ("TAPLINE_TEST_MOOD", "journal"),
            ("TAPLINE_TEST_CONNECTION", &connection),
        ];
        let agent = scripted_agent();
        let mut wrapped = Wrapped::start_with(&[&agent, "builtin:stream-20000"], &variables);
        let mut talk = tapline_testkit::client::Talk::new(wrapped.output(), wrapped.input());
        let params = begin(&mut talk);
        talk.request("session/prompt", params).unwrap();
        for _ in 0..random.usize(0..15_000) {
            talk.line().unwrap();
        }
        wrapped.signal(Signal::KILL);
        wrapped.wait();
        let journal = SqliteJournal::open(&Home::at(folder.path())).unwrap();
        let tape = tape_of(&journal, &connection);
        assert!(
            tape.iter().map(|input| input.number).eq(1..=tape.len() as u64),
            "round {round} has a hole"
        );
        kept += tape.len();
        for entry in journal.sessions(&SessionQuery::default()).unwrap() {
            assert!(
                matches!(entry.status, Stands::Cut | Stands::Ended),
                "round {round}: {entry:?}"
            );
        }
        assert_eq!(journal.verify(None).unwrap(), [], "round {round}");
    }
    assert!(
        kept > 1000,
        "only {kept} inputs were kept: the kills came too early to mean anything"
    );
}

//! Every recording and every case, played by the scripted agent against a driver that plays the client.

mod common;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{Agent, Client, fixtures};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tapline_testkit::Status;
use tapline_testkit::client::play;
use tapline_testkit::recording::Recording;

/// A recording played at both ends gives exactly the recorded bytes, standard error and exit.
fn replay(path: &PathBuf) -> usize {
    let recording = Recording::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for (index, process) in recording.processes.iter().enumerate() {
        let at = format!("{} process {index}", path.display());
        let mut agent = Agent::start(&[
            "--process",
            &index.to_string(),
            path.to_str().expect("fixtures have plain names"),
        ]);
        let received =
            play(process, agent.output(), agent.input()).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert!(received == process.agent_bytes(), "{at}: the bytes differ");
        let (status, errors) = agent.end();
        assert_eq!(status, process.exit.unwrap_or(Status::Code(0)), "{at}: {errors}");
        assert_eq!(errors, process.agent_stderr(), "{at}");
    }
    recording.processes.len()
}

#[test]
fn every_case_is_replayed_byte_for_byte() {
    let files = fixtures("cases");
    assert!(files.len() >= 42, "only {} cases were found", files.len());
    let processes: usize = files.iter().map(replay).sum();
    assert!(processes > files.len(), "some cases have a second process");
}

#[test]
fn every_recording_is_replayed_byte_for_byte() {
    let files = fixtures("recordings");
    assert!(files.len() >= 480, "only {} recordings were found", files.len());
    for file in &files {
        replay(file);
    }
}

/// What a recording says the agent wrote, read without the code under test: frames by their meaning, the rest by bytes.
#[test]
fn the_recorded_bytes_are_what_the_file_says() {
    let mut frames = 0;
    for file in fixtures("cases").into_iter().chain(fixtures("recordings")) {
        let recording = Recording::open(&file).unwrap();
        let all: Vec<u8> = recording
            .processes
            .iter()
            .flat_map(|process| process.agent_bytes())
            .collect();
        let mut rest = &all[..];
        let mut take_frame = |rest: &mut &[u8], expected: &Value| {
            let end = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .expect("a frame ends with a line feed");
            let (frame, after) = rest.split_at(end + 1);
            assert_eq!(
                serde_json::from_slice::<Value>(frame).unwrap(),
                *expected,
                "{}",
                file.display()
            );
            let blanks = frame.len()
                - serde_json::from_slice::<Box<RawValue>>(frame)
                    .unwrap()
                    .get()
                    .len();
            assert_eq!(blanks, 1, "only the line feed stands beside the frame");
            *rest = after;
            frames += 1;
        };
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["dir"] != "in" {
                continue;
            }
            let (times, said) = match line.get("repeat") {
                Some(repeat) => (repeat["n"].as_u64().unwrap(), repeat),
                None => (1, &line),
            };
            for i in 0..times {
                if let Some(coded) = said["raw_base64"].as_str() {
                    let bytes = STANDARD.decode(coded).unwrap();
                    rest = rest
                        .strip_prefix(&bytes[..])
                        .expect("raw bytes stand as they are");
                } else if let Some(frame) = said.get("msg") {
                    let counted = frame.to_string().replace("{{i}}", &i.to_string());
                    let expected = if times > 1 {
                        serde_json::from_str(&counted).unwrap()
                    } else {
                        frame.clone()
                    };
                    take_frame(&mut rest, &expected);
                }
            }
        }
        assert!(
            rest.is_empty(),
            "{}: {} bytes too many",
            file.display(),
            rest.len()
        );
    }
    assert!(frames > 12_000, "only {frames} frames were compared");
}

fn case(name: &str) -> String {
    let files = fixtures("cases");
    let found = files
        .iter()
        .find(|file| file.to_string_lossy().contains(name))
        .expect("the case is there");
    found.to_str().expect("fixtures have plain names").to_owned()
}

/// A live client numbers its requests as it likes, says more than was recorded, and is answered all the same.
#[test]
fn a_client_with_ideas_of_its_own_is_served() {
    let mut client = Client::silent(&[&case("B077")]);
    client
        .talk
        .send(&json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}}))
        .unwrap();
    assert_eq!(client.talk.frame().unwrap().unwrap()["id"], "i");
    client
        .talk
        .send(&json!({"jsonrpc": "2.0", "id": "mode", "method": "session/set_mode", "params": {}}))
        .unwrap();
    let refused = client.talk.frame().unwrap().unwrap();
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!("mode"), &json!(-32601))
    );
    // The prompt comes before its line is reached, and is kept until then.
    client
        .talk
        .send(&json!({"jsonrpc": "2.0", "id": [1], "method": "session/prompt", "params": {}}))
        .unwrap();
    client
        .talk
        .send(&json!({"jsonrpc": "2.0", "id": 40, "method": "session/new", "params": {}}))
        .unwrap();
    assert_eq!(client.talk.frame().unwrap().unwrap()["id"], 40);
    let frames = client
        .talk
        .until(|frame| frame["result"]["stopReason"] == "end_turn")
        .unwrap();
    assert_eq!(frames.last().unwrap()["id"], json!([1]));
    assert_eq!(frames.len(), 5);
    client
        .talk
        .send(&json!({"jsonrpc": "2.0", "id": 41, "method": "session/prompt", "params": {}}))
        .unwrap();
    client.talk.until_answer(41).unwrap();
    assert_eq!(client.leave().0, Status::Code(0));
}

#[test]
fn a_client_that_leaves_early_is_named() {
    let (status, errors) = Client::silent(&[&case("B077")]).leave();
    assert_eq!(status, Status::Code(tapline_testkit::agent::CLIENT_LEFT));
    assert_eq!(
        errors,
        "the client left before line 2 of the recording, where it was to send `initialize`\n"
    );
}

/// With a folder for its state, each start of the agent is the recording's next process.
#[test]
fn the_next_process_of_a_recording_follows() {
    let folder = tempfile::tempdir().unwrap();
    let path = case("B063");
    for process in &Recording::open(&path).unwrap().processes {
        let mut agent = Agent::start(&["--state", folder.path().to_str().unwrap(), &path]);
        play(process, agent.output(), agent.input()).unwrap_or_else(|error| panic!("{error}"));
    }
    let (status, errors) = Agent::start(&["--state", folder.path().to_str().unwrap(), &path]).end();
    assert_eq!(
        (status, errors.as_str()),
        (
            Status::Code(2),
            "the recording has 2 processes, so there is no process 2\n"
        )
    );
}

/// A driver is told at which line an agent says something else.
#[test]
fn a_difference_is_named_with_its_line() {
    let recorded = Recording::open(case("B077")).unwrap();
    let other = std::fs::read_to_string(case("B077"))
        .unwrap()
        .replace("\"Serving.\"", "\"Sorting.\"");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), other).unwrap();
    let mut agent = Agent::start(&[file.path().to_str().unwrap()]);
    let error = play(&recorded.processes[0], agent.output(), agent.input())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("at line 10 of the recording") && error.contains("Sorting"),
        "{error}"
    );
}

/// Only lower bounds are looked at, which hold on any machine.
#[test]
fn a_pace_is_kept() {
    let frame = |i: u64| {
        json!({"t_ms": i * 20, "dir": "in", "msg": {"jsonrpc": "2.0", "method": "x"}}).to_string() + "\n"
    };
    let timed: String = (0..4).map(frame).collect();
    let repeated =
        json!({"dir": "in", "repeat": {"n": 4, "msg": {"jsonrpc": "2.0", "method": "x"}}}).to_string();
    for (text, pace) in [(timed, "real"), (repeated, "60/s")] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        let start = Instant::now();
        let mut agent = Agent::start(&["--pace", pace, file.path().to_str().unwrap()]);
        play(
            &Recording::parse(&text).unwrap().processes[0],
            agent.output(),
            agent.input(),
        )
        .unwrap();
        assert!(
            start.elapsed() >= Duration::from_millis(60),
            "{pace} took {:?}",
            start.elapsed()
        );
    }
}

//! Generated traffic: the same for a seed, valid, and played by the scripted agent like any recording.

use std::collections::{HashMap, HashSet};
use std::os::unix::net::UnixStream;

use agent_client_protocol_schema::v1::SessionNotification;
use serde_json::Value;
use tapline_testkit::agent::{Io, Options};
use tapline_testkit::client::play;
use tapline_testkit::generate::{Direction, Frame, chunks, mixed, recording, turns};
use tapline_testkit::recording::Recording;
use tapline_testkit::script::Script;
use tapline_testkit::{Status, agent};

const SEEDS: std::ops::Range<u64> = 0..300;

#[test]
fn a_seed_gives_the_same_bytes_again() {
    assert_eq!(recording(7), recording(7));
    assert_ne!(recording(7).text, recording(8).text);
    assert!(chunks(50, 3).eq(chunks(50, 3)));
    assert!(!chunks(50, 3).eq(chunks(50, 4)));
    assert!(mixed(50, 3).eq(mixed(50, 3)));
    assert_eq!(
        format!("{:?}", recording(7)).split(' ').next(),
        Some("recording(7)")
    );
}

#[test]
fn a_long_session_answers_each_of_its_prompts() {
    let frames: Vec<Value> = turns(1000, 1)
        .map(|frame| serde_json::from_slice(&frame.bytes).unwrap())
        .collect();
    assert_eq!(frames.len(), 1004, "the session is opened by four frames");
    let prompts: Vec<_> = frames
        .iter()
        .filter(|frame| frame["method"] == "session/prompt")
        .map(|frame| &frame["id"])
        .collect();
    let answers: Vec<_> = frames
        .iter()
        .filter(|frame| frame["result"]["stopReason"] == "end_turn")
        .map(|frame| &frame["id"])
        .collect();
    assert_eq!((prompts.len(), &prompts), (10, &answers));
    let distinct: HashSet<_> = prompts.iter().map(|id| id.as_u64().unwrap()).collect();
    assert_eq!(distinct.len(), 10, "no prompt takes the id of another");
}

#[test]
fn long_turns_have_the_promised_mix() {
    let updates = |frames: Vec<Frame>| -> Vec<Value> {
        let parsed = frames
            .iter()
            .map(|frame| serde_json::from_slice::<Value>(&frame.bytes).unwrap());
        parsed
            .map(|frame| frame["params"]["update"].clone())
            .filter(|update| !update.is_null())
            .collect()
    };
    assert_eq!(updates(chunks(1000, 1).collect()).len(), 1000);
    let mix = updates(mixed(800, 1).collect());
    let tools: Vec<_> = mix
        .iter()
        .filter(|update| update["sessionUpdate"] == "tool_call")
        .collect();
    assert_eq!((mix.len(), tools.len()), (800, 100));
    let size = |tool: &&Value| tool["content"][0]["content"]["text"].as_str().unwrap().len();
    assert!(tools.iter().map(size).all(|size| (2048..2304).contains(&size)));
    let text: String = mixed(20, 1).map(|frame| frame.line() + "\n").collect();
    let process = Recording::parse(&text).unwrap().processes.remove(0);
    let said: Vec<u8> = mixed(20, 1)
        .filter(|frame| frame.direction == Direction::FromAgent)
        .flat_map(|frame| frame.bytes)
        .collect();
    assert_eq!(
        process.agent_bytes(),
        said,
        "a frame is the same as a line of a recording"
    );
}

#[test]
fn generated_recordings_are_valid() {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for seed in SEEDS {
        let generated = recording(seed);
        let (mut asked_in, mut asked_out) = (HashSet::new(), HashSet::new());
        let mut sessions = HashSet::new();
        for line in generated.text.lines().skip(1) {
            let line: Value = serde_json::from_str(line).unwrap();
            let frame = &line["msg"];
            if !line["exit"].is_null() {
                *seen.entry("exit".into()).or_default() += 1;
                continue;
            }
            if !line["stderr"].is_null() {
                continue;
            }
            let (own, other) = if line["dir"] == "in" {
                (&mut asked_in, &mut asked_out)
            } else {
                (&mut asked_out, &mut asked_in)
            };
            match (frame["method"].as_str(), frame.get("id")) {
                (Some(method), id) => {
                    if method == "initialize" {
                        own.clear();
                        other.clear();
                    }
                    if let Some(id) = id {
                        assert!(
                            own.insert(id.to_string()),
                            "{generated:?}: the id {id} is used twice"
                        );
                    }
                    *seen.entry(method.to_owned()).or_default() += 1;
                    if let Some(session) = frame["params"]["sessionId"].as_str() {
                        assert!(
                            sessions.contains(session),
                            "{generated:?}: {session} is spoken of before it is there"
                        );
                    }
                    if method == "session/update" {
                        let parsed: Result<SessionNotification, _> =
                            serde_json::from_value(frame["params"].clone());
                        assert!(parsed.is_ok(), "{generated:?}: {frame}");
                        let kind = frame["params"]["update"]["sessionUpdate"].as_str().unwrap();
                        *seen.entry(kind.to_owned()).or_default() += 1;
                    }
                }
                (None, Some(id)) => {
                    assert!(
                        other.contains(&id.to_string()),
                        "{generated:?}: nobody asked for {frame}"
                    );
                    sessions.extend(frame["result"]["sessionId"].as_str().map(str::to_owned));
                }
                (None, None) => panic!("{generated:?}: {frame} is no frame"),
            }
        }
    }
    for kind in [
        "session/load",
        "session/cancel",
        "session/request_permission",
        "exit",
        "plan",
        "tool_call_update",
        "agent_thought_chunk",
        "user_message_chunk",
        "usage_update",
        "session_info_update",
    ] {
        assert!(
            seen.get(kind).is_some_and(|count| *count >= 10),
            "too little of {kind}: {seen:?}"
        );
    }
}

#[test]
fn generated_recordings_are_replayed_byte_for_byte() {
    for seed in SEEDS {
        let generated = recording(seed);
        let parsed = Recording::parse(&generated.text).unwrap();
        for (index, process) in parsed.processes.iter().enumerate() {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let (our_errors, errors) = UnixStream::pair().unwrap();
            let io = Io {
                input: Box::new(theirs.try_clone().unwrap()),
                output: Box::new(theirs),
                errors: Box::new(errors),
            };
            let script = Script::Recording(parsed.clone());
            let player = std::thread::spawn(move || {
                agent::run(
                    &script,
                    &Options {
                        process: Some(index),
                        ..Options::default()
                    },
                    io,
                )
            });
            let writer = Closing(ours.try_clone().unwrap());
            let received =
                play(process, ours, writer).unwrap_or_else(|error| panic!("{generated:?}: {error}"));
            assert_eq!(received, process.agent_bytes(), "{generated:?}");
            assert_eq!(
                player.join().unwrap(),
                process.exit.unwrap_or(Status::Code(0)),
                "{generated:?}"
            );
            let said = std::io::read_to_string(our_errors).unwrap();
            assert_eq!(said, process.agent_stderr(), "{generated:?}");
        }
    }
}

/// A socket whose write side ends when it is dropped, as a pipe's does.
struct Closing(UnixStream);

impl std::io::Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        // The other side may be gone first.
        let _ = self.0.shutdown(std::net::Shutdown::Write);
    }
}

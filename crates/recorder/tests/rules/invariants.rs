//! The invariants of the whole path: over every recording in the repository, over made-up traffic, and over noise.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;
use tapline_recorder::{Direction, Memory, Recorder, Recording};
use tapline_testkit::generate;
use tapline_timeline::Timeline;

use crate::tape::Desk;

fn fixtures() -> Vec<PathBuf> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        let entries = std::fs::read_dir(folder).expect("the folder of fixtures");
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "jsonl") {
                out.push(path);
            }
        }
    }
    let mut out = Vec::new();
    walk(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"),
        &mut out,
    );
    out.sort();
    out
}

fn record(lines: &str) -> Recorder<Memory, Desk> {
    let mut recording = Recording::new(|hint| Recorder::watched(Memory::new(), hint, Desk::default()));
    for line in lines.lines() {
        // A line that is no input is an error of the recording, not of what it records.
        let _ = recording.line(line);
    }
    recording.finish()
}

fn written(timelines: &[Timeline]) -> Vec<String> {
    timelines
        .iter()
        .flat_map(|timeline| timeline.rows())
        .map(|row| serde_json::to_string(&**row).expect("a row has a JSON form"))
        .collect()
}

/// What is read is accounted for, read the same three ways, and nothing in it still runs.
fn checked(mut recorder: Recorder<Memory, Desk>) -> Vec<String> {
    assert_eq!(recorder.unaccounted(), 0, "accounted");
    let timelines = recorder.store().timelines().to_vec();
    let desk = recorder.watch_mut();
    for timeline in &timelines {
        let session = timeline.session().expect("a session");
        desk.ledgers[&session.id].agrees_with(timeline);
    }
    let rows = written(&timelines);
    for row in &rows {
        let row: Value = serde_json::from_str(row).expect("a row");
        let state = row["state"].as_str().unwrap_or_default();
        assert!(
            !matches!(state, "open" | "pending" | "running"),
            "after the end it still runs: {row}"
        );
    }
    rows
}

/// *accounted*, *settled-stays*, *one-failure*, *fold*, and the same bytes twice.
#[test]
fn every_fixture_keeps_the_invariants_and_reads_the_same_twice() {
    let fixtures = fixtures();
    assert!(fixtures.len() > 100, "the fixtures are not where they should be");
    for path in fixtures {
        let lines = std::fs::read_to_string(&path).expect("a fixture");
        assert_eq!(
            checked(record(&lines)),
            checked(record(&lines)),
            "{}",
            path.display()
        );
    }
}

/// The frames of a recording with their direction; nothing where it holds something else.
fn frames(lines: &str) -> Vec<(Direction, String)> {
    lines
        .lines()
        .filter_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            let direction = match line["dir"].as_str().or(line["direction"].as_str())? {
                "in" => Direction::In,
                _ => Direction::Out,
            };
            let frame = line.get("msg").or(line.get("message"))?;
            Some((direction, frame.to_string()))
        })
        .collect()
}

fn fed_whole(frames: &[(Direction, String)]) -> Recorder<Memory, Desk> {
    let mut recorder = Recorder::watched(Memory::new(), None, Desk::default());
    for (direction, frame) in frames {
        recorder.line("", *direction, frame, None);
    }
    recorder.close();
    recorder
}

/// The same bytes cut every `size` bytes, wherever that falls.
fn fed_in_pieces(frames: &[(Direction, String)], size: usize) -> Recorder<Memory, Desk> {
    let mut recorder = Recorder::watched(Memory::new(), None, Desk::default());
    for (direction, frame) in frames {
        for piece in format!("{frame}\n").as_bytes().chunks(size) {
            recorder.bytes("", *direction, piece, None);
        }
    }
    recorder.close();
    recorder
}

/// *one-path*: a recording of each agent, fed whole, in one piece a direction, and byte by byte.
#[test]
fn one_path_a_recording_fed_in_pieces_gives_the_same_rows() {
    for agent in ["claude", "codex", "gemini", "opencode"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../fixtures/recordings/{agent}/s1-basic.jsonl"));
        let frames = frames(&std::fs::read_to_string(path).expect("a fixture"));
        let whole = checked(fed_whole(&frames));
        assert!(!whole.is_empty());
        for size in [1, 7, 4096] {
            assert_eq!(
                checked(fed_in_pieces(&frames, size)),
                whole,
                "{agent} in pieces of {size}"
            );
        }
    }
}

/// What noise does to a line of traffic.
#[derive(Debug, Clone)]
enum Noise {
    Twice,
    Dropped,
    Moved(usize),
    CutAt(usize),
    Broken(usize, u8),
    Renamed(usize),
    Reversed,
    Json(String),
    Exit,
}

/// Words of the protocol, each put in another's place.
const WORDS: [&str; 14] = [
    "tool_call",
    "tool_call_update",
    "agent_message_chunk",
    "user_message_chunk",
    "plan",
    "completed",
    "failed",
    "in_progress",
    "session/update",
    "session/prompt",
    "session/load",
    "session/cancel",
    "null",
    "sessionId",
];

fn noise() -> impl Strategy<Value = Noise> {
    let value = prop_oneof![
        Just("{}".to_owned()),
        Just("[]".to_owned()),
        Just(r#"{"jsonrpc":"2.0","method":"session/update"}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"generated-1","update":null}}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":7,"update":{"sessionUpdate":[]}}}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","id":null,"method":"session/request_permission","params":null}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","id":1e99,"result":null}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","id":1,"error":null}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":[]}}"#.to_owned()),
        "\\PC{0,40}",
    ];
    prop_oneof![
        Just(Noise::Twice),
        Just(Noise::Dropped),
        (0usize..50).prop_map(Noise::Moved),
        (0usize..200).prop_map(Noise::CutAt),
        (0usize..400, any::<u8>()).prop_map(|(at, byte)| Noise::Broken(at, byte)),
        (0usize..WORDS.len() * WORDS.len()).prop_map(Noise::Renamed),
        Just(Noise::Reversed),
        value.prop_map(Noise::Json),
        Just(Noise::Exit),
    ]
}

fn feed_noise(frames: &[(Direction, String)], noise: &[(usize, Noise)]) -> Recorder<Memory, Desk> {
    let mut lines: Vec<Option<(Direction, Vec<u8>)>> = frames
        .iter()
        .map(|(direction, frame)| Some((*direction, frame.clone().into_bytes())))
        .collect();
    for (at, noise) in noise {
        let at = at % lines.len().max(1);
        let Some(Some((direction, line))) = lines.get_mut(at) else {
            continue;
        };
        match noise {
            Noise::Twice => {
                let again = Some((*direction, line.clone()));
                lines.insert(at, again);
            }
            Noise::Dropped => drop(lines.remove(at)),
            Noise::Moved(to) => {
                let line = lines.remove(at);
                let to = (*to).min(lines.len());
                lines.insert(to, line);
            }
            Noise::CutAt(cut) => line.truncate(*cut),
            Noise::Broken(place, byte) => {
                let place = place % line.len().max(1);
                if let Some(old) = line.get_mut(place) {
                    *old = *byte;
                }
            }
            Noise::Renamed(pair) => {
                let (from, to) = (WORDS[pair / WORDS.len()], WORDS[pair % WORDS.len()]);
                *line = String::from_utf8_lossy(line).replace(from, to).into_bytes();
            }
            Noise::Reversed => {
                *direction = match direction {
                    Direction::In => Direction::Out,
                    Direction::Out => Direction::In,
                }
            }
            Noise::Json(value) => *line = value.clone().into_bytes(),
            Noise::Exit => lines.insert(at, None),
        }
    }
    let mut recorder = Recorder::watched(Memory::new(), None, Desk::default());
    for line in lines {
        match line {
            Some((direction, mut line)) => {
                line.retain(|byte| *byte != b'\n');
                line.push(b'\n');
                recorder.bytes("", direction, &line, None);
            }
            None => recorder.exit("", Some(1), None, None),
        }
        assert_eq!(recorder.unaccounted(), 0, "accounted");
    }
    recorder.close();
    recorder
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// *one-path*: made-up traffic fed whole or cut at any byte gives equal rows.
    #[test]
    fn one_path_made_up_traffic_cut_anywhere(seed in any::<u64>(), size in 1usize..200) {
        let frames = frames(&generate::recording(seed).text);
        prop_assert_eq!(checked(fed_in_pieces(&frames, size)), checked(fed_whole(&frames)));
    }

    /// Duplicate anything, lose anything, unknown anything: no panic, nothing unaccounted, nothing settled moved back, nothing left
    /// running.
    #[test]
    fn noise_breaks_no_invariant(seed in any::<u64>(), noise in prop::collection::vec((any::<usize>(), noise()), 0..24)) {
        let frames = frames(&generate::recording(seed).text);
        checked(feed_noise(&frames, &noise));
    }
}

/// Each frame of a real recording twice (every third recording, for time): nothing settled moves, nothing runs on.
#[test]
fn every_frame_twice_breaks_no_invariant() {
    for path in fixtures().into_iter().step_by(3) {
        let frames = frames(&std::fs::read_to_string(&path).expect("a fixture"));
        let doubled: Vec<(Direction, String)> = frames.iter().flat_map(|f| [f.clone(), f.clone()]).collect();
        checked(fed_whole(&doubled));
    }
}

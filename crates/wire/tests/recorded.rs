//! The recordings and cases of this repository, read line by line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use tapline_wire::{Frame, Line, LineReader, Params, read};

#[derive(Deserialize)]
struct Entry<'a> {
    dir: Option<&'a str>,
    #[serde(borrow)]
    msg: Option<&'a RawValue>,
    raw_base64: Option<&'a str>,
    #[serde(borrow)]
    repeat: Option<Repeat<'a>>,
}

#[derive(Deserialize)]
struct Repeat<'a> {
    n: usize,
    #[serde(borrow)]
    msg: Option<&'a RawValue>,
    raw_base64: Option<&'a str>,
}

fn files(folder: &str) -> Vec<PathBuf> {
    fn gather(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                gather(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                into.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(folder);
    let mut found = Vec::new();
    gather(&root, &mut found);
    found.sort();
    assert!(!found.is_empty(), "{} holds no fixtures", root.display());
    found
}

/// What both sides wrote, as streams of bytes: agent to client, client to agent.
fn streams(path: &Path) -> [Vec<u8>; 2] {
    let mut streams = [Vec::new(), Vec::new()];
    for line in fs::read_to_string(path).unwrap().lines() {
        let Ok(entry) = serde_json::from_str::<Entry<'_>>(line) else {
            continue;
        };
        let stream = match entry.dir {
            Some("in") => &mut streams[0],
            Some("out") => &mut streams[1],
            _ => continue,
        };
        let (times, msg, raw) = match entry.repeat {
            Some(repeat) => (repeat.n, repeat.msg, repeat.raw_base64),
            None => (1, entry.msg, entry.raw_base64),
        };
        for _ in 0..times {
            if let Some(msg) = msg {
                stream.extend_from_slice(msg.get().as_bytes());
                stream.push(b'\n');
            }
            if let Some(raw) = raw {
                stream.extend(STANDARD.decode(raw).unwrap());
            }
        }
    }
    streams
}

fn lines(stream: &[u8], step: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reader = LineReader::new();
    let mut each = |line: Line<'_>| match line {
        Line::Text(text) => lines.push(text.into_owned()),
        Line::TooLong { bytes, .. } => panic!("a line of {bytes} bytes"),
    };
    for part in stream.chunks(step) {
        reader.push(part, &mut each);
    }
    reader.finish(&mut each);
    lines
}

#[test]
fn every_line_of_every_recording_is_a_frame() {
    let (mut frames, mut updates) = (0, 0);
    for path in files("recordings") {
        for stream in streams(&path) {
            for line in lines(&stream, 4096) {
                match read(&line) {
                    Ok(Frame::Notification {
                        params: Params::Update(update),
                        ..
                    }) => {
                        updates += 1;
                        assert!(update.session_id.is_some(), "{}: {line}", path.display());
                        assert!(update.kind.is_some(), "{}: {line}", path.display());
                    }
                    Ok(_) => {}
                    Err(fault) => panic!("{}: {fault} ({}): {line}", path.display(), fault.name()),
                }
                frames += 1;
            }
        }
    }
    println!("{frames} frames, {updates} updates");
    assert!(
        frames > 10_000 && updates > 1_000,
        "{frames} frames, {updates} updates"
    );
}

#[test]
fn only_the_lines_that_are_meant_to_be_none_are_no_frames() {
    let mut faults: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for path in files("cases") {
        let name = path.file_stem().unwrap().to_string_lossy()[..4].to_owned();
        for stream in streams(&path) {
            for line in lines(&stream, 4096) {
                if let Err(fault) = read(&line) {
                    faults.entry(name.clone()).or_default().push(fault.name());
                }
            }
        }
    }
    let expected = [
        (
            "B041",
            vec!["not-json", "blank", "not-json", "not-json", "not-json", "blank"],
        ),
        (
            "B042",
            vec![
                "not-an-object",
                "not-an-object",
                "not-an-object",
                "not-an-object",
                "no-version",
                "envelope-no-meaning",
                "no-version",
            ],
        ),
    ];
    assert_eq!(
        faults,
        expected.map(|(name, faults)| (name.to_owned(), faults)).into()
    );
}

#[test]
fn the_size_of_the_reads_changes_nothing() {
    for path in files("cases") {
        for stream in streams(&path) {
            let whole = lines(&stream, usize::MAX);
            for step in [1, 2, 3, 7, 64] {
                assert!(
                    lines(&stream, step) == whole,
                    "{} in reads of {step}",
                    path.display()
                );
            }
        }
    }
}

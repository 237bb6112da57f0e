//! The recordings and cases of this repository, read line by line.

mod fixtures;

use std::collections::BTreeMap;

use fixtures::{files, lines, streams};
use tapline_wire::{Frame, Params, read};

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

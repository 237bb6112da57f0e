//! Every recording and every case, played by the scripted agent against a driver that plays the client.

mod common;

use std::path::PathBuf;

use common::{Agent, fixtures};
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

//! Grok: what is private is masked before anybody sees it.
#![allow(clippy::unwrap_used)] // It is all test code.

mod common;

use std::sync::{Arc, Mutex};

use serde_json::json;
use tapline_recorder::{Memory, Recorder, Recording, Seen, Stamp, Watch};

use common::grok::{S, Talk};

/// Every line, as it goes on after masking.
#[derive(Default, Clone)]
struct Lines(Arc<Mutex<String>>);

impl Watch for Lines {
    fn input(&mut self, _: Stamp, _: &str, what: Seen<'_>) {
        if let Seen::Line(_, line) = what {
            let mut lines = self.0.lock().unwrap();
            lines.push_str(line);
            lines.push('\n');
        }
    }
}

#[test]
fn private_members_reach_neither_the_tape_nor_a_row() {
    let mut talk = Talk::new();
    talk.call("initialize", json!({"protocolVersion": 1}));
    talk.result(1, json!({"protocolVersion": 1, "_meta": {"grokShell": true, "hostname": "workhorse-7", "agentInstanceId": "instance-42"}}));
    let load = talk.call("session/load", json!({"sessionId": S, "cwd": "/p"}));
    talk.result(load, json!({}));
    let prompt = talk.prompt("p1");
    talk.notice(json!({"sessionUpdate": "response_completed", "signature": "SIGNED-REASONING", "usage": {"input_tokens": 5}}));
    talk.ran(
        "p1",
        "c1",
        "run_terminal_command",
        json!({"command": "x"}),
        json!({"type": "OfTheFuture", "encrypted_content": "SEALED-REASONING", "hostname": "workhorse-7", "pid": 23151}),
    );
    talk.error(prompt, json!({"code": -32603, "message": "Internal error", "data": {"message": "no key", "keyHint": "ends-in-9f3c"}}));

    let lines = Lines::default();
    let watch = lines.clone();
    let mut recording = Recording::new(move |hint| Recorder::watched(Memory::new(), hint, watch));
    for line in &talk.lines {
        recording.line(&line.to_string()).unwrap();
    }
    let (store, _) = recording.finish().into_parts();
    let mut all = lines.0.lock().unwrap().clone();
    for timeline in store.timelines() {
        for row in timeline.rows() {
            all.push_str(&serde_json::to_string(&**row).unwrap());
        }
    }
    assert!(all.contains("no key"), "words stay");
    for private in [
        "workhorse-7",
        "instance-42",
        "SIGNED-REASONING",
        "SEALED-REASONING",
        "ends-in-9f3c",
        "23151",
    ] {
        assert!(!all.contains(private), "{private} was kept");
    }
}

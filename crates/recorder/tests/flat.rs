//! *bounded*: what a recorder itself holds does not grow with its session. Live bytes are counted, not resident memory,
//! so the figures are the same on every run.

#[path = "../examples/support/mod.rs"]
mod support;

use std::alloc::System;

use cap::Cap;
use tapline_testkit::generate::{self, Frame};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// What a recorder that has been given these frames holds, in bytes.
fn held(frames: impl Iterator<Item = Frame>) -> usize {
    let before = HEAP.allocated();
    let recorder = support::play(frames);
    let held = HEAP.allocated() - before;
    assert!(recorder.store().changes > 0, "the frames had an effect");
    held
}

// One test alone in its process: other threads would be counted too.
#[test]
fn bounded_the_recorder_holds_as_much_after_500_000_frames_as_after_50_000() {
    // Tables and masks that are built once are built now.
    held(generate::turns(1_000, 1));
    let short = held(generate::turns(50_000, 1));
    let long = held(generate::turns(500_000, 1));
    assert!(
        long <= short + short / 4,
        "many turns: {short} bytes after 50,000 frames, {long} after 500,000"
    );

    // A message that has reached its limit, and one ten times as long.
    let short = held(generate::chunks(50_000, 1));
    let long = held(generate::chunks(500_000, 1));
    assert!(
        long <= short + short / 4,
        "one reply: {short} bytes after 50,000 frames, {long} after 500,000"
    );
}

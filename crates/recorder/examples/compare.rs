//! Ways to read the same recording, in turn, so that a busy machine is unfair to all alike: `compare FILE [ROUNDS [WAY]]`.
//!
//! Prints one line for each way and round: its name, a tab, frames a second. `benches/run.sh` sets the median of each
//! beside its peers. With a way (`envelopes`, `typed`, `events` or `rows`) only that one runs, for profilers: the
//! instructions of three rounds less those of one are the cost of two.

mod support;

use std::process::ExitCode;
use std::time::Instant;

use support::Input;

type Way = fn(&[Input]) -> u64;

const WAYS: [(&str, &str, Way); 4] = [
    ("envelopes", "serde_json, envelopes only", |lines| {
        support::envelopes(lines) as u64
    }),
    ("typed", "agent-client-protocol-schema, typed", |lines| {
        support::typed(lines) as u64
    }),
    ("events", "tapline, frames to events", support::events),
    ("rows", "tapline, frames to rows", support::rows),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: compare FILE [ROUNDS [envelopes|typed|events|rows]]");
        return ExitCode::from(2);
    };
    let rounds = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(15);
    let only = arguments.next();
    let lines = match std::fs::read_to_string(&file) {
        Ok(text) => support::frames_of(&text),
        Err(why) => {
            eprintln!("compare: {file} cannot be read: {why}");
            return ExitCode::FAILURE;
        }
    };
    for _ in 0..rounds {
        for (short, name, way) in WAYS {
            if only.as_deref().is_some_and(|only| only != short) {
                continue;
            }
            let start = Instant::now();
            std::hint::black_box(way(&lines));
            println!(
                "{name}\t{:.0}",
                lines.len() as f64 / start.elapsed().as_secs_f64()
            );
        }
    }
    ExitCode::SUCCESS
}

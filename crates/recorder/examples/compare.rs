//! Ways to read the same recording, in turn, so that a busy machine is unfair to all alike: `compare FILE [ROUNDS]`.
//!
//! Prints one line for each way and round: its name, a tab, frames a second. `benches/run.sh` sets the median of each
//! beside its peers.

mod support;

use std::process::ExitCode;
use std::time::Instant;

use support::Input;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: compare FILE [ROUNDS]");
        return ExitCode::from(2);
    };
    let rounds = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(15);
    let lines = match std::fs::read_to_string(&file) {
        Ok(text) => support::frames_of(&text),
        Err(why) => {
            eprintln!("compare: {file} cannot be read: {why}");
            return ExitCode::FAILURE;
        }
    };
    let ways: [(&str, fn(&[Input]) -> u64); 4] = [
        ("serde_json, envelopes only", |lines| support::envelopes(lines) as u64),
        ("agent-client-protocol-schema, typed", |lines| support::typed(lines) as u64),
        ("tapline, frames to events", support::events),
        ("tapline, frames to rows", support::rows),
    ];
    for _ in 0..rounds {
        for (name, way) in ways {
            let start = Instant::now();
            std::hint::black_box(way(&lines));
            println!("{name}\t{:.0}", lines.len() as f64 / start.elapsed().as_secs_f64());
        }
    }
    ExitCode::SUCCESS
}

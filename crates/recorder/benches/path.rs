//! The path of a frame in memory: what one costs, beside reading it in other ways.
//!
//! `cargo bench -p tapline-recorder`. Figures are frames a second, on three kinds of traffic: a streaming reply of small
//! frames, seven such frames to a tool with 2 KB of output, and a real recording again and again.
//! `benches/run.sh` sets the same beside peers in other languages.

#[path = "../examples/support/mod.rs"]
mod support;

use std::fmt;
use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use support::Input;
use tapline_testkit::generate;

const FRAMES: usize = 20_000;

fn main() {
    divan::main();
}

#[derive(Debug, Clone, Copy)]
enum Traffic {
    Small,
    Mixed,
    Real,
}

impl fmt::Display for Traffic {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, to)
    }
}

const ALL: [Traffic; 3] = [Traffic::Small, Traffic::Mixed, Traffic::Real];

impl Traffic {
    fn lines(self, count: usize) -> Vec<Input> {
        match self {
            Self::Small => generate::chunks(count, 1).map(support::input).collect(),
            Self::Mixed => generate::mixed(count, 1).map(support::input).collect(),
            Self::Real => support::real(count),
        }
    }
}

fn bench<T>(bencher: Bencher<'_, '_>, lines: &[Input], way: impl Fn(&[Input]) -> T + Sync) {
    bencher
        .counter(ItemsCount::new(lines.len()))
        .bench(|| way(black_box(lines)));
}

#[divan::bench(args = ALL, sample_count = 30)]
fn envelopes_with_serde_json(bencher: Bencher<'_, '_>, traffic: Traffic) {
    bench(bencher, &traffic.lines(FRAMES), support::envelopes);
}

#[divan::bench(args = ALL, sample_count = 30)]
fn typed_by_the_schema_crate(bencher: Bencher<'_, '_>, traffic: Traffic) {
    bench(bencher, &traffic.lines(FRAMES), support::typed);
}

#[divan::bench(args = ALL, sample_count = 30)]
fn frames_to_events(bencher: Bencher<'_, '_>, traffic: Traffic) {
    bench(bencher, &traffic.lines(FRAMES), support::events);
}

#[divan::bench(args = ALL, sample_count = 30)]
fn frames_to_rows(bencher: Bencher<'_, '_>, traffic: Traffic) {
    bench(bencher, &traffic.lines(FRAMES), support::rows);
}

/// The millionth frame costs what the first did.
#[divan::bench(args = [10_000, 1_000_000], sample_count = 5, sample_size = 1)]
fn rows_by_length(bencher: Bencher<'_, '_>, frames: usize) {
    bench(bencher, &Traffic::Small.lines(frames), support::rows);
}

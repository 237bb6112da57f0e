//! The memory of a recorder over a long session, without that of its rows: `flat [FRAMES…]`.
//!
//! Plays a session of many turns and one of a single endless reply, made while they are read, and prints the peak
//! memory of the process after each. `cargo run --release -p tapline-recorder --example flat -- 1000000 3000000`

mod support;

use tapline_testkit::generate;

fn main() {
    let mut counts: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    if counts.is_empty() {
        counts = vec![1_000_000, 3_000_000];
    }
    println!(
        "{:>10}  {:<12} {:>10} {:>10}  peak memory",
        "frames", "traffic", "changes", "rows"
    );
    for count in counts {
        report("many turns", count, support::play(generate::turns(count, 1)));
        report("one reply", count, support::play(generate::chunks(count, 1)));
    }
}

fn report(traffic: &str, count: usize, recorder: tapline_recorder::Recorder<support::Forgetful>) {
    let store = recorder.store();
    let peak = peak().map_or_else(
        || "unknown on this system".to_owned(),
        |kib| format!("{:.1} MiB", kib as f64 / 1024.0),
    );
    println!(
        "{count:>10}  {traffic:<12} {:>10} {:>10}  {peak}",
        store.changes, store.rows
    );
}

/// Peak resident memory of this process in KiB, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

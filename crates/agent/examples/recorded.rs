//! Records N frames of one streaming reply, paced by nothing, in a journal on disk: `recorded FOLDER N…`.
//!
//! Prints frames a second until all is on stable storage, the process's peak memory, and the bytes that the system says it wrote.
#![cfg(unix)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tapline_agent::archive::{ArchiveOptions, JournalArchive};
use tapline_journal::{Home, Journal, Mode, SqliteJournal};
use tapline_recorder::{Direction, Recorder};
use tapline_testkit::generate;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("usage: recorded FOLDER N…");
    for (n, count) in arguments.filter_map(|a| a.parse::<usize>().ok()).enumerate() {
        let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(&Home::at(&folder)).expect("opens"));
        let options = ArchiveOptions {
            mode: Mode::Wrapped,
            agent: Some("bench".to_owned()),
            origin: None,
            patience: Some(Duration::from_secs(60)),
            resume: None,
        };
        let name = format!("bench-{n}-{}", std::process::id());
        let ledger = JournalArchive::new(journal, options)
            .ledger(&name)
            .expect("begins");
        let mut recorder = Recorder::new(ledger, None).with_seed(&format!("{name}."));
        let written = written();
        let mut frames = 0u64;
        let mut spent = Duration::ZERO;
        for frame in generate::chunks(count, 7) {
            let direction = match frame.direction {
                generate::Direction::FromAgent => Direction::In,
                generate::Direction::FromClient => Direction::Out,
            };
            let line = std::str::from_utf8(&frame.bytes).expect("UTF-8").trim_end();
            // Making the frame is not recording it.
            let start = Instant::now();
            recorder.line("", direction, line, None);
            spent += start.elapsed();
            frames += 1;
        }
        let before = peak_kib();
        let start = Instant::now();
        recorder.close();
        recorder.into_parts().0.end().expect("saved");
        spent += start.elapsed();
        println!(
            "{frames:>9} frames: {:>7.0} frames/s, peak memory {before} KiB while it streams, {} KiB in all, {} bytes written",
            frames as f64 / spent.as_secs_f64(),
            peak_kib(),
            self::written().saturating_sub(written),
        );
    }
}

fn number(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(name))
        .unwrap_or_default();
    line.split_whitespace()
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

fn peak_kib() -> u64 {
    number("/proc/self/status", "VmHWM:")
}

fn written() -> u64 {
    number("/proc/self/io", "write_bytes:")
}

//! Plays N frames of a streaming turn through a recorder in memory, for profilers: `chunks [N] [ROUNDS]`.

use tapline_recorder::{Direction, Memory, Recorder};
use tapline_testkit::generate;

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|a| a.parse::<usize>().ok());
    let (count, rounds) = (args.next().unwrap_or(20_000), args.next().unwrap_or(20));
    let lines: Vec<(Direction, String)> = generate::chunks(count, 1)
        .map(|frame| {
            let direction = match frame.direction {
                generate::Direction::FromAgent => Direction::In,
                generate::Direction::FromClient => Direction::Out,
            };
            (
                direction,
                String::from_utf8_lossy(&frame.bytes).trim_end().to_owned(),
            )
        })
        .collect();
    let start = std::time::Instant::now();
    let mut seen = 0;
    for _ in 0..rounds {
        let mut recorder = Recorder::new(Memory::new(), None);
        for (direction, line) in &lines {
            recorder.line("", *direction, line, None);
        }
        recorder.close();
        seen += recorder.number();
    }
    let took = start.elapsed();
    println!(
        "{seen} frames in {took:?}: {:.0} ns a frame",
        took.as_nanos() as f64 / seen as f64
    );
}

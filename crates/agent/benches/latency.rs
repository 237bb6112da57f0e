//! What `wrap` adds to the way of a frame: 1,000 frames a second through `cat` and back, bare, wrapped, and wrapped and
//! recorded, in turns, so that the machine's moods meet all three.
//!
//! `cargo bench -p tapline-agent --bench latency -- [SECONDS]`. The way there and back passes `wrap` twice.

#[cfg(unix)]
fn main() {
    unix::run();
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Frames a second.
    const PACE: u32 = 1000;
    /// How often each way is measured.
    const ROUNDS: usize = 5;

    pub(crate) fn run() {
        let seconds = std::env::args()
            .skip(1)
            .find_map(|arg| arg.parse().ok())
            .unwrap_or(2);
        let frames = (PACE * seconds) as usize;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let ways = ["bare", "wrapped", "recorded"];
        let mut times = [const { Vec::new() }; 3];
        for round in 0..ROUNDS {
            for (way, times) in ways.iter().zip(&mut times) {
                let record = folder.path().join(format!("{way}-{round}"));
                std::fs::create_dir(&record).expect("a folder can be made");
                let mut command = match *way {
                    "bare" => Command::new("cat"),
                    _ => {
                        let mut command = Command::new(env!("CARGO_BIN_EXE_tapline-wrap"));
                        command.arg("cat");
                        command
                    }
                };
                if *way == "recorded" {
                    command.env("TAPLINE_TEST_RECORD", record);
                }
                times.extend(there_and_back(command, frames));
            }
        }
        println!("{frames} frames at {PACE}/s, {ROUNDS} rounds; there and back, in µs");
        let mut bare = [0.0; 3];
        for (way, times) in ways.iter().zip(&mut times) {
            times.sort();
            let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e6;
            let points = [at(0.5), at(0.99), at(0.999)];
            if *way == "bare" {
                bare = points;
            }
            let [p50, p99, p999] = points;
            let more = [p50 - bare[0], p99 - bare[1], p999 - bare[2]];
            println!(
                "{way:9} p50 {p50:8.1}  p99 {p99:8.1}  p99.9 {p999:8.1}   more: {:7.1} {:7.1} {:7.1}",
                more[0], more[1], more[2]
            );
        }
    }

    fn there_and_back(mut command: Command, frames: usize) -> Vec<Duration> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let mut input = child.stdin.take().expect("it is piped");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        let mut times = Vec::with_capacity(frames);
        let start = Instant::now();
        for number in 0..frames {
            let frame = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"s\",\"update\":{{\
                 \"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"type\":\"text\",\"text\":\"word {number}\"}}}}}}}}\n"
            );
            let due = start + Duration::from_secs(1) * u32::try_from(number).unwrap_or(u32::MAX) / PACE;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            input.write_all(frame.as_bytes()).expect("the agent reads");
            line.clear();
            output.read_line(&mut line).expect("the agent answers");
            times.push(sent.elapsed());
            assert_eq!(line, frame);
        }
        drop(input);
        child.wait().expect("the agent ends");
        times
    }
}

//! What `wrap` adds to the way of a frame at 1,000 frames a second: one way, from an agent that writes the time into each, and
//! there and back through `cat`, which passes `wrap` twice. Bare, relayed, wrapped, and wrapped and recorded take turns, so
//! that the machine's moods meet all of them.
//!
//! Relayed means `cat | agent | cat`: the least that anything between the two can cost, since each process on the way is a
//! thread that sleeps and has to be woken. What `wrap` costs more than that is its own; what both cost more than bare is the
//! system's. A woken thread that is put behind another on its processor may wait there for the system's next tick, which is
//! where the last frames in a thousand get their milliseconds, bare as well as wrapped.
//!
//! The first frames of each run are not counted: they wait for processes to start, which is not what is measured.
//!
//! `cargo bench -p tapline-agent --bench latency -- [SECONDS]`.

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
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    /// Frames a second.
    const PACE: u32 = 1000;
    /// How often each way is measured.
    const ROUNDS: usize = 5;
    /// Frames at the beginning of each run that are not counted, because all that is on their way still starts.
    const FIRST: usize = 200;
    /// What counts as late: no wake of a thread takes so long by itself.
    const LATE: Duration = Duration::from_millis(1);

    /// The argument that makes this program the agent that only sends.
    const SENDER: &str = "__sender";

    pub(crate) fn run() {
        let mut arguments = std::env::args().skip(1);
        if arguments.next().as_deref() == Some(SENDER) {
            let frames = arguments.next().and_then(|number| number.parse().ok());
            return send(frames.unwrap_or(0));
        }
        let seconds = std::env::args()
            .skip(1)
            .find_map(|arg| arg.parse().ok())
            .unwrap_or(2);
        let frames = (PACE * seconds) as usize;
        println!("{frames} frames at {PACE}/s, {ROUNDS} rounds, in µs");
        let own = std::env::current_exe().expect("this program has a path");
        let own = own.to_str().expect("a path in UTF-8");
        compare(
            "one way",
            &[own, SENDER, &(FIRST + frames).to_string()],
            frames,
            one_way,
        );
        compare("there and back", &["cat"], frames, there_and_back);
    }

    fn compare(title: &str, agent: &[&str], frames: usize, measure: fn(Command, usize) -> Vec<Duration>) {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let ways = ["bare", "relayed", "wrapped", "recorded"];
        let mut times = [const { Vec::new() }; 4];
        for round in 0..ROUNDS {
            for (way, times) in ways.iter().zip(&mut times) {
                let record = folder.path().join(format!("{way}-{round}"));
                std::fs::create_dir(&record).expect("a folder can be made");
                let mut command = match *way {
                    "bare" => Command::new(agent[0]),
                    "relayed" => {
                        let mut command = Command::new("sh");
                        command.args(["-c", "cat | \"$@\" | cat", "relay", agent[0]]);
                        command
                    }
                    _ => {
                        let mut command = Command::new(env!("CARGO_BIN_EXE_tapline-wrap"));
                        command.arg(agent[0]);
                        command
                    }
                };
                command.args(&agent[1..]);
                if *way == "recorded" {
                    command.env("TAPLINE_TEST_RECORD", record);
                }
                times.extend_from_slice(&measure(command, FIRST + frames)[FIRST..]);
            }
        }
        println!("{title}");
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
            let late = times.iter().filter(|time| **time > LATE).count();
            println!(
                "  {way:9} p50 {p50:8.1}  p99 {p99:8.1}  p99.9 {p999:8.1}   more: {:7.1} {:7.1} {:7.1}   over 1 ms: {late}",
                more[0], more[1], more[2]
            );
        }
    }

    /// Nanoseconds on the clock that all processes of the machine share.
    fn clock() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Waits until a frame is due.
    fn pace(start: Instant, number: usize) {
        let due = start + Duration::from_secs(1) * u32::try_from(number).unwrap_or(u32::MAX) / PACE;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }

    /// The agent that only sends: each frame says when it left.
    fn send(frames: usize) {
        let mut out = std::io::stdout().lock();
        let start = Instant::now();
        for number in 0..frames {
            pace(start, number);
            let line = frame(&clock().to_string());
            out.write_all(line.as_bytes())
                .and_then(|()| out.flush())
                .expect("somebody reads");
        }
    }

    fn frame(text: &str) -> String {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"s\",\"update\":{{\
             \"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"type\":\"text\",\"text\":\"{text}\"}}}}}}}}\n"
        )
    }

    fn one_way(mut command: Command, frames: usize) -> Vec<Duration> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        let mut times = Vec::with_capacity(frames);
        for _ in 0..frames {
            line.clear();
            output.read_line(&mut line).expect("the agent writes");
            let now = clock();
            let digits: String = line
                .rsplit("\"text\":\"")
                .next()
                .into_iter()
                .flat_map(str::chars)
                .take_while(char::is_ascii_digit)
                .collect();
            let left: u64 = digits.parse().expect("a frame says when it left");
            times.push(Duration::from_nanos(now.saturating_sub(left)));
        }
        child.wait().expect("the agent ends");
        times
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
            let frame = frame(&format!("word {number}"));
            pace(start, number);
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

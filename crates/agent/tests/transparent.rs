//! The pipe itself: what passes, and who dies of what.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

mod common;

use std::io::{Read, Write};
use std::thread;

use common::{Wrapped, gone, line, lives, read_all};
use rustix::process::Signal;
use tapline_agent::wrap::End;

fn seed() -> u64 {
    let seed = std::env::var("TAPLINE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("TAPLINE_SEED={seed}");
    seed
}

fn random_bytes(random: &mut fastrand::Rng, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    random.fill(&mut bytes);
    bytes
}

/// Frames of all sizes up to 8 MiB, in random order, until there are at least `length` bytes.
fn frames(random: &mut fastrand::Rng, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut number = 0;
    while bytes.len() < length {
        let text = match number {
            1 => (8 << 20) - 200,
            _ => 1 << random.u32(0..18),
        };
        let letter = random.alphanumeric();
        let text: String = std::iter::repeat_n(letter, text).collect();
        let frame = serde_json::json!({"jsonrpc": "2.0", "method": "session/update", "params": {
            "sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": text}}, "number": number}});
        bytes.extend_from_slice(frame.to_string().as_bytes());
        bytes.push(b'\n');
        number += 1;
    }
    bytes
}

/// Writes in pieces of random length, so that frames are cut anywhere.
fn write_in_pieces(mut to: impl Write, bytes: &[u8], seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(random.usize(1..=200_000).min(rest.len()));
        to.write_all(piece).unwrap();
        rest = after;
    }
}

fn there_and_back(bytes: &[u8], seed: u64) {
    let mut wrapped = Wrapped::start(&["cat"]);
    let back = read_all(wrapped.output());
    write_in_pieces(wrapped.input(), bytes, seed);
    let back = back.join().unwrap();
    assert_eq!(back.len(), bytes.len());
    assert!(back == bytes, "the bytes came back changed");
    let (end, errors) = wrapped.end();
    assert_eq!((end, errors.len()), (End::Code(0), 0));
}

#[test]
fn ten_megabytes_of_random_bytes_pass_both_ways_unchanged() {
    let seed = seed();
    let bytes = random_bytes(&mut fastrand::Rng::with_seed(seed), 10_000_000);
    there_and_back(&bytes, seed);
}

#[test]
fn ten_megabytes_of_frames_pass_both_ways_unchanged() {
    let seed = seed();
    let bytes = frames(&mut fastrand::Rng::with_seed(seed), 10_000_000);
    assert!(bytes.split(|b| *b == b'\n').any(|line| line.len() > 8_380_000));
    there_and_back(&bytes, seed);
}

#[test]
fn both_directions_flow_at_once_and_neither_waits_for_the_other() {
    let seed = seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let there = random_bytes(&mut random, 5_000_000);
    // The agent writes all of its output before it reads a byte: who waited for the input would wait for ever.
    let mut wrapped = Wrapped::shell("head -c 5000000 /dev/zero; cksum; echo end >&2");
    let mut output = wrapped.output();
    let input = wrapped.input();
    let sent = there.clone();
    let writer = thread::spawn(move || write_in_pieces(input, &sent, seed));
    let mut zeros = vec![1; 5_000_000];
    output.read_exact(&mut zeros).unwrap();
    assert!(zeros.iter().all(|b| *b == 0));
    writer.join().unwrap();
    let sum = read_all(output).join().unwrap();
    let mut direct = std::process::Command::new("cksum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    direct.stdin.take().unwrap().write_all(&there).unwrap();
    assert_eq!(sum, direct.wait_with_output().unwrap().stdout);
    assert_eq!(wrapped.end(), (End::Code(0), b"end\n".to_vec()));
}

#[test]
fn standard_error_passes_unchanged() {
    let seed = seed();
    let bytes = random_bytes(&mut fastrand::Rng::with_seed(seed), 1_000_000);
    let mut wrapped = Wrapped::shell("cat >&2");
    write_in_pieces(wrapped.input(), &bytes, seed);
    let (end, errors) = wrapped.end();
    assert_eq!(end, End::Code(0));
    assert!(errors == bytes, "standard error was changed");
}

#[test]
fn exit_codes_pass() {
    for code in [0, 1, 3, 127, 255] {
        let wrapped = Wrapped::shell(&format!("exit {code}"));
        assert_eq!(wrapped.end().0, End::Code(code));
    }
}

#[test]
fn death_by_a_signal_is_death_by_the_same_signal() {
    for signal in ["TERM", "KILL", "INT", "HUP", "ABRT", "SEGV", "USR1"] {
        let wrapped = Wrapped::shell(&format!("kill -{signal} $$"));
        let number = match signal {
            "HUP" => 1,
            "INT" => 2,
            "ABRT" => 6,
            "KILL" => 9,
            "USR1" => Signal::USR1.as_raw(),
            "SEGV" => 11,
            _ => 15,
        };
        assert_eq!(wrapped.end().0, End::Signal(number), "{signal}");
    }
}

#[test]
fn signals_reach_the_agent_once_each() {
    for (name, signal) in [
        ("INT", Signal::INT),
        ("TERM", Signal::TERM),
        ("HUP", Signal::HUP),
        ("QUIT", Signal::QUIT),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
        ("WINCH", Signal::WINCH),
    ] {
        // `read` fails when a signal comes, and at the end.
        let mut wrapped = Wrapped::shell(&format!(
            "trap 'echo {name}' {name}; echo ready; n=0; while [ $n -lt 2 ]; do if read word; then echo $word; else n=$((n + 1)); fi; done; exit 7"
        ));
        let mut output = wrapped.output();
        let mut input = wrapped.input();
        assert_eq!(line(&mut output), "ready");
        wrapped.signal(signal);
        assert_eq!(line(&mut output), name);
        // It came once: nothing stands between it and what is said next.
        input.write_all(b"next\n").unwrap();
        assert_eq!(line(&mut output), "next");
        drop(input);
        assert_eq!(wrapped.end().0, End::Code(7), "{name}");
    }
}

#[test]
fn the_end_of_the_input_passes() {
    let mut wrapped = Wrapped::shell("cat >/dev/null; echo ended");
    drop(wrapped.input());
    assert_eq!(line(&mut wrapped.output()), "ended");
    assert_eq!(wrapped.end().0, End::Code(0));
}

#[test]
fn an_agent_that_closes_its_output_goes_on() {
    let mut wrapped = Wrapped::shell("echo last; exec >&-; read word; echo got $word >&2; exit 4");
    let mut output = wrapped.output();
    assert_eq!(line(&mut output), "last");
    // The editor sees the end of the output while the agent lives.
    assert_eq!(output.read(&mut [0]).unwrap(), 0);
    wrapped.input().write_all(b"on\n").unwrap();
    assert_eq!(wrapped.end(), (End::Code(4), b"got on\n".to_vec()));
}

#[test]
fn an_agent_that_closes_its_input_breaks_the_pipe_of_the_editor() {
    let mut wrapped = Wrapped::shell("exec <&-; echo closed; sleep 60");
    let mut input = wrapped.input();
    assert_eq!(line(&mut wrapped.output()), "closed");
    let piece = [b'x'; 4096];
    let error = std::iter::repeat_with(|| input.write_all(&piece))
        .find_map(Result::err)
        .unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    wrapped.signal(Signal::TERM);
    assert_eq!(wrapped.end().0, End::Signal(15));
}

#[test]
fn an_editor_that_leaves_breaks_the_pipe_of_the_agent() {
    let mut wrapped = Wrapped::shell("while echo word; do sleep 0.01; done 2>/dev/null; exit 9");
    let mut output = wrapped.output();
    assert_eq!(line(&mut output), "word");
    drop(output);
    // `sh` dies of the broken pipe, or sees the failed write.
    let end = wrapped.end().0;
    assert!([End::Code(9), End::Signal(13)].contains(&end), "{end:?}");
}

#[test]
fn a_descendant_that_holds_the_pipe_keeps_nobody() {
    let mut wrapped = Wrapped::shell("sleep 300 & echo $!; head -c 200000 /dev/zero; exit 5");
    let mut output = wrapped.output();
    let descendant: u32 = line(&mut output).parse().unwrap();
    let rest = read_all(output).join().unwrap();
    assert_eq!(rest.len(), 200_000, "the agent's last words were cut");
    assert_eq!(wrapped.end().0, End::Code(5));
    // As without us, what the agent left running runs on.
    assert!(lives(descendant));
    common::kill(descendant, Signal::KILL);
}

#[test]
fn killing_the_wrapper_ends_the_agent_and_what_it_started() {
    for start in ["echo $$", "trap '' TERM HUP INT; echo $$"] {
        let mut wrapped = Wrapped::shell(&format!("{start}; sleep 300 & echo $!; wait; sleep 300"));
        let mut output = wrapped.output();
        let agent: u32 = line(&mut output).parse().unwrap();
        let descendant: u32 = line(&mut output).parse().unwrap();
        assert!(lives(agent) && lives(descendant));
        wrapped.signal(Signal::KILL);
        assert_eq!(wrapped.wait(), End::Signal(9));
        assert!(gone(agent) && gone(descendant), "an orphan was left");
    }
}

#[test]
fn killing_the_wrapper_at_any_moment_of_its_start_leaves_no_agent() {
    let seed = seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    for round in 0..40 {
        let file = folder.path().join(round.to_string());
        let script = format!("echo $$ > {}; exec sleep 300", file.display());
        let mut wrapped = Wrapped::shell(&script);
        thread::sleep(std::time::Duration::from_micros(random.u64(0..8000)));
        wrapped.signal(Signal::KILL);
        wrapped.wait();
        // Its output is the pipe that the agent holds too: the end comes when nobody is left.
        let mut none = Vec::new();
        let _ = wrapped.output().read_to_end(&mut none);
        thread::sleep(std::time::Duration::from_millis(5));
        if let Ok(pid) = std::fs::read_to_string(&file)
            && let Ok(pid) = pid.trim().parse()
        {
            assert!(gone(pid), "round {round} left an orphan");
        }
    }
}

#[test]
fn a_killed_agent_is_passed_on() {
    let mut wrapped = Wrapped::shell("echo $$; sleep 300");
    let agent: u32 = line(&mut wrapped.output()).parse().unwrap();
    common::kill(agent, Signal::KILL);
    assert_eq!(wrapped.end().0, End::Signal(9));
}

#[test]
fn a_program_that_is_not_there_is_told_in_a_sentence() {
    let (end, errors) = Wrapped::start(&["/nowhere/agent"]).end();
    assert_eq!(end, End::Code(127));
    let errors = String::from_utf8(errors).unwrap();
    assert!(
        errors.contains("/nowhere/agent") && errors.lines().count() == 1,
        "{errors}"
    );
}

#[test]
fn the_guard_leaves_when_the_agent_has_left() {
    let mut wrapped = Wrapped::shell("ps -o pgid= -p $$ | tr -d ' '; read word");
    let guard: u32 = line(&mut wrapped.output()).parse().unwrap();
    assert!(lives(guard));
    assert_eq!(wrapped.end().0, End::Code(1));
    assert!(!lives(guard));
}

//! Writes made-up traffic as a recording: `frames chunks|mixed|turns COUNT [SEED]`, or `frames repeat FILE COUNT`, which
//! writes the frames of a recording again and again until there are COUNT. For benches and their peers.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use tapline_testkit::generate;

const USAGE: &str = "usage: frames chunks|mixed|turns COUNT [SEED]\n       frames repeat FILE COUNT";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match write(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("frames: {sentence}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn write(arguments: &[String]) -> Result<(), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["repeat", file, count] => repeat(file, number(count)?),
        [kind, count] => made_up(kind, number(count)?, 1),
        [kind, count, seed] => made_up(kind, number(count)?, number(seed)? as u64),
        _ => Err("it takes two or three arguments".to_owned()),
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn made_up(kind: &str, count: usize, seed: u64) -> Result<(), String> {
    match kind {
        "chunks" => lines(generate::chunks(count, seed).map(|frame| frame.line())),
        "mixed" => lines(generate::mixed(count, seed).map(|frame| frame.line())),
        "turns" => lines(generate::turns(count, seed).map(|frame| frame.line())),
        _ => Err(format!("`{kind}` is no kind of traffic")),
    }
}

fn repeat(file: &str, count: usize) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|why| format!("{file} cannot be read: {why}"))?;
    let mut recorded = text.lines();
    let header = recorded.next().ok_or_else(|| format!("{file} is empty"))?;
    let frames: Vec<&str> = recorded.filter(|line| line.contains("\"msg\"")).collect();
    if frames.is_empty() {
        return Err(format!("{file} holds no frames"));
    }
    lines(std::iter::once(header).chain(frames.into_iter().cycle().take(count)))
}

fn lines(lines: impl Iterator<Item = impl AsRef<str>>) -> Result<(), String> {
    let mut out = BufWriter::new(io::stdout().lock());
    for line in lines {
        writeln!(out, "{}", line.as_ref())
            .map_err(|why| format!("standard output cannot be written: {why}"))?;
    }
    out.flush()
        .map_err(|why| format!("standard output cannot be written: {why}"))
}

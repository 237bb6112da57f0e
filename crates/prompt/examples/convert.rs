//! Converts prompts: JSON Lines on standard input, one answer a line on standard output.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", tapline_prompt::providers::convert_line(&line?))?;
    }
    out.flush()
}

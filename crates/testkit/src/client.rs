//! The client's side: playing a recording against an agent, and talking to one in a test.

use std::io::{Read, Write};

use crate::recording::{Process, What};

/// Why playing a recording did not end as recorded.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The agent wrote something else.
    #[error("at line {line} of the recording the agent wrote {got} where {wanted} was recorded")]
    Differs {
        /// Number of the line, from 1.
        line: usize,
        /// What was recorded, shortened.
        wanted: String,
        /// What came, shortened.
        got: String,
    },
    /// The agent said more than was recorded.
    #[error("after the last line of the recording the agent went on with {0}")]
    Surplus(String),
    /// A pipe broke.
    #[error("at line {line} of the recording the pipe failed: {source}")]
    Pipe {
        /// Number of the line, from 1.
        line: usize,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Plays the client's side of a recording against an agent process, and returns all that the agent wrote.
///
/// Before each frame of the client it has read everything that the recorded agent had written by then, and the
/// scripted agent in its turn waits for each of the client's frames. So with both at the two ends of a pipe the merged
/// order of frames is the recorded one, every time. After the last line it closes the agent's input and reads to the
/// end. The bytes are compared while they come, so that a difference is an error with a line number and never a
/// reader that waits for ever.
pub fn play(
    process: &Process,
    mut agent_output: impl Read,
    agent_input: impl Write,
) -> Result<Vec<u8>, PlayError> {
    let mut input = agent_input;
    let mut received = Vec::new();
    let mut last = 0;
    for step in &process.steps {
        last = step.line;
        let pipe = |source| PlayError::Pipe {
            line: step.line,
            source,
        };
        match &step.what {
            What::Sent { bytes, .. } => {
                input
                    .write_all(bytes)
                    .and_then(|()| input.flush())
                    .map_err(pipe)?;
            }
            wrote @ What::Wrote { .. } => {
                let mut expected = Vec::new();
                wrote.write_agent_bytes(&mut expected).map_err(pipe)?;
                let start = received.len();
                let mut limited = (&mut agent_output).take(expected.len() as u64);
                limited.read_to_end(&mut received).map_err(pipe)?;
                if received[start..] != expected[..] {
                    let (wanted, got) = (shorten(&expected), shorten(&received[start..]));
                    return Err(PlayError::Differs {
                        line: step.line,
                        wanted,
                        got,
                    });
                }
            }
            What::Stderr(_) => {}
        }
    }
    drop(input);
    let end = received.len();
    agent_output
        .read_to_end(&mut received)
        .map_err(|source| PlayError::Pipe { line: last, source })?;
    if received.len() > end {
        return Err(PlayError::Surplus(shorten(&received[end..])));
    }
    Ok(received)
}

/// The first bytes, for a sentence.
fn shorten(bytes: &[u8]) -> String {
    const SHOWN: usize = 200;
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    match bytes.len() {
        0 => "nothing".to_owned(),
        length if length > SHOWN => format!("`{shown}…` ({length} bytes)"),
        _ => format!("`{}`", shown.trim_end()),
    }
}

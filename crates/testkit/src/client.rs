//! The client's side: playing a recording against an agent, and talking to one in a test.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

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

/// A conversation with an agent over its two pipes, for tests: blocking, one frame at a time.
pub struct Talk<R, W> {
    output: BufReader<R>,
    input: Option<W>,
    next_id: u64,
}

impl<R: Read, W: Write> Talk<R, W> {
    /// Takes the agent's output and input.
    pub fn new(agent_output: R, agent_input: W) -> Self {
        Self {
            output: BufReader::new(agent_output),
            input: Some(agent_input),
            next_id: 0,
        }
    }

    /// Sends a request and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> io::Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Answers a request of the agent.
    pub fn answer(&mut self, request: &Value, result: Value) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
    }

    /// Sends a frame as it stands.
    pub fn send(&mut self, frame: &Value) -> io::Result<()> {
        let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the agent's input was closed before");
        let input = self.input.as_mut().ok_or_else(closed)?;
        input.write_all(format!("{frame}\n").as_bytes())?;
        input.flush()
    }

    /// The next line of the agent, line feed included; nothing at the end.
    pub fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.output.read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// The next frame of the agent; nothing at the end. Lines that are no JSON are passed over.
    pub fn frame(&mut self) -> io::Result<Option<Value>> {
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(None);
            }
            if let Ok(frame) = serde_json::from_slice(&line) {
                return Ok(Some(frame));
            }
        }
    }

    /// Reads until a frame fits, which is the last one returned. The end of the output is an error.
    pub fn until(&mut self, mut fits: impl FnMut(&Value) -> bool) -> io::Result<Vec<Value>> {
        let mut frames = Vec::new();
        while let Some(frame) = self.frame()? {
            let last = fits(&frame);
            frames.push(frame);
            if last {
                return Ok(frames);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("the agent ended after {} frames", frames.len()),
        ))
    }

    /// Reads until the answer to a request, which is the last one returned.
    pub fn until_answer(&mut self, id: u64) -> io::Result<Vec<Value>> {
        self.until(|frame| frame["id"] == id && frame.get("method").is_none())
    }

    /// Sends a request and returns its answer; what came before it is passed over.
    pub fn call(&mut self, method: &str, params: Value) -> io::Result<Value> {
        let id = self.request(method, params)?;
        Ok(self.until_answer(id)?.pop().unwrap_or_default())
    }

    /// Closes the agent's input.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// All that the agent still writes.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest)?;
        Ok(rest)
    }
}

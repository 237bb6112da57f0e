//! Recordings: JSON Lines of what passed between a client and an agent.
//!
//! The form is the input form of `tapline translate` and `tapline import`. This reader keeps what a player needs and
//! the translator does not: the exact bytes. A frame keeps the spelling it has in the file (numbers, escapes, order
//! of members); only the blanks between its tokens go, because a frame is written as compact JSON.
//!
//! A recording may hold several agent processes: one per `process` name in the older form, and within each a new one
//! at every `initialize` of the client after the first. Each is a [`Process`] and is played on its own.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Status;

/// A whole recording, split into the agent processes that it tells of.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The first line, where it is a header.
    pub header: Option<serde_json::Value>,
    /// The agent processes, in the order in which they first spoke or were spoken to.
    pub processes: Vec<Process>,
}

/// What one agent process was told and said.
#[derive(Debug, Clone, Default)]
pub struct Process {
    /// The connection's name in the older form.
    pub name: Option<String>,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// How the process ended, where the recording says so.
    pub exit: Option<Status>,
}

/// One line of a recording.
#[derive(Debug, Clone)]
pub struct Step {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// Milliseconds since the start, where the line has them.
    pub t_ms: Option<u64>,
    /// What happened.
    pub what: What,
}

/// What one line of a recording tells.
#[derive(Debug, Clone)]
pub enum What {
    /// The client sent these bytes.
    Sent {
        /// The frame and its line feed.
        bytes: Vec<u8>,
        /// What the agent must have received before it goes on.
        expect: Expect,
    },
    /// The agent wrote these bytes `times` times.
    Wrote {
        /// The bytes of one repetition, line feed included where it is a frame.
        bytes: Vec<u8>,
        /// How often.
        times: u64,
        /// `{{i}}` in the bytes stands for the number of the repetition.
        counted: bool,
        /// The request that this frame answers, as its id is spelled in the file.
        answers: Option<String>,
    },
    /// One line on the agent's standard error, without its line feed.
    Stderr(String),
}

/// Which frame of the client the agent waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// A request or a notification with this method.
    Method {
        /// The method.
        method: String,
        /// The id as it is spelled in the file; none for a notification.
        id: Option<String>,
    },
    /// An answer to the agent's request with this id, as it is spelled.
    Answer(String),
    /// Any line that is no frame.
    Noise,
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file itself cannot be read.
    #[error("the recording {path} cannot be read: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A line is not in the form.
    #[error("line {line} of the recording is not an input line: {reason}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing to play.
    #[error("the recording holds no input line, so there is nothing to play")]
    Empty,
}

impl Recording {
    /// Reads a recording from a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| RecordingError::Io {
            path: path.display().to_string(),
            source,
        })?;
        Self::parse(&text)
    }

    /// Reads a recording from its text.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let mut header = None;
        let mut open: Vec<Splitter> = Vec::new();
        let mut done: Vec<Option<Process>> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if line.trim().is_empty() {
                continue;
            }
            let fault = |reason: String| RecordingError::Line { line: number, reason };
            let parsed: Line<'_> = serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
            let Some(direction) = parsed.direction() else {
                if header.is_none() && open.is_empty() {
                    header = serde_json::from_str(line).ok();
                    continue;
                }
                return Err(fault("it has neither `dir` nor `direction`".into()));
            };
            let name = parsed.process.as_deref();
            let splitter = match open
                .iter()
                .position(|splitter| splitter.process.name.as_deref() == name)
            {
                Some(at) => &mut open[at],
                None => {
                    done.push(None);
                    open.push(Splitter::new(name, done.len() - 1));
                    open.last_mut().expect("one was pushed on the line before")
                }
            };
            match parsed.read(direction).map_err(fault)? {
                Read::Exit(status) => splitter.process.exit = Some(status),
                Read::What(what) => {
                    if let Some(ended) = splitter.split_before(&what) {
                        let slot = std::mem::replace(&mut splitter.slot, done.len());
                        done.push(None);
                        done[slot] = Some(ended);
                    }
                    splitter.process.steps.push(Step {
                        line: number,
                        t_ms: parsed.time(),
                        what,
                    });
                }
            }
        }
        for splitter in open {
            done[splitter.slot] = Some(splitter.process);
        }
        let processes: Vec<_> = done.into_iter().flatten().collect();
        if processes.is_empty() {
            return Err(RecordingError::Empty);
        }
        Ok(Self { header, processes })
    }
}

impl Process {
    /// Every byte that the agent wrote to its standard output.
    pub fn agent_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for step in &self.steps {
            step.what
                .write_agent_bytes(&mut bytes)
                .expect("writing to a vector cannot fail");
        }
        bytes
    }

    /// Every line that the agent wrote to its standard error, with line feeds.
    pub fn agent_stderr(&self) -> String {
        let lines = self.steps.iter().filter_map(|step| match &step.what {
            What::Stderr(line) => Some(format!("{line}\n")),
            _ => None,
        });
        lines.collect()
    }
}

impl What {
    /// Writes what the agent wrote in this step, byte for byte.
    pub fn write_agent_bytes(&self, to: &mut dyn Write) -> io::Result<()> {
        self.each_write(|bytes| to.write_all(bytes))
    }

    /// Hands over what the agent wrote in this step, one repetition after the other.
    pub fn each_write(&self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let Self::Wrote {
            bytes,
            times,
            counted,
            ..
        } = self
        else {
            return Ok(());
        };
        if !counted {
            return (0..*times).try_for_each(|_| write(bytes));
        }
        let template = String::from_utf8_lossy(bytes);
        (0..*times).try_for_each(|i| write(template.replace("{{i}}", &i.to_string()).as_bytes()))
    }
}

/// Collects one connection's steps and notices where its next process begins.
struct Splitter {
    process: Process,
    initialized: bool,
    /// Place of the process in the order of first appearance.
    slot: usize,
}

impl Splitter {
    fn new(name: Option<&str>, slot: usize) -> Self {
        let process = Process {
            name: name.map(str::to_owned),
            ..Process::default()
        };
        Self {
            process,
            initialized: false,
            slot,
        }
    }

    fn split_before(&mut self, what: &What) -> Option<Process> {
        let What::Sent {
            expect: Expect::Method { method, .. },
            ..
        } = what
        else {
            return None;
        };
        if method != "initialize" || !std::mem::replace(&mut self.initialized, true) {
            return None;
        }
        let next = Process {
            name: self.process.name.clone(),
            ..Process::default()
        };
        Some(std::mem::replace(&mut self.process, next))
    }
}

#[derive(Clone, Copy)]
enum Direction {
    FromAgent,
    FromClient,
}

enum Read {
    What(What),
    Exit(Status),
}

#[derive(Deserialize)]
struct Line<'a> {
    t_ms: Option<serde_json::Number>,
    #[serde(borrow)]
    dir: Option<Cow<'a, str>>,
    #[serde(borrow)]
    direction: Option<Cow<'a, str>>,
    process: Option<String>,
    #[serde(borrow)]
    msg: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    raw: Option<String>,
    raw_base64: Option<String>,
    #[serde(borrow)]
    repeat: Option<Repeat<'a>>,
    stderr: Option<String>,
    exit: Option<Exit>,
}

#[derive(Deserialize)]
struct Repeat<'a> {
    n: u64,
    #[serde(borrow)]
    msg: Option<&'a RawValue>,
    raw_base64: Option<String>,
}

#[derive(Deserialize)]
struct Exit {
    code: Option<i32>,
    signal: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
}

impl Line<'_> {
    fn direction(&self) -> Option<Direction> {
        match self.dir.as_deref().or(self.direction.as_deref())? {
            "out" => Some(Direction::FromClient),
            _ => Some(Direction::FromAgent),
        }
    }

    fn time(&self) -> Option<u64> {
        let number = self.t_ms.as_ref()?;
        number
            .as_u64()
            .or_else(|| number.as_f64().map(|ms| ms.max(0.0) as u64))
    }

    fn read(&self, direction: Direction) -> Result<Read, String> {
        if let Some(exit) = &self.exit {
            return exit.status().map(Read::Exit);
        }
        if let Some(line) = &self.stderr {
            return Ok(Read::What(What::Stderr(line.clone())));
        }
        let once = |bytes, answers| What::Wrote {
            bytes,
            times: 1,
            counted: false,
            answers,
        };
        let what = if let Some(message) = self.msg.or(self.message) {
            let bytes = frame(message);
            match direction {
                Direction::FromClient => What::Sent {
                    expect: Expect::of(&bytes),
                    bytes,
                },
                Direction::FromAgent => {
                    let answers = match Expect::of(&bytes) {
                        Expect::Answer(id) => Some(id),
                        _ => None,
                    };
                    once(bytes, answers)
                }
            }
        } else if let Some(raw) = &self.raw {
            let bytes = format!("{raw}\n").into_bytes();
            match direction {
                Direction::FromClient => What::Sent {
                    expect: Expect::of(&bytes),
                    bytes,
                },
                Direction::FromAgent => once(bytes, None),
            }
        } else if let Some(coded) = &self.raw_base64 {
            once(decode(coded)?, None)
        } else if let Some(repeat) = &self.repeat {
            let (bytes, counted) = match (repeat.msg, &repeat.raw_base64) {
                (Some(message), _) => (frame(message), true),
                (None, Some(coded)) => (decode(coded)?, false),
                (None, None) => return Err("`repeat` has neither `msg` nor `raw_base64`".into()),
            };
            What::Wrote {
                bytes,
                times: repeat.n,
                counted,
                answers: None,
            }
        } else {
            return Err("it has none of `msg`, `raw`, `raw_base64`, `repeat`, `stderr` and `exit`".into());
        };
        Ok(Read::What(what))
    }
}

impl Exit {
    fn status(&self) -> Result<Status, String> {
        match &self.signal {
            None | Some(serde_json::Value::Null) => Ok(Status::Code(self.code.unwrap_or(0))),
            Some(serde_json::Value::String(name)) => Status::signal_named(name),
            Some(number) => match number.as_i64().and_then(|number| i32::try_from(number).ok()) {
                Some(number) => Ok(Status::Signal(number)),
                None => Err(format!("`signal` is neither a name nor a number: {number}")),
            },
        }
    }
}

impl Expect {
    /// What kind of frame a line is.
    pub fn of(line: &[u8]) -> Self {
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(line) else {
            return Self::Noise;
        };
        let id = envelope.id.map(|id| id.get().to_owned());
        match (envelope.method, id) {
            (Some(method), id) => Self::Method {
                method: method.into_owned(),
                id,
            },
            (None, Some(id)) => Self::Answer(id),
            (None, None) => Self::Noise,
        }
    }
}

fn decode(coded: &str) -> Result<Vec<u8>, String> {
    STANDARD
        .decode(coded)
        .map_err(|error| format!("`raw_base64` does not decode: {error}"))
}

/// The frame as compact JSON and one line feed, in the spelling of the file.
fn frame(message: &RawValue) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.get().len() + 1);
    let (mut in_string, mut escaped) = (false, false);
    for byte in message.get().bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            in_string = byte == b'"';
        }
        bytes.push(byte);
    }
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_loses_only_its_blanks() {
        let line = r#"{"dir":"in","msg":{ "jsonrpc" : "2.0", "x": [1.50, 1e3, "a \" b \\"] , "u":"\u00e9"}}"#;
        let recording = Recording::parse(line).unwrap();
        let expected = "{\"jsonrpc\":\"2.0\",\"x\":[1.50,1e3,\"a \\\" b \\\\\"],\"u\":\"\\u00e9\"}\n";
        assert_eq!(
            String::from_utf8(recording.processes[0].agent_bytes()).unwrap(),
            expected
        );
    }

    #[test]
    fn every_initialize_after_the_first_is_a_new_process() {
        let text = concat!(
            r#"{"agent":"x"}"#,
            "\n",
            r#"{"dir":"out","msg":{"id":0,"method":"initialize"}}"#,
            "\n",
            r#"{"dir":"in","exit":{"code":null,"signal":"SIGKILL"}}"#,
            "\n",
            r#"{"dir":"out","msg":{"id":0,"method":"initialize"}}"#,
            "\n",
        );
        let recording = Recording::parse(text).unwrap();
        assert_eq!(recording.header.unwrap()["agent"], "x");
        assert_eq!(recording.processes.len(), 2);
        assert_eq!(recording.processes[0].exit, Some(Status::Signal(9)));
        assert_eq!(recording.processes[1].exit, None);
    }

    #[test]
    fn a_repetition_counts_in_its_strings() {
        let text = concat!(
            r#"{"dir":"in","repeat":{"n":3,"msg":{"method":"m","params":{"text":"{{i}}, {{i}}"}}}}"#,
            "\n",
            r#"{"dir":"in","repeat":{"n":2,"raw_base64":"/3t7aX19"}}"#,
            "\n",
            r#"{"dir":"in","raw":"no JSON {{i}}"}"#,
            "\n",
        );
        let expected = [
            &b"{\"method\":\"m\",\"params\":{\"text\":\"0, 0\"}}\n"[..],
            b"{\"method\":\"m\",\"params\":{\"text\":\"1, 1\"}}\n",
            b"{\"method\":\"m\",\"params\":{\"text\":\"2, 2\"}}\n",
            b"\xff{{i}}\xff{{i}}no JSON {{i}}\n",
        ];
        assert_eq!(
            Recording::parse(text).unwrap().processes[0].agent_bytes(),
            expected.concat()
        );
    }

    #[test]
    fn named_connections_are_kept_apart() {
        let text = concat!(
            r#"{"direction":"out","process":"a","message":{"id":0,"method":"initialize"}}"#,
            "\n",
            r#"{"direction":"out","process":"b","message":{"id":0,"method":"initialize"}}"#,
            "\n",
            r#"{"direction":"in","process":"a","message":{"id":0,"result":{}}}"#,
            "\n",
        );
        let recording = Recording::parse(text).unwrap();
        let names: Vec<_> = recording
            .processes
            .iter()
            .map(|process| process.name.as_deref())
            .collect();
        assert_eq!(names, [Some("a"), Some("b")]);
        assert_eq!(recording.processes[0].steps.len(), 2);
    }

    #[test]
    fn a_line_without_meaning_is_named() {
        let error = Recording::parse("{\"dir\":\"in\",\"msg\":{}}\n{\"dir\":\"in\"}\n").unwrap_err();
        assert!(
            error.to_string().starts_with("line 2 of the recording"),
            "{error}"
        );
    }
}

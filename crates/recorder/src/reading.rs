//! Files of recorded traffic: JSON Lines in the forms that the timeline format names.

use std::borrow::Cow;

use base64::Engine as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use tapline_timeline::Time;
use tapline_translate::{Direction, dialects};
use thiserror::Error;

use crate::recorder::{Recorder, Store, Watch};

/// Longest line of a recording that is read, in bytes: the longest frame, with room for base64 and the envelope.
pub const LINE_LIMIT: usize = 24 << 20;
/// Most repetitions that one line may ask for.
const REPEAT_LIMIT: u64 = 10_000_000;
/// Bytes of a recording that are kept back until something names the agent.
const KEPT_BACK: usize = 4 << 20;

/// What the first line of a recording says.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Header {
    /// Name of the agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// When the recording was started (RFC 3339).
    #[serde(default)]
    pub started_at: Option<String>,
}

/// A line of a recording that could not be read.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum BadLine {
    /// It is no JSON object.
    #[error("line {0} is no JSON object; a recording has one JSON object a line")]
    NotAnObject(u64),
    /// It names no direction.
    #[error(
        "line {0} has neither `dir` nor `direction` (\"in\" or \"out\"), so it is no input of a recording"
    )]
    NoDirection(u64),
    /// It holds no input.
    #[error("line {0} holds no input: `msg`, `raw`, `raw_base64`, `repeat`, `stderr` or `exit`")]
    NoInput(u64),
    /// Its base64 cannot be decoded.
    #[error("line {0}: `raw_base64` is no base64")]
    NoBase64(u64),
    /// It asks for too many repetitions.
    #[error("line {0} asks for more than {REPEAT_LIMIT} repetitions")]
    TooOften(u64),
}

impl BadLine {
    /// The line's number, from 1.
    pub fn line(&self) -> u64 {
        let (Self::NotAnObject(n)
        | Self::NoDirection(n)
        | Self::NoInput(n)
        | Self::NoBase64(n)
        | Self::TooOften(n)) = self;
        *n
    }
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(default)]
    t_ms: Option<f64>,
    #[serde(default, borrow)]
    dir: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    direction: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    process: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    msg: Option<&'a RawValue>,
    #[serde(default, borrow)]
    message: Option<&'a RawValue>,
    #[serde(default, borrow)]
    raw: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    raw_base64: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    repeat: Option<Repeat<'a>>,
    #[serde(default, borrow)]
    stderr: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    exit: Option<ExitEntry<'a>>,
}

#[derive(Deserialize)]
struct Repeat<'a> {
    n: u64,
    #[serde(default, borrow)]
    msg: Option<&'a RawValue>,
    #[serde(default, borrow)]
    raw_base64: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ExitEntry<'a> {
    #[serde(default)]
    code: Option<i64>,
    #[serde(default, borrow)]
    signal: Option<Cow<'a, str>>,
}

/// Makes the recorder, once it is known which agent speaks.
type Start<S, W> = Box<dyn FnOnce(Option<&str>) -> Recorder<S, W>>;

/// Reads one recording into a recorder, line by line.
pub struct Recording<S, W> {
    recorder: Option<Recorder<S, W>>,
    start: Option<Start<S, W>>,
    header: Header,
    started_ms: Option<i64>,
    lines: u64,
    inputs: u64,
    /// Lines that wait for something that names the agent.
    kept: Vec<(u64, String)>,
    kept_bytes: usize,
}

impl<S: Store, W: Watch> Recording<S, W> {
    /// Reads into the recorder that `start` makes, once it is known which agent speaks.
    pub fn new(start: impl FnOnce(Option<&str>) -> Recorder<S, W> + 'static) -> Self {
        Self {
            recorder: None,
            start: Some(Box::new(start)),
            header: Header::default(),
            started_ms: None,
            lines: 0,
            inputs: 0,
            kept: Vec::new(),
            kept_bytes: 0,
        }
    }

    /// The header, once the first line was read.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many lines were inputs.
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// Where the line is no part of a recording. Reading may go on with the next.
    pub fn line(&mut self, line: &str) -> Result<(), BadLine> {
        self.lines += 1;
        if line.trim().is_empty() {
            return Ok(());
        }
        let number = self.lines;
        if self.lines == 1 && self.read_header(line) {
            return Ok(());
        }
        if self.recorder.is_some() {
            return self.entry(number, line);
        }
        let sign =
            dialects::sign_in(line).or_else(|| self.header.agent.as_deref().and_then(dialects::known_name));
        self.check(number, line)?;
        self.kept_bytes += line.len();
        self.kept.push((number, line.to_owned()));
        if sign.is_some() || self.kept_bytes > KEPT_BACK {
            self.begin(sign);
        }
        Ok(())
    }

    /// Tells that a line was over the limit: its beginning, and its length.
    pub fn line_too_long(&mut self, prefix: &str, bytes: u64) {
        self.lines += 1;
        self.begin(None);
        self.inputs += 1;
        let direction = if prefix.contains("\"out\"") {
            Direction::Out
        } else {
            Direction::In
        };
        let inner = ["\"msg\":", "\"message\":"]
            .iter()
            .find_map(|n| prefix.find(n).map(|at| &prefix[at + n.len()..]));
        if let Some(recorder) = &mut self.recorder {
            recorder.too_long("", direction, inner.unwrap_or_default().trim_start(), bytes, None);
        }
    }

    /// The recording ends. Gives the recorder back, with everything closed.
    pub fn finish(mut self) -> Recorder<S, W> {
        self.begin(None);
        loop {
            if let Some(mut recorder) = self.recorder.take() {
                recorder.close();
                return recorder;
            }
            // `begin` always leaves a recorder.
            self.begin(None);
        }
    }

    /// Leaves the recording where it is, as a process that is killed does: nothing is closed. `last` may still look at the
    /// recorder, if there is one yet.
    pub fn abandon(mut self, last: impl FnOnce(&mut Recorder<S, W>)) {
        if let Some(recorder) = &mut self.recorder {
            last(recorder);
        }
    }

    fn read_header(&mut self, line: &str) -> bool {
        let Ok(entry) = serde_json::from_str::<Entry<'_>>(line) else {
            return false;
        };
        if entry.dir.is_some() || entry.direction.is_some() {
            return false;
        }
        let Ok(header) = serde_json::from_str::<Header>(line) else {
            return false;
        };
        self.started_ms = match header.started_at.as_deref().and_then(Time::parse) {
            Some(Time::At(ms)) => Some(ms),
            _ => None,
        };
        self.header = header;
        true
    }

    fn check(&self, number: u64, line: &str) -> Result<(), BadLine> {
        let entry: Entry<'_> = serde_json::from_str(line).map_err(|_| BadLine::NotAnObject(number))?;
        direction_of(&entry)
            .map(|_| ())
            .ok_or(BadLine::NoDirection(number))
    }

    /// Starts the recorder and reads what was kept back.
    fn begin(&mut self, sign: Option<&str>) {
        let Some(start) = self.start.take() else { return };
        let hint = sign.map(str::to_owned).or_else(|| self.header.agent.clone());
        self.recorder = Some(start(hint.as_deref()));
        for (number, line) in std::mem::take(&mut self.kept) {
            // Each was checked when it was kept.
            let _ = self.entry(number, &line);
        }
    }

    fn entry(&mut self, number: u64, line: &str) -> Result<(), BadLine> {
        let entry: Entry<'_> = serde_json::from_str(line).map_err(|_| BadLine::NotAnObject(number))?;
        let direction = direction_of(&entry).ok_or(BadLine::NoDirection(number))?;
        let Some(recorder) = &mut self.recorder else {
            return Ok(());
        };
        let at = entry
            .t_ms
            .filter(|ms| *ms >= 0.0)
            .map(|ms| match self.started_ms {
                #[allow(clippy::cast_possible_truncation)] // A time in milliseconds is far below 2^63.
                Some(start) => Time::At(start + ms as i64),
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It is not negative.
                None => Time::Since(ms as u64),
            });
        let process = entry.process.as_deref().unwrap_or_default();
        self.inputs += 1;
        if let Some(msg) = entry.msg.or(entry.message) {
            recorder.line(process, direction, msg.get(), at);
        } else if let Some(raw) = entry.raw {
            recorder.line(process, direction, &raw, at);
        } else if let Some(text) = entry.raw_base64 {
            recorder.bytes(process, direction, &decode(number, &text)?, at);
        } else if let Some(line) = entry.stderr {
            recorder.stderr(process, &line, at);
        } else if let Some(exit) = entry.exit {
            recorder.exit(process, exit.code, exit.signal.as_deref(), at);
        } else if let Some(repeat) = entry.repeat {
            if repeat.n > REPEAT_LIMIT {
                return Err(BadLine::TooOften(number));
            }
            if let Some(msg) = repeat.msg {
                for i in 0..repeat.n {
                    recorder.line(
                        process,
                        direction,
                        &msg.get().replace("{{i}}", &i.to_string()),
                        at,
                    );
                }
            } else if let Some(text) = repeat.raw_base64 {
                let bytes = decode(number, &text)?;
                for _ in 0..repeat.n {
                    recorder.bytes(process, direction, &bytes, at);
                }
            } else {
                return Err(BadLine::NoInput(number));
            }
        } else {
            return Err(BadLine::NoInput(number));
        }
        Ok(())
    }
}

fn direction_of(entry: &Entry<'_>) -> Option<Direction> {
    match entry.dir.as_deref().or(entry.direction.as_deref())? {
        "in" => Some(Direction::In),
        "out" => Some(Direction::Out),
        _ => None,
    }
}

fn decode(number: u64, text: &str) -> Result<Vec<u8>, BadLine> {
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|_| BadLine::NoBase64(number))
}

//! Plays the agent's side of a recording.
//!
//! The player writes what the recorded agent wrote and waits where the recorded client spoke. A frame of the live
//! client is taken for the recorded one if it has the same method, or answers the same request of the agent; what
//! comes early is kept until its line is reached. The live client may number its requests as it likes: the ids in the
//! recorded answers are replaced. Everything else is written as it stands in the file, raw bytes too, and a client
//! that numbers as the recorded one did gets exactly the recorded bytes.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Inbox, Input, Io, Pace, Pacer};
use crate::Status;
use crate::recording::{Expect, Process, What};

/// Exit code of a player whose client left before the recording was over.
pub const CLIENT_LEFT: i32 = 3;

pub(super) fn run(process: &Process, pace: Pace, io: Io) -> Status {
    let Io {
        input,
        output,
        errors,
    } = io;
    let mut player = Player {
        inbox: Inbox::start(input),
        output,
        errors,
        early: VecDeque::new(),
        ids: HashMap::new(),
        pacer: Pacer::new(pace),
    };
    match player.play(process) {
        Ok(status) => status,
        Err(Left { line, wanted }) => {
            let sentence = format!("the client left before line {line} of the recording, where {wanted}\n");
            // Nobody may be left to read it.
            let _ = player.errors.write_all(sentence.as_bytes());
            Status::Code(CLIENT_LEFT)
        }
    }
}

struct Player {
    inbox: Inbox,
    output: Box<dyn Write + Send>,
    errors: Box<dyn Write + Send>,
    /// Frames of the client whose line has not been reached.
    early: VecDeque<Expect>,
    /// The recorded spelling of a client's request id, and the live one.
    ids: HashMap<String, String>,
    pacer: Pacer,
}

/// The client closed its side too soon.
struct Left {
    line: usize,
    wanted: String,
}

impl Player {
    fn play(&mut self, process: &Process) -> Result<Status, Left> {
        for (at, step) in process.steps.iter().enumerate() {
            let left = |wanted: String| Left {
                line: step.line,
                wanted,
            };
            match &step.what {
                What::Sent { expect, .. } => {
                    let still = || {
                        process.steps[at..].iter().filter_map(|step| match &step.what {
                            What::Sent { expect, .. } => Some(expect),
                            _ => None,
                        })
                    };
                    if !self.wait_for(expect, still) {
                        return Err(left(format!("it was to send {}", expect.words())));
                    }
                    self.pacer.mark(step.t_ms);
                }
                What::Stderr(line) => {
                    let written = self.errors.write_all(format!("{line}\n").as_bytes());
                    written
                        .and_then(|()| self.errors.flush())
                        .map_err(|error| left(error.to_string()))?;
                }
                wrote @ What::Wrote { .. } => {
                    self.write(wrote, step.t_ms)
                        .map_err(|error| left(format!("writing to it failed: {error}")))?;
                }
            }
        }
        if let Some(status) = process.exit {
            return Ok(status);
        }
        // The recorded agent was still there at the end, so this one stays until its client leaves.
        while let Some(frame) = self.receive() {
            self.refuse_unless_coming(&frame, std::iter::empty());
        }
        Ok(Status::Code(0))
    }

    /// Waits for the frame, and says whether it came.
    fn wait_for<'a, I>(&mut self, expect: &Expect, still: impl Fn() -> I) -> bool
    where
        I: Iterator<Item = &'a Expect>,
    {
        if let Some(at) = self.early.iter().position(|frame| frame.stands_for(expect)) {
            let frame = self.early.remove(at).expect("the position was just found");
            self.note_id(expect, &frame);
            return true;
        }
        while let Some(frame) = self.receive() {
            if frame.stands_for(expect) {
                self.note_id(expect, &frame);
                return true;
            }
            if self.refuse_unless_coming(&frame, still()) {
                self.early.push_back(frame);
            }
        }
        false
    }

    fn receive(&mut self) -> Option<Expect> {
        match self.inbox.next() {
            Input::Line(line) => Some(Expect::of(&line)),
            Input::Closed => None,
        }
    }

    fn note_id(&mut self, recorded: &Expect, live: &Expect) {
        if let (
            Expect::Method {
                id: Some(recorded), ..
            },
            Expect::Method { id: Some(live), .. },
        ) = (recorded, live)
        {
            self.ids.insert(recorded.clone(), live.clone());
        }
    }

    /// Answers a request that no later line waits for, so that a client with ideas of its own does not hang.
    /// Says whether a later line waits for the frame.
    fn refuse_unless_coming<'a>(
        &mut self,
        frame: &Expect,
        mut still: impl Iterator<Item = &'a Expect>,
    ) -> bool {
        if still.any(|expect| frame.stands_for(expect)) {
            return true;
        }
        if let Expect::Method { method, id: Some(id) } = frame {
            let message = format!("the recording has no `{method}` left");
            let error = json!({"code": -32601, "message": message});
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n");
            // A client that is gone shows at the next read.
            let _ = self
                .output
                .write_all(answer.as_bytes())
                .and_then(|()| self.output.flush());
        }
        false
    }

    fn write(&mut self, wrote: &What, t_ms: Option<u64>) -> io::Result<()> {
        if let What::Wrote {
            bytes,
            answers: Some(recorded),
            ..
        } = wrote
            && let Some(live) = self.ids.get(recorded)
            && live != recorded
        {
            self.pacer.wait(t_ms);
            self.output.write_all(&with_id(bytes, live))?;
        } else {
            let (pacer, output) = (&mut self.pacer, &mut self.output);
            wrote.each_write(|bytes| {
                pacer.wait(t_ms);
                output.write_all(bytes)
            })?;
        }
        self.output.flush()
    }
}

impl Expect {
    /// Whether a live frame can stand for a recorded one.
    fn stands_for(&self, recorded: &Self) -> bool {
        match (self, recorded) {
            (
                Self::Method { method, id },
                Self::Method {
                    method: wanted,
                    id: wanted_id,
                },
            ) => method == wanted && id.is_some() == wanted_id.is_some(),
            (live, recorded) => live == recorded,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Method { method, .. } => format!("`{method}`"),
            Self::Answer(id) => format!("the answer to request {id}"),
            Self::Noise => "a line that is no frame".to_owned(),
        }
    }
}

/// The frame with another id, in the same order of members.
fn with_id(frame: &[u8], id: &str) -> Vec<u8> {
    let parsed = serde_json::from_slice::<Value>(frame).ok();
    let id = serde_json::from_str::<Value>(id).ok();
    let (Some(Value::Object(mut members)), Some(id)) = (parsed, id) else {
        return frame.to_vec();
    };
    members.insert("id".to_owned(), id);
    let mut bytes = Value::Object(members).to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_id_keeps_the_order_of_members() {
        let frame = b"{\"jsonrpc\":\"2.0\",\"result\":{\"b\":1,\"a\":2},\"id\":7}\n";
        let expected = "{\"jsonrpc\":\"2.0\",\"result\":{\"b\":1,\"a\":2},\"id\":\"seven\"}\n";
        assert_eq!(String::from_utf8(with_id(frame, "\"seven\"")).unwrap(), expected);
    }
}

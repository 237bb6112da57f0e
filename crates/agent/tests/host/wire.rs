//! What stands on the tape of a session: what was on the wire, in its order.

use serde_json::Value;
use tapline_journal::Journal;
use tapline_recorder::{Direction, Recorded, TapeRecord};
use tapline_timeline::SessionId;

/// One input of a tape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// A frame that we sent.
    Out(Value),
    /// A frame of the agent.
    In(Value),
    /// What Tapline did.
    Did(Value),
    /// Anything else.
    Other,
}

/// All that was recorded on the connections of a session, oldest first.
pub(crate) fn tape(journal: &dyn Journal, session: &SessionId) -> Vec<Input> {
    let mut inputs = Vec::new();
    for generation in journal.generations(session).expect("generations can be read") {
        if !generation.connection.is_empty() {
            read(journal, &generation.connection, &mut inputs);
        }
    }
    inputs
}

/// All that was recorded by a journal in which no session ever began.
pub(crate) fn tapes(journal: &dyn Journal) -> Vec<Input> {
    let mut inputs = Vec::new();
    for tape in journal.tapes(None).expect("tapes can be listed") {
        read(journal, &tape.connection, &mut inputs);
    }
    inputs
}

fn read(journal: &dyn Journal, connection: &str, to: &mut Vec<Input>) {
    let mut next = 1;
    loop {
        let inputs = journal
            .read_tape(connection, next, 4096)
            .expect("a tape can be read");
        let Some(last) = inputs.last() else { return };
        next = last.number + 1;
        for input in &inputs {
            let record = TapeRecord::decode(input.number, input.at, &input.bytes).expect("a record");
            let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
            to.push(match &record.what {
                Recorded::Line(Direction::Out, text) => Input::Out(json(text)),
                Recorded::Line(Direction::In, text) => Input::In(json(text)),
                Recorded::Did(text) => Input::Did(json(text)),
                _ => Input::Other,
            });
        }
    }
}

/// The methods that were called and told by us, and `answer` for each answer, in order.
pub(crate) fn sent(tape: &[Input]) -> Vec<String> {
    let name = |input: &Input| match input {
        Input::Out(frame) => Some(frame["method"].as_str().unwrap_or("answer").to_owned()),
        _ => None,
    };
    tape.iter().filter_map(name).collect()
}

/// The frames that we sent with this method.
pub(crate) fn calls(tape: &[Input], method: &str) -> Vec<Value> {
    let of = |input: &Input| match input {
        Input::Out(frame) if frame["method"] == method => Some(frame.clone()),
        _ => None,
    };
    tape.iter().filter_map(of).collect()
}

/// Our answers to the agent's requests of this method, each with its place on the tape.
pub(crate) fn answers(tape: &[Input], method: &str) -> Vec<(usize, Value)> {
    let asked: Vec<&Value> = tape
        .iter()
        .filter_map(|input| match input {
            Input::In(frame) if frame["method"] == method => Some(&frame["id"]),
            _ => None,
        })
        .collect();
    let of = |(at, input): (usize, &Input)| match input {
        Input::Out(frame) if frame.get("method").is_none() && asked.contains(&&frame["id"]) => {
            Some((at, frame.clone()))
        }
        _ => None,
    };
    tape.iter().enumerate().filter_map(of).collect()
}

/// Where on the tape the frame with this method was sent that comes `nth`, from 0.
pub(crate) fn place(tape: &[Input], method: &str, nth: usize) -> usize {
    let is = |(at, input): (usize, &Input)| match input {
        Input::Out(frame) if frame["method"] == method => Some(at),
        _ => None,
    };
    let found = tape.iter().enumerate().filter_map(is).nth(nth);
    found.unwrap_or_else(|| panic!("{method} was not sent {} times: {:?}", nth + 1, sent(tape)))
}

//! Agents written as a few lines of shell, for what must come to the byte, and the tape, for what went to them.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tapline_agent::host::{HostOptions, Over};
use tapline_journal::{Journal, Watch};
use tapline_recorder::{Direction, Recorded, TapeRecord};
use tapline_timeline::SessionId;

use crate::rig::{Chat, LONG, Rig, Talk};

/// What every such agent can say. Our calls are numbered from 1, so it knows their ids beforehand: 1 is `initialize`, 2 the
/// set-up of the session, 3 the first call after that.
const WORDS: &str = r#"
say() { printf '%s\n' "$1"; }
hear() { IFS= read -r line || exit 0; id=${line#*'"id":'}; id=${id%%[,\}]*}; }
until_heard() { while :; do hear; case $line in *"$1"*) return;; esac; done; }
result() { say '{"jsonrpc":"2.0","id":'"$1"',"result":'"$2"'}'; }
refuse() { say '{"jsonrpc":"2.0","id":'"$1"',"error":'"$2"'}'; }
request() { say '{"jsonrpc":"2.0","id":'"$1"',"method":"'"$2"'","params":'"$3"'}'; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'"$1"'}}'; }
text() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
done_with() { result "$1" '{"stopReason":"end_turn"}'; }
greet() { hear; result 1 '{"protocolVersion":1,"agentCapabilities":{'"$1"'}}'; }
begin() { greet "$1"; hear; result 2 '{"sessionId":"s"}'; }
permission() { request "$1" session/request_permission '{"sessionId":"s","toolCall":{"toolCallId":"'"$2"'","title":"Do '"$2"'"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}'; }
wait_for() { while [ ! -e "$1" ]; do sleep 0.02; done; }
"#;

impl Rig {
    /// Options for an agent that is these lines of shell.
    pub(crate) fn shell(&self, lines: &str) -> HostOptions {
        self.command(&["sh", "-c", &format!("{WORDS}\n{lines}")])
    }

    pub(crate) fn start_shell(&self, lines: &str) -> Chat {
        self.begin(self.shell(lines)).expect("the session begins")
    }
}

impl Chat {
    /// Waits for the end of a session that nobody closes.
    pub(crate) fn over(self) -> Over {
        until("the session ends", || self.hosted.is_over());
        self.hosted.join()
    }
}

impl Talk {
    /// What was sent to the agent by now, as far as it is saved.
    pub(crate) fn sent(&self) -> Vec<Value> {
        sent(&*self.journal, &self.id)
    }

    /// Waits until a frame was sent to the agent.
    pub(crate) fn until_sent(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let since = Instant::now();
        loop {
            if let Some(frame) = self.sent().into_iter().find(&is) {
                return frame;
            }
            assert!(
                since.elapsed() < LONG,
                "{what} was never sent, but\n{:#?}",
                self.sent()
            );
            let mark = self.journal.mark();
            let _ = self.journal.wait(&Watch::Any(mark), Duration::from_millis(20));
        }
    }

    /// Waits for our answer to the agent's request with this id.
    pub(crate) fn reply(&self, id: &Value) -> Value {
        self.until_sent(&format!("the answer to {id}"), |frame| {
            frame["id"] == *id && frame.get("method").is_none()
        })
    }

    /// Sends a prompt, waits for the end of its turn, and gives how it ended.
    pub(crate) fn end_of(&self, text: &str) -> Option<tapline_timeline::End> {
        match &self.ask(text).body {
            tapline_timeline::Body::Turn(turn) => turn.end,
            _ => None,
        }
    }
}

/// How a frame of these answers: its method, or nothing for an answer.
pub(crate) fn methods(frames: &[Value]) -> Vec<&str> {
    frames
        .iter()
        .filter_map(|frame| frame["method"].as_str())
        .collect()
}

/// The tape of a session's connections, decoded.
pub(crate) fn tape(journal: &dyn Journal, session: &SessionId) -> Vec<TapeRecord<'static>> {
    let mut all = Vec::new();
    for tape in journal.tapes(Some(session)).expect("tapes can be read") {
        let mut next = 1;
        loop {
            let inputs = journal.read_tape(&tape.connection, next, 1000).expect("a tape");
            let Some(last) = inputs.last() else { break };
            next = last.number + 1;
            all.extend(inputs.iter().map(|input| {
                let record = TapeRecord::decode(input.number, input.at, &input.bytes);
                record.expect("a record").into_owned()
            }));
        }
    }
    all
}

pub(crate) fn sent(journal: &dyn Journal, session: &SessionId) -> Vec<Value> {
    let line = |record: TapeRecord<'_>| match record.what {
        Recorded::Line(Direction::Out, line) => serde_json::from_str(&line).ok(),
        _ => None,
    };
    tape(journal, session).into_iter().filter_map(line).collect()
}

/// Waits until a file is there, as an agent of a test says that it has come so far.
pub(crate) fn until_file(path: &Path) {
    let since = Instant::now();
    while !path.exists() {
        assert!(since.elapsed() < LONG, "{} never appeared", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until something holds.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < LONG, "{what}: never");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs; one that has ended and waits to be reaped does not.
pub(crate) fn runs(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X'])),
        Err(_) if Path::new("/proc/self/stat").exists() => false,
        Err(_) => std::process::Command::new("kill")
            .args(["-0", &pid.to_string()])
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success()),
    }
}

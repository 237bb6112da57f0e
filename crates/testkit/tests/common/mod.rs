//! A scripted agent as a process, with a watchdog.
#![allow(dead_code, unreachable_pub)]

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use tapline_testkit::Status;
use tapline_testkit::client::Talk;

/// A safety net only: no test waits for it unless it fails.
const WATCHDOG: Duration = Duration::from_secs(60);

pub struct Agent {
    child: Child,
    errors: Option<JoinHandle<String>>,
    /// Dropped when the agent has ended, which calls the watchdog off.
    _alive: Sender<()>,
}

impl Agent {
    pub fn start(arguments: &[&str]) -> Self {
        let mut agent = Self::start_with_errors(arguments);
        let mut stderr = agent.errors();
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).expect("standard error is readable");
            String::from_utf8_lossy(&text).into_owned()
        });
        agent.errors = Some(errors);
        agent
    }

    /// Starts an agent whose standard error the test reads itself.
    pub fn start_with_errors(arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_scripted-agent"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the scripted agent starts");
        let (alive, ended) = channel::<()>();
        let pid = child.id();
        thread::spawn(move || {
            if ended.recv_timeout(WATCHDOG) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                kill(pid, rustix::process::Signal::KILL);
            }
        });
        Self {
            child,
            errors: None,
            _alive: alive,
        }
    }

    pub fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("the input is taken once")
    }

    pub fn output(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("the output is taken once")
    }

    pub fn errors(&mut self) -> ChildStderr {
        self.child.stderr.take().expect("standard error is taken once")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn running(&mut self) -> bool {
        self.child.try_wait().expect("the child can be asked").is_none()
    }

    /// Waits for the end of the process without reading its standard error to the end.
    pub fn wait(&mut self) -> Status {
        let status = self.child.wait().expect("the child can be waited for");
        match (status.code(), status.signal()) {
            (Some(code), _) => Status::Code(code),
            (None, signal) => Status::Signal(signal.expect("a process ends by a code or a signal")),
        }
    }

    /// Waits for the end, and returns it with all of standard error.
    pub fn end(mut self) -> (Status, String) {
        drop(self.child.stdin.take());
        let status = self.wait();
        let errors = self
            .errors
            .take()
            .expect("it is read once")
            .join()
            .expect("the reader does not panic");
        (status, errors)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn kill(pid: u32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Every `.jsonl` file below a folder of the fixtures, sorted.
pub fn fixtures(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(folder);
    let mut folders = vec![root];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the fixtures are there") {
            let path = entry.expect("the folder is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// A client of a scripted agent that plays a scenario.
pub struct Client {
    pub agent: Agent,
    pub talk: Talk<ChildStdout, ChildStdin>,
}

impl Client {
    /// Starts an agent and introduces itself as a client that can do everything.
    pub fn start(arguments: &[&str]) -> Self {
        let mut client = Self::silent(arguments);
        let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true,
            "_meta": {"terminal_output": true}});
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let answer = client
            .talk
            .call("initialize", params)
            .expect("the agent answers initialize");
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        client
    }

    /// Starts an agent and says nothing.
    pub fn silent(arguments: &[&str]) -> Self {
        let mut agent = Agent::start(arguments);
        let talk = Talk::new(agent.output(), agent.input());
        Self { agent, talk }
    }

    /// Starts an agent that plays a scenario given as text.
    pub fn play(scenario: &str) -> Self {
        let file = tempfile::Builder::new()
            .suffix(".toml")
            .tempfile()
            .expect("a temporary file can be made");
        std::fs::write(file.path(), scenario).expect("a temporary file can be written");
        // The agent has read it once it has answered.
        Self::start(&[file.path().to_str().expect("temporary files have plain names")])
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.talk.call(method, params).expect("the agent answers")
    }

    pub fn new_session(&mut self) -> String {
        let answer = self.call("session/new", json!({"cwd": "/project", "mcpServers": []}));
        answer["result"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no session: {answer}"))
            .to_owned()
    }

    /// Sends a prompt and returns its id.
    pub fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        self.talk
            .request("session/prompt", params)
            .expect("the agent listens")
    }

    /// Runs a whole turn that asks nothing, and returns its frames, the answer last.
    pub fn turn(&mut self, session: &str, text: &str) -> Vec<Value> {
        let id = self.prompt(session, text);
        self.talk.until_answer(id).expect("the turn ends")
    }

    /// Reads on until a request with this method comes.
    pub fn asked(&mut self, method: &str) -> Value {
        let frames = self
            .talk
            .until(|frame| frame["method"] == method && !frame["id"].is_null());
        frames
            .expect("the agent asks")
            .pop()
            .expect("the last frame is the request")
    }

    pub fn cancel(&mut self, session: &str) {
        self.talk
            .notify("session/cancel", json!({"sessionId": session}))
            .expect("the agent listens");
    }

    /// Closes the agent's input and waits for its end.
    pub fn leave(mut self) -> (Status, String) {
        self.talk.close();
        self.agent.end()
    }
}

/// The updates among some frames.
pub fn updates(frames: &[Value]) -> Vec<&Value> {
    frames
        .iter()
        .map(|frame| &frame["params"]["update"])
        .filter(|update| !update.is_null())
        .collect()
}

/// The kinds of the updates among some frames.
pub fn kinds(frames: &[Value]) -> Vec<&str> {
    updates(frames)
        .iter()
        .map(|update| update["sessionUpdate"].as_str().unwrap_or("?"))
        .collect()
}

/// All text that the agent said in some frames.
pub fn text(frames: &[Value]) -> String {
    let said = updates(frames)
        .into_iter()
        .filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    said.map(|update| update["content"]["text"].as_str().unwrap_or_default())
        .collect()
}

/// The stop reason in the last frame.
pub fn stop(frames: &[Value]) -> &str {
    frames
        .last()
        .and_then(|frame| frame["result"]["stopReason"].as_str())
        .unwrap_or("none")
}

//! The client of an agent process: blocking, with a watch that ends what stands still.

use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tapline_testkit::client::Talk;

/// How long one step may take: what stands still for so long is ended, and the test fails. Nothing waits for it else.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the client says to a permission request.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Answer {
    /// There is none to be answered.
    None,
    /// The option of kind `allow_once`.
    Allow,
    /// The option of kind `reject_once`.
    Reject,
}

/// The client of one agent process.
pub(crate) struct Client {
    name: String,
    talk: Talk<ChildStdout, ChildStdin>,
    watch: Watch,
    child: Child,
}

impl Client {
    /// Talks to a process through its pipes.
    pub(crate) fn new(name: &str, mut child: Child) -> Self {
        let talk = Talk::new(
            child.stdout.take().expect("a pipe"),
            child.stdin.take().expect("a pipe"),
        );
        let watch = Watch::new(child.id());
        let name = name.to_owned();
        Self {
            name,
            talk,
            watch,
            child,
        }
    }

    /// Says what comes next, for the case that it never does.
    fn step(&self, what: &str) {
        self.watch.step(format!("{}: {what}", self.name));
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.step(method);
        self.talk
            .call(method, params)
            .unwrap_or_else(|e| panic!("{}: {method}: {e}", self.name))
    }

    /// Sends a prompt, answers what the agent asks, and reads to the end of the turn.
    pub(crate) fn prompt(&mut self, session: &str, scenario: &str, say: Answer) {
        let id = self.send_prompt(session, scenario);
        self.until_answer(id, scenario, say);
    }

    fn send_prompt(&mut self, session: &str, scenario: &str) -> u64 {
        self.step(scenario);
        let words = format!("Please do your part. SCENARIO:{scenario}");
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": words}]});
        self.talk.request("session/prompt", params).expect("sent")
    }

    fn until_answer(&mut self, id: u64, scenario: &str, say: Answer) {
        loop {
            let frame = self
                .talk
                .frame()
                .unwrap_or_else(|e| panic!("{}: {scenario}: {e}", self.name));
            let frame = frame.unwrap_or_else(|| panic!("{}: {scenario}: the agent ended", self.name));
            match frame["method"].as_str() {
                None if frame["id"] == id => return,
                Some(method) if frame.get("id").is_some() => self.reply(&frame, method, say),
                _ => {}
            }
        }
    }

    fn reply(&mut self, request: &Value, method: &str, say: Answer) {
        let sent = if method == "session/request_permission" {
            let kind = match say {
                Answer::None => panic!("{}: asks unexpectedly: {request}", self.name),
                Answer::Allow => "allow_once",
                Answer::Reject => "reject_once",
            };
            let options = request["params"]["options"].as_array().expect("options");
            let option = options.iter().find(|o| o["kind"] == kind);
            let option =
                option.unwrap_or_else(|| panic!("{}: no option of kind {kind}: {request}", self.name));
            self.talk.answer(
                request,
                json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}}),
            )
        } else {
            let error = json!({"code": -32601, "message": "Method not found"});
            self.talk
                .send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
        };
        sent.expect("sent");
    }

    /// Cancels a turn once its words have begun. The model would go on for ever.
    pub(crate) fn stop_in_mid_stream(&mut self, session: &str) {
        let id = self.send_prompt(session, "slow");
        let begun = |f: &Value| {
            let update = &f["params"]["update"];
            update["sessionUpdate"] == "agent_message_chunk"
                && update["content"]["text"]
                    .as_str()
                    .is_some_and(|t| t.contains("Once"))
        };
        self.talk
            .until(begun)
            .unwrap_or_else(|e| panic!("{}: slow: {e}", self.name));
        self.talk
            .notify("session/cancel", json!({"sessionId": session}))
            .expect("sent");
        self.until_answer(id, "slow", Answer::None);
    }

    /// Reads to the end of the turn that Grok begins when a background command has ended.
    pub(crate) fn until_woken(&mut self) {
        self.step("the turn that the end of the command begins");
        let ended = |f: &Value| {
            let text = f.to_string();
            text.contains("\"turn_completed\"") && text.contains("task-completed-")
        };
        let read = self.talk.until(ended);
        read.unwrap_or_else(|e| panic!("{}: the agent's own turn: {e}", self.name));
    }

    /// Ends the agent as an editor does: its input, and where that does not do, a signal.
    pub(crate) fn end(mut self, signal: Option<&str>) {
        self.step("its end");
        self.talk.close();
        if let Some(signal) = signal {
            send_signal(signal, self.child.id());
        }
        self.talk.rest().expect("read");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Client {
    /// `wrap` ends the agent when it dies itself.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send_signal(signal: &str, process: u32) {
    let name = signal.trim_start_matches("SIG");
    let _ = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
}

/// Ends a process whose next step does not come. A blocking reader then sees the end of its pipe, and the test fails.
struct Watch {
    steps: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    fn new(process: u32) -> Self {
        let (steps, coming) = channel();
        let thread = std::thread::spawn(move || watch(&coming, process));
        Self {
            steps: Some(steps),
            thread: Some(thread),
        }
    }

    fn step(&self, what: String) {
        if let Some(steps) = &self.steps {
            let _ = steps.send(what);
        }
    }
}

fn watch(coming: &Receiver<String>, process: u32) {
    let mut now = "its start".to_owned();
    loop {
        match coming.recv_timeout(PATIENCE) {
            Ok(next) => now = next,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                eprintln!("{now}: nothing came for {} s", PATIENCE.as_secs());
                return send_signal("SIGKILL", process);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.steps = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

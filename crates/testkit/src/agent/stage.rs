//! What the threads of a scenario share: the way to the client, what is waited for, the sessions and their history.
//!
//! One lock guards the state and one condition tells of every change to it; the agent is small and its clients are
//! few. The output has a lock of its own, so that a frame is always written whole.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::Pace;
use super::store::Store;
use super::tasks::Task;
use crate::Status;
use crate::scenario::{Scenario, Step};

pub(super) struct Stage {
    pub(super) scenario: Scenario,
    pub(super) pace: Pace,
    pub(super) events: SyncSender<Event>,
    pub(super) store: Store,
    output: Mutex<Option<Box<dyn Write + Send>>>,
    errors: Mutex<Box<dyn Write + Send>>,
    state: Mutex<State>,
    changed: Condvar,
}

/// What the main loop of a scenario hears of.
pub(super) enum Event {
    Line(Vec<u8>),
    Closed,
    End(Status),
}

#[derive(Default)]
pub(super) struct State {
    /// The client is gone: whoever waits gives up.
    pub(super) closing: bool,
    /// The client has closed its side.
    pub(super) eof: bool,
    pub(super) logged_in: bool,
    /// What the client can do, as it said at `initialize`.
    pub(super) client: Value,
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) tasks: BTreeMap<String, Task>,
    /// Answers to prompts that are held back.
    pub(super) held: Vec<(u64, Value)>,
    /// Prompts so far, in all sessions.
    pub(super) arrived: u64,
    requests: u64,
    asked: Vec<Asked>,
}

#[derive(Default)]
pub(super) struct Session {
    pub(super) cwd: String,
    pub(super) mode: String,
    pub(super) options: Vec<Value>,
    /// Prompts so far; chooses the next turn.
    pub(super) prompts: usize,
    pub(super) running: Vec<Cancel>,
    pub(super) queue: VecDeque<Prompt>,
    /// What was said of each tool call, for its permission.
    pub(super) tools: HashMap<String, Map<String, Value>>,
}

/// A prompt that waits for its turn.
pub(super) struct Prompt {
    pub(super) id: Value,
    /// Its place in the order of arrival.
    pub(super) number: u64,
    pub(super) text: String,
    /// What it runs.
    pub(super) steps: Vec<Step>,
}

/// Whether a turn was cancelled.
pub(super) type Cancel = Arc<AtomicBool>;

/// A request of the agent that has no answer yet, or one that nobody has fetched.
struct Asked {
    key: u64,
    id: Value,
    answer: Option<Value>,
}

/// Why the steps of a turn went no further.
#[derive(Debug)]
pub(super) enum Halt {
    Cancelled,
    Stopped(String),
    Failed(Value),
    /// The client is gone.
    Gone,
}

impl From<io::Error> for Halt {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl Stage {
    pub(super) fn new(
        scenario: Scenario,
        pace: Pace,
        store: Store,
        events: SyncSender<Event>,
        output: Box<dyn Write + Send>,
        errors: Box<dyn Write + Send>,
    ) -> Self {
        Self {
            scenario,
            pace,
            events,
            store,
            output: Mutex::new(Some(output)),
            errors: Mutex::new(errors),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder of a session; nothing for one that is not there.
    pub(super) fn cwd(&self, session: &str) -> String {
        let state = self.state();
        let session = state.sessions.get(session);
        session.map(|session| session.cwd.clone()).unwrap_or_default()
    }

    /// Wakes everyone who waits for a change of the state.
    pub(super) fn changed(&self) {
        self.changed.notify_all();
    }

    pub(super) fn never_answers(&self, method: &str) -> bool {
        self.scenario.never_answers.iter().any(|name| name == method)
    }

    /// Writes one frame. Where the output was closed it goes nowhere.
    pub(super) fn send(&self, frame: &Value) -> io::Result<()> {
        let mut line = frame.to_string().into_bytes();
        line.push(b'\n');
        self.write(&line)
    }

    /// Writes bytes to the client.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.write_with(|output| output.write_all(bytes))
    }

    /// Writes a line around so many bytes of filling, of which only a part is ever in memory.
    pub(super) fn write_filled(&self, before: &str, filling: u64, after: &str) -> io::Result<()> {
        static PART: [u8; 64 * 1024] = [b'x'; 64 * 1024];
        self.write_with(|output| {
            output.write_all(before.as_bytes())?;
            let mut left = filling;
            while left > 0 {
                let now = left.min(PART.len() as u64);
                output.write_all(&PART[..now as usize])?;
                left -= now;
            }
            output.write_all(after.as_bytes())
        })
    }

    fn write_with(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(output) = output.as_mut() else {
            return Ok(());
        };
        write(output)?;
        output.flush()
    }

    pub(super) fn close_output(&self) {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(super) fn say_error(&self, line: &str) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody may be left to read it.
        let _ = errors
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| errors.flush());
    }

    pub(super) fn answer(&self, id: &Value, result: Value) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    pub(super) fn refuse(&self, id: &Value, code: i32, message: &str) -> io::Result<()> {
        let error = json!({"code": code, "message": message});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    /// Sends an update and remembers it for a later load.
    pub(super) fn update(&self, session: &str, update: Value) -> io::Result<()> {
        self.note_tool(session, &update);
        self.store.append(session, &update)?;
        self.send_update(session, update)
    }

    /// Sends an update that is not part of the history.
    pub(super) fn send_update(&self, session: &str, update: Value) -> io::Result<()> {
        let mut params = json!({"sessionId": session, "update": update});
        if self.scenario.meta.is_some() {
            // An agent that marks what it is marks what it says.
            params["_meta"] = json!({});
        }
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    fn note_tool(&self, session: &str, update: &Value) {
        let Some(id) = update["toolCallId"].as_str() else {
            return;
        };
        let mut state = self.state();
        let Some(session) = state.sessions.get_mut(session) else {
            return;
        };
        let known = session.tools.entry(id.to_owned()).or_default();
        let members = update.as_object().into_iter().flatten();
        known.extend(members.map(|(key, value)| (key.clone(), value.clone())));
        known.remove("sessionUpdate");
        known.remove("_meta");
    }

    /// What was said of a tool call so far.
    pub(super) fn known_tool(&self, session: &str, tool: &str) -> Map<String, Value> {
        let state = self.state();
        let known = state
            .sessions
            .get(session)
            .and_then(|session| session.tools.get(tool));
        known.cloned().unwrap_or_default()
    }

    /// Sends a request and returns the client's whole answer frame.
    pub(super) fn ask(&self, method: &str, params: Value, cancels: &[Cancel]) -> Result<Value, Halt> {
        let (key, id) = self.expect_answer();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        self.wait_for_answer(key, cancels)
    }

    /// Notes that a request is about to be sent; gives its key and its id.
    pub(super) fn expect_answer(&self) -> (u64, Value) {
        let mut state = self.state();
        state.requests += 1;
        let key = state.requests;
        let id = json!(if self.scenario.repeats_request_ids { 1 } else { key });
        state.asked.push(Asked {
            key,
            id: id.clone(),
            answer: None,
        });
        (key, id)
    }

    pub(super) fn wait_for_answer(&self, key: u64, cancels: &[Cancel]) -> Result<Value, Halt> {
        let mut found = None;
        let end = self.wait_until(None, cancels, |state| {
            let at = state
                .asked
                .iter()
                .position(|asked| asked.key == key && asked.answer.is_some());
            found = at.and_then(|at| state.asked.remove(at).answer);
            found.is_some()
        });
        if end.is_err() {
            self.state().asked.retain(|asked| asked.key != key);
        }
        end.and(found.ok_or(Halt::Gone))
    }

    /// Hands an answer of the client to whoever asked. One that nobody waits for is dropped.
    pub(super) fn answered(&self, frame: Value) {
        let mut state = self.state();
        let open = state
            .asked
            .iter_mut()
            .find(|asked| asked.answer.is_none() && asked.id == frame["id"]);
        if let Some(asked) = open {
            asked.answer = Some(frame);
        }
        drop(state);
        self.changed();
    }

    /// Waits as long as the script says, at the chosen pace.
    pub(super) fn pause(&self, ms: u64, cancels: &[Cancel]) -> Result<(), Halt> {
        match self.pace {
            Pace::Real if ms > 0 => self.wait_until(Some(Duration::from_millis(ms)), cancels, |_| false),
            _ => self.check(cancels),
        }
    }

    /// Waits between two frames where the pace is a rate.
    pub(super) fn beat(&self, ms: u64, cancels: &[Cancel]) -> Result<(), Halt> {
        match self.pace {
            Pace::PerSecond(rate) => {
                self.wait_until(Some(Duration::from_secs_f64(1.0 / rate)), cancels, |_| false)
            }
            _ => self.pause(ms, cancels),
        }
    }

    /// Whether the turn may go on.
    pub(super) fn check(&self, cancels: &[Cancel]) -> Result<(), Halt> {
        if self.state().closing {
            return Err(Halt::Gone);
        }
        if is_cancelled(cancels) {
            Err(Halt::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Waits until the condition holds, the time is over, the turn is cancelled or the client is gone.
    pub(super) fn wait_until(
        &self,
        limit: Option<Duration>,
        cancels: &[Cancel],
        mut done: impl FnMut(&mut State) -> bool,
    ) -> Result<(), Halt> {
        let due = limit.map(|limit| Instant::now() + limit);
        let mut state = self.state();
        loop {
            if done(&mut state) {
                return Ok(());
            }
            if state.closing {
                return Err(Halt::Gone);
            }
            if is_cancelled(cancels) {
                return Err(Halt::Cancelled);
            }
            state = match due.map(|due| due.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Ok(()),
                Some(left) => {
                    self.changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

fn is_cancelled(cancels: &[Cancel]) -> bool {
    cancels.iter().any(|cancel| cancel.load(Ordering::SeqCst))
}

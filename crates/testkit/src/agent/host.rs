//! The agent's side of the protocol for scenarios: answers what the client asks and starts the turns.
//!
//! The main loop only dispatches. Whatever may wait (a turn, the steps of a new session) runs in a thread of its own,
//! so that answers and cancels are always heard.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{Cancel, Event, Halt, Prompt, Session, Stage};
use super::steps::Player;
use super::store::Store;
use super::{Io, Options, UNREAD_LINES, read_lines, tasks};
use crate::Status;
use crate::scenario::{Busy, Scenario, SlowReader, Step, Turn};

const RESOURCE_NOT_FOUND: i32 = -32002;
const AUTH_REQUIRED: i32 = -32000;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

pub(super) fn run(scenario: &Scenario, options: &Options, io: Io) -> Status {
    let Io {
        input,
        output,
        mut errors,
    } = io;
    let store = match Store::open(options.state.clone()) {
        Ok(store) => store,
        Err(error) => {
            let _ = writeln!(errors, "the folder of saved sessions cannot be used: {error}");
            return Status::Code(1);
        }
    };
    if scenario.ignores_sigterm {
        // The flag is never read: that somebody handles the signal is what keeps the process alive.
        let registered = signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::default());
        if let Err(error) = registered {
            let _ = writeln!(errors, "SIGTERM cannot be ignored: {error}");
            return Status::Code(1);
        }
    }
    let (events, inbox) = sync_channel(UNREAD_LINES);
    let lines = events.clone();
    let input: Box<dyn Read + Send> = match scenario.slow_reader {
        Some(slow) => Box::new(Slowly { input, slow }),
        None => input,
    };
    thread::spawn(move || {
        read_lines(input, |line| lines.send(Event::Line(line)).is_ok());
        // The main loop may be gone already.
        let _ = lines.send(Event::Closed);
    });
    let stage = Arc::new(Stage::new(
        scenario.clone(),
        options.pace,
        store,
        events,
        output,
        errors,
    ));
    let host = Host { stage };
    while let Ok(event) = inbox.recv() {
        match event {
            Event::Line(line) => {
                if let Ok(frame @ Value::Object(_)) = serde_json::from_slice(&line)
                    && host.frame(frame).is_err()
                {
                    break;
                }
            }
            Event::Closed if scenario.ignores_eof => {
                host.stage.state().eof = true;
                host.stage.changed();
            }
            Event::Closed => break,
            Event::End(status) => return status,
        }
    }
    host.stage.state().closing = true;
    host.stage.changed();
    Status::Code(0)
}

struct Host {
    stage: Arc<Stage>,
}

/// An error as an answer: code and message.
type Refusal = (i32, String);

impl Host {
    /// Handles one frame of the client. An error means that the client cannot be written to any more.
    fn frame(&self, mut frame: Value) -> io::Result<()> {
        let Some(method) = frame["method"].as_str().map(str::to_owned) else {
            self.stage.answered(frame);
            return Ok(());
        };
        let params = frame["params"].take();
        let id = frame.get_mut("id").map(Value::take);
        match (method.as_str(), id) {
            ("session/cancel", _) => self.cancel(&params),
            (_, None) => {}
            (_, Some(_)) if method != "session/prompt" && self.stage.never_answers(&method) => {}
            ("session/prompt", Some(id)) => return self.prompt(id, &params),
            ("session/new", Some(id)) => return self.new_session(id, &params),
            ("session/load", Some(id)) => return self.load(id, &params),
            (method, Some(id)) => {
                if let Some(failure) = self.stage.scenario.refuses.get(method) {
                    let error = json!({"jsonrpc": "2.0", "id": id, "error": failure});
                    return self.stage.send(&error);
                }
                return match self.simple(method, &params) {
                    Ok(result) => self.stage.answer(&id, result),
                    Err((code, message)) => self.stage.refuse(&id, code, &message),
                }
                .and_then(|()| self.after(method, &params));
            }
        }
        Ok(())
    }

    /// The requests that are answered at once.
    fn simple(&self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let session = session_id(params);
        match method {
            "initialize" => {
                self.stage.state().client = params["clientCapabilities"].clone();
                Ok(self.introduction())
            }
            "authenticate" => {
                self.stage.state().logged_in = true;
                Ok(json!({}))
            }
            "session/resume" => {
                self.logged_in()?;
                let saved = self
                    .stage
                    .store
                    .get(session)
                    .ok_or_else(|| unknown_session(session))?;
                self.open(
                    session,
                    params["cwd"].as_str().unwrap_or(&saved.cwd),
                    saved.prompts(),
                );
                Ok(self.session_state(session, json!({})))
            }
            "session/list" => {
                let all = self.stage.store.all().into_iter();
                let sessions: Vec<_> = all
                    .map(|(id, saved)| match saved.title() {
                        Some(title) => json!({"sessionId": id, "cwd": saved.cwd, "title": title}),
                        None => json!({"sessionId": id, "cwd": saved.cwd}),
                    })
                    .collect();
                Ok(json!({"sessions": sessions}))
            }
            "session/close" | "session/delete" => {
                self.cancel(params);
                let here = self.stage.state().sessions.remove(session).is_some();
                let kept = method == "session/delete" && self.stage.store.get(session).is_some();
                if !here && !kept {
                    return Err(unknown_session(session));
                }
                if method == "session/delete" {
                    self.stage
                        .store
                        .delete(session)
                        .map_err(|error| (-32603, error.to_string()))?;
                }
                Ok(json!({}))
            }
            "session/set_mode" => {
                let mode = params["modeId"].as_str().unwrap_or_default();
                if !self.stage.scenario.modes.iter().any(|known| known.id == mode) {
                    return Err((INVALID_PARAMS, format!("there is no mode `{mode}`")));
                }
                self.with_session(session, |session| mode.clone_into(&mut session.mode))?;
                Ok(json!({}))
            }
            "session/set_config_option" => {
                let options = self.with_session(session, |session| {
                    let mut options = session.options.iter_mut();
                    let option = options.find(|option| option["id"] == params["configId"])?;
                    option["currentValue"] = params["value"].clone();
                    Some(session.options.clone())
                })?;
                let unknown = || {
                    (
                        INVALID_PARAMS,
                        format!("there is no option {}", params["configId"]),
                    )
                };
                Ok(json!({"configOptions": options.ok_or_else(unknown)?}))
            }
            "_x.ai/task/list" => Ok(tasks::list(&self.stage.state(), session)),
            "_x.ai/task/kill" => {
                let task = params["taskId"].as_str().unwrap_or_default();
                let killed = tasks::end(&self.stage, &mut self.stage.state(), task, tasks::Ended::Killed)
                    .map_err(|error| (-32603, error.to_string()))?;
                let outcome = if killed { "killed" } else { "not_found" };
                Ok(json!({"result": {"taskId": task, "outcome": outcome}}))
            }
            _ => Err((METHOD_NOT_FOUND, format!("`{method}` is no method of this agent"))),
        }
    }

    /// What is told after the answer to a request.
    fn after(&self, method: &str, params: &Value) -> io::Result<()> {
        let session = session_id(params);
        match method {
            "session/set_mode" => {
                let mode = self
                    .stage
                    .state()
                    .sessions
                    .get(session)
                    .map(|session| session.mode.clone());
                let Some(mode) = mode.filter(|mode| params["modeId"] == **mode) else {
                    return Ok(());
                };
                let update = json!({"sessionUpdate": "current_mode_update", "currentModeId": mode});
                self.stage.send_update(session, update)
            }
            "session/resume" => self.announce(session),
            _ => Ok(()),
        }
    }

    fn introduction(&self) -> Value {
        let scenario = &self.stage.scenario;
        let mut result = json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
            },
            "agentInfo": scenario.agent,
            "authMethods": [],
        });
        if scenario.needs_login {
            result["authMethods"] =
                json!([{"id": "scripted", "name": "Scripted sign-in", "description": "Always succeeds"}]);
        }
        if let Some(meta) = &scenario.meta {
            result["_meta"] = meta.clone();
        }
        result
    }

    fn new_session(&self, id: Value, params: &Value) -> io::Result<()> {
        if let Err((code, message)) = self.logged_in() {
            return self.stage.refuse(&id, code, &message);
        }
        let cwd = params["cwd"].as_str().unwrap_or_default();
        let session = self.stage.store.create(cwd)?;
        self.open(&session, cwd, 0);
        let named = json!({"sessionId": session});
        self.begin(id, session, named, |scenario| &scenario.on_new)
    }

    fn logged_in(&self) -> Result<(), Refusal> {
        if self.stage.scenario.needs_login && !self.stage.state().logged_in {
            return Err((AUTH_REQUIRED, "Authentication required".to_owned()));
        }
        Ok(())
    }

    fn load(&self, id: Value, params: &Value) -> io::Result<()> {
        if let Err((code, message)) = self.logged_in() {
            return self.stage.refuse(&id, code, &message);
        }
        let session = session_id(params);
        let Some(saved) = self.stage.store.get(session) else {
            let (code, message) = unknown_session(session);
            return self.stage.refuse(&id, code, &message);
        };
        self.open(
            session,
            params["cwd"].as_str().unwrap_or(&saved.cwd),
            saved.prompts(),
        );
        for update in saved.updates {
            let mut params = json!({"sessionId": session, "update": update});
            if self.stage.scenario.marks_replay {
                params["_meta"] = json!({"isReplay": true});
            }
            self.stage
                .send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))?;
        }
        self.begin(id, session.to_owned(), json!({}), |scenario| &scenario.on_load)
    }

    /// Runs the steps that come before the answer to `session/new` or `session/load`, then answers.
    fn begin(
        &self,
        id: Value,
        session: String,
        result: Value,
        steps: impl Fn(&Scenario) -> &Vec<Step>,
    ) -> io::Result<()> {
        let steps = steps(&self.stage.scenario).clone();
        let nothing_first = steps.is_empty();
        let host = Self {
            stage: Arc::clone(&self.stage),
        };
        let run = move || -> io::Result<()> {
            let halted = Player::new(&host.stage, &session, "", Vec::new()).play(&steps);
            if let Err(Halt::Failed(error)) = &halted {
                return host
                    .stage
                    .send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            if matches!(halted, Err(Halt::Gone)) {
                return Ok(());
            }
            host.stage.answer(&id, host.session_state(&session, result))?;
            host.announce(&session)
        };
        if nothing_first {
            return run();
        }
        thread::spawn(run);
        Ok(())
    }

    fn open(&self, session: &str, cwd: &str, prompts: usize) {
        let scenario = &self.stage.scenario;
        let opened = Session {
            cwd: cwd.to_owned(),
            mode: scenario
                .modes
                .first()
                .map(|mode| mode.id.clone())
                .unwrap_or_default(),
            options: scenario.options.clone(),
            prompts,
            running: Vec::new(),
            queue: VecDeque::new(),
            tools: Default::default(),
        };
        self.stage.state().sessions.insert(session.to_owned(), opened);
    }

    /// The answer to `session/new` and its like: what it holds already, then modes and options.
    fn session_state(&self, session: &str, mut result: Value) -> Value {
        let state = self.stage.state();
        let Some(opened) = state.sessions.get(session) else {
            return result;
        };
        if !opened.mode.is_empty() {
            result["modes"] =
                json!({"currentModeId": opened.mode, "availableModes": self.stage.scenario.modes});
        }
        if !opened.options.is_empty() {
            result["configOptions"] = json!(opened.options);
        }
        result
    }

    fn announce(&self, session: &str) -> io::Result<()> {
        let commands = &self.stage.scenario.commands;
        if commands.is_empty() {
            return Ok(());
        }
        let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
        self.stage.send_update(session, update)
    }

    fn with_session<T>(&self, session: &str, change: impl FnOnce(&mut Session) -> T) -> Result<T, Refusal> {
        self.stage
            .state()
            .sessions
            .get_mut(session)
            .map(change)
            .ok_or_else(|| unknown_session(session))
    }

    fn cancel(&self, params: &Value) {
        if self.stage.scenario.ignores_cancel || self.stage.never_answers("session/cancel") {
            return;
        }
        if let Some(session) = self.stage.state().sessions.get(session_id(params)) {
            session
                .running
                .iter()
                .for_each(|turn| turn.store(true, Ordering::SeqCst));
        }
        self.stage.changed();
    }

    fn prompt(&self, id: Value, params: &Value) -> io::Result<()> {
        let session = session_id(params);
        let mut guard = self.stage.state();
        let state = &mut *guard;
        let Some(opened) = state.sessions.get_mut(session) else {
            drop(guard);
            let (code, message) = unknown_session(session);
            return self.stage.refuse(&id, code, &message);
        };
        let blocks = params["prompt"].as_array().into_iter().flatten();
        let text = blocks
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n");
        let steps = choose(&self.stage.scenario.turns, opened, &text);
        state.arrived += 1;
        let prompt = Prompt {
            id,
            number: state.arrived,
            text,
            steps,
        };
        match self.stage.scenario.busy {
            Busy::Queue if !opened.running.is_empty() => {
                opened.queue.push_back(prompt);
                drop(guard);
                self.stage.changed();
            }
            Busy::Reject if !opened.running.is_empty() => {
                drop(guard);
                return self.stage.refuse(
                    &prompt.id,
                    INVALID_REQUEST,
                    "A prompt is already running in this session",
                );
            }
            _ => {
                let cancel: Cancel = Arc::new(AtomicBool::new(false));
                opened.running.push(Arc::clone(&cancel));
                drop(guard);
                let (stage, session) = (Arc::clone(&self.stage), session.to_owned());
                thread::spawn(move || run_turns(&stage, &session, prompt, cancel));
            }
        }
        Ok(())
    }
}

/// Runs a prompt, then those that queued up behind it.
fn run_turns(stage: &Arc<Stage>, session: &str, mut prompt: Prompt, mut cancel: Cancel) {
    while let Ok(Some((next, its_cancel))) = run_turn(stage, session, prompt, &cancel) {
        (prompt, cancel) = (next, its_cancel);
    }
}

fn run_turn(
    stage: &Arc<Stage>,
    session: &str,
    prompt: Prompt,
    cancel: &Cancel,
) -> Result<Option<(Prompt, Cancel)>, Halt> {
    let said =
        json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": prompt.text}});
    stage.store.append(session, &said)?;
    let player = Player::new(stage, session, &prompt.text, vec![Arc::clone(cancel)]);
    let mut player = player.of_prompt(&prompt.id);
    let end = player.play(&prompt.steps);
    let answered = player.has_answered();
    let due = player.due();
    let answer = match end {
        Ok(()) => Ok("end_turn".to_owned()),
        Err(Halt::Stopped(reason)) => Ok(reason),
        Err(Halt::Cancelled) => Ok("cancelled".to_owned()),
        Err(Halt::Failed(error)) => Err(error),
        Err(Halt::Gone) => return Err(Halt::Gone),
    };
    let frame = match answer {
        Ok(reason) => json!({"jsonrpc": "2.0", "id": prompt.id, "result": {"stopReason": reason}}),
        Err(error) => json!({"jsonrpc": "2.0", "id": prompt.id, "error": error}),
    };
    // The answer, the end of the turn and the start of the next one are one step for whoever looks at the state: a
    // prompt that was sent after the answer never meets a turn that still seems to run.
    let mut state = stage.state();
    let mut answers = if answered || stage.never_answers("session/prompt") {
        Vec::new()
    } else {
        vec![frame]
    };
    if stage.scenario.answers_reversed > 1 {
        state
            .held
            .extend(answers.drain(..).map(|answer| (prompt.number, answer)));
        if state.held.len() >= stage.scenario.answers_reversed {
            let mut held = std::mem::take(&mut state.held);
            held.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
            answers.extend(held.into_iter().map(|(_, answer)| answer));
        }
    }
    answers.iter().try_for_each(|answer| stage.send(answer))?;
    tasks::end_later(stage, &mut state, &due)?;
    let Some(opened) = state.sessions.get_mut(session) else {
        return Ok(None);
    };
    opened.running.retain(|running| !Arc::ptr_eq(running, cancel));
    let Some(next) = opened.queue.pop_front() else {
        return Ok(None);
    };
    let its_cancel = Cancel::default();
    opened.running.push(Arc::clone(&its_cancel));
    Ok(Some((next, its_cancel)))
}

/// The steps that a prompt runs.
fn choose(turns: &[Turn], session: &mut Session, prompt: &str) -> Vec<Step> {
    let named = turns.iter().find(|turn| {
        turn.when
            .as_ref()
            .is_some_and(|word| prompt.contains(word.as_str()))
    });
    if let Some(turn) = named {
        return turn.steps.clone();
    }
    let number = session.prompts;
    session.prompts += 1;
    let unnamed: Vec<_> = turns.iter().filter(|turn| turn.when.is_none()).collect();
    unnamed
        .get(number)
        .or(unnamed.last())
        .map(|turn| turn.steps.clone())
        .unwrap_or_default()
}

fn session_id(params: &Value) -> &str {
    params["sessionId"].as_str().unwrap_or_default()
}

fn unknown_session(session: &str) -> Refusal {
    (RESOURCE_NOT_FOUND, format!("there is no session `{session}`"))
}

/// Reads a few bytes at a time, with pauses.
struct Slowly {
    input: Box<dyn Read + Send>,
    slow: SlowReader,
}

impl Read for Slowly {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        thread::sleep(Duration::from_millis(self.slow.every_ms));
        let most = into.len().min(self.slow.bytes.max(1));
        self.input.read(&mut into[..most])
    }
}

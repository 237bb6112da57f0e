//! Made-up traffic for benches and property tests: the same seed gives the same bytes.
//!
//! [`chunks`] and [`mixed`] are long turns and [`turns`] is a long session of many, made while they are read, so a
//! million frames take no memory.
//! [`recording`] is a small random life of an agent: prompts, tools, permissions, cancels, failures, process ends and
//! loads, in an order that the protocol allows. A property test draws a seed (`any::<u64>()`) and keeps it in its
//! report; [`Generated`] shows it when printed.

use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

/// Who sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The agent.
    FromAgent,
    /// The client.
    FromClient,
}

/// One generated frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Who sent it.
    pub direction: Direction,
    /// The frame as compact JSON and a line feed.
    pub bytes: Vec<u8>,
}

impl Frame {
    fn new(direction: Direction, frame: &Value) -> Self {
        Self {
            direction,
            bytes: format!("{frame}\n").into_bytes(),
        }
    }

    fn from_agent(frame: &Value) -> Self {
        Self::new(Direction::FromAgent, frame)
    }

    fn from_client(frame: &Value) -> Self {
        Self::new(Direction::FromClient, frame)
    }

    /// The frame as a line of a recording, without a line feed.
    pub fn line(&self) -> String {
        let dir = match self.direction {
            Direction::FromAgent => "in",
            Direction::FromClient => "out",
        };
        let frame = String::from_utf8_lossy(&self.bytes);
        format!("{{\"dir\":\"{dir}\",\"msg\":{}}}", frame.trim_end())
    }
}

const SESSION: &str = "generated-1";

/// A session with one turn of `count` text chunks of two to four words.
pub fn chunks(count: usize, seed: u64) -> impl Iterator<Item = Frame> {
    let mut rng = Rng::with_seed(seed);
    let body = (0..count).map(move |_| text_chunk(&words(&mut rng, 2..=4)));
    opening().into_iter().chain(body).chain(ending())
}

/// A session with one turn of `count` updates: after every seven short text chunks a tool with a result of 2 KB, so
/// that eight updates are seven chunks and one finished tool.
pub fn mixed(count: usize, seed: u64) -> impl Iterator<Item = Frame> {
    let mut rng = Rng::with_seed(seed);
    let body = (0..count).map(move |number| mixed_update(&mut rng, number));
    opening().into_iter().chain(body).chain(ending())
}

/// A session of `count` frames, opening left out: turns of 100 frames each, from the prompt to its answer, which have
/// the updates of [`mixed`] between them.
pub fn turns(count: usize, seed: u64) -> impl Iterator<Item = Frame> {
    const LENGTH: usize = 100;
    let mut rng = Rng::with_seed(seed);
    let body = (0..count).map(move |number| {
        let id = 2 + (number / LENGTH) as u64;
        match number % LENGTH {
            0 => Frame::from_client(&request(
                id,
                "session/prompt",
                prompt(SESSION, &words(&mut rng, 3..=9)),
            )),
            last if last == LENGTH - 1 => Frame::from_agent(&answer(id, json!({"stopReason": "end_turn"}))),
            _ => mixed_update(&mut rng, number),
        }
    });
    session().into_iter().chain(body)
}

fn mixed_update(rng: &mut Rng, number: usize) -> Frame {
    if number % 8 < 7 {
        return text_chunk(&words(rng, 2..=4));
    }
    let mut output = String::new();
    while output.len() < 2048 {
        output.push_str(&words(rng, 4..=12));
        output.push('\n');
    }
    let title = format!("Read {}.rs", word(rng));
    update(
        SESSION,
        json!({"sessionUpdate": "tool_call", "toolCallId": format!("call-{number}"), "title": title, "kind": "read",
        "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": output}}]}),
    )
}

fn opening() -> impl IntoIterator<Item = Frame> {
    let first = Frame::from_client(&request(2, "session/prompt", prompt(SESSION, "Go on.")));
    session().into_iter().chain([first])
}

fn session() -> [Frame; 4] {
    [
        Frame::from_client(&request(0, "initialize", initialize())),
        Frame::from_agent(&answer(0, introduction())),
        Frame::from_client(&request(
            1,
            "session/new",
            json!({"cwd": "/project", "mcpServers": []}),
        )),
        Frame::from_agent(&answer(1, json!({"sessionId": SESSION}))),
    ]
}

fn ending() -> [Frame; 1] {
    [Frame::from_agent(&answer(2, json!({"stopReason": "end_turn"})))]
}

/// Written by hand, as `update` would write it: of these there are millions.
fn text_chunk(text: &str) -> Frame {
    let bytes = format!(
        concat!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{}","#,
            r#""update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{}}}}}}}}}"#,
            "\n"
        ),
        SESSION,
        Value::from(text)
    );
    Frame {
        direction: Direction::FromAgent,
        bytes: bytes.into_bytes(),
    }
}

fn update(session: &str, update: Value) -> Frame {
    let params = json!({"sessionId": session, "update": update});
    Frame::from_agent(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answer(id: u64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn initialize() -> Value {
    json!({"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false}})
}

fn introduction() -> Value {
    json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true},
        "agentInfo": {"name": "generated", "version": "1.0.0"}, "authMethods": []})
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

const WORDS: [&str; 24] = [
    "the",
    "row",
    "cursor",
    "when",
    "größer",
    "**bold**",
    "`code`",
    "journal",
    "日本",
    "a",
    "of",
    "turn",
    "settles",
    "late",
    "and",
    "\n\n",
    "it",
    "🦀",
    "fails",
    "again",
    "quote\"d",
    "back\\slash",
    "tab\t",
    "then",
];

fn word(rng: &mut Rng) -> &'static str {
    WORDS[rng.usize(..WORDS.len())]
}

fn words(rng: &mut Rng, count: std::ops::RangeInclusive<usize>) -> String {
    (0..rng.usize(count)).map(|_| format!("{} ", word(rng))).collect()
}

/// A generated recording. Printed, it names its seed.
#[derive(Clone, PartialEq, Eq)]
pub struct Generated {
    /// What it was made from.
    pub seed: u64,
    /// The recording in the form of a file.
    pub text: String,
}

impl fmt::Debug for Generated {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "recording({}) of {} lines",
            self.seed,
            self.text.lines().count()
        )
    }
}

/// A random recording in which everything is allowed by the protocol.
///
/// Every answer has its request, ids are unique on their connection, a session is announced before it is spoken of,
/// and a load tells what the session said before. Turns may still end without an answer, where their process does.
pub fn recording(seed: u64) -> Generated {
    let mut life = Life::new(seed);
    let processes = life.rng.usize(1..=3);
    for number in 0..processes {
        life.begin(number > 0);
        let turns = life.rng.usize(1..=4);
        let survived = (0..turns).all(|_| life.turn());
        if survived && number + 1 < processes {
            life.line(json!({"dir": "in", "exit": {"code": 0, "signal": null}}));
        }
    }
    Generated {
        seed,
        text: life.lines.join("\n") + "\n",
    }
}

/// What a generated agent has lived through.
struct Life {
    rng: Rng,
    lines: Vec<String>,
    t_ms: u64,
    /// Next ids of the client's and the agent's requests on this connection.
    client_id: u64,
    agent_id: u64,
    /// Sessions that were ever made, with what a load of each would tell.
    sessions: Vec<(String, Vec<Value>)>,
    /// Places in `sessions` that this connection has open.
    open: Vec<usize>,
    tools: u64,
}

/// How a turn goes on.
enum Course {
    On,
    Cancelled,
}

impl Life {
    fn new(seed: u64) -> Self {
        let header = json!({"generated": seed, "agent": "generated"}).to_string();
        let rng = Rng::with_seed(seed);
        let (sessions, open) = (Vec::new(), Vec::new());
        Self {
            rng,
            lines: vec![header],
            t_ms: 0,
            client_id: 0,
            agent_id: 0,
            sessions,
            open,
            tools: 0,
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(..100) < percent
    }

    fn line(&mut self, mut line: Value) {
        self.t_ms += self.rng.u64(..40);
        line["t_ms"] = json!(self.t_ms);
        self.lines.push(line.to_string());
    }

    fn says(&mut self, frame: Value) {
        self.line(json!({"dir": "in", "msg": frame}));
    }

    fn hears(&mut self, frame: Value) {
        self.line(json!({"dir": "out", "msg": frame}));
    }

    fn asked(&mut self, method: &str, params: Value) -> u64 {
        let id = self.client_id;
        self.client_id += 1;
        self.hears(request(id, method, params));
        id
    }

    fn updates(&mut self, session: usize, update: Value) {
        let kept = [
            "agent_message_chunk",
            "agent_thought_chunk",
            "tool_call",
            "tool_call_update",
            "plan",
        ];
        if kept.iter().any(|kind| update["sessionUpdate"] == *kind) {
            self.sessions[session].1.push(update.clone());
        }
        self.tells(session, update);
    }

    fn tells(&mut self, session: usize, update: Value) {
        let params = json!({"sessionId": self.sessions[session].0, "update": update});
        self.says(json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// A process starts and opens a session or two.
    fn begin(&mut self, again: bool) {
        (self.client_id, self.agent_id, self.open) = (0, 0, Vec::new());
        let id = self.asked("initialize", initialize());
        self.says(answer(id, introduction()));
        if again {
            self.load();
        }
        if self.open.is_empty() || self.chance(20) {
            self.new_session();
        }
    }

    fn new_session(&mut self) {
        let id = self.asked("session/new", json!({"cwd": "/project", "mcpServers": []}));
        let name = format!("generated-{}", self.sessions.len() + 1);
        self.says(answer(id, json!({"sessionId": name})));
        self.open.push(self.sessions.len());
        self.sessions.push((name, Vec::new()));
    }

    fn load(&mut self) {
        let session = self.rng.usize(..self.sessions.len());
        let params = json!({"sessionId": self.sessions[session].0, "cwd": "/project", "mcpServers": []});
        let id = self.asked("session/load", params);
        if self.chance(15) {
            let error = json!({"code": -32002, "message": "Resource not found"});
            self.says(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            return;
        }
        for update in self.sessions[session].1.clone() {
            self.tells(session, update);
        }
        let result = if self.chance(50) { Value::Null } else { json!({}) };
        self.says(answer(id, result));
        self.open.push(session);
    }

    /// One turn; says whether the process outlived it.
    fn turn(&mut self) -> bool {
        let session = self.open[self.rng.usize(..self.open.len())];
        let name = self.sessions[session].0.clone();
        let text = words(&mut self.rng, 1..=8);
        let said = json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}});
        let id = self.asked("session/prompt", prompt(&name, &text));
        self.sessions[session].1.push(said);
        let mut open_tools = Vec::new();
        let mut cancelled = false;
        for _ in 0..self.rng.usize(0..=12) {
            if !cancelled && self.chance(4) {
                self.hears(
                    json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": name}}),
                );
                cancelled = true;
            }
            if self.chance(2) {
                let exit = if self.chance(50) {
                    json!({"code": 1, "signal": null})
                } else {
                    json!({"code": null, "signal": "SIGKILL"})
                };
                self.line(json!({"dir": "in", "stderr": "the generated agent is going down"}));
                self.line(json!({"dir": "in", "exit": exit}));
                return false;
            }
            if let Course::Cancelled = self.something(session, &mut open_tools, cancelled) {
                cancelled = true;
            }
        }
        let late = open_tools.pop().filter(|_| self.chance(30));
        for tool in open_tools.into_iter().filter(|_| !cancelled) {
            self.end_tool(session, &tool);
        }
        if cancelled && self.chance(70) {
            self.says(answer(id, json!({"stopReason": "cancelled"})));
        } else if self.chance(12) {
            let error = json!({"code": -32603, "message": "Internal error", "data": {"message": words(&mut self.rng, 2..=6)}});
            self.says(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        } else {
            let reasons = ["end_turn", "end_turn", "end_turn", "max_tokens", "refusal"];
            let reason = reasons[self.rng.usize(..reasons.len())];
            self.says(answer(id, json!({"stopReason": reason})));
        }
        if let Some(tool) = late {
            self.end_tool(session, &tool);
        }
        true
    }

    /// One thing that an agent does in a turn.
    fn something(&mut self, session: usize, open_tools: &mut Vec<String>, cancelled: bool) -> Course {
        match self.rng.u32(..100) {
            0..45 => {
                let content = json!({"type": "text", "text": words(&mut self.rng, 1..=6)});
                self.updates(
                    session,
                    json!({"sessionUpdate": "agent_message_chunk", "content": content}),
                );
            }
            45..57 => {
                let content = json!({"type": "text", "text": words(&mut self.rng, 1..=6)});
                self.updates(
                    session,
                    json!({"sessionUpdate": "agent_thought_chunk", "content": content}),
                );
            }
            57..70 => {
                self.tools += 1;
                let tool = format!("call-{}", self.tools);
                let kinds = ["read", "edit", "execute", "search", "other"];
                let kind = kinds[self.rng.usize(..kinds.len())];
                let title = words(&mut self.rng, 1..=3);
                self.updates(
                    session,
                    json!({"sessionUpdate": "tool_call", "toolCallId": tool, "title": title, "kind": kind,
                    "status": "pending", "rawInput": {"path": "/project/a.rs"}}),
                );
                open_tools.push(tool);
            }
            70..80 => {
                if let Some(tool) = open_tools.pop() {
                    self.end_tool(session, &tool);
                }
            }
            80..88 if !cancelled => return self.permission(session, open_tools),
            88..93 => {
                let states = ["pending", "in_progress", "completed"];
                let entries: Vec<_> = (0..self.rng.usize(1..=3))
                    .map(|_| json!({"content": words(&mut self.rng, 1..=4), "priority": "medium", "status": states[self.rng.usize(..3)]}))
                    .collect();
                self.updates(session, json!({"sessionUpdate": "plan", "entries": entries}));
            }
            93..97 => {
                let used = self.rng.u64(1..100_000);
                self.updates(
                    session,
                    json!({"sessionUpdate": "usage_update", "used": used, "size": 128_000}),
                );
            }
            _ => {
                let title = words(&mut self.rng, 1..=4);
                self.updates(
                    session,
                    json!({"sessionUpdate": "session_info_update", "title": title}),
                );
            }
        }
        Course::On
    }

    fn end_tool(&mut self, session: usize, tool: &str) {
        let status = if self.chance(20) { "failed" } else { "completed" };
        let content =
            json!([{"type": "content", "content": {"type": "text", "text": words(&mut self.rng, 0..=20)}}]);
        self.updates(session, json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": status, "content": content}));
    }

    /// The agent asks; the person allows, refuses, or stops the turn.
    fn permission(&mut self, session: usize, open_tools: &mut Vec<String>) -> Course {
        let tool = match open_tools.last() {
            Some(tool) => tool.clone(),
            None => {
                self.tools += 1;
                format!("call-{}", self.tools)
            }
        };
        let id = self.agent_id;
        self.agent_id += 1;
        let options = json!([{"optionId": "yes", "name": "Allow", "kind": "allow_once"}, {"optionId": "no", "name": "Reject", "kind": "reject_once"}]);
        let name = self.sessions[session].0.clone();
        let call = json!({"toolCallId": tool, "title": words(&mut self.rng, 1..=3)});
        self.says(request(
            id,
            "session/request_permission",
            json!({"sessionId": name, "toolCall": call, "options": options}),
        ));
        let outcome = match self.rng.u32(..10) {
            0..6 => json!({"outcome": "selected", "optionId": "yes"}),
            6..9 => json!({"outcome": "selected", "optionId": "no"}),
            _ => {
                self.hears(
                    json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": name}}),
                );
                self.hears(answer(id, json!({"outcome": {"outcome": "cancelled"}})));
                return Course::Cancelled;
            }
        };
        let refused = outcome["optionId"] == "no";
        self.hears(answer(id, json!({"outcome": outcome})));
        if refused && !open_tools.is_empty() {
            open_tools.pop();
            self.updates(
                session,
                json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": "failed"}),
            );
        }
        Course::On
    }
}

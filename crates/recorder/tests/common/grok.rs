//! A talk with Grok, frame by frame.
#![allow(dead_code, unreachable_pub)] // Each test file is a crate of its own and uses its part.
#![allow(clippy::unwrap_used)] // It is all test code.

use serde_json::{Value, json};

use crate::common::{Told, incoming, out, timeline};

pub const S: &str = "S";

/// A talk in one session, `S`.
pub struct Talk {
    pub lines: Vec<Value>,
    calls: u64,
}

impl Talk {
    /// The handshake and a new session.
    pub fn new() -> Self {
        let mut talk = Self {
            lines: vec![json!({"agent": "grok"})],
            calls: 0,
        };
        talk.process();
        let id = talk.call("session/new", json!({"cwd": "/p", "mcpServers": []}));
        talk.result(id, json!({"sessionId": S}));
        talk
    }

    /// A process begins.
    pub fn process(&mut self) -> &mut Self {
        self.calls = 0;
        let id = self.call("initialize", json!({"protocolVersion": 1}));
        self.result(id, json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "_meta": {"grokShell": true}}));
        self
    }

    /// The process ends, and the next one begins and loads the session; the answer is for [`Talk::result`].
    pub fn restart(&mut self) -> u64 {
        self.lines.push(json!({"dir": "in", "exit": {"code": 0}}));
        self.process();
        self.call(
            "session/load",
            json!({"sessionId": S, "cwd": "/p", "mcpServers": []}),
        )
    }

    pub fn call(&mut self, method: &str, params: Value) -> u64 {
        self.calls += 1;
        self.lines
            .push(out(json!({"id": self.calls, "method": method, "params": params})));
        self.calls
    }

    pub fn result(&mut self, id: u64, result: Value) -> &mut Self {
        self.lines.push(incoming(json!({"id": id, "result": result})));
        self
    }

    pub fn error(&mut self, id: u64, error: Value) -> &mut Self {
        self.lines.push(incoming(json!({"id": id, "error": error})));
        self
    }

    /// A prompt whose turn the client named.
    pub fn prompt(&mut self, key: &str) -> u64 {
        let text = format!("ask {key}");
        self.call(
            "session/prompt",
            json!({"sessionId": S, "prompt": [{"type": "text", "text": text}], "_meta": {"promptId": key}}),
        )
    }

    /// A prompt without a name.
    pub fn nameless(&mut self, text: &str) -> u64 {
        self.call(
            "session/prompt",
            json!({"sessionId": S, "prompt": [{"type": "text", "text": text}]}),
        )
    }

    pub fn answers(&mut self, id: u64, reason: &str) -> &mut Self {
        self.result(id, json!({"stopReason": reason}))
    }

    pub fn stop(&mut self) -> &mut Self {
        self.lines.push(out(
            json!({"method": "session/cancel", "params": {"sessionId": S}}),
        ));
        self
    }

    /// A notification of the agent.
    pub fn notify(&mut self, method: &str, params: Value) -> &mut Self {
        self.lines
            .push(incoming(json!({"method": method, "params": params})));
        self
    }

    /// A standard update, with the marks given.
    pub fn update(&mut self, session: &str, update: Value, meta: Value) -> &mut Self {
        let mut params = json!({"sessionId": session, "update": update});
        if !meta.is_null() {
            params["_meta"] = meta;
        }
        self.notify("session/update", params)
    }

    /// A piece of the reply in a turn.
    pub fn says(&mut self, turn: &str, text: &str) -> &mut Self {
        self.streams(turn, 1, text)
    }

    /// A piece of the reply, in the stream of one model call.
    pub fn streams(&mut self, turn: &str, stream: u64, text: &str) -> &mut Self {
        let update =
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
        self.update(
            S,
            update,
            json!({"promptId": turn, "streamStartMs": stream, "turnStartMs": 1}),
        )
    }

    /// News of a tool in a turn.
    pub fn tool(&mut self, turn: &str, update: Value) -> &mut Self {
        self.update(S, update, json!({"promptId": turn}))
    }

    /// A tool is announced and ends in a turn, with this result.
    pub fn ran(&mut self, turn: &str, call: &str, name: &str, input: Value, result: Value) -> &mut Self {
        self.announces(turn, call, name, input);
        self.tool(turn, json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed", "rawOutput": result}))
    }

    /// A tool is announced.
    pub fn announces(&mut self, turn: &str, call: &str, name: &str, input: Value) -> &mut Self {
        self.tool(
            turn,
            json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": name, "rawInput": input,
                "_meta": {"x.ai/tool": {"name": name}}}),
        )
    }

    /// A notice of Grok's own.
    pub fn notice(&mut self, update: Value) -> &mut Self {
        self.notify(
            "_x.ai/session_notification",
            json!({"sessionId": S, "update": update}),
        )
    }

    /// The same, replayed.
    pub fn replays(&mut self, update: Value) -> &mut Self {
        let params = json!({"sessionId": S, "update": update, "_meta": {"isReplay": true}});
        self.notify("_x.ai/session/update", params)
    }

    /// The queue says that a turn runs.
    pub fn runs(&mut self, turn: &str) -> &mut Self {
        self.notify(
            "_x.ai/queue/changed",
            json!({"sessionId": S, "entries": [], "runningPromptId": turn}),
        )
    }

    /// The agent's word on the end of a turn.
    pub fn ends(&mut self, turn: &str, reason: &str) -> &mut Self {
        self.notice(json!({"sessionUpdate": "turn_completed", "prompt_id": turn, "stop_reason": reason}))
    }

    /// A background command starts: the notice.
    pub fn backgrounds(
        &mut self,
        call: &str,
        task: &str,
        command: &str,
        description: Option<&str>,
    ) -> &mut Self {
        let update = json!({"sessionUpdate": "task_backgrounded", "tool_call_id": call, "task_id": task, "command": command,
            "description": description, "output_file": "out.log"});
        self.notify(
            "_x.ai/task_backgrounded",
            json!({"sessionId": S, "update": update}),
        )
    }

    /// A background command ends: what the snapshot says beside the task and the command.
    pub fn completes(&mut self, task: &str, command: &str, more: Value) -> &mut Self {
        let mut snapshot =
            json!({"task_id": task, "command": command, "kind": "bash", "explicitly_killed": false});
        for (name, value) in more.as_object().unwrap() {
            snapshot[name] = value.clone();
        }
        let update = json!({"sessionUpdate": "task_completed", "task_snapshot": snapshot});
        self.notify("_x.ai/task_completed", json!({"sessionId": S, "update": update}))
    }

    /// A request of the agent.
    pub fn asks(&mut self, id: u64, method: &str, params: Value) -> &mut Self {
        self.lines
            .push(incoming(json!({"id": id, "method": method, "params": params})));
        self
    }

    /// The client's answer to a request.
    pub fn replies(&mut self, id: u64, result: Value) -> &mut Self {
        self.lines.push(out(json!({"id": id, "result": result})));
        self
    }

    /// A permission for a call.
    pub fn asks_permission(&mut self, id: u64, session: &str, call: &str) -> &mut Self {
        self.asks(
            id,
            "session/request_permission",
            json!({"sessionId": session, "toolCall": {"toolCallId": call, "title": "Run it"},
                "options": [{"optionId": "always-allow", "name": "Yes, always", "kind": "allow_always"},
                    {"optionId": "allow-once", "name": "Yes, proceed", "kind": "allow_once"},
                    {"optionId": "reject-once", "name": "No, tell Grok", "kind": "reject_once"}]}),
        )
    }

    /// The client chooses an option.
    pub fn chooses(&mut self, id: u64, option: &str) -> &mut Self {
        self.replies(
            id,
            json!({"outcome": {"outcome": "selected", "optionId": option}}),
        )
    }

    pub fn told(&self) -> Told {
        timeline(&self.lines)
    }
}

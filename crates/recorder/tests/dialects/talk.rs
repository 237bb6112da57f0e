//! What the tests of dialects share: small talks made by hand, recordings, and rows to look into.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tapline_recorder::{Memory, Recorder, Recording, Stamp, Watch};

/// The rows (and session objects) of a recording, line by line.
pub(crate) fn timeline<'a>(lines: impl IntoIterator<Item = &'a str>) -> Rows {
    let mut recording = Recording::new(|hint| Recorder::new(Memory::new(), hint));
    for line in lines {
        recording.line(line).expect("a line of a recording");
    }
    let recorder = recording.finish();
    assert_eq!(recorder.unaccounted(), 0, "every input is accounted for");
    let (memory, _) = recorder.into_parts();
    let mut rows = Vec::new();
    for timeline in memory.timelines() {
        let session = timeline.session().expect("a session");
        rows.push(serde_json::to_value(session).expect("JSON"));
        rows.extend(
            timeline
                .rows()
                .iter()
                .map(|row| serde_json::to_value(&**row).expect("JSON")),
        );
    }
    Rows(rows)
}

/// The rows of a recording in the fixtures.
pub(crate) fn recording(path: &str) -> Rows {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/recordings")
        .join(path);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    timeline(text.lines())
}

/// The rows of a recording that stays outside the repository, with the agent's name in front; nothing where it is missing.
pub(crate) fn shared(agent: &str, path: &str) -> Option<Rows> {
    let folder = std::env::var_os("TAPLINE_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let file = folder.join("recordings").join(path);
    let Ok(text) = std::fs::read_to_string(&file) else {
        eprintln!("skipped: {path} is not at hand (set TAPLINE_SHARED to the folder that holds recordings/)");
        return None;
    };
    let header = json!({"agent": agent}).to_string();
    Some(timeline(std::iter::once(header.as_str()).chain(text.lines())))
}

/// Rows as readers get them.
#[derive(Debug)]
pub(crate) struct Rows(pub(crate) Vec<Value>);

impl Rows {
    /// All rows of a kind.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|r| r["kind"] == kind).collect()
    }

    /// The one row of a kind.
    pub(crate) fn only(&self, kind: &str) -> &Value {
        let rows = self.of(kind);
        assert_eq!(rows.len(), 1, "one {kind} row of {:#?}", self.0);
        rows[0]
    }

    /// The tool with this id of a call.
    pub(crate) fn tool(&self, call: &str) -> &Value {
        let found = self.of("tool").into_iter().find(|r| r["call"] == call);
        found.unwrap_or_else(|| panic!("no tool {call} in {:#?}", self.0))
    }

    /// The texts of a kind, in order.
    pub(crate) fn texts(&self, kind: &str) -> Vec<&str> {
        let texts = self.of(kind).into_iter().map(|r| r["text"].as_str());
        texts.map(Option::unwrap_or_default).collect()
    }

    /// What a person would compare: rows without ids, frames and times; a row that another points to is its `seq`.
    pub(crate) fn golden(&self) -> String {
        let seq = |id: &Value| {
            let row = self.0.iter().find(|r| r["kind"] != "session" && r["id"] == *id);
            row.map_or(Value::Null, |r| r["seq"].clone())
        };
        let mut lines = Vec::new();
        for row in &self.0 {
            let mut row = row.clone();
            let members = row.as_object_mut().expect("an object");
            for name in [
                "id",
                "session",
                "frames",
                "revision",
                "at",
                "t_ms",
                "ended_at",
                "ended_t_ms",
            ] {
                members.remove(name);
            }
            for name in ["provider_session", "provider_sessions"] {
                members.remove(name);
            }
            for name in ["turn", "parent", "tool"] {
                if let Some(id) = members.get(name) {
                    members.insert(name.to_owned(), seq(id));
                }
            }
            if let Some(answer) = members.get_mut("answer").and_then(Value::as_object_mut) {
                answer.remove("at");
                answer.remove("t_ms");
            }
            lines.push(in_order(&row).to_string());
        }
        lines.join("\n")
    }
}

/// The rules that dropped inputs.
#[derive(Debug, Default, Clone)]
struct Drops(Arc<Mutex<Vec<&'static str>>>);

impl Watch for Drops {
    fn drop(&mut self, _: Stamp, reason: &'static str) {
        self.0.lock().expect("one thread").push(reason);
    }
}

/// A talk between a client and an agent, made by hand. Its one session is called `s`.
#[derive(Debug)]
pub(crate) struct Talk {
    lines: Vec<String>,
    next: i64,
    prompt: i64,
}

impl Talk {
    /// A talk with an agent that the recording's header names.
    pub(crate) fn with(agent: &str) -> Self {
        let mut talk = Self {
            lines: vec![json!({"agent": agent}).to_string()],
            next: 1,
            prompt: 0,
        };
        talk.call("session/new", json!({"cwd": "/project", "mcpServers": []}));
        talk.answer(json!({"sessionId": "s"}));
        talk
    }

    fn push(&mut self, dir: &str, mut msg: Value) -> &mut Self {
        msg["jsonrpc"] = json!("2.0");
        self.lines.push(json!({"dir": dir, "msg": msg}).to_string());
        self
    }

    /// The client calls.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> &mut Self {
        self.next += 1;
        self.push(
            "out",
            json!({"id": self.next, "method": method, "params": params}),
        )
    }

    /// The agent answers the newest call.
    pub(crate) fn answer(&mut self, result: Value) -> &mut Self {
        self.push("in", json!({"id": self.next, "result": result}))
    }

    /// The agent answers the newest call with an error.
    pub(crate) fn fails(&mut self, error: Value) -> &mut Self {
        self.push("in", json!({"id": self.next, "error": error}))
    }

    /// The client sends a prompt.
    pub(crate) fn prompt(&mut self, text: &str) -> &mut Self {
        self.call(
            "session/prompt",
            json!({"sessionId": "s", "prompt": [{"type": "text", "text": text}]}),
        );
        self.prompt = self.next;
        self
    }

    /// The prompt is answered.
    pub(crate) fn ends(&mut self, reason: &str) -> &mut Self {
        self.push("in", json!({"id": self.prompt, "result": {"stopReason": reason}}))
    }

    /// A person stops the turn.
    pub(crate) fn stop(&mut self) -> &mut Self {
        self.push(
            "out",
            json!({"method": "session/cancel", "params": {"sessionId": "s"}}),
        )
    }

    /// The agent sends an update.
    pub(crate) fn update(&mut self, update: Value) -> &mut Self {
        self.push(
            "in",
            json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}),
        )
    }

    /// The agent says something.
    pub(crate) fn says(&mut self, text: &str) -> &mut Self {
        let content = json!({"type": "text", "text": text});
        self.update(json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    }

    /// The agent announces a tool.
    pub(crate) fn tool(&mut self, call: &str, members: Value) -> &mut Self {
        self.update(tool("tool_call", call, members))
    }

    /// The agent has news of a tool.
    pub(crate) fn news(&mut self, call: &str, members: Value) -> &mut Self {
        self.update(tool("tool_call_update", call, members))
    }

    /// The agent sends a notice of its own.
    pub(crate) fn notice(&mut self, method: &str, params: Value) -> &mut Self {
        self.push("in", json!({"method": method, "params": params}))
    }

    /// The agent asks something.
    pub(crate) fn asks(&mut self, id: i64, method: &str, params: Value) -> &mut Self {
        self.push("in", json!({"id": id, "method": method, "params": params}))
    }

    /// The agent asks for permission.
    pub(crate) fn permission(&mut self, id: i64, tool: Value) -> &mut Self {
        let options = json!([
            {"optionId": "once", "name": "Allow", "kind": "allow_once"},
            {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]);
        let params = json!({"sessionId": "s", "toolCall": tool, "options": options});
        self.asks(id, "session/request_permission", params)
    }

    /// The client answers with an option.
    pub(crate) fn chooses(&mut self, id: i64, option: &str) -> &mut Self {
        let outcome = json!({"outcome": "selected", "optionId": option});
        self.push("out", json!({"id": id, "result": {"outcome": outcome}}))
    }

    /// The rules that dropped inputs, in order.
    pub(crate) fn drops(&self) -> Vec<&'static str> {
        let drops = Drops::default();
        let watch = drops.clone();
        let mut recording = Recording::new(move |hint| Recorder::watched(Memory::new(), hint, watch));
        for line in &self.lines {
            recording.line(line).expect("a line of a recording");
        }
        recording.finish();
        let rules = drops.0.lock().expect("one thread");
        rules.clone()
    }

    /// What stands in the timeline.
    pub(crate) fn rows(&self) -> Rows {
        timeline(self.lines.iter().map(String::as_str))
    }
}

/// The same with members in the order of their names, whatever the order of a map is.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            let sorted = sorted.into_iter().map(|(name, v)| (name.clone(), in_order(v)));
            Value::Object(sorted.collect())
        }
        Value::Array(items) => items.iter().map(in_order).collect(),
        other => other.clone(),
    }
}

/// One text as a tool's content.
pub(crate) fn text(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

fn tool(kind: &str, call: &str, mut members: Value) -> Value {
    members["sessionUpdate"] = json!(kind);
    members["toolCallId"] = json!(call);
    members
}

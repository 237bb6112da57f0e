//! Which dialect is spoken shows in what it reads.

use serde_json::json;
use tapline_recorder::{Direction, Memory, Recorder};

use crate::talk::timeline;

/// A talk without a header, with an agent that names itself so.
fn name_of_the_tool(agent: &str) -> serde_json::Value {
    let lines = [
        json!({"dir": "out", "msg": {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}}),
        json!({"dir": "in", "msg": {"jsonrpc": "2.0", "id": 0, "result": {"agentInfo": {"name": agent, "version": "1"}}}}),
        json!({"dir": "out", "msg": {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {}}}),
        json!({"dir": "in", "msg": {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}}),
        json!({"dir": "in", "msg": {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update":
            {"sessionUpdate": "tool_call", "toolCallId": "read_file__1", "title": "write"}}}}),
    ];
    let lines: Vec<String> = lines.iter().map(|l| l.to_string()).collect();
    timeline(lines.iter().map(String::as_str)).only("tool")["name"].clone()
}

#[test]
fn a_dialect_is_chosen_by_what_the_agent_calls_itself() {
    assert_eq!(name_of_the_tool("gemini-cli"), "read_file");
    assert_eq!(name_of_the_tool("OpenCode"), "write");
    assert_eq!(name_of_the_tool("some-gem"), json!(null));
    assert_eq!(name_of_the_tool("api"), json!(null), "`pi` is no part of a word");
}

#[test]
fn a_vendors_own_method_tells_its_dialect_where_nothing_named_the_agent() {
    let spoken = |agent: &str, frame: &serde_json::Value| {
        let mut recorder = Recorder::new(Memory::new(), None);
        let shaken = [
            (
                Direction::Out,
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}),
            ),
            (
                Direction::In,
                json!({"jsonrpc": "2.0", "id": 0, "result": {"agentInfo": {"name": agent}}}),
            ),
        ];
        for (direction, frame) in shaken.iter().chain([&(Direction::In, frame.clone())]) {
            recorder.line("", *direction, &frame.to_string(), None);
        }
        recorder.dialect("")
    };
    let notice = json!({"jsonrpc": "2.0", "method": "_x.ai/settings/update", "params": {}});
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "_qwencode/start_turn", "params": {}});
    let other = json!({"jsonrpc": "2.0", "method": "_vendor/x.ai/settings", "params": {}});
    assert_eq!(spoken("nobody-knows", &notice), Some("grok"));
    assert_eq!(spoken("nobody-knows", &request), Some("qwen"));
    assert_eq!(spoken("nobody-knows", &other), Some("generic"));
    assert_eq!(spoken("gemini-cli", &notice), Some("gemini"));
    assert_eq!(spoken("gemini-cli", &request), Some("gemini"));
}

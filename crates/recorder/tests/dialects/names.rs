//! Which dialect is spoken shows in what it reads.

use serde_json::json;

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

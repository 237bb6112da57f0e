//! Grok: what a tool shows, whatever its shape of output.
#![allow(clippy::unwrap_used)] // It is all test code.

mod common;

use serde_json::{Value, json};

use common::Told;
use common::grok::{S, Talk};

/// A tool that ends with this content and output.
fn ended(name: &str, input: Value, status: &str, content: Option<&str>, output: Value) -> Told {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.announces("p1", "c1", name, input);
    let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": status, "rawOutput": output});
    if let Some(text) = content {
        update["content"] = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    }
    talk.tool("p1", update).answers(prompt, "end_turn");
    talk.told()
}

#[test]
fn a_description_shown_as_content_is_no_output() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.announces(
        "p1",
        "c1",
        "run_terminal_command",
        json!({"command": "npm test", "description": "Run the tests"}),
    );
    let shown = |status: Value, text: &str| {
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": status, "title": "Execute `npm test`",
            "content": [{"type": "content", "content": {"type": "text", "text": text}}], "_meta": {"x.ai/tool": {"name": "run_terminal_command"}}})
    };
    talk.tool("p1", shown(Value::Null, "Run the tests"));
    assert_eq!(talk.told().one("tool")["content"], Value::Null);
    // Once the tool has ended, the same words are what it printed.
    talk.tool("p1", shown(json!("completed"), "Run the tests"))
        .answers(prompt, "end_turn");
    let told = talk.told();
    let tool = told.one("tool");
    assert_eq!(
        tool["content"],
        json!([{"type": "text", "text": "Run the tests"}])
    );
    assert_eq!(
        (&tool["name"], &tool["title"]),
        (&json!("run_terminal_command"), &json!("Execute `npm test`"))
    );
}

#[test]
fn output_as_it_comes_has_no_exit_code_and_stands_once() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.announces("p1", "c1", "run_terminal_command", json!({"command": "x"}));
    let output = |text: &str, code: u64| json!({"type": "Bash", "output": text.as_bytes(), "output_for_prompt": "for the model", "exit_code": code});
    let partial = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress",
        "content": [{"type": "content", "content": {"type": "text", "text": "one\n"}}], "rawOutput": output("one\n", 0)});
    talk.update(S, partial, Value::Null);
    let told = talk.told();
    let tool = told.one("tool");
    assert_eq!(tool["content"], json!([{"type": "text", "text": "one\n"}]));
    for member in ["output", "result", "exit_code"] {
        assert_eq!(tool[member], Value::Null, "{member}");
    }
    talk.tool("p1", json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": "one\ntwo\n"}}], "rawOutput": output("one\ntwo\n", 3)}));
    talk.answers(prompt, "end_turn");
    let told = talk.told();
    let tool = told.one("tool");
    assert_eq!(
        (&tool["state"], &tool["exit_code"]),
        (&json!("completed"), &json!(3))
    );
    assert_eq!(tool["content"], json!([{"type": "text", "text": "one\ntwo\n"}]));
    assert_eq!((&tool["output"], &tool["result"]), (&Value::Null, &Value::Null));
}

#[test]
fn output_is_text_whatever_its_shape() {
    let shapes = [
        (
            "run_terminal_command",
            "completed",
            json!({"type": "Bash", "output": "hi".as_bytes(), "exit_code": 0}),
            "hi",
        ),
        (
            "list_dir",
            "completed",
            json!({"type": "ListDir", "Content": {"content": "- a"}}),
            "- a",
        ),
        (
            "read_file",
            "completed",
            json!({"type": "ReadFile", "FileContent": {"content": "1→x", "raw_output": "x"}}),
            "1→x",
        ),
        (
            "read_file",
            "failed",
            json!({"type": "ReadFile", "FileNotFound": "Error: no such file"}),
            "Error: no such file",
        ),
        (
            "grep",
            "completed",
            json!({"type": "GrepSearch", "stdout": "<workspace_result workspace_path=\"/p\">\nFound 1\n</workspace_result>".as_bytes(), "exit_code": 0}),
            "Found 1",
        ),
        (
            "use_tool",
            "completed",
            json!({"type": "MCP", "output": {"OkayOutput": "5"}}),
            "5",
        ),
        (
            "use_tool",
            "failed",
            json!({"type": "MCP", "output": {"Error": "it failed"}, "is_error": true}),
            "it failed",
        ),
        (
            "x",
            "failed",
            json!({"error": "tool_execution_failed", "message": "no client"}),
            "no client",
        ),
        (
            "search_replace",
            "failed",
            json!({"type": "SearchReplace", "NoMatchesFound": {"message": "not found"}}),
            "not found",
        ),
        (
            "kill_command_or_subagent",
            "failed",
            json!({"type": "KillTask", "TaskNotFound": "Task x not found."}),
            "Task x not found.",
        ),
    ];
    for (name, status, output, text) in shapes {
        let told = ended(name, json!({}), status, None, output.clone());
        let tool = told.one("tool");
        assert_eq!(
            (&tool["output"], &tool["result"]),
            (&json!(text), &Value::Null),
            "{output}"
        );
        // Where the content says it, it is not said twice.
        let told = ended(name, json!({}), status, Some(text), output.clone());
        assert_eq!(told.one("tool")["output"], Value::Null, "{output}");
    }
}

#[test]
fn what_other_rows_say_is_not_said_again() {
    let told = ended(
        "todo_write",
        json!({}),
        "completed",
        None,
        json!({"type": "Todo", "TodosUpdated": {"summary_for_prompt": "x"}}),
    );
    let tool = told.one("tool");
    assert_eq!((&tool["output"], &tool["result"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_result_that_nobody_knows_is_kept_as_it_is() {
    let output = json!({"type": "OfTheFuture", "Inner": {"a": 1}});
    let told = ended("x", json!({}), "completed", None, output.clone());
    assert_eq!(
        told.one("tool")["result"],
        json!({"type": "json", "value": output})
    );
}

#[test]
fn advice_to_the_model_is_no_output() {
    for advice in [
        "Use timeout_ms to wait for completion. Go on.",
        "Waited the requested 1s. It is still working.",
    ] {
        let result = json!({"task_id": "T", "command": "x", "status": "running", "output": format!("tick\n\n\n{advice}")});
        let told = ended(
            "get_command_or_subagent_output",
            json!({}),
            "completed",
            None,
            json!({"type": "TaskOutput", "Result": result}),
        );
        assert_eq!(told.one("tool")["output"], "tick");
    }
    // Words of the command's own stay.
    let result = json!({"task_id": "T", "command": "x", "status": "running", "output": "one\n\ntwo"});
    let told = ended(
        "get_command_or_subagent_output",
        json!({}),
        "completed",
        None,
        json!({"type": "TaskOutput", "Result": result}),
    );
    assert_eq!(told.one("tool")["output"], "one\n\ntwo");
}

#[test]
fn a_tool_that_does_not_exist_keeps_its_raw_name() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.tool(
        "p1",
        json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "no_such_tool", "rawInput": {}}),
    );
    talk.tool("p1", json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed", "title": "No such tool"}));
    talk.answers(prompt, "end_turn");
    let told = talk.told();
    assert_eq!(
        (&told.one("tool")["name"], &told.one("tool")["title"]),
        (&json!("no_such_tool"), &json!("No such tool"))
    );
}

#[test]
fn a_tool_finished_after_its_turn() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.announces("p1", "c1", "list_dir", json!({}))
        .answers(first, "end_turn");
    let second = talk.prompt("p2");
    talk.says("p2", "go");
    talk.tool(
        "p1",
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
        "rawOutput": {"type": "ListDir", "Content": {"content": "- a"}}}),
    );
    talk.says("p2", "ing on").answers(second, "end_turn");
    let told = talk.told();
    let tool = told.one("tool");
    assert_eq!(
        (&tool["state"], &tool["output"]),
        (&json!("completed"), &json!("- a"))
    );
    assert_eq!(tool["turn"], told.of("turn")[0]["id"]);
    assert_eq!(told.all("assistant", "text"), ["going on"]);
    assert_eq!(told.of("turn").len(), 2);
}

//! Agents of which little is known beyond the protocol.

use serde_json::json;

use crate::talk::{Talk, recording, text};

#[test]
fn fast_agent_a_commands_exit_code_stands_in_the_last_line() {
    let rows = recording("fast/s9f-shell-fail.jsonl");
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["name"], &tool["exit_code"]),
        (&json!("execute"), &json!(3))
    );
    assert_eq!(
        tool["content"],
        json!([{"type": "text", "text": "some output\nan error"}])
    );
    assert_eq!(
        tool["input"]["command"], "echo some output; echo an error >&2; exit 3",
        "taken from the permission"
    );
}

#[test]
fn fast_agent_a_refusal_with_words_is_a_refusal() {
    let rows = recording("fast/s7-err500.jsonl");
    assert_eq!(rows.of("turn")[0]["end"], "refused");
    assert!(rows.texts("assistant")[0].starts_with("I hit an internal error"));
    assert!(rows.of("status").is_empty());
}

#[test]
fn vibe_a_retry_is_a_line_and_no_failure() {
    let mut talk = Talk::with("vibe");
    talk.prompt("Hi")
        .notice(
            "_session/retrying",
            json!({"sessionId": "s", "category": "rate_limited", "detail": "HTTP 429"}),
        )
        .notice("_session/retrying", json!({"sessionId": "s"}))
        .says("Hi");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        rows.texts("status"),
        ["HTTP 429", "Vibe tries the model call again."]
    );
    assert!(rows.of("status").iter().all(|s| s["tone"] == "info"));
    assert_eq!(rows.of("status")[0]["detail"]["code"], "rate_limited");
    assert_eq!(rows.only("turn")["end"], "completed");
}

#[test]
fn goose_a_tools_name_stands_in_meta() {
    let mut talk = Talk::with("goose");
    talk.prompt("Go").tool(
        "t",
        json!({"title": "Shell", "_meta": {"goose": {"toolCall": {"toolName": "developer__shell"}}}}),
    );
    assert_eq!(
        talk.ends("end_turn").rows().only("tool")["name"],
        "developer__shell"
    );
}

#[test]
fn copilot_and_cursor_speak_the_protocol() {
    for agent in ["copilot", "cursor"] {
        let mut talk = Talk::with(agent);
        talk.prompt("Go")
            .tool("t", json!({"title": "Edit", "status": "pending"}));
        talk.news("t", json!({"status": "completed", "content": text("done")}));
        let rows = talk.ends("end_turn").rows();
        assert_eq!(
            (&rows.only("tool")["state"], &rows.only("turn")["end"]),
            (&json!("completed"), &json!("completed"))
        );
    }
}

#[test]
fn an_error_without_words_is_named_by_the_agent() {
    for (agent, name) in [
        ("grok", "Grok"),
        ("claude", "Claude"),
        ("codex", "Codex"),
        ("gemini", "Gemini"),
        ("opencode", "OpenCode"),
        ("kilo", "Kilo"),
        ("kimi", "Kimi"),
        ("cline", "Cline"),
        ("omp", "OMP"),
        ("pi", "Pi"),
        ("qwen", "Qwen Code"),
        ("copilot", "Copilot"),
        ("goose", "goose"),
        ("cursor", "Cursor"),
        ("deepagents", "Deep Agents"),
        ("fast-agent", "fast-agent"),
        ("vibe", "Vibe"),
        ("hermes", "Hermes"),
        ("nobody-knows", "The agent"),
    ] {
        let mut talk = Talk::with(agent);
        talk.prompt("Hi")
            .fails(json!({"code": -32603, "message": "Internal error"}));
        assert_eq!(
            talk.rows().only("status")["text"],
            format!("{name} ended this turn with an error.")
        );
    }
}

#[test]
fn an_error_without_words_for_want_of_a_sign_in_says_so() {
    let mut talk = Talk::with("cursor");
    talk.prompt("Hi").fails(json!({"code": -32000, "message": ""}));
    assert_eq!(talk.rows().only("status")["text"], "Cursor is not signed in.");
}

#[test]
fn however_an_agent_says_that_nobody_is_signed_in_the_code_is_the_protocols() {
    for (agent, words) in [
        ("claude", "Authentication required"),
        ("claude", "Invalid API key · Please run /login"),
        ("codex", "unexpected status 401 Unauthorized: Missing bearer"),
        ("gemini", "Gemini API key is missing or not configured."),
        ("kimi", "LLM not set"),
        ("cline", "Not authenticated. Run cline auth."),
        ("omp", "No model selected. Use /login."),
        ("omp", "No API key found for openai."),
    ] {
        let mut talk = Talk::with(agent);
        talk.prompt("Hi")
            .fails(json!({"code": -32603, "message": "Internal error", "data": {"message": words}}));
        let rows = talk.rows();
        let row = rows.only("status");
        assert_eq!(
            (&row["text"], &row["detail"]["code"]),
            (&json!(words), &json!("-32000")),
            "{agent}"
        );
        // The agent's own code stands behind it.
        assert_eq!(row["detail"]["more"]["code"], -32603);
    }
    let mut talk = Talk::with("omp");
    talk.prompt("Hi")
        .fails(json!({"code": -32603, "message": "Internal error", "data": {"details": "Overloaded"}}));
    assert_eq!(talk.rows().only("status")["detail"]["code"], "-32603");
}

#[test]
fn an_agent_that_cannot_be_set_up_for_want_of_a_sign_in_says_so() {
    let mut talk = Talk::with("kimi");
    talk.call("session/new", json!({"cwd": "/project"}))
        .fails(json!({"code": -32000, "message": "", "data": {"authMethods": []}}));
    let rows = talk.rows();
    assert_eq!(rows.only("status")["text"], "Kimi is not signed in.");
}

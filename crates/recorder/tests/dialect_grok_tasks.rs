//! Grok: background commands and monitors (groups BT, BE, BR, BW of the scenarios).
#![allow(clippy::unwrap_used)] // It is all test code.

mod common;

use serde_json::{Value, json};

use common::grok::{S, Talk};

const LAUNCH: &str = "make all";

fn launch_input() -> Value {
    json!({"command": LAUNCH, "description": "Build everything", "is_background": true})
}

fn launched(task: &str) -> Value {
    json!({"type": "BackgroundTaskStarted", "task_id": task, "task_type": "bash", "output_file": "out.log", "status": "running",
        "command": LAUNCH, "summary": format!("Background task {task} started"), "pid": 1})
}

/// One turn in which a background command was launched, and its tool's result came.
fn with_task() -> Talk {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.ran("p1", "c1", "run_terminal_command", launch_input(), launched("T"));
    talk.answers(prompt, "end_turn");
    talk
}

fn read(result: Value) -> Value {
    json!({"type": "TaskOutput", "Result": result})
}

#[test]
fn bt_2_notice_and_result_are_one_row_in_either_order() {
    for notice_first in [true, false] {
        let mut talk = Talk::new();
        let prompt = talk.prompt("p1");
        talk.announces("p1", "c1", "run_terminal_command", json!({"command": LAUNCH}));
        if notice_first {
            talk.backgrounds("c1", "T", LAUNCH, Some("Build everything"));
        }
        talk.tool("p1", json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "rawOutput": launched("T"),
            "content": [{"type": "content", "content": {"type": "text", "text": "Background task T started"}}]}));
        if !notice_first {
            talk.backgrounds("c1", "T", LAUNCH, Some("Build everything"));
        }
        talk.answers(prompt, "end_turn");
        let running = talk.told();
        assert_eq!(running.one("task")["label"], "Build everything");
        assert_eq!(
            running.one("tool")["content"],
            Value::Null,
            "the start note is for the model"
        );
        talk.completes("T", LAUNCH, json!({"exit_code": 0}));
        // A later start does not relight it.
        talk.backgrounds("c1", "T", LAUNCH, Some("Build everything"));
        let told = talk.told();
        let (task, tool) = (told.one("task"), told.one("tool"));
        assert_eq!(
            (&task["state"], &task["exit_code"]),
            (&json!("completed"), &json!(0))
        );
        assert_eq!(task["text"], "Background command \"Build everything\" finished");
        assert_eq!(task["summary"], Value::Null);
        assert_eq!((&task["parent"], &task["turn"]), (&tool["id"], &tool["turn"]));
    }
}

#[test]
fn bt_1_the_session_end_leaves_a_running_task_unknown() {
    let talk = with_task();
    let told = talk.told();
    let task = told.one("task");
    assert_eq!(
        (&task["state"], &task["output_file"]),
        (&json!("unknown"), &json!("out.log"))
    );
    assert_eq!(
        task["text"],
        "Background command \"Build everything\" stopped reporting"
    );
    assert_eq!(task["parent"], told.one("tool")["id"]);
    assert_eq!(told.one("turn")["end"], "completed");
    assert_eq!(told.one("tool")["state"], "completed");
}

#[test]
fn bt_3_how_a_task_ends() {
    let ends = [
        (json!({"exit_code": 0}), "completed"),
        (json!({"exit_code": null}), "completed"),
        (json!({"exit_code": 2, "error": "broken"}), "failed"),
        (json!({"error": "broken"}), "failed"),
        (json!({"signal": "SIGTERM"}), "failed"),
        (json!({"signal": 15}), "failed"),
        (json!({"signal": "timeout"}), "failed"),
        (json!({"signal": "killed", "explicitly_killed": true}), "stopped"),
        (json!({"exit_code": 1, "explicitly_killed": true}), "stopped"),
    ];
    for (end, state) in ends {
        let mut talk = with_task();
        talk.completes("T", LAUNCH, end.clone());
        let told = talk.told();
        assert_eq!(told.one("task")["state"], state, "{end}");
        assert_eq!(told.one("task")["summary"], end["error"], "{end}");
    }
}

#[test]
fn bt_4_a_task_outlives_many_others() {
    let mut talk = with_task();
    let prompt = talk.prompt("p2");
    for n in 0..130 {
        let (call, task) = (format!("d{n}"), format!("U{n}"));
        talk.ran(
            "p2",
            &call,
            "run_terminal_command",
            json!({"command": "other"}),
            launched(&task),
        );
    }
    talk.answers(prompt, "end_turn");
    talk.completes("T", LAUNCH, json!({"exit_code": 0}));
    let told = talk.told();
    let task = told.of("task").into_iter().find(|t| t["task"] == "T").unwrap();
    assert_eq!(
        (&task["state"], &task["label"]),
        (&json!("completed"), &json!("Build everything"))
    );
    assert_eq!(task["turn"], told.of("turn")[0]["id"]);
    assert_eq!(told.of("task").len(), 131);
}

#[test]
fn bt_5_a_first_notice_in_a_later_turn_lands_in_the_launch_turn() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.announces("p1", "c1", "run_terminal_command", launch_input());
    talk.tool(
        "p1",
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}),
    );
    talk.answers(first, "end_turn");
    let second = talk.prompt("p2");
    talk.says("p2", "working");
    talk.backgrounds("c1", "T", LAUNCH, None)
        .completes("T", LAUNCH, json!({"exit_code": 0}));
    talk.says("p2", " on it").answers(second, "end_turn");
    let told = talk.told();
    assert_eq!(told.one("task")["turn"], told.of("turn")[0]["id"]);
    assert_eq!(told.one("task")["state"], "completed");
    assert_eq!(told.said("assistant", told.of("turn")[1]), ["working on it"]);
}

#[test]
fn bt_6_broken_foreign_and_replayed_notices_add_nothing() {
    let mut talk = Talk::new();
    let update = json!({"sessionUpdate": "task_backgrounded", "tool_call_id": "c1", "task_id": "T", "command": LAUNCH});
    talk.notify(
        "_x.ai/task_backgrounded",
        json!({"sessionId": S, "update": {"sessionUpdate": "task_backgrounded"}}),
    );
    talk.notify("_x.ai/task_backgrounded", json!({"sessionId": S}));
    talk.notify("_x.ai/task_backgrounded", json!({"update": update}));
    talk.notify(
        "_x.ai/task_backgrounded",
        json!({"sessionId": "another", "update": update}),
    );
    talk.notify(
        "_x.ai/task_backgrounded",
        json!({"sessionId": S, "update": update, "_meta": {"isReplay": true}}),
    );
    talk.replays(update);
    let told = talk.told();
    assert!(told.rows.is_empty());
    assert_eq!(told.rules().len(), 6);
}

#[test]
fn be_1_output_never_becomes_the_label() {
    let mut talk = with_task();
    let output = "line\n".repeat(20_000);
    talk.completes("T", LAUNCH, json!({"exit_code": 0, "output": output}));
    let told = talk.told();
    let task = told.one("task");
    assert_eq!(task["text"], "Background command \"Build everything\" finished");
    assert_eq!(task["summary"], Value::Null);
}

#[test]
fn be_2_without_a_description_the_command_is_the_name() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.ran(
        "p1",
        "c1",
        "run_terminal_command",
        json!({"command": LAUNCH}),
        launched("T"),
    );
    talk.answers(prompt, "end_turn");
    assert_eq!(talk.told().one("task")["label"], LAUNCH);
}

#[test]
fn be_3_a_settled_task_stays_when_the_session_ends() {
    let mut talk = Talk::new();
    talk.completes(
        "T",
        LAUNCH,
        json!({"exit_code": 0, "description": "Build everything"}),
    );
    talk.lines.push(json!({"dir": "in", "exit": {"code": 0}}));
    let told = talk.told();
    assert_eq!(
        told.one("task")["text"],
        "Background command \"Build everything\" finished"
    );
}

#[test]
fn be_4_a_kill_that_gave_nothing_to_read_ended_what_its_input_names() {
    let mut talk = with_task();
    let prompt = talk.prompt("p2");
    talk.ran(
        "p2",
        "c2",
        "run_terminal_command",
        json!({"command": "serve"}),
        launched("U"),
    );
    talk.announces(
        "p2",
        "k",
        "kill_command_or_subagent",
        json!({"task_id": "T", "task_ids": ["T", "U"]}),
    );
    for n in 0..200 {
        let call = format!("big{n}");
        talk.ran(
            "p2",
            &call,
            "list_dir",
            json!({}),
            json!({"type": "ListDir", "Content": {"content": "x".repeat(4000)}}),
        );
    }
    // The last frame says only that it is done.
    talk.tool(
        "p2",
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "k", "status": "completed"}),
    );
    talk.backgrounds("c1", "T", LAUNCH, None);
    talk.completes("T", LAUNCH, json!({"exit_code": 0}));
    talk.answers(prompt, "end_turn");
    let told = talk.told();
    assert_eq!(told.all("task", "state"), ["stopped", "stopped"]);
    assert_eq!(
        told.of("task")[0]["text"],
        "Background command \"Build everything\" was stopped"
    );
}

#[test]
fn be_5_a_kill_that_is_not_done_proves_nothing() {
    for status in ["pending", "in_progress", "failed"] {
        let mut talk = with_task();
        let prompt = talk.prompt("p2");
        talk.announces("p2", "k", "kill_command_or_subagent", json!({"task_id": "T"}));
        talk.tool(
            "p2",
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "k", "status": status}),
        );
        talk.answers(prompt, "end_turn");
        talk.completes("T", LAUNCH, json!({"exit_code": 0}));
        assert_eq!(talk.told().one("task")["state"], "completed", "{status}");
    }
}

#[test]
fn be_6_during_a_load_nothing_starts_and_a_later_end_lands() {
    let mut talk = with_task();
    let load = talk.restart();
    talk.replays(
        json!({"sessionUpdate": "task_backgrounded", "tool_call_id": "c9", "task_id": "V", "command": "old"}),
    );
    talk.backgrounds("c9", "V", "old", None);
    talk.completes("W", "old", json!({"exit_code": 0}));
    talk.notice(json!({"sessionUpdate": "background_tasks", "tasks": [{"task_id": "X", "command": "old", "status": "running"}]}));
    // What stands as unknown may get its end: it was a command, whatever the notice calls it.
    talk.completes("T", LAUNCH, json!({"signal": "session_restart"}));
    talk.result(load, json!({}));
    let told = talk.told();
    assert_eq!(told.one("task")["state"], "stopped");
    talk.completes("V", "old", json!({"exit_code": 0}));
    assert_eq!(
        talk.told().all("task", "state"),
        ["stopped", "completed"],
        "a later live end lands"
    );
}

#[test]
fn be_6b_a_restart_takes_no_monitor_for_a_command() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.ran(
        "p1",
        "m",
        "monitor",
        json!({"command": "tail", "description": "Watch"}),
        json!({"type": "Monitor", "taskId": "M"}),
    );
    talk.answers(prompt, "end_turn");
    let load = talk.restart();
    talk.completes("M", "tail", json!({"signal": "session_restart"}));
    talk.result(load, json!({}));
    assert_eq!(
        talk.told().one("task")["text"],
        "Background monitor \"Watch\" was stopped"
    );
}

#[test]
fn br_1_what_a_read_says() {
    let reads = [
        (json!({"status": "running"}), "unknown"), // still running when the record ends
        (json!({"status": "completed", "exit_code": 0}), "completed"),
        (json!({"status": "completed"}), "completed"),
        (json!({"status": "completed", "exit_code": 3}), "failed"),
        (json!({"status": "failed", "exit_code": 1}), "failed"),
        (json!({"status": "timed_out"}), "failed"),
        (json!({"status": "cancelled"}), "stopped"),
        (json!({"status": "stopped"}), "stopped"),
        (json!({"status": "failed", "signal": "killed"}), "stopped"),
    ];
    for (mut result, state) in reads {
        result["task_id"] = json!("T");
        result["command"] = json!(LAUNCH);
        result["output"] = json!("what it printed");
        let mut talk = Talk::new();
        let prompt = talk.prompt("p1");
        talk.ran(
            "p1",
            "r",
            "get_command_or_subagent_output",
            json!({"task_ids": ["T"]}),
            read(result.clone()),
        );
        talk.answers(prompt, "end_turn");
        let told = talk.told();
        let task = told.one("task");
        assert_eq!(
            (&task["state"], &task["label"]),
            (&json!(state), &json!(LAUNCH)),
            "{result}"
        );
        assert_eq!(task["summary"], Value::Null);
        assert_eq!(told.one("tool")["output"], "what it printed");
    }
    // A word that nobody knows says nothing.
    for status in ["of the future", "not_found", "__proto__"] {
        let mut talk = with_task();
        let prompt = talk.prompt("p2");
        let result = json!({"task_id": "T", "command": LAUNCH, "status": status});
        talk.ran(
            "p2",
            "r",
            "get_command_or_subagent_output",
            json!({}),
            read(result),
        );
        talk.answers(prompt, "end_turn")
            .completes("T", LAUNCH, json!({"exit_code": 0}));
        assert_eq!(talk.told().one("task")["state"], "completed");
    }
}

#[test]
fn br_2_a_kill_of_several() {
    let mut talk = with_task();
    let prompt = talk.prompt("p2");
    talk.ran(
        "p2",
        "c2",
        "run_terminal_command",
        json!({"command": "serve"}),
        launched("U"),
    );
    let results = json!([{"task_id": "T", "outcome": "killed"}, {"task_id": "U", "outcome": "not_killed"}]);
    talk.ran(
        "p2",
        "k",
        "kill_command_or_subagent",
        json!({"task_ids": ["T", "U"]}),
        json!({"type": "KillTask", "MultiResult": {"results": results}}),
    );
    talk.answers(prompt, "end_turn")
        .completes("U", "serve", json!({"exit_code": 0}));
    assert_eq!(talk.told().all("task", "state"), ["stopped", "completed"]);
}

#[test]
fn br_3_an_exit_that_was_there_before_the_kill_says_nothing() {
    let mut talk = with_task();
    let prompt = talk.prompt("p2");
    let result =
        json!({"task_id": "T", "outcome": "already_exited", "message": "Task had already completed"});
    talk.ran(
        "p2",
        "k",
        "kill_command_or_subagent",
        json!({"task_id": "T"}),
        json!({"type": "KillTask", "Result": result}),
    );
    talk.answers(prompt, "end_turn")
        .completes("T", LAUNCH, json!({"exit_code": 7}));
    assert_eq!(talk.told().one("task")["state"], "failed");
}

#[test]
fn bw_2_a_monitor_stays_a_monitor() {
    for command in ["tail -f log", "[monitor] Watch the log"] {
        let mut talk = Talk::new();
        let prompt = talk.prompt("p1");
        talk.ran(
            "p1",
            "m",
            "monitor",
            json!({"command": "tail -f log", "description": "Watch the log"}),
            json!({"type": "Monitor", "taskId": "M"}),
        );
        let update = json!({"sessionUpdate": "task_backgrounded", "tool_call_id": "m", "task_id": "M", "command": "tail -f log",
            "monitor_description": "Watch the log"});
        talk.notify(
            "_x.ai/task_backgrounded",
            json!({"sessionId": S, "update": update}),
        );
        let result = json!({"task_id": "M", "command": command, "status": "completed", "exit_code": 0});
        talk.ran(
            "p1",
            "r",
            "get_command_or_subagent_output",
            json!({}),
            read(result),
        );
        talk.answers(prompt, "end_turn");
        let told = talk.told();
        let task = told.one("task");
        assert_eq!(
            (&task["task_kind"], &task["label"]),
            (&json!("monitor"), &json!("Watch the log"))
        );
        assert_eq!(task["text"], "Background monitor \"Watch the log\" finished");
    }
}

#[test]
fn bw_3_a_read_alone_knows_a_monitor_by_its_mark() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    let result = json!({"task_id": "M", "command": "[monitor:tail]", "status": "running"});
    talk.ran(
        "p1",
        "r",
        "get_command_or_subagent_output",
        json!({}),
        read(result),
    );
    talk.answers(prompt, "end_turn");
    let told = talk.told();
    assert_eq!(
        (&told.one("task")["task_kind"], &told.one("task")["label"]),
        (&json!("monitor"), &json!("tail"))
    );
    // A kind that is named wins over the mark of before.
    let list = json!({"sessionUpdate": "background_tasks", "tasks": [{"task_id": "M", "kind": "bash", "status": "running"}]});
    talk.notice(list);
    assert_eq!(talk.told().one("task")["task_kind"], "command");
}

#[test]
fn bw_4_the_list_may_know_a_task_first() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.announces("p1", "c1", "run_terminal_command", launch_input());
    let listed = json!({"task_id": "T", "command": LAUNCH, "kind": "bash", "status": "running"});
    talk.notice(json!({"sessionUpdate": "background_tasks", "tasks": [listed, {"task_id": "old", "command": "x", "status": "completed"}]}));
    talk.backgrounds("c1", "T", LAUNCH, Some("Build everything"));
    // A killed task is called failed there.
    talk.notice(json!({"sessionUpdate": "background_tasks", "tasks": [{"task_id": "T", "command": LAUNCH, "status": "failed", "signal": "killed"}]}));
    talk.answers(prompt, "end_turn");
    let told = talk.told();
    let task = told.one("task");
    assert_eq!(
        (&task["state"], &task["label"]),
        (&json!("stopped"), &json!("Build everything"))
    );
    assert_eq!(task["parent"], told.one("tool")["id"]);
}

#[test]
fn late_output_belongs_to_no_turn_and_reopens_nothing() {
    let mut talk = with_task();
    let partial = |text: &str| {
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress",
            "content": [{"type": "content", "content": {"type": "text", "text": text}}],
            "rawOutput": {"type": "Bash", "output": [116], "exit_code": 0}})
    };
    talk.update(S, partial("tick"), Value::Null);
    let second = talk.prompt("p2");
    talk.says("p2", "wor");
    talk.update(S, partial("tick\ntick"), Value::Null);
    talk.says("p2", "king").answers(second, "end_turn");
    let mut stray = partial("x");
    stray["toolCallId"] = json!("of-another-process");
    talk.update(S, stray, Value::Null);
    let told = talk.told();
    let tool = told.one("tool");
    assert_eq!(
        (&tool["state"], &tool["content"], &tool["exit_code"]),
        (&json!("completed"), &Value::Null, &Value::Null)
    );
    assert_eq!(told.all("assistant", "text"), ["working"]);
    assert_eq!(told.of("turn").len(), 2);
    let rules = told.rules();
    assert!(rules.contains(&"output-after-the-end") && rules.contains(&"late-output-of-an-unknown-tool"));
}

#[test]
fn only_output_without_marks_of_a_tool_that_runs_is_late() {
    let news = |kind: &str, status: &str| json!({"sessionUpdate": kind, "toolCallId": "c1", "title": "Run", "status": status});
    for (update, marks) in [
        (news("tool_call", "in_progress"), Value::Null),
        (news("tool_call_update", "completed"), Value::Null),
        (news("tool_call_update", "in_progress"), json!({"promptId": "p1"})),
    ] {
        let mut talk = Talk::new();
        talk.prompt("p1");
        talk.says("p1", "x");
        talk.update(S, update.clone(), marks);
        assert_eq!(talk.told().of("tool").len(), 1, "{update}");
    }
}

#[test]
fn a_kill_of_what_nobody_knows_makes_no_task() {
    for told_by in [
        json!({"type": "KillTask", "Result": {"task_id": "X", "outcome": "killed"}}),
        json!({"type": "KillTask"}),
    ] {
        let mut talk = Talk::new();
        talk.prompt("p1");
        let name = "kill_command_or_subagent";
        talk.ran("p1", "k", name, json!({"task_id": "X"}), told_by.clone());
        assert!(talk.told().of("task").is_empty(), "{told_by}");
    }
    let mut talk = Talk::new();
    let kill = talk.call("_x.ai/task/kill", json!({"sessionId": S, "taskId": "X"}));
    talk.result(kill, json!({"result": {"taskId": "X", "outcome": "killed"}}));
    assert!(talk.told().of("task").is_empty());
}

#[test]
fn a_kill_by_the_client_stops_the_task() {
    let mut talk = with_task();
    let kill = talk.call("_x.ai/task/kill", json!({"sessionId": S, "taskId": "T"}));
    talk.result(kill, json!({"result": {"taskId": "T", "outcome": "killed"}}));
    assert_eq!(talk.told().one("task")["state"], "stopped");
}

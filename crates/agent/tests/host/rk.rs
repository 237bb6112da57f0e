//! RK: background work of the agent, stopped one by one where the agent has a way.

use std::sync::Arc;

use serde_json::{Value, json};
use tapline_agent::host::intent;
use tapline_timeline::{Body, Kind, Row, WorkState};

use crate::rig::{Chat, Rig, ends};
use crate::wire::{calls, tape};

const STEPS: &str = r#"
[[turn]]
when = "two"
steps = [
  { tool = { id = "run-1", title = "Serve", kind = "execute" } },
  { background = { id = "task-1", tool = "run-1", command = "serve", label = "Serves", style = "grok" } },
  { tool = { id = "run-2", title = "Watch", kind = "execute" } },
  { background = { id = "task-2", tool = "run-2", command = "watch", label = "Watches", style = "grok" } },
]

[[turn]]
when = "ghost"
steps = [
  { tool = { id = "run-3", title = "Vanish", kind = "execute" } },
  { frame = { jsonrpc = "2.0", method = "_x.ai/task_backgrounded", params = { sessionId = "{{session}}", update = { sessionUpdate = "task_backgrounded", tool_call_id = "run-3", task_id = "ghost", command = "vanish", cwd = "{{cwd}}", output_file = "/tmp/ghost", description = "Vanishes" } } } },
  { finish = "run-3" },
]

[[turn]]
when = "news"
steps = [
  { frame = { jsonrpc = "2.0", method = "_x.ai/task_completed", params = { sessionId = "{{session}}", update = { sessionUpdate = "task_completed", will_wake = false, task_snapshot = { task_id = "ghost", command = "vanish", cwd = "{{cwd}}", output = "", output_file = "/tmp/ghost", truncated = false, output_total_bytes = 0, exit_code = 0, completed = true, kind = "bash", block_waited = false, explicitly_killed = false, kill_result_delivered = false, owner_session_id = "{{session}}", description = "Vanishes", is_backgrounded = true } } } } },
]
"#;

const GROK: &str = "[agent]\nname = \"grok\"\ntitle = \"Grok\"\nversion = \"0.2\"\n";

/// The tasks of the session: row, name and state.
fn tasks(rows: &[Arc<Row>]) -> Vec<(Arc<Row>, String, WorkState)> {
    rows.iter()
        .filter_map(|row| match &row.body {
            Body::Task(task) => Some((Arc::clone(row), task.task.clone(), task.state)),
            _ => None,
        })
        .collect()
}

fn state(chat: &Chat, name: &str) -> WorkState {
    let tasks = tasks(&chat.rows());
    let found = tasks.iter().find(|(_, task, _)| task == name);
    found
        .unwrap_or_else(|| panic!("no task {name}:\n{}", chat.told()))
        .2
}

/// Asks for the end of a task and says what became of it.
fn stop(chat: &Chat, name: &str) -> (String, Value) {
    let tasks = tasks(&chat.rows());
    let found = tasks.iter().find(|(_, task, _)| task == name).expect("the task");
    let row = found.0.id.as_str().to_owned();
    let stop = chat.post(intent::STOP, json!({ "task": row }));
    (row, chat.outcome(stop))
}

/// A task is stopped by the agent's own way: it is asked with the task's id, says that it did, and the task reads as
/// stopped. The turn is none of its business, and the rest of the work goes on.
#[test]
fn rk_1_rk_3_only_the_named_task_is_stopped_by_the_agents_own_way() {
    let rig = Rig::new();
    let chat = rig.start(&format!("{GROK}{STEPS}"));
    chat.ask("two");
    let (row, outcome) = stop(&chat, "task-1");
    assert_eq!(outcome, json!({ "stopped": row }));
    chat.until("it is stopped", |rows| {
        let tasks = tasks(rows);
        (tasks[0].2 == WorkState::Stopped).then_some(())
    });
    assert_eq!(state(&chat, "task-2"), WorkState::Running);
    let kills = calls(&tape(&*rig.journal, &chat.id), "_x.ai/task/kill");
    let named: Vec<&Value> = kills.iter().map(|call| &call["params"]["taskId"]).collect();
    assert_eq!(named, [&Value::Null, &json!("task-1")], "a probe, then the call");
    assert!(calls(&tape(&*rig.journal, &chat.id), "session/cancel").is_empty());
    let (_, outcome) = stop(&chat, "task-1");
    assert_eq!(outcome["error"], "It does not run any more.");
    chat.close();
}

/// What runs stands in the timeline as running tasks, also after its turn has ended.
#[test]
fn rk_2_running_work_is_listed() {
    let rig = Rig::new();
    let chat = rig.start(&format!("{GROK}{STEPS}"));
    chat.ask("two");
    let tasks = tasks(&chat.rows());
    let listed: Vec<(&str, WorkState)> = tasks.iter().map(|(_, task, state)| (&**task, *state)).collect();
    assert_eq!(
        listed,
        [("task-1", WorkState::Running), ("task-2", WorkState::Running)]
    );
    assert!(ends(&chat.rows())[0].is_some());
    chat.close();
}

/// A task that the agent no longer has reads as unknown, since nobody knows how it ended; news of its end that come later
/// still tell.
#[test]
fn rk_4_a_task_that_is_gone_is_unknown_until_news_come() {
    let rig = Rig::new();
    let chat = rig.start(&format!("{GROK}{STEPS}"));
    chat.ask("ghost");
    assert_eq!(state(&chat, "ghost"), WorkState::Running);
    let (row, outcome) = stop(&chat, "ghost");
    assert_eq!(outcome["stopped"], row, "{outcome}");
    assert!(outcome["unknown"].is_string(), "{outcome}");
    assert_eq!(state(&chat, "ghost"), WorkState::Unknown);
    chat.ask("news");
    assert_eq!(state(&chat, "ghost"), WorkState::Completed);
    chat.close();
}

/// A failure to stop a task is told in the agent's words, and the task runs on.
#[test]
fn rk_6_a_failure_keeps_the_task_running() {
    let rig = Rig::new();
    let refuses = "refuses = { \"_x.ai/task/kill\" = { code = -32603, message = \"It will not die.\" } }\n";
    let chat = rig.start(&format!("{refuses}{GROK}{STEPS}"));
    chat.ask("two");
    let (_, outcome) = stop(&chat, "task-1");
    let error = outcome["error"].as_str().expect("an error");
    assert!(error.contains("It will not die."), "{error}");
    assert_eq!(state(&chat, "task-1"), WorkState::Running);
    chat.close();
}

/// Whether an agent has a way to stop one piece of work is found out with a call that names none; an agent without it is
/// never sent another, and whoever asked is told. So is one whose dialect knows no way.
#[test]
fn rk_7_the_way_is_probed_and_never_guessed() {
    let rig = Rig::new();
    let refuses = "refuses = { \"_x.ai/task/kill\" = { code = -32601, message = \"Method not found\" } }\n";
    let chat = rig.start(&format!("{refuses}{GROK}{STEPS}"));
    chat.ask("two");
    let (_, outcome) = stop(&chat, "task-1");
    let no_way = "Grok has no way to stop one piece of work; stop the session instead.";
    assert_eq!(outcome["error"], no_way);
    let kills = calls(&tape(&*rig.journal, &chat.id), "_x.ai/task/kill");
    assert_eq!(kills.len(), 1);
    assert_eq!(kills[0]["params"], json!({}));
    assert_eq!(state(&chat, "task-1"), WorkState::Running);
    let stop = chat.post(intent::STOP, json!({ "task": "no such row" }));
    assert_eq!(
        chat.outcome(stop)["error"],
        "There is no task or helper with this id."
    );
    chat.close();

    let rig = Rig::new();
    let chat = rig.start(
        "[[turn]]\nsteps = [{ subagent = { id = \"child-1\", title = \"Looks\", steps = [{ text = \"Looking.\" }, \"wait_for_cancel\"] } }]",
    );
    chat.prompt("go");
    let helper = chat.until("a helper runs", |rows| {
        let helper = rows.iter().find(|row| row.kind() == Kind::Helper);
        helper.map(|row| row.id.clone())
    });
    let stop = chat.post(intent::STOP, json!({ "task": helper }));
    let no_way = "Scripted agent has no way to stop one piece of work; stop the session instead.";
    assert_eq!(chat.outcome(stop)["error"], no_way);
    assert!(calls(&tape(&*rig.journal, &chat.id), "session/cancel").is_empty());
    chat.close();
}

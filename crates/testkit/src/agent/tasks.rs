//! Background commands: work that outlives its tool call, and often its turn.
//!
//! They exist in words only, no process runs. Ending one takes the locked state, so that the end can be written
//! together with the answer of the turn after which it is due, before the client's next prompt is looked at.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{Stage, State};
use crate::scenario::{Background, TaskStyle};

/// A background command that runs.
pub(super) struct Task {
    session: String,
    cwd: String,
    background: Background,
}

/// How a background command ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Itself,
    Killed,
}

pub(super) fn start(stage: &Stage, session: &str, background: Background) -> io::Result<()> {
    let cwd = stage.cwd(session);
    let task = Task {
        session: session.to_owned(),
        cwd,
        background,
    };
    let Background {
        id,
        tool,
        command,
        label,
        ..
    } = &task.background;
    match task.background.style {
        TaskStyle::Plain => {
            let content = text_content("Started in the background");
            let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": "in_progress", "content": content});
            stage.update(session, update)?;
        }
        TaskStyle::Grok => {
            let output_file = task.output_file();
            let notice = json!({"sessionUpdate": "task_backgrounded", "tool_call_id": tool, "task_id": id, "command": command,
                "cwd": task.cwd, "output_file": output_file, "description": label});
            send_notice(stage, session, "_x.ai/task_backgrounded", &notice)?;
            let said = format!("Background task {id} started");
            let raw = json!({"type": "BackgroundTaskStarted", "task_id": id, "task_type": "bash", "status": "running",
                "command": command, "summary": said, "output_file": output_file});
            let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": "completed",
                "content": text_content(&said), "rawOutput": raw});
            stage.update(session, update)?;
        }
    }
    stage.state().tasks.insert(task.background.id.clone(), task);
    Ok(())
}

/// Ends every background command of the list that is due at once, and has a thread end the others in their time.
pub(super) fn end_later(stage: &Arc<Stage>, state: &mut State, ids: &[String]) -> io::Result<()> {
    for id in ids {
        let Some(after) = state.tasks.get(id).and_then(|task| task.background.ends_after_ms) else {
            continue;
        };
        if after == 0 || stage.pace == super::Pace::None {
            end(stage, state, id, Ended::Itself)?;
        } else {
            let (stage, id) = (Arc::clone(stage), id.clone());
            thread::spawn(move || {
                let limit = Some(Duration::from_millis(after));
                let waited = stage.wait_until(limit, &[], |state| !state.tasks.contains_key(&id));
                if waited.is_ok() {
                    // A client that is gone is noticed by the main loop.
                    let _ = end(&stage, &mut stage.state(), &id, Ended::Itself);
                }
            });
        }
    }
    Ok(())
}

/// Ends one background command, and says whether it was running.
pub(super) fn end(stage: &Stage, state: &mut State, id: &str, how: Ended) -> io::Result<bool> {
    let Some(task) = state.tasks.remove(id) else {
        return Ok(false);
    };
    stage.changed();
    let Background {
        tool,
        output,
        exit_code,
        ..
    } = &task.background;
    match task.background.style {
        TaskStyle::Plain => {
            let status = if how == Ended::Itself && *exit_code == 0 {
                "completed"
            } else {
                "failed"
            };
            let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": status,
                "content": text_content(output), "rawOutput": {"exit_code": exit_code, "output": output}});
            stage.store.append(&task.session, &update)?;
            stage.send_update(&task.session, update)?;
        }
        TaskStyle::Grok => {
            let notice = json!({"sessionUpdate": "task_completed", "will_wake": false, "task_snapshot": task.snapshot(Some(how))});
            send_notice(stage, &task.session, "_x.ai/task_completed", &notice)?;
        }
    }
    Ok(true)
}

/// The running background commands of a session.
pub(super) fn list(state: &State, session: &str) -> Value {
    let of_session = state.tasks.values().filter(|task| task.session == session);
    json!({"result": {"tasks": of_session.map(|task| task.snapshot(None)).collect::<Vec<_>>()}})
}

impl Task {
    fn output_file(&self) -> String {
        format!("{}/.tasks/{}.log", self.cwd, self.background.id)
    }

    fn snapshot(&self, ended: Option<Ended>) -> Value {
        let Background {
            id,
            command,
            label,
            output,
            exit_code,
            ..
        } = &self.background;
        let killed = ended == Some(Ended::Killed);
        let exit_code = ended.filter(|_| !killed).map(|_| *exit_code);
        json!({"task_id": id, "command": command, "cwd": self.cwd, "output": output, "output_file": self.output_file(),
            "truncated": false, "output_total_bytes": output.len(), "exit_code": exit_code,
            "signal": killed.then_some("killed"), "completed": ended.is_some(), "kind": "bash", "block_waited": false,
            "explicitly_killed": killed, "kill_result_delivered": false, "owner_session_id": self.session,
            "description": label, "is_backgrounded": true})
    }
}

pub(super) fn text_content(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

fn send_notice(stage: &Stage, session: &str, method: &str, update: &Value) -> io::Result<()> {
    stage.send(
        &json!({"jsonrpc": "2.0", "method": method, "params": {"sessionId": session, "update": update}}),
    )
}

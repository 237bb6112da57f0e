//! Background commands and monitors: what starts them, what tells of them, and what ends them.
//!
//! A task has an id of its own. It is told of by the result of the tool that launched it, by notices, by a list of all
//! tasks, by reads of its output, by kills and by its completion, in any order; all of that is one row. Every word here is
//! looked up in a table; a word that is not there says nothing.

use std::borrow::Cow;

use serde_json::json;
use tapline_timeline::{Event, TaskKind, TaskNews, ToolStatus, WorkState};
use tapline_wire::{RawValue, value};

use super::Grok;
use super::helpers;
use super::read::{self, id, member_id, words};
use crate::dialect::{Around, Facts, Work, WorkStop, WorkStopped};

/// How a task stands, in the words of lists, reads and kills. What has an end of its own says how it went besides.
const STATES: &[(&str, Told)] = &[
    ("pending", Told::Is(WorkState::Running)),
    ("running", Told::Is(WorkState::Running)),
    ("completed", Told::Ended),
    ("success", Told::Ended),
    ("succeeded", Told::Ended),
    ("failed", Told::Failed),
    ("error", Told::Failed),
    ("timed_out", Told::Failed),
    ("killed", Told::Is(WorkState::Stopped)),
    ("stopped", Told::Is(WorkState::Stopped)),
    ("cancelled", Told::Is(WorkState::Stopped)),
];

/// What a status word tells.
#[derive(Clone, Copy)]
enum Told {
    Is(WorkState),
    /// It is over; exit code, signal and error say how it went.
    Ended,
    /// It is over and did not go well, unless somebody ended it.
    Failed,
}

/// Signals that say that somebody ended the task: a kill, or Grok's own end.
const STOPS: &[&str] = &["killed", "session_restart"];

/// Kinds that Grok names.
const KINDS: &[(&str, TaskKind)] = &[
    ("monitor", TaskKind::Monitor),
    ("bash", TaskKind::Command),
    ("shell", TaskKind::Command),
];

/// How the last paragraph of a running task's output begins where it is advice to the model.
const ADVICE: &[&str] = &["Use timeout_ms to wait", "Waited the requested"];

/// How the result of a launch reads: words for the model.
const STARTED: (&str, &str) = ("Background task", "started");

/// Whether a text is Grok's own "Background task … started".
pub(super) fn is_start_note(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(STARTED.0) && text.ends_with(STARTED.1) && !text.contains('\n')
}

/// Output without the advice to the model at its end.
pub(super) fn output(text: Cow<'_, str>) -> Cow<'_, str> {
    let Some(at) = text.rfind("\n\n") else { return text };
    let last = text[at..].trim_start();
    match ADVICE.iter().any(|begin| last.starts_with(begin)) {
        true => Cow::Owned(text[..at].trim_end().to_owned()),
        false => text,
    }
}

/// The name that a command is shown by, without the mark of a monitor, and whether it has the mark.
fn shown(command: &str) -> (&str, bool) {
    if let Some(rest) = command.strip_prefix("[monitor]") {
        return (rest.trim(), true);
    }
    match command
        .strip_prefix("[monitor:")
        .and_then(|rest| rest.split_once(']'))
    {
        Some((name, rest)) if rest.trim().is_empty() => (name.trim(), true),
        Some((_, rest)) => (rest.trim(), true),
        None => (command, command.starts_with("[monitor:")),
    }
}

/// A signal, written as text or as a number.
fn signal(raw: &RawValue) -> Option<Cow<'_, str>> {
    value::member(raw, "signal")
        .and_then(value::name)
        .filter(|s| !s.trim().is_empty())
}

fn exit_code(raw: &RawValue) -> Option<i64> {
    value::member(raw, "exit_code").and_then(value::i64)
}

/// How a task ended that is over.
fn ending(raw: &RawValue) -> WorkState {
    let signal = signal(raw);
    let stopped =
        read::is_true(raw, "explicitly_killed") || signal.as_deref().is_some_and(|s| STOPS.contains(&s));
    let failed =
        signal.is_some() || words(raw, &["error"]).is_some() || exit_code(raw).is_some_and(|c| c != 0);
    match (stopped, failed) {
        (true, _) => WorkState::Stopped,
        (false, true) => WorkState::Failed,
        (false, false) => WorkState::Completed,
    }
}

/// How a task stands by a list or a read.
fn state(raw: &RawValue) -> Option<WorkState> {
    let told = words(raw, &["status"])
        .and_then(|s| STATES.iter().find(|(name, _)| *name == s).map(|(_, told)| *told));
    match told {
        Some(Told::Is(WorkState::Running)) => Some(WorkState::Running),
        _ if read::is_true(raw, "explicitly_killed") => Some(WorkState::Stopped),
        Some(Told::Is(state)) => Some(state),
        Some(Told::Ended) => Some(ending(raw)),
        Some(Told::Failed) => match ending(raw) {
            WorkState::Stopped => Some(WorkState::Stopped),
            _ => Some(WorkState::Failed),
        },
        None if exit_code(raw).is_some() || signal(raw).is_some() || words(raw, &["error"]).is_some() => {
            Some(ending(raw))
        }
        None => None,
    }
}

/// What every shape says alike.
fn news<'a>(task: &'a str, raw: &'a RawValue) -> TaskNews<'a> {
    let command = words(raw, &["command"]);
    let display = words(raw, &["display_command"]);
    let monitor_description = words(raw, &["monitor_description"]);
    let marked = [&command, &display].into_iter().flatten().any(|c| shown(c).1);
    let word = words(raw, &["kind", "task_type"]);
    let named = word
        .as_deref()
        .and_then(|w| KINDS.iter().find(|(name, _)| *name == w))
        .map(|(_, kind)| *kind);
    let kind = match (monitor_description.is_some() || marked, named) {
        (true, _) => Some(TaskKind::Monitor),
        (false, Some(kind)) => Some(kind),
        // A kind that nobody knows, beside a command, is a command.
        (false, None) => (word.is_some() && command.is_some()).then_some(TaskKind::Command),
    };
    let guess = display.or(command).map(|command| match shown(&command) {
        (name, true) if !name.is_empty() => Cow::Owned(name.to_owned()),
        _ => command,
    });
    TaskNews {
        task: Cow::Borrowed(task),
        kind,
        kind_guess: guess.is_some().then_some(TaskKind::Command),
        label: monitor_description.or_else(|| words(raw, &["description"])),
        label_guess: guess,
        exit_code: exit_code(raw),
        signal: signal(raw),
        output_file: words(raw, &["output_file"]),
        // The words of a start are never those of an end.
        summary: words(raw, &["error"]),
        ..TaskNews::default()
    }
}

/// The answer to the client's own kill.
pub(super) fn killed_by_client<'a>(result: &'a RawValue, facts: &mut Facts<'a>) {
    let Some(result) = value::member(result, "result") else {
        return;
    };
    let Some(task) = member_id(result, &["taskId"]) else {
        return;
    };
    match words(result, &["outcome"]).as_deref() {
        Some("killed") => facts.push(ended(Cow::Borrowed(task), WorkState::Stopped)),
        // It is over, and how it went is said by its own completion, if that ever comes.
        Some("already_exited" | "not_found") => facts.push(ended(Cow::Borrowed(task), WorkState::Unknown)),
        _ => {}
    }
}

/// The client's call that stops a task or a helper.
pub(super) fn stop(session: &str, work: Work<'_>) -> WorkStop {
    match work {
        Work::Task(task) => WorkStop {
            method: "_x.ai/task/kill",
            params: json!({ "sessionId": session, "taskId": task }),
        },
        Work::Helper(helper) => WorkStop {
            method: "_x.ai/subagent/cancel",
            params: json!({ "sessionId": session, "subagentId": helper }),
        },
    }
}

/// What the answer to [`stop`] says. An answer about other work says nothing about this.
pub(super) fn stop_answered(work: Work<'_>, answer: &RawValue) -> WorkStopped {
    let Some(result) = value::member(answer, "result").filter(|result| !value::is_null(result)) else {
        return WorkStopped::Refused(words(answer, &["error"]).map(Cow::into_owned));
    };
    let (named, outcome) = match work {
        Work::Task(_) => (member_id(result, &["taskId"]), words(result, &["outcome"])),
        Work::Helper(_) => {
            let kind = value::path(result, &["outcome", "kind"]).and_then(value::text);
            let cancelled = value::member(result, "cancelled").and_then(value::bool) == Some(true);
            let kind = kind.or_else(|| cancelled.then_some(Cow::Borrowed("cancelled")));
            (member_id(result, &["subagentId"]), kind)
        }
    };
    if named.is_some_and(|named| named != work.id()) {
        return WorkStopped::Refused(None);
    }
    match outcome.as_deref() {
        Some("killed" | "cancelled") => WorkStopped::Stopping,
        Some("already_exited" | "already_finished" | "not_found") => WorkStopped::Gone,
        _ => WorkStopped::Refused(outcome.map(Cow::into_owned)),
    }
}

/// It is over.
fn ended(task: Cow<'_, str>, state: WorkState) -> Event<'_> {
    Event::Task(TaskNews {
        task,
        state: Some(state),
        only_if_known: true,
        ..TaskNews::default()
    })
}

impl Grok {
    /// `task_backgrounded`.
    pub(super) fn task_started<'a>(
        &mut self,
        around: Around<'_>,
        update: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        facts.taken_by = Some("task-unreadable");
        let Some(task) = member_id(update, &["task_id"]) else {
            return;
        };
        if around.loading {
            facts.taken_by = Some("history");
            return;
        }
        let call = member_id(update, &["tool_call_id"]).filter(|c| !c.is_empty());
        facts.push(Event::Task(TaskNews {
            call: call.map(Cow::Borrowed),
            state: Some(WorkState::Running),
            ..news(task, update)
        }));
    }

    /// `task_completed`.
    pub(super) fn task_ended<'a>(&mut self, around: Around<'_>, update: &'a RawValue, facts: &mut Facts<'a>) {
        facts.taken_by = Some("task-unreadable");
        let snapshot = value::member(update, "task_snapshot").unwrap_or(update);
        let Some(task) = member_id(snapshot, &["task_id"]) else {
            return;
        };
        let mut ended = TaskNews {
            state: Some(ending(snapshot)),
            only_if_unknown: around.loading,
            ..news(task, snapshot)
        };
        if ended.signal.as_deref() == Some("session_restart") {
            // Written at a load for whatever ran, without the kind.
            ended.kind = None;
        }
        facts.push(Event::Task(ended));
    }

    /// `background_tasks`: all of them. One that is over by now is no news unless it is known.
    pub(super) fn task_list<'a>(&mut self, around: Around<'_>, update: &'a RawValue, facts: &mut Facts<'a>) {
        facts.taken_by = Some("task-list");
        for listed in value::member(update, "tasks")
            .map(value::array)
            .into_iter()
            .flatten()
        {
            let (Some(task), Some(state)) = (member_id(listed, &["task_id"]), state(listed)) else {
                continue;
            };
            facts.push(Event::Task(TaskNews {
                state: Some(state),
                only_if_unknown: around.loading,
                only_if_known: state != WorkState::Running,
                ..news(task, listed)
            }));
        }
    }

    /// What the result of a tool says of tasks.
    pub(super) fn tasks_from_tool<'a>(
        &mut self,
        call: &'a str,
        turn: Option<&'a str>,
        status: Option<ToolStatus>,
        output: Option<&'a RawValue>,
        facts: &mut Facts<'a>,
    ) {
        let kind = output.and_then(|o| value::member_text(o, "type"));
        match (kind.as_deref(), output) {
            (Some("BackgroundTaskStarted"), Some(output)) => {
                let Some(task) = member_id(output, &["task_id"]) else {
                    return;
                };
                facts.push(Event::Task(self.launched(call, turn, news(task, output))));
            }
            (Some("Monitor"), Some(output)) => {
                let Some(task) = member_id(output, &["taskId", "task_id"]) else {
                    return;
                };
                let launched = self.launched(call, turn, news(task, output));
                facts.push(Event::Task(TaskNews {
                    kind: Some(TaskKind::Monitor),
                    ..launched
                }));
            }
            (Some("TaskOutput"), Some(output)) => {
                for told in results(output) {
                    self.task_read(turn, told, facts);
                }
            }
            _ if status == Some(ToolStatus::Completed) => self.tasks_killed(call, output, facts),
            _ => {}
        }
    }

    /// A launch's result, with the name that the tool's input gives.
    fn launched<'a>(&self, call: &'a str, turn: Option<&'a str>, news: TaskNews<'a>) -> TaskNews<'a> {
        let described = self
            .chats
            .known_call(call)
            .and_then(|memo| memo.description.clone());
        TaskNews {
            turn,
            call: Some(Cow::Borrowed(call)),
            label: news.label.or(described.map(|d| Cow::Owned(d.into()))),
            state: Some(WorkState::Running),
            ..news
        }
    }

    /// The read of a task's output.
    fn task_read<'a>(&mut self, turn: Option<&'a str>, told: &'a RawValue, facts: &mut Facts<'a>) {
        let Some(task) = member_id(told, &["task_id"]) else {
            return;
        };
        let state = state(told);
        let command = words(told, &["command"]);
        let text = words(told, &["output"]).map(output);
        if self.helper_told(Cow::Borrowed(task), command.as_deref(), state, text, facts) {
            return;
        }
        // What is read is the command's output, and a word on where the rest stands: neither names the task nor sums it up.
        if state.is_some() {
            facts.push(Event::Task(TaskNews {
                turn,
                state,
                ..news(task, told)
            }));
        }
    }

    /// A kill that was completed. Without a result that can be read, it ended all that its input names.
    fn tasks_killed<'a>(&mut self, call: &'a str, output: Option<&'a RawValue>, facts: &mut Facts<'a>) {
        let memo = self.chats.known_call(call);
        if !memo.is_some_and(|memo| memo.kills) {
            return;
        }
        let told: Vec<&'a RawValue> = output.map(results).unwrap_or_default();
        let over: Vec<Cow<'a, str>> = if told.is_empty() {
            let named = memo.map(|memo| memo.tasks.clone()).unwrap_or_default();
            named.into_iter().map(|task| Cow::Owned(task.into())).collect()
        } else {
            let killed = |told: &&'a RawValue| words(told, &["outcome"]).as_deref() == Some("killed");
            told.into_iter()
                .filter(killed)
                .filter_map(|t| member_id(t, &["task_id"]))
                .map(Cow::Borrowed)
                .collect()
        };
        for task in over {
            if !self.helper_told(task.clone(), None, Some(WorkState::Stopped), None, facts) {
                facts.push(ended(task, WorkState::Stopped));
            }
        }
    }

    /// Remembers what a call's input says of tasks and helpers.
    pub(super) fn remember_input(&mut self, call: &str, name: Option<&str>, input: &RawValue) {
        let variant = value::member_text(input, "variant");
        let is = |tool: &str, kind: &str| name == Some(tool) || variant.as_deref() == Some(kind);
        let memo = self.chats.call(call);
        if let Some(description) = words(input, &["description"]) {
            memo.describe(&description);
        }
        if is("kill_command_or_subagent", "KillTask") {
            memo.kills = true;
            for name in ["task_id", "task_ids"] {
                let Some(member) = value::member(input, name) else {
                    continue;
                };
                for task in id(Some(member))
                    .into_iter()
                    .chain(value::array(member).filter_map(|t| id(Some(t))))
                {
                    memo.names_task(task);
                }
            }
        }
        if is("spawn_subagent", "Task") && !memo.starts_helpers {
            (memo.starts_helpers, memo.spawns) = (true, true);
        }
        if memo.starts_helpers
            && let Some(prompt) = words(input, &["prompt"])
        {
            memo.prompt = helpers::first_line(&prompt).map(Into::into);
        }
    }
}

/// The results in a read or a kill: one, or several.
pub(super) fn results(output: &RawValue) -> Vec<&RawValue> {
    if let Some(one) = value::member(output, "Result").filter(|r| value::is_object(r)) {
        return vec![one];
    }
    value::path(output, &["MultiResult", "results"])
        .map(|many| value::array(many).collect())
        .unwrap_or_default()
}

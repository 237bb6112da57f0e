//! Tasks and helpers: work that outlives its tool and its turn, and is settled by its own news alone.

use std::sync::Arc;

use indexmap::IndexMap;

use super::placing::{Opens, Place};
use super::{Assembler, Cuts, Cx, revise};
use crate::event::{HelperNews, TaskNews};
use crate::id::{Key, RowId};
use crate::limits;
use crate::row::{Body, Helper, Row, Task};
use crate::word::*;

/// What runs, by row key.
#[derive(Debug, Default)]
pub(super) struct Work {
    running: IndexMap<RowId, ()>,
}

/// What the news of a task and of a helper have in common: which work it is, what it is called, how it stands.
struct Named<'n> {
    /// The agent's id of it.
    name: &'n str,
    /// The tool call that launched it, as the agent told.
    call: Option<&'n str>,
    turn: Option<&'n str>,
    label: Option<String>,
    /// What it is called as long as nobody said it.
    guess: Option<String>,
    state: Option<WorkState>,
}

impl<'n> Named<'n> {
    fn of_task(news: &'n TaskNews<'_>) -> Self {
        Self {
            name: &news.task,
            call: news.call.as_deref(),
            turn: news.turn,
            label: filled(news.label.as_deref()),
            guess: filled(news.label_guess.as_deref()),
            state: news.state,
        }
    }

    fn of_helper(news: &'n HelperNews<'_>) -> Self {
        Self {
            name: &news.helper,
            call: news.call.as_deref(),
            turn: news.turn,
            label: filled(news.label.as_deref()),
            guess: filled(news.label_guess.as_deref()),
            state: news.state,
        }
    }

    /// The state of work that nobody has told of before.
    fn first_state(&self) -> WorkState {
        self.state.unwrap_or(WorkState::Running)
    }

    /// What work is called that nobody has told of before.
    fn first_label(&self) -> String {
        let label = self.label.as_ref().or(self.guess.as_ref());
        label.cloned().unwrap_or_else(|| label_of(self.name))
    }

    /// What it is called after these news. Work that is still called by its id has no name yet.
    fn rename(&self, label: &mut String, id: &str) {
        match (&self.label, &self.guess) {
            (Some(name), _) => label.clone_from(name),
            (None, Some(guess)) if label == id => label.clone_from(guess),
            _ => {}
        }
    }
}

/// How news changed the state of work.
#[derive(Clone, Copy)]
struct Step {
    from: WorkState,
    to: WorkState,
}

impl Step {
    fn settles(self) -> bool {
        self.to != self.from && self.to != WorkState::Running
    }
}

/// The label of words on a line; none where there are no words.
fn filled(text: Option<&str>) -> Option<String> {
    text.map(label_of).filter(|label| !label.is_empty())
}

fn label_of(text: &str) -> String {
    super::label(text.trim())
}

/// The agent's id, the label and the state of a task or a helper.
fn parts(body: &mut Body) -> Option<(&str, &mut String, &mut WorkState)> {
    match body {
        Body::Task(task) => Some((&task.task, &mut task.label, &mut task.state)),
        Body::Helper(helper) => Some((&helper.helper, &mut helper.label, &mut helper.state)),
        _ => None,
    }
}

/// What a state is after news: an end is never left, and what nobody told of may still get its end.
fn state_after(old: WorkState, news: Option<WorkState>) -> WorkState {
    match (old, news) {
        (WorkState::Completed | WorkState::Failed | WorkState::Stopped, _) | (_, None) => old,
        (WorkState::Unknown, Some(WorkState::Running)) => old,
        (_, Some(new)) => new,
    }
}

impl Assembler {
    pub(super) fn task(&mut self, cx: &mut Cx<'_>, news: TaskNews<'_>) {
        let id = RowId::spell(&self.session.id, Key::new("w").part(&news.task).as_str());
        let helper = RowId::spell(&self.session.id, Key::new("h").part(&news.task).as_str());
        if cx.host.row(&helper).is_some() {
            cx.drop("task-is-a-helper");
            return;
        }
        let named = Named::of_task(&news);
        let output_file = filled(news.output_file.as_deref());
        let summary = |cuts: &mut Cuts| {
            let summary = news.summary.as_deref();
            let summary = summary.map(|s| cuts.text("summary", s, limits::WORDS_BYTES));
            summary.filter(|s| !s.is_empty())
        };
        let signal = || news.signal.as_deref().map(label_of);
        match cx.host.row(&id) {
            Some(row) => {
                let Body::Task(old) = &row.body else { return };
                if news.only_if_unknown && old.state != WorkState::Unknown {
                    cx.drop("history");
                    return;
                }
                self.revise_work(cx, row, &named, "task-unchanged", |body, step| {
                    let mut cuts = Cuts::default();
                    let Body::Task(task) = body else { return cuts };
                    if let Some(kind) = news.kind {
                        task.task_kind = kind;
                    } else if let (Some(kind), TaskKind::Other) = (news.kind_guess, task.task_kind) {
                        task.task_kind = kind;
                    }
                    if step.settles() || step.from != WorkState::Running {
                        task.exit_code = task.exit_code.or(news.exit_code);
                        if task.signal.is_none() {
                            task.signal = signal();
                        }
                        if task.summary.is_none() && step.to != WorkState::Running {
                            task.summary = summary(&mut cuts);
                        }
                    }
                    if output_file.is_some() {
                        task.output_file = output_file;
                    }
                    cuts
                });
            }
            None if news.only_if_unknown || news.only_if_known => cx.drop("history"),
            None => {
                let mut cuts = Cuts::default();
                let state = named.first_state();
                let ended = state != WorkState::Running;
                let task = Task {
                    task: label_of(named.name),
                    task_kind: news.kind.or(news.kind_guess).unwrap_or(TaskKind::Other),
                    label: named.first_label(),
                    state,
                    exit_code: news.exit_code.filter(|_| ended),
                    signal: if ended { signal() } else { None },
                    output_file,
                    summary: if ended { summary(&mut cuts) } else { None },
                };
                self.begin_work(cx, id, &named, Body::Task(task), cuts);
            }
        }
    }

    pub(super) fn helper(&mut self, cx: &mut Cx<'_>, news: HelperNews<'_>) {
        let id = RowId::spell(&self.session.id, Key::new("h").part(&news.helper).as_str());
        let named = Named::of_helper(&news);
        let tokens = news.tokens.filter(|n| *n > 0);
        let mut cuts = Cuts::default();
        let text = news.text.as_deref();
        let text = text.map(|t| cuts.text("text", t, limits::VALUE_BYTES));
        let text = text.filter(|t| !t.trim().is_empty());
        let child = news.child.clone();
        match cx.host.row(&id) {
            Some(row) => self.revise_work(cx, row, &named, "helper-unchanged", |body, _| {
                let Body::Helper(helper) = body else {
                    return Cuts::default();
                };
                helper.tokens = tokens.or(helper.tokens);
                if helper.child.is_none() {
                    helper.child = child;
                }
                if helper.text.is_some() {
                    return Cuts::default();
                }
                helper.text = text;
                cuts
            }),
            None if news.only_if_known => cx.drop("helper-unknown"),
            None => {
                let helper = Helper {
                    helper: label_of(named.name),
                    label: named.first_label(),
                    state: named.first_state(),
                    tokens,
                    child,
                    text,
                };
                self.begin_work(cx, id, &named, Body::Helper(helper), cuts);
            }
        }
    }

    /// The row of work that nobody has told of before.
    fn begin_work(&mut self, cx: &mut Cx<'_>, id: RowId, named: &Named<'_>, body: Body, cuts: Cuts) {
        let tool = named.call.and_then(|call| self.find_tool(cx, call));
        let turn = self.turn_of_work(cx, tool.as_deref(), named.turn);
        let ended = named.first_state() != WorkState::Running;
        let mut row = self.put_cut(cx, id, turn, tool.map(|tool| tool.id.clone()), body, cuts);
        if ended && cx.at.is_some() {
            let at = cx.at;
            revise(cx, &mut row, |row| row.ended_at = at);
        }
        self.note_work(cx, &row.id, !ended);
    }

    /// News of work that has a row; `merge` brings in what its kind has of its own, and tells what was cut.
    fn revise_work(
        &mut self,
        cx: &mut Cx<'_>,
        mut row: Arc<Row>,
        named: &Named<'_>,
        unchanged: &'static str,
        merge: impl FnOnce(&mut Body, Step) -> Cuts,
    ) {
        let mut changed = Row::clone(&row);
        if changed.parent.is_none() {
            let tool = named.call.and_then(|call| self.find_tool(cx, call));
            changed.parent = tool.map(|tool| tool.id.clone());
        }
        let Some((id, label, state)) = parts(&mut changed.body) else {
            return;
        };
        named.rename(label, id);
        let step = Step {
            from: *state,
            to: state_after(*state, named.state),
        };
        *state = step.to;
        let cuts = merge(&mut changed.body, step);
        if step.settles() {
            changed.ended_at = cx.at;
        }
        cuts.note(&mut changed);
        if changed == *row {
            cx.host.state(unchanged);
            return;
        }
        revise(cx, &mut row, |row| *row = changed);
        self.note_work(cx, &row.id, step.to == WorkState::Running);
    }

    /// Work belongs to the turn of the tool that launched it, else to the one that speaks of it.
    fn turn_of_work(&mut self, cx: &mut Cx<'_>, tool: Option<&Row>, turn: Option<&str>) -> Option<RowId> {
        if let Some(tool) = tool {
            return tool.turn.clone();
        }
        let place = match self.place(cx, turn, Opens::Nothing) {
            Place::Nowhere => self
                .ended
                .len()
                .checked_sub(1)
                .map_or(Place::Nowhere, Place::Ended),
            place => place,
        };
        self.turn_id(place)
    }

    fn note_work(&mut self, cx: &mut Cx<'_>, id: &RowId, running: bool) {
        if !running {
            self.work.running.shift_remove(id);
            return;
        }
        self.work.running.insert(id.clone(), ());
        if self.work.running.len() > limits::OPEN_WORK
            && let Some((oldest, ())) = self.work.running.shift_remove_index(0)
        {
            self.counters.work_let_go += 1;
            settle_one(cx, &oldest);
        }
    }

    /// The session ends: nobody will tell what becomes of its tasks and helpers.
    pub(super) fn settle_work(&mut self, cx: &mut Cx<'_>) {
        for (id, ()) in std::mem::take(&mut self.work.running) {
            settle_one(cx, &id);
        }
    }
}

fn settle_one(cx: &mut Cx<'_>, id: &RowId) {
    let Some(mut row) = cx.host.row(id) else { return };
    let at = cx.at;
    revise(cx, &mut row, |row| {
        row.ended_at = at;
        if let Some((_, _, state)) = parts(&mut row.body) {
            *state = state_after(*state, Some(WorkState::Unknown));
        }
    });
}

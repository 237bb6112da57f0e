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
    /// Tasks whose kind was guessed.
    guessed_kind: IndexMap<Box<str>, ()>,
    /// Work whose label was guessed.
    guessed_label: IndexMap<Box<str>, ()>,
}

impl Work {
    fn note(set: &mut IndexMap<Box<str>, ()>, id: &str, there: bool) {
        if !there {
            set.shift_remove(id);
            return;
        }
        if set.len() >= limits::OPEN_WORK {
            set.shift_remove_index(0);
        }
        set.insert(id.into(), ());
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
        let label = |text: &str| super::label(text.trim());
        let mut cuts = Cuts::default();
        let label_now = news.label.as_deref().map(label).filter(|l| !l.is_empty());
        let label_guess = news.label_guess.as_deref().map(label).filter(|l| !l.is_empty());
        match cx.host.row(&id) {
            Some(row) => {
                let Body::Task(old) = &row.body else { return };
                let was_running = old.state == WorkState::Running;
                if news.only_if_unknown && old.state != WorkState::Unknown {
                    cx.drop("history");
                    return;
                }
                let mut changed = Row::clone(&row);
                if changed.parent.is_none() {
                    changed.parent = news
                        .call
                        .as_deref()
                        .and_then(|call| self.find_tool(cx, call))
                        .map(|t| t.id.clone());
                }
                let Body::Task(task) = &mut changed.body else {
                    return;
                };
                let ended = state_after(task.state, news.state);
                if let Some(kind) = news.kind {
                    task.task_kind = kind;
                    Work::note(&mut self.work.guessed_kind, &news.task, false);
                } else if let (Some(kind), TaskKind::Other) = (news.kind_guess, task.task_kind) {
                    task.task_kind = kind;
                }
                match (label_now, label_guess) {
                    (Some(label), _) => {
                        task.label = label;
                        Work::note(&mut self.work.guessed_label, &news.task, false);
                    }
                    (None, Some(guess)) if task.label == task.task => task.label = guess,
                    _ => {}
                }
                let settles = ended != task.state && ended != WorkState::Running;
                task.state = ended;
                if settles || !was_running {
                    task.exit_code = task.exit_code.or(news.exit_code);
                    if task.signal.is_none() {
                        task.signal = news.signal.map(|s| label(&s));
                    }
                    if task.summary.is_none() && task.state != WorkState::Running {
                        task.summary = news
                            .summary
                            .map(|s| cuts.text("summary", &s, limits::WORDS_BYTES))
                            .filter(|s| !s.is_empty());
                    }
                }
                if let Some(file) = news.output_file.as_deref().map(label).filter(|f| !f.is_empty()) {
                    task.output_file = Some(file);
                }
                if settles {
                    changed.ended_at = cx.at;
                }
                cuts.note(&mut changed);
                if changed == *row {
                    cx.host.state("task-unchanged");
                    return;
                }
                let mut row = row;
                revise(cx, &mut row, |row| *row = changed);
                self.note_work(cx, &row.id, ended == WorkState::Running);
            }
            None if news.only_if_unknown || news.only_if_known => cx.drop("history"),
            None => {
                let tool = news.call.as_deref().and_then(|call| self.find_tool(cx, call));
                let turn = self.turn_of_work(cx, tool.as_deref(), news.turn);
                let state = news.state.unwrap_or(WorkState::Running);
                let ended = state != WorkState::Running;
                if news.kind.is_none() {
                    Work::note(&mut self.work.guessed_kind, &news.task, true);
                }
                if label_now.is_none() {
                    Work::note(&mut self.work.guessed_label, &news.task, true);
                }
                let task = Task {
                    task: label(&news.task),
                    task_kind: news.kind.or(news.kind_guess).unwrap_or(TaskKind::Other),
                    label: label_now.or(label_guess).unwrap_or_else(|| label(&news.task)),
                    state,
                    exit_code: if ended { news.exit_code } else { None },
                    signal: news.signal.filter(|_| ended).map(|s| label(&s)),
                    output_file: news.output_file.as_deref().map(label).filter(|f| !f.is_empty()),
                    summary: news
                        .summary
                        .filter(|_| ended)
                        .map(|s| cuts.text("summary", &s, limits::WORDS_BYTES))
                        .filter(|s| !s.is_empty()),
                };
                let row = self.put_cut(cx, id, turn, tool.map(|t| t.id.clone()), Body::Task(task), cuts);
                self.finish_if(cx, row, ended);
            }
        }
    }

    pub(super) fn helper(&mut self, cx: &mut Cx<'_>, news: HelperNews<'_>) {
        let id = RowId::spell(&self.session.id, Key::new("h").part(&news.helper).as_str());
        let label = |text: &str| super::label(text.trim());
        let mut cuts = Cuts::default();
        let label_now = news.label.as_deref().map(label).filter(|l| !l.is_empty());
        let label_guess = news.label_guess.as_deref().map(label).filter(|l| !l.is_empty());
        let tokens = news.tokens.filter(|n| *n > 0);
        let text = news
            .text
            .map(|t| cuts.text("text", &t, limits::VALUE_BYTES))
            .filter(|t| !t.trim().is_empty());
        match cx.host.row(&id) {
            Some(row) => {
                let mut changed = Row::clone(&row);
                if changed.parent.is_none() {
                    changed.parent = news
                        .call
                        .as_deref()
                        .and_then(|call| self.find_tool(cx, call))
                        .map(|t| t.id.clone());
                }
                let Body::Helper(helper) = &mut changed.body else {
                    return;
                };
                let state = state_after(helper.state, news.state);
                match (label_now, label_guess) {
                    (Some(label), _) => helper.label = label,
                    (None, Some(guess)) if helper.label == helper.helper => helper.label = guess,
                    _ => {}
                }
                helper.tokens = tokens.or(helper.tokens);
                if helper.child.is_none() {
                    helper.child = news.child;
                }
                let takes_text = helper.text.is_none();
                if takes_text {
                    helper.text = text;
                }
                let settles = state != helper.state && state != WorkState::Running;
                helper.state = state;
                if settles {
                    changed.ended_at = cx.at;
                }
                if takes_text {
                    cuts.note(&mut changed);
                }
                if changed == *row {
                    cx.host.state("helper-unchanged");
                    return;
                }
                let mut row = row;
                revise(cx, &mut row, |row| *row = changed);
                self.note_work(cx, &row.id, state == WorkState::Running);
            }
            None if news.only_if_known => cx.drop("helper-unknown"),
            None => {
                let tool = news.call.as_deref().and_then(|call| self.find_tool(cx, call));
                let turn = self.turn_of_work(cx, tool.as_deref(), news.turn);
                let state = news.state.unwrap_or(WorkState::Running);
                let helper = Helper {
                    helper: label(&news.helper),
                    label: label_now.or(label_guess).unwrap_or_else(|| label(&news.helper)),
                    state,
                    tokens,
                    child: news.child,
                    text,
                };
                let row = self.put_cut(
                    cx,
                    id,
                    turn,
                    tool.map(|t| t.id.clone()),
                    Body::Helper(helper),
                    cuts,
                );
                self.finish_if(cx, row, state != WorkState::Running);
            }
        }
    }

    fn finish_if(&mut self, cx: &mut Cx<'_>, mut row: Arc<Row>, ended: bool) {
        if ended && cx.at.is_some() {
            let at = cx.at;
            revise(cx, &mut row, |row| row.ended_at = at);
        }
        self.note_work(cx, &row.id, !ended);
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
        match &mut row.body {
            Body::Task(task) => task.state = state_after(task.state, Some(WorkState::Unknown)),
            Body::Helper(helper) => helper.state = state_after(helper.state, Some(WorkState::Unknown)),
            _ => {}
        }
    });
}

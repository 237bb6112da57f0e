//! Plans, status rows, compactions, messages between sessions, and what nothing covers.

use std::sync::Arc;

use indexmap::IndexMap;

use super::placing::{Opens, Place};
use super::{Assembler, Cuts, Cx, bound, clip, label, revise};
use crate::content::{Content, Part};
use crate::event::{CompactionNews, Failure, PlanBody, PlanNews, SessionMessageNews};
use crate::id::{Key, RowId};
use crate::json::Json;
use crate::limits;
use crate::row::{Body, Compaction, Detail, Plan, PlanEntry, Row, SessionMessage, Status, Unknown};
use crate::word::*;

/// The last plan the agent sent, by its id of it.
#[derive(Debug, Default)]
pub(super) struct Plans {
    last: IndexMap<Option<Box<str>>, LastPlan>,
}

#[derive(Debug)]
struct LastPlan {
    entries: Vec<PlanEntry>,
    text: Option<String>,
    row: RowId,
}

impl Assembler {
    pub(super) fn plan(&mut self, cx: &mut Cx<'_>, news: PlanNews<'_>) {
        let name: Option<Box<str>> = news.plan.map(Into::into);
        let mut cuts = Cuts::default();
        let (mut entries, text) = match news.body {
            PlanBody::Entries(entries) => (entries, None),
            PlanBody::Text(text) => (Vec::new(), Some(cuts.text("text", &text, limits::VALUE_BYTES))),
            PlanBody::Removed => (Vec::new(), None),
        };
        cuts.items("entries", &mut entries);
        let removed = entries.is_empty() && text.as_deref().is_none_or(|t| t.trim().is_empty());
        let last = self.plans.last.get(&name);
        if last.is_some_and(|last| last.entries == entries && last.text == text) {
            cx.drop("plan-unchanged");
            return;
        }
        if removed {
            return self.remove_plan(cx, &name);
        }
        let place = self.place(cx, news.turn, Opens::Any);
        let turn = self.turn_id(place);
        let at_hand = match place {
            Place::Open(index) => {
                self.turns[index].seen = true;
                self.end_current(cx, index);
                self.turns[index]
                    .plans
                    .iter()
                    .position(|(n, _)| *n == name)
                    .map(|at| (index, at))
            }
            _ => None,
        };
        let body = Plan {
            plan: name.as_deref().map(str::to_owned),
            entries: entries.clone(),
            text: text.clone(),
            state: PlanState::Active,
        };
        let row = match at_hand {
            Some((index, at)) => {
                let row = &mut self.turns[index].plans[at].1;
                revise(cx, row, |row| {
                    row.body = Body::Plan(body);
                    row.truncated.clear();
                    cuts.note(row);
                });
                Arc::clone(row)
            }
            None => {
                let after = turn.as_ref().map_or("", |t| t.key(&self.session.id));
                let key = match &name {
                    Some(name) => Key::new(&format!("p.{after}")).part(name),
                    None => Key::new(&format!("p.{after}")),
                };
                let id = self.fresh(cx, &key);
                let row = self.put_cut(cx, id, turn, None, Body::Plan(body), cuts);
                if let Place::Open(index) = place {
                    self.turns[index].plans.push((name.clone(), Arc::clone(&row)));
                }
                row
            }
        };
        if self.plans.last.len() >= limits::ITEMS && !self.plans.last.contains_key(&name) {
            self.plans.last.shift_remove_index(0);
        }
        self.plans.last.insert(
            name,
            LastPlan {
                entries,
                text,
                row: row.id.clone(),
            },
        );
    }

    fn remove_plan(&mut self, cx: &mut Cx<'_>, name: &Option<Box<str>>) {
        let Some(last) = self.plans.last.shift_remove(name) else {
            cx.drop("no-plan");
            return;
        };
        let at_hand = self
            .turns
            .iter_mut()
            .flat_map(|t| t.plans.iter_mut())
            .find(|(_, row)| row.id == last.row);
        let at = cx.at;
        let remove = |row: &mut Row| {
            row.ended_at = at;
            if let Body::Plan(plan) = &mut row.body {
                plan.state = PlanState::Removed;
            }
        };
        match at_hand {
            Some((_, row)) => revise(cx, row, remove),
            None => match cx.host.row(&last.row) {
                Some(mut row) => revise(cx, &mut row, remove),
                None => cx.drop("no-plan"),
            },
        }
    }

    /// After its turn no step of a plan is in progress.
    pub(super) fn settle_plans(&mut self, cx: &mut Cx<'_>, plans: &mut Vec<(Option<Box<str>>, Arc<Row>)>) {
        for (_, mut row) in plans.drain(..) {
            let Body::Plan(plan) = &row.body else { continue };
            if plan.entries.iter().any(|e| e.status == "in_progress") {
                revise(cx, &mut row, |row| {
                    if let Body::Plan(plan) = &mut row.body {
                        for entry in plan.entries.iter_mut().filter(|e| e.status == "in_progress") {
                            "pending".clone_into(&mut entry.status);
                        }
                    }
                });
            }
        }
    }

    pub(super) fn status(
        &mut self,
        cx: &mut Cx<'_>,
        turn: Option<&str>,
        tone: Tone,
        text: std::borrow::Cow<'_, str>,
        detail: Option<Detail>,
    ) {
        let place = self.place(cx, turn, Opens::Nothing);
        let turn = self.turn_id(place);
        let key = Key::new("s").part(cx.connection).minted(cx.frame);
        let id = self.fresh(cx, &key);
        let mut cuts = Cuts::default();
        let status = Status {
            tone,
            text: cuts.text("text", text.trim(), limits::WORDS_BYTES),
            detail,
        };
        self.put_cut(cx, id, turn, None, Body::Status(status), cuts);
    }

    /// One row says that the session could not be loaded, with the agent's words.
    pub(super) fn load_failed(&mut self, cx: &mut Cx<'_>, failure: Failure<'_>) {
        let words = failure.words.or(failure.sentence).unwrap_or_default();
        let key = Key::new("l").part(cx.connection).minted(cx.frame);
        let id = self.fresh(cx, &key);
        let mut cuts = Cuts::default();
        let status = Status {
            tone: Tone::Warning,
            text: cuts.text("text", words.trim(), limits::WORDS_BYTES),
            detail: Some(failure.detail),
        };
        let row = self.put_cut(cx, id, None, None, Body::Status(status), cuts);
        self.load_failure = Some(row);
    }

    /// The row of the failed load says how the session goes on.
    pub(super) fn carried_on(&mut self, cx: &mut Cx<'_>, provider_session: &str) {
        self.session.state = SessionState::Live;
        let Some(mut row) = self.load_failure.take() else {
            cx.host.state("carried-on");
            return;
        };
        let at = cx.at;
        revise(cx, &mut row, |row| {
            row.ended_at = at;
            if let Body::Status(status) = &mut row.body {
                let sentence = "The saved session could not be loaded; the chat goes on in a fresh session of the agent.";
                let more =
                    serde_json::json!({ "carried_on": sentence, "provider_session": provider_session });
                let detail = status.detail.get_or_insert_default();
                detail.more = Json::of(&more).ok();
            }
        });
    }

    pub(super) fn unknown(
        &mut self,
        cx: &mut Cx<'_>,
        method: &str,
        name: Option<&str>,
        payload: Option<&str>,
    ) {
        let place = self.place(cx, None, Opens::Nothing);
        let turn = self.turn_id(place);
        let key = Key::new("n").part(cx.connection).minted(cx.frame);
        let id = self.fresh(cx, &key);
        let mut unknown = Unknown {
            method: label(method),
            name: name.map(label),
            payload: None,
        };
        let row = match payload {
            Some(payload) if payload.len() > limits::UNKNOWN_BYTES => {
                unknown.payload = None;
                let mut row = self.put_as(cx, id, turn, None, Body::Unknown(unknown));
                let mut text = payload.to_owned();
                let inner = Arc::make_mut(&mut row);
                bound(cx, inner, "payload", &mut text, limits::UNKNOWN_BYTES);
                if let Body::Unknown(unknown) = &mut inner.body {
                    unknown.payload = Some(Json::string(&text));
                }
                inner.revision += 1;
                cx.host.change(crate::change::Change::Put(&row));
                return;
            }
            payload => {
                unknown.payload = payload.and_then(|p| Json::parse(p).ok());
                Body::Unknown(unknown)
            }
        };
        self.put_as(cx, id, turn, None, row);
    }

    pub(super) fn compaction(&mut self, cx: &mut Cx<'_>, news: CompactionNews<'_>) {
        let id = RowId::spell(&self.session.id, Key::new("k").part(&news.compaction).as_str());
        let at = cx.at;
        let mut cuts = Cuts::default();
        let change = |compaction: &mut Compaction, cuts: &mut Cuts| {
            let over = compaction.state != CompactionState::Running;
            if let (Some(state), false) = (news.state, over) {
                compaction.state = state;
            }
            if let Some(summary) = news.summary {
                compaction.content = summary;
            }
            if let Some(piece) = news.piece {
                add_piece(cuts, &mut compaction.content, piece);
            }
            if news.detail.is_some() {
                compaction.detail = news.detail;
            }
        };
        match cx.host.row(&id) {
            Some(mut row) => {
                revise(cx, &mut row, |row| {
                    if let Body::Compaction(compaction) = &mut row.body {
                        change(compaction, &mut cuts);
                        if compaction.state != CompactionState::Running {
                            row.ended_at = row.ended_at.or(at);
                        }
                    }
                    cuts.note(row);
                });
            }
            None => {
                let mut compaction = Compaction {
                    state: CompactionState::Running,
                    content: Content::default(),
                    detail: None,
                };
                change(&mut compaction, &mut cuts);
                let place = self.place(cx, news.turn, Opens::Nothing);
                let turn = self.turn_id(place);
                self.put_cut(cx, id, turn, None, Body::Compaction(compaction), cuts);
            }
        }
    }

    pub(super) fn session_message(&mut self, cx: &mut Cx<'_>, news: SessionMessageNews<'_>) {
        let id = RowId::spell(&self.session.id, Key::new("g").part(news.message).as_str());
        let mut cuts = Cuts::default();
        let change = |message: &mut SessionMessage, cuts: &mut Cuts| {
            if let Some(from) = news.from {
                message.from = Some(label(&from));
            }
            if let Some(to) = news.to {
                message.to = Some(label(&to));
            }
            if let Some(content) = news.content {
                message.content = content;
            }
            if let Some(piece) = news.piece {
                add_piece(cuts, &mut message.content, piece);
            }
        };
        match cx.host.row(&id) {
            Some(mut row) => revise(cx, &mut row, |row| {
                if let Body::SessionMessage(message) = &mut row.body {
                    change(message, &mut cuts);
                }
                cuts.note(row);
            }),
            None => {
                let mut message = SessionMessage {
                    from: None,
                    to: None,
                    content: Content::default(),
                };
                change(&mut message, &mut cuts);
                let place = self.place(cx, None, Opens::Nothing);
                let turn = self.turn_id(place);
                self.put_cut(cx, id, turn, None, Body::SessionMessage(message), cuts);
            }
        }
    }
}

/// Adds a piece within the bound of a message.
fn add_piece(cuts: &mut Cuts, content: &mut Content, piece: Part) {
    match piece {
        Part::Text { text } => {
            let before = content.as_text().len();
            let kept = clip(&text, limits::VALUE_BYTES.saturating_sub(before));
            content.push_text(kept);
            if kept.len() < text.len() {
                cuts.0.push(("text", (before + text.len()) as u64));
            }
        }
        other if content.media().count() < limits::ITEMS => content.push(other),
        _ => {}
    }
}

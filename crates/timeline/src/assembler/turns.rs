//! Turns: what opens them, what is noted on them, what ends them.

use std::sync::Arc;

use super::placing::{Opens, Place};
use super::prompts::OpenPrompt;
use super::text::TextKey;
use super::{Assembler, Cuts, Cx, clip, label, revise};
use crate::change::Change;
use crate::event::{Detached, Ending, Exit, Failure, TurnEnded};
use crate::id::RowId;
use crate::limits;
use crate::row::{Body, Context, Detail, Row, Status, Turn, Usage};
use crate::time::Time;
use crate::word::*;

/// A turn that has not ended.
#[derive(Debug)]
pub(super) struct OpenTurn {
    /// Number of ours, never used again.
    pub serial: u64,
    pub row: Arc<Row>,
    /// The agent's keys of it.
    pub names: Vec<Box<str>>,
    pub stopped: bool,
    /// The agent has said something in it.
    pub seen: bool,
    /// The agent says itself when it ends.
    pub own_word: bool,
    /// It was begun by a prompt.
    pub prompted: bool,
    pub failure: Option<FailureRow>,
    /// The message that a chunk without an id continues.
    pub current: Option<TextKey>,
    pub plans: Vec<(Option<Box<str>>, Arc<Row>)>,
    /// What an end notice said, while the answer is awaited.
    pub duration_ms: Option<u64>,
}

/// The one error row of a failed turn.
#[derive(Debug, Clone)]
pub(super) struct FailureRow {
    pub row: Arc<Row>,
    pub has_words: bool,
}

/// A turn that has ended, remembered for what comes late.
#[derive(Debug)]
pub(super) struct EndedTurn {
    pub serial: u64,
    pub row: Arc<Row>,
    pub names: Vec<Box<str>>,
    pub stopped: bool,
    pub failure: Option<FailureRow>,
}

impl Assembler {
    pub(super) fn open_turn(
        &mut self,
        cx: &mut Cx<'_>,
        id: RowId,
        at: Option<Time>,
        origin: Origin,
        prompt: Option<usize>,
    ) -> usize {
        if self.turns.len() >= limits::OPEN_TURNS {
            self.counters.turns_let_go += 1;
            self.end_turn(cx, 0, Ending::of(End::Unknown));
        }
        let body = Body::Turn(Turn {
            origin,
            end: None,
            stop_reason: None,
            duration_ms: None,
            context: None,
            usage: None,
        });
        let came = cx.at;
        if at.is_some() {
            cx.at = at;
        }
        let row = self.put_as(cx, id, None, None, body);
        cx.at = came;
        self.serial += 1;
        self.turns.push(OpenTurn {
            serial: self.serial,
            row,
            names: Vec::new(),
            stopped: false,
            seen: prompt.is_none(),
            own_word: false,
            prompted: prompt.is_some(),
            failure: None,
            current: None,
            plans: Vec::new(),
            duration_ms: None,
        });
        self.turns.len() - 1
    }

    pub(super) fn stop(&mut self, cx: &mut Cx<'_>) {
        let prompted = self
            .prompts
            .iter()
            .filter(|p| !p.over)
            .find_map(|p| p.turn)
            .and_then(|s| self.open_at(s));
        let own = self.turns.iter().rposition(|t| !t.prompted && !t.stopped);
        // A prompt that the agent has not taken up waits behind the turn that the agent began itself.
        let index = match (prompted, own) {
            (Some(prompted), Some(own)) if !self.turns[prompted].seen && self.turns[own].own_word => own,
            (Some(prompted), _) => prompted,
            (None, Some(own)) => own,
            (None, None) => {
                cx.drop("nothing-runs");
                return;
            }
        };
        let turn = &mut self.turns[index];
        turn.stopped = true;
        turn.current = None;
        let serial = turn.serial;
        self.close_texts(cx, serial, TextState::Ended);
        self.cancel_requests(cx, serial);
        cx.host.state("turn-stopped");
    }

    pub(super) fn turn_started(&mut self, cx: &mut Cx<'_>, name: &str, own: Option<bool>, at: Option<Time>) {
        match self.place_named(cx, name, Opens::Any, own, at) {
            Place::Open(index) => {
                self.turns[index].seen = true;
                cx.host.state("turn-started");
            }
            Place::Ended(_) => cx.drop("turn-settled"),
            Place::Nowhere => cx.drop("no-turn"),
        }
    }

    /// The agent names the turn of a prompt that waits, before anything of it comes.
    pub(super) fn name_prompt(&mut self, cx: &mut Cx<'_>, name: &str, text: Option<&str>) {
        let is_name = |names: &[Box<str>]| names.iter().any(|n| &**n == name);
        let known = self.prompts.iter().any(|p| p.mark.as_deref() == Some(name))
            || self.turns.iter().any(|t| is_name(&t.names))
            || self.ended.iter().any(|t| is_name(&t.names));
        if known {
            cx.host.state("prompt-named");
            return;
        }
        let waits = |p: &OpenPrompt| !p.over && p.mark.is_none();
        let says = |p: &OpenPrompt| {
            let row = p.user.as_ref().map(|row| &row.body);
            match (row, &p.content) {
                (Some(Body::User(user)), _) => Some(user.content.as_text()) == text,
                (_, Some(content)) => Some(content.as_text()) == text,
                _ => false,
            }
        };
        let by_text = self.prompts.iter().position(|p| waits(p) && says(p));
        let Some(at) = by_text.or_else(|| self.prompts.iter().position(waits)) else {
            cx.drop("no-prompt-to-name");
            return;
        };
        self.prompts[at].mark = Some(name.into());
        if let Some(index) = self.prompts[at].turn.and_then(|serial| self.open_at(serial)) {
            self.turns[index].names.push(name.into());
        }
        cx.host.state("prompt-named");
    }

    pub(super) fn turn_ended(&mut self, cx: &mut Cx<'_>, ended: TurnEnded<'_>) {
        let TurnEnded { turn, ending } = ended;
        let opens = if turn.is_some() { Opens::Any } else { Opens::Queued };
        match self.place(cx, turn, opens) {
            Place::Open(index) => {
                let open = &mut self.turns[index];
                open.seen = true;
                if open.prompted && matches!(ending.end, End::Completed | End::Stopped) {
                    // The agent's answer may still say otherwise, and it is the answer that the client sees.
                    open.duration_ms = ending.duration_ms.or(open.duration_ms);
                    match ending.usage {
                        Some(usage) => revise_turn(cx, &mut open.row, |turn| turn.usage = Some(usage)),
                        None if open.duration_ms.is_some() => cx.host.state("duration-noted"),
                        None => cx.host.state("end-announced"),
                    }
                    return;
                }
                self.end_turn(cx, index, ending);
            }
            Place::Ended(index) => self.tell_end_again(cx, index, ending),
            Place::Nowhere => cx.drop("no-turn"),
        }
    }

    /// A turn that has ended takes what it lacks.
    fn tell_end_again(&mut self, cx: &mut Cx<'_>, index: usize, ending: Ending<'_>) {
        let row = &mut self.ended[index].row;
        let lacks = matches!(&row.body, Body::Turn(turn)
            if (turn.duration_ms.is_none() && ending.duration_ms.is_some())
                || (turn.stop_reason.is_none() && ending.stop_reason.is_some())
                || (turn.usage.is_none() && ending.usage.is_some()));
        if lacks {
            revise_turn(cx, row, |turn| {
                turn.duration_ms = turn.duration_ms.or(ending.duration_ms);
                if turn.stop_reason.is_none() {
                    turn.stop_reason = ending.stop_reason.as_deref().map(label);
                }
                if turn.usage.is_none() {
                    turn.usage = ending.usage;
                }
            });
        }
        if ending.failure.words.is_some() {
            self.fill_failure(cx, index, ending.failure);
        } else if !lacks {
            cx.drop("turn-settled");
        }
    }

    pub(super) fn failure(&mut self, cx: &mut Cx<'_>, turn: Option<&str>, failure: Failure<'_>) {
        match self.place(cx, turn, if turn.is_some() { Opens::Any } else { Opens::Queued }) {
            Place::Open(index) if self.turns[index].stopped => cx.drop("turn-stopped"),
            Place::Open(index) => self.write_failure(cx, index, failure),
            Place::Ended(index) => self.fill_failure(cx, index, failure),
            Place::Nowhere => cx.drop("no-turn"),
        }
    }

    /// Writes the turn's one error row, or fills in the words it lacks.
    fn write_failure(&mut self, cx: &mut Cx<'_>, index: usize, failure: Failure<'_>) {
        if let Some(old) = &mut self.turns[index].failure {
            return fill(cx, old, failure);
        }
        let key = format!("e.{}", self.turns[index].row.id.key(&self.session.id));
        let id = RowId::spell(&self.session.id, &key);
        let turn = self.turns[index].row.id.clone();
        let mut cuts = Cuts::default();
        let (status, has_words) = error_status(failure, &mut cuts);
        let row = self.put_cut(cx, id, Some(turn), None, Body::Status(status), cuts);
        self.turns[index].failure = Some(FailureRow { row, has_words });
    }

    pub(super) fn fill_failure(&mut self, cx: &mut Cx<'_>, index: usize, failure: Failure<'_>) {
        match &mut self.ended[index].failure {
            Some(old) => fill(cx, old, failure),
            None => cx.drop("turn-settled"),
        }
    }

    /// Ends the open turn at `index`, with everything in it that does not outlive it.
    pub(super) fn end_turn(&mut self, cx: &mut Cx<'_>, index: usize, ending: Ending<'_>) {
        let turn = &self.turns[index];
        let serial = turn.serial;
        let end = if turn.stopped { End::Stopped } else { ending.end };
        let text_state = if end == End::Cut {
            TextState::Cut
        } else {
            TextState::Ended
        };
        self.close_texts(cx, serial, text_state);
        if end == End::Failed {
            self.write_failure(cx, index, ending.failure);
        }
        self.settle_tools(cx, serial, end);
        self.cancel_requests(cx, serial);
        let mut turn = self.turns.remove(index);
        self.settle_plans(cx, &mut turn.plans);
        let at = cx.at;
        let duration_ms = ending.duration_ms.or(turn.duration_ms);
        revise(cx, &mut turn.row, |row| {
            row.ended_at = at;
            if let Body::Turn(body) = &mut row.body {
                body.end = Some(end);
                body.stop_reason = ending.stop_reason.as_deref().map(label);
                body.duration_ms = duration_ms;
                if ending.usage.is_some() {
                    body.usage = ending.usage;
                }
            }
        });
        let OpenTurn {
            serial,
            row,
            names,
            stopped,
            failure,
            ..
        } = turn;
        for prompt in &mut self.prompts {
            if prompt.turn == Some(serial) {
                prompt.over = true;
            }
        }
        self.push_ended(EndedTurn {
            serial,
            row,
            names,
            stopped: stopped || end == End::Stopped,
            failure,
        });
    }

    /// The connection is gone: nothing of the session reads as running any more.
    pub(super) fn detach(&mut self, cx: &mut Cx<'_>, detached: Detached<'_>) {
        while let Some(turn) = self.turns.first() {
            let end = match (&detached.exit, turn.prompted) {
                (Some(_), _) | (None, true) => End::Cut,
                (None, false) => End::Unknown,
            };
            if let (Some(exit), false) = (&detached.exit, turn.stopped) {
                let id = RowId::spell(
                    &self.session.id,
                    &format!("x.{}", turn.row.id.key(&self.session.id)),
                );
                let turn_id = turn.row.id.clone();
                self.put_as(cx, id, Some(turn_id), None, Body::Status(exit_status(exit)));
            }
            self.end_turn(cx, 0, Ending::of(end));
        }
        for prompt in std::mem::take(&mut self.prompts) {
            self.unconfirmed(cx, prompt);
        }
        self.close_all_texts(cx);
        self.settle_all_tools(cx);
        self.cancel_all_requests(cx);
        self.settle_work(cx);
        self.forget_connection();
        self.session.state = SessionState::Ended;
        cx.host.change(Change::Session(&self.session));
    }

    /// What only one connection numbers means nothing to the next.
    fn forget_connection(&mut self) {
        self.terminals.forget();
        self.echo.forget();
    }

    pub(super) fn context(&mut self, cx: &mut Cx<'_>, turn: Option<&str>, context: Context, replay: bool) {
        let merge = |old: Option<Context>| {
            let old = old.unwrap_or(Context {
                used: None,
                size: None,
            });
            // Nothing and zero are no measurement; an unknown window keeps its last value.
            let used = context.used.filter(|n| *n > 0).or(old.used);
            let size = match context.size {
                Some(0) => None,
                Some(size) => Some(size),
                None => old.size,
            };
            Context { used, size }
        };
        let merged = merge(self.session.context);
        let has_any = merged.used.is_some() || merged.size.is_some();
        if !has_any && self.session.context.is_none() {
            cx.drop("no-measurement");
            return;
        }
        let changed = self.session.context != Some(merged);
        if changed {
            self.session.context = Some(merged);
            cx.host.change(Change::Session(&self.session));
        } else {
            cx.host.state("context-unchanged");
        }
        if replay {
            return;
        }
        let row = match self.place(cx, turn, Opens::Nothing) {
            Place::Open(index) => Some(&mut self.turns[index].row),
            Place::Ended(index) => Some(&mut self.ended[index].row),
            Place::Nowhere => self.ended.back_mut().map(|t| &mut t.row),
        };
        let Some(row) = row else { return };
        if !matches!(&row.body, Body::Turn(turn) if turn.context == Some(merged)) {
            revise_turn(cx, row, |turn| turn.context = Some(merged));
        }
    }

    pub(super) fn usage(&mut self, cx: &mut Cx<'_>, turn: Option<&str>, usage: Usage) {
        let row = match self.place(cx, turn, Opens::Nothing) {
            Place::Open(index) => &mut self.turns[index].row,
            Place::Ended(index) => &mut self.ended[index].row,
            Place::Nowhere => {
                cx.drop("no-turn");
                return;
            }
        };
        revise_turn(cx, row, |turn| turn.usage = Some(usage));
    }
}

fn revise_turn(cx: &mut Cx<'_>, row: &mut Arc<Row>, change: impl FnOnce(&mut Turn)) {
    revise(cx, row, |row| {
        if let Body::Turn(turn) = &mut row.body {
            change(turn);
        }
    });
}

fn error_status(failure: Failure<'_>, cuts: &mut Cuts) -> (Status, bool) {
    let words = failure.words.filter(|w| !w.trim().is_empty());
    let has_words = words.is_some();
    let text = match (&words, &failure.sentence) {
        (Some(words), _) => cuts.text("text", words.trim(), limits::WORDS_BYTES),
        (None, Some(sentence)) => sentence.to_string(),
        (None, None) => "The agent ended this turn with an error.".to_owned(),
    };
    let detail = Some(failure.detail).filter(|d| *d != Detail::default());
    (
        Status {
            tone: Tone::Error,
            text,
            detail,
        },
        has_words,
    )
}

fn fill(cx: &mut Cx<'_>, old: &mut FailureRow, failure: Failure<'_>) {
    let mut cuts = Cuts::default();
    let (new, has_words) = error_status(failure, &mut cuts);
    if old.has_words || !has_words {
        cx.drop("failure-told-again");
        return;
    }
    old.has_words = true;
    revise(cx, &mut old.row, |row| {
        if let Body::Status(status) = &mut row.body {
            status.text = new.text;
            if new.detail.is_some() {
                status.detail = new.detail;
            }
        }
        cuts.note(row);
    });
}

fn exit_status(exit: &Exit<'_>) -> Status {
    let text = exit_sentence(exit);
    let detail = Detail {
        code: exit
            .signal
            .as_deref()
            .map(str::to_owned)
            .or(exit.code.map(|c| c.to_string())),
        source: Some("exit".to_owned()),
        more: exit
            .last_words
            .as_deref()
            .map(|w| crate::json::Json::string(clip(w, limits::WORDS_BYTES))),
    };
    Status {
        tone: Tone::Warning,
        text,
        detail: Some(detail),
    }
}

/// How a process ended, as a sentence.
fn exit_sentence(exit: &Exit<'_>) -> String {
    match (exit.code, &exit.signal) {
        (_, Some(signal)) => format!("The agent process was ended by {signal} in the middle of this turn."),
        (Some(code), None) => {
            format!("The agent process ended with exit code {code} in the middle of this turn.")
        }
        (None, None) => "The agent process ended in the middle of this turn.".to_owned(),
    }
}

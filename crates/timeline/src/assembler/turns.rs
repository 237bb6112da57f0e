//! Turns and prompts: what opens them, what belongs to them, what ends them.

use std::sync::Arc;

use super::text::TextKey;
use super::{Assembler, Cx, clip, revise};
use crate::content::Content;
use crate::event::{Detached, Exit, Failure, Prompt, PromptAnswer, TurnEnded};
use crate::id::{Key, RowId};
use crate::limits;
use crate::row::{Body, Context, Detail, Row, Status, Turn, Usage, User};
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

/// A prompt whose answer has not come.
#[derive(Debug)]
pub(super) struct OpenPrompt {
    pub key: Box<str>,
    /// The key that the client gave its turn.
    pub mark: Option<Box<str>>,
    pub user: Option<Arc<Row>>,
    pub content: Option<Content>,
    /// Serial of its turn, once open.
    pub turn: Option<u64>,
    /// Its turn has ended; only its answer is still to come.
    pub over: bool,
}

/// Where something belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The open turn at this index.
    Open(usize),
    /// The ended turn at this index.
    Ended(usize),
    /// No turn.
    Nowhere,
}

/// Whether something may open a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    /// A queued prompt's, or one of the agent's own.
    Any,
    /// A queued prompt's.
    Queued,
    /// None: it is only looked at.
    Nothing,
}

impl Assembler {
    /// Finds the turn that something belongs to, and opens it where that is allowed.
    pub(super) fn place(&mut self, cx: &mut Cx<'_>, turn: Option<&str>, opens: Opens) -> Place {
        match turn {
            Some(name) => self.place_named(cx, name, opens, None, None),
            None => self.place_unnamed(cx, opens),
        }
    }

    fn place_unnamed(&mut self, cx: &mut Cx<'_>, opens: Opens) -> Place {
        if let Some(at) = self.prompts.iter().position(|p| !p.over) {
            if let Some(serial) = self.prompts[at].turn {
                return self.open_at(serial).map_or(Place::Nowhere, Place::Open);
            }
            return match opens {
                Opens::Nothing => Place::Nowhere,
                Opens::Any | Opens::Queued => Place::Open(self.open_prompt(cx, at)),
            };
        }
        if let Some(index) = self.turns.iter().rposition(|t| !t.prompted) {
            return Place::Open(index);
        }
        match opens {
            Opens::Any => {
                let key = Key::new("t").part(cx.connection).minted(cx.frame);
                let id = RowId::spell(&self.session.id, key.as_str());
                Place::Open(self.open_turn(cx, id, None, Origin::Agent, None))
            }
            Opens::Queued | Opens::Nothing => Place::Nowhere,
        }
    }

    fn place_named(
        &mut self,
        cx: &mut Cx<'_>,
        name: &str,
        opens: Opens,
        own: Option<bool>,
        at: Option<Time>,
    ) -> Place {
        if let Some(index) = self
            .turns
            .iter()
            .position(|t| t.names.iter().any(|n| &**n == name))
        {
            return Place::Open(index);
        }
        if let Some(prompt) = self
            .prompts
            .iter()
            .position(|p| !p.over && p.turn.is_none() && p.mark.as_deref() == Some(name))
        {
            return match opens {
                Opens::Nothing => Place::Nowhere,
                Opens::Any | Opens::Queued => Place::Open(self.open_prompt(cx, prompt)),
            };
        }
        if let Some(index) = self
            .ended
            .iter()
            .position(|t| t.names.iter().any(|n| &**n == name))
        {
            return Place::Ended(index);
        }
        let key = Key::new("t").part(name);
        if let Some((row, _)) = self.newest(cx, &key) {
            return Place::Ended(self.remember_ended(row, name));
        }
        if own != Some(true) {
            // The agent names the turn of a prompt to which the client gave no name.
            let nameless = self.prompts.iter().position(|p| !p.over && p.mark.is_none());
            if let Some(prompt) = nameless {
                let index = match self.prompts[prompt].turn {
                    Some(serial) => self.open_at(serial),
                    None if opens == Opens::Nothing => None,
                    None => Some(self.open_prompt(cx, prompt)),
                };
                self.prompts[prompt].mark = Some(name.into());
                if let Some(index) = index {
                    self.turns[index].names.push(name.into());
                    return Place::Open(index);
                }
                return Place::Nowhere;
            }
        }
        match opens {
            Opens::Any => {
                let id = RowId::spell(&self.session.id, key.as_str());
                let index = self.open_turn(cx, id, at, Origin::Agent, None);
                let turn = &mut self.turns[index];
                turn.names.push(name.into());
                turn.own_word = true;
                Place::Open(index)
            }
            Opens::Queued | Opens::Nothing => Place::Nowhere,
        }
    }

    fn remember_ended(&mut self, row: Arc<Row>, name: &str) -> usize {
        self.serial += 1;
        let stopped = matches!(&row.body, Body::Turn(t) if t.end == Some(End::Stopped));
        let ended = EndedTurn {
            serial: self.serial,
            row,
            names: vec![name.into()],
            stopped,
            failure: None,
        };
        self.push_ended(ended)
    }

    fn push_ended(&mut self, ended: EndedTurn) -> usize {
        if self.ended.len() >= limits::ENDED_TURNS {
            self.ended.pop_front();
        }
        self.ended.push_back(ended);
        self.ended.len() - 1
    }

    /// Index of the open turn with this serial.
    pub(super) fn open_at(&self, serial: u64) -> Option<usize> {
        self.turns.iter().position(|t| t.serial == serial)
    }

    /// Row id of a place.
    pub(super) fn turn_id(&self, place: Place) -> Option<RowId> {
        match place {
            Place::Open(index) => Some(self.turns[index].row.id.clone()),
            Place::Ended(index) => Some(self.ended[index].row.id.clone()),
            Place::Nowhere => None,
        }
    }

    fn open_turn(
        &mut self,
        cx: &mut Cx<'_>,
        id: RowId,
        at: Option<Time>,
        origin: Origin,
        prompt: Option<usize>,
    ) -> usize {
        if self.turns.len() >= limits::OPEN_TURNS {
            self.counters.turns_let_go += 1;
            self.end_turn(cx, 0, End::Unknown, Ending::default());
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

    /// Opens the turn of the prompt at this index and accepts the prompt.
    fn open_prompt(&mut self, cx: &mut Cx<'_>, at: usize) -> usize {
        let prompt = &self.prompts[at];
        let (key, mark) = match &prompt.mark {
            Some(mark) => (Key::new("t").part(mark), Some(mark.clone())),
            None => (Key::new("t").part(cx.connection).part(&prompt.key), None),
        };
        let id = self.fresh(cx, &key);
        let index = self.open_turn(cx, id, None, Origin::Prompt, Some(at));
        let turn = &mut self.turns[index];
        turn.names.extend(mark);
        let (serial, turn_id) = (turn.serial, turn.row.id.clone());
        self.prompts[at].turn = Some(serial);
        match self.prompts[at].user.take() {
            Some(mut user) => {
                revise(cx, &mut user, |row| {
                    row.turn = Some(turn_id);
                    if let Body::User(user) = &mut row.body {
                        user.delivery = Some(Delivery::Accepted);
                    }
                });
                self.prompts[at].user = Some(user);
            }
            None => {
                let content = self.prompts[at].content.take().unwrap_or_default();
                let user = self.put_user(cx, &turn_id, Some(turn_id.clone()), content, Delivery::Accepted);
                self.prompts[at].user = Some(user);
            }
        }
        index
    }

    /// A prompt's row is spelled after its turn, or, while it waits, after the prompt itself.
    fn put_user(
        &mut self,
        cx: &mut Cx<'_>,
        after: &RowId,
        turn: Option<RowId>,
        content: Content,
        delivery: Delivery,
    ) -> Arc<Row> {
        let key = format!("u.{}", after.key(&self.session.id));
        let body = Body::User(User {
            content,
            delivery: Some(delivery),
            reason: None,
            by_agent: false,
        });
        let id = RowId::spell(&self.session.id, &key);
        self.put_as(cx, id, turn, None, body)
    }

    pub(super) fn prompt(&mut self, cx: &mut Cx<'_>, prompt: Prompt<'_>) {
        self.end_what_a_prompt_ends(cx, prompt.agent_ends_own_turns);
        if self.prompts.iter().any(|p| &*p.key == prompt.key) {
            cx.drop("prompt-id-in-use");
            return;
        }
        if self.prompts.len() >= limits::OPEN_PROMPTS {
            self.let_prompt_go(cx);
        }
        self.echo.sent(prompt.key, &prompt.content);
        let waits = self.prompts.iter().any(|p| !p.over);
        self.prompts.push_back(OpenPrompt {
            key: prompt.key.into(),
            mark: prompt.turn.map(Into::into),
            user: None,
            content: None,
            turn: None,
            over: false,
        });
        let at = self.prompts.len() - 1;
        if waits {
            let key = Key::new("u").part(cx.connection).part(prompt.key);
            let id = self.fresh(cx, &key);
            let delivery = Some(Delivery::Queued);
            let body = Body::User(User {
                content: prompt.content,
                delivery,
                reason: None,
                by_agent: false,
            });
            let row = self.put_as(cx, id, None, None, body);
            self.prompts[at].user = Some(row);
        } else {
            self.prompts[at].content = Some(prompt.content);
            self.open_prompt(cx, at);
        }
    }

    /// A stopped turn and a turn of the agent's own do not outlive the next prompt.
    fn end_what_a_prompt_ends(&mut self, cx: &mut Cx<'_>, agent_ends_own_turns: bool) {
        let mut index = 0;
        while index < self.turns.len() {
            let turn = &self.turns[index];
            let over = match (turn.prompted, turn.stopped) {
                (true, stopped) => stopped,
                (false, true) => true,
                (false, false) => !(turn.own_word && agent_ends_own_turns),
            };
            if over {
                self.end_turn(cx, index, End::Unknown, Ending::default());
            } else {
                index += 1;
            }
        }
        // The answers that stopped prompts still get change nothing.
        self.prompts.retain(|p| {
            !(p.over
                && p.turn
                    .is_some_and(|t| self.ended.iter().any(|e| e.serial == t && e.stopped)))
        });
    }

    fn let_prompt_go(&mut self, cx: &mut Cx<'_>) {
        let at = self
            .prompts
            .iter()
            .position(|p| p.over || p.turn.is_none())
            .unwrap_or(0);
        if let Some(prompt) = self.prompts.remove(at) {
            self.counters.prompts_let_go += 1;
            self.unconfirmed(cx, prompt);
        }
    }

    fn unconfirmed(&mut self, cx: &mut Cx<'_>, prompt: OpenPrompt) {
        let Some(mut user) = prompt.user.filter(|_| prompt.turn.is_none()) else {
            return;
        };
        let at = cx.at;
        revise(cx, &mut user, |row| {
            row.ended_at = at;
            if let Body::User(user) = &mut row.body {
                user.delivery = Some(Delivery::Unconfirmed);
            }
        });
    }

    pub(super) fn answer(&mut self, cx: &mut Cx<'_>, key: &str, answer: PromptAnswer<'_>) {
        let Some(at) = self.prompts.iter().position(|p| &*p.key == key) else {
            cx.drop("late-answer");
            return;
        };
        if self.prompts[at].turn.is_none() {
            match answer {
                PromptAnswer::Error(failure) => return self.reject(cx, at, failure),
                PromptAnswer::Withdrawn => return self.withdraw(cx, at),
                PromptAnswer::Ended { .. } => {
                    self.open_prompt(cx, at);
                }
            }
        }
        let Some(prompt) = self.prompts.remove(at) else {
            return;
        };
        let serial = prompt.turn.unwrap_or(0);
        let Some(index) = self.open_at(serial) else {
            return self.answer_after_end(cx, serial, answer);
        };
        match answer {
            PromptAnswer::Error(failure) => self.end_turn(
                cx,
                index,
                End::Failed,
                Ending {
                    failure,
                    ..Ending::default()
                },
            ),
            PromptAnswer::Withdrawn => self.end_turn(cx, index, End::Stopped, Ending::default()),
            PromptAnswer::Ended {
                end,
                stop_reason,
                failure,
                duration_ms,
                usage,
            } => {
                let stop_reason = stop_reason.map(|s| clip(&s, limits::LABEL_BYTES).to_owned());
                self.end_turn(
                    cx,
                    index,
                    end,
                    Ending {
                        stop_reason,
                        failure,
                        duration_ms,
                        usage,
                    },
                );
            }
        }
    }

    /// The agent refused a prompt before its turn: no turn, and the reason stands on the prompt.
    fn reject(&mut self, cx: &mut Cx<'_>, at: usize, failure: Failure<'_>) {
        let Some(OpenPrompt {
            user: Some(mut user), ..
        }) = self.prompts.remove(at)
        else {
            return;
        };
        let words = failure.words.or(failure.sentence);
        let now = cx.at;
        revise(cx, &mut user, |row| {
            row.ended_at = now;
            if let Body::User(user) = &mut row.body {
                user.delivery = Some(Delivery::Rejected);
                user.reason = words.map(|w| clip(w.trim(), limits::WORDS_BYTES).to_owned());
            }
        });
    }

    fn withdraw(&mut self, cx: &mut Cx<'_>, at: usize) {
        let Some(OpenPrompt {
            user: Some(mut user), ..
        }) = self.prompts.remove(at)
        else {
            return;
        };
        let now = cx.at;
        revise(cx, &mut user, |row| {
            row.ended_at = now;
            if let Body::User(user) = &mut row.body {
                user.delivery = Some(Delivery::Withdrawn);
            }
        });
    }

    /// The answer to a prompt whose turn a notice has ended: it may only add what is missing.
    fn answer_after_end(&mut self, cx: &mut Cx<'_>, serial: u64, answer: PromptAnswer<'_>) {
        let Some(index) = self.ended.iter().position(|t| t.serial == serial) else {
            cx.drop("late-answer");
            return;
        };
        match answer {
            PromptAnswer::Error(failure) => self.fill_failure(cx, index, failure),
            PromptAnswer::Ended { usage, failure, .. } => {
                if failure.words.is_some() {
                    self.fill_failure(cx, index, failure);
                }
                match usage {
                    Some(usage) => self.usage_of_ended(cx, index, usage),
                    None => cx.host.state("answered-after-the-end"),
                }
            }
            PromptAnswer::Withdrawn => cx.drop("late-answer"),
        }
    }

    fn usage_of_ended(&mut self, cx: &mut Cx<'_>, index: usize, usage: Usage) {
        let row = &mut self.ended[index].row;
        revise(cx, row, |row| {
            if let Body::Turn(turn) = &mut row.body {
                turn.usage.get_or_insert(usage);
            }
        });
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
        let TurnEnded {
            turn,
            end,
            stop_reason,
            duration_ms,
            failure,
            usage,
        } = ended;
        let opens = if turn.is_some() { Opens::Any } else { Opens::Queued };
        match self.place(cx, turn, opens) {
            Place::Open(index) => {
                let open = &mut self.turns[index];
                open.seen = true;
                if open.prompted && matches!(end, End::Completed | End::Stopped) {
                    // The agent's answer may still say otherwise, and it is the answer that the client sees.
                    open.duration_ms = duration_ms.or(open.duration_ms);
                    let (had, usage_given) = (open.duration_ms.is_some(), usage.is_some());
                    if let Some(usage) = usage {
                        revise(cx, &mut open.row, |row| {
                            if let Body::Turn(turn) = &mut row.body {
                                turn.usage = Some(usage);
                            }
                        });
                    }
                    if !usage_given {
                        cx.host
                            .state(if had { "duration-noted" } else { "end-announced" });
                    }
                    return;
                }
                let serial = open.serial;
                let stop_reason = stop_reason.map(|s| clip(&s, limits::LABEL_BYTES).to_owned());
                self.end_turn(
                    cx,
                    index,
                    end,
                    Ending {
                        stop_reason,
                        failure,
                        duration_ms,
                        usage,
                    },
                );
                for prompt in &mut self.prompts {
                    if prompt.turn == Some(serial) {
                        prompt.over = true;
                    }
                }
            }
            Place::Ended(index) => {
                let row = &mut self.ended[index].row;
                let wants = matches!(&row.body, Body::Turn(t) if (t.duration_ms.is_none() && duration_ms.is_some())
                    || (t.stop_reason.is_none() && stop_reason.is_some())
                    || (t.usage.is_none() && usage.is_some()));
                if wants {
                    revise(cx, row, |row| {
                        if let Body::Turn(turn) = &mut row.body {
                            turn.duration_ms = turn.duration_ms.or(duration_ms);
                            if turn.stop_reason.is_none() {
                                turn.stop_reason =
                                    stop_reason.map(|s| clip(&s, limits::LABEL_BYTES).to_owned());
                            }
                            if turn.usage.is_none() {
                                turn.usage = usage;
                            }
                        }
                    });
                }
                if failure.words.is_some() {
                    self.fill_failure(cx, index, failure);
                } else if !wants {
                    cx.drop("turn-settled");
                }
            }
            Place::Nowhere => cx.drop("no-turn"),
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
        let (status, has_words) = error_status(failure);
        let row = self.put_as(cx, id, Some(turn), None, Body::Status(status));
        self.turns[index].failure = Some(FailureRow { row, has_words });
    }

    fn fill_failure(&mut self, cx: &mut Cx<'_>, index: usize, failure: Failure<'_>) {
        match &mut self.ended[index].failure {
            Some(old) => fill(cx, old, failure),
            None => cx.drop("turn-settled"),
        }
    }

    /// Ends the open turn at `index`, with everything in it that does not outlive it.
    pub(super) fn end_turn(&mut self, cx: &mut Cx<'_>, index: usize, end: End, ending: Ending<'_>) {
        let turn = &self.turns[index];
        let serial = turn.serial;
        let end = if turn.stopped { End::Stopped } else { end };
        if end == End::Failed {
            self.write_failure(cx, index, ending.failure);
        }
        let text_state = if end == End::Cut {
            TextState::Cut
        } else {
            TextState::Ended
        };
        self.close_texts(cx, serial, text_state);
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
                body.stop_reason = ending.stop_reason;
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
            self.end_turn(cx, 0, end, Ending::default());
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
        cx.host.change(crate::change::Change::Session(&self.session));
    }

    /// What only one connection numbers means nothing to the next.
    fn forget_connection(&mut self) {
        self.tools.forget_terminals();
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
            cx.host.change(crate::change::Change::Session(&self.session));
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
            revise(cx, row, |row| {
                if let Body::Turn(turn) = &mut row.body {
                    turn.context = Some(merged);
                }
            });
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
        revise(cx, row, |row| {
            if let Body::Turn(turn) = &mut row.body {
                turn.usage = Some(usage);
            }
        });
    }
}

/// What stands on a turn's end beside the verdict.
#[derive(Debug, Default)]
pub(super) struct Ending<'a> {
    pub stop_reason: Option<String>,
    pub failure: Failure<'a>,
    pub duration_ms: Option<u64>,
    pub usage: Option<Usage>,
}

fn error_status(failure: Failure<'_>) -> (Status, bool) {
    let words = failure.words.filter(|w| !w.trim().is_empty());
    let has_words = words.is_some();
    let text = match (&words, &failure.sentence) {
        (Some(words), _) => clip(words.trim(), limits::WORDS_BYTES).to_owned(),
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
    let (new, has_words) = error_status(failure);
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

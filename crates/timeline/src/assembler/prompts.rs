//! Prompts: sent, queued, accepted, rejected, answered.

use std::sync::Arc;

use super::{Assembler, Cuts, Cx, revise};
use crate::content::Content;
use crate::event::{Ending, Failure, Prompt, PromptAnswer};
use crate::id::{Key, RowId};
use crate::limits;
use crate::row::{Body, Row, Usage, User};
use crate::word::*;

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

impl Assembler {
    /// Opens the turn of the prompt at this index and accepts the prompt.
    pub(super) fn open_prompt(&mut self, cx: &mut Cx<'_>, at: usize) -> usize {
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
        let is_stopped = |p: &OpenPrompt| {
            p.turn
                .and_then(|serial| self.open_at(serial))
                .is_some_and(|index| self.turns[index].stopped)
        };
        if self
            .prompts
            .iter()
            .any(|p| &*p.key == prompt.key && !is_stopped(p))
        {
            cx.drop("prompt-id-in-use");
            return;
        }
        self.end_what_a_prompt_ends(cx, prompt.agent_ends_own_turns);
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
                self.end_turn(cx, index, Ending::of(End::Unknown));
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

    pub(super) fn unconfirmed(&mut self, cx: &mut Cx<'_>, prompt: OpenPrompt) {
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
                PromptAnswer::Ended(_) => {
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
        let ending = match answer {
            PromptAnswer::Ended(ending) => ending,
            PromptAnswer::Withdrawn => Ending::of(End::Stopped),
            PromptAnswer::Error(failure) => Ending {
                failure,
                ..Ending::of(End::Failed)
            },
        };
        self.end_turn(cx, index, ending);
    }

    /// The agent refused a prompt before its turn: no turn, and the reason stands on the prompt.
    fn reject(&mut self, cx: &mut Cx<'_>, at: usize, failure: Failure<'_>) {
        let Some(OpenPrompt {
            user: Some(mut user), ..
        }) = self.prompts.remove(at)
        else {
            return;
        };
        let mut cuts = Cuts::default();
        let words = failure.words.or(failure.sentence);
        let words = words.map(|w| cuts.text("reason", w.trim(), limits::WORDS_BYTES));
        let now = cx.at;
        revise(cx, &mut user, |row| {
            row.ended_at = now;
            if let Body::User(user) = &mut row.body {
                user.delivery = Some(Delivery::Rejected);
                user.reason = words;
            }
            cuts.note(row);
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
            PromptAnswer::Ended(Ending { usage, failure, .. }) => {
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
}

//! Prompts, steering and stops: what runs, what waits, and when the agent's patience with us ends.
//!
//! One prompt of ours runs at a time. Others wait as open intents in the journal, where anyone can see, edit and withdraw
//! them; one that steers has the running turn stopped and goes first. A turn that the agent began itself holds nobody up:
//! the agent queues a prompt that comes meanwhile.
//!
//! A stop is asked of the agent once. It may take [`super::Patience::stop`] to end the turn itself; after that, or at a second
//! stop, its process is ended. What waited stays, and goes on with the next thing that somebody wants.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::json;
use serde_json::value::RawValue;
use tapline_journal::{Error, Intent, IntentId, IntentState};
use tapline_timeline::{Body, Delivery, Origin, Row, RowId, SessionId};
use tapline_wire::Block;
use tapline_wire::client;

use super::desk::{Desk, Purpose, passes};
use super::intent;
use super::intents::read;
use super::peer::CallError;
use super::set_up::Stage;

/// What runs and what waits.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) running: Option<Running>,
    waiting: VecDeque<Waiting>,
    /// Those that are to be withdrawn, which the journal has not taken yet.
    unwanted: Vec<IntentId>,
    /// After a stop nothing goes out until somebody wants something again.
    paused: bool,
    stop: Option<Stopping>,
    /// Open turns that the agent began itself.
    own: Vec<RowId>,
}

/// Our prompt that the agent works on.
#[derive(Debug)]
pub(super) struct Running {
    call: i64,
    intent: Intent,
    /// Its user row.
    row: Option<RowId>,
    /// Its turn.
    turn: Option<RowId>,
    /// It is known how it was delivered, and the intent says so.
    told: bool,
    /// The agent was asked to end it.
    cut: bool,
}

/// An open intent; what it says is read when it is claimed, since it may change until then.
#[derive(Debug)]
struct Waiting {
    id: IntentId,
    session: SessionId,
    steer: bool,
}

#[derive(Debug)]
struct Stopping {
    /// When the process is ended.
    due: Instant,
    /// Who wants it, and which turn was meant.
    wanted: Vec<Intent>,
    turn: Option<RowId>,
    /// The process is ended already.
    forced: bool,
}

impl Turns {
    /// Whether something runs that must end before the agent can leave in order.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || self.stop.is_some()
    }

    /// A prompt of ours runs, and nobody has cut it short: somebody waits for what the agent asks.
    pub(super) fn takes_questions(&self) -> bool {
        self.running.as_ref().is_some_and(|running| !running.cut) && self.stop.is_none()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.stop
            .as_ref()
            .filter(|stop| !stop.forced)
            .map(|stop| stop.due)
    }
}

impl Desk {
    // --- Prompts ---

    /// Somebody wants a prompt to be sent. It is claimed when it can be.
    pub(super) fn prompt_wanted(&mut self, wanted: &Intent) {
        let steer = serde_json::from_str::<intent::Prompt>(wanted.payload.as_str()).is_ok_and(|p| p.steer);
        self.turns.waiting.push_back(Waiting {
            id: wanted.id,
            session: wanted.session.clone(),
            steer,
        });
        // One that waits behind a stop goes on once somebody wants more.
        self.turns.paused = false;
        if steer {
            self.cut_short();
        }
        self.pump();
    }

    /// Sends what waits, if it can be sent now.
    pub(super) fn pump(&mut self) {
        while self.stage == Stage::Ready
            && self.turns.running.is_none()
            && self.turns.stop.is_none()
            && !self.turns.paused
            && !self.is_closing()
            && self.process.input.is_open()
            && self.trouble().is_none()
        {
            let first = self.turns.waiting.iter().position(|w| w.steer).unwrap_or(0);
            let Some(next) = self.turns.waiting.remove(first) else {
                return;
            };
            match self.claim(next.id, &next.session) {
                Ok(claimed) => self.send_prompt(claimed),
                // It was withdrawn, or another did it.
                Err(Error::IntentTaken { .. } | Error::NoIntent { .. }) => {}
                Err(_) => {
                    self.turns.waiting.push_front(next);
                    self.retry_soon();
                    return;
                }
            }
        }
    }

    fn send_prompt(&mut self, claimed: Intent) {
        let prompt = match read::<intent::Prompt>(&claimed) {
            Ok(prompt) if !prompt.text.is_empty() || !prompt.parts.is_empty() => prompt,
            Ok(_) => return self.outcome(&claimed, &json!({ "error": "The prompt is empty." })),
            Err(outcome) => return self.outcome(&claimed, &outcome),
        };
        if self.standing().deaf {
            let why = "The agent has closed its output, so nothing it did would be heard. Stop it and resume the session.";
            return self.outcome(&claimed, &json!({ "error": why }));
        }
        let Some(provider) = self.provider.clone() else {
            return;
        };
        let parts: Vec<Box<RawValue>> = prompt
            .parts
            .iter()
            .filter_map(|part| serde_json::value::to_raw_value(part).ok())
            .collect();
        let read: Vec<Option<Block<'_>>> = parts
            .iter()
            .map(|part| Block::read(tapline_wire::RawValue::of(part)))
            .collect();
        if let Some(broken) = read.iter().position(Option::is_none) {
            let error = format!("Part {} of the prompt is no content block.", broken + 1);
            return self.outcome(&claimed, &json!({ "error": error }));
        }
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let context = self.context_for_a_lost_session();
        blocks.extend(context);
        if !prompt.text.is_empty() {
            blocks.push(Block::text(prompt.text.as_str()));
        }
        blocks.extend(read.into_iter().flatten());
        let spoken = self.recorder.spoken(super::desk::CONNECTION);
        let meta = spoken.is_some_and(|spoken| spoken.echoes_prompt_ids()).then(|| {
            let key = format!("prompt:{}", uuid::Uuid::now_v7().simple());
            serde_json::value::to_raw_value(&json!({ "promptId": key, "requestId": key })).ok()
        });
        let meta = meta.flatten();
        self.turns.running = Some(Running {
            call: 0,
            intent: claimed,
            row: None,
            turn: None,
            told: false,
            cut: false,
        });
        let call = self.call("session/prompt", Purpose::Prompt, None, |id| {
            client::prompt(id, &provider, &blocks, meta.as_deref())
        });
        if let (Some(call), Some(running)) = (call, &mut self.turns.running) {
            running.call = call;
        }
        if self.turns.waiting.iter().any(|w| w.steer) {
            // Somebody has changed their mind already.
            self.cut_short();
        }
    }

    /// The agent's answer to our prompt has come, or never will.
    pub(super) fn prompt_answered(&mut self, error: Option<CallError>) {
        let Some(running) = self.turns.running.take() else {
            return;
        };
        if !running.told {
            // The rows know better wherever the agent said anything at all.
            let outcome = match &error {
                None => json!({ "delivery": "accepted", "row": running.row }),
                Some(CallError::NotSent { .. }) => {
                    json!({ "delivery": "rejected", "row": running.row, "reason": error.as_ref().map(ToString::to_string) })
                }
                Some(CallError::Closed { .. }) => json!({ "delivery": "unconfirmed", "row": running.row }),
                Some(error) => {
                    json!({ "delivery": "rejected", "row": running.row, "reason": error.to_string() })
                }
            };
            self.outcome(&running.intent, &outcome);
        }
        self.stop_ended(running.turn.as_ref());
        self.pump();
    }

    /// A row changed that may tell how a prompt fared or that a turn has begun or ended.
    pub(super) fn row_seen(&mut self, row: &Row) {
        match &row.body {
            Body::User(user) => {
                let Some(running) = &mut self.turns.running else {
                    return;
                };
                // The prompt's own row is the next that begins once it is on its way.
                if running.row.is_none() && row.revision == 1 && !user.by_agent {
                    running.row = Some(row.id.clone());
                }
                if running.row.as_ref() != Some(&row.id) {
                    return;
                }
                running.turn = row.turn.clone().or(running.turn.take());
                let outcome = match user.delivery {
                    Some(Delivery::Rejected) => {
                        json!({ "delivery": "rejected", "row": row.id, "turn": running.turn, "reason": user.reason })
                    }
                    Some(delivery @ (Delivery::Accepted | Delivery::Withdrawn | Delivery::Unconfirmed)) => {
                        json!({ "delivery": delivery, "row": row.id, "turn": running.turn })
                    }
                    _ => return,
                };
                if !std::mem::replace(&mut running.told, true) {
                    let intent = running.intent.clone();
                    self.outcome(&intent, &outcome);
                }
            }
            Body::Turn(turn) if turn.origin == Origin::Agent => match turn.end {
                None => {
                    if !self.turns.own.contains(&row.id) {
                        self.turns.own.push(row.id.clone());
                    }
                }
                Some(_) => {
                    self.turns.own.retain(|id| *id != row.id);
                    if self.turns.running.is_none() {
                        self.stop_ended(Some(&row.id));
                    }
                }
            },
            _ => {}
        }
    }

    // --- Stops ---

    /// Somebody wants what runs to stop.
    pub(super) fn stop_wanted(&mut self, claimed: Intent, turn: Option<&str>) {
        let current = self.current_turn();
        if let Some(stop) = &mut self.turns.stop {
            // A second stop: no more patience.
            stop.wanted.push(claimed);
            stop.forced = true;
            self.process.end();
            return;
        }
        let runs = self.turns.running.is_some() || current.is_some();
        let other = turn.is_some_and(|turn| current.as_ref().is_some_and(|current| current.as_str() != turn));
        if !runs || other {
            let why = if other {
                "That turn does not run any more."
            } else {
                "Nothing runs in this session."
            };
            return self.outcome(&claimed, &json!({ "error": why }));
        }
        self.begin_stop(vec![claimed], current);
    }

    fn begin_stop(&mut self, wanted: Vec<Intent>, turn: Option<RowId>) {
        self.turns.stop = Some(Stopping {
            due: Instant::now() + self.options.patience.stop,
            wanted,
            turn,
            forced: false,
        });
        self.turns.paused = true;
        self.withdraw_steers();
        let was_cut = self.turns.running.as_ref().is_some_and(|running| running.cut);
        if !was_cut {
            self.cancel();
        }
    }

    /// The turn that a stop is for.
    fn current_turn(&self) -> Option<RowId> {
        let running = self
            .turns
            .running
            .as_ref()
            .and_then(|running| running.turn.clone());
        running.or_else(|| self.turns.own.last().cloned())
    }

    /// What was to steer the turn that somebody stopped is not wanted any more.
    fn withdraw_steers(&mut self) {
        let (steers, rest): (VecDeque<Waiting>, _) = std::mem::take(&mut self.turns.waiting)
            .into_iter()
            .partition(|w| w.steer);
        self.turns.waiting = rest;
        self.turns.unwanted.extend(steers.iter().map(|steer| steer.id));
        self.withdraw_unwanted();
    }

    /// Withdraws what nobody wants any more, as soon as the journal takes that.
    pub(super) fn withdraw_unwanted(&mut self) {
        while let Some(id) = self.turns.unwanted.last() {
            let in_the_way = self.trouble().is_some()
                // One that somebody withdrew already is just as gone.
                || matches!(self.journal.withdraw_intent(*id), Err(error) if passes(&error));
            if in_the_way {
                return self.retry_soon();
            }
            self.turns.unwanted.pop();
        }
    }

    /// The session is closed: what runs is stopped first.
    pub(super) fn stop_for_close(&mut self) {
        if self.turns.running.is_some() && self.turns.stop.is_none() {
            let turn = self.current_turn();
            self.begin_stop(Vec::new(), turn);
        }
    }

    /// A running turn makes way for a prompt that steers.
    fn cut_short(&mut self) {
        if self.turns.running.as_ref().is_some_and(|running| !running.cut) && self.turns.stop.is_none() {
            self.cancel();
        }
    }

    /// Asks the agent to end what runs, and answers what it has asked.
    fn cancel(&mut self) {
        if let Some(running) = &mut self.turns.running {
            running.cut = true;
        }
        if let Some(provider) = self.provider.clone() {
            self.send(None, client::cancel(&provider, None));
        }
        self.withdraw_requests();
    }

    /// What was to be stopped has ended.
    fn stop_ended(&mut self, turn: Option<&RowId>) {
        let Some(stop) = self.turns.stop.take() else {
            return;
        };
        let stopped = turn.or(stop.turn.as_ref());
        for wanted in &stop.wanted {
            let outcome = if stop.forced {
                json!({ "stopped": stopped, "process_ended": true })
            } else {
                json!({ "stopped": stopped })
            };
            self.outcome(wanted, &outcome);
        }
    }

    /// Ends the process of an agent that does not stop.
    pub(super) fn stop_due(&mut self, now: Instant) {
        if let Some(stop) = &mut self.turns.stop
            && !stop.forced
            && stop.due <= now
        {
            stop.forced = true;
            self.process.end();
        }
    }

    /// The agent is gone: everything that waited for it is told.
    pub(super) fn turns_over(&mut self) {
        self.stop_ended(None);
        self.turns.own.clear();
        // What was not claimed stays in the journal for whoever holds the session next.
        self.turns.waiting.clear();
    }

    /// Claims an intent.
    pub(super) fn claim(&mut self, wanted: IntentId, session: &SessionId) -> Result<Intent, Error> {
        match self.recorder.store().store.generation(session) {
            Some(generation) => self.journal.claim_intent(wanted, generation),
            // The session was let go: it is for whoever holds it next.
            None => Err(Error::IntentTaken {
                intent: wanted,
                state: IntentState::Open,
            }),
        }
    }
}

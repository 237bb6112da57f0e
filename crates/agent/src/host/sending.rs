//! What the loop sends: lines to the agent, outcomes to those who wanted something.
//!
//! Nothing is recorded as sent that could not be taken, and nothing that must be saved first goes out before it is.

use std::time::{Duration, Instant};

use tapline_journal::Intent;
use tapline_recorder::Direction;
use tapline_timeline::Json;
use tapline_wire::client;
use tapline_wire::{Id, OwnedId};

use super::desk::{CONNECTION, Desk, Purpose, now, passes};
use super::news::Ask;
use super::peer::CallError;
use super::process::Refused;
use super::set_up::Stage;

impl Desk {
    /// Sends a line, recorded.
    pub(super) fn send(&mut self, call: Option<i64>, line: String) {
        self.recorder.line(CONNECTION, Direction::Out, &line, now());
        self.see();
        if self.unsaved.is_empty() {
            self.push(call, &line);
        } else {
            self.unsaved.push_back((call, line));
        }
    }

    /// Sends a line once it is saved that it is sent.
    pub(super) fn send_saved(&mut self, call: Option<i64>, line: String) {
        self.recorder.line(CONNECTION, Direction::Out, &line, now());
        self.see();
        self.unsaved.push_back((call, line));
        self.send_unsaved();
    }

    pub(super) fn send_unsaved(&mut self) {
        if self.unsaved.is_empty() {
            return;
        }
        if !self.save() {
            return;
        }
        while let Some((call, line)) = self.unsaved.pop_front() {
            self.push(call, &line);
        }
    }

    /// Waits until all that is recorded is saved; what cannot be saved now is tried again later.
    pub(super) fn save(&mut self) -> bool {
        // A journal in trouble goes on trying by itself; waiting for it here would only hold the loop up.
        let saved = self.trouble().is_none() && self.recorder.store_mut().store.save().is_ok();
        if !saved {
            self.retry_soon();
        }
        saved
    }

    pub(super) fn push(&mut self, call: Option<i64>, line: &str) {
        if let Err(refused) = self.process.input.push(call, line)
            && let Some(call) = call
        {
            self.not_sent(call, refused);
        }
    }

    /// A call does not reach the agent.
    pub(super) fn not_sent(&mut self, call: i64, refused: Refused) {
        let why = match refused {
            Refused::Full => "the agent does not read what it is sent",
            Refused::TooLong => "it is longer than the 16 MiB that a line may have",
            Refused::Closed => "the agent's input is closed",
        };
        let Some(call) = self.peer.forget(call) else {
            return;
        };
        let error = CallError::NotSent {
            method: call.method,
            why: why.to_owned(),
        };
        self.answered(call.purpose, Err(error));
    }

    /// Calls a method of the agent. `make` writes the line, given the id.
    pub(super) fn call(
        &mut self,
        method: &'static str,
        purpose: Purpose,
        limit: Option<Duration>,
        make: impl FnOnce(&Id<'_>) -> String,
    ) -> Option<i64> {
        let saved = matches!(purpose, Purpose::Prompt);
        match self.peer.call(method, purpose, limit, Instant::now()) {
            Ok(id) => {
                let line = make(&Id::Integer(id));
                if let Err(refused) = self.process.input.room(line.len()) {
                    // What is not sent does not stand in the record as sent.
                    self.not_sent(id, refused);
                    return None;
                }
                if saved {
                    self.send_saved(Some(id), line);
                } else {
                    self.send(Some(id), line);
                }
                Some(id)
            }
            Err(purpose) => {
                let why = "too many calls wait for the agent's answer".to_owned();
                self.answered(purpose, Err(CallError::NotSent { method, why }));
                None
            }
        }
    }

    /// Asks the agent for somebody outside the loop.
    pub(super) fn ask(&mut self, ask: Ask) {
        if self.stage == Stage::Start {
            return self.asks.push(ask);
        }
        let (method, params, wait) = (ask.method, ask.params.clone(), ask.wait);
        self.call(method, Purpose::Ask(Box::new(ask)), Some(wait), |id| {
            client::request(id, method, &params)
        });
    }

    /// The agent is set up: what was asked of it before goes out.
    pub(super) fn ask_early(&mut self) {
        for ask in std::mem::take(&mut self.asks) {
            self.ask(ask);
        }
    }

    /// Notes on the tape what Tapline itself did.
    pub(super) fn did(&mut self, what: &serde_json::Value) {
        self.recorder.did(CONNECTION, &what.to_string(), now());
        self.see();
    }

    /// Says what became of a claimed intent.
    pub(super) fn outcome(&mut self, intent: &Intent, outcome: &serde_json::Value) {
        // Words of the agent stand in it: those of a refusal, or its last ones. They are kept as masked as its rows.
        let Ok(outcome) = Json::parse(&self.recorder.masked(&outcome.to_string())) else {
            return;
        };
        self.outcomes.push_back((intent.clone(), outcome));
        self.tell_outcomes();
    }

    pub(super) fn tell_outcomes(&mut self) {
        // Whoever reads an outcome finds in the rows what it speaks of, also after a crash.
        if self.outcomes.is_empty() || !self.save() {
            return;
        }
        while let Some((intent, outcome)) = self.outcomes.front() {
            let generation = self.recorder.store().store.generation(&intent.session).cloned();
            let Some(generation) = generation else {
                self.outcomes.pop_front();
                continue;
            };
            // The agent had to hear it as it was; what is kept is masked as everything else.
            let kept = match self.recorder.masked(intent.payload.as_str()) {
                std::borrow::Cow::Borrowed(_) => None,
                std::borrow::Cow::Owned(masked) => Json::parse(&masked).ok(),
            };
            match self
                .journal
                .finish_intent(intent.id, &generation, outcome, kept.as_ref())
            {
                Err(error) if passes(&error) => return self.retry_soon(),
                // Done, or no longer ours to say.
                _ => drop(self.outcomes.pop_front()),
            }
        }
    }

    /// Answers a request of the agent, which frees its id.
    pub(super) fn reply(&mut self, id: &OwnedId, line: String, saved: bool) {
        self.peer.reply(id);
        if saved {
            self.send_saved(None, line);
        } else {
            self.send(None, line);
        }
    }
}

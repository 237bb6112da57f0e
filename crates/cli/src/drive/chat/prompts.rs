//! Prompts on their way: sent, kept until there is a session, changed while they wait, given back where nobody takes them.

use std::time::Instant;

use serde_json::Value;
use tapline_agent::host::intent;
use tapline_journal::{Error, IntentId};
use tapline_timeline::Json;

use super::attach::{Takes, attach};
use super::hosting::Host;
use super::screen::Tone;
use super::talk::{Talk, Wanted};

impl Talk<'_> {
    /// Sends a prompt, or keeps it until it can be sent.
    pub(super) fn prompt(&mut self, text: &str, steer: bool) {
        if self.host.is_starting() && !self.began {
            // What the agent takes is not known yet.
            self.unsent.push((text.to_owned(), steer));
            return self.note(Tone::Dim, "It goes out once the agent has started.");
        }
        let Some(payload) = self.payload(text, steer) else {
            return;
        };
        if !self.want(intent::PROMPT, &payload, Wanted::Prompt(text.to_owned())) {
            self.writer.put_back(text);
            return;
        }
        if !self.screen.is_drawn_on() && self.told.runs_since().is_some() {
            self.note(Tone::Dim, "It waits until the turn has ended.");
        }
        if matches!(self.host, Host::Gone)
            && let Some((id, ..)) = self.posted.last()
        {
            self.resuming.push((*id, text.to_owned()));
            self.since = Instant::now();
            if let Err(failure) = self.revive() {
                self.note(Tone::Bad, &failure.to_string());
                self.take_back();
            }
        }
    }

    /// A prompt with the files that it names; where they are too many or too large, it is written on.
    pub(super) fn payload(&mut self, text: &str, steer: bool) -> Option<Value> {
        let takes = Takes {
            pictures: self.offer.images,
            files: self.offer.files,
        };
        let parts = match attach(text, &self.cwd, takes) {
            Ok(parts) => parts,
            Err(why) => {
                self.writer.put_back(text);
                self.say_hint(&why);
                return None;
            }
        };
        let prompt = intent::Prompt {
            text: text.to_owned(),
            parts,
            steer,
        };
        // It is made of strings, lists and objects alone.
        serde_json::to_value(prompt).ok()
    }

    /// The session has begun: what was typed meanwhile goes out.
    pub(super) fn send_unsent(&mut self) {
        self.resuming.clear();
        if let Some(hosted) = self.host.hosted() {
            self.offer = hosted.standing().offer;
        }
        if !std::mem::replace(&mut self.settled, true) {
            match self.start.settings.intents(&self.offer) {
                Ok(settings) => {
                    for setting in settings {
                        self.want(intent::SET_OPTION, &setting, Wanted::Set(String::new()));
                    }
                }
                Err(failure) => self.note(Tone::Bad, &failure.to_string()),
            }
        }
        for (text, steer) in std::mem::take(&mut self.unsent) {
            self.prompt(&text, steer);
        }
    }

    /// The session was not resumed: the prompts that wanted it are given back.
    pub(super) fn take_back(&mut self) {
        let mut texts = Vec::new();
        for (id, text) in std::mem::take(&mut self.resuming) {
            if self.journal.withdraw_intent(id).is_ok() {
                self.posted.retain(|(posted, ..)| *posted != id);
                texts.push(text);
            }
        }
        if !texts.is_empty() {
            self.writer.put_back(&texts.join("\n\n"));
        }
    }

    pub(super) fn edited(&mut self, text: &str) {
        let Some(id) = self.editing.take() else { return };
        if text.is_empty() {
            return self.say_hint("It was left as it is; /withdraw takes it back.");
        }
        self.change(id, text);
    }

    /// Gives a prompt that waits another text.
    pub(super) fn change(&mut self, id: IntentId, text: &str) {
        let before = self.waiting.iter().find(|one| one.id == id);
        let before = before.and_then(|one| serde_json::from_str::<intent::Prompt>(one.payload.as_str()).ok());
        let steer = before.is_some_and(|prompt| prompt.steer);
        let Some(payload) = self.payload(text, steer) else {
            return;
        };
        let changed = Json::of(&payload)
            .map_err(|error| error.to_string())
            .and_then(|payload| {
                let changed = self.journal.edit_intent(id, &payload);
                changed.map_err(|error| gone_out(&error))
            });
        match changed {
            Ok(_) => self.note(Tone::Dim, "Changed."),
            Err(why) => {
                self.writer.put_back(text);
                self.note(Tone::Warn, &why);
            }
        }
    }
}

/// Why an open intent could not be changed.
pub(super) fn gone_out(error: &Error) -> String {
    match error {
        Error::IntentTaken { .. } => {
            "It waits no longer: it has gone out, or somebody took it back.".to_owned()
        }
        error => error.to_string(),
    }
}

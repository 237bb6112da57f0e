//! Intents: claimed once, acted on, answered.

use serde_json::{Value, json};
use tapline_journal::Intent;
use tapline_timeline::Answer;
use tapline_wire::RawValue;
use tapline_wire::client::{self, OptionValue};

use super::desk::{Desk, Purpose, Setting, passes};
use super::intent;
use super::offer::Way;
use super::peer::CallError;
use super::set_up::Stage;

impl Desk {
    /// Somebody wants something.
    pub(super) fn intent(&mut self, wanted: Intent) {
        if self.recorder.store().store.generation(&wanted.session).is_none() {
            // Another session's.
            return;
        }
        if self.stage != Stage::Ready {
            return self.early.push_back(wanted);
        }
        if self.trouble().is_some() && wanted.kind != intent::PROMPT {
            // It could not be claimed either, and trying would hold the loop up.
            self.early.push_back(wanted);
            return self.retry_soon();
        }
        if self.is_closing() {
            // It stays open for whoever holds the session next.
            return;
        }
        if wanted.kind == intent::PROMPT {
            return self.prompt_wanted(&wanted);
        }
        let claimed = match self.claim(wanted.id, &wanted.session) {
            Ok(claimed) => claimed,
            Err(error) => {
                if passes(&error) {
                    self.early.push_back(wanted);
                    self.retry_soon();
                }
                return;
            }
        };
        match claimed.kind.as_str() {
            intent::ANSWER => match read::<intent::Answer>(&claimed) {
                Ok(answer) => self.answer_wanted(&claimed, answer),
                Err(outcome) => self.outcome(&claimed, &outcome),
            },
            intent::STOP => match read::<intent::Stop>(&claimed) {
                Ok(intent::Stop { task: Some(task), .. }) => self.task_stop_wanted(claimed, &task),
                Ok(stop) => self.stop_wanted(claimed, stop.turn.as_deref()),
                Err(outcome) => self.outcome(&claimed, &outcome),
            },
            intent::SET_OPTION => match read::<intent::SetOption>(&claimed) {
                Ok(set) => self.setting_wanted(&claimed, &set),
                Err(outcome) => self.outcome(&claimed, &outcome),
            },
            intent::CLOSE => {
                self.outcome(&claimed, &json!({ "closed": true }));
                self.close();
            }
            kind => {
                let error = format!(
                    "Nobody knows what \"{kind}\" is: a session takes prompt, answer, stop, set_option and close."
                );
                self.outcome(&claimed, &json!({ "error": error }));
            }
        }
    }

    fn answer_wanted(&mut self, claimed: &Intent, wanted: intent::Answer) {
        let Some((id, open)) = self.open_request(&wanted.request) else {
            let by = self.settled_by(&wanted.request);
            let mut outcome = json!({ "error": "Nobody waits for this answer any more." });
            if let Some((said, by)) = by {
                outcome = json!({ "error": format!("This was answered already: {said}."), "by": by });
            }
            return self.outcome(claimed, &outcome);
        };
        let answer = (!wanted.cancel).then_some(Answer {
            option: wanted.option,
            answers: wanted.answers,
            by: None,
            at: None,
        });
        match self.make_reply(&id, &open, answer.as_ref()) {
            Ok(line) => {
                self.answer(&id, line, &claimed.by);
                let said = self.settled_by(&wanted.request).map(|(outcome, _)| outcome);
                self.outcome(claimed, &json!({ "outcome": said }));
            }
            Err(sentence) => self.outcome(claimed, &json!({ "error": sentence })),
        }
    }

    fn setting_wanted(&mut self, claimed: &Intent, set: &intent::SetOption) {
        let Some(provider) = self.provider.clone() else {
            return;
        };
        let purpose = Purpose::Set(Box::new(Setting {
            intent: claimed.clone(),
            wanted: set.clone(),
            told: self.settings_told,
        }));
        let limit = Some(self.options.patience.setting);
        let way = self.standing().offer.way_to_set(set);
        match way {
            Some(Way::Mode(mode)) => {
                self.call("session/set_mode", purpose, limit, |id| {
                    client::set_mode(id, &provider, &mode)
                });
            }
            Some(Way::Model(model)) => {
                self.call("session/set_model", purpose, limit, |id| {
                    client::set_model(id, &provider, &model)
                });
            }
            Some(Way::Option(option, value)) => {
                let value = match value {
                    Value::Bool(on) => OptionValue::Boolean(on),
                    Value::String(text) => OptionValue::Choice(text.into()),
                    other => OptionValue::Choice(other.to_string().into()),
                };
                self.call("session/set_config_option", purpose, limit, |id| {
                    client::set_config_option(id, &provider, &option, &value)
                });
            }
            None => {
                let error = "It says neither an option with a value, nor a mode, nor a model.";
                self.outcome(claimed, &json!({ "error": error }));
            }
        }
    }

    pub(super) fn setting_answered(&mut self, setting: &Setting, outcome: Result<&RawValue, CallError>) {
        match outcome {
            Ok(result) => {
                let silent = self.settings_told == setting.told;
                match tapline_wire::value::member(result, "configOptions") {
                    Some(options) => self.standing().offer.set_options(options),
                    // It is as the agent was told. Where it has spoken of its settings meanwhile, it knows better.
                    None if silent => self.standing().offer.was_set(&setting.wanted),
                    None => {}
                }
                self.outcome(&setting.intent, &json!({ "ok": true }));
            }
            Err(error) => self.outcome(&setting.intent, &json!({ "error": sentence(&error) })),
        }
    }

    /// Tries again soon what the journal has refused for now.
    pub(super) fn retry_soon(&mut self) {
        self.retry
            .get_or_insert_with(|| std::time::Instant::now() + super::desk::RETRY);
    }
}

/// An error of a call as a sentence.
pub(super) fn sentence(error: &CallError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// What an intent says; an outcome where it cannot be read.
pub(super) fn read<T: serde::de::DeserializeOwned>(claimed: &Intent) -> Result<T, Value> {
    let fault = |why: String| json!({ "error": format!("It cannot be read: {why}.") });
    let payload = claimed.payload.as_str();
    if !payload.trim_start().starts_with('{') {
        // A list would do for the members in their order, which is nobody's intent.
        return Err(fault("it is no JSON object".to_owned()));
    }
    serde_json::from_str(payload).map_err(|error| fault(error.to_string()))
}

//! What an agent offers in a session: commands, modes, models, options. It is state of the live agent, not of the timeline.

use std::borrow::Cow;

use serde::Serialize;
use tapline_wire::session::SessionAnswer;
use tapline_wire::{Command, RawValue, value};

use super::intent::SetOption;

/// A command that a person can begin a prompt with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<Command<'_>> for AgentCommand {
    fn from(command: Command<'_>) -> Self {
        Self {
            name: command.name.into_owned(),
            description: command.description.unwrap_or_default().into_owned(),
            hint: command.hint.map(Cow::into_owned),
        }
    }
}

/// One value that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OptionChoice {
    /// Its id.
    pub id: String,
    /// What a person reads.
    pub name: String,
    /// More words about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Something that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionOption {
    /// Its id.
    pub id: String,
    /// What a person reads.
    pub name: String,
    /// What it is about, as the agent says it: `mode`, `model`, `thought_level`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Its value now: the id of a choice, or `true` and `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// It is on or off.
    pub boolean: bool,
    /// What can be chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<OptionChoice>,
}

/// What an agent offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// Commands.
    pub commands: Vec<AgentCommand>,
    /// Modes, for an agent that has them beside its options.
    pub modes: Vec<OptionChoice>,
    /// The mode now.
    pub mode: Option<String>,
    /// Models, for an agent that has them beside its options.
    pub models: Vec<OptionChoice>,
    /// The model now.
    pub model: Option<String>,
    /// Options.
    pub options: Vec<SessionOption>,
    /// Prompts may hold pictures.
    pub images: bool,
    /// Prompts may hold sounds.
    pub audio: bool,
    /// Prompts may hold whole files.
    pub files: bool,
}

/// How something is set.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By `session/set_mode`.
    Mode(String),
    /// By `session/set_model`.
    Model(String),
    /// By `session/set_config_option`.
    Option(String, serde_json::Value),
}

impl Offer {
    /// How this agent lets it be set. Modes and models have been options first and last, and calls of their own in between:
    /// an agent that lists one as an option, and not beside, may lack the call.
    pub(super) fn way_to_set(&self, set: &SetOption) -> Option<Way> {
        let listed = |category: &str| {
            let of = |option: &&SessionOption| option.category.as_deref() == Some(category);
            self.options.iter().find(of).map(|option| option.id.clone())
        };
        let by_option = |id: String, value: &str| Way::Option(id, value.into());
        match set {
            SetOption { mode: Some(mode), .. } => {
                let option = listed("mode").filter(|_| self.modes.is_empty());
                Some(option.map_or_else(|| Way::Mode(mode.clone()), |id| by_option(id, mode)))
            }
            // Here the call is the older way: the protocol has dropped it.
            SetOption {
                model: Some(model), ..
            } => {
                let option = listed("model");
                Some(option.map_or_else(|| Way::Model(model.clone()), |id| by_option(id, model)))
            }
            SetOption {
                option: Some(option),
                value: Some(value),
                ..
            } => Some(Way::Option(option.clone(), value.clone())),
            _ => None,
        }
    }

    /// The agent has done what was wanted, and says no more about it.
    pub(super) fn was_set(&mut self, set: &SetOption) {
        let (mut is_mode, mut is_model) = (set.mode.is_some(), set.model.is_some());
        let value = match (&set.mode, &set.model, &set.value) {
            (Some(id), ..) | (_, Some(id), _) => id.clone(),
            (.., Some(serde_json::Value::String(text))) => text.clone(),
            (.., Some(other)) => other.to_string(),
            (.., None) => return,
        };
        for option in &mut self.options {
            let category = option.category.as_deref();
            let meant = match &set.option {
                Some(id) if !is_mode && !is_model => option.id == *id,
                _ => category == Some(if is_mode { "mode" } else { "model" }),
            };
            if meant {
                is_mode |= category == Some("mode");
                is_model |= category == Some("model");
                option.current = Some(value.clone());
                break;
            }
        }
        if is_mode {
            self.mode = Some(value);
        } else if is_model {
            self.model = Some(value);
        }
    }

    /// The answer to `session/new`, `session/load` or `session/resume`.
    pub(super) fn set_up(&mut self, result: &RawValue) {
        let answer = SessionAnswer::read(result);
        if let Some(modes) = answer.modes {
            self.modes = choices(value::member(modes, "availableModes"), &["id"]);
            self.mode = value::member_text(modes, "currentModeId").map(Into::into);
        }
        if let Some(models) = answer.models {
            self.models = choices(value::member(models, "availableModels"), &["modelId", "id"]);
            self.model = value::member_text(models, "currentModelId").map(Into::into);
        }
        if let Some(options) = answer.config_options {
            self.set_options(options);
        }
    }

    /// The agent's abilities, from the answer to `initialize`.
    pub(super) fn abilities(&mut self, capabilities: Option<&RawValue>) {
        let prompts = capabilities.and_then(|raw| value::member(raw, "promptCapabilities"));
        let can = |name| {
            let ability = prompts.and_then(|raw| value::member(raw, name));
            ability.and_then(value::bool) == Some(true)
        };
        (self.images, self.audio, self.files) = (can("image"), can("audio"), can("embeddedContext"));
    }

    /// A `session/update` of the kinds that change what is offered; says whether it was one.
    pub(super) fn update(&mut self, kind: &str, update: &RawValue) -> bool {
        match kind {
            "available_commands_update" => {
                let commands = value::member(update, "availableCommands");
                let commands = commands.map(Command::read_all).unwrap_or_default();
                self.commands = commands.items.into_iter().map(AgentCommand::from).collect();
            }
            "current_mode_update" => {
                let mode = value::member_text(update, "currentModeId");
                self.mode = mode.map(Into::into).or(self.mode.take());
            }
            "config_option_update" => match value::member(update, "configOptions") {
                Some(options) => self.set_options(options),
                None => return false,
            },
            _ => return false,
        }
        true
    }

    pub(super) fn set_options(&mut self, options: &RawValue) {
        self.options = value::array(options).filter_map(option).collect();
        let current = |category: &str| {
            let of = |o: &&SessionOption| o.category.as_deref().unwrap_or(&o.id) == category;
            self.options.iter().find(of).and_then(|o| o.current.clone())
        };
        let (mode, model) = (current("mode"), current("model"));
        self.mode = mode.or(self.mode.take());
        self.model = model.or(self.model.take());
    }
}

fn text(raw: &RawValue, name: &str) -> Option<String> {
    value::member_text(raw, name).map(Into::into)
}

fn choices(list: Option<&RawValue>, ids: &[&str]) -> Vec<OptionChoice> {
    let choice = |raw: &RawValue| {
        let id = ids.iter().find_map(|id| text(raw, id))?;
        Some(OptionChoice {
            name: text(raw, "name").unwrap_or_else(|| id.clone()),
            description: text(raw, "description"),
            id,
        })
    };
    list.map(|list| value::array(list).filter_map(choice).collect())
        .unwrap_or_default()
}

fn option(raw: &RawValue) -> Option<SessionOption> {
    let id = text(raw, "id")?;
    let current = value::member(raw, "currentValue");
    let on = current.and_then(value::bool);
    let mut all = Vec::new();
    if let Some(list) = value::member(raw, "options") {
        // Choices may stand in groups.
        let groups = value::array(list).filter_map(|item| value::member(item, "options"));
        all.extend(choices(Some(list), &["value", "id"]));
        all.extend(groups.flat_map(|group| choices(Some(group), &["value", "id"])));
    }
    Some(SessionOption {
        name: text(raw, "name").unwrap_or_else(|| id.clone()),
        category: text(raw, "category"),
        current: on
            .map(|on| on.to_string())
            .or_else(|| current.and_then(value::text).map(Into::into)),
        boolean: on.is_some() || value::member_text(raw, "type").as_deref() == Some("boolean"),
        choices: all,
        id,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offer(answer: &serde_json::Value) -> Offer {
        let mut offer = Offer::default();
        let answer = serde_json::to_string(answer).expect("JSON");
        offer.set_up(RawValue::parse(&answer).expect("JSON"));
        offer
    }

    fn wanted(payload: serde_json::Value) -> SetOption {
        serde_json::from_value(payload).expect("a setting")
    }

    fn select(id: &str, category: &str) -> serde_json::Value {
        json!({"id": id, "name": id, "category": category, "type": "select", "currentValue": "a", "options": [{"value": "a"}]})
    }

    #[test]
    fn what_is_an_option_alone_is_set_as_one() {
        let options = offer(&json!({"configOptions": [select("m", "model"), select("o", "mode")]}));
        assert_eq!(
            options.way_to_set(&wanted(json!({"model": "b"}))),
            Some(Way::Option("m".into(), json!("b")))
        );
        assert_eq!(
            options.way_to_set(&wanted(json!({"mode": "b"}))),
            Some(Way::Option("o".into(), json!("b")))
        );

        let modes = json!({"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]});
        let both = offer(&json!({"modes": modes, "configOptions": [select("o", "mode")]}));
        assert_eq!(
            both.way_to_set(&wanted(json!({"mode": "b"}))),
            Some(Way::Mode("b".into()))
        );

        let neither = Offer::default();
        assert_eq!(
            neither.way_to_set(&wanted(json!({"model": "b"}))),
            Some(Way::Model("b".into()))
        );
        assert_eq!(
            neither.way_to_set(&wanted(json!({"mode": "b"}))),
            Some(Way::Mode("b".into()))
        );
        assert_eq!(neither.way_to_set(&wanted(json!({"option": "x"}))), None);
    }

    #[test]
    fn what_was_set_shows_everywhere() {
        let mut offer = offer(
            &json!({"configOptions": [select("m", "model"), select("o", "mode"), select("e", "effort")]}),
        );
        offer.was_set(&wanted(json!({"mode": "b"})));
        assert_eq!(
            (offer.mode.as_deref(), offer.options[1].current.as_deref()),
            (Some("b"), Some("b"))
        );
        offer.was_set(&wanted(json!({"option": "m", "value": "c"})));
        assert_eq!(
            (offer.model.as_deref(), offer.options[0].current.as_deref()),
            (Some("c"), Some("c"))
        );
        offer.was_set(&wanted(json!({"option": "e", "value": true})));
        assert_eq!(offer.options[2].current.as_deref(), Some("true"));
        assert_eq!(
            (offer.mode.as_deref(), offer.model.as_deref()),
            (Some("b"), Some("c"))
        );
    }
}

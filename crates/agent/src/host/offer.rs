//! What an agent offers in a session: commands, modes, models, options. It is state of the live agent, not of the timeline.

use serde::Serialize;
use tapline_wire::session::SessionAnswer;
use tapline_wire::{RawValue, value};

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

impl Offer {
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
                self.commands = commands
                    .map(|list| value::array(list).filter_map(command).collect())
                    .unwrap_or_default();
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

    /// What was set, with an answer that says no more than that.
    pub(super) fn set(&mut self, set: &SetOption) {
        if let Some(mode) = &set.mode {
            self.mode = Some(mode.clone());
        } else if let Some(model) = &set.model {
            self.model = Some(model.clone());
        } else if let (Some(id), Some(value)) = (&set.option, &set.value) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if let Some(option) = self.options.iter_mut().find(|option| option.id == *id) {
                option.current = Some(value);
            }
        }
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

fn command(raw: &RawValue) -> Option<AgentCommand> {
    Some(AgentCommand {
        name: text(raw, "name")?,
        description: text(raw, "description").unwrap_or_default(),
        hint: value::path(raw, &["input", "hint"])
            .and_then(value::text)
            .map(Into::into),
    })
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

//! The prompt as Anthropic's system text and turns.

use std::collections::{HashMap, HashSet};

use super::cache::Cache;
use super::options;
use super::tools::{self, Support};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::providers::common::{Block, ToolNames, blocks, message_path};
use crate::providers::options::Options;
use crate::providers::{Call, Log, Profile};
use crate::typed::Typed;
use crate::types::prompt::SystemMessage;
use crate::types::{Message, Prompt, ProviderOptions, Tool, Warning};

/// One entry of `messages`.
#[derive(Debug)]
pub(super) struct Turn {
    /// Whose turn it is.
    pub(super) role: &'static str,
    /// Its blocks.
    pub(super) content: Vec<Object>,
    /// Members beside role and content.
    pub(super) more: Object,
}

impl Turn {
    pub(super) fn new(role: &'static str, content: Vec<Object>) -> Self {
        Turn {
            role,
            content,
            more: Object::new(),
        }
    }

    fn into_json(self) -> Object {
        let mut turn = object! { "role": self.role, "content": self.content };
        turn.extend_from(&self.more);
        turn
    }
}

/// The converted prompt.
#[derive(Debug)]
pub(super) struct Converted {
    /// The instructions, if the prompt begins with some.
    pub(super) system: Option<Vec<Object>>,
    /// The turns.
    pub(super) messages: Vec<Object>,
}

/// Converts a prompt block by block.
pub(super) struct Converter<'a, 'l> {
    pub(super) profile: Profile,
    pub(super) log: &'l mut Log,
    pub(super) betas: Vec<String>,
    pub(super) cache: Cache,
    pub(super) names: ToolNames,
    /// The toolset that the calls of a tool belong to, by the caller's name of the tool.
    pub(super) toolsets: HashMap<Text, &'static str>,
    pub(super) support: Support,
    pub(super) sends_reasoning: bool,
    pub(super) turns: Vec<Turn>,
    /// The turn of the last user message with content.
    pub(super) last_user: usize,
    prompt: &'a Prompt,
}

/// A system message on its way.
struct Instruction {
    content: Vec<Object>,
    clear_at: Option<Json>,
    effort: Option<Json>,
    changes: usize,
    has_definition: bool,
}

impl<'a, 'l> Converter<'a, 'l> {
    /// A converter for the prompt of a call.
    pub(super) fn new(
        call: &Call<'a>,
        log: &'l mut Log,
        inline: Vec<Tool>,
        support: Support,
        sends_reasoning: bool,
    ) -> Self {
        // Of two names for one thing the later one counts, and the declared tools come last.
        let declared = call.options.tools.iter().flatten();
        let all: Vec<Tool> = inline.into_iter().chain(declared.clone().cloned()).collect();
        let toolsets = declared.filter_map(|tool| match tool {
            Tool::Provider(tool) if &*tool.id == tools::COMPUTER_TOOLSET => {
                Some((tool.name.clone(), "computer"))
            }
            _ => None,
        });
        Converter {
            profile: call.profile,
            log,
            betas: Vec::new(),
            cache: Cache::default(),
            names: ToolNames::new(Some(&all), tools::NAMES),
            toolsets: toolsets.collect(),
            support,
            sends_reasoning,
            turns: Vec::new(),
            last_user: 0,
            prompt: call.prompt,
        }
    }

    /// Adds a beta, once.
    pub(super) fn beta(&mut self, name: &str) {
        if !self.betas.iter().any(|beta| beta == name) {
            self.betas.push(name.to_owned());
        }
    }

    /// Converts the whole prompt.
    pub(super) fn convert(&mut self) -> Result<Converted, SdkError> {
        let blocks = blocks(self.prompt);
        let last = blocks.len().saturating_sub(1);
        let mut system = None;
        for (at, block) in blocks.iter().enumerate() {
            match block {
                Block::System(messages) => self.system(at == 0, messages, &mut system)?,
                Block::User(messages) => self.user(messages)?,
                Block::Assistant(messages) => self.assistant(messages, at == last)?,
            }
        }
        self.forget_callers();
        Ok(Converted {
            system,
            messages: self.turns.drain(..).map(Turn::into_json).collect(),
        })
    }

    fn system(
        &mut self,
        is_first: bool,
        messages: &[(usize, &SystemMessage)],
        system: &mut Option<Vec<Object>>,
    ) -> Result<(), SdkError> {
        let mut instructions = Vec::with_capacity(messages.len());
        for (at, message) in messages {
            instructions.extend(self.instruction(*at, message)?);
        }
        let has_changes = instructions.iter().any(|instruction| instruction.changes > 0);
        let has_controls = instructions
            .iter()
            .any(|instruction| instruction.clear_at.is_some() || instruction.effort.is_some());
        if is_first || (system.is_none() && !has_changes && !has_controls) {
            if has_changes {
                self.log.warn(Warning::other(
                    "tool changes on the initial system message are not supported by Anthropic. Configure the \
                     initial tool set via the tools option instead. The tool changes have been ignored.",
                ));
            }
            *system = Some(self.initial(instructions));
            return Ok(());
        }
        self.beta("mid-conversation-system-2026-04-07");
        for instruction in instructions {
            if instruction.has_definition {
                self.beta("inline-tools-2026-09-15");
            } else if instruction.changes > 0 {
                self.beta("mid-conversation-tool-changes-2026-07-01");
            }
            let mut turn = Turn::new("system", instruction.content);
            if let Some(clear_at) = instruction.clear_at {
                self.beta("mid-conversation-system-clear-at-2026-08-21");
                turn.more.insert("clear_at", clear_at);
            }
            if let Some(effort) = instruction.effort {
                self.beta("mid-conversation-output-config-2026-07-01");
                turn.more.insert("output_config", object! { "effort": effort });
            }
            self.turns.push(turn);
        }
        Ok(())
    }

    /// The first instructions stand beside the turns; only what sets nothing but an effort is a turn.
    fn initial(&mut self, instructions: Vec<Instruction>) -> Vec<Object> {
        let mut system = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            match (instruction.clear_at, instruction.effort) {
                (None, None) => {}
                (None, Some(effort)) if instruction.content.is_empty() => {
                    self.beta("mid-conversation-output-config-2026-07-01");
                    let mut turn = Turn::new("system", Vec::new());
                    turn.more.insert("output_config", object! { "effort": effort });
                    self.turns.push(turn);
                }
                _ => self.log.warn(Warning::other(
                    "clearAt and effort on this initial system message are not supported by Anthropic. Use a \
                     separate effort-only system message with empty content to set effort. These options have \
                     been ignored.",
                )),
            }
            let texts = instruction
                .content
                .into_iter()
                .filter(|part| part.get("type").and_then(Json::as_str) == Some("text"));
            system.extend(texts);
        }
        system
    }

    /// One system message; nothing if nothing of it is left to send.
    fn instruction(&mut self, at: usize, message: &SystemMessage) -> Result<Option<Instruction>, SdkError> {
        let own = system_options(message.provider_options.as_ref())?;
        let (clear_at, effort) = (own.get("clearAt").cloned(), own.get("effort").cloned());
        let has_controls = clear_at.is_some() || effort.is_some();
        let changes = own
            .get("toolChanges")
            .and_then(Json::as_array)
            .unwrap_or_default();
        let mut instruction = Instruction {
            content: Vec::new(),
            clear_at,
            effort,
            changes: 0,
            has_definition: false,
        };
        if !message.content.is_empty() || (changes.is_empty() && !has_controls) {
            instruction.content.push(object! {
                "type": "text",
                "text": &message.content,
                "cache_control"?: self.cache.mark(message.provider_options.as_ref()),
            });
        }
        for change in changes {
            if let Some(tool) = change.get("tool") {
                let Some(definition) = self.definition(at, &read_tool(tool)?)? else {
                    continue;
                };
                instruction.content.push(object! {
                    "type": "tool_addition",
                    "tool": object! { "type": "tool_definition", "definition": definition },
                });
                instruction.has_definition = true;
            } else {
                let name = change.get("toolName").and_then(Json::as_str).unwrap_or_default();
                instruction.content.push(object! {
                    "type"?: change.get("type"),
                    "tool": object! { "type": "tool_reference", "name": self.names.to_provider(name) },
                });
            }
            instruction.changes += 1;
        }
        Ok((!instruction.content.is_empty() || has_controls).then_some(instruction))
    }

    /// A tool that a system message adds in the middle of the conversation.
    fn definition(&mut self, at: usize, tool: &Tool) -> Result<Option<Object>, SdkError> {
        if is_computer(tool) {
            self.log.warn(Warning::other(format!(
                "The tool '{}' cannot be added by value in a tool change. Declare it in the tools option and \
                 add it by reference with toolName. The tool change has been ignored.",
                tool.name()
            )));
            self.log
                .dropped(message_path(at), "a computer tool cannot be added by value");
            return Ok(None);
        }
        let mut prepared = tools::Prepared::default();
        prepared.add(tool, &mut self.cache, self.support, false)?;
        self.log.warn_all(prepared.warnings);
        for beta in prepared.betas {
            self.beta(&beta);
        }
        Ok(prepared.tools.into_iter().next())
    }

    /// Takes off what says which code called a tool, where that code is no longer in the history and a
    /// new user message has ended its turn.
    fn forget_callers(&mut self) {
        let text = |part: &Object, key: &str| part.get(key).and_then(Json::as_str).map(str::to_owned);
        let assistants = self.turns.iter().filter(|turn| turn.role == "assistant");
        let codes: HashSet<String> = assistants
            .flat_map(|turn| &turn.content)
            .filter(|part| {
                text(part, "type").as_deref() == Some("server_tool_use")
                    && text(part, "name").as_deref() == Some("code_execution")
            })
            .filter_map(|part| text(part, "id"))
            .collect();
        let mut warned = HashSet::new();
        for turn in self.turns.iter_mut().take(self.last_user) {
            for part in turn.content.iter_mut().filter(|_| turn.role == "assistant") {
                let caller = part.get("caller").and_then(|caller| caller.get("tool_id"));
                let Some(source) = caller.and_then(Json::as_str).map(str::to_owned) else {
                    continue;
                };
                if codes.contains(&source) {
                    continue;
                }
                part.remove("caller");
                let id = text(part, "id")
                    .or_else(|| text(part, "tool_use_id"))
                    .unwrap_or_default();
                if warned.insert(id.clone()) {
                    self.log.warn(Warning::other(format!(
                        "Omitted caller metadata for tool {id} because source code execution tool {source} is \
                         missing from the conversation history."
                    )));
                }
            }
        }
    }
}

fn system_options(options: Option<&ProviderOptions>) -> Result<Object, SdkError> {
    let own = Options::of(options, super::PROVIDER).shaped(&options::SYSTEM)?;
    Ok(own.unwrap_or_default())
}

fn read_tool(tool: &Json) -> Result<Tool, SdkError> {
    Tool::from_json(tool.clone()).map_err(|faults| SdkError::InvalidProviderOptions {
        provider: super::PROVIDER.to_owned(),
        reason: faults.to_string(),
    })
}

/// Computer tools must be declared with the call.
fn is_computer(tool: &Tool) -> bool {
    matches!(tool, Tool::Provider(tool) if tool.id.starts_with("anthropic.computer_"))
}

/// The tools that system messages add by value.
pub(super) fn inline_tools(prompt: &Prompt) -> Result<Vec<Tool>, SdkError> {
    let mut tools = Vec::new();
    for message in prompt.messages() {
        let Message::System(message) = message else {
            continue;
        };
        let own = system_options(message.provider_options.as_ref())?;
        let changes = own
            .get("toolChanges")
            .and_then(Json::as_array)
            .unwrap_or_default();
        for tool in changes.iter().filter_map(|change| change.get("tool")) {
            tools.push(read_tool(tool)?);
        }
    }
    tools.retain(|tool| !is_computer(tool));
    Ok(tools)
}

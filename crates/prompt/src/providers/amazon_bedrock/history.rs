//! The prompt as Bedrock gets it: without tools if the call has none, with words about JSON if the
//! answer must be.
//!
//! Parts taken out move those behind them, but a report names places in the prompt that was given. So
//! the history remembers where everything came from.

use crate::json::{Object, Text};
use crate::path::Path;
use crate::providers::Log;
use crate::providers::common::{json_instruction, message_path, part_path};
use crate::types::prompt::SystemMessage;
use crate::types::{AssistantPart, Message, Prompt, ToolPart, Warning};

/// A prompt, and where its messages and parts stood at first.
#[derive(Debug)]
pub(super) struct History {
    pub(super) prompt: Prompt,
    /// For each message its position, unless it is new, and those of its parts.
    origins: Vec<(Option<usize>, Vec<usize>)>,
}

impl History {
    /// The prompt as it is.
    pub(super) fn new(prompt: &Prompt) -> Self {
        let origins = prompt.messages().iter().enumerate().map(|(at, message)| {
            let parts = match message {
                Message::System(_) => 0,
                Message::User(message) => message.content.len(),
                Message::Assistant(message) => message.content.len(),
                Message::Tool(message) => message.content.len(),
            };
            (Some(at), (0..parts).collect())
        });
        History {
            origins: origins.collect(),
            prompt: prompt.clone(),
        }
    }

    /// Where a part stood in the prompt that was given.
    pub(super) fn part(&self, at: usize, index: usize) -> Path {
        match self.origins.get(at) {
            Some((Some(message), parts)) => part_path(*message, parts.get(index).copied().unwrap_or(index)),
            _ => Path::root().join("prompt"),
        }
    }

    /// Takes out all calls and results, and then all messages without content, if there are any calls
    /// or results: Bedrock refuses them where no tool is declared.
    pub(super) fn without_tools(&mut self, log: &mut Log) {
        let is_tool =
            |part: &AssistantPart| matches!(part, AssistantPart::ToolCall(_) | AssistantPart::ToolResult(_));
        let has_any = self.prompt.messages().iter().any(|message| match message {
            Message::Assistant(message) => message.content.iter().any(is_tool),
            Message::Tool(message) => message
                .content
                .iter()
                .any(|part| matches!(part, ToolPart::ToolResult(_))),
            Message::System(_) | Message::User(_) => false,
        });
        if !has_any {
            return;
        }
        const WHY: &str = "Bedrock takes no calls and results where no tool is declared";
        let mut messages = Vec::with_capacity(self.prompt.0.len());
        let mut origins = Vec::with_capacity(self.origins.len());
        let old = std::mem::take(&mut self.prompt.0);
        for (at, mut message) in old.into_iter().enumerate() {
            let mut kept: Vec<usize> = Vec::new();
            let mut keep = |index: usize, is_kept: bool| {
                if is_kept {
                    kept.push(index);
                } else {
                    log.dropped(part_path(at, index), WHY);
                }
                is_kept
            };
            let mut index = 0..;
            let mut next = || index.next().unwrap_or_default();
            let is_left = match &mut message {
                Message::System(_) => true,
                Message::User(message) => {
                    kept.extend(0..message.content.len());
                    !message.content.is_empty()
                }
                Message::Assistant(message) => {
                    message.content.retain(|part| keep(next(), !is_tool(part)));
                    !message.content.is_empty()
                }
                Message::Tool(message) => {
                    message
                        .content
                        .retain(|part| keep(next(), !matches!(part, ToolPart::ToolResult(_))));
                    !message.content.is_empty()
                }
            };
            if is_left {
                messages.push(message);
                origins.push((Some(at), kept));
            } else if kept.is_empty() {
                log.dropped(message_path(at), "nothing is left of the message");
            }
        }
        self.prompt = Prompt(messages);
        self.origins = origins;
        log.warn(Warning::unsupported_because(
            "toolContent",
            "Tool calls and results removed from conversation because Bedrock does not support tool content \
             without active tools.",
        ));
    }

    /// Asks for JSON in the first instructions.
    pub(super) fn ask_for_json(&mut self, schema: &Object) {
        const SUFFIX: &str = "You MUST answer with only a JSON object that matches the JSON schema above. Do not \
                              wrap it in markdown fences or include any other text.";
        let instruction = |before: &str| -> Text { json_instruction(before, Some(schema), Some(SUFFIX)) };
        match self.prompt.0.first_mut() {
            Some(Message::System(message)) => message.content = instruction(&message.content),
            _ => {
                let message = SystemMessage::new(instruction(""));
                self.prompt.0.insert(0, message.into());
                self.origins.insert(0, (None, Vec::new()));
            }
        }
    }
}

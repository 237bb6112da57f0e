//! The conversation while it is being read: messages, and which call was of which tool.

use std::collections::HashMap;

use super::request::Reader;
use crate::fault::FaultKind;
use crate::json::Text;
use crate::typed::quoted;
use crate::types::prompt::{AssistantMessage, ToolMessage, ToolResultPart};
use crate::types::{AssistantPart, Message, Prompt, ToolOutput, ToolPart};

/// The name of a tool that the request does not name.
const UNNAMED_TOOL: &str = "unknown_tool";

/// Messages in the order in which they were said.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    messages: Vec<Message>,
    tools: HashMap<Text, Text>,
    /// Whether the last message may still get parts.
    is_open: bool,
}

impl Conversation {
    /// Adds a whole message.
    pub(super) fn push(&mut self, message: impl Into<Message>) {
        self.messages.push(message.into());
        self.is_open = false;
    }

    /// Begins an assistant message, even if nothing comes into it.
    pub(super) fn begin_assistant(&mut self, message: AssistantMessage) {
        self.messages.push(message.into());
        self.is_open = true;
    }

    /// Adds to what the assistant is saying.
    pub(super) fn assistant(&mut self, part: impl Into<AssistantPart>) {
        let part = part.into();
        if let AssistantPart::ToolCall(call) = &part {
            self.tools
                .insert(call.tool_call_id.clone(), call.tool_name.clone());
        }
        match self.messages.last_mut() {
            Some(Message::Assistant(message)) if self.is_open => message.content.push(part),
            _ => self.begin_assistant(AssistantMessage::new(vec![part])),
        }
    }

    /// Adds to what the tools give. Results that follow each other are one message.
    pub(super) fn tool(&mut self, part: impl Into<ToolPart>) {
        match self.messages.last_mut() {
            Some(Message::Tool(message)) => message.content.push(part.into()),
            _ => self.messages.push(ToolMessage::new(vec![part.into()]).into()),
        }
        self.is_open = false;
    }

    /// The result of a call. A prompt names the tool in it, so the call must have come before.
    pub(super) fn result(
        &self,
        reader: &mut Reader,
        key: &'static str,
        id: Option<Text>,
        output: impl Into<ToolOutput>,
    ) -> Option<ToolResultPart> {
        let id = id?;
        let Some(name) = self.tools.get(&id) else {
            reader.within(key, |reader| {
                reader.fault(
                    FaultKind::ResultWithoutCall,
                    quoted(&id),
                    "the id of a call that came before",
                    "send the call along with its result",
                );
            });
            return None;
        };
        Some(ToolResultPart::new(id, name, output.into()))
    }

    /// As [`Conversation::result`], for an API that may know of the call without being told. The tool
    /// then stays unnamed, which is reported.
    pub(super) fn result_of_any(
        &self,
        reader: &mut Reader,
        key: &'static str,
        id: Option<Text>,
        output: impl Into<ToolOutput>,
    ) -> Option<ToolResultPart> {
        let id = id?;
        let name = self.tools.get(&id).cloned().unwrap_or_else(|| {
            reader.lost_at(key, "which tool it was: the call is not in the request");
            Text::from(UNNAMED_TOOL)
        });
        Some(ToolResultPart::new(id, name, output.into()))
    }

    /// What the tool of a call is called.
    pub(super) fn tool_of(&self, id: &str) -> Option<&Text> {
        self.tools.get(id)
    }

    /// The prompt.
    pub(super) fn finish(self) -> Prompt {
        Prompt(self.messages)
    }
}

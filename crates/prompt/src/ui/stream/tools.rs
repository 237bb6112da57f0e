//! Calls of tools, and what came of them.

use super::options::StreamTool;
use super::{ChunkStream, metadata};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::model_messages::ToolOutcome;
use crate::model_messages::lenient::error_text;
use crate::types::generate::{
    ApprovalRequestContent, StopKind, ToolCallContent, ToolInputStart, ToolResultContent,
};
use crate::ui::chunk::Chunk;

/// A call of this message, for approvals and results that follow it.
#[derive(Debug)]
pub(super) struct Call {
    name: Text,
    before_schema: Option<Json>,
    is_invalid: bool,
}

impl<'a> ChunkStream<'a> {
    /// Adds what a tool of the caller's own gave.
    pub fn push_outcome(&mut self, tool_call_id: &Text, outcome: &ToolOutcome) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.open_message(&mut chunks);
        self.open_step(&mut chunks);
        let name = self.calls.get(tool_call_id).map(|call| call.name.clone());
        let dynamic = name.and_then(|name| self.dynamic(&name, None));
        let chunk = match outcome {
            ToolOutcome::Failed(error) => object! {
                "type": "tool-output-error",
                "toolCallId": tool_call_id,
                "errorText": error,
                "dynamic"?: dynamic,
            },
            ToolOutcome::Returned(output) => object! {
                "type": "tool-output-available",
                "toolCallId": tool_call_id,
                "output": output.clone().unwrap_or_default(),
                "dynamic"?: dynamic,
            },
            ToolOutcome::ForModel(output) => object! {
                "type": "tool-output-available",
                "toolCallId": tool_call_id,
                "output": output,
                "dynamic"?: dynamic,
            },
        };
        // That an invalid call has failed was said when it was made.
        if !self.calls.get(tool_call_id).is_some_and(|call| call.is_invalid) {
            chunks.push(Chunk::made(chunk));
        }
        chunks
    }

    fn tool(&self, name: &str) -> Option<&StreamTool<'a>> {
        self.options
            .tools
            .iter()
            .flatten()
            .find(|tool| *tool.name == *name)
    }

    /// Whether a call is dynamic: as its tool is, or as the model says of a tool that is not listed.
    fn dynamic(&self, name: &str, said: Option<bool>) -> Option<bool> {
        match self.tool(name) {
            Some(tool) => tool.is_dynamic.then_some(true),
            None => said,
        }
    }

    pub(super) fn input_start(&self, part: &ToolInputStart) -> Chunk {
        let tool = self.tool(&part.tool_name);
        Chunk::made(object! {
            "type": "tool-input-start",
            "toolCallId": &part.id,
            "toolName": &part.tool_name,
            "inputEncoding"?: part.input_encoding.map(|encoding| encoding.as_str()),
            "providerExecuted"?: part.provider_executed,
            "providerMetadata"?: metadata(part.provider_metadata.as_ref()),
            "dynamic"?: self.dynamic(&part.tool_name, Some(part.dynamic.unwrap_or(false))),
            "title"?: tool.and_then(|tool| tool.title.clone()),
        })
    }

    pub(super) fn call(&mut self, part: &ToolCallContent) -> Chunk {
        let name = &part.tool_name;
        let is_providers = part.provider_executed == Some(true);
        let parsed = self.parse_input(part);
        let title = self.tool(name).and_then(|tool| tool.title.clone());
        let mut chunk = object! {
            "type": "tool-input-available",
            "toolCallId": &part.tool_call_id,
            "toolName": name,
        };
        let (input, error, before_schema) = match parsed {
            Ok((input, before_schema)) => (input, None, before_schema),
            Err(error) => {
                let input = Json::parse_secure(&part.input).unwrap_or_else(|| Json::from(&part.input));
                (input, Some(error), None)
            }
        };
        let said = if error.is_some() {
            Some(true)
        } else {
            part.dynamic.filter(|_| is_providers)
        };
        chunk.insert("input", input);
        chunk.insert_some("providerExecuted", part.provider_executed);
        chunk.insert_some("providerMetadata", metadata(part.provider_metadata.as_ref()));
        chunk.insert_some("dynamic", self.dynamic(name, said));
        if let Some(error) = &error {
            chunk.insert("type", "tool-input-error");
            // The model reads why its call was refused, unless the provider was to run it.
            let is_masked = is_providers || self.options.error_text.is_some();
            let error = Json::from(&**error);
            let text = if is_masked {
                self.error_text(&error)
            } else {
                error_text(Some(&error)).to_string()
            };
            chunk.insert("errorText", text);
        }
        chunk.insert_some("title", title);
        self.calls.insert(
            part.tool_call_id.clone(),
            Call {
                name: name.clone(),
                before_schema,
                is_invalid: error.is_some() && !is_providers,
            },
        );
        Chunk::made(chunk)
    }

    /// The input of a call, and what it was before the tool's schema changed it; or why the call is
    /// refused. Many models write nothing at all where there are no arguments.
    fn parse_input(&self, part: &ToolCallContent) -> Result<(Json, Option<Json>), String> {
        let name = &part.tool_name;
        let is_providers_own = part.provider_executed == Some(true) && part.dynamic == Some(true);
        let tool = self.tool(name);
        if tool.is_none() && !is_providers_own {
            let available = match &self.options.tools {
                None => "No tools are available.".to_owned(),
                Some(tools) => {
                    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
                    format!("Available tools: {}.", names.join(", "))
                }
            };
            return Err(format!(
                "AI_NoSuchToolError: Model tried to call unavailable tool '{name}'. {available}"
            ));
        }
        let is_blank = part.input.trim_matches(is_js_space).is_empty();
        let invalid =
            |cause: String| format!("AI_InvalidToolInputError: Invalid input for tool {name}: {cause}");
        let input = if is_blank {
            Some(Json::from(Object::new()))
        } else {
            Json::parse_secure(&part.input)
        };
        let input = input.ok_or_else(|| {
            let text = &part.input;
            invalid(format!("AI_JSONParseError: JSON parsing failed: Text: {text}."))
        })?;
        match tool.and_then(|tool| tool.check_input) {
            Some(check) => {
                let checked = check(&input).map_err(invalid)?;
                let before_schema = (checked != input).then_some(input);
                Ok((checked, before_schema))
            }
            None => Ok((input, None)),
        }
    }

    pub(super) fn approval(&mut self, part: &ApprovalRequestContent, chunks: &mut Vec<Chunk>) {
        let id = &part.tool_call_id;
        match self.calls.get(id) {
            Some(call) => chunks.push(Chunk::made(object! {
                "type": "tool-approval-request",
                "approvalId": &part.approval_id,
                "toolCallId": id,
                "inputSchemaInput"?: call.before_schema.clone(),
            })),
            None => {
                let error = SdkError::ToolCallNotFoundForApproval {
                    tool_call_id: id.to_string(),
                    approval_id: part.approval_id.to_string(),
                };
                self.has_ended = true;
                self.reason = StopKind::Error;
                self.error(&format!("{}: {error}", error.name()).into(), chunks);
            }
        }
    }

    pub(super) fn result(&self, part: &ToolResultContent) -> Chunk {
        let mut chunk = object! { "type": "tool-output-available", "toolCallId": &part.tool_call_id };
        if part.is_error == Some(true) {
            // The error of a provider's tool goes back to the provider, so it is not masked.
            let text = match &part.result {
                Json::String(text) => text.clone(),
                other => other.to_js().into(),
            };
            chunk.insert("type", "tool-output-error");
            chunk.insert("errorText", text);
        } else {
            chunk.insert("output", &part.result);
        }
        chunk.insert("providerExecuted", true);
        chunk.insert_some("providerMetadata", metadata(part.provider_metadata.as_ref()));
        chunk.insert_some("dynamic", self.dynamic(&part.tool_name, part.dynamic));
        Chunk::made(chunk)
    }
}

/// What JavaScript's `trim` takes off.
fn is_js_space(char: char) -> bool {
    char == '\u{feff}' || char.is_whitespace() && char != '\u{85}'
}

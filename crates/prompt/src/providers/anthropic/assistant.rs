//! The model: one turn for all of its messages in a row.

use std::collections::HashSet;

use super::options;
use super::prompt::{Converter, Turn};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::providers::common::{self, part_path};
use crate::providers::options::Options;
use crate::providers::shape::{Shape, need};
use crate::types::prompt::{AssistantMessage, CustomPart, ReasoningPart, TextPart, ToolCallPart};
use crate::types::{AssistantPart, ProviderOptions, Warning};

/// The payload of the custom part `anthropic.fallback`.
const FALLBACK: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["fallback"])),
    need("from", Shape::Fields(&[need("model", Shape::Text)])),
    need("to", Shape::Fields(&[need("model", Shape::Text)])),
]);

impl Converter<'_, '_> {
    /// Converts a block of the model's side.
    pub(super) fn assistant(
        &mut self,
        messages: &[(usize, &AssistantMessage)],
        is_last_block: bool,
    ) -> Result<(), SdkError> {
        let mut content = Vec::new();
        let mut mcp_calls = HashSet::new();
        let last_message = messages.len().saturating_sub(1);
        for (position, (at, message)) in messages.iter().enumerate() {
            // Empty text is no text, so it is not the last part either.
            let sent: Vec<(usize, &AssistantPart)> = message
                .content
                .iter()
                .enumerate()
                .filter(|(_, part)| !matches!(part, AssistantPart::Text(part) if part.text.is_empty()))
                .collect();
            let last_part = sent.len().saturating_sub(1);
            for (order, (index, part)) in sent.into_iter().enumerate() {
                let is_last = order == last_part;
                let mark = self.mark(
                    part.provider_options(),
                    message.provider_options.as_ref().filter(|_| is_last),
                );
                let is_prefill = is_last_block && position == last_message && is_last;
                let block = match part {
                    AssistantPart::Text(part) => Some(self.text(part, is_prefill, mark)),
                    AssistantPart::Reasoning(part) => self.reasoning(*at, index, part)?,
                    AssistantPart::Custom(part) => self.custom(*at, index, part),
                    AssistantPart::ToolCall(part) => {
                        let block = self.tool_call(part, mark, &mut mcp_calls);
                        if block.is_none() {
                            self.log
                                .dropped(part_path(*at, index), "the API has no tool of this kind");
                        }
                        block
                    }
                    AssistantPart::ToolResult(part) => {
                        let count = content.len();
                        let is_mcp = mcp_calls.contains(&*part.tool_call_id);
                        self.provider_result(part, is_mcp, mark, &mut content)?;
                        if content.len() == count {
                            self.log
                                .dropped(part_path(*at, index), "the API has no such result");
                        }
                        None
                    }
                    AssistantPart::File(_) | AssistantPart::ReasoningFile(_) => {
                        self.log
                            .dropped(part_path(*at, index), "the API takes no files from the model");
                        None
                    }
                };
                content.extend(block);
            }
        }
        if !content.is_empty() {
            self.turns.push(Turn::new("assistant", calls_last(content)));
        }
        Ok(())
    }

    fn text(&mut self, part: &TextPart, is_prefill: bool, mark: Option<Json>) -> Object {
        let own = own(part.provider_options.as_ref());
        let get = |key: &str| own.and_then(|own| own.get(key)).filter(|value| !value.is_null());
        if get("type").and_then(Json::as_str) == Some("compaction") {
            let signature = get("signature").and_then(Json::as_text);
            if signature.is_some() {
                self.beta("compact-2026-09-04");
            }
            return object! {
                "type": "compaction",
                "content": &part.text,
                "signature"?: signature,
                "cache_control"?: mark,
            };
        }
        // A turn that the model is to continue must not end in a blank.
        let text = if is_prefill {
            Text::from(common::trimmed(&part.text))
        } else {
            part.text.clone()
        };
        object! {
            "type": "text",
            "text": text,
            "citations"?: get("citations"),
            "cache_control"?: mark,
        }
    }

    fn reasoning(
        &mut self,
        at: usize,
        index: usize,
        part: &ReasoningPart,
    ) -> Result<Option<Object>, SdkError> {
        let options = part.provider_options.as_ref();
        let message = if self.sends_reasoning {
            let own = Options::of(options, super::PROVIDER)
                .shaped(&options::REASONING)?
                .unwrap_or_default();
            if let Some(signature) = own.get("signature") {
                self.cache.refuse(options, "thinking block");
                return Ok(Some(
                    object! { "type": "thinking", "thinking": &part.text, "signature": signature },
                ));
            }
            if let Some(data) = own.get("redactedData") {
                self.cache.refuse(options, "redacted thinking block");
                return Ok(Some(object! { "type": "redacted_thinking", "data": data }));
            }
            "unsupported reasoning metadata"
        } else {
            "sending reasoning content is disabled for this model"
        };
        self.log.warn(Warning::other(message));
        self.log.dropped(part_path(at, index), message);
        Ok(None)
    }

    fn custom(&mut self, at: usize, index: usize, part: &CustomPart) -> Option<Object> {
        if part.kind.as_str() != "anthropic.fallback" {
            self.log
                .dropped(part_path(at, index), "the API does not know parts of this kind");
            return None;
        }
        let payload = own(part.provider_options.as_ref())
            .map(Json::from)
            .unwrap_or_default();
        let Ok(Json::Object(fallback)) = FALLBACK.read(&payload) else {
            let message = "anthropic fallback metadata must include from.model and to.model";
            self.log.warn(Warning::other(message));
            self.log.dropped(part_path(at, index), message);
            return None;
        };
        self.beta("server-side-fallback-2026-06-01");
        Some(fallback)
    }

    fn tool_call(
        &mut self,
        part: &ToolCallPart,
        mark: Option<Json>,
        mcp_calls: &mut HashSet<String>,
    ) -> Option<Object> {
        if part.provider_executed == Some(true) {
            return self.provider_call(part, mark, mcp_calls);
        }
        let caller = caller(part.provider_options.as_ref());
        let input = input(part.input.as_ref());
        let toolset = self.toolset(&part.tool_name, part.provider_options.as_ref());
        let name = match &toolset {
            None => Some(Json::from(&part.tool_name)),
            Some(toolset) => match input.get("action") {
                Some(Json::String(action)) => Some(action.into()),
                _ => {
                    self.log.warn(Warning::other(format!(
                        "toolset tool call for tool {} is missing the action",
                        part.tool_name
                    )));
                    toolset.0.clone()
                }
            },
        };
        Some(object! {
            "type": "tool_use",
            "id": &part.tool_call_id,
            "name"?: name,
            "toolset_name"?: toolset.and_then(|toolset| toolset.0),
            "input": input,
            "caller"?: caller,
            "cache_control"?: mark,
        })
    }

    /// A call of a tool that runs at the provider.
    fn provider_call(
        &mut self,
        part: &ToolCallPart,
        mark: Option<Json>,
        mcp_calls: &mut HashSet<String>,
    ) -> Option<Object> {
        let own = own(part.provider_options.as_ref());
        let get = |key: &str| own.and_then(|own| own.get(key)).and_then(Json::as_text);
        if get("type").is_some_and(|kind| &**kind == "mcp-tool-use") {
            mcp_calls.insert(part.tool_call_id.to_string());
            let Some(server) = get("serverName") else {
                self.log.warn(Warning::other(
                    "mcp tool use server name is required and must be a string",
                ));
                return None;
            };
            return Some(object! {
                "type": "mcp_tool_use",
                "id": &part.tool_call_id,
                "name": &part.tool_name,
                "input"?: part.input.clone(),
                "server_name": server,
                "cache_control"?: mark,
            });
        }
        let name = self.names.to_provider(&part.tool_name).to_owned();
        let kind = part.input.as_ref().and_then(|input| input.get("type"));
        let (name, input): (Text, _) = match (&*name, kind.and_then(Json::as_text)) {
            ("code_execution", Some(kind)) => match &**kind {
                "bash_code_execution" | "text_editor_code_execution" => {
                    (kind.clone(), without_type(part.input.as_ref()))
                }
                "programmatic-tool-call" => (name.as_str().into(), without_type(part.input.as_ref())),
                _ => (name.as_str().into(), part.input.clone()),
            },
            (
                "code_execution"
                | "web_fetch"
                | "web_search"
                | "tool_search_tool_regex"
                | "tool_search_tool_bm25",
                _,
            ) => (name.as_str().into(), part.input.clone()),
            // Its input is always empty.
            ("advisor", _) => (name.as_str().into(), Some(Object::new().into())),
            _ => {
                self.log.warn(Warning::other(format!(
                    "provider executed tool call for tool {} is not supported",
                    part.tool_name
                )));
                return None;
            }
        };
        Some(object! {
            "type": "server_tool_use",
            "id": &part.tool_call_id,
            "name": name,
            "input"?: input,
            "caller"?: caller(part.provider_options.as_ref()),
            "cache_control"?: mark,
        })
    }
}

/// The options for Anthropic, unchecked.
pub(super) fn own(options: Option<&ProviderOptions>) -> Option<&Object> {
    options?.get(super::PROVIDER)
}

/// Which code called the tool.
pub(super) fn caller(options: Option<&ProviderOptions>) -> Option<Object> {
    let caller = own(options)?.get("caller")?;
    match caller.get("type")?.as_str()? {
        "direct" => Some(object! { "type": "direct" }),
        kind @ ("code_execution_20250825" | "code_execution_20260120") => {
            let id = caller.get("toolId").filter(|id| id.is_truthy())?;
            Some(object! { "type": kind, "tool_id": id })
        }
        _ => None,
    }
}

/// The input of a call, which must be an object.
fn input(input: Option<&Json>) -> Object {
    match input {
        Some(Json::Object(object)) => object.clone(),
        Some(Json::String(text)) => match Json::parse_secure(text) {
            Some(Json::Object(object)) => object,
            _ => object! { "rawInvalidInput": text },
        },
        other => object! { "rawInvalidInput"?: other },
    }
}

fn without_type(input: Option<&Json>) -> Option<Json> {
    let mut object = input?.as_object()?.clone();
    object.remove("type");
    Some(object.into())
}

/// Moves the calls of the caller's tools behind everything else, but not across thoughts, which have
/// to stay where the model put them.
fn calls_last(content: Vec<Object>) -> Vec<Object> {
    let mut sorted = Vec::with_capacity(content.len());
    let mut calls = Vec::new();
    for block in content {
        match block.get("type").and_then(Json::as_str) {
            Some("tool_use") => calls.push(block),
            Some("thinking" | "redacted_thinking" | "fallback") => {
                sorted.append(&mut calls);
                sorted.push(block);
            }
            _ => sorted.push(block),
        }
    }
    sorted.append(&mut calls);
    sorted
}

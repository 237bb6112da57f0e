//! `POST /v1/responses`.
//!
//! A flat list of items. What xAI's own tools did, calls and results, is not sent again. Thoughts go
//! with their id or their encrypted content, or not at all.
//!
//! Known faults, mended in the fixed profile: the input of a tool call that is JSON text already is
//! quoted once more; the level of reasoning `max` is not known.

use super::{EFFORTS, PROVIDER, effort, image_detail, top_logprobs};
use crate::error::SdkError;
use crate::json::{Json, Number, Object, Text, object};
use crate::media_type;
use crate::providers::chat;
use crate::providers::common::{
    self, ErrorText, arguments_stringified, data_url, item_path, output_text, part_path,
};
use crate::providers::options::Options;
use crate::providers::{Call, Log, Profile, Request};
use crate::types::call::ProviderTool;
use crate::types::prompt::{AssistantMessage, FilePart, ReasoningPart, ToolMessage};
use crate::types::{
    AssistantPart, CallOptions, ContentItem, FileData, Message, Tool, ToolChoice, ToolOutput, UserPart,
    Warning, provider_option,
};

/// What a model is told about a tool that was not allowed to run.
const DENIED: &str = "tool execution denied";

const INCLUDE: &[&str] = &[
    "file_search_call.results",
    "web_search_call.action.sources",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "no_inline_citations",
];

/// Builds the request.
pub(super) fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let own = Options::of(options.provider_options.as_ref(), PROVIDER);
    let own_effort = own.word("reasoningEffort", EFFORTS)?;
    own.word("reasoningSummary", &["auto", "concise", "detailed"])?;
    let logprobs = own.read::<bool>("logprobs")?;
    let top_logprobs = top_logprobs(&own)?;
    let store = own.read::<bool>("store")?;
    let mut include = own.nullish::<Vec<Text>>("include")?;
    if include.iter().flatten().any(|key| !INCLUDE.contains(&&**key)) {
        return Err(own.invalid(format!("include holds only {}", INCLUDE.join(", "))));
    }
    if store == Some(false) {
        include
            .get_or_insert_default()
            .push("reasoning.encrypted_content".into());
    }
    log.unsupported([
        ("frequencyPenalty", options.frequency_penalty.is_some()),
        ("presencePenalty", options.presence_penalty.is_some()),
        ("stopSequences", options.stop_sequences.is_some()),
    ]);
    let input = input(call, log)?;
    let (tools, choice) = tools(options, log);
    let format = chat::json_format(options).map(|format| match &format.schema {
        Some(schema) => object! {
            "type": "json_schema",
            "strict": true,
            "name": format.name.clone().unwrap_or_else(|| "response".into()),
            "description"?: format.description.clone(),
            "schema": schema,
        },
        None => object! { "type": "json_object" },
    });
    let body = object! {
        "model": call.model,
        "input": input,
        "logprobs"?: (logprobs == Some(true) || top_logprobs.is_some()).then_some(true),
        "top_logprobs"?: top_logprobs,
        "max_output_tokens"?: options.max_output_tokens.clone(),
        "temperature"?: options.temperature.clone(),
        "top_p"?: options.top_p.clone(),
        "top_k"?: options.top_k.clone(),
        "min_p"?: own.read::<Number>("minP")?,
        "seed"?: options.seed.clone(),
        "text"?: format.map(|format| object! { "format": format }),
        "reasoning"?: effort(call, own_effort, log).map(|effort| object! { "effort": effort }),
        "store"?: store.filter(|store| !store),
        "include"?: include,
        "previous_response_id"?: own.read::<Text>("previousResponseId")?,
        "max_turns"?: own.read::<Number>("maxTurns")?,
        "parallel_tool_calls"?: own.read::<bool>("parallelToolCalls")?,
        "prompt_cache_key"?: own.read::<Text>("promptCacheKey")?,
        "safety_identifier"?: own.read::<Text>("safetyIdentifier")?,
        "service_tier"?: own.word("serviceTier", &["default", "priority"])?,
        "user"?: own.read::<Text>("user")?,
        "tools"?: (!tools.is_empty()).then_some(tools),
        "tool_choice"?: choice,
    };
    Ok(Request::new("/v1/responses", body))
}

fn tools(options: &CallOptions, log: &mut Log) -> (Vec<Object>, Option<Json>) {
    let tools = options.tools.as_deref().unwrap_or_default();
    let mut converted = Vec::with_capacity(tools.len());
    for tool in tools {
        match tool {
            Tool::Function(tool) => converted.push(object! {
                "type": "function",
                "name": &tool.name,
                "description"?: tool.description.clone(),
                "parameters": &tool.input_schema,
                "strict"?: tool.strict,
            }),
            Tool::Provider(tool) => match own_tool(tool) {
                Some(tool) => converted.push(tool),
                None => log.warn(Warning::unsupported(format!(
                    "provider-defined tool {}",
                    tool.name
                ))),
            },
        }
    }
    let choice = match &options.tool_choice {
        _ if tools.is_empty() => None,
        Some(ToolChoice::Tool(named)) => {
            // Of two tools with one name the later counts.
            match tools.iter().rev().find(|tool| *tool.name() == named.tool_name) {
                Some(Tool::Function(tool)) => Some(object! { "type": "function", "name": &tool.name }.into()),
                Some(Tool::Provider(tool)) => {
                    let feature = format!("toolChoice for server-side tool \"{}\"", tool.name);
                    log.warn(Warning::unsupported(feature));
                    None
                }
                None => None,
            }
        }
        Some(other) => Some(other.tag().into()),
        None => None,
    };
    (converted, choice)
}

/// One of xAI's own tools with the settings it takes: ours, and xAI's name for each.
fn own_tool(tool: &ProviderTool) -> Option<Object> {
    let (kind, settings): (&str, &[(&str, &str)]) = match tool.id.strip_prefix("xai.")? {
        "web_search" => (
            "web_search",
            &[
                ("allowedDomains", "allowed_domains"),
                ("excludedDomains", "excluded_domains"),
                ("enableImageSearch", "enable_image_search"),
                ("enableImageUnderstanding", "enable_image_understanding"),
            ],
        ),
        "x_search" => (
            "x_search",
            &[
                ("allowedXHandles", "allowed_x_handles"),
                ("excludedXHandles", "excluded_x_handles"),
                ("fromDate", "from_date"),
                ("toDate", "to_date"),
                ("enableImageUnderstanding", "enable_image_understanding"),
                ("enableVideoUnderstanding", "enable_video_understanding"),
            ],
        ),
        "code_execution" => ("code_interpreter", &[]),
        "view_image" => ("view_image", &[]),
        "view_x_video" => ("view_x_video", &[]),
        "image_generation" => ("image_generation", &[("action", "action")]),
        "file_search" => (
            "file_search",
            &[
                ("vectorStoreIds", "vector_store_ids"),
                ("maxNumResults", "max_num_results"),
            ],
        ),
        "mcp" => (
            "mcp",
            &[
                ("serverUrl", "server_url"),
                ("serverLabel", "server_label"),
                ("serverDescription", "server_description"),
                ("allowedTools", "allowed_tools"),
                ("headers", "headers"),
                ("authorization", "authorization"),
            ],
        ),
        _ => return None,
    };
    let mut converted = object! { "type": kind };
    for (ours, theirs) in settings {
        converted.insert_some(*theirs, tool.args.get(ours));
    }
    Some(converted)
}

fn input(call: &Call<'_>, log: &mut Log) -> Result<Vec<Object>, SdkError> {
    let mut items = Vec::new();
    for (at, message) in call.prompt.messages().iter().enumerate() {
        match message {
            Message::System(message) => items.push(object! { "role": "system", "content": &message.content }),
            Message::User(message) => {
                let content: Result<Vec<_>, _> = message
                    .content
                    .iter()
                    .map(|part| match part {
                        UserPart::Text(part) => Ok(object! { "type": "input_text", "text": &part.text }),
                        UserPart::File(part) => file(part),
                    })
                    .collect();
                items.push(object! { "role": "user", "content": content? });
            }
            Message::Assistant(message) => assistant(at, message, call.profile, &mut items, log),
            Message::Tool(message) => tool(at, message, call.profile, &mut items, log)?,
        }
    }
    Ok(items)
}

fn file(part: &FilePart) -> Result<Object, SdkError> {
    let is_image = common::top_level(&part.media_type) == "image";
    let url = match &part.data {
        FileData::Reference(file) => {
            let id = media_type::resolve_reference(&file.reference, PROVIDER)?;
            return Ok(object! { "type": "input_file", "file_id": id });
        }
        FileData::Text(_) => return Err(SdkError::unsupported("text file parts")),
        FileData::Url(file) if is_image => file.url.to_text(),
        FileData::Url(file) => {
            return Ok(object! { "type": "input_file", "file_url": file.url.to_text() });
        }
        FileData::Data(file) if is_image => {
            data_url(&media_type::resolve(&part.media_type, &part.data)?, &file.data)
        }
        FileData::Data(_) => {
            return Err(SdkError::unsupported(format!(
                "file part media type {} as inline data (xAI Responses requires a URL or a Files API reference for \
                 non-image files)",
                part.media_type
            )));
        }
    };
    let detail = image_detail(part.provider_options.as_ref())?;
    Ok(object! { "type": "input_image", "image_url": url, "detail"?: detail })
}

fn assistant(
    at: usize,
    message: &AssistantMessage,
    profile: Profile,
    items: &mut Vec<Object>,
    log: &mut Log,
) {
    for (index, part) in message.content.iter().enumerate() {
        let id = provider_option(part.provider_options(), PROVIDER, "itemId").and_then(Json::as_text);
        match part {
            AssistantPart::Text(part) => {
                items.push(object! { "role": "assistant", "content": &part.text, "id"?: id });
            }
            AssistantPart::ToolCall(part) if part.provider_executed == Some(true) => {
                log.dropped(
                    part_path(at, index),
                    "calls of xAI's own tools are not sent again",
                );
            }
            AssistantPart::ToolCall(part) => items.push(object! {
                "type": "function_call",
                "id": id.unwrap_or(&part.tool_call_id),
                "call_id": &part.tool_call_id,
                "name": &part.tool_name,
                "arguments"?: arguments_stringified(part.input.as_ref(), profile),
                "status": "completed",
            }),
            AssistantPart::ToolResult(_) => {
                log.dropped(
                    part_path(at, index),
                    "results of xAI's own tools are not sent again",
                );
            }
            AssistantPart::Reasoning(part) => match reasoning(part, id) {
                Some(item) => items.push(item),
                None => {
                    log.dropped(
                        part_path(at, index),
                        "reasoning without an item id or encrypted content",
                    );
                    log.warn(Warning::other(
                        "Reasoning parts without itemId or encrypted content cannot be sent back to xAI. Skipping.",
                    ));
                }
            },
            AssistantPart::ReasoningFile(_) | AssistantPart::Custom(_) | AssistantPart::File(_) => {
                let tag = part.tag();
                log.dropped(
                    part_path(at, index),
                    "the Responses API of xAI has no place for it",
                );
                log.warn(Warning::other(format!(
                    "xAI Responses API does not support {tag} in assistant messages"
                )));
            }
        }
    }
}

fn reasoning(part: &ReasoningPart, id: Option<&Text>) -> Option<Object> {
    let encrypted = provider_option(
        part.provider_options.as_ref(),
        PROVIDER,
        "reasoningEncryptedContent",
    );
    let encrypted = encrypted.and_then(Json::as_text);
    if id.is_none() && encrypted.is_none() {
        return None;
    }
    let summary = (!part.text.is_empty()).then(|| object! { "type": "summary_text", "text": &part.text });
    Some(object! {
        "type": "reasoning",
        "id": id.cloned().unwrap_or_default(),
        "summary": summary.into_iter().collect::<Vec<_>>(),
        "status": "completed",
        "encrypted_content"?: encrypted,
    })
}

fn tool(
    at: usize,
    message: &ToolMessage,
    profile: Profile,
    items: &mut Vec<Object>,
    log: &mut Log,
) -> Result<(), SdkError> {
    for (index, part) in chat::results(at, message, log) {
        let output = match &part.output {
            ToolOutput::Content(output) => {
                let mut content = Vec::with_capacity(output.value.len());
                for (item_index, item) in output.value.iter().enumerate() {
                    match content_item(item)? {
                        Some(item) => content.push(item),
                        None => {
                            let path = item_path(at, index, item_index);
                            log.dropped(path, "tool results hold text and images by data or URL only");
                        }
                    }
                }
                Json::from(content)
            }
            ToolOutput::Denied(output) => output.reason.clone().unwrap_or_else(|| DENIED.into()).into(),
            output => output_text(output, ErrorText::Raw, profile).into(),
        };
        items.push(
            object! { "type": "function_call_output", "call_id": &part.tool_call_id, "output": output },
        );
    }
    Ok(())
}

fn content_item(item: &ContentItem) -> Result<Option<Object>, SdkError> {
    let item = match item {
        ContentItem::Text(item) => return Ok(Some(object! { "type": "input_text", "text": &item.text })),
        ContentItem::File(item) if common::top_level(&item.media_type) == "image" => item,
        _ => return Ok(None),
    };
    let url = match &item.data {
        FileData::Url(file) => file.url.to_text(),
        FileData::Data(file) => data_url(&media_type::resolve(&item.media_type, &item.data)?, &file.data),
        FileData::Reference(_) | FileData::Text(_) => return Ok(None),
    };
    Ok(Some(object! { "type": "input_image", "image_url": url }))
}

//! Cohere: `POST /v2/chat`.
//!
//! Content is text, or a list where there are images. Other files go into `documents`, beside the
//! messages. Where the model calls tools, what it says is left out.
//!
//! Known faults, mended in the fixed profile:
//!
//! * A document given as base64 is sent as base64. Mended: it is decoded.
//! * The input of a tool call that is JSON text already is quoted once more. Mended: sent as it is.
//! * The level of reasoning `max` is not known. Mended: it is the largest budget.
//! * What the model says beside its calls is lost. Mended: it is sent as the plan of its tools.

use super::chat;
use super::common::{
    arguments_stringified, data_url, decoded, part_path, reasoning_budget, top_level, without_max,
};
use super::options::Options;
use super::shape::{Shape, may};
use super::{Call, Log, Profile, Request, Target};
use crate::error::SdkError;
use crate::json::{Json, Number, Object, Text, object};
use crate::media_type;
use crate::types::prompt::{FilePart, UserMessage};
use crate::types::{CallOptions, FileData, Inline, Message, Reasoning, Tool, ToolChoice, UserPart};

/// The chat API.
pub const CHAT: Target = Target {
    provider: "cohere",
    api: "chat",
    build,
};

const OPTIONS: Shape = Shape::Fields(&[may(
    "thinking",
    Shape::Fields(&[
        may("type", Shape::Word(&["enabled", "disabled"])),
        may("tokenBudget", Shape::Number),
    ]),
)]);
const IMAGE: Shape = Shape::Fields(&[may("detail", Shape::Word(&["auto", "low", "high"]))]);

/// The longest answer that a budget is a share of.
const LONGEST: f64 = 32_768.0;

fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let own = Options::of(options.provider_options.as_ref(), "cohere")
        .shaped(&OPTIONS)?
        .unwrap_or_default();
    let mut documents = Vec::new();
    let messages = messages(call, &mut documents, log)?;
    let (tools, choice) = tools(options, log);
    let format = chat::json_format(options).map(|format| {
        object! { "type": "json_object", "json_schema"?: format.schema.clone() }
    });
    let body = object! {
        "model": call.model,
        "frequency_penalty"?: options.frequency_penalty.clone(),
        "presence_penalty"?: options.presence_penalty.clone(),
        "max_tokens"?: options.max_output_tokens.clone(),
        "temperature"?: options.temperature.clone(),
        "p"?: options.top_p.clone(),
        "k"?: options.top_k.clone(),
        "seed"?: options.seed.clone(),
        "stop_sequences"?: options.stop_sequences.clone(),
        "response_format"?: format,
        "messages": messages,
        "tools"?: tools,
        "tool_choice"?: choice,
        "documents"?: (!documents.is_empty()).then_some(documents),
        "thinking"?: thinking(&own, options.reasoning, call.profile, log),
    };
    Ok(Request::new("/v2/chat", body))
}

fn thinking(own: &Object, reasoning: Option<Reasoning>, profile: Profile, log: &mut Log) -> Option<Object> {
    if let Some(thinking) = own.get("thinking") {
        return Some(object! {
            "type": thinking.get("type").cloned().unwrap_or_else(|| "enabled".into()),
            "token_budget"?: thinking.get("tokenBudget"),
        });
    }
    let mut warn = |warning| log.warn(warning);
    let reasoning = without_max(
        reasoning.filter(|reasoning| reasoning.is_custom()),
        profile,
        &mut warn,
    )?;
    if reasoning == Reasoning::None {
        return Some(object! { "type": "disabled" });
    }
    let budget = reasoning_budget(reasoning, LONGEST, LONGEST, 1024.0, &mut |warning| {
        log.warn(warning)
    });
    Some(object! { "type": "enabled", "token_budget"?: Number::from_f64(budget) })
}

/// The tools and the choice. A tool that must be called is the only one that is sent.
fn tools(options: &CallOptions, log: &mut Log) -> (Option<Vec<Object>>, Option<&'static str>) {
    let Some(tools) = options.tools.as_ref().filter(|tools| !tools.is_empty()) else {
        return (None, None);
    };
    let (choice, only) = match &options.tool_choice {
        None | Some(ToolChoice::Auto(_)) => (None, None),
        Some(ToolChoice::None(_)) => (Some("NONE"), None),
        Some(ToolChoice::Required(_)) => (Some("REQUIRED"), None),
        Some(ToolChoice::Tool(named)) => (Some("REQUIRED"), Some(&named.tool_name)),
    };
    let mut converted = Vec::with_capacity(tools.len());
    for tool in tools {
        match tool {
            Tool::Provider(tool) => log.warn(chat::no_such_tool(tool)),
            Tool::Function(tool) if only.is_none_or(|only| *only == tool.name) => converted.push(object! {
                "type": "function",
                "function": object! {
                    "name": &tool.name,
                    "description"?: tool.description.clone(),
                    "parameters": &tool.input_schema,
                },
            }),
            Tool::Function(_) => {}
        }
    }
    (Some(converted), choice)
}

fn messages(call: &Call<'_>, documents: &mut Vec<Object>, log: &mut Log) -> Result<Vec<Object>, SdkError> {
    let mut messages = Vec::with_capacity(call.prompt.messages().len());
    for (at, message) in call.prompt.messages().iter().enumerate() {
        match message {
            Message::System(message) => {
                messages.push(object! { "role": "system", "content": &message.content });
            }
            Message::User(message) => messages.push(user(at, message, documents, call.profile, log)?),
            Message::Assistant(message) => {
                let mut said = chat::said(at, message, false, log, |part| {
                    chat::tool_call(part, arguments_stringified(part.input.as_ref(), call.profile))
                });
                let calls = said.take_calls();
                let has_calls = calls.is_some();
                let text = Text::from(said.text);
                let plan =
                    (has_calls && !text.is_empty() && call.profile == Profile::Fixed).then(|| text.clone());
                if has_calls && !text.is_empty() && plan.is_none() {
                    let path = super::common::message_path(at).join("content");
                    log.changed(path, "the API is not told what the model says beside its calls");
                }
                messages.push(object! {
                    "role": "assistant",
                    "content"?: (!has_calls).then_some(text),
                    "tool_calls"?: calls,
                    "tool_plan"?: plan,
                });
            }
            Message::Tool(message) => {
                for (index, part) in chat::results(at, message, log) {
                    messages.push(object! {
                        "role": "tool",
                        "content": chat::result_text(at, index, part, call.profile, log),
                        "tool_call_id": &part.tool_call_id,
                    });
                }
            }
        }
    }
    Ok(messages)
}

fn user(
    at: usize,
    message: &UserMessage,
    documents: &mut Vec<Object>,
    profile: Profile,
    log: &mut Log,
) -> Result<Object, SdkError> {
    let (mut parts, mut text, mut has_image) = (Vec::new(), String::new(), false);
    for (index, part) in message.content.iter().enumerate() {
        match part {
            UserPart::Text(part) if part.text.is_empty() => {}
            UserPart::Text(part) => {
                text.push_str(&part.text);
                parts.push(object! { "type": "text", "text": &part.text });
            }
            UserPart::File(part) if top_level(&part.media_type) == "image" => {
                has_image = true;
                parts.push(image(part)?);
            }
            UserPart::File(part) => {
                let is_encoded =
                    matches!(&part.data, FileData::Data(file) if matches!(file.data, Inline::Base64(_)));
                if is_encoded && profile == Profile::Exact {
                    let detail = "the document is sent as base64, which the model has to read as text";
                    log.changed(part_path(at, index), detail);
                }
                documents.push(document(part, profile)?);
            }
        }
    }
    let content = if has_image { Json::from(parts) } else { text.into() };
    Ok(object! { "role": "user", "content": content })
}

fn image(part: &FilePart) -> Result<Object, SdkError> {
    let url = match &part.data {
        FileData::Url(file) => file.url.to_text(),
        FileData::Data(file) => data_url(&media_type::resolve(&part.media_type, &part.data)?, &file.data),
        FileData::Reference(_) => {
            return Err(SdkError::unsupported("image file parts with provider references"));
        }
        FileData::Text(_) => return Err(SdkError::unsupported("image file parts with text data")),
    };
    let own = Options::of(part.provider_options.as_ref(), "cohere")
        .shaped(&IMAGE)?
        .unwrap_or_default();
    Ok(object! {
        "type": "image_url",
        "image_url": object! { "url": url, "detail"?: own.get("detail") },
    })
}

fn document(part: &FilePart, profile: Profile) -> Result<Object, SdkError> {
    let text = match &part.data {
        FileData::Reference(_) => return Err(SdkError::unsupported("file parts with provider references")),
        FileData::Url(_) => {
            return Err(SdkError::UnsupportedBecause {
                functionality: "File URL data".to_owned(),
                message:
                    "URLs should be downloaded by the AI SDK and not reach this point. This indicates a \
                          configuration issue."
                        .to_owned(),
            });
        }
        FileData::Text(file) => file.text.clone(),
        FileData::Data(file) => match (&file.data, profile) {
            (Inline::Base64(text), Profile::Exact) => text.clone(),
            (data, _) => decoded(data)?.into(),
        },
    };
    Ok(object! { "data": object! { "text": text, "title"?: part.filename.clone() } })
}

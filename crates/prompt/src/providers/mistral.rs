//! Mistral: `POST /v1/chat/completions`.
//!
//! A last message of the model is one to be continued. Thoughts go along as chunks, and content is a
//! list only where there are some. Anything in an answer that is neither text, thought nor call is an
//! error. A JSON answer without a schema is asked for in words.
//!
//! Known fault, mended in the fixed profile:
//!
//! * Files, custom parts and results of provider tools in an answer are an error without a name.
//!   Mended: they are left out and reported, as other APIs do.

use super::chat;
use super::common::{arguments_text, data_url, json_instruction, part_path, reasoning_effort, top_level};
use super::options::Options;
use super::shape::{Shape, may};
use super::{Call, Log, Profile, Request, Target};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::types::call::ToolChoice;
use crate::types::prompt::{AssistantMessage, FilePart};
use crate::types::{AssistantPart, FileData, Message, Warning};

/// The chat API.
pub const CHAT: Target = Target {
    provider: "mistral",
    api: "chat",
    build,
};

const OPTIONS: Shape = Shape::Fields(&[
    may("safePrompt", Shape::Bool),
    may("documentImageLimit", Shape::Number),
    may("documentPageLimit", Shape::Number),
    may("structuredOutputs", Shape::Bool),
    may("strictJsonSchema", Shape::Bool),
    may("parallelToolCalls", Shape::Bool),
    may("promptCacheKey", Shape::Text),
    may(
        "reasoningEffort",
        Shape::Word(&["high", "none", "low", "medium", "max"]),
    ),
]);

/// Models whose reasoning cannot be steered.
const WITHOUT_EFFORT: &[&str] = &[
    "codestral-2508",
    "codestral-latest",
    "ministral-14b-2512",
    "ministral-14b-latest",
    "ministral-3b-2512",
    "ministral-3b-latest",
    "ministral-8b-2512",
    "ministral-8b-latest",
    "mistral-code-fim-latest",
    "mistral-code-latest",
    "mistral-large-latest",
    "mistral-large-2512",
    "voxtral-small-2507",
    "voxtral-small-latest",
];

fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let own = Options::of(options.provider_options.as_ref(), "mistral")
        .shaped(&OPTIONS)?
        .unwrap_or_default();
    if options.top_k.is_some() {
        log.warn(Warning::unsupported("topK"));
    }
    let effort = effort(
        call,
        own.get("reasoningEffort").and_then(Json::as_text).cloned(),
        log,
    );
    let format = chat::json_format(options);
    let takes_schema = own.get("structuredOutputs") != Some(&Json::Bool(false));
    let strict = own.get("strictJsonSchema") == Some(&Json::Bool(true));
    let in_words = format.filter(|format| !takes_schema || format.schema.is_none());
    let instruction = in_words.map(|format| format.schema.as_ref());
    let messages = messages(call, instruction, log)?;
    let mut tools = chat::tools(options, |tool| Err(chat::no_such_tool(tool)));
    if let (Some(_), Some(ToolChoice::Required(_))) = (&tools.choice, &options.tool_choice) {
        tools.choice = Some("any".into());
    }
    let body = object! {
        "model": call.model,
        "safe_prompt"?: own.get("safePrompt"),
        "max_tokens"?: options.max_output_tokens.clone(),
        "temperature"?: options.temperature.clone(),
        "top_p"?: options.top_p.clone(),
        "frequency_penalty"?: options.frequency_penalty.clone(),
        "presence_penalty"?: options.presence_penalty.clone(),
        "stop"?: options.stop_sequences.clone(),
        "random_seed"?: options.seed.clone(),
        "reasoning_effort"?: effort,
        "response_format"?: format.map(|format| chat::response_format(format, takes_schema, strict)),
        "document_image_limit"?: own.get("documentImageLimit"),
        "document_page_limit"?: own.get("documentPageLimit"),
        "prompt_cache_key"?: own.get("promptCacheKey"),
        "messages": messages,
        "parallel_tool_calls"?: own.get("parallelToolCalls").filter(|_| tools.tools.is_some()),
        "tools"?: tools.tools,
        "tool_choice"?: tools.choice,
    };
    log.warn_all(tools.warnings);
    Ok(Request::new("/v1/chat/completions", body))
}

fn effort(call: &Call<'_>, own: Option<Text>, log: &mut Log) -> Option<Text> {
    let efforts: &[(&str, &str)] = match call.model {
        model if WITHOUT_EFFORT.contains(&model) => {
            if call
                .options
                .reasoning
                .is_some_and(|reasoning| reasoning.is_custom())
            {
                log.warn(Warning::unsupported_because(
                    "reasoning",
                    "This model does not support reasoning configuration.",
                ));
            }
            return None;
        }
        "zai-glm-5" | "zai-glm-5-3" | "zai-glm-5-3-flash" | "zai-glm-latest" => {
            &[("low", "low"), ("high", "high"), ("max", "max")]
        }
        "mistral-large-4" | "mistral-large-4-0" => &[("low", "low"), ("medium", "medium"), ("high", "high")],
        _ => &[("none", "none"), ("high", "high")],
    };
    reasoning_effort(call.options.reasoning, efforts, own, &mut |warning| {
        log.warn(warning)
    })
}

/// The messages; `instruction` asks for JSON in the first of them, with the schema if there is one.
fn messages(
    call: &Call<'_>,
    instruction: Option<Option<&Object>>,
    log: &mut Log,
) -> Result<Vec<Object>, SdkError> {
    let prompt = call.prompt.messages();
    let mut messages = Vec::with_capacity(prompt.len() + 1);
    let is_led = matches!(prompt.first(), Some(Message::System(_)));
    if let Some(schema) = instruction.filter(|_| !is_led) {
        messages.push(object! { "role": "system", "content": json_instruction("", schema, None) });
    }
    for (at, message) in prompt.iter().enumerate() {
        match message {
            Message::System(message) => {
                let content = match instruction {
                    Some(schema) if at == 0 => json_instruction(&message.content, schema, None),
                    _ => message.content.clone(),
                };
                messages.push(object! { "role": "system", "content": content });
            }
            Message::User(message) => {
                messages.push(object! { "role": "user", "content": chat::user_parts(message, file)? });
            }
            Message::Assistant(message) => {
                let is_last = at + 1 == prompt.len();
                messages.push(assistant(at, message, is_last, call.profile, log)?);
            }
            Message::Tool(message) => {
                for (index, part) in chat::results(at, message, log) {
                    messages.push(object! {
                        "role": "tool",
                        "name": &part.tool_name,
                        "tool_call_id": &part.tool_call_id,
                        "content": chat::result_text(at, index, part, call.profile, log),
                    });
                }
            }
        }
    }
    Ok(messages)
}

fn file(part: &FilePart) -> Result<Object, SdkError> {
    const PDF: &str = "application/pdf";
    let refused = || SdkError::unsupported("Only images and PDF file parts are supported");
    let is_image = top_level(&part.media_type) == "image";
    let url = match &part.data {
        FileData::Reference(_) => return Err(SdkError::unsupported("file parts with provider references")),
        FileData::Text(_) => return Err(SdkError::unsupported("text file parts")),
        FileData::Url(_) if !is_image && &*part.media_type != PDF => return Err(refused()),
        FileData::Url(file) => file.url.to_text(),
        FileData::Data(file) => {
            let full = media_type::resolve(&part.media_type, &part.data)?;
            if !is_image && &*full != PDF {
                return Err(refused());
            }
            data_url(&full, &file.data)
        }
    };
    let kind = if is_image { "image_url" } else { "document_url" };
    let mut converted = object! { "type": kind };
    converted.insert(kind, url);
    Ok(converted)
}

fn assistant(
    at: usize,
    message: &AssistantMessage,
    is_last: bool,
    profile: Profile,
    log: &mut Log,
) -> Result<Object, SdkError> {
    let (mut text, mut chunks, mut calls) = (String::new(), Vec::new(), Vec::new());
    let mut has_thoughts = false;
    for (index, part) in message.content.iter().enumerate() {
        match part {
            AssistantPart::Text(part) => {
                text.push_str(&part.text);
                chunks.push(object! { "type": "text", "text": &part.text });
            }
            AssistantPart::Reasoning(part) => {
                has_thoughts = true;
                chunks.push(object! {
                    "type": "thinking",
                    "thinking": vec![object! { "type": "text", "text": &part.text }],
                    "closed": true,
                });
            }
            AssistantPart::ToolCall(part) => {
                calls.push(chat::tool_call(part, arguments_text(part.input.as_ref())));
            }
            other if profile == Profile::Fixed => log.dropped(
                part_path(at, index),
                format!("the API has no place for the part {:?} of an answer", other.tag()),
            ),
            other => {
                return Err(SdkError::Plain(format!(
                    "Unsupported content type in assistant message: {}",
                    other.tag()
                )));
            }
        }
    }
    let content = if has_thoughts {
        Json::from(chunks)
    } else {
        text.into()
    };
    Ok(object! {
        "role": "assistant",
        "content": content,
        "prefix"?: is_last.then_some(true),
        "tool_calls"?: (!calls.is_empty()).then_some(calls),
    })
}

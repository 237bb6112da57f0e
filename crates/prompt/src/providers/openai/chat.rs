//! `POST /v1/chat/completions`.
//!
//! Messages go one to one. Text that the assistant said is joined; reasoning, files, custom parts and
//! results of provider-executed tools have no place and vanish without a warning (the report names
//! them). Tool arguments must be a JSON object; anything else becomes `{}`.

use super::catalog::Model;
use super::{
    PROVIDER, SystemMode, cache_breakpoint, check_service_tier, no_cache_retention, not_for_reasoning,
};
use super::{SERVICE_TIERS, schema, tools};
use crate::error::SdkError;
use crate::json::{Json, Number, Object, Text, object};
use crate::media_type;
use crate::providers::chat;
use crate::providers::common::{self, ErrorText, arguments_object_text, data_url, output_text, part_path};
use crate::providers::options::Options;
use crate::providers::{Call, Log, Request};
use crate::typed::Map;
use crate::types::call::JsonFormat;
use crate::types::prompt::{AssistantMessage, FilePart, ToolMessage, UserMessage};
use crate::types::{AssistantPart, FileData, Message, ToolOutput, UserPart, Warning, provider_option};

const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Builds the request.
pub(super) fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let own = ChatOptions::read(&Options::of(options.provider_options.as_ref(), PROVIDER))?;
    let model = Model::named(call.model);
    let effort = reasoning_effort(call, &own, &model, log);
    let reasons = own.force_reasoning.unwrap_or(model.reasoning);

    if options.top_k.is_some() {
        log.warn(Warning::unsupported("topK"));
    }
    if provider_option(options.provider_options.as_ref(), PROVIDER, "reasoningSummary").is_some() {
        log.warn(Warning::unsupported_because(
            "reasoningSummary",
            "reasoningSummary is only supported by the Responses API, not the Chat Completions API",
        ));
    }
    let mode = own.system_message_mode.unwrap_or(if reasons {
        SystemMode::Developer
    } else {
        SystemMode::System
    });
    let messages = messages(call, mode, log)?;
    let response_format = match chat::json_format(options) {
        Some(format) => Some(response_format(format, own.strict_json_schema, log)?),
        None => None,
    };

    let mut sampling = Sampling {
        logit_bias: own.logit_bias,
        logprobs: own.logprobs.as_ref().is_some_and(wants_logprobs),
        top_logprobs: own.logprobs.as_ref().and_then(top_logprobs),
        temperature: options.temperature.clone(),
        top_p: options.top_p.clone(),
        frequency_penalty: options.frequency_penalty.clone(),
        presence_penalty: options.presence_penalty.clone(),
    };
    let mut max_tokens = options.max_output_tokens.clone();
    let mut max_completion_tokens = own.max_completion_tokens;
    let mut retention = own.prompt_cache_retention;
    if retention.is_some() && !model.cache_retention {
        retention = None;
        log.warn(no_cache_retention());
    }
    if reasons {
        sampling.drop_for_reasoning(
            effort.as_deref() == Some("none") && model.samples_without_effort,
            log,
        );
        if let Some(max) = max_tokens.take() {
            max_completion_tokens.get_or_insert(max);
        }
    } else if !model.chat_temperature && sampling.temperature.take().is_some() {
        log.warn(Warning::unsupported_because(
            "temperature",
            "temperature is not supported for the search preview models and has been removed.",
        ));
    }
    let service_tier = check_service_tier(own.service_tier, &model, &mut |warning| log.warn(warning));
    let prepared = tools::for_chat(options)?;
    log.warn_all(prepared.warnings);

    let body = object! {
        "model": call.model,
        "logit_bias"?: sampling.logit_bias,
        "logprobs"?: sampling.logprobs.then_some(true),
        "top_logprobs"?: sampling.top_logprobs,
        "user"?: own.user,
        "parallel_tool_calls"?: own.parallel_tool_calls,
        "max_tokens"?: max_tokens,
        "temperature"?: sampling.temperature,
        "top_p"?: sampling.top_p,
        "frequency_penalty"?: sampling.frequency_penalty,
        "presence_penalty"?: sampling.presence_penalty,
        "response_format"?: response_format,
        "stop"?: options.stop_sequences.clone(),
        "seed"?: options.seed.clone(),
        "verbosity"?: own.text_verbosity,
        "max_completion_tokens"?: max_completion_tokens,
        "store"?: own.store,
        "metadata"?: own.metadata,
        "prediction"?: own.prediction,
        "reasoning_effort"?: effort,
        "service_tier"?: service_tier,
        "prompt_cache_key"?: own.prompt_cache_key,
        "prompt_cache_options"?: own.prompt_cache_options,
        "prompt_cache_retention"?: retention,
        "safety_identifier"?: own.safety_identifier,
        "messages": messages,
        "tools"?: prepared.tools,
        "tool_choice"?: prepared.choice,
    };
    Ok(Request::new("/v1/chat/completions", body))
}

/// The options under `providerOptions.openai`.
struct ChatOptions {
    logit_bias: Option<Json>,
    logprobs: Option<Json>,
    parallel_tool_calls: Option<bool>,
    user: Option<Text>,
    reasoning_effort: Option<&'static str>,
    max_completion_tokens: Option<Number>,
    store: Option<bool>,
    metadata: Option<Json>,
    prediction: Option<Object>,
    service_tier: Option<&'static str>,
    strict_json_schema: Option<bool>,
    text_verbosity: Option<&'static str>,
    prompt_cache_key: Option<Text>,
    prompt_cache_options: Option<Object>,
    prompt_cache_retention: Option<&'static str>,
    safety_identifier: Option<Text>,
    system_message_mode: Option<SystemMode>,
    force_reasoning: Option<bool>,
}

impl ChatOptions {
    fn read(options: &Options<'_>) -> Result<Self, SdkError> {
        options.read::<Map<Number>>("logitBias")?;
        let logprobs = options.raw("logprobs");
        if logprobs.is_some_and(|value| !matches!(value, Json::Bool(_) | Json::Number(_))) {
            return Err(options.invalid("logprobs must be true, false or a number"));
        }
        options.read::<Map<Text>>("metadata")?;
        let cache = options.nested("promptCacheOptions")?;
        Ok(ChatOptions {
            logit_bias: options.raw("logitBias").cloned(),
            logprobs: logprobs.cloned(),
            parallel_tool_calls: options.read("parallelToolCalls")?,
            user: options.read("user")?,
            reasoning_effort: options.word("reasoningEffort", EFFORTS)?,
            max_completion_tokens: options.read("maxCompletionTokens")?,
            store: options.read("store")?,
            metadata: options.raw("metadata").cloned(),
            prediction: options.read("prediction")?,
            service_tier: options.word("serviceTier", SERVICE_TIERS)?,
            strict_json_schema: options.read("strictJsonSchema")?,
            text_verbosity: options.word("textVerbosity", &["low", "medium", "high"])?,
            prompt_cache_key: options.read("promptCacheKey")?,
            prompt_cache_options: match cache {
                Some(cache) => Some(object! {
                    "mode"?: cache.word("mode", &["implicit", "explicit"])?,
                    "ttl"?: cache.word("ttl", &["30m"])?,
                }),
                None => None,
            },
            prompt_cache_retention: options.word("promptCacheRetention", &["in_memory", "24h"])?,
            safety_identifier: options.read("safetyIdentifier")?,
            system_message_mode: options.read("systemMessageMode")?,
            force_reasoning: options.read("forceReasoning")?,
        })
    }
}

/// Whether log probabilities are asked for: `true` or any number.
fn wants_logprobs(logprobs: &Json) -> bool {
    matches!(logprobs, Json::Bool(true) | Json::Number(_))
}

fn top_logprobs(logprobs: &Json) -> Option<Json> {
    match logprobs {
        Json::Number(_) => Some(logprobs.clone()),
        Json::Bool(true) => Some(Json::from(0_usize)),
        _ => None,
    }
}

fn reasoning_effort(call: &Call<'_>, own: &ChatOptions, model: &Model, log: &mut Log) -> Option<Text> {
    let reasoning = call.options.reasoning;
    let has_functions = tools::has_functions(call.options);
    if !model.chat_tools_with_reasoning && own.reasoning_effort.is_none() && has_functions {
        if reasoning.is_some_and(|reasoning| reasoning.is_custom() && reasoning.as_str() != "none") {
            let details = format!(
                "{} does not support function tools with reasoning in the Chat Completions API. reasoning effort \
                 set to \"none\". Use the Responses API to combine reasoning with function tools.",
                call.model
            );
            log.warn(Warning::compatibility("reasoning", details));
        }
        return Some("none".into());
    }
    // Only the Responses API has the effort `max` for models whose efforts are known.
    let efforts: Vec<_> = match model.efforts {
        Some(known) => known
            .iter()
            .filter(|effort| **effort != "max")
            .map(|effort| (*effort, *effort))
            .collect(),
        None => EFFORTS.iter().map(|effort| (*effort, *effort)).collect(),
    };
    common::reasoning_effort(
        reasoning,
        &efforts,
        own.reasoning_effort.map(Text::from),
        &mut |warning| {
            log.warn(warning);
        },
    )
}

fn response_format(format: &JsonFormat, strict: Option<bool>, log: &mut Log) -> Result<Object, SdkError> {
    let Some(schema) = &format.schema else {
        return Ok(object! { "type": "json_object" });
    };
    let (schema, warnings) = schema::normalize(&schema.into())?;
    log.warn_all(warnings);
    Ok(object! {
        "type": "json_schema",
        "json_schema": object! {
            "schema": schema,
            "strict": strict.unwrap_or(true),
            "name": format.name.clone().unwrap_or_else(|| "response".into()),
            "description"?: format.description.clone(),
        },
    })
}

/// The settings that reasoning models do not take.
struct Sampling {
    logit_bias: Option<Json>,
    logprobs: bool,
    top_logprobs: Option<Json>,
    temperature: Option<Number>,
    top_p: Option<Number>,
    frequency_penalty: Option<Number>,
    presence_penalty: Option<Number>,
}

impl Sampling {
    fn drop_for_reasoning(&mut self, keeps_sampling: bool, log: &mut Log) {
        if !keeps_sampling {
            if self.temperature.take().is_some() {
                log.warn(not_for_reasoning("temperature"));
            }
            if self.top_p.take().is_some() {
                log.warn(not_for_reasoning("topP"));
            }
            if std::mem::take(&mut self.logprobs) {
                log.warn(Warning::other("logprobs is not supported for reasoning models"));
            }
        }
        if self.frequency_penalty.take().is_some() {
            log.warn(not_for_reasoning("frequencyPenalty"));
        }
        if self.presence_penalty.take().is_some() {
            log.warn(not_for_reasoning("presencePenalty"));
        }
        if self.logit_bias.take().is_some() {
            log.warn(Warning::other("logitBias is not supported for reasoning models"));
        }
        if self.top_logprobs.take().is_some() {
            log.warn(Warning::other(
                "topLogprobs is not supported for reasoning models",
            ));
        }
    }
}

fn messages(call: &Call<'_>, mode: SystemMode, log: &mut Log) -> Result<Vec<Object>, SdkError> {
    let mut messages = Vec::with_capacity(call.prompt.messages().len());
    for (at, message) in call.prompt.messages().iter().enumerate() {
        let name = Options::of(message.provider_options(), PROVIDER).read::<Text>("name")?;
        match message {
            Message::System(_) if mode == SystemMode::Remove => {
                log.warn(Warning::other("system messages are removed for this model"));
                log.dropped(
                    common::message_path(at),
                    "system messages are removed for this model",
                );
            }
            Message::System(message) => messages.push(object! {
                "role": mode.as_str(),
                "name"?: name,
                "content": marked_text(&message.content, cache_breakpoint(message.provider_options.as_ref())),
            }),
            Message::User(message) => messages.push(user_message(message, name)?),
            Message::Assistant(message) => messages.push(assistant_message(at, message, name, log)),
            Message::Tool(message) => {
                if name.is_some() {
                    log.warn(Warning::unsupported("message name on tool messages"));
                }
                tool_messages(at, message, call, &mut messages, log);
            }
        }
    }
    Ok(messages)
}

/// Text as content: plain, or in the array form if the cache shall end behind it.
fn marked_text(text: &Text, mark: Option<&Json>) -> Json {
    match mark {
        None => text.into(),
        Some(mark) => vec![object! { "type": "text", "text": text, "prompt_cache_breakpoint": mark }].into(),
    }
}

fn user_message(message: &UserMessage, name: Option<Text>) -> Result<Object, SdkError> {
    if let Some(part) = chat::only_text(message)
        && cache_breakpoint(part.provider_options.as_ref()).is_none()
    {
        return Ok(object! { "role": "user", "content": &part.text, "name"?: name });
    }
    let mut content = Vec::with_capacity(message.content.len());
    for (index, part) in message.content.iter().enumerate() {
        let (mut converted, options) = match part {
            UserPart::Text(part) => (
                object! { "type": "text", "text": &part.text },
                part.provider_options.as_ref(),
            ),
            UserPart::File(part) => (file_part(index, part)?, part.provider_options.as_ref()),
        };
        converted.insert_some("prompt_cache_breakpoint", cache_breakpoint(options));
        content.push(converted);
    }
    Ok(object! { "role": "user", "name"?: name, "content": content })
}

fn file_part(index: usize, part: &FilePart) -> Result<Object, SdkError> {
    let top_level = common::top_level(&part.media_type);
    let inline = match &part.data {
        FileData::Reference(file) => {
            let id = media_type::resolve_reference(&file.reference, PROVIDER)?;
            return Ok(object! { "type": "file", "file": object! { "file_id": id } });
        }
        FileData::Text(_) => return Err(SdkError::unsupported("text file parts")),
        FileData::Url(file) if top_level == "image" => {
            return Ok(image_part(file.url.to_text(), part));
        }
        FileData::Url(_) if top_level == "audio" => {
            return Err(SdkError::unsupported("audio file parts with URLs"));
        }
        FileData::Url(_) => {
            let full = media_type::resolve(&part.media_type, &part.data)?;
            return Err(match &*full {
                "application/pdf" => SdkError::unsupported("PDF file parts with URLs"),
                _ => common::unsupported_media_type(&full),
            });
        }
        FileData::Data(file) => &file.data,
    };
    let full = media_type::resolve(&part.media_type, &part.data)?;
    match (top_level, &*full) {
        ("image", _) => Ok(image_part(data_url(&full, inline), part)),
        ("audio", "audio/wav" | "audio/mp3" | "audio/mpeg") => {
            let format = if &*full == "audio/wav" { "wav" } else { "mp3" };
            let audio = object! { "data": inline.to_base64(), "format": format };
            Ok(object! { "type": "input_audio", "input_audio": audio })
        }
        ("audio", _) => Err(SdkError::unsupported(format!(
            "audio content parts with media type {full}"
        ))),
        (_, "application/pdf") => {
            let filename = part
                .filename
                .clone()
                .unwrap_or_else(|| format!("part-{index}.pdf").into());
            let file = object! { "filename": filename, "file_data": data_url("application/pdf", inline) };
            Ok(object! { "type": "file", "file": file })
        }
        _ => Err(common::unsupported_media_type(&full)),
    }
}

fn image_part(url: Text, part: &FilePart) -> Object {
    let detail = part
        .provider_options
        .as_ref()
        .and_then(|options| options.get(PROVIDER)?.get("imageDetail"));
    object! { "type": "image_url", "image_url": object! { "url": url, "detail"?: detail } }
}

fn assistant_message(at: usize, message: &AssistantMessage, name: Option<Text>, log: &mut Log) -> Object {
    let mut text = String::new();
    let mut parts = Vec::new();
    let mut is_marked = false;
    let mut tool_calls = Vec::new();
    for (index, part) in message.content.iter().enumerate() {
        match part {
            AssistantPart::Text(part) => {
                let mark = cache_breakpoint(part.provider_options.as_ref());
                is_marked |= mark.is_some();
                text.push_str(&part.text);
                parts.push(object! { "type": "text", "text": &part.text, "prompt_cache_breakpoint"?: mark });
            }
            AssistantPart::ToolCall(part) => {
                let arguments = arguments_object_text(part.input.as_ref());
                if &*arguments == "{}" && !matches!(&part.input, Some(Json::Object(_))) {
                    log.changed(
                        part_path(at, index).join("input"),
                        "input that is no JSON object is sent as {}",
                    );
                }
                tool_calls.push(chat::tool_call(part, Some(arguments)));
            }
            other => log.dropped(
                part_path(at, index),
                format!(
                    "the chat API has no place for the part {:?} of an assistant message",
                    other.tag()
                ),
            ),
        }
    }
    let content = if is_marked {
        Json::from(parts)
    } else if text.is_empty() && !tool_calls.is_empty() {
        Json::Null
    } else {
        Json::from(text)
    };
    object! {
        "role": "assistant",
        "name"?: name,
        "content": content,
        "tool_calls"?: (!tool_calls.is_empty()).then_some(tool_calls),
    }
}

fn tool_messages(
    at: usize,
    message: &ToolMessage,
    call: &Call<'_>,
    messages: &mut Vec<Object>,
    log: &mut Log,
) {
    for (index, part) in chat::results(at, message, log) {
        let on_output = match &part.output {
            ToolOutput::Content(output) => {
                let path = part_path(at, index).join("output");
                log.changed(
                    path,
                    "content is sent as JSON text, so the model sees no files in it",
                );
                output
                    .value
                    .iter()
                    .find_map(|item| cache_breakpoint(item.provider_options()))
            }
            output => cache_breakpoint(output.provider_options()),
        };
        let mark = on_output.or_else(|| cache_breakpoint(part.provider_options.as_ref()));
        let text = output_text(&part.output, ErrorText::Wrapped, call.profile);
        messages.push(object! {
            "role": "tool",
            "tool_call_id": &part.tool_call_id,
            "content": marked_text(&text, mark),
        });
    }
}

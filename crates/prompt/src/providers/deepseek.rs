//! DeepSeek: `POST /v1/chat/completions`.
//!
//! Images in four formats are the only files; any other user file is dropped with a warning. Older models
//! must not see thoughts from before the last user message; V4 models must see a thought, if an empty one,
//! in every assistant message. Settings: `baseURL`; one that ends in `/beta` allows assistant prefixes
//! and strict tools.
//!
//! Known faults, mended in the fixed profile: the input of a tool call that is JSON text already is
//! quoted once more; the level of reasoning `max` is not known.

use super::chat;
use super::common::{
    self, ErrorText, arguments_stringified, data_url, item_path, message_path, output_text, part_path,
};
use super::options::Options;
use super::{Call, Log, Profile, Request, Target};
use crate::error::SdkError;
use crate::json::{Json, Number, Object, Text, object};
use crate::media_type;
use crate::types::generate::DeprecatedWarning;
use crate::types::prompt::{AssistantMessage, ToolMessage, UserMessage};
use crate::types::{
    CallOptions, ContentItem, FileData, Message, ProviderOptions, Reasoning, Tool, ToolOutput, UserPart,
    Warning,
};

/// The chat API.
pub const CHAT: Target = Target {
    provider: "deepseek",
    api: "chat",
    build,
};

const PROVIDER: &str = "deepseek";

/// The longest image URL, in UTF-16 units.
const MAX_URL: usize = 8192;

fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let own = OwnOptions::read(&Options::of(options.provider_options.as_ref(), PROVIDER))?;
    let base_url = call
        .settings
        .get("baseURL")
        .and_then(Json::as_str)
        .unwrap_or_default();
    let converter = Converter {
        call,
        is_v4: is_v4(call.model),
        is_beta: base_url.trim_end_matches('/').ends_with("/beta"),
    };
    let messages = converter.messages(log)?;
    log.unsupported([
        ("topK", options.top_k.is_some()),
        ("seed", options.seed.is_some()),
    ]);
    for (setting, is_set) in [
        ("frequencyPenalty", options.frequency_penalty.is_some()),
        ("presencePenalty", options.presence_penalty.is_some()),
    ] {
        if is_set {
            let message = format!(
                "{setting} is deprecated by DeepSeek and has been omitted. Remove {setting} from the request."
            );
            log.warn(DeprecatedWarning::new(setting, message).into());
        }
    }
    check_strict(options, converter.is_beta)?;
    let tools = chat::tools(options, |tool| Err(chat::no_such_tool(tool)));
    let thinking = own.thinking(options.reasoning, log);
    let thinks = match thinking {
        Some(kind) => kind != "disabled",
        None => call.model == "deepseek-reasoner" || converter.is_v4,
    };
    let mut sample = |feature: &str, value: &Option<Number>| {
        if thinks && value.is_some() {
            let details = format!(
                "{feature} has no effect when DeepSeek thinking is enabled. Set \
                 providerOptions.deepseek.thinking.type to 'disabled' to use {feature}."
            );
            log.warn(Warning::unsupported_because(feature, details));
        }
        value.clone().filter(|_| !thinks)
    };
    let temperature = sample("temperature", &options.temperature);
    let top_p = sample("topP", &options.top_p);
    let effort = own.effort(options.reasoning, call.profile, log);
    let body = object! {
        "model": call.model,
        "logprobs"?: (own.logprobs == Some(true) || own.top_logprobs.is_some()).then_some(true),
        "top_logprobs"?: own.top_logprobs,
        "max_tokens"?: options.max_output_tokens.clone(),
        "temperature"?: temperature,
        "top_p"?: top_p,
        "response_format"?: chat::json_format(options).map(|_| object! { "type": "json_object" }),
        "stop"?: options.stop_sequences.clone(),
        "messages": messages,
        "tools"?: tools.tools,
        "tool_choice"?: tools.choice,
        "thinking"?: thinking.map(|kind| object! { "type": kind }),
        "user_id"?: own.user_id,
        "reasoning_effort"?: effort.filter(|_| thinking != Some("disabled")),
    };
    log.warn_all(tools.warnings);
    Ok(Request::new("/v1/chat/completions", body))
}

/// Whether the model is of the fourth generation, which thinks by default.
fn is_v4(model: &str) -> bool {
    model.contains("deepseek-v4") || model.starts_with("deepseek-flash") || model.starts_with("deepseek-pro")
}

/// The options under `providerOptions.deepseek`.
struct OwnOptions {
    logprobs: Option<bool>,
    top_logprobs: Option<Number>,
    user_id: Option<Text>,
    thinking: Option<&'static str>,
    effort: Option<&'static str>,
}

impl OwnOptions {
    fn read(options: &Options<'_>) -> Result<Self, SdkError> {
        let top_logprobs = options.read::<Number>("topLogprobs")?;
        if top_logprobs
            .as_ref()
            .is_some_and(|number| !matches!(number.as_i64(), Some(0..=20)))
        {
            return Err(options.invalid("topLogprobs must be a whole number from 0 to 20"));
        }
        let user_id = options.read::<Text>("userId")?;
        let is_id = |text: &Text| {
            (1..=512).contains(&text.len())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        if user_id.as_ref().is_some_and(|id| !is_id(id)) {
            return Err(options.invalid("userId must be 1 to 512 letters, digits, _ or -"));
        }
        options.read::<bool>("strictJsonSchema")?;
        Ok(OwnOptions {
            logprobs: options.read("logprobs")?,
            top_logprobs,
            user_id,
            thinking: match options.nested("thinking")? {
                Some(thinking) => thinking.word("type", &["adaptive", "enabled", "disabled"])?,
                None => None,
            },
            effort: options.word("reasoningEffort", &["low", "medium", "high", "xhigh", "max"])?,
        })
    }

    fn thinking(&self, reasoning: Option<Reasoning>, log: &mut Log) -> Option<&'static str> {
        match (self.thinking, reasoning) {
            (Some("adaptive"), _) => {
                log.warn(Warning::compatibility(
                    "thinking.type",
                    "thinking.type \"adaptive\" is not a canonical DeepSeek value. mapped to \"enabled\".",
                ));
                Some("enabled")
            }
            (Some(kind), _) => Some(kind),
            (None, Some(Reasoning::None)) => Some("disabled"),
            (None, Some(level)) if level.is_custom() => Some("enabled"),
            _ => None,
        }
    }

    fn effort(&self, reasoning: Option<Reasoning>, profile: Profile, log: &mut Log) -> Option<Text> {
        let Some(own) = self.effort else {
            let wanted = reasoning.filter(|level| *level != Reasoning::None);
            let efforts = [
                ("minimal", "low"),
                ("low", "low"),
                ("medium", "high"),
                ("high", "high"),
                ("xhigh", "max"),
            ];
            let mut warn = |warning| log.warn(warning);
            let wanted = common::without_max(wanted, profile, &mut warn);
            return common::reasoning_effort(wanted, &efforts, None, &mut warn);
        };
        let mapped = match own {
            "medium" => "high",
            "xhigh" => "max",
            other => other,
        };
        if mapped != own {
            let details = format!(
                "reasoningEffort \"{own}\" is not a canonical DeepSeek value. mapped to \"{mapped}\"."
            );
            log.warn(Warning::compatibility("reasoningEffort", details));
        }
        Some(mapped.into())
    }
}

/// Strict tools need the beta API, and all function tools must then be strict.
fn check_strict(options: &CallOptions, is_beta: bool) -> Result<(), SdkError> {
    let strict: Vec<bool> = options
        .tools
        .iter()
        .flatten()
        .filter_map(|tool| match tool {
            Tool::Function(tool) => Some(tool.strict == Some(true)),
            Tool::Provider(_) => None,
        })
        .collect();
    if !strict.contains(&true) {
        return Ok(());
    }
    let (functionality, message) = if !is_beta {
        (
            "DeepSeek strict tool calls",
            "DeepSeek strict tool calls require a beta base URL ending in `/beta`.",
        )
    } else if strict.contains(&false) {
        (
            "mixed DeepSeek strict and non-strict tool calls",
            "DeepSeek strict mode requires every function tool in the request to set `strict: true`.",
        )
    } else {
        return Ok(());
    };
    Err(SdkError::UnsupportedBecause {
        functionality: functionality.to_owned(),
        message: message.to_owned(),
    })
}

struct Converter<'a> {
    call: &'a Call<'a>,
    is_v4: bool,
    is_beta: bool,
}

impl Converter<'_> {
    fn messages(&self, log: &mut Log) -> Result<Vec<Object>, SdkError> {
        let prompt = self.call.prompt.messages();
        let mut messages = Vec::with_capacity(prompt.len() + 1);
        if let Some(format) = chat::json_format(self.call.options) {
            // The API has a JSON mode but takes no schema, so the model is told in words.
            let instruction = match &format.schema {
                None => "Return JSON.".to_owned(),
                Some(schema) => {
                    log.warn(Warning::compatibility(
                        "responseFormat JSON schema",
                        "JSON response schema is injected into the system message.",
                    ));
                    format!(
                        "Return JSON that conforms to the following schema: {}",
                        Json::from(schema).to_js()
                    )
                }
            };
            messages.push(object! { "role": "system", "content": instruction });
        }
        let last_user = prompt
            .iter()
            .rposition(|message| matches!(message, Message::User(_)));
        for (at, message) in prompt.iter().enumerate() {
            let options = Options::of(message.provider_options(), PROVIDER);
            let name = options.read::<Text>("name")?;
            let has_prefix = is_true(&options, "prefix")?;
            if has_prefix && !matches!(message, Message::Assistant(_)) {
                return Err(SdkError::InvalidPrompt(
                    "DeepSeek assistant prefix completion requires `prefix: true` on an assistant message."
                        .to_owned(),
                ));
            }
            match message {
                Message::System(message) => {
                    messages.push(object! { "role": "system", "content": &message.content, "name"?: name });
                }
                Message::User(message) => {
                    let content = user_content(at, message, log)?;
                    messages.push(object! { "role": "user", "content": content, "name"?: name });
                }
                Message::Assistant(message) => {
                    if has_prefix {
                        self.check_prefix(at == prompt.len() - 1)?;
                    }
                    let keeps_reasoning = self.is_v4 || last_user.is_none_or(|last| at > last);
                    messages.push(self.assistant(at, message, keeps_reasoning, name, has_prefix, log));
                }
                Message::Tool(message) => {
                    if name.is_some() {
                        log.warn(Warning::unsupported("message name on tool messages"));
                        log.dropped(
                            message_path(at).join("providerOptions"),
                            "tool messages have no name",
                        );
                    }
                    self.tool(at, message, &mut messages, log)?;
                }
            }
        }
        Ok(messages)
    }

    fn check_prefix(&self, is_last: bool) -> Result<(), SdkError> {
        if !is_last {
            return Err(SdkError::InvalidPrompt(
                "DeepSeek assistant prefix completion requires the prefixed assistant message to be the final message."
                    .to_owned(),
            ));
        }
        if !self.is_beta {
            return Err(SdkError::UnsupportedBecause {
                functionality: "DeepSeek assistant prefix completion".to_owned(),
                message: "DeepSeek assistant prefix completion requires a beta base URL ending in `/beta`."
                    .to_owned(),
            });
        }
        Ok(())
    }

    fn assistant(
        &self,
        at: usize,
        message: &AssistantMessage,
        keeps_reasoning: bool,
        name: Option<Text>,
        has_prefix: bool,
        log: &mut Log,
    ) -> Object {
        let profile = self.call.profile;
        let mut said = chat::said(at, message, keeps_reasoning, log, |part| {
            chat::tool_call(part, arguments_stringified(part.input.as_ref(), profile))
        });
        let calls = said.take_calls();
        object! {
            "role": "assistant",
            "content": said.text,
            "name"?: name,
            "prefix"?: has_prefix.then_some(true),
            "reasoning_content"?: said.reasoning.or_else(|| self.is_v4.then(String::new)),
            "tool_calls"?: calls,
        }
    }

    fn tool(
        &self,
        at: usize,
        message: &ToolMessage,
        messages: &mut Vec<Object>,
        log: &mut Log,
    ) -> Result<(), SdkError> {
        for (index, part) in chat::results(at, message, log) {
            let content = match &part.output {
                ToolOutput::Content(output) if output.value.iter().any(is_image_item) => {
                    result_parts(at, index, &output.value, log)?.into()
                }
                ToolOutput::Content(_) => chat::result_text(at, index, part, self.call.profile, log).into(),
                output => Json::from(output_text(output, ErrorText::Raw, self.call.profile)),
            };
            messages.push(object! { "role": "tool", "tool_call_id": &part.tool_call_id, "content": content });
        }
        Ok(())
    }
}

/// An option that may only be `true`.
fn is_true(options: &Options<'_>, key: &'static str) -> Result<bool, SdkError> {
    match options.raw(key) {
        None => Ok(false),
        Some(Json::Bool(true)) => Ok(true),
        Some(_) => Err(options.invalid(format!("{key} may only be true"))),
    }
}

/// Whether a file is an image in a form that can be sent as one.
fn is_image(media_type: &Text, data: &FileData) -> bool {
    !matches!(data, FileData::Text(_)) && common::top_level(media_type) == "image"
}

fn is_image_item(item: &ContentItem) -> bool {
    matches!(item, ContentItem::File(item) if is_image(&item.media_type, &item.data))
}

/// The content of a user message: joined text, or parts if there is an image.
fn user_content(at: usize, message: &UserMessage, log: &mut Log) -> Result<Json, SdkError> {
    let has_image = message
        .content
        .iter()
        .any(|part| matches!(part, UserPart::File(part) if is_image(&part.media_type, &part.data)));
    let mut text = String::new();
    let mut parts = Vec::new();
    for (index, part) in message.content.iter().enumerate() {
        match part {
            UserPart::Text(part) if has_image => parts.push(object! { "type": "text", "text": &part.text }),
            UserPart::Text(part) => text.push_str(&part.text),
            UserPart::File(part) => {
                if has_image && common::top_level(&part.media_type) == "image" {
                    let options = ImageOptions::read(part.provider_options.as_ref())?;
                    if let Some(image) =
                        image(&part.media_type, &part.data, part.filename.as_ref(), &options)?
                    {
                        parts.push(image);
                        continue;
                    }
                }
                log.dropped(part_path(at, index), "images are the only files");
                log.warn(Warning::unsupported("user message part type: file"));
            }
        }
    }
    Ok(if has_image { parts.into() } else { text.into() })
}

/// The options of an image.
#[derive(Default)]
struct ImageOptions {
    detail: Option<&'static str>,
    as_file: bool,
}

impl ImageOptions {
    fn read(options: Option<&ProviderOptions>) -> Result<Self, SdkError> {
        let options = Options::of(options, PROVIDER);
        Ok(ImageOptions {
            detail: options.word("imageDetail", &["low", "high", "original", "auto"])?,
            as_file: is_true(&options, "fileData")?,
        })
    }
}

/// An image as a part; nothing for data that cannot be one.
fn image(
    media_type: &Text,
    data: &FileData,
    filename: Option<&Text>,
    options: &ImageOptions,
) -> Result<Option<Object>, SdkError> {
    let url = match data {
        FileData::Text(_) => return Ok(None),
        FileData::Reference(file) => {
            let id = media_type::resolve_reference(&file.reference, PROVIDER)?;
            return Ok(Some(object! { "type": "file", "file_id": id }));
        }
        FileData::Url(file) => {
            image_type(media_type, data)?;
            let url = file.url.to_text();
            if url.encode_utf16().count() > MAX_URL {
                return Err(SdkError::InvalidPrompt(
                    "DeepSeek image URLs must not exceed 8192 characters.".to_owned(),
                ));
            }
            if options.as_file {
                return Err(SdkError::InvalidPrompt(
                    "DeepSeek `fileData` image parts require inline data, not a URL.".to_owned(),
                ));
            }
            url
        }
        FileData::Data(file) => {
            let url = data_url(&image_type(media_type, data)?, &file.data);
            if options.as_file {
                if options.detail.is_some() {
                    return Err(SdkError::InvalidPrompt(
                        "DeepSeek `imageDetail` cannot be combined with `fileData`.".to_owned(),
                    ));
                }
                return Ok(Some(
                    object! { "type": "file", "file_data": url, "filename"?: filename },
                ));
            }
            url
        }
    };
    Ok(Some(
        object! { "type": "image_url", "image_url": object! { "url": url, "detail"?: options.detail } },
    ))
}

/// The full media type of an image, if DeepSeek takes it.
fn image_type(media_type: &Text, data: &FileData) -> Result<Text, SdkError> {
    let full = media_type::resolve(media_type, data)?;
    match &*full {
        "image/jpg" => Ok("image/jpeg".into()),
        "image/gif" | "image/jpeg" | "image/png" | "image/webp" => Ok(full),
        _ => Err(SdkError::UnsupportedBecause {
            functionality: format!("DeepSeek image media type {full}"),
            message: "DeepSeek supports JPEG, PNG, GIF, and WebP image inputs.".to_owned(),
        }),
    }
}

/// A tool result with an image, as parts.
fn result_parts(
    at: usize,
    index: usize,
    items: &[ContentItem],
    log: &mut Log,
) -> Result<Vec<Object>, SdkError> {
    let mut parts = Vec::with_capacity(items.len());
    for (item_index, item) in items.iter().enumerate() {
        let tag = item.tag();
        match item {
            ContentItem::Text(item) => parts.push(object! { "type": "text", "text": &item.text }),
            ContentItem::File(item) if is_image(&item.media_type, &item.data) => {
                // References have no options; of the others only the detail counts here.
                let options = match &item.data {
                    FileData::Reference(_) => ImageOptions::default(),
                    _ => ImageOptions {
                        as_file: false,
                        ..ImageOptions::read(item.provider_options.as_ref())?
                    },
                };
                parts.extend(image(&item.media_type, &item.data, None, &options)?);
            }
            _ => {
                log.dropped(
                    item_path(at, index, item_index),
                    "a tool result with an image holds text and images only",
                );
                log.warn(Warning::unsupported(format!(
                    "tool result content part type: {tag}"
                )));
            }
        }
    }
    Ok(parts)
}

//! Any API that speaks OpenAI's chat completions: `POST {base}/chat/completions`.
//!
//! Provider options under `openaiCompatible` are spread into what they stand on; those of the call under
//! the provider's own name go into the body as they are. Settings: `name` (the provider's name, by which
//! file references and options are found; `acme` if absent, as in the recorded calls),
//! `supportsStructuredOutputs`, `supportsMultiPartToolContent`, `basePath`.
//!
//! Known faults, mended in the fixed profile: a user message of one text part loses the message's own
//! options.

use super::chat::{self, Said};
use super::common::{self, arguments_text, data_url};
use super::options::Options;
use super::{Call, Log, Profile, Request, Target};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::types::call::JsonFormat;
use crate::types::generate::DeprecatedWarning;
use crate::types::output::FileItem;
use crate::types::prompt::{AssistantMessage, FilePart, ToolCallPart, ToolMessage, UserMessage};
use crate::types::{
    ContentItem, FileData, Message, ProviderOptions, ToolOutput, UserPart, Warning, provider_option,
};

/// The chat API.
pub const CHAT: Target = Target {
    provider: "openai-compatible",
    api: "chat",
    build,
};

/// The key of options that are spread into parts and messages.
const SPREAD: &str = "openaiCompatible";

/// Options of the call that the SDK knows; all others are passed on.
const KNOWN: [&str; 4] = ["user", "reasoningEffort", "textVerbosity", "strictJsonSchema"];

fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let setting = |key: &str| call.settings.get(key);
    let flag = |key: &str| setting(key).and_then(Json::as_bool) == Some(true);
    let name = setting("name").and_then(Json::as_str).unwrap_or("acme");
    let camel = camel_case(name);
    let own = CompatibleOptions::read(options.provider_options.as_ref(), name, &camel, log)?;
    let structured = flag("supportsStructuredOutputs");

    if options.top_k.is_some() {
        log.warn(Warning::unsupported("topK"));
    }
    let format = chat::json_format(options);
    if format.is_some_and(|format: &JsonFormat| format.schema.is_some()) && !structured {
        log.warn(Warning::unsupported_because(
            "responseFormat",
            "JSON response format schema is only supported with structuredOutputs",
        ));
    }
    let tools = chat::tools(options, |tool| Err(chat::no_such_tool(tool)));
    let is_camel = camel != name
        && options
            .provider_options
            .as_ref()
            .is_some_and(|all| all.get(&camel).is_some());
    let converter = Converter {
        provider: name,
        options_key: if is_camel { &camel } else { name },
        multi_part_results: flag("supportsMultiPartToolContent"),
        profile: call.profile,
    };
    let mut body = object! {
        "model": call.model,
        "user"?: own.user,
        "max_tokens"?: options.max_output_tokens.clone(),
        "temperature"?: options.temperature.clone(),
        "top_p"?: options.top_p.clone(),
        "frequency_penalty"?: options.frequency_penalty.clone(),
        "presence_penalty"?: options.presence_penalty.clone(),
        "response_format"?: format
            .map(|format| chat::response_format(format, structured, own.strict_json_schema.unwrap_or(true))),
        "stop"?: options.stop_sequences.clone(),
        "seed"?: options.seed.clone(),
    };
    body.extend_from(&own.passed_on);
    let level = options
        .reasoning
        .filter(|level| level.is_custom())
        .map(|level| Json::from(level.as_str()));
    body.insert_some("reasoning_effort", own.reasoning_effort.or(level));
    body.insert_some("verbosity", own.text_verbosity);
    body.insert("messages", converter.messages(call, log)?);
    body.insert_some("tools", tools.tools);
    body.insert_some("tool_choice", tools.choice);
    log.warn_all(tools.warnings);
    let base = setting("basePath").and_then(Json::as_str).unwrap_or("/v1");
    Ok(Request::new(format!("{base}/chat/completions"), body))
}

/// The options of a call, from all keys under which they may stand; later keys win.
#[derive(Default)]
struct CompatibleOptions {
    user: Option<Text>,
    /// `null` is sent as `null`.
    reasoning_effort: Option<Json>,
    text_verbosity: Option<Text>,
    strict_json_schema: Option<bool>,
    passed_on: Object,
}

impl CompatibleOptions {
    fn read(
        options: Option<&ProviderOptions>,
        name: &str,
        camel: &str,
        log: &mut Log,
    ) -> Result<Self, SdkError> {
        let mut own = CompatibleOptions::default();
        for key in ["openai-compatible", SPREAD, name, camel] {
            let options = Options::of(options, key);
            own.user = options.read("user")?.or(own.user);
            if let Some(effort) = options.raw("reasoningEffort") {
                options.nullish::<Text>("reasoningEffort")?;
                own.reasoning_effort = Some(effort.clone());
            }
            own.text_verbosity = options.read("textVerbosity")?.or(own.text_verbosity);
            own.strict_json_schema = options.read("strictJsonSchema")?.or(own.strict_json_schema);
        }
        let is_given = |key: &str| options.is_some_and(|options| options.get(key).is_some());
        let mut deprecate = |key: &str, instead: &str| {
            let setting = format!("providerOptions key '{key}'");
            log.warn(DeprecatedWarning::new(setting, format!("Use '{instead}' instead.")).into());
        };
        if is_given("openai-compatible") {
            deprecate("openai-compatible", SPREAD);
        }
        if camel != name && is_given(name) {
            deprecate(name, camel);
        }
        for key in [name, camel] {
            let given = options
                .and_then(|options| options.get(key))
                .into_iter()
                .flat_map(Object::iter);
            for (key, value) in given.filter(|(key, _)| !KNOWN.contains(key)) {
                own.passed_on.insert(key, value);
            }
        }
        Ok(own)
    }
}

/// `my-provider_x` → `myProviderX`, as JavaScript would name it.
fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(character) = chars.next() {
        match chars.peek() {
            Some(next) if matches!(character, '-' | '_') && next.is_ascii_lowercase() => {
                camel.push(next.to_ascii_uppercase());
                chars.next();
            }
            _ => camel.push(character),
        }
    }
    camel
}

struct Converter<'a> {
    provider: &'a str,
    /// Where a thought signature for Gemini behind this API is looked for.
    options_key: &'a str,
    multi_part_results: bool,
    profile: Profile,
}

impl Converter<'_> {
    fn messages(&self, call: &Call<'_>, log: &mut Log) -> Result<Vec<Object>, SdkError> {
        let mut messages = Vec::with_capacity(call.prompt.messages().len());
        for (at, message) in call.prompt.messages().iter().enumerate() {
            match message {
                Message::System(message) => messages.push(spread(
                    object! { "role": "system", "content": &message.content },
                    message.provider_options.as_ref(),
                )),
                Message::User(message) => messages.push(self.user(at, message, log)?),
                Message::Assistant(message) => messages.push(self.assistant(at, message, log)),
                Message::Tool(message) => self.tool(at, message, &mut messages, log)?,
            }
        }
        Ok(messages)
    }

    fn user(&self, at: usize, message: &UserMessage, log: &mut Log) -> Result<Object, SdkError> {
        let on_message = message.provider_options.as_ref();
        if let Some(part) = chat::only_text(message) {
            let mut user = object! { "role": "user", "content": &part.text };
            if self.profile == Profile::Fixed {
                user = spread(user, on_message);
            } else if on_message.is_some_and(|options| options.get(SPREAD).is_some()) {
                let path = common::message_path(at).join("providerOptions").join(SPREAD);
                log.dropped(
                    path,
                    "the options of a message with one text part are lost; those of the part are used",
                );
            }
            return Ok(spread(user, part.provider_options.as_ref()));
        }
        let mut content = Vec::with_capacity(message.content.len());
        for part in &message.content {
            content.push(match part {
                UserPart::Text(part) => text_part(&part.text, part.provider_options.as_ref()),
                UserPart::File(part) => self.file(part)?,
            });
        }
        Ok(spread(object! { "role": "user", "content": content }, on_message))
    }

    fn file(&self, part: &FilePart) -> Result<Object, SdkError> {
        let FilePart {
            media_type,
            data,
            filename,
            provider_options,
            ..
        } = part;
        let top_level = common::top_level(media_type);
        let converted = match (data, top_level) {
            (FileData::Reference(file), _) => {
                let id = media_type::resolve_reference(&file.reference, self.provider)?;
                object! { "type": "file", "file": object! { "file_id": id } }
            }
            (FileData::Text(file), "text") => object! { "type": "text", "text": &file.text },
            (FileData::Text(_), _) => return Err(SdkError::unsupported("text file parts")),
            (_, "image") => {
                object! { "type": "image_url", "image_url": object! { "url": link(media_type, data)? } }
            }
            (_, "video") => {
                object! { "type": "video_url", "video_url": object! { "url": link(media_type, data)? } }
            }
            (FileData::Url(_), "audio") => return Err(SdkError::unsupported("audio file parts with URLs")),
            (FileData::Url(_), "application") => {
                return Err(SdkError::unsupported("PDF file parts with URLs"));
            }
            (FileData::Url(file), "text") => object! { "type": "text", "text": file.url.to_text() },
            (FileData::Data(file), "audio") => {
                let full = media_type::resolve(media_type, data)?;
                let format = match &*full {
                    "audio/wav" => "wav",
                    "audio/mp3" | "audio/mpeg" => "mp3",
                    _ => return Err(SdkError::unsupported(format!("audio media type {full}"))),
                };
                let audio = object! { "data": file.data.to_base64(), "format": format };
                object! { "type": "input_audio", "input_audio": audio }
            }
            (FileData::Data(file), "application") => {
                let full = media_type::resolve(media_type, data)?;
                if &*full != "application/pdf" {
                    return Err(common::unsupported_media_type(&full));
                }
                let filename = filename.clone().unwrap_or_else(|| "document.pdf".into());
                let file = object! { "filename": filename, "file_data": data_url(&full, &file.data) };
                object! { "type": "file", "file": file }
            }
            (FileData::Data(file), "text") => {
                object! { "type": "text", "text": common::decoded(&file.data)? }
            }
            _ => return Err(common::unsupported_media_type(media_type)),
        };
        Ok(spread(converted, provider_options.as_ref()))
    }

    fn assistant(&self, at: usize, message: &AssistantMessage, log: &mut Log) -> Object {
        let mut said: Said = chat::said(at, message, true, log, |part| self.tool_call(part));
        let calls = said.take_calls();
        let content = match &calls {
            Some(_) if said.text.is_empty() => Json::Null,
            _ => Json::from(said.text),
        };
        let assistant = object! {
            "role": "assistant",
            "content": content,
            "reasoning_content"?: said.reasoning.filter(|reasoning| !reasoning.is_empty()),
            "tool_calls"?: calls,
        };
        spread(assistant, message.provider_options.as_ref())
    }

    fn tool_call(&self, part: &ToolCallPart) -> Object {
        let options = part.provider_options.as_ref();
        let mut call = spread(
            chat::tool_call(part, arguments_text(part.input.as_ref())),
            options,
        );
        let signature = provider_option(options, self.options_key, "thoughtSignature")
            .or_else(|| provider_option(options, "google", "thoughtSignature"));
        if let Some(signature) = signature.filter(|signature| signature.is_truthy()) {
            let signature = match signature {
                Json::String(text) => text.clone(),
                other => other.to_js().into(),
            };
            call.insert(
                "extra_content",
                object! { "google": object! { "thought_signature": signature } },
            );
        }
        call
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
                ToolOutput::Content(output) if self.multi_part_results => {
                    let items: Result<Vec<_>, _> = output.value.iter().map(|item| self.item(item)).collect();
                    Json::from(items?)
                }
                _ => chat::result_text(at, index, part, self.profile, log).into(),
            };
            let result = object! { "role": "tool", "tool_call_id": &part.tool_call_id, "content": content };
            messages.push(spread(result, part.provider_options.as_ref()));
        }
        Ok(())
    }

    fn item(&self, item: &ContentItem) -> Result<Object, SdkError> {
        match item {
            ContentItem::Text(item) => Ok(text_part(&item.text, item.provider_options.as_ref())),
            ContentItem::File(item) => self.file(&as_part(item)),
            ContentItem::Custom(_) => Err(SdkError::unsupported("custom tool content parts")),
        }
    }
}

/// A file item as the part it is converted like.
fn as_part(item: &FileItem) -> FilePart {
    FilePart {
        media_type: item.media_type.clone(),
        data: item.data.clone(),
        filename: item.filename.clone(),
        provider_options: item.provider_options.clone(),
        members: Default::default(),
    }
}

fn text_part(text: &Text, options: Option<&ProviderOptions>) -> Object {
    spread(object! { "type": "text", "text": text }, options)
}

/// Adds the options under `openaiCompatible`, which may also replace what stands there.
fn spread(mut object: Object, options: Option<&ProviderOptions>) -> Object {
    if let Some(options) = options.and_then(|options| options.get(SPREAD)) {
        object.extend_from(options);
    }
    object
}

/// A file as a URL: its own, or a data URL.
fn link(media_type: &Text, data: &FileData) -> Result<Text, SdkError> {
    match data {
        FileData::Url(file) => Ok(file.url.to_text()),
        FileData::Data(file) => Ok(data_url(&media_type::resolve(media_type, data)?, &file.data)),
        FileData::Reference(_) | FileData::Text(_) => Err(common::unsupported_media_type(media_type)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_camel_case_as_in_javascript() {
        assert_eq!(camel_case("my-provider_x"), "myProviderX");
        assert_eq!(camel_case("a-1--b"), "a-1-B");
    }
}

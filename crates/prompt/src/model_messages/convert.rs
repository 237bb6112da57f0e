//! Model messages to a prompt, in the order of the SDK's steps, since the first error wins.
//!
//! The SDK downloads what a model cannot fetch by itself in the middle of the conversion. This crate
//! does no I/O, so there are two steps: [`ToPrompt::wanted_downloads`] says what would be fetched, and
//! [`ToPrompt::convert`] takes what came of it.

use std::sync::Arc;

use indexmap::IndexSet;

use super::downloads::Downloads;
use super::file_data::{Normalized, normalize};
use super::lenient::{js_string, member, merge, read, role, some, str_of, tag, type_error};
use super::tool_output::convert_output;
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type::{self, SupportedUrls};
use crate::path::Path;
use crate::typed::{Members, Typed};
use crate::types::file::DataFile;
use crate::types::generate::DeprecatedWarning;
use crate::types::output::ContentItem;
use crate::types::prompt::{
    ApprovalResponsePart, AssistantMessage, FilePart, ReasoningFilePart, SystemMessage, TextPart,
    ToolMessage, ToolResultPart, UserMessage,
};
use crate::types::{
    AssistantPart, FileData, Inline, Message, Prompt, ProviderOptions, StoredData, ToolOutput, ToolPart,
    UserPart, Warning,
};

/// What the model is told before the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Instructions {
    /// One text.
    Text(Text),
    /// System messages, with their provider options.
    Messages(Vec<SystemMessage>),
}

/// Model messages that are to become a prompt.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::media_type::SupportedUrls;
/// use tapline_prompt::model_messages::{Downloads, ToPrompt};
/// use tapline_prompt::typed::Typed;
///
/// let messages = [Json::parse(r#"{"role":"user","content":"Hi"}"#)?];
/// let to_prompt = ToPrompt {
///     instructions: None,
///     messages: &messages,
///     supported_urls: &SupportedUrls::default(),
///     provider: None,
/// };
/// assert!(to_prompt.wanted_downloads()?.is_empty());
/// let converted = to_prompt.convert(&Downloads::default())?;
/// assert_eq!(
///     converted.prompt.to_json().to_js(),
///     r#"[{"role":"user","content":[{"type":"text","text":"Hi"}]}]"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ToPrompt<'a> {
    /// What goes first.
    pub instructions: Option<&'a Instructions>,
    /// The messages, as JSON. They need not have been validated.
    pub messages: &'a [Json],
    /// The URLs that the model fetches by itself.
    pub supported_urls: &'a SupportedUrls,
    /// The provider, for the older parts that hold a file id without saying whose it is.
    pub provider: Option<&'a str>,
}

/// A prompt, and what the SDK would have logged on the way to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// The prompt.
    pub prompt: Prompt,
    /// Warnings about older forms.
    pub warnings: Vec<Warning>,
}

impl ToPrompt<'_> {
    /// Makes the prompt.
    pub fn convert(&self, downloads: &Downloads) -> Result<Converted, SdkError> {
        // The plan is made first even if nothing is fetched: it is where bad file data is found.
        self.wanted_downloads()?;
        let mut converter = Converter {
            provider: self.provider,
            downloads,
            warnings: Vec::new(),
        };
        let mut messages: Vec<Message> = match self.instructions {
            None => Vec::new(),
            Some(Instructions::Text(text)) => vec![SystemMessage::new(text).into()],
            Some(Instructions::Messages(messages)) => messages
                .iter()
                .map(|message| {
                    let mut system = SystemMessage::new(&message.content);
                    system.provider_options = message.provider_options.clone();
                    system.into()
                })
                .collect(),
        };
        for (index, message) in self.messages.iter().enumerate() {
            let path = Path::root().join("messages").join(index);
            messages.push(converter.message(message, &path)?);
        }
        let mut messages = merge_tool_messages(messages);
        require_results(&messages)?;
        messages.retain(|message| !matches!(message, Message::Tool(tool) if tool.content.is_empty()));
        Ok(Converted {
            prompt: Prompt(messages),
            warnings: converter.warnings,
        })
    }
}

/// A file as it will stand in the prompt.
pub(crate) struct File {
    pub(crate) media_type: Text,
    pub(crate) data: FileData,
}

/// What a conversion needs on its way through the messages.
pub(crate) struct Converter<'a> {
    pub(crate) provider: Option<&'a str>,
    downloads: &'a Downloads,
    warnings: Vec<Warning>,
}

impl Converter<'_> {
    pub(crate) fn deprecated(&mut self, setting: &str, message: impl Into<Text>) {
        self.warnings
            .push(DeprecatedWarning::new(setting, message.into()).into());
    }

    fn message(&mut self, message: &Json, path: &Path) -> Result<Message, SdkError> {
        match role(message) {
            "system" => {
                let system: SystemMessage = read(message, &["role", "content"], &["providerOptions"], path)?;
                Ok(system.into())
            }
            "user" => {
                let mut user = UserMessage::new(self.user_content(message, path)?);
                user.provider_options = options(message, path)?;
                Ok(user.into())
            }
            "assistant" => {
                let mut assistant = AssistantMessage::new(self.assistant_content(message, path)?);
                assistant.provider_options = options(message, path)?;
                Ok(assistant.into())
            }
            "tool" => {
                let mut tool = ToolMessage::new(self.tool_content(message, path)?);
                tool.provider_options = options(message, path)?;
                Ok(tool.into())
            }
            _ => Err(SdkError::InvalidMessageRole(js_string(message.get("role")))),
        }
    }

    fn user_content(&mut self, message: &Json, path: &Path) -> Result<Vec<UserPart>, SdkError> {
        let mut content = Vec::new();
        let parts = match content_of(message, path)? {
            Content::Text(text) => return Ok(vec![TextPart::new(text).into()]),
            Content::Parts(parts) => parts,
        };
        for part in parts.iter().filter(|part| tag(part) == "image") {
            let _ = part;
            self.deprecated(
                "\"image\" content part",
                "The \"image\" content part type is deprecated. Use a \"file\" part with mediaType: 'image' (or a \
                 more specific image/* subtype) instead.",
            );
        }
        for (index, part) in parts.iter().enumerate() {
            let path = path.join("content").join(index);
            if tag(part) == "text" {
                let text: TextPart = read(part, &["type", "text"], &["providerOptions"], &path)?;
                if !text.text.is_empty() {
                    content.push(text.into());
                }
                continue;
            }
            let is_image = tag(part) == "image";
            let declared = part.get("mediaType").and_then(Json::as_text).cloned();
            let declared = if is_image {
                declared.or_else(|| Some("image".into()))
            } else {
                declared
            };
            let file = self.file(part.get(if is_image { "image" } else { "data" }), declared)?;
            let mut typed = FilePart::new(file.media_type, file.data);
            typed.members = Members::in_order(["type", "mediaType", "filename", "data"]);
            if !is_image {
                typed.filename = member(part, "filename", &path)?;
            }
            typed.provider_options = options(part, &path)?;
            content.push(typed.into());
        }
        Ok(content)
    }

    fn assistant_content(&mut self, message: &Json, path: &Path) -> Result<Vec<AssistantPart>, SdkError> {
        let parts = match content_of(message, path)? {
            Content::Text(text) => return Ok(vec![TextPart::new(text).into()]),
            Content::Parts(parts) => parts,
        };
        let mut content = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let path = path.join("content").join(index);
            const OPTIONS: &[&str] = &["providerOptions"];
            let typed: AssistantPart = match tag(part) {
                "text" if str_of(part, "text") == Some("") && some(part, "providerOptions").is_none() => {
                    continue;
                }
                "tool-approval-request" => continue,
                "text" => read(part, &["type", "text"], OPTIONS, &path)?,
                "custom" => read(part, &["type", "kind"], OPTIONS, &path)?,
                "reasoning" => read(part, &["type", "text"], OPTIONS, &path)?,
                "file" => {
                    let file = stored_as_given(part)?;
                    let mut typed = FilePart::new(file.media_type, file.data);
                    typed.members = Members::in_order(["type", "data", "filename", "mediaType"]);
                    typed.filename = member(part, "filename", &path)?;
                    typed.provider_options = options(part, &path)?;
                    typed.into()
                }
                "reasoning-file" => {
                    let file = stored_as_given(part)?;
                    let data = match file.data {
                        FileData::Data(data) => StoredData::Data(data),
                        FileData::Url(url) => StoredData::Url(url),
                        other => {
                            let message = format!("Unsupported reasoning-file data type: {}", other.tag());
                            return Err(SdkError::Plain(message));
                        }
                    };
                    let mut typed = ReasoningFilePart::new(file.media_type, data);
                    typed.members = Members::in_order(["type", "data", "mediaType"]);
                    typed.provider_options = options(part, &path)?;
                    typed.into()
                }
                "tool-call" => read(
                    part,
                    &["type", "toolCallId", "toolName", "input"],
                    &["providerExecuted", "providerOptions"],
                    &path,
                )?,
                "tool-result" => self.tool_result(part, &path)?.into(),
                // Whatever it is, the type of the prompt says that it cannot stand here.
                _ => AssistantPart::from_json_at(part.clone(), path).map_err(SdkError::FaultyPrompt)?,
            };
            content.push(typed);
        }
        Ok(content)
    }

    fn tool_content(&mut self, message: &Json, path: &Path) -> Result<Vec<ToolPart>, SdkError> {
        let Content::Parts(parts) = content_of(message, path)? else {
            return Err(type_error(
                &path.join("content"),
                message.get("content"),
                "an array of parts",
            ));
        };
        let mut content = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let path = path.join("content").join(index);
            match tag(part) {
                "tool-result" => content.push(self.tool_result(part, &path)?.into()),
                // Approvals of the program's own tools are settled before; only the provider that asked
                // for one has to hear the answer.
                "tool-approval-response" if part.get("providerExecuted").is_some_and(Json::is_truthy) => {
                    let response: ApprovalResponsePart =
                        read(part, &["type", "approvalId", "approved"], &["reason"], &path)?;
                    content.push(response.into());
                }
                "tool-approval-response" => {}
                _ => {
                    content.push(ToolPart::from_json_at(part.clone(), path).map_err(SdkError::FaultyPrompt)?)
                }
            }
        }
        Ok(content)
    }

    fn tool_result(&mut self, part: &Json, path: &Path) -> Result<ToolResultPart, SdkError> {
        let output: ToolOutput = convert_output(self, part.get("output"), &path.join("output"))?;
        // The output is converted already; the rest is read with an output that cannot fail.
        let mut rest = part.clone();
        if let Json::Object(rest) = &mut rest {
            rest.insert("output", object! { "type": "execution-denied" });
        }
        let mut result: ToolResultPart = read(
            &rest,
            &["type", "toolCallId", "toolName", "output"],
            &["providerOptions"],
            path,
        )?;
        result.output = output;
        Ok(result)
    }

    /// A file of a user or in a tool's output: downloaded if it was, and an image is called what its
    /// bytes say it is.
    pub(crate) fn file(&self, data: Option<&Json>, declared: Option<Text>) -> Result<File, SdkError> {
        let no_type = || SdkError::Plain("Media type is missing for file part".to_owned());
        if data.is_none() && declared.is_none() {
            return Err(no_type());
        }
        self.resolve(normalize(data)?, declared)
    }

    fn resolve(&self, (mut data, from_url): Normalized, declared: Option<Text>) -> Result<File, SdkError> {
        let mut media_type = from_url.or(declared);
        if let FileData::Url(file) = &data
            && let Some(download) = self.downloads.0.get(file.url.as_str())
        {
            data = DataFile::new(Inline::Bytes(Arc::clone(&download.data))).into();
            if let Some(downloaded) = &download.media_type
                && !media_type
                    .as_ref()
                    .is_some_and(|declared| media_type::is_full(declared))
            {
                media_type = Some(downloaded.clone());
            }
        }
        if let FileData::Data(file) = &data
            && let Some(image) = media_type::detect(&file.data, Some("image"))?
        {
            media_type = Some(image.into());
        }
        let media_type =
            media_type.ok_or_else(|| SdkError::Plain("Media type is missing for file part".to_owned()))?;
        Ok(File { media_type, data })
    }
}

/// A file of an assistant: never downloaded, never looked into.
fn stored_as_given(part: &Json) -> Result<File, SdkError> {
    let (data, from_url) = normalize(part.get("data"))?;
    let declared = part.get("mediaType").and_then(Json::as_text).cloned();
    let media_type = from_url.or(declared).unwrap_or_default();
    Ok(File { media_type, data })
}

enum Content<'a> {
    Text(&'a Text),
    Parts(&'a [Json]),
}

fn content_of<'a>(message: &'a Json, path: &Path) -> Result<Content<'a>, SdkError> {
    match message.get("content") {
        Some(Json::String(text)) => Ok(Content::Text(text)),
        Some(Json::Array(parts)) => Ok(Content::Parts(parts)),
        other => Err(type_error(
            &path.join("content"),
            other,
            "text or an array of parts",
        )),
    }
}

fn options(part: &Json, path: &Path) -> Result<Option<ProviderOptions>, SdkError> {
    member(part, "providerOptions", path)
}

/// Joins tool messages that follow each other. The options of the earlier one move onto its last part,
/// so that what was marked stays marked.
fn merge_tool_messages(messages: Vec<Message>) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match (merged.last_mut(), message) {
            (Some(Message::Tool(earlier)), Message::Tool(later)) => {
                match earlier.content.last_mut() {
                    Some(last) => {
                        let last = match last {
                            ToolPart::ToolResult(part) => &mut part.provider_options,
                            ToolPart::ApprovalResponse(part) => &mut part.provider_options,
                        };
                        *last = merge_options(earlier.provider_options.take(), last.take());
                        earlier.provider_options = later.provider_options;
                    }
                    None => {
                        earlier.provider_options =
                            merge_options(earlier.provider_options.take(), later.provider_options);
                    }
                }
                earlier.content.extend(later.content);
            }
            (_, message) => merged.push(message),
        }
    }
    merged
}

fn merge_options(base: Option<ProviderOptions>, over: Option<ProviderOptions>) -> Option<ProviderOptions> {
    match (base, over) {
        (Some(base), Some(over)) => {
            let as_object = |options: ProviderOptions| match options.to_json() {
                Json::Object(object) => object,
                _ => Object::new(),
            };
            let merged = merge(&as_object(base), &as_object(over));
            ProviderOptions::from_json(merged.into()).ok()
        }
        (base, over) => base.or(over),
    }
}

/// Every call of the program's own tools must be answered before the user or the system speaks again.
fn require_results(messages: &[Message]) -> Result<(), SdkError> {
    let mut open: IndexSet<&Text> = IndexSet::new();
    let fail_if_any = |open: &IndexSet<&Text>| match open.is_empty() {
        true => Ok(()),
        false => Err(SdkError::MissingToolResults(
            open.iter().map(|id| id.to_string()).collect(),
        )),
    };
    for message in messages {
        match message {
            Message::Assistant(message) => {
                for part in &message.content {
                    if let AssistantPart::ToolCall(call) = part
                        && call.provider_executed != Some(true)
                    {
                        open.insert(&call.tool_call_id);
                    }
                }
            }
            Message::Tool(message) => {
                for part in &message.content {
                    if let ToolPart::ToolResult(result) = part {
                        open.shift_remove(&result.tool_call_id);
                    }
                }
            }
            Message::User(_) | Message::System(_) => fail_if_any(&open)?,
        }
    }
    fail_if_any(&open)
}

/// An item that stands in a content output as it was given.
pub(crate) fn item_as_given(item: &Json, path: &Path) -> Result<ContentItem, SdkError> {
    ContentItem::from_json_at(item.clone(), path.clone()).map_err(SdkError::FaultyPrompt)
}

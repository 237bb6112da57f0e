//! The prompt as Google's instructions and contents.

use super::models::Model;
use crate::base64;
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::providers::common::{DENIED, item_path, part_path, stringify, top_level};
use crate::providers::shape::{Shape, may, need};
use crate::providers::{Call, Log, Profile};
use crate::types::output::FileItem;
use crate::types::prompt::{AssistantMessage, FilePart, ToolCallPart, ToolMessage, ToolResultPart};
use crate::types::{
    AssistantPart, ContentItem, FileData, Inline, Message, ProviderOptions, StoredData, ToolOutput, ToolPart,
    UserPart, Warning,
};

/// What Google says to send with a call whose signature was lost.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
const EXECUTED: &str = "Tool executed successfully.";

const VIDEO: Shape = Shape::Fields(&[
    may("startOffset", Shape::Text),
    may("endOffset", Shape::Text),
    may("fps", Shape::Number),
]);
const CODE: Shape = Shape::Fields(&[need("language", Shape::Text), need("code", Shape::Text)]);
const CODE_RESULT: Shape = Shape::Fields(&[need("outcome", Shape::Text), need("output", Shape::Text)]);

/// One entry of `contents`.
#[derive(Debug)]
struct Content {
    role: &'static str,
    parts: Vec<Object>,
}

/// Converts a prompt message by message.
pub(super) struct Converter<'a, 'l> {
    call: &'a Call<'a>,
    model: &'a Model,
    log: &'l mut Log,
    contents: Vec<Content>,
    /// The tools whose calls had no signature.
    unsigned: Vec<Text>,
}

/// The converted prompt.
#[derive(Debug)]
pub(super) struct Converted {
    pub(super) system: Option<Object>,
    pub(super) contents: Vec<Object>,
}

impl<'a, 'l> Converter<'a, 'l> {
    pub(super) fn new(call: &'a Call<'a>, model: &'a Model, log: &'l mut Log) -> Self {
        Converter {
            call,
            model,
            log,
            contents: Vec::new(),
            unsigned: Vec::new(),
        }
    }

    /// Converts the whole prompt.
    pub(super) fn convert(mut self) -> Result<Converted, SdkError> {
        let mut system: Vec<&Text> = Vec::new();
        for (at, message) in self.call.prompt.messages().iter().enumerate() {
            match message {
                Message::System(_) if !self.contents.is_empty() => {
                    return Err(SdkError::unsupported(
                        "system messages are only supported at the beginning of the conversation",
                    ));
                }
                Message::System(message) => system.push(&message.content),
                Message::User(message) => {
                    let parts: Result<Vec<Object>, SdkError> = message
                        .content
                        .iter()
                        .map(|part| match part {
                            UserPart::Text(part) => Ok(object! { "text": &part.text }),
                            UserPart::File(part) => file(part),
                        })
                        .collect();
                    self.push("user", parts?);
                }
                Message::Assistant(message) => {
                    let parts = self.assistant(at, message)?;
                    self.push("model", parts);
                }
                Message::Tool(message) => {
                    let parts = self.tool(at, message)?;
                    self.push("user", parts);
                }
            }
        }
        self.warn_unsigned();
        let is_gemma = self.model.is_gemma;
        if let (true, false, Some(first)) = (is_gemma, system.is_empty(), self.contents.first_mut())
            && first.role == "user"
        {
            let texts: Vec<&str> = system.iter().map(|text| &***text).collect();
            let text = format!("{}\n\n", texts.join("\n\n"));
            first.parts.insert(0, object! { "text": text });
        }
        let system = (!system.is_empty() && !is_gemma).then(|| {
            let parts: Vec<Object> = system.iter().map(|text| object! { "text": *text }).collect();
            object! { "parts": parts }
        });
        let contents = self
            .contents
            .into_iter()
            .map(|content| object! { "role": content.role, "parts": content.parts });
        Ok(Converted {
            system,
            contents: contents.collect(),
        })
    }

    fn push(&mut self, role: &'static str, parts: Vec<Object>) {
        self.contents.push(Content { role, parts });
    }

    fn warn_unsigned(&mut self) {
        if self.unsigned.is_empty() {
            return;
        }
        let mut names: Vec<String> = Vec::new();
        for name in &self.unsigned {
            let name = format!("`{name}`");
            if !names.contains(&name) {
                names.push(name);
            }
        }
        self.log.warn(Warning::other(format!(
            "Replayed {} `functionCall` part(s) for a Gemini 3 model without a `thoughtSignature` (tools: {}). \
             Injected the documented `skip_thought_signature_validator` sentinel to keep the request from failing \
             with HTTP 400. The likely cause is application code that drops \
             `providerOptions.google.thoughtSignature` when persisting or serializing assistant tool-call \
             messages. See https://ai.google.dev/gemini-api/docs/thought-signatures.",
            self.unsigned.len(),
            names.join(", ")
        )));
    }

    fn assistant(&mut self, at: usize, message: &AssistantMessage) -> Result<Vec<Object>, SdkError> {
        let mut parts = Vec::with_capacity(message.content.len());
        // Of several calls in one answer only the first is signed.
        let mut has_signed_call = false;
        for (index, part) in message.content.iter().enumerate() {
            let own = own(part.provider_options());
            let signature = text_of(own, "thoughtSignature");
            let converted = match part {
                AssistantPart::Text(part) => (!part.text.is_empty() || signature.is_some())
                    .then(|| object! { "text": &part.text, "thoughtSignature"?: signature }),
                AssistantPart::Reasoning(part) => (!part.text.is_empty() || signature.is_some())
                    .then(|| object! { "text": &part.text, "thought": true, "thoughtSignature"?: signature }),
                AssistantPart::ReasoningFile(part) => {
                    let StoredData::Data(file) = &part.data else {
                        return Err(no_urls());
                    };
                    Some(object! {
                        "inlineData": self.said(&part.media_type, &file.data)?,
                        "thought": true,
                        "thoughtSignature"?: signature,
                    })
                }
                AssistantPart::File(part) => {
                    let mut converted = self.assistant_file(part)?;
                    let is_thought = own.and_then(|own| own.get("thought")) == Some(&Json::Bool(true));
                    converted.insert_some("thought", is_thought.then_some(true));
                    converted.insert_some("thoughtSignature", signature);
                    Some(converted)
                }
                AssistantPart::ToolCall(part) => {
                    Some(self.tool_call(part, own, signature, &mut has_signed_call)?)
                }
                AssistantPart::ToolResult(part) => match &part.output {
                    ToolOutput::Json(output) if &*part.tool_name == "code_execution" => {
                        let result = CODE_RESULT.read(&output.value).map_err(SdkError::Schema)?;
                        Some(object! { "codeExecutionResult": result })
                    }
                    _ => server_result(part, own, signature),
                },
                AssistantPart::Custom(_) => None,
            };
            if converted.is_none() && !matches!(part, AssistantPart::Text(_) | AssistantPart::Reasoning(_)) {
                let detail = format!("the API has no place for the part {:?} of an answer", part.tag());
                self.log.dropped(part_path(at, index), detail);
            }
            parts.extend(converted);
        }
        Ok(parts)
    }

    /// A file that the model made.
    fn assistant_file(&self, part: &FilePart) -> Result<Object, SdkError> {
        Ok(match &part.data {
            FileData::Url(_) => return Err(no_urls()),
            FileData::Reference(file) => object! { "fileData": object! {
                "mimeType": &part.media_type,
                "fileUri": media_type::resolve_reference(&file.reference, "google")?,
            } },
            FileData::Text(file) => object! { "inlineData": text_file(&part.media_type, &file.text) },
            FileData::Data(file) => object! { "inlineData": self.said(&part.media_type, &file.data)? },
        })
    }

    /// Inline data from the model. The SDK sends its media type as it is, also `image/*`.
    fn said(&self, media_type: &Text, data: &Inline) -> Result<Object, SdkError> {
        let media_type = match self.call.profile {
            Profile::Exact => media_type.clone(),
            Profile::Fixed => media_type::resolve_inline(media_type, Some(data))?,
        };
        Ok(inline(media_type, data))
    }

    fn tool_call(
        &mut self,
        part: &ToolCallPart,
        own: Option<&Object>,
        signature: Option<Text>,
        has_signed_call: &mut bool,
    ) -> Result<Object, SdkError> {
        let parsed = || match &part.input {
            Some(Json::String(text)) => Json::parse_secure(text)
                .map(Some)
                .ok_or_else(|| SdkError::Syntax("the input of a server tool call is no JSON".to_owned())),
            other => Ok(other.clone()),
        };
        if part.provider_executed == Some(true) && &*part.tool_name == "code_execution" {
            let code = CODE
                .read(&parsed()?.unwrap_or_default())
                .map_err(SdkError::Schema)?;
            return Ok(object! { "executableCode": code });
        }
        let server = Option::zip(text_of(own, "serverToolType"), text_of(own, "serverToolCallId"));
        let follows_signed = server.is_none() && *has_signed_call;
        if server.is_none() && signature.is_some() {
            *has_signed_call = true;
        }
        let signature = match signature {
            None if self.model.is_gemini_3 && !follows_signed => {
                self.unsigned.push(part.tool_name.clone());
                Some(NO_SIGNATURE.into())
            }
            signature => signature,
        };
        if let Some((kind, id)) = server {
            return Ok(object! {
                "toolCall": object! { "toolType": kind, "args"?: parsed()?, "id": id },
                "thoughtSignature"?: signature,
            });
        }
        let args = match &part.input {
            Some(Json::String(text)) => Json::parse_secure(text).or_else(|| part.input.clone()),
            other => other.clone(),
        };
        Ok(object! {
            "functionCall": object! {
                "id": &part.tool_call_id,
                "name": &part.tool_name,
                "args"?: args,
            },
            "thoughtSignature"?: signature,
        })
    }

    fn tool(&mut self, at: usize, message: &ToolMessage) -> Result<Vec<Object>, SdkError> {
        let mut parts = Vec::with_capacity(message.content.len());
        for (index, part) in message.content.iter().enumerate() {
            let part = match part {
                ToolPart::ToolResult(part) => part,
                ToolPart::ApprovalResponse(_) => {
                    self.log
                        .dropped(part_path(at, index), "the API has no approval responses");
                    continue;
                }
            };
            let own = own(part.provider_options.as_ref());
            let signature = text_of(own, "thoughtSignature");
            if let Some(last) = self.contents.last_mut().filter(|content| content.role == "model")
                && let Some(result) = server_result(part, own, signature)
            {
                last.parts.push(result);
                continue;
            }
            match &part.output {
                ToolOutput::Content(output) if self.model.is_gemini_3 => {
                    parts.push(self.content_with_files(at, index, part, &output.value)?);
                }
                ToolOutput::Content(output) => {
                    self.content_as_parts(at, index, part, &output.value, &mut parts)?;
                }
                ToolOutput::Text(output) => parts.push(response(part, "content", Json::from(&output.value))),
                ToolOutput::Json(output) => parts.push(response(part, "content", self.value(&output.value))),
                ToolOutput::ErrorText(output) => {
                    parts.push(response(part, "error", Json::from(&output.value)))
                }
                ToolOutput::ErrorJson(output) => {
                    parts.push(response(part, "error", self.value(&output.value)))
                }
                ToolOutput::Denied(output) => {
                    let reason = output.reason.clone().unwrap_or_else(|| DENIED.into());
                    parts.push(response(part, "error", reason.into()));
                }
            }
        }
        Ok(parts)
    }

    /// A value as a response. Google takes `$ref` for a reference to a file, so a value with one goes as
    /// text.
    fn value(&self, value: &Json) -> Json {
        if has_reference(value) {
            stringify(value, self.call.profile).into()
        } else {
            value.clone()
        }
    }

    /// A content output as one response with its files beside the text.
    fn content_with_files(
        &mut self,
        at: usize,
        index: usize,
        part: &ToolResultPart,
        items: &[ContentItem],
    ) -> Result<Object, SdkError> {
        let (mut texts, mut files) = (Vec::new(), Vec::new());
        for (position, item) in items.iter().enumerate() {
            let file = match item {
                ContentItem::Text(item) => {
                    texts.push(item.text.clone());
                    continue;
                }
                ContentItem::File(item) => response_file(item)?,
                ContentItem::Custom(_) => None,
            };
            match file {
                Some(file) => files.push(object! { "inlineData": file }),
                None => {
                    self.as_text(at, index, position);
                    texts.push(stringify(item, self.call.profile));
                }
            }
        }
        let text = if texts.is_empty() {
            EXECUTED.into()
        } else {
            Text::from(texts.join("\n"))
        };
        let mut converted = response(part, "content", text.into());
        if let Some(Json::Object(response)) = converted.get_mut("functionResponse")
            && !files.is_empty()
        {
            response.insert("parts", files);
        }
        Ok(converted)
    }

    /// A content output for earlier models: a response for each text, files beside the responses.
    fn content_as_parts(
        &mut self,
        at: usize,
        index: usize,
        part: &ToolResultPart,
        items: &[ContentItem],
        parts: &mut Vec<Object>,
    ) -> Result<(), SdkError> {
        let has_text = items.iter().any(|item| matches!(item, ContentItem::Text(_)));
        if !has_text && self.call.profile == Profile::Fixed {
            parts.push(response(part, "content", EXECUTED.into()));
        }
        for (position, item) in items.iter().enumerate() {
            match item {
                ContentItem::Text(item) => parts.push(response(part, "content", Json::from(&item.text))),
                ContentItem::File(FileItem {
                    data: FileData::Data(file),
                    media_type,
                    ..
                }) => {
                    let kind = if top_level(media_type) == "image" {
                        "image"
                    } else {
                        "file"
                    };
                    let full = media_type::resolve_inline(media_type, Some(&file.data))?;
                    parts.push(object! { "inlineData": inline(full, &file.data) });
                    parts.push(object! {
                        "text": format!("Tool executed successfully and returned this {kind} as a response"),
                    });
                }
                item => {
                    self.as_text(at, index, position);
                    parts.push(object! { "text": stringify(item, self.call.profile) });
                }
            }
        }
        Ok(())
    }

    fn as_text(&mut self, at: usize, index: usize, position: usize) {
        let detail = "the item is sent as JSON text, so the model sees no file in it";
        self.log.changed(item_path(at, index, position), detail);
    }
}

/// The options for Google: under its name, else under those of its other platform.
fn own(options: Option<&ProviderOptions>) -> Option<&Object> {
    ["google", "googleVertex", "vertex"]
        .iter()
        .find_map(|name| options?.get(name))
}

/// An option as JavaScript's `String` gives it.
fn text_of(own: Option<&Object>, key: &str) -> Option<Text> {
    match own?.get(key)? {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        Json::Object(_) => Some("[object Object]".into()),
        Json::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| match item {
                    Json::Null => String::new(),
                    Json::String(text) => text.to_string(),
                    other => other.to_js(),
                })
                .collect();
            Some(items.join(",").into())
        }
        other => Some(other.to_js().into()),
    }
}

fn no_urls() -> SdkError {
    SdkError::unsupported("File data URLs in assistant messages are not supported")
}

fn inline(media_type: Text, data: &Inline) -> Object {
    object! { "mimeType": media_type, "data": data.to_base64() }
}

fn text_file(media_type: &Text, text: &Text) -> Object {
    let media_type = if media_type::is_full(media_type) {
        media_type.clone()
    } else {
        "text/plain".into()
    };
    object! { "mimeType": media_type, "data": base64::encode(text.as_bytes()) }
}

/// A file of a user.
fn file(part: &FilePart) -> Result<Object, SdkError> {
    let own = own(part.provider_options.as_ref());
    let video = match own.and_then(|own| own.get("videoMetadata")) {
        None | Some(Json::Null) => None,
        Some(video) => Some(video_metadata(video)?),
    };
    let mut converted = match &part.data {
        FileData::Url(file) => {
            let uri = match &file.original_url {
                Some(original) if file.url.url().scheme() == "gs" => original.clone(),
                _ => file.url.to_text(),
            };
            object! { "fileData": object! {
                "mimeType": media_type::resolve(&part.media_type, &part.data)?,
                "fileUri": uri,
            } }
        }
        FileData::Reference(file) => object! { "fileData": object! {
            "mimeType": media_type::resolve(&part.media_type, &part.data)?,
            "fileUri": media_type::resolve_reference(&file.reference, "google")?,
        } },
        FileData::Text(file) => object! { "inlineData": text_file(&part.media_type, &file.text) },
        FileData::Data(file) => {
            let full = media_type::resolve(&part.media_type, &part.data)?;
            object! { "inlineData": inline(full, &file.data) }
        }
    };
    converted.insert_some("videoMetadata", video);
    Ok(converted)
}

fn video_metadata(value: &Json) -> Result<Json, SdkError> {
    let read = VIDEO.read(value).map_err(SdkError::Schema)?;
    let fps = read.get("fps").and_then(Json::as_number).map(|fps| fps.as_f64());
    if fps.is_some_and(|fps| fps <= 0.0 || fps > 24.0) {
        return Err(SdkError::Schema(
            "videoMetadata.fps must be above 0 and at most 24".to_owned(),
        ));
    }
    Ok(read)
}

/// A file of a tool that a response can hold: inline, or in a data URL.
fn response_file(item: &FileItem) -> Result<Option<Object>, SdkError> {
    match &item.data {
        FileData::Data(file) => {
            let full = media_type::resolve(&item.media_type, &item.data)?;
            Ok(Some(inline(full, &file.data)))
        }
        FileData::Url(file) => {
            let data = file.url.as_str().strip_prefix("data:");
            let parts = data
                .and_then(|data| data.split_once(";base64,"))
                .filter(|(media_type, data)| {
                    !media_type.is_empty() && !media_type.contains([';', ',']) && !data.is_empty()
                });
            Ok(parts.map(|(media_type, data)| object! { "mimeType": media_type, "data": data }))
        }
        FileData::Reference(_) | FileData::Text(_) => Ok(None),
    }
}

fn response(part: &ToolResultPart, key: &str, value: Json) -> Object {
    let mut answer = object! { "name": &part.tool_name };
    answer.insert(key, value);
    object! { "functionResponse": object! {
        "id": &part.tool_call_id,
        "name": &part.tool_name,
        "response": answer,
    } }
}

/// The result of a tool that ran at Google, if it is one.
fn server_result(part: &ToolResultPart, own: Option<&Object>, signature: Option<Text>) -> Option<Object> {
    let (kind, id) = Option::zip(text_of(own, "serverToolType"), text_of(own, "serverToolCallId"))?;
    if kind.is_empty() || id.is_empty() {
        return None;
    }
    let result = match &part.output {
        ToolOutput::Json(output) => output.value.clone(),
        _ => Object::new().into(),
    };
    Some(object! {
        "toolResponse": object! { "toolType": kind, "response": result, "id": id },
        "thoughtSignature"?: signature,
    })
}

fn has_reference(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(has_reference),
        Json::Object(object) => object
            .iter()
            .any(|(key, value)| key == "$ref" || has_reference(value)),
        _ => false,
    }
}

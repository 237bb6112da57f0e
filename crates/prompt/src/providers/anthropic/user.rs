//! Users and tools: one turn for all of their messages in a row.

use super::options;
use super::prompt::{Converter, Turn};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::providers::Profile;
use crate::providers::common::{
    self, DENIED, UserSide, item_path, message_path, part_path, stringify, top_level,
};
use crate::providers::options::Options;
use crate::types::output::FileItem;
use crate::types::prompt::{FilePart, ToolMessage, ToolResultPart, UserMessage};
use crate::types::{ContentItem, FileData, ProviderOptions, ToolOutput, ToolPart, UserPart, Warning};

const PDF: &str = "application/pdf";

/// The set that a tool belongs to, as it is sent. It is nothing where the SDK takes a function for it.
#[derive(Debug, Clone)]
pub(super) struct Toolset(pub(super) Option<Json>);

impl Converter<'_, '_> {
    /// Converts a block of the user's side.
    pub(super) fn user(&mut self, messages: &[(usize, UserSide<'_>)]) -> Result<(), SdkError> {
        let mut content = Vec::new();
        for (at, message) in messages {
            match message {
                UserSide::User(message) => self.user_message(message, &mut content)?,
                UserSide::Tool(message) => self.tool_message(*at, message, &mut content)?,
            }
        }
        if content.is_empty() && self.profile == Profile::Fixed {
            for (at, _) in messages {
                self.log
                    .dropped(message_path(*at), "the API refuses messages without content");
            }
            return Ok(());
        }
        self.turns.push(Turn::new("user", content));
        Ok(())
    }

    fn user_message(&mut self, message: &UserMessage, content: &mut Vec<Object>) -> Result<(), SdkError> {
        if !message.content.is_empty() {
            self.last_user = self.turns.len();
        }
        let last = message.content.len().saturating_sub(1);
        for (index, part) in message.content.iter().enumerate() {
            let options = match part {
                UserPart::Text(part) => part.provider_options.as_ref(),
                UserPart::File(part) => part.provider_options.as_ref(),
            };
            let mark = self.mark(
                options,
                message.provider_options.as_ref().filter(|_| index == last),
            );
            let mut block = match part {
                UserPart::Text(part) => object! { "type": "text", "text": &part.text },
                UserPart::File(part) => self.file(part)?,
            };
            if block.get("type").and_then(Json::as_str) != Some("container_upload") {
                block.insert_some("cache_control", mark);
            }
            content.push(block);
        }
        Ok(())
    }

    /// The cache mark of a part, else that of its message.
    pub(super) fn mark(
        &mut self,
        part: Option<&ProviderOptions>,
        message: Option<&ProviderOptions>,
    ) -> Option<Json> {
        self.cache.mark(part).or_else(|| self.cache.mark(message))
    }

    fn file(&mut self, part: &FilePart) -> Result<Object, SdkError> {
        let own = Options::of(part.provider_options.as_ref(), super::PROVIDER);
        let top_level = top_level(&part.media_type);
        match &part.data {
            FileData::Reference(file) => {
                let id = media_type::resolve_reference(&file.reference, super::PROVIDER)?;
                self.beta("files-api-2025-04-14");
                let own = own.shaped(&options::FILE)?.unwrap_or_default();
                if own.get("containerUpload").and_then(Json::as_bool) == Some(true) {
                    return Ok(object! { "type": "container_upload", "file_id": id });
                }
                Ok(uploaded(top_level, id))
            }
            FileData::Text(file) => {
                let source = object! { "type": "text", "media_type": "text/plain", "data": &file.text };
                document(part, source, own)
            }
            FileData::Url(_) | FileData::Data(_) if top_level == "image" => {
                Ok(object! { "type": "image", "source": source(&part.media_type, &part.data)? })
            }
            FileData::Url(file) => {
                match &*part.media_type {
                    PDF => self.beta("pdfs-2024-09-25"),
                    "text/plain" => {}
                    other => return Err(SdkError::unsupported(format!("media type: {other}"))),
                }
                document(part, object! { "type": "url", "url": file.url.to_text() }, own)
            }
            FileData::Data(file) => {
                if top_level == "application" && &*media_type::resolve(&part.media_type, &part.data)? == PDF {
                    self.beta("pdfs-2024-09-25");
                    return document(part, pdf(file.data.to_base64()), own);
                }
                if &*part.media_type != "text/plain" {
                    return Err(SdkError::unsupported(format!("media type: {}", part.media_type)));
                }
                // The options are read before the text is decoded, so their fault comes first.
                let empty = document(part, Object::new(), own)?;
                let text = common::decoded(&file.data)?;
                let mut block = empty;
                block.insert(
                    "source",
                    object! { "type": "text", "media_type": "text/plain", "data": text },
                );
                Ok(block)
            }
        }
    }

    fn tool_message(
        &mut self,
        at: usize,
        message: &ToolMessage,
        content: &mut Vec<Object>,
    ) -> Result<(), SdkError> {
        let last = message.content.len().saturating_sub(1);
        for (index, part) in message.content.iter().enumerate() {
            let part = match part {
                ToolPart::ToolResult(part) => part,
                ToolPart::ApprovalResponse(_) => {
                    self.log
                        .dropped(part_path(at, index), "the API has no approval responses");
                    continue;
                }
            };
            let output_options = match &part.output {
                ToolOutput::Content(output) => output.value.iter().find_map(ContentItem::provider_options),
                output => output.provider_options(),
            };
            let own = self.mark(part.provider_options.as_ref(), output_options);
            let mark = match own {
                None if index == last => self.cache.mark(message.provider_options.as_ref()),
                own => own,
            };
            let result = self.tool_result(at, index, part)?;
            let is_error = matches!(part.output, ToolOutput::ErrorText(_) | ToolOutput::ErrorJson(_));
            content.push(object! {
                "type": "tool_result",
                "tool_use_id": &part.tool_call_id,
                "toolset_name"?: self
                    .toolset(&part.tool_name, part.provider_options.as_ref())
                    .and_then(|toolset| toolset.0),
                "content": result,
                "is_error"?: is_error.then_some(true),
                "cache_control"?: mark,
            });
        }
        Ok(())
    }

    /// The toolset of a tool: from the tools of the call, else as the model said it.
    pub(super) fn toolset(&self, tool: &Text, options: Option<&ProviderOptions>) -> Option<Toolset> {
        if let Some(toolset) = self.toolsets.get(tool) {
            return Some(Toolset(Some((*toolset).into())));
        }
        if let Some(found) = common::inherited(tool).filter(|_| self.profile == Profile::Exact) {
            return Some(Toolset(found));
        }
        let named = options?.get(super::PROVIDER)?.get("toolsetName")?.as_text()?;
        Some(Toolset(Some(named.into())))
    }

    fn tool_result(&mut self, at: usize, index: usize, part: &ToolResultPart) -> Result<Json, SdkError> {
        Ok(match &part.output {
            ToolOutput::Text(output) => Json::from(&output.value),
            ToolOutput::ErrorText(output) => Json::from(&output.value),
            ToolOutput::Denied(output) => output.reason.clone().unwrap_or_else(|| DENIED.into()).into(),
            ToolOutput::Json(output) => stringify(&output.value, self.profile).into(),
            ToolOutput::ErrorJson(output) => stringify(&output.value, self.profile).into(),
            ToolOutput::Content(output) => {
                let mut items = Vec::with_capacity(output.value.len());
                for (position, item) in output.value.iter().enumerate() {
                    match self.item(item)? {
                        Ok(item) => items.push(item),
                        Err(message) => {
                            self.log.dropped(item_path(at, index, position), message.clone());
                            self.log.warn(Warning::other(message));
                        }
                    }
                }
                items.into()
            }
        })
    }

    /// An item of a content output, or why it is left out.
    fn item(&mut self, item: &ContentItem) -> Result<Result<Object, String>, SdkError> {
        Ok(match item {
            ContentItem::Text(item) => Ok(object! { "type": "text", "text": &item.text }),
            ContentItem::File(item) => self.file_item(item)?,
            ContentItem::Custom(item) => {
                let own = item
                    .provider_options
                    .as_ref()
                    .and_then(|options| options.get(super::PROVIDER));
                match own {
                    Some(own) if own.get("type").and_then(Json::as_str) == Some("tool-reference") => {
                        Ok(object! { "type": "tool_reference", "tool_name"?: own.get("toolName") })
                    }
                    _ => Err("unsupported custom tool content part".to_owned()),
                }
            }
        })
    }

    fn file_item(&mut self, item: &FileItem) -> Result<Result<Object, String>, SdkError> {
        let top_level = top_level(&item.media_type);
        match &item.data {
            FileData::Reference(file) => {
                let id = media_type::resolve_reference(&file.reference, super::PROVIDER)?;
                self.beta("files-api-2025-04-14");
                Ok(Ok(uploaded(top_level, id)))
            }
            FileData::Url(_) | FileData::Data(_) if top_level == "image" => Ok(Ok(
                object! { "type": "image", "source": source(&item.media_type, &item.data)? },
            )),
            FileData::Url(file) => Ok(Ok(object! {
                "type": "document",
                "source": object! { "type": "url", "url": file.url.to_text() },
            })),
            FileData::Data(file) => {
                if &*media_type::resolve(&item.media_type, &item.data)? == PDF {
                    self.beta("pdfs-2024-09-25");
                    return Ok(Ok(
                        object! { "type": "document", "source": pdf(file.data.to_base64()) },
                    ));
                }
                Ok(Err(format!(
                    "unsupported tool content part type: file with media type: {}",
                    item.media_type
                )))
            }
            FileData::Text(_) => Ok(Err(
                "unsupported tool content part type: file with data type: text".to_owned(),
            )),
        }
    }
}

/// A file that was uploaded before.
fn uploaded(top_level: &str, id: &Text) -> Object {
    let kind = if top_level == "image" { "image" } else { "document" };
    object! { "type": kind, "source": object! { "type": "file", "file_id": id } }
}

/// Where an image is.
fn source(media_type: &Text, data: &FileData) -> Result<Object, SdkError> {
    match data {
        FileData::Url(file) => Ok(object! { "type": "url", "url": file.url.to_text() }),
        FileData::Data(file) => Ok(object! {
            "type": "base64",
            "media_type": media_type::resolve(media_type, data)?,
            "data": file.data.to_base64(),
        }),
        FileData::Reference(_) | FileData::Text(_) => Err(common::unsupported_media_type(media_type)),
    }
}

fn pdf(base64: Text) -> Object {
    object! { "type": "base64", "media_type": PDF, "data": base64 }
}

/// A document with what its options say about it.
fn document(part: &FilePart, source: Object, own: Options<'_>) -> Result<Object, SdkError> {
    let own = own.shaped(&options::FILE)?.unwrap_or_default();
    let has_citations = own
        .get("citations")
        .and_then(|citations| citations.get("enabled"));
    let context = own.get("context").filter(|context| context.is_truthy());
    Ok(object! {
        "type": "document",
        "source": source,
        "title"?: own.get("title").cloned().or_else(|| part.filename.clone().map(Json::from)),
        "context"?: context,
        "citations"?: has_citations
            .is_some_and(Json::is_truthy)
            .then(|| object! { "enabled": true }),
    })
}

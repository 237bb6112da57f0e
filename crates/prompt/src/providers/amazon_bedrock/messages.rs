//! The prompt as Bedrock's system blocks and messages.

use super::history::History;
use crate::base64;
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::providers::common::{self, Block, DENIED, UserSide, blocks, stringify, top_level};
use crate::providers::options::Options;
use crate::providers::shape::{Shape, may, need};
use crate::providers::{Log, Profile};
use crate::types::output::FileItem;
use crate::types::prompt::{AssistantMessage, FilePart, ReasoningPart, TextPart};
use crate::types::{AssistantPart, ContentItem, FileData, ProviderOptions, ToolOutput, ToolPart, UserPart};

const IMAGES: &[(&str, &str)] = &[
    ("image/jpeg", "jpeg"),
    ("image/png", "png"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
];
const DOCUMENTS: &[(&str, &str)] = &[
    ("application/pdf", "pdf"),
    ("text/csv", "csv"),
    ("application/msword", "doc"),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
    ("application/vnd.ms-excel", "xls"),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx",
    ),
    ("text/html", "html"),
    ("text/plain", "txt"),
    ("text/markdown", "md"),
];
const VIDEOS: &[(&str, &str)] = &[
    ("video/x-matroska", "mkv"),
    ("video/quicktime", "mov"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
    ("video/x-flv", "flv"),
    ("video/mpeg", "mpeg"),
    ("video/mpg", "mpg"),
    ("video/wmv", "wmv"),
    ("video/x-ms-wmv", "wmv"),
    ("video/3gpp", "three_gp"),
];

const FILE: Shape = Shape::Fields(&[may("citations", Shape::Fields(&[need("enabled", Shape::Bool)]))]);
const TEXT: Shape = Shape::Fields(&[
    may("guardContent", Shape::Bool),
    may(
        "guardContentQualifiers",
        Shape::List(&Shape::Word(&["grounding_source", "query", "guard_content"])),
    ),
]);
const IMAGE: Shape = Shape::Fields(&[may("guardContent", Shape::Bool)]);
const REASONING: Shape = Shape::Fields(&[
    may("signature", Shape::Text),
    may("redactedData", Shape::Text),
    may("redactedContent", Shape::Text),
]);

/// One entry of `messages`.
#[derive(Debug)]
struct Turn {
    role: &'static str,
    content: Vec<Object>,
}

/// Converts a history block by block.
pub(super) struct Converter<'a, 'l> {
    history: &'a History,
    log: &'l mut Log,
    profile: Profile,
    /// Whether ids of calls have to be what Mistral's models take.
    is_mistral: bool,
    system: Vec<Object>,
    turns: Vec<Turn>,
    /// How many documents had to be given a name.
    unnamed: usize,
}

impl<'a, 'l> Converter<'a, 'l> {
    pub(super) fn new(history: &'a History, model: &str, profile: Profile, log: &'l mut Log) -> Self {
        Converter {
            history,
            log,
            profile,
            is_mistral: model.contains("mistral."),
            system: Vec::new(),
            turns: Vec::new(),
            unnamed: 0,
        }
    }

    /// The system blocks and the messages.
    pub(super) fn convert(mut self) -> Result<(Vec<Object>, Vec<Object>), SdkError> {
        let history = self.history;
        let blocks = blocks(&history.prompt);
        let last = blocks.len().saturating_sub(1);
        for (at, block) in blocks.iter().enumerate() {
            match block {
                Block::System(_) if !self.turns.is_empty() => {
                    return Err(SdkError::unsupported(
                        "Multiple system messages that are separated by user/assistant messages",
                    ));
                }
                Block::System(messages) => {
                    for (_, message) in messages {
                        self.system.push(object! { "text": &message.content });
                        self.system.extend(cache_point(message.provider_options.as_ref()));
                    }
                }
                Block::User(messages) => {
                    let content = self.user(messages)?;
                    self.add_user(content);
                }
                Block::Assistant(messages) => self.assistant(messages, at == last)?,
            }
        }
        let turns = self
            .turns
            .into_iter()
            .map(|turn| object! { "role": turn.role, "content": turn.content });
        Ok((self.system, turns.collect()))
    }

    /// Adds to the user's side. Results must not stand alone between two of its messages.
    fn add_user(&mut self, content: Vec<Object>) {
        let has_result = |turn: &Turn| turn.content.iter().any(|block| block.contains_key("toolResult"));
        match self.turns.last_mut() {
            Some(turn) if turn.role == "user" && has_result(turn) => turn.content.extend(content),
            _ => self.turns.push(Turn {
                role: "user",
                content,
            }),
        }
    }

    fn user(&mut self, messages: &[(usize, UserSide<'_>)]) -> Result<Vec<Object>, SdkError> {
        let mut content = Vec::new();
        for (at, message) in messages {
            let options = match message {
                UserSide::User(message) => {
                    for part in &message.content {
                        let (block, options) = match part {
                            UserPart::Text(part) => (text(part)?, part.provider_options.as_ref()),
                            UserPart::File(part) => (self.file(part)?, part.provider_options.as_ref()),
                        };
                        content.push(block);
                        content.extend(cache_point(options));
                    }
                    message.provider_options.as_ref()
                }
                UserSide::Tool(message) => {
                    for (index, part) in message.content.iter().enumerate() {
                        match part {
                            ToolPart::ToolResult(part) => {
                                content.push(self.result(&part.tool_call_id, &part.output)?);
                                content.extend(cache_point(part.provider_options.as_ref()));
                            }
                            ToolPart::ApprovalResponse(_) => self
                                .log
                                .dropped(self.history.part(*at, index), "the API has no approval responses"),
                        }
                    }
                    message.provider_options.as_ref()
                }
            };
            content.extend(cache_point(options));
        }
        Ok(content)
    }

    /// The name of a document, made of what the API allows.
    fn document_name(&mut self, filename: Option<&Text>) -> String {
        let name = filename.map(|name| document_name(name)).unwrap_or_default();
        if !name.is_empty() {
            return name;
        }
        self.unnamed += 1;
        format!("document-{}", self.unnamed)
    }

    fn document(
        &mut self,
        media_type: &str,
        filename: Option<&Text>,
        bytes: Text,
        options: Option<&ProviderOptions>,
    ) -> Result<Object, SdkError> {
        let own = options_of(options).shaped(&FILE)?.unwrap_or_default();
        let has_citations = own
            .get("citations")
            .and_then(|citations| citations.get("enabled"));
        let format = format_of(DOCUMENTS, "file", media_type)?;
        Ok(object! { "document": object! {
            "format": format,
            "name": self.document_name(filename),
            "source": object! { "bytes": bytes },
            "citations"?: has_citations
                .is_some_and(Json::is_truthy)
                .then(|| object! { "enabled": true }),
        } })
    }

    fn file(&mut self, part: &FilePart) -> Result<Object, SdkError> {
        let options = part.provider_options.as_ref();
        let no_urls = || SdkError::unsupported("File URL data");
        match &part.data {
            FileData::Reference(_) => Err(SdkError::unsupported("file parts with provider references")),
            FileData::Text(file) => {
                let media_type = if media_type::is_full(&part.media_type) {
                    &part.media_type
                } else {
                    "text/plain"
                };
                let bytes = base64::encode(file.text.as_bytes()).into();
                self.document(media_type, part.filename.as_ref(), bytes, options)
            }
            FileData::Url(file) if file.url.url().scheme() != "s3" => Err(no_urls()),
            FileData::Url(_) => {
                let full = media_type::resolve(&part.media_type, &part.data)?;
                medium(&full, &part.data)?.ok_or_else(no_urls)
            }
            FileData::Data(file) => {
                let full = media_type::resolve(&part.media_type, &part.data)?;
                if top_level(&full) == "image" {
                    let own = options_of(options).shaped(&IMAGE)?.unwrap_or_default();
                    let image = medium(&full, &part.data)?.unwrap_or_default();
                    return Ok(if own.get("guardContent").is_some_and(Json::is_truthy) {
                        object! { "guardContent": image }
                    } else {
                        image
                    });
                }
                match medium(&full, &part.data)? {
                    Some(video) => Ok(video),
                    None => self.document(&full, part.filename.as_ref(), file.data.to_base64(), options),
                }
            }
        }
    }

    fn assistant(
        &mut self,
        messages: &[(usize, &AssistantMessage)],
        is_last_block: bool,
    ) -> Result<(), SdkError> {
        let (mut said, mut results) = (Vec::new(), Vec::new());
        let last_message = messages.len().saturating_sub(1);
        for (position, (at, message)) in messages.iter().enumerate() {
            let has_thoughts = message
                .content
                .iter()
                .any(|part| matches!(part, AssistantPart::Reasoning(_)));
            let last_part = message.content.len().saturating_sub(1);
            for (index, part) in message.content.iter().enumerate() {
                let is_result = matches!(part, AssistantPart::ToolResult(_));
                if !is_result {
                    self.flush_results(&mut results);
                }
                match part {
                    AssistantPart::Text(part) => {
                        let trimmed = common::trimmed(&part.text);
                        if !trimmed.is_empty() || has_thoughts {
                            // What the model is to continue must not end in a blank.
                            let is_prefill = is_last_block && position == last_message && index == last_part;
                            let text = if is_prefill {
                                Text::from(trimmed)
                            } else {
                                part.text.clone()
                            };
                            said.push(object! { "text": text });
                        }
                    }
                    AssistantPart::Reasoning(part) => match thought(part)? {
                        Some(thought) => said.push(thought),
                        None => self.log.dropped(
                            self.history.part(*at, index),
                            "the API takes only thoughts that are signed or redacted",
                        ),
                    },
                    AssistantPart::ToolCall(part) => said.push(object! { "toolUse": object! {
                        "toolUseId": self.call_id(&part.tool_call_id),
                        "name": tool_name(&part.tool_name),
                        "input": self.input(part.input.as_ref()),
                    } }),
                    AssistantPart::ToolResult(part) => {
                        self.flush_said(&mut said);
                        results.push(self.result(&part.tool_call_id, &part.output)?);
                    }
                    other => self.log.dropped(
                        self.history.part(*at, index),
                        format!("the API has no place for the part {:?} of an answer", other.tag()),
                    ),
                }
                let target = if is_result { &mut results } else { &mut said };
                target.extend(cache_point(part.provider_options()));
            }
            let ends_in_result = matches!(message.content.last(), Some(AssistantPart::ToolResult(_)));
            let target = if ends_in_result { &mut results } else { &mut said };
            target.extend(cache_point(message.provider_options.as_ref()));
        }
        self.flush_results(&mut results);
        self.flush_said(&mut said);
        Ok(())
    }

    fn flush_results(&mut self, results: &mut Vec<Object>) {
        if !results.is_empty() {
            let results = std::mem::take(results);
            self.add_user(results);
        }
    }

    /// Ends a message of the model, unless it has nothing but cache points.
    fn flush_said(&mut self, said: &mut Vec<Object>) {
        let content = std::mem::take(said);
        if content.iter().any(|block| !block.contains_key("cachePoint")) {
            self.turns.push(Turn {
                role: "assistant",
                content,
            });
        }
    }

    /// The input of a call, which must be an object. The SDK wraps a string even if it is an object as
    /// JSON text.
    fn input(&self, input: Option<&Json>) -> Object {
        match input {
            Some(Json::Object(object)) => object.clone(),
            Some(Json::String(text)) if self.profile == Profile::Fixed => match Json::parse_secure(text) {
                Some(Json::Object(object)) => object,
                _ => object! { "rawInvalidInput": text },
            },
            other => object! { "rawInvalidInput"?: other },
        }
    }

    fn call_id(&self, id: &Text) -> Text {
        let is_fine = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self.is_mistral && !is_fine {
            hashed(id).into()
        } else {
            id.clone()
        }
    }

    fn result(&mut self, id: &Text, output: &ToolOutput) -> Result<Object, SdkError> {
        let text = |text: Text| vec![object! { "text": text }];
        let content = match output {
            ToolOutput::Text(output) => text(output.value.clone()),
            ToolOutput::ErrorText(output) => text(output.value.clone()),
            ToolOutput::Denied(output) => text(output.reason.clone().unwrap_or_else(|| DENIED.into())),
            ToolOutput::Json(output) => text(stringify(&output.value, self.profile)),
            ToolOutput::ErrorJson(output) => text(stringify(&output.value, self.profile)),
            ToolOutput::Content(output) => {
                // The SDK looks at documents last, so a fault elsewhere comes first.
                let items: Result<Vec<Item<'_>>, SdkError> = output.value.iter().map(item).collect();
                let blocks: Result<Vec<Object>, SdkError> = items?
                    .into_iter()
                    .map(|item| match item {
                        Item::Block(block) => Ok(block),
                        Item::Document(item, full) => {
                            let FileData::Data(file) = &item.data else {
                                return Err(refused(item));
                            };
                            let bytes = file.data.to_base64();
                            self.document(
                                &full,
                                item.filename.as_ref(),
                                bytes,
                                item.provider_options.as_ref(),
                            )
                        }
                    })
                    .collect();
                blocks?
            }
        };
        // The API can mark failures; the SDK does not.
        let is_error = matches!(output, ToolOutput::ErrorText(_) | ToolOutput::ErrorJson(_));
        let status = (is_error && self.profile == Profile::Fixed).then_some("error");
        Ok(object! { "toolResult": object! {
            "toolUseId": self.call_id(id),
            "content": content,
            "status"?: status,
        } })
    }
}

/// An item of a content output on its way.
enum Item<'a> {
    Block(Object),
    Document(&'a FileItem, Text),
}

fn item(item: &ContentItem) -> Result<Item<'_>, SdkError> {
    let file = match item {
        ContentItem::Text(item) => return Ok(Item::Block(object! { "text": &item.text })),
        ContentItem::File(item) => item,
        ContentItem::Custom(_) => {
            return Err(SdkError::unsupported(
                "unsupported tool content part type: custom",
            ));
        }
    };
    let is_inline = matches!(file.data, FileData::Data(_));
    let is_stored = matches!(&file.data, FileData::Url(url) if url.url.url().scheme() == "s3");
    if !is_inline && !is_stored {
        return Err(refused(file));
    }
    let full = media_type::resolve(&file.media_type, &file.data)?;
    match medium(&full, &file.data)? {
        Some(medium) => Ok(Item::Block(medium)),
        None if is_inline => Ok(Item::Document(file, full)),
        None => Err(refused(file)),
    }
}

fn refused(item: &FileItem) -> SdkError {
    SdkError::unsupported(format!("tool result file data of type \"{}\"", item.data.tag()))
}

/// The options for Bedrock, under its new name or its old one.
fn options_of(options: Option<&ProviderOptions>) -> Options<'_> {
    Options::first_of(options, &super::NAMES)
}

fn cache_point(options: Option<&ProviderOptions>) -> Option<Object> {
    let point = super::NAMES.iter().find_map(|name| {
        let point = options?.get(name)?.get("cachePoint")?;
        (!point.is_null()).then_some(point)
    })?;
    point.is_truthy().then(|| object! { "cachePoint": point })
}

fn text(part: &TextPart) -> Result<Object, SdkError> {
    let own = options_of(part.provider_options.as_ref())
        .shaped(&TEXT)?
        .unwrap_or_default();
    if !own.get("guardContent").is_some_and(Json::is_truthy) {
        return Ok(object! { "text": &part.text });
    }
    Ok(object! { "guardContent": object! { "text": object! {
        "text": &part.text,
        "qualifiers"?: own.get("guardContentQualifiers"),
    } } })
}

fn thought(part: &ReasoningPart) -> Result<Option<Object>, SdkError> {
    let own = options_of(part.provider_options.as_ref())
        .shaped(&REASONING)?
        .unwrap_or_default();
    let content = if let Some(signature) = own.get("signature") {
        object! { "reasoningText": object! { "text": &part.text, "signature": signature } }
    } else if let Some(content) = own.get("redactedContent") {
        object! { "redactedContent": content }
    } else if let Some(data) = own.get("redactedData") {
        object! { "redactedReasoning": object! { "data": data } }
    } else {
        return Ok(None);
    };
    Ok(Some(object! { "reasoningContent": content }))
}

/// An image or a video, inline or in S3; nothing if it is neither.
fn medium(media_type: &Text, data: &FileData) -> Result<Option<Object>, SdkError> {
    let (kind, formats) = match top_level(media_type) {
        "image" => ("image", IMAGES),
        "video" => ("video", VIDEOS),
        _ => return Ok(None),
    };
    let format = format_of(formats, kind, media_type)?;
    let source = match data {
        FileData::Data(file) => object! { "bytes": file.data.to_base64() },
        FileData::Url(file) => object! { "s3Location": object! { "uri": file.url.to_text() } },
        FileData::Reference(_) | FileData::Text(_) => return Ok(None),
    };
    let medium = object! { "format": format, "source": source };
    Ok(Some([(kind, medium)].into_iter().collect()))
}

fn format_of(
    formats: &'static [(&str, &'static str)],
    kind: &str,
    media_type: &str,
) -> Result<&'static str, SdkError> {
    if let Some((_, format)) = formats.iter().find(|(known, _)| *known == media_type) {
        return Ok(format);
    }
    let known: Vec<&str> = formats.iter().map(|(known, _)| *known).collect();
    Err(SdkError::UnsupportedBecause {
        functionality: format!("{kind} mime type: {media_type}"),
        message: format!(
            "Unsupported {kind} mime type: {media_type}, expected one of: {}",
            known.join(", ")
        ),
    })
}

/// A tool's name with only what the API allows in it.
fn tool_name(name: &str) -> Text {
    let name: String = name
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'))
        .collect();
    if name.is_empty() { "_".into() } else { name.into() }
}

/// A file name up to its first dot, with only what the API allows in a document's name.
fn document_name(filename: &str) -> String {
    let mut name = String::new();
    let mut was_blank = false;
    for character in media_type::strip_extension(filename).chars() {
        let is_blank = common::is_blank(character);
        if is_blank && !was_blank {
            name.push(' ');
        } else if character.is_ascii_alphanumeric() || matches!(character, '(' | ')' | '[' | ']' | '-') {
            name.push(character);
        }
        was_blank = is_blank;
    }
    let name = name.trim();
    name[..name.len().min(200)].trim().to_owned()
}

/// An id as nine letters and digits: FNV-1a over its UTF-16 units, in base 62.
fn hashed(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let hash = id.encode_utf16().fold(0xcbf2_9ce4_8422_2325_u64, |hash, unit| {
        (hash ^ u64::from(unit)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut rest = hash % 62_u64.pow(9);
    let mut digits = [b'0'; 9];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_documents_have_only_what_the_api_allows() {
        assert_eq!(document_name("report v1.2 (final).pdf"), "report v1");
        assert_eq!(document_name(" a\u{feff}\t b_c[1]\u{e9}.x"), "a bc[1]");
        assert_eq!(document_name("\u{e9}.pdf"), "");
        assert_eq!(document_name(&format!("{} b", "a".repeat(199))), "a".repeat(199));
    }

    #[test]
    fn ids_become_nine_letters_and_digits() {
        assert_eq!(hashed("call_1").len(), 9);
        assert_ne!(hashed("call_1"), hashed("call_2"));
        assert!(hashed("").bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}

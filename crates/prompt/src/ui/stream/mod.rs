//! From the parts that a model streams to the chunks that a chat client reads.
//!
//! The client thinks in steps: a model speaks, tools run, it speaks again. One [`ChunkStream`] covers
//! all steps of one message; [`ChunkStream::finish_step`] stands between two calls of the model. The
//! parts of a step go in one by one, and what comes out for each is sent at once.
//!
//! What a tool failed with, the model has read; so the client reads it too. Other errors could tell a
//! client more than it should know, and are masked.

mod blocks;
mod options;
mod tools;

use std::collections::HashMap;

use super::chunk::Chunk;
use crate::json::{Json, Object, Text, object};
use crate::typed::Typed;
use crate::types::ProviderOptions;
use crate::types::file::StoredData;
use crate::types::generate::{Citation, Source, StopKind, StreamPart};

use self::blocks::Blocks;
pub use self::options::{ChunkStreamOptions, MASKED_ERROR, StreamTool};
use self::tools::Call;

/// Turns stream parts into chunks.
///
/// ```
/// use tapline_prompt::types::generate::{StreamPart, TextDelta, TextStart};
/// use tapline_prompt::ui::{ChunkStream, ChunkStreamOptions};
///
/// let mut stream = ChunkStream::new(ChunkStreamOptions::default());
/// let mut kinds = Vec::new();
/// for part in [StreamPart::from(TextStart::new("1")), TextDelta::new("1", "Hi").into()] {
///     kinds.extend(stream.push(&part).iter().map(|chunk| chunk.kind().to_owned()));
/// }
/// assert_eq!(kinds, ["start", "start-step", "text-start", "text-delta"]);
///
/// let end: Vec<String> = stream.finish().iter().map(|chunk| chunk.kind().to_owned()).collect();
/// assert_eq!(end, ["finish-step", "finish"]);
/// ```
#[derive(Debug)]
pub struct ChunkStream<'a> {
    options: ChunkStreamOptions<'a>,
    has_started: bool,
    is_in_step: bool,
    reason: StopKind,
    has_output: bool,
    has_ended: bool,
    calls: HashMap<Text, Call>,
    texts: Blocks,
    thoughts: Blocks,
    first_text: Option<FirstText>,
}

/// The first text of a step is what the answer is read from. What the provider adds to a piece of it
/// stays with the pieces that follow.
#[derive(Debug)]
struct FirstText {
    id: Text,
    metadata: Option<ProviderOptions>,
}

impl<'a> ChunkStream<'a> {
    /// A stream for one message.
    pub fn new(options: ChunkStreamOptions<'a>) -> Self {
        ChunkStream {
            options,
            has_started: false,
            is_in_step: false,
            reason: StopKind::Other,
            has_output: false,
            has_ended: false,
            calls: HashMap::new(),
            texts: Blocks::default(),
            thoughts: Blocks::default(),
            first_text: None,
        }
    }

    /// The chunk that opens the message. It comes with the first part if it was not asked for before.
    pub fn start(&mut self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.open_message(&mut chunks);
        chunks
    }

    /// Takes a part of the model's stream.
    pub fn push(&mut self, part: &StreamPart) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.open_message(&mut chunks);
        if matches!(part, StreamPart::StreamStart(_)) {
            return chunks;
        }
        self.open_step(&mut chunks);
        self.part(part, &mut chunks);
        chunks
    }

    /// Adds a chunk of the caller's own, such as data or an approval.
    pub fn push_chunk(&mut self, chunk: Chunk) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.open_message(&mut chunks);
        chunks.push(chunk);
        chunks
    }

    /// Ends a step. The next part begins another.
    pub fn finish_step(&mut self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        if self.is_in_step {
            self.is_in_step = false;
            self.texts.end_step();
            self.thoughts.end_step();
            chunks.push(Chunk::made(object! { "type": "finish-step" }));
        }
        chunks
    }

    /// Ends the message, when the last stream of the model has ended.
    pub fn finish(mut self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.open_message(&mut chunks);
        if !self.has_ended && !self.has_output {
            let error = "AI_NoOutputGeneratedError: No output generated. The model stream ended without a finish chunk.";
            self.error(&error.into(), &mut chunks);
            return chunks;
        }
        chunks.extend(self.finish_step());
        if self.options.send_frame {
            chunks.push(Chunk::made(object! {
                "type": "finish",
                "finishReason": self.reason.as_str(),
                "messageMetadata"?: self.options.finish_metadata,
            }));
        }
        chunks
    }

    /// Ends the message because it was stopped.
    pub fn abort(mut self, reason: Option<Text>) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.open_message(&mut chunks);
        chunks.push(Chunk::made(object! { "type": "abort", "reason"?: reason }));
        chunks
    }

    fn open_message(&mut self, chunks: &mut Vec<Chunk>) {
        if !std::mem::replace(&mut self.has_started, true) && self.options.send_frame {
            chunks.push(Chunk::made(object! {
                "type": "start",
                "messageMetadata"?: self.options.start_metadata.clone(),
                "messageId"?: self.options.message_id.clone(),
            }));
        }
    }

    fn open_step(&mut self, chunks: &mut Vec<Chunk>) {
        if !std::mem::replace(&mut self.is_in_step, true) {
            self.reason = StopKind::Other;
            self.has_output = false;
            self.has_ended = false;
            self.first_text = None;
            chunks.push(Chunk::made(object! { "type": "start-step" }));
        }
    }

    fn part(&mut self, part: &StreamPart, chunks: &mut Vec<Chunk>) {
        match part {
            StreamPart::TextStart(part) => {
                let id = self.texts.start(&part.id);
                self.text_metadata(&id, None);
                chunks.push(block(
                    "text-start",
                    id,
                    object! {},
                    part.provider_metadata.as_ref(),
                ));
            }
            StreamPart::TextDelta(part) => {
                self.has_output |= !part.delta.is_empty();
                if !part.delta.is_empty() || part.provider_metadata.is_some() {
                    let (id, is_open) = self.texts.find(&part.id);
                    let metadata = self.text_metadata(&id, part.provider_metadata.as_ref());
                    let more = object! { "delta": &part.delta };
                    chunks.push(block("text-delta", id, more, metadata.as_ref()));
                    self.require_open("text", &part.id, is_open, chunks);
                }
            }
            StreamPart::TextEnd(part) => {
                let (id, is_open) = self.texts.find(&part.id);
                self.text_metadata(&id, None);
                let citations = part
                    .citations
                    .as_ref()
                    .map(|citations| Json::Array(citations.iter().map(Citation::to_json).collect()));
                let more = object! { "citations"?: citations };
                chunks.push(block("text-end", id, more, part.provider_metadata.as_ref()));
                self.require_open("text", &part.id, is_open, chunks);
                self.texts.end(&part.id);
            }
            StreamPart::ReasoningStart(part) => {
                let id = self.thoughts.start(&part.id);
                let chunk = block("reasoning-start", id, object! {}, part.provider_metadata.as_ref());
                self.reasoning(chunk, chunks);
            }
            StreamPart::ReasoningDelta(part) => {
                self.has_output |= !part.delta.is_empty();
                let (id, is_open) = self.thoughts.find(&part.id);
                let more = object! { "delta": &part.delta };
                let chunk = block("reasoning-delta", id, more, part.provider_metadata.as_ref());
                self.reasoning(chunk, chunks);
                self.require_open("reasoning", &part.id, is_open, chunks);
            }
            StreamPart::ReasoningEnd(part) => {
                let (id, is_open) = self.thoughts.find(&part.id);
                let chunk = block("reasoning-end", id, object! {}, part.provider_metadata.as_ref());
                self.reasoning(chunk, chunks);
                self.require_open("reasoning", &part.id, is_open, chunks);
                self.thoughts.end(&part.id);
            }
            StreamPart::ToolInputStart(part) => chunks.push(self.input_start(part)),
            StreamPart::ToolInputDelta(part) => {
                self.has_output |= !part.delta.is_empty();
                chunks.push(Chunk::made(object! {
                    "type": "tool-input-delta",
                    "toolCallId": &part.id,
                    "inputTextDelta": &part.delta,
                }));
            }
            StreamPart::ToolCall(part) => {
                self.has_output = true;
                chunks.push(self.call(part));
            }
            StreamPart::ToolResult(part) => chunks.push(self.result(part)),
            StreamPart::ApprovalRequest(part) => self.approval(part, chunks),
            StreamPart::Custom(part) => chunks.push(Chunk::made(object! {
                "type": "custom",
                "kind": part.kind.as_str(),
                "providerMetadata"?: metadata(part.provider_metadata.as_ref()),
            })),
            StreamPart::File(part) => {
                self.has_output = true;
                let metadata = part.provider_metadata.as_ref();
                chunks.push(file("file", &part.media_type, &part.data, metadata));
            }
            StreamPart::ReasoningFile(part) => {
                self.has_output = true;
                let metadata = part.provider_metadata.as_ref();
                let chunk = file("reasoning-file", &part.media_type, &part.data, metadata);
                self.reasoning(chunk, chunks);
            }
            StreamPart::Source(part) if self.options.send_sources => chunks.push(source(part)),
            StreamPart::Finish(part) => {
                self.has_ended = true;
                self.reason = part.finish_reason.unified;
            }
            StreamPart::Error(part) => {
                self.has_ended = true;
                self.reason = StopKind::Error;
                self.error(&part.error, chunks);
            }
            StreamPart::Source(_)
            | StreamPart::ToolInputEnd(_)
            | StreamPart::StreamStart(_)
            | StreamPart::ResponseMetadata(_)
            | StreamPart::Ping(_)
            | StreamPart::Raw(_) => {}
        }
    }

    /// What the provider adds to a piece of text, or has added to an earlier piece of the first text.
    fn text_metadata(&mut self, id: &Text, added: Option<&ProviderOptions>) -> Option<ProviderOptions> {
        let first = self.first_text.get_or_insert_with(|| FirstText {
            id: id.clone(),
            metadata: None,
        });
        if first.id != *id {
            return added.cloned();
        }
        if added.is_some() {
            first.metadata = added.cloned();
        }
        first.metadata.clone()
    }

    fn error(&self, error: &Json, chunks: &mut Vec<Chunk>) {
        let text = self.error_text(error);
        chunks.push(Chunk::made(object! { "type": "error", "errorText": text }));
    }

    fn error_text(&self, error: &Json) -> String {
        self.options
            .error_text
            .map_or_else(|| MASKED_ERROR.to_owned(), |text| text(error))
    }

    fn reasoning(&self, chunk: Chunk, chunks: &mut Vec<Chunk>) {
        if self.options.send_reasoning {
            chunks.push(chunk);
        }
    }

    /// A piece of a block that never began is passed on, and reported.
    fn require_open(&self, what: &str, id: &Text, is_open: bool, chunks: &mut Vec<Chunk>) {
        if !is_open {
            self.error(&format!("{what} part {id} not found").into(), chunks);
        }
    }
}

fn metadata(metadata: Option<&ProviderOptions>) -> Option<Json> {
    metadata.map(Typed::to_json)
}

fn block(kind: &str, id: Text, more: Object, provider_metadata: Option<&ProviderOptions>) -> Chunk {
    let mut chunk = object! { "type": kind, "id": id };
    chunk.extend_from(&more);
    chunk.insert_some("providerMetadata", metadata(provider_metadata));
    Chunk::made(chunk)
}

/// A file as a URL: a data URL, or the one that it stands at.
fn file(
    kind: &str,
    media_type: &Text,
    data: &StoredData,
    provider_metadata: Option<&ProviderOptions>,
) -> Chunk {
    let url = match data {
        StoredData::Data(file) => Text::joined(format!("data:{media_type};base64,"), file.data.to_base64()),
        StoredData::Url(file) => file.url.to_text(),
    };
    Chunk::made(object! {
        "type": kind,
        "mediaType": media_type,
        "url": url,
        "providerMetadata"?: metadata(provider_metadata),
    })
}

fn source(source: &Source) -> Chunk {
    Chunk::made(match source {
        Source::Url(source) => object! {
            "type": "source-url",
            "sourceId": &source.id,
            "url": &source.url,
            "title"?: source.title.clone(),
            "providerMetadata"?: metadata(source.provider_metadata.as_ref()),
        },
        Source::Document(source) => object! {
            "type": "source-document",
            "sourceId": &source.id,
            "mediaType": &source.media_type,
            "title": &source.title,
            "filename"?: source.filename.clone(),
            "providerMetadata"?: metadata(source.provider_metadata.as_ref()),
        },
    })
}

//! From the parts that a model streams to the chunks that a chat client reads.
//!
//! The client thinks in steps: a model speaks, tools run, it speaks again. One [`ChunkStream`] covers
//! all steps of one message; [`ChunkStream::finish_step`] stands between two calls of the model. The
//! parts of a step go in one by one, and what comes out for each is sent at once.
//!
//! What a tool failed with, the model has read; so the client reads it too. Other errors could tell a
//! client more than it should know, and are masked.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::chunk::Chunk;
use super::validate::Check;
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::model_messages::ToolOutcome;
use crate::model_messages::lenient::error_text;
use crate::typed::Typed;
use crate::types::ProviderOptions;
use crate::types::file::StoredData;
use crate::types::generate::{
    ApprovalRequestContent, Citation, Source, StopKind, StreamPart, ToolCallContent, ToolInputStart,
    ToolResultContent,
};

/// The text that stands for an error which is nobody's business.
pub const MASKED_ERROR: &str = "An error occurred.";

/// How a stream is made for a client.
pub struct ChunkStreamOptions<'a> {
    /// The id of the message.
    pub message_id: Option<Text>,
    /// Metadata for its start.
    pub start_metadata: Option<Json>,
    /// Metadata for its end.
    pub finish_metadata: Option<Json>,
    /// Whether thoughts are sent.
    pub send_reasoning: bool,
    /// Whether sources are sent.
    pub send_sources: bool,
    /// Whether the start and the finish of the message are sent.
    pub send_frame: bool,
    /// The tools that the model was given.
    pub tools: Option<Vec<StreamTool<'a>>>,
    /// Puts an error into words for the client. Without it all errors read [`MASKED_ERROR`].
    pub error_text: Option<&'a dyn Fn(&Json) -> String>,
}

impl Default for ChunkStreamOptions<'_> {
    fn default() -> Self {
        ChunkStreamOptions {
            message_id: None,
            start_metadata: None,
            finish_metadata: None,
            send_reasoning: true,
            send_sources: false,
            send_frame: true,
            tools: None,
            error_text: None,
        }
    }
}

impl fmt::Debug for ChunkStreamOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkStreamOptions")
            .field("message_id", &self.message_id)
            .field("send_reasoning", &self.send_reasoning)
            .field("send_sources", &self.send_sources)
            .field("send_frame", &self.send_frame)
            .finish_non_exhaustive()
    }
}

/// A tool that the model was given.
pub struct StreamTool<'a> {
    /// Its name.
    pub name: Text,
    /// What a client shows for it.
    pub title: Option<Text>,
    /// Whether the client does not know its types.
    pub is_dynamic: bool,
    /// Checks the input of a call; without it any JSON is taken.
    pub check_input: Option<Check<'a>>,
}

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

/// A call of this message, for approvals and results that follow it.
#[derive(Debug)]
struct Call {
    name: Text,
    before_schema: Option<Json>,
    is_invalid: bool,
}

/// The ids of one kind of blocks. Models begin to count anew with every call; within a message an id
/// must not come twice.
#[derive(Debug, Default)]
struct Blocks {
    used: HashSet<Text>,
    /// The model's ids of this step, and what they are in the chunks.
    renamed: HashMap<Text, Text>,
    open: HashSet<Text>,
}

impl Blocks {
    fn start(&mut self, id: &Text) -> Text {
        let mut unique = id.clone();
        let mut count = 1;
        while !self.used.insert(unique.clone()) {
            count += 1;
            unique = format!("{id}-{count}").into();
        }
        self.renamed.insert(id.clone(), unique.clone());
        self.open.insert(unique.clone());
        unique
    }

    /// The id that a block has in the chunks, and whether it is open.
    fn find(&self, id: &Text) -> (Text, bool) {
        let id = self.renamed.get(id).unwrap_or(id).clone();
        let is_open = self.open.contains(&id);
        (id, is_open)
    }

    fn end(&mut self, id: &Text) {
        let renamed = self.renamed.remove(id);
        self.open.remove(renamed.as_ref().unwrap_or(id));
    }

    fn end_step(&mut self) {
        self.renamed.clear();
        self.open.clear();
    }
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

    /// Adds what a tool of the caller's own gave.
    pub fn push_outcome(&mut self, tool_call_id: &Text, outcome: &ToolOutcome) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.open_message(&mut chunks);
        self.open_step(&mut chunks);
        let name = self.calls.get(tool_call_id).map(|call| call.name.clone());
        let dynamic = name.and_then(|name| self.dynamic(&name, None));
        let chunk = match outcome {
            ToolOutcome::Failed(error) => object! {
                "type": "tool-output-error",
                "toolCallId": tool_call_id,
                "errorText": error,
                "dynamic"?: dynamic,
            },
            ToolOutcome::Returned(output) => object! {
                "type": "tool-output-available",
                "toolCallId": tool_call_id,
                "output": output.clone().unwrap_or_default(),
                "dynamic"?: dynamic,
            },
            ToolOutcome::ForModel(output) => object! {
                "type": "tool-output-available",
                "toolCallId": tool_call_id,
                "output": output,
                "dynamic"?: dynamic,
            },
        };
        // That an invalid call has failed was said when it was made.
        if !self.calls.get(tool_call_id).is_some_and(|call| call.is_invalid) {
            chunks.push(Chunk::made(chunk));
        }
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

    fn tool(&self, name: &str) -> Option<&StreamTool<'a>> {
        self.options
            .tools
            .iter()
            .flatten()
            .find(|tool| *tool.name == *name)
    }

    /// Whether a call is dynamic: as its tool is, or as the model says of a tool that is not listed.
    fn dynamic(&self, name: &str, said: Option<bool>) -> Option<bool> {
        match self.tool(name) {
            Some(tool) => tool.is_dynamic.then_some(true),
            None => said,
        }
    }

    fn input_start(&self, part: &ToolInputStart) -> Chunk {
        let tool = self.tool(&part.tool_name);
        Chunk::made(object! {
            "type": "tool-input-start",
            "toolCallId": &part.id,
            "toolName": &part.tool_name,
            "inputEncoding"?: part.input_encoding.map(|encoding| encoding.as_str()),
            "providerExecuted"?: part.provider_executed,
            "providerMetadata"?: metadata(part.provider_metadata.as_ref()),
            "dynamic"?: self.dynamic(&part.tool_name, Some(part.dynamic.unwrap_or(false))),
            "title"?: tool.and_then(|tool| tool.title.clone()),
        })
    }

    fn call(&mut self, part: &ToolCallContent) -> Chunk {
        let name = &part.tool_name;
        let is_providers = part.provider_executed == Some(true);
        let parsed = self.parse_input(part);
        let title = self.tool(name).and_then(|tool| tool.title.clone());
        let mut chunk = object! {
            "type": "tool-input-available",
            "toolCallId": &part.tool_call_id,
            "toolName": name,
        };
        let (input, error, before_schema) = match parsed {
            Ok((input, before_schema)) => (input, None, before_schema),
            Err(error) => {
                let input = Json::parse_secure(&part.input).unwrap_or_else(|| Json::from(&part.input));
                (input, Some(error), None)
            }
        };
        let said = if error.is_some() {
            Some(true)
        } else {
            part.dynamic.filter(|_| is_providers)
        };
        chunk.insert("input", input);
        chunk.insert_some("providerExecuted", part.provider_executed);
        chunk.insert_some("providerMetadata", metadata(part.provider_metadata.as_ref()));
        chunk.insert_some("dynamic", self.dynamic(name, said));
        if let Some(error) = &error {
            chunk.insert("type", "tool-input-error");
            // The model reads why its call was refused, unless the provider was to run it.
            let is_masked = is_providers || self.options.error_text.is_some();
            let error = Json::from(&**error);
            let text = if is_masked {
                self.error_text(&error)
            } else {
                error_text(Some(&error)).to_string()
            };
            chunk.insert("errorText", text);
        }
        chunk.insert_some("title", title);
        self.calls.insert(
            part.tool_call_id.clone(),
            Call {
                name: name.clone(),
                before_schema,
                is_invalid: error.is_some() && !is_providers,
            },
        );
        Chunk::made(chunk)
    }

    /// The input of a call, and what it was before the tool's schema changed it; or why the call is
    /// refused. Many models write nothing at all where there are no arguments.
    fn parse_input(&self, part: &ToolCallContent) -> Result<(Json, Option<Json>), String> {
        let name = &part.tool_name;
        let is_providers_own = part.provider_executed == Some(true) && part.dynamic == Some(true);
        let tool = self.tool(name);
        if tool.is_none() && !is_providers_own {
            let available = match &self.options.tools {
                None => "No tools are available.".to_owned(),
                Some(tools) => {
                    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
                    format!("Available tools: {}.", names.join(", "))
                }
            };
            return Err(format!(
                "AI_NoSuchToolError: Model tried to call unavailable tool '{name}'. {available}"
            ));
        }
        let is_blank = part.input.trim_matches(is_js_space).is_empty();
        let invalid =
            |cause: String| format!("AI_InvalidToolInputError: Invalid input for tool {name}: {cause}");
        let input = if is_blank {
            Some(Json::from(Object::new()))
        } else {
            Json::parse_secure(&part.input)
        };
        let input = input.ok_or_else(|| {
            let text = &part.input;
            invalid(format!("AI_JSONParseError: JSON parsing failed: Text: {text}."))
        })?;
        match tool.and_then(|tool| tool.check_input) {
            Some(check) => {
                let checked = check(&input).map_err(invalid)?;
                let before_schema = (checked != input).then_some(input);
                Ok((checked, before_schema))
            }
            None => Ok((input, None)),
        }
    }

    fn approval(&mut self, part: &ApprovalRequestContent, chunks: &mut Vec<Chunk>) {
        let id = &part.tool_call_id;
        match self.calls.get(id) {
            Some(call) => chunks.push(Chunk::made(object! {
                "type": "tool-approval-request",
                "approvalId": &part.approval_id,
                "toolCallId": id,
                "inputSchemaInput"?: call.before_schema.clone(),
            })),
            None => {
                let error = SdkError::ToolCallNotFoundForApproval {
                    tool_call_id: id.to_string(),
                    approval_id: part.approval_id.to_string(),
                };
                self.has_ended = true;
                self.reason = StopKind::Error;
                self.error(&format!("{}: {error}", error.name()).into(), chunks);
            }
        }
    }

    fn result(&self, part: &ToolResultContent) -> Chunk {
        let mut chunk = object! { "type": "tool-output-available", "toolCallId": &part.tool_call_id };
        if part.is_error == Some(true) {
            // The error of a provider's tool goes back to the provider, so it is not masked.
            let text = match &part.result {
                Json::String(text) => text.clone(),
                other => other.to_js().into(),
            };
            chunk.insert("type", "tool-output-error");
            chunk.insert("errorText", text);
        } else {
            chunk.insert("output", &part.result);
        }
        chunk.insert("providerExecuted", true);
        chunk.insert_some("providerMetadata", metadata(part.provider_metadata.as_ref()));
        chunk.insert_some("dynamic", self.dynamic(&part.tool_name, part.dynamic));
        Chunk::made(chunk)
    }
}

/// What JavaScript's `trim` takes off.
fn is_js_space(char: char) -> bool {
    char == '\u{feff}' || char.is_whitespace() && char != '\u{85}'
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

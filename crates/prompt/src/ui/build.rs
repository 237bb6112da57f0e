//! From chunks to the UI message that a chat client holds.

use std::collections::HashMap;

use super::chunk::Chunk;
use super::partial_json::parse_partial_json;
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::model_messages::lenient::{merge, str_of};

/// Builds a message from chunks, as `useChat` does.
///
/// ```
/// use tapline_prompt::ui::{Chunk, MessageBuilder};
///
/// let mut builder = MessageBuilder::new("m1");
/// for chunk in [
///     r#"{"type":"text-start","id":"1"}"#,
///     r#"{"type":"text-delta","id":"1","delta":"Hi"}"#,
///     r#"{"type":"text-end","id":"1"}"#,
/// ] {
///     builder.push(&Chunk::parse(chunk)?)?;
/// }
/// assert_eq!(
///     builder.message().to_js(),
///     r#"{"id":"m1","role":"assistant","parts":[{"type":"text","text":"Hi","state":"done"}]}"#
/// );
/// # Ok::<(), tapline_prompt::error::SdkError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MessageBuilder {
    id: Text,
    metadata: Option<Json>,
    /// What else an earlier message has that is being continued.
    rest: Object,
    parts: Vec<Object>,
    texts: HashMap<String, Block>,
    thoughts: HashMap<String, Block>,
    inputs: HashMap<Text, Input>,
    finish_reason: Option<Text>,
    keeps_parts: bool,
}

/// A text or thought that is still growing. Its text is put into its part when somebody looks.
#[derive(Debug, Clone)]
struct Block {
    index: usize,
    text: String,
}

/// The input of a call while it is being written.
#[derive(Debug, Clone)]
struct Input {
    text: String,
    encoding: Option<Json>,
    tool_name: Text,
    is_dynamic: bool,
    title: Option<Json>,
    tool_metadata: Option<Json>,
}

/// What a chunk means for the caller, besides a change of the message.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Nothing else.
    Built,
    /// The stream reports an error; it may go on.
    Error(Text),
    /// Data that is not part of the message.
    Transient(Chunk),
    /// The message was stopped, for this reason if one is given.
    Aborted(Option<Text>),
}

impl MessageBuilder {
    /// A builder of a new message. A `start` chunk with another id begins another message.
    pub fn new(id: impl Into<Text>) -> Self {
        MessageBuilder {
            id: id.into(),
            metadata: None,
            rest: Object::new(),
            parts: Vec::new(),
            texts: HashMap::new(),
            thoughts: HashMap::new(),
            inputs: HashMap::new(),
            finish_reason: None,
            keeps_parts: false,
        }
    }

    /// A builder that goes on with an assistant message, or begins a new one if the last message is of
    /// somebody else.
    pub fn continuing(last: &Json, id: impl Into<Text>) -> Self {
        let mut builder = MessageBuilder::new(id);
        let Some(message) = last
            .as_object()
            .filter(|_| str_of(last, "role") == Some("assistant"))
        else {
            return builder;
        };
        for (key, value) in message.iter() {
            match (key, value) {
                ("id", Json::String(id)) => builder.id = id.clone(),
                ("role", _) => {}
                ("metadata", metadata) => builder.metadata = Some(metadata.clone()),
                ("parts", Json::Array(parts)) => {
                    builder.parts = parts.iter().filter_map(Json::as_object).cloned().collect();
                }
                (key, value) => builder.rest.insert(key, value.clone()),
            }
        }
        let open: Vec<_> = builder.parts[builder.step_start()..]
            .iter()
            .filter(|part| is_call(part) && text_of(part, "state") == "input-streaming")
            .map(|part| {
                let input = Input {
                    text: text_of(part, "rawInput").to_owned(),
                    encoding: part.get("inputEncoding").cloned(),
                    tool_name: tool_name(part),
                    is_dynamic: is_dynamic(part),
                    title: part.get("title").cloned(),
                    tool_metadata: part.get("toolMetadata").cloned(),
                };
                (Text::from(text_of(part, "toolCallId")), input)
            })
            .collect();
        builder.inputs.extend(open);
        builder
    }

    /// Keeps what there is when a `start` chunk brings another id, as a chat does with the answer to its
    /// own request; it then only renames the message.
    pub fn keeping_parts(mut self) -> Self {
        self.keeps_parts = true;
        self
    }

    /// The message as far as it goes.
    pub fn message(&self) -> Json {
        let mut parts = self.parts.clone();
        for block in self.texts.values().chain(self.thoughts.values()) {
            block.write(&mut parts);
        }
        let mut message = object! {
            "id": &self.id,
            "metadata"?: self.metadata.clone(),
            "role": "assistant",
            "parts": parts,
        };
        message.extend_from(&self.rest);
        message.into()
    }

    /// Why the model stopped, once that is known.
    pub fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.as_deref()
    }

    /// Takes the next chunk. One that does not fit to those before it is an error, which for the client
    /// ends the stream.
    pub fn push(&mut self, chunk: &Chunk) -> Result<Event, SdkError> {
        let id = chunk.shared_text("id");
        match chunk.kind() {
            "text-start" => {
                let block = Block::at(self.parts.len());
                if let Some(older) = self.texts.insert(id.to_string(), block) {
                    older.write(&mut self.parts);
                }
                self.parts.push(object! {
                    "type": "text",
                    "text": "",
                    "providerMetadata"?: chunk.some("providerMetadata").cloned(),
                    "state": "streaming",
                });
            }
            "reasoning-start" => {
                let block = Block::at(self.parts.len());
                if let Some(older) = self.thoughts.insert(id.to_string(), block) {
                    older.write(&mut self.parts);
                }
                self.parts.push(object! {
                    "type": "reasoning",
                    "id": id,
                    "text": "",
                    "providerMetadata"?: chunk.some("providerMetadata").cloned(),
                    "state": "streaming",
                });
            }
            "text-delta" | "text-end" => self.continue_block(chunk, "text")?,
            "reasoning-delta" | "reasoning-end" => self.continue_block(chunk, "reasoning")?,
            "custom" | "file" | "reasoning-file" | "source-url" | "source-document" => {
                let known = [
                    "type",
                    "kind",
                    "mediaType",
                    "url",
                    "sourceId",
                    "title",
                    "filename",
                    "providerMetadata",
                ];
                let is_file = chunk.kind().ends_with("file");
                self.parts.push(
                    known
                        .into_iter()
                        .filter(|key| !is_file || !matches!(*key, "title" | "filename"))
                        .filter_map(|key| Some((key, chunk.some(key)?.clone())))
                        .collect(),
                );
            }
            "steering-message" => self.parts.push(object! {
                "type": "steering-message",
                "id": id,
                "parts"?: chunk.get("parts").cloned(),
            }),
            "start-step" => self.parts.push(object! { "type": "step-start" }),
            "reset-step" => {
                for (_, block) in self.texts.drain().chain(self.thoughts.drain()) {
                    block.write(&mut self.parts);
                }
                self.inputs.clear();
                self.parts.truncate(self.step_start());
            }
            "start" => {
                if let Some(id) = chunk.get("messageId").and_then(Json::as_text) {
                    if self.keeps_parts {
                        self.id = id.clone();
                    } else if self.id != *id {
                        *self = MessageBuilder::new(id);
                    }
                }
                self.merge_metadata(chunk);
            }
            "finish" => {
                if let Some(reason) = chunk.get("finishReason").and_then(Json::as_text) {
                    self.finish_reason = Some(reason.clone());
                }
                self.merge_metadata(chunk);
            }
            "message-metadata" => self.merge_metadata(chunk),
            "error" => return Ok(Event::Error(chunk.shared_text("errorText"))),
            "abort" => {
                return Ok(Event::Aborted(
                    chunk.get("reason").and_then(Json::as_text).cloned(),
                ));
            }
            kind if kind.starts_with("data-") => {
                if chunk.get("transient") == Some(&Json::Bool(true)) {
                    return Ok(Event::Transient(chunk.clone()));
                }
                self.data(chunk);
            }
            kind if kind.starts_with("tool-") => self.tool(chunk)?,
            _ => {}
        }
        Ok(Event::Built)
    }

    /// Where the parts of the current step begin.
    fn step_start(&self) -> usize {
        let last = self
            .parts
            .iter()
            .rposition(|part| text_of(part, "type") == "step-start");
        last.map_or(0, |last| last + 1)
    }

    fn continue_block(&mut self, chunk: &Chunk, what: &str) -> Result<(), SdkError> {
        let blocks = if what == "text" {
            &mut self.texts
        } else {
            &mut self.thoughts
        };
        let kind = chunk.kind();
        let id = chunk.text("id");
        let missing = || missing_start(kind, what, &format!("{what} part"), id);
        let block = blocks.get_mut(id).ok_or_else(missing)?;
        let index = block.index;
        if kind.ends_with("-delta") {
            block.text.push_str(chunk.text("delta"));
        } else {
            block.write(&mut self.parts);
            blocks.remove(id);
        }
        let Some(part) = self.parts.get_mut(index) else {
            return Ok(());
        };
        if kind.ends_with("-end") {
            part.insert("state", "done");
            part.insert_some("citations", chunk.some("citations").cloned());
        }
        part.insert_some("providerMetadata", chunk.some("providerMetadata").cloned());
        Ok(())
    }

    fn merge_metadata(&mut self, chunk: &Chunk) {
        let Some(metadata) = chunk.some("messageMetadata") else {
            return;
        };
        self.metadata = Some(match (&self.metadata, metadata) {
            (Some(Json::Object(old)), Json::Object(new)) => merge(old, new).into(),
            // There is nothing in a number or a boolean that could be merged in.
            (Some(old @ Json::Object(_)), Json::Number(_) | Json::Bool(_)) => old.clone(),
            _ => metadata.clone(),
        });
    }

    /// Data with an id replaces data of the same type and id.
    fn data(&mut self, chunk: &Chunk) {
        let existing = chunk.some("id").and_then(|id| {
            self.parts
                .iter_mut()
                .find(|part| text_of(part, "type") == chunk.kind() && part.get("id") == Some(id))
        });
        match existing {
            Some(part) => part.insert_some("data", chunk.get("data").cloned()),
            None => self.parts.push(chunk.members().clone()),
        }
    }

    fn tool(&mut self, chunk: &Chunk) -> Result<(), SdkError> {
        let id = chunk.shared_text("toolCallId");
        match chunk.kind() {
            "tool-input-start" => {
                let input = Input {
                    text: String::new(),
                    encoding: chunk.some("inputEncoding").cloned(),
                    tool_name: chunk.shared_text("toolName"),
                    is_dynamic: chunk.get("dynamic") == Some(&Json::Bool(true)),
                    title: chunk.some("title").cloned(),
                    tool_metadata: chunk.some("toolMetadata").cloned(),
                };
                let update = Update {
                    encoding: input.encoding.clone(),
                    ..Update::from_chunk("input-streaming", chunk)
                };
                self.update(None, input.is_dynamic, &input.tool_name, update);
                self.inputs.insert(id, input);
            }
            "tool-input-delta" => {
                let input = self
                    .inputs
                    .get_mut(&id)
                    .ok_or_else(|| missing_start("tool-input-delta", "tool-input", "tool call", &id))?;
                input.text.push_str(chunk.text("inputTextDelta"));
                let is_text = input.encoding == Some(Json::from("text"));
                let value = if is_text {
                    Some(Json::from(&*input.text))
                } else {
                    parse_partial_json(&input.text)
                };
                let update = Update {
                    state: "input-streaming",
                    id,
                    input: value,
                    raw_input: Some(Json::from(&*input.text)),
                    encoding: input.encoding.clone(),
                    title: input.title.clone(),
                    tool_metadata: input.tool_metadata.clone(),
                    ..Update::default()
                };
                let (is_dynamic, tool_name) = (input.is_dynamic, input.tool_name.clone());
                self.update(None, is_dynamic, &tool_name, update);
            }
            "tool-input-available" => {
                let is_dynamic = chunk.get("dynamic") == Some(&Json::Bool(true));
                let update = Update::from_chunk("input-available", chunk);
                self.update(None, is_dynamic, &chunk.shared_text("toolName"), update);
            }
            "tool-input-error" => {
                // A part that is there already keeps its kind, whatever the chunk says.
                let existing = self.parts[self.step_start()..]
                    .iter()
                    .find(|part| is_call(part) && text_of(part, "toolCallId") == &*id);
                let is_dynamic = existing.map_or(chunk.get("dynamic") == Some(&Json::Bool(true)), is_dynamic);
                let update = Update {
                    title: None,
                    ..Update::from_chunk("output-error", chunk)
                };
                self.update(None, is_dynamic, &chunk.shared_text("toolName"), update);
            }
            "tool-approval-request" => {
                let approval = object! {
                    "id"?: chunk.get("approvalId").cloned(),
                    "descriptor"?: chunk.some("approvalDescriptor").cloned(),
                    "inputSchemaInput"?: chunk.get("inputSchemaInput").cloned(),
                    "requestReason"?: chunk.some("reason").cloned(),
                    "isAutomatic"?: chunk.get("isAutomatic").filter(|value| **value == Json::Bool(true)).cloned(),
                    "signature"?: chunk.some("signature").cloned(),
                };
                let call = self.find_call(&id)?;
                call.insert("state", "approval-requested");
                call.insert("approval", approval);
            }
            "tool-approval-response" => self.approval_response(chunk)?,
            "tool-output-denied" => self.find_call(&id)?.insert("state", "output-denied"),
            "tool-output-available" | "tool-output-error" => {
                let is_error = chunk.kind() == "tool-output-error";
                let call = self.find_call(&id)?;
                let (is_dynamic, name) = (is_dynamic(call), tool_name(call));
                let state = if is_error {
                    "output-error"
                } else {
                    "output-available"
                };
                let update = Update {
                    input: call.get("input").cloned(),
                    raw_input: call.get("rawInput").filter(|_| is_error && !is_dynamic).cloned(),
                    title: None,
                    ..Update::from_chunk(state, chunk)
                };
                let index = self.call_index(&id)?;
                self.update(Some(index), is_dynamic, &name, update);
            }
            _ => {}
        }
        Ok(())
    }

    fn approval_response(&mut self, chunk: &Chunk) -> Result<(), SdkError> {
        let id = chunk.shared_text("approvalId");
        let call = self.parts.iter_mut().filter(|part| is_call(part)).find(|part| {
            let approval = part.get("approval").and_then(|approval| approval.get("id"));
            approval.and_then(Json::as_str) == Some(&*id)
        });
        let call = call.ok_or_else(|| SdkError::UiMessageStream {
            chunk_type: "tool-approval-response".to_owned(),
            chunk_id: id.to_string(),
            message: format!("No tool invocation found for approval ID \"{id}\"."),
        })?;
        call.insert("state", "approval-responded");
        if let Some(Json::Object(approval)) = call.get_mut("approval") {
            approval.insert_some("approved", chunk.get("approved").cloned());
            approval.insert_some("reason", chunk.some("reason").cloned());
        }
        call.insert_some("providerExecuted", chunk.some("providerExecuted").cloned());
        call.insert_some("callProviderMetadata", chunk.some("providerMetadata").cloned());
        Ok(())
    }

    /// The part of a call: in the current step, else the latest of an earlier one.
    fn call_index(&self, id: &str) -> Result<usize, SdkError> {
        let is_it = |part: &Object| is_call(part) && text_of(part, "toolCallId") == id;
        let start = self.step_start();
        let current = self.parts[start..]
            .iter()
            .position(is_it)
            .map(|index| start + index);
        current
            .or_else(|| self.parts[..start].iter().rposition(is_it))
            .ok_or_else(|| SdkError::UiMessageStream {
                chunk_type: "tool-invocation".to_owned(),
                chunk_id: id.to_owned(),
                message: format!("No tool invocation found for tool call ID \"{id}\"."),
            })
    }

    fn find_call(&mut self, id: &str) -> Result<&mut Object, SdkError> {
        let index = self.call_index(id)?;
        Ok(&mut self.parts[index])
    }

    /// Brings the part of a call to a new state, or adds one. Of a part that is not named, only the
    /// current step and its own kind are looked at.
    fn update(&mut self, index: Option<usize>, is_dynamic_call: bool, tool_name: &Text, update: Update) {
        let start = self.step_start();
        let index = index.or_else(|| {
            let found = self.parts[start..].iter().position(|part| {
                is_call(part)
                    && is_dynamic(part) == is_dynamic_call
                    && text_of(part, "toolCallId") == &*update.id
            });
            found.map(|found| start + found)
        });
        let index = index.unwrap_or_else(|| {
            let kind = match is_dynamic_call {
                true => Text::from("dynamic-tool"),
                false => format!("tool-{tool_name}").into(),
            };
            self.parts
                .push(object! { "type": kind, "toolCallId": &update.id });
            self.parts.len() - 1
        });
        let part = &mut self.parts[index];
        if is_dynamic_call {
            part.insert("toolName", tool_name);
        } else {
            part.insert("type", format!("tool-{tool_name}"));
        }
        update.apply(part);
    }
}

impl Block {
    fn at(index: usize) -> Self {
        let text = String::new();
        Block { index, text }
    }

    fn write(&self, parts: &mut [Object]) {
        if let Some(part) = parts.get_mut(self.index) {
            part.insert("text", self.text.as_str());
        }
    }
}

/// What a chunk changes about a call. What is `None` among the first members is taken away; what is
/// `None` among the rest stays as it is.
#[derive(Debug, Default)]
struct Update {
    state: &'static str,
    id: Text,
    input: Option<Json>,
    output: Option<Json>,
    error_text: Option<Json>,
    raw_input: Option<Json>,
    encoding: Option<Json>,
    preliminary: Option<Json>,
    title: Option<Json>,
    tool_metadata: Option<Json>,
    provider_executed: Option<Json>,
    provider_metadata: Option<Json>,
}

impl Update {
    fn from_chunk(state: &'static str, chunk: &Chunk) -> Self {
        let get = |key| chunk.get(key).cloned();
        let some = |key| chunk.some(key).cloned();
        Update {
            state,
            id: chunk.shared_text("toolCallId"),
            input: get("input"),
            output: get("output"),
            error_text: get("errorText"),
            raw_input: None,
            encoding: None,
            preliminary: some("preliminary"),
            title: some("title"),
            tool_metadata: some("toolMetadata"),
            provider_executed: some("providerExecuted"),
            provider_metadata: some("providerMetadata"),
        }
    }

    fn apply(self, part: &mut Object) {
        part.insert("state", self.state);
        for (key, value) in [
            ("input", self.input),
            ("output", self.output),
            ("errorText", self.error_text),
            ("rawInput", self.raw_input),
            ("inputEncoding", self.encoding),
            ("preliminary", self.preliminary),
        ] {
            match value {
                Some(value) => part.insert(key, value),
                None => drop(part.remove(key)),
            }
        }
        part.insert_some("title", self.title);
        part.insert_some("toolMetadata", self.tool_metadata);
        part.insert_some("providerExecuted", self.provider_executed);
        let metadata = match self.state {
            "output-available" | "output-error" => "resultProviderMetadata",
            _ => "callProviderMetadata",
        };
        part.insert_some(metadata, self.provider_metadata);
    }
}

fn text_of<'a>(part: &'a Object, key: &str) -> &'a str {
    part.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn is_dynamic(part: &Object) -> bool {
    text_of(part, "type") == "dynamic-tool"
}

fn is_call(part: &Object) -> bool {
    is_dynamic(part) || text_of(part, "type").starts_with("tool-")
}

fn tool_name(part: &Object) -> Text {
    match text_of(part, "type").strip_prefix("tool-") {
        Some(name) => name.into(),
        None => text_of(part, "toolName").into(),
    }
}

fn missing_start(kind: &str, start: &str, what: &str, id: &str) -> SdkError {
    SdkError::UiMessageStream {
        chunk_type: kind.to_owned(),
        chunk_id: id.to_owned(),
        message: format!(
            "Received {kind} for missing {what} with ID \"{id}\". Ensure a \"{start}-start\" chunk is sent before any \
             \"{kind}\" chunks."
        ),
    }
}

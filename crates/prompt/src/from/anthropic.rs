//! Requests to Anthropic's Messages API.
//!
//! Results of tools stand in user messages there; here they are tool messages of their own, in the
//! order in which they came. Signatures of thoughts, cache marks and what else only Claude reads go into
//! Anthropic's options.

use super::Imported;
use super::conversation::Conversation;
use super::request::{Fields, Reader, camel_case_members, camel_cased, options_of};
use crate::fault::Faults;
use crate::json::{Json, Object, Text, object};
use crate::typed::Map;
use crate::types::call::{
    AutoChoice, FunctionTool, JsonFormat, NamedChoice, NoChoice, ProviderTool, RequiredChoice,
};
use crate::types::file::{DataFile, ReferenceFile, TextFile};
use crate::types::output::{
    ContentOutput, CustomItem, ErrorJsonOutput, ErrorTextOutput, FileItem, JsonOutput, TextItem, TextOutput,
};
use crate::types::prompt::{
    AssistantMessage, CustomKind, CustomPart, FilePart, ReasoningPart, SystemMessage, TextPart, ToolCallPart,
    ToolResultPart, UserMessage,
};
use crate::types::{CallOptions, ContentItem, FileData, Tool, ToolChoice, ToolOutput, UserPart};

const ANTHROPIC: &str = "anthropic";

pub(super) fn read(request: &Json) -> Result<Imported, Faults> {
    let mut reader = Reader::default();
    let Some(mut fields) = reader.fields(request, "a request") else {
        return Err(reader.finish().err().unwrap_or_default());
    };
    let mut messages = Messages::default();
    if let Some(system) = fields.take("system") {
        reader.within("system", |reader| messages.system(reader, system));
    }
    match fields.take("messages") {
        Some(list) => {
            reader.within("messages", |reader| {
                reader.items(list, |reader, message| messages.message(reader, message))
            });
        }
        None => reader.within("messages", |reader| reader.wrong(None, "an array of messages")),
    }
    let model = reader.optional_text(&mut fields, "model");
    let stream = reader.optional_bool(&mut fields, "stream").unwrap_or(false);
    let options = call_options(&mut reader, &mut fields);
    reader.rest(fields);
    let lost = reader.finish()?;
    Ok(Imported {
        prompt: messages.conversation.finish(),
        options,
        model,
        stream,
        lost,
    })
}

#[derive(Default)]
struct Messages {
    conversation: Conversation,
}

/// What a block says to Anthropic only.
fn own_options(fields: &mut Fields<'_>) -> Object {
    object! { "cacheControl"?: fields.take("cache_control").map(|mark| camel_cased(mark, &[])) }
}

impl Messages {
    /// Instructions: one text, or blocks of it that can be marked one by one.
    fn system(&mut self, reader: &mut Reader, system: &Json) -> Option<()> {
        if let Json::String(text) = system {
            self.conversation.push(SystemMessage::new(text));
            return Some(());
        }
        reader.items(system, |reader, block| {
            let mut fields = reader.fields(block, "a text block")?;
            let kind = fields.take("type");
            if kind.and_then(Json::as_str) != Some("text") {
                reader.unknown_tag("type", kind, "text");
                return None;
            }
            let own = own_options(&mut fields);
            let mut message = SystemMessage::new(reader.text(&mut fields, "text")?);
            message.provider_options = options_of(ANTHROPIC, own);
            self.conversation.push(message);
            reader.rest(fields);
            Some(())
        })?;
        Some(())
    }

    fn message(&mut self, reader: &mut Reader, message: &Json) -> Option<()> {
        let mut fields = reader.fields(message, "a message")?;
        let role = fields.take("role");
        let content = fields.take("content");
        match role.and_then(Json::as_str) {
            Some("user") => {
                let mut said = Vec::new();
                self.blocks(reader, content, |messages, reader, block| {
                    messages.user_block(reader, block, &mut said)
                });
                let is_empty = content.and_then(Json::as_array).is_some_and(<[Json]>::is_empty);
                if !said.is_empty() || is_empty {
                    self.conversation.push(UserMessage::new(said));
                }
            }
            Some("assistant") => {
                self.conversation
                    .begin_assistant(AssistantMessage::new(Vec::new()));
                self.blocks(reader, content, Self::assistant_block);
            }
            Some("system") => {
                reader.within("content", |reader| match content {
                    Some(content) => self.system(reader, content),
                    None => {
                        reader.wrong(None, "a string or an array of blocks");
                        None
                    }
                });
            }
            _ => reader.unknown_tag("role", role, "user, assistant"),
        }
        reader.rest(fields);
        Some(())
    }

    /// Reads each block of a content, which may be one text.
    fn blocks(
        &mut self,
        reader: &mut Reader,
        content: Option<&Json>,
        mut read: impl FnMut(&mut Self, &mut Reader, &Json) -> Option<()>,
    ) {
        reader.within("content", |reader| match content {
            Some(text @ Json::String(_)) => {
                let block = object! { "type": "text", "text": text };
                read(self, reader, &block.into());
            }
            Some(blocks @ Json::Array(_)) => {
                reader.items(blocks, |reader, block| read(self, reader, block));
            }
            other => reader.wrong(other, "a string or an array of blocks"),
        });
    }

    fn user_block(&mut self, reader: &mut Reader, block: &Json, said: &mut Vec<UserPart>) -> Option<()> {
        let mut fields = reader.fields(block, "a block of a user message")?;
        let kind = fields.take("type");
        if kind.and_then(Json::as_str) == Some("tool_result") {
            // What was said before the result stays before it.
            if !said.is_empty() {
                self.conversation.push(UserMessage::new(std::mem::take(said)));
            }
            let result = self.result(reader, &mut fields)?;
            self.conversation.tool(result);
            reader.rest(fields);
            return Some(());
        }
        let mut own = own_options(&mut fields);
        let part: UserPart = match kind.and_then(Json::as_str) {
            Some("text") => {
                let mut part = TextPart::new(reader.text(&mut fields, "text")?);
                part.provider_options = options_of(ANTHROPIC, own);
                part.into()
            }
            Some(kind @ ("image" | "document")) => {
                let mut part = file(reader, &mut fields, kind, &mut own)?;
                part.provider_options = options_of(ANTHROPIC, own);
                part.into()
            }
            Some("container_upload") => {
                own.insert("containerUpload", true);
                let id = reader.text(&mut fields, "file_id")?;
                let mut part = FilePart::new("application", reference(id));
                part.provider_options = options_of(ANTHROPIC, own);
                part.into()
            }
            Some(kind) => {
                reader.lost(format!(
                    "a block of the type {kind:?} has no place in a user message"
                ));
                return Some(());
            }
            None => {
                reader.unknown_tag("type", kind, "text, image, document, tool_result");
                return None;
            }
        };
        reader.rest(fields);
        said.push(part);
        Some(())
    }

    /// The result of a tool that the client ran.
    fn result(&mut self, reader: &mut Reader, fields: &mut Fields<'_>) -> Option<ToolResultPart> {
        let id = reader.text(fields, "tool_use_id");
        let failed = reader.optional_bool(fields, "is_error") == Some(true);
        let own = own_options(fields);
        let content = fields.take("content");
        let output = reader.within("content", |reader| result_output(reader, content, failed))?;
        let mut result = self.conversation.result(reader, "tool_use_id", id, output)?;
        result.provider_options = options_of(ANTHROPIC, own);
        Some(result)
    }

    fn assistant_block(&mut self, reader: &mut Reader, block: &Json) -> Option<()> {
        let mut fields = reader.fields(block, "a block of an assistant message")?;
        let mut own = own_options(&mut fields);
        let kind = fields.take("type");
        match kind.and_then(Json::as_str) {
            Some("text") => {
                if fields
                    .peek("citations")
                    .and_then(Json::as_array)
                    .is_some_and(<[Json]>::is_empty)
                {
                    fields.take("citations");
                }
                let mut part = TextPart::new(reader.text(&mut fields, "text")?);
                part.provider_options = options_of(ANTHROPIC, own);
                self.conversation.assistant(part);
            }
            Some("thinking") => {
                let text = reader.text(&mut fields, "thinking")?;
                own.insert_some("signature", fields.take("signature"));
                let mut part = ReasoningPart::new(text);
                part.provider_options = options_of(ANTHROPIC, own);
                self.conversation.assistant(part);
            }
            Some("redacted_thinking") => {
                own.insert("redactedData", reader.text(&mut fields, "data")?);
                let mut part = ReasoningPart::new("");
                part.provider_options = options_of(ANTHROPIC, own);
                self.conversation.assistant(part);
            }
            Some(kind @ ("tool_use" | "server_tool_use" | "mcp_tool_use")) => {
                let id = reader.text(&mut fields, "id");
                let name = reader.text(&mut fields, "name");
                let mut call = ToolCallPart::new(id?, name?);
                call.input = fields.take("input").cloned();
                call.provider_executed = (kind != "tool_use").then_some(true);
                own.insert_some(
                    "caller",
                    fields.take("caller").map(|caller| camel_cased(caller, &[])),
                );
                if kind == "mcp_tool_use" {
                    own.insert("type", "mcp-tool-use");
                    own.insert_some("serverName", fields.take("server_name"));
                }
                call.provider_options = options_of(ANTHROPIC, own);
                self.conversation.assistant(call);
            }
            Some("fallback") => {
                own.insert("type", "fallback");
                own.insert_some("from", fields.take("from"));
                own.insert_some("to", fields.take("to"));
                let mut part = CustomPart::new(CustomKind::new("anthropic.fallback")?);
                part.provider_options = options_of(ANTHROPIC, own);
                self.conversation.assistant(part);
            }
            Some(kind) if kind.ends_with("_tool_result") => {
                self.provider_result(reader, &mut fields, kind, own)?;
            }
            Some(kind) => {
                reader.lost(format!(
                    "a block of the type {kind:?} has no place in an assistant message"
                ));
                return Some(());
            }
            None => {
                reader.unknown_tag("type", kind, "text, thinking, redacted_thinking, tool_use");
                return None;
            }
        }
        reader.rest(fields);
        Some(())
    }

    /// The result of a tool that Anthropic ran: its content as JSON, with the names that the SDK has for
    /// its members.
    fn provider_result(
        &mut self,
        reader: &mut Reader,
        fields: &mut Fields<'_>,
        kind: &str,
        own: Object,
    ) -> Option<()> {
        let id = reader.text(fields, "tool_use_id")?;
        let content = fields.take("content").cloned().unwrap_or_default();
        let failed = reader.optional_bool(fields, "is_error") == Some(true)
            || content
                .get("type")
                .and_then(Json::as_str)
                .is_some_and(|kind| kind.ends_with("_error"));
        let value = camel_cased(&content, &["input"]);
        let tool = match self.conversation.tool_of(&id) {
            Some(tool) => tool.clone(),
            None => kind.trim_end_matches("_tool_result").into(),
        };
        let output: ToolOutput = match failed {
            true => ErrorJsonOutput::new(value).into(),
            false => JsonOutput::new(value).into(),
        };
        let mut result = ToolResultPart::new(id, tool, output);
        result.provider_options = options_of(ANTHROPIC, own);
        self.conversation.assistant(result);
        Some(())
    }
}

fn reference(id: Text) -> FileData {
    ReferenceFile::new([(ANTHROPIC, id)].into_iter().collect::<Map<Text>>()).into()
}

/// An image or a document, with what is said about it.
fn file(reader: &mut Reader, fields: &mut Fields<'_>, kind: &str, own: &mut Object) -> Option<FilePart> {
    own.insert_some("title", fields.take("title"));
    own.insert_some("context", fields.take("context"));
    own.insert_some("citations", fields.take("citations"));
    let source = fields.take("source");
    let (data, media_type) = reader.within("source", |reader| {
        let mut fields = reader.fields(source.unwrap_or(&Json::Null), "a source")?;
        let (wildcard, document) = match kind {
            "image" => ("image/*", "image"),
            _ => ("application/pdf", "application/pdf"),
        };
        let tag = fields.take("type");
        let file = match tag.and_then(Json::as_str) {
            Some("base64") => {
                let media_type = reader.text(&mut fields, "media_type");
                let data = reader.text(&mut fields, "data");
                Some((FileData::from(DataFile::new(data?)), media_type?))
            }
            Some("url") => {
                let url = reader.text(&mut fields, "url")?;
                reader.within("url", |reader| reader.file_at(&url, wildcard))
            }
            Some("file") => Some((reference(reader.text(&mut fields, "file_id")?), document.into())),
            Some("text") => {
                let media_type = reader.optional_text(&mut fields, "media_type");
                let text = reader.text(&mut fields, "data")?;
                let media_type = media_type.unwrap_or_else(|| "text/plain".into());
                Some((TextFile::new(text).into(), media_type))
            }
            Some("content") => {
                let text = custom_content(reader, &mut fields)?;
                reader.lost("that the document comes in blocks of its own; it is carried as one text");
                Some((TextFile::new(text).into(), "text/plain".into()))
            }
            _ => {
                reader.unknown_tag("type", tag, "base64, url, file, text, content");
                None
            }
        };
        reader.rest(fields);
        file
    })?;
    Some(FilePart::new(media_type, data))
}

/// The texts of a document that its author has cut into blocks.
fn custom_content(reader: &mut Reader, fields: &mut Fields<'_>) -> Option<Text> {
    if let Some(Json::String(text)) = fields.peek("content") {
        fields.take("content");
        return Some(text.clone());
    }
    let texts = reader.each(fields, "content", |reader, block| {
        let mut fields = reader.fields(block, "a text block")?;
        if fields.take("type").and_then(Json::as_str) != Some("text") {
            reader.lost("a document that is carried as text can hold text only");
            return None;
        }
        let text = reader.text(&mut fields, "text");
        reader.rest(fields);
        text
    })?;
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    Some(texts.join("\n").into())
}

fn result_output(reader: &mut Reader, content: Option<&Json>, failed: bool) -> Option<ToolOutput> {
    let blocks = match content {
        None => {
            let text = Text::default();
            return Some(if failed {
                ErrorTextOutput::new(text).into()
            } else {
                TextOutput::new(text).into()
            });
        }
        Some(Json::String(text)) if failed => return Some(ErrorTextOutput::new(text).into()),
        Some(Json::String(text)) => return Some(TextOutput::new(text).into()),
        Some(blocks @ Json::Array(_)) => blocks,
        other => {
            reader.wrong(other, "a string or an array of blocks");
            return None;
        }
    };
    let items = reader.items(blocks, |reader, block| {
        let mut fields = reader.fields(block, "a block of a result")?;
        let mut own = own_options(&mut fields);
        let kind = fields.take("type");
        let item: ContentItem = match kind.and_then(Json::as_str) {
            Some("text") => {
                let mut item = TextItem::new(reader.text(&mut fields, "text")?);
                item.provider_options = options_of(ANTHROPIC, own);
                item.into()
            }
            Some(kind @ ("image" | "document")) => {
                let part = file(reader, &mut fields, kind, &mut own)?;
                let mut item = FileItem::new(part.media_type, part.data);
                item.provider_options = options_of(ANTHROPIC, own);
                item.into()
            }
            Some("tool_reference") => {
                own.insert("type", "tool-reference");
                own.insert("toolName", reader.text(&mut fields, "tool_name")?);
                let mut item = CustomItem::new();
                item.provider_options = options_of(ANTHROPIC, own);
                item.into()
            }
            other => {
                let kind = other.unwrap_or("none");
                reader.lost(format!("a block of the type {kind:?} has no place in a result"));
                return None;
            }
        };
        reader.rest(fields);
        Some(item)
    })?;
    if !failed {
        return Some(ContentOutput::new(items).into());
    }
    // A failed result is a text here; what else is in it cannot come along.
    let texts: Vec<&str> = items
        .iter()
        .filter_map(|item| match item {
            ContentItem::Text(item) => Some(&*item.text),
            _ => None,
        })
        .collect();
    if texts.len() < items.len() {
        reader.lost("the files of a failed result: an error is a text");
    }
    Some(ErrorTextOutput::new(texts.join("\n")).into())
}

fn call_options(reader: &mut Reader, fields: &mut Fields<'_>) -> CallOptions {
    let mut own = Object::new();
    let mut options = CallOptions::new();
    options.max_output_tokens = reader.optional_number(fields, "max_tokens");
    options.temperature = reader.optional_number(fields, "temperature");
    options.top_p = reader.optional_number(fields, "top_p");
    options.top_k = reader.optional_number(fields, "top_k");
    options.stop_sequences = reader.texts(fields, "stop_sequences");
    options.tools = reader.each(fields, "tools", tool);
    if let Some(choice) = fields.take("tool_choice") {
        options.tool_choice = reader.within("tool_choice", |reader| tool_choice(reader, choice, &mut own));
    }
    for (key, name) in [
        ("thinking", "thinking"),
        ("metadata", "metadata"),
        ("mcp_servers", "mcpServers"),
        ("container", "container"),
        ("context_management", "contextManagement"),
        ("speed", "speed"),
        ("cache_control", "cacheControl"),
    ] {
        own.insert_some(name, fields.take(key).map(|value| camel_cased(value, &[])));
    }
    if let Some(format) = fields.take("output_format") {
        options.response_format = reader.within("output_format", |reader| output_format(reader, format));
    }
    if let Some(config) = fields.take("output_config") {
        reader.within("output_config", |reader| {
            let Some(mut fields) = reader.fields(config, "an object") else {
                return;
            };
            own.insert_some("effort", fields.take("effort"));
            if let Some(format) = fields.take("format") {
                options.response_format = reader.within("format", |reader| output_format(reader, format));
            }
            reader.rest(fields);
        });
    }
    options.provider_options = options_of(ANTHROPIC, own);
    options
}

fn output_format(reader: &mut Reader, format: &Json) -> Option<crate::types::ResponseFormat> {
    let mut fields = reader.fields(format, "an output format")?;
    let kind = fields.take("type");
    if kind.and_then(Json::as_str) != Some("json_schema") {
        reader.unknown_tag("type", kind, "json_schema");
        return None;
    }
    let mut format = JsonFormat::new();
    format.schema = fields.take("schema").and_then(Json::as_object).cloned();
    reader.rest(fields);
    Some(format.into())
}

fn tool(reader: &mut Reader, tool: &Json) -> Option<Tool> {
    let mut fields = reader.fields(tool, "a tool")?;
    match fields.take("type").and_then(Json::as_str) {
        None | Some("custom") => {}
        Some(kind) => {
            // One of Anthropic's own, named with the date of its version.
            let name = reader.text(&mut fields, "name")?;
            let mut args = tool.as_object().cloned().unwrap_or_default();
            args.remove("type");
            args.remove("name");
            let args = camel_case_members(&args, &[]);
            return Some(ProviderTool::new(format!("anthropic.{kind}"), name, args).into());
        }
    }
    let name = reader.text(&mut fields, "name")?;
    let Some(schema) = fields.take("input_schema") else {
        reader.within("input_schema", |reader| reader.wrong(None, "a JSON schema"));
        return None;
    };
    let mut own = own_options(&mut fields);
    for (key, name) in [
        ("defer_loading", "deferLoading"),
        ("allowed_callers", "allowedCallers"),
        ("eager_input_streaming", "eagerInputStreaming"),
    ] {
        own.insert_some(name, fields.take(key));
    }
    let mut function = FunctionTool::new(name, schema.clone());
    function.description = reader.optional_text(&mut fields, "description");
    function.strict = reader.optional_bool(&mut fields, "strict");
    function.provider_options = options_of(ANTHROPIC, own);
    reader.rest(fields);
    Some(function.into())
}

fn tool_choice(reader: &mut Reader, choice: &Json, own: &mut Object) -> Option<ToolChoice> {
    let mut fields = reader.fields(choice, "an object with a type")?;
    own.insert_some("disableParallelToolUse", fields.take("disable_parallel_tool_use"));
    let kind = fields.take("type");
    let choice = match kind.and_then(Json::as_str) {
        Some("auto") => AutoChoice::new().into(),
        Some("any") => RequiredChoice::new().into(),
        Some("none") => NoChoice::new().into(),
        Some("tool") => NamedChoice::new(reader.text(&mut fields, "name")?).into(),
        _ => {
            reader.unknown_tag("type", kind, "auto, any, tool, none");
            return None;
        }
    };
    reader.rest(fields);
    Some(choice)
}

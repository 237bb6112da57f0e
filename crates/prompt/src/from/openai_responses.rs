//! Requests to OpenAI's Responses API.
//!
//! The API has a flat list of items; a prompt has messages. What the model said, thought and called in
//! a row becomes one assistant message, results in a row one tool message. Items of OpenAI's own tools
//! become calls that the provider ran, with their result. Ids stay in OpenAI's options.

use super::Imported;
use super::conversation::Conversation;
use super::openai_chat::{custom_tool, file_part, function_tool, json_schema, reasoning_effort, word_choice};
use super::request::{Fields, Reader, arguments, camel_case_members, camel_cased, options_of};
use crate::fault::Faults;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::types::call::{JsonFormat, NamedChoice, ProviderTool, TextFormat};
use crate::types::file::ReferenceFile;
use crate::types::output::{ContentOutput, FileItem, JsonOutput, TextItem, TextOutput};
use crate::types::prompt::{
    ApprovalResponsePart, CustomKind, CustomPart, FilePart, ReasoningPart, SystemMessage, TextPart,
    ToolCallPart, ToolResultPart, UserMessage,
};
use crate::types::{
    CallOptions, ContentItem, FileData, Message, ProviderOptions, ResponseFormat, Tool, ToolChoice,
    ToolOutput, UserPart,
};

const OPENAI: &str = "openai";

pub(super) fn read(request: &Json) -> Result<Imported, Faults> {
    let mut reader = Reader::default();
    let Some(mut fields) = reader.fields(request, "a request") else {
        return Err(reader.finish().err().unwrap_or_default());
    };
    let mut items = Items::default();
    if let Some(instructions) = reader.optional_text(&mut fields, "instructions") {
        items.conversation.push(SystemMessage::new(instructions));
    }
    match fields.take("input") {
        Some(Json::String(text)) => items
            .conversation
            .push(UserMessage::new(vec![TextPart::new(text).into()])),
        Some(input @ Json::Array(_)) => {
            reader.within("input", |reader| {
                reader.items(input, |reader, item| items.item(reader, item))
            });
        }
        other => reader.within("input", |reader| {
            reader.wrong(other, "a string or an array of items")
        }),
    }
    let model = reader.optional_text(&mut fields, "model");
    let stream = reader.optional_bool(&mut fields, "stream").unwrap_or(false);
    let mut options = call_options(&mut reader, &mut fields);
    reader.rest(fields);
    let lost = reader.finish()?;
    let prompt = items.conversation.finish();
    if prompt.messages().iter().any(has_unusual_file) {
        // The SDK sends such files only when it is told to.
        let own = object! { "passThroughUnsupportedFiles": true };
        match options
            .provider_options
            .as_mut()
            .and_then(|options| options.get_mut(OPENAI))
        {
            Some(options) => options.extend_from(&own),
            None => options.provider_options = options_of(OPENAI, own),
        }
    }
    Ok(Imported {
        prompt,
        options,
        model,
        stream,
        lost,
    })
}

/// Whether a user gives a file inline that is neither an image nor a PDF.
fn has_unusual_file(message: &Message) -> bool {
    let Message::User(message) = message else {
        return false;
    };
    message.content.iter().any(|part| match part {
        UserPart::File(part) => {
            matches!(part.data, FileData::Data(_))
                && media_type::top_level(&part.media_type) != "image"
                && &*part.media_type != "application/pdf"
        }
        UserPart::Text(_) => false,
    })
}

#[derive(Default)]
struct Items {
    conversation: Conversation,
}

/// The id of an item, as an option of the part that it becomes.
fn item_id(fields: &mut Fields<'_>) -> Object {
    object! { "itemId"?: fields.take("id") }
}

impl Items {
    fn item(&mut self, reader: &mut Reader, item: &Json) -> Option<()> {
        let mut fields = reader.fields(item, "an item")?;
        // A status says how far OpenAI has come with an item; what is sent back is done.
        fields.take("status");
        match fields.take("type").and_then(Json::as_str) {
            None | Some("message") => self.message(reader, &mut fields),
            Some("function_call") => self.call(reader, &mut fields, "arguments"),
            Some("custom_tool_call") => self.call(reader, &mut fields, "input"),
            Some("function_call_output" | "custom_tool_call_output") => self.output(reader, &mut fields),
            Some("reasoning") => self.reasoning(reader, &mut fields),
            Some("web_search_call") => self.web_search(reader, &mut fields),
            Some("mcp_approval_response") => self.approval(reader, &mut fields),
            Some("compaction") => self.compaction(&mut fields),
            Some("item_reference") => {
                fields.take("id");
                reader.lost("what OpenAI has stored is known by its id only; send the item itself");
                Some(())
            }
            Some("mcp_approval_request") => {
                for key in ["id", "name", "arguments", "server_label"] {
                    fields.take(key);
                }
                reader.lost("a prompt holds answers to approval requests, not the requests");
                Some(())
            }
            Some(kind) if kind.ends_with("_call") => {
                self.own_call(reader, item, kind, &mut fields);
                return Some(());
            }
            Some(kind) => {
                reader.lost(format!("an item of the type {kind:?} has no place in a prompt"));
                return Some(());
            }
        };
        reader.rest(fields);
        Some(())
    }

    fn message(&mut self, reader: &mut Reader, fields: &mut Fields<'_>) -> Option<()> {
        let role = fields.take("role");
        let content = fields.take("content");
        match role.and_then(Json::as_str) {
            Some("system" | "developer") => {
                let mut own = Object::new();
                let texts = parts(reader, content, |reader, part| {
                    let (text, mark) = text_part(reader, part)?;
                    own.insert_some("promptCacheBreakpoint", mark);
                    Some(text)
                })?;
                let text: String = texts.iter().map(|text| &**text).collect();
                let mut system = SystemMessage::new(Text::from(text));
                system.provider_options = options_of(OPENAI, own);
                self.conversation.push(system);
            }
            Some("user") => {
                let parts = parts(reader, content, user_part)?;
                self.conversation.push(UserMessage::new(parts));
            }
            Some("assistant") => {
                let mut own = item_id(fields);
                own.insert_some("phase", fields.take("phase"));
                for text in parts(reader, content, said_part)? {
                    let mut part = TextPart::new(text);
                    part.provider_options = options_of(OPENAI, own.clone());
                    self.conversation.assistant(part);
                }
            }
            _ => reader.unknown_tag("role", role, "system, developer, user, assistant"),
        }
        // The id of a message that was not the model's says nothing to anybody.
        fields.take("id");
        Some(())
    }

    fn call(&mut self, reader: &mut Reader, fields: &mut Fields<'_>, text_key: &'static str) -> Option<()> {
        let id = reader.text(fields, "call_id");
        let name = reader.text(fields, "name");
        let text = reader.text(fields, text_key);
        let mut own = item_id(fields);
        own.insert_some("namespace", fields.take("namespace"));
        own.insert_some("async", fields.take("async"));
        own.insert_some(
            "caller",
            fields.take("caller").map(|caller| camel_cased(caller, &[])),
        );
        let text = text?;
        let mut call = ToolCallPart::new(id?, name?);
        call.input = Some(if text_key == "input" {
            text.into()
        } else {
            arguments(&text)
        });
        call.provider_options = options_of(OPENAI, own);
        self.conversation.assistant(call);
        Some(())
    }

    fn output(&mut self, reader: &mut Reader, fields: &mut Fields<'_>) -> Option<()> {
        fields.take("id");
        let id = reader.text(fields, "call_id");
        let output = fields.take("output");
        let output = reader.within("output", |reader| match output {
            Some(Json::String(text)) => Some(ToolOutput::from(TextOutput::new(text))),
            Some(items @ Json::Array(_)) => {
                Some(ContentOutput::new(reader.items(items, content_item)?).into())
            }
            other => {
                reader.wrong(other, "a string or an array of content");
                None
            }
        })?;
        let own = object! { "caller"?: fields.take("caller").map(|caller| camel_cased(caller, &[])) };
        let mut result = self.conversation.result_of_any(reader, "call_id", id, output)?;
        result.provider_options = options_of(OPENAI, own);
        self.conversation.tool(result);
        Some(())
    }

    /// A thought has one part for each of its summaries, all with its id.
    fn reasoning(&mut self, reader: &mut Reader, fields: &mut Fields<'_>) -> Option<()> {
        let mut own = item_id(fields);
        own.insert_some("reasoningEncryptedContent", fields.take("encrypted_content"));
        let mut texts = reader.each(fields, "summary", reasoning_text).unwrap_or_default();
        if texts.is_empty() {
            texts = reader.each(fields, "content", reasoning_text).unwrap_or_default();
        }
        if texts.is_empty() {
            texts.push(Text::default());
        }
        for text in texts {
            let mut part = ReasoningPart::new(text);
            part.provider_options = options_of(OPENAI, own.clone());
            self.conversation.assistant(part);
        }
        Some(())
    }

    fn web_search(&mut self, reader: &mut Reader, fields: &mut Fields<'_>) -> Option<()> {
        let id = reader.text(fields, "id")?;
        let mut value = Object::new();
        if let Some(Json::Object(action)) = fields.take("action") {
            let mut action = action.clone();
            let kind = match action.get("type").and_then(Json::as_str) {
                Some("open_page") => "openPage",
                Some("find_in_page") => "findInPage",
                _ => "search",
            };
            let sources = action.remove("sources");
            action.insert("type", kind);
            value.insert("action", action);
            value.insert_some("sources", sources);
        }
        self.ran(&id, "web_search", Object::new(), value.into());
        Some(())
    }

    /// A call of another tool of OpenAI's. The whole item is its result.
    fn own_call(&mut self, reader: &mut Reader, item: &Json, kind: &str, fields: &mut Fields<'_>) {
        let Some(id) = reader.text(fields, "id") else {
            return;
        };
        let name = kind.trim_end_matches("_call");
        let (tool, input) = match (name, fields.peek("name").and_then(Json::as_str)) {
            ("mcp", Some(name)) => {
                let text = fields.peek("arguments").and_then(Json::as_text);
                let input = text.map(arguments).and_then(|input| input.as_object().cloned());
                (format!("mcp.{name}"), input.unwrap_or_default())
            }
            _ => (name.to_owned(), Object::new()),
        };
        reader.lost(format!(
            "that this is an item {kind:?}: it is carried as a call of {tool:?} that the provider ran"
        ));
        self.ran(&id, &tool, input, camel_cased(item, &[]));
    }

    /// A call that the provider ran, and what it gave.
    fn ran(&mut self, id: &Text, tool: &str, input: Object, value: Json) {
        let options = options_of(OPENAI, object! { "itemId": id });
        let mut call = ToolCallPart::new(id, tool);
        call.input = Some(input.into());
        call.provider_executed = Some(true);
        call.provider_options = options.clone();
        self.conversation.assistant(call);
        let mut result = ToolResultPart::new(id, tool, JsonOutput::new(value));
        result.provider_options = options;
        self.conversation.assistant(result);
    }

    fn approval(&mut self, reader: &mut Reader, fields: &mut Fields<'_>) -> Option<()> {
        fields.take("id");
        let id = reader.text(fields, "approval_request_id");
        let approved = reader.optional_bool(fields, "approve");
        let Some(approved) = approved else {
            reader.within("approve", |reader| reader.wrong(None, "true or false"));
            return None;
        };
        let mut part = ApprovalResponsePart::new(id?, approved);
        part.reason = reader.optional_text(fields, "reason");
        self.conversation.tool(part);
        Some(())
    }

    fn compaction(&mut self, fields: &mut Fields<'_>) -> Option<()> {
        let mut own = item_id(fields);
        own.insert_some("encryptedContent", fields.take("encrypted_content"));
        let mut part = CustomPart::new(CustomKind::new("openai.compaction")?);
        part.provider_options = options_of(OPENAI, own);
        self.conversation.assistant(part);
        Some(())
    }
}

/// The parts of a message's content, which may be one text.
fn parts<T>(
    reader: &mut Reader,
    content: Option<&Json>,
    mut read: impl FnMut(&mut Reader, &Json) -> Option<T>,
) -> Option<Vec<T>> {
    reader.within("content", |reader| match content {
        Some(text @ Json::String(_)) => {
            let part = object! { "type": "text", "text": text };
            Some(read(reader, &part.into()).into_iter().collect())
        }
        Some(parts @ Json::Array(_)) => reader.items(parts, read),
        other => {
            reader.wrong(other, "a string or an array of parts");
            None
        }
    })
}

/// A part that can only be text, with its cache mark.
fn text_part(reader: &mut Reader, part: &Json) -> Option<(Text, Option<Json>)> {
    reader.marked_text(part, &["text", "input_text", "output_text"], "input_text")
}

fn said_part(reader: &mut Reader, part: &Json) -> Option<Text> {
    let mut fields = reader.fields(part, "a part of an assistant message")?;
    let kind = fields.take("type");
    let text = match kind.and_then(Json::as_str) {
        Some("output_text" | "input_text" | "text") => {
            // Empty lists of annotations come with every text that was sent back.
            for key in ["annotations", "logprobs"] {
                if fields
                    .peek(key)
                    .and_then(Json::as_array)
                    .is_some_and(<[Json]>::is_empty)
                {
                    fields.take(key);
                }
            }
            reader.text(&mut fields, "text")?
        }
        Some("refusal") => {
            reader.lost("that the text is a refusal; it is carried as plain text");
            reader.text(&mut fields, "refusal")?
        }
        _ => {
            reader.unknown_tag("type", kind, "output_text, refusal");
            return None;
        }
    };
    reader.rest(fields);
    Some(text)
}

fn reasoning_text(reader: &mut Reader, part: &Json) -> Option<Text> {
    let mut fields = reader.fields(part, "a piece of a thought")?;
    fields.take("type");
    let text = reader.text(&mut fields, "text");
    reader.rest(fields);
    text
}

/// What can stand in a user message and in the output of a tool.
enum Piece {
    Text(Text),
    File(Box<FilePart>),
}

fn piece(reader: &mut Reader, part: &Json) -> Option<(Piece, Option<ProviderOptions>)> {
    let mut fields = reader.fields(part, "a text, an image or a file")?;
    let mut own = object! { "promptCacheBreakpoint"?: fields.take("prompt_cache_breakpoint") };
    let kind = fields.take("type");
    let piece = match kind.and_then(Json::as_str) {
        Some("input_text" | "text" | "output_text") => Piece::Text(reader.text(&mut fields, "text")?),
        Some("input_image") => {
            own.insert_some("imageDetail", fields.take("detail"));
            Piece::File(Box::new(match reader.optional_text(&mut fields, "file_id") {
                Some(id) => {
                    let reference = [(OPENAI, id)].into_iter().collect::<crate::typed::Map<Text>>();
                    FilePart::new("image", ReferenceFile::new(reference))
                }
                None => {
                    let url = reader.text(&mut fields, "image_url")?;
                    let (data, media_type) =
                        reader.within("image_url", |reader| reader.file_at(&url, "image/*"))?;
                    FilePart::new(media_type, data)
                }
            }))
        }
        Some("input_file") => Piece::File(Box::new(match reader.optional_text(&mut fields, "file_url") {
            Some(url) => {
                // What stands at a URL is not said; the API takes PDF files there.
                let (data, media_type) =
                    reader.within("file_url", |reader| reader.file_at(&url, "application/pdf"))?;
                let mut part = FilePart::new(media_type, data);
                part.filename = reader.optional_text(&mut fields, "filename");
                part
            }
            None => file_part(reader, &mut fields)?,
        })),
        _ => {
            reader.unknown_tag("type", kind, "input_text, input_image, input_file");
            return None;
        }
    };
    reader.rest(fields);
    Some((piece, options_of(OPENAI, own)))
}

fn user_part(reader: &mut Reader, part: &Json) -> Option<UserPart> {
    Some(match piece(reader, part)? {
        (Piece::Text(text), options) => {
            let mut part = TextPart::new(text);
            part.provider_options = options;
            part.into()
        }
        (Piece::File(mut part), options) => {
            part.provider_options = options;
            UserPart::File(*part)
        }
    })
}

fn content_item(reader: &mut Reader, item: &Json) -> Option<ContentItem> {
    Some(match piece(reader, item)? {
        (Piece::Text(text), options) => {
            let mut item = TextItem::new(text);
            item.provider_options = options;
            item.into()
        }
        (Piece::File(part), options) => {
            let mut item = FileItem::new(part.media_type, part.data);
            item.filename = part.filename;
            item.provider_options = options;
            item.into()
        }
    })
}

/// Settings that go into OpenAI's options as they are, with their names there.
const OWN_SETTINGS: &[(&str, &str)] = &[
    ("previous_response_id", "previousResponseId"),
    ("include", "include"),
    ("max_tool_calls", "maxToolCalls"),
    ("metadata", "metadata"),
    ("parallel_tool_calls", "parallelToolCalls"),
    ("store", "store"),
    ("user", "user"),
    ("service_tier", "serviceTier"),
    ("prompt_cache_key", "promptCacheKey"),
    ("prompt_cache_retention", "promptCacheRetention"),
    ("safety_identifier", "safetyIdentifier"),
    ("top_logprobs", "logprobs"),
    ("truncation", "truncation"),
];

fn call_options(reader: &mut Reader, fields: &mut Fields<'_>) -> CallOptions {
    let mut own = Object::new();
    let mut options = CallOptions::new();
    options.max_output_tokens = reader.optional_number(fields, "max_output_tokens");
    options.temperature = reader.optional_number(fields, "temperature");
    options.top_p = reader.optional_number(fields, "top_p");
    if let Some(reasoning) = fields.take("reasoning") {
        reader.within("reasoning", |reader| {
            let Some(mut fields) = reader.fields(reasoning, "an object with an effort") else {
                return;
            };
            options.reasoning = reasoning_effort(reader, &mut fields, "effort", &mut own);
            own.insert_some("reasoningSummary", fields.take("summary"));
            own.insert_some("reasoningMode", fields.take("mode"));
            own.insert_some("reasoningContext", fields.take("context"));
            reader.rest(fields);
        });
    }
    if let Some(text) = fields.take("text") {
        reader.within("text", |reader| {
            let Some(mut fields) = reader.fields(text, "an object with a format") else {
                return;
            };
            own.insert_some("textVerbosity", fields.take("verbosity"));
            if let Some(format) = fields.take("format") {
                options.response_format =
                    reader.within("format", |reader| text_format(reader, format, &mut own));
            }
            reader.rest(fields);
        });
    }
    options.tools = reader.each(fields, "tools", tool);
    if let Some(choice) = fields.take("tool_choice") {
        options.tool_choice = reader.within("tool_choice", |reader| tool_choice(reader, choice));
    }
    // The SDK keeps the id only.
    if let Some(conversation) = fields.take("conversation") {
        let id = conversation.get("id").unwrap_or(conversation);
        own.insert("conversation", id);
    }
    for (key, name) in OWN_SETTINGS {
        own.insert_some(*name, fields.take(key));
    }
    for key in ["prompt_cache_options", "context_management"] {
        if let Some(value) = fields.take(key) {
            let name = if key == "context_management" {
                "contextManagement"
            } else {
                "promptCacheOptions"
            };
            own.insert(name, camel_cased(value, &[]));
        }
    }
    if fields.peek("background") == Some(&Json::Bool(false)) {
        fields.take("background");
    }
    options.provider_options = options_of(OPENAI, own);
    options
}

fn text_format(reader: &mut Reader, format: &Json, own: &mut Object) -> Option<ResponseFormat> {
    let mut fields = reader.fields(format, "a text format")?;
    let kind = fields.take("type");
    let format = match kind.and_then(Json::as_str) {
        Some("text") => TextFormat::new().into(),
        Some("json_object") => JsonFormat::new().into(),
        Some("json_schema") => json_schema(reader, &mut fields, own)?,
        _ => {
            reader.unknown_tag("type", kind, "text, json_object, json_schema");
            return None;
        }
    };
    reader.rest(fields);
    Some(format)
}

fn tool(reader: &mut Reader, tool: &Json) -> Option<Tool> {
    let object = tool.as_object();
    match tool.get("type").and_then(Json::as_str) {
        Some("function") => Some(function_tool(reader, tool, Some("type"))?.into()),
        Some("custom") => custom_tool(reader, tool),
        Some(kind) => {
            // One of OpenAI's own, with its settings; some come with the date of their version.
            let mut args = object.cloned().unwrap_or_default();
            args.remove("type");
            if kind == "file_search"
                && let Some(ranking) = args.remove("ranking_options")
            {
                args.insert("ranking", ranking);
            }
            let args = camel_case_members(&args, &["filters", "headers", "schema"]);
            Some(ProviderTool::new(format!("openai.{kind}"), kind, args).into())
        }
        None => {
            reader.unknown_tag(
                "type",
                tool.get("type"),
                "function, custom, or the name of one of OpenAI's tools",
            );
            None
        }
    }
}

fn tool_choice(reader: &mut Reader, choice: &Json) -> Option<ToolChoice> {
    if let Some(word) = choice.as_str() {
        return word_choice(reader, word);
    }
    let mut fields = reader.fields(choice, "auto, none, required or an object")?;
    let kind = fields.take("type").and_then(Json::as_str);
    let name = match kind {
        Some("function" | "custom") => reader.text(&mut fields, "name")?,
        None | Some("allowed_tools" | "mcp") => {
            reader.lost("a choice among some of the tools has no place; the model may call all of them");
            return None;
        }
        Some(own) => own.into(),
    };
    reader.rest(fields);
    Some(NamedChoice::new(name).into())
}

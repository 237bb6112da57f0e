//! Requests to OpenAI's chat API, and to the many servers that speak it.

use super::Imported;
use super::conversation::Conversation;
use super::request::{Fields, Reader, arguments, options_of};
use crate::fault::{FaultKind, Faults};
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::types::call::{
    AutoChoice, FunctionTool, JsonFormat, NamedChoice, NoChoice, ProviderTool, Reasoning, RequiredChoice,
    TextFormat,
};
use crate::types::file::{DataFile, ReferenceFile};
use crate::types::output::TextOutput;
use crate::types::prompt::{
    AssistantMessage, FilePart, ReasoningPart, SystemMessage, TextPart, ToolCallPart, UserMessage,
};
use crate::types::{CallOptions, FileData, Inline, ResponseFormat, Tool, ToolChoice, ToolOutput, UserPart};

const OPENAI: &str = "openai";

pub(super) fn read(request: &Json) -> Result<Imported, Faults> {
    let mut reader = Reader::default();
    let Some(mut fields) = reader.fields(request, "a request") else {
        return Err(reader.finish().err().unwrap_or_default());
    };
    let mut chat = Chat::default();
    match fields.take("messages") {
        Some(messages) => {
            reader.within("messages", |reader| {
                reader.items(messages, |reader, message| chat.message(reader, message))
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
        prompt: chat.conversation.finish(),
        options,
        model,
        stream,
        lost,
    })
}

#[derive(Default)]
struct Chat {
    conversation: Conversation,
    /// How many calls came without an id, in the form that is older than ids.
    calls_without_id: usize,
}

impl Chat {
    fn message(&mut self, reader: &mut Reader, message: &Json) -> Option<()> {
        let mut fields = reader.fields(message, "a message")?;
        let role = fields.take("role");
        let mut own = Object::new();
        own.insert_some(
            "name",
            fields
                .peek("name")
                .filter(|_| role.and_then(Json::as_str) != Some("function")),
        );
        match role.and_then(Json::as_str) {
            Some("system" | "developer") => {
                fields.take("name");
                let content = fields.take("content");
                let text = reader.within("content", |reader| joined_text(reader, content, &mut own))?;
                let mut system = SystemMessage::new(text);
                system.provider_options = options_of(OPENAI, own);
                self.conversation.push(system);
            }
            Some("user") => {
                fields.take("name");
                let content = fields.take("content");
                let parts = reader.within("content", |reader| match content {
                    Some(Json::String(text)) => Some(vec![TextPart::new(text).into()]),
                    Some(parts @ Json::Array(_)) => reader.items(parts, user_part),
                    other => {
                        reader.wrong(other, "a string or an array of parts");
                        None
                    }
                })?;
                let mut user = UserMessage::new(parts);
                user.provider_options = options_of(OPENAI, own);
                self.conversation.push(user);
            }
            Some("assistant") => {
                fields.take("name");
                self.assistant(reader, &mut fields, own);
            }
            Some(role @ ("tool" | "function")) => {
                let id_key = if role == "tool" { "tool_call_id" } else { "name" };
                let id = reader.text(&mut fields, id_key);
                // The older form answers the last call, and names the tool instead of the call.
                let id = match role {
                    "function" => Some(format!("function-call-{}", self.calls_without_id).into()),
                    _ => id,
                };
                let content = fields.take("content");
                let output = reader.within("content", |reader| tool_output(reader, content))?;
                let result = self.conversation.result(reader, id_key, id, output)?;
                self.conversation.tool(result);
            }
            _ => reader.unknown_tag("role", role, "system, developer, user, assistant, tool"),
        }
        reader.rest(fields);
        Some(())
    }

    fn assistant(&mut self, reader: &mut Reader, fields: &mut Fields<'_>, own: Object) {
        let mut message = AssistantMessage::new(Vec::new());
        message.provider_options = options_of(OPENAI, own);
        self.conversation.begin_assistant(message);
        // Servers that speak this API have two names for what a model thought.
        for key in ["reasoning_content", "reasoning"] {
            if let Some(text) = fields.peek(key).and_then(Json::as_text) {
                fields.take(key);
                self.conversation.assistant(ReasoningPart::new(text));
            }
        }
        match fields.take("content") {
            None => {}
            // Beside calls an empty text says nothing; alone it is what the model said.
            Some(Json::String(text)) if text.is_empty() && fields.peek("tool_calls").is_some() => {}
            Some(Json::String(text)) => self.conversation.assistant(TextPart::new(text)),
            Some(parts) => {
                let parts = reader.within("content", |reader| reader.items(parts, said_part));
                for part in parts.into_iter().flatten() {
                    self.conversation.assistant(part);
                }
            }
        }
        if let Some(refusal) = reader.optional_text(fields, "refusal") {
            reader.lost_at(
                "refusal",
                "that the text is a refusal; it is carried as plain text",
            );
            self.conversation.assistant(TextPart::new(refusal));
        }
        let calls = reader.each(fields, "tool_calls", tool_call);
        for call in calls.into_iter().flatten() {
            self.conversation.assistant(call);
        }
        if let Some(call) = fields.take("function_call") {
            let call = reader.within("function_call", |reader| {
                let mut fields = reader.fields(call, "a function call")?;
                let name = reader.text(&mut fields, "name")?;
                let text = reader.text(&mut fields, "arguments")?;
                reader.rest(fields);
                Some((name, text))
            });
            if let Some((name, text)) = call {
                self.calls_without_id += 1;
                let id = format!("function-call-{}", self.calls_without_id);
                let mut call = ToolCallPart::new(Text::from(id), name);
                call.input = Some(arguments(&text));
                self.conversation.assistant(call);
            }
        }
    }
}

/// Text that may come in parts, which the model reads as one.
fn joined_text(reader: &mut Reader, content: Option<&Json>, own: &mut Object) -> Option<Text> {
    match content {
        Some(Json::String(text)) => Some(text.clone()),
        Some(parts @ Json::Array(_)) => {
            let parts = reader.items(parts, |reader, part| reader.marked_text(part, &["text"], "text"))?;
            let mark = parts.iter().rev().find_map(|(_, mark)| mark.clone());
            own.insert_some("promptCacheBreakpoint", mark);
            match &parts[..] {
                [(text, _)] => Some(text.clone()),
                parts => Some(parts.iter().map(|(text, _)| &**text).collect::<String>().into()),
            }
        }
        other => {
            reader.wrong(other, "a string or an array of text parts");
            None
        }
    }
}

fn user_part(reader: &mut Reader, part: &Json) -> Option<UserPart> {
    let mut fields = reader.fields(part, "a part of a user message")?;
    let mut own = Object::new();
    own.insert_some("promptCacheBreakpoint", fields.take("prompt_cache_breakpoint"));
    let kind = fields.take("type");
    let mut part: UserPart = match kind.and_then(Json::as_str) {
        Some("text") => TextPart::new(reader.text(&mut fields, "text")?).into(),
        Some("image_url") => {
            let image = fields.take("image_url");
            reader
                .within("image_url", |reader| {
                    let url = match image {
                        Some(Json::String(url)) => url.clone(),
                        other => {
                            let mut fields =
                                reader.fields(other.unwrap_or(&Json::Null), "an object with a url")?;
                            own.insert_some("imageDetail", fields.take("detail"));
                            let url = reader.text(&mut fields, "url");
                            reader.rest(fields);
                            url?
                        }
                    };
                    let (data, media_type) =
                        reader.within("url", |reader| reader.file_at(&url, "image/*"))?;
                    Some(FilePart::new(media_type, data))
                })?
                .into()
        }
        Some("input_audio") => {
            let audio = fields.take("input_audio");
            reader
                .within("input_audio", |reader| {
                    let mut fields =
                        reader.fields(audio.unwrap_or(&Json::Null), "an object with data and format")?;
                    let data = reader.text(&mut fields, "data");
                    let format = reader.text(&mut fields, "format");
                    reader.rest(fields);
                    let media_type = match &*format? {
                        "mp3" => "audio/mpeg".to_owned(),
                        other => format!("audio/{other}"),
                    };
                    Some(FilePart::new(Text::from(media_type), DataFile::new(data?)))
                })?
                .into()
        }
        Some("file") => {
            let file = fields.take("file");
            reader
                .within("file", |reader| {
                    let mut fields = reader.fields(file.unwrap_or(&Json::Null), "an object with a file")?;
                    let part = file_part(reader, &mut fields);
                    reader.rest(fields);
                    part
                })?
                .into()
        }
        _ => {
            reader.unknown_tag("type", kind, "text, image_url, input_audio, file");
            return None;
        }
    };
    reader.rest(fields);
    let options = options_of(OPENAI, own);
    match &mut part {
        UserPart::Text(part) => part.provider_options = options,
        UserPart::File(part) => part.provider_options = options,
    }
    Some(part)
}

/// A file by its content or its id, as both of OpenAI's APIs have it.
pub(super) fn file_part(reader: &mut Reader, fields: &mut Fields<'_>) -> Option<FilePart> {
    let filename = reader.optional_text(fields, "filename");
    if let Some(id) = reader.optional_text(fields, "file_id") {
        let reference = ReferenceFile::new([(OPENAI, id)].into_iter().collect::<crate::typed::Map<Text>>());
        let mut part = FilePart::new("application", reference);
        part.filename = filename;
        return Some(part);
    }
    let text = reader.text(fields, "file_data")?;
    let (data, media_type) = if text.starts_with("data:") {
        reader.within("file_data", |reader| {
            reader.file_at(&text, "application/octet-stream")
        })?
    } else {
        // Bare base64 does not say what it is.
        let inline = Inline::from(text);
        let detected = media_type::detect(&inline, None).ok().flatten();
        let media_type = detected.unwrap_or("application/octet-stream");
        (FileData::from(DataFile::new(inline)), media_type.into())
    };
    let mut part = FilePart::new(media_type, data);
    part.filename = filename;
    Some(part)
}

/// A part of what the assistant said.
fn said_part(reader: &mut Reader, part: &Json) -> Option<TextPart> {
    let mut fields = reader.fields(part, "a part of an assistant message")?;
    let kind = fields.take("type");
    let text = match kind.and_then(Json::as_str) {
        Some("text") => reader.text(&mut fields, "text")?,
        Some("refusal") => {
            reader.lost("that the text is a refusal; it is carried as plain text");
            reader.text(&mut fields, "refusal")?
        }
        _ => {
            reader.unknown_tag("type", kind, "text, refusal");
            return None;
        }
    };
    let mut own = Object::new();
    own.insert_some("promptCacheBreakpoint", fields.take("prompt_cache_breakpoint"));
    reader.rest(fields);
    let mut part = TextPart::new(text);
    part.provider_options = options_of(OPENAI, own);
    Some(part)
}

fn tool_call(reader: &mut Reader, call: &Json) -> Option<ToolCallPart> {
    let mut fields = reader.fields(call, "a tool call")?;
    let id = reader.text(&mut fields, "id");
    let (kind, text_key) = match fields.take("type").and_then(Json::as_str) {
        Some("custom") => ("custom", "input"),
        // Some servers leave the type out.
        _ => ("function", "arguments"),
    };
    let called = fields.take(kind);
    let (name, text) = reader.within(kind, |reader| {
        let mut fields = reader.fields(
            called.unwrap_or(&Json::Null),
            "an object with the name of the tool",
        )?;
        let name = reader.text(&mut fields, "name");
        let text = reader.text(&mut fields, text_key);
        reader.rest(fields);
        Some((name?, text?))
    })?;
    reader.rest(fields);
    let mut part = ToolCallPart::new(id?, name);
    // A custom tool takes free text, which must not be read as JSON.
    part.input = Some(if kind == "custom" {
        text.into()
    } else {
        arguments(&text)
    });
    Some(part)
}

fn tool_output(reader: &mut Reader, content: Option<&Json>) -> Option<ToolOutput> {
    match content {
        Some(Json::String(text)) => Some(TextOutput::new(text).into()),
        Some(parts @ Json::Array(_)) => {
            // The model reads the parts as one text.
            let mut own = Object::new();
            let mut output = TextOutput::new(joined_text(reader, Some(parts), &mut own)?);
            output.provider_options = options_of(OPENAI, own);
            Some(output.into())
        }
        other => {
            reader.wrong(other, "a string or an array of text parts");
            None
        }
    }
}

/// Settings that go into OpenAI's options as they are, with their names there.
const OWN_SETTINGS: &[(&str, &str)] = &[
    ("logit_bias", "logitBias"),
    ("user", "user"),
    ("parallel_tool_calls", "parallelToolCalls"),
    ("store", "store"),
    ("metadata", "metadata"),
    ("prediction", "prediction"),
    ("service_tier", "serviceTier"),
    ("verbosity", "textVerbosity"),
    ("prompt_cache_key", "promptCacheKey"),
    ("prompt_cache_options", "promptCacheOptions"),
    ("prompt_cache_retention", "promptCacheRetention"),
    ("safety_identifier", "safetyIdentifier"),
];

fn call_options(reader: &mut Reader, fields: &mut Fields<'_>) -> CallOptions {
    let mut own = Object::new();
    let mut options = CallOptions::new();
    let max_tokens = reader.optional_number(fields, "max_tokens");
    options.max_output_tokens = reader
        .optional_number(fields, "max_completion_tokens")
        .or(max_tokens);
    options.temperature = reader.optional_number(fields, "temperature");
    options.top_p = reader.optional_number(fields, "top_p");
    options.top_k = reader.optional_number(fields, "top_k");
    options.presence_penalty = reader.optional_number(fields, "presence_penalty");
    options.frequency_penalty = reader.optional_number(fields, "frequency_penalty");
    options.seed = reader.optional_number(fields, "seed");
    options.stop_sequences = reader.texts(fields, "stop");
    options.reasoning = reasoning_effort(reader, fields, "reasoning_effort", &mut own);
    if let Some(format) = fields.take("response_format") {
        options.response_format = reader.within("response_format", |reader| {
            response_format(reader, format, &mut own)
        });
    }
    let mut tools = reader.each(fields, "tools", tool);
    if let Some(functions) = reader.each(fields, "functions", |reader, function| {
        function_tool(reader, function, None)
    }) {
        tools
            .get_or_insert_default()
            .extend(functions.into_iter().map(Tool::from));
    }
    options.tools = tools;
    for key in ["tool_choice", "function_call"] {
        if let Some(choice) = fields.take(key) {
            options.tool_choice = reader.within(key, |reader| tool_choice(reader, choice));
        }
    }
    let wants_logprobs = reader.optional_bool(fields, "logprobs");
    let top_logprobs = reader.optional_number(fields, "top_logprobs");
    match (wants_logprobs, top_logprobs) {
        (Some(true), Some(count)) => own.insert("logprobs", count),
        (Some(logprobs), None) => own.insert("logprobs", logprobs),
        _ => {}
    }
    for (key, name) in OWN_SETTINGS {
        own.insert_some(*name, fields.take(key));
    }
    for (key, plain) in [("n", 1.0), ("best_of", 1.0)] {
        if fields
            .peek(key)
            .and_then(Json::as_number)
            .is_some_and(|number| number.as_f64() == plain)
        {
            fields.take(key);
        }
    }
    options.provider_options = options_of(OPENAI, own);
    options
}

/// An effort that the interface knows goes there; another one is the provider's own.
pub(super) fn reasoning_effort(
    reader: &mut Reader,
    fields: &mut Fields<'_>,
    key: &'static str,
    own: &mut Object,
) -> Option<Reasoning> {
    use crate::typed::Typed;
    let effort = reader.optional_text(fields, key)?;
    let known = Reasoning::from_json(Json::from(&effort))
        .ok()
        .filter(|effort| effort.is_custom());
    if known.is_none() {
        own.insert("reasoningEffort", effort);
    }
    known
}

fn response_format(reader: &mut Reader, format: &Json, own: &mut Object) -> Option<ResponseFormat> {
    let mut fields = reader.fields(format, "a response format")?;
    let kind = fields.take("type");
    let format = match kind.and_then(Json::as_str) {
        Some("text") => TextFormat::new().into(),
        Some("json_object") => JsonFormat::new().into(),
        Some("json_schema") => {
            let schema = fields.take("json_schema");
            reader.within("json_schema", |reader| {
                let mut fields = reader.fields(schema.unwrap_or(&Json::Null), "an object with a schema")?;
                let format = json_schema(reader, &mut fields, own);
                reader.rest(fields);
                format
            })?
        }
        _ => {
            reader.unknown_tag("type", kind, "text, json_object, json_schema");
            return None;
        }
    };
    reader.rest(fields);
    Some(format)
}

/// A JSON schema with its name, as both of OpenAI's APIs have it.
pub(super) fn json_schema(
    reader: &mut Reader,
    fields: &mut Fields<'_>,
    own: &mut Object,
) -> Option<ResponseFormat> {
    let mut format = JsonFormat::new();
    format.name = reader.optional_text(fields, "name");
    format.description = reader.optional_text(fields, "description");
    format.schema = match fields.take("schema") {
        Some(Json::Object(schema)) => Some(schema.clone()),
        other => {
            reader.within("schema", |reader| reader.wrong(other, "an object"));
            None
        }
    };
    // The SDK asks for strictness unless it is told not to; OpenAI does not unless it is told to.
    if reader.optional_bool(fields, "strict") != Some(true) {
        own.insert("strictJsonSchema", false);
    }
    Some(format.into())
}

fn tool(reader: &mut Reader, tool: &Json) -> Option<Tool> {
    let mut fields = reader.fields(tool, "a tool")?;
    let kind = fields.take("type");
    let tool = match kind.and_then(Json::as_str) {
        Some("function") => {
            let function = fields.take("function");
            reader
                .within("function", |reader| {
                    function_tool(reader, function.unwrap_or(&Json::Null), None)
                })?
                .into()
        }
        Some("custom") => {
            let custom = fields.take("custom");
            reader.within("custom", |reader| {
                custom_tool(reader, custom.unwrap_or(&Json::Null))
            })?
        }
        _ => {
            reader.unknown_tag("type", kind, "function, custom");
            return None;
        }
    };
    reader.rest(fields);
    Some(tool)
}

/// A function with its parameters. A `tag` is a member that its object carries besides.
pub(super) fn function_tool(
    reader: &mut Reader,
    tool: &Json,
    tag: Option<&'static str>,
) -> Option<FunctionTool> {
    let mut fields = reader.fields(tool, "a function")?;
    if let Some(tag) = tag {
        fields.take(tag);
    }
    let name = reader.text(&mut fields, "name");
    // A function without parameters takes an empty object.
    let schema = fields.take("parameters").cloned();
    let schema = schema.unwrap_or_else(|| object! { "type": "object", "properties": Object::new() }.into());
    let mut tool = FunctionTool::new(name?, schema);
    tool.description = reader.optional_text(&mut fields, "description");
    tool.strict = reader.optional_bool(&mut fields, "strict");
    reader.rest(fields);
    Some(tool)
}

/// A tool that takes free text.
pub(super) fn custom_tool(reader: &mut Reader, tool: &Json) -> Option<Tool> {
    let mut fields = reader.fields(tool, "a custom tool")?;
    fields.take("type");
    let name = reader.text(&mut fields, "name")?;
    let args = object! {
        "description"?: fields.take("description"),
        "format"?: fields.take("format"),
    };
    reader.rest(fields);
    Some(ProviderTool::new("openai.custom", name, args).into())
}

fn tool_choice(reader: &mut Reader, choice: &Json) -> Option<ToolChoice> {
    if let Some(word) = choice.as_str() {
        return word_choice(reader, word);
    }
    let mut fields = reader.fields(choice, "auto, none, required or an object")?;
    let kind = fields.take("type").and_then(Json::as_str);
    let name = match kind {
        Some(kind @ ("function" | "custom")) => {
            let key = if kind == "custom" { "custom" } else { "function" };
            let named = fields.take(key);
            reader.within(key, |reader| {
                let mut fields = reader.fields(named.unwrap_or(&Json::Null), "an object with a name")?;
                reader.text(&mut fields, "name")
            })?
        }
        // The older form is the name alone.
        None if fields.peek("name").is_some() => reader.text(&mut fields, "name")?,
        _ => {
            reader.lost("a choice among some of the tools has no place; the model may call all of them");
            return None;
        }
    };
    reader.rest(fields);
    Some(NamedChoice::new(name).into())
}

/// A choice that is a word.
pub(super) fn word_choice(reader: &mut Reader, word: &str) -> Option<ToolChoice> {
    Some(match word {
        "auto" => AutoChoice::new().into(),
        "none" => NoChoice::new().into(),
        "required" => RequiredChoice::new().into(),
        other => {
            let found = format!("{other:?}");
            reader.fault(
                FaultKind::BadValue,
                found,
                "auto, none, required",
                "use one of them",
            );
            return None;
        }
    })
}

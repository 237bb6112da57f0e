//! What the APIs modelled on OpenAI's chat completions share.
//!
//! Each has messages with a role, content that is text or a list of parts, tool calls beside the text,
//! and tool messages with one text. They differ in which parts they take and in small things, which
//! stand in each provider's file.

use super::common::{ErrorText, output_text, part_path};
use super::{Log, Profile};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::types::call::{FunctionTool, JsonFormat, NamedChoice, ProviderTool, RequiredChoice};
use crate::types::prompt::{
    AssistantMessage, FilePart, ToolCallPart, ToolMessage, ToolResultPart, UserMessage,
};
use crate::types::{
    AssistantPart, CallOptions, ResponseFormat, Tool, ToolChoice, ToolOutput, ToolPart, UserPart, Warning,
};

/// Function tools, the choice among them, and what to warn about.
#[derive(Debug, Default)]
pub struct Tools {
    /// The tools, unless the call has none.
    pub tools: Option<Vec<Object>>,
    /// The choice, if there are tools and the caller made one.
    pub choice: Option<Json>,
    /// What to warn about.
    pub warnings: Vec<Warning>,
}

/// The tools of a call in chat form. `own` decides about a provider's tool: the object to send, or
/// the warning to give.
pub fn tools(options: &CallOptions, own: impl Fn(&ProviderTool) -> Result<Object, Warning>) -> Tools {
    let Some(tools) = options.tools.as_ref().filter(|tools| !tools.is_empty()) else {
        return Tools::default();
    };
    let mut prepared = Tools::default();
    let mut converted = Vec::with_capacity(tools.len());
    for tool in tools {
        match tool {
            Tool::Function(tool) => converted.push(object! {
                "type": "function",
                "function": object! {
                    "name": &tool.name,
                    "description"?: tool.description.clone(),
                    "parameters": &tool.input_schema,
                    "strict"?: tool.strict,
                },
            }),
            Tool::Provider(tool) => match own(tool) {
                Ok(tool) => converted.push(tool),
                Err(warning) => prepared.warnings.push(warning),
            },
        }
    }
    prepared.tools = Some(converted);
    prepared.choice = options.tool_choice.as_ref().map(choice);
    prepared
}

/// A tool choice in chat form.
pub fn choice(choice: &ToolChoice) -> Json {
    match choice {
        ToolChoice::Tool(named) => named_choice(&named.tool_name),
        other => other.tag().into(),
    }
}

/// The choice of one tool in chat form.
pub fn named_choice(name: &Text) -> Json {
    object! { "type": "function", "function": object! { "name": name } }.into()
}

/// The warning that a provider has no tool of this id.
pub fn no_such_tool(tool: &ProviderTool) -> Warning {
    Warning::unsupported(format!("provider-defined tool {}", tool.id))
}

/// The JSON format that the call asks for, if it does.
pub fn json_format(options: &CallOptions) -> Option<&JsonFormat> {
    match &options.response_format {
        Some(ResponseFormat::Json(format)) => Some(format),
        _ => None,
    }
}

/// A JSON format in chat form: with the schema if there is one and the model takes it.
pub fn response_format(format: &JsonFormat, takes_schema: bool, strict: bool) -> Object {
    match &format.schema {
        Some(schema) if takes_schema => object! {
            "type": "json_schema",
            "json_schema": object! {
                "schema": schema,
                "strict": strict,
                "name": format.name.clone().unwrap_or_else(|| "response".into()),
                "description"?: format.description.clone(),
            },
        },
        _ => object! { "type": "json_object" },
    }
}

/// For APIs that refuse a JSON format together with function tools: the answer's schema becomes a tool
/// of its own that the model has to call. Gives the options with it, or nothing if there is no such
/// format or no such tool.
pub fn answer_tool(options: &CallOptions) -> Option<CallOptions> {
    let format = json_format(options)?;
    let schema = format.schema.as_ref()?;
    let tools = options.tools.as_ref()?;
    if !tools.iter().any(|tool| matches!(tool, Tool::Function(_))) {
        return None;
    }
    let is_free = |name: &String| tools.iter().all(|tool| **tool.name() != **name);
    let mut names = std::iter::once("json".to_owned()).chain((1..).map(|suffix| format!("json_{suffix}")));
    let name = names.find(is_free)?;
    let mut tool = FunctionTool::new(name.as_str(), schema);
    tool.description = Some(
        format
            .description
            .clone()
            .unwrap_or_else(|| "Respond with a JSON object.".into()),
    );
    let mut options = options.clone();
    options.tool_choice = Some(match options.tool_choice {
        Some(ToolChoice::Tool(named)) => ToolChoice::Tool(named),
        Some(ToolChoice::None(_)) => NamedChoice::new(name.as_str()).into(),
        _ => RequiredChoice::new().into(),
    });
    options.tools.get_or_insert_default().push(tool.into());
    Some(options)
}

/// The text of a user message that is nothing but one text part.
pub fn only_text(message: &UserMessage) -> Option<&crate::types::prompt::TextPart> {
    match &message.content[..] {
        [UserPart::Text(part)] => Some(part),
        _ => None,
    }
}

/// A user message: a single text as it is, anything else as parts.
pub fn user(
    message: &UserMessage,
    file: impl Fn(&FilePart) -> Result<Object, SdkError>,
) -> Result<Object, SdkError> {
    if let Some(part) = only_text(message) {
        return Ok(object! { "role": "user", "content": &part.text });
    }
    Ok(object! { "role": "user", "content": user_parts(message, file)? })
}

/// The parts of a user message; `file` says how the provider wants a file.
pub fn user_parts(
    message: &UserMessage,
    file: impl Fn(&FilePart) -> Result<Object, SdkError>,
) -> Result<Vec<Object>, SdkError> {
    let parts = message.content.iter().map(|part| match part {
        UserPart::Text(part) => Ok(object! { "type": "text", "text": &part.text }),
        UserPart::File(part) => file(part),
    });
    parts.collect()
}

/// A tool call in chat form. Absent arguments stay absent.
pub fn tool_call(part: &ToolCallPart, arguments: Option<Text>) -> Object {
    object! {
        "id": &part.tool_call_id,
        "type": "function",
        "function": object! { "name": &part.tool_name, "arguments"?: arguments },
    }
}

/// What an assistant message says: its texts joined, its thoughts joined, its calls.
#[derive(Debug, Default)]
pub struct Said {
    /// All text.
    pub text: String,
    /// All thoughts, if there are any and the provider takes them.
    pub reasoning: Option<String>,
    /// The calls.
    pub calls: Vec<Object>,
}

/// Collects what an assistant message says, and reports what the API has no place for.
pub fn said(
    at: usize,
    message: &AssistantMessage,
    keeps_reasoning: bool,
    log: &mut Log,
    call: impl Fn(&ToolCallPart) -> Object,
) -> Said {
    let mut said = Said::default();
    for (index, part) in message.content.iter().enumerate() {
        match part {
            AssistantPart::Text(part) => said.text.push_str(&part.text),
            AssistantPart::Reasoning(part) if keeps_reasoning => {
                said.reasoning.get_or_insert_default().push_str(&part.text);
            }
            AssistantPart::ToolCall(part) => said.calls.push(call(part)),
            other => log.dropped(
                part_path(at, index),
                format!(
                    "the API has no place for the part {:?} of an assistant message",
                    other.tag()
                ),
            ),
        }
    }
    said
}

impl Said {
    /// The calls, unless there are none.
    pub fn take_calls(&mut self) -> Option<Vec<Object>> {
        (!self.calls.is_empty()).then(|| std::mem::take(&mut self.calls))
    }
}

/// The results of a tool message with their positions; approval responses are reported as dropped.
pub fn results<'a>(at: usize, message: &'a ToolMessage, log: &mut Log) -> Vec<(usize, &'a ToolResultPart)> {
    let mut results = Vec::with_capacity(message.content.len());
    for (index, part) in message.content.iter().enumerate() {
        match part {
            ToolPart::ToolResult(part) => results.push((index, part)),
            ToolPart::ApprovalResponse(_) => {
                log.dropped(part_path(at, index), "the API has no approval responses");
            }
        }
    }
    results
}

/// A tool result as one text, with a note in the report when files go into it.
pub fn result_text(at: usize, index: usize, part: &ToolResultPart, profile: Profile, log: &mut Log) -> Text {
    if matches!(part.output, ToolOutput::Content(_)) {
        let path = part_path(at, index).join("output");
        log.changed(
            path,
            "content is sent as JSON text, so the model sees no files in it",
        );
    }
    output_text(&part.output, ErrorText::Raw, profile)
}

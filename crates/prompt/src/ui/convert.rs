//! UI messages to model messages.
//!
//! One assistant message of a chat can be many messages for a model: each step is an assistant message,
//! followed by a tool message if tools were called in it. A user who types on instead of answering a
//! question has answered it: approvals that are still open before the last user message vanish.

use std::fmt;

use crate::error::SdkError;
use crate::json::{Json, Object, object};
use crate::model_messages::file_data::{invalid_url, normalized_url};
use crate::model_messages::lenient::{is_true, js_string, role, some, str_of, tag, type_error};
use crate::model_messages::tool_output::{error_as_json, error_as_text, returned};
use crate::path::Path;

/// The tools there are now, for outputs that a tool puts into words itself.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::ui::{self, ToModelMessages, ToolRun, Tools};
///
/// struct Clock;
///
/// impl Tools for Clock {
///     fn has(&self, name: &str) -> bool {
///         name == "clock"
///     }
///
///     fn to_model_output(&self, _: &str, call: ToolRun<'_>) -> Option<Json> {
///         let text = format!(r#"{{"type":"text","value":"It is {}."}}"#, call.output?.as_str()?);
///         Json::parse(&text).ok()
///     }
/// }
///
/// let message = r#"{"role":"assistant","parts":[
///     {"type":"tool-clock","toolCallId":"c","state":"output-available","input":{},"output":"noon"}]}"#;
/// let options = ToModelMessages { tools: Some(&Clock), ..ToModelMessages::default() };
/// let messages = ui::to_model_messages(&[Json::parse(message)?], &options)?;
/// assert!(messages[1].to_js().contains("It is noon."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Tools {
    /// Whether there is a tool of that name.
    fn has(&self, name: &str) -> bool;

    /// What the model shall see of an output (a tool result output), if the tool has a say in it.
    fn to_model_output(&self, name: &str, call: ToolRun<'_>) -> Option<Json>;
}

/// A call and what it gave.
#[derive(Debug, Clone, Copy)]
pub struct ToolRun<'a> {
    /// The id of the call.
    pub tool_call_id: &'a str,
    /// What the tool was called with.
    pub input: Option<&'a Json>,
    /// What it gave.
    pub output: Option<&'a Json>,
}

/// Turns a `data-*` part into a part of a model message, or leaves it out.
pub type ConvertDataPart<'a> = &'a dyn Fn(&Json) -> Option<Json>;

/// How UI messages become model messages.
#[derive(Default)]
pub struct ToModelMessages<'a> {
    /// The tools there are.
    pub tools: Option<&'a dyn Tools>,
    /// Leave out calls that have neither ended nor been decided on.
    pub ignore_incomplete_tool_calls: bool,
    /// Turns a `data-*` part into a text or file part of a model message. Without it they are left out.
    pub convert_data_part: Option<ConvertDataPart<'a>>,
}

impl fmt::Debug for ToModelMessages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToModelMessages")
            .field("tools", &self.tools.is_some())
            .field("ignore_incomplete_tool_calls", &self.ignore_incomplete_tool_calls)
            .field("convert_data_part", &self.convert_data_part.is_some())
            .finish()
    }
}

/// Turns UI messages into model messages. They need not have been validated.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::ui;
///
/// let message = Json::parse(r#"{"id":"1","role":"user","parts":[{"type":"text","text":"Hi"}]}"#)?;
/// let messages = ui::to_model_messages(&[message], &Default::default())?;
/// assert_eq!(messages[0].to_js(), r#"{"role":"user","content":[{"type":"text","text":"Hi"}]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_model_messages(messages: &[Json], options: &ToModelMessages<'_>) -> Result<Vec<Json>, SdkError> {
    // The SDK looks at the parts of all messages before it converts the first one.
    let parts_of: Vec<&[Json]> = messages
        .iter()
        .enumerate()
        .map(|(index, message)| checked_parts(index, message))
        .collect::<Result<_, _>>()?;
    let last_user = messages
        .iter()
        .rposition(|message| role(message) == "user")
        .unwrap_or(0);
    let mut converted = Vec::new();
    for (index, (message, parts)) in messages.iter().zip(parts_of).enumerate() {
        let is_superseded = |part: &Json| {
            str_of(part, "state") == Some("approval-requested") && last_user > 0 && index < last_user
        };
        let parts = parts.iter().filter(|part| {
            !is_call(part)
                || !is_superseded(part) && (!options.ignore_incomplete_tool_calls || is_settled(part))
        });
        match role(message) {
            "system" => converted.push(system(parts)),
            "user" => converted.push(options.user(parts)?),
            "assistant" => options.assistant(parts, &mut converted)?,
            _ => {
                let role = js_string(message.get("role"));
                return Err(SdkError::MessageConversion(format!("Unsupported role: {role}")));
            }
        }
    }
    Ok(converted)
}

fn checked_parts(index: usize, message: &Json) -> Result<&[Json], SdkError> {
    let path = Path::root().join("messages").join(index).join("parts");
    let Some(Json::Array(parts)) = message.get("parts") else {
        return Err(type_error(&path, message.get("parts"), "an array of parts"));
    };
    match parts.iter().position(|part| part.as_object().is_none()) {
        Some(bad) => Err(type_error(&path.join(bad), parts.get(bad), "a part")),
        None => Ok(parts),
    }
}

fn is_call(part: &Json) -> bool {
    tag(part) == "dynamic-tool" || tag(part).starts_with("tool-")
}

/// Whether a call has ended for good or been decided on.
fn is_settled(part: &Json) -> bool {
    match str_of(part, "state") {
        Some("output-available") => !is_true(part, "preliminary"),
        Some("approval-responded" | "output-error" | "output-denied") => true,
        _ => false,
    }
}

fn system<'a>(parts: impl Iterator<Item = &'a Json>) -> Json {
    let mut text = String::new();
    let mut options = Object::new();
    for part in parts.filter(|part| tag(part) == "text") {
        text.push_str(str_of(part, "text").unwrap_or_default());
        if let Some(Json::Object(metadata)) = part.get("providerMetadata") {
            options.extend_from(metadata);
        }
    }
    let options = (!options.is_empty()).then_some(options);
    object! { "role": "system", "content": text, "providerOptions"?: options }.into()
}

/// A text or file of a user.
fn user_part(part: &Json) -> Result<Json, SdkError> {
    let options = some(part, "providerMetadata");
    if tag(part) == "text" {
        return Ok(object! { "type": "text", "text"?: part.get("text"), "providerOptions"?: options }.into());
    }
    file_part(part)
}

fn file_part(part: &Json) -> Result<Json, SdkError> {
    let data = match some(part, "providerReference") {
        Some(reference) => object! { "type": "reference", "reference": reference },
        None => url_data(part)?,
    };
    Ok(object! {
        "type": "file",
        "mediaType"?: part.get("mediaType"),
        "filename"?: part.get("filename"),
        "data": data,
        "providerOptions"?: some(part, "providerMetadata"),
    }
    .into())
}

fn url_data(part: &Json) -> Result<Object, SdkError> {
    let url = part.get("url").and_then(Json::as_text).ok_or_else(invalid_url)?;
    Ok(object! { "type": "url", "url": normalized_url(url)? })
}

impl ToModelMessages<'_> {
    fn data_part(&self, part: &Json) -> Option<Json> {
        self.convert_data_part.and_then(|convert| convert(part))
    }

    fn user<'a>(&self, parts: impl Iterator<Item = &'a Json>) -> Result<Json, SdkError> {
        let mut content = Vec::new();
        for part in parts {
            match tag(part) {
                "text" | "file" => content.push(user_part(part)?),
                tag if tag.starts_with("data-") => content.extend(self.data_part(part)),
                _ => {}
            }
        }
        Ok(object! { "role": "user", "content": content }.into())
    }

    fn assistant<'a>(
        &self,
        parts: impl Iterator<Item = &'a Json>,
        converted: &mut Vec<Json>,
    ) -> Result<(), SdkError> {
        let mut block = Vec::new();
        for part in parts {
            match tag(part) {
                "step-start" => self.close_block(&mut block, converted)?,
                "steering-message" => {
                    self.close_block(&mut block, converted)?;
                    let parts = part.get("parts").and_then(Json::as_array).unwrap_or_default();
                    let content = parts.iter().map(user_part).collect::<Result<Vec<_>, _>>()?;
                    converted.push(object! { "role": "user", "content": content }.into());
                }
                "text" | "custom" | "reasoning" | "reasoning-file" | "file" => block.push(part),
                tag if tag.starts_with("data-") || is_call(part) => block.push(part),
                _ => {}
            }
        }
        self.close_block(&mut block, converted)
    }

    /// Turns one step into an assistant message, and a tool message if something was called.
    fn close_block(&self, block: &mut Vec<&Json>, converted: &mut Vec<Json>) -> Result<(), SdkError> {
        let mut content = Vec::new();
        let mut results = Vec::new();
        for part in block.drain(..) {
            self.assistant_part(part, &mut content)?;
            if is_call(part) {
                self.results(part, &mut results);
            }
        }
        if !content.is_empty() {
            converted.push(object! { "role": "assistant", "content": content }.into());
        }
        if !results.is_empty() {
            converted.push(object! { "role": "tool", "content": results }.into());
        }
        Ok(())
    }

    fn assistant_part(&self, part: &Json, content: &mut Vec<Json>) -> Result<(), SdkError> {
        let options = some(part, "providerMetadata");
        let converted = match tag(part) {
            kind @ ("text" | "reasoning") => {
                object! { "type": kind, "text"?: part.get("text"), "providerOptions"?: options }.into()
            }
            "custom" => {
                object! { "type": "custom", "kind"?: part.get("kind"), "providerOptions"?: options }.into()
            }
            "file" => file_part(part)?,
            "reasoning-file" => object! {
                "type": "reasoning-file",
                "data": url_data(part)?,
                "mediaType"?: part.get("mediaType"),
                "providerOptions"?: options,
            }
            .into(),
            _ if is_call(part) => {
                if str_of(part, "state") != Some("input-streaming") {
                    self.call(part, content);
                }
                return Ok(());
            }
            _ => {
                content.extend(self.data_part(part));
                return Ok(());
            }
        };
        content.push(converted);
        Ok(())
    }

    fn call(&self, part: &Json, content: &mut Vec<Json>) {
        let has_failed = str_of(part, "state") == Some("output-error");
        let result_options = some(part, "resultProviderMetadata");
        let call_options = some(part, "callProviderMetadata");
        let input = match has_failed {
            true => some(part, "input").or_else(|| part.get("rawInput")),
            false => part.get("input"),
        };
        content.push(
            object! {
                "type": "tool-call",
                "toolCallId"?: part.get("toolCallId"),
                "toolName"?: tool_name(part),
                "input"?: input,
                "providerExecuted"?: part.get("providerExecuted"),
                "providerOptions"?: call_options.or(result_options.filter(|_| has_failed)),
            }
            .into(),
        );
        if let Some(approval) = some(part, "approval") {
            content.push(
                object! {
                    "type": "tool-approval-request",
                    "approvalId"?: approval.get("id"),
                    "toolCallId"?: part.get("toolCallId"),
                    "isAutomatic"?: approval.get("isAutomatic"),
                    "reason"?: some(approval, "requestReason"),
                    "inputSchemaInput"?: approval.get("inputSchemaInput"),
                    "signature"?: some(approval, "signature"),
                }
                .into(),
            );
        }
        let has_ended = has_failed || str_of(part, "state") == Some("output-available");
        if is_true(part, "providerExecuted") && has_ended {
            let output = match has_failed {
                true => error_as_json(part.get("errorText")),
                false => self.output(part),
            };
            content.push(result(part, output, result_options.or(call_options)));
        }
    }

    /// What the tool message of a step says about one of its calls.
    fn results(&self, part: &Json, results: &mut Vec<Json>) {
        let approval = some(part, "approval");
        let approved = approval.and_then(|approval| some(approval, "approved"));
        let is_the_providers = is_true(part, "providerExecuted");
        if is_the_providers && approved.is_none() {
            return;
        }
        let options = some(part, "callProviderMetadata");
        let reason = approval.and_then(|approval| approval.get("reason"));
        if let (Some(approval), Some(approved)) = (approval, approved) {
            results.push(
                object! {
                    "type": "tool-approval-response",
                    "approvalId"?: approval.get("id"),
                    "approved": approved,
                    "reason"?: reason,
                    "providerExecuted"?: part.get("providerExecuted"),
                }
                .into(),
            );
        }
        let state = str_of(part, "state");
        if state == Some("approval-responded") && approved == Some(&Json::Bool(false)) {
            let output = object! { "type": "execution-denied", "reason"?: reason };
            results.push(result(part, output.into(), options));
        }
        if is_the_providers {
            return;
        }
        let output = match state {
            Some("output-denied") => {
                let reason = reason.filter(|reason| !reason.is_null());
                let reason = reason
                    .cloned()
                    .unwrap_or_else(|| "Tool call execution denied.".into());
                object! { "type": "error-text", "value": reason }.into()
            }
            Some("output-error") => error_as_text(part.get("errorText")),
            Some("output-available") => self.output(part),
            _ => return,
        };
        results.push(result(part, output, options));
    }

    /// The output of a call that has ended well, as the model is to see it.
    fn output(&self, part: &Json) -> Json {
        let name = tool_name(part).unwrap_or_default();
        let tools = self.tools.filter(|tools| tools.has(name));
        // The mark says that the tool was removed: what it gave was never meant to be seen raw.
        if tools.is_none() && tag(part) == "dynamic-tool" && part.get("dynamic") == Some(&Json::Bool(false)) {
            let text = "Tool output omitted because the tool is no longer available.";
            return object! { "type": "text", "value": text }.into();
        }
        let run = ToolRun {
            tool_call_id: str_of(part, "toolCallId").unwrap_or_default(),
            input: part.get("input"),
            output: part.get("output"),
        };
        tools
            .and_then(|tools| tools.to_model_output(name, run))
            .unwrap_or_else(|| returned(part.get("output")))
    }
}

fn tool_name(part: &Json) -> Option<&str> {
    match tag(part) {
        "dynamic-tool" => str_of(part, "toolName"),
        tag => tag.strip_prefix("tool-"),
    }
}

fn result(part: &Json, output: Json, options: Option<&Json>) -> Json {
    object! {
        "type": "tool-result",
        "toolCallId"?: part.get("toolCallId"),
        "toolName"?: tool_name(part),
        "output": output,
        "providerOptions"?: options,
    }
    .into()
}

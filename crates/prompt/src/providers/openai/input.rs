//! A conversation as the `input` of the Responses API.
//!
//! The API takes a flat list of items. What OpenAI has stored already (text, reasoning, calls of its own
//! tools) is referred to by its id; a function call never is, because its output could then not be
//! matched to it. Without storage reasoning goes inline, one item per id with all its parts, and only
//! with its encrypted content.

use std::collections::{HashMap, HashSet};

use super::content::{file_item, input_text, user_file, web_search_action};
use super::{PROVIDER, SystemMode, cache_breakpoint, responses};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::providers::common::{self, DENIED, ToolNames, arguments_text, item_path, part_path, stringify};
use crate::providers::options::Options;
use crate::providers::{Log, Profile};
use crate::typed::Members;
use crate::types::prompt::{
    ApprovalResponsePart, AssistantMessage, CustomPart, ReasoningPart, SystemMessage, TextPart, ToolCallPart,
    ToolMessage, ToolResultPart, UserMessage,
};
use crate::types::{
    AssistantPart, ContentItem, Message, Prompt, ProviderOptions, ToolOutput, ToolPart, UserPart, Warning,
    provider_option,
};

/// What the conversion depends on besides the prompt.
#[derive(Debug)]
pub(super) struct InputOptions<'a> {
    pub(super) mode: SystemMode,
    pub(super) pass_through_files: bool,
    /// Whether OpenAI keeps what it answers.
    pub(super) store: bool,
    pub(super) reasons: bool,
    pub(super) has_conversation: bool,
    pub(super) has_previous_response: bool,
    pub(super) updates_unsupported: Option<&'static str>,
    pub(super) names: &'a ToolNames,
    pub(super) custom_tools: HashSet<&'a str>,
    pub(super) with_output_schema: HashSet<&'a str>,
    pub(super) profile: Profile,
}

/// Converts the prompt.
pub(super) fn convert(
    prompt: &Prompt,
    options: &InputOptions<'_>,
    log: &mut Log,
) -> Result<Vec<Object>, SdkError> {
    let mut input = Input {
        options,
        log,
        items: Vec::new(),
        answered: HashSet::new(),
        programmatic: HashSet::new(),
    };
    for (at, message) in prompt.messages().iter().enumerate() {
        match message {
            Message::System(message) => input.system(at, message)?,
            Message::User(message) => input.user(message)?,
            Message::Assistant(message) => input.assistant(at, message)?,
            Message::Tool(message) => input.tool(at, message)?,
        }
    }
    let mut items = input.items;
    let is_unencrypted = |item: &Object| {
        item.get("type").and_then(Json::as_str) == Some("reasoning")
            && !item.contains_key("encrypted_content")
    };
    if !options.store && items.iter().any(is_unencrypted) {
        log.warn(Warning::other(
            "Reasoning parts without encrypted content are not supported when store is false. Skipping reasoning \
             parts.",
        ));
        items.retain(|item| !is_unencrypted(item));
    }
    Ok(items)
}

struct Input<'a> {
    options: &'a InputOptions<'a>,
    log: &'a mut Log,
    items: Vec<Object>,
    /// The approval requests that have been answered: only the first answer counts.
    answered: HashSet<Text>,
    /// The calls that a program of the model made.
    programmatic: HashSet<Text>,
}

/// What has been sent of one assistant message.
#[derive(Default)]
struct Sent {
    /// The ids of texts that were referred to.
    texts: HashSet<String>,
    /// Reasoning by id; with its position in the items if it is inline.
    reasoning: HashMap<Text, Option<usize>>,
    /// Whether a thought came before. Stored text of a reasoning model is bound to its thought, so
    /// without one it goes with its content.
    after_reasoning: bool,
}

impl<'a> Input<'a> {
    fn system(&mut self, at: usize, message: &SystemMessage) -> Result<(), SdkError> {
        let provider_options = message.provider_options.as_ref();
        let options = Options::of(provider_options, PROVIDER);
        let effort = options.word(
            "reasoningEffortUpdate",
            &["none", "low", "medium", "high", "xhigh", "max"],
        )?;
        let format = options.read::<Object>("textFormatUpdate")?;
        let tools = options.read::<Vec<Object>>("additionalTools")?;
        let feature = match (effort, &format, &tools) {
            (Some(_), ..) => "reasoningEffortUpdate",
            (_, Some(_), _) => "textFormatUpdate",
            (.., Some(_)) => "additionalTools",
            _ => {
                self.instructions(at, message);
                return Ok(());
            }
        };
        let updates = effort.is_some() || format.is_some();
        let unsupported = if !message.content.is_empty() {
            Some(format!(
                "Message-level {feature} requires empty system message content."
            ))
        } else {
            self.options
                .updates_unsupported
                .filter(|_| updates)
                .map(str::to_owned)
        };
        if let Some(message) = unsupported {
            return Err(SdkError::UnsupportedBecause {
                functionality: format!("Message-level {feature}"),
                message,
            });
        }
        if updates {
            let text = match format {
                Some(format) => Some(object! { "format": responses::text_format(&format, self.log)? }),
                None => None,
            };
            self.items.push(object! {
                "type": "configuration_update",
                "reasoning"?: effort.map(|effort| object! { "effort": effort }),
                "text"?: text,
            });
        }
        self.additional_tools(tools);
        Ok(())
    }

    fn instructions(&mut self, at: usize, message: &SystemMessage) {
        if self.options.mode == SystemMode::Remove {
            self.log
                .warn(Warning::other("system messages are removed for this model"));
            self.log.dropped(
                common::message_path(at),
                "system messages are removed for this model",
            );
            return;
        }
        let mark = cache_breakpoint(message.provider_options.as_ref());
        self.items.push(object! {
            "role": self.options.mode.as_str(),
            "content": marked_text(&message.content, mark),
        });
    }

    /// Tools that are declared from here on.
    fn additional_tools(&mut self, tools: Option<Vec<Object>>) {
        if let Some(tools) = tools.filter(|tools| !tools.is_empty()) {
            self.items
                .push(object! { "type": "additional_tools", "role": "developer", "tools": tools });
        }
    }

    fn user(&mut self, message: &UserMessage) -> Result<(), SdkError> {
        let mut content = Vec::with_capacity(message.content.len());
        for (index, part) in message.content.iter().enumerate() {
            content.push(match part {
                UserPart::Text(part) => {
                    input_text(&part.text, cache_breakpoint(part.provider_options.as_ref()))
                }
                UserPart::File(part) => user_file(index, part, self.options.pass_through_files)?,
            });
        }
        self.items.push(object! { "role": "user", "content": content });
        Ok(())
    }

    fn assistant(&mut self, at: usize, message: &AssistantMessage) -> Result<(), SdkError> {
        let mut sent = Sent::default();
        for (index, part) in message.content.iter().enumerate() {
            match part {
                AssistantPart::Text(part) => self.text(part, &mut sent),
                AssistantPart::Reasoning(part) => self.reasoning(at, index, part, &mut sent)?,
                AssistantPart::ToolCall(part) => self.tool_call(at, index, part),
                AssistantPart::ToolResult(part) => self.provider_result(at, index, part),
                AssistantPart::Custom(part) => self.custom(at, index, part),
                AssistantPart::File(_) | AssistantPart::ReasoningFile(_) => self.log.dropped(
                    part_path(at, index),
                    format!(
                        "the Responses API has no place for the part {:?} of an assistant message",
                        part.tag()
                    ),
                ),
            }
        }
        Ok(())
    }

    fn text(&mut self, part: &TextPart, sent: &mut Sent) {
        let id = own_option(part.provider_options.as_ref(), "itemId");
        if let Some(id) = id {
            // The conversation that OpenAI keeps holds this already.
            if self.options.has_conversation {
                return;
            }
            if self.options.store && (!self.options.reasons || sent.after_reasoning) {
                if sent.texts.insert(id.to_js()) {
                    self.refer_to(id);
                }
                return;
            }
        }
        self.items.push(object! {
            "role": "assistant",
            "content": &part.text,
            "phase"?: own_option(part.provider_options.as_ref(), "phase"),
        });
    }

    fn reasoning(
        &mut self,
        at: usize,
        index: usize,
        part: &ReasoningPart,
        sent: &mut Sent,
    ) -> Result<(), SdkError> {
        sent.after_reasoning = true;
        let options = Options::of(part.provider_options.as_ref(), PROVIDER);
        let id = options.nullish::<Text>("itemId")?;
        let encrypted = options.nullish::<Text>("reasoningEncryptedContent")?;
        let summary = (!part.text.is_empty()).then(|| object! { "type": "summary_text", "text": &part.text });
        let Some(id) = id else {
            if encrypted.is_some() {
                self.items.push(object! {
                    "type": "reasoning",
                    "encrypted_content": encrypted.unwrap_or_default(),
                    "summary": summary.into_iter().collect::<Vec<_>>(),
                });
            } else {
                let part = stringify(part, Profile::Exact);
                self.log
                    .dropped(part_path(at, index), "reasoning of another provider is not sent");
                self.log.warn(Warning::other(format!(
                    "Non-OpenAI reasoning parts are not supported. Skipping reasoning part: {part}."
                )));
            }
            return Ok(());
        };
        if self.options.has_conversation || self.options.has_previous_response {
            return Ok(());
        }
        let known = sent.reasoning.get(&id).copied();
        if self.options.store {
            if known.is_none() {
                self.refer_to(&Json::from(&id));
                sent.reasoning.insert(id, None);
            }
            return Ok(());
        }
        let Some(position) = known.flatten() else {
            sent.reasoning.insert(id.clone(), Some(self.items.len()));
            if encrypted.is_none() {
                let detail = "without storage OpenAI takes reasoning only with its encrypted content";
                self.log.dropped(part_path(at, index), detail);
            }
            self.items.push(object! {
                "type": "reasoning",
                "id": id,
                "encrypted_content"?: encrypted,
                "summary": summary.into_iter().collect::<Vec<_>>(),
            });
            return Ok(());
        };
        let item = &mut self.items[position];
        match (summary, item.get_mut("summary")) {
            (Some(summary), Some(Json::Array(summaries))) => summaries.push(summary.into()),
            _ => {
                let part = stringify(part, Profile::Exact);
                self.log.warn(Warning::other(format!(
                    "Cannot append empty reasoning part to existing reasoning sequence. Skipping reasoning part: \
                     {part}."
                )));
            }
        }
        item.insert_some("encrypted_content", encrypted);
        Ok(())
    }

    fn tool_call(&mut self, at: usize, index: usize, part: &ToolCallPart) {
        let own = |key| call_option(part.provider_options.as_ref(), &part.members, key);
        let id = own("itemId");
        let caller = own_option(part.provider_options.as_ref(), "caller");
        if is_program(caller) {
            self.programmatic.insert(part.tool_call_id.clone());
        }
        if self.options.has_conversation && id.is_some() {
            return;
        }
        if part.provider_executed == Some(true) {
            match id.filter(|_| self.options.store) {
                Some(id) => self.refer_to(id),
                None => self.log.dropped(
                    part_path(at, index),
                    "a call that the provider ran is only sent as a reference to what OpenAI has stored",
                ),
            }
            return;
        }
        let name = self.options.names.to_provider(&part.tool_name);
        if self.options.custom_tools.contains(name) {
            match id {
                Some(_) if self.options.store && self.options.has_previous_response => {}
                Some(id) if self.options.store => self.refer_to(id),
                _ => self.items.push(object! {
                    "type": "custom_tool_call",
                    "call_id": &part.tool_call_id,
                    "name": name,
                    "input"?: part.input.as_ref().map(|input| match input {
                        Json::String(text) => text.clone(),
                        other => other.to_js().into(),
                    }),
                    "async"?: own("async"),
                    "id"?: id,
                }),
            }
            return;
        }
        // The SDK looks the name up in a table, which finds what every object of JavaScript has.
        let name = match common::inherited(name).filter(|_| self.options.profile == Profile::Exact) {
            Some(found) => found,
            None => Some(name.into()),
        };
        self.items.push(object! {
            "type": "function_call",
            "call_id": &part.tool_call_id,
            "name"?: name,
            "arguments": arguments_text(part.input.as_ref()).unwrap_or_else(|| "{}".into()),
            "async"?: own("async"),
            "namespace"?: own("namespace"),
            "caller"?: caller.map(tool_caller),
        });
    }

    /// The result of a tool that the provider ran.
    fn provider_result(&mut self, at: usize, index: usize, part: &ToolResultPart) {
        let is_denied = match &part.output {
            ToolOutput::Denied(_) => true,
            // Storing and loading a denial may have wrapped it.
            ToolOutput::Json(output) => {
                output.value.get("type").and_then(Json::as_str) == Some("execution-denied")
            }
            _ => false,
        };
        if is_denied {
            self.log
                .dropped(part_path(at, index), "OpenAI keeps no item for a denied call");
            return;
        }
        if self.options.has_conversation {
            return;
        }
        let id = own_option(part.provider_options.as_ref(), "itemId").cloned();
        let id = id.unwrap_or_else(|| Json::from(&part.tool_call_id));
        if self.options.store {
            self.refer_to(&id);
            return;
        }
        let name = self.options.names.to_provider(&part.tool_name);
        if matches!(name, "web_search" | "web_search_preview")
            && let ToolOutput::Json(output) = &part.output
            && let Some(action) = web_search_action(&output.value)
        {
            self.items.push(object! {
                "type": "web_search_call",
                "id": id,
                "status": "completed",
                "action": action,
            });
            return;
        }
        self.log.dropped(
            part_path(at, index),
            "results of the provider's tools are not sent when store is false",
        );
        self.log.warn(Warning::other(format!(
            "Results for OpenAI tool {} are not sent to the API when store is false",
            part.tool_name
        )));
    }

    fn custom(&mut self, at: usize, index: usize, part: &CustomPart) {
        let id = own_option(part.provider_options.as_ref(), "itemId");
        match id {
            Some(_) if part.kind.as_str() != "openai.compaction" => {}
            Some(_) if self.options.has_conversation => return,
            Some(id) if self.options.store => return self.refer_to(id),
            Some(id) => {
                self.items.push(object! {
                    "type": "compaction",
                    "id": id,
                    "encrypted_content"?: own_option(part.provider_options.as_ref(), "encryptedContent"),
                });
                return;
            }
            None => {}
        }
        self.log.dropped(
            part_path(at, index),
            "only custom parts openai.compaction with an item id are sent",
        );
    }

    fn tool(&mut self, at: usize, message: &ToolMessage) -> Result<(), SdkError> {
        for (index, part) in message.content.iter().enumerate() {
            match part {
                ToolPart::ApprovalResponse(part) => self.approval(part),
                ToolPart::ToolResult(part) => self.result(at, index, part)?,
            }
        }
        Ok(())
    }

    fn approval(&mut self, part: &ApprovalResponsePart) {
        if !self.answered.insert(part.approval_id.clone()) {
            return;
        }
        let options = self.options;
        if options.store && !options.has_conversation && !options.has_previous_response {
            self.refer_to(&Json::from(&part.approval_id));
        }
        self.items.push(object! {
            "type": "mcp_approval_response",
            "approval_request_id": &part.approval_id,
            "approve": part.approved,
        });
    }

    fn result(&mut self, at: usize, index: usize, part: &ToolResultPart) -> Result<(), SdkError> {
        let denied = matches!(part.output, ToolOutput::Denied(_));
        let sent_as_approval = own_option(part.output.provider_options(), "approvalId");
        if denied && sent_as_approval.is_some_and(Json::is_truthy) {
            return Ok(());
        }
        let name = self.options.names.to_provider(&part.tool_name);
        if self.options.custom_tools.contains(name) {
            let output = self.output(at, index, part, Wording::Custom)?;
            self.items.push(object! {
                "type": "custom_tool_call_output",
                "call_id": &part.tool_call_id,
                "output": output,
            });
            return Ok(());
        }
        let caller = own_option(part.provider_options.as_ref(), "caller");
        if denied && (is_program(caller) || self.programmatic.contains(&part.tool_call_id)) {
            return Err(SdkError::unsupported(
                "execution-denied results for programmatic tool calls",
            ));
        }
        let output = self.output(at, index, part, Wording::Function)?;
        self.items.push(object! {
            "type": "function_call_output",
            "call_id": &part.tool_call_id,
            "output": output,
            "caller"?: caller.map(tool_caller),
        });
        let tools = Options::of(part.provider_options.as_ref(), PROVIDER).read("additionalTools")?;
        self.additional_tools(tools);
        Ok(())
    }

    fn output(
        &mut self,
        at: usize,
        index: usize,
        part: &ToolResultPart,
        wording: Wording,
    ) -> Result<Json, SdkError> {
        // OpenAI reads the output of a function with an output schema as JSON, so text is quoted.
        let is_json =
            wording == Wording::Function && self.options.with_output_schema.contains(&*part.tool_name);
        let text = |text: &Text| {
            if is_json {
                Text::from(Json::from(text).to_js())
            } else {
                text.clone()
            }
        };
        let profile = self.options.profile;
        let scalar = match &part.output {
            ToolOutput::Text(output) => text(&output.value),
            ToolOutput::Denied(output) => text(&output.reason.clone().unwrap_or_else(|| DENIED.into())),
            ToolOutput::Content(output) => return self.content(at, index, &output.value, wording),
            output @ (ToolOutput::Json(_) | ToolOutput::ErrorText(_) | ToolOutput::ErrorJson(_)) => {
                common::output_text(output, common::ErrorText::Wrapped, profile)
            }
        };
        let mark = cache_breakpoint(part.output.provider_options())
            .or_else(|| cache_breakpoint(part.provider_options.as_ref()));
        Ok(match mark {
            None => scalar.into(),
            Some(_) => vec![input_text(&scalar, mark)].into(),
        })
    }

    fn content(
        &mut self,
        at: usize,
        index: usize,
        items: &[ContentItem],
        wording: Wording,
    ) -> Result<Json, SdkError> {
        let mut content = Vec::with_capacity(items.len());
        for (item_index, item) in items.iter().enumerate() {
            let unsupported = match item {
                ContentItem::Text(item) => {
                    content.push(input_text(
                        &item.text,
                        cache_breakpoint(item.provider_options.as_ref()),
                    ));
                    continue;
                }
                ContentItem::File(item) => match file_item(item, wording == Wording::Function)? {
                    Some(file) => {
                        content.push(file);
                        continue;
                    }
                    None => format!("{} with data type: {}", "file", item.data.tag()),
                },
                ContentItem::Custom(_) => "custom".to_owned(),
            };
            self.log.dropped(
                item_path(at, index, item_index),
                "tool results hold text and files only",
            );
            self.log.warn(Warning::other(format!(
                "unsupported {}tool content part type: {unsupported}",
                wording.prefix()
            )));
        }
        Ok(content.into())
    }

    fn refer_to(&mut self, id: &Json) {
        self.items.push(object! { "type": "item_reference", "id": id });
    }
}

/// Whose output it is; the two kinds of tools differ in small things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wording {
    Function,
    Custom,
}

impl Wording {
    fn prefix(self) -> &'static str {
        match self {
            Wording::Function => "",
            Wording::Custom => "custom ",
        }
    }
}

fn own_option<'a>(options: Option<&'a ProviderOptions>, key: &str) -> Option<&'a Json> {
    provider_option(options, PROVIDER, key)
}

/// An option of a call, which some histories still keep under `providerMetadata`.
fn call_option<'a>(
    options: Option<&'a ProviderOptions>,
    members: &'a Members,
    key: &str,
) -> Option<&'a Json> {
    own_option(options, key).or_else(|| {
        members
            .get("providerMetadata")?
            .get(PROVIDER)?
            .get(key)
            .filter(|value| !value.is_null())
    })
}

fn is_program(caller: Option<&Json>) -> bool {
    caller
        .and_then(|caller| caller.get("type"))
        .and_then(Json::as_str)
        == Some("program")
}

fn tool_caller(caller: &Json) -> Json {
    if !is_program(Some(caller)) {
        return caller.clone();
    }
    object! { "type": "program", "caller_id"?: caller.get("callerId") }.into()
}

fn marked_text(text: &Text, mark: Option<&Json>) -> Json {
    match mark {
        None => text.into(),
        Some(_) => vec![input_text(text, mark)].into(),
    }
}

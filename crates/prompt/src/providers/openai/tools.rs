//! Tools and tool choices as OpenAI's two APIs take them.

use super::schema;
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::providers::chat;
use crate::providers::common::ToolNames;
use crate::types::call::{FunctionTool, ProviderTool};
use crate::types::{CallOptions, Tool, ToolChoice, Warning, provider_option};

/// OpenAI's own tools: their ids in a call, and their names in the API.
pub(super) const OWN: &[(&str, &str)] = &[
    ("openai.code_interpreter", "code_interpreter"),
    ("openai.computer", "computer"),
    ("openai.file_search", "file_search"),
    ("openai.image_generation", "image_generation"),
    ("openai.local_shell", "local_shell"),
    ("openai.shell", "shell"),
    ("openai.web_search", "web_search"),
    ("openai.web_search_preview", "web_search_preview"),
    ("openai.mcp", "mcp"),
    ("openai.apply_patch", "apply_patch"),
    ("openai.tool_search", "tool_search"),
    ("openai.programmatic_tool_calling", "programmatic_tool_calling"),
];

/// Own tools that can be chosen by their type alone.
const CHOSEN_BY_TYPE: &[&str] = &[
    "code_interpreter",
    "file_search",
    "image_generation",
    "web_search_preview",
    "web_search",
    "mcp",
    "apply_patch",
    "computer",
    "programmatic_tool_calling",
];

/// Tools ready for a body.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// The tools, unless there are none.
    pub(super) tools: Option<Vec<Object>>,
    /// The choice among them.
    pub(super) choice: Option<Json>,
    /// What to warn about, after everything else.
    pub(super) warnings: Vec<Warning>,
}

/// Whether the caller has tools of its own.
pub(super) fn has_functions(options: &CallOptions) -> bool {
    options
        .tools
        .iter()
        .flatten()
        .any(|tool| matches!(tool, Tool::Function(_)))
}

/// Tools for the chat API, which knows function tools only.
pub(super) fn for_chat(options: &CallOptions) -> Result<Prepared, SdkError> {
    let Some(tools) = options.tools.as_ref().filter(|tools| !tools.is_empty()) else {
        return Ok(Prepared::default());
    };
    let mut prepared = Prepared::default();
    let mut converted = Vec::with_capacity(tools.len());
    for tool in tools {
        let Tool::Function(tool) = tool else {
            prepared
                .warnings
                .push(Warning::unsupported(format!("tool type: {}", tool.tag())));
            continue;
        };
        let (parameters, warnings) = schema::normalize(&tool.input_schema)?;
        prepared.warnings.extend(warnings);
        converted.push(object! {
            "type": "function",
            "function": object! {
                "name": &tool.name,
                "description"?: tool.description.clone(),
                "parameters": parameters,
                "strict"?: tool.strict,
            },
        });
    }
    prepared.tools = Some(converted);
    prepared.choice = options.tool_choice.as_ref().map(chat::choice);
    Ok(prepared)
}

/// Tools for the Responses API: function tools, and OpenAI's own with their settings in snake case.
pub(super) fn for_responses(
    options: &CallOptions,
    names: &ToolNames,
    has_async_tools: bool,
) -> Result<Prepared, SdkError> {
    let Some(tools) = options.tools.as_ref().filter(|tools| !tools.is_empty()) else {
        return Ok(Prepared::default());
    };
    let mut prepared = Prepared::default();
    let mut converted: Vec<Object> = Vec::with_capacity(tools.len());
    for tool in tools {
        match tool {
            Tool::Function(tool) => function(tool, options, has_async_tools, &mut converted, &mut prepared)?,
            Tool::Provider(tool) => converted.extend(own(tool)),
        }
    }
    prepared.tools = Some(converted);
    prepared.choice = options.tool_choice.as_ref().map(|choice| match choice {
        ToolChoice::Tool(named) => {
            let name = names.to_provider(&named.tool_name);
            if CHOSEN_BY_TYPE.contains(&name) {
                object! { "type": name }.into()
            } else {
                let kind = if custom_names(options).any(|custom| &**custom == name) {
                    "custom"
                } else {
                    "function"
                };
                object! { "type": kind, "name": name }.into()
            }
        }
        other => other.tag().into(),
    });
    Ok(prepared)
}

/// The names of the tools that take free text instead of JSON.
pub(super) fn custom_names(options: &CallOptions) -> impl Iterator<Item = &Text> {
    options.tools.iter().flatten().filter_map(|tool| match tool {
        Tool::Provider(tool) if &*tool.id == "openai.custom" => Some(&tool.name),
        _ => None,
    })
}

/// The names of the function tools that declare what they give.
pub(super) fn names_with_output_schema(options: &CallOptions) -> impl Iterator<Item = &Text> {
    options.tools.iter().flatten().filter_map(|tool| match tool {
        Tool::Function(tool) => {
            provider_option(tool.provider_options.as_ref(), super::PROVIDER, "outputSchema")
                .map(|_| &tool.name)
        }
        Tool::Provider(_) => None,
    })
}

fn function(
    tool: &FunctionTool,
    options: &CallOptions,
    has_async_tools: bool,
    converted: &mut Vec<Object>,
    prepared: &mut Prepared,
) -> Result<(), SdkError> {
    let own = |key| provider_option(tool.provider_options.as_ref(), super::PROVIDER, key);
    if own("omitFromRequestTools").and_then(Json::as_bool) == Some(true) {
        if matches!(&options.tool_choice, Some(ToolChoice::Tool(named)) if named.tool_name == tool.name) {
            return Err(SdkError::unsupported(format!(
                "forcing tool \"{}\" omitted from the request tools array; use automatic tool choice for \
                 history-loaded tools",
                tool.name
            )));
        }
        return Ok(());
    }
    let mut runs_async = own("async");
    if runs_async.and_then(Json::as_bool) == Some(true) && !has_async_tools {
        runs_async = None;
        prepared.warnings.push(Warning::unsupported_because(
            format!("async tool calling for \"{}\"", tool.name),
            "Async tool calling is only supported by GPT-6 and later models.",
        ));
    }
    let (parameters, warnings) = schema::normalize(&tool.input_schema)?;
    prepared.warnings.extend(warnings);
    let output_schema = match own("outputSchema") {
        Some(output) => {
            let (output, warnings) = schema::normalize(output)?;
            prepared.warnings.extend(warnings);
            Some(output)
        }
        None => None,
    };
    let function = object! {
        "type": "function",
        "name": &tool.name,
        "description"?: tool.description.clone(),
        "parameters": parameters,
        "async"?: runs_async,
        "strict": tool.strict.unwrap_or(false),
        "defer_loading"?: own("deferLoading"),
        "allowed_callers"?: own("allowedCallers"),
        "output_schema"?: output_schema,
    };
    match own("namespace") {
        None => converted.push(function),
        Some(namespace) => add_to_namespace(namespace, function, converted)?,
    }
    Ok(())
}

/// Puts a function into the namespace tool of its name, which the first function of it opens.
fn add_to_namespace(namespace: &Json, function: Object, converted: &mut Vec<Object>) -> Result<(), SdkError> {
    let name = namespace.get("name").cloned().unwrap_or_default();
    let description = namespace.get("description").cloned().unwrap_or_default();
    let opened = converted.iter_mut().find(|tool| {
        tool.get("type").and_then(Json::as_str) == Some("namespace") && tool.get("name") == Some(&name)
    });
    match opened {
        None => {
            let tools = vec![function];
            converted.push(
                object! { "type": "namespace", "name": name, "description": description, "tools": tools },
            );
        }
        Some(tool) if tool.get("description") != Some(&description) => {
            return Err(SdkError::unsupported(format!(
                "conflicting descriptions for OpenAI tool namespace \"{}\"",
                name.as_str().unwrap_or_default()
            )));
        }
        Some(tool) => {
            if let Some(Json::Array(tools)) = tool.get_mut("tools") {
                tools.push(function.into());
            }
        }
    }
    Ok(())
}

/// One of OpenAI's own tools; one of another provider is left out, as the SDK leaves it out.
fn own(tool: &ProviderTool) -> Option<Object> {
    let args = |key: &str| tool.args.get(key).filter(|value| !value.is_null());
    if &*tool.id == "openai.custom" {
        return Some(object! {
            "type": "custom",
            "name": &tool.name,
            "description"?: args("description"),
            "async"?: args("async"),
            "format"?: args("format"),
        });
    }
    let (_, name) = OWN.iter().find(|(id, _)| *id == &*tool.id)?;
    let mut converted = object! { "type": *name };
    match *name {
        "local_shell" | "apply_patch" | "computer" | "programmatic_tool_calling" => {}
        "code_interpreter" => converted.insert(
            "container",
            match args("container") {
                None => object! { "type": "auto" }.into(),
                Some(Json::Object(container)) => {
                    let mut auto = object! { "type": "auto" };
                    auto.extend_from(&snake_case_members(container));
                    auto.into()
                }
                Some(other) => other.clone(),
            },
        ),
        "file_search" => {
            for (key, value) in tool.args.iter() {
                match key {
                    "ranking" => converted.insert("ranking_options", snake_cased(value)),
                    // Filters name the caller's own attributes.
                    "filters" => converted.insert("filters", value),
                    _ => converted.insert(snake_case(key), value),
                }
            }
        }
        "mcp" => {
            for (key, value) in tool.args.iter() {
                let value = if key == "headers" {
                    value.clone()
                } else {
                    snake_cased(value)
                };
                converted.insert(snake_case(key), value);
            }
            if !converted.contains_key("require_approval") {
                converted.insert("require_approval", "never");
            }
        }
        "tool_search" => converted.extend_from(&tool.args),
        _ => converted.extend_from(&snake_case_members(&tool.args)),
    }
    Some(converted)
}

fn snake_case_members(object: &Object) -> Object {
    object
        .iter()
        .map(|(key, value)| (snake_case(key), snake_cased(value)))
        .collect()
}

fn snake_cased(value: &Json) -> Json {
    match value {
        Json::Object(object) => snake_case_members(object).into(),
        Json::Array(items) => Json::Array(items.iter().map(snake_cased).collect()),
        other => other.clone(),
    }
}

fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

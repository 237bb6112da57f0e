//! Tools and the choice among them, as Google takes them.

use super::models::Model;
use crate::json::{Json, Object, object};
use crate::providers::chat;
use crate::types::call::{FunctionTool, ProviderTool};
use crate::types::{CallOptions, Tool, ToolChoice, Warning};

/// Converted tools.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) tools: Option<Vec<Object>>,
    pub(super) config: Option<Object>,
    pub(super) warnings: Vec<Warning>,
}

/// The tools of a call. Models before the third generation take either Google's own tools or the
/// caller's.
pub(super) fn prepare(options: &CallOptions, model: &Model) -> Prepared {
    let choice = options.tool_choice.as_ref();
    // "None" only keeps the model from calling functions, so Google's own tools have to go.
    let only_functions = matches!(choice, Some(ToolChoice::None(_)));
    let (mut functions, mut own) = (Vec::new(), Vec::new());
    for tool in options.tools.iter().flatten() {
        match tool {
            Tool::Function(tool) => functions.push(tool),
            Tool::Provider(tool) if !only_functions => own.push(tool),
            Tool::Provider(_) => {}
        }
    }
    let mut prepared = Prepared::default();
    if functions.is_empty() && own.is_empty() {
        return prepared;
    }
    if own.is_empty() {
        prepared.tools = Some(vec![declarations(&functions)]);
        let is_strict = functions.iter().any(|tool| tool.strict == Some(true));
        let mode = match choice {
            None => is_strict.then_some("VALIDATED"),
            Some(ToolChoice::Auto(_)) if is_strict => Some("VALIDATED"),
            Some(choice) => Some(mode(choice, "AUTO")),
        };
        prepared.config = mode.map(|mode| object! { "functionCallingConfig": config(mode, choice) });
        return prepared;
    }
    if !functions.is_empty() && !model.is_gemini_3 {
        prepared.warnings.push(Warning::unsupported(
            "combination of function and provider-defined tools",
        ));
    }
    let mut tools = Vec::with_capacity(own.len() + 1);
    for tool in own {
        match own_tool(tool, model) {
            Ok(tool) => tools.push(tool),
            Err(warning) => prepared.warnings.push(warning),
        }
    }
    if !functions.is_empty() && model.is_gemini_3 && !tools.is_empty() {
        tools.push(declarations(&functions));
        let mode = choice.map_or("VALIDATED", |choice| mode(choice, "VALIDATED"));
        prepared.config = Some(object! {
            "functionCallingConfig": config(mode, choice),
            "includeServerSideToolInvocations": true,
        });
    }
    prepared.tools = (!tools.is_empty()).then_some(tools);
    prepared
}

fn mode(choice: &ToolChoice, auto: &'static str) -> &'static str {
    match choice {
        ToolChoice::Auto(_) => auto,
        ToolChoice::None(_) => "NONE",
        ToolChoice::Required(_) | ToolChoice::Tool(_) => "ANY",
    }
}

fn config(mode: &str, choice: Option<&ToolChoice>) -> Object {
    let name = match choice {
        Some(ToolChoice::Tool(named)) => Some(vec![Json::from(&named.tool_name)]),
        _ => None,
    };
    object! { "mode": mode, "allowedFunctionNames"?: name }
}

fn declarations(tools: &[&FunctionTool]) -> Object {
    let declarations: Vec<Object> = tools
        .iter()
        .map(|tool| {
            object! {
                "name": &tool.name,
                "description": tool.description.clone().unwrap_or_default(),
                "parametersJsonSchema": &tool.input_schema,
            }
        })
        .collect();
    object! { "functionDeclarations": declarations }
}

/// One of Google's own tools, or why it cannot be had.
fn own_tool(tool: &ProviderTool, model: &Model) -> Result<Object, Warning> {
    let args = || Json::from(&tool.args);
    let (is_there, needs, converted) = match &*tool.id {
        "google.google_search" => (
            model.has_own_tools,
            "Google Search requires Gemini 2.0 or newer.",
            object! { "googleSearch": args() },
        ),
        "google.enterprise_web_search" => (
            model.has_own_tools,
            "Enterprise Web Search requires Gemini 2.0 or newer.",
            object! { "enterpriseWebSearch": Object::new() },
        ),
        "google.url_context" => (
            model.has_own_tools,
            "The URL context tool is not supported with other Gemini models than Gemini 2.",
            object! { "urlContext": Object::new() },
        ),
        "google.code_execution" => (
            model.has_own_tools,
            "The code execution tool is not supported with other Gemini models than Gemini 2.",
            object! { "codeExecution": Object::new() },
        ),
        "google.file_search" => (
            model.has_file_search,
            "The file search tool is only supported with Gemini 2.5 models and Gemini 3 models.",
            object! { "fileSearch": args() },
        ),
        "google.vertex_rag_store" => (
            model.has_own_tools,
            "The RAG store tool is not supported with other Gemini models than Gemini 2.",
            object! { "retrieval": object! { "vertex_rag_store": object! {
                "rag_resources": object! { "rag_corpus"?: tool.args.get("ragCorpus") },
                "similarity_top_k"?: tool.args.get("topK"),
            } } },
        ),
        "google.google_maps" => (
            model.has_own_tools,
            "The Google Maps grounding tool is not supported with Gemini models other than Gemini 2 or newer.",
            object! { "googleMaps": Object::new() },
        ),
        _ => return Err(chat::no_such_tool(tool)),
    };
    if is_there {
        Ok(converted)
    } else {
        let feature = format!("provider-defined tool {}", tool.id);
        Err(Warning::unsupported_because(feature, needs))
    }
}

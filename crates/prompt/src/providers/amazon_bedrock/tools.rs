//! Tools and the choice among them, as Bedrock takes them.

use super::Family;
use crate::json::{Json, Object, object};
use crate::providers::common;
use crate::types::call::{AutoChoice, FunctionTool};
use crate::types::{Tool, ToolChoice, Warning};

/// Anthropic's tools that Bedrock does not have.
const NOT_HERE: [&str; 3] = ["web_search_20250305", "web_search_20260318", "web_fetch_20260318"];

/// Converted tools.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// The tools and the choice, unless there are none.
    pub(super) config: Option<Object>,
    /// A choice that has to go to the model itself.
    pub(super) choice: Option<Object>,
    pub(super) warnings: Vec<Warning>,
}

/// Converts tools. `answer` is the tool that stands for the answer, which then must be called.
pub(super) fn prepare(
    tools: Option<&Vec<Tool>>,
    answer: Option<FunctionTool>,
    choice: Option<&ToolChoice>,
    one_at_a_time: bool,
    family: &Family<'_>,
) -> Prepared {
    let mut prepared = Prepared::default();
    let answer = answer.map(Tool::from);
    let mut functions = Vec::new();
    let mut is_any = false;
    // A model that cannot be forced only gets the tool that it should use.
    let refuses = family.is_anthropic && !family.model.can_be_forced;
    let only = match choice {
        Some(ToolChoice::Tool(named)) => Some(&named.tool_name),
        _ => None,
    };
    let mut others = Vec::new();
    for tool in tools.into_iter().flatten().chain(&answer) {
        match tool {
            Tool::Provider(tool) => {
                let name = tool.id.strip_prefix("anthropic.").unwrap_or_default();
                if NOT_HERE.contains(&name) {
                    prepared.warnings.push(Warning::unsupported_because(
                        format!("{name} tool"),
                        format!("The {name} tool is not supported on Amazon Bedrock."),
                    ));
                    continue;
                }
                is_any = true;
                if !refuses || only.is_none_or(|only| *only == tool.name) {
                    others.push(Warning::unsupported(format!("tool {}", tool.id)));
                }
            }
            Tool::Function(tool) => {
                is_any = true;
                functions.push(tool);
            }
        }
    }
    prepared.warnings.append(&mut others);
    if !is_any {
        return prepared;
    }
    let auto = ToolChoice::from(AutoChoice::new());
    let choice = match choice {
        Some(ToolChoice::Tool(named)) if refuses => {
            prepared.warnings.push(Warning::unsupported_because(
                "toolChoice",
                format!(
                    "toolChoice 'tool' is not supported by this model because it rejects forced tool use. Only \
                     the '{}' tool is sent with 'auto' tool choice. Instruct the model to use the tool in the \
                     prompt and verify that a tool call was made.",
                    named.tool_name
                ),
            ));
            Some(&auto)
        }
        Some(ToolChoice::Required(_)) if refuses => {
            prepared.warnings.push(Warning::unsupported_because(
                "toolChoice",
                "toolChoice 'required' is not supported by this model because it rejects forced tool use. Using \
                 'auto' instead. Instruct the model to use a tool in the prompt and verify that a tool call was \
                 made.",
            ));
            Some(&auto)
        }
        choice => choice,
    };
    let specs: Vec<Object> = functions
        .iter()
        .filter(|tool| only.is_none_or(|only| *only == tool.name))
        .map(|tool| spec(tool, family.takes_strict_tools(), &mut prepared.warnings))
        .collect();
    if specs.is_empty() {
        return prepared;
    }
    let is_none = matches!(choice, Some(ToolChoice::None(_)));
    if family.is_anthropic && one_at_a_time && !is_none {
        prepared.choice = Some(match choice {
            Some(ToolChoice::Required(_)) => object! { "type": "any", "disable_parallel_tool_use": true },
            Some(ToolChoice::Tool(named)) => object! {
                "type": "tool",
                "name": &named.tool_name,
                "disable_parallel_tool_use": true,
            },
            _ => object! { "type": "auto", "disable_parallel_tool_use": true },
        });
    } else if is_none {
        return prepared;
    }
    let choice = match choice.filter(|_| prepared.choice.is_none()) {
        Some(ToolChoice::Auto(_)) => Some(object! { "auto": Object::new() }),
        Some(ToolChoice::Required(_)) => Some(object! { "any": Object::new() }),
        Some(ToolChoice::Tool(named)) => Some(object! { "tool": object! { "name": &named.tool_name } }),
        Some(ToolChoice::None(_)) | None => None,
    };
    prepared.config = Some(object! { "tools": specs, "toolChoice"?: choice });
    prepared
}

fn spec(tool: &FunctionTool, takes_strict: bool, warnings: &mut Vec<Warning>) -> Object {
    let is_compatible = takes_strict && (tool.strict != Some(true) || is_closed(&tool.input_schema));
    let mut warn = |details: String| warnings.push(Warning::unsupported_because("strict", details));
    match tool.strict {
        Some(strict) if !takes_strict => warn(format!(
            "Tool '{}' has strict: {strict}, but strict mode is not supported by this model on Amazon Bedrock. \
             The strict property will be ignored.",
            tool.name
        )),
        Some(true) if !is_compatible => warn(format!(
            "Tool '{}' has strict: true, but Amazon Bedrock requires every object in a strict tool schema to set \
             additionalProperties: false. The strict property will be ignored.",
            tool.name
        )),
        _ => {}
    }
    let description = tool.description.clone();
    object! { "toolSpec": object! {
        "name": &tool.name,
        "description"?: description.filter(|description| !common::trimmed(description).is_empty()),
        "strict"?: tool.strict.filter(|_| is_compatible),
        "inputSchema": object! { "json": &tool.input_schema },
    } }
}

/// Whether every object in the schema has only the members it names.
fn is_closed(schema: &Json) -> bool {
    let Json::Object(schema) = schema else { return true };
    let is_object = match schema.get("type") {
        Some(Json::String(kind)) => &**kind == "object",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some("object")),
        _ => false,
    };
    if is_object && schema.get("additionalProperties") != Some(&Json::Bool(false)) {
        return false;
    }
    let named = [
        "properties",
        "patternProperties",
        "definitions",
        "$defs",
        "dependencies",
    ];
    let one = ["propertyNames", "contains", "not", "if", "then", "else"];
    let lists = ["anyOf", "allOf", "oneOf"];
    let of = |key: &&str| schema.get(key);
    named
        .iter()
        .filter_map(|key| of(key)?.as_object())
        .flat_map(|named| named.iter().map(|(_, schema)| schema))
        .chain(one.iter().filter_map(of))
        .chain(lists.iter().filter_map(|key| of(key)?.as_array()).flatten())
        .all(is_closed)
        && match schema.get("items") {
            Some(Json::Array(items)) => items.iter().all(is_closed),
            Some(items) => is_closed(items),
            None => true,
        }
}

//! Tools and the choice among them, as Bedrock takes them.

use std::sync::LazyLock;

use super::Family;
use crate::error::SdkError;
use crate::json::{Json, Object, object};
use crate::providers::anthropic::cache::Cache;
use crate::providers::anthropic::tools::{self, Support};
use crate::providers::{Profile, common};
use crate::types::call::{AutoChoice, FunctionTool, ProviderTool};
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
    /// What the model has to be told of newer features.
    pub(super) betas: Vec<String>,
}

/// Converts tools. `answer` is the tool that stands for the answer, which then must be called.
pub(super) fn prepare(
    tools: Option<&Vec<Tool>>,
    answer: Option<FunctionTool>,
    choice: Option<&ToolChoice>,
    one_at_a_time: Option<bool>,
    family: &Family<'_>,
    profile: Profile,
) -> Result<Prepared, SdkError> {
    let mut prepared = Prepared::default();
    let answer = answer.map(Tool::from);
    let (mut functions, mut own) = (Vec::new(), Vec::new());
    for tool in tools.into_iter().flatten().chain(&answer) {
        match tool {
            Tool::Function(tool) => functions.push(tool),
            Tool::Provider(provider) => {
                let name = provider.id.strip_prefix("anthropic.").unwrap_or_default();
                if NOT_HERE.contains(&name) {
                    prepared.warnings.push(Warning::unsupported_because(
                        format!("{name} tool"),
                        format!("The {name} tool is not supported on Amazon Bedrock."),
                    ));
                } else {
                    own.push((tool, provider));
                }
            }
        }
    }
    if functions.is_empty() && own.is_empty() {
        return Ok(prepared);
    }
    // A model that cannot be forced only gets the tool that it should use.
    let refuses = family.is_anthropic && !family.model.can_be_forced;
    let only = match choice {
        Some(ToolChoice::Tool(named)) => Some(&named.tool_name),
        _ => None,
    };
    let is_sent = |tool: &ProviderTool| !refuses || only.is_none_or(|only| *only == tool.name);
    let has_own = family.is_anthropic && own.iter().any(|(_, tool)| is_sent(tool));
    let mut specs = Vec::with_capacity(functions.len() + own.len());
    let auto = ToolChoice::from(AutoChoice::new());
    let mut anthropic = tools::Prepared::default();
    if has_own {
        let support = Support {
            structured_output: false,
            strict: false,
        };
        for (tool, _) in &own {
            anthropic.add(tool, &mut Cache::default(), support, false)?;
        }
        prepared.warnings.append(&mut anthropic.warnings);
        prepared.betas = anthropic.betas;
    }
    let unsupported: Vec<Warning> = own
        .iter()
        .filter(|(_, tool)| is_sent(tool))
        .filter_map(|(_, tool)| {
            if let Some(schema) = input_schema(&tool.id).filter(|_| has_own) {
                specs.push(object! { "toolSpec": object! {
                    "name": &tool.name,
                    "inputSchema": object! { "json": schema },
                } });
                return None;
            }
            Some(Warning::unsupported(if has_own && profile == Profile::Exact {
                "tool ${tool.id}".to_owned()
            } else {
                format!("tool {}", tool.id)
            }))
        })
        .collect();
    let refusal = choice.filter(|_| refuses).and_then(refusal);
    let choice = if refusal.is_some() { Some(&auto) } else { choice };
    if has_own {
        prepared.warnings.extend(refusal);
        prepared.warnings.extend(unsupported);
        prepared.choice = own_choice(choice, one_at_a_time);
    } else {
        prepared.warnings.extend(unsupported);
        prepared.warnings.extend(refusal);
    }
    let offered = functions
        .iter()
        .filter(|tool| only.is_none_or(|only| *only == tool.name));
    for tool in offered {
        specs.push(spec(tool, family.takes_strict_tools(), &mut prepared.warnings));
    }
    if specs.is_empty() {
        return Ok(prepared);
    }
    let is_none = matches!(choice, Some(ToolChoice::None(_)));
    if family.is_anthropic && !has_own && one_at_a_time == Some(true) && !is_none {
        prepared.choice = own_choice(choice, one_at_a_time);
    } else if is_none && !has_own {
        return Ok(prepared);
    }
    let choice = match choice.filter(|_| prepared.choice.is_none() && !has_own) {
        Some(ToolChoice::Auto(_)) => Some(object! { "auto": Object::new() }),
        Some(ToolChoice::Required(_)) => Some(object! { "any": Object::new() }),
        Some(ToolChoice::Tool(named)) => Some(object! { "tool": object! { "name": &named.tool_name } }),
        Some(ToolChoice::None(_)) | None => None,
    };
    prepared.config = Some(object! { "tools": specs, "toolChoice"?: choice });
    Ok(prepared)
}

/// The warning that a model cannot be made to use a tool, if it should be.
fn refusal(choice: &ToolChoice) -> Option<Warning> {
    let details = match choice {
        ToolChoice::Tool(named) => format!(
            "toolChoice 'tool' is not supported by this model because it rejects forced tool use. Only the '{}' \
             tool is sent with 'auto' tool choice. Instruct the model to use the tool in the prompt and verify \
             that a tool call was made.",
            named.tool_name
        ),
        ToolChoice::Required(_) => "toolChoice 'required' is not supported by this model because it rejects forced \
                                    tool use. Using 'auto' instead. Instruct the model to use a tool in the prompt \
                                    and verify that a tool call was made."
            .to_owned(),
        ToolChoice::Auto(_) | ToolChoice::None(_) => return None,
    };
    Some(Warning::unsupported_because("toolChoice", details))
}

/// The choice as Anthropic's models read it themselves.
fn own_choice(choice: Option<&ToolChoice>, one_at_a_time: Option<bool>) -> Option<Object> {
    let (kind, name) = match choice {
        None if one_at_a_time != Some(true) => return None,
        Some(ToolChoice::None(_)) => return None,
        None | Some(ToolChoice::Auto(_)) => ("auto", None),
        Some(ToolChoice::Required(_)) => ("any", None),
        Some(ToolChoice::Tool(named)) => ("tool", Some(&named.tool_name)),
    };
    Some(object! { "type": kind, "name"?: name, "disable_parallel_tool_use"?: one_at_a_time })
}

/// The schema of what one of Anthropic's tools is called with.
fn input_schema(id: &str) -> Option<Json> {
    static INPUTS: LazyLock<Json> =
        LazyLock::new(|| Json::parse(include_str!("tool_inputs.json")).unwrap_or_default());
    INPUTS.get(id).cloned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_anthropic_has_a_schema_for_its_input() {
        for (id, _) in tools::NAMES {
            assert!(input_schema(id).is_some(), "{id}");
        }
    }
}

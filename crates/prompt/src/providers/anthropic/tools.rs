//! Tools and the choice among them, as Anthropic takes them.

use super::cache::Cache;
use crate::error::SdkError;
use crate::json::{Json, Object, object};
use crate::providers::chat;
use crate::providers::shape::{Shape, may, need};
use crate::types::call::{FunctionTool, ProviderTool};
use crate::types::{Tool, ToolChoice, Warning};

/// The tool whose calls name one of its members.
pub(in crate::providers) const COMPUTER_TOOLSET: &str = "anthropic.computer_toolset_20260801";

/// Anthropic's names for its own tools.
pub(in crate::providers) const NAMES: &[(&str, &str)] = &[
    ("anthropic.code_execution_20250522", "code_execution"),
    ("anthropic.code_execution_20250825", "code_execution"),
    ("anthropic.code_execution_20260120", "code_execution"),
    ("anthropic.computer_20241022", "computer"),
    ("anthropic.computer_20250124", "computer"),
    ("anthropic.computer_20251124", "computer"),
    (COMPUTER_TOOLSET, "computer"),
    ("anthropic.text_editor_20241022", "str_replace_editor"),
    ("anthropic.text_editor_20250124", "str_replace_editor"),
    ("anthropic.text_editor_20250429", "str_replace_based_edit_tool"),
    ("anthropic.text_editor_20250728", "str_replace_based_edit_tool"),
    ("anthropic.bash_20241022", "bash"),
    ("anthropic.bash_20250124", "bash"),
    ("anthropic.memory_20250818", "memory"),
    ("anthropic.web_search_20250305", "web_search"),
    ("anthropic.web_search_20260209", "web_search"),
    ("anthropic.web_search_20260318", "web_search"),
    ("anthropic.web_fetch_20250910", "web_fetch"),
    ("anthropic.web_fetch_20260209", "web_fetch"),
    ("anthropic.web_fetch_20260318", "web_fetch"),
    ("anthropic.tool_search_regex_20251119", "tool_search_tool_regex"),
    ("anthropic.tool_search_bm25_20251119", "tool_search_tool_bm25"),
    ("anthropic.advisor_20260301", "advisor"),
];

/// The beta that a tool needs, if any.
const BETAS: &[(&str, &str)] = &[
    ("anthropic.code_execution_20250522", "code-execution-2025-05-22"),
    ("anthropic.code_execution_20250825", "code-execution-2025-08-25"),
    ("anthropic.computer_20241022", "computer-use-2024-10-22"),
    ("anthropic.computer_20250124", "computer-use-2025-01-24"),
    ("anthropic.computer_20251124", "computer-use-2025-11-24"),
    ("anthropic.text_editor_20241022", "computer-use-2024-10-22"),
    ("anthropic.text_editor_20250124", "computer-use-2025-01-24"),
    ("anthropic.text_editor_20250429", "computer-use-2025-01-24"),
    ("anthropic.bash_20241022", "computer-use-2024-10-22"),
    ("anthropic.bash_20250124", "computer-use-2025-01-24"),
    ("anthropic.memory_20250818", "context-management-2025-06-27"),
    ("anthropic.web_fetch_20250910", "web-fetch-2025-09-10"),
    (
        "anthropic.web_fetch_20260209",
        "code-execution-web-tools-2026-02-09",
    ),
    (
        "anthropic.web_search_20260209",
        "code-execution-web-tools-2026-02-09",
    ),
    ("anthropic.advisor_20260301", "advisor-tool-2026-03-01"),
];

/// The members of tools that are checked, under the names that JavaScript has for them.
const ARGUMENTS: &[(&str, Shape)] = &[
    (
        "web_fetch",
        Shape::Fields(&[
            may("maxUses", Shape::Number),
            may("allowedDomains", Shape::List(&Shape::Text)),
            may("blockedDomains", Shape::List(&Shape::Text)),
            may("citations", Shape::Fields(&[need("enabled", Shape::Bool)])),
            may("maxContentTokens", Shape::Number),
        ]),
    ),
    (
        "web_fetch_20260318",
        Shape::Fields(&[
            may("maxUses", Shape::Number),
            may("allowedDomains", Shape::List(&Shape::Text)),
            may("blockedDomains", Shape::List(&Shape::Text)),
            may("citations", Shape::Fields(&[need("enabled", Shape::Bool)])),
            may("maxContentTokens", Shape::Number),
            may("useCache", Shape::Bool),
            may("responseInclusion", Shape::Word(&["full", "excluded"])),
        ]),
    ),
    ("web_search", SEARCH),
    (
        "web_search_20260318",
        Shape::Fields(&[
            may("maxUses", Shape::Number),
            may("allowedDomains", Shape::List(&Shape::Text)),
            may("blockedDomains", Shape::List(&Shape::Text)),
            may("userLocation", LOCATION),
            may("responseInclusion", Shape::Word(&["full", "excluded"])),
        ]),
    ),
    (
        "text_editor_20250728",
        Shape::Fields(&[may("maxCharacters", Shape::Number)]),
    ),
    (
        "advisor",
        Shape::Fields(&[
            need("model", Shape::Text),
            may("maxUses", Shape::Number),
            may("maxTokens", Shape::Whole(1024)),
            may(
                "caching",
                Shape::Fields(&[
                    need("type", Shape::Word(&["ephemeral"])),
                    need("ttl", Shape::Word(&["5m", "1h"])),
                ]),
            ),
        ]),
    ),
];
const LOCATION: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["approximate"])),
    may("city", Shape::Text),
    may("region", Shape::Text),
    may("country", Shape::Text),
    may("timezone", Shape::Text),
]);
const SEARCH: Shape = Shape::Fields(&[
    may("maxUses", Shape::Number),
    may("allowedDomains", Shape::List(&Shape::Text)),
    may("blockedDomains", Shape::List(&Shape::Text)),
    may("userLocation", LOCATION),
]);
const TOOLSET: Shape = Shape::Fields(&[may(
    "configs",
    Shape::Map(&Shape::Fields(&[
        may("enabled", Shape::Bool),
        may("deferLoading", Shape::Bool),
    ])),
)]);

/// What model and provider can do with tools.
#[derive(Debug, Clone, Copy)]
pub(in crate::providers) struct Support {
    pub(in crate::providers) structured_output: bool,
    pub(in crate::providers) strict: bool,
}

/// Tools on their way into the request.
#[derive(Debug, Default)]
pub(in crate::providers) struct Prepared {
    pub(in crate::providers) tools: Vec<Object>,
    pub(in crate::providers) warnings: Vec<Warning>,
    pub(in crate::providers) betas: Vec<String>,
}

impl Prepared {
    /// Adds a tool. `eager` is what a tool that says nothing does about streaming its input.
    pub(in crate::providers) fn add(
        &mut self,
        tool: &Tool,
        cache: &mut Cache,
        support: Support,
        eager: bool,
    ) -> Result<(), SdkError> {
        match tool {
            Tool::Function(tool) => self.function(tool, cache, support, eager),
            Tool::Provider(tool) => self.own(tool)?,
        }
        Ok(())
    }

    fn function(&mut self, tool: &FunctionTool, cache: &mut Cache, support: Support, eager: bool) {
        let mark = cache.mark(tool.provider_options.as_ref());
        let own = tool
            .provider_options
            .as_ref()
            .and_then(|options| options.get(super::PROVIDER));
        let get = |key: &str| own.and_then(|own| own.get(key)).filter(|value| !value.is_null());
        let is_eager = get("eagerInputStreaming").map_or(eager, Json::is_truthy);
        if !support.strict && tool.strict == Some(true) {
            let details = format!(
                "Tool '{}' has strict: true, but strict mode is not supported by this provider. The strict \
                 property will be ignored.",
                tool.name
            );
            self.warnings
                .push(Warning::unsupported_because("strict", details));
        }
        let callers = get("allowedCallers");
        let examples = tool.input_examples.as_ref().map(|examples| {
            examples
                .iter()
                .map(|example| example.input.clone())
                .collect::<Vec<_>>()
        });
        if support.structured_output && support.strict {
            self.beta("structured-outputs-2025-11-13");
        }
        if examples.is_some() || callers.is_some() {
            self.beta("advanced-tool-use-2025-11-20");
        }
        self.tools.push(object! {
            "name": &tool.name,
            "description"?: tool.description.clone(),
            "input_schema": &tool.input_schema,
            "cache_control"?: mark,
            "eager_input_streaming"?: is_eager.then_some(true),
            "strict"?: tool.strict.filter(|_| support.strict),
            "defer_loading"?: get("deferLoading"),
            "allowed_callers"?: callers,
            "input_examples"?: examples,
        });
    }

    fn beta(&mut self, name: &str) {
        if !self.betas.iter().any(|beta| beta == name) {
            self.betas.push(name.to_owned());
        }
    }

    /// One of Anthropic's own tools.
    fn own(&mut self, tool: &ProviderTool) -> Result<(), SdkError> {
        let id = &*tool.id;
        let known = NAMES.iter().find(|(known, _)| *known == id);
        let Some((name, kind)) = known.and_then(|(_, name)| Some((*name, id.strip_prefix("anthropic.")?)))
        else {
            self.warnings.push(chat::no_such_tool(tool));
            return Ok(());
        };
        if let Some((_, beta)) = BETAS.iter().find(|(known, _)| *known == id) {
            self.beta(beta);
        }
        let kind = match kind {
            "tool_search_regex_20251119" => "tool_search_tool_regex_20251119",
            "tool_search_bm25_20251119" => "tool_search_tool_bm25_20251119",
            kind => kind,
        };
        if id == COMPUTER_TOOLSET {
            let read = TOOLSET
                .read(&Json::from(&tool.args))
                .map_err(SdkError::TypeValidation)?;
            self.tools.push(object! {
                "type": kind,
                "configs"?: read.get("configs").map(snake_case),
            });
            return Ok(());
        }
        let mut converted = object! { "type": kind, "name": name };
        if name == "computer" {
            for (from, to) in [
                ("displayWidthPx", "display_width_px"),
                ("displayHeightPx", "display_height_px"),
                ("displayNumber", "display_number"),
            ] {
                converted.insert_some(to, tool.args.get(from));
            }
            if kind == "computer_20251124" {
                converted.insert_some("enable_zoom", tool.args.get("enableZoom"));
            }
        }
        let shape = ARGUMENTS
            .iter()
            .find(|(of, _)| *of == kind)
            .or_else(|| ARGUMENTS.iter().find(|(of, _)| *of == name));
        if let Some((_, shape)) = shape {
            let read = shape
                .read(&Json::from(&tool.args))
                .map_err(SdkError::TypeValidation)?;
            if let Json::Object(members) = read {
                for (key, value) in members {
                    converted.insert(snake(&key), value);
                }
            }
        }
        self.tools.push(converted);
        Ok(())
    }
}

/// `maxUses` as `max_uses`.
fn snake(key: &str) -> String {
    let mut name = String::with_capacity(key.len() + 4);
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(character.to_ascii_lowercase());
    }
    name
}

/// A map whose values are objects with names to be changed; its own names stay.
fn snake_case(map: &Json) -> Json {
    let members = map.as_object().into_iter().flat_map(|map| map.iter());
    members
        .map(|(name, config)| {
            let config: Object = config
                .as_object()
                .into_iter()
                .flat_map(|config| config.iter())
                .map(|(key, value)| (snake(key), value))
                .collect();
            (name, config)
        })
        .collect::<Object>()
        .into()
}

/// The choice among the tools. Where a tool cannot be forced, the request asks for none in particular
/// and only offers the one.
pub(in crate::providers) fn choose(
    choice: Option<&ToolChoice>,
    one_at_a_time: Option<bool>,
    can_be_forced: bool,
    prepared: &mut Prepared,
) -> Option<Object> {
    let auto = || object! { "type": "auto", "disable_parallel_tool_use"?: one_at_a_time };
    let Some(choice) = choice else {
        return (one_at_a_time == Some(true)).then(auto);
    };
    let mut warn = |details: String| {
        prepared
            .warnings
            .push(Warning::unsupported_because("toolChoice", details));
    };
    Some(match choice {
        ToolChoice::Auto(_) => auto(),
        ToolChoice::None(_) => object! { "type": "none" },
        ToolChoice::Required(_) if can_be_forced => {
            object! { "type": "any", "disable_parallel_tool_use"?: one_at_a_time }
        }
        ToolChoice::Required(_) => {
            warn(
                "toolChoice 'required' is not supported with this model or thinking configuration. Using 'auto' \
                 instead. Instruct the model to use a tool in the prompt and verify that a tool call was made."
                    .to_owned(),
            );
            auto()
        }
        ToolChoice::Tool(named) if can_be_forced => object! {
            "type": "tool",
            "name": &named.tool_name,
            "disable_parallel_tool_use"?: one_at_a_time,
        },
        ToolChoice::Tool(named) => {
            warn(format!(
                "toolChoice 'tool' is not supported with this model or thinking configuration. Only the '{}' \
                 tool is sent with 'auto' tool choice. Instruct the model to use the tool in the prompt and \
                 verify that a tool call was made.",
                named.tool_name
            ));
            prepared
                .tools
                .retain(|tool| tool.get("name").and_then(Json::as_text) == Some(&named.tool_name));
            auto()
        }
    })
}

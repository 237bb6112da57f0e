//! Anthropic: `POST /v1/messages`.
//!
//! The instructions stand beside the messages, and sides take turns: users and tools share one,
//! messages of the model in a row become one. A thought is only taken with its signature, a tool call
//! only with an object as input, and files from the model not at all. What a request uses of newer
//! features it names in the header `anthropic-beta`.
//!
//! Known faults, mended in the fixed profile:
//!
//! * The result of an MCP tool is sent and warned about as not supported. Mended: no warning.
//! * A tool named like something every object of JavaScript has, such as `constructor`, is taken for part
//!   of a toolset and loses its name. Mended: it keeps it.
//! * A user message without content is sent, although the API refuses it. Mended: left out.

mod assistant;
pub(super) mod cache;
pub(super) mod models;
mod options;
mod prompt;
mod results;
mod sampling;
pub(super) mod schema;
mod thinking;
pub(super) mod tools;
mod user;

use self::models::Model;
use self::prompt::Converter;
use self::sampling::Sampling;
use self::thinking::{Thinking, think};
use self::tools::{Prepared, Support};
use super::chat;
use super::common;
use super::options::Options;
use super::{Call, Log, Request, Target};
use crate::error::SdkError;
use crate::json::{Json, Number, Object, Text, object};
use crate::media_type;
use crate::typed::{Map, Typed};
use crate::types::call::{FunctionTool, JsonFormat, RequiredChoice};
use crate::types::{Tool, ToolChoice, Warning};

/// The messages API.
pub const MESSAGES: Target = Target {
    provider: PROVIDER,
    api: "messages",
    build,
};

const PROVIDER: &str = "anthropic";

fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let call_options = call.options;
    let model = models::of(call.model);
    let mut sampling = Sampling::read(call, log);
    let mut own = own_options(call)?;
    service_tier(&mut own, call, log);
    sampling.limit(call, &model, log);

    let format = chat::json_format(call_options).filter(|format| format.schema.is_some());
    let is_structured = is_structured(&own, format, &model, call.model, log);
    let answer_tool = format.filter(|_| !is_structured);
    if answer_tool.is_some() && own.get("disableParallelToolUse") == Some(&Json::Bool(false)) {
        log.warn(Warning::unsupported_because(
            "providerOptions.anthropic.disableParallelToolUse",
            "`disableParallelToolUse: false` is ignored when using the JSON response tool. Parallel tool use is \
             disabled to ensure a single coherent JSON tool call.",
        ));
    }
    check_thread(&own)?;

    let inline = prompt::inline_tools(call.prompt)?;
    let has_inline = !inline.is_empty();
    let support = Support {
        structured_output: model.has_structured_output,
        strict: model.has_structured_output,
    };
    let sends_reasoning = own.get("sendReasoning") != Some(&Json::Bool(false));
    let mut converter = Converter::new(call, log, inline, support, sends_reasoning);
    if own.contains_key("thread") && own.contains_key("cacheControl") {
        converter.cache.count = 1;
    }
    let converted = converter.convert()?;
    let (mut cache, mut betas) = (converter.cache, converter.betas);
    thread_warnings(&own, call, &betas, converted.system.is_some(), log);

    think(&mut own, call, &model, log);
    let thinking = Thinking::of(&own);
    let mut budget = thinking.budget.clone();
    if thinking.kind.as_deref() == Some("enabled") && budget.is_none() {
        log.warn(Warning::compatibility(
            "extended thinking",
            "thinking budget is required when thinking is enabled. using default budget of 1024 tokens.",
        ));
        budget = Some(1024.into());
    }
    sampling.rest(thinking.is_on(), call, &model, log);
    let max_tokens = sampling.max_tokens(budget.as_ref().map_or(0.0, Number::as_f64), call, &model, log);

    feature_betas(&own, &thinking, call, &mut betas, log);
    let is_forced_refused = !model.can_be_forced || thinking.kind.as_deref() == Some("enabled");
    let mut prepared = Prepared::default();
    let choice = prepare_tools(
        call,
        answer_tool,
        &own,
        has_inline,
        support,
        !is_forced_refused,
        &mut cache,
        &mut prepared,
    )?;
    let mut mcp_servers = mcp_servers(&own);
    let is_restricted = match &call_options.tool_choice {
        Some(ToolChoice::Tool(_)) => {
            answer_tool.is_some()
                || choice
                    .as_ref()
                    .is_some_and(|choice| choice.get("type") == Some(&"auto".into()))
        }
        Some(ToolChoice::None(_)) => answer_tool.is_some(),
        _ => false,
    };
    if is_restricted {
        switch_off(&mut mcp_servers);
    }
    log.warn_all(prepared.warnings);
    log.warn_all(cache.warnings);

    let is_continued = own.get("thread").and_then(|thread| thread.get("type")) == Some(&"continue".into());
    let has_tools =
        answer_tool.is_some() || call_options.tools.as_ref().is_some_and(|tools| !tools.is_empty());
    let text = |key: &str| own.get(key).and_then(Json::as_text).cloned();
    let body = object! {
        "model": call.model,
        "max_tokens": max_tokens,
        "temperature"?: sampling.temperature,
        "top_k"?: sampling.top_k,
        "top_p"?: sampling.top_p,
        "stop_sequences"?: call_options.stop_sequences.clone(),
        "thinking"?: thinking.to_json(budget),
        "output_config"?: output_config(&own, format.filter(|_| is_structured)),
        "speed"?: text("speed"),
        "service_tier"?: text("serviceTier"),
        "inference_geo"?: text("inferenceGeo"),
        "fallbacks"?: own.get("fallbacks").filter(|fallbacks| fallbacks.as_array() != Some(&[])),
        "cache_control"?: own.get("cacheControl"),
        "metadata"?: own
            .get("metadata")
            .and_then(|metadata| metadata.get("userId"))
            .map(|id| object! { "user_id": id }),
        "mcp_servers"?: mcp_servers,
        "container"?: container(&own)?,
        "system"?: converted.system.filter(|_| !is_continued),
        "thread"?: thread(&own),
        "messages": converted.messages,
        "safeguards"?: safeguards(&own),
        "compaction"?: own.get("compaction"),
        "context_management"?: context_management(&own),
        "tools"?: (has_tools && !is_continued).then_some(prepared.tools),
        "tool_choice"?: choice,
    };
    let mut all = Vec::new();
    let user_betas = user_betas(call);
    let own_betas = own
        .get("anthropicBeta")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let thread_beta = own
        .contains_key("thread")
        .then(|| "message-threads-2026-08-12".to_owned());
    let own_betas = own_betas
        .iter()
        .filter_map(|beta| Some(beta.as_str()?.to_owned()));
    for beta in thread_beta
        .into_iter()
        .chain(betas)
        .chain(prepared.betas)
        .chain(user_betas)
        .chain(own_betas)
    {
        if !all.contains(&beta) {
            all.push(beta);
        }
    }
    let mut request = Request::new("/v1/messages", body);
    if !all.is_empty() {
        request.headers.push(("anthropic-beta", all.join(",")));
    }
    Ok(request)
}

/// The options of the call. A provider set up under another name has those under that name as well.
fn own_options(call: &Call<'_>) -> Result<Object, SdkError> {
    let given = call.options.provider_options.as_ref();
    let mut own = Options::of(given, PROVIDER)
        .shaped(&options::CALL)?
        .unwrap_or_default();
    let name = name(call);
    if name != PROVIDER
        && let Some(more) = Options::of(given, name).shaped(&options::CALL)?
    {
        own.extend_from(&more);
    }
    Ok(own)
}

/// The provider's name up to its first dot.
fn name<'a>(call: &Call<'a>) -> &'a str {
    let name = call
        .settings
        .get("name")
        .and_then(Json::as_str)
        .unwrap_or(PROVIDER);
    name.split_once('.').map_or(name, |(name, _)| name)
}

fn service_tier(own: &mut Object, call: &Call<'_>, log: &mut Log) {
    let Some(tier) = own.get("serviceTier").and_then(Json::as_text).cloned() else {
        return;
    };
    let name = name(call);
    let (tiers, words) = match name {
        PROVIDER => (["auto", "standard_only"], "\"auto\" or \"standard_only\""),
        "minimax" => (["standard", "priority"], "\"standard\" or \"priority\""),
        _ => return,
    };
    if !tiers.contains(&&*tier) {
        own.remove("serviceTier");
        log.warn(Warning::unsupported_because(
            "serviceTier",
            format!("serviceTier \"{tier}\" is not supported by {name}. Use {words}."),
        ));
    }
}

/// Whether the answer is held to the schema by the API, rather than by a tool that must be called.
fn is_structured(own: &Object, format: Option<&JsonFormat>, model: &Model, id: &str, log: &mut Log) -> bool {
    let Some(schema) = format.and_then(|format| format.schema.as_ref()) else {
        return false;
    };
    let is_supported = schema::is_supported(&Json::from(schema));
    let mode = own
        .get("structuredOutputMode")
        .and_then(Json::as_str)
        .unwrap_or("auto");
    if mode == "outputFormat" || (mode == "auto" && model.has_structured_output && is_supported) {
        return true;
    }
    let must = !model.can_be_forced && model.has_structured_output && is_supported;
    if must {
        let details = format!(
            "structuredOutputMode 'jsonTool' is not supported by {id} because it rejects forced tool use. Using \
             'outputFormat' instead."
        );
        log.warn(Warning::unsupported_because(
            "providerOptions.anthropic.structuredOutputMode",
            details,
        ));
    }
    must
}

fn check_thread(own: &Object) -> Result<(), SdkError> {
    let (compaction, management) = (own.get("compaction"), own.get("contextManagement"));
    if compaction.is_some() && management.is_some() {
        return Err(SdkError::InvalidArgument(
            "Anthropic provider options `compaction` and `contextManagement` cannot be used together."
                .to_owned(),
        ));
    }
    let edits = management
        .and_then(|management| management.get("edits"))
        .and_then(Json::as_array)
        .unwrap_or_default();
    let is_harmless = |edit: &Json| {
        edit.get("type") == Some(&"clear_thinking_20251015".into()) && edit.get("keep") == Some(&"all".into())
    };
    if own.contains_key("thread") && (compaction.is_some() || !edits.iter().all(is_harmless)) {
        return Err(SdkError::InvalidArgument(
            "Anthropic message threads do not support compaction or context editing, except \
             clear_thinking_20251015 with keep: \"all\"."
                .to_owned(),
        ));
    }
    Ok(())
}

fn thread_warnings(own: &Object, call: &Call<'_>, betas: &[String], has_system: bool, log: &mut Log) {
    const FEATURE: &str = "providerOptions.anthropic.thread";
    let Some(thread) = own.get("thread") else { return };
    let pinned = own
        .get("anthropicBeta")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let user_betas = user_betas(call);
    let loose: Vec<&str> = betas
        .iter()
        .filter(|beta| {
            !user_betas.contains(beta) && !pinned.iter().any(|pinned| pinned.as_str() == Some(beta))
        })
        .map(String::as_str)
        .collect();
    if !loose.is_empty() {
        let details = format!(
            "Message content enabled beta headers: {}. Thread requests require the same beta set on every turn. \
             Pin these values with anthropicBeta on every request, or start a new thread when the set changes.",
            loose.join(", ")
        );
        log.warn(Warning::compatibility(FEATURE, details));
    }
    let has_tools = call.options.tools.as_ref().is_some_and(|tools| !tools.is_empty());
    if thread.get("type") == Some(&"continue".into()) && (has_system || has_tools) {
        log.warn(Warning::compatibility(
            FEATURE,
            "Continuation uses the system prompt and tool definitions stored by the create request; supplied \
             definitions are omitted from the wire request. Supply identical tools for local tool handling and \
             fixed request settings. To change system instructions or tools, start a new thread.",
        ));
    }
}

fn output_config(own: &Object, format: Option<&JsonFormat>) -> Option<Object> {
    let schema = format.and_then(|format| format.schema.as_ref());
    let config = object! {
        "effort"?: own.get("effort"),
        "task_budget"?: own.get("taskBudget"),
        "format"?: schema.map(|schema| object! { "type": "json_schema", "schema": schema::sanitized(schema, true) }),
    };
    (!config.is_empty()).then_some(config)
}

fn list<'a>(own: &'a Object, key: &str) -> Option<&'a [Json]> {
    own.get(key)?.as_array().filter(|items| !items.is_empty())
}

fn mcp_servers(own: &Object) -> Option<Vec<Object>> {
    let servers = list(own, "mcpServers")?.iter().map(|server| {
        let configuration = server
            .get("toolConfiguration")
            .filter(|configuration| !configuration.is_null());
        object! {
            "type"?: server.get("type"),
            "name"?: server.get("name"),
            "url"?: server.get("url"),
            "authorization_token"?: server.get("authorizationToken"),
            "tool_configuration"?: configuration.map(|configuration| object! {
                "allowed_tools"?: configuration.get("allowedTools"),
                "enabled"?: configuration.get("enabled"),
            }),
        }
    });
    Some(servers.collect())
}

/// Where only one tool may be used, the tools of MCP servers may not.
fn switch_off(servers: &mut Option<Vec<Object>>) {
    for server in servers.iter_mut().flatten() {
        let allowed = server
            .get("tool_configuration")
            .and_then(|configuration| configuration.get("allowed_tools"))
            .cloned();
        server.insert(
            "tool_configuration",
            object! { "allowed_tools"?: allowed, "enabled": false },
        );
    }
}

fn container(own: &Object) -> Result<Option<Json>, SdkError> {
    let Some(container) = own.get("container").and_then(Json::as_object) else {
        return Ok(None);
    };
    let Some(skills) = list(container, "skills") else {
        return Ok(container.get("id").cloned());
    };
    let mut converted = Vec::with_capacity(skills.len());
    for skill in skills {
        let id = match skill.get("providerReference") {
            Some(reference) => {
                let reference = Map::<Text>::from_json(reference.clone()).map_err(SdkError::FaultyPrompt)?;
                Some(
                    media_type::resolve_reference(&reference, PROVIDER)?
                        .clone()
                        .into(),
                )
            }
            None => skill.get("skillId").cloned(),
        };
        converted.push(object! {
            "type"?: skill.get("type"),
            "skill_id"?: id,
            "version"?: skill.get("version"),
        });
    }
    Ok(Some(
        object! { "id"?: container.get("id"), "skills": converted }.into(),
    ))
}

fn thread(own: &Object) -> Option<Object> {
    let thread = own.get("thread")?;
    Some(object! {
        "type"?: thread.get("type"),
        "previous_message_id"?: thread.get("previousMessageId"),
    })
}

fn safeguards(own: &Object) -> Option<Vec<Object>> {
    let safeguards = list(own, "safeguards")?.iter().map(|safeguard| {
        object! {
            "type"?: safeguard.get("type"),
            "classifier_context"?: safeguard.get("classifierContext"),
        }
    });
    Some(safeguards.collect())
}

fn context_management(own: &Object) -> Option<Object> {
    let edits = own.get("contextManagement")?.get("edits")?.as_array()?;
    let edits: Vec<Object> = edits
        .iter()
        .map(|edit| {
            object! {
                "type"?: edit.get("type"),
                "trigger"?: edit.get("trigger"),
                "keep"?: edit.get("keep"),
                "clear_at_least"?: edit.get("clearAtLeast"),
                "clear_tool_inputs"?: edit.get("clearToolInputs"),
                "exclude_tools"?: edit.get("excludeTools"),
                "pause_after_compaction"?: edit.get("pauseAfterCompaction"),
                "instructions"?: edit.get("instructions"),
            }
        })
        .collect();
    Some(object! { "edits": edits })
}

/// The betas that options of the call need.
fn feature_betas(own: &Object, thinking: &Thinking, call: &Call<'_>, betas: &mut Vec<String>, log: &mut Log) {
    let mut add = |name: &str| {
        if !betas.iter().any(|beta| beta == name) {
            betas.push(name.to_owned());
        }
    };
    if list(own, "mcpServers").is_some() {
        add("mcp-client-2025-04-04");
    }
    if list(own, "safeguards").is_some() {
        add("dangerous-tool-use-2026-09-03");
    }
    if own.contains_key("compaction") {
        add("compact-2026-09-04");
    }
    if let Some(management) = own.get("contextManagement") {
        add("context-management-2025-06-27");
        let edits = management
            .get("edits")
            .and_then(Json::as_array)
            .unwrap_or_default();
        if edits
            .iter()
            .any(|edit| edit.get("type") == Some(&"compact_20260112".into()))
        {
            add("compact-2026-01-12");
        }
    }
    let container = own.get("container").and_then(Json::as_object);
    if container.is_some_and(|container| list(container, "skills").is_some()) {
        add("code-execution-2025-08-25");
        add("skills-2025-10-02");
        add("files-api-2025-04-14");
        let runs_code = |tool: &Tool| {
            matches!(tool, Tool::Provider(tool) if matches!(
                &*tool.id,
                "anthropic.code_execution_20250825" | "anthropic.code_execution_20260120"
            ))
        };
        if !call.options.tools.iter().flatten().any(runs_code) {
            log.warn(Warning::other(
                "code execution tool is required when using skills",
            ));
        }
    }
    if own.contains_key("taskBudget") {
        add("task-budgets-2026-03-13");
    }
    if own.get("speed") == Some(&"fast".into()) {
        add("fast-mode-2026-02-01");
    }
    if thinking.display.as_deref() == Some("updates") {
        add("thinking-display-updates-2026-08-18");
    }
    if thinking.binding.is_some() {
        add("thinking-binding-controls-2026-08-01");
    }
    match own.get("fallbacks") {
        Some(Json::String(_)) => add("server-side-fallback-2026-07-01"),
        Some(Json::Array(models)) if !models.is_empty() => add("server-side-fallback-2026-06-01"),
        _ => {}
    }
}

/// The betas that the caller asks for in headers.
fn user_betas(call: &Call<'_>) -> Vec<String> {
    let settings = call
        .settings
        .get("headers")
        .and_then(|headers| headers.get("anthropic-beta"))
        .and_then(Json::as_str);
    let options = call.options.headers.as_ref();
    let options = options
        .and_then(|headers| headers.get("anthropic-beta"))
        .map(|text| &**text);
    let all = [settings, options].map(|header| header.unwrap_or_default().to_lowercase());
    all.iter()
        .flat_map(|header| header.split(','))
        .map(|beta| common::trimmed(beta).to_owned())
        .filter(|beta| !beta.is_empty())
        .collect()
}

#[allow(
    clippy::too_many_arguments,
    reason = "each is another part of the request it depends on"
)]
fn prepare_tools(
    call: &Call<'_>,
    answer: Option<&JsonFormat>,
    own: &Object,
    has_inline: bool,
    support: Support,
    can_be_forced: bool,
    cache: &mut cache::Cache,
    prepared: &mut Prepared,
) -> Result<Option<Object>, SdkError> {
    let tools = call.options.tools.iter().flatten();
    let choice = call.options.tool_choice.as_ref();
    let one_at_a_time = own.get("disableParallelToolUse").and_then(Json::as_bool);
    let Some(schema) = answer.and_then(|format| format.schema.as_ref()) else {
        let mut is_any = false;
        for tool in tools {
            is_any = true;
            prepared.add(tool, cache, support, false)?;
        }
        if !is_any && !has_inline {
            return Ok(None);
        }
        return Ok(tools::choose(choice, one_at_a_time, can_be_forced, prepared));
    };
    // The answer is asked for through a tool; of the others only those stay that may be called.
    let support = Support {
        structured_output: false,
        ..support
    };
    let may_be_called = |tool: &&Tool| match choice {
        Some(ToolChoice::None(_)) => false,
        Some(ToolChoice::Tool(named)) => *tool.name() == named.tool_name,
        _ => true,
    };
    for tool in tools.filter(may_be_called) {
        prepared.add(tool, cache, support, false)?;
    }
    let mut answer = FunctionTool::new("json", schema);
    answer.description = Some("Respond with a JSON object.".into());
    prepared.add(&answer.into(), cache, support, false)?;
    let required = RequiredChoice::new().into();
    Ok(tools::choose(
        Some(&required),
        Some(true),
        can_be_forced,
        prepared,
    ))
}

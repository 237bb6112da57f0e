//! `POST /v1/responses`.
//!
//! This file holds the call options; the conversation becomes the `input` in [`super::input`].

use super::catalog::Model;
use super::input::{self, InputOptions};
use super::{PROVIDER, SERVICE_TIERS, SystemMode, check_service_tier, no_cache_retention, not_for_reasoning};
use super::{schema, tools};
use crate::error::SdkError;
use crate::json::{Json, Number, Object, Text, object};
use crate::providers::common::{self, ToolNames};
use crate::providers::options::Options;
use crate::providers::{Call, Log, Request};
use crate::types::{ResponseFormat, Tool, Warning};

const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const UPDATE_EFFORTS: &[&str] = &["none", "low", "medium", "high", "xhigh", "max"];

/// What `include` asks for to get log probabilities.
const LOGPROBS: &str = "message.output_text.logprobs";

/// Builds the request.
pub(super) fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let model = Model::named(call.model);
    log.unsupported([
        ("topK", options.top_k.is_some()),
        ("seed", options.seed.is_some()),
        ("presencePenalty", options.presence_penalty.is_some()),
        ("frequencyPenalty", options.frequency_penalty.is_some()),
        ("stopSequences", options.stop_sequences.is_some()),
    ]);
    let own = ResponsesOptions::read(&Options::of(options.provider_options.as_ref(), PROVIDER))?;
    let known_efforts: Vec<_> = model
        .efforts
        .unwrap_or(EFFORTS)
        .iter()
        .map(|effort| (*effort, *effort))
        .collect();
    let effort = common::reasoning_effort(
        options.reasoning,
        &known_efforts,
        own.reasoning_effort.clone(),
        &mut |warning| {
            log.warn(warning);
        },
    );
    let summary = match &own.reasoning_summary {
        Some(summary) => summary.clone(),
        None => effort
            .as_deref()
            .is_some_and(|effort| effort != "none")
            .then(|| "detailed".into()),
    };
    let reasons = own.force_reasoning.unwrap_or(model.reasoning);
    if is_set(&own.conversation) && is_set(&own.previous_response_id) {
        log.warn(Warning::unsupported_because(
            "conversation",
            "conversation and previousResponseId cannot be used together",
        ));
    }

    let names = ToolNames::new(options.tools.as_ref(), tools::OWN);
    let prepared = tools::for_responses(options, &names, model.async_tools)?;
    let updates = Updates {
        model: &model,
        id: call.model,
        own: &own,
    };
    let input_options = InputOptions {
        mode: own.system_message_mode.unwrap_or(if reasons {
            SystemMode::Developer
        } else {
            SystemMode::System
        }),
        pass_through_files: own.pass_through_unsupported_files.unwrap_or(false),
        store: own.store.unwrap_or(true),
        reasons,
        has_conversation: own.conversation.is_some(),
        has_previous_response: own.previous_response_id.is_some(),
        updates_unsupported: updates.unsupported(),
        names: &names,
        custom_tools: tools::custom_names(options).map(|name| &**name).collect(),
        with_output_schema: tools::names_with_output_schema(options)
            .map(|name| &**name)
            .collect(),
        profile: call.profile,
    };
    let mut input = input::convert(call.prompt, &input_options, log)?;
    updates.apply(&mut input, log)?;
    if own.compaction_trigger == Some(true) {
        input.push(object! { "type": "compaction_trigger" });
    }
    let text = text_settings(call, &own, log)?;
    let mut body = object! {
        "model": call.model,
        "input": Json::Null,
        "temperature"?: options.temperature.clone(),
        "top_p"?: options.top_p.clone(),
        "max_output_tokens"?: options.max_output_tokens.clone(),
        "text"?: text,
        "conversation"?: own.conversation.clone(),
        "max_tool_calls"?: own.max_tool_calls.clone(),
        "metadata"?: own.metadata.clone(),
        "parallel_tool_calls"?: own.parallel_tool_calls,
        "previous_response_id"?: own.previous_response_id.clone(),
        "store"?: own.store,
        "user"?: own.user.clone(),
        "instructions"?: own.instructions.clone(),
        "service_tier"?: own.service_tier,
        "include"?: own.include(options.tools.as_deref().unwrap_or_default(), reasons),
        "prompt_cache_key"?: own.prompt_cache_key.clone(),
        "prompt_cache_options"?: own.prompt_cache_options.clone(),
        "prompt_cache_retention"?: own.prompt_cache_retention,
        "safety_identifier"?: own.safety_identifier.clone(),
        "top_logprobs"?: own.top_logprobs(),
        "truncation"?: own.truncation,
        "context_management"?: own.context_management.clone(),
    };
    if reasons {
        let reasoning = object! {
            "effort"?: effort.clone(),
            "summary"?: summary,
            "mode"?: own.reasoning_mode,
            "context"?: own.reasoning_context,
        };
        body.insert_some("reasoning", (!reasoning.is_empty()).then_some(reasoning));
    }
    check_settings(
        &mut body,
        &own,
        &model,
        reasons,
        effective_effort(&input, effort),
        log,
    );
    let tier = check_service_tier(own.service_tier, &model, &mut |warning| log.warn(warning));
    if tier.is_none() {
        body.remove("service_tier");
    }
    body.insert("input", input);
    body.insert_some("tools", prepared.tools);
    body.insert_some("tool_choice", prepared.choice);
    log.warn_all(prepared.warnings);
    Ok(Request::new("/v1/responses", body))
}

/// Whether a text option counts as set where the SDK asks for its truth: the empty string does not.
fn is_set(option: &Option<Text>) -> bool {
    option.as_ref().is_some_and(|text| !text.is_empty())
}

/// The options under `providerOptions.openai`.
struct ResponsesOptions {
    conversation: Option<Text>,
    include: Option<Vec<Text>>,
    include_web_search_sources: Option<bool>,
    instructions: Option<Text>,
    logprobs: Option<Json>,
    max_tool_calls: Option<Number>,
    metadata: Option<Json>,
    parallel_tool_calls: Option<bool>,
    previous_response_id: Option<Text>,
    prompt_cache_key: Option<Text>,
    prompt_cache_options: Option<Object>,
    prompt_cache_retention: Option<&'static str>,
    reasoning_effort: Option<Text>,
    reasoning_effort_update: Option<&'static str>,
    reasoning_mode: Option<&'static str>,
    reasoning_context: Option<&'static str>,
    /// The outer option is whether it was given at all: `null` turns the default off.
    reasoning_summary: Option<Option<Text>>,
    safety_identifier: Option<Text>,
    service_tier: Option<&'static str>,
    store: Option<bool>,
    pass_through_unsupported_files: Option<bool>,
    strict_json_schema: Option<bool>,
    text_verbosity: Option<&'static str>,
    text_format: Option<Object>,
    truncation: Option<&'static str>,
    user: Option<Text>,
    system_message_mode: Option<SystemMode>,
    force_reasoning: Option<bool>,
    context_management: Option<Vec<Object>>,
    compaction_trigger: Option<bool>,
}

impl ResponsesOptions {
    fn read(options: &Options<'_>) -> Result<Self, SdkError> {
        let cache = options.nested("promptCacheOptions")?;
        let logprobs = options.raw("logprobs");
        if let Some(value) = logprobs {
            let in_range = value
                .as_number()
                .is_some_and(|number| (1.0..=20.0).contains(&number.as_f64()));
            if value.as_bool().is_none() && !in_range {
                return Err(options.invalid("logprobs must be true, false or a number from 1 to 20"));
            }
        }
        Ok(ResponsesOptions {
            conversation: options.nullish("conversation")?,
            include: options.nullish("include")?,
            include_web_search_sources: options.read("includeWebSearchSources")?,
            instructions: options.nullish("instructions")?,
            logprobs: logprobs.cloned(),
            max_tool_calls: options.nullish("maxToolCalls")?,
            metadata: options.raw("metadata").cloned(),
            parallel_tool_calls: options.nullish("parallelToolCalls")?,
            previous_response_id: options.nullish("previousResponseId")?,
            prompt_cache_key: options.nullish("promptCacheKey")?,
            prompt_cache_options: match cache {
                Some(cache) => Some(object! {
                    "mode"?: cache.word("mode", &["implicit", "explicit"])?,
                    "ttl"?: cache.word("ttl", &["30m", "12h"])?,
                    "prewarm"?: cache.read::<bool>("prewarm")?,
                    "comparison_response_id"?: cache.read::<Text>("comparisonResponseId")?,
                }),
                None => None,
            },
            prompt_cache_retention: options.nullish_word("promptCacheRetention", &["in_memory", "24h"])?,
            reasoning_effort: options.nullish("reasoningEffort")?,
            reasoning_effort_update: options.word("reasoningEffortUpdate", UPDATE_EFFORTS)?,
            reasoning_mode: options.word("reasoningMode", &["standard", "pro"])?,
            reasoning_context: options.word("reasoningContext", &["auto", "current_turn", "all_turns"])?,
            reasoning_summary: match options.raw("reasoningSummary") {
                Some(_) => Some(options.nullish("reasoningSummary")?),
                None => None,
            },
            safety_identifier: options.nullish("safetyIdentifier")?,
            service_tier: options.nullish_word("serviceTier", SERVICE_TIERS)?,
            store: options.nullish("store")?,
            pass_through_unsupported_files: options.read("passThroughUnsupportedFiles")?,
            strict_json_schema: options.nullish("strictJsonSchema")?,
            text_verbosity: options.nullish_word("textVerbosity", &["low", "medium", "high"])?,
            text_format: options.read("textFormat")?,
            truncation: options.nullish_word("truncation", &["auto", "disabled"])?,
            user: options.nullish("user")?,
            system_message_mode: options.read("systemMessageMode")?,
            force_reasoning: options.read("forceReasoning")?,
            context_management: context_management(options)?,
            compaction_trigger: options.read("compactionTrigger")?,
        })
    }

    fn top_logprobs(&self) -> Option<Json> {
        match &self.logprobs {
            Some(Json::Bool(true)) => Some(Json::from(20_usize)),
            Some(Json::Number(number)) => Some(number.into()),
            _ => None,
        }
    }

    /// What the answer shall include: what the caller asks for, and what its settings imply.
    fn include(&self, tools: &[Tool], reasons: bool) -> Option<Vec<Text>> {
        let has = |id: &str| {
            tools
                .iter()
                .any(|tool| matches!(tool, Tool::Provider(tool) if &*tool.id == id))
        };
        let mut include = self.include.clone();
        let mut add = |key: &str| {
            let include = include.get_or_insert_default();
            if !include.iter().any(|known| **known == *key) {
                include.push(key.into());
            }
        };
        if self.top_logprobs().is_some() {
            add(LOGPROBS);
        }
        let searches = has("openai.web_search") || has("openai.web_search_preview");
        if searches && self.include_web_search_sources != Some(false) {
            add("web_search_call.action.sources");
        }
        if has("openai.code_interpreter") {
            add("code_interpreter_call.outputs");
        }
        if self.store == Some(false) && reasons {
            add("reasoning.encrypted_content");
        }
        include
    }
}

fn context_management(options: &Options<'_>) -> Result<Option<Vec<Object>>, SdkError> {
    let Some(items) = options.nullish::<Vec<Object>>("contextManagement")? else {
        return Ok(None);
    };
    let convert = |item: &Object| match (
        item.get("type").and_then(Json::as_str),
        item.get("compactThreshold"),
    ) {
        (Some("compaction"), Some(Json::Number(threshold))) => {
            Ok(object! { "type": "compaction", "compact_threshold": threshold })
        }
        _ => Err(options.invalid("contextManagement holds {type: \"compaction\", compactThreshold: number}")),
    };
    items.iter().map(convert).collect::<Result<_, _>>().map(Some)
}

/// The `text` member: the format of the answer and how long it shall be.
fn text_settings(call: &Call<'_>, own: &ResponsesOptions, log: &mut Log) -> Result<Option<Object>, SdkError> {
    let format = match (&own.text_format, &call.options.response_format) {
        (Some(format), _) => Some(text_format(format, log)?),
        (None, Some(ResponseFormat::Json(format))) => Some(match &format.schema {
            Some(schema) => {
                let (schema, warnings) = schema::normalize(&schema.into())?;
                log.warn_all(warnings);
                object! {
                    "type": "json_schema",
                    "strict": own.strict_json_schema.unwrap_or(true),
                    "name": format.name.clone().unwrap_or_else(|| "response".into()),
                    "description"?: format.description.clone(),
                    "schema": schema,
                }
            }
            None => object! { "type": "json_object" },
        }),
        _ => None,
    };
    let text = object! { "format"?: format, "verbosity"?: own.text_verbosity };
    Ok((!text.is_empty()).then_some(text))
}

/// A text format given in OpenAI's own words.
pub(super) fn text_format(format: &Object, log: &mut Log) -> Result<Object, SdkError> {
    let mut format = format.clone();
    if let Some(schema) = format.get("schema") {
        let (schema, warnings) = schema::normalize(schema)?;
        log.warn_all(warnings);
        format.insert("schema", schema);
    }
    Ok(format)
}

/// Changes of effort or format in the middle of a conversation.
struct Updates<'a> {
    model: &'a Model,
    id: &'a str,
    own: &'a ResponsesOptions,
}

impl Updates<'_> {
    /// Why there can be none, if so.
    fn unsupported(&self) -> Option<&'static str> {
        if !self.model.configuration_updates {
            return Some("Configuration updates are only supported by GPT-6 and later models");
        }
        let conflicts = self.own.reasoning_mode == Some("pro")
            || self.own.context_management.is_some()
            || self.own.truncation == Some("auto");
        conflicts.then_some(
            "Configuration updates require standard reasoning mode without automatic compaction or automatic \
             truncation",
        )
    }

    fn effort_unsupported(&self, effort: &str) -> Option<String> {
        let known = self.model.efforts?;
        (!known.contains(&effort)).then(|| {
            format!(
                "{} only supports the following reasoning efforts: {}",
                self.id,
                known.join(", ")
            )
        })
    }

    /// Checks the updates among the messages and puts that of the call in front.
    fn apply(&self, input: &mut Vec<Object>, log: &mut Log) -> Result<(), SdkError> {
        for effort in input.iter().filter_map(updated_effort) {
            if let Some(message) = self.effort_unsupported(effort) {
                let functionality = "Message-level reasoningEffortUpdate".to_owned();
                return Err(SdkError::UnsupportedBecause {
                    functionality,
                    message,
                });
            }
        }
        if let Some(effort) = self.own.reasoning_effort_update {
            let reason = self
                .unsupported()
                .map(str::to_owned)
                .or_else(|| self.effort_unsupported(effort));
            if let Some(reason) = reason {
                log.warn(Warning::unsupported_because("reasoningEffortUpdate", reason));
            } else if input.first().and_then(updated_effort) != Some(effort) {
                let update =
                    object! { "type": "configuration_update", "reasoning": object! { "effort": effort } };
                input.insert(0, update);
            }
        }
        let is_update =
            |item: &Object| item.get("type").and_then(Json::as_str) == Some("configuration_update");
        if input.windows(2).any(|pair| pair.iter().all(is_update)) {
            return Err(SdkError::UnsupportedBecause {
                functionality: "Adjacent configuration updates".to_owned(),
                message: "Configuration updates cannot be consecutive. Set reasoningEffortUpdate and \
                          textFormatUpdate in the same empty system message, and omit request-level \
                          reasoningEffortUpdate when using message-level updates."
                    .to_owned(),
            });
        }
        Ok(())
    }
}

fn updated_effort(item: &Object) -> Option<&str> {
    if item.get("type").and_then(Json::as_str) != Some("configuration_update") {
        return None;
    }
    item.get("reasoning")?.get("effort")?.as_str()
}

/// The effort that holds at the end of the conversation.
fn effective_effort(input: &[Object], effort: Option<Text>) -> Option<Text> {
    input
        .iter()
        .rev()
        .find_map(updated_effort)
        .map(Text::from)
        .or(effort)
}

/// Takes out what the model does not take, with the SDK's warnings.
fn check_settings(
    body: &mut Object,
    own: &ResponsesOptions,
    model: &Model,
    reasons: bool,
    effort: Option<Text>,
    log: &mut Log,
) {
    if !model.cache_retention && body.remove("prompt_cache_retention").is_some() {
        log.warn(no_cache_retention());
    }
    if !reasons {
        for (feature, is_set) in [
            ("reasoningEffort", own.reasoning_effort.is_some()),
            ("reasoningSummary", matches!(own.reasoning_summary, Some(Some(_)))),
            ("reasoningMode", own.reasoning_mode.is_some()),
            ("reasoningContext", own.reasoning_context.is_some()),
        ] {
            if is_set {
                let details = format!("{feature} is not supported for non-reasoning models");
                log.warn(Warning::unsupported_because(feature, details));
            }
        }
        return;
    }
    if effort.as_deref() == Some("none") && model.samples_without_effort {
        return;
    }
    for (key, feature) in [("temperature", "temperature"), ("top_p", "topP")] {
        if body.remove(key).is_some() {
            log.warn(not_for_reasoning(feature));
        }
    }
    if model.logprobs_need_no_effort {
        let included = match body.get("include") {
            Some(Json::Array(include)) => include.iter().any(|key| key.as_str() == Some(LOGPROBS)),
            _ => false,
        };
        if body.remove("top_logprobs").is_some() || included {
            if let Some(Json::Array(include)) = body.get_mut("include") {
                include.retain(|key| key.as_str() != Some(LOGPROBS));
                if include.is_empty() {
                    body.remove("include");
                }
            }
            log.warn(not_for_reasoning("logprobs"));
        }
    }
}

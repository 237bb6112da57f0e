//! Google: `POST /v1beta/models/{model}:generateContent`.
//!
//! Nothing is merged: every message is a content of its own. Instructions may only stand at the front;
//! Gemma models read them in the first user message. Files must name their full media type. The third
//! generation wants the signature it gave with a tool call, and takes files inside tool results.
//!
//! Known faults, mended in the fixed profile:
//!
//! * A content output without text is no response at all for models before the third generation, which
//!   leaves the call open. Mended: a response says that the tool ran.
//! * Files of the model keep a media type without a subtype, which the API refuses. Mended: it is looked
//!   up in the bytes.

mod contents;
mod models;
mod options;
mod tools;

use self::contents::Converter;
use super::chat;
use super::common::{reasoning_budget, reasoning_effort};
use super::options::Options;
use super::{Call, Log, Request, Target};
use crate::error::SdkError;
use crate::json::{Json, Number, Object, object};
use crate::types::{CallOptions, Reasoning, Tool, ToolChoice, Warning};

/// The API that generates content.
pub const GENERATE: Target = Target {
    provider: "google",
    api: "generateContent",
    build,
};

/// The longest answer that a budget is a share of.
const LONGEST: f64 = 65_536.0;

const HARMS: [&str; 4] = [
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
];

fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let model = models::of(call.model);
    let with_answer = answer_tool(call, &model);
    let options = with_answer.as_ref().unwrap_or(call.options);
    let own = Options::of(options.provider_options.as_ref(), "google");
    let mut own = own.shaped(&options::CALL)?.unwrap_or_default();
    let name = call
        .settings
        .get("name")
        .and_then(Json::as_str)
        .unwrap_or("google.generative-ai");
    other_platform(&mut own, options, name, log);
    for (feature, is_set) in [
        ("frequencyPenalty", options.frequency_penalty.is_some()),
        ("presencePenalty", options.presence_penalty.is_some()),
    ] {
        if is_set && model.refuses_penalties {
            log.warn(Warning::unsupported(feature));
        }
    }
    let converted = Converter::new(call, &model, log).convert()?;
    let prepared = tools::prepare(options, &model);
    let thinking = thinking(&own, options.reasoning, &model, log);

    let format = chat::json_format(options);
    let takes_schema = own.get("structuredOutputs") != Some(&Json::Bool(false));
    let schema = format.and_then(|format| format.schema.as_ref());
    let is_set = |key: &str| own.get(key).filter(|value| value.is_truthy());
    let generation = object! {
        "maxOutputTokens"?: options.max_output_tokens.clone(),
        "temperature"?: options.temperature.clone(),
        "topK"?: options.top_k.clone(),
        "topP"?: options.top_p.clone(),
        "frequencyPenalty"?: options.frequency_penalty.clone().filter(|_| !model.refuses_penalties),
        "presencePenalty"?: options.presence_penalty.clone().filter(|_| !model.refuses_penalties),
        "stopSequences"?: options.stop_sequences.clone(),
        "seed"?: options.seed.clone(),
        "responseMimeType"?: format.map(|_| "application/json"),
        "responseJsonSchema"?: schema.filter(|_| takes_schema).map(sanitized),
        "audioTimestamp"?: is_set("audioTimestamp"),
        "responseModalities"?: own.get("responseModalities"),
        "thinkingConfig"?: thinking,
        "mediaResolution"?: own.get("mediaResolution"),
        "imageConfig"?: own.get("imageConfig"),
    };
    let mut config = prepared.config.unwrap_or_default();
    config.insert_some("retrievalConfig", own.get("retrievalConfig"));
    let threshold = own.get("threshold").map(|threshold| {
        let settings = HARMS.map(|category| object! { "category": category, "threshold": threshold });
        Json::from(settings.to_vec())
    });
    let body = object! {
        "generationConfig": generation,
        "contents": converted.contents,
        "systemInstruction"?: converted.system,
        "safetySettings"?: own.get("safetySettings").cloned().or(threshold),
        "tools"?: prepared.tools,
        "toolConfig"?: (!config.is_empty()).then_some(config),
        "cachedContent"?: own.get("cachedContent"),
        "labels"?: own.get("labels"),
        "serviceTier"?: own.get("serviceTier"),
        "continuationToken"?: own.get("continuationToken"),
    };
    log.warn_all(prepared.warnings);
    let folder = if call.model.contains('/') { "" } else { "models/" };
    Ok(Request::new(
        format!("/v1beta/{folder}{}:generateContent", call.model),
        body,
    ))
}

/// The options with a tool for the answer, where the model does not take a JSON format together with
/// the caller's tools, or not when one of them must be called.
fn answer_tool(call: &Call<'_>, model: &models::Model) -> Option<CallOptions> {
    let choice = call.options.tool_choice.as_ref();
    let is_forced = matches!(choice, Some(ToolChoice::Required(_) | ToolChoice::Tool(_)));
    if !model.is_gemini || (model.is_gemini_3 && !is_forced) {
        return None;
    }
    let mut options = call.options.clone();
    if matches!(choice, Some(ToolChoice::None(_)))
        && let Some(tools) = &mut options.tools
    {
        tools.retain(|tool| matches!(tool, Tool::Function(_)));
    }
    let mut options = chat::answer_tool(&options)?;
    options.response_format = None;
    Some(options)
}

/// Options and tools that only Google's other platform has.
fn other_platform(own: &mut Object, options: &CallOptions, name: &str, log: &mut Log) {
    let is_rag = |tool: &Tool| matches!(tool, Tool::Provider(tool) if &*tool.id == "google.vertex_rag_store");
    if options.tools.iter().flatten().any(is_rag) {
        log.warn(Warning::other(format!(
            "The 'vertex_rag_store' tool is only supported with the Google Vertex provider and might not be \
             supported or could behave unexpectedly with the current Google provider ({name})."
        )));
    }
    if own
        .get("streamFunctionCallArguments")
        .is_some_and(Json::is_truthy)
    {
        log.warn(Warning::other(format!(
            "'streamFunctionCallArguments' is only supported on the Vertex AI API and will be ignored with the \
             current Google provider ({name}). See https://docs.cloud.google.com/vertex-ai/generative-ai/docs/\
             multimodal/function-calling#streaming-fc"
        )));
    }
    if own.contains_key("sharedRequestType") || own.contains_key("requestType") {
        log.warn(Warning::other(format!(
            "'sharedRequestType' and 'requestType' are Vertex AI options and are ignored with the current Google \
             provider ({name})."
        )));
    }
    let Some(Json::Object(image)) = own.get_mut("imageConfig") else {
        return;
    };
    let dropped: Vec<String> = ["personGeneration", "prominentPeople", "imageOutputOptions"]
        .iter()
        .filter(|key| image.remove(key).is_some())
        .map(|key| format!("'imageConfig.{key}'"))
        .collect();
    if !dropped.is_empty() {
        let are = if dropped.len() == 1 {
            "is a Vertex AI option and is"
        } else {
            "are Vertex AI options and are"
        };
        log.warn(Warning::other(format!(
            "{} {are} ignored with the current Google provider ({name}).",
            dropped.join(", ")
        )));
    }
}

/// How much the model thinks: as its own options say, else by the level that the call asks for.
fn thinking(
    own: &Object,
    reasoning: Option<Reasoning>,
    model: &models::Model,
    log: &mut Log,
) -> Option<Object> {
    let given = own.get("thinkingConfig").and_then(Json::as_object);
    let is_given = given
        .is_some_and(|given| given.contains_key("thinkingBudget") || given.contains_key("thinkingLevel"));
    let mut warn = |warning| log.warn(warning);
    let wanted = reasoning.filter(|reasoning| reasoning.is_custom() && !is_given);
    let mut config = Object::new();
    let mut is_resolved = false;
    if let Some(reasoning) = wanted {
        match &model.levels {
            Some(levels) => {
                let level = reasoning_effort(Some(reasoning), levels, None, &mut warn);
                is_resolved = level.is_some();
                config.insert_some("thinkingLevel", level);
            }
            None => {
                let (least, most) = model.budget;
                let budget = if reasoning == Reasoning::None && least == 0.0 {
                    0.0
                } else {
                    reasoning_budget(reasoning, LONGEST, most, least, &mut warn)
                };
                is_resolved = true;
                config.insert_some("thinkingBudget", Number::from_f64(budget));
            }
        }
    }
    if let Some(given) = given {
        config.extend_from(given);
    }
    (is_resolved || given.is_some()).then_some(config)
}

/// A schema without `const`, which Google does not have: it becomes an `enum` of one.
fn sanitized(schema: &Object) -> Object {
    let mut result = schema.clone();
    for key in [
        "const",
        "properties",
        "items",
        "additionalProperties",
        "anyOf",
        "oneOf",
    ] {
        result.remove(key);
    }
    let given = |key: &str| schema.get(key).filter(|value| !value.is_null());
    if let Some(constant) = schema.get("const") {
        result.insert("enum", vec![constant.clone()]);
    }
    result.insert_some("properties", given("properties").map(sanitized_by_name));
    for key in ["items", "additionalProperties", "anyOf", "oneOf"] {
        result.insert_some(key, given(key).map(sanitized_each));
    }
    if let Some(definitions) = given("$defs") {
        result.insert("$defs", sanitized_by_name(definitions));
    }
    result
}

fn sanitized_each(value: &Json) -> Json {
    match value {
        Json::Object(schema) => sanitized(schema).into(),
        Json::Array(schemas) => Json::Array(schemas.iter().map(sanitized_each).collect()),
        other => other.clone(),
    }
}

fn sanitized_by_name(value: &Json) -> Json {
    let members = value.as_object().into_iter().flat_map(|named| named.iter());
    members
        .map(|(name, schema)| (name, sanitized_each(schema)))
        .collect::<Object>()
        .into()
}

//! Amazon Bedrock: `POST /model/{model}/converse`.
//!
//! One API for the models of many makers. Instructions stand beside the messages and must lead; sides
//! take turns. Where no tool is declared, calls and results are taken out of the history. Documents
//! need a name that the API allows. Options are read under `amazonBedrock`, else `bedrock`. Settings:
//! `modelFamily`, for profiles that do not name their model.
//!
//! Anthropic's own tools go along with the schemas of their input, which `tool_inputs.json` holds as the
//! packages generate them.
//!
//! Known faults, mended in the fixed profile:
//!
//! * The input of a call that is an object as JSON text is wrapped like one that is none. Mended: it is
//!   read.
//! * The level of reasoning `max` is not known. Mended: it is the highest effort or budget.
//! * The warning about a tool that is unknown names a placeholder. Mended: it names the tool.
//! * A schema for the answer loses the definitions beside a reference. Mended: they stay.
//! * Failed tools look like any other. Mended: their results have the status `error`.

mod history;
mod messages;
mod tools;

use self::history::History;
use self::messages::Converter;
use super::anthropic::models::{self, Model};
use super::anthropic::schema;
use super::chat;
use super::common::{self, reasoning_budget, reasoning_effort};
use super::options::Options;
use super::shape::{Shape, may};
use super::{Call, Log, Profile, Request, Target};
use crate::error::SdkError;
use crate::json::{Json, Number, Object, Text, object};
use crate::types::call::{FunctionTool, RequiredChoice};
use crate::types::{Reasoning, ToolChoice, Warning};

/// The Converse API.
pub const CONVERSE: Target = Target {
    provider: "amazon-bedrock",
    api: "converse",
    build,
};

/// The names that options are read under, new and old.
const NAMES: [&str; 2] = ["amazonBedrock", "bedrock"];

const MODE: Shape = Shape::Word(&["outputFormat", "jsonTool", "auto"]);
const OPTIONS: Shape = Shape::Fields(&[
    may("structuredOutputMode", MODE),
    may("additionalModelRequestFields", Shape::Object),
    may(
        "reasoningConfig",
        Shape::Fields(&[
            may("type", Shape::Word(&["enabled", "disabled", "adaptive"])),
            may("budgetTokens", Shape::Number),
            may(
                "maxReasoningEffort",
                Shape::Word(&["low", "medium", "high", "xhigh", "max"]),
            ),
            may("display", Shape::Word(&["omitted", "summarized"])),
        ]),
    ),
    may("anthropicBeta", Shape::List(&Shape::Text)),
    may(
        "serviceTier",
        Shape::Word(&["reserved", "priority", "default", "flex"]),
    ),
]);
const ANTHROPIC: Shape = Shape::Fields(&[
    may("disableParallelToolUse", Shape::Bool),
    may("structuredOutputMode", MODE),
]);

/// Whose model it is.
#[derive(Debug)]
pub(crate) struct Family<'a> {
    id: &'a str,
    is_named_anthropic: bool,
    is_anthropic: bool,
    is_open_ai: bool,
    is_gpt_oss: bool,
    is_nova: bool,
    model: Model,
}

impl<'a> Family<'a> {
    fn of(call: &Call<'a>, has_budget: bool) -> Self {
        let id = call.model;
        // `openai.gpt-…`, or with one more word in front: `us.openai.gpt-…`.
        let is_of = |id: &str, maker: &str| id.strip_prefix(maker).is_some_and(|rest| !rest.is_empty());
        let tail = id.split_once('.').filter(|(head, _)| !head.is_empty());
        let open_ai = [Some(id), tail.map(|(_, tail)| tail)]
            .into_iter()
            .flatten()
            .find(|id| is_of(id, "openai."));
        let is_named_anthropic = call.settings.get("modelFamily").and_then(Json::as_str) == Some("anthropic");
        Family {
            id,
            is_named_anthropic,
            is_anthropic: is_named_anthropic
                || id.contains("anthropic")
                || (id.contains(":application-inference-profile/") && has_budget),
            is_open_ai: open_ai.is_some(),
            is_gpt_oss: open_ai.is_some_and(|id| id.starts_with("openai.gpt-oss-")),
            is_nova: id.contains("amazon.nova-2-lite-v1:0"),
            model: models::of(id),
        }
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.id.contains(name))
    }

    /// Whether strict tools are taken: not by the newest models.
    fn takes_strict_tools(&self) -> bool {
        !self.is_one_of(&[
            "claude-opus-4-7",
            "claude-opus-4-8",
            "claude-opus-5",
            "claude-fable-5",
            "claude-sonnet-5",
        ])
    }

    /// Whether an answer is held to a schema reliably.
    fn has_structured_output(&self) -> bool {
        self.takes_strict_tools() && !self.is_one_of(&["claude-sonnet-4-6", "claude-haiku-4-5"])
    }
}

fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let given = options.provider_options.as_ref();
    let own = Options::first_of(given, &NAMES);
    let settings = own.shaped(&OPTIONS)?.unwrap_or_default();
    let anthropic = Options::of(given, "anthropic")
        .shaped(&ANTHROPIC)?
        .unwrap_or_default();
    let mut config = settings.get("reasoningConfig").and_then(Json::as_object).cloned();
    let family = Family::of(
        call,
        config
            .as_ref()
            .is_some_and(|config| config.contains_key("budgetTokens")),
    );
    let mut sampling = Sampling::read(call, &family, log);
    reason(&mut config, call, &family, log);
    let thinking = Thinking::of(config.unwrap_or_default());
    let for_tools = Family::of(call, thinking.given_budget.is_some());

    // What goes to the model itself, beside what Bedrock understands.
    let mut fields = Fields(
        settings
            .get("additionalModelRequestFields")
            .and_then(Json::as_object)
            .cloned(),
    );
    let mode = [&settings, &anthropic]
        .iter()
        .find_map(|options| options.get("structuredOutputMode")?.as_str())
        .unwrap_or("auto");
    if mode == "jsonTool" {
        fields.without_format();
    }
    let schema = chat::json_format(options).and_then(|format| format.schema.as_ref());
    let has_native = family.has_structured_output()
        && (family.model.has_structured_output || thinking.is_on() || family.is_named_anthropic);
    let native =
        schema.filter(|_| family.is_anthropic && (mode == "outputFormat" || (mode == "auto" && has_native)));
    let has_tools = options.tools.as_ref().is_some_and(|tools| !tools.is_empty());
    let in_words = schema.filter(|_| {
        let takes_no_tool = mode != "jsonTool" && !family.takes_strict_tools() && has_tools;
        native.is_none() && family.is_anthropic && (!family.model.can_be_forced || takes_no_tool)
    });
    let answer = schema
        .filter(|_| native.is_none() && in_words.is_none())
        .map(|schema| {
            let mut tool = FunctionTool::new("json", schema);
            tool.description = Some("Respond with a JSON object.".into());
            tool
        });
    let required = ToolChoice::from(RequiredChoice::new());
    let choice = if answer.is_some() {
        Some(&required)
    } else {
        options.tool_choice.as_ref()
    };
    let one_at_a_time = anthropic.get("disableParallelToolUse").and_then(Json::as_bool);
    let prepared = tools::prepare(
        options.tools.as_ref(),
        answer,
        choice,
        one_at_a_time,
        &for_tools,
        call.profile,
    )?;
    log.warn_all(prepared.warnings);
    let has_active_tools = prepared.config.is_some() || prepared.choice.is_some();
    if let Some(choice) = prepared.choice {
        fields.set("tool_choice", choice);
    }
    let betas = settings.get("anthropicBeta").and_then(Json::as_array);
    if betas.is_some() || !prepared.betas.is_empty() {
        let given = betas.unwrap_or_default().iter().cloned();
        let all: Vec<Json> = given.chain(prepared.betas.into_iter().map(Json::from)).collect();
        fields.set("anthropic_beta", all);
    }
    thinking.tell(&mut fields, &mut sampling, &family, log);
    if let Some(schema) = native {
        fields.nest(
            "output_config",
            "format",
            object! { "type": "json_schema", "schema": schema::sanitized(schema, call.profile == Profile::Fixed) },
        );
    }
    sampling.limit(thinking.is_on(), &family, log);

    let inference = sampling.into_json(options.stop_sequences.clone(), &family, log);

    let mut history = History::new(call.prompt);
    if !has_active_tools {
        history.without_tools(log);
    }
    if let Some(schema) = in_words {
        history.ask_for_json(schema);
    }
    let (system, messages) = Converter::new(&history, call.model, call.profile, log).convert()?;
    let paths = family
        .is_anthropic
        .then(|| vec![Json::from("/delta/stop_sequence")]);
    let mut body = object! {
        "system": system,
        "messages": messages,
        "additionalModelRequestFields"?: fields.0,
        "additionalModelResponseFieldPaths"?: paths,
        "inferenceConfig"?: (!inference.is_empty()).then_some(inference),
        "serviceTier"?: settings.get("serviceTier").map(|tier| object! { "type": tier }),
    };
    // Options that the SDK does not know go into the body as they are.
    for (key, value) in NAMES
        .iter()
        .find_map(|name| given?.get(name))
        .into_iter()
        .flat_map(Object::iter)
    {
        if !matches!(
            key,
            "reasoningConfig" | "additionalModelRequestFields" | "serviceTier" | "structuredOutputMode"
        ) {
            body.insert(key, value);
        }
    }
    body.insert_some("toolConfig", prepared.config);
    let model = percent_encoded(call.model);
    Ok(Request::new(format!("/model/{model}/converse"), body))
}

/// An id as JavaScript's `encodeURIComponent` writes it.
fn percent_encoded(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len() + 2);
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The members of `additionalModelRequestFields`.
#[derive(Debug)]
struct Fields(Option<Object>);

impl Fields {
    fn set(&mut self, key: &str, value: impl Into<Json>) {
        self.0.get_or_insert_default().insert(key, value);
    }

    /// Sets a member inside a member, which keeps the others it has.
    fn nest(&mut self, key: &str, member: &str, value: impl Into<Json>) {
        let outer = self.0.get_or_insert_default();
        let mut inner = outer
            .get(key)
            .and_then(Json::as_object)
            .cloned()
            .unwrap_or_default();
        inner.insert(member, value);
        outer.insert(key, inner);
    }

    /// Takes out a format for the answer, which is asked for in another way.
    fn without_format(&mut self) {
        let Some(Json::Object(config)) = self.0.as_mut().and_then(|fields| fields.get_mut("output_config"))
        else {
            return;
        };
        config.remove("format");
        if config.is_empty()
            && let Some(fields) = &mut self.0
        {
            fields.remove("output_config");
        }
    }
}

/// The members of `inferenceConfig`.
#[derive(Debug)]
struct Sampling {
    max_tokens: Option<Number>,
    temperature: Option<Number>,
    top_p: Option<Number>,
    top_k: Option<Number>,
}

impl Sampling {
    fn read(call: &Call<'_>, family: &Family<'_>, log: &mut Log) -> Self {
        let options = call.options;
        log.unsupported([
            ("frequencyPenalty", options.frequency_penalty.is_some()),
            ("presencePenalty", options.presence_penalty.is_some()),
            ("seed", options.seed.is_some()),
        ]);
        let mut sampling = Sampling {
            max_tokens: options.max_output_tokens.clone(),
            temperature: options.temperature.clone(),
            top_p: options.top_p.clone(),
            top_k: options.top_k.clone(),
        };
        if !family.model.takes_sampling {
            for (feature, value) in [
                ("temperature", &mut sampling.temperature),
                ("topK", &mut sampling.top_k),
                ("topP", &mut sampling.top_p),
            ] {
                drop_with(log, value, feature, || {
                    format!("{feature} is not supported by {} and will be ignored", family.id)
                });
            }
        }
        if !family.is_open_ai || family.is_gpt_oss {
            sampling.clamp(log);
        }
        sampling
    }

    fn clamp(&mut self, log: &mut Log) {
        let Some(given) = &self.temperature else { return };
        let (details, clamped) = match given.as_f64() {
            value if value > 1.0 => ("exceeds bedrock maximum of 1.0. clamped to 1.0", 1),
            value if value < 0.0 => ("is below bedrock minimum of 0. clamped to 0", 0),
            _ => return,
        };
        let details = format!("{} {details}", given.to_js());
        log.warn(Warning::unsupported_because("temperature", details));
        self.temperature = Some(clamped.into());
    }

    /// What a thinking model does not take.
    fn limit(&mut self, is_thinking: bool, family: &Family<'_>, log: &mut Log) {
        if !is_thinking || !family.is_anthropic {
            return;
        }
        for (feature, value) in [
            ("temperature", &mut self.temperature),
            ("topP", &mut self.top_p),
            ("topK", &mut self.top_k),
        ] {
            drop_with(log, value, feature, || {
                format!("{feature} is not supported when thinking is enabled")
            });
        }
    }

    fn into_json(mut self, mut stop: Option<Vec<Text>>, family: &Family<'_>, log: &mut Log) -> Object {
        if family.is_open_ai {
            let details = |feature: &str| {
                format!("{feature} is not supported by this OpenAI model on the Converse API")
            };
            if !family.is_gpt_oss {
                drop_with(log, &mut self.temperature, "temperature", || {
                    details("temperature")
                });
                drop_with(log, &mut self.top_p, "topP", || details("topP"));
            }
            drop_with(log, &mut stop, "stopSequences", || details("stopSequences"));
        }
        object! {
            "maxTokens"?: self.max_tokens,
            "temperature"?: self.temperature,
            "topP"?: self.top_p,
            "topK"?: self.top_k,
            "stopSequences"?: stop,
        }
    }
}

/// Takes a setting away and says so.
fn drop_with<T>(log: &mut Log, value: &mut Option<T>, feature: &str, details: impl Fn() -> String) {
    if value.take().is_some() {
        log.warn(Warning::unsupported_because(feature, details()));
    }
}

/// Turns the level of reasoning that the call asks for into the options of the model's family. Options
/// that are given win.
fn reason(config: &mut Option<Object>, call: &Call<'_>, family: &Family<'_>, log: &mut Log) {
    const EFFORTS: &[(&str, &str)] = &[
        ("minimal", "low"),
        ("low", "low"),
        ("medium", "medium"),
        ("high", "high"),
        ("xhigh", "max"),
    ];
    let Some(reasoning) = call.options.reasoning.filter(|reasoning| reasoning.is_custom()) else {
        return;
    };
    let mut warn = |warning| log.warn(warning);
    let mut known = || common::without_max(Some(reasoning), call.profile, &mut warn);
    let mut resolved = if family.is_anthropic && reasoning == Reasoning::None {
        *config = None;
        object! { "type": "disabled" }
    } else if family.is_anthropic && family.model.thinks_adaptively {
        let effort = reasoning_effort(known(), EFFORTS, None, &mut warn);
        object! { "type": "adaptive", "maxReasoningEffort"?: effort }
    } else if family.is_anthropic {
        let most = family.model.max_output;
        match known() {
            Some(_) => {}
            None => {
                without_rest(config);
                return;
            }
        }
        let budget = reasoning_budget(reasoning, most, most, 1024.0, &mut warn);
        object! { "type": "enabled", "budgetTokens"?: Number::from_f64(budget) }
    } else if reasoning == Reasoning::None {
        config.clone().unwrap_or_default()
    } else if family.is_open_ai || family.is_nova || config.is_some() {
        let effort = reasoning_effort(known(), EFFORTS, None, &mut warn);
        object! { "type"?: family.is_nova.then_some("enabled"), "maxReasoningEffort"?: effort }
    } else {
        warn(Warning::unsupported_because(
            "reasoning",
            "Portable reasoning is not supported for this model and will be ignored. If the model supports a \
             provider-specific reasoning configuration, use providerOptions.amazonBedrock.reasoningConfig.",
        ));
        return;
    };
    if let Some(given) = config {
        resolved.extend_from(given);
    }
    *config = Some(resolved);
    without_rest(config);
}

/// Where thinking is off there is nothing more to say about it.
fn without_rest(config: &mut Option<Object>) {
    if let Some(config) = config
        && config.get("type") == Some(&"disabled".into())
    {
        config.remove("maxReasoningEffort");
        config.remove("budgetTokens");
    }
}

/// How the model is told to think.
#[derive(Debug)]
struct Thinking {
    kind: Option<Text>,
    given_budget: Option<Number>,
    display: Option<Text>,
    effort: Option<Text>,
}

impl Thinking {
    fn of(config: Object) -> Self {
        let text = |key: &str| config.get(key).and_then(Json::as_text).cloned();
        Thinking {
            kind: text("type"),
            given_budget: config.get("budgetTokens").and_then(Json::as_number).cloned(),
            display: text("display"),
            effort: text("maxReasoningEffort"),
        }
    }

    fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }

    fn is_on(&self) -> bool {
        self.is("enabled") || self.is("adaptive")
    }

    /// Puts it where models of this family look for it.
    fn tell(&self, fields: &mut Fields, sampling: &mut Sampling, family: &Family<'_>, log: &mut Log) {
        /// The tokens for the answer, if nobody says how many.
        const ANSWER: f64 = 4096.0;
        let budget = self.given_budget.clone().filter(|_| self.is("enabled"));
        if family.is_anthropic && self.is_on() {
            if let Some(budget) = &budget {
                let answer = sampling.max_tokens.as_ref().map_or(ANSWER, Number::as_f64);
                sampling.max_tokens = Number::from_f64(answer + budget.as_f64());
                fields.set("thinking", object! { "type": "enabled", "budget_tokens": budget });
            } else if self.is("adaptive") {
                fields.set(
                    "thinking",
                    object! { "type": "adaptive", "display"?: self.display.clone() },
                );
            }
        } else if !family.is_anthropic {
            if self.given_budget.is_some() {
                log.warn(Warning::unsupported_because(
                    "budgetTokens",
                    "budgetTokens applies only to Anthropic models on Bedrock and will be ignored for this model.",
                ));
            }
            if self.is("adaptive") {
                log.warn(Warning::unsupported_because(
                    "adaptive thinking",
                    "adaptive thinking type applies only to Anthropic models on Bedrock.",
                ));
            }
        }
        let Some(effort) = &self.effort else { return };
        if family.is_anthropic {
            fields.nest("output_config", "effort", effort);
        } else if family.is_gpt_oss {
            fields.set("reasoning_effort", effort);
        } else if family.is_open_ai {
            fields.nest("reasoning", "effort", effort);
        } else {
            fields.set(
                "reasoningConfig",
                object! {
                    "type"?: self.kind.clone().filter(|_| !self.is("adaptive")),
                    "budgetTokens"?: budget,
                    "maxReasoningEffort": effort,
                },
            );
        }
        let is_high = matches!(&**effort, "high" | "xhigh" | "max");
        if family.is_nova && self.is("enabled") && is_high {
            drop_with(log, &mut sampling.max_tokens, "maxOutputTokens", || {
                format!(
                    "maxOutputTokens is not supported by {} when high reasoning is enabled and will be ignored",
                    family.id
                )
            });
        }
    }
}

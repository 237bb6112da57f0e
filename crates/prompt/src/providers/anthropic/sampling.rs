//! The settings that Anthropic has, and what goes with what.

use super::models::Model;
use crate::json::Number;
use crate::providers::{Call, Log, chat};
use crate::types::Warning;

/// The settings that steer how the model picks words.
#[derive(Debug)]
pub(super) struct Sampling {
    pub(super) temperature: Option<Number>,
    pub(super) top_k: Option<Number>,
    pub(super) top_p: Option<Number>,
}

impl Sampling {
    /// The settings of the call, as far as Anthropic has them at all.
    pub(super) fn read(call: &Call<'_>, log: &mut Log) -> Self {
        let options = call.options;
        log.unsupported([
            ("frequencyPenalty", options.frequency_penalty.is_some()),
            ("presencePenalty", options.presence_penalty.is_some()),
            ("seed", options.seed.is_some()),
        ]);
        let mut temperature = options.temperature.clone();
        if let Some(given) = &options.temperature {
            let value = given.as_f64();
            if value > 1.0 {
                let details = format!(
                    "{} exceeds anthropic maximum of 1.0. clamped to 1.0",
                    given.to_js()
                );
                log.warn(Warning::unsupported_because("temperature", details));
                temperature = Some(1.into());
            } else if value < 0.0 {
                let details = format!("{} is below anthropic minimum of 0. clamped to 0", given.to_js());
                log.warn(Warning::unsupported_because("temperature", details));
                temperature = Some(0.into());
            }
        }
        if matches!(chat::json_format(options), Some(format) if format.schema.is_none()) {
            log.warn(Warning::unsupported_because(
                "responseFormat",
                "JSON response format requires a schema. The response format is ignored.",
            ));
        }
        Sampling {
            temperature,
            top_k: options.top_k.clone(),
            top_p: options.top_p.clone(),
        }
    }

    /// Models without such settings, and models nobody knows.
    pub(super) fn limit(&mut self, call: &Call<'_>, model: &Model, log: &mut Log) {
        if !model.is_known && call.options.max_output_tokens.is_none() {
            let details = format!(
                "The model \"{}\" is unknown. The max output tokens have been limited to {}. Set maxOutputTokens \
                 explicitly to override this limit.",
                call.model, model.max_output
            );
            log.warn(Warning::compatibility("maxOutputTokens", details));
        }
        if model.takes_sampling {
            return;
        }
        for (feature, value) in [
            ("temperature", &mut self.temperature),
            ("topK", &mut self.top_k),
            ("topP", &mut self.top_p),
        ] {
            if value.take().is_some() {
                let details = format!("{feature} is not supported by {} and will be ignored", call.model);
                log.warn(Warning::unsupported_because(feature, details));
            }
        }
    }

    /// What does not go with thinking, or with each other.
    pub(super) fn rest(&mut self, is_thinking: bool, call: &Call<'_>, model: &Model, log: &mut Log) {
        if is_thinking {
            for (feature, value) in [
                ("temperature", &mut self.temperature),
                ("topK", &mut self.top_k),
                ("topP", &mut self.top_p),
            ] {
                if value.take().is_some() {
                    let details = format!("{feature} is not supported when thinking is enabled");
                    log.warn(Warning::unsupported_because(feature, details));
                }
            }
        } else if (model.is_known || call.model.contains("claude-"))
            && self.temperature.is_some()
            && self.top_p.take().is_some()
        {
            log.warn(Warning::unsupported_because(
                "topP",
                "topP is not supported when temperature is set. topP is ignored.",
            ));
        }
    }

    /// The most tokens to answer with, those for thinking included.
    pub(super) fn max_tokens(&self, budget: f64, call: &Call<'_>, model: &Model, log: &mut Log) -> Number {
        let given = call.options.max_output_tokens.as_ref();
        let wanted = given.map_or(model.max_output, Number::as_f64) + budget;
        if !model.is_known || wanted <= model.max_output {
            return match given {
                Some(given) if budget == 0.0 => given.clone(),
                _ => number(wanted),
            };
        }
        if given.is_some() {
            let details = format!(
                "{} (maxOutputTokens + thinkingBudget) is greater than {} {max} max output tokens. The max output \
                 tokens have been limited to {max}.",
                number(wanted),
                call.model,
                max = model.max_output,
            );
            log.warn(Warning::unsupported_because("maxOutputTokens", details));
        }
        number(model.max_output)
    }
}

/// A count as JSON has it.
pub(super) fn number(value: f64) -> Number {
    Number::from_f64(value).unwrap_or_else(|| 0.into())
}

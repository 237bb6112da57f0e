//! xAI: the Responses API, and the chat API that the fourth major version still had.

mod chat;
mod responses;

use super::options::Options;
use super::{Call, Log, Target, common};
use crate::error::SdkError;
use crate::json::{Number, Text};
use crate::types::{ProviderOptions, Reasoning, Warning};

/// The chat completions API.
pub const CHAT: Target = Target {
    provider: "xai",
    api: "chat",
    build: chat::build,
};

/// The Responses API.
pub const RESPONSES: Target = Target {
    provider: "xai",
    api: "responses",
    build: responses::build,
};

const PROVIDER: &str = "xai";

const EFFORTS: &[&str] = &["none", "low", "medium", "high", "xhigh"];

/// Whether the model has efforts to choose from: all but the Grok 4.20 pair.
fn has_efforts(model: &str) -> bool {
    let Some(rest) = model.strip_prefix("grok-4.20-") else {
        return true;
    };
    // A snapshot has four digits between.
    let rest = match rest.split_once('-') {
        Some((date, rest)) if date.len() == 4 && date.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => rest,
    };
    !matches!(rest, "reasoning" | "non-reasoning")
}

/// The warning for a reasoning level that the model cannot take at all.
fn no_reasoning(level: &str, log: &mut Log) {
    let details = format!("reasoning \"{level}\" is not supported by this model.");
    log.warn(Warning::unsupported_because("reasoning", details));
}

/// The effort to ask for: the caller's own option, else what its reasoning level comes to.
fn effort(call: &Call<'_>, own: Option<&'static str>, log: &mut Log) -> Option<Text> {
    let wanted = call.options.reasoning.filter(|level| level.is_custom());
    match (own, wanted) {
        (Some(own), _) => Some(own.into()),
        (None, Some(level)) if !has_efforts(call.model) => {
            no_reasoning(level.as_str(), log);
            None
        }
        (None, Some(Reasoning::None)) => Some("none".into()),
        (None, wanted) => {
            let most = if call.model == "grok-4.6" { "xhigh" } else { "high" };
            let efforts = [
                ("minimal", "low"),
                ("low", "low"),
                ("medium", "medium"),
                ("high", "high"),
                ("xhigh", most),
            ];
            let mut warn = |warning| log.warn(warning);
            let wanted = common::without_max(wanted, call.profile, &mut warn);
            common::reasoning_effort(wanted, &efforts, None, &mut warn)
        }
    }
}

/// How closely an image shall be looked at.
fn image_detail(options: Option<&ProviderOptions>) -> Result<Option<&'static str>, SdkError> {
    Options::of(options, PROVIDER).word("imageDetail", &["low", "high", "auto"])
}

/// Log probabilities may be asked for up to this many tokens.
fn top_logprobs(own: &Options<'_>) -> Result<Option<Number>, SdkError> {
    let number = own.read::<Number>("topLogprobs")?;
    match number.as_ref().map(Number::as_i64) {
        None | Some(Some(0..=8)) => Ok(number),
        Some(_) => Err(own.invalid("topLogprobs must be a whole number from 0 to 8")),
    }
}

#[cfg(test)]
mod tests {
    use super::has_efforts;

    #[test]
    fn only_the_grok_4_20_pair_has_no_efforts() {
        assert!(!has_efforts("grok-4.20-reasoning") && !has_efforts("grok-4.20-0309-non-reasoning"));
        assert!(has_efforts("grok-4.20") && has_efforts("grok-4.20-fast") && has_efforts("grok-4.5"));
    }
}

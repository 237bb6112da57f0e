//! What OpenAI's models can do, as far as a request depends on it.
//!
//! The SDK reads it from the model's name, with a few exceptions by name. A name of no known family
//! counts as an ordinary model without reasoning.

/// What a model can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Model {
    /// Whether it reasons.
    pub(super) reasoning: bool,
    /// The efforts it has, if they are known.
    pub(super) efforts: Option<&'static [&'static str]>,
    /// Whether it takes sampling settings when its effort is `none`.
    pub(super) samples_without_effort: bool,
    /// Whether it has the flex service tier.
    pub(super) flex: bool,
    /// Whether it has the priority service tier.
    pub(super) priority: bool,
    /// Whether effort and format can be changed in the middle of a conversation.
    pub(super) configuration_updates: bool,
    /// Whether it goes on while a tool runs.
    pub(super) async_tools: bool,
    /// Whether the prompt cache retention can be set.
    pub(super) cache_retention: bool,
    /// Whether the chat API takes a temperature (search models do not).
    pub(super) chat_temperature: bool,
    /// Whether the chat API takes function tools together with reasoning.
    pub(super) chat_tools_with_reasoning: bool,
    /// Whether the Responses API gives log probabilities only without reasoning.
    pub(super) logprobs_need_no_effort: bool,
}

const EFFORTS_FROM_MINIMAL: &[&str] = &["minimal", "low", "medium", "high"];
const EFFORTS_FROM_NONE: &[&str] = &["none", "low", "medium", "high"];
const EFFORTS_TO_XHIGH: &[&str] = &["none", "low", "medium", "high", "xhigh"];
const EFFORTS_TO_MAX: &[&str] = &["none", "low", "medium", "high", "xhigh", "max"];
const EFFORTS_ALWAYS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// Models of the sixth generation that can also do without reasoning.
const CONFIGURABLE: &[&str] = &["gpt-6.1-terra", "gpt-6-luna", "gpt-6-sol"];

impl Model {
    /// What the model of this name can do.
    pub(super) fn named(id: &str) -> Self {
        let series = o_series(id);
        let gpt = Gpt::parse(id);
        let at_least =
            |major, minor| gpt.is_some_and(|gpt| (gpt.major, gpt.minor.unwrap_or(0)) >= (major, minor));
        let fifth_or_later = at_least(5, 0);
        let sixth_or_later = at_least(6, 0);
        let is_variant =
            |of: &str| gpt.is_some_and(|gpt| gpt.variant.is_some_and(|variant| variant.starts_with(of)));
        let chat = is_variant("chat") && gpt.is_some_and(|gpt| gpt.minor.is_none());
        let third_series_or_later = series.is_some_and(|series| series >= 3);
        let configurable = CONFIGURABLE.contains(&id);
        Model {
            reasoning: series.is_some() || fifth_or_later && !chat,
            efforts: match gpt {
                _ if configurable => Some(EFFORTS_TO_MAX),
                Some(_) if sixth_or_later => Some(EFFORTS_ALWAYS),
                Some(gpt) if gpt.major == 5 && gpt.is_standard() => Some(match gpt.minor.unwrap_or(0) {
                    0 => EFFORTS_FROM_MINIMAL,
                    1 => EFFORTS_FROM_NONE,
                    2..6 => EFFORTS_TO_XHIGH,
                    6.. => EFFORTS_TO_MAX,
                }),
                _ => None,
            },
            samples_without_effort: configurable || at_least(5, 1) && !sixth_or_later,
            flex: third_series_or_later || fifth_or_later && !chat,
            priority: id.starts_with("gpt-4")
                || third_series_or_later
                || fifth_or_later && !chat && !is_variant("nano"),
            configuration_updates: sixth_or_later,
            async_tools: sixth_or_later,
            cache_retention: !sixth_or_later,
            chat_temperature: !id.starts_with("gpt-4o-search-preview")
                && !id.starts_with("gpt-4o-mini-search-preview"),
            chat_tools_with_reasoning: !at_least(5, 6) || sixth_or_later,
            logprobs_need_no_effort: sixth_or_later,
        }
    }
}

/// The number of an `o` model: 3 for `o3-mini`.
fn o_series(id: &str) -> Option<u32> {
    id.strip_prefix('o')?.split('-').next()?.parse().ok()
}

/// The parts of a name such as `gpt-5.1-mini`.
#[derive(Debug, Clone, Copy)]
struct Gpt<'a> {
    major: u32,
    minor: Option<u32>,
    variant: Option<&'a str>,
}

impl<'a> Gpt<'a> {
    fn parse(id: &'a str) -> Option<Self> {
        let rest = id.strip_prefix("gpt-")?;
        let (version, variant) = match rest.split_once('-') {
            Some((_, "")) => return None,
            Some((version, variant)) => (version, Some(variant)),
            None => (rest, None),
        };
        let (major, minor) = match version.split_once('.') {
            Some((major, minor)) => (major, Some(number(minor)?)),
            None => (version, None),
        };
        Some(Gpt {
            major: number(major)?,
            minor,
            variant,
        })
    }

    /// Whether this is a main model, a known size of it, or a dated snapshot of one of these.
    fn is_standard(&self) -> bool {
        let Some(variant) = self.variant else { return true };
        let sizes = ["mini", "nano", "sol", "luna", "terra"];
        is_date(variant)
            || sizes.iter().any(|size| {
                variant
                    .strip_prefix(size)
                    .is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_date))
            })
    }
}

fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// Whether the text is a date such as `2025-08-07`.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_model_can_do() {
        let reasoning = |id| Model::named(id).reasoning;
        assert!(
            reasoning("o1") && reasoning("o3-mini") && reasoning("gpt-5") && reasoning("gpt-5.1-chat-latest")
        );
        assert!(
            !reasoning("gpt-4o")
                && !reasoning("gpt-5-chat-latest")
                && !reasoning("acme")
                && !reasoning("omni")
        );
        assert_eq!(
            Model::named("gpt-5-mini-2025-08-07").efforts,
            Some(EFFORTS_FROM_MINIMAL)
        );
        assert_eq!(Model::named("gpt-5-pro").efforts, None);
        assert_eq!(Model::named("gpt-6-sol").efforts, Some(EFFORTS_TO_MAX));
        assert!(!Model::named("gpt-5.6").chat_tools_with_reasoning);
        assert!(
            Model::named("gpt-5.1").samples_without_effort && !Model::named("gpt-5").samples_without_effort
        );
        assert!(!Model::named("gpt-5-nano").priority && Model::named("gpt-5-nano").flex);
    }
}

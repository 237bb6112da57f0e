//! OpenAI: the chat completions API and the Responses API.
//!
//! The two share the catalogue of what each model can do, the mending of JSON Schemas, and the system
//! message modes. Not supported here, because the SDK needs tools of its own for them: the item shapes
//! of OpenAI's local shell, shell, apply-patch, computer, tool-search and programmatic-calling tools,
//! and the expansion of its `parallel` wrapper call. Such calls are sent as plain function calls.

mod catalog;
mod chat;
mod content;
mod input;
mod responses;
mod schema;
mod tools;

use super::Target;
use crate::json::Json;
use crate::typed::words;
use crate::types::{ProviderOptions, Warning, provider_option};

/// The chat completions API.
pub const CHAT: Target = Target {
    provider: "openai",
    api: "chat",
    build: chat::build,
};

/// The Responses API.
pub const RESPONSES: Target = Target {
    provider: "openai",
    api: "responses",
    build: responses::build,
};

/// The name under which both APIs look for their options.
const PROVIDER: &str = "openai";

words! {
    /// What becomes of system messages.
    pub enum SystemMode, "a system message mode" {
        /// They stay system messages.
        System = "system",
        /// They become developer messages, as reasoning models want them.
        Developer = "developer",
        /// They are dropped, with a warning each.
        Remove = "remove",
    }
}

const SERVICE_TIERS: &[&str] = &["auto", "flex", "priority", "fast", "ultrafast", "default"];

/// The mark that ends a cached prefix, if options carry one.
fn cache_breakpoint(options: Option<&ProviderOptions>) -> Option<&Json> {
    provider_option(options, PROVIDER, "promptCacheBreakpoint")
}

/// Drops a service tier that the model does not have, with the SDK's warning.
fn check_service_tier(
    tier: Option<&'static str>,
    model: &catalog::Model,
    warn: &mut impl FnMut(Warning),
) -> Option<&'static str> {
    let details = match tier? {
        "flex" if !model.flex => "flex processing is only available for o3, o4-mini, and gpt-5 models",
        "priority" | "fast" if !model.priority => {
            "priority processing is only available for supported models (gpt-4, gpt-5, gpt-5-mini, o3, o4-mini) \
             and requires Enterprise access. gpt-5-nano is not supported"
        }
        _ => return tier,
    };
    warn(Warning::unsupported_because("serviceTier", details));
    None
}

/// The warning for a setting that reasoning models do not take.
fn not_for_reasoning(feature: &str) -> Warning {
    Warning::unsupported_because(
        feature,
        format!("{feature} is not supported for reasoning models"),
    )
}

/// The warning for the cache retention option on models that have no such thing.
fn no_cache_retention() -> Warning {
    Warning::unsupported_because(
        "promptCacheRetention",
        "promptCacheRetention is not supported by GPT-6 and later models; use promptCacheOptions instead",
    )
}

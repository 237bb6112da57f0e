//! Any prompt, for the provider and model that the first bytes choose: a body in JSON or a named error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapline_prompt::json::{Json, Object};
use tapline_prompt::providers::{Call, Profile, TARGETS};
use tapline_prompt::types::{CallOptions, Prompt};

const MODELS: &[&str] = &[
    "gpt-4o",
    "gpt-5",
    "claude-sonnet-4-5",
    "claude-sonnet-5-5",
    "gemini-2.5-flash",
    "gemini-3-pro-preview",
    "gemma-3-27b-it",
    "mistral.mistral-large-2402-v1:0",
];

fuzz_target!(|input: (u8, u8, bool, &str)| {
    let (target, model, is_exact, text) = input;
    let Ok(prompt) = Prompt::parse(text) else { return };
    let (settings, options) = (Object::new(), CallOptions::new());
    let call = Call {
        model: MODELS[usize::from(model) % MODELS.len()],
        settings: &settings,
        prompt: &prompt,
        options: &options,
        profile: if is_exact { Profile::Exact } else { Profile::Fixed },
    };
    match TARGETS[usize::from(target) % TARGETS.len()].convert(&call) {
        Ok(conversion) => drop(Json::parse(&conversion.to_json().to_js()).expect("a body in JSON")),
        Err(error) => assert!(!error.name().is_empty() && !error.to_string().is_empty()),
    }
});

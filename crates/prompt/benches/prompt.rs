//! Parse, validate and convert a conversation of 1,000 messages with 5 MB of base64.
//!
//! `benches/node` does the same with the published packages; `benches/compare.sh` runs both.

mod conversation;

use std::sync::Arc;

use divan::{Bencher, black_box};
use tapline_prompt::check::Checks;
use tapline_prompt::json::{Json, Object};
use tapline_prompt::providers::{Call, Profile, Target};
use tapline_prompt::types::{CallOptions, Prompt};

fn main() {
    divan::main();
}

fn source() -> Arc<String> {
    Arc::new(conversation::conversation())
}

fn parsed(source: &Arc<String>) -> Prompt {
    let json = Json::parse_owned(Arc::clone(source)).expect("the conversation is JSON");
    Prompt::from_value(json).expect("the conversation is a prompt")
}

#[divan::bench]
fn parse(bencher: Bencher) {
    let source = source();
    bencher.bench(|| parsed(black_box(&source)));
}

#[divan::bench]
fn parse_and_validate(bencher: Bencher) {
    let source = source();
    bencher.bench(|| Checks::all().run(&parsed(black_box(&source))));
}

/// The whole way: JSON text to the text of a request body.
#[divan::bench(args = ["openai/responses", "anthropic/messages", "google/generateContent"])]
fn parse_validate_convert(bencher: Bencher, target: &str) {
    let source = source();
    let (provider, api) = target.split_once('/').expect("provider/api");
    let target = Target::find(provider, api).expect("a target");
    let model = match provider {
        "openai" => "gpt-4o",
        "anthropic" => "claude-sonnet-4-5",
        _ => "gemini-2.5-flash",
    };
    bencher.bench(|| {
        let prompt = parsed(black_box(&source));
        let faults = Checks::all().run(&prompt);
        let (settings, options) = (Object::new(), CallOptions::new());
        let call = Call {
            model,
            settings: &settings,
            prompt: &prompt,
            options: &options,
            profile: Profile::Exact,
        };
        let conversion = target.convert(&call).expect("the conversation converts");
        (Json::from(conversion.request.body).to_js(), faults)
    });
}

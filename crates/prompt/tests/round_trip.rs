//! JSON → types → JSON loses nothing.

mod common;

use tapline_prompt::json::Json;
use tapline_prompt::typed::Typed;
use tapline_prompt::types::{CallOptions, GenerateResult, Prompt, StreamPart};

/// The text of a value with the `$bytes` of the vectors written as the base64 that export gives.
fn with_bytes_as_base64(value: &Json) -> Json {
    match value {
        Json::Object(object) => match object.get("$bytes") {
            Some(base64) => base64.clone(),
            None => Json::Object(
                object
                    .iter()
                    .map(|(key, value)| (key, with_bytes_as_base64(value)))
                    .collect(),
            ),
        },
        Json::Array(items) => Json::Array(items.iter().map(with_bytes_as_base64).collect()),
        other => other.clone(),
    }
}

#[test]
fn every_recorded_prompt_comes_back_byte_for_byte() {
    let providers = [
        "amazon-bedrock",
        "anthropic",
        "cohere",
        "deepseek",
        "gateway",
        "google",
        "groq",
        "mistral",
        "openai",
        "openai-compatible",
        "xai",
    ];
    for provider in providers {
        for (name, vector) in common::vectors_in(&format!("prompt-to-provider/{provider}")) {
            let source = vector.get("prompt").expect("a prompt");
            let prompt = Prompt::from_value(source.clone())
                .unwrap_or_else(|faults| panic!("{provider}/{name}: {faults}"));
            assert_eq!(
                prompt.to_json().to_source(),
                with_bytes_as_base64(source).to_source(),
                "{provider}/{name}"
            );
            if let Some(options) = vector.get("options") {
                let typed = CallOptions::from_json(options.clone())
                    .unwrap_or_else(|faults| panic!("{provider}/{name}: {faults}"));
                assert_eq!(
                    typed.to_json().to_source(),
                    options.to_source(),
                    "{provider}/{name}"
                );
            }
        }
    }
}

#[test]
fn unknown_members_number_text_and_url_text_survive_in_their_places() {
    let text = concat!(
        r#"[{"x":1.0,"role":"user","content":[{"filename":"f","y":[{"b":1,"2":1e2}],"type":"file","#,
        r#""data":{"z":null,"type":"url","url":"HTTPS://Example.com/a b","originalUrl":"o"},"mediaType":"image"}],"#,
        r#""providerOptions":{"p":{"n":-0,"m":12345678901234567890123}}}]"#
    );
    let prompt = Prompt::parse(text).expect("a valid prompt");
    assert_eq!(prompt.to_json().to_source(), text);
}

#[test]
fn results_and_stream_parts_come_back_too() {
    let result = concat!(
        r#"{"content":[{"type":"source","sourceType":"url","id":"1","url":"u"},{"type":"tool-call","toolCallId":"c","#,
        r#""toolName":"t","input":"{}","dynamic":true}],"finishReason":{"unified":"stop","raw":"end"},"#,
        r#""usage":{"inputTokens":{"total":1},"outputTokens":{}},"warnings":[{"type":"other","message":"m"}]}"#
    );
    let typed = GenerateResult::from_json(Json::parse(result).expect("JSON")).expect("a result");
    assert_eq!(typed.to_json().to_source(), result);
    for part in [
        r#"{"type":"text-start","id":"1"}"#,
        r#"{"type":"raw","rawValue":null}"#,
        r#"{"type":"tool-input-start","id":"1","toolName":"t","inputEncoding":"text"}"#,
        r#"{"type":"finish","usage":{"inputTokens":{},"outputTokens":{}},"finishReason":{"unified":"length"}}"#,
        r#"{"type":"response-metadata","timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"type":"ping"}"#,
    ] {
        let typed = StreamPart::from_json(Json::parse(part).expect("JSON")).expect(part);
        assert_eq!(typed.to_json().to_source(), part);
    }
}

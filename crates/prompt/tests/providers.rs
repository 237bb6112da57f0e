//! Every provider against its vectors, and the report beside the body.

mod common;

use tapline_prompt::json::{Json, Object};
use tapline_prompt::providers::{TARGETS, convert_line};

/// The vectors of one target: those of its provider's folder that are for its API.
fn vectors_of(provider: &str, api: &str) -> Vec<(String, Json)> {
    let mut vectors = common::vectors_in(&format!("prompt-to-provider/{provider}"));
    vectors.retain(|(_, vector)| vector.get("api").and_then(Json::as_str) == Some(api));
    assert!(!vectors.is_empty(), "no vectors for {provider}/{api}");
    vectors
}

/// The line that asks for the conversion of a vector, with more members if given.
fn line(vector: &Json, more: &[(&str, &str)]) -> String {
    let wanted = [
        "provider", "api", "model", "variant", "settings", "prompt", "options",
    ];
    let mut request: Object = wanted
        .iter()
        .filter_map(|key| Some((*key, vector.get(key)?.clone())))
        .collect();
    for (key, value) in more {
        request.insert(*key, *value);
    }
    Json::from(request).to_source()
}

fn convert(line: &str) -> Json {
    Json::parse(&convert_line(line)).expect("an answer in JSON")
}

/// What differs between a vector and the answer to it.
fn check(vector: &Json, answer: &Json) -> Option<String> {
    if let Some(error) = vector.get("error") {
        let Some(got) = answer.get("error") else {
            return Some(format!("want {error}, got a body"));
        };
        let is_normative = error.get("messageIsNormative") != Some(&Json::Bool(false));
        let keys: &[&str] = if is_normative {
            &["name", "message"]
        } else {
            &["name"]
        };
        return keys.iter().find_map(|key| {
            (error.get(key) != got.get(key)).then(|| format!("{key}: want {error}, got {got}"))
        });
    }
    if let Some(error) = answer.get("error") {
        return Some(format!("want a body, got {error}"));
    }
    let headers = vector.get("headers").into_iter().flat_map(|headers| {
        headers
            .as_object()
            .expect("headers are an object")
            .iter()
            .map(|(key, value)| (key, value, answer))
    });
    ["path", "body", "warnings"]
        .iter()
        .find_map(|key| common::difference(vector.get(key)?, answer.get(key)?))
        .or_else(|| {
            headers.into_iter().find_map(|(key, want, answer)| {
                let got = answer.get("headers").and_then(|headers| headers.get(key));
                (got != Some(want)).then(|| format!("header {key}: want {want}, got {got:?}"))
            })
        })
}

#[test]
fn bodies_warnings_and_errors_are_those_of_the_published_packages() {
    let mut differences = Vec::new();
    for target in TARGETS {
        for (name, vector) in vectors_of(target.provider, target.api) {
            if let Some(difference) = check(&vector, &convert(&line(&vector, &[]))) {
                differences.push(format!("{}/{name}: {difference}", target.provider));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_mended_profile_converts_whatever_the_exact_one_converts() {
    for target in TARGETS {
        for (name, vector) in vectors_of(target.provider, target.api) {
            if vector.get("error").is_none() {
                let answer = convert(&line(&vector, &[("profile", "fixed")]));
                assert!(
                    answer.get("body").is_some(),
                    "{}/{name}: {answer}",
                    target.provider
                );
            }
        }
    }
}

#[test]
fn every_prompt_converts_for_every_target_to_a_body_or_a_named_error() {
    for target in TARGETS {
        for (name, vector) in common::vectors_in("prompt-to-provider/gateway") {
            let mut request = vector.as_object().expect("a vector").clone();
            for key in ["provider", "api", "path", "body", "warnings", "name", "covers"] {
                request.remove(key);
            }
            request.insert("provider", target.provider);
            request.insert("api", target.api);
            let answer = convert(&Json::from(request).to_source());
            let named = answer
                .get("error")
                .and_then(|error| error.get("name"))
                .and_then(Json::as_str);
            assert!(
                answer.get("body").is_some() || named.is_some(),
                "{}/{name}: {answer}",
                target.provider
            );
        }
    }
}

fn report(answer: &Json) -> Vec<String> {
    let report = answer.get("report").and_then(Json::as_array).unwrap_or_default();
    let member = |change: &Json, key| {
        change
            .get(key)
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    report
        .iter()
        .map(|change| format!("{} {}", member(change, "kind"), member(change, "path")))
        .collect()
}

#[test]
fn what_vanishes_without_a_warning_is_in_the_report() {
    let prompt = r#"[{"role":"assistant","content":[
        {"type":"reasoning","text":"t"},
        {"type":"file","mediaType":"image/png","data":{"type":"data","data":""}},
        {"type":"tool-call","toolCallId":"c","toolName":"t","input":[1]}]},
        {"role":"tool","content":[
        {"type":"tool-approval-response","approvalId":"a","approved":true},
        {"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"content","value":[{"type":"custom"}]}}]}]"#;
    let ask = |api: &str| {
        let line = format!(r#"{{"provider":"openai","api":"{api}","model":"gpt-4o","prompt":{prompt}}}"#);
        report(&convert(&line.replace('\n', " ")))
    };
    assert_eq!(
        ask("chat"),
        [
            "dropped prompt[0].content[0]",
            "dropped prompt[0].content[1]",
            "changed prompt[0].content[2].input",
            "dropped prompt[1].content[0]",
            "changed prompt[1].content[1].output",
        ]
    );
    assert_eq!(
        ask("responses"),
        [
            "dropped prompt[0].content[0]",
            "dropped prompt[0].content[1]",
            "dropped prompt[1].content[1].output.value[0]",
        ]
    );
}

#[test]
fn the_mended_profile_sends_bytes_in_tool_results_as_base64() {
    let line = concat!(
        r#"{"provider":"openai","api":"chat","model":"gpt-4o","profile":"PROFILE","prompt":[{"role":"tool","content":"#,
        r#"[{"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"content","value":[{"type":"file","#,
        r#""mediaType":"image/png","data":{"type":"data","data":{"0":137,"1":80}}}]}}]}]}"#
    );
    let content = |profile: &str| {
        let answer = convert(&line.replace("PROFILE", profile));
        let messages = answer
            .get("body")
            .and_then(|body| body.get("messages"))
            .and_then(Json::as_array);
        messages
            .and_then(|messages| messages[0].get("content")?.as_text().cloned())
            .expect("a tool message")
    };
    assert!(content("exact").contains(r#""data":{"0":137,"1":80}"#));
    assert!(content("fixed").contains(r#""data":"iVA=""#));
}

#[test]
fn base64_is_not_copied_before_the_body_is_written() {
    use std::sync::Arc;

    use tapline_prompt::providers::{Call, Profile, Target};
    use tapline_prompt::types::{CallOptions, Prompt};

    let base64 = "iVBORw0KGgoA".repeat(10_000);
    let source = Arc::new(format!(
        r#"[{{"role":"user","content":[{{"type":"file","mediaType":"image/*","data":{{"type":"data","data":"{base64}"}}}}]}}]"#
    ));
    let prompt = Prompt::from_value(Json::parse_owned(Arc::clone(&source)).expect("JSON")).expect("a prompt");
    for (provider, api) in [
        ("openai", "chat"),
        ("openai", "responses"),
        ("deepseek", "chat"),
        ("xai", "responses"),
        ("mistral", "chat"),
        ("cohere", "chat"),
        ("anthropic", "messages"),
        ("google", "generateContent"),
        ("amazon-bedrock", "converse"),
    ] {
        let (settings, options) = (Object::new(), CallOptions::new());
        let call = Call {
            model: "gpt-4o",
            settings: &settings,
            prompt: &prompt,
            options: &options,
            profile: Profile::Exact,
        };
        let target = Target::find(provider, api).expect("a target");
        let body = Json::from(target.convert(&call).expect("a body").request.body);
        let url = find_long_text(&body).unwrap_or_else(|| panic!("{provider}/{api}: no data URL"));
        // A data URL is a head and the base64, elsewhere the base64 stands alone.
        let payload = url.pieces().pop().expect("a piece");
        assert_eq!(payload, base64);
        let window = source.as_bytes().as_ptr_range();
        assert!(
            window.contains(&payload.as_ptr()),
            "{provider}/{api}: the base64 was copied"
        );
    }
}

fn find_long_text(value: &Json) -> Option<tapline_prompt::json::Text> {
    match value {
        Json::String(text) if text.len() > 1000 => Some(text.clone()),
        Json::Array(items) => items.iter().find_map(find_long_text),
        Json::Object(object) => object.iter().find_map(|(_, value)| find_long_text(value)),
        _ => None,
    }
}

//! The JSON Schema beside the types: it stands in a file, takes what they take, and refuses what they
//! refuse.

mod common;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tapline_prompt::json::Json;
use tapline_prompt::types::Prompt;

fn schema() -> Value {
    tapline_prompt::schema::prompt().to_value()
}

fn as_value(json: &Json) -> Value {
    serde_json::from_str(&json.to_source()).expect("our own JSON")
}

#[test]
fn the_file_is_the_schema_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/prompt.schema.json");
    let now = serde_json::to_string_pretty(&schema()).expect("a schema in JSON") + "\n";
    if std::env::var_os("WRITE_SCHEMA").is_some() {
        fs::write(&path, &now).expect("a writable schema file");
    }
    let file = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(file, now, "run this test with WRITE_SCHEMA=1 to write the file");
}

#[test]
fn every_recorded_prompt_is_valid_as_given_and_as_sent_to_the_gateway() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let check = |name: &str, prompt: &Json| {
        let faults: Vec<String> = validator
            .iter_errors(&as_value(prompt))
            .map(|fault| format!("{}: {fault}", fault.instance_path))
            .collect();
        assert!(faults.is_empty(), "{name}: {}", faults.join("\n"));
    };
    for (name, vector) in common::vectors_in("prompt-to-provider/gateway") {
        check(&name, vector.get("prompt").expect("a prompt"));
        check(
            &name,
            vector
                .get("body")
                .and_then(|body| body.get("prompt"))
                .expect("a sent prompt"),
        );
    }
}

#[test]
fn what_the_types_refuse_the_schema_refuses() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    for text in [
        r#"{}"#,
        r#"[{"role":"usr","content":[]}]"#,
        r#"[{"role":"user","content":"hi"}]"#,
        r#"[{"role":"user","content":null}]"#,
        r#"[{"role":"user","content":[{"type":"tool-call","toolCallId":"c","toolName":"t"}]}]"#,
        r#"[{"role":"user","content":[{"type":"file","data":{"type":"data","data":""}}]}]"#,
        r#"[{"role":"assistant","content":[{"type":"custom","kind":"nodot"}]}]"#,
        r#"[{"role":"assistant","content":[{"type":"reasoning-file","mediaType":"image/png","data":{"type":"reference","reference":{}}}]}]"#,
        r#"[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"text","value":1}}]}]"#,
        r#"[{"role":"system","content":"s","providerOptions":{"openai":1}}]"#,
    ] {
        assert!(Prompt::parse(text).is_err(), "{text}");
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert!(!validator.is_valid(&value), "{text}");
    }
}

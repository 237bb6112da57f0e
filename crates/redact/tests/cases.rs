//! The public bug report behind this crate: tokens in a tool's output, its input and on standard error.

use tapline_redact::Rules;

const FRAMES: &[&str] = &[
    r#"{"sessionUpdate":"tool_call","rawInput":{"command":"cat .env","env":{"DEPLOY_TOKEN":"not-a-real-token-1111222233334444"}}}"#,
    r#"{"text":"HOST=example.test\nAPI_TOKEN=not-a-real-token-5555666677778888\nAuthorization: Bearer not-a-real-bearer-9999000011112222\nDATABASE_URL=postgres://app:not-a-real-password@db.example.test/app\n"}"#,
    r#"{"text":"The token in the file is out of date."}"#,
    r#"{"dir":"in","stderr":"request failed, Authorization: Bearer not-a-real-bearer-9999000011112222"}"#,
];

#[test]
fn tokens_in_output_input_and_stderr_are_masked_and_the_rest_stays() {
    let rules = Rules::new();
    let all: String = FRAMES
        .iter()
        .map(|frame| rules.mask_json(frame).into_owned() + "\n")
        .collect();
    assert!(!all.contains("not-a-real"), "{all}");
    for kept in [
        "\"command\":\"cat .env\"",
        "\"DEPLOY_TOKEN\":\"",
        "HOST=example.test\\nAPI_TOKEN=[redacted:secret]\\nAuthorization: Bearer [redacted:authorization]\\nDATABASE_URL=",
        "postgres://app:[redacted:url-password]@db.example.test/app\\n",
        "The token in the file is out of date.",
        "request failed, Authorization: Bearer [redacted:authorization]\"}",
    ] {
        assert!(all.contains(kept), "{kept} is missing from {all}");
    }
}

//! Every fault with its path, and the checks of meaning.

use tapline_prompt::check::Checks;
use tapline_prompt::fault::{Fault, FaultKind};
use tapline_prompt::types::Prompt;

fn faults(prompt: &str) -> Vec<Fault> {
    match Prompt::parse(prompt) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.into_iter().collect(),
    }
}

fn summary(faults: &[Fault]) -> Vec<String> {
    faults
        .iter()
        .map(|fault| format!("{} {}", fault.path, fault.kind.code()))
        .collect()
}

#[test]
fn all_faults_of_a_prompt_are_reported_at_once() {
    let found = faults(
        r#"[
        {"role":"usr","content":[]},
        {"role":"user","content":"hi"},
        {"role":"user","content":[
            {"type":"tool-call","toolCallId":"c","toolName":"t","input":{}},
            {"type":"text"},
            {"type":"file","mediaType":5,"data":{"type":"url","url":"no url"}},
            {"type":"file","mediaType":"image","data":{"type":"reference","reference":{"openai":1}}},
            7]},
        {"role":"assistant","content":[
            {"type":"custom","kind":"nodot"},
            {"type":"reasoning-file","mediaType":"image/png","data":{"type":"reference","reference":{}}},
            {"type":"text","text":"a","providerOptions":{"openai":null}}]},
        {"role":"tool","content":[
            {"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"text","value":1}},
            {"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"content","value":[{"type":"file","data":{"type":"data","data":7}}]}},
            {"type":"tool-approval-response","approvalId":"a","approved":"yes"}]},
        {"role":"system","content":null},
        null]"#,
    );
    assert_eq!(
        summary(&found),
        [
            "prompt[0].role unknown-tag",
            "prompt[1].content wrong-type",
            "prompt[2].content[0].type unknown-tag",
            "prompt[2].content[1].text missing",
            "prompt[2].content[2].mediaType wrong-type",
            "prompt[2].content[2].data.url bad-value",
            "prompt[2].content[3].data.reference.openai wrong-type",
            "prompt[2].content[4] wrong-type",
            "prompt[3].content[0].kind bad-value",
            "prompt[3].content[1].data.type unknown-tag",
            "prompt[3].content[2].providerOptions.openai wrong-type",
            "prompt[4].content[0].output.value wrong-type",
            "prompt[4].content[1].output.value[0].mediaType missing",
            "prompt[4].content[1].output.value[0].data.data wrong-type",
            "prompt[4].content[2].approved wrong-type",
            "prompt[5].content wrong-type",
            "prompt[6] wrong-type",
        ]
    );
}

#[test]
fn a_fault_says_what_was_found_what_is_allowed_and_how_to_mend_it() {
    let found =
        faults(r#"[{"role":"user","content":[{"type":"tool-call"}]},{"role":"user","content":"hi"}]"#);
    assert_eq!(
        found[0].to_string(),
        "prompt[0].content[0].type: found \"tool-call\", allowed is \"text\", \"file\"; move the part into an \
         assistant message"
    );
    assert_eq!(
        found[1].to_string(),
        "prompt[1].content: found a string, allowed is an array, each item a part of a user message; wrap the \
         text: [{\"type\":\"text\",\"text\":…}]"
    );
    assert_eq!(found[1].path.pointer(), "/prompt/1/content");
}

#[test]
fn bad_json_is_a_fault_with_its_place() {
    let deep = format!(
        r#"[{{"role":"user","content":{}{}}}]"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let cases = [
        (
            r#"[{"role":"user","content":[{"type":"te"#,
            "[0].content[0].type",
            "cut off",
        ),
        (
            r#"[{"role":"user","content":[],"x":1e400}]"#,
            "[0].x",
            "too large",
        ),
        (
            r#"[{"role":"system","content":"\udc00"}]"#,
            "[0].content",
            "lone surrogate",
        ),
        (
            r#"[{"role":"system","role":"user","content":""}]"#,
            "[0].role",
            "twice",
        ),
        (deep.as_str(), "[0].content[0]", "nested deeper"),
        ("", "", "cut off"),
    ];
    for (text, path, message) in cases {
        let found = faults(text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].kind, FaultKind::BadJson);
        assert!(
            found[0].path.to_string().starts_with(path),
            "{text}: {}",
            found[0]
        );
        assert!(found[0].found.contains(message), "{text}: {}", found[0]);
    }
}

fn checked(checks: &Checks, prompt: &str) -> Vec<String> {
    summary(&checks.run(&Prompt::parse(prompt).expect("a well-formed prompt")))
}

#[test]
fn calls_results_and_approvals_must_fit_together() {
    let prompt = r#"[
        {"role":"user","content":[{"type":"text","text":"q"}]},
        {"role":"tool","content":[
            {"type":"tool-result","toolCallId":"early","toolName":"t","output":{"type":"text","value":""}},
            {"type":"tool-approval-response","approvalId":"a","approved":true}]},
        {"role":"assistant","content":[
            {"type":"tool-call","toolCallId":"early","toolName":"t","input":{}},
            {"type":"tool-call","toolCallId":"twice","toolName":"t","input":{}},
            {"type":"tool-call","toolCallId":"twice","toolName":"t","input":{}},
            {"type":"tool-call","toolCallId":"server","toolName":"t","input":{},"providerExecuted":true},
            {"type":"tool-call","toolCallId":"side","toolName":"t","input":{}},
            {"type":"tool-result","toolCallId":"side","toolName":"t","output":{"type":"text","value":""}}]},
        {"role":"tool","content":[
            {"type":"tool-approval-response","approvalId":"b","approved":true},
            {"type":"tool-approval-response","approvalId":"b","approved":false},
            {"type":"tool-result","toolCallId":"twice","toolName":"t","output":{"type":"text","value":""}},
            {"type":"tool-result","toolCallId":"twice","toolName":"t","output":{"type":"text","value":""}}]},
        {"role":"user","content":[{"type":"text","text":"r"}]},
        {"role":"assistant","content":[{"type":"tool-call","toolCallId":"last","toolName":"t","input":{}}]}]"#;
    assert_eq!(
        checked(&Checks::default(), prompt),
        [
            "prompt[1].content[0].toolCallId result-without-call",
            "prompt[1].content[1].approvalId approval-without-request",
            "prompt[2].content[0] call-without-result",
            "prompt[2].content[2].toolCallId duplicate-call",
            "prompt[2].content[5].toolCallId order",
            "prompt[3].content[1].approvalId approval-without-request",
            "prompt[3].content[3].toolCallId result-without-call",
            "prompt[5].content[0] call-without-result",
        ]
    );
    let only_calls = Checks {
        calls: true,
        ..Checks::none()
    };
    assert_eq!(checked(&only_calls, prompt).len(), 3);
    assert!(checked(&Checks::none(), prompt).is_empty());
}

#[test]
fn files_are_looked_into() {
    let prompt = r#"[{"role":"user","content":[
        {"type":"file","mediaType":"image/png","data":{"type":"data","data":"data:image/png;base64,AAAA"}},
        {"type":"file","mediaType":"image/jpeg","data":{"type":"data","data":"iVBORw0KGgo="}},
        {"type":"file","mediaType":"*/*","data":{"type":"url","url":"https://example.com"}},
        {"type":"file","mediaType":"image","data":{"type":"reference","reference":{}}},
        {"type":"file","mediaType":"audio/mp4","data":{"type":"data","data":"AAAAGGZ0eXBtcDQyAAAAAA=="}},
        {"type":"file","mediaType":"text/plain","data":{"type":"data","data":"aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="}}]}]"#;
    assert_eq!(
        checked(
            &Checks {
                largest_file: Some(20),
                ..Checks::default()
            },
            prompt
        ),
        [
            "prompt[0].content[0].data.data base64",
            "prompt[0].content[1].mediaType media-type",
            "prompt[0].content[2].mediaType media-type",
            "prompt[0].content[3].data.reference empty",
            "prompt[0].content[5].data.data oversize",
        ]
    );
}

#[test]
fn order_is_checked_when_asked_for() {
    let prompt = r#"[{"role":"system","content":"s"},{"role":"assistant","content":[]},{"role":"system","content":"t"}]"#;
    assert!(checked(&Checks::default(), prompt).is_empty());
    assert_eq!(
        checked(&Checks::all(), prompt),
        ["prompt[1].content empty", "prompt[1] order", "prompt[2] order"]
    );
}

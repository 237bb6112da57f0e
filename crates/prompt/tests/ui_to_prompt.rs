//! UI messages and model messages to prompts, pruning and approvals, against the recorded vectors.

mod common;

use tapline_prompt::error::SdkError;
use tapline_prompt::json::{Json, Object, Text};
use tapline_prompt::media_type::SupportedUrls;
use tapline_prompt::model_messages::approvals::{self, Approval, Verdict};
use tapline_prompt::model_messages::{
    Converted, Download, Downloads, Given, Instructions, Prune, PruneReasoning, PruneTools, Signed, ToPrompt,
    ToolOutcome, prune, standardize,
};
use tapline_prompt::typed::{Form, Typed};
use tapline_prompt::types::{Inline, Prompt, Warning};
use tapline_prompt::ui::{self, ToModelMessages};

/// The vectors of one kind, by the start of their names.
fn vectors(kind: &str) -> Vec<(String, Json)> {
    let mut vectors = common::vectors_in("ui-to-prompt");
    vectors.retain(|(name, _)| name.starts_with(kind));
    assert!(!vectors.is_empty(), "no vectors for {kind}");
    vectors
}

fn array(vector: &Json, key: &str) -> Vec<Json> {
    vector
        .get(key)
        .and_then(Json::as_array)
        .unwrap_or_else(|| panic!("{key} is an array"))
        .to_vec()
}

fn supported_urls(vector: &Json) -> SupportedUrls {
    let empty = Object::new();
    let urls = vector
        .get("supportedUrls")
        .and_then(Json::as_object)
        .unwrap_or(&empty);
    SupportedUrls::compile(urls.iter().map(|(media_type, patterns)| {
        let patterns = patterns.as_array().expect("patterns").iter();
        (
            media_type,
            patterns.map(|pattern| pattern.as_str().expect("a pattern")),
        )
    }))
    .expect("patterns that can be read")
}

/// What the vector says that a download gives, for the URLs that are wanted.
fn downloads(vector: &Json, to_prompt: &ToPrompt<'_>) -> Result<Downloads, SdkError> {
    let mut downloads = Downloads::default();
    for wanted in to_prompt.wanted_downloads()? {
        let recorded = vector
            .get("downloads")
            .and_then(|downloads| downloads.get(&wanted.url));
        let recorded = recorded.unwrap_or_else(|| panic!("{} is wanted but not recorded", wanted.url));
        let data = Inline::from_json(recorded.get("data").expect("data").clone()).expect("bytes");
        let download = Download {
            data: data.to_bytes().expect("bytes"),
            media_type: recorded.get("mediaType").and_then(Json::as_text).cloned(),
        };
        downloads.insert(wanted.url.to_string(), download);
    }
    Ok(downloads)
}

/// As text in which bytes and base64 differ, with the members in the SDK's own order.
fn prompt_text(prompt: &Prompt) -> String {
    prompt.to_json_as(Form::Stringify).to_source()
}

fn check_error(want: &Json, got: &SdkError) -> Option<String> {
    let same = want.get("name").and_then(Json::as_str) == Some(got.name())
        && want.get("message").and_then(Json::as_str) == Some(&got.to_string());
    (!same).then(|| format!("want {want}, got {}: {got}", got.name()))
}

fn check_prompt(vector: &Json, got: Result<Converted, SdkError>) -> Option<String> {
    match (vector.get("promptError"), got) {
        (Some(want), Err(got)) => check_error(want, &got),
        (None, Ok(got)) => {
            let want = Prompt::from_value(vector.get("prompt").expect("a prompt").clone()).expect("valid");
            let (want, got_text) = (prompt_text(&want), prompt_text(&got.prompt));
            let warnings = Json::Array(got.warnings.iter().map(Warning::to_json).collect());
            let no_warnings = Json::Array(Vec::new());
            (want != got_text)
                .then(|| format!("want {want}\n got {got_text}"))
                .or_else(|| common::difference(vector.get("warnings").unwrap_or(&no_warnings), &warnings))
        }
        (want, got) => Some(format!("want {want:?}, got {got:?}")),
    }
}

fn to_prompt(vector: &Json, messages: &[Json]) -> Result<Converted, SdkError> {
    let instructions = vector.get("instructions").map(|given| match given {
        Json::String(text) => Instructions::Text(text.clone()),
        other => Instructions::Messages(Vec::from_json(other.clone()).expect("system messages")),
    });
    let to_prompt = ToPrompt {
        instructions: instructions.as_ref(),
        messages,
        supported_urls: &supported_urls(vector),
        provider: vector.get("provider").and_then(Json::as_str),
    };
    to_prompt.convert(&downloads(vector, &to_prompt)?)
}

#[test]
fn ui_messages_become_the_model_messages_and_prompts_of_the_sdk() {
    let mut differences = Vec::new();
    for (name, vector) in vectors("ui.") {
        let option = |key| {
            let options = vector.get("options")?;
            options.get(key)?.as_bool()
        };
        let options = ToModelMessages {
            ignore_incomplete_tool_calls: option("ignoreIncompleteToolCalls") == Some(true),
            ..ToModelMessages::default()
        };
        let messages = ui::to_model_messages(&array(&vector, "uiMessages"), &options);
        let difference = match (vector.get("modelMessagesError"), messages) {
            (Some(want), Err(got)) => check_error(want, &got),
            (None, Ok(messages)) => {
                let want = vector.get("modelMessages").expect("model messages");
                let difference = common::difference(want, &Json::Array(messages.clone()));
                difference.or_else(|| check_prompt(&vector, to_prompt(&vector, &messages)))
            }
            (want, got) => Some(format!("want {want:?}, got {got:?}")),
        };
        differences.extend(difference.map(|difference| format!("{name}: {difference}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn model_messages_become_the_prompts_of_the_sdk() {
    let mut differences = Vec::new();
    for (name, vector) in vectors("model.") {
        let messages = array(&vector, "messages");
        let standardized = standardize(Given::Messages(messages.clone()), false);
        let difference = match (vector.get("standardize"), standardized) {
            (Some(Json::String(_)), Ok(same)) => {
                common::difference(&Json::Array(messages.clone()), &Json::Array(same))
            }
            (Some(want @ Json::Object(_)), Err(got)) => check_error(want, &got),
            (want, got) => Some(format!("want {want:?}, got {got:?}")),
        };
        let difference = difference.or_else(|| check_prompt(&vector, to_prompt(&vector, &messages)));
        differences.extend(difference.map(|difference| format!("{name}: {difference}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn pruning_leaves_what_the_sdk_leaves() {
    for (name, vector) in vectors("prune.") {
        let options = vector.get("options").expect("options");
        let word = |key| options.get(key).and_then(Json::as_str);
        let rule = |rule: &str| rule.parse::<PruneTools>().expect("a known rule");
        let tool_calls = match options.get("toolCalls") {
            None => Vec::new(),
            Some(Json::String(none)) if *none == "none" => Vec::new(),
            Some(Json::String(name)) => vec![rule(name)],
            Some(rules) => rules
                .as_array()
                .expect("rules")
                .iter()
                .map(|given| PruneTools {
                    tools: given.get("tools").and_then(Json::as_array).map(|tools| {
                        tools
                            .iter()
                            .map(|tool| tool.as_str().expect("a name").to_owned())
                            .collect()
                    }),
                    ..rule(given.get("type").and_then(Json::as_str).expect("a type"))
                })
                .collect(),
        };
        let rules = Prune {
            reasoning: match word("reasoning") {
                None | Some("none") => PruneReasoning::None,
                Some("all") => PruneReasoning::All,
                Some("before-last-message") => PruneReasoning::BeforeLastMessage,
                other => panic!("unknown {other:?}"),
            },
            tool_calls,
            keep_empty_messages: word("emptyMessages") == Some("keep"),
        };
        let pruned = Json::Array(prune(&array(&vector, "messages"), &rules));
        assert_eq!(pruned, *vector.get("result").expect("a result"), "{name}");
    }
}

/// The tool of the vectors: `bash` with `{cmd: string}`, which says that it ran or fails.
struct Bash {
    fails: bool,
}

impl Bash {
    fn check(&self, approval: &Approval) -> Verdict {
        // The words are those of the schema library that the SDK's users write tool schemas with.
        approval.check_input(|input| match input.get("cmd") {
            Some(Json::String(_)) => Ok(input.clone()),
            _ => Err(format!(
                "AI_TypeValidationError: Type validation failed: Value: {}.\nError message: [\n  {{\n    \
                 \"expected\": \"string\",\n    \"code\": \"invalid_type\",\n    \"path\": [\n      \"cmd\"\n    \
                 ],\n    \"message\": \"Invalid input: expected string, received number\"\n  }}\n]",
                input.to_js()
            )),
        })
    }

    fn run(&self, approval: &Approval) -> ToolOutcome {
        if self.fails {
            return ToolOutcome::Failed("Error: boom".into());
        }
        let command = approval.input().and_then(|input| input.get("cmd"));
        let command = command.and_then(Json::as_str).expect("a checked input");
        ToolOutcome::Returned(Some(format!("ran:{command}").into()))
    }
}

fn generate(vector: &Json) -> Result<Converted, SdkError> {
    let description = vector.get("tools").and_then(Json::as_str).expect("tools");
    let bash = Bash {
        fails: description.contains("throws"),
    };
    let mut messages = standardize(Given::Messages(array(vector, "messages")), false)?;
    let decided = approvals::collect(&messages)?.decide(None, |approval| bash.check(approval))?;
    let outcomes: Vec<ToolOutcome> = decided.run.iter().map(|approval| bash.run(approval)).collect();
    messages.extend(decided.into_message(outcomes));
    to_prompt(vector, &messages)
}

#[test]
fn a_history_with_approvals_reaches_the_model_as_in_the_sdk() {
    for (name, vector) in vectors("generate.") {
        let difference = match (vector.get("error"), generate(&vector)) {
            (Some(want), Err(got)) => check_error(want, &got),
            (None, got) => check_prompt(&vector, got),
            (want, got) => Some(format!("want {want:?}, got {got:?}")),
        };
        assert_eq!(difference, None, "{name}");
    }
}

#[test]
fn approvals_are_signed_as_the_sdk_signs_them() {
    let vector = common::vector("ui-to-prompt/approval-signatures.json");
    for case in array(&vector, "cases") {
        let text = |key| case.get(key).and_then(Json::as_str).expect("text");
        let signed = Signed {
            approval_id: text("approvalId"),
            tool_call_id: text("toolCallId"),
            tool_name: text("toolName"),
            input: case.get("input"),
        };
        let secret = text("secret").as_bytes();
        assert_eq!(signed.sign(secret), text("signature"), "{case}");
        assert_eq!(signed.verify(secret, text("signature")), Ok(true));
        let other = Signed {
            tool_name: "other",
            ..signed
        };
        assert_eq!(other.verify(secret, text("signature")), Ok(false));
    }
}

fn parse(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

fn history(signature: &str) -> Vec<Json> {
    vec![
        parse(&format!(
            r#"{{"role":"assistant","content":[
                {{"type":"tool-call","toolCallId":"c1","toolName":"bash","input":{{"cmd":"ls"}}}},
                {{"type":"tool-approval-request","approvalId":"a1","toolCallId":"c1"{signature}}}]}}"#
        )),
        parse(
            r#"{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"a1","approved":true}]}"#,
        ),
    ]
}

#[test]
fn an_approval_that_the_server_did_not_sign_is_refused() {
    let input = parse(r#"{"cmd":"ls"}"#);
    let signed = Signed {
        approval_id: "a1",
        tool_call_id: "c1",
        tool_name: "bash",
        input: Some(&input),
    };
    let member = |secret: &[u8]| format!(r#","signature":"{}""#, signed.sign(secret));
    let decide = |signature: &str| {
        let approvals = approvals::collect(&history(signature))?;
        approvals.decide(Some(b"secret"), |_| Verdict::Run)
    };
    assert_eq!(decide(&member(b"secret")).map(|decided| decided.run.len()), Ok(1));
    for (signature, reason) in [
        (String::new(), "missing signature"),
        (member(b"x"), "invalid signature"),
    ] {
        let error = decide(&signature).expect_err("refused");
        assert_eq!(error.name(), "AI_InvalidToolApprovalSignatureError");
        assert_eq!(
            error.to_string(),
            format!(
                "Tool approval signature verification failed for approval \"a1\" (tool call \"c1\"): {reason}"
            )
        );
    }
}

#[test]
fn a_rule_can_deny_what_the_user_allowed() {
    let approvals = approvals::collect(&history("")).expect("approvals");
    let decided = approvals
        .decide(None, |_| Verdict::Deny(Some("not at night".to_owned())))
        .expect("no secret, no signature");
    let message = decided.into_message([]).expect("a result");
    let result = &message.get("content").and_then(Json::as_array).expect("parts")[0];
    assert_eq!(
        result.get("output").map(Json::to_js).as_deref(),
        Some(r#"{"type":"execution-denied","reason":"not at night"}"#)
    );
}

#[test]
fn options_of_merged_tool_messages_move_to_the_last_part_of_the_earlier_one() {
    let result = |id: &str, options: &str| {
        format!(
            r#"{{"role":"tool","content":[{{"type":"tool-result","toolCallId":"{id}","toolName":"t",
                "output":{{"type":"text","value":"x"}},"providerOptions":{{"a":{{"own":1,"both":"part"}}}}}}]{options}}}"#
        )
    };
    let messages = [
        parse(&result(
            "1",
            r#","providerOptions":{"a":{"both":"message","more":2}}"#,
        )),
        parse(&result("2", r#","providerOptions":{"b":{}}"#)),
        parse(r#"{"role":"tool","content":[]}"#),
    ];
    let converted = to_prompt(&parse("{}"), &messages).expect("a prompt");
    let [message] = converted.prompt.messages() else {
        panic!("merged")
    };
    let content = message.to_json();
    let parts = content.get("content").and_then(Json::as_array).expect("parts");
    let options = |value: &Json| value.get("providerOptions").map(Json::to_js);
    assert_eq!(
        options(&parts[0]).as_deref(),
        Some(r#"{"a":{"both":"part","more":2,"own":1}}"#)
    );
    assert_eq!(
        options(&parts[1]).as_deref(),
        Some(r#"{"b":{},"a":{"own":1,"both":"part"}}"#)
    );
    assert_eq!(options(&content), None);
}

#[test]
fn a_message_that_cannot_be_worked_with_is_named() {
    for (message, error) in [
        (
            r#"{"role":"user"}"#,
            "messages[0].content: found nothing where text or an array of parts must stand",
        ),
        (
            r#"{"role":"tool","content":"x"}"#,
            "messages[0].content: found a string where an array of parts must stand",
        ),
        (
            r#"{"role":"robot","content":"x"}"#,
            "Invalid message role: 'robot'. Must be one of: \"system\", \"user\", \"assistant\", \"tool\".",
        ),
    ] {
        assert_eq!(
            to_prompt(&parse("{}"), &[parse(message)])
                .expect_err(message)
                .to_string(),
            error
        );
    }
}

#[test]
fn what_was_not_downloaded_stays_a_url() {
    let messages = [parse(
        r#"{"role":"user","content":[{"type":"file","mediaType":"image/png","data":"https://Example.com/a b.png"}]}"#,
    )];
    let urls = SupportedUrls::default();
    let to_prompt = ToPrompt {
        instructions: None,
        messages: &messages,
        supported_urls: &urls,
        provider: None,
    };
    let wanted = to_prompt.wanted_downloads().expect("a plan");
    assert_eq!(wanted.len(), 1);
    assert_eq!(wanted[0].url, Text::from("https://example.com/a%20b.png"));
    assert_eq!(wanted[0].validate(), Ok(()));
    let converted = to_prompt.convert(&Downloads::default()).expect("a prompt");
    assert_eq!(
        converted.prompt.to_json().to_js(),
        r#"[{"role":"user","content":[{"type":"file","mediaType":"image/png","data":{"type":"url","url":"https://example.com/a%20b.png","originalUrl":"https://Example.com/a b.png"}}]}]"#
    );
}

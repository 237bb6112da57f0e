//! Validation of UI messages and model messages against the recorded vectors.

mod common;

use tapline_prompt::json::Json;
use tapline_prompt::model_messages::validate_message;
use tapline_prompt::path::Step;
use tapline_prompt::ui::{self, InvalidMessages, Issue, ToolChecks, Validation};

fn issues_json(issues: &[Issue]) -> Json {
    let issue = |issue: &Issue| {
        let steps = issue.path.steps().iter().map(|step| match step {
            Step::Key(key) => key.to_string(),
            Step::Index(index) => index.to_string(),
        });
        Json::Object(
            [
                ("path", Json::from(steps.collect::<Vec<_>>())),
                ("code", Json::from(issue.code())),
            ]
            .into_iter()
            .collect(),
        )
    };
    Json::Array(issues.iter().map(issue).collect())
}

#[test]
fn ui_messages_are_accepted_and_refused_as_by_the_sdk() {
    let vector = common::vector("ui-validate/ui-messages.json");
    let mut differences = Vec::new();
    for case in vector.get("cases").and_then(Json::as_array).expect("cases") {
        let result = ui::validate(case.get("value"), &Validation::default());
        let difference = match (case.get("error"), result) {
            (None, Ok(data)) => common::difference(case.get("data").expect("data"), &Json::Array(data)),
            (Some(want), Err(error)) => {
                let issues = issues_json(error.issues());
                let name = Json::from(error.name());
                common::difference(want.get("name").expect("a name"), &name).or_else(|| {
                    common::difference(want.get("issues").unwrap_or(&Json::Array(Vec::new())), &issues)
                })
            }
            (want, got) => Some(format!("want {want:?}, got {got:?}")),
        };
        differences.extend(
            difference.map(|difference| format!("{}: {difference}", case.get("name").expect("a name"))),
        );
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn model_messages_are_accepted_and_refused_as_by_the_sdk() {
    let vector = common::vector("ui-validate/model-messages.json");
    for case in vector.get("cases").and_then(Json::as_array).expect("cases") {
        let value = case.get("value").expect("a value");
        let valid = validate_message(value).is_ok();
        assert_eq!(Some(valid), case.get("valid").and_then(Json::as_bool), "{value}");
    }
}

#[test]
fn the_message_of_an_error_is_that_of_the_sdk() {
    let error = ui::validate(Some(&parse("[]")), &Validation::default()).expect_err("empty");
    assert_eq!(
        error.to_string(),
        "Type validation failed: Value: [].\nError message: [\n  {\n    \"origin\": \"array\",\n    \"code\": \
         \"too_small\",\n    \"minimum\": 1,\n    \"inclusive\": true,\n    \"path\": [],\n    \"message\": \
         \"Messages array must not be empty\"\n  }\n]"
    );
}

#[test]
fn the_first_bad_message_ends_the_check_and_all_its_issues_are_told() {
    let messages = parse(
        r#"[{"id":1,"role":"x","parts":[]},{"id":"2","role":"user","parts":[]},{"id":3,"role":"user"}]"#,
    );
    let error = ui::validate(Some(&messages), &Validation::default()).expect_err("bad");
    let paths: Vec<_> = error
        .issues()
        .iter()
        .map(|issue| issue.path.to_string())
        .collect();
    assert_eq!(paths, ["[0].id", "[0].role"]);
}

#[test]
fn the_places_of_a_citation_are_whole_numbers_that_exist() {
    for (start, code, message) in [
        ("-1", "too_small", "Too small: expected number to be >=0"),
        (
            "0.5",
            "invalid_type",
            "Invalid input: expected int, received number",
        ),
        (
            "1e20",
            "too_big",
            "Too big: expected int to be <=9007199254740991",
        ),
        (
            "\"1\"",
            "invalid_type",
            "Invalid input: expected number, received string",
        ),
    ] {
        let source = r#"{"type":"source","sourceType":"url","id":"s","url":"u"}"#;
        let messages = format!(
            r#"[{{"id":"1","role":"assistant","parts":[{{"type":"text","text":"x",
                "citations":[{{"source":{source}}},{{"source":{source},"startIndex":{start}}}]}}]}}]"#
        );
        let error = ui::validate(Some(&parse(&messages)), &Validation::default()).expect_err(start);
        let [issue] = error.issues() else {
            panic!("one issue")
        };
        assert_eq!(issue.path.to_string(), "[0].parts[0].citations[1].startIndex");
        assert_eq!((issue.code(), &*issue.message()), (code, message));
    }
}

#[test]
fn checks_of_the_caller_are_run_and_name_their_place() {
    let no_numbers = |value: &Json| match value {
        Json::Number(_) => Err("no numbers".to_owned()),
        other => Ok(other.clone()),
    };
    let messages = parse(
        r#"[{"id":"1","role":"assistant","parts":[
            {"type":"tool-bash","toolCallId":"c","state":"input-available","input":5}]}]"#,
    );
    let tools = |name| {
        Some(vec![ToolChecks {
            name,
            input: &no_numbers,
            output: None,
        }])
    };
    for (tool, cause) in [
        ("bash", "no numbers"),
        ("ls", "No tool schema found for tool part bash"),
    ] {
        let validation = Validation {
            tools: tools(tool),
            ..Validation::default()
        };
        let Err(InvalidMessages::Mismatch(mismatch)) = ui::validate(Some(&messages), &validation) else {
            panic!("refused");
        };
        assert_eq!(
            mismatch.to_string(),
            format!(
                "Type validation failed for messages[0].parts[0].input (bash, id: \"c\"): Value: 5.\nError \
                 message: {cause}"
            )
        );
    }
}

#[test]
fn an_ended_call_of_a_tool_that_is_gone_is_kept_as_a_dynamic_one() {
    let messages = parse(
        r#"[{"id":"1","role":"assistant","parts":[
            {"type":"tool-old","toolCallId":"c","state":"output-available","input":{},"output":1}]}]"#,
    );
    let validation = Validation {
        tools: Some(Vec::new()),
        ..Validation::default()
    };
    let checked = ui::validate(Some(&messages), &validation).expect("kept");
    let part = &checked[0].get("parts").and_then(Json::as_array).expect("parts")[0];
    assert_eq!(part.get("type"), Some(&Json::from("dynamic-tool")));
    assert_eq!(part.get("toolName"), Some(&Json::from("old")));
    assert_eq!(part.get("dynamic"), Some(&Json::from(false)));
}

fn parse(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

//! Conversion as JSON Lines: one request a line, one answer a line.

use super::{Call, Profile, Target};
use crate::error::SdkError;
use crate::json::{Json, Object, object};
use crate::path::Path;
use crate::typed::Typed;
use crate::types::{CallOptions, Prompt};

/// Converts one line `{provider, api, model, settings?, prompt, options?, profile?}` and answers with
/// `{path, body, warnings, headers?, report?}` or `{error: {name, message, faults?}}`, without a
/// newline. It never fails: whatever is wrong with the line is in the answer.
pub fn convert_line(line: &str) -> String {
    match convert(line) {
        Ok(answer) => answer.to_js(),
        Err(error) => Json::Object(object! { "error": describe(&error) }).to_js(),
    }
}

fn convert(line: &str) -> Result<Json, SdkError> {
    let Json::Object(mut request) =
        Json::parse(line).map_err(|error| SdkError::FaultyPrompt(error.into()))?
    else {
        return Err(SdkError::Plain(
            "the line is no JSON object; give {provider, api, model, prompt}".to_owned(),
        ));
    };
    let target = {
        let (provider, api) = (text(&request, "provider")?, text(&request, "api")?);
        Target::find(provider, api).ok_or_else(|| {
            let known: Vec<_> = super::TARGETS
                .iter()
                .map(|target| format!("{}/{}", target.provider, target.api))
                .collect();
            SdkError::Plain(format!(
                "there is no target {provider}/{api}; there are {}",
                known.join(", ")
            ))
        })?
    };
    let profile = match request.get("profile").map(Json::as_str) {
        None | Some(Some("exact")) => Profile::Exact,
        Some(Some("fixed")) => Profile::Fixed,
        Some(_) => {
            return Err(SdkError::Plain(
                "profile must be \"exact\" or \"fixed\"".to_owned(),
            ));
        }
    };
    let prompt =
        Prompt::from_value(request.remove("prompt").unwrap_or_default()).map_err(SdkError::FaultyPrompt)?;
    let options = match request.remove("options") {
        Some(options) => CallOptions::from_json_at(options, Path::root().join("options"))
            .map_err(SdkError::FaultyPrompt)?,
        None => CallOptions::new(),
    };
    let settings = match request.remove("settings") {
        Some(Json::Object(settings)) => settings,
        _ => Object::new(),
    };
    let model = text(&request, "model")?;
    let call = Call {
        model,
        settings: &settings,
        prompt: &prompt,
        options: &options,
        profile,
    };
    Ok(target.convert(&call)?.to_json())
}

fn text<'a>(request: &'a Object, key: &str) -> Result<&'a str, SdkError> {
    request
        .get(key)
        .and_then(Json::as_str)
        .ok_or_else(|| SdkError::Plain(format!("the line has no {key:?}, or it is no string")))
}

fn describe(error: &SdkError) -> Object {
    let mut description = object! { "name": error.name(), "message": error.to_string() };
    if let SdkError::FaultyPrompt(faults) = error {
        let faults = faults.iter().map(|fault| {
            object! {
                "path": fault.path.to_string(),
                "kind": fault.kind.code(),
                "found": fault.found.as_str(),
                "allowed": fault.allowed.as_str(),
                "mend": fault.mend.as_str(),
            }
        });
        description.insert("faults", faults.collect::<Vec<_>>());
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_every_line_with_one_line() {
        for line in [
            "",
            "[]",
            "{\"provider\":1}",
            r#"{"provider":"x","api":"y"}"#,
            r#"{"provider":"openai","api":"chat","model":"m"}"#,
            r#"{"provider":"openai","api":"chat","model":"m","prompt":[{"role":"user","content":"hi\n"}]}"#,
            r#"{"provider":"openai","api":"chat","model":"m","prompt":[1e400]}"#,
        ] {
            let answer = convert_line(line);
            assert!(!answer.contains('\n'), "{line}");
            let error = Json::parse(&answer).expect("an answer in JSON");
            assert!(
                error
                    .get("error")
                    .and_then(|error| error.get("message"))
                    .is_some(),
                "{line}: {answer}"
            );
        }
    }

    #[test]
    fn a_faulty_prompt_is_answered_with_every_fault() {
        let line = r#"{"provider":"openai","api":"chat","model":"m","prompt":[{"role":"usr","content":[]},{"role":"user"}]}"#;
        let answer = Json::parse(&convert_line(line)).expect("JSON");
        let faults = answer
            .get("error")
            .and_then(|error| error.get("faults"))
            .and_then(Json::as_array);
        let paths: Vec<_> = faults
            .into_iter()
            .flatten()
            .filter_map(|fault| fault.get("path")?.as_str())
            .collect();
        assert_eq!(paths, ["prompt[0].role", "prompt[1].content"]);
    }
}

//! Checking UI messages that came from a client or a store.

use thiserror::Error;

use super::issue::{Context, Issue, IssueKind, Mismatch};
use super::message_shape::UI_MESSAGES;
use crate::json::{Json, Object};
use crate::path::Path;

/// A check of the caller's own, such as a JSON Schema: gives the value to go on with, or what is wrong.
pub type Check<'a> = &'a dyn Fn(&Json) -> Result<Json, String>;

/// What is checked besides the shape of the messages. By default nothing.
#[derive(Default)]
pub struct Validation<'a> {
    /// For the metadata of each message. It sees `null` where there is none.
    pub metadata: Option<Check<'a>>,
    /// For the data of each `data-NAME` part, by NAME. A name that is not listed is refused.
    pub data: Option<Vec<(&'a str, Check<'a>)>>,
    /// The tools there are now. Calls that ended under a tool that is no longer there are kept, marked
    /// as calls of a dynamic tool; calls that are still open are refused.
    pub tools: Option<Vec<ToolChecks<'a>>>,
}

/// The checks for the calls of one tool.
pub struct ToolChecks<'a> {
    /// Its name.
    pub name: &'a str,
    /// For its input.
    pub input: Check<'a>,
    /// For its output.
    pub output: Option<Check<'a>>,
}

/// Why UI messages were refused.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum InvalidMessages {
    /// There are none.
    #[error("Invalid argument for parameter messages: messages parameter must be provided")]
    NotGiven,
    /// They are not what UI messages look like, or a check of the caller's has refused them.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

impl InvalidMessages {
    /// The name that the SDK gives the error.
    pub fn name(&self) -> &'static str {
        match self {
            InvalidMessages::NotGiven => "AI_InvalidArgumentError",
            InvalidMessages::Mismatch(_) => "AI_TypeValidationError",
        }
    }

    /// What is wrong, each with its place.
    pub fn issues(&self) -> &[Issue] {
        match self {
            InvalidMessages::NotGiven => &[],
            InvalidMessages::Mismatch(mismatch) => mismatch.issues(),
        }
    }
}

/// Checks UI messages and gives them back without the members that their shape does not know. The
/// first bad message ends the check; all that is wrong with it is reported.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::ui;
///
/// let json = Json::parse(r#"[{"id":"1","role":"user","parts":[{"type":"text"}]}]"#)?;
/// let error = ui::validate(Some(&json), &ui::Validation::default()).unwrap_err();
/// assert_eq!(error.issues()[0].path.to_string(), "[0].parts[0].text");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate(messages: Option<&Json>, validation: &Validation<'_>) -> Result<Vec<Json>, InvalidMessages> {
    let given = messages
        .filter(|messages| !messages.is_null())
        .ok_or(InvalidMessages::NotGiven)?;
    let Json::Array(mut messages) = check_shape(given)? else {
        return Ok(Vec::new());
    };
    for (index, message) in messages.iter_mut().enumerate() {
        if let Json::Object(message) = message {
            validation.check_message(index, message)?;
        }
    }
    Ok(messages)
}

fn check_shape(given: &Json) -> Result<Json, Mismatch> {
    let mismatch = |path: Path, message| {
        let kind = IssueKind::TooSmall {
            origin: "array",
            minimum: 1,
            message,
        };
        Mismatch::found(given.clone(), vec![Issue { path, kind }])
    };
    // Only the model may say nothing: a system or user message needs a part. The first message with a
    // fault of any kind is the one reported, so the messages before it are looked at first.
    let checked = UI_MESSAGES.check(given);
    let sound = match (&checked, given.as_array()) {
        (Ok(_), Some(messages)) => messages,
        (Err(mismatch), Some(messages)) => {
            let bad = mismatch
                .issues()
                .first()
                .and_then(|issue| issue.path.steps().first());
            match bad {
                Some(crate::path::Step::Index(bad)) => &messages[..*bad],
                _ => messages,
            }
        }
        (_, None) => return checked,
    };
    let silent = sound.iter().position(|message| {
        let parts = message.get("parts").and_then(Json::as_array);
        message.get("role").and_then(Json::as_str) != Some("assistant")
            && parts.is_some_and(|parts| parts.is_empty())
    });
    if let Some(silent) = silent {
        let path = Path::root().join(silent).join("parts");
        return Err(mismatch(path, "Message must contain at least one part"));
    }
    if given.as_array().is_some_and(|messages| messages.is_empty()) {
        return Err(mismatch(Path::root(), "Messages array must not be empty"));
    }
    checked
}

impl Validation<'_> {
    fn check_message(&self, index: usize, message: &mut Object) -> Result<(), Mismatch> {
        if let Some(check) = self.metadata {
            let metadata = message.get("metadata").cloned().unwrap_or_default();
            let context = Context {
                field: format!("messages[{index}].metadata"),
                entity_name: None,
                entity_id: message.get("id").and_then(Json::as_str).map(str::to_owned),
            };
            let checked = run(check, &metadata, &context)?;
            message.insert("metadata", checked);
        }
        let Some(Json::Array(parts)) = message.get_mut("parts") else {
            return Ok(());
        };
        for (position, part) in parts.iter_mut().enumerate() {
            let Json::Object(part) = part else { continue };
            let tag = part
                .get("type")
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned();
            let place = format!("messages[{index}].parts[{position}]");
            if let (Some(checks), Some(name)) = (&self.data, tag.strip_prefix("data-")) {
                check_data(checks, name, part, &place)?;
            }
            if let (Some(checks), Some(name)) = (&self.tools, tag.strip_prefix("tool-")) {
                check_call(checks, name, part, &place)?;
            }
        }
        Ok(())
    }
}

fn run(check: Check<'_>, value: &Json, context: &Context) -> Result<Json, Mismatch> {
    check(value).map_err(|cause| Mismatch::because(value.clone(), cause).at(context.clone()))
}

fn check_data(
    checks: &[(&str, Check<'_>)],
    name: &str,
    part: &mut Object,
    place: &str,
) -> Result<(), Mismatch> {
    let context = Context {
        field: format!("{place}.data"),
        entity_name: Some(name.to_owned()),
        entity_id: part.get("id").and_then(Json::as_str).map(str::to_owned),
    };
    let data = part.get("data").cloned().unwrap_or_default();
    let Some((_, check)) = checks.iter().find(|(known, _)| *known == name) else {
        let cause = format!("No data schema found for data part {name}");
        return Err(Mismatch::because(data, cause).at(context));
    };
    let checked = run(*check, &data, &context)?;
    part.insert("data", checked);
    Ok(())
}

fn check_call(checks: &[ToolChecks<'_>], name: &str, part: &mut Object, place: &str) -> Result<(), Mismatch> {
    let state = part
        .get("state")
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned();
    let has_ended = matches!(&*state, "output-available" | "output-error" | "output-denied");
    let input = part.get("input").cloned();
    let context = |member: &str| Context {
        field: format!("{place}.{member}"),
        entity_name: Some(name.to_owned()),
        entity_id: part.get("toolCallId").and_then(Json::as_str).map(str::to_owned),
    };
    let Some(tool) = checks.iter().find(|tool| tool.name == name) else {
        if has_ended {
            become_dynamic(name, part);
            return Ok(());
        }
        let cause = format!("No tool schema found for tool part {name}");
        return Err(Mismatch::because(input.unwrap_or_default(), cause).at(context("input")));
    };
    // An approval may carry the input as it was before the schema changed it.
    let before_schema = part
        .get("approval")
        .and_then(|approval| approval.get("inputSchemaInput"));
    let mut is_outdated = false;
    if state != "input-streaming" && (state != "output-error" || before_schema.is_some() || input.is_some()) {
        let checked = before_schema
            .cloned()
            .or_else(|| input.clone())
            .unwrap_or_default();
        let result = run(tool.input, &checked, &context("input")).and_then(|rebuilt| {
            if before_schema.is_some() && Some(&rebuilt) != input.as_ref() {
                let cause = "Tool input does not match the output reconstructed from inputSchemaInput.";
                return Err(Mismatch::because(input.clone().unwrap_or_default(), cause).at(context("input")));
            }
            Ok(())
        });
        if let Err(mismatch) = result {
            let is_empty = input
                .as_ref()
                .and_then(Json::as_object)
                .is_some_and(Object::is_empty);
            is_outdated = state == "output-error" || state == "output-available" && is_empty;
            if !is_outdated {
                return Err(mismatch);
            }
        }
    }
    if let (Some(check), "output-available") = (tool.output, &*state) {
        let output = part.get("output").cloned().unwrap_or_default();
        run(check, &output, &context("output"))?;
    }
    if is_outdated {
        become_dynamic(name, part);
    }
    Ok(())
}

/// Turns the call of a tool that is gone into the call of a dynamic one. The mark `dynamic: false`
/// keeps it apart from calls that were dynamic from the start.
fn become_dynamic(name: &str, part: &mut Object) {
    part.insert("type", "dynamic-tool");
    part.insert("toolName", name);
    part.insert("dynamic", false);
}

//! Results of tools that ran at the provider.
//!
//! They came from the API once, were renamed for JavaScript, and are given back in the API's names.
//! A result that is not what the tool gives is an error.

use super::assistant::caller;
use super::prompt::Converter;
use crate::error::SdkError;
use crate::json::{Json, Object, object};
use crate::providers::Profile;
use crate::providers::shape::{Shape, may, need};
use crate::types::prompt::ToolResultPart;
use crate::types::{ToolOutput, Warning};

const OUTPUT_FILES: Shape = Shape::List(&Shape::Fields(&[
    need("type", Shape::Word(&["code_execution_output"])),
    need("file_id", Shape::Text),
]));
const CODE_RESULT: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["code_execution_result"])),
    need("stdout", Shape::Text),
    need("stderr", Shape::Text),
    need("return_code", Shape::Number),
    may("content", OUTPUT_FILES),
]);
const ENCRYPTED_RESULT: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["encrypted_code_execution_result"])),
    need("encrypted_stdout", Shape::Text),
    need("stderr", Shape::Text),
    need("return_code", Shape::Number),
    may("content", OUTPUT_FILES),
]);
const BASH_RESULT: Shape = Shape::OneOf(&[
    Shape::Fields(&[
        need("type", Shape::Word(&["bash_code_execution_result"])),
        need("stdout", Shape::Text),
        need("stderr", Shape::Text),
        need("return_code", Shape::Number),
        need(
            "content",
            Shape::List(&Shape::Fields(&[
                need("type", Shape::Word(&["bash_code_execution_output"])),
                need("file_id", Shape::Text),
            ])),
        ),
    ]),
    Shape::Fields(&[
        need("type", Shape::Word(&["bash_code_execution_tool_result_error"])),
        need("error_code", Shape::Text),
    ]),
]);
const COUNT: Shape = Shape::Nullable(&Shape::Number);
const EDITOR_RESULT: Shape = Shape::OneOf(&[
    Shape::Fields(&[
        need(
            "type",
            Shape::Word(&["text_editor_code_execution_tool_result_error"]),
        ),
        need("error_code", Shape::Text),
    ]),
    Shape::Fields(&[
        need("type", Shape::Word(&["text_editor_code_execution_view_result"])),
        need("content", Shape::Text),
        need("file_type", Shape::Text),
        need("num_lines", COUNT),
        need("start_line", COUNT),
        need("total_lines", COUNT),
    ]),
    Shape::Fields(&[
        need("type", Shape::Word(&["text_editor_code_execution_create_result"])),
        need("is_file_update", Shape::Bool),
    ]),
    Shape::Fields(&[
        need(
            "type",
            Shape::Word(&["text_editor_code_execution_str_replace_result"]),
        ),
        need("lines", Shape::Nullable(&Shape::List(&Shape::Text))),
        need("new_lines", COUNT),
        need("new_start", COUNT),
        need("old_lines", COUNT),
        need("old_start", COUNT),
    ]),
]);
const FETCHED: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["web_fetch_result"])),
    need("url", Shape::Text),
    need(
        "content",
        Shape::Fields(&[
            need("type", Shape::Word(&["document"])),
            need("title", Shape::Nullable(&Shape::Text)),
            may("citations", Shape::Fields(&[need("enabled", Shape::Bool)])),
            need(
                "source",
                Shape::OneOf(&[
                    Shape::Fields(&[
                        need("type", Shape::Word(&["base64"])),
                        need("mediaType", Shape::Word(&["application/pdf"])),
                        need("data", Shape::Text),
                    ]),
                    Shape::Fields(&[
                        need("type", Shape::Word(&["text"])),
                        need("mediaType", Shape::Word(&["text/plain"])),
                        need("data", Shape::Text),
                    ]),
                ]),
            ),
        ]),
    ),
    need("retrievedAt", Shape::Nullable(&Shape::Text)),
]);
const FOUND: Shape = Shape::List(&Shape::Fields(&[
    need("url", Shape::Text),
    need("title", Shape::Nullable(&Shape::Text)),
    need("pageAge", Shape::Nullable(&Shape::Text)),
    need("encryptedContent", Shape::Text),
    need("type", Shape::Word(&["web_search_result"])),
]));
const FOUND_TOOLS: Shape = Shape::List(&Shape::Fields(&[
    need("type", Shape::Word(&["tool_reference"])),
    need("toolName", Shape::Text),
]));
const ADVICE: Shape = Shape::OneOf(&[
    Shape::Fields(&[
        need("type", Shape::Word(&["advisor_result"])),
        need("text", Shape::Text),
        may("stopReason", Shape::Text),
    ]),
    Shape::Fields(&[
        need("type", Shape::Word(&["advisor_redacted_result"])),
        need("encryptedContent", Shape::Text),
        may("stopReason", Shape::Text),
    ]),
    Shape::Fields(&[
        need("type", Shape::Word(&["advisor_tool_result_error"])),
        need("errorCode", Shape::Text),
    ]),
]);

/// The API's names for members that have others in JavaScript.
const RENAMED: &[(&str, &str)] = &[
    ("retrievedAt", "retrieved_at"),
    ("mediaType", "media_type"),
    ("pageAge", "page_age"),
    ("encryptedContent", "encrypted_content"),
    ("toolName", "tool_name"),
    ("stopReason", "stop_reason"),
    ("errorCode", "error_code"),
];

impl Converter<'_, '_> {
    /// Converts a result in an assistant message.
    pub(super) fn provider_result(
        &mut self,
        part: &ToolResultPart,
        is_mcp: bool,
        mark: Option<Json>,
        content: &mut Vec<Object>,
    ) -> Result<(), SdkError> {
        let name = self.names.to_provider(&part.tool_name).to_owned();
        if is_mcp {
            let (ToolOutput::Json(_) | ToolOutput::ErrorJson(_)) = &part.output else {
                self.refuse_output(part);
                return Ok(());
            };
            let (value, is_error) = value(&part.output);
            content.push(object! {
                "type": "mcp_tool_result",
                "tool_use_id": &part.tool_call_id,
                "is_error": is_error,
                "content"?: value,
                "cache_control"?: mark.clone(),
            });
            // The SDK goes on and looks whether it is a tool of Anthropic's own as well.
            if self.profile == Profile::Fixed || name == "code_execution" {
                return Ok(());
            }
        }
        let block = match &*name {
            "code_execution" => self.code_execution(part)?,
            "web_fetch" => {
                self.own_result(part, "web_fetch", |value| Ok(renamed(checked(&FETCHED, value)?)))?
            }
            "web_search" => {
                self.own_result(part, "web_search", |value| Ok(renamed(checked(&FOUND, value)?)))?
            }
            "tool_search_tool_regex" | "tool_search_tool_bm25" => self.tool_search(part)?,
            "advisor" => match value(&part.output) {
                (Some(value), _) => Some(("advisor_tool_result", renamed(checked(&ADVICE, value)?))),
                _ => {
                    self.refuse_output(part);
                    None
                }
            },
            _ => {
                self.log.warn(Warning::other(format!(
                    "provider executed tool result for tool {} is not supported",
                    part.tool_name
                )));
                None
            }
        };
        if let Some((kind, result)) = block {
            let has_caller = matches!(kind, "web_fetch_tool_result" | "web_search_tool_result");
            content.push(object! {
                "type": kind,
                "tool_use_id": &part.tool_call_id,
                "content": result,
                "caller"?: caller(part.provider_options.as_ref()).filter(|_| has_caller),
                "cache_control"?: mark,
            });
        }
        Ok(())
    }

    fn refuse_output(&mut self, part: &ToolResultPart) {
        self.log.warn(Warning::other(format!(
            "provider executed tool result output type {} for tool {} is not supported",
            part.output.tag(),
            part.tool_name
        )));
    }

    fn code_execution(&mut self, part: &ToolResultPart) -> Result<Option<(&'static str, Json)>, SdkError> {
        let error = match &part.output {
            ToolOutput::ErrorText(output) => Some(Json::from(&output.value)),
            ToolOutput::ErrorJson(output) => Some(output.value.clone()),
            _ => None,
        };
        if let Some(error) = error {
            let error = parsed(&error);
            let code = member(&error, "errorCode").unwrap_or_else(|| "unknown".into());
            let is_code =
                error.get("type").and_then(Json::as_str) == Some("code_execution_tool_result_error");
            let (kind, error) = if is_code {
                ("code_execution_tool_result", "code_execution_tool_result_error")
            } else {
                (
                    "bash_code_execution_tool_result",
                    "bash_code_execution_tool_result_error",
                )
            };
            return Ok(Some((kind, object! { "type": error, "error_code": code }.into())));
        }
        let ToolOutput::Json(output) = &part.output else {
            self.refuse_output(part);
            return Ok(None);
        };
        let Some(kind) = output.value.get("type").and_then(Json::as_str) else {
            self.log.warn(Warning::other(format!(
                "provider executed tool result output value is not a valid code execution result for tool {}",
                part.tool_name
            )));
            return Ok(None);
        };
        let (shape, block) = match kind {
            "code_execution_result" => (&CODE_RESULT, "code_execution_tool_result"),
            "encrypted_code_execution_result" => (&ENCRYPTED_RESULT, "code_execution_tool_result"),
            "bash_code_execution_result" | "bash_code_execution_tool_result_error" => {
                (&BASH_RESULT, "bash_code_execution_tool_result")
            }
            _ => (&EDITOR_RESULT, "text_editor_code_execution_tool_result"),
        };
        let mut result = checked(shape, &output.value)?;
        if let Json::Object(result) = &mut result
            && block == "code_execution_tool_result"
            && !result.contains_key("content")
        {
            result.insert("content", Vec::<Json>::new());
        }
        Ok(Some((block, result)))
    }

    /// A web tool: its result, or its error.
    fn own_result(
        &mut self,
        part: &ToolResultPart,
        tool: &str,
        convert: impl Fn(&Json) -> Result<Json, SdkError>,
    ) -> Result<Option<(&'static str, Json)>, SdkError> {
        let (kind, error) = if tool == "web_fetch" {
            ("web_fetch_tool_result", "web_fetch_tool_result_error")
        } else {
            ("web_search_tool_result", "web_search_tool_result_error")
        };
        match &part.output {
            ToolOutput::ErrorJson(output) => Ok(Some((kind, failed(error, &output.value)))),
            ToolOutput::Json(output) => Ok(Some((kind, convert(&output.value)?))),
            _ => {
                self.refuse_output(part);
                Ok(None)
            }
        }
    }

    fn tool_search(&mut self, part: &ToolResultPart) -> Result<Option<(&'static str, Json)>, SdkError> {
        const KIND: &str = "tool_search_tool_result";
        const ERROR: &str = "tool_search_tool_result_error";
        match &part.output {
            ToolOutput::ErrorJson(output) => Ok(Some((KIND, failed(ERROR, &output.value)))),
            ToolOutput::Json(output) if output.value.get("type").and_then(Json::as_str) == Some(ERROR) => {
                Ok(Some((KIND, failed(ERROR, &output.value))))
            }
            ToolOutput::Json(output) => {
                let references = renamed(checked(&FOUND_TOOLS, &output.value)?);
                let result = object! {
                    "type": "tool_search_tool_search_result",
                    "tool_references": references,
                };
                Ok(Some((KIND, result.into())))
            }
            _ => {
                self.refuse_output(part);
                Ok(None)
            }
        }
    }
}

/// The value of a JSON output, and whether it is an error.
fn value(output: &ToolOutput) -> (Option<&Json>, bool) {
    match output {
        ToolOutput::Json(output) => (Some(&output.value), false),
        ToolOutput::ErrorJson(output) => (Some(&output.value), true),
        _ => (None, false),
    }
}

fn checked(shape: &Shape, value: &Json) -> Result<Json, SdkError> {
    shape.read(value).map_err(SdkError::TypeValidation)
}

/// JSON text as what it says, anything else as it is.
fn parsed(value: &Json) -> Json {
    match value {
        Json::String(text) => Json::parse_secure(text).unwrap_or_default(),
        other => other.clone(),
    }
}

fn member(value: &Json, key: &str) -> Option<Json> {
    value.get(key).filter(|value| !value.is_null()).cloned()
}

fn failed(kind: &str, value: &Json) -> Json {
    let code = member(&parsed(value), "errorCode").unwrap_or_else(|| "unavailable".into());
    object! { "type": kind, "error_code": code }.into()
}

/// The value with the API's names.
fn renamed(value: Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.into_iter().map(renamed).collect()),
        Json::Object(object) => Json::Object(
            object
                .into_iter()
                .map(|(key, value)| {
                    let name = RENAMED.iter().find(|(name, _)| **name == *key);
                    (name.map_or(key, |(_, name)| (*name).into()), renamed(value))
                })
                .collect(),
        ),
        other => other,
    }
}

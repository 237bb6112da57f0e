//! The outputs of tools: what a program returned, as the model is to see it, and the older kinds of
//! content items.

use super::convert::{Converter, item_as_given};
use super::file_data::media_type_of_url;
use super::file_data::{invalid_url, normalized_url};
use super::lenient::{error_text, member, some, str_of, tag, type_error};
use crate::error::SdkError;
use crate::json::{Json, Text, object};
use crate::path::Path;
use crate::typed::{Map, Members, Typed};
use crate::types::file::{DataFile, ReferenceFile};
use crate::types::output::{ContentItem, ContentOutput, FileItem};
use crate::types::{FileData, ToolOutput};

/// How a tool ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// It returned a value. `None` is JavaScript's `undefined`.
    Returned(Option<Json>),
    /// It said itself what the model shall see: the output of a tool result.
    ForModel(Json),
    /// It failed; what the error says of itself, with its name: `Error: boom`.
    Failed(Text),
}

impl ToolOutcome {
    /// The output of the tool result: text stays text, everything else is JSON.
    ///
    /// ```
    /// use tapline_prompt::model_messages::ToolOutcome;
    ///
    /// let output = ToolOutcome::Returned(Some("a".into())).to_output();
    /// assert_eq!(output.to_js(), r#"{"type":"text","value":"a"}"#);
    /// ```
    pub fn to_output(&self) -> Json {
        match self {
            ToolOutcome::Returned(value) => returned(value.as_ref()),
            ToolOutcome::ForModel(output) => output.clone(),
            ToolOutcome::Failed(error) => object! { "type": "error-text", "value": error }.into(),
        }
    }
}

/// The output for a value that a tool returned.
pub(crate) fn returned(value: Option<&Json>) -> Json {
    match value {
        Some(Json::String(text)) => object! { "type": "text", "value": text },
        other => object! { "type": "json", "value": other.cloned().unwrap_or_default() },
    }
    .into()
}

/// The output for an error, as text.
pub(crate) fn error_as_text(error: Option<&Json>) -> Json {
    object! { "type": "error-text", "value": error_text(error) }.into()
}

/// The output for an error, as JSON.
pub(crate) fn error_as_json(error: Option<&Json>) -> Json {
    object! { "type": "error-json", "value": error.cloned().unwrap_or_default() }.into()
}

/// Brings the output of a tool result into the form of a prompt. Only content needs it.
pub(crate) fn convert_output(
    converter: &mut Converter<'_>,
    output: Option<&Json>,
    path: &Path,
) -> Result<ToolOutput, SdkError> {
    let output = output.ok_or_else(|| type_error(path, None, "a tool result output"))?;
    if tag(output) != "content" {
        return ToolOutput::from_json_at(output.clone(), path.clone()).map_err(SdkError::FaultyPrompt);
    }
    let path = path.join("value");
    let Some(Json::Array(items)) = output.get("value") else {
        return Err(type_error(&path, output.get("value"), "an array of items"));
    };
    let items = items
        .iter()
        .enumerate()
        .map(|(index, item)| convert_item(converter, item, &path.join(index)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(ContentOutput::new(items).into())
}

/// The order in which an item's members stand depends on how old its kind is, and providers that send
/// items as JSON text show it.
const CURRENT: [&str; 4] = ["type", "mediaType", "filename", "data"];
const OLDER: [&str; 4] = ["type", "data", "filename", "mediaType"];

fn convert_item(converter: &mut Converter<'_>, item: &Json, path: &Path) -> Result<ContentItem, SdkError> {
    let declared = || item.get("mediaType").and_then(Json::as_text).cloned();
    let kind = tag(item);
    if kind == "file" {
        let file = converter.file(item.get("data"), declared())?;
        let mut typed = FileItem::new(file.media_type, file.data);
        typed.members = Members::in_order(CURRENT);
        typed.filename = member(item, "filename", path)?;
        typed.provider_options = member(item, "providerOptions", path)?;
        return Ok(typed.into());
    }
    let Some((hint, fallback)) = older_kind(kind) else {
        return item_as_given(item, path);
    };
    let advice = format!(
        "The \"{kind}\" type for tool result content is deprecated. Use the \"file\" type with {hint} instead."
    );
    let warning = match kind {
        "file-url" if !some(item, "mediaType").is_some_and(Json::is_truthy) => {
            let url = str_of(item, "url").unwrap_or_default();
            let inferred = media_type_of_url(url);
            let inference = if inferred == "application/octet-stream" {
                "Unable to infer media type from URL. Defaulting to 'application/octet-stream'.".to_owned()
            } else {
                format!("Inferred media type '{inferred}' from URL.")
            };
            format!(
                "The \"file-url\" tool result content part with URL \"{url}\" is missing a \"mediaType\". {inference} {advice}"
            )
        }
        _ => advice,
    };
    let setting = format!("\"tool-result\" content of type \"{kind}\"");
    // A bad URL is found before the warning is given, a missing provider after it.
    let (media_type, data) = match kind {
        "file-url" | "image-url" => {
            let given = item.get("url").and_then(Json::as_text).ok_or_else(invalid_url)?;
            let url = normalized_url(given)?;
            let mut data = object! { "type": "url", "url": &url };
            if url != *given {
                data.insert("originalUrl", given);
            }
            converter.deprecated(&setting, warning);
            let declared = match kind {
                "image-url" => "image".into(),
                _ => declared().unwrap_or_else(|| media_type_of_url(given).into()),
            };
            let file = converter.file(Some(&data.into()), Some(declared))?;
            (file.media_type, file.data)
        }
        "file-data" | "image-data" => {
            converter.deprecated(&setting, warning);
            let base64 = item.get("data").and_then(Json::as_text);
            let base64 =
                base64.ok_or_else(|| type_error(&path.join("data"), item.get("data"), "base64 text"))?;
            let media_type = declared()
                .ok_or_else(|| type_error(&path.join("mediaType"), item.get("mediaType"), "a media type"))?;
            (media_type, FileData::from(DataFile::new(base64.clone())))
        }
        _ => {
            converter.deprecated(&setting, warning);
            let key = if kind.ends_with("-id") {
                "fileId"
            } else {
                "providerReference"
            };
            let reference = reference(converter.provider, item.get(key), &path.join(key))?;
            (fallback.into(), ReferenceFile::new(reference).into())
        }
    };
    let mut typed = FileItem::new(media_type, data);
    typed.members = Members::in_order(OLDER);
    if kind == "file-data" {
        typed.filename = member(item, "filename", path)?;
    }
    typed.provider_options = member(item, "providerOptions", path)?;
    Ok(typed.into())
}

/// What to write instead of an older kind of item, and the media type that its kind implies.
fn older_kind(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "file-data" => ("mediaType and { type: 'data', data }", "application"),
        "file-url" => ("mediaType and { type: 'url', url }", "application"),
        "file-id" | "file-reference" => ("mediaType and { type: 'reference', reference }", "application"),
        "image-data" => ("mediaType and { type: 'data', data }", "image"),
        "image-url" => (
            "mediaType 'image' (or a specific image/* subtype) and { type: 'url', url }",
            "image",
        ),
        "image-file-id" | "image-file-reference" => {
            ("mediaType and { type: 'reference', reference }", "image")
        }
        _ => return None,
    })
}

/// A reference: a map of provider to id, or an id alone, which belongs to the provider of the call.
fn reference(provider: Option<&str>, value: Option<&Json>, path: &Path) -> Result<Map<Text>, SdkError> {
    match value {
        Some(Json::String(id)) => {
            let provider = provider.ok_or_else(|| {
                SdkError::Plain(
                    "Cannot convert string fileId to provider reference without a provider ID. Use a \
                     Record<string, string> fileId or switch to the file-reference type."
                        .to_owned(),
                )
            })?;
            Ok([(provider, id.clone())].into_iter().collect())
        }
        Some(map) => Map::from_json_at(map.clone(), path.clone()).map_err(SdkError::FaultyPrompt),
        None => Err(type_error(path, None, "a file id or a map of them")),
    }
}

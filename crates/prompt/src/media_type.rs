//! Media types, exactly as the SDK's helpers treat them.
//!
//! The names are compared as they stand: no case folding, no trimming, no parameters. A type is *full*
//! when it has a subtype other than `*`. A full type is believed; only `image/*` or `image` is looked
//! up in the bytes ([`resolve`]), and only under the top-level type that was declared.

mod detect;
mod download;
mod urls;

pub use detect::{detect, detect_base64, detect_bytes};
pub use download::validate_download_url;
pub use urls::{SupportedUrls, UrlPatternError};

use crate::error::SdkError;
use crate::json::{Json, Text};
use crate::typed::Map;
use crate::types::{FileData, Inline};

/// The text before the first slash; all of it if there is none.
pub fn top_level(media_type: &str) -> &str {
    media_type.split_once('/').map_or(media_type, |(top, _)| top)
}

/// Whether there is a subtype other than `*`.
pub fn is_full(media_type: &str) -> bool {
    media_type
        .split_once('/')
        .is_some_and(|(_, subtype)| !subtype.is_empty() && subtype != "*")
}

/// The file name extension for a media type, without the dot; empty without a subtype.
pub fn extension(media_type: &str) -> String {
    let lower = media_type.to_lowercase();
    let subtype = lower.split('/').nth(1).unwrap_or_default();
    match subtype {
        "mpeg" => "mp3",
        "x-wav" => "wav",
        "opus" => "ogg",
        "mp4" | "x-m4a" => "m4a",
        other => other,
    }
    .to_owned()
}

/// A file name up to its first dot.
pub fn strip_extension(filename: &str) -> &str {
    filename.split_once('.').map_or(filename, |(stem, _)| stem)
}

/// The full media type of a file: as declared if that is full, else what its inline bytes show.
pub fn resolve(media_type: &Text, data: &FileData) -> Result<Text, SdkError> {
    let inline = match data {
        FileData::Data(file) => Some(&file.data),
        _ => None,
    };
    resolve_inline(media_type, inline)
}

/// As [`resolve`], for data that is inline or, without any, somewhere else.
pub fn resolve_inline(media_type: &Text, inline: Option<&Inline>) -> Result<Text, SdkError> {
    if is_full(media_type) {
        return Ok(media_type.clone());
    }
    let Some(inline) = inline else {
        return Err(SdkError::unsupported(format!(
            "file of media type \"{media_type}\" must specify subtype since it is not passed as inline bytes"
        )));
    };
    match detect(inline, Some(top_level(media_type)))? {
        Some(detected) => Ok(detected.into()),
        None => Err(SdkError::unsupported(format!(
            "file of media type \"{media_type}\" must specify subtype since it could not be auto-detected"
        ))),
    }
}

/// The id that a file has at a provider.
pub fn resolve_reference<'a>(reference: &'a Map<Text>, provider: &str) -> Result<&'a Text, SdkError> {
    reference
        .get(provider)
        .ok_or_else(|| SdkError::NoSuchProviderReference {
            provider: provider.to_owned(),
            available: reference
                .iter()
                .map(|(provider, _)| provider.to_owned())
                .collect(),
        })
}

/// Whether an untagged value counts as a file reference: any object (to JavaScript an array is one)
/// without a member `type`.
pub fn is_provider_reference(value: &Json) -> bool {
    match value {
        Json::Object(object) => !object.contains_key("type"),
        Json::Array(_) => true,
        _ => false,
    }
}

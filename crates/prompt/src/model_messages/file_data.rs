//! File data in all the forms that model messages have it in, made into the one form of a prompt.
//!
//! A program may give a file as bytes, base64, a URL, a data URL or the ids of an upload, with or
//! without a tag that says which. A data URL is taken apart, and the media type in it wins over the one
//! declared beside it. That it may not be base64 at all is the SDK's own fault, and kept.

use url::Url;

use crate::error::SdkError;
use crate::json::{Json, Text};
use crate::typed::{Map, Typed};
use crate::types::file::{DataFile, ReferenceFile, TextFile, UrlFile};
use crate::types::{FileData, FileUrl, Inline};

/// File data, and its media type if a data URL said what it is.
pub(crate) type Normalized = (FileData, Option<Text>);

/// Brings file data into the form of a prompt.
pub(crate) fn normalize(content: Option<&Json>) -> Result<Normalized, SdkError> {
    let Some(content) = content else {
        return Err(not_data("undefined"));
    };
    match content {
        Json::String(text) => Ok(from_bare_text(text)),
        Json::Object(object) => match object.get("type").and_then(Json::as_str) {
            Some("data") => match object.get("data") {
                Some(Json::String(text)) if text.starts_with("data:") => Err(SdkError::InvalidDataContent(
                    "Data URLs are not valid inline data. Pass them as { type: \"url\", url } instead."
                        .to_owned(),
                )),
                data => inline(data).map(|inline| (DataFile::new(inline).into(), None)),
            },
            Some("url") => {
                let url = object
                    .get("url")
                    .and_then(Json::as_text)
                    .ok_or_else(invalid_url)?;
                let original = object.get("originalUrl").and_then(Json::as_text);
                from_url(url, original)
            }
            Some("reference") => reference(object.get("reference")),
            Some("text") => {
                let text = object.get("text").and_then(Json::as_text);
                let text = text.ok_or_else(|| not_data(type_of(object.get("text"))))?;
                Ok((TextFile::new(text).into(), None))
            }
            _ if is_bytes(content) => {
                inline(Some(content)).map(|inline| (DataFile::new(inline).into(), None))
            }
            _ if !object.contains_key("type") => reference(Some(content)),
            _ => Err(not_data("object")),
        },
        other => Err(not_data(type_of(Some(other)))),
    }
}

/// The URL as JavaScript prints it: in WHATWG form.
pub(crate) fn normalized_url(text: &Text) -> Result<Text, SdkError> {
    if is_plain_data_url(text) {
        return Ok(text.clone());
    }
    let url = Url::parse(text).map_err(|_| invalid_url())?;
    Ok(if *url.as_str() == **text {
        text.clone()
    } else {
        url.as_str().into()
    })
}

pub(crate) fn invalid_url() -> SdkError {
    SdkError::Type("Invalid URL".to_owned())
}

/// Untagged text is a URL if it can be read as one, and base64 if not.
fn from_bare_text(text: &Text) -> Normalized {
    let as_url = normalized_url(text).and_then(|url| {
        let original = (url != *text).then_some(text);
        from_url(&url, original)
    });
    as_url.unwrap_or_else(|_| (DataFile::new(text.clone()).into(), None))
}

fn from_url(text: &Text, original: Option<&Text>) -> Result<Normalized, SdkError> {
    let scheme_is_data = text
        .trim_start_matches(|c: char| c <= ' ')
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    if scheme_is_data {
        let url = normalized_url(text)?;
        let (media_type, payload) = split_data_url(&url).ok_or_else(|| {
            SdkError::InvalidDataContent(format!("Invalid data URL format in content {url}"))
        })?;
        return Ok((DataFile::new(payload).into(), Some(media_type)));
    }
    let mut file = UrlFile::new(FileUrl::parse(text.clone()).map_err(|_| invalid_url())?);
    file.original_url = original.cloned();
    Ok((file.into(), None))
}

/// The media type and the payload of a data URL: what stands before the first semicolon of its head,
/// and what stands behind the first comma, up to a second one.
fn split_data_url(url: &Text) -> Option<(Text, Text)> {
    let (head, rest) = url.split_once(',')?;
    let payload = rest.split(',').next().unwrap_or(rest);
    let media_type = head.split(';').next()?.split(':').nth(1)?;
    let start = head.len() + 1;
    Some((media_type.into(), url.slice(start, start + payload.len())))
}

/// Whether URL parsing would leave this data URL as it is, so that megabytes need not be parsed.
fn is_plain_data_url(text: &str) -> bool {
    text.starts_with("data:")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#' && byte != b'?')
}

fn inline(data: Option<&Json>) -> Result<Inline, SdkError> {
    match data {
        Some(Json::String(text)) => Ok(Inline::from(text.clone())),
        Some(value @ Json::Object(_)) => Inline::from_json(value.clone()).map_err(|_| not_data("object")),
        other => Err(not_data(type_of(other))),
    }
}

/// Whether an object is one of the JSON forms of bytes. An empty one is not: it is a reference.
fn is_bytes(value: &Json) -> bool {
    value.as_object().is_some_and(|object| !object.is_empty()) && Inline::from_json(value.clone()).is_ok()
}

fn reference(value: Option<&Json>) -> Result<Normalized, SdkError> {
    let value = value.ok_or_else(|| not_data("undefined"))?;
    let reference = Map::<Text>::from_json(value.clone()).map_err(SdkError::FaultyPrompt)?;
    Ok((ReferenceFile::new(reference).into(), None))
}

fn not_data(found: &str) -> SdkError {
    SdkError::InvalidDataContent(format!(
        "Invalid data content. Expected a base64 string, Uint8Array, ArrayBuffer, or Buffer, but got {found}."
    ))
}

/// What JavaScript's `typeof` says.
fn type_of(value: Option<&Json>) -> &'static str {
    match value {
        None => "undefined",
        Some(Json::Bool(_)) => "boolean",
        Some(Json::Number(_)) => "number",
        Some(Json::String(_)) => "string",
        Some(_) => "object",
    }
}

/// The media type that the extension of a URL's path suggests.
pub(crate) fn media_type_of_url(url: &str) -> &'static str {
    let path = url::Url::parse(url)
        .map(|url| url.path().to_owned())
        .unwrap_or_default();
    match path
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .to_lowercase()
        .as_str()
    {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "avif" => "image/avif",
        "heic" => "image/heic",
        "bmp" => "image/bmp",
        "tiff" | "tif" => "image/tiff",
        "pdf" => "application/pdf",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::file::Inline;

    fn data_of(text: &str) -> (String, Option<String>) {
        match from_bare_text(&text.into()) {
            (FileData::Data(file), media_type) => {
                let Inline::Base64(text) = file.data else {
                    panic!("text stays text")
                };
                (text.to_string(), media_type.map(|text| text.to_string()))
            }
            (other, _) => panic!("{other:?}"),
        }
    }

    #[test]
    fn data_urls_are_cut_where_the_sdk_cuts_them() {
        let cut = |text| data_of(text);
        assert_eq!(
            cut("data:image/png;base64,AA=="),
            ("AA==".into(), Some("image/png".into()))
        );
        assert_eq!(cut("data:,a,b"), ("a".into(), Some("".into())));
        assert_eq!(
            cut("DATA:text/plain,x y"),
            ("x y".into(), Some("text/plain".into()))
        );
        assert_eq!(cut("data:no-comma"), ("data:no-comma".into(), None));
        assert_eq!(cut("AAAA"), ("AAAA".into(), None));
    }

    #[test]
    fn the_payload_of_a_large_data_url_is_not_copied() {
        let text = Text::from(format!("data:image/png;base64,{}", "A".repeat(10_000)));
        let Ok((FileData::Data(file), _)) = from_url(&text, None) else {
            panic!("data")
        };
        let Inline::Base64(payload) = file.data else {
            panic!("text")
        };
        assert_eq!(payload.as_ptr(), text[22..].as_ptr());
    }
}

//! What a model cannot fetch by itself: which files of a conversation those are, and what came of fetching them.

use std::collections::HashMap;
use std::sync::Arc;

use super::ToPrompt;
use super::file_data::{self, invalid_url, media_type_of_url, normalize};
use super::lenient::{parts, role, str_of, tag};
use crate::error::SdkError;
use crate::json::{Json, Text, object};
use crate::media_type;
use crate::types::FileData;

/// A URL that has to be fetched because the model does not.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::media_type::SupportedUrls;
/// use tapline_prompt::model_messages::{Download, Downloads, ToPrompt};
///
/// let message = r#"{"role":"user","content":[{"type":"file","mediaType":"image","data":"https://example.com/a"}]}"#;
/// let messages = [Json::parse(message)?];
/// let no_urls = SupportedUrls::default();
/// let to_prompt =
///     ToPrompt { instructions: None, messages: &messages, supported_urls: &no_urls, provider: None };
///
/// let mut downloads = Downloads::default();
/// for wanted in to_prompt.wanted_downloads()? {
///     wanted.validate()?;
///     // Fetch it here.
///     let download = Download { data: (*b"\x89PNG").into(), media_type: Some("image/png".into()) };
///     downloads.insert(wanted.url.to_string(), download);
/// }
/// assert!(to_prompt.convert(&downloads)?.warnings.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WantedDownload {
    /// The URL in WHATWG form: the key for [`Downloads::insert`].
    pub url: Text,
    /// The media type that was declared for it.
    pub media_type: Option<Text>,
}

impl WantedDownload {
    /// Whether it is safe to fetch, see [`media_type::validate_download_url`].
    pub fn validate(&self) -> Result<(), SdkError> {
        media_type::validate_download_url(&self.url).map(drop)
    }
}

/// What a download gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Download {
    /// The bytes.
    pub data: Arc<[u8]>,
    /// The `content-type` of the response, parameters included.
    pub media_type: Option<Text>,
}

/// What was fetched, by URL. A URL that is not here stays a URL in the prompt.
#[derive(Debug, Clone, Default)]
pub struct Downloads(pub(super) HashMap<Box<str>, Download>);

impl Downloads {
    /// Adds what was fetched from a URL.
    ///
    /// ```
    /// use tapline_prompt::model_messages::{Download, Downloads};
    ///
    /// let mut downloads = Downloads::default();
    /// downloads.insert("https://example.com/a.png", Download { data: [0x89].into(), media_type: None });
    /// ```
    pub fn insert(&mut self, url: impl Into<Box<str>>, download: Download) {
        self.0.insert(url.into(), download);
    }
}

impl ToPrompt<'_> {
    /// The URLs that the model does not fetch by itself, in the order of the messages. The same URL can
    /// stand here twice.
    pub fn wanted_downloads(&self) -> Result<Vec<WantedDownload>, SdkError> {
        let mut files = Vec::new();
        for message in self.messages {
            collect_files(message, &mut files)?;
        }
        let mut wanted = Vec::new();
        for (declared, data) in files {
            // A file without data is found out when its message is converted.
            if data.is_none() {
                continue;
            }
            let (FileData::Url(file), _) = normalize(data.as_ref())? else {
                continue;
            };
            let url = file.url.to_text();
            let is_supported = declared
                .as_ref()
                .is_some_and(|media_type| self.supported_urls.supports(media_type, &url));
            if !is_supported {
                wanted.push(WantedDownload {
                    url,
                    media_type: declared,
                });
            }
        }
        Ok(wanted)
    }
}

/// The files of a message that could be downloaded: those of users, and those in results of tools.
fn collect_files(message: &Json, files: &mut Vec<(Option<Text>, Option<Json>)>) -> Result<(), SdkError> {
    let declared = |part: &Json| part.get("mediaType").and_then(Json::as_text).cloned();
    match role(message) {
        "user" => {
            for part in parts(message) {
                match tag(part) {
                    "file" => files.push((declared(part), part.get("data").cloned())),
                    "image" => files.push((
                        declared(part).or_else(|| Some("image".into())),
                        part.get("image").cloned(),
                    )),
                    _ => {}
                }
            }
        }
        "assistant" | "tool" => {
            let outputs = parts(message)
                .iter()
                .filter(|part| tag(part) == "tool-result")
                .filter_map(|part| part.get("output"))
                .filter(|output| tag(output) == "content");
            for item in
                outputs.flat_map(|output| output.get("value").and_then(Json::as_array).unwrap_or_default())
            {
                let as_url = |item: &Json| {
                    let url = item.get("url").and_then(Json::as_text).ok_or_else(invalid_url)?;
                    let url = file_data::normalized_url(url)?;
                    Ok::<_, SdkError>(Json::from(object! { "type": "url", "url": url }))
                };
                match tag(item) {
                    "file" => files.push((declared(item), item.get("data").cloned())),
                    "file-url" => {
                        let url = str_of(item, "url").unwrap_or_default();
                        let media_type = declared(item).unwrap_or_else(|| media_type_of_url(url).into());
                        files.push((Some(media_type), Some(as_url(item)?)));
                    }
                    "image-url" => files.push((Some("image".into()), Some(as_url(item)?))),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    Ok(())
}

//! The content of input items: texts, files, and what a web search did.

use super::{PROVIDER, cache_breakpoint};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::providers::common::{self, data_url};
use crate::types::output::FileItem;
use crate::types::prompt::FilePart;
use crate::types::{FileData, ProviderOptions};

pub(super) fn input_text(text: &Text, mark: Option<&Json>) -> Object {
    object! { "type": "input_text", "text": text, "prompt_cache_breakpoint"?: mark }
}

pub(super) fn user_file(index: usize, part: &FilePart, pass_through: bool) -> Result<Object, SdkError> {
    let options = part.provider_options.as_ref();
    let is_image = common::top_level(&part.media_type) == "image";
    let inline = match &part.data {
        FileData::Text(_) => return Err(SdkError::unsupported("text file parts")),
        FileData::Reference(file) => {
            let id = media_type::resolve_reference(&file.reference, PROVIDER)?;
            return Ok(file_object(is_image, "file_id", id.clone(), None, options));
        }
        FileData::Url(file) => {
            let member = if is_image { "image_url" } else { "file_url" };
            return Ok(file_object(is_image, member, file.url.to_text(), None, options));
        }
        FileData::Data(file) => &file.data,
    };
    let full = media_type::resolve(&part.media_type, &part.data)?;
    if is_image {
        return Ok(file_object(
            true,
            "image_url",
            data_url(&full, inline),
            None,
            options,
        ));
    }
    let is_pdf = &*full == "application/pdf";
    if !is_pdf && !pass_through {
        return Err(common::unsupported_media_type(&full));
    }
    let filename = part.filename.clone().unwrap_or_else(|| {
        if is_pdf {
            format!("part-{index}.pdf").into()
        } else {
            format!("part-{index}").into()
        }
    });
    Ok(file_object(
        false,
        "file_data",
        data_url(&full, inline),
        Some(filename),
        options,
    ))
}

/// A file in a tool result; nothing for data that has no form there.
pub(super) fn file_item(item: &FileItem, takes_references: bool) -> Result<Option<Object>, SdkError> {
    let options = item.provider_options.as_ref();
    let is_image = common::top_level(&item.media_type) == "image";
    Ok(Some(match &item.data {
        FileData::Text(_) => return Ok(None),
        FileData::Reference(_) if !takes_references => return Ok(None),
        FileData::Reference(file) => {
            let id = media_type::resolve_reference(&file.reference, PROVIDER)?;
            file_object(is_image, "file_id", id.clone(), None, options)
        }
        FileData::Url(file) => {
            let member = if is_image { "image_url" } else { "file_url" };
            file_object(is_image, member, file.url.to_text(), None, options)
        }
        FileData::Data(file) => {
            let full = media_type::resolve(&item.media_type, &item.data)?;
            let url = data_url(&full, &file.data);
            if is_image {
                file_object(true, "image_url", url, None, options)
            } else {
                let filename = item.filename.clone().unwrap_or_else(|| "data".into());
                file_object(false, "file_data", url, Some(filename), options)
            }
        }
    }))
}

fn file_object(
    is_image: bool,
    member: &'static str,
    value: Text,
    filename: Option<Text>,
    options: Option<&ProviderOptions>,
) -> Object {
    let mut file = object! {
        "type": if is_image { "input_image" } else { "input_file" },
        "filename"?: filename,
    };
    file.insert(member, value);
    if is_image {
        let detail = options.and_then(|options| options.get(PROVIDER)?.get("imageDetail"));
        file.insert_some("detail", detail);
    }
    file.insert_some("prompt_cache_breakpoint", cache_breakpoint(options));
    file
}

/// What a web search did, if its result says so in the shape that the SDK gives it.
pub(super) fn web_search_action(value: &Json) -> Option<Object> {
    let text_or_null = |value: &Json| value.is_null() || value.as_str().is_some();
    let action = value.get("action")?;
    let sources = value.get("sources");
    let are_sources = sources.is_none_or(|sources| {
        sources.as_array().is_some_and(|sources| {
            sources
                .iter()
                .all(|source| match source.get("type").and_then(Json::as_str) {
                    Some("url") => source.get("url").and_then(Json::as_str).is_some(),
                    Some("api") => source.get("name").and_then(Json::as_str).is_some(),
                    _ => false,
                })
        })
    });
    let member = |key: &str| action.get(key);
    if !are_sources
        || !["url", "pattern"]
            .iter()
            .all(|key| member(key).is_none_or(text_or_null))
    {
        return None;
    }
    match member("type")?.as_str()? {
        "search" => {
            let are_texts = |value: &Json| {
                value
                    .as_array()
                    .is_some_and(|items| items.iter().all(|item| item.as_str().is_some()))
            };
            if member("query").is_some_and(|query| query.as_str().is_none())
                || !member("queries").is_none_or(are_texts)
            {
                return None;
            }
            Some(object! {
                "type": "search",
                "query"?: member("query"),
                "queries"?: member("queries"),
                "sources"?: sources,
            })
        }
        "openPage" => Some(object! { "type": "open_page", "url"?: member("url") }),
        "findInPage" => {
            Some(object! { "type": "find_in_page", "url"?: member("url"), "pattern"?: member("pattern") })
        }
        _ => None,
    }
}

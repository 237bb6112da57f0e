//! `POST /v1/chat/completions`.
//!
//! Known faults, mended in the fixed profile: the input of a tool call that is JSON text already is
//! quoted once more; the level of reasoning `max` is not known.

use super::{EFFORTS, PROVIDER, effort, image_detail, top_logprobs};
use crate::error::SdkError;
use crate::json::{Json, Object, object};
use crate::media_type;
use crate::providers::chat;
use crate::providers::common::{self, arguments_stringified, data_url};
use crate::providers::options::Options;
use crate::providers::{Call, Log, Request};
use crate::types::prompt::FilePart;
use crate::types::{FileData, Message, Warning};

/// Builds the request.
pub(super) fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let options = call.options;
    let own = Options::of(options.provider_options.as_ref(), PROVIDER);
    let own_effort = own.word("reasoningEffort", EFFORTS)?;
    let logprobs = own.read::<bool>("logprobs")?;
    let top_logprobs = top_logprobs(&own)?;
    let service_tier = own.word("serviceTier", &["default", "priority"])?;
    let parallel = own.read::<bool>("parallel_function_calling")?;
    let search = search_parameters(&own)?;
    log.unsupported([
        ("topK", options.top_k.is_some()),
        ("frequencyPenalty", options.frequency_penalty.is_some()),
        ("presencePenalty", options.presence_penalty.is_some()),
        ("stopSequences", options.stop_sequences.is_some()),
    ]);
    let messages = messages(call, log)?;
    let tools = chat::tools(options, |tool| {
        Err(Warning::unsupported(format!(
            "provider-defined tool {}",
            tool.name
        )))
    });
    log.warn_all(tools.warnings);
    let response_format = chat::json_format(options).map(|format| match &format.schema {
        Some(schema) => object! {
            "type": "json_schema",
            "json_schema": object! {
                "name": format.name.clone().unwrap_or_else(|| "response".into()),
                "schema": schema,
                "strict": true,
            },
        },
        None => object! { "type": "json_object" },
    });
    let body = object! {
        "model": call.model,
        "logprobs"?: (logprobs == Some(true) || top_logprobs.is_some()).then_some(true),
        "top_logprobs"?: top_logprobs,
        "max_completion_tokens"?: options.max_output_tokens.clone(),
        "temperature"?: options.temperature.clone(),
        "top_p"?: options.top_p.clone(),
        "seed"?: options.seed.clone(),
        "reasoning_effort"?: effort(call, own_effort, log),
        "service_tier"?: service_tier,
        "parallel_function_calling"?: parallel,
        "response_format"?: response_format,
        "search_parameters"?: search,
        "messages": messages,
        "tools"?: tools.tools,
        "tool_choice"?: tools.choice,
    };
    Ok(Request::new("/v1/chat/completions", body))
}

/// Live search: what to search, and where.
fn search_parameters(own: &Options<'_>) -> Result<Option<Object>, SdkError> {
    let Some(search) = own.nested("searchParameters")? else {
        return Ok(None);
    };
    let Some(mode) = search.word("mode", &["off", "auto", "on"])? else {
        return Err(search.invalid("searchParameters must have a mode"));
    };
    let sources = search.read::<Vec<Object>>("sources")?;
    Ok(Some(object! {
        "mode": mode,
        "return_citations"?: search.read::<bool>("returnCitations")?,
        "from_date"?: search.read::<crate::json::Text>("fromDate")?,
        "to_date"?: search.read::<crate::json::Text>("toDate")?,
        "max_search_results"?: search.read::<crate::json::Number>("maxSearchResults")?,
        "sources"?: match sources {
            Some(sources) => Some(sources.iter().map(|source| self::source(source, own)).collect::<Result<Vec<_>, _>>()?),
            None => None,
        },
    }))
}

/// One source of a live search.
fn source(source: &Object, own: &Options<'_>) -> Result<Object, SdkError> {
    let member = |key: &str| source.get(key);
    let kind = member("type").and_then(Json::as_str);
    Ok(match kind {
        Some("web") => object! {
            "type": "web",
            "country"?: member("country"),
            "excluded_websites"?: member("excludedWebsites"),
            "allowed_websites"?: member("allowedWebsites"),
            "safe_search"?: member("safeSearch"),
        },
        Some("x") => object! {
            "type": "x",
            "excluded_x_handles"?: member("excludedXHandles"),
            "included_x_handles"?: member("includedXHandles").or_else(|| member("xHandles")),
            "post_favorite_count"?: member("postFavoriteCount"),
            "post_view_count"?: member("postViewCount"),
        },
        Some("news") => object! {
            "type": "news",
            "country"?: member("country"),
            "excluded_websites"?: member("excludedWebsites"),
            "safe_search"?: member("safeSearch"),
        },
        Some("rss") => object! { "type": "rss", "links"?: member("links") },
        _ => return Err(own.invalid("a search source is one of web, x, news, rss")),
    })
}

fn messages(call: &Call<'_>, log: &mut Log) -> Result<Vec<Object>, SdkError> {
    let mut messages = Vec::with_capacity(call.prompt.messages().len());
    for (at, message) in call.prompt.messages().iter().enumerate() {
        match message {
            Message::System(message) => {
                messages.push(object! { "role": "system", "content": &message.content });
            }
            Message::User(message) => messages.push(chat::user(message, file)?),
            Message::Assistant(message) => {
                let mut said = chat::said(at, message, false, log, |part| {
                    chat::tool_call(part, arguments_stringified(part.input.as_ref(), call.profile))
                });
                let calls = said.take_calls();
                messages.push(object! { "role": "assistant", "content": said.text, "tool_calls"?: calls });
            }
            Message::Tool(message) => {
                for (index, part) in chat::results(at, message, log) {
                    messages.push(object! {
                        "role": "tool",
                        "tool_call_id": &part.tool_call_id,
                        "content": chat::result_text(at, index, part, call.profile, log),
                    });
                }
            }
        }
    }
    Ok(messages)
}

fn file(part: &FilePart) -> Result<Object, SdkError> {
    let is_image = common::top_level(&part.media_type) == "image";
    let detail = || image_detail(part.provider_options.as_ref());
    let (url, detail) = match &part.data {
        FileData::Reference(file) => {
            let id = media_type::resolve_reference(&file.reference, PROVIDER)?;
            return Ok(object! { "type": "file", "file": object! { "file_id": id } });
        }
        FileData::Text(_) => return Err(SdkError::unsupported("text file parts")),
        _ if !is_image => return Err(common::unsupported_media_type(&part.media_type)),
        // The options are checked before the data is looked at.
        FileData::Url(file) => (file.url.to_text(), detail()?),
        FileData::Data(file) => {
            let detail = detail()?;
            (
                data_url(&media_type::resolve(&part.media_type, &part.data)?, &file.data),
                detail,
            )
        }
    };
    Ok(object! { "type": "image_url", "image_url": object! { "url": url, "detail"?: detail } })
}

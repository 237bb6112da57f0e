//! Groq: `POST /openai/v1/chat/completions`.
//!
//! Images are the only files, and references do not exist. Thoughts go along as `reasoning`, whether
//! the model takes them or not.

use super::chat;
use super::common::{self, arguments_text, data_url};
use super::options::Options;
use super::{Call, Log, Request, Target};
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::types::prompt::FilePart;
use crate::types::{FileData, Message, Warning};

/// Models that the SDK knows to be without Groq's browser search.
const KNOWN_WITHOUT_SEARCH: &[&str] = &[
    "gemma2-9b-it",
    "llama-3.1-8b-instant",
    "llama-3.3-70b-versatile",
    "meta-llama/llama-guard-4-12b",
    "deepseek-r1-distill-llama-70b",
    "meta-llama/llama-4-maverick-17b-128e-instruct",
    "meta-llama/llama-4-scout-17b-16e-instruct",
    "meta-llama/llama-prompt-guard-2-22m",
    "meta-llama/llama-prompt-guard-2-86m",
    "moonshotai/kimi-k2-instruct-0905",
    "qwen/qwen3.6-27b",
    "llama-guard-3-8b",
    "llama3-70b-8192",
    "llama3-8b-8192",
    "mixtral-8x7b-32768",
    "qwen-qwq-32b",
    "qwen-2.5-32b",
    "deepseek-r1-distill-qwen-32b",
];

/// The chat API.
pub const CHAT: Target = Target {
    provider: "groq",
    api: "chat",
    build,
};

fn build(call: &Call<'_>, log: &mut Log) -> Result<Request, SdkError> {
    let own = Options::of(call.options.provider_options.as_ref(), "groq");
    let reasoning_format = own.word("reasoningFormat", &["parsed", "raw", "hidden"])?;
    let own_effort = own.word("reasoningEffort", &["none", "default", "low", "medium", "high"])?;
    let parallel = own.read::<bool>("parallelToolCalls")?;
    let user = own.read::<Text>("user")?;
    let structured = own.read::<bool>("structuredOutputs")?.unwrap_or(true);
    let strict = own.read::<bool>("strictJsonSchema")?.unwrap_or(true);
    let service_tier = own.word("serviceTier", &["on_demand", "performance", "flex", "auto"])?;

    // Groq refuses a JSON format together with function tools.
    let answer_tool = chat::answer_tool(call.options);
    let format = chat::json_format(call.options);
    if call.options.top_k.is_some() {
        log.warn(Warning::unsupported("topK"));
    }
    if format.is_some_and(|format| format.schema.is_some()) && !structured && answer_tool.is_none() {
        log.warn(Warning::unsupported_because(
            "responseFormat",
            "JSON response format schema is only supported with structuredOutputs",
        ));
    }
    let tools = chat::tools(answer_tool.as_ref().unwrap_or(call.options), |tool| {
        if &*tool.id == "groq.browser_search" {
            browser_search(tool, call.model)
        } else {
            Err(chat::no_such_tool(tool))
        }
    });
    let effort = effort(call, own_effort, log);
    let options = call.options;
    let body = object! {
        "model": call.model,
        "user"?: user,
        "parallel_tool_calls"?: if answer_tool.is_some() { Some(false) } else { parallel },
        "max_tokens"?: options.max_output_tokens.clone(),
        "temperature"?: options.temperature.clone(),
        "top_p"?: options.top_p.clone(),
        "frequency_penalty"?: options.frequency_penalty.clone(),
        "presence_penalty"?: options.presence_penalty.clone(),
        "stop"?: options.stop_sequences.clone(),
        "seed"?: options.seed.clone(),
        "response_format"?: format
            .filter(|_| answer_tool.is_none())
            .map(|format| chat::response_format(format, structured, strict)),
        "reasoning_format"?: reasoning_format,
        "reasoning_effort"?: effort,
        "service_tier"?: service_tier,
        "messages": messages(call, log)?,
        "tools"?: tools.tools,
        "tool_choice"?: tools.choice,
    };
    log.warn_all(tools.warnings);
    Ok(Request::new("/openai/v1/chat/completions", body))
}

/// Groq's browser search, which only some models have. Of models it does not know the SDK assumes so.
fn browser_search(tool: &crate::types::call::ProviderTool, model: &str) -> Result<Object, Warning> {
    if KNOWN_WITHOUT_SEARCH.contains(&model) {
        return Err(Warning::unsupported_because(
            format!("provider-defined tool {}", tool.id),
            format!("Browser search is not supported on model {model}."),
        ));
    }
    Ok(object! { "type": "browser_search" })
}

fn effort(call: &Call<'_>, own: Option<&'static str>, log: &mut Log) -> Option<Text> {
    let can_disable = call.model == "qwen/qwen3.6-27b";
    let always = call.model.starts_with("openai/gpt-oss");
    let wanted = call.options.reasoning;
    if own.is_none() && wanted.is_some_and(|level| level.as_str() == "none") && !can_disable && !always {
        log.warn(Warning::unsupported_because(
            "reasoning",
            "reasoning \"none\" is not supported by this model.",
        ));
        return None;
    }
    let mut efforts = vec![("low", "low"), ("medium", "medium"), ("high", "high")];
    if can_disable {
        efforts.push(("none", "none"));
    }
    common::reasoning_effort(wanted, &efforts, own.map(Text::from), &mut |warning| {
        log.warn(warning)
    })
}

fn messages(call: &Call<'_>, log: &mut Log) -> Result<Vec<Object>, SdkError> {
    let mut messages = Vec::with_capacity(call.prompt.messages().len());
    for (at, message) in call.prompt.messages().iter().enumerate() {
        match message {
            Message::System(message) => {
                messages.push(object! { "role": "system", "content": &message.content });
            }
            Message::User(message) => messages.push(chat::user(message, image)?),
            Message::Assistant(message) => {
                let mut said = chat::said(at, message, true, log, |part| {
                    chat::tool_call(part, arguments_text(part.input.as_ref()))
                });
                let calls = said.take_calls();
                messages.push(object! {
                    "role": "assistant",
                    "content": said.text,
                    "reasoning"?: said.reasoning.filter(|reasoning| !reasoning.is_empty()),
                    "tool_calls"?: calls,
                });
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

fn image(part: &FilePart) -> Result<Object, SdkError> {
    let is_image = common::top_level(&part.media_type) == "image";
    let url = match &part.data {
        FileData::Reference(_) => return Err(SdkError::unsupported("file parts with provider references")),
        FileData::Text(_) => return Err(SdkError::unsupported("text file parts")),
        _ if !is_image => return Err(SdkError::unsupported("Non-image file content parts")),
        FileData::Url(file) => Json::String(file.url.to_text()),
        FileData::Data(file) => Json::String(data_url(
            &media_type::resolve(&part.media_type, &part.data)?,
            &file.data,
        )),
    };
    Ok(object! { "type": "image_url", "image_url": object! { "url": url } })
}

//! The gateway's wire: the JSON form that the SDK itself gives a call.
//!
//! `POST {base}/language-model` with the call options and the prompt side by side. Bytes of files are
//! base64, URLs are in WHATWG form, absent members stay absent, and nothing else changes. A server that
//! reads this form ([`read_call`]) is usable as a model from any AI SDK program.

use super::{Call, Log, Request, Target};
use crate::error::SdkError;
use crate::fault::Faults;
use crate::json::{Json, Object};
use crate::path::Path;
use crate::typed::{Form, Typed};
use crate::types::{CallOptions, Prompt};

/// The gateway's language model API.
pub const LANGUAGE_MODEL: Target = Target {
    provider: "gateway",
    api: "language-model",
    build,
};

fn build(call: &Call<'_>, _: &mut Log) -> Result<Request, SdkError> {
    let mut body = Object::new();
    body.insert("prompt", call.prompt.to_json_as(Form::Wire));
    if let Json::Object(options) = call.options.to_json_as(Form::Wire) {
        body.extend_from(&options);
    }
    let mut request = Request::new("/language-model", body);
    request.headers = vec![
        ("ai-language-model-specification-version", "4".to_owned()),
        ("ai-language-model-id", call.model.to_owned()),
    ];
    Ok(request)
}

/// Reads the body of a gateway request: a prompt and the options of the call.
pub fn read_call(body: Json) -> Result<(Prompt, CallOptions), Faults> {
    let mut body = match body {
        Json::Object(body) => body,
        // Anything else is reported as what it is.
        other => {
            return Err(CallOptions::from_json(other).map_or_else(|faults| faults, |_| Faults::default()));
        }
    };
    let prompt = Prompt::from_value(body.remove("prompt").unwrap_or_default());
    let options = CallOptions::from_json_at(body.into(), Path::root());
    match (prompt, options) {
        (Ok(prompt), Ok(options)) => Ok((prompt, options)),
        (prompt, options) => {
            let faults = prompt.err().into_iter().chain(options.err()).flatten();
            Err(faults.collect::<Vec<_>>().into())
        }
    }
}

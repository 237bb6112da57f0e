//! From a prompt to the request of a provider.
//!
//! One shape for all: a provider is a [`Target`], a function from a [`Call`] (model, prompt, options)
//! to a path and a body. What it warns about, and what it drops or changes on the way, it tells its
//! [`Log`]; what it cannot do is an error by the SDK's name. [`Target::convert`] puts that together as
//! a [`Conversion`].
//!
//! The published packages are silent about most of what they drop. Here every part that does not
//! arrive as it was is in the conversion's report, with its path.
//!
//! To add a provider: write `providers/<name>.rs` with a `pub const … : Target`, put it into
//! [`TARGETS`], and let `tests/providers.rs` run its vectors. What several providers do alike stands in
//! [`common`], and nowhere else; options of a provider are read with [`options::Options`].
//!
//! # Profiles
//!
//! [`Profile::Exact`], the default, gives what the published packages give, their faults included.
//! [`Profile::Fixed`] mends the known ones. Those that all providers share:
//!
//! * Bytes inside tool results that are sent as JSON text become base64, not an object with a key for
//!   every byte.
//!
//! Faults of a single provider are named in the docs of its module.

pub mod amazon_bedrock;
pub mod anthropic;
pub mod chat;
pub mod cohere;
pub mod common;
pub mod deepseek;
pub mod gateway;
pub mod google;
pub mod groq;
mod line;
pub mod mistral;
pub mod openai;
pub mod openai_compatible;
pub mod options;
pub mod shape;
pub mod xai;

use std::borrow::Cow;

use crate::error::SdkError;
use crate::json::{Json, Object};
use crate::path::Path;
use crate::typed::Typed;
use crate::types::{CallOptions, Prompt, Warning};

pub use line::convert_line;

/// Every provider API that a prompt can be converted for.
pub const TARGETS: &[Target] = &[
    openai::CHAT,
    openai::RESPONSES,
    openai_compatible::CHAT,
    deepseek::CHAT,
    groq::CHAT,
    xai::CHAT,
    xai::RESPONSES,
    anthropic::MESSAGES,
    google::GENERATE,
    amazon_bedrock::CONVERSE,
    mistral::CHAT,
    cohere::CHAT,
    gateway::LANGUAGE_MODEL,
];

/// How exactly to do as the published packages do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Equal to them, faults included.
    #[default]
    Exact,
    /// Their known faults mended.
    Fixed,
}

/// What is to be sent to a model.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The model's id at the provider.
    pub model: &'a str,
    /// How the provider was set up (the settings of its factory function).
    pub settings: &'a Object,
    /// The conversation.
    pub prompt: &'a Prompt,
    /// Everything else.
    pub options: &'a CallOptions,
    /// Exact or mended.
    pub profile: Profile,
}

/// What a provider makes of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The path of the URL, from its host on.
    pub path: String,
    /// The JSON body.
    pub body: Object,
    /// Headers that the body depends on, besides those of every request.
    pub headers: Vec<(&'static str, String)>,
}

impl Request {
    /// A request without headers of its own.
    pub fn new(path: impl Into<String>, body: Object) -> Self {
        Request {
            path: path.into(),
            body,
            headers: Vec::new(),
        }
    }
}

/// A converted call.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversion {
    /// What to send.
    pub request: Request,
    /// What the SDK warns about, in its order.
    pub warnings: Vec<Warning>,
    /// What did not arrive as it was in the prompt.
    pub report: Vec<Change>,
}

/// Something that a conversion did not carry over as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What it happened to.
    pub path: Path,
    /// Whether anything is left of it.
    pub kind: ChangeKind,
    /// What happened, in words.
    pub detail: Cow<'static, str>,
}

/// What happened to something in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It is not in the body.
    Dropped,
    /// It is in the body in another form that says less.
    Changed,
}

impl ChangeKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Dropped => "dropped",
            ChangeKind::Changed => "changed",
        }
    }
}

/// What a conversion tells about itself while it runs.
#[derive(Debug, Default)]
pub struct Log {
    warnings: Vec<Warning>,
    report: Vec<Change>,
}

impl Log {
    /// Adds a warning that the SDK gives.
    pub fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    /// Adds a warning for each of these settings that is set: the API has none such.
    pub fn unsupported(&mut self, settings: impl IntoIterator<Item = (&'static str, bool)>) {
        for (feature, _) in settings.into_iter().filter(|(_, is_set)| *is_set) {
            self.warn(Warning::unsupported(feature));
        }
    }

    /// Adds several warnings.
    pub fn warn_all(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.warnings.extend(warnings);
    }

    /// Reports that something is not in the body.
    pub fn dropped(&mut self, path: Path, detail: impl Into<Cow<'static, str>>) {
        self.report.push(Change {
            path,
            kind: ChangeKind::Dropped,
            detail: detail.into(),
        });
    }

    /// Reports that something is in the body in a form that says less.
    pub fn changed(&mut self, path: Path, detail: impl Into<Cow<'static, str>>) {
        self.report.push(Change {
            path,
            kind: ChangeKind::Changed,
            detail: detail.into(),
        });
    }
}

/// One API of one provider.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The provider, by the name of its package.
    pub provider: &'static str,
    /// Which of its APIs.
    pub api: &'static str,
    /// Builds the request.
    pub(crate) build: fn(&Call<'_>, &mut Log) -> Result<Request, SdkError>,
}

impl Target {
    /// The target of that provider and API.
    pub fn find(provider: &str, api: &str) -> Option<&'static Target> {
        TARGETS
            .iter()
            .find(|target| target.provider == provider && target.api == api)
    }

    /// Converts a call. When it fails, what was warned about before is lost, as it is in the SDK.
    pub fn convert(&self, call: &Call<'_>) -> Result<Conversion, SdkError> {
        let mut log = Log::default();
        let request = (self.build)(call, &mut log)?;
        Ok(Conversion {
            request,
            warnings: log.warnings,
            report: log.report,
        })
    }
}

impl Conversion {
    /// The conversion as JSON: path, body and warnings, headers and report if there are any.
    pub fn to_json(&self) -> Json {
        let mut json = crate::json::object! {
            "path": self.request.path.as_str(),
            "body": &self.request.body,
            "warnings": self.warnings.to_json(),
        };
        if !self.request.headers.is_empty() {
            let headers = self
                .request
                .headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()));
            json.insert("headers", headers.collect::<Object>());
        }
        if !self.report.is_empty() {
            let report = self.report.iter().map(|change| {
                crate::json::object! {
                    "path": change.path.to_string(),
                    "kind": change.kind.as_str(),
                    "detail": change.detail.as_ref(),
                }
            });
            json.insert("report", report.collect::<Vec<_>>());
        }
        json.into()
    }
}

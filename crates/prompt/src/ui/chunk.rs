//! Chunks: what a chat client reads while a message is being made.

use std::fmt;
use std::sync::LazyLock;

use super::issue::Mismatch;
use super::message_shape::{CITATION, document_source, metadata, url_source};
use super::shape::{Member, Shape, may, need};
use crate::error::SdkError;
use crate::json::{Json, Object, Text};

/// A chunk that was checked: an object of a known type that has what its type needs. Members that the
/// type does not know are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk(Object);

impl Chunk {
    /// Checks a chunk.
    ///
    /// ```
    /// use tapline_prompt::json::Json;
    /// use tapline_prompt::ui::Chunk;
    ///
    /// assert!(Chunk::from_json(&Json::parse(r#"{"type":"data-plan","data":null}"#)?).is_ok());
    /// let mismatch = Chunk::from_json(&Json::parse(r#"{"type":"text-delta","id":"1"}"#)?).unwrap_err();
    /// assert_eq!(mismatch.issues()[0].path.to_string(), "delta");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_json(value: &Json) -> Result<Self, Mismatch> {
        let is_data = value
            .get("type")
            .and_then(Json::as_str)
            .is_some_and(|tag| tag.starts_with("data-"));
        let shape: &Shape = if is_data { &DATA_CHUNK } else { &CHUNK };
        match shape.check(value)? {
            Json::Object(object) => Ok(Chunk(object)),
            other => Err(Mismatch::because(other, "a chunk is an object")),
        }
    }

    /// Reads the JSON text of a chunk as the client does.
    ///
    /// ```
    /// assert!(tapline_prompt::ui::Chunk::parse(r#"{"type":"finish"}"#).is_ok());
    /// assert!(tapline_prompt::ui::Chunk::parse("{").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, SdkError> {
        let Some(value) = Json::parse_secure(text) else {
            return Err(SdkError::JsonParse(format!("Text: {text}.")));
        };
        Chunk::from_json(&value).map_err(|mismatch| SdkError::TypeValidation(mismatch.to_string()))
    }

    /// A chunk made here, which has what it needs.
    pub(crate) fn made(object: Object) -> Self {
        Chunk(object)
    }

    /// Its type.
    pub fn kind(&self) -> &str {
        self.text("type")
    }

    /// One of its members.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// All its members.
    pub fn members(&self) -> &Object {
        &self.0
    }

    /// The chunk as JSON.
    pub fn to_json(&self) -> Json {
        Json::from(&self.0)
    }

    /// A member that the type says is text.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Json::as_str).unwrap_or_default()
    }

    pub(crate) fn shared_text(&self, key: &str) -> Text {
        self.0
            .get(key)
            .and_then(Json::as_text)
            .cloned()
            .unwrap_or_default()
    }

    /// A member that is neither missing nor `null`.
    pub(crate) fn some(&self, key: &str) -> Option<&Json> {
        self.0.get(key).filter(|value| !value.is_null())
    }
}

impl fmt::Display for Chunk {
    /// Writes the chunk as `JSON.stringify` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json().to_js())
    }
}

static DATA_CHUNK: LazyLock<Shape> = LazyLock::new(|| Shape::Object {
    open: true,
    members: vec![
        need("type", Shape::Prefix("data-")),
        may("id", Shape::Text),
        need("data", Shape::Any),
        may("transient", Shape::Bool),
    ],
});

static CHUNK: LazyLock<Shape> = LazyLock::new(|| {
    let id = || need("id", Shape::Text);
    let call_id = || need("toolCallId", Shape::Text);
    let file = || {
        vec![
            need("url", Shape::Text),
            need("mediaType", Shape::Text),
            metadata(),
        ]
    };
    let step = Vec::new;
    open(vec![
        ("text-start", vec![id(), metadata()]),
        ("text-delta", vec![id(), need("delta", Shape::Text), metadata()]),
        (
            "text-end",
            vec![id(), may("citations", Shape::UntilBad(|_| &CITATION)), metadata()],
        ),
        ("error", vec![need("errorText", Shape::Text)]),
        (
            "tool-input-start",
            called(vec![may("inputEncoding", Shape::OneOf(&["json", "text"]))]),
        ),
        (
            "tool-input-delta",
            vec![call_id(), need("inputTextDelta", Shape::Text)],
        ),
        ("tool-input-available", called(vec![need("input", Shape::Any)])),
        (
            "tool-input-error",
            called(vec![need("input", Shape::Any), need("errorText", Shape::Text)]),
        ),
        (
            "tool-approval-request",
            vec![
                need("approvalId", Shape::Text),
                call_id(),
                may("approvalDescriptor", Shape::Any),
                may("inputSchemaInput", Shape::Any),
                may("reason", Shape::Text),
                may("isAutomatic", Shape::Bool),
                may("signature", Shape::Text),
            ],
        ),
        (
            "tool-approval-response",
            vec![
                need("approvalId", Shape::Text),
                need("approved", Shape::Bool),
                may("reason", Shape::Text),
                may("providerExecuted", Shape::Bool),
                metadata(),
            ],
        ),
        (
            "tool-output-available",
            ended(vec![need("output", Shape::Any), may("preliminary", Shape::Bool)]),
        ),
        ("tool-output-error", ended(vec![need("errorText", Shape::Text)])),
        ("tool-output-denied", vec![call_id()]),
        ("reasoning-start", vec![id(), metadata()]),
        (
            "reasoning-delta",
            vec![id(), need("delta", Shape::Text), metadata()],
        ),
        ("reasoning-end", vec![id(), metadata()]),
        ("custom", vec![need("kind", Shape::Text), metadata()]),
        ("source-url", url_source("sourceId")),
        ("source-document", document_source("sourceId")),
        ("file", file()),
        ("reasoning-file", file()),
        (
            "steering-message",
            vec![id(), need("parts", Shape::List(Box::new(steering_part())))],
        ),
        ("start-step", step()),
        ("finish-step", step()),
        ("reset-step", step()),
        (
            "start",
            vec![may("messageId", Shape::Text), may("messageMetadata", Shape::Any)],
        ),
        (
            "finish",
            vec![
                may(
                    "finishReason",
                    Shape::OneOf(crate::types::generate::StopKind::WORDS),
                ),
                may("messageMetadata", Shape::Any),
            ],
        ),
        ("abort", vec![may("reason", Shape::Text)]),
        ("message-metadata", vec![need("messageMetadata", Shape::Any)]),
    ])
});

/// A choice by type between open objects.
fn open(shapes: Vec<(&'static str, Vec<Member>)>) -> Shape {
    let with_tag = |(tag, mut members): (&'static str, Vec<Member>)| {
        members.insert(0, need("type", Shape::Word(tag)));
        (tag, Shape::Object { open: true, members })
    };
    Shape::Tagged {
        key: "type",
        shapes: shapes.into_iter().map(with_tag).collect(),
        message: None,
    }
}

/// A part of a message that the user wrote while the model was at work.
fn steering_part() -> Shape {
    open(vec![
        ("text", vec![need("text", Shape::Text), metadata()]),
        ("file", super::message_shape::file_part()),
    ])
}

/// What chunks about the input of a call share.
fn called(rest: Vec<Member>) -> Vec<Member> {
    let mut members = vec![need("toolCallId", Shape::Text), need("toolName", Shape::Text)];
    members.extend(rest);
    members.extend(about_a_call());
    members.push(may("title", Shape::Text));
    members
}

/// What chunks about the output of a call share.
fn ended(rest: Vec<Member>) -> Vec<Member> {
    let mut members = vec![need("toolCallId", Shape::Text)];
    members.extend(rest);
    members.extend(about_a_call());
    members
}

fn about_a_call() -> [Member; 4] {
    [
        may("providerExecuted", Shape::Bool),
        metadata(),
        may("toolMetadata", Shape::JsonMap),
        may("dynamic", Shape::Bool),
    ]
}

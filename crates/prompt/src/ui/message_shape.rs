//! The shape of UI messages, as `validateUIMessages` has it.

use std::sync::LazyLock;

use super::shape::{Member, Shape, may, need};
use crate::json::Json;

/// An array of UI messages, checked up to the first bad one.
pub(crate) static UI_MESSAGES: Shape = Shape::UntilBad(|_| &UI_MESSAGE);

static UI_MESSAGE: LazyLock<Shape> = LazyLock::new(|| {
    Shape::closed(vec![
        need("id", Shape::Text),
        need("role", Shape::OneOf(&["system", "user", "assistant"])),
        may("metadata", Shape::Any),
        need("parts", Shape::UntilBad(part_shape)),
    ])
});

/// A part is checked against the shape of its own type only, so that a bad part is reported once.
fn part_shape(part: &Json) -> &'static Shape {
    match part.get("type").and_then(Json::as_str) {
        Some(tag) if tag.starts_with("data-") => &DATA_PART,
        Some(tag) if tag.starts_with("tool-") => &TOOL_PART,
        Some("dynamic-tool") => &DYNAMIC_TOOL_PART,
        _ => &STATIC_PART,
    }
}

const UNKNOWN_PART: &str = "Invalid UI message part type. Expected a known part type (for example \"text\" or \
                            \"dynamic-tool\") or a type starting with \"data-\" or \"tool-\".";

static STATIC_PART: LazyLock<Shape> = LazyLock::new(|| {
    let state = || may("state", Shape::OneOf(&["streaming", "done"]));
    let shapes = vec![
        (
            "text",
            vec![
                need("text", Shape::Text),
                may("citations", Shape::UntilBad(|_| &CITATION)),
                state(),
                metadata(),
            ],
        ),
        (
            "reasoning",
            vec![
                may("id", Shape::Text),
                need("text", Shape::Text),
                state(),
                metadata(),
            ],
        ),
        ("custom", vec![need("kind", Shape::Text), metadata()]),
        ("source-url", url_source("sourceId")),
        ("source-document", document_source("sourceId")),
        ("file", file_part()),
        (
            "reasoning-file",
            vec![
                need("mediaType", Shape::Text),
                need("url", Shape::Text),
                metadata(),
            ],
        ),
        (
            "steering-message",
            vec![
                need("id", Shape::Text),
                need("parts", Shape::UntilBad(|_| &STEERING_PART)),
            ],
        ),
        ("step-start", Vec::new()),
    ];
    match Shape::tagged("type", shapes) {
        Shape::Tagged { key, shapes, .. } => Shape::Tagged {
            key,
            shapes,
            message: Some(UNKNOWN_PART),
        },
        other => other,
    }
});

static STEERING_PART: LazyLock<Shape> = LazyLock::new(|| {
    Shape::tagged(
        "type",
        vec![
            ("text", vec![need("text", Shape::Text), metadata()]),
            ("file", file_part()),
        ],
    )
});

static DATA_PART: LazyLock<Shape> = LazyLock::new(|| {
    Shape::closed(vec![
        need("type", Shape::Prefix("data-")),
        may("id", Shape::Text),
        need("data", Shape::Any),
    ])
});

static TOOL_PART: LazyLock<Shape> =
    LazyLock::new(|| tool_part(|| vec![need("type", Shape::Prefix("tool-"))]));

static DYNAMIC_TOOL_PART: LazyLock<Shape> = LazyLock::new(|| {
    tool_part(|| {
        vec![
            need("type", Shape::Word("dynamic-tool")),
            may("dynamic", Shape::Exactly(false)),
            need("toolName", Shape::Text),
        ]
    })
});

/// A citation of generated text.
pub(crate) static CITATION: LazyLock<Shape> = LazyLock::new(|| {
    let source = |mut members: Vec<Member>| {
        members.insert(0, need("type", Shape::Word("source")));
        members
    };
    Shape::closed(vec![
        need(
            "source",
            Shape::tagged(
                "sourceType",
                vec![
                    ("url", source(url_source("id"))),
                    ("document", source(document_source("id"))),
                ],
            ),
        ),
        may("startIndex", Shape::Index),
        may("endIndex", Shape::Index),
        may("citedText", Shape::Text),
    ])
});

pub(crate) fn metadata() -> Member {
    may("providerMetadata", Shape::Metadata)
}

pub(crate) fn url_source(id: &'static str) -> Vec<Member> {
    vec![
        need(id, Shape::Text),
        need("url", Shape::Text),
        may("title", Shape::Text),
        metadata(),
    ]
}

pub(crate) fn document_source(id: &'static str) -> Vec<Member> {
    vec![
        need(id, Shape::Text),
        need("mediaType", Shape::Text),
        need("title", Shape::Text),
        may("filename", Shape::Text),
        metadata(),
    ]
}

/// A file of a UI message: a URL, or the ids of an upload.
pub(crate) fn file_part() -> Vec<Member> {
    vec![
        need("mediaType", Shape::Text),
        may("filename", Shape::Text),
        need("url", Shape::Text),
        may("providerReference", Shape::TextMap),
        metadata(),
    ]
}

/// A call of a tool, in each of its states. What a state does not have must not be there.
fn tool_part(head: fn() -> Vec<Member>) -> Shape {
    let never = |key| may(key, Shape::Never);
    let result_metadata = || may("resultProviderMetadata", Shape::Metadata);
    let state = |state: &'static str, rest: Vec<Member>| {
        let mut members = head();
        members.extend([
            need("toolCallId", Shape::Text),
            may("title", Shape::Text),
            may("toolMetadata", Shape::JsonMap),
            need("state", Shape::Word(state)),
            may("providerExecuted", Shape::Bool),
        ]);
        members.extend(rest);
        // Where it stands decides the order of the issues when a part has several.
        let call_metadata = members
            .iter()
            .position(|member| member.key == "errorText")
            .map_or(members.len(), |at| at + 1);
        members.insert(call_metadata, may("callProviderMetadata", Shape::Metadata));
        (state, Shape::closed(members))
    };
    let shapes = vec![
        state(
            "input-streaming",
            vec![
                may("input", Shape::Any),
                may("rawInput", Shape::Text),
                may("inputEncoding", Shape::OneOf(&["json", "text"])),
                never("output"),
                never("errorText"),
                never("approval"),
            ],
        ),
        state(
            "input-available",
            vec![
                need("input", Shape::Any),
                never("output"),
                never("errorText"),
                never("approval"),
            ],
        ),
        state(
            "approval-requested",
            vec![
                need("input", Shape::Any),
                never("output"),
                never("errorText"),
                need("approval", approval(Decision::Open)),
            ],
        ),
        state(
            "approval-responded",
            vec![
                need("input", Shape::Any),
                never("output"),
                never("errorText"),
                need("approval", approval(Decision::Either)),
            ],
        ),
        state(
            "output-available",
            vec![
                need("input", Shape::Any),
                need("output", Shape::Any),
                never("errorText"),
                result_metadata(),
                may("preliminary", Shape::Bool),
                may("approval", approval(Decision::This(true))),
            ],
        ),
        state(
            "output-error",
            vec![
                may("input", Shape::Any),
                may("rawInput", Shape::Any),
                never("output"),
                need("errorText", Shape::Text),
                result_metadata(),
                may("approval", approval(Decision::This(true))),
            ],
        ),
        state(
            "output-denied",
            vec![
                need("input", Shape::Any),
                never("output"),
                never("errorText"),
                need("approval", approval(Decision::This(false))),
            ],
        ),
    ];
    Shape::Tagged {
        key: "state",
        shapes,
        message: None,
    }
}

/// What is known of the user's decision.
enum Decision {
    Open,
    Either,
    This(bool),
}

fn approval(decision: Decision) -> Shape {
    let (approved, reason) = match decision {
        Decision::Open => (may("approved", Shape::Never), Shape::Never),
        Decision::Either => (need("approved", Shape::Bool), Shape::Text),
        Decision::This(approved) => (need("approved", Shape::Exactly(approved)), Shape::Text),
    };
    Shape::closed(vec![
        need("id", Shape::Text),
        approved,
        may("descriptor", Shape::Any),
        may("requestReason", Shape::Text),
        may("reason", reason),
        may("isAutomatic", Shape::Bool),
        may("signature", Shape::Text),
        may("inputSchemaInput", Shape::Any),
    ])
}

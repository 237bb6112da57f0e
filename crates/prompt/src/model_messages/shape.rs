//! The shape of model messages, as `modelMessageSchema` has it.

use std::sync::LazyLock;

use crate::json::Json;
use crate::ui::Mismatch;
use crate::ui::shape::{Member, Shape, may, need};

/// Checks one model message. What comes back has only the members that its shape knows.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::model_messages::validate_message;
///
/// let message = Json::parse(r#"{"role":"user","content":[{"type":"text"}]}"#)?;
/// let mismatch = validate_message(&message).unwrap_err();
/// assert_eq!(mismatch.issues()[0].path.to_string(), "content[0].text");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate_message(message: &Json) -> Result<Json, Mismatch> {
    MESSAGE.check(message)
}

static MESSAGE: LazyLock<Shape> = LazyLock::new(|| {
    let user = Shape::tagged("type", vec![text(), image(), file()]);
    let assistant = Shape::tagged(
        "type",
        vec![
            text(),
            ("custom", vec![need("kind", Shape::Text), options()]),
            file(),
            ("reasoning", vec![need("text", Shape::Text), options()]),
            (
                "reasoning-file",
                vec![
                    need("data", any_of(vec![tagged_data(false), Shape::Inline])),
                    need("mediaType", Shape::Text),
                    options(),
                ],
            ),
            (
                "tool-call",
                vec![
                    need("toolCallId", Shape::Text),
                    need("toolName", Shape::Text),
                    need("input", Shape::Any),
                    options(),
                    may("providerExecuted", Shape::Bool),
                ],
            ),
            tool_result(),
            (
                "tool-approval-request",
                vec![
                    need("approvalId", Shape::Text),
                    need("toolCallId", Shape::Text),
                    may("reason", Shape::Text),
                    may("isAutomatic", Shape::Bool),
                    may("signature", Shape::Text),
                    may("inputSchemaInput", Shape::Any),
                ],
            ),
        ],
    );
    let tool = Shape::tagged(
        "type",
        vec![
            tool_result(),
            (
                "tool-approval-response",
                vec![
                    need("approvalId", Shape::Text),
                    need("approved", Shape::Bool),
                    may("reason", Shape::Text),
                ],
            ),
        ],
    );
    let text_or = |part: Shape| Shape::TextOr(Box::new(Shape::List(Box::new(part))));
    Shape::tagged(
        "role",
        vec![
            ("system", vec![need("content", Shape::Text), options()]),
            ("user", vec![need("content", text_or(user)), options()]),
            ("assistant", vec![need("content", text_or(assistant)), options()]),
            (
                "tool",
                vec![need("content", Shape::List(Box::new(tool))), options()],
            ),
        ],
    )
});

fn options() -> Member {
    may("providerOptions", Shape::Metadata)
}

fn any_of(shapes: Vec<Shape>) -> Shape {
    Shape::AnyOf {
        shapes,
        report: "file data",
    }
}

/// File data with a tag; what a model made is never a reference or a text.
fn tagged_data(is_given: bool) -> Shape {
    let mut shapes = vec![
        ("data", vec![need("data", Shape::Inline)]),
        ("url", vec![need("url", Shape::Url)]),
    ];
    if is_given {
        shapes.push(("reference", vec![need("reference", Shape::TextMap)]));
        shapes.push(("text", vec![need("text", Shape::Text)]));
    }
    Shape::tagged("type", shapes)
}

fn text() -> (&'static str, Vec<Member>) {
    ("text", vec![need("text", Shape::Text), options()])
}

fn image() -> (&'static str, Vec<Member>) {
    let image = any_of(vec![Shape::Inline, Shape::TextMap]);
    (
        "image",
        vec![need("image", image), may("mediaType", Shape::Text), options()],
    )
}

fn file() -> (&'static str, Vec<Member>) {
    let data = any_of(vec![tagged_data(true), Shape::Inline, Shape::TextMap]);
    (
        "file",
        vec![
            need("data", data),
            may("filename", Shape::Text),
            need("mediaType", Shape::Text),
            options(),
        ],
    )
}

fn tool_result() -> (&'static str, Vec<Member>) {
    let output = Shape::tagged(
        "type",
        vec![
            ("text", vec![need("value", Shape::Text), options()]),
            ("json", vec![need("value", Shape::Any), options()]),
            ("execution-denied", vec![may("reason", Shape::Text), options()]),
            ("error-text", vec![need("value", Shape::Text), options()]),
            ("error-json", vec![need("value", Shape::Any), options()]),
            (
                "content",
                vec![need("value", Shape::List(Box::new(content_item())))],
            ),
        ],
    );
    (
        "tool-result",
        vec![
            need("toolCallId", Shape::Text),
            need("toolName", Shape::Text),
            need("output", output),
            options(),
        ],
    )
}

/// An item of a content output, the older kinds included.
fn content_item() -> Shape {
    let media_type = || need("mediaType", Shape::Text);
    let reference = || vec![need("providerReference", Shape::TextMap), options()];
    let file_id = || {
        let id = any_of(vec![Shape::Text, Shape::TextMap]);
        vec![need("fileId", id), options()]
    };
    Shape::tagged(
        "type",
        vec![
            text(),
            (
                "file",
                vec![
                    need("data", tagged_data(true)),
                    media_type(),
                    may("filename", Shape::Text),
                    options(),
                ],
            ),
            (
                "file-data",
                vec![
                    need("data", Shape::Text),
                    media_type(),
                    may("filename", Shape::Text),
                    options(),
                ],
            ),
            (
                "file-url",
                vec![need("url", Shape::Text), may("mediaType", Shape::Text), options()],
            ),
            ("file-id", file_id()),
            ("file-reference", reference()),
            (
                "image-data",
                vec![need("data", Shape::Text), media_type(), options()],
            ),
            ("image-url", vec![need("url", Shape::Text), options()]),
            ("image-file-id", file_id()),
            ("image-file-reference", reference()),
            ("custom", vec![options()]),
        ],
    )
}

//! Content of the wire as parts of the timeline.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tapline_timeline::{Content, Json, Media, Part, Terminal, ToolItem, ToolResult, diff};
use tapline_wire::{Block, RawValue, ToolContent, value};

/// Base64 as agents write it: with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Shortest string that counts as bytes written as text, where it equals the data of a part.
const DATA_BYTES: usize = 64;

/// Takes the bytes that a row names by their hash.
pub(crate) type Blobs<'b> = &'b mut dyn FnMut(&str, &[u8]);

fn media(data: Option<&str>, media_type: Option<&str>, uri: Option<&str>, blobs: Blobs<'_>) -> Media {
    let mut media = Media {
        media_type: media_type.map(str::to_owned),
        uri: uri.map(str::to_owned),
        name: uri.and_then(file_name),
        ..Media::default()
    };
    if let Some(data) = data.filter(|d| !d.is_empty()) {
        match LENIENT.decode(data.trim()) {
            Ok(bytes) => {
                let hash = blake3::hash(&bytes).to_hex();
                media.bytes = Some(bytes.len() as u64);
                media.blob = Some(hash.as_str().to_owned());
                blobs(hash.as_str(), &bytes);
            }
            Err(_) => media.bytes = Some(data.len() as u64 / 4 * 3),
        }
    }
    media
}

/// The last piece of a uri's path.
fn file_name(uri: &str) -> Option<String> {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    let name = path.rsplit('/').next().unwrap_or_default();
    (!name.is_empty() && !path.starts_with("data:")).then(|| name.to_owned())
}

/// A block as a part.
pub(crate) fn part(block: &Block<'_>, blobs: Blobs<'_>) -> Part {
    match block {
        Block::Text { text } => Part::Text {
            text: text.as_ref().to_owned(),
        },
        Block::Image { data, mime_type, uri } => Part::Image(media(
            data.as_deref(),
            mime_type.as_deref(),
            uri.as_deref(),
            blobs,
        )),
        Block::Audio { data, mime_type } => {
            Part::Audio(media(data.as_deref(), mime_type.as_deref(), None, blobs))
        }
        Block::Link {
            uri,
            name,
            title,
            mime_type,
            ..
        } => Part::Link {
            uri: uri.as_ref().to_owned(),
            name: name.as_deref().map(str::to_owned),
            title: title.as_deref().map(str::to_owned),
            media_type: mime_type.as_deref().map(str::to_owned),
        },
        Block::Resource {
            uri,
            mime_type,
            text,
            blob,
        } => {
            let mut file = media(blob.as_deref(), mime_type.as_deref(), uri.as_deref(), blobs);
            if let Some(text) = text {
                file.bytes = Some(text.len() as u64);
                file.text = Some(text.as_ref().to_owned());
            }
            Part::File(file)
        }
        Block::Unknown(raw) => custom(raw),
    }
}

/// A value as a row keeps it.
pub(crate) fn json(raw: &RawValue) -> Option<Json> {
    // What was read from a line is JSON: it is always some.
    Json::parse(raw.get()).ok()
}

fn custom(raw: &RawValue) -> Part {
    let kind = value::member_text(raw, "type").unwrap_or_default();
    Part::Custom {
        custom: format!("acp.{kind}"),
        value: serde_json::from_str(raw.get()).ok(),
    }
}

/// Blocks as content.
pub(crate) fn content(blocks: &[Block<'_>], blobs: Blobs<'_>) -> Content {
    let mut content = Content::default();
    for block in blocks {
        content.push(part(block, blobs));
    }
    content
}

/// A tool's content as items.
pub(crate) fn tool_items(raw: &RawValue, blobs: Blobs<'_>) -> Vec<ToolItem> {
    let list = ToolContent::read_all(raw);
    list.items.iter().map(|item| tool_item(item, blobs)).collect()
}

fn tool_item(item: &ToolContent<'_>, blobs: Blobs<'_>) -> ToolItem {
    match item {
        ToolContent::Block(block) => part(block, blobs).into(),
        ToolContent::Diff {
            path,
            old_text,
            new_text,
            ..
        } => ToolItem::Diff(diff(path, old_text.as_deref(), Some(new_text))),
        ToolContent::Terminal { terminal_id } => ToolItem::Terminal(Terminal {
            terminal: Some(terminal_id.as_ref().to_owned()),
            ..Terminal::default()
        }),
        ToolContent::Session { session_id } => ToolItem::Custom {
            custom: "acp.session".to_owned(),
            value: Some(serde_json::Value::String(session_id.as_ref().to_owned())),
        },
        ToolContent::Unknown(raw) => custom(raw).into(),
    }
}

/// What `rawOutput` says.
#[derive(Debug, Default)]
pub(crate) struct RawOutput {
    pub text: Option<String>,
    pub exit_code: Option<i64>,
    pub result: Option<ToolResult>,
}

/// Reads `rawOutput` in the shared shape: a string, or an object with `stdout` and `stderr`. Anything else is a result.
/// Bytes never stand as text: where a string in it equals the data of a content part, there is no result.
pub(crate) fn raw_output(raw: &RawValue, content: Option<&RawValue>) -> RawOutput {
    if let Some(text) = value::text(raw) {
        let text = (!is_data(&text, content)).then(|| text.into_owned());
        return RawOutput {
            text,
            ..RawOutput::default()
        };
    }
    let mut out = RawOutput::default();
    if value::is_object(raw) {
        let text = |name| value::member_text(raw, name).filter(|t| !t.is_empty());
        out.exit_code = ["exitCode", "exit_code"]
            .iter()
            .find_map(|n| value::member(raw, n).and_then(value::i64));
        let (stdout, stderr) = (text("stdout"), text("stderr"));
        out.text = match (stdout, stderr) {
            (Some(stdout), Some(stderr)) => Some(format!("{stdout}\n{stderr}")),
            (Some(one), None) | (None, Some(one)) => Some(one.into_owned()),
            (None, None) => None,
        };
        if out.text.is_some() {
            return out;
        }
    }
    if !value::is_null(raw) && !holds_data(raw, content) {
        out.result = Some(ToolResult {
            kind: "json".to_owned(),
            value: json(raw),
        });
    }
    out
}

fn is_data(text: &str, content: Option<&RawValue>) -> bool {
    let Some(content) = content.filter(|_| text.len() >= DATA_BYTES) else {
        return false;
    };
    ToolContent::read_all(content)
        .items
        .iter()
        .any(|item| match item {
            ToolContent::Block(Block::Image { data, .. } | Block::Audio { data, .. }) => {
                data.as_deref() == Some(text)
            }
            ToolContent::Block(Block::Resource { blob, .. }) => blob.as_deref() == Some(text),
            _ => false,
        })
}

/// Whether any string in the value equals the data of a content part. Looks as deep as the value is.
fn holds_data(raw: &RawValue, content: Option<&RawValue>) -> bool {
    if raw.get().len() < DATA_BYTES || content.is_none() {
        return false;
    }
    let mut left = vec![raw];
    while let Some(raw) = left.pop() {
        if value::is_object(raw) {
            left.extend(value::members(raw).map(|(_, v)| v));
        } else if value::is_array(raw) {
            left.extend(value::array(raw));
        } else if raw.get().len() >= DATA_BYTES && value::text(raw).is_some_and(|t| is_data(&t, content)) {
            return true;
        }
    }
    false
}

//! What rows take in memory, roughly: the members that can be large, and a fixed share for the rest.
//!
//! Whoever keeps rows within a bound counts them so. It is an estimate for deciding what to let go, not an allocator's word.

use crate::content::{Content, ToolItem};
use crate::json::Json;
use crate::row::{Body, Row, Tool};

impl Row {
    /// What the row takes in memory, in bytes, roughly: its large members and the size of its own.
    pub fn weight(&self) -> usize {
        let large = match &self.body {
            Body::System(content) => self::content(content),
            Body::User(user) => self::content(&user.content),
            Body::Assistant(message) | Body::Reasoning(message) => self::content(&message.content),
            Body::Tool(tool) => {
                size_of::<Tool>()
                    + items(&tool.content)
                    + tool.output.as_ref().map_or(0, String::len)
                    + json(tool.input.as_ref())
            }
            Body::Unknown(unknown) => json(unknown.payload.as_ref()),
            _ => 0,
        };
        size_of::<Self>() + large
    }
}

/// What the items of a tool or a request hold.
pub(crate) fn items(items: &[ToolItem]) -> usize {
    let large = |item: &ToolItem| match item {
        ToolItem::Text { text } => text.len(),
        ToolItem::Diff(diff) => diff.patch.len(),
        ToolItem::Terminal(terminal) => terminal.output.len(),
        ToolItem::File(media) => media.text.as_ref().map_or(0, String::len),
        _ => 0,
    };
    items.iter().map(|item| size_of::<ToolItem>() + large(item)).sum()
}

pub(crate) fn json(value: Option<&Json>) -> usize {
    value.map_or(0, |value| value.as_str().len())
}

fn content(content: &Content) -> usize {
    content.as_text().len()
}

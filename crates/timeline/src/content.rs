//! Ordered content: text with other parts between, in the form that lets text grow without being rewritten.

use serde::{Deserialize, Serialize};

use crate::json::Json;

/// Text and the parts between it, in order.
///
/// The text parts stand together in one string, exactly as the pieces came, and each other part remembers how much text
/// stood before it. So a streamed piece of text is an append, whatever else the message holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Content {
    text: String,
    marks: Vec<(usize, Mark)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Mark {
    /// A text part ends here and another begins.
    Break,
    Part(Box<Part>),
}

impl Content {
    /// Content that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            marks: Vec::new(),
        }
    }

    /// All text parts put together.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Whether there is neither text nor part.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.marks.is_empty()
    }

    /// Whether there is nothing a person would see.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.marks.iter().all(|(_, m)| matches!(m, Mark::Break))
    }

    /// Whether text is all there is.
    pub fn is_plain(&self) -> bool {
        self.marks.is_empty()
    }

    /// Adds text to the last text part.
    pub fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a part. A text part begins a new text part, if text stands before it.
    pub fn push(&mut self, part: Part) {
        match part {
            Part::Text { text } => {
                let after_text = match self.marks.last() {
                    Some((at, _)) => *at < self.text.len(),
                    None => !self.text.is_empty(),
                };
                if after_text {
                    self.marks.push((self.text.len(), Mark::Break));
                }
                self.text.push_str(&text);
            }
            other => self.marks.push((self.text.len(), Mark::Part(Box::new(other)))),
        }
    }

    /// The parts in order. Text parts with nothing in them are left out.
    pub fn parts(&self) -> Vec<Part> {
        let mut out = Vec::with_capacity(self.marks.len() * 2 + 1);
        let mut from = 0;
        for (at, mark) in &self.marks {
            if *at > from {
                out.push(Part::Text {
                    text: self.text[from..*at].to_owned(),
                });
                from = *at;
            }
            if let Mark::Part(part) = mark {
                out.push(Part::clone(part));
            }
        }
        if from < self.text.len() {
            out.push(Part::Text {
                text: self.text[from..].to_owned(),
            });
        }
        out
    }

    /// The parts that are not text.
    pub fn media(&self) -> impl Iterator<Item = &Part> {
        self.marks.iter().filter_map(|(_, m)| match m {
            Mark::Part(part) => Some(&**part),
            Mark::Break => None,
        })
    }

    /// Puts the parts together again.
    pub fn from_parts(parts: Vec<Part>) -> Self {
        let mut content = Self::default();
        for part in parts {
            content.push(part);
        }
        content
    }
}

/// One piece of content, as it stands in `parts` and among the `content` of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image(Media),
    /// Sound.
    Audio(Media),
    /// Anything else with bytes or a text of its own.
    File(Media),
    /// A reference to something elsewhere.
    Link {
        /// Where it is.
        uri: String,
        /// What the agent or client calls it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
    },
    /// A part of a kind that only its maker knows: `{provider}.{type}`.
    Custom {
        /// The kind.
        custom: String,
        /// What the maker put there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<serde_json::Value>,
    },
}

/// The bytes of a picture, a sound or a file: where they are and what they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Media {
    /// A file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type as the source gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How many bytes there are, decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Where the source says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The text of an embedded text resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Hash of the bytes (BLAKE3, hex): their name in the journal's blob store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// A provider's own ids for the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<serde_json::Value>,
}

/// One item of a tool's `content`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolItem {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image(Media),
    /// Sound.
    Audio(Media),
    /// Anything else with bytes or a text of its own.
    File(Media),
    /// A reference to something elsewhere.
    Link {
        /// Where it is.
        uri: String,
        /// What the agent calls it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
    },
    /// A part of a kind that nothing covers yet.
    Custom {
        /// The kind.
        custom: String,
        /// What the maker put there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<serde_json::Value>,
    },
    /// A change of a file.
    Diff(Diff),
    /// What a terminal printed.
    Terminal(Terminal),
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Diff {
    /// The file.
    pub path: String,
    /// The file's earlier path, where it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// What happens to the file.
    pub change: crate::FileChange,
    /// Whether it took effect.
    pub effect: crate::Effect,
    /// Unified diff without file headers.
    pub patch: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// What a terminal printed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Terminal {
    /// The agent's or client's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// Readable text, without escape codes.
    pub output: String,
    /// Exit code of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Signal that ended its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

impl From<Part> for ToolItem {
    fn from(part: Part) -> Self {
        match part {
            Part::Text { text } => ToolItem::Text { text },
            Part::Image(m) => ToolItem::Image(m),
            Part::Audio(m) => ToolItem::Audio(m),
            Part::File(m) => ToolItem::File(m),
            Part::Link {
                uri,
                name,
                title,
                media_type,
            } => ToolItem::Link {
                uri,
                name,
                title,
                media_type,
            },
            Part::Custom { custom, value } => ToolItem::Custom { custom, value },
        }
    }
}

/// A tool's result as a V4 prompt has it: `{"type": "text" | "json" | …, "value": …}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolResult {
    /// The type of a V4 tool result output.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_order_and_text_still_grows() {
        let mut content = Content::default();
        content.push(Part::Text { text: "a".into() });
        content.push(Part::Text { text: "b".into() });
        content.push(Part::Image(Media::default()));
        content.push_text("c");
        content.push_text("d");
        let parts = content.parts();
        assert_eq!(content.as_text(), "abcd");
        assert_eq!(parts.len(), 4);
        assert_eq!(parts[3], Part::Text { text: "cd".into() });
        assert_eq!(Content::from_parts(parts), content);
    }
}

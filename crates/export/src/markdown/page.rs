//! The page that a document is written on: blocks, lists and headlines, kept apart from each other.

use tapline_timeline::{Content, Media, Part};

use crate::safe::{code, fenced, inline, nested};

#[derive(Default)]
pub(super) struct Page {
    pub(super) out: String,
    pub(super) turns: u64,
    /// The last block is a list or may end with one, which a list after it would join.
    loose: bool,
}

/// What a text is.
#[derive(Clone, Copy)]
pub(super) enum Words {
    /// Markdown, which stays Markdown.
    Markdown,
    /// Text as it stands.
    Plain,
}

impl Page {
    /// Adds a block, a blank line before it.
    pub(super) fn block(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(text);
        if !text.ends_with('\n') {
            self.out.push('\n');
        }
        self.loose = false;
    }

    /// Adds a list, or Markdown that may begin or end with one, and keeps it apart from such a block before it.
    pub(super) fn loose(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.loose {
            self.block("---");
        }
        self.block(text);
        self.loose = true;
    }

    /// A sentence of ours, in bold, with facts behind it.
    pub(super) fn headline(&mut self, what: &str, subject: &str, facts: &[String]) {
        let mut text = format!("**{what}**");
        if !subject.is_empty() {
            text.push_str(&format!(" {subject}"));
        }
        if !facts.is_empty() {
            text.push_str(&format!(" ({})", facts.join(", ")));
        }
        self.block(&text);
    }

    pub(super) fn content(&mut self, content: &Content, words: Words) {
        for part in content.parts() {
            match part {
                Part::Text { text } if text.trim().is_empty() => {}
                Part::Text { text } => match words {
                    Words::Markdown => self.loose(&nested(&text)),
                    Words::Plain => self.block(&fenced("text", &text)),
                },
                Part::Image(media) => self.media("Image", &media),
                Part::Audio(media) => self.media("Audio", &media),
                Part::File(media) => self.media("File", &media),
                Part::Link { uri, name, title, .. } => self.link(&uri, title.as_deref().or(name.as_deref())),
                Part::Custom { custom, .. } => self.headline("Part", &code(&custom), &[]),
            }
        }
    }

    pub(super) fn media(&mut self, what: &str, media: &Media) {
        let name = media
            .name
            .as_deref()
            .or(media.uri.as_deref())
            .map(code)
            .unwrap_or_default();
        let mut facts = Vec::new();
        facts.extend(media.media_type.as_deref().map(inline));
        facts.extend(media.bytes.map(|bytes| format!("{bytes} bytes")));
        self.headline(what, &name, &facts);
        if let Some(text) = &media.text {
            self.block(&fenced("text", text));
        }
    }

    /// A link that a reader sees and can copy, but that nobody follows by accident.
    pub(super) fn link(&mut self, uri: &str, name: Option<&str>) {
        let name = name.map(inline).filter(|name| !name.is_empty());
        self.headline("Link", &code(uri), &name.into_iter().collect::<Vec<_>>());
    }
}

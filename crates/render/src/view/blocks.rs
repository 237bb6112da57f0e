//! What all kinds of rows are built of: headlines, margins, folds, content.

use tapline_timeline::{Content, Media, Part};

use super::{Keep, MAGENTA, RED, View};
use crate::Fold;
use crate::paper::{Block, Fit, Line, Span, Style};
use crate::words;

impl View {
    /// Ordered content: its texts by `text`, everything else as a line that says what it is.
    pub(crate) fn content(&self, content: &Content, text: impl Fn(&str) -> Block) -> Block {
        if content.is_plain() {
            return text(content.as_text());
        }
        let mut block = Block::default();
        for part in content.parts() {
            match part {
                Part::Text { text: words } => block.append(text(&words)),
                other => block.push(self.part(&other)),
            }
        }
        block
    }

    /// A part that is no text, as a line.
    pub(crate) fn part(&self, part: &Part) -> Line {
        let text = match part {
            Part::Text { text } => text.clone(),
            Part::Image(media) => media_words("image", media),
            Part::Audio(media) => media_words("audio", media),
            Part::File(media) => media_words("file", media),
            Part::Link { uri, name, title, .. } => match title.as_deref().or(name.as_deref()) {
                Some(name) => format!("[link: {name} ({uri})]"),
                None => format!("[link: {uri}]"),
            },
            Part::Custom { custom, .. } => format!("[{custom}]"),
        };
        Line::of(vec![self.ink.title(&text, MAGENTA)], Fit::Wrap)
    }

    /// A mark in the margin, a title, and facts behind it.
    pub(crate) fn headline(&self, mark: Span, title: Vec<Span>, facts: Vec<Span>) -> Block {
        let mut line = Line::of(title, Fit::Wrap);
        if !facts.is_empty() {
            line.push(self.ink.span("  ", Style::PLAIN));
        }
        for span in self.joined(facts) {
            line.push(span);
        }
        self.marked(mark, Block { lines: vec![line] })
    }

    /// Puts a mark into the margin of a block.
    pub(crate) fn marked(&self, mark: Span, block: Block) -> Block {
        let blank = self.ink.span(" ", Style::PLAIN);
        block.indent(&[mark, blank.clone()], &[blank.clone(), blank])
    }

    /// Puts a block under a headline.
    pub(crate) fn under(&self, block: Block) -> Block {
        let bar = [self.ink.mark("  │ ", "  | ", Style::DIM)];
        block.indent(&bar, &bar)
    }

    pub(crate) fn joined(&self, facts: Vec<Span>) -> Vec<Span> {
        let mut out = Vec::with_capacity(facts.len() * 2);
        for (n, fact) in facts.into_iter().enumerate() {
            if n > 0 {
                out.push(self.ink.mark(" · ", ", ", Style::DIM));
            }
            out.push(fact);
        }
        out
    }

    pub(crate) fn keep(&self, block: Block, keep: Option<Keep>) -> Block {
        match keep {
            Some(Keep(head, tail)) => block.bounded(head, tail, &self.ink),
            None => block,
        }
    }

    /// How much of a body is shown: nothing of it, what is given, or all.
    pub(crate) fn usual(&self, keep: Keep) -> Option<Keep> {
        match self.fold {
            Fold::Tight => Some(Keep(1, 0)),
            Fold::Usual => Some(keep),
            Fold::Open => None,
        }
    }

    /// Code and output keep their lines: too long a one is cut, unless all is to be seen.
    pub(crate) fn code_fit(&self) -> Fit {
        if self.fold == Fold::Open {
            Fit::Break
        } else {
            Fit::Cut
        }
    }

    pub(crate) fn exit_code(&self, code: i64) -> Span {
        self.ink
            .span(&format!("exit {code}"), if code == 0 { Style::DIM } else { RED })
    }

    /// A text folded to one line: its first words and how much more there is.
    pub(super) fn folded_text(&self, what: &str, text: &str, mark: Span) -> Block {
        let ink = &self.ink;
        if self.fold == Fold::Open {
            return self.marked(
                mark,
                ink.lines(&format!("{what}:\n{text}"), Style::DIM, Fit::Wrap),
            );
        }
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let more = lines.count();
        let behind = match more {
            0 => String::new(),
            1 => " (1 more line)".to_owned(),
            _ => format!(" ({more} more lines)"),
        };
        let before = format!("{what}: ");
        // The count must survive the cut, so the words give way to it.
        let taken = 2 + before.chars().count() + behind.len();
        let first = ink.fitted(first, ink.width.saturating_sub(taken).max(12));
        let spans = vec![
            ink.span(&before, Style::DIM),
            ink.span(
                &first,
                Style {
                    italic: true,
                    ..Style::DIM
                },
            ),
            ink.span(&behind, Style::DIM),
        ];
        self.marked(
            mark,
            Block {
                lines: vec![Line::of(spans, Fit::Wrap)],
            },
        )
    }
}

fn media_words(what: &str, media: &Media) -> String {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(media.name.clone());
    facts.extend(media.media_type.clone());
    facts.extend(media.bytes.map(words::bytes));
    facts.extend(media.uri.clone());
    if facts.is_empty() {
        format!("[{what}]")
    } else {
        format!("[{what}: {}]", facts.join(", "))
    }
}

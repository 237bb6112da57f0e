//! What an agent says is Markdown; this is how it reads in a terminal.
//!
//! Emphasis, code and headings get a style and, where there is no colour to show it, keep enough of their marks to be
//! seen. HTML is text. A link shows where it leads, since a reader must see that before following it. Nesting deeper than
//! [`DEEPEST`] is shown flat: an agent cannot push its text off the screen.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::paper::{Block, Colour, Fit, Ink, Line, Span, Style};

/// Levels of quotes and lists that are indented.
const DEEPEST: usize = 6;

/// Markdown as lines.
pub(crate) fn markdown(text: &str, base: Style, ink: &Ink) -> Block {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer {
        ink,
        out: Block::default(),
        line: Vec::new(),
        styles: vec![base],
        frames: Vec::new(),
        links: Vec::new(),
        code: None,
        table: None,
        gap: None,
    };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    writer.end_line(Fit::Wrap);
    writer.out.trimmed()
}

struct Writer<'a> {
    ink: &'a Ink,
    out: Block,
    line: Vec<Span>,
    styles: Vec<Style>,
    frames: Vec<Frame>,
    links: Vec<(String, usize)>,
    code: Option<String>,
    table: Option<Table>,
    /// A blank line is due before the next line; inside how many of the frames.
    gap: Option<usize>,
}

/// What a line stands in.
enum Frame {
    Quote,
    List { next: Option<u64> },
    Item { bullet: Option<Span>, columns: usize },
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<Vec<Span>>>,
}

impl Writer<'_> {
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.words(&text, Style::PLAIN),
            },
            Event::Code(code) => self.inline_code(&code),
            Event::Html(text) | Event::InlineHtml(text) => {
                for (n, piece) in text.split('\n').enumerate() {
                    if n > 0 {
                        self.end_line(Fit::Wrap);
                    }
                    if !piece.is_empty() {
                        self.words(piece, Style::DIM);
                    }
                }
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.words(&text, Style::PLAIN),
            Event::FootnoteReference(name) => self.words(&format!("[{name}]"), Style::DIM),
            Event::SoftBreak => self.words(" ", Style::PLAIN),
            Event::HardBreak => self.end_line(Fit::Wrap),
            Event::Rule => {
                self.end_line(Fit::Wrap);
                let rule = if self.ink.unicode { "─" } else { "-" }.repeat(self.ink.width.min(24));
                self.words(&rule, Style::DIM);
                self.end_line(Fit::Cut);
                self.gap = Some(self.frames.len());
            }
            Event::TaskListMarker(done) => self.words(if done { "[x] " } else { "[ ] " }, Style::PLAIN),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::FootnoteDefinition(_) => self.end_line(Fit::Wrap),
            Tag::Heading { level, .. } => {
                self.end_line(Fit::Wrap);
                let style = self.style().with(Style::colour(Colour::Blue).bold());
                self.styles.push(style);
                self.words(&format!("{} ", "#".repeat(level as usize)), Style::PLAIN);
            }
            Tag::BlockQuote(_) => {
                self.end_line(Fit::Wrap);
                self.frames.push(Frame::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.end_line(Fit::Wrap);
                if let CodeBlockKind::Fenced(info) = &kind {
                    let language = info.split([' ', ',']).next().unwrap_or_default();
                    if !language.is_empty() {
                        self.words(language, Style::DIM);
                        self.end_line(Fit::Cut);
                    }
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.end_line(Fit::Wrap);
                self.frames.push(Frame::List { next: first });
            }
            Tag::Item => self.start_item(),
            Tag::Emphasis => self.push_style(Style {
                italic: true,
                ..Style::PLAIN
            }),
            Tag::Strong => self.push_style(Style::BOLD),
            Tag::Strikethrough => self.push_style(Style {
                strike: true,
                ..Style::PLAIN
            }),
            Tag::Link { dest_url, .. } => self.links.push((dest_url.into_string(), self.line.len())),
            Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.line.len()));
                self.words("image: ", Style::DIM);
            }
            Tag::Table(_) => {
                self.end_line(Fit::Wrap);
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
                if matches!(tag, Tag::TableHead) {
                    self.push_style(Style::BOLD);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::FootnoteDefinition => {
                self.end_line(Fit::Wrap);
                self.gap = Some(self.frames.len());
            }
            TagEnd::Heading(_) => {
                self.end_line(Fit::Wrap);
                self.styles.pop();
                self.gap = Some(self.frames.len());
            }
            TagEnd::BlockQuote(_) => {
                self.end_line(Fit::Wrap);
                self.frames.pop();
                self.gap = Some(self.frames.len());
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.end_line(Fit::Wrap);
                self.frames.pop();
                let nested = self
                    .frames
                    .iter()
                    .any(|frame| matches!(frame, Frame::List { .. }));
                self.gap = (!nested).then_some(self.frames.len());
            }
            TagEnd::Item => {
                self.end_line(Fit::Wrap);
                self.frames.pop();
                self.gap = None;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn push_style(&mut self, over: Style) {
        let style = self.style().with(over);
        self.styles.push(style);
    }

    fn words(&mut self, text: &str, over: Style) {
        let style = self.style().with(over);
        self.line.push(self.ink.span(text, style));
    }

    fn inline_code(&mut self, code: &str) {
        // With colour the colour says that it is code; without, the marks stay.
        if self.ink.color {
            self.words(code, Style::colour(Colour::Cyan));
        } else {
            self.words(&format!("`{code}`"), Style::PLAIN);
        }
    }

    fn start_item(&mut self) {
        self.end_line(Fit::Wrap);
        let bullet = match self.frames.last_mut() {
            Some(Frame::List { next: Some(number) }) => {
                let text = format!("{number}. ");
                *number = number.saturating_add(1);
                self.ink.span(&text, Style::DIM)
            }
            _ => self.ink.mark("• ", "- ", Style::DIM),
        };
        let columns = Ink::columns(std::slice::from_ref(&bullet));
        self.frames.push(Frame::Item {
            bullet: Some(bullet),
            columns,
        });
    }

    fn end_link(&mut self) {
        let Some((target, from)) = self.links.pop() else {
            return;
        };
        let mut shown = String::new();
        let from = from.min(self.line.len());
        let spans = self.line.split_off(from);
        for mut span in spans {
            shown.push_str(span.text());
            span.restyle(Style {
                underline: true,
                ..Style::PLAIN
            });
            self.line.push(span);
        }
        if shown != target && !target.is_empty() {
            self.words(&format!(" ({target})"), Style::DIM);
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let style = self.style().with(Style::colour(Colour::Cyan));
        let margin = [self.ink.span("  ", Style::PLAIN)];
        let block = self.ink.lines(&code, style, Fit::Break).indent(&margin, &margin);
        for line in block.lines {
            self.place(line);
        }
        self.gap = Some(self.frames.len());
    }

    /// A table whose columns are lined up; each row is one line, which wraps where it is too wide.
    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        let most = self.ink.width / columns.max(1);
        let widths: Vec<usize> = (0..columns)
            .map(|n| {
                table
                    .rows
                    .iter()
                    .filter_map(|row| row.get(n))
                    .map(|cell| Ink::columns(cell))
                    .max()
                    .unwrap_or(0)
                    .min(most)
            })
            .collect();
        for row in table.rows {
            for (n, cell) in row.into_iter().enumerate() {
                if n > 0 {
                    self.line.push(self.ink.mark(" │ ", " | ", Style::DIM));
                }
                let pad = widths
                    .get(n)
                    .copied()
                    .unwrap_or(0)
                    .saturating_sub(Ink::columns(&cell));
                self.line.extend(cell);
                self.line.push(self.ink.span(&" ".repeat(pad), Style::PLAIN));
            }
            self.end_line(Fit::Wrap);
        }
        self.gap = Some(self.frames.len());
    }

    fn end_line(&mut self, fit: Fit) {
        if self.table.is_some() {
            return;
        }
        // Only an item that holds nothing may show its bullet alone, and it does so when its text comes.
        if self.line.is_empty() {
            return;
        }
        let line = Line::of(std::mem::take(&mut self.line), fit);
        self.place(line);
    }

    /// Puts a line where the quotes and lists around it say.
    fn place(&mut self, line: Line) {
        if let Some(frames) = self.gap.take().filter(|_| !self.out.lines.is_empty()) {
            let (_, rest) = self.prefix(frames, false);
            let gap = Block {
                lines: vec![Line::empty()],
            }
            .indent(&rest, &rest);
            self.out.append(gap);
        }
        let (first, rest) = self.prefix(self.frames.len(), true);
        self.out.append(Block { lines: vec![line] }.indent(&first, &rest));
    }

    /// What stands before a line inside the outer `frames` frames.
    fn prefix(&mut self, frames: usize, take_bullets: bool) -> (Vec<Span>, Vec<Span>) {
        let ink = self.ink;
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        let visible = self
            .frames
            .iter_mut()
            .take(frames)
            .filter(|frame| !matches!(frame, Frame::List { .. }))
            .take(DEEPEST);
        for frame in visible {
            match frame {
                Frame::Quote => {
                    let bar = ink.mark("│ ", "> ", Style::DIM);
                    first.push(bar.clone());
                    rest.push(bar);
                }
                Frame::Item { bullet, columns } => {
                    let blank = ink.span(&" ".repeat(*columns), Style::PLAIN);
                    let head = if take_bullets { bullet.take() } else { None };
                    first.push(head.unwrap_or_else(|| blank.clone()));
                    rest.push(blank);
                }
                Frame::List { .. } => {}
            }
        }
        (first, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let ink = Ink {
            width: 40,
            color: false,
            unicode: true,
        };
        let mut out = String::new();
        ink.paint(&markdown(text, Style::PLAIN, &ink), &mut out);
        out
    }

    #[test]
    fn blocks_stand_apart_and_keep_their_indent() {
        assert_eq!(shown("a\n\n> b\n>\n> c\n\nd"), "a\n\n│ b\n│\n│ c\n\nd\n");
        assert_eq!(
            shown("- a\n\n  b\n- c\n  1. d\n\ne"),
            "• a\n\n  b\n• c\n\n  1. d\n\ne\n"
        );
        assert_eq!(shown("> - a\n>   b"), "│ • a b\n");
    }

    #[test]
    fn code_keeps_its_blanks_and_its_marks() {
        assert_eq!(
            shown("```rs\n  # a\n\n* b\n```\nuse `x`"),
            "rs\n    # a\n\n  * b\n\nuse `x`\n"
        );
    }

    #[test]
    fn a_link_shows_where_it_leads() {
        assert_eq!(
            shown("[good](https://evil.example)"),
            "good (https://evil.example)\n"
        );
        assert_eq!(shown("<https://a.example>"), "https://a.example\n");
        assert_eq!(shown("![x](y.png)"), "image: x (y.png)\n");
    }

    #[test]
    fn bounded_deep_nesting_is_shown_flat() {
        let text = shown(&format!("{}deep", "> ".repeat(3000)));
        assert_eq!(text.matches('│').count(), DEEPEST);
        assert!(text.ends_with("deep\n"));
    }
}

//! Lines with styles, and how they get onto a screen of some width.
//!
//! Everything above this file makes [`Block`]s and never a string: the only way to put words into one is through
//! [`Ink`], which cleans them, so *untrusted* holds by construction. The only escape codes that come out are the ones
//! written here, and only where colour is on.

use unicode_width::UnicodeWidthChar;

use crate::clean::{clean, clean_line};

/// Least columns that text gets, however deep it is indented.
const LEAST_COLUMNS: usize = 16;

/// The colours of the terminal's own palette, so that the reader's theme decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Magenta = 35,
    Cyan = 36,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: Option<Colour>,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    pub(crate) strike: bool,
}

impl Style {
    pub(crate) const PLAIN: Style = Style {
        colour: None,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
    };
    pub(crate) const DIM: Style = Style {
        dim: true,
        ..Style::PLAIN
    };
    pub(crate) const BOLD: Style = Style {
        bold: true,
        ..Style::PLAIN
    };

    pub(crate) const fn colour(colour: Colour) -> Style {
        Style {
            colour: Some(colour),
            ..Style::PLAIN
        }
    }

    pub(crate) const fn bold(self) -> Style {
        Style { bold: true, ..self }
    }

    /// This style with whatever `over` has beyond it.
    pub(crate) fn with(self, over: Style) -> Style {
        Style {
            colour: over.colour.or(self.colour),
            bold: self.bold || over.bold,
            dim: self.dim || over.dim,
            italic: self.italic || over.italic,
            underline: self.underline || over.underline,
            strike: self.strike || over.strike,
        }
    }

    fn open(self, out: &mut String) {
        let mut codes: Vec<String> = Vec::new();
        for (on, code) in [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underline, 4),
            (self.strike, 9),
        ] {
            if on {
                codes.push(code.to_string());
            }
        }
        if let Some(colour) = self.colour {
            codes.push((colour as u8).to_string());
        }
        out.push_str("\u{1b}[");
        out.push_str(&codes.join(";"));
        out.push('m');
    }
}

/// A piece of clean text without line feeds, in one style.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    text: String,
    style: Style,
}

impl Span {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Adds to the style.
    pub(crate) fn restyle(&mut self, over: Style) {
        self.style = self.style.with(over);
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// What a line does that is wider than the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Goes on in the next line, between words where it can.
    Wrap,
    /// Goes on in the next line, anywhere: code.
    Break,
    /// Ends with a mark.
    Cut,
}

/// One line of text, as wide as it wants to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// What stands before the first screen line and before each further one.
    first: Vec<Span>,
    rest: Vec<Span>,
    spans: Vec<Span>,
    fit: Fit,
}

impl Line {
    pub(crate) fn of(spans: Vec<Span>, fit: Fit) -> Self {
        Self {
            first: Vec::new(),
            rest: Vec::new(),
            spans,
            fit,
        }
    }

    pub(crate) fn empty() -> Self {
        Self::of(Vec::new(), Fit::Wrap)
    }

    pub(crate) fn push(&mut self, span: Span) {
        self.spans.push(span);
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.first.iter().chain(&self.spans).all(Span::is_blank)
    }
}

/// Lines that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) lines: Vec<Line>,
}

impl Block {
    pub(crate) fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub(crate) fn append(&mut self, mut other: Block) {
        self.lines.append(&mut other.lines);
    }

    /// Puts `first` before the first line and `rest` before all others: a hanging indent, a bar, a bullet.
    pub(crate) fn indent(mut self, first: &[Span], rest: &[Span]) -> Block {
        for (n, line) in self.lines.iter_mut().enumerate() {
            let head = if n == 0 { first } else { rest };
            line.first.splice(0..0, head.iter().cloned());
            line.rest.splice(0..0, rest.iter().cloned());
        }
        self
    }

    /// Keeps the first `head` and the last `tail` lines where there are more, and says how many are left out.
    pub(crate) fn bounded(mut self, head: usize, tail: usize, ink: &Ink) -> Block {
        let left_out = self.lines.len().saturating_sub(head + tail);
        // A line that says "1 more line" takes the place of that line.
        if left_out > 1 {
            let note = ink.more(left_out);
            self.lines.splice(head..head + left_out, [note]);
        }
        self
    }

    /// Drops blank lines at both ends.
    pub(crate) fn trimmed(mut self) -> Block {
        while self.lines.last().is_some_and(Line::is_blank) {
            self.lines.pop();
        }
        let blank = self.lines.iter().take_while(|line| line.is_blank()).count();
        self.lines.drain(..blank);
        self
    }
}

/// Makes spans, and paints blocks: the width and the looks of one terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ink {
    pub(crate) width: usize,
    pub(crate) color: bool,
    pub(crate) unicode: bool,
}

impl Ink {
    /// A piece of a line. Whatever `text` holds, it stays on the line.
    pub(crate) fn span(&self, text: &str, style: Style) -> Span {
        let mut text = clean(text, self.unicode);
        if text.contains('\n') {
            text = text.replace('\n', " ");
        }
        Span { text, style }
    }

    /// The same with blanks trimmed: for titles.
    pub(crate) fn title(&self, text: &str, style: Style) -> Span {
        Span {
            text: clean_line(text, self.unicode),
            style,
        }
    }

    /// One of two marks of ours, by what the terminal can draw.
    pub(crate) fn mark(&self, unicode: &'static str, ascii: &'static str, style: Style) -> Span {
        Span {
            text: if self.unicode { unicode } else { ascii }.to_owned(),
            style,
        }
    }

    /// Text of several lines, each as it stands.
    pub(crate) fn lines(&self, text: &str, style: Style, fit: Fit) -> Block {
        let text = clean(text, self.unicode);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let lines = text
            .split('\n')
            .map(|line| {
                Line::of(
                    vec![Span {
                        text: line.to_owned(),
                        style,
                    }],
                    fit,
                )
            })
            .collect();
        Block { lines }
    }

    /// `text` on one line and within some columns, with a mark where it is cut.
    pub(crate) fn fitted(&self, text: &str, columns: usize) -> String {
        let text = clean_line(text, self.unicode);
        let cells: Vec<(char, Style)> = text.chars().map(|c| (c, Style::PLAIN)).collect();
        let end = cut(&cells, columns, self.ellipsis());
        if end == cells.len() {
            return text;
        }
        let mut out: String = cells[..end].iter().map(|(c, _)| *c).collect();
        out.push_str(self.ellipsis());
        out
    }

    /// Says that lines are left out.
    pub(crate) fn more(&self, lines: usize) -> Line {
        let mark = if self.unicode { "…" } else { "..." };
        Line::of(
            vec![self.span(&format!("{mark} {lines} more lines"), Style::DIM)],
            Fit::Wrap,
        )
    }

    /// Columns that `spans` take.
    pub(crate) fn columns(spans: &[Span]) -> usize {
        spans
            .iter()
            .flat_map(|span| span.text.chars())
            .map(columns_of)
            .sum()
    }

    /// Writes a block, each line ended by a line feed.
    pub(crate) fn paint(&self, block: &Block, out: &mut String) {
        for line in &block.lines {
            self.paint_line(line, out);
        }
    }

    fn paint_line(&self, line: &Line, out: &mut String) {
        let cells: Vec<(char, Style)> = line
            .spans
            .iter()
            .flat_map(|span| span.text.chars().map(|c| (c, span.style)))
            .collect();
        let room = |head: &[Span]| self.width.saturating_sub(Self::columns(head)).max(LEAST_COLUMNS);
        let mut at = 0;
        let mut head = &line.first;
        loop {
            let (end, next) = match line.fit {
                Fit::Cut => (cut(&cells, room(head), self.ellipsis()), cells.len()),
                fit => wrap(&cells, at, room(head), fit == Fit::Wrap),
            };
            let mut screen: Vec<(char, Style)> = head
                .iter()
                .flat_map(|span| span.text.chars().map(|c| (c, span.style)))
                .collect();
            screen.extend_from_slice(&cells[at..end]);
            if line.fit == Fit::Cut && end < cells.len() {
                screen.extend(self.ellipsis().chars().map(|c| (c, Style::DIM)));
            }
            while screen
                .last()
                .is_some_and(|(c, style)| *c == ' ' && !style.underline)
            {
                screen.pop();
            }
            self.paint_cells(&screen, out);
            out.push('\n');
            if next >= cells.len() {
                return;
            }
            at = next;
            head = &line.rest;
        }
    }

    /// Writes words that are clean already, as they stand.
    pub(crate) fn paint_words(&self, words: &str, style: Style, out: &mut String) {
        let cells: Vec<(char, Style)> = words.chars().map(|c| (c, style)).collect();
        self.paint_cells(&cells, out);
    }

    fn ellipsis(&self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    fn paint_cells(&self, cells: &[(char, Style)], out: &mut String) {
        let mut now = Style::PLAIN;
        for (c, style) in cells {
            if self.color && *style != now {
                if now != Style::PLAIN {
                    out.push_str("\u{1b}[0m");
                }
                if *style != Style::PLAIN {
                    style.open(out);
                }
                now = *style;
            }
            out.push(*c);
        }
        if now != Style::PLAIN {
            out.push_str("\u{1b}[0m");
        }
    }
}

/// Columns that a character takes on a screen.
pub(crate) fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Where the screen line that begins at `from` ends, and where the next one begins.
fn wrap(cells: &[(char, Style)], from: usize, room: usize, at_words: bool) -> (usize, usize) {
    let (mut used, mut blank) = (0, None);
    for (at, (c, _)) in cells.iter().enumerate().skip(from) {
        let columns = columns_of(*c);
        if used + columns > room && at > from {
            return match (*c, blank) {
                (' ', _) if at_words => (at, at + 1),
                (_, Some(blank)) => (blank, blank + 1),
                _ => (at, at),
            };
        }
        // Blanks that indent a line are no place to break it.
        if at_words && *c == ' ' && cells[from..at].iter().any(|(c, _)| *c != ' ') {
            blank = Some(at);
        }
        used += columns;
    }
    (cells.len(), cells.len())
}

/// How much of a line stands on one screen line with a mark behind it; all where all fits.
fn cut(cells: &[(char, Style)], room: usize, mark: &str) -> usize {
    let room_with_mark = room.saturating_sub(mark.chars().count());
    let (mut used, mut fits) = (0, 0);
    for (at, (c, _)) in cells.iter().enumerate() {
        used += columns_of(*c);
        if used <= room_with_mark {
            fits = at + 1;
        }
        if used > room {
            return fits;
        }
    }
    cells.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INK: Ink = Ink {
        width: 20,
        color: false,
        unicode: true,
    };

    fn painted(ink: Ink, block: &Block) -> String {
        let mut out = String::new();
        ink.paint(block, &mut out);
        out
    }

    #[test]
    fn long_lines_wrap_at_words_break_or_are_cut() {
        let text = "one two three four five";
        let by = |fit| painted(INK, &INK.lines(text, Style::PLAIN, fit));
        assert_eq!(by(Fit::Wrap), "one two three four\nfive\n");
        assert_eq!(by(Fit::Break), "one two three four f\nive\n");
        assert_eq!(by(Fit::Cut), "one two three four …\n");
        assert_eq!(
            painted(
                INK,
                &INK.lines("漢字漢字漢字漢字漢字漢字", Style::PLAIN, Fit::Wrap)
            ),
            "漢字漢字漢字漢字漢字\n漢字\n"
        );
    }

    #[test]
    fn an_indent_hangs_and_colour_is_closed_on_each_line() {
        let ink = Ink { color: true, ..INK };
        let bar = [ink.mark("│ ", "| ", Style::DIM)];
        let block = ink
            .lines("one two three four five", Style::BOLD, Fit::Wrap)
            .indent(&bar, &bar);
        assert_eq!(
            painted(ink, &block),
            "\u{1b}[2m│ \u{1b}[0m\u{1b}[1mone two three four\u{1b}[0m\n\u{1b}[2m│ \u{1b}[0m\u{1b}[1mfive\u{1b}[0m\n"
        );
    }

    #[test]
    fn bounded_lines_say_how_many_are_left_out() {
        let text = (1..=10).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let block = INK.lines(&text, Style::PLAIN, Fit::Cut).bounded(2, 1, &INK);
        assert_eq!(painted(INK, &block), "1\n2\n… 7 more lines\n10\n");
    }
}

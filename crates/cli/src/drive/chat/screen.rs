//! The screen: a stream of text that stays, and below it what changes: where the session stands, and the line that is written.
//!
//! Neither `rustyline` nor `reedline` serves here, so the painting is ours and only the terminal's modes and keys are
//! `crossterm`'s. Both can print while a line is written, but whole lines alone: a reply that streams would come a paragraph at
//! a time. Both read one line at a time with a prompt that cannot change meanwhile: a question that comes up could not take its
//! place and give the half-written text back. `reedline` counts bytes as columns where it prints so, and looks for text
//! only ten times a second.
//!
//! The lower part is at most as high as the screen. It is taken away and drawn again with each change, in one write, between
//! the marks of a synchronized update, so nothing flickers. The open end of the text (the words of a line that is not full yet)
//! is drawn again with it. Where the terminal is dumb nothing is ever drawn again: text and notes are printed, lines are read
//! as the terminal gives them.
//!
//! *untrusted*: what comes here is clean already, but for the styles that the render crate sets.

use std::io::{self, Write};

use crossterm::style::{Attribute, Color, SetAttribute, SetForegroundColor};
use crossterm::{cursor, event, queue, terminal};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How words look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Dim,
    Bold,
    Accent,
    Warn,
    Bad,
}

/// One line of the lower part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line(Vec<(Tone, String)>);

impl Line {
    /// A line of one tone. The words must be clean.
    pub(super) fn of(tone: Tone, words: impl Into<String>) -> Self {
        Self(vec![(tone, words.into())])
    }

    #[must_use]
    pub(super) fn and(mut self, tone: Tone, words: impl Into<String>) -> Self {
        self.0.push((tone, words.into()));
        self
    }

    pub(super) fn columns(&self) -> usize {
        self.0.iter().map(|(_, words)| words.width()).sum()
    }

    /// At most so many columns of it.
    fn cut(&self, room: usize) -> Vec<(Tone, String)> {
        let mut left = room;
        let mut out = Vec::new();
        for (tone, words) in &self.0 {
            let mut piece = String::new();
            for c in words.chars() {
                let columns = c.width().unwrap_or(0);
                if columns > left {
                    left = 0;
                    break;
                }
                left -= columns;
                piece.push(c);
            }
            out.push((*tone, piece));
            if left == 0 {
                break;
            }
        }
        out
    }
}

/// What is drawn below the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lower {
    pub(super) lines: Vec<Line>,
    /// Line and column of the cursor.
    pub(super) cursor: (usize, usize),
}

/// Ends a line over what stood there before.
const END: &str = "\u{1b}[K\r\n";

/// The terminal, as long as the chat has it.
pub(super) struct Screen {
    /// It can be drawn on.
    drawn_on: bool,
    color: bool,
    size: (usize, usize),
    /// The open end of the text.
    tail: String,
    lower: Lower,
    /// Columns of what was drawn from the top of the open end down to the cursor.
    above: Vec<usize>,
    /// The column of the cursor.
    column: usize,
    /// Something must be drawn even if nothing has changed.
    stale: bool,
    taken: bool,
}

impl Screen {
    pub(super) fn new(color: bool) -> Self {
        let drawn_on = std::env::var_os("TERM").is_none_or(|term| term != "dumb" && !term.is_empty());
        Self {
            drawn_on,
            color: color && drawn_on,
            size: size(),
            tail: String::new(),
            lower: Lower::default(),
            above: Vec::new(),
            column: 0,
            stale: true,
            taken: false,
        }
    }

    /// Whether it can be drawn on; else lines are printed and read.
    pub(super) fn is_drawn_on(&self) -> bool {
        self.drawn_on
    }

    /// Columns that text may take; the last one stays free, so that no terminal is ever asked what it does there.
    pub(super) fn width(&self) -> usize {
        self.size.0.saturating_sub(1).max(1)
    }

    pub(super) fn height(&self) -> usize {
        self.size.1.max(2)
    }

    /// Takes the terminal: keys come as they are pressed.
    pub(super) fn take(&mut self) -> io::Result<()> {
        if self.drawn_on && !self.taken {
            terminal::enable_raw_mode()?;
            self.taken = true;
            let mut out = io::stdout();
            queue!(out, event::EnableBracketedPaste)?;
            out.flush()?;
            self.size = size();
            self.stale = true;
        }
        Ok(())
    }

    /// Gives the terminal back, the lower part taken away.
    pub(super) fn give_back(&mut self) -> io::Result<()> {
        if !self.taken {
            return Ok(());
        }
        self.taken = false;
        let mut out = Vec::new();
        self.clear(&mut out)?;
        if !self.tail.is_empty() {
            write!(out, "{}\r\n", std::mem::take(&mut self.tail))?;
        }
        self.above.clear();
        self.column = 0;
        queue!(out, event::DisableBracketedPaste, cursor::Show)?;
        let written = io::stdout().write_all(&out).and_then(|()| io::stdout().flush());
        terminal::disable_raw_mode()?;
        written
    }

    /// The terminal has another size now; it has laid out anew what stood on it.
    pub(super) fn resize(&mut self) {
        self.size = size();
        self.stale = true;
    }

    /// Wipes the screen; what stays of the text is in the terminal's own memory.
    pub(super) fn wipe(&mut self) -> io::Result<()> {
        if self.taken {
            let mut out = Vec::new();
            queue!(
                out,
                terminal::Clear(terminal::ClearType::All),
                cursor::MoveTo(0, 0)
            )?;
            io::stdout().write_all(&out)?;
            self.above.clear();
            self.column = 0;
            self.stale = true;
        }
        Ok(())
    }

    /// Adds text, and draws the lower part anew.
    pub(super) fn draw(&mut self, text: &str, lower: Lower) -> io::Result<()> {
        if !self.drawn_on {
            if !text.is_empty() {
                io::stdout().write_all(text.as_bytes())?;
                io::stdout().flush()?;
            }
            return Ok(());
        }
        if text.is_empty() && lower == self.lower && !self.stale {
            return Ok(());
        }
        self.stale = false;
        let mut out = Vec::with_capacity(text.len() + 1024);
        queue!(out, terminal::BeginSynchronizedUpdate, cursor::Hide)?;
        self.to_top(&mut out)?;
        self.tail.push_str(text);
        if let Some(end) = self.tail.rfind('\n') {
            let whole: String = self.tail.drain(..=end).collect();
            out.extend_from_slice(whole.replace('\n', END).as_bytes());
        }
        self.lower = lower;
        self.above.clear();
        let mut room = self.height().saturating_sub(1);
        if !self.tail.is_empty() {
            write!(out, "{}{END}", self.tail)?;
            self.above.push(columns(&self.tail));
            room = room.saturating_sub(columns(&self.tail).div_ceil(self.size.0.max(1)));
        }
        // What is too high loses its top.
        let first = self.lower.lines.len().saturating_sub(room.max(1));
        let lines = &self.lower.lines[first..];
        let cursor = self.lower.cursor.0.saturating_sub(first);
        for (n, line) in lines.iter().enumerate() {
            if n > 0 {
                out.extend_from_slice(END.as_bytes());
            }
            let cut = line.cut(self.width());
            if n < cursor {
                self.above.push(cut.iter().map(|(_, words)| words.width()).sum());
            }
            for (tone, words) in &cut {
                self.paint(&mut out, *tone, words)?;
            }
        }
        queue!(out, terminal::Clear(terminal::ClearType::FromCursorDown))?;
        let below = lines.len().saturating_sub(cursor + 1);
        if below > 0 {
            queue!(out, cursor::MoveUp(u16::try_from(below).unwrap_or(u16::MAX)))?;
        }
        self.column = self.lower.cursor.1.min(self.size.0 - 1);
        let column = u16::try_from(self.column).unwrap_or(u16::MAX);
        queue!(
            out,
            cursor::MoveToColumn(column),
            cursor::Show,
            terminal::EndSynchronizedUpdate
        )?;
        io::stdout().write_all(&out)?;
        io::stdout().flush()
    }

    /// Goes to the top of what is drawn anew.
    fn to_top(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let width = self.size.0.max(1);
        let rows: usize = self
            .above
            .iter()
            .map(|columns| columns.div_ceil(width).max(1))
            .sum();
        // On a narrower screen the cursor's own line has become several.
        let rows = rows + self.column / width;
        if rows > 0 {
            queue!(out, cursor::MoveUp(u16::try_from(rows).unwrap_or(u16::MAX)))?;
        }
        queue!(out, cursor::MoveToColumn(0))
    }

    /// Takes away what is drawn anew. Never is the whole screen cleared from its top: `tmux` would keep what stood there.
    fn clear(&self, out: &mut Vec<u8>) -> io::Result<()> {
        self.to_top(out)?;
        queue!(
            out,
            terminal::Clear(terminal::ClearType::UntilNewLine),
            cursor::SavePosition,
            cursor::MoveDown(1),
            terminal::Clear(terminal::ClearType::CurrentLine),
            terminal::Clear(terminal::ClearType::FromCursorDown),
            cursor::RestorePosition
        )
    }

    fn paint(&self, out: &mut Vec<u8>, tone: Tone, words: &str) -> io::Result<()> {
        if !self.color || tone == Tone::Plain {
            return out.write_all(words.as_bytes());
        }
        match tone {
            Tone::Plain => {}
            Tone::Dim => queue!(out, SetAttribute(Attribute::Dim))?,
            Tone::Bold => queue!(out, SetAttribute(Attribute::Bold))?,
            Tone::Accent => queue!(out, SetForegroundColor(Color::DarkCyan))?,
            Tone::Warn => queue!(out, SetForegroundColor(Color::DarkYellow))?,
            Tone::Bad => queue!(out, SetForegroundColor(Color::DarkRed))?,
        }
        out.write_all(words.as_bytes())?;
        queue!(out, SetAttribute(Attribute::Reset))
    }

    /// A line of text as it is printed.
    pub(super) fn printed(&self, line: &Line) -> String {
        let mut out = Vec::new();
        for (tone, words) in &line.0 {
            // Writing to a vector does not fail.
            let _ = self.paint(&mut out, *tone, words);
        }
        out.push(b'\n');
        String::from_utf8_lossy(&out).into_owned()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Where even this fails the terminal is gone.
        let _ = self.give_back();
    }
}

fn size() -> (usize, usize) {
    let (width, height) = terminal::size().unwrap_or((80, 24));
    (usize::from(width).max(2), usize::from(height).max(2))
}

/// A line as lines of at most so many columns, broken at blanks.
pub(super) fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let columns = lines.last().map_or(0, |last| last.width());
        if columns > 0 && columns + word.trim_end().width() > width {
            lines.push(String::new());
        }
        if let Some(last) = lines.last_mut() {
            last.push_str(word);
        }
    }
    lines
}

/// Columns of a text with styles in it.
fn columns(text: &str) -> usize {
    let mut columns = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            columns += c.width().unwrap_or(0);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_words_alone() {
        assert_eq!(columns("\u{1b}[2mab\u{1b}[0m漢"), 4);
    }

    #[test]
    fn a_note_is_wrapped_at_blanks() {
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(
            wrapped("averyveryverylongword x", 8),
            ["averyveryverylongword ", "x"]
        );
        assert_eq!(wrapped("", 8), [""]);
    }

    #[test]
    fn a_line_is_cut_at_a_column_and_not_inside_a_character() {
        let line = Line::of(Tone::Bold, "ab").and(Tone::Dim, "漢字");
        assert_eq!(line.columns(), 6);
        let cut: String = line.cut(5).into_iter().map(|(_, words)| words).collect();
        assert_eq!(cut, "ab漢");
        assert_eq!(line.cut(6).len(), 2);
    }
}

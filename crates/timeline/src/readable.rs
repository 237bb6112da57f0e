//! Turns what a program printed for a terminal into text that a person can read.
//!
//! A terminal's output is a program for a screen: colours, titles, bars that are drawn over themselves. The timeline keeps
//! what would be left to read. One line is played at a time, on a row of cells, one character a cell:
//!
//! - a line feed ends the line as it stands, wherever the cursor is (so do vertical tab, form feed and next line);
//! - a carriage return goes to the start of the line and what follows overwrites it, character by character; what it does
//!   not reach stays, as on a screen;
//! - a backspace goes one cell back and deletes nothing;
//! - of the escape sequences, those that move within the line or erase in it are obeyed (`CSI` `C`, `D`, `G`, `K`, `P`, `X`);
//!   all others are left out, with titles, links and other strings (`OSC`, `DCS`, `APC`, `PM`, `SOS`), also in their
//!   one-character forms (`U+0080` to `U+009F`); going up to an earlier line does nothing, as that line is already told;
//! - other control characters are left out; tabs stay, as one character.
//!
//! Invariants. *split anywhere*: the pieces that a [`ReadableStream`] gives back, put together, do not depend on how its input
//! was split. *bounded*: it keeps at most [`LINE_LIMIT`] bytes of the current line; a longer line is told in pieces, and a
//! carriage return then goes to the start of the piece. A string sequence that nobody ends is given up at a line feed
//! or after [`LINE_LIMIT`] characters, another sequence after [`SEQUENCE_LIMIT`], so that a broken one cannot swallow what follows.
//! The result holds no control character but line feed and tab.

use std::borrow::Cow;

/// Most bytes of an unfinished line that are kept back.
pub const LINE_LIMIT: usize = 4096;
/// Most characters of an escape sequence that is no string.
pub const SEQUENCE_LIMIT: usize = 64;
/// Farthest column that a cursor movement reaches: moving right costs spaces, and a few bytes must not buy many.
const COLUMN_LIMIT: usize = 256;

/// The readable text of a whole terminal output. Text without control characters comes back as it is.
pub fn readable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut stream = ReadableStream::new();
    let mut out = stream.push(text);
    out.push_str(&stream.finish());
    Cow::Owned(out)
}

/// The same for output that comes in pieces: whole lines come out as they end, the current line is kept back.
#[derive(Debug, Clone, Default)]
pub struct ReadableStream {
    cells: Vec<char>,
    /// UTF-8 length of `cells`.
    bytes: usize,
    column: usize,
    state: State,
}

#[derive(Debug, Clone, Default)]
enum State {
    #[default]
    Ground,
    /// After `ESC`: its intermediate characters are passed over.
    Escape { length: usize },
    /// After `CSI`: the first number is kept, as far as a movement can need it.
    Control {
        length: usize,
        first: Option<usize>,
        more: bool,
    },
    /// In a string that ends with `BEL` or `ST`.
    Text { length: usize, escape: bool },
}

impl ReadableStream {
    /// A stream that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece of output and gives back the lines that ended in it, with their line feeds.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            if self.is_at_line_start() {
                let whole = whole_plain_lines(rest);
                if whole > 0 {
                    out.push_str(&rest[..whole]);
                    rest = &rest[whole..];
                    continue;
                }
            }
            self.take(next, &mut out);
            rest = &rest[next.len_utf8()..];
        }
        out
    }

    /// Gives back the unfinished line as it stands and starts over.
    pub fn finish(&mut self) -> String {
        let line = self.cells.iter().collect();
        *self = Self::default();
        line
    }

    /// The unfinished line as it stands now, for a view that cannot wait.
    pub fn current_line(&self) -> String {
        self.cells.iter().collect()
    }

    fn is_at_line_start(&self) -> bool {
        self.cells.is_empty() && self.column == 0 && matches!(self.state, State::Ground)
    }

    fn take(&mut self, c: char, out: &mut String) {
        match self.state {
            State::Ground => self.ground(c, out),
            State::Escape { length } => self.escape(c, length, out),
            State::Control { length, first, more } => self.control(c, length, first, more, out),
            State::Text { length, escape } => self.text(c, length, escape, out),
        }
    }

    fn ground(&mut self, c: char, out: &mut String) {
        match c {
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' => {
                self.tell(out);
                out.push('\n');
            }
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\u{1b}' => self.state = State::Escape { length: 0 },
            '\u{9b}' => {
                self.state = State::Control {
                    length: 0,
                    first: None,
                    more: false,
                }
            }
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
                self.state = State::Text {
                    length: 0,
                    escape: false,
                }
            }
            c if is_plain(c) => self.print(c, out),
            _ => {}
        }
    }

    fn escape(&mut self, c: char, length: usize, out: &mut String) {
        self.state = match c {
            '[' if length == 0 => State::Control {
                length: 0,
                first: None,
                more: false,
            },
            ']' | 'P' | 'X' | '^' | '_' if length == 0 => State::Text {
                length: 0,
                escape: false,
            },
            ' '..='/' if length < SEQUENCE_LIMIT => State::Escape { length: length + 1 },
            ' '..='~' => State::Ground,
            // No escape sequence after all: the character counts for itself.
            _ => return self.restart(c, out),
        };
    }

    fn control(&mut self, c: char, length: usize, first: Option<usize>, more: bool, out: &mut String) {
        self.state = match c {
            _ if length >= SEQUENCE_LIMIT => return self.restart(c, out),
            '0'..='9' if !more => {
                let digit = c as usize - '0' as usize;
                let number = first
                    .unwrap_or(0)
                    .saturating_mul(10)
                    .saturating_add(digit)
                    .min(LINE_LIMIT);
                State::Control {
                    length: length + 1,
                    first: Some(number),
                    more,
                }
            }
            ' '..='?' => State::Control {
                length: length + 1,
                first,
                more: true,
            },
            '@'..='~' => {
                self.obey(c, first);
                State::Ground
            }
            _ => return self.restart(c, out),
        };
    }

    fn text(&mut self, c: char, length: usize, escape: bool, out: &mut String) {
        self.state = match c {
            '\u{7}' | '\u{9c}' | '\u{18}' | '\u{1a}' => State::Ground,
            '\n' => return self.restart(c, out),
            '\\' if escape => State::Ground,
            // An escape that begins something else ends the string too.
            _ if escape => {
                self.state = State::Escape { length: 0 };
                return self.take(c, out);
            }
            '\u{1b}' => State::Text {
                length: length + 1,
                escape: true,
            },
            _ if length >= LINE_LIMIT => return self.restart(c, out),
            _ => State::Text {
                length: length + 1,
                escape: false,
            },
        };
    }

    fn restart(&mut self, c: char, out: &mut String) {
        self.state = State::Ground;
        self.ground(c, out);
    }

    /// A control sequence that moves in the line or erases in it.
    fn obey(&mut self, command: char, first: Option<usize>) {
        let count = first.unwrap_or(1).max(1);
        match command {
            'C' => {
                return self.column = self
                    .column
                    .saturating_add(count)
                    .min(COLUMN_LIMIT.max(self.column));
            }
            'D' => return self.column = self.column.saturating_sub(count),
            'G' => return self.column = (count - 1).min(COLUMN_LIMIT.max(self.column)),
            'K' => match first.unwrap_or(0) {
                0 => self.cells.truncate(self.column),
                1 => self.blank(0, self.column.saturating_add(1)),
                _ => self.cells.clear(),
            },
            'P' => {
                let from = self.column.min(self.cells.len());
                let to = from.saturating_add(count).min(self.cells.len());
                self.cells.drain(from..to);
            }
            'X' => self.blank(self.column, self.column.saturating_add(count)),
            _ => return,
        }
        self.bytes = self.cells.iter().map(|c| c.len_utf8()).sum();
    }

    fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells.len());
        for cell in self.cells.iter_mut().take(to).skip(from) {
            *cell = ' ';
        }
    }

    fn print(&mut self, c: char, out: &mut String) {
        while self.cells.len() < self.column {
            self.cells.push(' ');
            self.bytes += 1;
        }
        match self.cells.get_mut(self.column) {
            Some(cell) => {
                self.bytes = self.bytes - cell.len_utf8() + c.len_utf8();
                *cell = c;
            }
            None => {
                self.bytes += c.len_utf8();
                self.cells.push(c);
            }
        }
        self.column += 1;
        if self.bytes >= LINE_LIMIT {
            self.tell(out);
        }
    }

    fn tell(&mut self, out: &mut String) {
        out.extend(self.cells.drain(..));
        self.bytes = 0;
        self.column = 0;
    }
}

fn is_plain(c: char) -> bool {
    matches!(c, '\n' | '\t') || !c.is_control()
}

/// Length of the lines at the start of `text` that are whole and hold nothing to be played.
fn whole_plain_lines(text: &str) -> usize {
    let plain = text.find(|c| !is_plain(c)).unwrap_or(text.len());
    text[..plain].rfind('\n').map_or(0, |at| at + 1)
}

//! The text that a person writes: what stands in it, where the cursor is, and how it lies on the screen.
//!
//! The cursor stands between what a reader takes for characters (grapheme clusters), never inside one. A draft holds what was
//! typed and pasted as it is; only its picture is cleaned.

use tapline_render::clean;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};
use unicode_width::UnicodeWidthStr;

/// Longest draft, in bytes: a paste that is longer is cut.
pub(super) const DRAFT_BYTES: usize = 1 << 20;

/// A text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Draft {
    text: String,
    /// A byte offset.
    at: usize,
    /// What was cut out last.
    killed: String,
    /// Where the last move over lines has come to, and the column it wanted.
    wanted: Option<(usize, usize)>,
}

/// A draft as it lies on the screen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Picture {
    /// Its screen lines.
    pub(super) lines: Vec<String>,
    /// Line and column of the cursor.
    pub(super) cursor: (usize, usize),
}

impl Draft {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What stands before the cursor.
    pub(super) fn before(&self) -> &str {
        &self.text[..self.at]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts another text in, the cursor behind it.
    pub(super) fn set(&mut self, text: &str) {
        self.text.clear();
        self.at = 0;
        self.insert(text);
    }

    /// Takes the text out.
    pub(super) fn take(&mut self) -> String {
        self.at = 0;
        std::mem::take(&mut self.text)
    }

    /// Puts text in at the cursor; line ends of any kind become line feeds. Says whether all of it had room.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut end = text.len().min(DRAFT_BYTES.saturating_sub(self.text.len()));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.text.insert_str(self.at, &text[..end]);
        self.at += end;
        end == text.len()
    }

    /// Replaces the last `bytes` before the cursor.
    pub(super) fn replace_before(&mut self, bytes: usize, text: &str) {
        let from = self.at.saturating_sub(bytes);
        if self.text.is_char_boundary(from) {
            self.text.replace_range(from..self.at, "");
            self.at = from;
            self.insert(text);
        }
    }

    // --- Moving ---

    fn previous(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.at, self.text.len(), true);
        cursor.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn next(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.at, self.text.len(), true);
        let next = cursor.next_boundary(&self.text, 0).ok().flatten();
        next.unwrap_or(self.text.len())
    }

    pub(super) fn left(&mut self) {
        self.at = self.previous();
    }

    pub(super) fn right(&mut self) {
        self.at = self.next();
    }

    /// The start of the word before the cursor.
    fn word_start(&self) -> usize {
        let mut words = self.before().unicode_word_indices();
        words.next_back().map_or(0, |(at, _)| at)
    }

    /// The end of the word behind the cursor.
    fn word_end(&self) -> usize {
        let mut words = self.text[self.at..].unicode_word_indices();
        words
            .next()
            .map_or(self.text.len(), |(at, word)| self.at + at + word.len())
    }

    pub(super) fn word_left(&mut self) {
        self.at = self.word_start();
    }

    pub(super) fn word_right(&mut self) {
        self.at = self.word_end();
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.at..]
            .find('\n')
            .map_or(self.text.len(), |at| self.at + at)
    }

    pub(super) fn home(&mut self) {
        self.at = self.line_start();
    }

    pub(super) fn end(&mut self) {
        self.at = self.line_end();
    }

    /// The column that a move over lines wants: over a shorter line it is kept.
    fn column(&self) -> usize {
        match self.wanted {
            Some((at, column)) if at == self.at => column,
            _ => self.text[self.line_start()..self.at].graphemes(true).count(),
        }
    }

    /// A line up; says whether there was one.
    pub(super) fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = self.column();
        self.at = start - 1;
        let above = self.line_start();
        self.at = above + column_at(&self.text[above..start - 1], column);
        self.wanted = Some((self.at, column));
        true
    }

    /// A line down; says whether there was one.
    pub(super) fn down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let column = self.column();
        self.at = end + 1;
        let below = self.line_end();
        self.at = end + 1 + column_at(&self.text[end + 1..below], column);
        self.wanted = Some((self.at, column));
        true
    }

    // --- Taking away ---

    fn kill(&mut self, from: usize, to: usize) {
        self.killed = self.text[from..to].to_owned();
        self.text.replace_range(from..to, "");
        self.at = from;
    }

    pub(super) fn backspace(&mut self) {
        let from = self.previous();
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    pub(super) fn delete(&mut self) {
        let to = self.next();
        self.text.replace_range(self.at..to, "");
    }

    /// Cuts to the end of the line; at the end, the line feed.
    pub(super) fn kill_to_end(&mut self) {
        let end = self.line_end();
        let to = if end == self.at { self.next() } else { end };
        self.kill(self.at, to);
    }

    pub(super) fn kill_to_start(&mut self) {
        self.kill(self.line_start(), self.at);
    }

    /// Cuts back to the blank before the cursor.
    pub(super) fn kill_word(&mut self) {
        let trimmed = self.before().trim_end();
        let from = trimmed.rfind(char::is_whitespace).map_or(0, |at| {
            at + trimmed[at..].chars().next().map_or(1, char::len_utf8)
        });
        self.kill(from, self.at);
    }

    pub(super) fn kill_word_right(&mut self) {
        self.kill(self.at, self.word_end());
    }

    /// Puts back what was cut out last.
    pub(super) fn yank(&mut self) {
        let killed = self.killed.clone();
        self.insert(&killed);
    }

    // --- Its picture ---

    /// How it lies on lines of `width` columns, of which the first `indent` are taken by a mark.
    pub(super) fn picture(&self, indent: usize, width: usize, unicode: bool) -> Picture {
        let room = width.saturating_sub(indent).max(1);
        let mut lines = vec![String::new()];
        let mut column = 0;
        let mut cursor = None;
        for (at, cluster) in self.text.grapheme_indices(true) {
            let shown = if cluster == "\n" {
                String::new()
            } else {
                clean(cluster, unicode)
            };
            let columns = shown.width();
            if column + columns > room {
                lines.push(String::new());
                column = 0;
            }
            if at == self.at {
                cursor = Some((lines.len() - 1, indent + column));
            }
            if cluster == "\n" {
                lines.push(String::new());
                column = 0;
                continue;
            }
            if let Some(line) = lines.last_mut() {
                line.push_str(&shown);
            }
            column += columns;
        }
        if cursor.is_none() && column >= room {
            lines.push(String::new());
            column = 0;
        }
        let cursor = cursor.unwrap_or((lines.len() - 1, indent + column));
        Picture { lines, cursor }
    }
}

/// The byte offset of a column in a line.
fn column_at(line: &str, column: usize) -> usize {
    line.grapheme_indices(true)
        .nth(column)
        .map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        let mut draft = Draft::default();
        draft.set(text);
        draft
    }

    #[test]
    fn characters_are_what_a_reader_takes_for_them() {
        let mut draft = draft("añ👩‍👩‍👧e\u{301}");
        for left in ["añ👩‍👩‍👧", "añ", "a", "", ""] {
            draft.backspace();
            assert_eq!(draft.text(), left);
        }
    }

    #[test]
    fn words_and_lines_are_cut_and_put_back() {
        let mut it = draft("one two-three");
        it.kill_word();
        assert_eq!(it.text(), "one ");
        it.yank();
        it.word_left();
        it.kill_to_end();
        assert_eq!(it.text(), "one two-");
        it.home();
        it.word_right();
        it.kill_to_start();
        assert_eq!(it.text(), " two-");
        let mut two = draft("a\nb");
        two.up();
        two.end();
        two.kill_to_end();
        assert_eq!(two.text(), "ab", "the line feed is cut at a line's end");
    }

    #[test]
    fn up_and_down_keep_the_column_and_say_where_the_text_ends() {
        let mut it = draft("long line\nab\nanother");
        assert!(it.up() && it.up() && !it.up());
        assert_eq!(it.before(), "long li");
        assert!(it.down());
        assert_eq!(it.before(), "long line\nab", "a shorter line has its end");
        assert!(it.down() && !it.down());
        assert_eq!(it.before(), "long line\nab\nanother");
    }

    #[test]
    fn a_picture_wraps_and_knows_the_cursor() {
        let it = draft("abcdef");
        let picture = it.picture(2, 6, true);
        assert_eq!(picture.lines, ["abcd", "ef"]);
        assert_eq!(picture.cursor, (1, 4));
        assert_eq!(
            draft("abcd").picture(2, 6, true).cursor,
            (1, 2),
            "no room behind the last"
        );
        let wide = draft("漢字漢").picture(0, 5, true);
        assert_eq!(wide.lines, ["漢字", "漢"]);
        assert_eq!(draft("a\n\nb").picture(0, 5, true).lines, ["a", "", "b"]);
    }

    #[test]
    fn what_is_pasted_reaches_the_screen_clean() {
        let it = draft("a\u{1b}[31mb\r\nc");
        assert_eq!(it.text(), "a\u{1b}[31mb\nc");
        assert_eq!(it.picture(0, 20, true).lines, ["a\u{fffd}[31mb", "c"]);
    }

    #[test]
    fn bounded_a_paste_without_end_is_cut() {
        let mut it = Draft::default();
        assert!(!it.insert(&"ä".repeat(DRAFT_BYTES)));
        assert!(it.text().len() <= DRAFT_BYTES && it.text().len() + 2 > DRAFT_BYTES);
    }
}

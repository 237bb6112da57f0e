//! The one gate through which words reach the output.
//!
//! What a terminal obeys, and what turns or hides text, becomes a mark ([`harmless`]). Line ends become line feeds, tabs become
//! spaces.

use tapline_timeline::harmless;

/// The mark for a character that is not shown: visible, in every font, one column wide.
const MARK: char = '\u{fffd}';
/// What the mark is where only ASCII may be drawn.
const ASCII_MARK: char = '?';

/// Gives back `text` with nothing in it that a terminal obeys or a reader cannot see. Only line feeds are left of the
/// control characters.
pub fn clean(text: &str, unicode: bool) -> String {
    let mark = if unicode { MARK } else { ASCII_MARK };
    harmless(text, mark, "    ")
}

/// The same on one line: line ends become single spaces, the ends are trimmed.
pub fn clean_line(text: &str, unicode: bool) -> String {
    let text = clean(text, unicode);
    let mut words = text.split('\n').map(str::trim).filter(|piece| !piece.is_empty());
    let mut out = words.next().unwrap_or_default().to_owned();
    for piece in words {
        out.push(' ');
        out.push_str(piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_controls_and_hidden_characters_become_marks() {
        assert_eq!(
            clean("a\u{1b}[31mb\u{9b}1mc\u{7}\u{7f}", true),
            "a\u{fffd}[31mb\u{fffd}1mc\u{fffd}\u{fffd}"
        );
        assert_eq!(clean("a\u{202e}b\u{2066}c\u{e0041}", false), "a?b?c?");
        assert_eq!(clean("a\r\nb\rc\u{2028}d\te", true), "a\nb\nc\nd    e");
        assert_eq!(clean("👩\u{200d}💻 ❤\u{fe0f}", true), "👩\u{200d}💻 ❤\u{fe0f}");
        assert_eq!(clean_line(" a\n\n  b \r\n", true), "a b");
    }
}

//! Words of others, made fit to be read.
//!
//! A terminal obeys control characters, and a reader can be deceived by characters that reorder or hide text. Rows keep all of
//! them, since they are what was said; whoever shows rows, on a screen or in a document, shows them [`harmless`].

/// `text` without anything that a terminal obeys or a reader cannot see: `mark` stands in its place, so that a reader sees that
/// something stood there. Line ends become line feeds, tabs become `tab`.
pub fn harmless(text: &str, mark: char, tab: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\t' => out.push_str(tab),
            c if is_harmful(c) => out.push(mark),
            c => out.push(c),
        }
    }
    out
}

/// Whether a character must not reach a reader: controls (C0, DEL, C1), characters that turn the direction of text,
/// invisible tags and annotations, and the marks that editors hide. Joiners and variation selectors stay: many scripts
/// and pictures are written with them.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_what_turns_or_hides_text_becomes_a_mark() {
        let hidden = "\u{61c}\u{180e}\u{200b}\u{200e}\u{202e}\u{2066}\u{206f}\u{feff}\u{fffa}\u{e0041}";
        assert_eq!(harmless(hidden, '?', "\t"), "?".repeat(10));
        assert_eq!(harmless("\u{1b}[1m\u{9b}\u{7f}", '?', "\t"), "?[1m??");
    }

    #[test]
    fn line_ends_are_line_feeds_and_tabs_are_what_the_reader_wants() {
        assert_eq!(
            harmless("a\r\nb\rc\u{85}d\u{2029}e\tf", '?', "  "),
            "a\nb\nc\nd\ne  f"
        );
        assert_eq!(
            harmless("👩\u{200d}💻 ❤\u{fe0f}", '?', "\t"),
            "👩\u{200d}💻 ❤\u{fe0f}"
        );
    }
}

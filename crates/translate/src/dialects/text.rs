//! Taking apart what agents put into texts. Every reader gives nothing where a text is not what it looks for.

use tapline_timeline::readable;
use tapline_wire::{RawValue, value};

/// The longest head of `text` of at most `limit` bytes that ends at a character.
pub(super) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Whether this is a name as tools have one.
pub(super) fn is_word(text: &str) -> bool {
    let ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    !text.is_empty() && text.len() <= 128 && text.chars().all(ok)
}

/// The name in front of arguments as JSON, which are no title.
pub(super) fn name_before_json(title: &str) -> Option<&str> {
    let (name, rest) = title.split_once(": ")?;
    (is_word(name) && rest.starts_with(['{', '['])).then_some(name)
}

/// The text inside a Markdown fence, if all of `text` is one. What a shell printed comes back readable.
pub(super) fn unfenced(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\n');
    let ticks = text.bytes().take_while(|b| *b == b'`').count();
    if ticks < 3 {
        return None;
    }
    let (first, rest) = text.split_once('\n')?;
    let language = first[ticks..].trim();
    let fence = &text[..ticks];
    let inner = if rest == fence {
        ""
    } else {
        rest.strip_suffix(fence)?.strip_suffix('\n')?
    };
    if language.contains('`') || inner.lines().any(|line| line.starts_with(fence)) {
        return None;
    }
    Some(match language {
        "console" | "sh" | "bash" | "shell" => readable(inner).into_owned(),
        _ => inner.to_owned(),
    })
}

/// The number that stands between `before` and `after` in the last line of `text`, and the text without that line.
pub(super) fn last_line_number<'t>(text: &'t str, before: &str, after: &str) -> Option<(&'t str, i64)> {
    let text = text.trim_end();
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    let number = text[start..].strip_prefix(before)?.strip_suffix(after)?;
    Some((text[..start].trim_end(), number.trim().parse().ok()?))
}

/// The number that stands between `before` and `after` in the first line of `text`, and the text without that line.
pub(super) fn first_line_number<'t>(text: &'t str, before: &str, after: &str) -> Option<(&'t str, i64)> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let number = first.trim_end().strip_prefix(before)?.strip_suffix(after)?;
    Some((rest, number.trim().parse().ok()?))
}

/// What stands between two marks.
pub(super) fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let start = text.find(before)? + before.len();
    let end = text[start..].find(after)? + start;
    Some(&text[start..end])
}

/// The words in a text that is JSON: its `message`, or that of its `error`, or `error` itself.
pub(super) fn words_in_json(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    let paths: [&[&str]; 4] = [&["error", "message"], &["message"], &["error"], &["detail"]];
    let words = paths
        .iter()
        .find_map(|p| value::path(raw, p).and_then(value::text))?;
    // Some providers wrap the answer of another as a text once more.
    let inner = words_in_json(&words);
    Some(inner.unwrap_or_else(|| words.into_owned())).filter(|w| !w.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_taken_off_only_if_it_is_all() {
        assert_eq!(unfenced("```\na\nb\n```").as_deref(), Some("a\nb"));
        assert_eq!(
            unfenced("```console\n\u{1b}[31mred\u{1b}[0m\n```").as_deref(),
            Some("red")
        );
        assert_eq!(unfenced("````\n```\n````").as_deref(), Some("```"));
        assert_eq!(unfenced("```\n```").as_deref(), Some(""));
        assert_eq!(unfenced("```\na\n```\nand more"), None);
        assert_eq!(unfenced("```\na\n```\n```\nb\n```"), None);
        assert_eq!(unfenced("plain"), None);
    }

    #[test]
    fn a_fence_has_three_ticks_and_a_plain_language() {
        assert_eq!(unfenced("``\na\n``"), None);
        assert_eq!(unfenced("```a`b\nx\n```"), None);
        assert_eq!(unfenced("```rust\na\n```\n\n").as_deref(), Some("a"));
        assert_eq!(unfenced("```\na```"), None, "the fence ends on a line of its own");
        for shell in ["console", "sh", "bash", "shell"] {
            let printed = format!("```{shell}\n\u{1b}[31mred\u{1b}[0m\n```");
            assert_eq!(unfenced(&printed).as_deref(), Some("red"), "{shell}");
        }
        let other = "```text\n\u{1b}[31mred\n```";
        assert_eq!(unfenced(other).as_deref(), Some("\u{1b}[31mred"));
    }

    #[test]
    fn a_name_is_one_word() {
        for word in ["a", "read_file", "mcp:tool-1.2", &"x".repeat(128)] {
            assert!(is_word(word), "{word}");
        }
        for other in ["", "two words", "a/b", &"x".repeat(129)] {
            assert!(!is_word(other), "{other}");
        }
        assert_eq!(name_before_json("run: {\"a\":"), Some("run"));
        assert_eq!(name_before_json("run: [1"), Some("run"));
        assert_eq!(name_before_json("run: it"), None);
        assert_eq!(name_before_json("run it: {"), None);
    }

    #[test]
    fn a_number_is_read_from_its_own_line_only() {
        let last = |text| last_line_number(text, "Exit code: ", ".");
        assert_eq!(last("out\n\nExit code: 3.\n"), Some(("out", 3)));
        assert_eq!(last("Exit code: 3."), Some(("", 3)));
        assert_eq!(last("out Exit code: 3."), None);
        assert_eq!(last("Exit code: 3.\nout"), None);
        assert_eq!(last("Exit code: x."), None);
        let first = |text| first_line_number(text, "[exit ", "]");
        assert_eq!(first("[exit -1]\nout\n"), Some(("out\n", -1)));
        assert_eq!(first("[exit 1]"), Some(("", 1)));
        assert_eq!(first("out\n[exit 1]"), None);
        assert_eq!(between("a <b>c</b> <b>d</b>", "<b>", "</b>"), Some("c"));
        assert_eq!(between("</b> <b>c", "<b>", "</b>"), None);
    }

    #[test]
    fn words_are_found_in_json_in_json() {
        assert_eq!(
            words_in_json(r#"{"error":{"code":500,"message":"broken"}}"#).as_deref(),
            Some("broken")
        );
        assert_eq!(
            words_in_json(r#"{"error":{"message":"{\"message\":\"deep\"}"}}"#).as_deref(),
            Some("deep")
        );
        for member in ["message", "error", "detail"] {
            let text = format!(" {{\"{member}\":\"said\"}}");
            assert_eq!(words_in_json(&text).as_deref(), Some("said"), "{member}");
        }
        assert_eq!(words_in_json(r#"{"message":" "}"#), None);
        assert_eq!(words_in_json(r#""said""#), None);
        assert_eq!(words_in_json(r#"{"error":{}}"#), None);
        assert_eq!(words_in_json("plain"), None);
    }
}

//! Unified patches from the old and the new text of a file.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff as Lines, InternedInput, UnifiedDiffConfig};

use crate::content::Diff;
use crate::word::{Effect, FileChange};

/// Longest old and new text together that is compared line by line, in bytes; a longer pair becomes a patch that
/// replaces the whole file.
pub const COMPARED_BYTES: usize = 4 << 20;

/// The change from `old` (nothing: the file is new) to `new` (nothing: the file goes).
pub fn diff(path: &str, old: Option<&str>, new: Option<&str>) -> Diff {
    let change = match (old, new) {
        (None, _) => FileChange::Add,
        (Some(_), None) => FileChange::Delete,
        (Some(_), Some(_)) => FileChange::Modify,
    };
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let (patch, added, removed) =
        if old.is_empty() || new.is_empty() || old.len() + new.len() > COMPARED_BYTES {
            replace(old, new)
        } else {
            compare(old, new)
        };
    Diff {
        path: path.to_owned(),
        old_path: None,
        change,
        effect: Effect::Proposed,
        patch,
        added,
        removed,
    }
}

fn compare(old: &str, new: &str) -> (String, u64, u64) {
    let input = InternedInput::new(old, new);
    let mut lines = Lines::compute(Algorithm::Histogram, &input);
    lines.postprocess_lines(&input);
    let patch = lines
        .unified_diff(
            &BasicLineDiffPrinter(&input.interner),
            UnifiedDiffConfig::default(),
            &input,
        )
        .to_string();
    (
        mark_missing_ends(patch, old, new),
        u64::from(lines.count_additions()),
        u64::from(lines.count_removals()),
    )
}

/// A whole-file replacement with correct counts.
fn replace(old: &str, new: &str) -> (String, u64, u64) {
    let (removed, added) = (
        old.split_inclusive('\n').count(),
        new.split_inclusive('\n').count(),
    );
    let mut patch = String::with_capacity(old.len() + new.len() + removed + added + 64);
    let range = |n: usize| {
        if n == 0 {
            "0,0".to_owned()
        } else {
            format!("1,{n}")
        }
    };
    if removed + added > 0 {
        patch.push_str(&format!("@@ -{} +{} @@\n", range(removed), range(added)));
    }
    for (sign, text) in [('-', old), ('+', new)] {
        for line in text.split_inclusive('\n') {
            patch.push(sign);
            patch.push_str(line);
            if !line.ends_with('\n') {
                patch.push_str(NO_END);
            }
        }
    }
    (patch, added as u64, removed as u64)
}

const NO_END: &str = "\n\\ No newline at end of file\n";

/// The printer ends each line with a line feed; a last line that has none is marked as patches mark it.
fn mark_missing_ends(patch: String, old: &str, new: &str) -> String {
    let (old_open, new_open) = (!old.ends_with('\n'), !new.ends_with('\n'));
    if !old_open && !new_open {
        return patch;
    }
    let (old_lines, new_lines) = (
        old.split_inclusive('\n').count(),
        new.split_inclusive('\n').count(),
    );
    let (mut at_old, mut at_new) = (0, 0);
    let mut out = String::with_capacity(patch.len() + 64);
    for line in patch.split_inclusive('\n') {
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push('\n');
        }
        let (in_old, in_new) = match line.as_bytes().first() {
            Some(b'@') => {
                (at_old, at_new) = hunk_start(line);
                continue;
            }
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            _ => (true, true),
        };
        at_old += usize::from(in_old);
        at_new += usize::from(in_new);
        let ends_old = in_old && old_open && at_old == old_lines;
        let ends_new = in_new && new_open && at_new == new_lines;
        if ends_old || ends_new {
            out.push_str(&NO_END[1..]);
        }
    }
    out
}

/// How many lines stand before a hunk, in the old and in the new text.
fn hunk_start(header: &str) -> (usize, usize) {
    let number = |sign: char| {
        let part = header.split_whitespace().find_map(|w| w.strip_prefix(sign))?;
        part.split(',').next()?.parse::<usize>().ok()
    };
    (
        number('-').unwrap_or(1).saturating_sub(1),
        number('+').unwrap_or(1).saturating_sub(1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_context() {
        let d = diff(
            "a",
            Some("1\n2\n3\n4\n5\n6\n7\n8\n"),
            Some("1\n2\n3\n4\nfive\n6\n7\n8\n"),
        );
        assert_eq!((d.added, d.removed, d.change), (1, 1, FileChange::Modify));
        assert_eq!(d.patch, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
    }

    #[test]
    fn a_new_file_and_a_missing_line_end() {
        let d = diff("a", None, Some("x\ny"));
        assert_eq!(d.patch, "@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n");
        let d = diff("a", Some("x"), Some("y\n"));
        assert_eq!(d.patch, "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n");
        assert_eq!(diff("a", Some(""), Some("")).patch, "");
        assert_eq!(diff("a", Some("x\n"), None).change, FileChange::Delete);
    }
}

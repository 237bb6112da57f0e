//! Unified patches from the old and the new text of a file.

use std::ops::Range;

use imara_diff::{Algorithm, Diff as Lines, InternedInput};

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

/// Lines of context around a change.
const CONTEXT: usize = 3;

fn compare(old: &str, new: &str) -> (String, u64, u64) {
    let input = InternedInput::new(old, new);
    let mut lines = Lines::compute(Algorithm::Histogram, &input);
    lines.postprocess_lines(&input);
    let (before, after): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let changes: Vec<Change> = lines.hunks().map(Change::from).collect();
    let mut patch = String::new();
    // The library's own printer misplaces a first hunk that begins in lines 5 to 7, so hunks are written here.
    for hunk in changes.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        write_hunk(&mut patch, hunk, &before, &after);
    }
    (
        patch,
        u64::from(lines.count_additions()),
        u64::from(lines.count_removals()),
    )
}

/// Lines of the old text that lines of the new one take the place of.
struct Change {
    before: Range<usize>,
    after: Range<usize>,
}

impl From<imara_diff::Hunk> for Change {
    fn from(hunk: imara_diff::Hunk) -> Self {
        let range = |r: Range<u32>| r.start as usize..r.end as usize;
        Self {
            before: range(hunk.before),
            after: range(hunk.after),
        }
    }
}

/// Writes changes that stand so close together that their context meets.
fn write_hunk(patch: &mut String, changes: &[Change], before: &[&str], after: &[&str]) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return;
    };
    let from = first.before.start.saturating_sub(CONTEXT);
    let to = (last.before.end + CONTEXT).min(before.len());
    let after_from = first.after.start - (first.before.start - from);
    let after_to = last.after.end + (to - last.before.end);
    patch.push_str(&format!(
        "@@ -{} +{} @@\n",
        place(from, to - from),
        place(after_from, after_to - after_from)
    ));
    let mut at = from;
    for change in changes {
        write_lines(patch, ' ', &before[at..change.before.start]);
        write_lines(patch, '-', &before[change.before.clone()]);
        write_lines(patch, '+', &after[change.after.clone()]);
        at = change.before.end;
    }
    write_lines(patch, ' ', &before[at..to]);
}

/// Where a hunk stands in a text: its first line, from 1, and how many lines it has where that is not one.
fn place(from: usize, lines: usize) -> String {
    match lines {
        0 => format!("{from},0"),
        1 => format!("{}", from + 1),
        _ => format!("{},{lines}", from + 1),
    }
}

fn write_lines(patch: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        patch.push(sign);
        patch.push_str(line);
        if !line.ends_with('\n') {
            patch.push_str(NO_END);
        }
    }
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
            write_lines(&mut patch, sign, &[line]);
        }
    }
    (patch, added as u64, removed as u64)
}

const NO_END: &str = "\n\\ No newline at end of file\n";

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
    fn changes_whose_context_meets_are_one_hunk_and_others_are_not() {
        let old: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let new = old
            .replace("\n10\n", "\nten\n")
            .replace("\n16\n", "\n")
            .replace("\n30\n", "\n30\nmore\n");
        let patch = diff("a", Some(&old), Some(&new)).patch;
        let heads: Vec<&str> = patch.lines().filter(|l| l.starts_with('@')).collect();
        assert_eq!(heads, ["@@ -7,13 +7,12 @@", "@@ -28,6 +27,7 @@"]);
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

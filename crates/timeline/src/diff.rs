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

fn compare(old: &str, new: &str) -> (String, u64, u64) {
    let input = InternedInput::new(old, new);
    let mut lines = Lines::compute(Algorithm::Histogram, &input);
    lines.postprocess_lines(&input);
    let patch = unified(
        old,
        new,
        lines.hunks().map(|h| Change {
            old: span(&h.before),
            new: span(&h.after),
        }),
    );
    (
        patch,
        u64::from(lines.count_additions()),
        u64::from(lines.count_removals()),
    )
}

/// Lines that differ, by their numbers from 0.
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

fn span(lines: &Range<u32>) -> Range<usize> {
    lines.start as usize..lines.end as usize
}

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Writes changes as a unified patch. (The printer that comes with the library shows too much context before a change
/// near the top, under numbers that do not fit it, and knows no mark for a missing line end.)
fn unified(old: &str, new: &str, changes: impl Iterator<Item = Change>) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let mut patch = String::new();
    let mut hunk: Vec<Change> = Vec::new();
    for change in changes {
        // Changes whose context would touch stand in one hunk.
        if hunk
            .last()
            .is_some_and(|last| change.old.start - last.old.end > 2 * CONTEXT)
        {
            write_hunk(&mut patch, &old, &new, &hunk);
            hunk.clear();
        }
        hunk.push(change);
    }
    write_hunk(&mut patch, &old, &new, &hunk);
    patch
}

fn write_hunk(patch: &mut String, old: &[&str], new: &[&str], hunk: &[Change]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return;
    };
    let before = CONTEXT.min(first.old.start);
    let after = CONTEXT.min(old.len() - last.old.end);
    let range = |start: usize, end: usize| match end - start {
        // A side without lines is named by the line before it.
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    };
    patch.push_str(&format!(
        "@@ -{} +{} @@\n",
        range(first.old.start - before, last.old.end + after),
        range(first.new.start - before, last.new.end + after)
    ));
    let mut at = first.old.start - before;
    for change in hunk {
        write_lines(patch, ' ', &old[at..change.old.start]);
        write_lines(patch, '-', &old[change.old.clone()]);
        write_lines(patch, '+', &new[change.new.clone()]);
        at = change.old.end;
    }
    write_lines(patch, ' ', &old[at..last.old.end + after]);
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

    #[test]
    fn changes_far_apart_stand_in_hunks_of_their_own() {
        let old: String = (1..=30).map(|n| format!("{n}\n")).collect();
        let new = old
            .replace("\n2\n", "\ntwo\n")
            .replace("\n9\n", "\nnine\n")
            .replace("\n25\n", "\n");
        let patch = diff("a", Some(&old), Some(&new)).patch;
        let headers: Vec<&str> = patch.lines().filter(|l| l.starts_with('@')).collect();
        assert_eq!(headers, ["@@ -1,12 +1,12 @@", "@@ -22,7 +22,6 @@"]);
    }

    /// Applies a patch by its numbers alone.
    fn apply(patch: &str, old: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut at, mut out, mut is_new) = (0, String::new(), false);
        for line in patch.split_inclusive('\n') {
            if let Some(header) = line.strip_prefix("@@ -") {
                let range = header.split(' ').next().unwrap();
                let mut numbers = range.split(',').map(|n| n.parse::<usize>().unwrap());
                let (start, count) = (numbers.next().unwrap(), numbers.next().unwrap_or(1));
                let start = if count == 0 { start } else { start - 1 };
                out.extend(old[at..start].iter().copied());
                at = start;
            } else if line.starts_with('\\') {
                // It speaks of the line before.
                out.truncate(out.len() - usize::from(is_new && out.ends_with('\n')));
            } else {
                let is_old = !line.starts_with('+');
                is_new = !line.starts_with('-');
                if is_old {
                    assert_eq!(old[at].trim_end_matches('\n'), line[1..].trim_end_matches('\n'));
                    at += 1;
                }
                if is_new {
                    out.push_str(&line[1..]);
                }
            }
        }
        out.extend(old[at..].iter().copied());
        out
    }

    #[test]
    fn a_patch_applied_to_the_old_text_gives_the_new() {
        let mut seed = 7_u64;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..2000 {
            let lines = next(40) + 1;
            let old: String = (0..lines).map(|_| format!("{}\n", next(9))).collect();
            let mut new: Vec<String> = old.lines().map(|l| format!("{l}\n")).collect();
            for _ in 0..=next(4) {
                let at = next(new.len() as u64 + 1) as usize;
                match next(3) {
                    0 => new.insert(at, "new\n".to_owned()),
                    _ if at < new.len() => new[at] = "changed\n".to_owned(),
                    _ => drop(new.pop()),
                }
            }
            let (mut old, mut new) = (old, new.concat());
            if next(4) == 0 {
                old.pop();
            }
            if next(4) == 0 {
                new.pop();
            }
            let patch = diff("a", Some(&old), Some(&new)).patch;
            assert_eq!(apply(&patch, &old), new, "{old:?} to {new:?} by\n{patch}");
        }
    }
}

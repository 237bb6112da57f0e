//! `docs/rules.md` names every test of the rules, and no test that is not there.

use std::collections::BTreeSet;
use std::path::Path;

/// Names of the tests in a folder's files.
fn tests(folder: &Path, out: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of tests") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file of tests");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.trim() == "#[test]"
                && let Some(name) = lines.next().and_then(|l| l.trim().strip_prefix("fn "))
            {
                out.insert(name.split('(').next().unwrap_or_default().to_owned());
            }
        }
    }
}

#[test]
fn rules_and_tests_name_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut tests_there = BTreeSet::new();
    for folder in ["crates/timeline/tests/rules", "crates/recorder/tests/rules"] {
        tests(&root.join(folder), &mut tests_there);
    }
    tests_there.remove("rules_and_tests_name_each_other");
    let document = std::fs::read_to_string(root.join("docs/rules.md")).expect("docs/rules.md");
    let named: BTreeSet<String> = document
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| {
            word.matches('_').count() >= 2
                && word
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        })
        .map(str::to_owned)
        .collect();
    let unnamed: Vec<&String> = tests_there.difference(&named).collect();
    assert!(
        unnamed.is_empty(),
        "tests that docs/rules.md does not name: {unnamed:?}"
    );
    let ids = std::fs::read_to_string(root.join("crates/timeline/src/id.rs")).expect("id.rs");
    let missing: Vec<&String> = named
        .difference(&tests_there)
        .filter(|name| !ids.contains(&format!("fn {name}(")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/rules.md names what is no test: {missing:?}"
    );
}

//! `docs/rules/driving.md` names no test that is not there, and every test of the files that it covers.

use std::collections::BTreeSet;
use std::path::Path;

/// The files whose every test must be named.
const COVERED: [&str; 20] = [
    "answers", "cc", "chat", "cm", "cn", "cp", "cr", "kill", "ra", "rb", "rd", "rf", "rk", "rl", "rq", "rs",
    "ru", "trouble", "waiting", "zoo",
];

/// The names of the tests in a text of Rust.
fn tests(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split("#[test]").skip(1).filter_map(|after| {
        let name = after.split_once("fn ")?.1;
        Some(name.split('(').next()?.to_owned())
    })
}

#[test]
fn driving_md_names_the_tests_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(root.join("../../docs/rules/driving.md")).expect("driving.md");
    // A test is named in a row of a table, between back quotes, with no dot, slash or space in it.
    let named: BTreeSet<String> = document
        .lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|name| {
            name.contains('_')
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        })
        .map(str::to_owned)
        .collect();
    let mut known = BTreeSet::new();
    let mut covered = BTreeSet::new();
    let folders = ["tests/host", "src/host"].map(|folder| root.join(folder));
    for file in folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("a folder"))
    {
        let path = file.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let in_tests = path.parent().is_some_and(|parent| parent.ends_with("tests/host"));
        for name in tests(&text) {
            if in_tests && COVERED.contains(&stem) {
                covered.insert(name.clone());
            }
            known.insert(name);
        }
    }
    let missing: Vec<_> = named.difference(&known).collect();
    assert!(
        missing.is_empty(),
        "driving.md names what is no test: {missing:?}"
    );
    let unnamed: Vec<_> = covered.difference(&named).collect();
    assert!(
        unnamed.is_empty(),
        "tests that driving.md does not name: {unnamed:?}"
    );
}

//! FP-1: what stands in our fixtures tells of no person and of no machine, however it is wrapped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use tapline_redact::{Finding, Found, Kind, Rules};

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of fixtures") {
        let path = entry.expect("a fixture").path();
        if path.is_dir() {
            files(&path, all);
        } else {
            all.push(path);
        }
    }
}

/// Whether it stands in the place of what was there, or was made up for a case.
fn is_made_up(finding: &Finding, file: &Path) -> bool {
    let text = finding.text.as_str();
    match finding.found {
        Found::HostName => matches!(text, "host" | "a.local" | "a.internal"),
        // The second is a word of Google's protocol; the files named hold what was signed with a key made for them.
        Found::Signature => {
            text.starts_with("FAKE-SIGNATURE-")
                || text == "skip_thought_signature_validator"
                || file.ends_with("ui-to-prompt/approval-signatures.json")
        }
        // A private member is found by its name, and what it holds is judged above.
        Found::Secret(Kind::Private) => true,
        Found::Secret(_) => text.starts_with("not-a-real-") || text == "sécret",
        _ => false,
    }
}

fn told(rules: &Rules, file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a fixture is text");
    let findings = text.lines().flat_map(|line| rules.scan(line));
    findings
        .filter(|finding| !is_made_up(finding, file))
        .map(|finding| format!("{}: {finding}", file.display()))
        .collect()
}

#[test]
fn fp_1_no_fixture_tells_of_a_person_or_a_machine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut all = Vec::new();
    files(&root, &mut all);
    assert!(all.len() > 500, "{} fixtures", all.len());
    let (rules, left, told_all) = (Rules::new(), Mutex::new(all), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(file) = { left.lock().unwrap().pop() } {
                    let found = told(&rules, &file);
                    told_all.lock().unwrap().extend(found);
                }
            });
        }
    });
    let told_all = told_all.into_inner().unwrap();
    assert!(told_all.is_empty(), "{}", told_all.join("\n"));
}

#[test]
fn fp_1_what_is_planted_in_a_fixture_is_found() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings");
    let mut all = Vec::new();
    files(&root, &mut all);
    all.sort();
    let file = all
        .iter()
        .find(|f| f.extension().is_some_and(|e| e == "jsonl"))
        .unwrap();
    let text = fs::read_to_string(file).expect("a fixture is text");
    let line = text.lines().find(|line| line.contains("\"cwd\"")).unwrap();
    let planted = line.replacen("\"cwd\"", "\"was\":\"/home/jdoe/secret-project\",\"cwd\"", 1);
    let rules = Rules::new();
    let found: Vec<Found> = rules.scan(&planted).iter().map(|f| f.found).collect();
    assert!(found.contains(&Found::HomeFolder), "{found:?}");
}

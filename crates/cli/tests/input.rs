//! What the commands say of inputs that are not what they should be: a clear sentence, a documented exit code, no panic.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn tapline(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
    command.args(arguments).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn fixture(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    root.join(name).to_string_lossy().into_owned()
}

fn fed(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = tapline(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tapline starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The command may stop reading before the end.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("tapline ends");
    writer.join().expect("written");
    output
}

fn says(output: &Output, code: i32, words: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    for word in words {
        assert!(error.contains(word), "{word:?} is not in {error:?}");
    }
    assert!(!error.contains("panicked"), "{error}");
    assert!(error.lines().count() <= 2, "one sentence: {error}");
}

const HELLO: &str = r#"{"dir":"out","msg":{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"Hi"}]}}}
{"dir":"in","msg":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello there."}}}}}
{"dir":"in","msg":{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}}
"#;

#[test]
fn what_is_no_recording_is_said_to_be_none() {
    for command in ["translate", "show", "explain"] {
        let output = fed(&[command, "-"], b"%PDF-1.4 and so on\nnothing of use\n");
        says(&output, 65, &["standard input", "no recording", "line 1"]);
    }
}

#[test]
fn an_empty_file_holds_nothing() {
    says(&fed(&["translate"], b""), 65, &["holds no recorded traffic"]);
    says(&fed(&["show"], b"\n\n"), 65, &["holds no recorded traffic"]);
    says(
        &fed(&["translate"], b"{\"agent\":\"generic\"}\n"),
        65,
        &["holds no recorded traffic"],
    );
}

#[test]
fn a_truncated_last_line_costs_that_line_alone() {
    let whole = fed(&["translate"], HELLO.as_bytes());
    assert!(whole.status.success());
    let mut cut = HELLO.as_bytes().to_vec();
    cut.extend_from_slice(br#"{"dir":"in","msg":{"jsonrpc":"2.0","met"#);
    let output = fed(&["translate"], &cut);
    says(
        &output,
        65,
        &[
            "line 4",
            "the file ends in the middle of it",
            "Everything else was read",
        ],
    );
    assert_eq!(output.stdout, whole.stdout);
}

#[test]
fn a_line_of_a_hundred_megabytes_is_left_out_and_told() {
    let mut input = HELLO.lines().take(2).collect::<Vec<_>>().join("\n").into_bytes();
    input.extend_from_slice(b"\n{\"dir\":\"in\",\"msg\":{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"text\":\"");
    input.resize(input.len() + (100 << 20), b'x');
    input.extend_from_slice(b"\"}}}}\n");
    input.extend_from_slice(HELLO.lines().last().expect("a line").as_bytes());
    let output = fed(&["translate"], &input);
    says(&output, 65, &["too long to read"]);
    let rows = String::from_utf8(output.stdout).expect("text");
    assert!(
        rows.contains("Hello there."),
        "what is around it is there: {rows}"
    );
    assert!(
        rows.contains("too long to read and is missing here"),
        "the timeline says so: {rows}"
    );
    assert!(rows.contains(r#""end":"completed""#), "{rows}");
}

#[test]
fn invalid_utf_8_costs_the_bytes_alone() {
    let mut input = HELLO.as_bytes().to_vec();
    let at = HELLO.find("there").expect("the word");
    input[at] = 0xff;
    let output = fed(&["translate"], &input);
    assert!(output.status.success());
    assert!(
        String::from_utf8(output.stdout)
            .expect("text")
            .contains("Hello \u{fffd}here.")
    );
}

#[test]
fn a_folder_and_a_missing_file_are_named() {
    let folder = fixture("recordings");
    says(
        &tapline(&["translate", &folder]).output().expect("runs"),
        66,
        &["is a folder", &folder],
    );
    says(
        &tapline(&["show", "./no-such.jsonl"]).output().expect("runs"),
        66,
        &["does not exist", "no-such.jsonl"],
    );
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("secret.jsonl");
    std::fs::write(&path, HELLO).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).expect("changed");
    if std::fs::File::open(&path).is_ok() {
        eprintln!("skipped: this account may read every file, so no permission can be missing");
        return;
    }
    says(
        &tapline(&["translate", &path.to_string_lossy()])
            .output()
            .expect("runs"),
        66,
        &["may not be read by you"],
    );
}

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let recording = fixture("recordings/claude/s9g-shell-big.jsonl");
    for command in [
        vec!["translate", &recording],
        vec!["show", &recording, "--full", "--no-pager"],
        vec!["explain", &recording],
    ] {
        let mut child = tapline(&command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut some = [0; 64];
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut some).expect("some output");
        drop(stdout);
        let output = child.wait_with_output().expect("ends");
        let error = String::from_utf8_lossy(&output.stderr);
        // What was written before the reader left may have been all.
        assert!(
            matches!(output.status.code(), Some(0 | 141)),
            "{command:?}: {:?} {error}",
            output.status
        );
        assert!(error.is_empty(), "{error}");
    }
}

#[test]
fn the_same_file_gives_the_same_bytes_also_from_standard_input() {
    for name in [
        "recordings/claude/s14-subagent.jsonl",
        "recordings/grok/background-complete.jsonl",
        "cases/B043-utf8-split-and-invalid.jsonl",
    ] {
        let path = fixture(name);
        let once = tapline(&["translate", &path]).output().expect("runs").stdout;
        let again = tapline(&["translate", &path]).output().expect("runs").stdout;
        let piped = fed(&["translate", "-"], &std::fs::read(&path).expect("read")).stdout;
        assert!(!once.is_empty());
        assert_eq!(once, again);
        assert_eq!(once, piped);
    }
}

#[test]
fn show_has_no_escape_code_without_colour_and_json_is_the_timeline() {
    let path = fixture("recordings/codex/s3-tools-allow.jsonl");
    let plain = tapline(&["show", &path]).output().expect("runs").stdout;
    assert!(!plain.contains(&0x1b));
    let coloured = tapline(&["show", &path, "--color", "always"])
        .output()
        .expect("runs")
        .stdout;
    assert!(coloured.contains(&0x1b));
    let json = tapline(&["show", &path, "--json"]).output().expect("runs").stdout;
    assert_eq!(
        json,
        tapline(&["translate", &path]).output().expect("runs").stdout
    );
}

#[test]
fn explain_accounts_for_every_input_and_finds_a_row() {
    let path = fixture("cases/B053-same-failure-many-roads.jsonl");
    let all = tapline(&["explain", &path, "--json"])
        .output()
        .expect("runs")
        .stdout;
    let entries: Vec<serde_json::Value> = all
        .split(|b| *b == b'\n')
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_slice(l).expect("JSON"))
        .collect();
    assert!(entries.len() > 10);
    for entry in &entries {
        let told = ["rows", "state", "dropped"]
            .iter()
            .any(|m| entry.get(m).is_some());
        assert!(told, "input {} became nothing", entry["input"]);
    }
    let row = entries
        .iter()
        .find_map(|e| e["rows"][0]["row"].as_str())
        .expect("a row");
    let one = tapline(&["explain", &path, row]).output().expect("runs");
    assert!(one.status.success());
    says(
        &tapline(&["explain", &path, "no-such-row"])
            .output()
            .expect("runs"),
        1,
        &["no row has the id no-such-row"],
    );
}

#[test]
fn every_command_has_help_completions_and_a_man_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let man = folder.path().to_string_lossy().into_owned();
    assert!(tapline(&["man", &man]).status().expect("runs").success());
    assert!(folder.path().join("tapline.1").exists());
    for shell in ["bash", "zsh", "fish"] {
        let output = tapline(&["completions", shell]).output().expect("runs");
        assert!(String::from_utf8_lossy(&output.stdout).contains("translate"));
    }
    let help = tapline(&["help"]).output().expect("runs").stdout;
    assert!(String::from_utf8_lossy(&help).contains("Exit codes"));
}

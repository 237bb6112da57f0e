//! `tapline config`, and commands that follow it, by the real program.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn command(home: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
    command
        .env_clear()
        .env("HOME", home.path())
        .env("XDG_CONFIG_HOME", home.path().join("conf"))
        .args(arguments);
    command
}

fn run(home: &TempDir, arguments: &[&str]) -> Output {
    command(home, arguments).output().expect("tapline runs")
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", errors(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The configuration's file, as the program itself names it.
fn file(home: &TempDir) -> PathBuf {
    PathBuf::from(text(run(home, &["config", "path"])).trim_end())
}

fn write(home: &TempDir, words: &str) -> PathBuf {
    let path = file(home);
    std::fs::create_dir_all(path.parent().expect("a folder above")).expect("is made");
    std::fs::write(&path, words).expect("is written");
    path
}

fn setting(lines: &str, key: &str) -> Value {
    lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|object| object["key"] == key)
        .unwrap_or_else(|| panic!("{key} is shown"))
}

#[test]
fn each_value_is_shown_with_where_it_came_from() {
    let home = home();
    let path = write(
        &home,
        "policy = \"deny\"\n[limits]\nload_seconds = 9\nstop_seconds = 2\n[[permissions.rules]]\nkind = \"edit\"\n",
    );
    let shown = |arguments: &[&str]| {
        let mut command = command(&home, arguments);
        text(command.env("TAPLINE_LIMITS_LOAD_SECONDS", "10").output().unwrap())
    };
    let words = shown(&["config", "--set", "limits.stop_seconds=3"]);
    for part in [
        &format!("File: {}", path.display()),
        &format!("policy = \"deny\"  ({}:1)", path.display()),
        "limits.load_seconds = 10  (variable TAPLINE_LIMITS_LOAD_SECONDS)",
        "limits.stop_seconds = 3  (flag --set)",
        "agent = not set  (default)",
        "What an agent may do when it asks",
        &format!("permissions: 1 rules  ({}:5)", path.display()),
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }

    let lines = shown(&["config", "--json", "--set", "limits.stop_seconds=3"]);
    let policy = setting(&lines, "policy");
    assert_eq!(
        (&policy["value"], &policy["from"], &policy["line"]),
        (&"deny".into(), &"file".into(), &1.into())
    );
    assert_eq!(policy["file"], &*path.to_string_lossy());
    assert_eq!(setting(&lines, "limits.load_seconds")["from"], "variable");
    assert_eq!(
        setting(&lines, "limits.load_seconds")["name"],
        "TAPLINE_LIMITS_LOAD_SECONDS"
    );
    assert_eq!(setting(&lines, "limits.stop_seconds")["from"], "flag");
    assert_eq!(setting(&lines, "color")["from"], "default");
    assert_eq!(
        setting(&lines, "permissions")["value"]["rules"][0]["kind"],
        "edit"
    );
}

#[test]
fn init_writes_an_example_for_its_owner_alone_and_never_over_something() {
    let home = home();
    let path = file(&home);
    assert!(!path.exists());
    assert!(text(run(&home, &["config"])).contains("(not there; `tapline config init` writes an example)"));
    assert!(text(run(&home, &["config", "init"])).contains("written"));
    let example = std::fs::read_to_string(&path).unwrap();
    assert!(example.contains("#policy = \"ask\""));
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        setting(&text(run(&home, &["config", "--json"])), "policy")["from"],
        "default"
    );

    std::fs::write(&path, "policy = \"deny\"\n").unwrap();
    let output = run(&home, &["config", "init"]);
    assert_eq!(output.status.code(), Some(74));
    assert!(errors(&output).contains("is there already and was left as it is"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "policy = \"deny\"\n");
}

#[test]
fn a_variable_names_another_file_which_must_be_there() {
    let home = home();
    write(&home, "policy = \"deny\"\n");
    let other = home.path().join("other.toml");
    let with = |arguments: &[&str]| {
        command(&home, arguments)
            .env("TAPLINE_CONFIG", &other)
            .output()
            .unwrap()
    };
    assert_eq!(
        text(with(&["config", "path"])).trim_end(),
        other.to_string_lossy()
    );
    let output = with(&["config"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(
        errors(&output).contains("other.toml cannot be read"),
        "{}",
        errors(&output)
    );
    text(with(&["config", "init"]));
    assert_eq!(
        setting(&text(with(&["config", "--json"])), "policy")["value"],
        "ask"
    );
}

#[test]
fn faults_are_told_all_at_once_with_file_line_and_key() {
    let home = home();
    let path = write(&home, "polcy = \"ask\"\n[limits]\nload_seconds = \"9\"\n");
    let output = run(&home, &["config", "--set", "color=blue"]);
    assert_eq!(output.status.code(), Some(78));
    let said = errors(&output);
    assert!(
        said.contains(&format!(
            "{}:1: `polcy` is not known; did you mean `policy`?",
            path.display()
        )),
        "{said}"
    );
    assert!(
        said.contains(&format!(
            "{}:3: `limits.load_seconds` must be a number",
            path.display()
        )),
        "{said}"
    );
    assert!(
        said.contains("flag --set: `color` must be one of `auto`, `always`, `never`, but is `blue`"),
        "{said}"
    );
    let output = run(&home, &["config", "--set", "color"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn show_follows_colour_and_fold_and_its_flags_go_before_them() {
    let home = home();
    let recording =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings/codex/s3-tools-allow.jsonl");
    let recording = recording.to_string_lossy();
    let show = |arguments: &[&str]| text(run(&home, &[&["show", &recording], arguments].concat()));
    let plain = show(&[]);
    assert!(!plain.contains('\u{1b}'));
    let brief = show(&["--brief"]);
    assert_ne!(brief, plain);

    write(&home, "color = \"always\"\n[chat]\nfold = \"brief\"\n");
    assert!(show(&[]).contains('\u{1b}'));
    assert_eq!(show(&["--color", "never"]), brief);
    assert_eq!(
        show(&["--color", "auto", "--full"]),
        text(run(&home, &["show", &recording, "--full", "--color", "never"]))
    );
}

#[test]
fn a_broken_configuration_does_not_harm_wrap() {
    let home = home();
    write(&home, "this is no TOML\n");
    let own = env!("CARGO_BIN_EXE_tapline");
    let output = command(&home, &["wrap", "--", own, "schema"])
        .env("TAPLINE_HOME", home.path().join("data"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(output.stdout, run(&home, &["schema"]).stdout);
    assert_eq!(run(&home, &["config"]).status.code(), Some(78));
}

//! What a person meets who types commands: pipes and half files, empty words, narrow terminals, a reader that goes away.
#![cfg(unix)]

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use common::{fixture, run, tapline, text};
use serde_json::{Value, json};
use tapline_journal::{Begin, Home, Journal as _, Mode, Owner, SqliteJournal, WriterOptions};
use tapline_timeline::{Append, Change, Grows, Row, RowId, SessionId, Time};

const ALLOW: &str = "recordings/codex/s3-tools-allow.jsonl";
const TODO: &str = "recordings/codex/s8-todo.jsonl";

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn path(name: &str) -> String {
    fixture(name).to_string_lossy().into_owned()
}

/// What was said on standard error.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

/// A command that is given this on standard input.
fn fed(home: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = tapline(home, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tapline runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("it is taken");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn lines(output: &Output) -> Vec<Value> {
    let json = |line: &str| serde_json::from_str(line).expect("JSON");
    text(output).lines().map(json).collect()
}

// --- import ---

#[test]
fn an_import_reads_a_pipe_and_knows_it_again() {
    let home = home();
    let recording = std::fs::read(fixture(ALLOW)).expect("a recording");
    let piped = fed(home.path(), &["import", "-"], &recording);
    assert!(
        text(&piped).starts_with("standard input: 24 inputs, session "),
        "{piped:?}"
    );
    let again = fed(home.path(), &["import", "-"], &recording);
    assert!(text(&again).contains("is in the journal already"), "{again:?}");
    let file = run(home.path(), &["import", &path(ALLOW)]);
    assert!(text(&file).contains("is in the journal already"), "{file:?}");
    // A pipe by another name, as a shell makes it of `<(…)`.
    let other = std::fs::read(fixture(TODO)).expect("a recording");
    let piped = fed(home.path(), &["import", "/dev/stdin"], &other);
    assert!(text(&piped).contains("20 inputs"), "{piped:?}");
    assert_eq!(lines(&run(home.path(), &["list", "--json"])).len(), 2);
    text(&run(home.path(), &["verify"]));
}

#[test]
fn an_import_tells_each_fault_once_and_ends_with_the_code_of_the_first() {
    let home = home();
    let missing = run(home.path(), &["import", "nothing.jsonl"]);
    assert_eq!(
        (code(&missing), said(&missing).as_str()),
        (66, "tapline: nothing.jsonl: does not exist\n")
    );
    let folder = run(home.path(), &["import", "."]);
    assert_eq!(code(&folder), 66, "{folder:?}");
    assert!(
        said(&folder).contains("is a folder; name the recordings in it"),
        "{folder:?}"
    );

    let half = home.path().join("half.jsonl");
    let whole = std::fs::read_to_string(fixture(TODO)).expect("a recording");
    let lines: Vec<&str> = whole.lines().collect();
    std::fs::write(&half, format!("{}\n{{broken\n", lines[..9].join("\n"))).expect("written");
    let half = half.to_string_lossy();
    let partly = run(home.path(), &["import", &half]);
    assert_eq!(code(&partly), 65, "what could not be read is a fault: {partly:?}");
    assert!(
        String::from_utf8_lossy(&partly.stdout).contains(" inputs, session "),
        "{partly:?}"
    );
    assert!(said(&partly).contains("line 10 is no JSON object"), "{partly:?}");

    let many = run(
        home.path(),
        &["import", "nothing.jsonl", &path(ALLOW), "gone.jsonl"],
    );
    assert_eq!(code(&many), 66);
    assert_eq!(
        said(&many),
        "tapline: nothing.jsonl: does not exist\ntapline: gone.jsonl: does not exist\n\
         tapline: 2 of 3 recordings were not imported whole\n"
    );
    assert!(
        String::from_utf8_lossy(&many.stdout).contains("24 inputs"),
        "one bad file does not keep the others out"
    );
}

// --- list ---

#[test]
fn a_list_names_a_session_without_a_title_by_its_first_prompt_and_says_that_there_are_more() {
    let home = home();
    let empty = run(home.path(), &["list"]);
    assert_eq!(text(&empty), "");
    assert!(said(&empty).contains("has no session yet"), "{empty:?}");
    for name in [ALLOW, TODO, "recordings/claude/s1-basic.jsonl"] {
        text(&run(home.path(), &["import", &path(name)]));
    }
    let all = run(home.path(), &["list"]);
    assert!(
        text(&all).contains("codex-acp  Fix the typo in notes.txt. SCENARIO:read-edit\n"),
        "{all:?}"
    );
    assert_eq!(said(&all), "");
    let two = run(home.path(), &["list", "-n", "2"]);
    assert_eq!(text(&two).lines().count(), 2);
    assert!(said(&two).contains("not all sessions"), "{two:?}");
    assert_eq!(
        said(&run(home.path(), &["list", "-n", "3"])),
        "",
        "three of three are all"
    );
    let json = run(home.path(), &["list", "-n", "2", "--json"]);
    assert_eq!((lines(&json).len(), said(&json).as_str()), (2, ""));
    let none = run(home.path(), &["list", "--status", "live"]);
    assert_eq!(text(&none), "");
    assert!(said(&none).contains("no session is like that"), "{none:?}");
}

#[test]
fn a_list_fits_a_narrow_terminal() {
    let home = home();
    text(&run(
        home.path(),
        &["import", &path("recordings/claude/s1-basic.jsonl"), &path(ALLOW)],
    ));
    for (width, lines) in [(40, 6), (60, 6), (70, 4), (200, 2)] {
        let list = tapline(home.path(), &["list"])
            .env("COLUMNS", width.to_string())
            .output()
            .expect("runs");
        let list = text(&list);
        assert!(list.lines().all(|line| line.chars().count() <= width), "{list}");
        assert_eq!(list.lines().count(), lines, "{width}: {list}");
        assert!(list.contains("Fix the typo"), "{width}: {list}");
    }
}

#[test]
fn times_are_local_for_a_person_and_in_utc_for_a_program() {
    let home = home();
    let own = env!("CARGO_BIN_EXE_tapline");
    text(&run(
        home.path(),
        &[
            "exec",
            "hello",
            "--format",
            "quiet",
            "--",
            own,
            "demo-agent",
            "builtin:echo",
        ],
    ));
    let session = text(&run(home.path(), &["show", "last", "--json"]));
    let at = session
        .split("\"at\":\"")
        .nth(1)
        .expect("a time")
        .get(..16)
        .expect("a moment")
        .to_owned();
    let at = at.replace('T', " ");
    let there = |zone: &str, arguments: &[&str]| {
        let output = tapline(home.path(), arguments)
            .env("TZ", zone)
            .output()
            .expect("runs");
        text(&output)
    };
    assert!(there("UTC0", &["show", "last"]).contains(&at), "{at}");
    // Five hours and a half ahead; the zone is spelled in full, so that no machine's data is asked.
    let ahead = there("XXX-05:30", &["show", "last"]);
    assert!(!ahead.contains(&at), "{ahead}");
    let [utc, far] = ["UTC0", "XXX-05:30"].map(|zone| there(zone, &["list"]));
    let minutes = |list: &str| {
        let clock = list.split_whitespace().nth(2).expect("a time of day").to_owned();
        let (hours, minutes) = clock.split_once(':').expect("hours and minutes");
        60 * hours.parse::<i32>().expect("hours") + minutes.parse::<i32>().expect("minutes")
    };
    assert_eq!(
        (minutes(&far) - minutes(&utc)).rem_euclid(24 * 60),
        330,
        "{utc}{far}"
    );
    assert_eq!(
        there("UTC0", &["list", "--json"]),
        there("XXX-05:30", &["list", "--json"])
    );
}

#[test]
fn colours_are_for_those_who_can_see_them() {
    let home = home();
    let file = path(ALLOW);
    let coloured = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = tapline(home.path(), &["show", &file]);
        command
            .args(arguments)
            .env_remove("NO_COLOR")
            .env("HOME", home.path());
        command.envs(variables.iter().copied());
        text(&command.output().expect("runs")).contains('\u{1b}')
    };
    assert!(!coloured(&[], &[]), "a pipe gets none");
    assert!(coloured(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "0")], &[]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]));
    assert!(coloured(&[("NO_COLOR", "1")], &["--color", "always"]));
    assert!(!coloured(&[], &["--color", "always", "--json"]));
}

// --- show ---

#[test]
fn show_says_what_it_cannot_do_instead_of_doing_less() {
    let home = home();
    for flag in ["--follow", "--last=2"] {
        let output = run(home.path(), &["show", &path(ALLOW), flag]);
        assert_eq!(code(&output), 2, "{output:?}");
        assert!(
            said(&output).contains("are for sessions of the journal"),
            "{output:?}"
        );
    }
    for command in [&["show", ""][..], &["export", ""], &["forget", ""]] {
        let output = run(home.path(), command);
        assert_eq!(code(&output), 2, "{output:?}");
        assert!(said(&output).contains("the session's id is empty"), "{output:?}");
    }
    for command in [
        &["show", "last", "-n", "0"][..],
        &["list", "-n", "0"],
        &["search", "x", "-n", "0"],
        &["watch", "-n", "0"],
    ] {
        let output = run(home.path(), command);
        assert_eq!(code(&output), 2, "{output:?}");
        assert!(said(&output).contains("it must be 1 or more"), "{output:?}");
    }
}

#[test]
fn show_follows_in_json_until_the_session_ends() {
    let home = home();
    text(&run(home.path(), &["import", &path(ALLOW)]));
    let whole = lines(&run(home.path(), &["show", "last", "--json"]));
    let followed = lines(&run(home.path(), &["show", "last", "--json", "--follow"]));
    assert_eq!(whole, followed);

    // One that grows: its rows come once they have settled, the turn with its end.
    let own = env!("CARGO_BIN_EXE_tapline");
    let mut agent = tapline(
        home.path(),
        &[
            "exec",
            "--wait",
            "--format",
            "quiet",
            "hello",
            "--",
            own,
            "demo-agent",
        ],
    )
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .expect("starts");
    let waits = || lines(&run(home.path(), &["inbox", "--json"])).into_iter().next();
    while waits().is_none() {
        assert!(
            agent.try_wait().expect("looked").is_none(),
            "the agent left before it asked"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let follower = tapline(home.path(), &["show", "last", "--json", "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    text(&run(home.path(), &["stop", "last", "--close"]));
    agent.wait().expect("it ends");
    let followed = lines(&follower.wait_with_output().expect("it ends"));
    let turn = followed
        .iter()
        .rfind(|row| row["kind"] == "turn")
        .expect("a turn");
    assert_eq!(turn["end"], "stopped", "{turn}");
    assert!(
        followed
            .iter()
            .all(|row| row["state"] != "open" && row["state"] != "pending"),
        "{followed:?}"
    );
}

// --- search ---

#[test]
fn a_search_with_two_conditions_looks_at_all_hits() {
    let home = home();
    text(&run(
        home.path(),
        &[
            "import",
            &path("recordings/gemini/s9-shell-long.jsonl"),
            &path("recordings/gemini/s9g-shell-big.jsonl"),
        ],
    ));
    let unasked = lines(&run(home.path(), &["search", "--unasked", "--json"]));
    assert!(!unasked.is_empty());
    for hit in &unasked {
        let mut names: Vec<&str> = hit
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["kind", "row", "seq", "session", "text"],
            "as of every other search"
        );
    }
    // The prompt holds the word too and is newer than, or beside, the tool: it does not use up the one hit that is wanted.
    let some = unasked[0]["text"].as_str().expect("a title");
    let word = some
        .split(|c: char| !c.is_alphanumeric())
        .find(|w| w.len() > 2)
        .expect("a word");
    let both = run(home.path(), &["search", word, "--unasked", "-n", "1", "--json"]);
    assert_eq!(lines(&both).len(), 1, "{word}: {both:?}");
}

#[test]
fn a_search_says_why_it_finds_nothing() {
    let home = home();
    for words in ["", "  ", "\"", "*", "-"] {
        let output = run(home.path(), &["search", "--", words]);
        assert_eq!(code(&output), 2, "{output:?}");
        assert!(said(&output).contains("there is no word in"), "{output:?}");
    }
    let output = run(home.path(), &["search", "typo", "--kind", "tol"]);
    assert_eq!(code(&output), 2, "{output:?}");
    assert!(
        said(&output).contains("the kinds are: ") && said(&output).contains("tool"),
        "{output:?}"
    );
    let output = run(home.path(), &["search", "--unasked"]);
    assert_eq!(
        said(&output),
        "tapline: no tool changed something without asking\n"
    );
}

// --- setup ---

#[test]
fn setup_says_what_would_make_the_change_that_it_shows() {
    let home = home();
    let setup = |arguments: &[&str]| {
        let output = tapline(home.path(), arguments)
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME")
            .output();
        text(&output.expect("runs"))
    };
    let nothing = setup(&["setup", "zed"]);
    assert!(
        nothing.contains("No agent stands there yet") && nothing.contains("--agent NAME -- CMD ARG…"),
        "{nothing}"
    );
    let by_hand = setup(&["setup", "neovim"]);
    assert!(
        by_hand.contains("by hand") && !by_hand.contains("--write"),
        "{by_hand}"
    );
    let settings = home.path().join("my settings.json");
    std::fs::write(
        &settings,
        r#"{"agent_servers": {"mine": {"command": "x", "args": []}}}"#,
    )
    .expect("written");
    let file = settings.to_string_lossy();
    let shown = setup(&["setup", "zed", "--file", &file]);
    let line = format!(
        "`tapline setup zed --file '{file}' --write` makes the change, after a backup. It wraps mine."
    );
    assert!(shown.contains(&line), "{shown}");
    setup(&["setup", "zed", "--file", &file, "--write"]);
    let again = setup(&["setup", "zed", "--file", &file]);
    assert!(again.contains("wrapped already: mine"), "{again}");
}

// --- doctor ---

/// What a killed owner left while text streamed: two pieces of it in the tail of its connection.
fn left_while_streaming(home: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = SqliteJournal::open(&Home::at(folder.path())).expect("opens");
    let mut writer = journal.writer("c", WriterOptions::default()).expect("a writer");
    let session = SessionId::from("s");
    let owner = Owner {
        pid: 1,
        host: "here".to_owned(),
        started: Time::At(1_700_000_000_000),
    };
    let begin = Begin {
        session: session.clone(),
        owner,
        mode: Mode::Wrapped,
        origin: None,
    };
    writer.begin(&begin).expect("begins");
    let row: Row = serde_json::from_value(json!({
        "id": RowId::spell(&session, "r:1"), "seq": 1, "session": "s", "revision": 1, "frames": [1, 1],
        "kind": "assistant", "state": "open", "text": "Well: ",
    }))
    .expect("a row");
    let row = Arc::new(row);
    writer.input(1, None, b"one").expect("taken");
    writer.apply(&Change::Put(&row)).expect("taken");
    writer.flush().expect("saved");
    for (number, offset) in [(2, 6), (3, 10)] {
        writer.input(number, None, b"more").expect("taken");
        let append = Append {
            id: &row.id,
            seq: 1,
            member: Grows::Text,
            offset,
            text: "more",
            revision: number,
            frame: number,
        };
        writer.apply(&Change::Append(append)).expect("taken");
        writer.flush().expect("saved");
    }
    std::fs::create_dir(home.join("live")).expect("made");
    for file in ["journal.db", "journal.db-wal", "live/1.tail"] {
        std::fs::copy(folder.path().join(file), home.join(file)).expect("copied");
    }
}

#[test]
fn doctor_tells_of_a_broken_tail_and_of_the_rest() {
    let home = home();
    left_while_streaming(home.path());
    let tail = home.path().join("live/1.tail");
    let whole = std::fs::read(&tail).expect("read");
    let mut broken = whole.clone();
    broken[20] ^= 1;
    std::fs::write(&tail, broken).expect("written");
    let doctor = tapline(home.path(), &["doctor"]).output().expect("runs");
    assert_eq!(code(&doctor), 1, "{doctor:?}");
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    // Once by who would have settled the session, once by the check that follows.
    assert_eq!(told.matches("1.tail").count(), 2, "{told}");
    assert_eq!(said(&doctor), "tapline: 2 things need attention\n");

    std::fs::write(&tail, whole).expect("written");
    let well = text(&tapline(home.path(), &["doctor"]).output().expect("runs"));
    assert!(
        well.contains("session s was left by a process that is gone"),
        "{well}"
    );
    assert!(well.ends_with("all is well\n"), "{well}");
    let row = text(&run(home.path(), &["export", "s", "--format", "json"]));
    assert!(row.contains("Well: moremore"), "{row}");
}

#[test]
fn doctor_tells_of_the_configuration_and_of_its_faults() {
    let home = home();
    let config = home.path().join("config.toml");
    let doctor = || {
        tapline(home.path(), &["doctor"])
            .env("TAPLINE_CONFIG", &config)
            .env("TAPLINE_POLICY", "deny")
            .env("TAPLINE_COLOUR", "never")
            .output()
            .expect("runs")
    };
    std::fs::write(&config, "").expect("written");
    let well = text(&doctor());
    assert!(
        well.contains(&format!("config   {}\n", config.display())),
        "{well}"
    );
    assert!(well.contains("agents.toml (not there"), "{well}");
    assert!(well.contains("variable TAPLINE_POLICY is set"), "{well}");
    assert!(well.contains("variable TAPLINE_COLOUR sets nothing"), "{well}");
    assert!(well.ends_with("all is well\n"), "{well}");

    std::fs::write(&config, "color = \"blue\"\npolcy = \"ask\"\n").expect("written");
    let ill = doctor();
    let told = String::from_utf8_lossy(&ill.stdout).into_owned();
    assert_eq!(code(&ill), 1);
    assert!(told.contains("config.toml:1: `color` must be one of"), "{told}");
    assert!(
        told.contains("config.toml:2: `polcy` is not known; did you mean `policy`?"),
        "{told}"
    );
    assert!(
        told.contains("journal  "),
        "the rest is looked at all the same: {told}"
    );
    assert_eq!(said(&ill), "tapline: 2 things need attention\n");

    std::fs::write(&config, "[[permissions.rules]]\nkind = 5\n").expect("written");
    let rules = doctor();
    assert_eq!(code(&rules), 1, "{rules:?}");
    assert_eq!(said(&rules), "tapline: 1 thing needs attention\n");
    std::fs::write(&config, "").expect("written");
    std::fs::write(home.path().join("agents.toml"), "[agents.x]\ncomand = [\"x\"]\n").expect("written");
    let agents = doctor();
    assert_eq!(code(&agents), 1, "{agents:?}");
    assert!(
        String::from_utf8_lossy(&agents.stdout).contains("agents.toml:2"),
        "{agents:?}"
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let home = home();
    let file = home.path().join("file");
    std::fs::write(&file, "").expect("written");
    let output = run(&file, &["list"]);
    assert_eq!(code(&output), 69);
    assert!(
        said(&output).contains(&format!(
            "Its folder is {}; TAPLINE_HOME names another one.",
            file.display()
        )),
        "{output:?}"
    );
}

#[test]
fn the_demonstration_quotes_a_folder_with_blanks() {
    let home = home();
    let root = home.path().join("my home");
    let told = text(&run(&root, &["demo", "--fast"]));
    let line = told
        .lines()
        .find(|line| line.contains("tapline show"))
        .expect("a line to type");
    let line = line
        .trim()
        .replace("tapline show", &format!("{} show", env!("CARGO_BIN_EXE_tapline")));
    let shown = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    assert!(text(&shown).contains("Turn 1"), "{line}");
}

// --- prompt ---

#[test]
fn a_prompt_that_cannot_be_read_is_told_in_a_sentence() {
    let home = home();
    let cut = fed(home.path(), &["prompt", "check"], b"{");
    assert_eq!(code(&cut), 1);
    let told = String::from_utf8_lossy(&cut.stdout).into_owned();
    assert!(told.starts_with("the JSON ends where"), "{told}");
    assert_eq!(said(&cut), "tapline: standard input: 1 fault\n");
    assert_eq!(
        text(&fed(home.path(), &["prompt", "check"], b"[]")),
        "standard input: no faults\n"
    );
    let wrong = fed(home.path(), &["prompt", "check"], b"[nothing]");
    let told = String::from_utf8_lossy(&wrong.stdout).into_owned();
    assert!(!told.contains("found found"), "{told}");
    for (command, what) in [("check", "is a folder"), ("media-type", "is a folder")] {
        let folder = run(home.path(), &["prompt", command, "."]);
        assert_eq!(code(&folder), 66);
        assert!(said(&folder).contains(what), "{folder:?}");
        let missing = run(home.path(), &["prompt", command, "nothing"]);
        assert_eq!(said(&missing), "tapline: nothing: does not exist\n");
    }
}

// --- words, completions, a reader that goes away ---

#[test]
fn nobody_who_reads_standard_error_is_no_reason_to_break_down() {
    let home = home();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = tapline(home.path(), &["show", "nothing"])
        .stderr(writer)
        .stdout(Stdio::null())
        .status()
        .expect("runs");
    assert_eq!(status.code(), Some(1));
}

#[test]
fn completions_and_help_know_nothing_that_is_not_for_a_person() {
    let home = home();
    for shell in ["bash", "zsh", "fish"] {
        let completions = text(&run(home.path(), &["completions", shell]));
        assert!(!completions.contains("__guard"), "{shell}");
        assert!(
            completions.contains("pace"),
            "{shell}: the demonstration agent's flags are known"
        );
    }
    let help = text(&run(home.path(), &["demo-agent", "--help"]));
    assert!(help.contains("--state <FOLDER>"), "{help}");
    assert!(text(&run(home.path(), &["demo-agent", "--list"])).contains("builtin:echo"));
}

#[test]
fn bash_completes_commands_flags_and_words() {
    let Ok(bash) = Command::new("bash").arg("--version").output() else {
        return;
    };
    assert!(bash.status.success());
    let home = home();
    let script = home.path().join("completions");
    std::fs::write(&script, text(&run(home.path(), &["completions", "bash"]))).expect("written");
    let complete = |words: &str, last: &str| {
        let line = format!(
            "source '{}'; COMP_WORDS=({words} '{last}'); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _tapline tapline '{last}' \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let output = Command::new("bash")
            .args(["--norc", "-c", &line])
            .output()
            .expect("bash runs");
        text(&output).trim().to_owned()
    };
    assert_eq!(complete("tapline", "sear"), "search");
    assert_eq!(complete("tapline list --status", ""), "live waiting ended cut");
    assert_eq!(complete("tapline exec", "--ag"), "--agent");
    assert_eq!(complete("tapline setup", "ze"), "zed");
}

//! `tapline wrap` beside a journal that cannot be written: the bytes pass, the side file keeps the inputs, and what is
//! folded in later gives the rows of an undisturbed run.
//!
//! The client plays ten megabytes each way, and the fault lasts for all of that: an agent that waited for the journal would
//! never come to its end. A mount needs rights that not everybody has; without them a test says `skipped: …` and passes;
//! under `TAPLINE_CI` it fails.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{bare, fixture, run, tapline, text};
use rusqlite::Connection;
use serde_json::{Value, json};
use tapline_journal::Home;
use tapline_testkit::client::play;
use tapline_testkit::recording::{Process, Recording, What};

/// What the agent ends with.
const CODE: i32 = 7;

/// Lengths of the texts of one chat, in bytes: more than ten megabytes together, one of them in a line of over 5 MB.
/// The first turn is short.
const LENGTHS: [usize; 7] = [300, 5 << 20, 1 << 20, 2 << 20, 1 << 20, 700_000, 1 << 20];

/// A chat with long prompts and long answers, as a recording.
fn chat(folder: &Path) -> PathBuf {
    let path = folder.join("chat.jsonl");
    let mut file = File::create(&path).expect("a file");
    let mut line = |direction: &str, message: Value| {
        writeln!(file, "{}", json!({"dir": direction, "msg": message})).expect("written");
    };
    let mut call = |id: usize, method: &str, params: Value, before: Option<Value>, result: Value| {
        line(
            "out",
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
        );
        if let Some(update) = before {
            let params = json!({"sessionId": "s", "update": update});
            line(
                "in",
                json!({"jsonrpc": "2.0", "method": "session/update", "params": params}),
            );
        }
        line("in", json!({"jsonrpc": "2.0", "id": id, "result": result}));
    };
    call(
        0,
        "initialize",
        json!({"protocolVersion": 1}),
        None,
        json!({"protocolVersion": 1}),
    );
    let params = json!({"cwd": "/project", "mcpServers": []});
    call(1, "session/new", params, None, json!({"sessionId": "s"}));
    for (turn, length) in LENGTHS.into_iter().enumerate() {
        let words = |who: &str| {
            let mut words = String::with_capacity(length + 64);
            while words.len() < length {
                words.push_str(&format!("{who} says word {} of turn {turn}. ", words.len()));
            }
            words
        };
        let prompt = json!([{"type": "text", "text": words("the person")}]);
        let said = json!({"type": "text", "text": words("the agent")});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": said});
        let params = json!({"sessionId": "s", "prompt": prompt});
        call(
            2 + turn,
            "session/prompt",
            params,
            Some(update),
            json!({"stopReason": "end_turn"}),
        );
    }
    writeln!(file, "{}", json!({"dir": "in", "exit": {"code": CODE}})).expect("written");
    path
}

/// Plays the chat through `wrap`, compares every byte of both directions, and returns what stands on standard error.
fn wrap(home: &Path, chat: &Path) -> String {
    let recording = Recording::open(chat).expect("a recording");
    let process = &recording.processes[0];
    let got = chat.with_file_name("got");
    // What reaches the agent is kept on its way into it.
    let script = format!(
        "tee '{}' | '{}' demo-agent '{}'",
        got.display(),
        env!("CARGO_BIN_EXE_tapline"),
        chat.display()
    );
    let mut child = tapline(home, &["wrap", "--", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let (output, input) = (
        child.stdout.take().expect("a pipe"),
        child.stdin.take().expect("a pipe"),
    );
    let mut errors = child.stderr.take().expect("a pipe");
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).map(|_| text)
    });
    let received = play(process, output, input).expect("the agent's bytes are those of the recording");
    assert_eq!(received.len(), process.agent_bytes().len());
    assert!(received.len() > 10_000_000);
    assert_eq!(child.wait().expect("it ends").code(), Some(CODE));
    let sent = fs::read(&got).expect("what the agent got");
    assert!(sent.len() > 10_000_000);
    assert!(
        sent == client_bytes(process),
        "the client's bytes reach the agent as they are"
    );
    errors.join().expect("the reader holds").expect("text")
}

/// All that the client sends.
fn client_bytes(process: &Process) -> Vec<u8> {
    let mut all = Vec::new();
    for step in &process.steps {
        if let What::Sent { bytes, .. } = &step.what {
            all.extend_from_slice(bytes);
        }
    }
    all
}

fn side_files(home: &Path) -> Vec<PathBuf> {
    match fs::read_dir(home.join("spill")) {
        Ok(entries) => entries.map(|entry| entry.expect("an entry").path()).collect(),
        Err(_) => Vec::new(),
    }
}

/// The rows of the only chat in a journal.
fn rows(home: &Path) -> Vec<Value> {
    let list = text(&run(home, &["list", "--json"]));
    assert_eq!(list.lines().count(), 1, "{list}");
    bare(&text(&run(home, &["export", "last"])))
}

/// What the chat gives when nothing is in the way: the rows of its recording.
fn undisturbed(chat: &Path) -> Vec<Value> {
    let rows = bare(&text(&run(chat, &["translate", &chat.to_string_lossy()])));
    assert!(
        rows.len() >= 3 * LENGTHS.len(),
        "a turn, a prompt and an answer each"
    );
    rows
}

/// Folds the one side file in, and finds everything in order and the same as without the fault.
fn folds_in(home: &Path, expected: &[Value]) {
    folds_in_by(home, &["doctor"], expected);
}

fn folds_in_by(home: &Path, doctor: &[&str], expected: &[Value]) {
    assert_eq!(side_files(home).len(), 1);
    let doctor = text(&run(home, doctor));
    assert!(
        doctor.contains("inputs folded in") && doctor.contains("all is well"),
        "{doctor}"
    );
    assert_eq!(side_files(home), Vec::<PathBuf>::new());
    text(&run(home, &["verify"]));
    let rows = rows(home);
    for (n, (row, wanted)) in rows.iter().zip(expected).enumerate() {
        assert!(
            row == wanted,
            "row {n}: {} and not {}",
            shorten(row),
            shorten(wanted)
        );
    }
    assert_eq!(rows.len(), expected.len());
}

fn shorten(row: &Value) -> String {
    row.to_string().chars().take(300).collect()
}

/// Something that is mounted, until it is dropped.
struct Mount(PathBuf);

impl Mount {
    /// Mounts something; nothing where that is refused, which is told, and in CI is a failure.
    fn make(arguments: &[&str], at: &Path) -> Option<Self> {
        let done = Command::new("mount").args(arguments).arg(at).output();
        match done {
            Ok(output) if output.status.success() => Some(Self(at.to_owned())),
            refused => {
                assert!(
                    std::env::var_os("TAPLINE_CI").is_none(),
                    "nothing can be mounted: {refused:?}"
                );
                eprintln!("skipped: nothing can be mounted here: {refused:?}");
                None
            }
        }
    }

    fn again(&self, options: &str) {
        let done = Command::new("mount").args(["-o", options]).arg(&self.0).status();
        assert!(done.expect("mount runs").success(), "mount -o {options}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A home on a disk of its own that has no room left, with an empty journal on it.
fn full_disk(folder: &Path) -> Option<(PathBuf, Mount)> {
    let home = folder.join("full");
    fs::create_dir(&home).expect("a folder");
    let disk = Mount::make(&["-t", "tmpfs", "-o", "size=2m", "tapline-test"], &home)?;
    text(&run(&home, &["list"]));
    let mut filler = File::create(home.join("filler")).expect("a file");
    while filler.write_all(&[1; 4096]).is_ok() {}
    Some((home, disk))
}

#[test]
fn transparent_beside_a_locked_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = chat(folder.path());
    let home = folder.path().join("locked");
    text(&run(&home, &["list"]));
    let other = Connection::open(Home::at(&home).database()).expect("opens");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    assert_eq!(wrap(&home, &chat), "");
    other.execute_batch("ROLLBACK").expect("free");
    folds_in(&home, &undisturbed(&chat));
}

#[test]
fn transparent_beside_a_journal_of_a_newer_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = chat(folder.path());
    let home = folder.path().join("newer");
    text(&run(&home, &["list"]));
    let database = Home::at(&home).database();
    let version = |set: Option<u32>| {
        let other = Connection::open(&database).expect("opens");
        if let Some(set) = set {
            other
                .execute_batch(&format!("PRAGMA user_version = {set}"))
                .expect("set");
        }
        other
            .query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))
            .expect("read")
    };
    let ours = version(None);
    assert_eq!(version(Some(99)), 99);
    let before = fs::read(&database).expect("read");
    assert_eq!(wrap(&home, &chat), "");
    assert!(
        fs::read(&database).expect("read") == before,
        "a newer journal is left as it is"
    );
    version(Some(ours));
    folds_in(&home, &undisturbed(&chat));
}

/// The log of a process that was killed, with a bit that flipped in its first transaction.
#[test]
fn transparent_beside_a_journal_whose_log_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = chat(folder.path());
    let (killed, home) = (folder.path().join("killed"), folder.path().join("damaged"));
    text(&run(&killed, &["list"]));
    // As long as somebody has the journal open its log stays.
    let other = Connection::open(Home::at(&killed).database()).expect("opens");
    let version = other.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0));
    assert!(version.expect("read") > 0);
    text(&run(
        &killed,
        &[
            "import",
            &fixture("recordings/claude/s3-tools-allow.jsonl").to_string_lossy(),
        ],
    ));
    fs::create_dir(&home).expect("a folder");
    let (database, log) = ("journal.db", "journal.db-wal");
    fs::copy(killed.join(database), home.join(database)).expect("copied");
    let mut bytes = fs::read(killed.join(log)).expect("a log");
    bytes[100] ^= 1;
    fs::write(home.join(log), &bytes).expect("written");
    drop(other);
    let before = fs::read(home.join(database)).expect("read");
    assert_eq!(wrap(&home, &chat), "");
    let is_left = || {
        assert!(fs::read(home.join(database)).expect("read") == before);
        assert!(fs::read(home.join(log)).expect("read") == bytes);
    };
    is_left();
    let doctor = run(&home, &["doctor"]);
    let told = String::from_utf8_lossy(&doctor.stdout);
    assert!(!doctor.status.success());
    assert!(
        told.contains("frame 1 of its log") && told.contains("tapline doctor --cut-log"),
        "{told}"
    );
    is_left();
    folds_in_by(&home, &["doctor", "--cut-log"], &undisturbed(&chat));
    let kept = fs::read_dir(&home).expect("read").filter_map(Result::ok);
    let kept: Vec<_> = kept
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("damaged-"))
        .collect();
    assert_eq!(kept.len(), 1);
    assert!(fs::read(kept[0].path().join(log)).expect("kept") == bytes);
}

#[test]
fn transparent_beside_a_journal_that_can_only_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = chat(folder.path());
    let (home, elsewhere) = (folder.path().join("only-read"), folder.path().join("elsewhere"));
    fs::create_dir(&elsewhere).expect("a folder");
    text(&run(&home, &["list"]));
    symlink(&elsewhere, home.join("spill")).expect("a link");
    let place = home.to_str().expect("a plain path");
    let Some(mount) = Mount::make(&["--bind", place], &home) else {
        return;
    };
    mount.again("remount,bind,ro");
    assert!(File::create(home.join("x")).is_err(), "it can only be read");
    assert_eq!(wrap(&home, &chat), "");
    drop(mount);
    folds_in(&home, &undisturbed(&chat));
}

#[test]
fn transparent_beside_a_journal_on_a_full_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = chat(folder.path());
    let Some((home, disk)) = full_disk(folder.path()) else {
        return;
    };
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    symlink(&elsewhere, home.join("spill")).expect("a link");
    assert_eq!(wrap(&home, &chat), "");
    disk.again("remount,size=200m");
    folds_in(&home, &undisturbed(&chat));
}

/// With the side file on the same disk most is lost. That is told in one line, and what could be kept is folded in.
#[test]
fn what_is_lost_because_the_side_file_is_on_the_same_full_disk_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = chat(folder.path());
    let Some((home, disk)) = full_disk(folder.path()) else {
        return;
    };
    // Room for the first inputs, and for no long one.
    let filler = File::options()
        .write(true)
        .open(home.join("filler"))
        .expect("opens");
    let length = filler.metadata().expect("read").len();
    filler.set_len(length - 64 * 1024).expect("shorter");
    let told = wrap(&home, &chat);
    assert!(told.contains("inputs of this agent are not recorded"), "{told:?}");
    assert!(
        told.contains("side file") && told.contains("tapline doctor"),
        "{told:?}"
    );
    assert_eq!(told.lines().count(), 1, "{told:?}");
    disk.again("remount,size=200m");
    let doctor = text(&run(&home, &["doctor"]));
    assert!(
        doctor.contains("inputs folded in") && doctor.contains("all is well"),
        "{doctor}"
    );
    assert_eq!(side_files(&home), Vec::<PathBuf>::new());
    text(&run(&home, &["verify"]));
    let rows = rows(&home);
    assert!(
        rows.iter().any(|row| row["kind"] == "turn"),
        "the first turn was kept: {rows:?}"
    );
}

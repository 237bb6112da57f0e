//! The journal through the commands: real processes, a real SQLite file.
#![cfg(unix)]

mod common;

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{bare, fixture, run, tapline, text};
use serde_json::{Value, json};
use tapline_journal::{Follow, Home, Journal, News, SessionQuery, SqliteJournal, Status, Watch, Window};
use tapline_testkit::client::{Talk, play};
use tapline_testkit::recording::Recording;
use tapline_timeline::{Body, SessionId};

/// An agent that follows a script, under `wrap`.
fn wrapped(home: &Path, agent: &[&str]) -> Child {
    let own = env!("CARGO_BIN_EXE_tapline");
    let mut command = tapline(home, &["wrap", "--", own, "demo-agent"]);
    command
        .args(agent)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

#[test]
fn one_path_a_wrapped_agent_gives_the_rows_of_its_recording() {
    let some = [
        "recordings/claude/s3-tools-allow.jsonl",
        "recordings/claude/s4c-cancel-at-permission.jsonl",
        "recordings/codex/s9-shell-long.jsonl",
        "recordings/gemini/s4-reject.jsonl",
        "recordings/opencode/s3-tools-allow.jsonl",
        "recordings/kimi/s9-shell-long.jsonl",
        "recordings/pi/s9-shell-long.jsonl",
        "recordings/cline/s8-todo.jsonl",
        "recordings/grok/background-complete.jsonl",
        "recordings/grok/permission-reject.jsonl",
        "recordings/grok/subagent-foreground.jsonl",
        "recordings/grok/error-429.jsonl",
        "cases/B024-stop-leaves-tools-running.jsonl",
        "cases/B041-stdout-noise.jsonl",
        "cases/B063-replay-on-load.jsonl",
        "cases/B109-token-in-tool-output.jsonl",
    ];
    for name in some {
        let path = fixture(name);
        let home = tempfile::tempdir().expect("a folder");
        let recording = Recording::open(&path).expect("a recording");
        for (n, process) in recording.processes.iter().enumerate() {
            let mut child = wrapped(
                home.path(),
                &["--process", &n.to_string(), &path.to_string_lossy()],
            );
            let (output, input) = (
                child.stdout.take().expect("a pipe"),
                child.stdin.take().expect("a pipe"),
            );
            play(process, output, input).unwrap_or_else(|e| panic!("{name}: {e}"));
            child.wait().expect("it ends");
        }
        let sessions = text(&run(home.path(), &["list", "--json"]));
        let mut ids: Vec<String> = sessions
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).expect("JSON"))
            .inspect(|s| assert_ne!(s["status"], "live", "{name}: nothing runs any more"))
            .filter(|s| s.get("parent").is_none())
            .map(|s| s["id"].as_str().expect("an id").to_owned())
            .collect();
        ids.sort();
        let exported: String = ids
            .iter()
            .map(|id| text(&run(home.path(), &["export", id])))
            .collect();
        let explained: String = ids
            .iter()
            .map(|id| text(&run(home.path(), &["explain", id])))
            .collect();
        for line in exported.lines() {
            let row: Value = serde_json::from_str(line).expect("JSON");
            let id = row["id"].as_str().expect("an id");
            let found = row["kind"] == "session" || explained.lines().any(|l| l.ends_with(id));
            assert!(found, "{name}: where {id} came from");
        }
        let translated = text(&run(home.path(), &["translate", &path.to_string_lossy()]));
        let (exported, translated) = (bare(&exported), bare(&translated));
        for (n, (e, t)) in exported.iter().zip(&translated).enumerate() {
            assert_eq!(e, t, "{name}, row {n}");
        }
        assert_eq!(exported.len(), translated.len(), "{name}");
        text(&run(home.path(), &["verify"]));
    }
}

#[test]
fn an_import_is_found_shown_searched_exported_explained_verified_and_forgotten() {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path();
    let path = fixture("recordings/claude/s3-tools-allow.jsonl");
    let file = path.to_string_lossy();
    text(&run(home, &["import", &file]));
    let again = text(&run(home, &["import", &file]));
    assert!(again.contains("is in the journal already"), "{again}");
    let list = text(&run(home, &["list", "--json"]));
    assert_eq!(list.lines().count(), 1, "a second import adds nothing");
    let session: Value = serde_json::from_str(&list).expect("JSON");
    let id = session["id"].as_str().expect("an id");
    assert_eq!(session["status"], "ended");

    assert_eq!(
        bare(&text(&run(home, &["export", id]))),
        bare(&text(&run(home, &["translate", &file])))
    );
    assert_eq!(
        bare(&text(&run(home, &["rebuild", id]))),
        bare(&text(&run(home, &["export", id])))
    );
    assert!(text(&run(home, &["export", id, "--format", "markdown"])).contains("# "));
    assert!(
        text(&run(home, &["show", &id[..8], "--last", "3"]))
            .lines()
            .count()
            > 3
    );
    assert!(text(&run(home, &["show", "last"])).contains("Turn 1"));
    assert!(text(&run(home, &["search", "typo"])).contains(id));
    let nothing = run(home, &["search", "\"zebra AND ("]);
    assert_eq!(
        nothing.status.code(),
        Some(1),
        "what nobody said is not found, whatever its spelling"
    );
    assert!(text(&run(home, &["explain", id])).contains("session/prompt"));
    assert!(text(&run(home, &["verify"])).contains("rows equal"));
    assert!(text(&run(home, &["doctor"])).contains("all is well"));
    text(&run(home, &["forget", id]));
    assert_eq!(text(&run(home, &["list"])), "");
    let gone = run(home, &["show", id]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("has no session"));
}

#[test]
fn masked_no_secret_stands_anywhere_in_the_folder() {
    let home = tempfile::tempdir().expect("a folder");
    let path = fixture("cases/B109-token-in-tool-output.jsonl");
    text(&run(home.path(), &["import", &path.to_string_lossy()]));
    let mut folders = vec![home.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("read");
            let found = bytes.windows(11).any(|w| w == b"not-a-real-");
            assert!(!found, "{} holds a secret", path.display());
        }
    }
}

fn open_talk(child: &mut Child) -> (Talk<std::process::ChildStdout, std::process::ChildStdin>, Value) {
    let mut talk = Talk::new(
        child.stdout.take().expect("a pipe"),
        child.stdin.take().expect("a pipe"),
    );
    talk.call(
        "initialize",
        json!({"protocolVersion": 1, "clientCapabilities": {}}),
    )
    .expect("answered");
    let made = talk
        .call("session/new", json!({"cwd": "/project", "mcpServers": []}))
        .expect("answered");
    (talk, made["result"]["sessionId"].clone())
}

fn ask(
    talk: &mut Talk<std::process::ChildStdout, std::process::ChildStdin>,
    session: &Value,
    words: &str,
) -> u64 {
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": words}]});
    talk.request("session/prompt", prompt).expect("sent")
}

/// The longest assistant text that the journal holds.
fn said(journal: &dyn Journal, id: &SessionId) -> String {
    let rows = journal.rows(id, Window::Last(50)).expect("read");
    rows.iter()
        .filter_map(|row| match &row.body {
            Body::Assistant(message) => Some(message.content.as_text().to_owned()),
            _ => None,
        })
        .max_by_key(String::len)
        .unwrap_or_default()
}

/// `wrap` is killed while the agent streams. What a reader saw before is there afterwards, and it is a prefix of what was
/// said; nothing reads as running. `TAPLINE_KILLS` says how often (10), `TAPLINE_SEED` with which moments.
#[test]
fn saved_means_saved_whatever_moment_wrap_is_killed_at() {
    let number = |name: &str, or: u64| {
        std::env::var(name)
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(or)
    };
    let seed = number("TAPLINE_SEED", u64::from(std::process::id()));
    eprintln!("seed: TAPLINE_SEED={seed}");
    let mut random = seed;
    let home = tempfile::tempdir().expect("a folder");
    let mut known: Vec<SessionId> = Vec::new();
    for round in 0..number("TAPLINE_KILLS", 10) {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let frames = 1 + (random >> 33) % 6000;
        let mut child = wrapped(home.path(), &["builtin:stream-20000"]);
        let (mut talk, session) = open_talk(&mut child);
        ask(&mut talk, &session, "Go on");
        let mut all = String::new();
        for _ in 0..frames {
            let frame = talk.frame().expect("read").expect("a frame");
            if frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk" {
                all.push_str(
                    frame["params"]["update"]["content"]["text"]
                        .as_str()
                        .unwrap_or_default(),
                );
            }
        }
        let journal = SqliteJournal::open(&Home::at(home.path())).expect("opens");
        let query = SessionQuery {
            limit: 1000,
            ..SessionQuery::default()
        };
        let fresh = |journal: &dyn Journal| {
            let entries = journal.sessions(&query).expect("read");
            entries
                .into_iter()
                .map(|e| e.session.id)
                .find(|id| !known.contains(id))
        };
        let before = fresh(&journal).map(|id| (said(&journal, &id), id));
        child.kill().expect("killed");
        child.wait().expect("gone");
        // What was still in the pipe was said too.
        let rest = String::from_utf8_lossy(&talk.rest().unwrap_or_default()).into_owned();
        for line in rest.lines() {
            if let Ok(frame) = serde_json::from_str::<Value>(line) {
                all.push_str(
                    frame["params"]["update"]["content"]["text"]
                        .as_str()
                        .unwrap_or_default(),
                );
            }
        }
        drop(journal);
        let list = text(&run(home.path(), &["list", "--json", "-n", "1000"]));
        assert!(
            !list.contains(r#""status":"live""#),
            "round {round}: nothing reads as running: {list}"
        );
        let journal = SqliteJournal::open(&Home::at(home.path())).expect("opens");
        let Some(id) = fresh(&journal) else {
            assert!(
                before.is_none(),
                "round {round}: a session that was there is gone"
            );
            continue;
        };
        let after = said(&journal, &id);
        if let Some((before, known)) = &before {
            assert_eq!(known, &id);
            assert!(
                after.starts_with(before.as_str()),
                "round {round}: what was saved is there"
            );
        }
        // The recorder may have been ahead of this test, but never of the agent.
        let common = after.len().min(all.len());
        assert_eq!(
            after.as_bytes()[..common],
            all.as_bytes()[..common],
            "round {round}: a prefix of what was said"
        );
        known.push(id);
    }
    let journal = SqliteJournal::open(&Home::at(home.path())).expect("opens");
    assert!(journal.verify(None).expect("read").is_empty());
}

/// Eight agents at once into one journal, a reader behind each: every row's last state is seen, in order, none twice.
#[test]
fn eight_wraps_at_once_and_their_readers_miss_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let agents: Vec<_> = (0..8)
        .map(|n| {
            let home = home.path().to_owned();
            std::thread::spawn(move || {
                let mut child = wrapped(&home, &["builtin:echo"]);
                let (mut talk, session) = open_talk(&mut child);
                for turn in 0..20 {
                    let id = ask(&mut talk, &session, &format!("agent {n} turn {turn}"));
                    talk.until_answer(id).expect("answered");
                }
                talk.close();
                child.wait().expect("ends");
            })
        })
        .collect();
    let journal: std::sync::Arc<dyn Journal> =
        std::sync::Arc::new(SqliteJournal::open(&Home::at(home.path())).expect("opens"));
    let since = Instant::now();
    let ids: Vec<SessionId> = loop {
        let entries = journal
            .sessions(&SessionQuery {
                limit: 100,
                ..SessionQuery::default()
            })
            .expect("read");
        if entries.len() == 8 {
            break entries.into_iter().map(|e| e.session.id).collect();
        }
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "eight sessions come: {}",
            entries.len()
        );
        std::thread::sleep(Duration::from_millis(20));
    };
    let readers: Vec<_> = ids
        .iter()
        .map(|id| {
            let (journal, id) = (std::sync::Arc::clone(&journal), id.clone());
            std::thread::spawn(move || {
                let mut rows = std::collections::BTreeMap::new();
                let mut cursor = 0;
                loop {
                    let followed = journal
                        .follow(
                            &id,
                            cursor,
                            Follow {
                                limit: 7,
                                appends: false,
                            },
                        )
                        .expect("read");
                    for news in &followed.news {
                        assert!(news.cursor() > cursor, "cursors rise");
                        cursor = news.cursor();
                        if let News::Row(row) = news {
                            rows.insert(row.seq, std::sync::Arc::clone(row));
                        }
                    }
                    cursor = cursor.max(followed.cursor);
                    if followed.more || !followed.news.is_empty() {
                        continue;
                    }
                    let entry = journal.session(&id).expect("read").expect("there");
                    if matches!(entry.status, Status::Ended | Status::Cut) && entry.cursor <= cursor {
                        return rows.into_values().collect::<Vec<_>>();
                    }
                    journal
                        .wait(&Watch::Session(id.clone(), cursor), Duration::from_millis(200))
                        .expect("waits");
                }
            })
        })
        .collect();
    for agent in agents {
        agent.join().expect("the agent's side holds");
    }
    for (id, reader) in ids.iter().zip(readers) {
        let seen = reader.join().expect("the reader holds");
        let rows = journal.rows(id, Window::From(1, 100_000)).expect("read");
        assert_eq!(seen, rows, "{id}");
        assert!(rows.len() >= 60, "20 turns, prompts and answers: {}", rows.len());
    }
    assert!(journal.verify(None).expect("read").is_empty());
}

#[test]
fn a_file_that_is_no_journal_is_left_alone_and_named() {
    let home = tempfile::tempdir().expect("a folder");
    let database = Home::at(home.path()).database();
    std::fs::write(&database, b"my diary, not a journal of Tapline at all").expect("written");
    let output = run(home.path(), &["list"]);
    assert_eq!(output.status.code(), Some(69));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains(&*database.to_string_lossy()), "{error}");
    assert_eq!(
        std::fs::read(&database).expect("read"),
        b"my diary, not a journal of Tapline at all"
    );
    // The agent runs all the same, and its inputs go to a side file.
    let mut child = wrapped(home.path(), &["builtin:echo"]);
    let (mut talk, session) = open_talk(&mut child);
    let id = ask(&mut talk, &session, "hello");
    talk.until_answer(id).expect("answered");
    talk.close();
    assert!(child.wait().expect("ends").success());
    let side = std::fs::read_dir(home.path().join("spill"))
        .expect("the folder of side files")
        .count();
    assert_eq!(side, 1);
    std::fs::remove_file(&database).expect("moved away");
    let doctor = text(&run(home.path(), &["doctor"]));
    assert!(doctor.contains("folded in"), "{doctor}");
    assert!(text(&run(home.path(), &["search", "hello"])).contains("user"));
    text(&run(home.path(), &["verify"]));
}

#[test]
fn demo_plays_a_chat_and_leaves_it_in_a_journal() {
    let home = tempfile::tempdir().expect("a folder");
    let shown = text(&run(home.path(), &["demo", "--fast"]));
    for words in [
        "Turn 1",
        "allowed",
        "rejected",
        "Background command",
        "failed",
        "tapline show",
    ] {
        assert!(shown.contains(words), "{words:?} is not in {shown}");
    }
    let list = text(&run(&home.path().join("demo"), &["list"]));
    assert!(list.contains("demo-agent"), "{list}");
    text(&run(&home.path().join("demo"), &["verify"]));
}

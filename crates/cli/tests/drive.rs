//! Agents driven by the commands: real processes, a real journal.
#![cfg(unix)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A safety net only: nothing waits for it unless it fails.
const LONG: Duration = Duration::from_secs(60);

const SCRIPT: &str = r#"
options = [{ id = "model", name = "Model", category = "model", type = "select", currentValue = "small", options = [
  { value = "small", name = "Small" }, { value = "large", name = "Large" } ] }]

[[turn]]
when = "edit"
steps = [
  { tool = { id = "e", title = "Edit a.txt", kind = "edit", path = "{{cwd}}/a.txt" } },
  { permission = { tool = "e", allow = [{ finish = "e" }, { text = "Edited." }], reject = [{ fail = "e" }, { text = "Left alone." }] } },
]

[[turn]]
when = "read"
steps = [
  { tool = { id = "r", title = "Read a.txt", kind = "read", path = "{{cwd}}/a.txt" } },
  { permission = { tool = "r", allow = [{ finish = "r" }, { text = "Read." }], reject = [{ fail = "r" }, { text = "Not read." }] } },
]

[[turn]]
when = "colour"
steps = [{ question = { message = "Which colour?", options = ["Red", "Blue"], accept = [{ text = "You chose {{answer}}." }], decline = [{ text = "None." }], cancel = [{ stop = "cancelled" }] } }]

[[turn]]
when = "wait"
steps = [{ text = "Waiting." }, "wait_for_cancel"]

[[turn]]
when = "fail"
steps = [{ error = { code = -32603, message = "Internal error", data = { details = "the model is out" } } }]

[[turn]]
when = "limit"
steps = [{ text = "So" }, { stop = "max_tokens" }]

[[turn]]
when = "refuse"
steps = [{ stop = "refusal" }]

[[turn]]
when = "die"
steps = [{ text = "Going." }, { stderr = "out of luck" }, { exit = { code = 9 } }]

[[turn]]
steps = [{ text = "You said: {{prompt}}" }]
"#;

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("script.toml"), SCRIPT).expect("written");
        std::fs::create_dir(dir.path().join("work")).expect("made");
        std::fs::write(dir.path().join("config.toml"), "").expect("written");
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn tapline(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
        command
            .args(arguments)
            .current_dir(self.path("work"))
            .env("TAPLINE_HOME", self.path("home"))
            .env("TAPLINE_CONFIG", self.path("config.toml"))
            .env("NO_COLOR", "1")
            .env("USER", "ann")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.tapline(arguments).output().expect("tapline runs")
    }

    /// `tapline COMMAND ARG… -- the scripted agent`.
    fn with_agent(&self, arguments: &[&str]) -> Command {
        let mut command = self.tapline(arguments);
        command
            .arg("--")
            .arg(env!("CARGO_BIN_EXE_tapline"))
            .args(["demo-agent", "--state"])
            .arg(self.path("state"))
            .arg(self.path("script.toml"));
        command
    }

    fn exec(&self, arguments: &[&str]) -> Output {
        let all: Vec<&str> = ["exec"].iter().chain(arguments).copied().collect();
        self.with_agent(&all).output().expect("tapline runs")
    }

    fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        json_lines(&output.stdout)
    }

    /// The first thing that waits for somebody.
    fn asked(&self) -> Value {
        self.until("something is asked", || {
            self.lines(&["inbox", "--json"]).into_iter().next()
        })
    }

    fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(
                since.elapsed() < LONG,
                "{what}: never\n{}",
                said(&self.run(&["show", "last"]))
            );
        }
    }

    fn says(&self, words: &str) {
        self.until(words, || {
            let shown = self.run(&["show", "last", "--json"]);
            String::from_utf8_lossy(&shown.stdout)
                .contains(words)
                .then_some(())
        });
    }

    fn kill_all(child: &mut Child) -> Output {
        let _ = child.kill();
        panic!("{:?} did not end", child.id())
    }

    /// Waits for the end of a command that was started.
    fn end(mut child: Child) -> Output {
        let since = Instant::now();
        while child.try_wait().expect("it can be waited for").is_none() {
            if since.elapsed() > LONG {
                return Self::kill_all(&mut child);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().expect("its output")
    }
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn code(output: &Output) -> i32 {
    output
        .status
        .code()
        .unwrap_or_else(|| panic!("{:?}: {}", output.status, said(output)))
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn json_lines(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

#[test]
fn exec_prints_a_turn_in_three_formats() {
    let world = World::new();
    let text = out(&world.exec(&["hello", "there"]));
    assert!(
        text.contains("hello there") && text.contains("You said: hello there"),
        "{text}"
    );
    assert_eq!(
        out(&world.exec(&["hello", "--format", "quiet"])),
        "You said: hello\n"
    );
    let rows = json_lines(out(&world.exec(&["hello", "--format", "json"])).as_bytes());
    let kinds: Vec<&str> = rows
        .iter()
        .map(|row| row["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(kinds, ["user", "assistant", "turn"]);
    assert_eq!(rows[2]["end"], "completed");

    let mut child = world
        .with_agent(&["exec", "--format", "quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("runs");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(b"from a pipe\n")
        .expect("written");
    assert_eq!(out(&World::end(child)), "You said: from a pipe\n");
    let empty = world.exec(&["--format", "quiet"]);
    assert_eq!(code(&empty), 2, "{}", said(&empty));
}

#[test]
fn exec_ends_with_a_code_that_says_how_the_turn_ended() {
    let world = World::new();
    for (prompt, expected, words) in [
        ("fail", 10, "the turn failed"),
        ("refuse", 11, "declined"),
        ("limit", 12, "limit"),
        ("die", 14, "went away"),
    ] {
        let output = world.exec(&[prompt]);
        assert_eq!(code(&output), expected, "{prompt}: {}", said(&output));
        assert!(said(&output).contains(words), "{prompt}: {}", said(&output));
    }
    let failed = world.exec(&["fail", "--format", "json"]);
    let rows = json_lines(&failed.stdout);
    let errors: Vec<&Value> = rows.iter().filter(|row| row["kind"] == "status").collect();
    assert_eq!(
        (errors.len(), errors[0]["text"].as_str()),
        (1, Some("the model is out"))
    );

    let late = world.exec(&["wait", "--timeout", "0.5"]);
    assert_eq!(code(&late), 124, "{}", said(&late));
    let missing = world
        .tapline(&["exec", "hello", "--", "/nowhere/agent"])
        .output()
        .expect("runs");
    assert_eq!(code(&missing), 76, "{}", said(&missing));
    assert!(
        said(&missing).contains("could not be started"),
        "{}",
        said(&missing)
    );
    let unknown = world.run(&["exec", "nobody", "hello"]);
    assert_eq!(code(&unknown), 1, "{}", said(&unknown));
}

#[test]
fn exec_asks_nobody_and_says_so() {
    let world = World::new();
    let refused = world.exec(&["edit", "--format", "quiet"]);
    assert_eq!(String::from_utf8_lossy(&refused.stdout), "Left alone.\n");
    let allowed = world.exec(&["edit", "--format", "quiet", "--policy", "allow-all"]);
    assert_eq!(out(&allowed), "Edited.\n");
    let read = world.exec(&["read", "--format", "quiet", "--policy", "allow-reads"]);
    assert_eq!(out(&read), "Read.\n");
    let edit = world.exec(&["edit", "--policy", "allow-reads"]);
    assert!(said(&edit).contains("nobody can be asked"), "{}", said(&edit));
    std::fs::write(
        world.path("config.toml"),
        "[[permissions.rules]]\nkind = \"edit\"\npath = \"a.txt\"\ndecide = \"allow\"\n",
    )
    .expect("written");
    let ruled = world.exec(&["edit", "--format", "json"]);
    let rows = json_lines(out(&ruled).as_bytes());
    let request = rows
        .iter()
        .find(|row| row["kind"] == "request")
        .expect("a request");
    assert_eq!(request["answer"]["by"], "rule 1 of the configuration");
}

#[test]
fn another_process_answers_sends_and_stops() {
    let world = World::new();
    let child = world
        .with_agent(&["exec", "edit", "--wait", "--format", "json"])
        .spawn()
        .expect("runs");
    let asked = world.asked();
    let row = asked["id"].as_str().expect("an id");
    let wrong = world.run(&["answer", row, "perhaps"]);
    assert!(
        code(&wrong) == 1 && said(&wrong).contains("allow-once"),
        "{}",
        said(&wrong)
    );
    assert_eq!(out(&world.run(&["answer", row, "allow"])), "Answered: allowed.\n");
    let late = world.run(&["answer", row, "reject"]);
    assert_eq!(code(&late), 1, "{}", said(&late));
    let rows = json_lines(out(&World::end(child)).as_bytes());
    let request = rows
        .iter()
        .find(|row| row["kind"] == "request")
        .expect("a request");
    assert_eq!(
        (request["outcome"].as_str(), request["answer"]["by"].as_str()),
        (Some("allowed"), Some("cli:ann"))
    );
    assert!(request["answer"]["at"].is_string());

    let child = world
        .with_agent(&["exec", "colour", "--wait", "--format", "quiet"])
        .spawn()
        .expect("runs");
    let session = world.asked()["session"].as_str().expect("a session").to_owned();
    out(&world.run(&["answer", &session, "Blue"]));
    assert_eq!(out(&World::end(child)), "You chose Blue.\n");

    let child = world.with_agent(&["exec", "wait"]).spawn().expect("runs");
    world.says("Waiting.");
    let queued = out(&world.run(&["send", "last", "and then this", "--no-wait"]));
    assert!(queued.contains("intent"), "{queued}");
    let waiting = world.lines(&["queue", "last", "--json"]);
    let number = waiting[0]["number"].as_u64().expect("a number").to_string();
    out(&world.run(&["queue", "last", "--edit", &number, "and", "then", "that"]));
    let changed = out(&world.run(&["queue", "last"]));
    assert!(
        changed.contains("and then that") && changed.contains("cli:ann"),
        "{changed}"
    );
    out(&world.run(&["queue", "last", "--withdraw", &number]));
    assert_eq!(
        out(&world.run(&["queue", "last"])),
        "Nothing waits in this session.\n"
    );
    let gone = world.run(&["queue", "last", "--withdraw", &number]);
    assert_eq!(code(&gone), 1, "{}", said(&gone));
    assert_eq!(out(&world.run(&["stop", "last"])), "Stopped.\n");
    let output = World::end(child);
    assert_eq!(code(&output), 13, "{}", said(&output));
    let nobody = world.run(&["send", "last", "anyone?"]);
    assert!(
        code(&nobody) == 1 && said(&nobody).contains("tapline resume"),
        "{}",
        said(&nobody)
    );
}

#[test]
fn an_interrupt_stops_the_turn() {
    let world = World::new();
    let child = world.with_agent(&["exec", "wait"]).spawn().expect("runs");
    world.says("Waiting.");
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
    kill_process(pid, Signal::TERM).expect("a signal");
    let output = World::end(child);
    assert_eq!(code(&output), 130, "{}", said(&output));
    let sessions = world.lines(&["list", "--json"]);
    assert_eq!(sessions[0]["status"], "ended");
}

#[test]
fn resume_goes_on_with_the_agent_that_it_was() {
    let world = World::new();
    out(&world.exec(&["hello"]));
    let before = world.lines(&["show", "last", "--json"]).len();
    assert_eq!(
        out(&world.run(&["resume", "last", "more", "--format", "quiet"])),
        "You said: more\n"
    );
    let rows = world.lines(&["show", "last", "--json"]);
    assert_eq!(rows.len(), before + 3, "the replay adds no row");
    assert_eq!(world.lines(&["list", "--json"]).len(), 1);

    std::fs::remove_dir_all(world.path("state")).expect("removed");
    let strict = world.run(&["resume", "last", "more", "--no-context"]);
    assert_eq!(code(&strict), 76, "{}", said(&strict));
    let afresh = out(&world.run(&["resume", "last", "more", "--format", "quiet"]));
    assert!(
        afresh.contains("You said: [What follows") && afresh.contains("User: hello"),
        "{afresh}"
    );
    let rows = world.lines(&["show", "last", "--json"]);
    let warnings = rows
        .iter()
        .filter(|row| row["kind"] == "status" && row["tone"] == "warning")
        .count();
    assert!(warnings >= 2, "each lost session says so");
    let verified = world.run(&["verify"]);
    assert_eq!(code(&verified), 0, "{}", said(&verified));
}

#[test]
fn a_model_is_set_before_the_prompt() {
    let world = World::new();
    out(&world.exec(&["hello", "--model", "large"]));
    assert_eq!(world.lines(&["list", "--json"])[0]["model"], "large");
    let wrong = world.exec(&["hello", "--option", "model"]);
    assert_eq!(code(&wrong), 2, "{}", said(&wrong));
}

#[test]
fn watch_shows_sessions_as_they_change() {
    let world = World::new();
    out(&world.exec(&["hello"]));
    let shown = world.lines(&["watch", "--json", "--times", "1"]);
    assert_eq!((shown.len(), shown[0]["status"].as_str()), (1, Some("ended")));
}

#[test]
fn the_agents_own_sessions_are_listed_adopted_and_deleted() {
    let world = World::new();
    out(&world.exec(&["hello"]));
    let own =
        || json_lines(out(&world.with_agent(&["sessions", "--json"]).output().expect("runs")).as_bytes());
    let sessions = own();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let id = sessions[0]["sessionId"].as_str().expect("an id").to_owned();

    // A journal that does not know it.
    std::fs::remove_dir_all(world.path("home")).expect("removed");
    let adopt = ["resume", &id, "go on", "--adopt", "--format", "quiet"];
    assert_eq!(
        out(&world.with_agent(&adopt).output().expect("runs")),
        "You said: go on\n"
    );
    let listed = world.lines(&["list", "--json"]);
    assert_eq!(
        (listed.len(), listed[0]["provider_session"].as_str()),
        (1, Some(&*id))
    );
    assert_eq!(
        world.lines(&["show", "last", "--json"]).len(),
        4,
        "the session, its turn, the prompt, the reply"
    );

    out(&world
        .with_agent(&["sessions", "--delete", &id])
        .output()
        .expect("runs"));
    assert_eq!(own().len(), 0);
    assert_eq!(
        world.lines(&["list", "--json"]).len(),
        1,
        "nothing of ours lands in the journal, and nothing is lost"
    );
}

#[test]
fn exec_and_resume_follow_the_settings_of_the_view_and_their_flags_go_before_them() {
    let world = World::new();
    let shown = |arguments: &[&str]| {
        let output = world.exec(arguments);
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let go_on = |arguments: &[&str]| {
        let output =
            world.run(&[&["resume", "last", "read it", "--policy", "allow-all"], arguments].concat());
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let read = ["read it", "--policy", "allow-all"];
    assert!(shown(&read).contains("Allow"), "the options are shown as usual");
    std::fs::write(
        world.path("config.toml"),
        "color = \"always\"\n[chat]\nfold = \"brief\"\n",
    )
    .expect("written");
    for text in [shown(&read), go_on(&[])] {
        assert!(text.contains('\u{1b}'), "{text}");
        assert!(!text.contains("▸"), "a line each: {text}");
    }
    let flags = ["--color", "auto", "--full"];
    for text in [shown(&[&read[..], &flags].concat()), go_on(&flags)] {
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("▸"), "{text}");
    }
}

#[test]
fn the_agent_is_named_by_a_flag_a_word_or_the_configuration() {
    let world = World::new();
    let own = env!("CARGO_BIN_EXE_tapline");
    let script = world.path("script.toml");
    let agents = format!("[agents.mine]\ncommand = [{own:?}, \"demo-agent\", {script:?}]\n");
    std::fs::write(world.path("agents.toml"), agents).expect("written");
    let quiet = |arguments: &[&str]| world.run(&[&["exec", "--format", "quiet"], arguments].concat());
    let words = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        words(&quiet(&["mine", "hello", "there"])),
        "You said: hello there\n"
    );
    assert_eq!(
        words(&quiet(&["--agent", "mine", "hello there"])),
        "You said: hello there\n"
    );

    let nobody = quiet(&["hello there"]);
    assert_eq!(nobody.status.code(), Some(2), "{}", said(&nobody));
    assert!(
        said(&nobody).contains("name an agent before the prompt"),
        "{}",
        said(&nobody)
    );
    std::fs::write(world.path("config.toml"), "agent = \"mine\"\n").expect("written");
    assert_eq!(words(&quiet(&["hello there"])), "You said: hello there\n");
    let sessions = world.run(&["sessions", "--all"]);
    assert_eq!(
        words(&sessions),
        "The agent keeps no session.\n",
        "{}",
        said(&sessions)
    );
}

#[test]
fn an_empty_prompt_is_refused_wherever_it_is_given() {
    let world = World::new();
    let empty = [
        world.exec(&["  "]),
        world.exec(&["-"]),
        world.run(&["send", "last", ""]),
        world.run(&["queue", "last", "more words"]),
    ];
    for output in &empty {
        assert_eq!(output.status.code(), Some(2), "{}", said(output));
    }
    assert!(said(&empty[0]).contains("the prompt is empty"));
    assert!(
        world.lines(&["list", "--json"]).is_empty(),
        "no agent was started for it"
    );
}

#[test]
fn what_cannot_be_set_or_stopped_is_said_in_words() {
    let world = World::new();
    let output = world.exec(&["hello", "--mode", "nowhere"]);
    assert_eq!(output.status.code(), Some(76), "{}", said(&output));
    assert!(
        said(&output).contains("the mode `nowhere` could not be set: "),
        "{}",
        said(&output)
    );
    let stop = world.run(&["stop", "last"]);
    assert_eq!(stop.status.code(), Some(1));
    assert!(
        said(&stop).contains("nothing runs in it that could be stopped"),
        "{}",
        said(&stop)
    );
    let send = world.run(&["send", "last", "hello"]);
    assert!(said(&send).contains("PROMPT` goes on with it"), "{}", said(&send));
}

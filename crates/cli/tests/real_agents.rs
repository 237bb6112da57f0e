//! Real agents under `tapline wrap`, against a scripted model on loopback: what `export` gives afterwards.
//!
//! Each agent is the program that people run, in the version that `real/<agent>/package.json` names, installed by
//! `tools/real-agents/install.sh`. What differs between them (launch, configuration, what they do not do) is data, in
//! `real/agents.json`; what the model says is `real/script.json`, and a prompt names its part with `SCENARIO:<word>`. The
//! conversation and what is asked of its timeline are the same for all.
//!
//! Without an agent its test says `skipped: …` and passes; under `TAPLINE_CI` it fails.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tapline_testkit::client::Talk;

/// How long one step may take: what stands still for so long is ended, and the test fails. Nothing waits for it else.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn grok_is_one_clean_story() {
    story("grok");
}

#[test]
fn codex_is_one_clean_story() {
    story("codex");
}

#[test]
fn claude_is_one_clean_story() {
    story("claude");
}

#[test]
fn opencode_is_one_clean_story() {
    story("opencode");
}

#[test]
fn pi_is_one_clean_story() {
    story("pi");
}

#[test]
fn gemini_is_one_clean_story() {
    story("gemini");
}

/// One agent of `agents.json`. `{agents}`, `{home}`, `{url}` and `{arch}` stand for the folder they are installed in, the
/// agent's home folder, the model's address, and the processor as npm names it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Agent {
    /// Folders that must be installed.
    needs: Vec<String>,
    /// Program and arguments.
    command: Vec<String>,
    /// Environment beside the few variables that all have.
    env: BTreeMap<String, String>,
    /// Files in its home folder.
    files: BTreeMap<String, String>,
    /// Parameters of `authenticate`, where it wants that.
    authenticate: Option<Value>,
    /// Whether it asks before it runs a command.
    #[serde(default = "yes")]
    asks: bool,
    /// Whether a finished command's output is on the wire.
    #[serde(default = "yes")]
    tells_output: bool,
    /// Whether a command that was refused is ever announced as a tool, beside the request.
    #[serde(default = "yes")]
    tells_refused: bool,
    /// How the turn ends in which a command was refused.
    #[serde(default = "completed")]
    refused_end: String,
    /// Whether the model hears of the refusal, and goes on.
    #[serde(default = "yes")]
    goes_on: bool,
    /// Whether a turn that failed reads as failed on the wire.
    #[serde(default = "yes")]
    tells_failures: bool,
    /// Whether a session can be loaded as soon as its process has ended.
    #[serde(default = "yes")]
    loads: bool,
    /// Whether it runs commands in the background, and wakes up when one ends.
    #[serde(default)]
    background: bool,
    /// The signal that ends it, where the end of its input does not.
    ends_at: Option<String>,
}

fn yes() -> bool {
    true
}

fn completed() -> String {
    "completed".to_owned()
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name)
}

fn read_data<T: for<'a> Deserialize<'a>>(name: &str) -> T {
    let text = std::fs::read_to_string(data(name)).expect("test data");
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The whole conversation with one agent, in two processes, and what its timeline must show after each.
fn story(name: &str) {
    let agent: Agent = read_data::<BTreeMap<String, Agent>>("agents.json").remove(name).expect("an agent of agents.json");
    let Some(world) = World::new(name, agent) else { return };

    let mut first = world.start();
    let made = first.call("session/new", json!({"cwd": world.project(), "mcpServers": []}));
    let session = made["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{name}: no session: {made}")).to_owned();
    first.prompt(&session, "hello", Answer::None);
    first.prompt(&session, "allow", Answer::Allow);
    if world.agent.asks {
        first.prompt(&session, "refuse", Answer::Reject);
    }
    first.stop_in_mid_stream(&session);
    first.prompt(&session, "fail", Answer::None);
    if world.agent.background {
        first.prompt(&session, "background", Answer::Allow);
        std::fs::write(world.project().join("go"), "").expect("written");
        let woken = |f: &Value| {
            let text = f.to_string();
            text.contains("\"turn_completed\"") && text.contains("task-completed-")
        };
        first.step("the turn that the end of the command begins");
        first.talk.until(woken).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    first.end(world.agent.ends_at.as_deref());
    let told = world.timeline();
    if std::env::var_os("TAPLINE_SHOW").is_some() {
        told.print();
    }

    told.nothing_runs();
    told.said("hello", 0);
    assert_eq!(told.turn("hello")["end"], "completed");
    world.allowed(&told);
    if world.agent.asks {
        world.refused(&told);
    }
    stopped(&told);
    world.failed(&told);
    if world.agent.background {
        background(&told);
    }

    if world.agent.loads {
        let mut second = world.start();
        let loaded = second.call("session/load", json!({"sessionId": session, "cwd": world.project(), "mcpServers": []}));
        assert!(loaded.get("result").is_some(), "{name}: {loaded}");
        second.prompt(&session, "again", Answer::None);
        second.end(world.agent.ends_at.as_deref());
        let reloaded = world.timeline();
        if std::env::var_os("TAPLINE_SHOW").is_some() {
            reloaded.print();
        }
        reloaded.nothing_runs();
        reloaded.goes_on_from(&told);
    }
    world.tapline(&["verify"]);
}

/// What the client says to a permission request.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    /// There is none to be answered.
    None,
    /// The option of kind `allow_once`.
    Allow,
    /// The option of kind `reject_once`.
    Reject,
}

/// Folders, the scripted model, and the agent's configuration.
struct World {
    name: String,
    agent: Agent,
    folder: tempfile::TempDir,
    agents: PathBuf,
    model: Child,
    url: String,
}

impl World {
    /// Nothing, with a line that says so, where the agent is not installed.
    fn new(name: &str, agent: Agent) -> Option<Self> {
        let cache = std::env::var_os("TAPLINE_AGENTS").map(PathBuf::from);
        let agents = cache.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache/tapline-agents")))?;
        let node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let absent = agent.needs.iter().find(|n| !agents.join(n).join("node_modules").is_dir());
        let why = match (node, absent) {
            (Err(_), _) => "there is no `node`".to_owned(),
            (_, Some(absent)) => format!("{absent} is not in {}; tools/real-agents/install.sh puts it there", agents.display()),
            (Ok(_), None) => return Some(Self::ready(name, agent, agents)),
        };
        assert!(std::env::var_os("TAPLINE_CI").is_none(), "the real {name} cannot run: {why}");
        // Past the test's captured output: a test that did nothing is to be seen.
        let line = format!("skipped: the real {name}: {why}\n");
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).expect("written");
        None
    }

    fn ready(name: &str, agent: Agent, agents: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for inner in ["home", "project", "journal", "tmp"] {
            std::fs::create_dir(folder.path().join(inner)).expect("made");
        }
        let mut model = Command::new("node")
            .arg(data("fake-model.mjs"))
            .arg(data("script.json"))
            .arg(folder.path().join("model.log"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        let mut line = String::new();
        BufReader::new(model.stdout.take().expect("a pipe")).read_line(&mut line).expect("read");
        let port = line.trim().strip_prefix("LISTENING ").unwrap_or_else(|| panic!("the model says: {line:?}"));
        let url = format!("http://127.0.0.1:{port}");
        let world = Self { name: name.to_owned(), agent, folder, agents, model, url };
        for (path, text) in &world.agent.files {
            let path = world.home().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, world.fill(text)).expect("written");
        }
        for file in ["allowed.txt", "refused.txt"] {
            std::fs::write(world.project().join(file), "A file to be removed.\n").expect("written");
        }
        world
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn fill(&self, text: &str) -> String {
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        text.replace("{agents}", &self.agents.to_string_lossy())
            .replace("{arch}", arch)
            .replace("{home}", &self.home().to_string_lossy())
            .replace("{url}", &self.url)
    }

    /// The `tapline` command, in an environment that has nothing of the machine's own: no key, no address, no proxy.
    fn command(&self, arguments: &[&str]) -> Command {
        let node = std::fs::read_dir(self.agents.join("node/node_modules")).into_iter().flatten().flatten();
        let mut path: Vec<PathBuf> = node.map(|e| e.path().join("bin")).filter(|p| p.join("node").is_file()).collect();
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::join_paths(path).expect("a path"))
            .env("HOME", self.home())
            .env("TMPDIR", self.folder.path().join("tmp"))
            .env("TAPLINE_HOME", self.folder.path().join("journal"))
            .env("LANG", "C.UTF-8")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("NO_COLOR", "1")
            .current_dir(self.project());
        command
    }

    /// What a command of `tapline` prints; it must succeed.
    fn tapline(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).stdin(Stdio::null()).output().expect("tapline runs");
        let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}: {arguments:?}: {}: {printed}{errors}", self.name, output.status);
        printed.into_owned()
    }

    /// The agent under `wrap`, greeted.
    fn start(&self) -> Client {
        let mut command = self.command(&["wrap", "--"]);
        command.args(self.agent.command.iter().map(|a| self.fill(a)));
        command.envs(self.agent.env.iter().map(|(k, v)| (k, self.fill(v))));
        let errors = std::fs::File::create(self.folder.path().join("stderr")).expect("made");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).spawn().expect("starts");
        let talk = Talk::new(child.stdout.take().expect("a pipe"), child.stdin.take().expect("a pipe"));
        let mut client = Client { name: self.name.clone(), talk, watch: Watch::new(child.id()), child };
        let answer = client.call("initialize", json!({
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "tapline-test", "version": "1"},
        }));
        assert!(answer.get("result").is_some(), "{}: {answer}", self.name);
        if let Some(params) = &self.agent.authenticate {
            client.call("authenticate", params.clone());
        }
        client
    }

    /// The one session of the journal, as `export` gives it.
    fn timeline(&self) -> Timeline {
        let list = self.tapline(&["list", "--json"]);
        let sessions: Vec<Value> = list.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        assert_eq!(sessions.len(), 1, "{}: {list}", self.name);
        assert_eq!(sessions[0]["status"], "ended", "{}", self.name);
        let id = sessions[0]["id"].as_str().expect("an id");
        let exported = self.tapline(&["export", id]);
        let rows = exported.lines().map(|l| serde_json::from_str(l).expect("JSON"));
        let rows = rows.filter(|r: &Value| r["kind"] != "session").collect();
        Timeline { agent: self.name.clone(), rows, script: read_data("script.json") }
    }

    /// A command that was allowed ran, once, and its row says by whose leave and with what outcome.
    fn allowed(&self, told: &Timeline) {
        let tool = told.only("allow", "tool");
        let asked = if self.agent.asks { "asked_allowed" } else { "not_asked" };
        assert_eq!(tool["authorization"], asked, "{}: {tool}", self.name);
        assert_eq!(tool["state"], "completed", "{}: {tool}", self.name);
        let output = json!([tool["content"], tool["output"], tool["result"]]).to_string();
        assert_eq!(output.contains("said-by-the-tool"), self.agent.tells_output, "{}: {tool}", self.name);
        assert!(!self.project().join("allowed.txt").exists(), "{}: the command ran", self.name);
        assert_eq!(told.of("allow", "request").len(), usize::from(self.agent.asks), "{}", self.name);
        if self.agent.asks {
            let request = told.only("allow", "request");
            assert_eq!((&request["state"], &request["outcome"]), (&json!("settled"), &json!("allowed")), "{request}");
            assert_eq!(request["tool"], tool["id"], "{}", self.name);
        }
        assert_eq!(told.turn("allow")["end"], "completed");
        told.said("allow", 0);
        told.said("allow", 1);
    }

    /// A command that was refused never ran, and its row says so.
    fn refused(&self, told: &Timeline) {
        let tools = told.of("refuse", "tool");
        assert_eq!(tools.len(), usize::from(self.agent.tells_refused), "{}: {tools:?}", self.name);
        for tool in tools {
            assert_eq!(tool["authorization"], "asked_rejected", "{}: {tool}", self.name);
            assert_eq!(tool["state"], "rejected", "{}: {tool}", self.name);
        }
        assert!(self.project().join("refused.txt").exists(), "{}: the command ran", self.name);
        let request = told.only("refuse", "request");
        assert_eq!((&request["state"], &request["outcome"]), (&json!("settled"), &json!("rejected")), "{request}");
        assert_eq!(told.turn("refuse")["end"], *self.agent.refused_end, "{}", self.name);
        told.said("refuse", 0);
        if self.agent.goes_on {
            told.said("refuse", 1);
        }
    }

    /// A failed turn has one row that says why, in the model's words.
    fn failed(&self, told: &Timeline) {
        let turn = told.turn("fail");
        if !self.agent.tells_failures {
            assert_eq!(turn["end"], "completed", "{}: it tells of failures now: {turn}", self.name);
            return;
        }
        assert_eq!(turn["end"], "failed", "{}: {turn}", self.name);
        let error = told.of("fail", "status").into_iter().filter(|r| r["tone"] == "error").collect::<Vec<_>>();
        assert_eq!(error.len(), 1, "{}: {error:?}", self.name);
        let words = told.script["fail"][0][0]["message"].as_str().expect("words");
        assert!(error[0]["text"].as_str().is_some_and(|t| t.contains(words)), "{}: {}", self.name, error[0]);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for log in ["model.log", "stderr"] {
                let text = std::fs::read_to_string(self.folder.path().join(log)).unwrap_or_default();
                eprintln!("{}, {log}:\n{}", self.name, text.lines().map(|l| l.chars().take(400).collect::<String>() + "\n").collect::<String>());
            }
        }
        let _ = self.model.kill();
        let _ = self.model.wait();
    }
}

/// The client of one agent process.
struct Client {
    name: String,
    talk: Talk<ChildStdout, ChildStdin>,
    watch: Watch,
    child: Child,
}

impl Client {
    /// Says what comes next, for the case that it never does.
    fn step(&self, what: &str) {
        self.watch.step(format!("{}: {what}", self.name));
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.step(method);
        self.talk.call(method, params).unwrap_or_else(|e| panic!("{}: {method}: {e}", self.name))
    }

    /// Sends a prompt, answers what the agent asks, and reads to the end of the turn.
    fn prompt(&mut self, session: &str, scenario: &str, say: Answer) {
        let id = self.send_prompt(session, scenario);
        self.until_answer(id, scenario, say);
    }

    fn send_prompt(&mut self, session: &str, scenario: &str) -> u64 {
        self.step(scenario);
        let words = format!("Please do your part. SCENARIO:{scenario}");
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": words}]});
        self.talk.request("session/prompt", params).expect("sent")
    }

    fn until_answer(&mut self, id: u64, scenario: &str, say: Answer) {
        loop {
            let frame = self.talk.frame().unwrap_or_else(|e| panic!("{}: {scenario}: {e}", self.name));
            let frame = frame.unwrap_or_else(|| panic!("{}: {scenario}: the agent ended", self.name));
            match frame["method"].as_str() {
                None if frame["id"] == id => return,
                Some(method) if frame.get("id").is_some() => self.reply(&frame, method, say),
                _ => {}
            }
        }
    }

    fn reply(&mut self, request: &Value, method: &str, say: Answer) {
        let sent = if method == "session/request_permission" {
            let kind = match say {
                Answer::None => panic!("{}: asks unexpectedly: {request}", self.name),
                Answer::Allow => "allow_once",
                Answer::Reject => "reject_once",
            };
            let options = request["params"]["options"].as_array().expect("options");
            let option = options.iter().find(|o| o["kind"] == kind);
            let option = option.unwrap_or_else(|| panic!("{}: no option of kind {kind}: {request}", self.name));
            self.talk.answer(request, json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}}))
        } else {
            let error = json!({"code": -32601, "message": "Method not found"});
            self.talk.send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
        };
        sent.expect("sent");
    }

    /// Cancels a turn once its words have begun. The model would go on for ever.
    fn stop_in_mid_stream(&mut self, session: &str) {
        let id = self.send_prompt(session, "slow");
        let begun = |f: &Value| {
            let update = &f["params"]["update"];
            update["sessionUpdate"] == "agent_message_chunk"
                && update["content"]["text"].as_str().is_some_and(|t| t.contains("Once"))
        };
        self.talk.until(begun).unwrap_or_else(|e| panic!("{}: slow: {e}", self.name));
        self.talk.notify("session/cancel", json!({"sessionId": session})).expect("sent");
        self.until_answer(id, "slow", Answer::None);
    }

    /// Ends the agent as an editor does: its input, and where that does not do, a signal.
    fn end(mut self, signal: Option<&str>) {
        self.step("its end");
        self.talk.close();
        if let Some(signal) = signal {
            send_signal(signal, self.child.id());
        }
        self.talk.rest().expect("read");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Client {
    /// `wrap` ends the agent when it dies itself.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send_signal(signal: &str, process: u32) {
    let name = signal.trim_start_matches("SIG");
    let _ = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
}

/// Ends a process whose next step does not come. A blocking reader then sees the end of its pipe, and the test fails.
struct Watch {
    steps: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    fn new(process: u32) -> Self {
        let (steps, coming) = channel();
        let thread = std::thread::spawn(move || watch(&coming, process));
        Self { steps: Some(steps), thread: Some(thread) }
    }

    fn step(&self, what: String) {
        if let Some(steps) = &self.steps {
            let _ = steps.send(what);
        }
    }
}

fn watch(coming: &Receiver<String>, process: u32) {
    let mut now = "its start".to_owned();
    loop {
        match coming.recv_timeout(PATIENCE) {
            Ok(next) => now = next,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                eprintln!("{now}: nothing came for {} s", PATIENCE.as_secs());
                return send_signal("SIGKILL", process);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.steps = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The rows of a session, and what was to be said in it.
struct Timeline {
    agent: String,
    rows: Vec<Value>,
    script: Value,
}

impl Timeline {
    /// All rows on standard error, for whoever works on a dialect (`TAPLINE_SHOW`).
    fn print(&self) {
        for row in &self.rows {
            eprintln!("{}: {}", self.agent, row.to_string().chars().take(900).collect::<String>());
        }
    }

    /// The turn that a scenario's prompt began.
    fn turn(&self, scenario: &str) -> &Value {
        let word = format!("SCENARIO:{scenario}");
        let asked = |r: &&Value| r["kind"] == "user" && r["text"].as_str().is_some_and(|t| t.ends_with(&word));
        let users: Vec<&Value> = self.rows.iter().filter(asked).collect();
        assert_eq!(users.len(), 1, "{}: one row for the prompt of {scenario}: {users:?}", self.agent);
        let turn = self.rows.iter().find(|r| r["kind"] == "turn" && r["id"] == users[0]["turn"]);
        turn.unwrap_or_else(|| panic!("{}: no turn for {scenario}: {}", self.agent, users[0]))
    }

    /// Rows of a kind in a scenario's turn.
    fn of(&self, scenario: &str, kind: &str) -> Vec<&Value> {
        let turn = &self.turn(scenario)["id"];
        self.rows.iter().filter(|r| r["kind"] == kind && r["turn"] == *turn).collect()
    }

    /// The only row of a kind in a scenario's turn.
    fn only(&self, scenario: &str, kind: &str) -> &Value {
        let rows = self.of(scenario, kind);
        assert_eq!(rows.len(), 1, "{}: one {kind} in {scenario}: {rows:?}", self.agent);
        rows[0]
    }

    /// The script's words stand in the timeline once, whole, in their turn.
    fn said(&self, scenario: &str, step: usize) {
        let words = self.script[scenario][step][0]["text"].as_str().expect("words");
        let own = self.of(scenario, "assistant");
        assert_eq!(own.iter().filter(|r| r["text"] == words).count(), 1, "{}: {words:?} in {own:?}", self.agent);
        let everywhere: usize = self.texts().map(|t| t.matches(words).count()).sum();
        assert_eq!(everywhere, 1, "{}: {words:?}", self.agent);
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|r| r["text"].as_str())
    }

    /// After the end of the process nothing is under way.
    fn nothing_runs(&self) {
        for row in &self.rows {
            let state = row["state"].as_str().unwrap_or_default();
            assert!(!["open", "running", "pending"].contains(&state), "{}: {row}", self.agent);
            assert!(row["kind"] != "turn" || row["end"].is_string(), "{}: {row}", self.agent);
            assert_ne!(row["kind"], "unknown", "{}: {row}", self.agent);
        }
    }

    /// A load adds no row and changes none; the prompt after it is a turn like any other.
    fn goes_on_from(&self, before: &Timeline) {
        let turn = self.turn("again");
        assert_eq!(turn["end"], "completed", "{}", self.agent);
        self.said("again", 0);
        let told = |r: &Value| json!([r["id"], r["seq"], r["kind"], r["turn"], r["text"], r["state"], r["end"], r["content"], r["output"]]);
        for (old, new) in before.rows.iter().zip(&self.rows) {
            assert_eq!(told(old), told(new), "{}", self.agent);
        }
        for row in &self.rows[before.rows.len()..] {
            assert!(row["turn"] == turn["id"] || row["id"] == turn["id"], "{}: the load added {row}", self.agent);
        }
    }
}

/// A turn that was stopped says so, keeps the words that came, and has no error.
fn stopped(told: &Timeline) {
    let turn = told.turn("slow");
    assert_eq!(turn["end"], "stopped", "{}: {turn}", told.agent);
    let words = told.script["slow"][0][0]["text"].as_str().expect("words");
    let begun = |r: &&&Value| r["text"].as_str().is_some_and(|t| !t.is_empty() && words.starts_with(t));
    let said = told.of("slow", "assistant");
    assert_eq!(said.iter().filter(begun).count(), 1, "{}: {said:?}", told.agent);
    let errors = told.of("slow", "status").into_iter().filter(|r| r["tone"] == "error").count();
    assert_eq!(errors, 0, "{}", told.agent);
}

/// A background command is one task under the tool that started it; it ends after its turn, and its end begins a turn of
/// the agent's own.
fn background(told: &Timeline) {
    let tool = told.only("background", "tool");
    let tasks: Vec<&Value> = told.rows.iter().filter(|r| r["kind"] == "task").collect();
    assert_eq!(tasks.len(), 1, "{}: {tasks:?}", told.agent);
    let task = tasks[0];
    assert_eq!(task["parent"], tool["id"], "{}", told.agent);
    assert_eq!(task["turn"], told.turn("background")["id"], "{}", told.agent);
    assert_eq!((&task["state"], &task["exit_code"]), (&json!("completed"), &json!(0)), "{}: {task}", told.agent);
    assert_eq!(task["task_kind"], "command", "{}", told.agent);
    assert_eq!(told.turn("background")["end"], "completed", "{}", told.agent);
    told.said("background", 0);
    told.said("background", 1);

    let own: Vec<&Value> = told.rows.iter().filter(|r| r["kind"] == "turn" && r["origin"] == "agent").collect();
    assert_eq!(own.len(), 1, "{}: {own:?}", told.agent);
    assert_eq!(own[0]["end"], "completed", "{}", told.agent);
    let words = told.script["wake"][0][0]["text"].as_str().expect("words");
    let said = told.rows.iter().filter(|r| r["kind"] == "assistant" && r["text"] == words && r["turn"] == own[0]["id"]);
    assert_eq!(said.count(), 1, "{}", told.agent);
}

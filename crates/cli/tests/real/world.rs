//! An agent's surroundings: folders of its own, the scripted model, its configuration, and `tapline`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::Client;
use crate::timeline::Timeline;

/// One agent of `agents.json`. `{agents}`, `{home}`, `{url}` and `{arch}` stand for the folder they are installed in, the
/// agent's home folder, the model's address, and the processor as npm names it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agent {
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
    pub(crate) asks: bool,
    /// Whether a finished command's output is on the wire.
    #[serde(default = "yes")]
    pub(crate) tells_output: bool,
    /// Whether a command that was refused is ever announced as a tool, beside the request.
    #[serde(default = "yes")]
    pub(crate) tells_refused: bool,
    /// How the turn ends in which a command was refused.
    #[serde(default = "completed")]
    pub(crate) refused_end: String,
    /// Whether the model hears of the refusal, and goes on.
    #[serde(default = "yes")]
    pub(crate) goes_on: bool,
    /// Whether a turn that failed reads as failed on the wire.
    #[serde(default = "yes")]
    pub(crate) tells_failures: bool,
    /// The words of a turn that failed since the model answered 500: the model's own, or these; `never` where the model is
    /// asked again for minutes.
    pub(crate) broken: Option<String>,
    /// What can be set.
    #[serde(default)]
    pub(crate) sets: Vec<Setting>,
    /// Whether a session can be loaded as soon as its process has ended.
    #[serde(default = "yes")]
    pub(crate) loads: bool,
    /// It loads a session only in another minute of the clock than the one in which it began.
    #[serde(default)]
    pub(crate) loads_in_another_minute: bool,
    /// Whether it runs commands in the background, and wakes up when one ends.
    #[serde(default)]
    pub(crate) background: bool,
    /// The signal that ends it, where the end of its input does not.
    pub(crate) ends_at: Option<String>,
}

/// Something that can be set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    /// What is wanted, as a `set_option` intent has it.
    pub(crate) payload: Value,
    /// Where it then shows: `mode`, `model`, or the id of an option.
    pub(crate) shows: String,
    /// What it is then.
    pub(crate) reads: String,
}

fn yes() -> bool {
    true
}

fn completed() -> String {
    "completed".to_owned()
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/real")
        .join(name)
}

pub(crate) fn read_data<T: for<'a> Deserialize<'a>>(name: &str) -> T {
    let text = std::fs::read_to_string(data(name)).expect("test data");
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Folders, the scripted model, and the agent's configuration.
pub(crate) struct World {
    pub(crate) name: String,
    pub(crate) agent: Agent,
    folder: tempfile::TempDir,
    agents: PathBuf,
    model: Child,
    url: String,
}

impl World {
    /// Nothing, with a line that says so, where the agent is not installed.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let mut all: BTreeMap<String, Agent> = read_data("agents.json");
        let agent = all.remove(name).expect("an agent of agents.json");
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        let agents = std::env::var_os("TAPLINE_AGENTS")
            .map_or_else(|| home().join(".cache/tapline-agents"), PathBuf::from);
        let node = Command::new("node")
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let absent = agent
            .needs
            .iter()
            .find(|n| !agents.join(n).join("node_modules").is_dir());
        let why = match (node, absent) {
            (Err(_), _) => "there is no `node`".to_owned(),
            (_, Some(absent)) => format!(
                "{absent} is not in {}; tools/real-agents/install.sh puts it there",
                agents.display()
            ),
            (Ok(_), None) => return Some(Self::ready(name, agent, agents)),
        };
        assert!(
            std::env::var_os("TAPLINE_CI").is_none(),
            "the real {name} cannot run: {why}"
        );
        // Past the test's captured output: a test that did nothing is to be seen.
        let line = format!("skipped: the real {name}: {why}\n");
        std::io::stderr().write_all(line.as_bytes()).expect("written");
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
        BufReader::new(model.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("read");
        let port = line
            .trim()
            .strip_prefix("LISTENING ")
            .unwrap_or_else(|| panic!("the model says: {line:?}"));
        let url = format!("http://127.0.0.1:{port}");
        let world = Self {
            name: name.to_owned(),
            agent,
            folder,
            agents,
            model,
            url,
        };
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

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn fill(&self, text: &str) -> String {
        let arch = if cfg!(target_arch = "aarch64") {
            "arm64"
        } else {
            "x64"
        };
        text.replace("{agents}", &self.agents.to_string_lossy())
            .replace("{arch}", arch)
            .replace("{home}", &self.home().to_string_lossy())
            .replace("{url}", &self.url)
    }

    /// The `tapline` command, in an environment that has nothing of the machine's own: no key, no address, no proxy.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
        command
            .args(arguments)
            .env_clear()
            .envs(self.surroundings())
            .env("TAPLINE_HOME", self.journal())
            .current_dir(self.project());
        command
    }

    /// Where the journal is.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    /// The variables that every program here gets.
    pub(crate) fn surroundings(&self) -> Vec<(String, String)> {
        let node = std::fs::read_dir(self.agents.join("node/node_modules"))
            .into_iter()
            .flatten()
            .flatten();
        let mut path: Vec<PathBuf> = node
            .map(|e| e.path().join("bin"))
            .filter(|p| p.join("node").is_file())
            .collect();
        path.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        let path = std::env::join_paths(path).expect("a path");
        let own = |path: PathBuf| path.to_string_lossy().into_owned();
        [
            ("PATH", path.to_string_lossy().into_owned()),
            ("HOME", own(self.home())),
            ("TMPDIR", own(self.folder.path().join("tmp"))),
            ("LANG", "C.UTF-8".to_owned()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("NO_COLOR", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// The agent's program and arguments.
    pub(crate) fn words(&self) -> Vec<String> {
        self.agent.command.iter().map(|word| self.fill(word)).collect()
    }

    /// The agent's own variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.agent
            .env
            .iter()
            .map(|(name, value)| (name.clone(), self.fill(value)))
    }

    /// What a command of `tapline` prints; it must succeed.
    pub(crate) fn tapline(&self, arguments: &[&str]) -> String {
        self.tapline_with(arguments, [])
    }

    /// As [`World::tapline`], with more variables.
    pub(crate) fn tapline_with(
        &self,
        arguments: &[&str],
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> String {
        let output = self
            .command(arguments)
            .envs(variables)
            .stdin(Stdio::null())
            .output()
            .expect("tapline runs");
        let (printed, errors) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(
            output.status.success(),
            "{}: {arguments:?}: {}: {printed}{errors}",
            self.name,
            output.status
        );
        printed.into_owned()
    }

    /// The agent under `wrap`, greeted.
    pub(crate) fn start(&self) -> Client {
        let mut command = self.command(&["wrap", "--"]);
        command.args(self.words()).envs(self.variables());
        let errors = std::fs::File::create(self.folder.path().join("stderr")).expect("made");
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("starts");
        let mut client = Client::new(&self.name, child);
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
    pub(crate) fn timeline(&self) -> Timeline {
        let list = self.tapline(&["list", "--json"]);
        let sessions: Vec<Value> = list
            .lines()
            .map(|l| serde_json::from_str(l).expect("JSON"))
            .collect();
        assert_eq!(sessions.len(), 1, "{}: {list}", self.name);
        assert_eq!(sessions[0]["status"], "ended", "{}", self.name);
        let id = sessions[0]["id"].as_str().expect("an id");
        let exported = self.tapline(&["export", id]);
        let rows = exported.lines().map(|l| serde_json::from_str(l).expect("JSON"));
        let rows = rows.filter(|r: &Value| r["kind"] != "session").collect();
        Timeline {
            agent: self.name.clone(),
            rows,
            script: read_data("script.json"),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for log in ["model.log", "stderr"] {
                let text = std::fs::read_to_string(self.folder.path().join(log)).unwrap_or_default();
                eprintln!(
                    "{}, {log}:\n{}",
                    self.name,
                    text.lines()
                        .map(|l| l.chars().take(400).collect::<String>() + "\n")
                        .collect::<String>()
                );
            }
        }
        let _ = self.model.kill();
        let _ = self.model.wait();
    }
}

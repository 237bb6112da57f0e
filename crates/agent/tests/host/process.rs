//! Processes of their own: a host that can be killed and measured, and somebody who wants something of a session.

use std::io::{BufRead, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tapline_journal::IntentId;
use tapline_timeline::SessionId;

use crate::rig::{Rig, built};

/// The variable that marks every process of one host, so that what is left of it can be found.
const MARK: &str = "TAPLINE_TEST_MARK";

/// A `tapline-host` that runs.
pub(crate) struct HostProcess {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) mark: String,
}

impl HostProcess {
    /// Starts one, for the session and the agent's id of it or a new one, and waits until its agent runs.
    pub(crate) fn start(rig: &Rig, resume: Option<(&SessionId, &str)>, agent: &[String]) -> Self {
        let mark = uuid::Uuid::now_v7().simple().to_string();
        let mut command = Command::new(built("tapline-host"));
        command.arg(rig.dir.path().join("home")).arg(rig.cwd());
        if let Some((session, provider)) = resume {
            command.arg("--resume").arg(session.as_str()).arg(provider);
        }
        let mut child = command
            .arg("--")
            .args(agent)
            .env(MARK, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the host starts");
        let input = child.stdin.take();
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("text");
        assert!(first.starts_with("agent "), "it said {first}");
        Self {
            child,
            input,
            lines,
            mark,
        }
    }

    /// Waits until its session has begun.
    pub(crate) fn session(&mut self) -> SessionId {
        let line = self.lines.next().expect("a line").expect("text");
        let id = line.strip_prefix("session ");
        SessionId::from(id.unwrap_or_else(|| panic!("it said {line}")))
    }

    /// Ends it in order; gives the most memory that it ever had, in KiB, where the system tells.
    pub(crate) fn close(mut self) -> Option<u64> {
        drop(self.input.take());
        let mut peak = None;
        let mut over = false;
        for line in self.lines.by_ref().map_while(Result::ok) {
            if let Some(kib) = line.strip_prefix("peak ") {
                peak = kib.parse().ok();
            }
            over |= line == "over";
            assert!(!line.starts_with("trouble"), "{line}");
        }
        assert!(self.child.wait().expect("it ends").success() && over);
        peak
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

/// Whoever forgets one leaves none.
impl Drop for HostProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A `tapline-post` that runs.
pub(crate) struct Poster {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Poster {
    /// Starts one that wants things of a session in somebody's name.
    pub(crate) fn start(rig: &Rig, session: &SessionId, by: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tapline-post"))
            .arg(rig.home())
            .args([session.as_str(), by])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, to, from }
    }

    /// Has it post an intent at once; [`Poster::posted`] says which it was.
    pub(crate) fn post(&mut self, kind: &str, payload: &Value) {
        let line = json!({ "kind": kind, "payload": payload });
        writeln!(self.to, "{line}").expect("it listens");
    }

    /// The next intent that it posted.
    pub(crate) fn posted(&mut self) -> IntentId {
        let line = self.from.next().expect("it says more").expect("text");
        IntentId(line.parse().expect("a number"))
    }
}

impl Drop for Poster {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes that were started by a host, and their children; where the system lists them.
pub(crate) fn left(mark: &str) -> Vec<u32> {
    let entry = format!("{MARK}={mark}");
    let Ok(all) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    all.filter_map(|process| process.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            // One that has ended and waits to be reaped has none.
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == entry.as_bytes())
        })
        .collect()
}

impl Rig {
    /// The command of the scripted agent with this scenario.
    pub(crate) fn scripted(&self, scenario: &str) -> Vec<String> {
        let options = self.options(scenario);
        let word = |word: &std::ffi::OsString| word.to_str().expect("UTF-8").to_owned();
        let launch = options.launch;
        std::iter::once(word(&launch.program))
            .chain(launch.args.iter().map(word))
            .collect()
    }
}

//! Other processes: this test binary, started again for one job.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tapline_agent::catalogue::Launch;
use tapline_agent::host::{HostOptions, Hosted};
use tapline_journal::{Home, IntentId, Journal, SqliteJournal};
use tapline_timeline::SessionId;

use crate::rig::{LONG, Rig, guard, post};

/// The variable that says what a process is for, as JSON.
const JOB: &str = "TAPLINE_HOST_TEST_JOB";

/// What begins a line that is for the one who started the process.
const MARK: &str = "@ ";

/// A process with a job.
pub(crate) struct Process {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(job: &Value) -> Self {
        let program = std::env::current_exe().expect("this test binary");
        let mut child = Command::new(program)
            .args([
                "child::a_job_of_another_test",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(JOB, job.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, to, from }
    }

    /// One that posts what it is told to.
    pub(crate) fn poster(rig: &Rig, session: &SessionId, by: &str) -> Self {
        Self::start(&json!({ "job": "post", "home": rig.home(), "session": session, "by": by }))
    }

    /// One that hosts a session until it is killed, and the session.
    pub(crate) fn host(rig: &Rig, options: &HostOptions) -> (Self, SessionId) {
        let words = std::iter::once(&options.launch.program).chain(&options.launch.args);
        let command: Vec<&str> = words.map(|word| word.to_str().expect("UTF-8")).collect();
        let mut process =
            Self::start(&json!({ "job": "host", "home": rig.home(), "cwd": rig.cwd(), "command": command }));
        let session = process.hear();
        (process, SessionId::from(session))
    }

    /// Has it post an intent at once; [`Process::posted`] says which it was.
    pub(crate) fn post(&mut self, kind: &str, payload: &Value) {
        let line = json!({ "kind": kind, "payload": payload });
        writeln!(self.to, "{line}").expect("it listens");
    }

    /// The next intent that it posted.
    pub(crate) fn posted(&mut self) -> IntentId {
        IntentId(self.hear().parse().expect("a number"))
    }

    fn hear(&mut self) -> String {
        loop {
            let line = self.from.next().expect("it says more").expect("text");
            // The test harness begins the line that it writes before the job.
            if let Some((_, said)) = line.split_once(MARK) {
                return said.to_owned();
            }
        }
    }

    /// Ends it by SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "it is a job that other tests give to a process of its own"]
fn a_job_of_another_test() {
    let Ok(job) = std::env::var(JOB) else { return };
    let job: Value = serde_json::from_str(&job).expect("a job");
    let home = Home::at(PathBuf::from(job["home"].as_str().expect("a home")));
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(&home).expect("a journal"));
    match job["job"].as_str() {
        Some("post") => {
            let session = SessionId::from(job["session"].as_str().expect("a session"));
            let by = job["by"].as_str().expect("a name");
            for line in std::io::stdin().lines() {
                let line: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
                let kind = line["kind"].as_str().expect("a kind");
                let id = post(&*journal, &session, kind, line["payload"].clone(), by);
                println!("{MARK}{id}");
            }
        }
        Some("host") => {
            let words = job["command"].as_array().expect("a command").iter();
            let words = words.map(|word| word.as_str().expect("a word"));
            let launch = Launch::from_words(words).expect("a command");
            let cwd = PathBuf::from(job["cwd"].as_str().expect("a folder"));
            let mut options = HostOptions::new("scripted", launch, cwd);
            options.guard = Some(guard());
            let hosted = Hosted::start(journal, options).expect("it starts");
            println!("{MARK}{}", hosted.session(LONG).expect("it begins"));
            for _ in std::io::stdin().lines() {}
        }
        other => panic!("no job: {other:?}"),
    }
}

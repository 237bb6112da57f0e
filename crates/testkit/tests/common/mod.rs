//! A scripted agent as a process, with a watchdog.
#![allow(dead_code, unreachable_pub)]

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tapline_testkit::Status;

/// A safety net only: no test waits for it unless it fails.
const WATCHDOG: Duration = Duration::from_secs(60);

pub struct Agent {
    child: Child,
    errors: Option<JoinHandle<String>>,
    /// Dropped when the agent has ended, which calls the watchdog off.
    _alive: Sender<()>,
}

impl Agent {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-agent"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the scripted agent starts");
        let mut stderr = child.stderr.take().expect("it is piped");
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).expect("standard error is readable");
            String::from_utf8_lossy(&text).into_owned()
        });
        let (alive, ended) = channel::<()>();
        let pid = child.id();
        thread::spawn(move || {
            if ended.recv_timeout(WATCHDOG) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                kill(pid, rustix::process::Signal::KILL);
            }
        });
        Self {
            child,
            errors: Some(errors),
            _alive: alive,
        }
    }

    pub fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("the input is taken once")
    }

    pub fn output(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("the output is taken once")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn running(&mut self) -> bool {
        self.child.try_wait().expect("the child can be asked").is_none()
    }

    /// Waits for the end of the process without reading its standard error to the end.
    pub fn wait(&mut self) -> Status {
        let status = self.child.wait().expect("the child can be waited for");
        match (status.code(), status.signal()) {
            (Some(code), _) => Status::Code(code),
            (None, signal) => Status::Signal(signal.expect("a process ends by a code or a signal")),
        }
    }

    /// Waits for the end, and returns it with all of standard error.
    pub fn end(mut self) -> (Status, String) {
        drop(self.child.stdin.take());
        let status = self.wait();
        let errors = self
            .errors
            .take()
            .expect("it is read once")
            .join()
            .expect("the reader does not panic");
        (status, errors)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn kill(pid: u32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Every `.jsonl` file below a folder of the fixtures, sorted.
pub fn fixtures(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(folder);
    let mut folders = vec![root];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the fixtures are there") {
            let path = entry.expect("the folder is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

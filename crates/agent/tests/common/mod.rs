//! A wrapped agent as a process, with a watchdog.
#![allow(dead_code, unreachable_pub)]

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tapline_agent::wrap::End;

/// A safety net only: no test waits for it unless it fails.
const WATCHDOG: Duration = Duration::from_secs(120);

pub struct Wrapped {
    pub child: Child,
    errors: Option<JoinHandle<Vec<u8>>>,
    /// Dropped when it has ended, which calls the watchdog off.
    _alive: Sender<()>,
}

impl Wrapped {
    /// Wraps a command.
    pub fn start(command: &[&str]) -> Self {
        Self::start_with(command, &[])
    }

    /// Wraps a command, with these variables set.
    pub fn start_with(command: &[&str], variables: &[(&str, &str)]) -> Self {
        start_with_default_signals();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tapline-wrap"))
            .args(command)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the wrapper starts");
        let (alive, ended) = channel::<()>();
        let pid = child.id();
        thread::spawn(move || {
            if ended.recv_timeout(WATCHDOG) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                kill(pid, Signal::KILL);
            }
        });
        let errors = child.stderr.take().map(read_all);
        Self {
            child,
            errors,
            _alive: alive,
        }
    }

    /// Wraps a line of shell.
    pub fn shell(line: &str) -> Self {
        Self::start(&["sh", "-c", line])
    }

    pub fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("the input is taken once")
    }

    pub fn output(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("the output is taken once")
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.child.id(), signal);
    }

    /// Waits for the end.
    pub fn wait(&mut self) -> End {
        let status = self.child.wait().expect("the child can be waited for");
        match (status.code(), status.signal()) {
            (Some(code), _) => End::Code(code),
            (None, signal) => End::Signal(signal.expect("a process ends by a code or a signal")),
        }
    }

    /// Waits for the end, and returns it with all of standard error.
    pub fn end(mut self) -> (End, Vec<u8>) {
        drop(self.child.stdin.take());
        let end = self.wait();
        let errors = self.errors.take().expect("it is read once");
        (end, errors.join().expect("the reader does not panic"))
    }
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whoever started the tests may ignore signals (`nohup`, a shell's background), and what is ignored stays so in all
/// children; what is handled does not.
fn start_with_default_signals() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            let always = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
            signal_hook::flag::register_conditional_default(signal, always)
                .expect("these signals can be handled");
        }
    });
}

/// Reads to the end on a thread of its own.
pub fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        from.read_to_end(&mut all).expect("a pipe is readable");
        all
    })
}

/// Reads one line, byte by byte, so that nothing behind it is taken.
pub fn line(from: &mut impl Read) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while from.read(&mut byte).expect("a pipe is readable") == 1 && byte != *b"\n" {
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("the agent says UTF-8")
}

pub fn kill(pid: u32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether there is such a process. One that has ended and that nobody has waited for is none.
pub fn lives(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let zombie = state
        .rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('Z'));
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process has a number");
    !zombie && test_kill_process(pid).is_ok()
}

/// Waits until a process has gone.
pub fn gone(pid: u32) -> bool {
    let until = Instant::now() + WATCHDOG / 4;
    while lives(pid) {
        if Instant::now() > until {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

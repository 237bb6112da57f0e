//! Signals: those that reach us are passed to the agent's group, and its death by one becomes ours.
//!
//! The agent has a group of its own, so that none reaches it twice: a terminal's or an editor's signal to our group comes to
//! us and from us to the agent. Handlers are installed once the agent runs, so that it starts with the dispositions it would
//! have without us.

use std::io;
use std::thread;

use rustix::process::{Pid, Resource, Rlimit, Signal, getpid, kill_process, kill_process_group, setrlimit};
use signal_hook::consts::signal::*;
use signal_hook::iterator::{Handle, Signals};

/// What is passed on. The rest is either ours alone (a broken pipe, a child's end) or cannot be caught.
const FORWARDED: [i32; 9] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP,
];

/// The thread that passes signals on.
pub(super) struct Forwarding {
    handle: Handle,
    thread: thread::JoinHandle<()>,
}

impl Forwarding {
    pub(super) fn start(group: u32) -> io::Result<Self> {
        let mut signals = Signals::new(FORWARDED)?;
        let handle = signals.handle();
        let thread = thread::Builder::new()
            .name("tapline-signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    pass(group, signal);
                }
            })?;
        Ok(Self { handle, thread })
    }

    /// From now on signals find nobody.
    pub(super) fn stop(self) {
        self.handle.close();
        let _ = self.thread.join();
    }
}

fn pass(group: u32, signal: i32) {
    if let (Some(group), Some(named)) = (Pid::from_raw(group.cast_signed()), Signal::from_named_raw(signal)) {
        // It fails where the group has just ended, and then there is nobody to tell.
        let _ = kill_process_group(group, named);
    }
    if signal == SIGTSTP {
        // Who stops the agent from its terminal wants its prompt back: we stop as well.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}

/// What a signal is called.
pub(super) fn name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// Dies by a signal, as far as it is one to die by. A dump of our memory would tell nothing of the agent's.
pub(super) fn die_by(signal: i32) {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, none);
    if signal == SIGKILL {
        let _ = kill_process(getpid(), Signal::KILL);
    }
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

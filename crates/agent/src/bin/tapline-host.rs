//! One hosted session as a process of its own, for tests that kill it or measure it.
//!
//! `tapline-host HOME CWD [--resume SESSION PROVIDER] -- CMD ARG…` says `agent PID` once the agent runs and `session ID` once
//! the session has begun. It ends the session when its own input ends, and says `peak KIB` (the most memory it ever had, where
//! the system tells) and `over` as its last words.

#![forbid(unsafe_code)]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::sync::Arc;
    use std::time::Duration;

    use tapline_agent::catalogue::Launch;
    use tapline_agent::host::{Begin, HostOptions, Hosted};
    use tapline_agent::wrap::guard;
    use tapline_journal::{Home, SqliteJournal};
    use tapline_timeline::SessionId;

    const USAGE: &str = "usage: tapline-host HOME CWD [--resume SESSION PROVIDER] -- CMD ARG…";
    let mut arguments = std::env::args().skip(1).peekable();
    let first = arguments.next().ok_or(USAGE)?;
    if first == "__guard" {
        return Ok(guard::run()?);
    }
    let cwd = arguments.next().ok_or(USAGE)?;
    let mut begin = Begin::New;
    if arguments.next_if(|word| word == "--resume").is_some() {
        let session = arguments.next().ok_or(USAGE)?;
        begin = Begin::Resume {
            session: SessionId::from(session),
            provider: arguments.next().ok_or(USAGE)?,
            afresh: false,
        };
    }
    arguments.next_if(|word| word == "--").ok_or(USAGE)?;
    let launch = Launch::from_words(arguments).ok_or(USAGE)?;

    let journal = Arc::new(SqliteJournal::open(&Home::at(&first))?);
    let mut options = HostOptions::new("scripted", launch, cwd.into());
    options.begin = begin;
    let this = std::env::current_exe()?;
    options.guard = Some(vec![this.into_os_string(), "__guard".into()]);
    let hosted = Hosted::start(journal, options)?;
    say(&format!("agent {}", hosted.pid()));
    // Until then it only waits to be killed: a limit would be one more thing that could end it.
    match hosted.session(Duration::from_secs(3600)) {
        Ok(session) => say(&format!("session {session}")),
        Err(error) => say(&format!("failed {error}")),
    }
    // Nothing is ever said on it: its end is the message.
    std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())?;
    hosted.close();
    let over = hosted.join();
    if let Some(trouble) = over.trouble {
        say(&format!("trouble {trouble}"));
    }
    if let Some(peak) = peak() {
        say(&format!("peak {peak}"));
    }
    say("over");
    Ok(())
}

/// One line, written at once.
#[cfg(unix)]
fn say(line: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    // Whoever started us may be gone; then nobody is left to tell.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The most memory that this process ever had, in KiB.
#[cfg(unix)]
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(not(unix))]
fn main() {
    eprintln!("agents are hosted on Linux and macOS");
}

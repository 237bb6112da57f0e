//! `tapline demo`: a real agent process, a real recording, on a bare machine.
//!
//! The scripted agent runs under `tapline wrap`, as it would under an editor; this process plays the editor, and shows the
//! timeline as it grows in the journal.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tapline_agent::catalogue::Launch;
use tapline_journal::{Home, Journal, SessionEntry, SessionQuery};
use tapline_testkit::client::Talk;
use tapline_testkit::scenario::Performance;
use tapline_testkit::script::Script;

use super::follow::{follow, has_ended};
use super::{failed, open_at};
use crate::Outcome;
use crate::failure::Failure;
use crate::settings;
use crate::terminal::{ColorArg, configured};

/// How long the demonstration waits for its first row.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not wait where a model would think
    #[arg(long)]
    fast: bool,
    #[command(flatten)]
    color: ColorArg,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let config = settings::load(args.color.flags())?;
    let home = Home::at(Home::from_env().map_err(failed)?.root().join("demo"));
    let broken = |what: &str| Failure::Io {
        path: "the demonstration".to_owned(),
        what: what.to_owned(),
    };
    let script = Script::open("builtin:demo").map_err(|e| broken(&e.to_string()))?;
    let Script::Scenario(scenario) = script else {
        return Err(broken("has no scenario"));
    };
    let performance = scenario.performance();
    let journal = open_at(&home)?;
    let known: Vec<_> = newest(&journal)?.iter().map(|e| e.session.id.clone()).collect();

    let mut child = start(args, &home).map_err(|e| broken(&format!("could not be started: {e}")))?;
    let (Some(output), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(broken("has no pipes"));
    };
    let over = Arc::new(AtomicBool::new(false));
    let player = std::thread::spawn({
        let over = Arc::clone(&over);
        move || {
            let played = play(&performance, &mut Talk::new(output, input));
            over.store(true, Ordering::Release);
            played
        }
    });

    let session = first(&journal, &known, &over)?;
    let Some(session) = session else {
        let _ = child.wait();
        let played = player.join().map_err(|_| broken("broke down"))?;
        return Err(broken(
            &played
                .err()
                .map_or_else(|| "gave no session".to_owned(), |e| e.to_string()),
        ));
    };
    let terminal = configured(&config);
    follow(&journal, &session, None, &terminal, has_ended)?;
    let _ = child.wait();
    player
        .join()
        .map_err(|_| broken("broke down"))?
        .map_err(|e| broken(&e.to_string()))?;
    let id = &session.session.id;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "\nThis was a real process, recorded by `tapline wrap`. Look at it again:"
    )?;
    // The line is for a shell: a folder with blanks in its name is quoted.
    let root = Launch::new(home.root());
    writeln!(out, "  TAPLINE_HOME={root} tapline show {id}")?;
    writeln!(
        out,
        "To record your own agent, put `tapline wrap --` before its command: `tapline setup EDITOR` shows how."
    )?;
    Ok(())
}

fn start(args: &Args, home: &Home) -> io::Result<Child> {
    let own = std::env::current_exe()?;
    let pace = if args.fast { "none" } else { "real" };
    Command::new(&own)
        .args(["wrap", "--"])
        .arg(&own)
        .args(["demo-agent", "--pace", pace, "builtin:demo"])
        .env(tapline_journal::HOME_VARIABLE, home.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// The editor's side: asks, and answers what the agent asks.
fn play<R: io::Read, W: io::Write>(performance: &Performance, talk: &mut Talk<R, W>) -> io::Result<()> {
    talk.call(
        "initialize",
        json!({
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false, "_meta": {"terminal_output": true}},
            "clientInfo": {"name": "tapline-demo", "version": env!("CARGO_PKG_VERSION")},
        }),
    )?;
    let made = talk.call("session/new", json!({"cwd": "/project", "mcpServers": []}))?;
    let session = made["result"]["sessionId"].clone();
    for prompt in &performance.prompts {
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": prompt}]});
        let id = talk.request("session/prompt", params)?;
        loop {
            let Some(frame) = talk.frame()? else {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the agent left in the middle",
                ));
            };
            if frame.get("method").is_none() && frame["id"] == id {
                break;
            }
            if frame["method"] == "session/request_permission" {
                answer(performance, talk, &frame)?;
            }
        }
    }
    // What still runs in the background may end.
    std::thread::sleep(Duration::from_millis(300));
    talk.close();
    talk.rest().map(drop)
}

fn answer<R: io::Read, W: io::Write>(
    performance: &Performance,
    talk: &mut Talk<R, W>,
    frame: &Value,
) -> io::Result<()> {
    let call = frame["params"]["toolCall"]["toolCallId"]
        .as_str()
        .unwrap_or_default();
    let outcome = match performance.answers.get(call) {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    };
    talk.answer(frame, outcome)
}

fn newest(journal: &dyn Journal) -> Result<Vec<SessionEntry>, Failure> {
    journal
        .sessions(&SessionQuery {
            limit: 100,
            ..SessionQuery::default()
        })
        .map_err(failed)
}

/// The session that was not there before.
fn first(
    journal: &dyn Journal,
    known: &[tapline_timeline::SessionId],
    over: &AtomicBool,
) -> Result<Option<SessionEntry>, Failure> {
    let since = Instant::now();
    loop {
        let is_over = over.load(Ordering::Acquire);
        if let Some(entry) = newest(journal)?
            .into_iter()
            .find(|e| !known.contains(&e.session.id) && e.rows > 0)
        {
            return Ok(Some(entry));
        }
        if is_over && since.elapsed() > Duration::from_secs(3) || since.elapsed() > PATIENCE {
            return Ok(None);
        }
        let mark = journal.mark();
        journal
            .wait(&tapline_journal::Watch::Any(mark), Duration::from_millis(100))
            .map_err(failed)?;
    }
}

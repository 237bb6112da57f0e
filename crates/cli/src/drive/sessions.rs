//! `tapline sessions`: the sessions that an agent itself keeps, whoever talked in them.

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tapline_agent::host::{Begin, CallError, Hosted};
use tapline_journal::MemoryJournal;
use tapline_timeline::Time;

use super::agent::{AgentArgs, Wanted, failed_to_start};
use crate::failure::Failure;
use crate::{Outcome, clock, translate};

/// How long an agent may take for one page.
const PAGE: Duration = Duration::from_secs(60);

/// Most pages that are asked for.
const PAGES: usize = 1000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// An agent of the catalogue (see `tapline agents`); without one, that of the setting `agent`
    #[arg(conflicts_with = "command")]
    agent: Option<String>,
    /// The agent's command instead of a name of the catalogue
    #[arg(last = true, value_name = "CMD ARG")]
    command: Vec<OsString>,
    /// Of all folders, not of this one alone
    #[arg(long)]
    all: bool,
    /// Delete this one at the agent; what the journal has stays
    #[arg(long, value_name = "ID")]
    delete: Option<String>,
    /// Print JSON Lines: one session each, as the agent says it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    how: AgentArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let config = args.how.config(Vec::new())?;
    let default = config.agent.value.clone();
    let wanted = match (args.agent.as_ref().or(default.as_ref()), args.command.as_slice()) {
        (_, [_, ..]) => Wanted::Command(&args.command),
        (Some(name), []) => Wanted::Named(name),
        (None, []) => {
            let what = "name an agent (`tapline agents` shows all), or give its command behind `--`";
            return Err(Failure::Usage(what.to_owned()));
        }
    };
    let mut options = args.how.new_session(&config, &wanted)?;
    options.begin = Begin::Nothing;
    let cwd = options.cwd.to_string_lossy().into_owned();
    // Nothing is said in any session, so nothing is kept.
    let hosted = Hosted::start(Arc::new(MemoryJournal::new()), options).map_err(failed_to_start)?;
    let done = match &args.delete {
        Some(id) => delete(&hosted, id),
        None => list(&hosted, (!args.all).then_some(&*cwd), args.json),
    };
    hosted.close();
    hosted.join();
    done
}

fn delete(hosted: &Hosted, id: &str) -> Outcome {
    hosted
        .ask("session/delete", json!({ "sessionId": id }), PAGE)
        .map_err(refused)?;
    writeln!(
        std::io::stdout().lock(),
        "The agent has deleted session {}.",
        clean(id)
    )?;
    Ok(())
}

fn list(hosted: &Hosted, cwd: Option<&str>, as_json: bool) -> Outcome {
    let mut out = std::io::stdout().lock();
    let mut cursor: Option<String> = None;
    let mut count = 0;
    for _ in 0..PAGES {
        let mut params = json!({});
        if let Some(cwd) = cwd {
            params["cwd"] = json!(cwd);
        }
        if let Some(cursor) = &cursor {
            params["cursor"] = json!(cursor);
        }
        let page = hosted.ask("session/list", params, PAGE).map_err(refused)?;
        for session in page["sessions"].as_array().into_iter().flatten() {
            count += 1;
            if as_json {
                translate::line(&mut out, session)?;
            } else {
                line(&mut out, session)?;
            }
        }
        let next = page["nextCursor"].as_str().map(str::to_owned);
        if next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    if count == 0 && !as_json {
        let what = match cwd {
            Some(_) => "The agent keeps no session of this folder; --all looks in all.",
            None => "The agent keeps no session.",
        };
        writeln!(out, "{what}")?;
    }
    Ok(out.flush()?)
}

fn line(out: &mut impl Write, session: &Value) -> Outcome {
    let text = |name: &str| clean(session[name].as_str().unwrap_or_default());
    let when = text("updatedAt");
    let local = match Time::parse(&when) {
        Some(Time::At(ms)) => clock::minute(ms),
        _ => None,
    };
    let when = local.unwrap_or(when);
    writeln!(
        out,
        "{}  {when}  {}  {}",
        text("sessionId"),
        text("cwd"),
        text("title")
    )?;
    Ok(())
}

fn clean(text: &str) -> String {
    tapline_render::clean_line(text, true)
}

#[allow(clippy::needless_pass_by_value)] // It is made for `map_err`.
fn refused(error: CallError) -> Failure {
    let text = clean(&error.to_string());
    match error.code() {
        Some(-32601) => Failure::NotThere(format!("the agent cannot do that: {text}")),
        _ => Failure::Agent(text),
    }
}

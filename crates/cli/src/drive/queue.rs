//! `tapline queue`: the prompts that wait behind the running turn, to be seen, changed and taken back.

use std::io::Write;

use serde_json::{Value, json};
use tapline_agent::host::intent;
use tapline_journal::{Error, Intent, IntentId, IntentQuery, IntentState, Journal};
use tapline_timeline::{Json, SessionId};

use super::reach::words;
use crate::failure::Failure;
use crate::journal::{failed, find, open};
use crate::{Outcome, translate};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The session: its id, a beginning of it, or `last`
    session: String,
    /// Take this one back
    #[arg(long, value_name = "NUMBER", conflicts_with = "edit")]
    withdraw: Option<u64>,
    /// Change the words of this one to TEXT
    #[arg(long, value_name = "NUMBER", requires = "text")]
    edit: Option<u64>,
    /// The new words
    #[arg(requires = "edit")]
    text: Vec<String>,
    /// Print JSON Lines: one waiting prompt each
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (_, journal) = open()?;
    let session = find(&*journal, &args.session)?.session.id;
    let mut out = std::io::stdout().lock();
    if let Some(number) = args.withdraw {
        waiting_one(&*journal, &session, number)?;
        journal.withdraw_intent(IntentId(number)).map_err(gone)?;
        writeln!(out, "Prompt {number} is taken back.")?;
        return Ok(());
    }
    if let Some(number) = args.edit {
        let prompt = waiting_one(&*journal, &session, number)?;
        edit(&*journal, &prompt, &words(&args.text)?)?;
        writeln!(out, "Prompt {number} is changed.")?;
        return Ok(());
    }
    let waiting = waiting(&*journal, &session)?;
    for prompt in &waiting {
        let payload = payload(prompt);
        if args.json {
            let line = json!({ "number": prompt.id.0, "by": prompt.by, "posted_ms": prompt.posted_ms, "prompt": payload });
            translate::line(&mut out, &line)?;
        } else {
            let clean = |text: &str| tapline_render::clean_line(text, true);
            let steer = if payload["steer"] == true {
                "  (stops the running turn)"
            } else {
                ""
            };
            let text = payload["text"].as_str().unwrap_or_default();
            writeln!(
                out,
                "{}  {}{steer}  {}",
                prompt.id,
                clean(text),
                clean(&prompt.by)
            )?;
        }
    }
    if waiting.is_empty() && !args.json {
        writeln!(out, "Nothing waits in this session.")?;
    }
    Ok(out.flush()?)
}

/// The prompts that wait in a session, in the order in which they were posted.
pub(crate) fn waiting(journal: &dyn Journal, session: &SessionId) -> Result<Vec<Intent>, Failure> {
    let query = IntentQuery {
        session: Some(session.clone()),
        state: Some(IntentState::Open),
        ..IntentQuery::default()
    };
    let mut open = journal.intents(&query).map_err(failed)?;
    open.retain(|intent| intent.kind == intent::PROMPT);
    Ok(open)
}

/// Changes the words of a prompt that waits; what else it holds stays.
pub(crate) fn edit(journal: &dyn Journal, prompt: &Intent, text: &str) -> Outcome {
    let mut payload = payload(prompt);
    payload["text"] = json!(text);
    let payload = Json::of(&payload).map_err(|error| Failure::Journal(error.to_string()))?;
    journal.edit_intent(prompt.id, &payload).map(drop).map_err(gone)
}

fn waiting_one(journal: &dyn Journal, session: &SessionId, number: u64) -> Result<Intent, Failure> {
    let found = waiting(journal, session)?
        .into_iter()
        .find(|intent| intent.id.0 == number);
    found.ok_or_else(|| {
        Failure::NotThere(format!(
            "no prompt {number} waits in session {session}; `tapline queue {session}` shows what does"
        ))
    })
}

fn payload(prompt: &Intent) -> Value {
    serde_json::from_str(prompt.payload.as_str()).unwrap_or_default()
}

#[allow(clippy::needless_pass_by_value)] // It is made for `map_err`.
fn gone(error: Error) -> Failure {
    match error {
        Error::IntentTaken { .. } | Error::NoIntent { .. } => Failure::NotThere(error.to_string()),
        error => failed(error),
    }
}

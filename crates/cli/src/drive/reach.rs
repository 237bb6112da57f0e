//! `tapline send`, `answer` and `stop`: what is wanted of a session that another process hosts.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tapline_agent::host::intent;
use tapline_journal::{IntentId, Journal, SessionEntry, Status, Watch};
use tapline_timeline::{Body, Question, QuestionAnswer, Request, RequestState, Row, SessionId};

use super::turn::{outcome, post};
use crate::failure::Failure;
use crate::journal::{failed, find, open};
use crate::{Outcome, translate};

/// How long it is waited for an outcome.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub(crate) struct SendArgs {
    /// The session: its id, a beginning of it, or `last`
    session: String,
    /// The prompt
    #[arg(required = true)]
    text: Vec<String>,
    /// Stop the turn that runs, and send this next
    #[arg(long)]
    steer: bool,
    /// Do not wait until it has gone out
    #[arg(long)]
    no_wait: bool,
    /// Print what became of it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tapline answer last allow
  tapline answer last 2
  tapline answer last colour=Red size=Large")]
pub(crate) struct AnswerArgs {
    /// The session in which something is asked, or the id of the request (see `tapline inbox`)
    id: String,
    /// The choice: an option's id, its label or its number, `allow` or `reject`; for questions `ID=ANSWER`, or the answer alone
    #[arg(required_unless_present = "cancel")]
    choice: Vec<String>,
    /// Put the question away unanswered
    #[arg(long, conflicts_with = "choice")]
    cancel: bool,
    /// Print what became of it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Ids of rows: `tapline show SESSION --json`.")]
pub(crate) struct StopArgs {
    /// The session: its id, a beginning of it, or `last`
    session: String,
    /// Only this turn, by the id of its row
    #[arg(long, value_name = "ROW", conflicts_with = "task")]
    turn: Option<String>,
    /// Only this background task or helper, by the id of its row
    #[arg(long, value_name = "ROW")]
    task: Option<String>,
    /// End the session in order, with its agent
    #[arg(long, conflicts_with_all = ["turn", "task"])]
    close: bool,
    /// Print what became of it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn send(args: &SendArgs) -> Outcome {
    let (_, journal) = open()?;
    let text = words(&args.text)?;
    let entry = find(&*journal, &args.session)?;
    let id = &entry.session.id;
    held(&entry, || format!("`tapline resume {id} PROMPT` goes on with it"))?;
    let payload = json!({ "text": text, "steer": args.steer });
    let id = post(&*journal, &entry.session.id, intent::PROMPT, &payload)?;
    if args.no_wait {
        return told(&json!({ "intent": id.0 }), args.json, |_| {
            format!("It waits as intent {id}.")
        });
    }
    let outcome = wait(&*journal, &entry.session.id, id, true)?;
    told(&outcome, args.json, |outcome| {
        match outcome["delivery"].as_str() {
            Some("accepted") => "It was sent.".to_owned(),
            Some(other) => format!("It is {other}."),
            None => "It was withdrawn before it was sent.".to_owned(),
        }
    })
}

pub(crate) fn answer(args: &AnswerArgs) -> Outcome {
    let (_, journal) = open()?;
    let row = asked(&*journal, &args.id)?;
    let Body::Request(request) = &row.body else {
        return Err(Failure::NotThere(format!("row {} asks nothing", row.id)));
    };
    let mut payload = if args.cancel {
        json!({ "cancel": true })
    } else {
        choose(request, &args.choice).map_err(Failure::NotThere)?
    };
    payload["request"] = json!(row.id);
    let id = post(&*journal, &row.session, intent::ANSWER, &payload)?;
    let outcome = wait(&*journal, &row.session, id, false)?;
    told(&outcome, args.json, |outcome| {
        format!("Answered: {}.", outcome["outcome"].as_str().unwrap_or("done"))
    })
}

pub(crate) fn stop(args: &StopArgs) -> Outcome {
    let (_, journal) = open()?;
    let entry = find(&*journal, &args.session)?;
    held(&entry, || "nothing runs in it that could be stopped".to_owned())?;
    let (kind, payload) = match (args.close, &args.turn, &args.task) {
        (true, ..) => (intent::CLOSE, json!({})),
        (_, Some(turn), _) => (intent::STOP, json!({ "turn": turn })),
        (_, _, Some(task)) => (intent::STOP, json!({ "task": task })),
        _ => (intent::STOP, json!({})),
    };
    let id = post(&*journal, &entry.session.id, kind, &payload)?;
    let outcome = wait(&*journal, &entry.session.id, id, false)?;
    told(&outcome, args.json, |outcome| {
        let ended = outcome["process_ended"] == true;
        let more = if ended {
            " The agent did not stop by itself, so its process was ended."
        } else {
            ""
        };
        match outcome["unknown"].as_str() {
            Some(unknown) => unknown.to_owned(),
            None if args.close => "The session is being closed.".to_owned(),
            None => format!("Stopped.{more}"),
        }
    })
}

/// A session that no process holds cannot be asked; `advice` says what that means.
fn held(entry: &SessionEntry, advice: impl FnOnce() -> String) -> Result<(), Failure> {
    if matches!(entry.status, Status::Live | Status::Waiting) {
        return Ok(());
    }
    let id = &entry.session.id;
    Err(Failure::NotThere(format!(
        "no process holds session {id} now; {}",
        advice()
    )))
}

/// The words of a prompt; there must be some.
pub(crate) fn words(words: &[String]) -> Result<String, Failure> {
    let text = words.join(" ");
    if text.trim().is_empty() {
        return Err(Failure::Usage("the prompt is empty".to_owned()));
    }
    Ok(text)
}

/// Waits until it is said what became of an intent. A prompt may wait as long as the turn before it runs.
pub(crate) fn wait(
    journal: &dyn Journal,
    session: &SessionId,
    id: IntentId,
    long: bool,
) -> Result<Value, Failure> {
    let since = Instant::now();
    loop {
        if let Some(outcome) = outcome(journal, id)? {
            return Ok(outcome);
        }
        let entry = journal.session(session).map_err(failed)?;
        let held = entry.is_some_and(|entry| matches!(entry.status, Status::Live | Status::Waiting));
        if !held && outcome(journal, id)?.is_none() {
            return Err(Failure::NotThere(format!(
                "the process that held session {session} went away; this waits as intent {id} for the next one"
            )));
        }
        if !long && since.elapsed() > PATIENCE {
            return Err(Failure::NotThere(format!(
                "nobody has said within {} s what became of it; it waits as intent {id}",
                PATIENCE.as_secs()
            )));
        }
        let mark = journal.mark();
        journal
            .wait(&Watch::Any(mark), Duration::from_millis(200))
            .map_err(failed)?;
    }
}

/// Prints an outcome; one that says why nothing was done is a failure.
fn told(outcome: &Value, as_json: bool, words: impl Fn(&Value) -> String) -> Outcome {
    let mut out = std::io::stdout().lock();
    if as_json {
        translate::line(&mut out, outcome)?;
    }
    if let Some(error) = outcome["error"].as_str() {
        let by = outcome["by"].as_str().filter(|by| !by.is_empty());
        let by = by.map(|by| format!(" (by {by})")).unwrap_or_default();
        return Err(Failure::NotThere(tapline_render::clean_line(
            &format!("{error}{by}"),
            true,
        )));
    }
    if let Some(reason) = outcome["reason"].as_str() {
        return Err(Failure::NotThere(tapline_render::clean_line(reason, true)));
    }
    if !as_json {
        writeln!(out, "{}", words(outcome))?;
    }
    Ok(out.flush()?)
}

/// The request that is meant: by its own id, or the only one that waits in a session.
fn asked(journal: &dyn Journal, id: &str) -> Result<std::sync::Arc<Row>, Failure> {
    if let Some(row) = journal.row(&id.into()).map_err(failed)? {
        return Ok(row);
    }
    let entry = find(journal, id)?;
    let mut waiting = super::inbox::waiting_in(journal, &entry.session.id)?;
    match waiting.len() {
        1 => Ok(waiting.remove(0)),
        0 => Err(Failure::NotThere(format!(
            "nothing is asked in session {}",
            entry.session.id
        ))),
        n => {
            let ids: Vec<&str> = waiting.iter().map(|row| row.id.as_str()).collect();
            Err(Failure::NotThere(format!(
                "{n} things are asked there; name one: {}",
                ids.join(", ")
            )))
        }
    }
}

/// What a person chose, as the payload of an answer.
pub(crate) fn choose(request: &Request, words: &[String]) -> Result<Value, String> {
    if request.state != RequestState::Pending {
        return Err("it was answered already".to_owned());
    }
    let said = words.join(" ");
    if !request.options.is_empty() && !said.contains('=') {
        return option(request, &said).map(|id| json!({ "option": id }));
    }
    if said == "decline" {
        return Ok(json!({ "option": "decline" }));
    }
    let answers = answers(request, words)?;
    Ok(json!({ "answers": answers }))
}

/// The option that is meant: by its id, its label, its number, or the only one (or the mildest) of a kind.
pub(crate) fn option(request: &Request, said: &str) -> Result<String, String> {
    let same = |text: &str| text.eq_ignore_ascii_case(said);
    let by_name = request
        .options
        .iter()
        .find(|o| o.id == said || o.label.as_deref().is_some_and(same));
    let by_number = || {
        said.parse::<usize>()
            .ok()
            .and_then(|n| request.options.get(n.checked_sub(1)?))
    };
    let by_kind = || {
        let kind = match said.to_ascii_lowercase().as_str() {
            "y" | "yes" | "allow" => "allow",
            "n" | "no" | "reject" | "deny" => "reject",
            _ => return None,
        };
        let of = |suffix: &str| {
            let kind = format!("{kind}{suffix}");
            request.options.iter().find(|o| o.kind.as_deref() == Some(&*kind))
        };
        of("_once").or_else(|| of("_always"))
    };
    let found = by_name.or_else(by_number).or_else(by_kind);
    found.map(|o| o.id.clone()).ok_or_else(|| {
        let all: Vec<&str> = request.options.iter().map(|o| o.id.as_str()).collect();
        format!("there is no option \"{said}\"; choose one of: {}", all.join(", "))
    })
}

fn answers(request: &Request, words: &[String]) -> Result<Vec<QuestionAnswer>, String> {
    if let [question] = request.questions.as_slice() {
        let said = words.join(" ");
        let said = said.strip_prefix(&format!("{}=", question.id)).unwrap_or(&said);
        return Ok(vec![answer_to(question, said)]);
    }
    let mut all = Vec::new();
    for word in words {
        let (id, said) = word.split_once('=').ok_or_else(|| {
            let ids: Vec<&str> = request.questions.iter().map(|q| q.id.as_str()).collect();
            format!(
                "there are several questions; write ID=ANSWER for each of: {}",
                ids.join(", ")
            )
        })?;
        let question = request.questions.iter().find(|q| q.id == id);
        all.push(answer_to(
            question.ok_or_else(|| format!("there is no question \"{id}\""))?,
            said,
        ));
    }
    Ok(all)
}

/// What was said to one question: options of it by id, label or number, several with commas between, else a free text.
pub(crate) fn answer_to(question: &Question, said: &str) -> QuestionAnswer {
    let parts: Vec<&str> = if question.multiple {
        said.split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect()
    } else {
        vec![said.trim()]
    };
    let picked = |part: &&str| {
        let same = |text: &str| text.eq_ignore_ascii_case(part);
        let by_name = question
            .options
            .iter()
            .find(|o| o.id == **part || o.label.as_deref().is_some_and(same));
        let by_number = || {
            let n = part.parse::<usize>().ok()?.checked_sub(1)?;
            question.options.get(n)
        };
        by_name.or_else(by_number).map(|option| option.id.clone())
    };
    let options: Option<Vec<String>> = parts.iter().map(picked).collect();
    let options = options.unwrap_or_default();
    QuestionAnswer {
        question: question.id.clone(),
        text: options.is_empty().then(|| said.to_owned()),
        options,
    }
}

#[cfg(test)]
mod tests {
    use tapline_timeline::Choice;

    use super::*;

    fn question(multiple: bool) -> Question {
        let choice = |id: &str, label: &str| Choice {
            id: id.to_owned(),
            label: Some(label.to_owned()),
            kind: None,
        };
        Question {
            id: "colour".to_owned(),
            text: "Which colour?".to_owned(),
            multiple,
            options: vec![choice("r", "Red"), choice("b", "Blue")],
        }
    }

    #[test]
    fn an_answer_names_options_by_id_label_or_number_or_is_free_text() {
        for said in ["b", "blue", "Blue", "2", " 2 "] {
            let answer = answer_to(&question(false), said);
            assert_eq!(
                (answer.options.as_slice(), answer.text),
                (&["b".to_owned()][..], None),
                "{said}"
            );
        }
        for said in ["3", "green", "Red, Blue"] {
            let answer = answer_to(&question(false), said);
            assert_eq!((answer.options.len(), answer.text.as_deref()), (0, Some(said)));
        }
    }

    #[test]
    fn several_are_named_with_commas_between_and_one_unknown_makes_it_a_text() {
        assert_eq!(answer_to(&question(true), "1, blue").options, ["r", "b"]);
        let free = answer_to(&question(true), "red, green");
        assert_eq!(
            (free.options.len(), free.text.as_deref()),
            (0, Some("red, green"))
        );
    }
}

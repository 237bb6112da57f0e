//! One prompt and its turn: sent, followed, told, ended.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::json;
use tapline_agent::host::{Hosted, intent};
use tapline_journal::{Follow, IntentId, IntentQuery, IntentState, Journal, NewIntent, News, Watch};
use tapline_render::{Live, Terminal};
use tapline_timeline::{Body, End, Json, Kind, Row, RowId, SessionId};

use super::agent::me;
use crate::failure::{Failure, say};
use crate::journal::failed;
use crate::translate;

/// How long one look for changes waits; a change is seen at once.
const LOOK: Duration = Duration::from_millis(100);

/// What is printed of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The timeline as it grows
    Text,
    /// JSON Lines: each row once it has settled, the turn last
    Json,
    /// The words of the last reply alone
    Quiet,
}

/// Posts an intent.
pub(crate) fn post(
    journal: &dyn Journal,
    session: &SessionId,
    kind: &str,
    payload: &serde_json::Value,
) -> Result<IntentId, Failure> {
    let payload = Json::of(payload).map_err(|error| Failure::Journal(error.to_string()))?;
    let intent = NewIntent {
        session: session.clone(),
        kind: kind.to_owned(),
        payload,
        by: me(),
    };
    journal
        .post_intent(&intent)
        .map(|intent| intent.id)
        .map_err(failed)
}

/// What became of an intent; nothing while that is not known.
pub(crate) fn outcome(journal: &dyn Journal, id: IntentId) -> Result<Option<serde_json::Value>, Failure> {
    let query = IntentQuery {
        after: Some(IntentId(id.0.saturating_sub(1))),
        limit: 1,
        ..IntentQuery::default()
    };
    let found = journal.intents(&query).map_err(failed)?;
    let Some(intent) = found.into_iter().find(|intent| intent.id == id) else {
        return Ok(None);
    };
    Ok(match (intent.state, intent.outcome) {
        (IntentState::Done, Some(outcome)) => serde_json::from_str(outcome.as_str()).ok(),
        (IntentState::Done, None) => Some(json!({})),
        (IntentState::Withdrawn, _) => Some(json!({ "withdrawn": true })),
        _ => None,
    })
}

/// How a turn ended for the one who asked.
pub(crate) enum Ended {
    /// It ran and ended.
    Turn(End),
    /// It never ran: why.
    Rejected(String),
    /// It took longer than it might.
    OutOfTime,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

/// Prints a session's changes in one format.
pub(crate) struct Printer {
    format: Format,
    live: Option<Live>,
    reply: Option<Arc<Row>>,
    /// The turn that is printed last.
    turn: Option<Arc<Row>>,
}

impl Printer {
    pub(crate) fn new(format: Format, terminal: &Terminal) -> Self {
        Self {
            format,
            live: (format == Format::Text).then(|| Live::new(terminal)),
            reply: None,
            turn: None,
        }
    }

    fn news(&mut self, news: &News, out: &mut impl Write) -> Result<(), Failure> {
        match (self.format, &mut self.live) {
            (Format::Text, Some(live)) => {
                let mut text = String::new();
                crate::journal::follow::tell(news, live, &mut text);
                out.write_all(text.as_bytes())?;
                out.flush()?;
            }
            (Format::Json, _) => {
                if let News::Row(row) = news
                    && !row.is_open()
                {
                    self.settled(row, out)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A row that has settled is printed once; if it changes later, it is printed again.
    fn settled(&mut self, row: &Arc<Row>, out: &mut impl Write) -> Result<(), Failure> {
        if row.kind() == Kind::Turn {
            self.turn = Some(Arc::clone(row));
            return Ok(());
        }
        translate::line(out, &**row)
    }

    fn finish(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        match self.format {
            Format::Text => {
                let mut text = String::new();
                if let Some(live) = &mut self.live {
                    live.finish(&mut text);
                }
                out.write_all(text.as_bytes())?;
            }
            Format::Json => {
                if let Some(turn) = self.turn.take() {
                    translate::line(out, &*turn)?;
                }
            }
            Format::Quiet => {
                if let Some(row) = self.reply.take()
                    && let Body::Assistant(message) = &row.body
                {
                    let text = tapline_render::clean(message.content.as_text(), true);
                    writeln!(out, "{}", text.trim_end())?;
                }
            }
        }
        Ok(out.flush()?)
    }
}

/// A turn that is run in a session which this process hosts.
pub(crate) struct Run<'a> {
    pub(crate) journal: &'a dyn Journal,
    pub(crate) hosted: &'a Hosted,
    pub(crate) session: &'a SessionId,
    pub(crate) timeout: Option<Duration>,
    /// How often somebody pressed Ctrl-C.
    pub(crate) interrupts: &'a AtomicUsize,
}

impl Run<'_> {
    /// Sends a prompt and prints what comes of it, until its turn has ended.
    pub(crate) fn prompt(
        &self,
        prompt: &intent::Prompt,
        format: Format,
        terminal: &Terminal,
        out: &mut impl Write,
    ) -> Result<Ended, Failure> {
        let before = self.journal.session(self.session).map_err(failed)?;
        let mut cursor = before.map_or(0, |entry| entry.cursor);
        let mut printer = Printer::new(format, terminal);
        let payload = serde_json::to_value(prompt).map_err(|error| Failure::Journal(error.to_string()))?;
        let sent = post(self.journal, self.session, intent::PROMPT, &payload)?;
        let due = self.timeout.map(|timeout| Instant::now() + timeout);
        let mut turn: Option<RowId> = None;
        let mut stopped: Option<Ended> = None;
        let mut told_trouble = None;
        let mut pressed = 0;
        let ended = loop {
            let over = self.hosted.is_over();
            cursor = self.print(cursor, &mut printer, out)?;
            if turn.is_none()
                && let Some(outcome) = outcome(self.journal, sent)?
            {
                match outcome["turn"].as_str() {
                    Some(id) => turn = Some(RowId::from(id)),
                    None => break Ended::Rejected(why(&outcome)),
                }
            }
            if let Some(id) = &turn {
                let row = self.journal.row(id).map_err(failed)?;
                if let Some(Body::Turn(now)) = row.as_deref().map(|row| &row.body)
                    && let Some(end) = now.end
                {
                    break Ended::Turn(end);
                }
            }
            if over {
                break Ended::Rejected("the agent was gone before the prompt reached it".to_owned());
            }
            let standing = self.hosted.standing();
            if standing.deaf && stopped.is_none() {
                say("the agent has closed its output; its turn is stopped");
                stopped = Some(Ended::Turn(End::Cut));
                self.stop()?;
            }
            if standing.trouble != told_trouble {
                if let Some(trouble) = &standing.trouble {
                    say(&trouble);
                }
                told_trouble = standing.trouble;
            }
            let now = self.interrupts.load(Ordering::Relaxed);
            if now > pressed {
                pressed = now;
                if stopped.is_some() && now > 1 {
                    self.hosted.kill();
                } else {
                    self.stop()?;
                }
                stopped = Some(Ended::Interrupted);
            }
            if stopped.is_none() && due.is_some_and(|due| due <= Instant::now()) {
                stopped = Some(Ended::OutOfTime);
                self.stop()?;
            }
            let left = due
                .filter(|_| stopped.is_none())
                .map(|due| due.saturating_duration_since(Instant::now()));
            let watch = Watch::Session(self.session.clone(), cursor);
            self.journal
                .wait(&watch, left.map_or(LOOK, |left| left.min(LOOK)))
                .map_err(failed)?;
        };
        self.hosted.close();
        while !self.hosted.is_over() {
            cursor = self.print(cursor, &mut printer, out)?;
            if self.interrupts.load(Ordering::Relaxed) > pressed + 1 {
                self.hosted.kill();
            }
            let watch = Watch::Session(self.session.clone(), cursor);
            self.journal.wait(&watch, LOOK / 10).map_err(failed)?;
        }
        self.print(cursor, &mut printer, out)?;
        printer.reply = match (format, &turn) {
            (Format::Quiet, Some(turn)) => self.last_reply(turn)?,
            _ => None,
        };
        if let Some(id) = &turn {
            printer.turn = self.journal.row(id).map_err(failed)?;
        }
        printer.finish(out)?;
        Ok(stopped.unwrap_or(ended))
    }

    fn stop(&self) -> Result<(), Failure> {
        post(self.journal, self.session, intent::STOP, &json!({})).map(drop)
    }

    /// Prints what is new, and gives the cursor to go on from.
    fn print(&self, mut cursor: u64, printer: &mut Printer, out: &mut impl Write) -> Result<u64, Failure> {
        let how = Follow {
            limit: 1000,
            appends: printer.format == Format::Text,
        };
        if printer.format == Format::Quiet {
            return Ok(cursor);
        }
        loop {
            let followed = self.journal.follow(self.session, cursor, how).map_err(failed)?;
            cursor = followed.cursor.max(cursor);
            for news in &followed.news {
                if let News::Row(row) = news {
                    refused(row);
                }
                printer.news(news, out)?;
            }
            if !followed.more {
                return Ok(cursor);
            }
        }
    }

    /// The last reply of a turn.
    fn last_reply(&self, turn: &RowId) -> Result<Option<Arc<Row>>, Failure> {
        let rows = self
            .journal
            .rows(self.session, tapline_journal::Window::Last(1000))
            .map_err(failed)?;
        let of_turn = |row: &&Arc<Row>| {
            row.turn.as_ref() == Some(turn)
                && matches!(&row.body, Body::Assistant(m) if !m.superseded && !m.content.as_text().trim().is_empty())
        };
        Ok(rows.iter().rev().find(of_turn).cloned())
    }
}

/// Says that something was refused because nobody could be asked.
fn refused(row: &Row) {
    if let Body::Request(request) = &row.body
        && let Some(by) = request.answer.as_ref().and_then(|answer| answer.by.as_deref())
        && by == tapline_agent::host::NOBODY_TO_ASK
    {
        let what = request
            .title
            .as_deref()
            .or(request.text.as_deref())
            .unwrap_or("what the agent asked");
        let what = tapline_render::clean_line(what, true);
        say(format!(
            "refused, since nobody can be asked here: {what} (--policy decides, --wait waits for `tapline answer`)"
        ));
    }
}

fn why(outcome: &serde_json::Value) -> String {
    let reason = outcome["reason"].as_str().or_else(|| outcome["error"].as_str());
    reason.map_or_else(|| "the prompt was not taken".to_owned(), str::to_owned)
}

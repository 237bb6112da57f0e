//! The session as the chat knows it: what was told of it already, and what stands open in it.
//!
//! Everything is read from the journal, whoever did it: this chat, another process, the agent. So a chat that hosts a session
//! and one that only looks on read the same.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tapline_journal::{Follow, Journal, News, Window};
use tapline_render::{Fold, Live, Renderer, Terminal};
use tapline_timeline::{Body, Change, RequestState, Row, RowId, Session, SessionId, WorkState};

use crate::failure::Failure;
use crate::journal::{failed, follow};

/// Changes that are read at once.
const PAGE: usize = 500;
/// Folded rows that can be shown whole by their number.
const FOLDED: usize = 1000;
/// After so long without news, the beginning of a word is shown.
const PAUSE: Duration = Duration::from_millis(80);
/// Columns that a number behind a headline takes, most of the time.
const NUMBER: u16 = 6;
/// Rows that are told when a session goes on.
const BEFORE: usize = 40;

pub(super) struct Told {
    terminal: Terminal,
    live: Live,
    cursor: u64,
    /// When there was news last.
    heard: Instant,
    /// What the journal last said of the session itself.
    pub(super) session: Option<Session>,
    /// Requests that wait, in their order.
    pub(super) asked: BTreeMap<u64, Arc<Row>>,
    /// Turns that run, and since when that is known.
    turns: BTreeMap<u64, Instant>,
    /// Tasks and helpers that run.
    pub(super) work: BTreeMap<u64, Arc<Row>>,
    /// What was folded, by its number less `forgotten` and one.
    folded: VecDeque<RowId>,
    forgotten: usize,
}

impl Told {
    pub(super) fn new(terminal: &Terminal) -> Self {
        Self {
            terminal: *terminal,
            live: Live::new(terminal),
            cursor: 0,
            heard: Instant::now(),
            session: None,
            asked: BTreeMap::new(),
            turns: BTreeMap::new(),
            work: BTreeMap::new(),
            folded: VecDeque::new(),
            forgotten: 0,
        }
    }

    pub(super) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// The terminal has another width, or more or less is to be folded.
    pub(super) fn adapt(&mut self, terminal: &Terminal) {
        self.terminal = *terminal;
        self.live.adapt(terminal);
    }

    /// Since when a turn runs.
    pub(super) fn runs_since(&self) -> Option<Instant> {
        self.turns.values().min().copied()
    }

    /// Ends the line of text that is being printed, so that something else can be said.
    pub(super) fn pause(&mut self, out: &mut String) {
        self.live.finish(out);
    }

    /// Tells the end of a session that goes on.
    pub(super) fn before(
        &mut self,
        journal: &dyn Journal,
        session: &SessionId,
        out: &mut String,
    ) -> Result<(), Failure> {
        let Some(entry) = journal.session(session).map_err(failed)? else {
            return Ok(());
        };
        self.live.change(&Change::Session(&entry.session), out);
        self.session = Some(entry.session);
        let rows = journal.rows(session, Window::Last(BEFORE)).map_err(failed)?;
        // What comes while they are read is told twice by none and missed by none: the cursor is that of the oldest reading.
        self.cursor = rows.iter().filter_map(|row| row.cursor).max().unwrap_or(0);
        for row in &rows {
            self.row(row, out);
        }
        for row in journal.open_rows(session).map_err(failed)? {
            self.note(&row);
        }
        Ok(())
    }

    /// Reads some of what is new; says whether there is more.
    pub(super) fn follow(
        &mut self,
        journal: &dyn Journal,
        session: &SessionId,
        out: &mut String,
    ) -> Result<bool, Failure> {
        let how = Follow {
            limit: PAGE,
            appends: true,
        };
        let followed = journal.follow(session, self.cursor, how).map_err(failed)?;
        self.cursor = followed.cursor.max(self.cursor);
        if followed.news.is_empty() {
            if self.heard.elapsed() >= PAUSE {
                self.live.catch_up(out);
            }
            return Ok(false);
        }
        self.heard = Instant::now();
        for news in &followed.news {
            match news {
                News::Row(row) => self.row(row, out),
                News::Session(session) => self.session = Some(Session::clone(session)),
                News::Append { .. } => follow::tell(news, &mut self.live, out),
            }
        }
        Ok(followed.more)
    }

    fn row(&mut self, row: &Arc<Row>, out: &mut String) {
        self.note(row);
        let shown = shown(row);
        let from = out.len();
        let whole = self.terminal;
        if matches!(row.body, Body::Reasoning(_)) && whole.fold != Fold::Open {
            // A folded thought takes the whole line; its number wants room behind it.
            let width = whole.width.saturating_sub(NUMBER);
            self.adapt(&Terminal { width, ..whole });
        }
        self.live.change(&Change::Put(&shown), out);
        let number = (out.len() > from).then(|| self.numbered(row)).flatten();
        self.adapt(&whole);
        if let Some((headline, number)) = number {
            self.put_number(&headline, number, from, out);
        }
    }

    /// Remembers what stands open.
    fn note(&mut self, row: &Arc<Row>) {
        let open = row.is_open();
        match &row.body {
            Body::Turn(_) if open => {
                self.turns.entry(row.seq).or_insert_with(Instant::now);
            }
            Body::Turn(_) => drop(self.turns.remove(&row.seq)),
            Body::Request(request) if request.state == RequestState::Pending => {
                self.asked.insert(row.seq, Arc::clone(row));
            }
            Body::Request(_) => drop(self.asked.remove(&row.seq)),
            Body::Task(task) if task.state == WorkState::Running => {
                self.work.insert(row.seq, Arc::clone(row));
            }
            Body::Helper(helper) if helper.state == WorkState::Running => {
                self.work.insert(row.seq, Arc::clone(row));
            }
            Body::Task(_) | Body::Helper(_) => drop(self.work.remove(&row.seq)),
            _ => {}
        }
    }

    // --- What is folded ---

    /// The headline of a row that is folded, and its number.
    fn numbered(&mut self, row: &Row) -> Option<(String, usize)> {
        if row.is_open() || self.terminal.fold == Fold::Open {
            return None;
        }
        let folded = self.painted(row, self.terminal.fold);
        let more = match &row.body {
            Body::Tool(_) => folded != self.painted(row, Fold::Open),
            Body::Reasoning(message) => {
                let plain = Terminal {
                    color: false,
                    ..self.terminal
                };
                let mut shown = String::new();
                Renderer::new(&plain).row(row, 0, &mut shown);
                !shown.contains(message.content.as_text().trim())
            }
            _ => false,
        };
        if !more {
            return None;
        }
        let headline = folded.lines().next()?.to_owned();
        Some((headline, self.fold(&row.id)))
    }

    /// Puts a number behind the headline of what was folded just now, from `from` on.
    fn put_number(&self, headline: &str, number: usize, from: usize, out: &mut String) {
        let Some(at) = out[from..].rfind(headline).map(|at| from + at + headline.len()) else {
            return;
        };
        let (on, off) = if self.terminal.color {
            ("\u{1b}[2m", "\u{1b}[0m")
        } else {
            ("", "")
        };
        let mark = format!("[{number}]");
        // The width of a headline is that of the terminal at most; where both do not fit, the number has its own line.
        let fits = plain_columns(headline) + 2 + mark.len() <= usize::from(self.terminal.width);
        let before = if fits { "  " } else { "\n  " };
        out.insert_str(at, &format!("{before}{on}{mark}{off}"));
    }

    /// The number of a folded row; one that was folded before keeps its own.
    fn fold(&mut self, id: &RowId) -> usize {
        if let Some(at) = self.folded.iter().position(|known| known == id) {
            return self.forgotten + at + 1;
        }
        self.folded.push_back(id.clone());
        if self.folded.len() > FOLDED {
            self.folded.pop_front();
            self.forgotten += 1;
        }
        self.forgotten + self.folded.len()
    }

    fn painted(&self, row: &Row, fold: Fold) -> String {
        let terminal = Terminal {
            fold,
            ..self.terminal
        };
        let mut out = String::new();
        Renderer::new(&terminal).row(row, usize::from(row.parent.is_some()), &mut out);
        out
    }

    /// The row that is meant by a number, or the newest that is folded.
    ///
    /// # Errors
    /// A sentence, where there is none.
    pub(super) fn folded(&self, number: &str) -> Result<RowId, String> {
        let newest = self.folded.back().ok_or("Nothing was folded yet.")?;
        if number.is_empty() {
            return Ok(newest.clone());
        }
        let number = number.trim_start_matches('[').trim_end_matches(']');
        let at = number
            .parse::<usize>()
            .ok()
            .and_then(|n| n.checked_sub(self.forgotten + 1));
        at.and_then(|at| self.folded.get(at)).cloned().ok_or_else(|| {
            let (first, last) = (self.forgotten + 1, self.forgotten + self.folded.len());
            format!("Give a number that stands in brackets behind something folded: {first} to {last}.")
        })
    }

    /// A row, whole.
    pub(super) fn whole(&self, row: &Row) -> String {
        self.painted(row, Fold::Open)
    }
}

/// A request's choices stand in the dialogue while it waits; afterwards only what was chosen is worth a line.
fn shown(row: &Arc<Row>) -> Arc<Row> {
    let Body::Request(request) = &row.body else {
        return Arc::clone(row);
    };
    let mut row = Row::clone(row);
    let answer = request.answer.clone().unwrap_or_default();
    let pending = request.state == RequestState::Pending;
    if let Body::Request(request) = &mut row.body {
        request
            .options
            .retain(|option| answer.option.as_deref() == Some(&option.id));
        if pending {
            request.questions.clear();
        }
        for question in &mut request.questions {
            let given = answer.answers.iter().find(|given| given.question == question.id);
            let picked = given.map(|given| given.options.as_slice()).unwrap_or_default();
            question.options.retain(|option| {
                picked.contains(&option.id) || option.label.as_ref().is_some_and(|l| picked.contains(l))
            });
        }
    }
    Arc::new(row)
}

/// Columns of a painted line.
fn plain_columns(line: &str) -> usize {
    let mut columns = 0;
    for (n, piece) in line.split('\u{1b}').enumerate() {
        let words = if n == 0 {
            piece
        } else {
            piece.split_once('m').map_or("", |(_, words)| words)
        };
        columns += unicode_width::UnicodeWidthStr::width(words);
    }
    columns
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(width: u16) -> Told {
        Told::new(&Terminal {
            width,
            color: false,
            unicode: true,
            fold: Fold::Usual,
            minutes_east: 0,
        })
    }

    #[test]
    fn a_thought_has_a_number_if_there_is_more_of_it() {
        let thought = |seq: u64, text: &str| {
            let row = json!({"kind": "reasoning", "id": format!("s/{seq}"), "session": "s", "seq": seq, "revision": 1,
                "frames": [1, 1], "text": text, "state": "ended"});
            Arc::new(serde_json::from_value::<Row>(row).expect("a row"))
        };
        let mut told = told(60);
        let mut out = String::new();
        told.row(&thought(1, "Hm."), &mut out);
        assert!(!out.contains('['), "{out}");
        told.row(&thought(2, "Hm.\nThen again."), &mut out);
        told.row(&thought(3, &"so ".repeat(40)), &mut out);
        assert!(
            out.contains("more line)  [1]\n") && out.contains("…  [2]\n"),
            "{out}"
        );
        assert!(out.lines().all(|line| plain_columns(line) <= 60), "{out}");
    }

    fn tool(seq: u64, title: &str, state: &str) -> Arc<Row> {
        let row = json!({"kind": "tool", "id": format!("s/{seq}"), "session": "s", "seq": seq, "revision": 1,
            "frames": [1, 1], "call": "c", "title": title, "state": state, "authorization": "not_asked",
            "input": {"path": "a.txt"}});
        Arc::new(serde_json::from_value(row).expect("a row"))
    }

    #[test]
    fn what_is_folded_has_a_number_that_shows_it_whole() {
        let mut told = told(60);
        let mut out = String::new();
        told.row(&tool(1, "Read a.txt", "running"), &mut out);
        assert!(!out.contains('['), "{out}");
        told.row(&tool(1, "Read a.txt", "completed"), &mut out);
        told.row(&tool(2, "Read b.txt", "failed"), &mut out);
        assert!(out.contains("✓ Read a.txt  [1]\n"), "{out}");
        assert!(out.contains("✗ Read b.txt  failed  [2]\n"), "{out}");
        assert_eq!(told.folded("1").as_ref().map(RowId::as_str), Ok("s/1"));
        assert_eq!(told.folded("").as_ref().map(RowId::as_str), Ok("s/2"));
        assert!(told.folded("3").expect_err("there is none").contains("1 to 2"));
        assert!(
            told.whole(&tool(1, "Read a.txt", "completed"))
                .contains("a.txt\"}")
        );
    }

    #[test]
    fn a_number_that_does_not_fit_has_its_own_line() {
        let mut told = told(20);
        let mut out = String::new();
        told.row(&tool(1, "Read a file here", "completed"), &mut out);
        assert!(out.lines().all(|line| plain_columns(line) <= 20), "{out}");
        assert!(out.contains("\n  [1]"), "{out}");
    }

    #[test]
    fn bounded_only_the_newest_folded_rows_are_remembered() {
        let mut told = told(60);
        let mut out = String::new();
        for seq in 1..=FOLDED as u64 + 5 {
            told.row(&tool(seq, "Read", "completed"), &mut out);
        }
        assert!(told.folded("5").is_err());
        assert_eq!(told.folded("6").as_ref().map(RowId::as_str), Ok("s/6"));
        assert_eq!(told.folded.len(), FOLDED);
    }
}

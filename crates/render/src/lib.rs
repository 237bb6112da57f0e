//! A timeline as text for a terminal.
//!
//! The crate takes rows as they are and gives back text: no file, no clock, no environment. What the terminal can do is
//! told by a [`Terminal`]; whoever owns the terminal finds that out. Three ways in:
//!
//! - [`render`] and [`render_to`] tell whole chats: turn by turn, each row under the one it belongs to, a helper's own
//!   session below the helper;
//! - [`Renderer`] tells one row at a time, for whoever orders rows themselves;
//! - [`Live`] follows the changes of a session: text as it comes, everything else when there is news.
//!
//! What a person sees first is what a person needs: words whole, reasoning and texts that were said again folded to a line,
//! tools folded to a headline and a few lines, and always how much is left out. [`Fold::Open`] leaves nothing out.
//!
//! # Invariants
//!
//! - **untrusted** Nothing that an agent wrote reaches the terminal as control. Words can only be put on paper through one
//!   gate, [`clean`], which replaces control characters and characters that turn or hide text by a visible mark. Without colour
//!   there is no escape code in the output; with colour there are only those that set a style.
//! - **bounded** An agent cannot push text off the screen: indents are limited, a line has always room for some words.
//! - Every line fits the width, as long as that is at least [`LEAST_WIDTH`]; no line ends with a blank.
//! - The same rows and the same terminal give the same text.
#![forbid(unsafe_code)]

mod clean;
mod live;
mod markdown;
mod paper;
mod tool;
mod view;
mod words;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tapline_timeline::{Body, Kind, Row, Session, SessionId, outline};

use paper::{Block, Ink, Style};
use view::View;

pub use clean::{clean, clean_line};
pub use live::{Live, OPEN_LIMIT};

/// Narrowest terminal that is drawn for; on a narrower one lines are as wide as here.
pub const LEAST_WIDTH: usize = 20;
/// Levels by which rows under rows, and sessions under helpers, are indented.
const DEEPEST: usize = 4;

/// What the terminal can do and how much a person wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Columns.
    pub width: u16,
    /// Whether styles may be set.
    pub color: bool,
    /// Whether our own marks may be drawn with more than ASCII. What agents and people wrote keeps its characters.
    pub unicode: bool,
    /// How much is shown.
    pub fold: Fold,
    /// How many minutes the reader's clock is ahead of UTC. Times are told by that clock.
    pub minutes_east: i16,
}

impl Default for Terminal {
    /// What every terminal can do: 80 columns, no colour, ASCII; times in UTC.
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            unicode: false,
            fold: Fold::Usual,
            minutes_east: 0,
        }
    }
}

/// How much is shown of what can be folded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fold {
    /// A line each.
    Tight,
    /// A headline and a few lines.
    #[default]
    Usual,
    /// Everything.
    Open,
}

/// One session and its rows, in the order of `seq`.
#[derive(Debug, Clone, Copy)]
pub struct Chat<'a> {
    /// The session.
    pub session: &'a Session,
    /// Its rows.
    pub rows: &'a [Arc<Row>],
}

/// Tells chats. A session that a helper of another one ran in stands under that helper, any other one by itself.
pub fn render(chats: &[Chat<'_>], terminal: &Terminal) -> String {
    let mut out = String::new();
    match render_to(chats, terminal, &mut out) {
        Ok(()) => out,
        Err(fmt::Error) => unreachable!("writing to a string never fails"),
    }
}

/// Tells chats row by row, so that a pager shows the first page before the last row is drawn.
///
/// # Errors
/// Where `out` fails; nothing more is drawn then.
pub fn render_to(chats: &[Chat<'_>], terminal: &Terminal, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut children: HashMap<&SessionId, usize> = HashMap::new();
    for chat in chats {
        for row in chat.rows {
            if let Body::Helper(helper) = &row.body
                && let Some(child) = &helper.child
                && let Some(n) = chats.iter().position(|chat| chat.session.id == *child)
                && chats[n].session.id != chat.session.id
            {
                children.insert(child, n);
            }
        }
    }
    let mut told = vec![false; chats.len()];
    let (own, under): (Vec<usize>, Vec<usize>) =
        (0..chats.len()).partition(|n| !children.contains_key(&chats[*n].session.id));
    // Sessions that start each other in a ring stand under nobody; they come last.
    for n in own.into_iter().chain(under) {
        let mut teller = Teller {
            chats,
            children: &children,
            told: &mut told,
            out,
        };
        teller.tell(n, terminal, 0)?;
    }
    Ok(())
}

struct Teller<'a, 'b> {
    chats: &'a [Chat<'a>],
    children: &'a HashMap<&'a SessionId, usize>,
    told: &'b mut Vec<bool>,
    out: &'b mut dyn fmt::Write,
}

impl Teller<'_, '_> {
    fn tell(&mut self, n: usize, terminal: &Terminal, depth: usize) -> fmt::Result {
        if std::mem::replace(&mut self.told[n], true) {
            return Ok(());
        }
        let chat = self.chats[n];
        let mut renderer = Renderer::new(terminal).under(depth);
        let mut text = String::new();
        renderer.session(chat.session, &mut text);
        self.out.write_str(&text)?;
        for place in outline(chat.rows) {
            let row = &chat.rows[place.row];
            text.clear();
            renderer.row(row, place.depth, &mut text);
            self.out.write_str(&text)?;
            if let Body::Helper(helper) = &row.body
                && let Some(child) = helper.child.as_ref().and_then(|child| self.children.get(child))
                // As deep as a thread's stack safely goes; a session below that stands by itself.
                && depth < 64
            {
                self.tell(*child, terminal, depth + place.depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Draws one row at a time.
#[derive(Debug, Clone)]
pub struct Renderer {
    /// The whole terminal.
    ink: Ink,
    /// What the rows are drawn for: the terminal without the margin that all of them have.
    view: View,
    base: usize,
    turns: u64,
    last: Option<Last>,
}

/// What was drawn last: it decides whether a blank line comes between.
#[derive(Debug, Clone, Copy)]
struct Last {
    short: bool,
}

impl Renderer {
    /// A renderer for the start of a session.
    pub fn new(terminal: &Terminal) -> Self {
        let view = View::new(terminal);
        Self {
            ink: view.ink,
            view,
            base: 0,
            turns: 0,
            last: None,
        }
    }

    /// Indents everything by some levels.
    #[must_use]
    pub fn under(mut self, levels: usize) -> Self {
        self.base = levels;
        self.view.ink.width = self
            .ink
            .width
            .saturating_sub(2 * levels.min(DEEPEST))
            .max(LEAST_WIDTH);
        self
    }

    /// Draws what is known of the session.
    pub fn session(&mut self, session: &Session, out: &mut String) {
        let block = self.view.session(session);
        self.place(block, 0, false, out);
    }

    /// Draws a row that stands under `depth` others.
    pub fn row(&mut self, row: &Row, depth: usize, out: &mut String) {
        let kind = row.kind();
        if kind == Kind::Turn {
            self.turns += 1;
        }
        let block = self.view.row(row, self.turns);
        let short = block.lines.len() <= 1 && !matches!(kind, Kind::Turn | Kind::User | Kind::Assistant);
        if !block.lines.is_empty() {
            self.place(block, depth, short, out);
        }
    }

    /// Begins something that is no short row and that others draw.
    fn gap(&mut self, out: &mut String) {
        if self.last.is_some() {
            out.push('\n');
        }
        self.last = Some(Last { short: false });
    }

    fn place(&mut self, block: Block, depth: usize, short: bool, out: &mut String) {
        let ink = &self.ink;
        let margin: Vec<_> = (0..(self.base + depth).min(DEEPEST))
            .map(|_| ink.mark("┊ ", ": ", Style::DIM))
            .collect();
        if self.last.is_some_and(|last| !(last.short && short)) || (self.last.is_none() && self.base > 0) {
            let blank = Block {
                lines: vec![paper::Line::empty()],
            };
            ink.paint(&blank.indent(&margin, &margin), out);
        }
        ink.paint(&block.indent(&margin, &margin), out);
        self.last = Some(Last { short });
    }
}

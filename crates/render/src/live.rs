//! A session as it goes on: text as it comes, everything else when there is news.
//!
//! What is printed stays printed: the output is a plain stream, good for a terminal, a pipe and a log. So
//!
//! - the words of the agent are printed as they come, at word ends, as they stand; their Markdown is for [`crate::render`],
//!   which sees whole texts;
//! - reasoning is a folded line once it ends (or is printed as it comes, with [`crate::Fold::Open`]);
//! - a turn is announced when it opens and its verdict is told when it ends;
//! - a tool is told when it starts to run and again, whole, when it has ended; a request when it waits and when it is decided;
//! - a task, a helper, a plan, a prompt is told again whenever what a person reads of it has changed.
//!
//! *untrusted* holds as in the rest of the crate, also for a sequence that comes in pieces: each character is judged alone.
//! *bounded*: at most [`OPEN_LIMIT`] rows are remembered, the newest; of a forgotten one only what is new is told,
//! without a check whether it was told before.

use std::collections::BTreeMap;
use std::sync::Arc;

use tapline_timeline::{Append, Body, Change, Close, Grows, Row, TextState};

use crate::paper::{Block, Fit, Ink, Line, Style, columns_of};
use crate::view::View;
use crate::{Fold, Renderer, Terminal, clean};

/// Most rows that are remembered because more can be told of them.
pub const OPEN_LIMIT: usize = 1024;
/// Longest word, in bytes, that is held back until its end is known.
const WORD_LIMIT: usize = 256;

/// Follows the changes of one session.
#[derive(Debug, Clone)]
pub struct Live {
    renderer: Renderer,
    fold: Fold,
    /// What was told of each open row, by `seq`.
    open: BTreeMap<u64, Told>,
    flow: Option<Flow>,
}

#[derive(Debug, Clone)]
enum Told {
    /// A turn, announced.
    Turn,
    /// A text of which this many bytes were taken; and the row as it was first, to be shown folded.
    Text { taken: usize, folded: Option<Arc<Row>> },
    /// Anything else, as it was painted.
    Row(String),
}

/// The text that is being printed.
#[derive(Debug, Clone)]
struct Flow {
    seq: u64,
    word: String,
    column: usize,
    style: Style,
    /// The last character was a carriage return: a line feed after it belongs to it.
    after_return: bool,
    /// Blank lines and blanks at the start are not printed.
    begun: bool,
}

impl Live {
    /// A view of a session from its start.
    pub fn new(terminal: &Terminal) -> Self {
        Self {
            renderer: Renderer::new(terminal),
            fold: terminal.fold,
            open: BTreeMap::new(),
            flow: None,
        }
    }

    /// From now on the terminal is another one: it was resized, or more or less is to be folded.
    pub fn adapt(&mut self, terminal: &Terminal) {
        self.fold = terminal.fold;
        self.renderer.view = View::new(terminal);
        self.renderer.ink = self.renderer.view.ink;
    }

    /// Tells one change; what is to be printed is added to `out`.
    pub fn change(&mut self, change: &Change<'_>, out: &mut String) {
        match change {
            Change::Session(_) => {}
            Change::Put(row) => self.put(row, out),
            Change::Append(append) => self.append(append, out),
            Change::Close(close) => self.close(close, out),
        }
    }

    /// Prints the beginning of a word whose end has not come yet: the agent makes a pause.
    pub fn catch_up(&mut self, out: &mut String) {
        if let Some(flow) = &mut self.flow {
            flow.print_word(&self.renderer.ink, out);
        }
    }

    /// Ends the text that is being printed: nothing more will come.
    pub fn finish(&mut self, out: &mut String) {
        self.end_flow(out);
    }

    fn put(&mut self, row: &Arc<Row>, out: &mut String) {
        match &row.body {
            Body::Assistant(message) | Body::Reasoning(message) => {
                let text = message.content.as_text();
                if self.is_folded(row) {
                    if message.state == TextState::Open {
                        self.remember(
                            row.seq,
                            Told::Text {
                                taken: text.len(),
                                folded: Some(Arc::clone(row)),
                            },
                        );
                    } else {
                        self.open.remove(&row.seq);
                        self.tell(row, out);
                    }
                    return;
                }
                let taken = match self.open.get(&row.seq) {
                    Some(Told::Text { taken, .. }) => (*taken).min(text.len()),
                    _ => 0,
                };
                let style = style_of(row);
                self.remember(
                    row.seq,
                    Told::Text {
                        taken: text.len(),
                        folded: None,
                    },
                );
                // A row that was put anew may hold another text: then there is no such place, and it is told from its start.
                self.stream(row.seq, style, text.get(taken..).unwrap_or(text), out);
                let media: Vec<_> = message.content.media().collect();
                if !media.is_empty() && message.state != TextState::Open {
                    self.end_flow(out);
                    let lines = media
                        .into_iter()
                        .map(|part| self.renderer.view.part(part))
                        .collect();
                    self.renderer.place(Block { lines }, 0, true, out);
                }
                if message.state != TextState::Open {
                    self.end_text(row.seq, message.state, message.superseded, out);
                }
            }
            Body::Turn(turn) => {
                let known = self.open.contains_key(&row.seq);
                if turn.end.is_none() {
                    if !known {
                        self.tell(row, out);
                        self.remember(row.seq, Told::Turn);
                    }
                } else if known {
                    self.open.remove(&row.seq);
                    self.end_flow(out);
                    // The turn's number is the one it was announced with.
                    self.renderer.turns = self.renderer.turns.saturating_sub(1);
                    self.tell(row, out);
                } else {
                    self.tell(row, out);
                }
            }
            Body::Tool(tool) if tool.state.is_open() => {
                // Its output may come in many pieces; a headline says that it runs.
                let mut headline = Row::clone(row);
                if let Body::Tool(tool) = &mut headline.body {
                    tool.content.clear();
                    tool.output = None;
                    tool.result = None;
                }
                self.tell_news(&headline, out);
            }
            _ => self.tell_news(row, out),
        }
    }

    /// Reasoning that a person sees only folded.
    fn is_folded(&self, row: &Row) -> bool {
        self.fold != Fold::Open && matches!(row.body, Body::Reasoning(_))
    }

    fn append(&mut self, append: &Append<'_>, out: &mut String) {
        if append.member != Grows::Text {
            return;
        }
        match self.open.get_mut(&append.seq) {
            Some(Told::Text {
                folded: Some(row), ..
            }) => tapline_timeline::grow(Arc::make_mut(row), append),
            Some(Told::Text { taken, folded: None }) => {
                let Ok(offset) = usize::try_from(append.offset) else {
                    return;
                };
                // What was told already is not told again.
                let known = taken.saturating_sub(offset).min(append.text.len());
                *taken = offset.saturating_add(append.text.len()).max(*taken);
                let style = self
                    .flow
                    .as_ref()
                    .filter(|flow| flow.seq == append.seq)
                    .map(|flow| flow.style);
                let text = append.text.get(known..).unwrap_or_default();
                self.stream(append.seq, style.unwrap_or_default(), text, out);
            }
            // A prompt that grows after it was told, or a text that was forgotten: what is new is told.
            Some(Told::Turn | Told::Row(_)) | None => self.stream(append.seq, Style::PLAIN, append.text, out),
        }
    }

    fn close(&mut self, close: &Close<'_>, out: &mut String) {
        match self.open.get_mut(&close.seq) {
            Some(Told::Text {
                folded: Some(row), ..
            }) => {
                let mut row = Arc::clone(row);
                if let Body::Reasoning(message) | Body::Assistant(message) = &mut Arc::make_mut(&mut row).body
                {
                    message.state = close.state;
                    message.superseded = close.superseded;
                }
                self.open.remove(&close.seq);
                self.tell(&row, out);
            }
            Some(Told::Text { .. }) => self.end_text(close.seq, close.state, close.superseded, out),
            _ => {}
        }
    }

    fn end_text(&mut self, seq: u64, state: TextState, superseded: bool, out: &mut String) {
        self.open.remove(&seq);
        self.end_flow(out);
        let ink = self.renderer.ink;
        let note = match (superseded, state) {
            (true, _) => "the agent broke off and says this again",
            (_, TextState::Cut) => "cut off here: the agent process ended",
            _ => return,
        };
        let line = Line::of(
            vec![
                ink.mark("↳ ", "^ ", Style::DIM),
                ink.span(note, crate::view::YELLOW),
            ],
            Fit::Wrap,
        );
        self.renderer.place(Block { lines: vec![line] }, 0, true, out);
    }

    /// Tells a row if it reads differently from when it was told last.
    fn tell_news(&mut self, row: &Row, out: &mut String) {
        let mut painted = String::new();
        self.renderer
            .ink
            .paint(&self.renderer.view.row(row, 0), &mut painted);
        if matches!(self.open.get(&row.seq), Some(Told::Row(last)) if *last == painted) {
            return;
        }
        if may_change(row) {
            self.remember(row.seq, Told::Row(painted));
        } else {
            self.open.remove(&row.seq);
        }
        self.tell(row, out);
    }

    fn tell(&mut self, row: &Row, out: &mut String) {
        self.end_flow(out);
        self.renderer.row(row, usize::from(row.parent.is_some()), out);
    }

    fn remember(&mut self, seq: u64, told: Told) {
        self.open.insert(seq, told);
        if self.open.len() > OPEN_LIMIT {
            self.open.pop_first();
        }
    }
}

/// The text that is being printed.
impl Live {
    fn stream(&mut self, seq: u64, style: Style, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        if self.flow.as_ref().is_none_or(|flow| flow.seq != seq) {
            self.end_flow(out);
            self.flow = Some(Flow {
                seq,
                word: String::new(),
                column: 0,
                style,
                after_return: false,
                begun: false,
            });
        }
        let Some(flow) = &mut self.flow else { return };
        let mut text = text;
        if !flow.begun {
            text = text.trim_start();
            if text.is_empty() {
                return;
            }
            flow.begun = true;
            self.renderer.gap(out);
        }
        let ink = self.renderer.ink;
        for c in text.chars() {
            // A line feed after a carriage return ends no second line, also where the two come apart.
            if c == '\n' && std::mem::take(&mut flow.after_return) {
                continue;
            }
            flow.after_return = c == '\r';
            for c in clean(c.encode_utf8(&mut [0; 4]), ink.unicode).chars() {
                flow.take(c, &ink, out);
            }
        }
    }

    fn end_flow(&mut self, out: &mut String) {
        let Some(mut flow) = self.flow.take() else { return };
        if flow.begun {
            flow.print_word(&self.renderer.ink, out);
            if flow.column > 0 {
                out.push('\n');
            }
        }
    }
}

impl Flow {
    fn take(&mut self, c: char, ink: &Ink, out: &mut String) {
        match c {
            '\n' => {
                self.print_word(ink, out);
                out.push('\n');
                self.column = 0;
            }
            ' ' => {
                self.print_word(ink, out);
                if self.column < ink.width {
                    out.push(' ');
                    self.column += 1;
                }
            }
            c => {
                self.word.push(c);
                if self.word.len() >= WORD_LIMIT {
                    self.print_word(ink, out);
                }
            }
        }
    }

    fn print_word(&mut self, ink: &Ink, out: &mut String) {
        let word = std::mem::take(&mut self.word);
        let columns: usize = word.chars().map(columns_of).sum();
        if columns > ink.width.saturating_sub(self.column) && self.column > 0 {
            out.push('\n');
            self.column = 0;
        }
        let mut piece = String::new();
        for c in word.chars() {
            if self.column + columns_of(c) > ink.width && self.column > 0 {
                ink.paint_words(&piece, self.style, out);
                piece.clear();
                out.push('\n');
                self.column = 0;
            }
            piece.push(c);
            self.column += columns_of(c);
        }
        ink.paint_words(&piece, self.style, out);
    }
}

fn style_of(row: &Row) -> Style {
    match row.body {
        Body::Reasoning(_) => Style::DIM,
        _ => Style::PLAIN,
    }
}

/// Whether more can be told of a row of these kinds.
fn may_change(row: &Row) -> bool {
    use tapline_timeline::{CompactionState, RequestState, WorkState};
    match &row.body {
        Body::Tool(tool) => !tool.state.is_final(),
        Body::Request(request) => request.state == RequestState::Pending,
        Body::Task(task) => matches!(task.state, WorkState::Running | WorkState::Unknown),
        Body::Helper(helper) => matches!(helper.state, WorkState::Running | WorkState::Unknown),
        Body::Compaction(compaction) => compaction.state == CompactionState::Running,
        // A failed load learns later how the chat goes on.
        Body::Plan(_) | Body::User(_) | Body::Status(_) => true,
        _ => false,
    }
}

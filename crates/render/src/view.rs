//! What a row looks like: a mark in the margin, a headline, facts, and below it what the row holds.

use tapline_timeline::{
    Body, Compaction, CompactionState, Content, Delivery, End, Helper, Media, Message, Origin, Part, Plan,
    PlanState, Row, Session, SessionMessage, SessionState, Status, Task, TextState, Tone, Turn, Unknown,
    User, WorkState,
};

use crate::markdown::markdown;
use crate::paper::{Block, Colour, Fit, Ink, Line, Span, Style};
use crate::words;
use crate::{Fold, Terminal};

pub(crate) const RED: Style = Style::colour(Colour::Red);
pub(crate) const GREEN: Style = Style::colour(Colour::Green);
pub(crate) const YELLOW: Style = Style::colour(Colour::Yellow);
pub(crate) const CYAN: Style = Style::colour(Colour::Cyan);
const MAGENTA: Style = Style::colour(Colour::Magenta);

/// Lines kept of something folded: the first and the last ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keep(pub(crate) usize, pub(crate) usize);

/// Draws rows for one terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) ink: Ink,
    pub(crate) fold: Fold,
    minutes_east: i16,
}

impl View {
    pub(crate) fn new(terminal: &Terminal) -> Self {
        let width = usize::from(terminal.width).max(crate::LEAST_WIDTH);
        Self {
            ink: Ink {
                width,
                color: terminal.color,
                unicode: terminal.unicode,
            },
            fold: terminal.fold,
            minutes_east: terminal.minutes_east,
        }
    }

    /// A moment, by the reader's clock.
    pub(crate) fn moment(&self, time: tapline_timeline::Time) -> Span {
        self.ink.span(&words::moment(time, self.minutes_east), Style::DIM)
    }

    /// What is known of a session.
    pub(crate) fn session(&self, session: &Session) -> Block {
        let ink = &self.ink;
        let title = match &session.title {
            Some(title) if !title.trim().is_empty() => title,
            _ => "Session without a title",
        };
        let mut facts = Vec::new();
        if let Some(agent) = &session.agent {
            let version = agent.version.as_deref().unwrap_or_default();
            facts.push(ink.title(&format!("{} {version}", agent.name), Style::DIM));
        }
        let told = [&session.model, &session.mode, &session.cwd];
        facts.extend(told.into_iter().flatten().map(|fact| ink.title(fact, Style::DIM)));
        if session.state == SessionState::Live {
            facts.push(ink.span("live", GREEN));
        }
        if let Some(context) = session.context.and_then(words::context) {
            facts.push(ink.span(&context, Style::DIM));
        }
        let mut block = Block {
            lines: vec![Line::of(vec![ink.title(title, Style::BOLD)], Fit::Wrap)],
        };
        if !facts.is_empty() {
            block.push(Line::of(self.joined(facts), Fit::Wrap));
        }
        block
    }

    /// A row. `number` counts the turns of the session.
    pub(crate) fn row(&self, row: &Row, number: u64) -> Block {
        let mut block = match &row.body {
            Body::Turn(turn) => self.turn(row, turn, number),
            Body::System(content) => self.system(content),
            Body::User(user) => self.user(user),
            Body::Assistant(message) => self.assistant(message),
            Body::Reasoning(message) => self.reasoning(message),
            Body::Tool(tool) => self.tool(row, tool),
            Body::Plan(plan) => self.plan(plan),
            Body::Request(request) => self.request(request),
            Body::Task(task) => self.task(task),
            Body::Helper(helper) => self.helper(helper),
            Body::Compaction(compaction) => self.compaction(compaction),
            Body::SessionMessage(message) => self.session_message(message),
            Body::Status(status) => self.status(status),
            Body::Unknown(unknown) => self.unknown(unknown),
        };
        for cut in &row.truncated {
            let note = format!("cut: {} ({} at the source)", cut.member, words::bytes(cut.bytes));
            let note = Block {
                lines: vec![Line::of(vec![self.ink.title(&note, YELLOW)], Fit::Wrap)],
            };
            block.append(self.under(note));
        }
        if let Some(producer) = &row.producer {
            let note = Block {
                lines: vec![Line::of(
                    vec![self.ink.title(&format!("by {}", producer.agent), Style::DIM)],
                    Fit::Wrap,
                )],
            };
            block.append(self.under(note));
        }
        block
    }

    fn turn(&self, row: &Row, turn: &Turn, number: u64) -> Block {
        let ink = &self.ink;
        let mut facts = vec![ink.span(&format!("Turn {number}"), Style::BOLD)];
        if turn.origin == Origin::Agent {
            facts.push(ink.span("begun by the agent", MAGENTA));
        }
        facts.extend(row.at.map(|at| self.moment(at)));
        facts.push(self.verdict(turn));
        let took = turn.duration_ms.or_else(|| words::took(row));
        facts.extend(took.map(|ms| ink.span(&words::duration(ms), Style::DIM)));
        facts.extend(
            turn.context
                .and_then(words::context)
                .map(|text| ink.span(&text, Style::DIM)),
        );
        facts.extend(
            turn.usage
                .as_ref()
                .and_then(words::usage)
                .map(|text| ink.title(&text, Style::DIM)),
        );
        let mut spans = self.joined(facts);
        let left = ink.width.saturating_sub(Ink::columns(&spans) + 4);
        if left > 0 {
            let rule = if ink.unicode { "─" } else { "-" };
            spans.push(ink.span(&format!(" {}", rule.repeat(left)), Style::DIM));
        }
        Block {
            lines: vec![Line::of(spans, Fit::Wrap)],
        }
        .indent(
            &[ink.mark("── ", "-- ", Style::DIM)],
            &[ink.span("   ", Style::PLAIN)],
        )
    }

    fn verdict(&self, turn: &Turn) -> Span {
        let Some(end) = turn.end else {
            return self.ink.span("running", CYAN);
        };
        let (word, style) = match end {
            End::Completed => ("completed", GREEN),
            End::Stopped => ("stopped", YELLOW),
            End::Cut => ("cut: the agent process ended", RED.bold()),
            End::Failed => ("failed", RED.bold()),
            End::Refused => ("refused by the agent", YELLOW),
            End::Limit => ("stopped at a limit", YELLOW),
            End::Unknown => ("ended without a verdict", YELLOW),
        };
        match &turn.stop_reason {
            Some(reason) if matches!(end, End::Limit | End::Unknown) => {
                self.ink.title(&format!("{word} ({reason})"), style)
            }
            _ => self.ink.span(word, style),
        }
    }

    fn system(&self, content: &Content) -> Block {
        self.folded_text(
            "Instructions",
            content.as_text(),
            self.ink.mark("§", "#", Style::DIM),
        )
    }

    fn user(&self, user: &User) -> Block {
        let ink = &self.ink;
        let (style, bar) = if user.by_agent {
            (Style::DIM, MAGENTA)
        } else {
            (Style::BOLD, CYAN)
        };
        let keep = match self.fold {
            Fold::Tight => Some(Keep(3, 0)),
            Fold::Usual => Some(Keep(30, 10)),
            Fold::Open => None,
        };
        let mut block = self.keep(
            self.content(&user.content, |text| ink.lines(text, style, Fit::Wrap))
                .trimmed(),
            keep,
        );
        let bar = [ink.mark("▌ ", "> ", bar)];
        block = block.indent(&bar, &bar);
        let mut notes = Block::default();
        if user.by_agent {
            notes.push(Line::of(
                vec![ink.span("put in by the agent itself", MAGENTA)],
                Fit::Wrap,
            ));
        }
        let note = match user.delivery {
            Some(Delivery::Queued) => Some(("queued behind another prompt", YELLOW)),
            Some(Delivery::Sent) => Some(("sent, not yet taken up", YELLOW)),
            Some(Delivery::Rejected) => Some(("rejected by the agent", RED.bold())),
            Some(Delivery::Withdrawn) => Some(("withdrawn", YELLOW)),
            Some(Delivery::Unconfirmed) => Some((
                "unconfirmed: the connection ended before the agent took it up",
                YELLOW,
            )),
            Some(Delivery::Accepted) | None => None,
        };
        if let Some((words, style)) = note {
            let text = match &user.reason {
                Some(reason) => format!("{words}: {reason}"),
                None => words.to_owned(),
            };
            notes.push(Line::of(vec![ink.title(&text, style)], Fit::Wrap));
        }
        for note in notes.lines {
            block.append(self.marked(ink.mark("↳", "^", Style::DIM), Block { lines: vec![note] }));
        }
        block
    }

    fn assistant(&self, message: &Message) -> Block {
        let ink = &self.ink;
        if message.superseded && self.fold != Fold::Open {
            return self.folded_text(
                "Broken off and said again",
                message.content.as_text(),
                ink.mark("↺", "^", Style::DIM),
            );
        }
        let base = if message.superseded {
            Style::DIM
        } else {
            Style::PLAIN
        };
        let mut block = self.content(&message.content, |text| markdown(text, base, ink));
        if message.superseded {
            block.push(Line::of(
                vec![
                    ink.mark("↳ ", "^ ", Style::DIM),
                    ink.span("broken off and said again", YELLOW),
                ],
                Fit::Wrap,
            ));
        }
        self.text_state(message, &mut block);
        block
    }

    fn reasoning(&self, message: &Message) -> Block {
        let ink = &self.ink;
        let mark = ink.mark("∴", "~", Style::DIM);
        if self.fold != Fold::Open {
            let what = if message.state == TextState::Cut {
                "Thought, cut off"
            } else {
                "Thought"
            };
            return self.folded_text(what, message.content.as_text(), mark);
        }
        let mut block = self.content(&message.content, |text| markdown(text, Style::DIM, ink));
        self.text_state(message, &mut block);
        self.marked(mark, block)
    }

    fn text_state(&self, message: &Message, block: &mut Block) {
        match message.state {
            TextState::Ended => {}
            TextState::Open => block.push(Line::of(vec![self.ink.mark("…", "...", CYAN)], Fit::Wrap)),
            TextState::Cut => {
                let note = self.ink.span("cut off here: the agent process ended", RED);
                block.push(Line::of(
                    vec![self.ink.mark("↳ ", "^ ", Style::DIM), note],
                    Fit::Wrap,
                ));
            }
        }
    }

    fn plan(&self, plan: &Plan) -> Block {
        let ink = &self.ink;
        let done = plan
            .entries
            .iter()
            .filter(|entry| entry.status == "completed")
            .count();
        let mut facts = Vec::new();
        if !plan.entries.is_empty() {
            facts.push(ink.span(&format!("{done} of {} done", plan.entries.len()), Style::DIM));
        }
        facts.extend(plan.plan.as_deref().map(|id| ink.title(id, Style::DIM)));
        if plan.state == PlanState::Removed {
            facts.push(ink.span("taken back", YELLOW));
        }
        let mut block = self.headline(
            ink.mark("☰", "=", CYAN),
            vec![ink.span("Plan", Style::BOLD)],
            facts,
        );
        let mut body = Block::default();
        for entry in &plan.entries {
            let (mark, style) = match entry.status.as_str() {
                "completed" => (ink.mark("✓ ", "[x] ", GREEN), Style::DIM),
                "in_progress" => (ink.mark("▸ ", "[>] ", CYAN), Style::BOLD),
                _ => (ink.mark("○ ", "[ ] ", Style::DIM), Style::PLAIN),
            };
            let mut line = Line::of(vec![ink.title(&entry.text, style)], Fit::Wrap);
            if !matches!(entry.status.as_str(), "completed" | "in_progress" | "pending") {
                line.push(ink.span(" ", Style::PLAIN));
                line.push(ink.title(&format!("({})", entry.status), YELLOW));
            }
            if let Some(priority) = entry.priority.as_deref().filter(|priority| *priority != "medium") {
                line.push(ink.span(&format!(" ({priority})"), Style::DIM));
            }
            body.append(Block { lines: vec![line] }.indent(&[mark], &[ink.mark("  ", "    ", Style::PLAIN)]));
        }
        if let Some(text) = &plan.text {
            body.append(markdown(text, Style::PLAIN, ink));
        }
        block.append(self.under(self.keep(body, self.usual(Keep(20, 10)))));
        block
    }

    fn task(&self, task: &Task) -> Block {
        let ink = &self.ink;
        let mut facts = Vec::new();
        facts.extend(task.exit_code.map(|code| self.exit_code(code)));
        facts.extend(
            task.signal
                .as_deref()
                .map(|signal| ink.title(&format!("signal {signal}"), RED)),
        );
        facts.extend(
            task.output_file
                .as_deref()
                .map(|file| ink.title(&format!("output in {file}"), Style::DIM)),
        );
        let mut block = self.headline(
            self.work_mark(task.state),
            vec![ink.title(&task.sentence(), Style::PLAIN)],
            facts,
        );
        if let Some(summary) = &task.summary {
            let body = ink.lines(summary, Style::PLAIN, Fit::Wrap).trimmed();
            block.append(self.under(self.keep(body, self.usual(Keep(6, 2)))));
        }
        block
    }

    fn helper(&self, helper: &Helper) -> Block {
        let ink = &self.ink;
        let word = match helper.state {
            WorkState::Running => ink.span("running", CYAN),
            WorkState::Completed => ink.span("finished", Style::DIM),
            WorkState::Failed => ink.span("failed", RED),
            WorkState::Stopped => ink.span("stopped", YELLOW),
            WorkState::Unknown => ink.span("stopped reporting", YELLOW),
        };
        let mut facts = vec![word];
        facts.extend(
            helper
                .tokens
                .map(|count| ink.span(&format!("{} tokens", words::tokens(count)), Style::DIM)),
        );
        let title = vec![
            ink.span("Helper ", Style::PLAIN),
            ink.title(&format!("\"{}\"", helper.label.trim()), Style::BOLD),
        ];
        let mut block = self.headline(self.work_mark(helper.state), title, facts);
        if let Some(text) = &helper.text {
            block.append(self.under(self.keep(markdown(text, Style::PLAIN, ink), self.usual(Keep(10, 4)))));
        }
        block
    }

    fn work_mark(&self, state: WorkState) -> Span {
        let ink = &self.ink;
        match state {
            WorkState::Running => ink.mark("◐", "~", CYAN),
            WorkState::Completed => ink.mark("✓", "+", GREEN),
            WorkState::Failed => ink.mark("✗", "x", RED),
            WorkState::Stopped => ink.mark("■", "!", YELLOW),
            WorkState::Unknown => ink.mark("?", "?", YELLOW),
        }
    }

    fn compaction(&self, compaction: &Compaction) -> Block {
        let ink = &self.ink;
        let (text, style) = match compaction.state {
            CompactionState::Running => ("Shortening its context", CYAN),
            CompactionState::Completed => ("Context shortened", Style::PLAIN),
            CompactionState::Failed => ("Shortening the context failed", RED),
            CompactionState::Cancelled => ("Shortening the context was broken off", YELLOW),
        };
        let mut block = self.headline(ink.mark("↧", "v", style), vec![ink.span(text, style)], Vec::new());
        let body = self.content(&compaction.content, |text| markdown(text, Style::DIM, ink));
        block.append(self.under(self.keep(body, self.usual(Keep(4, 0)))));
        if let (Fold::Open, Some(detail)) = (self.fold, &compaction.detail) {
            block.append(self.under(ink.lines(detail.as_str(), Style::DIM, Fit::Break)));
        }
        block
    }

    fn session_message(&self, message: &SessionMessage) -> Block {
        let ink = &self.ink;
        let mut title = vec![ink.span("Message", Style::BOLD)];
        for (word, who) in [(" from ", &message.from), (" to ", &message.to)] {
            if let Some(who) = who {
                title.push(ink.span(word, Style::BOLD));
                title.push(ink.title(who, Style::PLAIN));
            }
        }
        let mut block = self.headline(ink.mark("✉", "@", MAGENTA), title, Vec::new());
        let body = self.content(&message.content, |text| markdown(text, Style::PLAIN, ink));
        block.append(self.under(self.keep(body, self.usual(Keep(12, 4)))));
        block
    }

    fn status(&self, status: &Status) -> Block {
        let ink = &self.ink;
        let (mark, word, style) = match status.tone {
            Tone::Info => (ink.mark("·", "-", Style::DIM), "", Style::DIM),
            Tone::Warning => (ink.mark("!", "!", YELLOW.bold()), "Warning: ", YELLOW),
            Tone::Error => (ink.mark("✗", "x", RED.bold()), "Error: ", RED.bold()),
        };
        let mut block = ink.lines(&format!("{word}{}", status.text.trim()), style, Fit::Wrap);
        if let Some(code) = status.detail.as_ref().and_then(|detail| detail.code.as_deref()) {
            block.push(Line::of(
                vec![ink.title(&format!("code {code}"), Style::DIM)],
                Fit::Wrap,
            ));
        }
        if let Some(sentence) = carried_on(status) {
            block.append(ink.lines(&sentence, Style::PLAIN, Fit::Wrap));
        }
        if let (Fold::Open, Some(detail)) = (self.fold, &status.detail) {
            if let Some(source) = &detail.source {
                block.push(Line::of(
                    vec![ink.title(&format!("told by {source}"), Style::DIM)],
                    Fit::Wrap,
                ));
            }
            if let Some(more) = &detail.more {
                block.append(ink.lines(more.as_str(), Style::DIM, Fit::Break));
            }
        }
        self.marked(mark, self.keep(block, self.usual(Keep(20, 10))))
    }

    fn unknown(&self, unknown: &Unknown) -> Block {
        let ink = &self.ink;
        let what = unknown.name.as_deref().unwrap_or(&unknown.method);
        let title = vec![ink.title(&format!("Unknown update {what}"), YELLOW)];
        let facts = match &unknown.name {
            Some(_) => vec![ink.title(&unknown.method, Style::DIM)],
            None => Vec::new(),
        };
        let mut block = self.headline(ink.mark("?", "?", YELLOW), title, facts);
        if let (Fold::Usual | Fold::Open, Some(payload)) = (self.fold, &unknown.payload) {
            block.append(self.under(ink.lines(payload.as_str(), Style::DIM, self.code_fit())));
        }
        block
    }
}

/// Building blocks that all kinds share.
impl View {
    /// Ordered content: its texts by `text`, everything else as a line that says what it is.
    pub(crate) fn content(&self, content: &Content, text: impl Fn(&str) -> Block) -> Block {
        if content.is_plain() {
            return text(content.as_text());
        }
        let mut block = Block::default();
        for part in content.parts() {
            match part {
                Part::Text { text: words } => block.append(text(&words)),
                other => block.push(self.part(&other)),
            }
        }
        block
    }

    /// A part that is no text, as a line.
    pub(crate) fn part(&self, part: &Part) -> Line {
        let text = match part {
            Part::Text { text } => text.clone(),
            Part::Image(media) => media_words("image", media),
            Part::Audio(media) => media_words("audio", media),
            Part::File(media) => media_words("file", media),
            Part::Link { uri, name, title, .. } => match title.as_deref().or(name.as_deref()) {
                Some(name) => format!("[link: {name} ({uri})]"),
                None => format!("[link: {uri}]"),
            },
            Part::Custom { custom, .. } => format!("[{custom}]"),
        };
        Line::of(vec![self.ink.title(&text, MAGENTA)], Fit::Wrap)
    }

    /// A mark in the margin, a title, and facts behind it.
    pub(crate) fn headline(&self, mark: Span, title: Vec<Span>, facts: Vec<Span>) -> Block {
        let mut line = Line::of(title, Fit::Wrap);
        if !facts.is_empty() {
            line.push(self.ink.span("  ", Style::PLAIN));
        }
        for span in self.joined(facts) {
            line.push(span);
        }
        self.marked(mark, Block { lines: vec![line] })
    }

    /// Puts a mark into the margin of a block.
    pub(crate) fn marked(&self, mark: Span, block: Block) -> Block {
        let blank = self.ink.span(" ", Style::PLAIN);
        block.indent(&[mark, blank.clone()], &[blank.clone(), blank])
    }

    /// Puts a block under a headline.
    pub(crate) fn under(&self, block: Block) -> Block {
        let bar = [self.ink.mark("  │ ", "  | ", Style::DIM)];
        block.indent(&bar, &bar)
    }

    pub(crate) fn joined(&self, facts: Vec<Span>) -> Vec<Span> {
        let mut out = Vec::with_capacity(facts.len() * 2);
        for (n, fact) in facts.into_iter().enumerate() {
            if n > 0 {
                out.push(self.ink.mark(" · ", ", ", Style::DIM));
            }
            out.push(fact);
        }
        out
    }

    pub(crate) fn keep(&self, block: Block, keep: Option<Keep>) -> Block {
        match keep {
            Some(Keep(head, tail)) => block.bounded(head, tail, &self.ink),
            None => block,
        }
    }

    /// How much of a body is shown: nothing of it, what is given, or all.
    pub(crate) fn usual(&self, keep: Keep) -> Option<Keep> {
        match self.fold {
            Fold::Tight => Some(Keep(1, 0)),
            Fold::Usual => Some(keep),
            Fold::Open => None,
        }
    }

    /// Code and output keep their lines: too long a one is cut, unless all is to be seen.
    pub(crate) fn code_fit(&self) -> Fit {
        if self.fold == Fold::Open {
            Fit::Break
        } else {
            Fit::Cut
        }
    }

    pub(crate) fn exit_code(&self, code: i64) -> Span {
        self.ink
            .span(&format!("exit {code}"), if code == 0 { Style::DIM } else { RED })
    }

    /// A text folded to one line: its first words and how much more there is.
    fn folded_text(&self, what: &str, text: &str, mark: Span) -> Block {
        let ink = &self.ink;
        if self.fold == Fold::Open {
            return self.marked(
                mark,
                ink.lines(&format!("{what}:\n{text}"), Style::DIM, Fit::Wrap),
            );
        }
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let more = lines.count();
        let behind = match more {
            0 => String::new(),
            1 => " (1 more line)".to_owned(),
            _ => format!(" ({more} more lines)"),
        };
        let before = format!("{what}: ");
        // The count must survive the cut, so the words give way to it.
        let taken = 2 + before.chars().count() + behind.len();
        let first = ink.fitted(first, ink.width.saturating_sub(taken).max(12));
        let spans = vec![
            ink.span(&before, Style::DIM),
            ink.span(
                &first,
                Style {
                    italic: true,
                    ..Style::DIM
                },
            ),
            ink.span(&behind, Style::DIM),
        ];
        self.marked(
            mark,
            Block {
                lines: vec![Line::of(spans, Fit::Wrap)],
            },
        )
    }
}

fn media_words(what: &str, media: &Media) -> String {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(media.name.clone());
    facts.extend(media.media_type.clone());
    facts.extend(media.bytes.map(words::bytes));
    facts.extend(media.uri.clone());
    if facts.is_empty() {
        format!("[{what}]")
    } else {
        format!("[{what}: {}]", facts.join(", "))
    }
}

/// How the chat went on after a load that failed: what a person must know, wherever else the row keeps it.
fn carried_on(status: &Status) -> Option<String> {
    let more = status.detail.as_ref()?.more.as_ref()?;
    let more: serde_json::Value = serde_json::from_str(more.as_str()).ok()?;
    more["carried_on"].as_str().map(str::to_owned)
}

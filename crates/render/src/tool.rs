//! What tools and requests look like.

use tapline_timeline::{
    Answer, Ask, Authorization, Choice, Diff, Effect, FileChange, Outcome, Part, Question, Request,
    RequestState, Row, Tool, ToolItem, ToolResult, ToolState,
};

use crate::Fold;
use crate::paper::{Block, Fit, Line, Span, Style};
use crate::view::{CYAN, GREEN, Keep, RED, View, YELLOW};
use crate::words;

/// Lines of a diff, of a terminal's output and of other texts that a folded tool shows.
const DIFF: Keep = Keep(20, 6);
const OUTPUT: Keep = Keep(4, 8);
const TEXT: Keep = Keep(10, 2);
/// A tool that took less time than this does not say how long.
const WORTH_TELLING_MS: u64 = 1000;

impl View {
    pub(crate) fn tool(&self, row: &Row, tool: &Tool) -> Block {
        let ink = &self.ink;
        let told = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let title = told(&tool.title)
            .or_else(|| told(&tool.name))
            .unwrap_or_else(|| tool.call.clone());
        let mut facts = Vec::new();
        if let Some(name) = told(&tool.name).filter(|name| *name != title) {
            facts.push(ink.title(&name, Style::DIM));
        }
        facts.extend(self.tool_verdict(tool));
        facts.extend(tool.exit_code.map(|code| self.exit_code(code)));
        let (added, removed) =
            tool.content
                .iter()
                .fold((0_u64, 0_u64), |(added, removed), item| match item {
                    ToolItem::Diff(diff) => (
                        added.saturating_add(diff.added),
                        removed.saturating_add(diff.removed),
                    ),
                    _ => (added, removed),
                });
        let lines = self.line_counts(added, removed);
        let took = words::took(row).filter(|ms| *ms >= WORTH_TELLING_MS);
        facts.extend(took.map(|ms| ink.span(&words::duration(ms), Style::DIM)));
        let mut head = vec![ink.title(&title, Style::BOLD)];
        if !lines.is_empty() {
            head.push(ink.span("  ", Style::PLAIN));
            head.extend(lines);
        }
        let mut block = self.headline(self.tool_mark(tool.state), head, facts);
        if self.fold != Fold::Tight {
            block.append(self.under(self.tool_body(tool)));
        }
        block
    }

    fn tool_mark(&self, state: ToolState) -> Span {
        let ink = &self.ink;
        match state {
            ToolState::Pending => ink.mark("○", ".", Style::DIM),
            ToolState::Running => ink.mark("◐", "~", CYAN),
            ToolState::Completed => ink.mark("✓", "+", GREEN),
            ToolState::Failed => ink.mark("✗", "x", RED),
            ToolState::Rejected => ink.mark("⊘", "-", RED),
            ToolState::Interrupted => ink.mark("■", "!", YELLOW),
            ToolState::Unknown => ink.mark("?", "?", YELLOW),
        }
    }

    fn tool_verdict(&self, tool: &Tool) -> Vec<Span> {
        let ink = &self.ink;
        let state = match tool.state {
            ToolState::Completed => None,
            ToolState::Pending => Some(("waiting", Style::DIM)),
            ToolState::Running => Some(("running", CYAN)),
            ToolState::Failed => Some(("failed", RED)),
            ToolState::Rejected => Some(("rejected", RED)),
            ToolState::Interrupted => Some(("interrupted", YELLOW)),
            ToolState::Unknown => Some(("nobody said how it ended", YELLOW)),
        };
        let authorization = match tool.authorization {
            Authorization::NotAsked => None,
            Authorization::AskedAllowed => Some(("allowed", GREEN)),
            Authorization::AskedRejected => Some(("permission refused", RED)),
            Authorization::AskedCancelled => Some(("permission not decided", YELLOW)),
        };
        [state, authorization]
            .into_iter()
            .flatten()
            .map(|(word, style)| ink.span(word, style))
            .collect()
    }

    fn line_counts(&self, added: u64, removed: u64) -> Vec<Span> {
        let ink = &self.ink;
        if added == 0 && removed == 0 {
            return Vec::new();
        }
        let minus = if ink.unicode { "−" } else { "-" };
        vec![
            ink.span(&format!("+{added}"), GREEN),
            ink.span(" ", Style::PLAIN),
            ink.span(&format!("{minus}{removed}"), RED),
        ]
    }

    fn tool_body(&self, tool: &Tool) -> Block {
        let ink = &self.ink;
        let mut body = Block::default();
        let untitled = tool.title.as_deref().is_none_or(|title| title.trim().is_empty());
        if let Some(input) = tool
            .input
            .as_ref()
            .filter(|_| untitled || self.fold == Fold::Open)
        {
            body.append(ink.lines(input.as_str(), Style::DIM, self.code_fit()));
        }
        if self.fold == Fold::Open {
            for place in &tool.locations {
                let text = match place.line {
                    Some(line) => format!("{}:{line}", place.path),
                    None => place.path.clone(),
                };
                body.push(Line::of(vec![ink.title(&text, Style::DIM)], Fit::Wrap));
            }
        }
        let told_codes = tool.exit_code;
        for item in &tool.content {
            body.append(self.tool_item(item, told_codes));
        }
        if let Some(output) = &tool.output {
            body.append(self.output(output));
        }
        if let (Some(result), true) = (&tool.result, tool.content.is_empty() && tool.output.is_none()) {
            body.append(self.result(result));
        }
        body
    }

    /// One item of a tool's content. `told` is the exit code that the headline has told already.
    fn tool_item(&self, item: &ToolItem, told: Option<i64>) -> Block {
        let ink = &self.ink;
        match item {
            ToolItem::Text { text } => {
                let block = ink.lines(text, Style::PLAIN, self.code_fit()).trimmed();
                self.keep(block, self.usual(TEXT))
            }
            ToolItem::Image(media) => self.lone(&Part::Image(media.clone())),
            ToolItem::Audio(media) => self.lone(&Part::Audio(media.clone())),
            ToolItem::File(media) => {
                let mut block = self.lone(&Part::File(media.clone()));
                if let Some(text) = &media.text {
                    block.append(self.keep(ink.lines(text, Style::DIM, self.code_fit()), self.usual(TEXT)));
                }
                block
            }
            ToolItem::Link {
                uri,
                name,
                title,
                media_type,
            } => self.lone(&Part::Link {
                uri: uri.clone(),
                name: name.clone(),
                title: title.clone(),
                media_type: media_type.clone(),
            }),
            ToolItem::Custom { custom, .. } => self.lone(&Part::Custom {
                custom: custom.clone(),
                value: None,
            }),
            ToolItem::Diff(diff) => self.diff(diff),
            ToolItem::Terminal(terminal) => {
                let mut block = self.output(&terminal.output);
                let mut facts = Vec::new();
                facts.extend(
                    terminal
                        .exit_code
                        .filter(|code| Some(*code) != told)
                        .map(|code| self.exit_code(code)),
                );
                facts.extend(
                    terminal
                        .signal
                        .as_deref()
                        .map(|signal| ink.title(&format!("signal {signal}"), RED)),
                );
                if !facts.is_empty() {
                    block.push(Line::of(self.joined(facts), Fit::Wrap));
                }
                block
            }
        }
    }

    fn lone(&self, part: &Part) -> Block {
        Block {
            lines: vec![self.part(part)],
        }
    }

    fn output(&self, text: &str) -> Block {
        if text.trim().is_empty() {
            return Block::default();
        }
        self.keep(
            self.ink.lines(text, Style::PLAIN, self.code_fit()).trimmed(),
            self.usual(OUTPUT),
        )
    }

    fn result(&self, result: &ToolResult) -> Block {
        let Some(value) = &result.value else {
            return Block::default();
        };
        match serde_json::from_str::<String>(value.as_str()) {
            Ok(text) => self.output(&text),
            Err(_) => self.keep(
                self.ink.lines(value.as_str(), Style::DIM, self.code_fit()),
                self.usual(TEXT),
            ),
        }
    }

    fn diff(&self, diff: &Diff) -> Block {
        let ink = &self.ink;
        let word = match diff.change {
            FileChange::Add => "new ",
            FileChange::Delete => "deleted ",
            FileChange::Modify => "edited ",
            FileChange::Move => "moved ",
        };
        let mut line = Line::of(
            vec![ink.span(word, Style::DIM), ink.title(&diff.path, Style::BOLD)],
            Fit::Wrap,
        );
        if let Some(old) = &diff.old_path {
            line.push(ink.span(" from ", Style::DIM));
            line.push(ink.title(old, Style::BOLD));
        }
        for (n, span) in self.line_counts(diff.added, diff.removed).into_iter().enumerate() {
            if n == 0 {
                line.push(ink.span("  ", Style::PLAIN));
            }
            line.push(span);
        }
        match diff.effect {
            Effect::Applied => {}
            Effect::Proposed => line.push(ink.span("  proposed", YELLOW)),
            Effect::Discarded => line.push(ink.span("  not applied", RED)),
        }
        let mut patch = Block::default();
        for text in diff.patch.lines() {
            let style = match text.as_bytes().first() {
                Some(b'+') => GREEN,
                Some(b'-') => RED,
                Some(b'@') => CYAN,
                Some(b'\\') => Style::DIM,
                _ => Style::PLAIN,
            };
            patch.append(ink.lines(text, style, self.code_fit()));
        }
        let mut block = Block { lines: vec![line] };
        block.append(self.keep(patch, self.usual(DIFF)));
        block
    }
}

/// Requests.
impl View {
    pub(crate) fn request(&self, request: &Request) -> Block {
        let ink = &self.ink;
        let what = match request.ask {
            Ask::Permission => "Permission",
            Ask::Question => "Question",
            Ask::Plan => "Plan to approve",
        };
        let pending = request.state == RequestState::Pending;
        let style = if pending { YELLOW.bold() } else { Style::BOLD };
        let mut title = vec![ink.span(what, style)];
        if let Some(text) = request.title.as_deref().filter(|text| !text.trim().is_empty()) {
            title.push(ink.span(": ", style));
            title.push(ink.title(text, Style::PLAIN));
        }
        let mark = match (pending, request.outcome) {
            (true, _) => ink.mark("◆", "*", YELLOW.bold()),
            (_, Some(Outcome::Allowed | Outcome::Answered)) => ink.mark("✓", "+", GREEN),
            (_, Some(Outcome::Rejected)) => ink.mark("⊘", "-", RED),
            (_, Some(Outcome::Cancelled) | None) => ink.mark("■", "!", YELLOW),
        };
        let mut block = self.headline(mark, title, self.request_verdict(request));
        if self.fold == Fold::Tight && !pending {
            return block;
        }
        let mut body = Block::default();
        if let Some(text) = request.text.as_deref().filter(|text| !text.trim().is_empty()) {
            body.append(self.keep(
                crate::markdown::markdown(text, Style::PLAIN, ink),
                self.usual(TEXT),
            ));
        }
        // A request about a tool stands under it, and the tool shows what it is called with and what it shows.
        if pending || request.tool.is_none() || self.fold == Fold::Open {
            if let Some(input) = &request.input {
                body.append(ink.lines(input.as_str(), Style::DIM, self.code_fit()));
            }
            for item in &request.content {
                body.append(self.tool_item(item, None));
            }
        }
        let chosen = request
            .answer
            .as_ref()
            .and_then(|answer| answer.option.as_deref());
        if request.questions.is_empty() {
            body.append(self.choices(&request.options, |choice| Some(choice.id.as_str()) == chosen));
        }
        for question in &request.questions {
            body.append(self.question(question, request.answer.as_ref()));
        }
        block.append(self.under(body));
        block
    }

    fn request_verdict(&self, request: &Request) -> Vec<Span> {
        let ink = &self.ink;
        let (word, style) = match request.outcome {
            Some(Outcome::Allowed) => ("allowed", GREEN),
            Some(Outcome::Rejected) => ("rejected", RED),
            Some(Outcome::Answered) => ("answered", GREEN),
            Some(Outcome::Cancelled) => ("withdrawn", YELLOW),
            None if request.state == RequestState::Pending => ("waits for an answer", YELLOW.bold()),
            None => ("settled", Style::DIM),
        };
        let by = request.answer.as_ref().and_then(|answer| answer.by.as_deref());
        let text = match by {
            Some(by) => format!("{word} by {by}"),
            None => word.to_owned(),
        };
        let at = request.answer.as_ref().and_then(|answer| answer.at);
        let mut facts = vec![ink.title(&text, style)];
        facts.extend(at.map(|at| self.moment(at)));
        facts
    }

    fn choices(&self, choices: &[Choice], chosen: impl Fn(&Choice) -> bool) -> Block {
        let ink = &self.ink;
        let mut block = Block::default();
        for choice in choices {
            let (mark, style) = if chosen(choice) {
                (ink.mark("▸ ", "> ", GREEN), Style::BOLD)
            } else {
                (ink.mark("  ", "  ", Style::PLAIN), Style::DIM)
            };
            let label = choice.label.as_deref().unwrap_or(&choice.id);
            let mut line = Line::of(vec![ink.title(label, style)], Fit::Wrap);
            if let (Fold::Open, Some(kind)) = (self.fold, &choice.kind) {
                line.push(ink.span(&format!(" ({kind})"), Style::DIM));
            }
            block.append(Block { lines: vec![line] }.indent(&[mark], &[ink.span("  ", Style::PLAIN)]));
        }
        block
    }

    fn question(&self, question: &Question, answer: Option<&Answer>) -> Block {
        let ink = &self.ink;
        let mut block = ink.lines(&question.text, Style::BOLD, Fit::Wrap).trimmed();
        if question.multiple {
            block.push(Line::of(
                vec![ink.span("several may be chosen", Style::DIM)],
                Fit::Wrap,
            ));
        }
        let answer = answer.and_then(|answer| answer.answers.iter().find(|one| one.question == question.id));
        let picked = answer.map(|one| one.options.as_slice()).unwrap_or_default();
        let is_picked = |choice: &Choice| {
            picked
                .iter()
                .any(|word| *word == choice.id || Some(word) == choice.label.as_ref())
        };
        block.append(self.choices(&question.options, is_picked));
        // What was chosen need not be among the options: answers come from the wire too.
        let known = |word: &&String| {
            question
                .options
                .iter()
                .any(|choice| **word == choice.id || Some(*word) == choice.label.as_ref())
        };
        let others = picked
            .iter()
            .filter(|word| !known(word))
            .chain(answer.and_then(|one| one.text.as_ref()));
        for words in others {
            let mark = ink.mark("▸ ", "> ", GREEN);
            block.append(
                ink.lines(words, Style::BOLD, Fit::Wrap)
                    .indent(&[mark], &[ink.span("  ", Style::PLAIN)]),
            );
        }
        block
    }
}

//! Work that outlives its turn: tasks and helpers.

use tapline_timeline::{Helper, Task, WorkState};

use super::{CYAN, GREEN, Keep, RED, View, YELLOW};
use crate::markdown::markdown;
use crate::paper::{Block, Fit, Span, Style};
use crate::words;

impl View {
    pub(super) fn task(&self, task: &Task) -> Block {
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

    pub(super) fn helper(&self, helper: &Helper) -> Block {
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
}

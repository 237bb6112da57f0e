//! Terminals: what a tool's command printed and how it ended, told of beside the tool's own news.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Assembler, Cx, clip, label, revise};
use crate::change::{Append, Change, Grows};
use crate::content::{Terminal, ToolItem};
use crate::event::{Printed, TerminalNews};
use crate::limits;
use crate::readable::{ReadableStream, readable};
use crate::row::{Body, Row};

/// Terminals of which more may be told, by the agent's id.
#[derive(Debug, Default)]
pub(super) struct Terminals(IndexMap<Box<str>, TerminalState>);

impl Terminals {
    /// The state of a terminal; the oldest is forgotten for a new one beyond the bound.
    fn state(&mut self, terminal: &str) -> &mut TerminalState {
        if self.0.len() >= limits::TERMINALS && !self.0.contains_key(terminal) {
            self.0.shift_remove_index(0);
        }
        self.0.entry(terminal.into()).or_default()
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

#[derive(Debug, Default)]
struct TerminalState {
    shown: Terminal,
    stream: ReadableStream,
    /// Bytes of its output that came after it was full.
    left_out: u64,
    /// The calls that show it.
    calls: Vec<Box<str>>,
}

impl Assembler {
    /// Fills in what is known of a terminal that a tool shows, and says how much of its output was left out.
    pub(super) fn fill_terminal(&mut self, call: &str, terminal: &mut Terminal, old: &[ToolItem]) -> u64 {
        let Some(id) = terminal.terminal.clone() else {
            return 0;
        };
        let state = self.terminals.state(&id);
        if !state.calls.iter().any(|c| &**c == call) && state.calls.len() < limits::ITEMS {
            state.calls.push(call.into());
        }
        let before = old.iter().find_map(|item| match item {
            ToolItem::Terminal(t) if t.terminal.as_deref() == Some(&id) => Some(t),
            _ => None,
        });
        if state.shown.output.is_empty()
            && let Some(before) = before
        {
            state.shown.output.clone_from(&before.output);
        }
        terminal.output.clone_from(&state.shown.output);
        terminal.exit_code = terminal
            .exit_code
            .or(state.shown.exit_code)
            .or(before.and_then(|b| b.exit_code));
        if terminal.signal.is_none() {
            terminal.signal = state
                .shown
                .signal
                .clone()
                .or_else(|| before.and_then(|b| b.signal.clone()));
        }
        state.left_out
    }

    pub(super) fn terminal(&mut self, cx: &mut Cx<'_>, news: TerminalNews<'_>) {
        let state = self.terminals.state(news.terminal);
        let mut grown = None;
        let was_whole = state.left_out == 0;
        match news.output {
            Printed::Nothing => {}
            Printed::Whole(text) => {
                let text = readable(text);
                let kept = clip(&text, limits::VALUE_BYTES);
                state.left_out = (text.len() - kept.len()) as u64;
                if kept != state.shown.output {
                    state.shown.output = kept.to_owned();
                    grown = Some(None);
                }
            }
            Printed::More(text) => {
                let text = state.stream.push(text);
                let room = limits::VALUE_BYTES.saturating_sub(state.shown.output.len());
                let kept = clip(&text, room);
                state.left_out += (text.len() - kept.len()) as u64;
                if !kept.is_empty() {
                    let offset = state.shown.output.len();
                    state.shown.output.push_str(kept);
                    grown = Some(Some((offset, kept.to_owned())));
                }
            }
        }
        let ended = news.exit_code.is_some() || news.signal.is_some();
        if ended {
            state.shown.exit_code = news.exit_code;
            state.shown.signal = news.signal.as_deref().map(label);
            let rest = state.stream.finish();
            let room = limits::VALUE_BYTES.saturating_sub(state.shown.output.len());
            let kept = clip(&rest, room);
            state.shown.output.push_str(kept);
            state.left_out += (rest.len() - kept.len()) as u64;
        }
        if was_whole && state.left_out > 0 {
            // The row must say that it is cut: it is put whole once.
            grown = Some(None);
        }
        let left_out = state.left_out;
        let (calls, shown) = (state.calls.clone(), state.shown.clone());
        if calls.is_empty() || (grown.is_none() && !ended) {
            cx.host.state("terminal-noted");
            return;
        }
        for call in calls {
            match &grown {
                Some(Some((offset, text))) if !ended => {
                    self.append_terminal(cx, &call, news.terminal, *offset, text)
                }
                _ => self.show_terminal(cx, &call, &shown, left_out),
            }
        }
    }

    fn show_terminal(&mut self, cx: &mut Cx<'_>, call: &str, shown: &Terminal, left_out: u64) {
        let Some(mut row) = self.find_tool(cx, call) else {
            return;
        };
        let serial = self.take_tool(call, &row);
        revise(cx, &mut row, |row| {
            let Body::Tool(tool) = &mut row.body else { return };
            let mut cuts = Vec::new();
            for (at, item) in tool.content.iter_mut().enumerate() {
                if let ToolItem::Terminal(terminal) = item
                    && terminal.terminal == shown.terminal.clone().or_else(|| terminal.terminal.clone())
                {
                    terminal.output.clone_from(&shown.output);
                    terminal.exit_code = shown.exit_code.or(terminal.exit_code);
                    terminal.signal = shown.signal.clone().or_else(|| terminal.signal.take());
                    cuts.push(at);
                }
            }
            if tool.exit_code.is_none() {
                tool.exit_code = shown.exit_code;
            }
            for at in cuts {
                note_left_out(row, at, shown, left_out);
            }
        });
        self.keep_tool(cx, row, serial);
    }

    fn append_terminal(&mut self, cx: &mut Cx<'_>, call: &str, terminal: &str, offset: usize, text: &str) {
        let Some(mut row) = self.find_tool(cx, call) else {
            return;
        };
        let Body::Tool(tool) = &row.body else { return };
        let shows =
            |i: &ToolItem| matches!(i, ToolItem::Terminal(t) if t.terminal.as_deref() == Some(terminal));
        let Some(place) = tool.content.iter().position(shows) else {
            return;
        };
        let id = row.id.clone();
        let append = Append {
            id: &id,
            seq: row.seq,
            member: Grows::Terminal(place),
            offset: offset as u64,
            text,
            revision: row.revision + 1,
            frame: cx.frame,
        };
        cx.host.change(Change::Append(append));
        if self.tools.take_row(call).is_some() {
            // The only copy left is ours, so it grows in place.
            crate::fold::grow(Arc::make_mut(&mut row), &append);
            self.tools.put_back(call, row, text.len());
        }
    }
}

/// Notes on a tool's row that not all of what a terminal printed stands in it.
pub(super) fn note_left_out(row: &mut Row, at: usize, shown: &Terminal, left_out: u64) {
    if left_out > 0 {
        row.cut(
            &format!("content.{at}.output"),
            shown.output.len() as u64 + left_out,
        );
    }
}

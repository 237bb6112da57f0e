//! Terminals: what a tool's command printed and how it ended, told of beside the tool's own news.

use std::sync::Arc;

use super::{Assembler, Cx, clip, revise};
use crate::change::{Append, Change, Grows};
use crate::content::{Terminal, ToolItem};
use crate::event::{Printed, TerminalNews};
use crate::limits;
use crate::readable::{ReadableStream, readable};
use crate::row::Body;

#[derive(Debug, Default)]
pub(super) struct TerminalState {
    shown: Terminal,
    stream: ReadableStream,
    /// The calls that show it.
    calls: Vec<Box<str>>,
}

impl Assembler {
    pub(super) fn fill_terminal(&mut self, call: &str, terminal: &mut Terminal, old: &[ToolItem]) {
        let Some(id) = terminal.terminal.clone() else {
            return;
        };
        if self.tools.terminals.len() >= limits::TERMINALS && !self.tools.terminals.contains_key(id.as_str())
        {
            self.tools.terminals.shift_remove_index(0);
        }
        let state = self.tools.terminals.entry(id.as_str().into()).or_default();
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
    }

    pub(super) fn terminal(&mut self, cx: &mut Cx<'_>, news: TerminalNews<'_>) {
        if self.tools.terminals.len() >= limits::TERMINALS
            && !self.tools.terminals.contains_key(news.terminal)
        {
            self.tools.terminals.shift_remove_index(0);
        }
        let state = self.tools.terminals.entry(news.terminal.into()).or_default();
        let mut grown = None;
        match news.output {
            Printed::Nothing => {}
            Printed::Whole(text) => {
                let text = readable(text);
                let kept = clip(&text, limits::VALUE_BYTES);
                if kept != state.shown.output {
                    state.shown.output = kept.to_owned();
                    grown = Some(None);
                }
            }
            Printed::More(text) => {
                let text = state.stream.push(text);
                let room = limits::VALUE_BYTES.saturating_sub(state.shown.output.len());
                let kept = clip(&text, room);
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
            state.shown.signal = news.signal.map(|s| clip(&s, limits::LABEL_BYTES).to_owned());
            let rest = state.stream.finish();
            let room = limits::VALUE_BYTES.saturating_sub(state.shown.output.len());
            state.shown.output.push_str(clip(&rest, room));
        }
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
                _ => self.show_terminal(cx, &call, &shown),
            }
        }
    }

    fn show_terminal(&mut self, cx: &mut Cx<'_>, call: &str, shown: &Terminal) {
        let Some(mut row) = self.find_tool(cx, call) else {
            return;
        };
        let serial = self.tools.known.get(call).map_or(0, |k| k.turn);
        self.tools.cached -= self
            .tools
            .known
            .get_mut(call)
            .and_then(|k| k.row.take().map(|_| k.bytes))
            .unwrap_or(0);
        revise(cx, &mut row, |row| {
            let Body::Tool(tool) = &mut row.body else { return };
            for item in &mut tool.content {
                if let ToolItem::Terminal(terminal) = item
                    && terminal.terminal == shown.terminal.clone().or_else(|| terminal.terminal.clone())
                {
                    terminal.output.clone_from(&shown.output);
                    terminal.exit_code = shown.exit_code.or(terminal.exit_code);
                    terminal.signal = shown.signal.clone().or_else(|| terminal.signal.take());
                }
            }
            if tool.exit_code.is_none() {
                tool.exit_code = shown.exit_code;
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
        if let Some(known) = self.tools.known.get_mut(call)
            && known.row.take().is_some()
        {
            // The only copy left is ours, so it grows in place.
            crate::fold::grow(Arc::make_mut(&mut row), &append);
            known.row = Some(row);
            known.bytes += text.len();
            self.tools.cached += text.len();
        }
    }
}

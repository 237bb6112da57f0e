//! Tools: what the agent runs.

use std::borrow::Cow;

use indexmap::IndexMap;
use tapline_timeline::{Event, Printed, TerminalNews, ToolNews, ToolStatus};
use tapline_wire::{RawValue, value};

use super::{Reading, unknown};
use crate::connection::Translator;
use crate::dialect::Facts;
use crate::io::{Io, SessionRef};
use crate::parts;
use crate::requests::locations;

impl Translator {
    pub(super) fn tool(&mut self, io: &mut Io<'_>, at: usize, reading: Reading<'_>) {
        let (update, session, turn) = (reading.update, reading.session, reading.turn);
        let fields = &update.fields;
        let Some(call) = fields.tool_call_id.as_deref() else {
            return unknown(io, session, update);
        };
        let mut news = ToolNews {
            turn,
            call,
            announced: reading.kind == "tool_call",
            name: fields.name.clone(),
            title: fields.title.clone().value(),
            kind: fields.kind.clone(),
            status: fields.status.as_deref().and_then(status),
            input: fields.raw_input.and_then(parts::json),
            content: fields
                .content
                .map(|c| parts::tool_items(c, &mut |hash, bytes| io.out.blob(hash, bytes))),
            locations: fields.locations.map(locations),
            extra: IndexMap::new(),
            ..ToolNews::default()
        };
        if let Some(raw) = fields.raw_output {
            let read = parts::raw_output(raw, fields.content);
            news.output = read.text.map(Cow::Owned);
            news.exit_code = read.exit_code;
            news.result = read.result;
        }
        let mut facts = Facts::default();
        self.dialect.tool(reading.around, update, &mut news, &mut facts);
        io.event(session, Event::Tool(Box::new(news)));
        if let Some(meta) = fields.meta.or(update.meta) {
            terminal_marks(io, session, meta);
        }
        self.tell(io, at, facts);
    }
}

fn status(word: &str) -> Option<ToolStatus> {
    match word {
        "pending" => Some(ToolStatus::Pending),
        "in_progress" => Some(ToolStatus::Running),
        "completed" => Some(ToolStatus::Completed),
        "failed" => Some(ToolStatus::Failed),
        _ => None,
    }
}

/// Terminal news that agents put beside a tool's update, for terminals that no client runs. What they call output is
/// what came since the last; `terminal_exit` is the end.
fn terminal_marks(io: &mut Io<'_>, session: SessionRef, meta: &RawValue) {
    for (name, mark) in value::members(meta) {
        if !matches!(
            &*name,
            "terminal_output" | "terminal_output_delta" | "terminal_exit"
        ) {
            continue;
        }
        let Some(terminal) = value::member(mark, "terminal_id").and_then(value::name) else {
            continue;
        };
        let data = value::member_text(mark, "data").filter(|_| name != "terminal_exit");
        let ended = name == "terminal_exit";
        let news = TerminalNews {
            terminal: &terminal,
            output: data.as_deref().map_or(Printed::Nothing, Printed::More),
            exit_code: value::member(mark, "exit_code")
                .filter(|_| ended)
                .and_then(value::i64),
            signal: value::member_text(mark, "signal").filter(|_| ended),
        };
        io.event(session, Event::Terminal(news));
    }
}

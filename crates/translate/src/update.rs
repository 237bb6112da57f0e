//! `session/update`: what the agent says, runs and plans.

use std::borrow::Cow;

use indexmap::IndexMap;
use tapline_timeline::{
    Channel, CompactionNews, CompactionState, Content, Context, Cost, Detail, Event, HelperNews, Json,
    Measure, Part, PlanBody, PlanEntry, PlanNews, Printed, SessionFacts, SessionMessageNews, TerminalNews,
    Text, Time, Tone, ToolNews, ToolStatus, Usage, WorkState,
};
use tapline_wire::frame::SESSION_UPDATE;
use tapline_wire::{Block, Patch, RawValue, Update, value};

use crate::calls::options_of;
use crate::connection::{Io, LastChunk, SessionRef, Translator, is_marked};
use crate::dialect::{Around, Child, Chunk, Facts, Marks};
use crate::parts;
use crate::requests::locations;

impl Translator {
    pub(crate) fn update(&mut self, io: &mut Io<'_>, at: usize, update: &Update<'_>) {
        let Some((name, state)) = self.sessions.get_index(at) else {
            return;
        };
        let session = state.session;
        let Some(kind) = update.kind.as_deref() else {
            io.drop("update-without-kind");
            return;
        };
        let loading = state.loading || state.replay_tail;
        let around = Around {
            session: name,
            loading,
            marked: is_marked(update.meta),
            at: io.stamp.at,
        };
        let marks = self.dialect.marks(around, update);
        let is_history = match (around.marked, marks.replay) {
            (true, _) | (_, Some(true)) => true,
            (false, Some(false)) => false,
            (false, None) => loading,
        };
        if is_history {
            return self.history(io, at, session, kind, update);
        }
        // The usual case borrows nothing more of the session than its number.
        if matches!(kind, "agent_message_chunk" | "agent_thought_chunk") {
            let channel = if kind == "agent_message_chunk" {
                Channel::Assistant
            } else {
                Channel::Reasoning
            };
            return self.chunk(io, at, session, channel, update, &marks);
        }
        let mut facts = Facts::default();
        let name = name.clone();
        let around = Around {
            session: &name,
            ..around
        };
        self.dialect.update(around, update, &marks, &mut facts);
        let (taken, any) = (
            facts.taken_by,
            !facts.events.is_empty() || !facts.children.is_empty(),
        );
        self.tell(io, at, facts);
        if let Some(rule) = taken {
            if !any {
                io.drop(rule);
            }
            return;
        }
        // A child that was opened may have taken the place of another session.
        let Some(at) = self.sessions.get_index_of(&*name) else {
            return;
        };
        self.standard(io, at, session, kind, update, &marks, around);
    }

    /// History: only its context usage is taken, and what the session is called and set to.
    fn history(&mut self, io: &mut Io<'_>, at: usize, session: SessionRef, kind: &str, update: &Update<'_>) {
        let Some((name, state)) = self.sessions.get_index(at) else {
            return;
        };
        let (name, loading) = (name.clone(), state.loading || state.replay_tail);
        let around = Around {
            session: &name,
            loading,
            marked: is_marked(update.meta),
            at: io.stamp.at,
        };
        let mut facts = Facts::default();
        self.dialect.history(around, update, &mut facts);
        self.tell(io, at, facts);
        match kind {
            "usage_update" => usage_update(io, session, None, update, true),
            "current_mode_update" | "config_option_update" | "session_info_update" => {
                info_update(io, session, kind, update)
            }
            _ => io.drop("history"),
        }
    }

    fn chunk(
        &mut self,
        io: &mut Io<'_>,
        at: usize,
        session: SessionRef,
        channel: Channel,
        update: &Update<'_>,
        marks: &Marks<'_>,
    ) {
        let message = update.fields.message_id.as_deref();
        let turn = marks.turn.as_deref();
        let Some(block) = update.fields.content.and_then(Block::read) else {
            return unreadable(io, session, update);
        };
        let Some((name, state)) = self.sessions.get_index(at) else {
            return;
        };
        let loading = state.loading || state.replay_tail;
        let around = Around {
            session: name,
            loading,
            marked: false,
            at: io.stamp.at,
        };
        let mut facts = Facts::default();
        self.dialect.update(around, update, marks, &mut facts);
        let reading = match &block {
            Block::Text { text } => self.dialect.chunk(around, channel, update, text),
            _ => Chunk::Said,
        };
        if !facts.events.is_empty() || !facts.children.is_empty() {
            self.tell(io, at, facts);
        }
        match (block, reading) {
            (_, Chunk::Dropped(rule)) => io.drop(rule),
            (Block::Text { text }, Chunk::Notice) => {
                io.event(
                    session,
                    Event::Status {
                        turn,
                        tone: Tone::Info,
                        text,
                        detail: None,
                    },
                );
            }
            (Block::Text { text }, Chunk::Apart) => {
                let (text, mark) = (&*text, marks.stream.as_deref());
                let said = Text {
                    turn,
                    channel,
                    message,
                    mark,
                    text,
                };
                io.event(session, Event::MessageEnds { turn });
                io.event(session, Event::Text(said));
                io.event(session, Event::MessageEnds { turn });
            }
            (Block::Text { text }, reading) => {
                let text = match &reading {
                    Chunk::SaidOnly(less) => less.as_ref(),
                    _ => &*text,
                };
                let mark = marks.stream.as_deref();
                io.event(
                    session,
                    Event::Text(Text {
                        turn,
                        channel,
                        message,
                        mark,
                        text,
                    }),
                );
                if self.dialect.chunks_are_plain() {
                    self.last_chunk = Some(LastChunk {
                        session,
                        channel,
                        message: message.map(Into::into),
                    });
                }
            }
            (block, _) => {
                let part = parts::part(&block, &mut |hash, bytes| io.out.blob(hash, bytes));
                io.event(
                    session,
                    Event::Media {
                        turn,
                        channel,
                        message,
                        part,
                    },
                );
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // One frame's reading, taken apart.
    fn standard(
        &mut self,
        io: &mut Io<'_>,
        at: usize,
        session: SessionRef,
        kind: &str,
        update: &Update<'_>,
        marks: &Marks<'_>,
        around: Around<'_>,
    ) {
        let turn = marks.turn.as_deref();
        let fields = &update.fields;
        match kind {
            "user_message_chunk" => {
                let Some(block) = fields.content.and_then(Block::read) else {
                    return unreadable(io, session, update);
                };
                if let Block::Text { text } = &block
                    && let Some(rule) = self.dialect.hidden_user_chunk(around, update, text)
                {
                    io.drop(rule);
                    return;
                }
                let part = parts::part(&block, &mut |hash, bytes| io.out.blob(hash, bytes));
                io.event(
                    session,
                    Event::UserPiece {
                        turn,
                        message: fields.message_id.as_deref(),
                        part,
                    },
                );
            }
            "tool_call" | "tool_call_update" => {
                self.tool(io, at, session, kind == "tool_call", update, turn, around)
            }
            "plan" => match fields.entries.filter(|e| value::is_array(e)) {
                Some(list) => {
                    let body = PlanBody::Entries(entries(list));
                    io.event(
                        session,
                        Event::Plan(PlanNews {
                            turn,
                            plan: None,
                            body,
                        }),
                    );
                }
                None => unreadable(io, session, update),
            },
            "plan_update" => match fields.plan {
                Some(plan) => plan_update(io, session, turn, plan),
                None => unreadable(io, session, update),
            },
            "plan_removed" => {
                let plan = fields.plan_id.as_deref();
                io.event(
                    session,
                    Event::Plan(PlanNews {
                        turn,
                        plan,
                        body: PlanBody::Removed,
                    }),
                );
            }
            "usage_update" => usage_update(io, session, turn, update, false),
            "available_commands_update" => io.state("commands"),
            "current_mode_update" | "config_option_update" | "session_info_update" => {
                info_update(io, session, kind, update)
            }
            "notice" => notice(io, session, turn, update),
            "compaction_update" | "compaction_summary_chunk" => compaction(io, session, turn, kind, update),
            "subagent_update" => self.subagent(io, at, turn, update),
            "session_message" | "session_message_chunk" => session_message(io, session, kind, update),
            _ => {
                let raw = update.raw_update();
                let payload = raw.map(RawValue::get);
                io.event(
                    session,
                    Event::Unknown {
                        method: SESSION_UPDATE,
                        name: Some(kind),
                        payload,
                    },
                );
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // One frame's reading, taken apart.
    fn tool(
        &mut self,
        io: &mut Io<'_>,
        at: usize,
        session: SessionRef,
        announced: bool,
        update: &Update<'_>,
        turn: Option<&str>,
        around: Around<'_>,
    ) {
        let fields = &update.fields;
        let Some(call) = fields.tool_call_id.as_deref() else {
            return unreadable(io, session, update);
        };
        let mut news = ToolNews {
            turn,
            call,
            announced,
            name: fields.name.clone(),
            title: fields.title.clone().value(),
            kind: fields.kind.clone(),
            status: fields.status.as_deref().and_then(status),
            input: fields.raw_input.map(Json::new),
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
        self.dialect.tool(around, update, &mut news, &mut facts);
        io.event(session, Event::Tool(Box::new(news)));
        if let Some(meta) = fields.meta.or(update.meta) {
            terminal_marks(io, session, meta);
        }
        self.tell(io, at, facts);
    }

    fn subagent(&mut self, io: &mut Io<'_>, at: usize, turn: Option<&str>, update: &Update<'_>) {
        let fields = &update.fields;
        let Some(child) = fields.session_id.as_deref() else {
            if let Some((_, state)) = self.sessions.get_index(at) {
                unreadable(io, state.session, update);
            }
            return;
        };
        // The state is a word or an object that names itself `state` or `type`.
        let word = fields.state.and_then(|s| {
            value::text(s)
                .or_else(|| value::member_text(s, "state"))
                .or_else(|| value::member_text(s, "type"))
        });
        let detail = |name| fields.state.and_then(|s| value::member(s, name));
        let state = match word.as_deref() {
            Some("running" | "requires_action") => Some(WorkState::Running),
            Some("unknown") => Some(WorkState::Unknown),
            Some("idle") if detail("error").is_some_and(|e| !value::is_null(e)) => Some(WorkState::Failed),
            Some("idle") => match detail("stopReason").and_then(value::text).as_deref() {
                Some("cancelled") => Some(WorkState::Stopped),
                _ => Some(WorkState::Completed),
            },
            _ => None,
        };
        let news = HelperNews {
            helper: Cow::Borrowed(child),
            turn,
            label: fields.title.clone().value(),
            label_guess: fields.description.clone().value(),
            state,
            ..HelperNews::default()
        };
        let facts = Facts {
            events: vec![Event::Helper(news)],
            children: vec![Child {
                session: Cow::Borrowed(child),
                helper: Some(Cow::Borrowed(child)),
                title: fields.title.clone().value(),
            }],
            taken_by: None,
        };
        self.tell(io, at, facts);
        let reason = detail("stopReason").and_then(value::text);
        if word.as_deref() == Some("idle")
            && let Some(child) = self.sessions.get(child).map(|s| s.session)
        {
            let ended = tapline_timeline::TurnEnded {
                turn: None,
                end: self.end_of(reason.as_deref()),
                stop_reason: reason,
                duration_ms: None,
                failure: tapline_timeline::Failure::default(),
                usage: None,
            };
            io.event(child, Event::TurnEnded(ended));
        }
    }
}

/// A known kind whose needed members cannot be read: kept as unknown.
fn unreadable(io: &mut Io<'_>, session: SessionRef, update: &Update<'_>) {
    let payload = update.raw_update().map(RawValue::get);
    io.event(
        session,
        Event::Unknown {
            method: SESSION_UPDATE,
            name: update.kind.as_deref(),
            payload,
        },
    );
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

pub(crate) fn entries(list: &RawValue) -> Vec<PlanEntry> {
    value::array(list)
        .filter_map(|item| {
            let text = value::member_text(item, "content")?.into_owned();
            let status =
                value::member_text(item, "status").map_or_else(|| "pending".to_owned(), Cow::into_owned);
            Some(PlanEntry {
                text,
                status,
                priority: value::member_text(item, "priority").map(Cow::into_owned),
            })
        })
        .collect()
}

fn plan_update(io: &mut Io<'_>, session: SessionRef, turn: Option<&str>, raw: &RawValue) {
    let id = value::member(raw, "planId").and_then(value::name);
    let body = match (value::member(raw, "entries"), value::member_text(raw, "content")) {
        (Some(list), _) if value::is_array(list) => PlanBody::Entries(entries(list)),
        (_, Some(text)) => PlanBody::Text(text),
        _ => {
            io.drop("plan-unreadable");
            return;
        }
    };
    io.event(
        session,
        Event::Plan(PlanNews {
            turn,
            plan: id.as_deref(),
            body,
        }),
    );
}

fn usage_update(io: &mut Io<'_>, session: SessionRef, turn: Option<&str>, update: &Update<'_>, replay: bool) {
    let number = |raw: Option<&RawValue>| raw.and_then(value::u64);
    let context = Context {
        used: number(update.fields.used),
        size: number(update.fields.size),
    };
    io.event(
        session,
        Event::Context {
            turn: turn.map(Cow::Borrowed),
            context,
            replay,
        },
    );
    let cost = update.fields.cost.filter(|_| !replay).and_then(|cost| {
        let amount = value::member(cost, "amount").and_then(value::f64)?;
        let currency = value::member_text(cost, "currency")
            .unwrap_or_default()
            .into_owned();
        Some(Cost { amount, currency })
    });
    if let Some(cost) = cost {
        let usage = Usage {
            measure: Measure::Session,
            input: None,
            input_holds_cached: None,
            output: None,
            cached_read: None,
            cached_write: None,
            thought: None,
            total: None,
            cost: Some(cost),
        };
        io.event(
            session,
            Event::Session(SessionFacts {
                usage: Some(usage),
                ..SessionFacts::default()
            }),
        );
    }
}

fn info_update(io: &mut Io<'_>, session: SessionRef, kind: &str, update: &Update<'_>) {
    let fields = &update.fields;
    let mut facts = SessionFacts::default();
    match kind {
        "current_mode_update" => facts.mode = fields.current_mode_id.clone(),
        "config_option_update" => {
            if let Some(options) = fields.config_options {
                (facts.mode, facts.model) = options_of(options);
            }
        }
        _ => {
            facts.title = match &fields.title {
                Patch::Value(title) => Some(title.clone()),
                Patch::Null => Some(Cow::Borrowed("")),
                Patch::Absent => None,
            };
            facts.updated_at = fields.updated_at.as_deref().and_then(Time::parse);
        }
    }
    io.event(session, Event::Session(facts));
}

fn notice(io: &mut Io<'_>, session: SessionRef, turn: Option<&str>, update: &Update<'_>) {
    let fields = &update.fields;
    let tone = match fields.severity.as_deref() {
        Some("warning") => Tone::Warning,
        Some("error") => Tone::Error,
        _ => Tone::Info,
    };
    let text = match (fields.title.as_deref(), fields.description.as_deref()) {
        (Some(title), Some(description)) => Cow::Owned(format!("{title}\n{description}")),
        (Some(one), None) | (None, Some(one)) => Cow::Borrowed(one),
        (None, None) => return unreadable(io, session, update),
    };
    let detail = Detail {
        code: fields.severity.as_deref().map(str::to_owned),
        source: Some("notice".to_owned()),
        more: None,
    };
    io.event(
        session,
        Event::Status {
            turn,
            tone,
            text,
            detail: Some(detail),
        },
    );
}

fn compaction(io: &mut Io<'_>, session: SessionRef, turn: Option<&str>, kind: &str, update: &Update<'_>) {
    let fields = &update.fields;
    let Some(id) = fields.compaction_id.as_deref() else {
        return unreadable(io, session, update);
    };
    let mut blobs = |hash: &str, bytes: &[u8]| io.out.blob(hash, bytes);
    let piece = match kind {
        "compaction_summary_chunk" => fields
            .content
            .and_then(Block::read)
            .map(|b| parts::part(&b, &mut blobs)),
        _ => None,
    };
    let summary = match &fields.summary {
        Patch::Value(raw) => Some(parts::content(&Block::read_all(raw).items, &mut blobs)),
        Patch::Null => Some(Content::default()),
        Patch::Absent => None,
    };
    let state = match fields.status.as_deref() {
        Some("in_progress") => Some(CompactionState::Running),
        Some("completed") => Some(CompactionState::Completed),
        Some("failed") => Some(CompactionState::Failed),
        Some("cancelled") => Some(CompactionState::Cancelled),
        _ => None,
    };
    let detail = fields.error.map(Json::new);
    io.event(
        session,
        Event::Compaction(CompactionNews {
            compaction: Cow::Borrowed(id),
            turn,
            state,
            summary,
            piece,
            detail,
        }),
    );
}

fn session_message(io: &mut Io<'_>, session: SessionRef, kind: &str, update: &Update<'_>) {
    let fields = &update.fields;
    let Some(message) = fields.message_id.as_deref() else {
        return unreadable(io, session, update);
    };
    let mut blobs = |hash: &str, bytes: &[u8]| io.out.blob(hash, bytes);
    let (content, piece) = match kind {
        "session_message_chunk" => (
            None,
            fields
                .content
                .and_then(Block::read)
                .map(|b| parts::part(&b, &mut blobs)),
        ),
        _ => (
            fields
                .content
                .map(|raw| parts::content(&Block::read_all(raw).items, &mut blobs)),
            None,
        ),
    };
    let news = SessionMessageNews {
        message,
        from: fields.sender_session_id.clone(),
        to: fields.recipient_session_id.clone(),
        content,
        piece: piece.filter(|p| !matches!(p, Part::Text { text } if text.is_empty())),
    };
    io.event(session, Event::SessionMessage(news));
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

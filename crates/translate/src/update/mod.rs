//! `session/update`: what the agent tells.
//!
//! First it is asked whether the update is history ([`Translator::update`]). Then the dialect says what it knows of it beyond
//! the protocol, and at last the standard reading follows: each kind has its own in the files beside this one.

mod chunk;
mod helper;
mod notes;
mod plan;
mod session;
mod tool;

use tapline_timeline::{Channel, Event};
use tapline_wire::frame::SESSION_UPDATE;
use tapline_wire::{RawValue, Update};

use crate::connection::{Translator, is_marked};
use crate::dialect::{Around, Facts};
use crate::io::{Io, SessionRef};

pub(crate) use plan::entries as plan_entries;

/// An update that is no history and that its dialect left to the standard reading.
#[derive(Clone, Copy)]
struct Reading<'a> {
    update: &'a Update<'a>,
    kind: &'a str,
    session: SessionRef,
    /// The agent's key of the turn.
    turn: Option<&'a str>,
    around: Around<'a>,
}

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
        let around = Around {
            loading: state.replays(),
            marked: is_marked(update.meta),
            ..Around::live(name, io.stamp.at)
        };
        let marks = self.dialect.marks(around, update);
        let is_history = match (around.marked, marks.replay) {
            (true, _) | (_, Some(true)) => true,
            (false, Some(false)) => false,
            (false, None) => around.loading,
        };
        // The usual case borrows nothing more of the session than its number.
        match kind {
            _ if is_history => {}
            "agent_message_chunk" => return self.chunk(io, at, session, Channel::Assistant, update, &marks),
            "agent_thought_chunk" => return self.chunk(io, at, session, Channel::Reasoning, update, &marks),
            _ => {}
        }
        let name = name.clone();
        let around = Around {
            session: &name,
            ..around
        };
        if is_history {
            return self.history(io, at, session, around, kind, update);
        }
        let mut facts = Facts::default();
        self.dialect.update(around, update, &marks, &mut facts);
        let taken = facts.taken_by;
        let any = !facts.events.is_empty() || !facts.children.is_empty();
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
        let reading = Reading {
            update,
            kind,
            session,
            turn: marks.turn.as_deref(),
            around,
        };
        self.standard(io, at, reading);
    }

    /// History: only its context usage is taken, and what the session is called and set to.
    fn history(
        &mut self,
        io: &mut Io<'_>,
        at: usize,
        session: SessionRef,
        around: Around<'_>,
        kind: &str,
        update: &Update<'_>,
    ) {
        let mut facts = Facts::default();
        self.dialect.history(around, update, &mut facts);
        self.tell(io, at, facts);
        match kind {
            "usage_update" => session::usage(io, session, None, update, true),
            "current_mode_update" | "config_option_update" | "session_info_update" => {
                session::info(io, session, kind, update)
            }
            _ => io.drop("history"),
        }
    }

    fn standard(&mut self, io: &mut Io<'_>, at: usize, reading: Reading<'_>) {
        let (update, kind, session, turn) = (reading.update, reading.kind, reading.session, reading.turn);
        match kind {
            "user_message_chunk" => self.user_chunk(io, reading),
            "tool_call" | "tool_call_update" => self.tool(io, at, reading),
            "plan" => plan::whole(io, reading),
            "plan_update" => plan::named(io, reading),
            "plan_removed" => plan::removed(io, reading),
            "usage_update" => session::usage(io, session, turn, update, false),
            "available_commands_update" => io.state("commands"),
            "current_mode_update" | "config_option_update" | "session_info_update" => {
                session::info(io, session, kind, update)
            }
            "notice" => notes::notice(io, reading),
            "compaction_update" | "compaction_summary_chunk" => notes::compaction(io, reading),
            "subagent_update" => self.subagent(io, at, reading),
            "session_message" | "session_message_chunk" => notes::session_message(io, reading),
            _ => unknown(io, session, update),
        }
    }
}

/// A kind that nobody knows, or a known one whose needed members cannot be read: kept as unknown.
fn unknown(io: &mut Io<'_>, session: SessionRef, update: &Update<'_>) {
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

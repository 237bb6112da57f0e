//! Agents that the agent started, as the protocol tells of them.

use std::borrow::Cow;

use tapline_timeline::{Ending, Event, HelperNews, TurnEnded, WorkState};
use tapline_wire::value;

use super::{Reading, unknown};
use crate::connection::Translator;
use crate::dialect::{Child, Facts};
use crate::io::Io;

impl Translator {
    pub(super) fn subagent(&mut self, io: &mut Io<'_>, at: usize, reading: Reading<'_>) {
        let (update, session, turn) = (reading.update, reading.session, reading.turn);
        let fields = &update.fields;
        let Some(child) = fields.session_id.as_deref() else {
            return unknown(io, session, update);
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
            let ended = TurnEnded {
                turn: None,
                ending: Ending {
                    stop_reason: reason.clone(),
                    ..Ending::of(self.end_of(reason.as_deref()))
                },
            };
            io.event(child, Event::TurnEnded(ended));
        }
    }
}

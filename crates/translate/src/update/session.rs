//! What the session is called, what it is set to and what it has used.

use std::borrow::Cow;

use tapline_timeline::{Context, Cost, Event, Measure, SessionFacts, Time, Usage};
use tapline_wire::{Patch, RawValue, Update, value};

use crate::io::{Io, SessionRef};
use crate::settings::options_of;

/// `usage_update`: how full the context is, and what the session cost. Of history only the context counts.
pub(super) fn usage(
    io: &mut Io<'_>,
    session: SessionRef,
    turn: Option<&str>,
    update: &Update<'_>,
    replay: bool,
) {
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
    let cost = update.fields.cost.filter(|_| !replay);
    if let Some(cost) = cost.and_then(tapline_wire::Cost::read) {
        let cost = Cost {
            amount: cost.amount,
            currency: cost.currency.unwrap_or_default().into_owned(),
        };
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

/// What a session is called, and its mode and model.
pub(super) fn info(io: &mut Io<'_>, session: SessionRef, kind: &str, update: &Update<'_>) {
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

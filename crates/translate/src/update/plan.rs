//! Plans: one of the session's, or several with names.

use std::borrow::Cow;

use tapline_timeline::{Event, PlanBody, PlanEntry, PlanNews};
use tapline_wire::{RawValue, value};

use super::{Reading, unknown};
use crate::io::Io;

/// `plan`: all entries of the session's plan.
pub(super) fn whole(io: &mut Io<'_>, reading: Reading<'_>) {
    let (update, session) = (reading.update, reading.session);
    match update.fields.entries.filter(|e| value::is_array(e)) {
        Some(list) => tell(io, reading, None, PlanBody::Entries(entries(list))),
        None => unknown(io, session, update),
    }
}

/// `plan_update`: a plan with a name, as entries or as text.
pub(super) fn named(io: &mut Io<'_>, reading: Reading<'_>) {
    let (update, session) = (reading.update, reading.session);
    let Some(raw) = update.fields.plan else {
        return unknown(io, session, update);
    };
    let id = value::member(raw, "planId").and_then(value::name);
    let body = match (value::member(raw, "entries"), value::member_text(raw, "content")) {
        (Some(list), _) if value::is_array(list) => PlanBody::Entries(entries(list)),
        (_, Some(text)) => PlanBody::Text(text),
        _ => {
            io.drop("plan-unreadable");
            return;
        }
    };
    tell(io, reading, id.as_deref(), body);
}

/// `plan_removed`.
pub(super) fn removed(io: &mut Io<'_>, reading: Reading<'_>) {
    tell(
        io,
        reading,
        reading.update.fields.plan_id.as_deref(),
        PlanBody::Removed,
    );
}

fn tell(io: &mut Io<'_>, reading: Reading<'_>, plan: Option<&str>, body: PlanBody<'_>) {
    let turn = reading.turn;
    io.event(reading.session, Event::Plan(PlanNews { turn, plan, body }));
}

/// The steps of a plan. What is no step is left out; one of which nobody says how far it is has not begun.
pub(crate) fn entries(list: &RawValue) -> Vec<PlanEntry> {
    let steps = tapline_wire::PlanEntry::read_all(list).items.into_iter();
    let step = |step: tapline_wire::PlanEntry<'_>| PlanEntry {
        text: step.content.into_owned(),
        status: step.status.map_or_else(|| "pending".to_owned(), Cow::into_owned),
        priority: step.priority.map(Cow::into_owned),
    };
    steps.map(step).collect()
}

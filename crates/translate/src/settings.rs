//! Mode and model of a session: what a call sets, and what answers and updates say of it.

use std::borrow::Cow;

use tapline_timeline::{Event, SessionFacts};
use tapline_wire::{RawValue, value};

use crate::connection::Translator;
use crate::io::Io;

/// What a call sets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Setting {
    Mode,
    Model,
    Option,
}

impl Translator {
    /// The agent did what a call of the client asked.
    pub(crate) fn set(
        &mut self,
        io: &mut Io<'_>,
        provider: &str,
        what: Setting,
        value: Option<String>,
        result: &RawValue,
    ) {
        let Some(session) = self.sessions.get(provider).map(|s| s.session) else {
            io.drop("unknown-session");
            return;
        };
        let mut facts = settings(result);
        match what {
            Setting::Mode => facts.mode = value.map(Cow::Owned).or(facts.mode),
            Setting::Model => facts.model = value.map(Cow::Owned).or(facts.model),
            Setting::Option => {}
        }
        io.event(session, Event::Session(facts));
        self.tell_set_up(io, provider, "session/set", result);
    }
}

/// Mode and model, as the answer to a set-up call or an update of the options has them.
pub(crate) fn settings(object: &RawValue) -> SessionFacts<'_> {
    let [modes, models, options] = value::pick(object, ["modes", "models", "configOptions"]);
    let mut facts = SessionFacts {
        mode: modes.and_then(|modes| value::member_text(modes, "currentModeId")),
        model: models.and_then(|models| value::member_text(models, "currentModelId")),
        ..SessionFacts::default()
    };
    if let Some(options) = options {
        let (mode, model) = options_of(options);
        facts.mode = facts.mode.or(mode);
        facts.model = facts.model.or(model);
    }
    facts
}

/// Mode and model among a session's options.
pub(crate) fn options_of(options: &RawValue) -> (Option<Cow<'_, str>>, Option<Cow<'_, str>>) {
    let (mut mode, mut model) = (None, None);
    for option in value::array(options) {
        let [current, category, id] = value::pick(option, ["currentValue", "category", "id"]);
        let current = || current.and_then(value::text);
        let category = category
            .and_then(value::text)
            .or_else(|| id.and_then(value::text));
        match category.as_deref() {
            Some("mode") => mode = mode.or_else(current),
            Some("model") => model = model.or_else(current),
            _ => {}
        }
    }
    (mode, model)
}

//! The models, their windows, and how full the context is.
//!
//! A window is taken from the catalogue of the model that the session runs with, never from another model: where the
//! current one has none, the window is unknown. The measure is the newest model call: what it was given, cached tokens
//! included, its output not. (The totals on frames are estimates, and those of an answer are sums in some versions.)

use std::borrow::Cow;

use tapline_timeline::{Context, Event, SessionFacts};
use tapline_wire::{RawValue, value};

use super::chats::Chats;
use super::read::{member_id, number};
use crate::dialect::{Around, Facts};

/// Most models of a catalogue.
const MODELS: usize = 256;

/// The catalogue of the connection.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// Each model with its window, where it has one.
    windows: Vec<(Box<str>, Option<u64>)>,
    current: Option<Box<str>>,
    /// Grows with every change, so that a session is told when its window may be another.
    version: u32,
}

impl Models {
    /// Reads `{currentModelId, availableModels}`.
    fn read(&mut self, state: &RawValue) {
        if let Some(models) = value::member(state, "availableModels").filter(|m| value::is_array(m)) {
            self.windows.clear();
            for model in value::array(models).take(MODELS) {
                let window = value::member(model, "_meta").and_then(|m| number(m, "totalContextTokens"));
                if let Some(id) = member_id(model, &["modelId"]) {
                    self.windows.push((id.into(), window.filter(|n| *n > 0)));
                }
            }
        }
        self.version += 1;
    }

    fn window(&self, model: &str) -> Option<u64> {
        self.windows
            .iter()
            .find(|(id, _)| **id == *model)
            .and_then(|(_, window)| *window)
    }

    /// Tells a session its window, if it may have changed since it was told.
    pub(super) fn tell(&self, session: &str, chats: &mut Chats, facts: &mut Facts<'_>) {
        if self.version == 0 {
            return;
        }
        let chat = chats.of(session);
        if chat.told_version == self.version {
            return;
        }
        chat.told_version = self.version;
        let Some(model) = chat.model.as_deref().or(self.current.as_deref()) else {
            return;
        };
        let window = self.window(model);
        if chat.told_window.replace(window) != Some(window) {
            facts.push(window_is(window));
        }
    }

    /// The answer to a set-up call: a catalogue, the session's own model, or both.
    pub(super) fn set_up<'a>(
        &mut self,
        session: &str,
        method: &str,
        result: &'a RawValue,
        chats: &mut Chats,
        facts: &mut Facts<'a>,
    ) {
        if method == "initialize" {
            if let Some(state) = value::path(result, &["_meta", "modelState"]) {
                self.read(state);
                self.current = member_id(state, &["currentModelId"]).map(Into::into);
            }
            return;
        }
        let mut model = value::path(result, &["_meta", "model"]).and_then(|m| member_id(m, &["Ok"]));
        if let Some(state) = value::member(result, "models").filter(|m| value::is_object(m)) {
            self.read(state);
            model = model.or(member_id(state, &["currentModelId"]));
        }
        for option in value::member(result, "configOptions")
            .map(value::array)
            .into_iter()
            .flatten()
        {
            if value::member_text(option, "id").as_deref() == Some("model") {
                model = model.or(member_id(option, &["currentValue"]));
            }
        }
        if let Some(model) = model {
            self.runs_with(session, model, method == "session/set", chats);
        }
        self.tell(session, chats, facts);
    }

    /// The session runs with this model. Where it is the connection's and nobody chose it, the session follows it.
    fn runs_with(&mut self, session: &str, model: &str, chosen: bool, chats: &mut Chats) {
        if self.current.is_none() {
            self.current = Some(model.into());
        }
        let own = chosen || self.current.as_deref() != Some(model);
        chats.of(session).model = own.then(|| model.into());
        self.version += 1;
    }

    /// `model_changed`.
    pub(super) fn changed<'a>(
        &mut self,
        around: Around<'_>,
        update: &'a RawValue,
        chats: &mut Chats,
        facts: &mut Facts<'a>,
    ) {
        facts.taken_by = Some("model-changed");
        let Some(model) = member_id(update, &["model_id", "modelId"]) else {
            return;
        };
        self.runs_with(around.session, model, true, chats);
        facts.push(Event::Session(SessionFacts {
            model: Some(Cow::Borrowed(model)),
            ..SessionFacts::default()
        }));
        self.tell(around.session, chats, facts);
    }

    /// `models/update`: a new catalogue for every session of the connection.
    pub(super) fn update(&mut self, params: &RawValue, chats: &mut Chats, facts: &mut Facts<'_>) {
        facts.taken_by = Some("catalogue");
        self.read(params);
        if let Some(model) = member_id(params, &["currentModelId"]) {
            self.current = Some(model.into());
        }
        // The event goes to every session alike, so it may only be told here where all follow the connection's model;
        // else each is told with its next frame.
        let Some(model) = self.current.as_deref() else {
            return;
        };
        if chats.all().all(|chat| chat.model.is_none()) {
            let window = self.window(model);
            for chat in chats.all() {
                (chat.told_version, chat.told_window) = (self.version, Some(window));
            }
            facts.push(window_is(window));
        }
    }
}

/// The window alone; a running turn takes it with its next measure.
fn window_is(window: Option<u64>) -> Event<'static> {
    let context = Context {
        used: None,
        size: Some(window.unwrap_or(0)),
    };
    Event::Context {
        turn: None,
        context,
        replay: true,
    }
}

/// `response_completed`: what one model call was given.
pub(super) fn call<'a>(
    chats: &mut Chats,
    around: Around<'_>,
    update: &'a RawValue,
    replay: bool,
    facts: &mut Facts<'a>,
) {
    facts.taken_by = Some("model-call");
    let chat = chats.of(around.session);
    if !replay {
        // The call is over: what it streamed stands.
        (chat.stream, chat.broken) = (None, false);
    }
    let Some(usage) = value::member(update, "usage") else {
        return;
    };
    let parts = [
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ];
    let used: u64 = parts
        .iter()
        .filter_map(|name| number(usage, name))
        .fold(0, u64::saturating_add);
    if used > 0 {
        let turn = chat.running.clone().map(|turn| Cow::Owned(turn.into()));
        facts.push(Event::Context {
            turn,
            context: Context {
                used: Some(used),
                size: None,
            },
            replay,
        });
    }
}

//! The client's calls, and what the agent answers.

use std::borrow::Cow;

use tapline_timeline::{
    Detached, Detail, End, Ending, Event, Failure, Measure, Prompt, PromptAnswer, SessionFacts, Tone, Usage,
};
use tapline_wire::session::{self, InitializeAnswer, PromptParams, SessionAnswer, SessionParams};
use tapline_wire::{AgentError, Id, RawValue, value};

use crate::connection::{Translator, key_of};
use crate::dialect::{AnswerReading, Around, Facts};
use crate::io::{Io, SessionRef, Way};
use crate::settings::{Setting, settings};
use crate::{dialects, limits, parts};

/// A call of the client that waits for its answer.
#[derive(Debug)]
pub(crate) enum Call {
    Initialize,
    New {
        cwd: Option<String>,
    },
    Fork {
        from: SessionRef,
        cwd: Option<String>,
    },
    Load {
        session: SessionRef,
        provider: Box<str>,
    },
    Prompt {
        session: SessionRef,
        provider: Box<str>,
    },
    Set {
        provider: Box<str>,
        what: Setting,
        value: Option<String>,
    },
    Other {
        method: Box<str>,
        provider: Option<Box<str>>,
    },
}

impl Translator {
    pub(crate) fn call(&mut self, io: &mut Io<'_>, id: &Id<'_>, method: &str, params: Option<&RawValue>) {
        let read = params.map(SessionParams::read).unwrap_or_default();
        let provider = read.session_id.as_deref();
        let cwd = read.cwd.as_deref().map(str::to_owned);
        let call = match method {
            "initialize" => Call::Initialize,
            "session/new" => Call::New { cwd },
            "session/fork" => match provider {
                Some(provider) => Call::Fork {
                    from: self.known(io, provider, cwd.as_deref()),
                    cwd,
                },
                None => Call::New { cwd },
            },
            "session/load" | "session/resume" => {
                let Some(provider) = provider else {
                    io.drop("load-without-session");
                    return;
                };
                let session = self.known(io, provider, cwd.as_deref());
                if let Some(state) = self.sessions.get_mut(provider) {
                    state.loading = true;
                }
                io.event(session, Event::Attached);
                Call::Load {
                    session,
                    provider: provider.into(),
                }
            }
            "session/prompt" => {
                let (Some(provider), Some(params)) = (provider, params) else {
                    io.drop("prompt-without-session");
                    return;
                };
                let session = self.prompt(io, id, provider, params);
                Call::Prompt {
                    session,
                    provider: provider.into(),
                }
            }
            "session/set_mode" | "session/set_model" | "session/set_config_option" => {
                let (what, name) = match method {
                    "session/set_mode" => (Setting::Mode, "modeId"),
                    "session/set_model" => (Setting::Model, "modelId"),
                    _ => (Setting::Option, "value"),
                };
                let value = params
                    .and_then(|p| value::member_text(p, name))
                    .map(Cow::into_owned);
                io.state("setting-asked");
                Call::Set {
                    provider: provider.unwrap_or_default().into(),
                    what,
                    value,
                }
            }
            _ => {
                io.state("call");
                Call::Other {
                    method: method.into(),
                    provider: provider.map(Into::into),
                }
            }
        };
        if matches!(call, Call::Initialize | Call::New { .. } | Call::Fork { .. }) {
            io.state("call");
        }
        if self.calls.len() >= limits::PENDING_CALLS {
            self.forget_a_call(io);
        }
        self.calls.insert(id.as_ref().into_owned(), call);
    }

    /// Forgets the oldest call on whose answer nothing hangs; if there is none, the oldest, and what hangs on it is let go.
    fn forget_a_call(&mut self, io: &mut Io<'_>) {
        let light = |call: &Call| !matches!(call, Call::Prompt { .. } | Call::Load { .. });
        let at = self.calls.values().position(light).unwrap_or(0);
        io.state("call-forgotten");
        match self.calls.shift_remove_index(at) {
            Some((id, Call::Prompt { session, .. })) => {
                let answer = PromptAnswer::Ended(Ending::of(End::Unknown));
                let key = id.to_string();
                io.event(session, Event::Answer { key: &key, answer });
            }
            Some((_, Call::Load { provider, .. })) => {
                if let Some(state) = self.sessions.get_mut(&*provider) {
                    state.loading = false;
                }
            }
            _ => {}
        }
    }

    /// The session that the client speaks of.
    fn known(&mut self, io: &mut Io<'_>, provider: &str, cwd: Option<&str>) -> SessionRef {
        if let Some(state) = self.sessions.get(provider) {
            return state.session;
        }
        let session = self.open(io, provider, Way::Known, None);
        // It may be one that was let go.
        io.event(session, Event::Attached);
        let facts = SessionFacts {
            cwd: cwd.map(Cow::Borrowed),
            provider_session: Some(Cow::Borrowed(provider)),
            ..SessionFacts::default()
        };
        self.tell_agent(io, session, facts);
        self.release(io, provider);
        session
    }

    fn prompt(&mut self, io: &mut Io<'_>, id: &Id<'_>, provider: &str, params: &RawValue) -> SessionRef {
        let session = self.known(io, provider, None);
        if let Some(state) = self.sessions.get_mut(provider) {
            // Whatever the agent still replayed, a prompt ends it.
            (state.loading, state.replay_tail) = (false, false);
        }
        let read = PromptParams::read(params);
        let content = parts::content(&read.blocks.items, &mut |hash, bytes| io.out.blob(hash, bytes));
        let turn = self.dialect.prompt_key(&read);
        let key = key_of(id);
        let prompt = Prompt {
            key: &key,
            turn: turn.as_deref(),
            content,
            agent_ends_own_turns: self.dialect.ends_own_turns(),
        };
        io.event(session, Event::Prompt(prompt));
        session
    }

    pub(crate) fn answer(
        &mut self,
        io: &mut Io<'_>,
        id: &Id<'_>,
        outcome: &Result<&RawValue, AgentError<'_>>,
    ) {
        let Some(call) = self.calls.shift_remove(&id.as_ref().into_owned()) else {
            io.drop("answer-to-nothing");
            return;
        };
        if let Call::Prompt { session, .. } = &call {
            self.requests_over(*session);
        }
        match (call, outcome) {
            (Call::Initialize, Ok(result)) => self.initialized(io, result),
            (Call::Initialize, Err(error)) => self.set_up_failed(io, error, "initialize"),
            (Call::New { cwd }, Ok(result)) => self.session_made(io, result, cwd, None),
            (Call::Fork { from, cwd }, Ok(result)) => self.session_made(io, result, cwd, Some(from)),
            (Call::New { .. } | Call::Fork { .. }, Err(error)) => {
                self.set_up_failed(io, error, "session/new")
            }
            (Call::Load { session, provider }, Ok(result)) => self.loaded(io, session, &provider, result),
            (Call::Load { session, provider }, Err(error)) => self.load_failed(io, session, &provider, error),
            (Call::Prompt { session, provider }, Ok(result)) => {
                self.prompt_answered(io, &key_of(id), session, &provider, result)
            }
            (Call::Prompt { session, .. }, Err(error)) => {
                let failure = self.prompt_failure(error);
                io.event(
                    session,
                    Event::Answer {
                        key: &key_of(id),
                        answer: PromptAnswer::Error(failure),
                    },
                );
            }
            (
                Call::Set {
                    provider,
                    what,
                    value,
                },
                Ok(result),
            ) => self.set(io, &provider, what, value, result),
            (Call::Other { method, provider }, Ok(result)) => {
                self.other_answered(io, &method, provider.as_deref(), result)
            }
            (Call::Set { .. } | Call::Other { .. }, Err(_)) => io.state("call-refused"),
        }
    }

    /// An answer that no one can read. The session whose call it was, if a row must still say so.
    pub(crate) fn unreadable_answer(
        &mut self,
        io: &mut Io<'_>,
        id: &Id<'_>,
        call: Call,
        sentence: &str,
    ) -> Option<SessionRef> {
        match call {
            Call::Prompt { session, .. } => {
                let detail = Detail {
                    source: Some("answer".to_owned()),
                    ..Detail::default()
                };
                let failure = Failure {
                    words: None,
                    sentence: Some(Cow::Owned(sentence.to_owned())),
                    detail,
                };
                io.event(
                    session,
                    Event::Answer {
                        key: &key_of(id),
                        answer: PromptAnswer::Error(failure),
                    },
                );
                None
            }
            Call::Load { session, provider } => {
                if let Some(state) = self.sessions.get_mut(&*provider) {
                    state.loading = false;
                }
                Some(session)
            }
            Call::Set { provider, .. }
            | Call::Other {
                provider: Some(provider),
                ..
            } => {
                let known = self.sessions.get(&*provider).map(|state| state.session);
                Some(known.unwrap_or_else(|| self.nameless(io)))
            }
            _ => Some(self.nameless(io)),
        }
    }

    fn initialized(&mut self, io: &mut Io<'_>, result: &RawValue) {
        self.handshake = true;
        let read = InitializeAnswer::read(result);
        if let Some(name) = &read.agent_info.name {
            self.agent = Some((
                name.as_ref().to_owned(),
                read.agent_info.version.as_deref().map(str::to_owned),
            ));
            self.agent_label = Some(read.agent_info.title.as_deref().unwrap_or(name).to_owned());
        }
        let named = read.agent_info.name.as_deref().and_then(dialects::by_name);
        let marked = || read.meta.and_then(dialects::by_initialize_meta);
        if let Some(dialect) = named.or_else(marked)
            && dialect.name() != "generic"
        {
            if dialect.name() != self.dialect.name() {
                self.dialect = dialect;
            }
            self.certain = true;
        }
        io.state("initialized");
        let mut facts = Facts::default();
        let around = Around::live("", io.stamp.at);
        self.dialect.set_up(around, "initialize", result, &mut facts);
    }

    /// The agent refused to be set up: a session that nobody has must hold it.
    fn set_up_failed(&mut self, io: &mut Io<'_>, error: &AgentError<'_>, method: &str) {
        let session = match self.lost {
            Some(session) => session,
            None => self.nameless(io),
        };
        let failure = self.failure(error, method, || {
            let name = self.agent_in_a_sentence();
            let what = if method == "initialize" {
                "the connection"
            } else {
                "a session"
            };
            Cow::Owned(format!("{name} refused {what} with an error."))
        });
        io.event(
            session,
            Event::Status {
                turn: None,
                tone: Tone::Error,
                text: failure.words.or(failure.sentence).unwrap_or_default(),
                detail: Some(failure.detail),
            },
        );
    }

    fn session_made(
        &mut self,
        io: &mut Io<'_>,
        result: &RawValue,
        cwd: Option<String>,
        from: Option<SessionRef>,
    ) {
        let read = SessionAnswer::read(result);
        let Some(provider) = read.session_id.as_deref() else {
            io.drop("session-without-id");
            return;
        };
        let lost = self.lost.take();
        let continues = lost.or_else(|| self.nameless.take());
        let session = self.open(io, provider, Way::New, continues);
        if lost.is_some() {
            io.event(
                session,
                Event::CarriedOn {
                    provider_session: provider,
                },
            );
        }
        let facts = SessionFacts {
            cwd: cwd.map(Cow::Owned),
            provider_session: Some(Cow::Borrowed(provider)),
            parent: from.and_then(|from| io.out.session_id(from)),
            ..settings(result)
        };
        self.tell_agent(io, session, facts);
        self.tell_set_up(io, provider, "session/new", result);
        self.release(io, provider);
    }

    pub(crate) fn tell_set_up(&mut self, io: &mut Io<'_>, provider: &str, method: &str, result: &RawValue) {
        let mut facts = Facts::default();
        let around = Around::live(provider, io.stamp.at);
        self.dialect.set_up(around, method, result, &mut facts);
        if let Some(at) = self.sessions.get_index_of(provider) {
            self.tell(io, at, facts);
        }
    }

    fn loaded(&mut self, io: &mut Io<'_>, session: SessionRef, provider: &str, result: &RawValue) {
        let tail = self.dialect.replays_after_the_answer();
        if let Some(state) = self.sessions.get_mut(provider) {
            state.replay_tail = state.loading && tail;
            state.loading = false;
        }
        let facts = SessionFacts {
            provider_session: Some(Cow::Owned(provider.to_owned())),
            ..settings(result)
        };
        self.tell_agent(io, session, facts);
        self.tell_set_up(io, provider, "session/load", result);
    }

    /// One row with the agent's words; the next new session on this connection carries this one on.
    fn load_failed(&mut self, io: &mut Io<'_>, session: SessionRef, provider: &str, error: &AgentError<'_>) {
        // The agent does not know the id: whatever it says under it later is another session's.
        self.sessions.shift_remove(provider);
        if let Some(earlier) = self.lost.replace(session).filter(|earlier| *earlier != session) {
            // Nothing will carry that one on any more.
            io.event(earlier, Event::Detached(Detached { exit: None }));
        }
        let sentence = || Cow::Borrowed("The agent could not load this session.");
        let failure = self.failure(error, "session/load", sentence);
        io.event(session, Event::LoadFailed(failure));
    }

    fn prompt_answered(
        &mut self,
        io: &mut Io<'_>,
        key: &str,
        session: SessionRef,
        provider: &str,
        result: &RawValue,
    ) {
        let read = session::PromptAnswer::read(result);
        let reason = read.stop_reason.as_deref();
        let mut reading = AnswerReading {
            end: self.end_of(reason),
            words: None,
            withdrawn: false,
            duration_ms: None,
            usage: read.usage.map(|u| Usage {
                measure: Measure::Unsaid,
                input: u.input,
                input_holds_cached: None,
                output: u.output,
                cached_read: u.cached_read,
                cached_write: u.cached_write,
                thought: u.thought,
                total: u.total,
                cost: None,
            }),
            events: Vec::new(),
        };
        let around = Around::live(provider, io.stamp.at);
        self.dialect.prompt_answer(around, &read, &mut reading);
        let failure = Failure {
            words: reading.words,
            sentence: (reading.end == End::Failed).then(|| self.sentence(reason)),
            detail: Detail {
                code: reason.map(str::to_owned),
                source: Some("answer".to_owned()),
                more: None,
            },
        };
        let answer = if reading.withdrawn {
            PromptAnswer::Withdrawn
        } else {
            PromptAnswer::Ended(Ending {
                end: reading.end,
                stop_reason: read.stop_reason.clone(),
                duration_ms: reading.duration_ms,
                failure,
                usage: reading.usage,
            })
        };
        io.event(session, Event::Answer { key, answer });
        for event in reading.events {
            io.event(session, event);
        }
    }

    /// How a turn ended that stopped for `reason`.
    pub(crate) fn end_of(&self, reason: Option<&str>) -> End {
        match reason {
            Some("end_turn") => End::Completed,
            Some("cancelled") => End::Stopped,
            Some("refusal") => End::Refused,
            Some("max_tokens" | "max_turn_requests") => End::Limit,
            Some(other) => self.dialect.stop_reason(other).unwrap_or(End::Unknown),
            None => End::Unknown,
        }
    }

    fn other_answered(&mut self, io: &mut Io<'_>, method: &str, provider: Option<&str>, result: &RawValue) {
        io.state("answered");
        let mut facts = Facts::default();
        let at = provider.and_then(|p| self.sessions.get_index_of(p));
        let around = Around::live(provider.unwrap_or_default(), io.stamp.at);
        self.dialect.other_answer(around, method, result, &mut facts);
        if let Some(at) = at {
            self.tell(io, at, facts);
        }
    }
}

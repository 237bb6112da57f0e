//! What the agent asks, and what the client answers.

use std::borrow::Cow;

use tapline_timeline::{
    Answer, Ask, Choice, Event, Location, Outcome, Printed, Question, QuestionAnswer, RequestNews,
    TerminalNews,
};
use tapline_wire::question::{Elicitation, QuestionKind};
use tapline_wire::{AgentError, Id, Params, Permission, RawValue, value};

use crate::connection::{Translator, key_of};
use crate::dialect::{Around, VendorRequest};
use crate::io::{Io, SessionRef};
use crate::{limits, parts};

/// A request of the agent that waits for the client's answer.
#[derive(Debug)]
pub(crate) struct AgentCall {
    pub session: Option<SessionRef>,
    pub what: Asked,
    /// Who decided the answer, where Tapline is the client and said so.
    pub by: Option<String>,
    /// Its turn has ended or was stopped: nobody needs to answer it any more, and its id may come again.
    pub over: bool,
}

#[derive(Debug)]
pub(crate) enum Asked {
    Permission {
        /// The kind of each option, by id.
        kinds: Vec<(String, Option<String>)>,
        /// The tool, where it is another session's: a helper asks through its parent.
        elsewhere: Option<(SessionRef, Box<str>)>,
    },
    Question(Vec<String>),
    Vendor(Box<str>),
    TerminalOutput(Box<str>),
    TerminalExit(Box<str>),
    /// It makes no row.
    Service,
}

impl Translator {
    pub(crate) fn agent_call(&mut self, io: &mut Io<'_>, id: &Id<'_>, method: &str, params: &Params<'_>) {
        let owned = id.as_ref().into_owned();
        if self.agent_calls.get(&owned).is_some_and(|open| !open.over) {
            // The one answer that this id will have is the first one's.
            io.drop("request-doubled");
            return;
        }
        let raw = params.raw();
        let at = self.session_of_request(io, raw);
        let session = at
            .and_then(|at| self.sessions.get_index(at))
            .map(|(_, s)| s.session);
        let key = key_of(id);
        let what = match (method, raw) {
            ("session/request_permission", Some(raw)) => match (at, session) {
                (Some(at), Some(session)) => self.permission(io, &key, at, session, raw),
                _ => {
                    io.drop("request-without-session");
                    None
                }
            },
            ("elicitation/create", Some(raw)) => match session {
                Some(session) => question(io, &key, session, raw),
                None => {
                    io.drop("request-without-session");
                    None
                }
            },
            ("terminal/output", Some(raw)) => terminal_of(io, raw).map(Asked::TerminalOutput),
            ("terminal/wait_for_exit", Some(raw)) => terminal_of(io, raw).map(Asked::TerminalExit),
            (method, _) if method.starts_with("fs/") || method.starts_with("terminal/") => {
                io.state("client-service");
                Some(Asked::Service)
            }
            (method, raw) => self.vendor_request(io, &key, at, session, method, raw),
        };
        if self.agent_calls.len() >= limits::PENDING_CALLS {
            // Its row still waits; the end of its turn cancels it.
            self.agent_calls.shift_remove_index(0);
            io.state("request-forgotten");
        }
        self.agent_calls.insert(
            owned,
            AgentCall {
                session,
                what: what.unwrap_or(Asked::Service),
                by: None,
                over: false,
            },
        );
    }

    /// The turn in which these were asked is over.
    pub(crate) fn requests_over(&mut self, session: SessionRef) {
        for call in self
            .agent_calls
            .values_mut()
            .filter(|call| call.session == Some(session))
        {
            call.over = true;
        }
    }

    fn permission(
        &mut self,
        io: &mut Io<'_>,
        key: &str,
        at: usize,
        session: SessionRef,
        raw: &RawValue,
    ) -> Option<Asked> {
        let permission = match Permission::read(raw) {
            Ok(permission) => permission,
            Err(_) => {
                io.drop("permission-unreadable");
                return None;
            }
        };
        let mut blobs = |hash: &str, bytes: &[u8]| io.out.blob(hash, bytes);
        let content = permission
            .tool
            .content
            .map(|c| parts::tool_items(c, &mut blobs))
            .unwrap_or_default();
        let options = permission.options.iter().map(|option| {
            let mut choice = Choice {
                id: option.id.as_ref().to_owned(),
                label: Some(option.name.as_ref().to_owned()),
                kind: option.kind.as_deref().map(str::to_owned),
            };
            if let Some(label) = self.dialect.option_label(&choice) {
                choice.label = Some(label.to_owned());
            }
            choice
        });
        let mut news = RequestNews {
            key,
            ask: Ask::Permission,
            turn: None,
            call: Some(&permission.tool_call_id),
            title: permission.tool.title.as_deref().map(Cow::Borrowed),
            text: None,
            tool_kind: permission.tool.kind.as_deref().map(Cow::Borrowed),
            input: permission.tool.raw_input.and_then(parts::json),
            content,
            locations: permission.tool.locations.map(locations).unwrap_or_default(),
            options: options.collect(),
            questions: Vec::new(),
            producer: None,
        };
        let kinds = permission
            .options
            .iter()
            .map(|o| (o.id.as_ref().to_owned(), o.kind.as_deref().map(str::to_owned)))
            .collect();
        if let Some((name, state)) = self.sessions.get_index(at) {
            let around = Around {
                loading: state.replays(),
                ..Around::live(name, io.stamp.at)
            };
            self.dialect.permission(around, &permission, &mut news);
        }
        let producer = news.producer.as_ref().and_then(|p| p.session.as_deref());
        let elsewhere = producer
            .and_then(|name| self.sessions.get(name))
            .filter(|state| state.session != session)
            .map(|state| (state.session, permission.tool_call_id.as_ref().into()));
        io.event(session, Event::Request(Box::new(news)));
        Some(Asked::Permission { kinds, elsewhere })
    }

    fn vendor_request(
        &mut self,
        io: &mut Io<'_>,
        key: &str,
        at: Option<usize>,
        session: Option<SessionRef>,
        method: &str,
        raw: Option<&RawValue>,
    ) -> Option<Asked> {
        self.hear_method(method);
        let (Some(at), Some(session), Some(raw)) = (at, session, raw) else {
            io.drop("unknown-request");
            return None;
        };
        let (name, state) = self.sessions.get_index(at)?;
        let around = Around {
            loading: state.replays(),
            ..Around::live(name, io.stamp.at)
        };
        match self.dialect.request(around, key, method, raw) {
            Some(VendorRequest::Asks(news)) => {
                io.event(session, Event::Request(news));
                Some(Asked::Vendor(method.into()))
            }
            Some(VendorRequest::Silent(reason)) => {
                io.drop(reason);
                None
            }
            None => {
                io.drop("unknown-request");
                None
            }
        }
    }

    pub(crate) fn client_answer(
        &mut self,
        io: &mut Io<'_>,
        id: &Id<'_>,
        outcome: &Result<&RawValue, AgentError<'_>>,
    ) {
        let Some(call) = self.agent_calls.shift_remove(&id.as_ref().into_owned()) else {
            io.drop("answer-to-nothing");
            return;
        };
        let key = key_of(id);
        let Some(session) = call.session else {
            io.state("client-answered");
            return;
        };
        let settled = match (&call.what, outcome) {
            (Asked::Permission { kinds, .. }, Ok(result)) => Some(permission_outcome(kinds, result)),
            (Asked::Question(keys), Ok(result)) => Some(question_outcome(keys, result)),
            (Asked::Vendor(method), Ok(result)) => Some(
                self.dialect
                    .answer(method, result)
                    .unwrap_or((Outcome::Answered, None)),
            ),
            (Asked::Permission { .. } | Asked::Question(_) | Asked::Vendor(_), Err(_)) => {
                Some((Outcome::Cancelled, None))
            }
            (Asked::TerminalOutput(terminal), Ok(result)) => {
                return terminal_output(io, session, terminal, result);
            }
            (Asked::TerminalExit(terminal), Ok(result)) => {
                return terminal_exit(io, session, terminal, result);
            }
            _ => None,
        };
        match settled {
            Some((outcome, answer)) => {
                if let Asked::Permission {
                    elsewhere: Some((other, tool)),
                    ..
                } = &call.what
                {
                    io.event(*other, Event::Authorized { call: tool, outcome });
                }
                let who = |by: String, answer: Answer| Answer {
                    by: Some(by),
                    at: io.stamp.at,
                    ..answer
                };
                let answer = match (answer, call.by.clone()) {
                    (Some(answer), by) => Some(who(by.unwrap_or_else(|| "client".to_owned()), answer)),
                    // Nothing was chosen, and it is known who put it away.
                    (None, Some(by)) => Some(who(by, Answer::default())),
                    (None, None) => None,
                };
                io.event(
                    session,
                    Event::Settled {
                        key: &key,
                        outcome,
                        answer,
                    },
                );
            }
            None => io.state("client-answered"),
        }
    }

    /// What Tapline did itself.
    pub(crate) fn did(&mut self, io: &mut Io<'_>, what: &str) {
        io.state("did");
        let Ok(what) = serde_json::from_str::<&RawValue>(what) else {
            return;
        };
        if let Some(answer) = value::member(what, "answer")
            && let Some(id) = value::member(answer, "request").and_then(Id::read)
            && let Some(call) = self.agent_calls.get_mut(&id.as_ref().into_owned())
        {
            call.by = value::member_text(answer, "by").map(Cow::into_owned);
        }
    }

    /// The agent takes a request back.
    pub(crate) fn agent_withdraws(&mut self, io: &mut Io<'_>, params: &RawValue) {
        let Some(id) = value::member(params, "requestId").and_then(Id::read) else {
            io.drop("cancel-without-id");
            return;
        };
        match self.agent_calls.get(&id.as_ref().into_owned()) {
            Some(AgentCall {
                session: Some(session),
                what: Asked::Permission { .. } | Asked::Question(_) | Asked::Vendor(_),
                ..
            }) => {
                let session = *session;
                io.event(
                    session,
                    Event::Settled {
                        key: &key_of(&id),
                        outcome: Outcome::Cancelled,
                        answer: None,
                    },
                );
            }
            Some(_) => io.state("request-withdrawn"),
            None => io.drop("answer-to-nothing"),
        }
    }
}

fn terminal_of(io: &mut Io<'_>, raw: &RawValue) -> Option<Box<str>> {
    io.state("client-service");
    value::member(raw, "terminalId")
        .and_then(value::name)
        .map(|id| id.as_ref().into())
}

fn terminal_output(io: &mut Io<'_>, session: SessionRef, terminal: &str, result: &RawValue) {
    let output = value::member_text(result, "output");
    let exit = value::member(result, "exitStatus").filter(|e| !value::is_null(e));
    let news = TerminalNews {
        terminal,
        output: output.as_deref().map_or(Printed::Nothing, Printed::Whole),
        exit_code: exit
            .and_then(|e| value::member(e, "exitCode"))
            .and_then(value::i64),
        signal: exit.and_then(|e| value::member_text(e, "signal")),
    };
    io.event(session, Event::Terminal(news));
}

fn terminal_exit(io: &mut Io<'_>, session: SessionRef, terminal: &str, result: &RawValue) {
    let news = TerminalNews {
        terminal,
        output: Printed::Nothing,
        exit_code: value::member(result, "exitCode").and_then(value::i64),
        signal: value::member_text(result, "signal"),
    };
    io.event(session, Event::Terminal(news));
}

fn permission_outcome(kinds: &[(String, Option<String>)], result: &RawValue) -> (Outcome, Option<Answer>) {
    let outcome = value::member(result, "outcome");
    let said = outcome.and_then(|o| value::member_text(o, "outcome"));
    if said.as_deref() != Some("selected") {
        return (Outcome::Cancelled, None);
    }
    let option = outcome
        .and_then(|o| value::member(o, "optionId"))
        .and_then(value::name);
    let kind = option
        .as_deref()
        .and_then(|id| kinds.iter().find(|(i, _)| i == id))
        .and_then(|(_, kind)| kind.as_deref());
    let outcome = match kind {
        Some(kind) if kind.starts_with("allow") => Outcome::Allowed,
        Some(kind) if kind.starts_with("reject") => Outcome::Rejected,
        _ => Outcome::Answered,
    };
    (
        outcome,
        Some(Answer {
            option: option.map(Cow::into_owned),
            ..Answer::default()
        }),
    )
}

fn question(io: &mut Io<'_>, key: &str, session: SessionRef, raw: &RawValue) -> Option<Asked> {
    let Some(form) = Elicitation::read(raw) else {
        io.drop("question-unreadable");
        return None;
    };
    let questions: Vec<Question> = form
        .questions
        .items
        .iter()
        .map(|q| {
            let (options, multiple) = match &q.kind {
                QuestionKind::Choice { options, multiple } => (options.as_slice(), *multiple),
                _ => (&[][..], false),
            };
            let text = match (&q.title, &q.description) {
                (Some(title), Some(description)) => format!("{title}: {description}"),
                (Some(one), None) | (None, Some(one)) => one.as_ref().to_owned(),
                (None, None) => q.key.as_ref().to_owned(),
            };
            let choice = |o: &tapline_wire::QuestionOption<'_>| Choice {
                id: o.value.as_ref().to_owned(),
                label: Some(o.label.as_ref().to_owned()),
                kind: None,
            };
            Question {
                id: q.key.as_ref().to_owned(),
                text,
                multiple,
                options: options.iter().map(choice).collect(),
            }
        })
        .collect();
    let keys = questions.iter().map(|q| q.id.clone()).collect();
    let text = match (&form.message, &form.url) {
        (Some(message), Some(url)) => Some(Cow::Owned(format!("{message}\n{url}"))),
        (Some(one), None) | (None, Some(one)) => Some(Cow::Borrowed(one.as_ref())),
        (None, None) => None,
    };
    let news = RequestNews {
        key,
        ask: Ask::Question,
        turn: None,
        call: form.tool_call_id.as_deref(),
        title: form.title.as_deref().map(Cow::Borrowed),
        text,
        tool_kind: None,
        input: None,
        content: Vec::new(),
        locations: Vec::new(),
        options: Vec::new(),
        questions,
        producer: None,
    };
    io.event(session, Event::Request(Box::new(news)));
    Some(Asked::Question(keys))
}

fn question_outcome(keys: &[String], result: &RawValue) -> (Outcome, Option<Answer>) {
    match value::member_text(result, "action").as_deref() {
        Some("accept") => {
            let content = value::member(result, "content");
            let answers = keys.iter().filter_map(|key| {
                let given = content
                    .and_then(|c| value::member(c, key))
                    .filter(|v| !value::is_null(v))?;
                let mut answer = QuestionAnswer {
                    question: key.clone(),
                    ..QuestionAnswer::default()
                };
                if value::is_array(given) {
                    answer.options = value::array(given)
                        .filter_map(value::name)
                        .map(Cow::into_owned)
                        .collect();
                } else {
                    answer.text =
                        Some(value::name(given).map_or_else(|| given.get().to_owned(), Cow::into_owned));
                }
                Some(answer)
            });
            (
                Outcome::Answered,
                Some(Answer {
                    answers: answers.collect(),
                    ..Answer::default()
                }),
            )
        }
        Some("decline") => (Outcome::Rejected, Some(Answer::default())),
        _ => (Outcome::Cancelled, None),
    }
}

/// The places of a tool.
pub(crate) fn locations(raw: &RawValue) -> Vec<Location> {
    let places = tapline_wire::Location::read_all(raw).items.into_iter();
    let place = |place: tapline_wire::Location<'_>| Location {
        path: place.path.into_owned(),
        line: place.line,
    };
    places.map(place).collect()
}

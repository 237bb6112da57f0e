//! Lines into frames: the envelope of JSON-RPC 2.0.
//!
//! [`read`] walks the line once. Where the method is known to be `session/update` before the parameters come, as
//! it is in practice, they are read in the same walk; in any other order they are walked a second time.

use std::borrow::Cow;
use std::fmt;

use crate::raw::RawValue;
use thiserror::Error;

use crate::cursor::{Broken, Cursor};
use crate::id::Id;
use crate::update::Update;
use crate::value;

/// The method whose parameters are read as an [`Update`].
pub const SESSION_UPDATE: &str = "session/update";

/// One message of JSON-RPC 2.0.
#[derive(Debug, Clone)]
// A frame lives on the stack for as long as it takes to handle it. A box would cost every streamed word an allocation.
#[allow(clippy::large_enum_variant)]
pub enum Frame<'a> {
    /// A call that wants an answer.
    Request {
        /// What the answer must repeat; `null` counts as an id.
        id: Id<'a>,
        /// What is asked for.
        method: Cow<'a, str>,
        /// What it is asked with.
        params: Params<'a>,
    },
    /// A call that wants no answer.
    Notification {
        /// What is told.
        method: Cow<'a, str>,
        /// What it is told with.
        params: Params<'a>,
    },
    /// An answer to a request of the other side.
    Answer {
        /// The id of the request.
        id: Id<'a>,
        /// The result, or the error in its place.
        outcome: Result<&'a RawValue, AgentError<'a>>,
    },
}

/// The parameters of a request or notification.
#[derive(Debug, Clone, Default)]
#[allow(clippy::large_enum_variant)] // As for `Frame`.
pub enum Params<'a> {
    /// There is no member `params`.
    #[default]
    None,
    /// The object that `session/update` carries.
    Update(Update<'a>),
    /// The parameters of any other method, or of a `session/update` that carries no object.
    Other(&'a RawValue),
}

impl<'a> Params<'a> {
    /// The parameters as they stand in the line.
    pub fn raw(&self) -> Option<&'a RawValue> {
        match self {
            Self::None => None,
            Self::Update(update) => update.raw_params(),
            Self::Other(raw) => Some(raw),
        }
    }

    /// Makes the parameters what `method` says they are.
    #[cold]
    fn settle(&mut self, method: &str) {
        match self {
            Self::Update(update) if method != SESSION_UPDATE => {
                *self = update.raw_params().map_or(Self::None, Self::Other);
            }
            Self::Other(raw) if method == SESSION_UPDATE => {
                if let Some(update) = Update::read(raw) {
                    *self = Self::Update(update);
                }
            }
            _ => {}
        }
    }
}

/// The member `error` of an answer. Only the readable kind carries words of the other side.
#[derive(Debug, Clone)]
pub struct AgentError<'a> {
    /// The error's code, 0 where it has none that can be read.
    pub code: i64,
    /// The error's message, empty where it has none that can be read.
    pub message: Cow<'a, str>,
    /// What the error carries besides; `null` reads as nothing.
    pub data: Option<&'a RawValue>,
    /// Whether it is an object with a whole number as `code` and a string as `message`, as it should be.
    pub readable: bool,
    /// The member as it stands in the line.
    pub raw: &'a RawValue,
}

impl<'a> AgentError<'a> {
    /// Reads the member `error` of an answer, whatever it is.
    pub fn read(raw: &'a RawValue) -> Self {
        let (mut code, mut message, mut data) = (None, None, None);
        for (name, member) in value::members(raw) {
            match &*name {
                "code" => code = value::i64(member),
                "message" => message = value::text(member),
                "data" => data = (!value::is_null(member)).then_some(member),
                _ => {}
            }
        }
        let readable = code.is_some() && message.is_some();
        Self {
            code: code.unwrap_or_default(),
            message: message.unwrap_or_default(),
            data,
            readable,
            raw,
        }
    }
}

/// Why a line is no frame. Nothing of this ends a connection.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotAFrame {
    /// There is nothing but white space in it.
    #[error("the line is blank")]
    Blank,
    /// It is no JSON.
    #[error("the line is not JSON")]
    NotJson,
    /// It is an array or a scalar.
    #[error("the line is JSON but no object, so it is no message of JSON-RPC")]
    NotAnObject,
    /// It does not say `"jsonrpc": "2.0"`.
    #[error("the line is an object without \"jsonrpc\": \"2.0\", so it is no message of JSON-RPC")]
    NoVersion,
    /// It says that it is JSON-RPC 2.0, and is built like none of its messages.
    #[error("{0}")]
    Envelope(EnvelopeFault),
}

impl NotAFrame {
    /// A short name that stays the same, for counting and for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::NotJson => "not-json",
            Self::NotAnObject => "not-an-object",
            Self::NoVersion => "no-version",
            Self::Envelope(fault) => fault.fault.name(),
        }
    }
}

/// A message of JSON-RPC 2.0 that is put together wrongly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeFault {
    /// What is wrong with it.
    pub fault: Fault,
    /// The id, where one can be read. If the frame has no method, a call with this id has got its answer, and it is
    /// unreadable.
    pub id: Option<Id<'static>>,
    /// The method, where one can be read.
    pub method: Option<String>,
}

impl EnvelopeFault {
    /// The id of the call that waits for this frame: it must be told, since no other answer will come.
    pub fn stranded_call(&self) -> Option<&Id<'static>> {
        match self.fault {
            Fault::NoMeaning | Fault::ResultAndError => self.id.as_ref(),
            Fault::Id | Fault::Method | Fault::MethodAndAnswer | Fault::AnswerWithoutId => None,
        }
    }
}

/// What can be wrong with an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The id is no string, number or `null`.
    Id,
    /// The method is no string.
    Method,
    /// It has a method and also a result or an error.
    MethodAndAnswer,
    /// It has a result and an error.
    ResultAndError,
    /// It has a result or an error but no id.
    AnswerWithoutId,
    /// It has no method, no result and no error.
    NoMeaning,
}

impl Fault {
    /// A short name that stays the same, for counting and for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "envelope-id",
            Self::Method => "envelope-method",
            Self::MethodAndAnswer => "envelope-method-and-answer",
            Self::ResultAndError => "envelope-result-and-error",
            Self::AnswerWithoutId => "envelope-answer-without-id",
            Self::NoMeaning => "envelope-no-meaning",
        }
    }
}

impl fmt::Display for EnvelopeFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.fault {
            Fault::Id => "the frame's id is no string, number or null",
            Fault::Method => "the frame's method is no string",
            Fault::MethodAndAnswer => "the frame has a method and also a result or an error",
            Fault::ResultAndError => "the frame has both a result and an error",
            Fault::AnswerWithoutId => "the frame has a result or an error but no id",
            Fault::NoMeaning => "the frame has no method, no result and no error",
        })?;
        if let Some(id) = &self.id {
            write!(out, " (id {id})")?;
        }
        if let Some(method) = &self.method {
            write!(out, " (method {method})")?;
        }
        Ok(())
    }
}

/// Reads one line.
///
/// # Errors
///
/// If the line is no message of JSON-RPC 2.0. Such lines are counted and skipped; where the fault shows the id of a
/// call, [`EnvelopeFault::stranded_call`], whoever waits for it should be told.
pub fn read(line: &str) -> Result<Frame<'_>, NotAFrame> {
    let mut cursor = Cursor::new(line);
    match cursor.peek() {
        None => return Err(NotAFrame::Blank),
        Some(b'{') => {}
        Some(_) => {
            let whole = cursor.raw().is_ok() && cursor.peek().is_none();
            return Err(if whole {
                NotAFrame::NotAnObject
            } else {
                NotAFrame::NotJson
            });
        }
    }
    let mut envelope = Envelope::default();
    // Apart from the rest, since it is large, and moved only once: into the frame.
    let mut params = Params::None;
    let walked = cursor.object(|cursor, name| envelope.member(cursor, &name, &mut params));
    if walked.is_err() || cursor.peek().is_some() {
        return Err(NotAFrame::NotJson);
    }
    match envelope.into_shape()? {
        Shape::Answer { id, outcome } => Ok(Frame::Answer { id, outcome }),
        Shape::Call { id, method } => {
            // In another order of the members than the usual one, or with two of one name, the method says only now
            // what the parameters are.
            if matches!(params, Params::Update(_)) != (method == SESSION_UPDATE) {
                params.settle(&method);
            }
            match id {
                Some(id) => Ok(Frame::Request { id, method, params }),
                None => Ok(Frame::Notification { method, params }),
            }
        }
    }
}

/// The members of an envelope, as far as they have been met.
#[derive(Default)]
struct Envelope<'a> {
    version: bool,
    id: Option<&'a RawValue>,
    method: Option<Result<Cow<'a, str>, NoString>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// A method that is no string.
struct NoString;

/// What an envelope says, without the parameters.
enum Shape<'a> {
    Call {
        id: Option<Id<'a>>,
        method: Cow<'a, str>,
    },
    Answer {
        id: Id<'a>,
        outcome: Result<&'a RawValue, AgentError<'a>>,
    },
}

impl<'a> Envelope<'a> {
    #[inline]
    fn member(&mut self, cursor: &mut Cursor<'a>, name: &str, params: &mut Params<'a>) -> Result<(), Broken> {
        match name {
            "jsonrpc" => self.version = cursor.text()?.as_deref() == Some("2.0"),
            "method" => self.method = Some(cursor.text()?.ok_or(NoString)),
            "params" => {
                let is_update = matches!(&self.method, Some(Ok(method)) if method == SESSION_UPDATE);
                if is_update && cursor.peek() == Some(b'{') {
                    // Made in its place and then filled, since moving it would cost more than filling it.
                    *params = Params::Update(Update::default());
                    if let Params::Update(update) = params {
                        update.walk(cursor)?;
                    }
                } else {
                    *params = Params::Other(cursor.raw()?);
                }
            }
            "id" => self.id = Some(cursor.raw()?),
            "result" => self.result = Some(cursor.raw()?),
            "error" => self.error = Some(cursor.raw()?),
            _ => {
                cursor.raw()?;
            }
        }
        Ok(())
    }

    #[inline]
    fn into_shape(self) -> Result<Shape<'a>, NotAFrame> {
        if !self.version {
            return Err(NotAFrame::NoVersion);
        }
        let id = match self.id.map(Id::read) {
            None => None,
            Some(Some(id)) => Some(id),
            Some(None) => return Err(self.fault(Fault::Id)),
        };
        let answers = self.result.is_some() || self.error.is_some();
        match (&self.method, self.result, self.error) {
            (Some(Err(NoString)), _, _) => Err(self.fault(Fault::Method)),
            (Some(Ok(_)), _, _) if answers => Err(self.fault(Fault::MethodAndAnswer)),
            (Some(Ok(method)), _, _) => Ok(Shape::Call {
                id,
                method: method.clone(),
            }),
            (None, None, None) => Err(self.fault(Fault::NoMeaning)),
            (None, result, error) => {
                let Some(id) = id else {
                    return Err(self.fault(Fault::AnswerWithoutId));
                };
                // Some peers always write both members, and leave the one that does not apply null.
                let outcome = match (result, error) {
                    (Some(result), None) => Ok(result),
                    (Some(result), Some(error)) if value::is_null(error) => Ok(result),
                    (None, Some(error)) => Err(AgentError::read(error)),
                    (Some(result), Some(error)) if value::is_null(result) => Err(AgentError::read(error)),
                    _ => return Err(self.fault(Fault::ResultAndError)),
                };
                Ok(Shape::Answer { id, outcome })
            }
        }
    }

    #[cold]
    fn fault(&self, fault: Fault) -> NotAFrame {
        let method = match &self.method {
            Some(Ok(method)) => Some(method.clone().into_owned()),
            _ => None,
        };
        let id = self.id.and_then(Id::read).map(Id::into_owned);
        NotAFrame::Envelope(EnvelopeFault { fault, id, method })
    }
}

/// What the start of an over-long line says about the whole of it, so that whoever waits for it can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TooLongHint<'a> {
    /// A request: it is owed an error answer.
    Request {
        /// Its id.
        id: Id<'a>,
        /// Its method.
        method: Cow<'a, str>,
    },
    /// The answer to the call with this id, which will get no other.
    Answer {
        /// The id of the call.
        id: Id<'a>,
    },
    /// Perhaps an answer. With an id, the rest that would tell is not in sight; without one, it is an answer, but
    /// the id stands behind its result. Any open call may be the stranded one.
    MaybeAnswer {
        /// The id, where it is in sight.
        id: Option<Id<'a>>,
    },
    /// A notification, as far as can be seen, or no JSON-RPC at all: nobody waits for it.
    Nothing {
        /// The method of the notification.
        method: Option<Cow<'a, str>>,
    },
}

impl<'a> TooLongHint<'a> {
    /// Reads the start of a line.
    pub fn read(prefix: &'a str) -> Self {
        let mut cursor = Cursor::new(prefix);
        let mut seen = Glimpse::default();
        // The walk ends where the text is cut, if not before: that is no error here.
        let _ = cursor.object(|cursor, name| seen.member(cursor, &name, prefix.len()));
        seen.into_hint()
    }
}

/// The members of an envelope whose end is out of sight.
#[derive(Default)]
struct Glimpse<'a> {
    version: Option<bool>,
    id: Option<Id<'a>>,
    method: Option<Cow<'a, str>>,
    outcome: bool,
}

impl<'a> Glimpse<'a> {
    fn member(&mut self, cursor: &mut Cursor<'a>, name: &str, end: usize) -> Result<(), Broken> {
        // The name alone tells an answer from the rest.
        self.outcome |= matches!(name, "result" | "error");
        let raw = cursor.raw()?;
        if cursor.at() == end {
            // A number that touches the cut may have more digits.
            return Err(Broken);
        }
        match name {
            "jsonrpc" => self.version = Some(value::text(raw).as_deref() == Some("2.0")),
            "id" => self.id = Id::read(raw),
            "method" => self.method = value::text(raw),
            _ => {}
        }
        Ok(())
    }

    fn into_hint(self) -> TooLongHint<'a> {
        match self {
            Self {
                version: Some(false), ..
            } => TooLongHint::Nothing { method: None },
            Self {
                method: Some(method),
                id: Some(id),
                outcome: false,
                ..
            } => TooLongHint::Request { id, method },
            Self {
                method: method @ Some(_),
                ..
            } => TooLongHint::Nothing { method },
            Self {
                id: Some(id),
                outcome: true,
                ..
            } => TooLongHint::Answer { id },
            // A log object may have an id and a long text too. Without the version it is not JSON-RPC.
            Self {
                id,
                outcome,
                version: Some(true),
                ..
            } if outcome || id.is_some() => TooLongHint::MaybeAnswer { id },
            _ => TooLongHint::Nothing { method: None },
        }
    }
}

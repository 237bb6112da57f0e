//! The hook surface of the dialects: what one vendor's agent says beyond the protocol.
//!
//! A dialect interprets. It reads marks, names and vendor frames, and says what they mean in the words of [`Event`];
//! which turn that lands in, and what becomes of rows, is decided elsewhere. Every hook has a default that knows nothing,
//! so a dialect is as long as what its agent says. Readers are tolerant: on any mismatch they say nothing, never fail.

use std::borrow::Cow;
use std::path::Path;

use tapline_timeline::{Answer, Channel, Choice, End, Event, Outcome, RequestNews, Time, ToolNews, Usage};
use tapline_wire::session::{PromptAnswer, PromptParams};

use crate::errors::SIGN_IN;
use tapline_wire::{AgentError, Permission, RawValue, Update};

/// What a dialect says of a frame beside its standard reading.
#[derive(Debug, Default)]
pub struct Facts<'a> {
    /// Events to apply before the frame's standard reading, in this order.
    pub events: Vec<Event<'a>>,
    /// Sessions that the agent started and whose frames will come on this connection.
    pub children: Vec<Child<'a>>,
    /// The frame has no standard reading: the rule that took it.
    pub taken_by: Option<&'static str>,
}

impl<'a> Facts<'a> {
    /// Adds an event.
    pub fn push(&mut self, event: Event<'a>) {
        self.events.push(event);
    }
}

/// A session that the agent started.
#[derive(Debug, Clone)]
pub struct Child<'a> {
    /// The agent's id of it.
    pub session: Cow<'a, str>,
    /// The helper under which it runs, by the agent's id, if it is one.
    pub helper: Option<Cow<'a, str>>,
    /// What a person calls it.
    pub title: Option<Cow<'a, str>>,
}

/// Marks on a `session/update`.
#[derive(Debug, Default)]
pub struct Marks<'a> {
    /// The agent's key of the turn.
    pub turn: Option<Cow<'a, str>>,
    /// The mark of the model call that streams a message.
    pub stream: Option<Cow<'a, str>>,
    /// It is history (true), or certainly live (false).
    pub replay: Option<bool>,
    /// The agent's time of the turn's start.
    pub turn_started: Option<Time>,
}

/// What a chunk of a message is.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// What the agent says.
    #[default]
    Said,
    /// What the agent says, but less than the chunk holds.
    SaidOnly(Cow<'a, str>),
    /// Said in the reply's channel, but a message of its own: a word of the agent's machinery that is not the reply's.
    Apart,
    /// A word of the agent's machinery, not of the reply: a status row.
    Notice,
    /// Nothing for people: the rule that took it.
    Dropped(&'static str),
}

/// A vendor's request, read.
#[derive(Debug)]
pub enum VendorRequest<'a> {
    /// It asks a person something.
    Asks(Box<RequestNews<'a>>),
    /// It makes no row: the rule that took it.
    Silent(&'static str),
}

/// What a client answers to a vendor's request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// This result.
    Result(serde_json::Value),
    /// The answer does not fit the question, and the request stays open: a sentence for the one who answered.
    Invalid(String),
    /// Nobody can answer such a request: the error -32602 with this sentence.
    Fault(String),
}

/// Work of the agent that outlives its turn, by the agent's own id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work<'a> {
    /// A background command or monitor.
    Task(&'a str),
    /// An agent that the agent started.
    Helper(&'a str),
}

impl<'a> Work<'a> {
    /// The agent's id of it.
    pub fn id(self) -> &'a str {
        let (Self::Task(id) | Self::Helper(id)) = self;
        id
    }
}

/// A vendor's call that stops one piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkStop {
    /// The method. An agent without it answers that it does not know the method.
    pub method: &'static str,
    /// What it is called with.
    pub params: serde_json::Value,
}

/// What the agent answered when it was asked to stop one piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkStopped {
    /// It is being stopped; the agent's own news of its end will come.
    Stopping,
    /// The agent has no such work any more: nobody knows how it ended.
    Gone,
    /// It was refused, in the agent's words if it gave any; the work goes on.
    Refused(Option<String>),
}

/// What is known of a connection when a hook is called.
#[derive(Debug, Clone, Copy)]
pub struct Around<'s> {
    /// The agent's id of the session.
    pub session: &'s str,
    /// The session is between a load and its answer (or what the agent still replays after it).
    pub loading: bool,
    /// The frame itself says that it is history.
    pub marked: bool,
    /// When the input came.
    pub at: Option<Time>,
}

impl<'a> Around<'a> {
    /// Around a frame that is no part of a replay: an answer, or what concerns the whole connection.
    pub(crate) fn live(session: &'a str, at: Option<Time>) -> Self {
        Self {
            session,
            loading: false,
            marked: false,
            at,
        }
    }
}

/// One vendor's way of speaking.
pub trait Dialect: Send {
    /// Its name, as in `generic` or the vendor's.
    fn name(&self) -> &'static str;

    /// What the agent is called in a sentence, where the dialect knows better than `agentInfo`.
    fn agent_name(&self) -> Option<&'static str> {
        None
    }

    /// The agent says a prompt's injected id again on the frames of its turn, so a client should inject one.
    fn echoes_prompt_ids(&self) -> bool {
        false
    }

    /// The key that the client gave the turn of its prompt.
    fn prompt_key<'a>(&self, params: &PromptParams<'a>) -> Option<Cow<'a, str>> {
        let _ = params;
        None
    }

    /// The agent says itself when a turn that it began itself has ended.
    fn ends_own_turns(&self) -> bool {
        false
    }

    /// The agent goes on replaying after it has answered a load, until the next prompt.
    fn replays_after_the_answer(&self) -> bool {
        false
    }

    /// Marks on a `session/update`.
    fn marks<'a>(&mut self, around: Around<'_>, update: &Update<'a>) -> Marks<'a> {
        let _ = (around, update);
        Marks::default()
    }

    /// What a `session/update` says beyond the protocol. It is not called for history.
    fn update<'a>(
        &mut self,
        around: Around<'_>,
        update: &Update<'a>,
        marks: &Marks<'a>,
        facts: &mut Facts<'a>,
    ) {
        let _ = (around, update, marks, facts);
    }

    /// What a `session/update` of history may still tell: context usage, and how a task ended.
    fn history<'a>(&mut self, around: Around<'_>, update: &Update<'a>, facts: &mut Facts<'a>) {
        let _ = (around, update, facts);
    }

    /// Whether a chunk of a message is what the protocol says and nothing more: [`Dialect::marks`], [`Dialect::update`] and
    /// [`Dialect::chunk`] have nothing to say of it, whatever its text. Then a chunk that differs from the one before in its
    /// text alone needs no second reading.
    fn chunks_are_plain(&self) -> bool {
        false
    }

    /// What a chunk of a message is.
    fn chunk<'a>(
        &mut self,
        around: Around<'_>,
        channel: Channel,
        update: &Update<'a>,
        text: &str,
    ) -> Chunk<'a> {
        let _ = (around, channel, update, text);
        Chunk::Said
    }

    /// Whether a user message of the agent is for the model alone: the rule that says so.
    fn hidden_user_chunk(
        &mut self,
        around: Around<'_>,
        update: &Update<'_>,
        text: &str,
    ) -> Option<&'static str> {
        let _ = (around, update, text);
        None
    }

    /// Puts a tool's news into the shared shape, and adds what it says of tasks and helpers.
    fn tool<'a>(
        &mut self,
        around: Around<'_>,
        update: &Update<'a>,
        news: &mut ToolNews<'a>,
        facts: &mut Facts<'a>,
    ) {
        let _ = (around, update, news, facts);
    }

    /// A notification that is no `session/update`. Where it gives no event and names no rule, the rule is `vendor-notice`.
    fn notification<'a>(
        &mut self,
        around: Around<'_>,
        method: &str,
        params: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        let _ = (around, method, params, facts);
    }

    /// A request that the protocol does not have. `key` is the request's key.
    fn request<'a>(
        &mut self,
        around: Around<'_>,
        key: &'a str,
        method: &str,
        params: &'a RawValue,
    ) -> Option<VendorRequest<'a>> {
        let _ = (around, key, method, params);
        None
    }

    /// What the client's answer to a request of this vendor says.
    fn answer(&mut self, method: &str, result: &RawValue) -> Option<(Outcome, Option<Answer>)> {
        let _ = (method, result);
        None
    }

    /// What Tapline answers to a request of this vendor where it is the client itself. No answer at all says that the
    /// question was withdrawn. Nothing where the dialect does not know the method.
    fn reply(&self, method: &str, params: &RawValue, answer: Option<&Answer>) -> Option<Reply> {
        let _ = (method, params, answer);
        None
    }

    /// Whether a file is the agent's own paper about this session of its, which it reads and writes through the client wherever
    /// that offers files, though it lies in none of the session's folders. The agent names the path, so it must be told apart
    /// from every file that is not such a paper by its own last parts.
    fn keeps_file(&self, session: &str, path: &Path) -> bool {
        let _ = (session, path);
        false
    }

    /// How one piece of work that outlives its turn is stopped, in this session of the agent; nothing where the vendor has no way.
    fn stop_work(&self, session: &str, work: Work<'_>) -> Option<WorkStop> {
        let _ = (session, work);
        None
    }

    /// What the answer to [`Dialect::stop_work`] says of that work.
    fn work_stopped(&self, work: Work<'_>, result: &RawValue) -> WorkStopped {
        let _ = (work, result);
        WorkStopped::Refused(None)
    }

    /// Puts a permission into the shared shape.
    fn permission<'a>(
        &mut self,
        around: Around<'_>,
        permission: &Permission<'a>,
        news: &mut RequestNews<'a>,
    ) {
        let _ = (around, permission, news);
    }

    /// What a person reads for a permission's option, where its own label says too little.
    fn option_label(&self, choice: &Choice) -> Option<&'static str> {
        let _ = choice;
        None
    }

    /// How a turn ended that stopped for a reason outside the protocol.
    fn stop_reason(&self, reason: &str) -> Option<End> {
        let _ = reason;
        None
    }

    /// What the answer to a prompt says beyond the protocol. `end` may be corrected.
    fn prompt_answer<'a>(
        &mut self,
        around: Around<'_>,
        answer: &PromptAnswer<'a>,
        reading: &mut AnswerReading<'a>,
    ) {
        let _ = (around, answer, reading);
    }

    /// The agent's words in an error, where the dialect knows where they stand; `Some(None)` says there are none.
    fn error_words<'a>(&self, error: &AgentError<'a>) -> Option<Option<Cow<'a, str>>> {
        let _ = error;
        None
    }

    /// Whether an error says that nobody is signed in.
    fn asks_for_sign_in(&self, error: &AgentError<'_>) -> bool {
        error.code == SIGN_IN
    }

    /// The reason that an error stands for, in the words of [`Dialect::failure_sentence`].
    fn error_reason(&self, error: &AgentError<'_>) -> Option<&'static str> {
        let _ = error;
        None
    }

    /// Our sentence for a failed turn without words.
    fn failure_sentence(&self, reason: Option<&str>) -> Option<&'static str> {
        let _ = reason;
        None
    }

    /// The answer to `initialize`, `session/new`, `session/load` or another set-up call.
    fn set_up<'a>(&mut self, around: Around<'_>, method: &str, result: &'a RawValue, facts: &mut Facts<'a>) {
        let _ = (around, method, result, facts);
    }

    /// The answer to any other call of the client.
    fn other_answer<'a>(
        &mut self,
        around: Around<'_>,
        method: &str,
        result: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        let _ = (around, method, result, facts);
    }
}

/// What the answer to a prompt says, for a dialect to correct.
#[derive(Debug)]
pub struct AnswerReading<'a> {
    /// How the turn ended.
    pub end: End,
    /// Words for a reason that is a failure.
    pub words: Option<Cow<'a, str>>,
    /// The prompt was taken back before its turn.
    pub withdrawn: bool,
    /// The agent's own measure.
    pub duration_ms: Option<u64>,
    /// Totals, with the measure that this agent uses.
    pub usage: Option<Usage>,
    /// Events that follow the end.
    pub events: Vec<Event<'a>>,
}

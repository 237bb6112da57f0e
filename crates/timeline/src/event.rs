//! The small vocabulary between a translator and the assembler.
//!
//! An event says what an input means, never what becomes of a row: which turn it lands in, whether it opens or settles
//! one, and what is dropped is decided by the assembler alone. Most events borrow from the input.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;

use crate::content::{Content, Part, ToolItem, ToolResult};
use crate::id::SessionId;
use crate::json::Json;
use crate::row::{Answer, Choice, Context, Detail, Location, PlanEntry, Producer, Question, Usage};
use crate::time::Time;
use crate::word::*;

/// One thing that happened in a session.
#[derive(Debug, Serialize, Clone)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// Facts about the session itself.
    Session(SessionFacts<'a>),
    /// The client sent a prompt.
    Prompt(Prompt<'a>),
    /// The agent answered a prompt.
    Answer {
        /// The prompt's key.
        key: &'a str,
        /// What the answer says.
        answer: PromptAnswer<'a>,
    },
    /// A person ended the work that runs.
    Stop,
    /// The agent says that a turn of its own naming began.
    TurnStarted {
        /// The agent's key of the turn.
        turn: &'a str,
        /// Whether the agent began it itself, by its own word; nothing where it does not say.
        own: Option<bool>,
        /// The agent's time of the start.
        at: Option<Time>,
    },
    /// The agent names the turn of a prompt that waits, where the client gave it no name. It opens nothing.
    PromptNamed {
        /// The agent's key of the turn.
        turn: &'a str,
        /// What was asked, to know the prompt by, where the agent says it.
        text: Option<Cow<'a, str>>,
    },
    /// A permission was settled in one session, for a tool of another (an agent's helper asks through its parent).
    Authorized {
        /// The agent's id of the call.
        call: &'a str,
        /// How.
        outcome: Outcome,
    },
    /// The agent says, beside the answer, how a turn ended.
    TurnEnded(TurnEnded<'a>),
    /// The reason of a failure, told apart from an end.
    Failure {
        /// The agent's key of the turn, where it gives one.
        turn: Option<Cow<'a, str>>,
        /// The words and what stands behind them.
        failure: Failure<'a>,
    },
    /// A piece of what the agent says or thinks.
    Text(Text<'a>),
    /// What was said last in this turn is a message of its own: what is said next begins another.
    MessageEnds {
        /// The agent's key of the turn, where it gives one.
        turn: Option<&'a str>,
    },
    /// A part of a message that is no text.
    Media {
        /// The agent's key of the turn, where it gives one.
        turn: Option<&'a str>,
        /// Where it is said.
        channel: Channel,
        /// The agent's id of the message.
        message: Option<&'a str>,
        /// The part.
        part: Part,
    },
    /// What was streamed in this turn under `mark` will be said again.
    Superseded {
        /// The agent's key of the turn, where it gives one.
        turn: Option<&'a str>,
        /// The mark of the stream that broke.
        mark: Cow<'a, str>,
    },
    /// A piece of a user message that the agent sends: an echo, or its own.
    UserPiece {
        /// The agent's key of the turn, where it gives one.
        turn: Option<&'a str>,
        /// The agent's id of the message.
        message: Option<&'a str>,
        /// The piece.
        part: Part,
    },
    /// News of a tool call.
    Tool(Box<ToolNews<'a>>),
    /// What a terminal printed and how it ended.
    Terminal(TerminalNews<'a>),
    /// The plan as it is now.
    Plan(PlanNews<'a>),
    /// The agent asks something.
    Request(Box<RequestNews<'a>>),
    /// A request was answered or withdrawn.
    Settled {
        /// The request's key.
        key: &'a str,
        /// How.
        outcome: Outcome,
        /// What was answered.
        answer: Option<Answer>,
    },
    /// News of work that outlives its tool and turn.
    Task(TaskNews<'a>),
    /// News of an agent that the agent started.
    Helper(HelperNews<'a>),
    /// News of a compaction.
    Compaction(CompactionNews<'a>),
    /// A message between sessions.
    SessionMessage(SessionMessageNews<'a>),
    /// How full the model's context is.
    Context {
        /// The agent's key of the turn, where it gives one.
        turn: Option<Cow<'a, str>>,
        /// The measure; a member that is not there keeps its last value.
        context: Context,
        /// It is part of a replay: the session takes it, no row does.
        replay: bool,
    },
    /// Token totals.
    Usage {
        /// The agent's key of the turn, where it gives one.
        turn: Option<&'a str>,
        /// The totals.
        usage: Usage,
    },
    /// A sentence about the session.
    Status {
        /// The agent's key of the turn, where it gives one.
        turn: Option<&'a str>,
        /// How loud.
        tone: Tone,
        /// The words.
        text: Cow<'a, str>,
        /// What stands behind them.
        detail: Option<Detail>,
    },
    /// An update of a kind that nothing covers.
    Unknown {
        /// The method it came by.
        method: &'a str,
        /// The kind it names.
        name: Option<&'a str>,
        /// What it carried.
        payload: Option<&'a str>,
    },
    /// An agent process took hold of the session.
    Attached,
    /// The agent could not load the session.
    LoadFailed(Failure<'a>),
    /// The session that could not be loaded goes on under another id of the agent.
    CarriedOn {
        /// The agent's new id.
        provider_session: &'a str,
    },
    /// The agent process is gone, or nothing more will be heard of it.
    Detached(Detached<'a>),
}

/// Facts about the session; what is not there stays as it was.
#[derive(Debug, Serialize, Clone, Default)]
pub struct SessionFacts<'a> {
    /// The agent's name and version.
    pub agent: Option<(Cow<'a, str>, Option<Cow<'a, str>>)>,
    /// Its title; an empty one takes it away.
    pub title: Option<Cow<'a, str>>,
    /// The folder it works in.
    pub cwd: Option<Cow<'a, str>>,
    /// The session it was started from.
    pub parent: Option<SessionId>,
    /// The agent's id of it.
    pub provider_session: Option<Cow<'a, str>>,
    /// The agent's mode.
    pub mode: Option<Cow<'a, str>>,
    /// The agent's model.
    pub model: Option<Cow<'a, str>>,
    /// The agent's own time of the last change.
    pub updated_at: Option<Time>,
    /// Totals over the session.
    pub usage: Option<Usage>,
}

/// A prompt that the client sent.
#[derive(Debug, Serialize, Clone)]
pub struct Prompt<'a> {
    /// The client's id of it on this connection.
    pub key: &'a str,
    /// The key that the client gave the turn, for agents that say it again on the turn's frames.
    pub turn: Option<&'a str>,
    /// What was asked.
    pub content: Content,
    /// The agent says itself when a turn ends that it began itself; so such a turn is not ended by this prompt.
    pub agent_ends_own_turns: bool,
}

/// What the answer to a prompt says.
#[derive(Debug, Serialize, Clone)]
#[serde(rename_all = "snake_case")]
pub enum PromptAnswer<'a> {
    /// It ended.
    Ended(Ending<'a>),
    /// It was taken back before its turn.
    Withdrawn,
    /// The agent answered with an error.
    Error(Failure<'a>),
}

/// What is known of a failure. The sentence stands where the agent gave no words.
#[derive(Debug, Serialize, Clone, Default)]
pub struct Failure<'a> {
    /// The agent's own words.
    pub words: Option<Cow<'a, str>>,
    /// Our sentence for when there are none.
    pub sentence: Option<Cow<'a, str>>,
    /// Code, source and the rest.
    pub detail: Detail,
}

/// The agent's own word on the end of a turn.
#[derive(Debug, Serialize, Clone)]
pub struct TurnEnded<'a> {
    /// The agent's key of the turn; the running one where it gives none.
    pub turn: Option<&'a str>,
    /// What it says of the end.
    #[serde(flatten)]
    pub ending: Ending<'a>,
}

/// How a turn ended, whoever tells it: the answer to its prompt, or the agent's own word.
#[derive(Debug, Serialize, Clone)]
pub struct Ending<'a> {
    /// How; [`End::Unknown`] for a stop reason that nobody knows.
    pub end: End,
    /// The stop reason as the agent said it.
    pub stop_reason: Option<Cow<'a, str>>,
    /// The agent's own measure.
    pub duration_ms: Option<u64>,
    /// Words for a reason that is a failure.
    pub failure: Failure<'a>,
    /// Totals.
    pub usage: Option<Usage>,
}

impl Ending<'_> {
    /// An end of which nothing more is known.
    pub fn of(end: End) -> Self {
        Self {
            end,
            stop_reason: None,
            duration_ms: None,
            failure: Failure::default(),
            usage: None,
        }
    }
}

/// Where a message is said.
#[derive(Debug, Serialize, Clone, Copy, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// To the person.
    Assistant,
    /// To itself.
    Reasoning,
}

/// A piece of text.
#[derive(Debug, Serialize, Clone, Copy)]
pub struct Text<'a> {
    /// The agent's key of the turn, where it gives one.
    pub turn: Option<&'a str>,
    /// Where it is said.
    pub channel: Channel,
    /// The agent's id of the message.
    pub message: Option<&'a str>,
    /// The agent's mark of the model call that streams it; a new one begins a new message.
    pub mark: Option<&'a str>,
    /// The piece.
    pub text: &'a str,
}

/// A tool's status as the agent said it, where it is one of the known.
#[derive(Debug, Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Announced.
    Pending,
    /// Runs.
    Running,
    /// Worked.
    Completed,
    /// Failed.
    Failed,
}

/// News of a tool call: what is not there stays as it was.
#[derive(Debug, Serialize, Clone, Default)]
pub struct ToolNews<'a> {
    /// The agent's key of the turn, where it gives one.
    pub turn: Option<&'a str>,
    /// The agent's id of the call.
    pub call: &'a str,
    /// It is an announcement, not an update.
    pub announced: bool,
    /// It may tell of a tool that went on after it ended: it opens nothing, and adds nothing to one that has ended.
    pub late: bool,
    /// The tool's name.
    pub name: Option<Cow<'a, str>>,
    /// A title.
    pub title: Option<Cow<'a, str>>,
    /// The kind.
    pub kind: Option<Cow<'a, str>>,
    /// The status, where it is a known one.
    pub status: Option<ToolStatus>,
    /// What it is called with.
    pub input: Option<Json>,
    /// What it shows.
    pub content: Option<Vec<ToolItem>>,
    /// Text that it gave beside its content.
    pub output: Option<Cow<'a, str>>,
    /// Its result where that is more than text.
    pub result: Option<ToolResult>,
    /// Exit code of its command.
    pub exit_code: Option<i64>,
    /// Places it touches.
    pub locations: Option<Vec<Location>>,
    /// The call under which it stands.
    pub parent: Option<&'a str>,
    /// Who made it, where that is not the session's own agent.
    pub producer: Option<Producer>,
    /// What a V4 prompt must get back.
    pub extra: IndexMap<String, Json>,
    /// Members that were cut on the way here, with their size before.
    pub cut: Vec<(&'static str, u64)>,
}

/// What a terminal printed and how it ended.
#[derive(Debug, Serialize, Clone)]
pub struct TerminalNews<'a> {
    /// The terminal's id.
    pub terminal: &'a str,
    /// What it printed.
    pub output: Printed<'a>,
    /// Exit code of its process.
    pub exit_code: Option<i64>,
    /// Signal that ended its process.
    pub signal: Option<Cow<'a, str>>,
}

/// Output of a terminal.
#[derive(Debug, Serialize, Clone)]
#[serde(rename_all = "snake_case")]
pub enum Printed<'a> {
    /// Nothing new.
    Nothing,
    /// All it printed so far (or the end of it).
    Whole(&'a str),
    /// What came since.
    More(&'a str),
}

/// The plan as it is now.
#[derive(Debug, Serialize, Clone)]
pub struct PlanNews<'a> {
    /// The agent's key of the turn, where it gives one.
    pub turn: Option<&'a str>,
    /// The agent's id of the plan, where it has several.
    pub plan: Option<&'a str>,
    /// What it says.
    pub body: PlanBody<'a>,
}

/// What a plan says.
#[derive(Debug, Serialize, Clone)]
#[serde(rename_all = "snake_case")]
pub enum PlanBody<'a> {
    /// Steps.
    Entries(Vec<PlanEntry>),
    /// Markdown.
    Text(Cow<'a, str>),
    /// It was taken back.
    Removed,
}

/// The agent asks something.
#[derive(Debug, Serialize, Clone)]
pub struct RequestNews<'a> {
    /// The agent's id of the request on this connection.
    pub key: &'a str,
    /// What is asked for.
    pub ask: Ask,
    /// The agent's key of the turn, where it gives one.
    pub turn: Option<&'a str>,
    /// The tool call it is about. A permission has none where the agent's id was made up for it: then it is about the
    /// one open tool that is called with the same input, or has the same title.
    pub call: Option<&'a str>,
    /// Its headline.
    pub title: Option<Cow<'a, str>>,
    /// Its words.
    pub text: Option<Cow<'a, str>>,
    /// The tool's kind as the request showed it.
    pub tool_kind: Option<Cow<'a, str>>,
    /// The tool's input as the request showed it.
    pub input: Option<Json>,
    /// The tool's content as the request showed it.
    pub content: Vec<ToolItem>,
    /// Places the tool touches, as the request showed them.
    pub locations: Vec<Location>,
    /// What can be chosen.
    pub options: Vec<Choice>,
    /// What is asked.
    pub questions: Vec<Question>,
    /// Who asks, where that is not the session's own agent.
    pub producer: Option<Producer>,
}

/// News of work that outlives its tool and turn; what is not there stays as it was.
#[derive(Debug, Serialize, Clone, Default)]
pub struct TaskNews<'a> {
    /// The agent's id of it.
    pub task: Cow<'a, str>,
    /// The agent's key of the turn, where it gives one.
    pub turn: Option<&'a str>,
    /// The tool call that launched it.
    pub call: Option<Cow<'a, str>>,
    /// Its kind, as named by the agent.
    pub kind: Option<TaskKind>,
    /// Its kind, guessed: never beats one that was named.
    pub kind_guess: Option<TaskKind>,
    /// What a person calls it.
    pub label: Option<Cow<'a, str>>,
    /// What to call it while there is nothing better.
    pub label_guess: Option<Cow<'a, str>>,
    /// How it stands.
    pub state: Option<WorkState>,
    /// Exit code.
    pub exit_code: Option<i64>,
    /// Signal.
    pub signal: Option<Cow<'a, str>>,
    /// Where its output goes.
    pub output_file: Option<Cow<'a, str>>,
    /// Words on how it ended; only read with a state that is an end.
    pub summary: Option<Cow<'a, str>>,
    /// It may say how a task that nobody told of ended, and nothing else: it starts nothing and adds no row.
    pub only_if_unknown: bool,
    /// It changes a task that is known, and starts none.
    pub only_if_known: bool,
}

/// News of an agent that the agent started; what is not there stays as it was.
#[derive(Debug, Serialize, Clone, Default)]
pub struct HelperNews<'a> {
    /// Its id.
    pub helper: Cow<'a, str>,
    /// The agent's key of the turn, where it gives one.
    pub turn: Option<&'a str>,
    /// The tool call that started it.
    pub call: Option<Cow<'a, str>>,
    /// What a person calls it.
    pub label: Option<Cow<'a, str>>,
    /// What to call it while there is nothing better.
    pub label_guess: Option<Cow<'a, str>>,
    /// How it stands.
    pub state: Option<WorkState>,
    /// Tokens it used.
    pub tokens: Option<u64>,
    /// Its session.
    pub child: Option<SessionId>,
    /// Its final reply.
    pub text: Option<Cow<'a, str>>,
    /// It changes a helper that is known, and starts none.
    pub only_if_known: bool,
}

/// News of a compaction.
#[derive(Debug, Serialize, Clone)]
pub struct CompactionNews<'a> {
    /// The agent's id of it.
    pub compaction: Cow<'a, str>,
    /// The agent's key of the turn, where it gives one.
    pub turn: Option<&'a str>,
    /// How it stands.
    pub state: Option<CompactionState>,
    /// The summary, whole.
    pub summary: Option<Content>,
    /// A piece of the summary.
    pub piece: Option<Part>,
    /// More about it.
    pub detail: Option<Json>,
}

/// A message between sessions.
#[derive(Debug, Serialize, Clone)]
pub struct SessionMessageNews<'a> {
    /// The agent's id of it.
    pub message: &'a str,
    /// The session it comes from, as the agent names it.
    pub from: Option<Cow<'a, str>>,
    /// The session it goes to, as the agent names it.
    pub to: Option<Cow<'a, str>>,
    /// All of it.
    pub content: Option<Content>,
    /// A piece of it.
    pub piece: Option<Part>,
}

/// The agent process is gone, or nothing more will be heard of it.
#[derive(Debug, Serialize, Clone)]
pub struct Detached<'a> {
    /// How its process ended; nothing where only the record ends.
    pub exit: Option<Exit<'a>>,
}

/// How a process ended.
#[derive(Debug, Serialize, Clone, Default)]
pub struct Exit<'a> {
    /// Its exit code.
    pub code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<Cow<'a, str>>,
    /// The last it wrote to its standard error.
    pub last_words: Option<Cow<'a, str>>,
}

//! The rows of a timeline.
//!
//! `Row` is the type behind the public JSON (`row_json` spells its members): what is common to all kinds, and a `Body`
//! that holds what one kind has. A row is revised in place until it settles; its `seq` never changes.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::content::{Content, ToolItem, ToolResult};
use crate::id::{RowId, SessionId};
use crate::json::Json;
use crate::session::{Context, Usage};
use crate::time::Time;
use crate::word::*;

/// One entry of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Unique wherever the session id is; the same after a rebuild.
    pub id: RowId,
    /// Place in the timeline of its session, from 1: order of first appearance.
    pub seq: u64,
    /// The session.
    pub session: SessionId,
    /// Id of the turn row it belongs to.
    pub turn: Option<RowId>,
    /// Id of the row it stands under.
    pub parent: Option<RowId>,
    /// Who made it, where that is not the session's own agent.
    pub producer: Option<Producer>,
    /// When it began.
    pub at: Option<Time>,
    /// When it settled.
    pub ended_at: Option<Time>,
    /// Number of changes made to it, from 1.
    pub revision: u64,
    /// Cursor of its last change, once a journal gave one.
    pub cursor: Option<u64>,
    /// First and last number on the tape of the inputs that made it.
    pub frames: [u64; 2],
    /// What was cut.
    pub truncated: Vec<Truncated>,
    /// What the source carried beyond these members, by namespace.
    pub extra: IndexMap<String, Json>,
    /// What its kind has.
    pub body: Body,
}

impl Row {
    /// The row's kind.
    pub fn kind(&self) -> Kind {
        self.body.kind()
    }

    /// Whether it may still change without anyone doing anything: a turn that runs, a message that grows, a request that
    /// waits, a prompt whose fate is not known.
    pub fn is_open(&self) -> bool {
        match &self.body {
            Body::Turn(turn) => turn.end.is_none(),
            Body::User(user) => matches!(user.delivery, Some(Delivery::Queued | Delivery::Sent)),
            Body::Assistant(message) | Body::Reasoning(message) => message.state == TextState::Open,
            Body::Tool(tool) => tool.state.is_open(),
            Body::Plan(plan) => {
                plan.state == PlanState::Active && plan.entries.iter().any(|e| e.status == "in_progress")
            }
            Body::Request(request) => request.state == RequestState::Pending,
            Body::Task(task) => task.state == WorkState::Running,
            Body::Helper(helper) => helper.state == WorkState::Running,
            Body::Compaction(compaction) => compaction.state == CompactionState::Running,
            Body::System(_) | Body::SessionMessage(_) | Body::Status(_) | Body::Unknown(_) => false,
        }
    }

    /// Notes that a member was cut: `bytes` is its size before.
    pub fn cut(&mut self, member: &str, bytes: u64) {
        match self.truncated.iter_mut().find(|t| t.member == member) {
            Some(old) => old.bytes = old.bytes.max(bytes),
            None => self.truncated.push(Truncated {
                member: member.to_owned(),
                bytes,
                blob: None,
            }),
        }
    }
}

/// Who made a row, where that is not the session's own agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Producer {
    /// Name or id of the agent.
    pub agent: String,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A member that is longer at the source than here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Truncated {
    /// The member's name.
    pub member: String,
    /// Its size at the source, in bytes.
    pub bytes: u64,
    /// Hash of the whole value in the blob store, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// What one kind of row has beyond the common members.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// See [`Turn`].
    Turn(Turn),
    /// Instructions.
    System(Content),
    /// See [`User`].
    User(User),
    /// What the agent said.
    Assistant(Message),
    /// What the agent thought.
    Reasoning(Message),
    /// See [`Tool`].
    Tool(Box<Tool>),
    /// See [`Plan`].
    Plan(Plan),
    /// See [`Request`].
    Request(Box<Request>),
    /// See [`Task`].
    Task(Task),
    /// See [`Helper`].
    Helper(Helper),
    /// See [`Compaction`].
    Compaction(Compaction),
    /// See [`SessionMessage`].
    SessionMessage(SessionMessage),
    /// See [`Status`].
    Status(Status),
    /// See [`Unknown`].
    Unknown(Unknown),
}

impl Body {
    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Body::Turn(_) => Kind::Turn,
            Body::System(_) => Kind::System,
            Body::User(_) => Kind::User,
            Body::Assistant(_) => Kind::Assistant,
            Body::Reasoning(_) => Kind::Reasoning,
            Body::Tool(_) => Kind::Tool,
            Body::Plan(_) => Kind::Plan,
            Body::Request(_) => Kind::Request,
            Body::Task(_) => Kind::Task,
            Body::Helper(_) => Kind::Helper,
            Body::Compaction(_) => Kind::Compaction,
            Body::SessionMessage(_) => Kind::SessionMessage,
            Body::Status(_) => Kind::Status,
            Body::Unknown(_) => Kind::Unknown,
        }
    }
}

/// One request and all that the agent does for it, or work that the agent began itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Who began it.
    pub origin: Origin,
    /// How it ended; none while it is open.
    pub end: Option<End>,
    /// The stop reason as the agent said it.
    pub stop_reason: Option<String>,
    /// How long it took, by the agent's own measure, in milliseconds.
    pub duration_ms: Option<u64>,
    /// What the newest model call was given.
    pub context: Option<Context>,
    /// The turn's own totals.
    pub usage: Option<Usage>,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// The words and attachments.
    pub content: Content,
    /// How far it got; none where the source does not say (an import of a prompt).
    pub delivery: Option<Delivery>,
    /// Why it was rejected.
    pub reason: Option<String>,
    /// The agent put it in itself.
    pub by_agent: bool,
}

/// What the agent said or thought.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The words and attachments.
    pub content: Content,
    /// Whether it still grows.
    pub state: TextState,
    /// The agent broke off and said it again.
    pub superseded: bool,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The agent's id of the call.
    pub call: String,
    /// The tool's name, the first given.
    pub name: Option<String>,
    /// The last title given.
    pub title: Option<String>,
    /// The kind as the agent said it.
    pub tool_kind: Option<String>,
    /// How it ran.
    pub state: ToolState,
    /// Who allowed it.
    pub authorization: Authorization,
    /// What it was called with.
    pub input: Option<Json>,
    /// What it shows.
    pub content: Vec<ToolItem>,
    /// Text that stands in no content item.
    pub output: Option<String>,
    /// Exit code of its command.
    pub exit_code: Option<i64>,
    /// Its result where that is more than text.
    pub result: Option<ToolResult>,
    /// Places it touches.
    pub locations: Vec<Location>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Location {
    /// The file.
    pub path: String,
    /// The line, from 1, as the agent said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A to-do list or a plan as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The agent's id, where it has several.
    pub plan: Option<String>,
    /// The steps.
    pub entries: Vec<PlanEntry>,
    /// The plan as Markdown, where it is text.
    pub text: Option<String>,
    /// Whether it stands.
    pub state: PlanState,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanEntry {
    /// What is to be done.
    pub text: String,
    /// `pending`, `in_progress`, `completed`, or as the agent said.
    pub status: String,
    /// As the agent said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
}

/// Something the agent asked a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What is asked for.
    pub ask: Ask,
    /// Its headline.
    pub title: Option<String>,
    /// Its words.
    pub text: Option<String>,
    /// Row id of the tool it is about, once there is one.
    pub tool: Option<RowId>,
    /// The tool's input as the request showed it.
    pub input: Option<Json>,
    /// The tool's content as the request showed it.
    pub content: Vec<ToolItem>,
    /// What can be chosen.
    pub options: Vec<Choice>,
    /// What is asked, where there are several questions.
    pub questions: Vec<Question>,
    /// Whether it waits.
    pub state: RequestState,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Who answered what.
    pub answer: Option<Answer>,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Choice {
    /// The agent's id of it.
    pub id: String,
    /// What a person reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it does, as the agent said it (`allow_once`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Question {
    /// Its id within the request.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// Whether several options may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
    /// What can be chosen; free text where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
}

/// An answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Answer {
    /// Id of the option chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Answers to the questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswer>,
    /// Who answered: `client`, or a name that Tapline was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// The answer to one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QuestionAnswer {
    /// The question's id.
    pub question: String,
    /// Labels or ids of the options chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Work that outlives its tool and turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The agent's id of it.
    pub task: String,
    /// What kind of work it is.
    pub task_kind: TaskKind,
    /// What a person calls it.
    pub label: String,
    /// How it stands.
    pub state: WorkState,
    /// Exit code of its command.
    pub exit_code: Option<i64>,
    /// Signal that ended it.
    pub signal: Option<String>,
    /// Where its output goes.
    pub output_file: Option<String>,
    /// The agent's words on how it ended.
    pub summary: Option<String>,
}

impl Task {
    /// The sentence a person reads.
    pub fn sentence(&self) -> String {
        let noun = match self.task_kind {
            TaskKind::Command => "command",
            TaskKind::Monitor => "monitor",
            TaskKind::Other => "task",
        };
        let label = &self.label;
        match self.state {
            WorkState::Running => format!("Started background {noun} \"{label}\""),
            WorkState::Completed => format!("Background {noun} \"{label}\" finished"),
            WorkState::Failed => format!("Background {noun} \"{label}\" failed"),
            WorkState::Stopped => format!("Background {noun} \"{label}\" was stopped"),
            WorkState::Unknown => format!("Background {noun} \"{label}\" stopped reporting"),
        }
    }
}

/// An agent that the agent started.
#[derive(Debug, Clone, PartialEq)]
pub struct Helper {
    /// Its id.
    pub helper: String,
    /// What a person calls it.
    pub label: String,
    /// How it stands.
    pub state: WorkState,
    /// Tokens it used.
    pub tokens: Option<u64>,
    /// Its session, one of ours.
    pub child: Option<SessionId>,
    /// Its final reply.
    pub text: Option<String>,
}

/// The agent shortened its own context.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// How it stands.
    pub state: CompactionState,
    /// The summary.
    pub content: Content,
    /// More about it.
    pub detail: Option<Json>,
}

/// A message between two sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionMessage {
    /// The session it comes from, as the agent names it.
    pub from: Option<String>,
    /// The session it goes to, as the agent names it.
    pub to: Option<String>,
    /// The words and attachments.
    pub content: Content,
}

/// A sentence about the session itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// How loud it is.
    pub tone: Tone,
    /// The agent's own words where it gave any, else our sentence.
    pub text: String,
    /// Everything else that is known.
    pub detail: Option<Detail>,
}

/// What stands behind a status row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Detail {
    /// A code, as the source gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Which news it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<Json>,
}

/// An update of a kind that nothing covers yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// The method it came by.
    pub method: String,
    /// The kind it names.
    pub name: Option<String>,
    /// What it carried, bounded.
    pub payload: Option<Json>,
}

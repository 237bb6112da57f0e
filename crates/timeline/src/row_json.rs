//! The public JSON of a row: one flat list of members, spelled here and nowhere else.
//!
//! The JSON is flat and the type is not, so this file is the one place that knows which member belongs to which kind.
//! The JSON Schema of the format is made from the same list.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::content::{Content, Part, ToolItem, ToolResult};
use crate::id::{RowId, SessionId};
use crate::json::Json;
use crate::row::*;
use crate::session::{Context, Usage};
use crate::time::Time;
use crate::word::*;

macro_rules! members {
    ($( $(#[$doc:meta])* $name:ident: $ty:ty, )+) => {
        /// Every member that a row can have, in the order in which they are printed.
        #[derive(Default, Serialize, Deserialize, schemars::JsonSchema)]
        #[schemars(rename = "Row")]
        pub(crate) struct RowJson {
            $(
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                $name: Option<$ty>,
            )+
        }
    };
}

members! {
    /// Unique wherever the session id is; opaque; the same after a rebuild.
    id: RowId,
    /// Place in the timeline: order of first appearance.
    seq: u64,
    /// What the row is.
    kind: Kind,
    /// Id of the session.
    session: SessionId,
    /// Id of the turn row it belongs to.
    turn: RowId,
    /// Id of the row it stands under.
    parent: RowId,
    /// Who made it, where that is not the session's own agent.
    producer: Producer,
    /// When it began (RFC 3339).
    at: Time,
    /// When it began, in milliseconds since the start of a recording that has no clock.
    t_ms: u64,
    /// When it settled (RFC 3339).
    ended_at: Time,
    /// When it settled, in milliseconds since the start of a recording that has no clock.
    ended_t_ms: u64,
    /// Number of changes made to it, from 1.
    revision: u64,
    /// Cursor of its last change.
    cursor: u64,
    /// First and last number on the tape of the inputs that made it.
    frames: [u64; 2],
    /// turn: who began it.
    origin: Origin,
    /// The state, in the words of the row's kind.
    state: String,
    /// turn: how it ended.
    end: End,
    /// turn: the stop reason as the agent said it.
    stop_reason: String,
    /// turn: how long it took by the agent's measure, in milliseconds.
    duration_ms: u64,
    /// turn: what the newest model call was given.
    context: Context,
    /// turn: its own totals.
    usage: Usage,
    /// user: how far it got.
    delivery: Delivery,
    /// user: why it was rejected.
    reason: String,
    /// user: `agent` where the agent put it in itself.
    by: String,
    /// assistant, reasoning: the agent broke off and said it again.
    superseded: bool,
    /// tool: the agent's id of the call.
    call: String,
    /// tool: its name, the first given. unknown: the kind it names.
    name: String,
    /// tool: the last title given. request: its headline.
    title: String,
    /// tool: the kind as the agent said it.
    tool_kind: String,
    /// tool: who allowed it.
    authorization: Authorization,
    /// tool, request: what the tool is called with.
    input: Json,
    /// tool, request: what it shows, in order.
    content: Vec<ToolItem>,
    /// tool: text that stands in no content item.
    output: String,
    /// tool, task: exit code of the command.
    exit_code: i64,
    /// tool: its result as a V4 tool result output.
    result: ToolResult,
    /// tool: places it touches.
    locations: Vec<Location>,
    /// plan: the agent's id, where it has several.
    plan: String,
    /// plan: the steps.
    entries: Vec<PlanEntry>,
    /// request: what is asked for.
    ask: Ask,
    /// request: row id of the tool it is about.
    tool: RowId,
    /// request: what can be chosen.
    options: Vec<Choice>,
    /// request: what is asked.
    questions: Vec<Question>,
    /// request: how it ended.
    outcome: Outcome,
    /// request: who answered what.
    answer: Answer,
    /// task: the agent's id of it.
    task: String,
    /// task: what kind of work it is.
    task_kind: TaskKind,
    /// helper: its id.
    helper: String,
    /// task, helper: what a person calls it.
    label: String,
    /// task: signal that ended it.
    signal: String,
    /// task: where its output goes.
    output_file: String,
    /// task: the agent's words on how it ended.
    summary: String,
    /// helper: tokens it used.
    tokens: u64,
    /// helper: its session.
    child: SessionId,
    /// session_message: where it comes from.
    from: String,
    /// session_message: where it goes to.
    to: String,
    /// status: how loud it is.
    tone: Tone,
    /// The words: the text parts put together.
    text: String,
    /// The parts in order, where text is not all there is.
    parts: Vec<Part>,
    /// status, compaction: what stands behind it.
    detail: Json,
    /// unknown: the method it came by.
    method: String,
    /// unknown: what it carried, bounded.
    payload: Json,
    /// What was cut.
    truncated: Vec<Truncated>,
    /// What the source carried beyond these members, by namespace.
    extra: IndexMap<String, Json>,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        RowJson::from(self).serialize(s)
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        RowJson::deserialize(d)?.into_row().map_err(de::Error::custom)
    }
}

impl schemars::JsonSchema for Row {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Row".into()
    }
    fn json_schema(g: &mut schemars::SchemaGenerator) -> schemars::Schema {
        RowJson::json_schema(g)
    }
}

fn list<T: Clone>(items: &[T]) -> Option<Vec<T>> {
    (!items.is_empty()).then(|| items.to_vec())
}

fn split_time(time: Option<Time>) -> (Option<Time>, Option<u64>) {
    match time {
        Some(Time::Since(ms)) => (None, Some(ms)),
        other => (other, None),
    }
}

impl RowJson {
    fn set_content(&mut self, content: &Content) {
        if !content.as_text().is_empty() {
            self.text = Some(content.as_text().to_owned());
        }
        if !content.is_plain() {
            self.parts = Some(content.parts());
        }
    }

    fn take_content(&mut self) -> Content {
        match self.parts.take() {
            Some(parts) => Content::from_parts(parts),
            None => Content::text(self.text.take().unwrap_or_default()),
        }
    }

    fn into_row(mut self) -> Result<Row, String> {
        fn need<T>(value: Option<T>, name: &str) -> Result<T, String> {
            value.ok_or_else(|| format!("the row has no member `{name}`"))
        }
        fn state<T>(text: &Option<String>, parse: fn(&str) -> Option<T>) -> Result<T, String> {
            let text = text.as_deref().ok_or("the row has no member `state`")?;
            parse(text).ok_or_else(|| format!("`{text}` is no state that this kind of row knows"))
        }
        let kind = need(self.kind, "kind")?;
        let body = match kind {
            Kind::Turn => Body::Turn(Turn {
                origin: self.origin.unwrap_or(Origin::Prompt),
                end: self.end,
                stop_reason: self.stop_reason.take(),
                duration_ms: self.duration_ms,
                context: self.context,
                usage: self.usage.take(),
            }),
            Kind::System => Body::System(self.take_content()),
            Kind::User => Body::User(User {
                content: self.take_content(),
                delivery: self.delivery,
                reason: self.reason.take(),
                by_agent: self.by.as_deref() == Some("agent"),
            }),
            Kind::Assistant | Kind::Reasoning => {
                let message = Message {
                    state: state(&self.state, TextState::parse)?,
                    superseded: self.superseded.unwrap_or(false),
                    content: self.take_content(),
                };
                if kind == Kind::Assistant {
                    Body::Assistant(message)
                } else {
                    Body::Reasoning(message)
                }
            }
            Kind::Tool => Body::Tool(Box::new(Tool {
                call: self.call.take().unwrap_or_default(),
                name: self.name.take(),
                title: self.title.take(),
                tool_kind: self.tool_kind.take(),
                state: state(&self.state, ToolState::parse)?,
                authorization: self.authorization.unwrap_or(Authorization::NotAsked),
                input: self.input.take(),
                content: self.content.take().unwrap_or_default(),
                output: self.output.take(),
                exit_code: self.exit_code,
                result: self.result.take(),
                locations: self.locations.take().unwrap_or_default(),
            })),
            Kind::Plan => Body::Plan(Plan {
                plan: self.plan.take(),
                entries: self.entries.take().unwrap_or_default(),
                text: self.text.take(),
                state: state(&self.state, PlanState::parse)?,
            }),
            Kind::Request => Body::Request(Box::new(Request {
                ask: need(self.ask, "ask")?,
                title: self.title.take(),
                text: self.text.take(),
                tool: self.tool.take(),
                input: self.input.take(),
                content: self.content.take().unwrap_or_default(),
                options: self.options.take().unwrap_or_default(),
                questions: self.questions.take().unwrap_or_default(),
                state: state(&self.state, RequestState::parse)?,
                outcome: self.outcome,
                answer: self.answer.take(),
            })),
            Kind::Task => Body::Task(Task {
                task: self.task.take().unwrap_or_default(),
                task_kind: self.task_kind.unwrap_or(TaskKind::Other),
                label: self.label.take().unwrap_or_default(),
                state: state(&self.state, WorkState::parse)?,
                exit_code: self.exit_code,
                signal: self.signal.take(),
                output_file: self.output_file.take(),
                summary: self.summary.take(),
            }),
            Kind::Helper => Body::Helper(Helper {
                helper: self.helper.take().unwrap_or_default(),
                label: self.label.take().unwrap_or_default(),
                state: state(&self.state, WorkState::parse)?,
                tokens: self.tokens,
                child: self.child.take(),
                text: self.text.take(),
            }),
            Kind::Compaction => Body::Compaction(Compaction {
                state: state(&self.state, CompactionState::parse)?,
                content: self.take_content(),
                detail: self.detail.take(),
            }),
            Kind::SessionMessage => Body::SessionMessage(SessionMessage {
                from: self.from.take(),
                to: self.to.take(),
                content: self.take_content(),
            }),
            Kind::Status => Body::Status(Status {
                tone: need(self.tone, "tone")?,
                text: self.text.take().unwrap_or_default(),
                detail: match &self.detail {
                    None => None,
                    Some(json) => {
                        Some(serde_json::from_str(json.as_str()).map_err(|e| format!("`detail`: {e}"))?)
                    }
                },
            }),
            Kind::Unknown => Body::Unknown(Unknown {
                method: self.method.take().unwrap_or_default(),
                name: self.name.take(),
                payload: self.payload.take(),
            }),
        };
        Ok(Row {
            id: need(self.id, "id")?,
            seq: need(self.seq, "seq")?,
            session: need(self.session, "session")?,
            turn: self.turn,
            parent: self.parent,
            producer: self.producer,
            at: self.at.or(self.t_ms.map(Time::Since)),
            ended_at: self.ended_at.or(self.ended_t_ms.map(Time::Since)),
            revision: self.revision.unwrap_or(1),
            cursor: self.cursor,
            frames: self.frames.unwrap_or([0, 0]),
            truncated: self.truncated.unwrap_or_default(),
            extra: self.extra.unwrap_or_default(),
            body,
        })
    }
}

impl From<&Row> for RowJson {
    fn from(row: &Row) -> Self {
        let (at, t_ms) = split_time(row.at);
        let (ended_at, ended_t_ms) = split_time(row.ended_at);
        let mut json = RowJson {
            id: Some(row.id.clone()),
            seq: Some(row.seq),
            kind: Some(row.kind()),
            session: Some(row.session.clone()),
            turn: row.turn.clone(),
            parent: row.parent.clone(),
            producer: row.producer.clone(),
            at,
            t_ms,
            ended_at,
            ended_t_ms,
            revision: Some(row.revision),
            cursor: row.cursor,
            frames: Some(row.frames),
            truncated: list(&row.truncated),
            extra: (!row.extra.is_empty()).then(|| row.extra.clone()),
            ..RowJson::default()
        };
        match &row.body {
            Body::Turn(turn) => {
                json.origin = Some(turn.origin);
                json.state = Some(if turn.end.is_some() { "ended" } else { "open" }.to_owned());
                json.end = turn.end;
                json.stop_reason = turn.stop_reason.clone();
                json.duration_ms = turn.duration_ms;
                json.context = turn.context;
                json.usage = turn.usage.clone();
            }
            Body::System(content) => json.set_content(content),
            Body::User(user) => {
                json.set_content(&user.content);
                json.delivery = user.delivery;
                json.reason = user.reason.clone();
                json.by = user.by_agent.then(|| "agent".to_owned());
            }
            Body::Assistant(message) | Body::Reasoning(message) => {
                json.set_content(&message.content);
                json.state = Some(message.state.as_str().to_owned());
                json.superseded = message.superseded.then_some(true);
            }
            Body::Tool(tool) => {
                json.call = Some(tool.call.clone());
                json.name = tool.name.clone();
                json.title = tool.title.clone();
                json.tool_kind = tool.tool_kind.clone();
                json.state = Some(tool.state.as_str().to_owned());
                json.authorization = Some(tool.authorization);
                json.input = tool.input.clone();
                json.content = list(&tool.content);
                json.output = tool.output.clone();
                json.exit_code = tool.exit_code;
                json.result = tool.result.clone();
                json.locations = list(&tool.locations);
            }
            Body::Plan(plan) => {
                json.plan = plan.plan.clone();
                json.entries = list(&plan.entries);
                json.text = plan.text.clone();
                json.state = Some(plan.state.as_str().to_owned());
            }
            Body::Request(request) => {
                json.ask = Some(request.ask);
                json.title = request.title.clone();
                json.text = request.text.clone();
                json.tool = request.tool.clone();
                json.input = request.input.clone();
                json.content = list(&request.content);
                json.options = list(&request.options);
                json.questions = list(&request.questions);
                json.state = Some(request.state.as_str().to_owned());
                json.outcome = request.outcome;
                json.answer = request.answer.clone();
            }
            Body::Task(task) => {
                json.task = Some(task.task.clone());
                json.task_kind = Some(task.task_kind);
                json.label = Some(task.label.clone());
                json.text = Some(task.sentence());
                json.state = Some(task.state.as_str().to_owned());
                json.exit_code = task.exit_code;
                json.signal = task.signal.clone();
                json.output_file = task.output_file.clone();
                json.summary = task.summary.clone();
            }
            Body::Helper(helper) => {
                json.helper = Some(helper.helper.clone());
                json.label = Some(helper.label.clone());
                json.state = Some(helper.state.as_str().to_owned());
                json.tokens = helper.tokens;
                json.child = helper.child.clone();
                json.text = helper.text.clone();
            }
            Body::Compaction(compaction) => {
                json.state = Some(compaction.state.as_str().to_owned());
                json.set_content(&compaction.content);
                json.detail = compaction.detail.clone();
            }
            Body::SessionMessage(message) => {
                json.from = message.from.clone();
                json.to = message.to.clone();
                json.set_content(&message.content);
            }
            Body::Status(status) => {
                json.tone = Some(status.tone);
                json.text = Some(status.text.clone());
                json.detail = status.detail.as_ref().and_then(|d| Json::of(d).ok());
            }
            Body::Unknown(unknown) => {
                json.method = Some(unknown.method.clone());
                json.name = unknown.name.clone();
                json.payload = unknown.payload.clone();
            }
        }
        json
    }
}

//! The assembler: events in, row changes out. It owns identity, placement, lifecycle, settlement and bounds.
//!
//! It holds open work only. A row that ended is forgotten; when news of it comes, its id is spelled from the agent's key
//! and asked for. So memory does not grow with the session, and a restart loses nothing.
//!
//! Who decides what, in one place:
//!
//! | evidence | a prompt's turn | the same, stopped by a person | a turn of the agent's own |
//! |---|---|---|---|
//! | first chunk, vendor's start | opens it, if it was queued | – | opens it |
//! | vendor's end: done or cancelled | takes the duration; the answer decides | the answer decides | ends by the agent's word |
//! | vendor's end: any other | ends by the agent's word | `stopped` | ends by the agent's word |
//! | answer | ends by its stop reason | `stopped` | – |
//! | error answer | `failed`; a prompt still queued is `rejected`, with no turn | `stopped` | – |
//! | a person's stop | marks it; its text ends, its requests are cancelled | – | the same |
//! | next prompt | – | `stopped` | `unknown`, unless the agent ends such turns itself |
//! | exit | `cut`, with one warning row | `stopped` | `cut`, with one warning row |
//! | end of the record | `cut` | `stopped` | `unknown` |
//! | load | – (replayed history never gets here) | – | – |
//!
//! | evidence | a tool that runs | `interrupted`, `unknown` | `completed`, `failed`, `rejected` |
//! |---|---|---|---|
//! | announcement | state stays; an end it names counts | the same | stays |
//! | pending, in progress | `running` (never back to `pending`) | stays | stays |
//! | completed | `completed` | `completed` | stays |
//! | failed | `failed`, or `rejected` if its permission was refused | the same | stays |
//! | unknown status | stays | stays | stays |
//! | refusal of its permission | stays until it ends | stays | `failed` becomes `rejected` |
//! | its turn ends, stopped or cut | `interrupted`, or `rejected` | stays | stays |
//! | its turn ends otherwise | `unknown`, or `rejected` | stays | stays |
//! | exit, end of the record | `interrupted`, or `rejected` | stays | stays |

mod echo;
mod notes;
mod placing;
mod prompts;
mod requests;
mod terminals;
mod text;
mod tools;
mod turns;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::change::{Change, Reason};
use crate::event::{Event, SessionFacts};
use crate::id::{Key, RowId};
use crate::limits;
use crate::lookup::Host;
use crate::row::{Body, Row, Session};
use crate::time::Time;
use crate::word::SessionState;

use self::echo::Echo;
use self::notes::Plans;
use self::prompts::OpenPrompt;
use self::requests::Requests;
use self::terminals::Terminals;
use self::text::Texts;
use self::tools::{Tools, authorization_of};
use self::turns::{EndedTurn, OpenTurn};
use self::work::Work;

/// What surrounds one input while its events are applied.
pub struct Cx<'a> {
    /// When the input came.
    pub at: Option<Time>,
    /// Its number on the tape.
    pub frame: u64,
    /// The connection it came by: part of the ids of what only a connection numbers.
    pub connection: &'a str,
    /// Where changes go and rows are found.
    pub host: &'a mut dyn Host,
}

impl Cx<'_> {
    fn drop(&mut self, reason: &'static str) {
        self.host.drop(Reason(reason));
    }
}

/// How much could not be kept as it was, since the session's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tools settled as `unknown` because too many were open.
    pub tools_let_go: u64,
    /// Requests settled as `cancelled` because too many waited.
    pub requests_let_go: u64,
    /// Tasks and helpers settled as `unknown` because too many ran.
    pub work_let_go: u64,
    /// Prompts settled as `unconfirmed` because too many waited.
    pub prompts_let_go: u64,
    /// Turns ended as `unknown` because too many were open.
    pub turns_let_go: u64,
    /// Bytes of text that came after a message was full.
    pub text_bytes_left_out: u64,
}

/// Turns the events of one session into changes of its rows.
#[derive(Debug)]
pub struct Assembler {
    session: Session,
    seq: u64,
    serial: u64,
    prompts: VecDeque<OpenPrompt>,
    turns: Vec<OpenTurn>,
    ended: VecDeque<EndedTurn>,
    texts: Texts,
    tools: Tools,
    terminals: Terminals,
    requests: Requests,
    work: Work,
    plans: Plans,
    echo: Echo,
    /// The row of the newest failed load.
    load_failure: Option<Arc<Row>>,
    counters: Counters,
}

impl Assembler {
    /// An assembler for a session whose newest row has the given `seq` (0 for a new session).
    pub fn new(session: Session, seq: u64) -> Self {
        Self {
            session,
            seq,
            serial: 0,
            prompts: VecDeque::new(),
            turns: Vec::new(),
            ended: VecDeque::new(),
            texts: Texts::default(),
            tools: Tools::default(),
            terminals: Terminals::default(),
            requests: Requests::default(),
            work: Work::default(),
            plans: Plans::default(),
            echo: Echo::default(),
            load_failure: None,
            counters: Counters::default(),
        }
    }

    /// The session object as it is now.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// `seq` of the newest row.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// How much could not be kept as it was.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether a prompt waits for its answer or a turn is open.
    pub fn is_busy(&self) -> bool {
        !self.turns.is_empty() || self.prompts.iter().any(|p| !p.over)
    }

    /// Whether a prompt waits for its answer and its turn is open: such a session is the one that a request without a
    /// session belongs to.
    pub fn has_running_turn(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Applies one event. Every event ends as a change, a state change or a drop with a reason.
    pub fn apply(&mut self, cx: &mut Cx<'_>, event: Event<'_>) {
        if !matches!(
            event,
            Event::UserPiece { .. }
                | Event::PromptNamed { .. }
                | Event::Session(_)
                | Event::Context { .. }
                | Event::Usage { .. }
        ) {
            self.finish_echo(cx);
            self.end_own_message();
        }
        match event {
            Event::Text(text) => self.text(cx, text),
            Event::MessageEnds { turn } => self.message_ends(cx, turn),
            Event::Tool(news) => self.tool(cx, *news),
            Event::Media {
                turn,
                channel,
                message,
                part,
            } => self.media(cx, turn, channel, message, part),
            Event::UserPiece { turn, message, part } => self.user_piece(cx, turn, message, part),
            Event::Superseded { turn, mark } => self.supersede(cx, turn, &mark),
            Event::Session(facts) => self.facts(cx, facts),
            Event::Prompt(prompt) => self.prompt(cx, prompt),
            Event::Answer { key, answer } => self.answer(cx, key, answer),
            Event::Stop => self.stop(cx),
            Event::TurnStarted { turn, own, at } => self.turn_started(cx, turn, own, at),
            Event::PromptNamed { turn, text } => self.name_prompt(cx, turn, text.as_deref()),
            Event::Authorized { call, outcome } => self.authorize(cx, call, authorization_of(outcome)),
            Event::TurnEnded(ended) => self.turn_ended(cx, ended),
            Event::Failure { turn, failure } => self.failure(cx, turn.as_deref(), failure),
            Event::Terminal(news) => self.terminal(cx, news),
            Event::Plan(news) => self.plan(cx, news),
            Event::Request(news) => self.request(cx, *news),
            Event::Settled { key, outcome, answer } => self.settled(cx, key, outcome, answer),
            Event::Task(news) => self.task(cx, news),
            Event::Helper(news) => self.helper(cx, news),
            Event::Compaction(news) => self.compaction(cx, news),
            Event::SessionMessage(news) => self.session_message(cx, news),
            Event::Context {
                turn,
                context,
                replay,
            } => self.context(cx, turn.as_deref(), context, replay),
            Event::Usage { turn, usage } => self.usage(cx, turn, usage),
            Event::Status {
                turn,
                tone,
                text,
                detail,
            } => self.status(cx, turn, tone, text, detail),
            Event::Unknown {
                method,
                name,
                payload,
            } => self.unknown(cx, method, name, payload),
            Event::Attached => self.attached(cx),
            Event::LoadFailed(failure) => self.load_failed(cx, failure),
            Event::CarriedOn { provider_session } => self.carried_on(cx, provider_session),
            Event::Detached(detached) => self.detach(cx, detached),
        }
    }

    fn attached(&mut self, cx: &mut Cx<'_>) {
        self.session.state = SessionState::Live;
        cx.host.change(Change::Session(&self.session));
    }

    fn facts(&mut self, cx: &mut Cx<'_>, facts: SessionFacts<'_>) {
        let before = self.session.clone();
        let session = &mut self.session;
        if let Some((name, version)) = facts.agent {
            session.agent = Some(crate::row::Agent {
                name: label(&name),
                version: version.as_deref().map(label),
            });
        }
        if let Some(title) = facts.title {
            session.title = Some(label(&title)).filter(|t| !t.trim().is_empty());
        }
        if let Some(cwd) = facts.cwd {
            session.cwd = Some(label(&cwd));
        }
        if let Some(parent) = facts.parent {
            session.parent.get_or_insert(parent);
        }
        if let Some(id) = facts.provider_session {
            let id = label(&id);
            if !session.provider_sessions.contains(&id) {
                session.provider_sessions.push(id.clone());
            }
            session.provider_session = Some(id);
        }
        if let Some(mode) = facts.mode {
            session.mode = Some(label(&mode));
        }
        if let Some(model) = facts.model {
            session.model = Some(label(&model));
        }
        if let Some(at) = facts.updated_at {
            session.updated_at = Some(at);
        }
        if let Some(usage) = facts.usage {
            session.usage = Some(usage);
        }
        if *session == before {
            cx.host.state("session-unchanged");
        } else {
            cx.host.change(Change::Session(session));
        }
    }

    /// Makes a new row and tells of it. The id must be free.
    fn put_as(
        &mut self,
        cx: &mut Cx<'_>,
        id: RowId,
        turn: Option<RowId>,
        parent: Option<RowId>,
        body: Body,
    ) -> Arc<Row> {
        self.put_cut(cx, id, turn, parent, body, Cuts::default())
    }

    /// The same for a row of which something had to be cut.
    fn put_cut(
        &mut self,
        cx: &mut Cx<'_>,
        id: RowId,
        turn: Option<RowId>,
        parent: Option<RowId>,
        body: Body,
        cuts: Cuts,
    ) -> Arc<Row> {
        let mut row = self.new_row(cx, id, turn, parent, body);
        cuts.note(&mut row);
        let row = Arc::new(row);
        cx.host.change(Change::Put(&row));
        row
    }

    /// A new row with the next number, of which nobody was told yet.
    fn new_row(
        &mut self,
        cx: &Cx<'_>,
        id: RowId,
        turn: Option<RowId>,
        parent: Option<RowId>,
        body: Body,
    ) -> Row {
        self.seq += 1;
        Row {
            id,
            seq: self.seq,
            session: self.session.id.clone(),
            turn,
            parent,
            producer: None,
            at: cx.at,
            ended_at: None,
            revision: 1,
            cursor: None,
            frames: [cx.frame, cx.frame],
            truncated: Vec::new(),
            extra: IndexMap::new(),
            body,
        }
    }

    /// The id of the row with this key: of the newest, if the key was used again.
    fn newest(&self, cx: &Cx<'_>, key: &Key) -> Option<(Arc<Row>, u32)> {
        let at = |n: u32| {
            cx.host.row(&RowId::spell(
                &self.session.id,
                key.clone().incarnation(n).as_str(),
            ))
        };
        let mut newest = at(1)?;
        // Incarnations have no gaps, so the last is found by doubling and halving.
        let (mut low, mut high) = (1u32, 2u32);
        while let Some(row) = at(high) {
            newest = row;
            low = high;
            high = high.saturating_mul(2);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match at(middle) {
                Some(row) => {
                    newest = row;
                    low = middle;
                }
                None => high = middle,
            }
        }
        Some((newest, low))
    }

    /// The first free id for this key.
    fn fresh(&self, cx: &Cx<'_>, key: &Key) -> RowId {
        let n = self.newest(cx, key).map_or(1, |(_, n)| n + 1);
        RowId::spell(&self.session.id, key.clone().incarnation(n).as_str())
    }
}

/// Changes a row and tells of it.
fn revise(cx: &mut Cx<'_>, row: &mut Arc<Row>, change: impl FnOnce(&mut Row)) {
    let inner = Arc::make_mut(row);
    change(inner);
    inner.revision += 1;
    inner.frames[1] = inner.frames[1].max(cx.frame);
    cx.host.change(Change::Put(row));
}

/// The longest head of `text` of at most `limit` bytes that ends at a character.
fn clip(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut cut = limit;
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    &text[..cut]
}

/// A label within its bound; one that had to be cut ends with `…`.
fn label(text: &str) -> String {
    if text.len() <= limits::LABEL_BYTES {
        return text.to_owned();
    }
    format!("{}…", clip(text, limits::LABEL_BYTES - '…'.len_utf8()))
}

/// Members that had to be cut, with their size before: a row says so in `truncated`.
#[derive(Debug, Default)]
struct Cuts(Vec<(&'static str, u64)>);

impl Cuts {
    /// The text within `limit` bytes.
    fn text(&mut self, member: &'static str, text: &str, limit: usize) -> String {
        let kept = clip(text, limit);
        if kept.len() < text.len() {
            self.0.push((member, text.len() as u64));
        }
        kept.to_owned()
    }

    /// At most `limits::ITEMS` items.
    fn items<T: serde::Serialize>(&mut self, member: &'static str, items: &mut Vec<T>) {
        if items.len() > limits::ITEMS {
            let bytes = serde_json::to_string(items).map_or(0, |json| json.len() as u64);
            self.0.push((member, bytes));
            items.truncate(limits::ITEMS);
        }
    }

    fn note(self, row: &mut Row) {
        for (member, bytes) in self.0 {
            row.cut(member, bytes);
        }
    }
}

/// Cuts a value of a row to `limit` bytes; says so in the row and hands the whole to the blob store.
fn bound(cx: &mut Cx<'_>, row: &mut Row, member: &str, text: &mut String, limit: usize) {
    if text.len() <= limit {
        return;
    }
    let hash = blake3::hash(text.as_bytes()).to_hex();
    cx.host.blob(hash.as_str(), text.as_bytes());
    row.cut(member, text.len() as u64);
    if let Some(cut) = row.truncated.iter_mut().find(|t| t.member == member) {
        cut.blob = Some(hash.as_str().to_owned());
    }
    let keep = clip(text, limit).len();
    text.truncate(keep);
    // Rows stay at hand for long; what was cut off must not.
    text.shrink_to_fit();
}

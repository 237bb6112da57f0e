//! Grok (`grok agent stdio`): one connection, many sessions, and much that is said beside the protocol.
//!
//! Grok names the turn of almost every frame (`_meta.promptId`), begins turns of its own, runs helpers as sessions of
//! their own, and tells of failures, tasks and context in notices of its own (`_x.ai/…`). What it says is spread over
//! small files, each with its tables:
//!
//! | file | what it reads |
//! |---|---|
//! | `chats` | what must be remembered between frames, by session and by tool call |
//! | `notices` | vendor notices: which of them mean something, and the rule that drops each other one |
//! | `turns` | keys of turns, how turns end, failures, usage |
//! | `tasks` | background commands and monitors |
//! | `helpers` | subagents and their sessions |
//! | `tools` | a tool's news in the shared shape |
//! | `requests` | questions and plans, and what a client answers |
//! | `context` | the models and their windows |
//!
//! The facts stand in the recordings under `fixtures/recordings/grok`; the rules and their tests in `docs/rules/grok.md`.

mod chats;
mod context;
mod helpers;
mod notices;
mod read;
mod requests;
mod tasks;
mod tools;
mod turns;

use std::borrow::Cow;
use std::path::Path;

use tapline_timeline::{Answer, End, Event, Outcome, RequestNews, ToolNews};
use tapline_wire::session::{PromptAnswer, PromptParams};
use tapline_wire::{AgentError, Permission, RawValue, Update, value};

use self::chats::Chats;
use self::context::Models;
use crate::dialect::{
    AnswerReading, Around, Dialect, Facts, Marks, Reply, VendorRequest, Work, WorkStop, WorkStopped,
};

/// Members of Grok's frames whose values are private wherever they stand: the machine's name and its processes, who the
/// agent is, what stands for a key, and reasoning that only the provider can read. A recorder masks them before anything
/// is kept; so they reach neither the tape nor the translator.
pub(super) const PRIVATE_MEMBERS: &[&str] = &[
    "hostname",
    "pid",
    "agentInstanceId",
    "signature",
    "encrypted_content",
    "encryptedContent",
    "keyHint",
    "key_hint",
    "apiKeyHint",
    "api_key_hint",
];

/// What Grok says of itself in a sentence.
const NAME: &str = "Grok";

/// Reads what Grok says beyond the protocol.
#[derive(Debug, Default)]
pub(super) struct Grok {
    chats: Chats,
    models: Models,
}

/// A new one.
pub(super) fn make() -> Box<dyn Dialect> {
    Box::<Grok>::default()
}

impl Dialect for Grok {
    fn name(&self) -> &'static str {
        "grok"
    }

    fn agent_name(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn echoes_prompt_ids(&self) -> bool {
        true
    }

    fn prompt_key<'a>(&self, params: &PromptParams<'a>) -> Option<Cow<'a, str>> {
        read::id(value::member(params.meta?, "promptId")).map(Cow::Borrowed)
    }

    fn ends_own_turns(&self) -> bool {
        true
    }

    fn marks<'a>(&mut self, around: Around<'_>, update: &Update<'a>) -> Marks<'a> {
        turns::marks(around, update)
    }

    fn update<'a>(
        &mut self,
        around: Around<'_>,
        update: &Update<'a>,
        marks: &Marks<'a>,
        facts: &mut Facts<'a>,
    ) {
        self.models.tell(around.session, &mut self.chats, facts);
        match update.kind.as_deref() {
            Some("agent_message_chunk" | "agent_thought_chunk") => {
                turns::streams(&mut self.chats, around, marks, facts);
            }
            Some("tool_call" | "tool_call_update") => {
                turns::begins(&mut self.chats, around, marks, facts);
                if marks.turn.is_some() {
                    // Grok runs tools when the model call is over: what was streamed stands.
                    self.chats.of(around.session).stream = None;
                }
            }
            Some("plan") => {
                turns::begins(&mut self.chats, around, marks, facts);
                let chat = self.chats.of(around.session);
                if update.meta.is_none() && (chat.planned || chat.labelled) {
                    facts.taken_by = Some("cosmetic-plan");
                }
                chat.planned = true;
            }
            Some("user_message_chunk" | "session_info_update" | "current_mode_update") => {}
            // Kinds of Grok's own that came by the standard method.
            Some(kind) if notices::is_own_kind(kind) => {
                if let Some(raw) = update.raw_update() {
                    self.own_update(around, raw, facts);
                }
            }
            _ => {}
        }
    }

    fn history<'a>(&mut self, around: Around<'_>, update: &Update<'a>, facts: &mut Facts<'a>) {
        if update.kind.as_deref() == Some("plan") {
            self.chats.of(around.session).planned = true;
        }
        if let Some(kind) = update.kind.as_deref()
            && notices::is_own_kind(kind)
            && let Some(raw) = update.raw_update()
        {
            self.own_history(around, raw, facts);
        }
    }

    fn hidden_user_chunk(&mut self, _: Around<'_>, update: &Update<'_>, text: &str) -> Option<&'static str> {
        turns::hidden(update, text)
    }

    fn tool<'a>(
        &mut self,
        around: Around<'_>,
        update: &Update<'a>,
        news: &mut ToolNews<'a>,
        facts: &mut Facts<'a>,
    ) {
        self.read_tool(around, update, news, facts);
    }

    fn notification<'a>(
        &mut self,
        around: Around<'_>,
        method: &str,
        params: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        self.notice(around, method, params, facts);
    }

    fn request<'a>(
        &mut self,
        _: Around<'_>,
        key: &'a str,
        method: &str,
        params: &'a RawValue,
    ) -> Option<VendorRequest<'a>> {
        requests::read(key, method, params)
    }

    fn answer(&mut self, method: &str, result: &RawValue) -> Option<(Outcome, Option<Answer>)> {
        requests::answered(method, result)
    }

    fn reply(&self, method: &str, params: &RawValue, answer: Option<&Answer>) -> Option<Reply> {
        requests::reply(method, params, answer)
    }

    fn keeps_file(&self, session: &str, path: &Path) -> bool {
        requests::is_plan_file(session, path)
    }

    fn stop_work(&self, session: &str, work: Work<'_>) -> Option<WorkStop> {
        Some(tasks::stop(session, work))
    }

    fn work_stopped(&self, work: Work<'_>, result: &RawValue) -> WorkStopped {
        tasks::stop_answered(work, result)
    }

    fn permission<'a>(
        &mut self,
        around: Around<'_>,
        permission: &Permission<'a>,
        news: &mut RequestNews<'a>,
    ) {
        self.read_permission(around, permission, news);
    }

    fn stop_reason(&self, reason: &str) -> Option<End> {
        turns::end(reason)
    }

    fn prompt_answer<'a>(
        &mut self,
        around: Around<'_>,
        answer: &PromptAnswer<'a>,
        reading: &mut AnswerReading<'a>,
    ) {
        turns::answered(&mut self.chats, around, answer, reading);
    }

    fn error_words<'a>(&self, error: &AgentError<'a>) -> Option<Option<Cow<'a, str>>> {
        turns::error_words(error)
    }

    fn error_reason(&self, error: &AgentError<'_>) -> Option<&'static str> {
        (error.readable && error.code == turns::RATE_LIMITED).then_some("rate_limit")
    }

    fn failure_sentence(&self, reason: Option<&str>) -> Option<&'static str> {
        (reason == Some("rate_limit")).then_some("Grok usage limit reached.")
    }

    fn set_up<'a>(&mut self, around: Around<'_>, method: &str, result: &'a RawValue, facts: &mut Facts<'a>) {
        self.models
            .set_up(around.session, method, result, &mut self.chats, facts);
        let meta = value::member(result, "_meta");
        if let Some(turn) = meta.and_then(|m| read::id(value::member(m, "x.ai/runningPromptId"))) {
            // The session is resident, and a turn runs in it.
            turns::started(&mut self.chats, around, turn, None, facts);
        }
        if let Some(title) = meta
            .and_then(|m| value::path(m, &["x.ai/sessionDetail", "title"]))
            .and_then(value::text)
        {
            facts.push(Event::Session(tapline_timeline::SessionFacts {
                title: Some(title),
                ..Default::default()
            }));
        }
    }

    fn other_answer<'a>(&mut self, _: Around<'_>, method: &str, result: &'a RawValue, facts: &mut Facts<'a>) {
        if read::bare(method) == "x.ai/task/kill" {
            tasks::killed_by_client(result, facts);
        }
    }
}

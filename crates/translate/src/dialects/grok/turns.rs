//! Turns: their keys, how they end, why they failed, and what they used.
//!
//! A turn has the key that the client injected with its prompt, or one that Grok made. Turns that Grok begins itself have
//! no request and no answer; their keys begin with one of a few words.

use std::borrow::Cow;

use tapline_timeline::{Detail, End, Ending, Event, Failure, Measure, Time, TurnEnded, Usage};
use tapline_wire::session::PromptAnswer;
use tapline_wire::{AgentError, RawValue, Update, value};

use super::chats::Chats;
use super::read::{self, id, member_id, number, words};
use crate::dialect::{AnswerReading, Around, Facts, Marks};

/// How the keys of turns begin that no client's prompt began.
const OWN: &[&str] = &[
    "task-completed-",
    "subagent-completed-",
    "notifications-",
    "interject-fallback-",
    "workflow-completed-",
    "goal-summary-",
    "goal-classifier-nudge-",
    "scheduler-fired-",
    "plan-resume-",
    "monitor-completed-",
    "bash-completed-",
    "monitor-",
];

/// Stop reasons beyond the protocol.
const ENDS: &[(&str, End)] = &[
    ("error", End::Failed),
    ("rate_limit", End::Failed),
    // Written when a session is loaded whose process ended in the middle of this turn.
    ("interrupted", End::Cut),
];

/// The code of an error answer that tells of a usage limit.
pub(super) const RATE_LIMITED: i64 = -32003;

/// How a text begins that is meant for the model alone.
const FOR_THE_MODEL: &[&str] = &["<system-reminder>", "<subagent_meta>"];

/// Whether Grok itself began the turn of this key; nothing where the key does not show it.
fn own(turn: &str) -> Option<bool> {
    OWN.iter().any(|prefix| turn.starts_with(prefix)).then_some(true)
}

/// How a turn ended that stopped for a reason beyond the protocol.
pub(super) fn end(reason: &str) -> Option<End> {
    ENDS.iter().find(|(name, _)| *name == reason).map(|(_, end)| *end)
}

/// Whether a stop reason is a failure, so that words beside it are its reason.
fn is_failure(reason: Option<&str>) -> bool {
    reason.and_then(end) == Some(End::Failed)
}

/// Marks on a `session/update`. Grok marks what it replays frame by frame, so a frame without the mark is live.
pub(super) fn marks<'a>(around: Around<'_>, update: &Update<'a>) -> Marks<'a> {
    let mut marks = Marks {
        replay: Some(around.marked),
        ..Marks::default()
    };
    let Some(meta) = update.meta else { return marks };
    for (name, member) in value::members(meta) {
        match &*name {
            "promptId" => marks.turn = id(Some(member)).map(Cow::Borrowed),
            "streamStartMs" => marks.stream = id(Some(member)).map(Cow::Borrowed),
            "turnStartMs" => marks.turn_started = value::i64(member).map(Time::At),
            _ => {}
        }
    }
    marks
}

/// A text of the agent comes: its turn runs, and a new stream after a broken one says the old text again.
pub(super) fn streams<'a>(chats: &mut Chats, around: Around<'_>, marks: &Marks<'a>, facts: &mut Facts<'a>) {
    begins(chats, around, marks, facts);
    let (Some(turn), Some(mark)) = (&marks.turn, &marks.stream) else {
        return;
    };
    let chat = chats.of(around.session);
    if let Some((t, m)) = &chat.stream
        && **t == **turn
        && **m == **mark
    {
        return;
    }
    let old = chat.stream.replace((turn.as_ref().into(), mark.as_ref().into()));
    let broken = std::mem::take(&mut chat.broken);
    if let Some((old_turn, old_mark)) = old
        && broken
        && *old_turn == **turn
        && let Cow::Borrowed(turn) = turn
    {
        facts.push(Event::Superseded {
            turn: Some(turn),
            mark: Cow::Owned(old_mark.into()),
        });
    }
}

/// A frame of a turn comes: the turn runs. Only a turn that Grok began itself needs to be told: any other has its prompt.
pub(super) fn begins<'a>(chats: &mut Chats, around: Around<'_>, marks: &Marks<'a>, facts: &mut Facts<'a>) {
    let Some(Cow::Borrowed(turn)) = &marks.turn else {
        return;
    };
    let chat = chats.of(around.session);
    chat.labelled = true;
    if chat.running.as_deref() == Some(turn) {
        return;
    }
    chat.runs(turn);
    if own(turn).is_some() {
        facts.push(Event::TurnStarted {
            turn,
            own: own(turn),
            at: clock(around, marks.turn_started),
        });
    }
}

/// The agent's time, where the record has a clock: the two kinds of time cannot stand side by side.
fn clock(around: Around<'_>, at: Option<Time>) -> Option<Time> {
    at.filter(|_| matches!(around.at, Some(Time::At(_))))
}

/// The agent says that a turn runs.
pub(super) fn started<'a>(
    chats: &mut Chats,
    around: Around<'_>,
    turn: &'a str,
    at: Option<Time>,
    facts: &mut Facts<'a>,
) {
    let chat = chats.of(around.session);
    if chat.running.as_deref() != Some(turn) {
        chat.begins_again(turn);
    }
    facts.push(Event::TurnStarted {
        turn,
        own: own(turn),
        at: clock(around, at),
    });
}

/// `queue/changed`: which prompts wait, and which turn runs.
pub(super) fn queue<'a>(chats: &mut Chats, around: Around<'_>, params: &'a RawValue, facts: &mut Facts<'a>) {
    for entry in value::member(params, "entries")
        .map(value::array)
        .into_iter()
        .flatten()
    {
        let is_prompt = value::member_text(entry, "kind").is_none_or(|kind| kind == "prompt");
        if let Some(turn) = member_id(entry, &["id"])
            && is_prompt
            && own(turn).is_none()
        {
            facts.push(Event::PromptNamed {
                turn,
                text: words(entry, &["text"]),
            });
        }
    }
    if let Some(turn) = member_id(params, &["runningPromptId"]) {
        started(chats, around, turn, None, facts);
    }
    facts.taken_by = Some("queue");
}

/// `turn_completed`: the agent's word on the end of a turn.
pub(super) fn completed<'a>(
    chats: &mut Chats,
    around: Around<'_>,
    update: &'a RawValue,
    facts: &mut Facts<'a>,
) {
    let turn = member_id(update, &["prompt_id", "promptId"]);
    let reason = words(update, &["stop_reason", "stopReason"]);
    let chat = chats.of(around.session);
    if let Some(turn) = turn {
        if own(turn).is_some() && chat.running.as_deref() != Some(turn) && !chat.has_ended(turn) {
            facts.push(Event::TurnStarted {
                turn,
                own: own(turn),
                at: None,
            });
        }
        chat.ends(turn);
    } else if let Some(running) = chat.running.clone() {
        chat.ends(&running);
    }
    let ended = match reason.as_deref() {
        Some("end_turn") => End::Completed,
        Some("cancelled") => End::Stopped,
        Some("refusal") => End::Refused,
        Some("max_tokens" | "max_turn_requests") => End::Limit,
        Some(other) => end(other).unwrap_or(End::Unknown),
        None => End::Unknown,
    };
    let failure = match ended {
        End::Failed => failure(
            update,
            reason.as_deref(),
            &["agent_result", "agentResult"],
            "turn_completed",
        ),
        _ => Failure::default(),
    };
    facts.push(Event::TurnEnded(TurnEnded {
        turn,
        ending: Ending {
            end: ended,
            stop_reason: reason,
            duration_ms: number(update, "elapsed_ms"),
            failure,
            usage: value::member(update, "usage").and_then(usage),
        },
    }));
}

/// `prompt_complete`: read for the reason of a failure only; the answer and the notice of the end say the rest.
pub(super) fn prompt_complete<'a>(params: &'a RawValue, facts: &mut Facts<'a>) {
    let reason = words(params, &["stopReason", "stop_reason"]);
    facts.taken_by = Some("prompt-complete");
    if !is_failure(reason.as_deref()) {
        return;
    }
    let failure = failure(
        params,
        reason.as_deref(),
        &["agentResult", "agent_result"],
        "prompt_complete",
    );
    if failure.words.is_some() {
        let turn = member_id(params, &["promptId", "prompt_id"]).map(Cow::Borrowed);
        facts.push(Event::Failure { turn, failure });
    }
}

/// `retry_state`: `retrying` is no failure, it only breaks what is being streamed; the other two are the first copy of
/// the reason. They name no turn: it is the one that runs.
pub(super) fn retry<'a>(chats: &mut Chats, around: Around<'_>, update: &'a RawValue, facts: &mut Facts<'a>) {
    facts.taken_by = Some("retry");
    let chat = chats.of(around.session);
    let from = match value::member_text(update, "type").as_deref() {
        Some("retrying") => {
            chat.broken = chat.stream.is_some();
            return;
        }
        Some("failed") => "message",
        Some("exhausted") => "reason",
        _ => return,
    };
    let limited = read::is_true(update, "is_rate_limited");
    let failure = failure(update, limited.then_some("rate_limit"), &[from], "retry_state");
    if failure.words.is_some() {
        let turn = chat.running.clone().map(|turn| Cow::Owned(turn.into()));
        facts.push(Event::Failure { turn, failure });
    }
}

/// A copy of a failure's reason.
fn failure<'a>(raw: &'a RawValue, reason: Option<&str>, names: &[&str], source: &str) -> Failure<'a> {
    let sentence = match reason {
        Some("rate_limit") => "Grok usage limit reached.",
        _ => "Grok ended this turn with an error.",
    };
    let kind = words(raw, &["error_type", "error_kind", "errorKind"]);
    let code = kind.as_deref().or(reason).map(str::to_owned);
    let detail = Detail {
        code,
        source: Some(source.to_owned()),
        more: None,
    };
    Failure {
        words: words(raw, names),
        sentence: Some(Cow::Borrowed(sentence)),
        detail,
    }
}

/// The totals of a turn: all its model calls, with those of its helpers. What was read from the cache is part of `input`.
fn usage(raw: &RawValue) -> Option<Usage> {
    let total = number(raw, "totalTokens").filter(|n| *n > 0)?;
    Some(Usage {
        measure: Measure::TurnWithHelpers,
        input: number(raw, "inputTokens"),
        input_holds_cached: Some(true),
        output: number(raw, "outputTokens"),
        cached_read: number(raw, "cachedReadTokens"),
        cached_write: number(raw, "cacheCreationTokens"),
        thought: number(raw, "reasoningTokens"),
        total: Some(total),
        cost: None,
    })
}

/// The answer to a prompt: the end is the protocol's, the rest stands in `_meta`.
pub(super) fn answered<'a>(
    chats: &mut Chats,
    around: Around<'_>,
    answer: &PromptAnswer<'a>,
    reading: &mut AnswerReading<'a>,
) {
    let chat = chats.of(around.session);
    let turn = answer.meta.and_then(|m| member_id(m, &["promptId", "requestId"]));
    if let Some(turn) = turn.map(Into::into).or_else(|| chat.running.clone()) {
        chat.ends(&turn);
    }
    let Some(meta) = answer.meta else { return };
    reading.withdrawn = value::member_text(meta, "completionKind").as_deref() == Some("removedFromQueue");
    if let Some(usage) = value::member(meta, "usage").and_then(usage) {
        reading.usage = Some(usage);
    }
}

/// The words of an error answer: under `data.message`, in `data` itself, else the message. A usage limit's message names
/// the code and says nothing.
pub(super) fn error_words<'a>(error: &AgentError<'a>) -> Option<Option<Cow<'a, str>>> {
    let said = error.data.and_then(|data| match value::text(data) {
        Some(text) => Some(text).filter(|t| !t.trim().is_empty()),
        None => words(data, &["message", "details", "detail", "error"]),
    });
    match said {
        Some(words) => Some(Some(words)),
        None if error.code == RATE_LIMITED && error.message.trim().eq_ignore_ascii_case("rate limited") => {
            Some(None)
        }
        None => None,
    }
}

/// Whether a user message is for the model alone.
pub(super) fn hidden(update: &Update<'_>, text: &str) -> Option<&'static str> {
    let hides = |meta| read::is_true(meta, "hideFromScrollback");
    if update.fields.meta.is_some_and(hides) {
        return Some("hidden-user-chunk");
    }
    let text = text.trim_start();
    FOR_THE_MODEL
        .iter()
        .any(|begin| text.starts_with(begin))
        .then_some("text-for-the-model")
}

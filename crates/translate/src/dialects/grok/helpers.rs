//! Subagents: helpers, each with a session of its own on the same connection.
//!
//! A helper is known by its id, which is its session's. It runs from the notice of its start, or from the result of the
//! tool that started it; it ends by its own notice, by the result of a tool that waited for it, or by the read of its
//! output. A helper is never a task.

use std::borrow::Cow;

use tapline_timeline::{Event, HelperNews, ToolStatus, WorkState};
use tapline_wire::{RawValue, value};

use super::Grok;
use super::read::{member_id, number, without, words};
use crate::dialect::{Around, Child, Facts};

/// How a helper stands, in Grok's words.
const STATES: &[(&str, WorkState)] = &[
    ("pending", WorkState::Running),
    ("running", WorkState::Running),
    ("completed", WorkState::Completed),
    ("success", WorkState::Completed),
    ("failed", WorkState::Failed),
    ("error", WorkState::Failed),
    ("timed_out", WorkState::Failed),
    ("cancelled", WorkState::Stopped),
    ("killed", WorkState::Stopped),
    ("stopped", WorkState::Stopped),
];

/// What stands in a helper's reply for the model alone.
const FOR_THE_MODEL: &[(&str, &str)] = &[
    ("<subagent_meta>", "</subagent_meta>"),
    ("<subagent_result>", "</subagent_result>"),
];

/// How the line begins that names a helper started in the background.
const ID_LINE: &str = "subagent_id: ";

/// Longest first line of a prompt that stands for a label, in characters.
const LABEL_CHARS: usize = 80;

/// How a helper stands that Grok says stands so.
pub(super) fn state(status: &str) -> Option<WorkState> {
    STATES
        .iter()
        .find(|(name, _)| *name == status)
        .map(|(_, state)| *state)
}

/// A reply without what is for the model alone.
pub(super) fn reply(text: Cow<'_, str>) -> Cow<'_, str> {
    let text = FOR_THE_MODEL
        .iter()
        .fold(text, |text, (open, close)| without(text, open, close));
    match text.trim() {
        trimmed if trimmed.len() == text.len() => text,
        trimmed => Cow::Owned(trimmed.to_owned()),
    }
}

/// Output that may be a helper's reply.
pub(super) fn reply_in(text: Cow<'_, str>) -> Cow<'_, str> {
    if FOR_THE_MODEL.iter().any(|(open, _)| text.contains(open)) {
        reply(text)
    } else {
        text
    }
}

/// The id of the helper that a tool's acknowledgement names.
pub(super) fn acknowledged(text: &str) -> Option<&str> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix(ID_LINE))
        .map(str::trim)
        .filter(|id| !id.is_empty())
}

impl Grok {
    /// `subagent_spawned`.
    pub(super) fn helper_started<'a>(
        &mut self,
        around: Around<'_>,
        update: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        facts.taken_by = Some("helper-unreadable");
        let Some(helper) = member_id(update, &["subagent_id"]) else {
            return;
        };
        let label = words(update, &["description"]);
        self.chats.name_helper(helper, label.as_deref());
        let call = self.chats.spawning(around.session, label.as_deref());
        if !around.loading {
            let child = member_id(update, &["child_session_id"]).unwrap_or(helper);
            facts.children.push(Child {
                session: Cow::Borrowed(child),
                helper: Some(Cow::Borrowed(helper)),
                title: label.clone(),
            });
        }
        facts.push(Event::Helper(HelperNews {
            helper: Cow::Borrowed(helper),
            turn: member_id(update, &["parent_prompt_id"]),
            call: call.map(|call| Cow::Owned(call.into())),
            label,
            label_guess: words(update, &["subagent_type"]),
            state: Some(WorkState::Running),
            only_if_known: around.loading,
            ..HelperNews::default()
        }));
    }

    /// `subagent_progress`: tokens only; 0 is no count.
    pub(super) fn helper_progress<'a>(&mut self, update: &'a RawValue, facts: &mut Facts<'a>) {
        facts.taken_by = Some("helper-unreadable");
        let Some(helper) = member_id(update, &["subagent_id"]) else {
            return;
        };
        facts.push(Event::Helper(HelperNews {
            helper: Cow::Borrowed(helper),
            tokens: number(update, "tokens_used"),
            only_if_known: true,
            ..HelperNews::default()
        }));
    }

    /// `subagent_finished`.
    pub(super) fn helper_ended<'a>(
        &mut self,
        around: Around<'_>,
        update: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        facts.taken_by = Some("helper-unreadable");
        let Some(helper) = member_id(update, &["subagent_id"]) else {
            return;
        };
        self.chats.name_helper(helper, None);
        let state = words(update, &["status"]).and_then(|status| state(&status));
        // A helper that failed has its reason in the place of a reply.
        let reason = || words(update, &["error"]).filter(|_| state == Some(WorkState::Failed));
        facts.push(Event::Helper(HelperNews {
            helper: Cow::Borrowed(helper),
            state,
            tokens: number(update, "tokens_used"),
            text: words(update, &["output"]).or_else(reason).map(reply),
            only_if_known: around.loading,
            ..HelperNews::default()
        }));
    }

    /// What the result of the tool that starts helpers says. A call that still runs proves nothing.
    pub(super) fn helper_from_tool<'a>(
        &mut self,
        call: &'a str,
        turn: Option<&'a str>,
        status: Option<ToolStatus>,
        output: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        let memo = self.chats.known_call(call);
        let label = memo
            .and_then(|m| m.description.clone())
            .map(|label| Cow::Owned(label.into()));
        let (helper, state, text) = match value::member_text(output, "type").as_deref() {
            Some("SubagentCompleted") => {
                let Some(helper) = member_id(output, &["subagent_id"]) else {
                    return;
                };
                let state = if status == Some(ToolStatus::Failed) {
                    WorkState::Failed
                } else {
                    WorkState::Completed
                };
                (
                    Cow::Borrowed(helper),
                    state,
                    words(output, &["output"]).map(reply),
                )
            }
            Some("Text")
                if status == Some(ToolStatus::Completed) && memo.is_some_and(|m| m.starts_helpers) =>
            {
                let text = value::member_text(output, "text").unwrap_or_default();
                let Some(helper) = acknowledged(&text) else { return };
                (Cow::Owned(helper.to_owned()), WorkState::Running, None)
            }
            _ => return,
        };
        let memo = self.chats.call(call);
        memo.spawns = false;
        let guess = memo.prompt.clone().map(|prompt| Cow::Owned(prompt.into()));
        self.chats.name_helper(&helper, label.as_deref());
        if state == WorkState::Running {
            facts.children.push(Child {
                session: helper.clone(),
                helper: Some(helper.clone()),
                title: label.clone(),
            });
        }
        facts.push(Event::Helper(HelperNews {
            helper,
            turn,
            call: Some(Cow::Borrowed(call)),
            label,
            label_guess: guess,
            state: Some(state),
            text,
            ..HelperNews::default()
        }));
    }

    /// What the read of an output or a kill says of something that may be a helper. Says whether it is one.
    pub(super) fn helper_told<'a>(
        &mut self,
        id: Cow<'a, str>,
        command: Option<&str>,
        state: Option<WorkState>,
        text: Option<Cow<'a, str>>,
        facts: &mut Facts<'a>,
    ) -> bool {
        let named = command.is_some_and(|c| c.starts_with("[subagent]") || c.starts_with("[subagent:"));
        if !named && self.chats.helper(&id).is_none() {
            return false;
        }
        let ended = matches!(state, Some(state) if state != WorkState::Running);
        facts.push(Event::Helper(HelperNews {
            helper: id,
            state,
            text: text.filter(|_| ended).map(reply),
            only_if_known: true,
            ..HelperNews::default()
        }));
        true
    }
}

/// The first line of a helper's prompt, as a label where there is no better one.
pub(super) fn first_line(prompt: &str) -> Option<String> {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LABEL_CHARS).collect())
}

//! Vendor notices: which of them mean something, and the rule that drops each other one.
//!
//! Grok's notices come by a few methods, with a kind inside. Live ones come as `_x.ai/session_notification` or by a method
//! of their own, replayed ones as `_x.ai/session/update`; the kind alone says what they are. Nothing here makes a row but
//! tasks, helpers, compactions, failures and what a person said; set-up, hooks, settings, announcements, the queue and the
//! catalogues never do.

use std::borrow::Cow;

use tapline_timeline::{CompactionNews, CompactionState, Content, Event, Json, Part};
use tapline_wire::{RawValue, value};

use super::read::{bare, member_id, words};
use super::{Grok, context, turns};
use crate::dialect::{Around, Facts};

/// Methods whose notices carry a kind of update.
const CARRIERS: &[&str] = &[
    "x.ai/session_notification",
    "x.ai/session/update",
    "x.ai/task_backgrounded",
    "x.ai/task_completed",
    "x.ai/monitor_event",
    "x.ai/scheduled_task_created",
    "x.ai/scheduled_task_fired",
    "x.ai/scheduled_task_deleted",
    "x.ai/scheduled_task_inject_prompt",
];

/// Methods that never become rows, each with the rule that takes it.
const METHODS: &[(&str, &str)] = &[
    ("x.ai/session/setup", "set-up"),
    ("x.ai/mcp_initialized", "set-up"),
    ("x.ai/mcp/", "tool-servers"),
    ("x.ai/sessions/changed", "session-list"),
    ("x.ai/settings/update", "settings"),
    ("x.ai/config_changed", "settings"),
    ("x.ai/announcements/update", "announcement"),
    ("x.ai/hooks/", "hook"),
    ("x.ai/fs", "files-changed"),
    ("x.ai/git", "repository-changed"),
    ("x.ai/search/", "search-status"),
    ("x.ai/code/", "search-status"),
    ("x.ai/terminal/", "terminal-panel"),
    ("x.ai/follow_ups", "suggestion"),
    ("x.ai/leader", "leader"),
];

/// Kinds that mean something.
const READ: &[&str] = &[
    "turn_completed",
    "response_completed",
    "retry_state",
    "task_backgrounded",
    "task_completed",
    "background_tasks",
    "subagent_spawned",
    "subagent_progress",
    "subagent_finished",
    "model_changed",
    "auto_compact_started",
    "auto_compact_completed",
    "auto_compact_failed",
    "auto_compact_cancelled",
];

/// Kinds that never become rows, each with the rule that takes it.
const KINDS: &[(&str, &str)] = &[
    ("response_started", "model-call"),
    ("reasoning_completed", "model-call"),
    ("tool_call_delta_chunk", "arguments-streaming"),
    ("pending_interaction", "interaction"),
    ("interaction_resolved", "interaction"),
    ("hook_run_started", "hook"),
    ("hook_execution", "hook"),
    ("hook_annotation", "hook"),
    ("hooks_changed", "hook"),
    ("model_auto_switched", "model-changed"),
    ("session_summary_generated", "summary"),
    ("last_turn_summary", "summary"),
    ("session_recap", "summary"),
    ("session_recap_unavailable", "summary"),
    ("session_status", "summary"),
    ("auto_recovery_started", "retry"),
    ("auto_recovery_exhausted", "retry"),
    ("auto_continue_completed", "compaction"),
    ("compaction_checkpoint", "compaction"),
    ("rewind_marker", "rewind"),
    ("memory_flush_started", "memory"),
    ("memory_flush_completed", "memory"),
    ("memory_dream_completed", "memory"),
    ("memory_session_saved", "memory"),
    ("memory_files", "memory"),
    // A line wakes the agent, which then says what it means.
    ("monitor_event", "monitor-line"),
    ("scheduled_task_created", "schedule"),
    ("scheduled_task_fired", "schedule"),
    ("scheduled_task_deleted", "schedule"),
    ("scheduled_task_inject_prompt", "schedule"),
    ("goal_updated", "goal"),
    ("workflow_updated", "goal"),
    ("plugins_changed", "settings"),
    ("plugin_updates_installed", "settings"),
    ("feedback_request", "suggestion"),
    ("relay_sync_status", "leader"),
    ("diff_review", "suggestion"),
    ("image_compressed", "image"),
    ("image_dropped", "image"),
];

/// The kinds of a compaction's news.
const COMPACTIONS: &[(&str, CompactionState)] = &[
    ("auto_compact_started", CompactionState::Running),
    ("auto_compact_completed", CompactionState::Completed),
    ("auto_compact_failed", CompactionState::Failed),
    ("auto_compact_cancelled", CompactionState::Cancelled),
];

/// Whether a kind of update is Grok's own.
pub(super) fn is_own_kind(kind: &str) -> bool {
    READ.contains(&kind) || KINDS.iter().any(|(name, _)| *name == kind)
}

impl Grok {
    pub(super) fn notice<'a>(
        &mut self,
        around: Around<'_>,
        method: &str,
        params: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        let method = bare(method);
        if method == "x.ai/models/update" {
            return self.models.update(params, &mut self.chats, facts);
        }
        if let Some((_, rule)) = METHODS.iter().find(|(begin, _)| method.starts_with(begin)) {
            facts.taken_by = Some(rule);
            return;
        }
        // What names no session would be told to each of them.
        if around.session.is_empty() {
            facts.taken_by = Some("notice-without-session");
            return;
        }
        if around.marked {
            return match value::member(params, "update") {
                Some(update) => self.own_history(around, update, facts),
                None => facts.taken_by = Some("history"),
            };
        }
        self.models.tell(around.session, &mut self.chats, facts);
        match method {
            "x.ai/queue/changed" => {
                turns::queue(&mut self.chats, around, params, facts);
                self.steering_turn(around, params, facts);
            }
            "x.ai/session/prompt_complete" => turns::prompt_complete(params, facts),
            "x.ai/session/interjection" => self.interjection(around, params, facts),
            method if CARRIERS.contains(&method) => match value::member(params, "update") {
                Some(update) => self.own_update(around, update, facts),
                None => facts.taken_by = Some("notice-unreadable"),
            },
            _ => facts.taken_by = Some("vendor-notice"),
        }
    }

    /// An update of a kind of Grok's own, live.
    pub(super) fn own_update<'a>(&mut self, around: Around<'_>, update: &'a RawValue, facts: &mut Facts<'a>) {
        let chats = &mut self.chats;
        let kind = value::member_text(update, "sessionUpdate").unwrap_or_default();
        facts.taken_by = Some("vendor-notice");
        match &*kind {
            "turn_completed" => turns::completed(chats, around, update, facts),
            "response_completed" => context::call(chats, around, update, false, facts),
            "retry_state" => turns::retry(chats, around, update, facts),
            "model_changed" => self.models.changed(around, update, chats, facts),
            "task_backgrounded" => self.task_started(around, update, facts),
            "task_completed" => self.task_ended(around, update, facts),
            "background_tasks" => self.task_list(around, update, facts),
            "subagent_spawned" => self.helper_started(around, update, facts),
            "subagent_progress" => self.helper_progress(update, facts),
            "subagent_finished" => self.helper_ended(around, update, facts),
            kind => {
                if let Some((_, state)) = COMPACTIONS.iter().find(|(name, _)| *name == kind) {
                    self.compaction(around, *state, update, facts);
                } else if let Some((_, rule)) = KINDS.iter().find(|(name, _)| *name == kind) {
                    facts.taken_by = Some(rule);
                }
            }
        }
    }

    /// The same, replayed: only the context's measure is taken.
    pub(super) fn own_history<'a>(
        &mut self,
        around: Around<'_>,
        update: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        if value::member_text(update, "sessionUpdate").as_deref() == Some("response_completed") {
            context::call(&mut self.chats, around, update, true, facts);
        }
        facts.taken_by = Some("history");
    }

    /// Grok numbers no compaction: each is known by its order in the session.
    fn compaction<'a>(
        &mut self,
        around: Around<'_>,
        state: CompactionState,
        update: &'a RawValue,
        facts: &mut Facts<'a>,
    ) {
        facts.taken_by = Some("compaction");
        if around.loading {
            return;
        }
        let chat = self.chats.of(around.session);
        let turn = chat.running.clone().unwrap_or_default();
        let id = match chat.compaction.take() {
            Some(id) => id,
            None => {
                chat.compactions += 1;
                format!("{turn}.{}", chat.compactions).into()
            }
        };
        if state == CompactionState::Running {
            chat.compaction = Some(id.clone());
        }
        let members = ["tokens_before", "tokens_after", "reason", "error"];
        let detail: serde_json::Map<String, serde_json::Value> = members
            .iter()
            .filter_map(|name| {
                let member = value::member(update, name).filter(|m| !value::is_null(m))?;
                Some(((*name).to_owned(), serde_json::from_str(member.get()).ok()?))
            })
            .collect();
        facts.push(Event::Compaction(CompactionNews {
            compaction: Cow::Owned(id.into()),
            turn: None,
            state: Some(state),
            summary: words(update, &["summary_preview", "summary"]).map(Content::text),
            piece: None,
            detail: (!detail.is_empty()).then(|| Json::of(&detail).ok()).flatten(),
        }));
    }

    /// A person's word into a running turn. It makes a row where a turn runs; else it begins one, and comes again with it.
    fn interjection<'a>(&mut self, around: Around<'_>, params: &'a RawValue, facts: &mut Facts<'a>) {
        facts.taken_by = Some("steering-begins-a-turn");
        let Some(text) = words(params, &["text"]) else {
            return;
        };
        let chat = self.chats.of(around.session);
        if chat.running.is_none() {
            return;
        }
        chat.interjection = Some((*text).into());
        let message = member_id(params, &["interjectionId"]);
        let part = Part::Text {
            text: text.into_owned(),
        };
        facts.push(Event::UserPiece {
            turn: None,
            message,
            part,
        });
    }

    /// A turn that a person's word began: the word stands at its head, if it has not been shown.
    fn steering_turn<'a>(&mut self, around: Around<'_>, params: &'a RawValue, facts: &mut Facts<'a>) {
        let Some(turn) = member_id(params, &["runningPromptId"]) else {
            return;
        };
        let Some(text) = words(params, &["runningText"]) else {
            return;
        };
        if !turn.starts_with("interject-fallback-") {
            return;
        }
        let shown = self.chats.of(around.session).interjection.take();
        if shown.as_deref() != Some(&*text) {
            let part = Part::Text {
                text: text.into_owned(),
            };
            facts.push(Event::UserPiece {
                turn: Some(turn),
                message: Some(turn),
                part,
            });
        }
    }
}

//! One tool by itself: what its state, its effects and its size are after news.

use super::super::requests::Asked;
use super::super::{Cx, bound};
use crate::content::{Diff, ToolItem};
use crate::event::ToolStatus;
use crate::id::RowId;
use crate::json::Json;
use crate::limits;
use crate::readable::readable;
use crate::row::{Row, Tool};
use crate::word::*;

/// What a tool is whose turn ended around it.
pub(super) fn state_around(end: End) -> ToolState {
    match end {
        End::Stopped | End::Cut => ToolState::Interrupted,
        _ => ToolState::Unknown,
    }
}

/// What a tool's state is after news.
pub(super) fn state_after(
    old: ToolState,
    status: Option<ToolStatus>,
    late_announcement: bool,
    authorization: Authorization,
) -> ToolState {
    let failed = if authorization == Authorization::AskedRejected {
        ToolState::Rejected
    } else {
        ToolState::Failed
    };
    match (old, status) {
        (_, None) => old,
        (old, _) if old.is_final() => old,
        (_, Some(ToolStatus::Completed)) => ToolState::Completed,
        (_, Some(ToolStatus::Failed)) => failed,
        (ToolState::Pending, Some(ToolStatus::Running)) if !late_announcement => ToolState::Running,
        (ToolState::Running, Some(ToolStatus::Pending)) => old,
        (old, _) => old,
    }
}

/// Whether a diff took effect follows from how its tool ran.
pub(super) fn settle_effects(tool: &mut Tool) {
    let effect = match tool.state {
        ToolState::Completed => Effect::Applied,
        ToolState::Failed | ToolState::Rejected => Effect::Discarded,
        _ if tool.authorization == Authorization::AskedRejected => Effect::Discarded,
        _ => Effect::Proposed,
    };
    for item in &mut tool.content {
        if let ToolItem::Diff(diff) = item {
            diff.effect = effect;
        }
    }
}

/// Text that stands in the content is not repeated as output.
pub(super) fn leave_out_repeated_output(tool: &mut Tool) {
    let Some(output) = &tool.output else { return };
    let output = readable(output);
    let output = output.trim();
    let texts = tool.content.iter().filter_map(|item| match item {
        ToolItem::Text { text } => Some(readable(text)),
        ToolItem::Terminal(terminal) => Some(terminal.output.as_str().into()),
        _ => None,
    });
    let mut joined = String::new();
    for text in texts {
        if text.contains(output) {
            tool.output = None;
            return;
        }
        joined.push_str(&text);
        joined.push('\n');
    }
    if output.is_empty() || joined.contains(output) {
        tool.output = None;
    }
}

pub(super) fn bound_tool(cx: &mut Cx<'_>, row: &mut Row, tool: &mut Tool) {
    if let Some(output) = &mut tool.output {
        bound(cx, row, "output", output, limits::VALUE_BYTES);
    }
    if tool
        .input
        .as_ref()
        .is_some_and(|i| i.as_str().len() > limits::VALUE_BYTES)
        && let Some(input) = tool.input.take()
    {
        let mut text = input.as_str().to_owned();
        bound(cx, row, "input", &mut text, limits::VALUE_BYTES);
        tool.input = Some(Json::string(&text));
    }
    bound_items(cx, row, &mut tool.content);
    if tool
        .result
        .as_ref()
        .and_then(|r| r.value.as_ref())
        .is_some_and(|v| v.as_str().len() > limits::VALUE_BYTES)
        && let Some(result) = tool.result.take()
        && let Some(value) = result.value
    {
        let mut text = value.as_str().to_owned();
        bound(cx, row, "result", &mut text, limits::VALUE_BYTES);
    }
}

pub(in crate::assembler) fn bound_items(cx: &mut Cx<'_>, row: &mut Row, items: &mut [ToolItem]) {
    for (at, item) in items.iter_mut().enumerate() {
        match item {
            ToolItem::Text { text } => {
                bound(cx, row, &format!("content.{at}.text"), text, limits::VALUE_BYTES)
            }
            ToolItem::Diff(Diff { patch, .. }) => bound(
                cx,
                row,
                &format!("content.{at}.patch"),
                patch,
                limits::VALUE_BYTES,
            ),
            ToolItem::File(media) => {
                if let Some(text) = &mut media.text {
                    bound(cx, row, &format!("content.{at}.text"), text, limits::VALUE_BYTES);
                }
            }
            _ => {}
        }
    }
}

/// A tool that nobody announced takes over what its permission showed.
pub(super) fn take_over(tool: &mut Tool, asked: Asked) -> RowId {
    tool.title = asked.title;
    tool.tool_kind = asked.kind;
    tool.input = asked.input;
    tool.content = asked.content;
    tool.locations = asked.locations;
    if let Some(outcome) = asked.outcome {
        tool.authorization = authorization_of(outcome);
    }
    asked.request
}

pub(in crate::assembler) fn authorization_of(outcome: Outcome) -> Authorization {
    match outcome {
        Outcome::Allowed | Outcome::Answered => Authorization::AskedAllowed,
        Outcome::Rejected => Authorization::AskedRejected,
        Outcome::Cancelled => Authorization::AskedCancelled,
    }
}

pub(super) fn blank_tool() -> Tool {
    Tool {
        call: String::new(),
        name: None,
        title: None,
        tool_kind: None,
        state: ToolState::Pending,
        authorization: Authorization::NotAsked,
        input: None,
        content: Vec::new(),
        output: None,
        exit_code: None,
        result: None,
        locations: Vec::new(),
    }
}

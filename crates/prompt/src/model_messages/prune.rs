//! Taking weight off a history before it goes to a model: old thoughts, old calls and their results.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use thiserror::Error;

use super::lenient::{parts, role, str_of, tag};
use crate::json::Json;

/// What to take out. The default takes out nothing but empty messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prune {
    /// Which thoughts.
    pub reasoning: PruneReasoning,
    /// Which calls, with their results and approvals. The rules apply one after the other.
    pub tool_calls: Vec<PruneTools>,
    /// Whether messages that have nothing left in them stay.
    pub keep_empty_messages: bool,
}

/// Which thoughts to take out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PruneReasoning {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// All but those of the last message.
    BeforeLastMessage,
}

/// Which calls to take out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneTools {
    /// How many messages at the end keep theirs, and keep what they refer to. Zero: none do.
    pub keep_last: usize,
    /// Only calls of these tools; all tools without it.
    pub tools: Option<Vec<String>>,
}

/// A rule that is none of `all`, `before-last-message`, `before-last-N-messages`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is no rule for pruning tool calls: say all, before-last-message or before-last-N-messages")]
pub struct UnknownRule(String);

impl FromStr for PruneTools {
    type Err = UnknownRule;

    /// Reads a rule by the name that the SDK has for it.
    ///
    /// ```
    /// use tapline_prompt::model_messages::PruneTools;
    ///
    /// assert_eq!("before-last-2-messages".parse::<PruneTools>()?.keep_last, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn from_str(rule: &str) -> Result<Self, UnknownRule> {
        let keep_last = match rule {
            "all" => Some(0),
            "before-last-message" => Some(1),
            _ => rule
                .strip_prefix("before-last-")
                .and_then(|rest| rest.strip_suffix("-messages"))
                .and_then(|count| count.parse().ok()),
        };
        let keep_last = keep_last.ok_or_else(|| UnknownRule(rule.to_owned()))?;
        Ok(PruneTools {
            keep_last,
            tools: None,
        })
    }
}

/// Takes out of model messages what the rules say. Content that is plain text is never touched.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::model_messages::{Prune, PruneReasoning, prune};
///
/// let messages = [Json::parse(r#"{"role":"assistant","content":[{"type":"reasoning","text":"hm"}]}"#)?];
/// let rules = Prune { reasoning: PruneReasoning::All, ..Prune::default() };
/// assert!(prune(&messages, &rules).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prune(messages: &[Json], rules: &Prune) -> Vec<Json> {
    let mut messages = messages.to_vec();
    let last = messages.len().saturating_sub(1);
    for (index, message) in messages.iter_mut().enumerate() {
        let is_kept = match rules.reasoning {
            PruneReasoning::None => true,
            PruneReasoning::All => false,
            PruneReasoning::BeforeLastMessage => index == last,
        };
        if !is_kept && role(message) == "assistant" {
            retain_parts(message, |_, part| !is_reasoning(part));
        }
    }
    for rule in &rules.tool_calls {
        prune_tools(&mut messages, rule);
    }
    if !rules.keep_empty_messages {
        messages.retain(|message| match message.get("content") {
            Some(Json::Array(parts)) => !parts.is_empty(),
            Some(Json::String(text)) => !text.is_empty(),
            _ => true,
        });
    }
    messages
}

fn is_reasoning(part: &Json) -> bool {
    matches!(tag(part), "reasoning" | "reasoning-file")
}

fn retain_parts(message: &mut Json, mut keep: impl FnMut(usize, &Json) -> bool) {
    if let Json::Object(message) = message
        && let Some(Json::Array(parts)) = message.get_mut("content")
    {
        let mut index = 0;
        parts.retain(|part| {
            index += 1;
            keep(index - 1, part)
        });
    }
}

/// What a part is about: a call, or an approval of one.
enum About<'a> {
    Call(&'a str),
    Approval(&'a str),
}

fn about(part: &Json) -> Option<About<'_>> {
    let id = |key| str_of(part, key).unwrap_or_default();
    match tag(part) {
        "tool-call" | "tool-result" => Some(About::Call(id("toolCallId"))),
        "tool-approval-request" | "tool-approval-response" => Some(About::Approval(id("approvalId"))),
        _ => None,
    }
}

/// The parts of the messages that can hold calls.
fn tool_parts(messages: &[Json]) -> impl Iterator<Item = &Json> {
    messages
        .iter()
        .filter(|message| matches!(role(message), "assistant" | "tool"))
        .flat_map(parts)
}

fn prune_tools(messages: &mut [Json], rule: &PruneTools) {
    let first_kept = messages.len().saturating_sub(rule.keep_last);
    let mut kept_calls: HashSet<String> = HashSet::new();
    let mut kept_approvals: HashSet<String> = HashSet::new();
    for part in tool_parts(&messages[first_kept..]) {
        match about(part) {
            Some(About::Call(id)) => kept_calls.insert(id.to_owned()),
            Some(About::Approval(id)) => kept_approvals.insert(id.to_owned()),
            None => continue,
        };
    }
    // A response stands in another message than its request, and the request names the call but not
    // the tool: names are found across all messages.
    let mut tool_of_call: HashMap<String, String> = HashMap::new();
    for part in tool_parts(messages) {
        if let (Some(About::Call(id)), Some(name)) = (about(part), str_of(part, "toolName")) {
            tool_of_call.insert(id.to_owned(), name.to_owned());
        }
    }
    let mut tool_of_approval: HashMap<String, String> = HashMap::new();
    let mut call_of_approval: HashMap<String, String> = HashMap::new();
    for part in tool_parts(messages).filter(|part| tag(part) == "tool-approval-request") {
        let approval = str_of(part, "approvalId").unwrap_or_default();
        let call = str_of(part, "toolCallId").unwrap_or_default();
        call_of_approval.insert(approval.to_owned(), call.to_owned());
        if let Some(tool) = tool_of_call.get(call) {
            tool_of_approval.insert(approval.to_owned(), tool.clone());
        }
    }
    // A response that is kept needs the call that it is about.
    kept_calls.extend(
        kept_approvals
            .iter()
            .filter_map(|id| call_of_approval.get(id).cloned()),
    );

    let stays = |part: &Json| {
        let (is_kept, tool) = match about(part) {
            None => return true,
            Some(About::Call(id)) => (kept_calls.contains(id), str_of(part, "toolName")),
            Some(About::Approval(id)) => (
                kept_approvals.contains(id),
                tool_of_approval.get(id).map(String::as_str),
            ),
        };
        let is_of_another_tool = rule
            .tools
            .as_ref()
            .zip(tool)
            .is_some_and(|(tools, tool)| !tools.iter().any(|pruned| pruned == tool));
        is_kept || is_of_another_tool
    };
    for message in &mut messages[..first_kept] {
        if !matches!(role(message), "assistant" | "tool") {
            continue;
        }
        let mut keep: Vec<bool> = parts(message).iter().map(stays).collect();
        if role(message) == "assistant" {
            drop_orphaned_reasoning(parts(message), &mut keep);
        }
        retain_parts(message, |index, _| keep[index]);
    }
}

/// A provider ties a run of thoughts to what follows them. Where all of that goes, the run goes too.
fn drop_orphaned_reasoning(parts: &[Json], keep: &mut [bool]) {
    let mut index = 0;
    while index < parts.len() {
        if !is_reasoning(&parts[index]) {
            index += 1;
            continue;
        }
        let length_while = |from: usize, wanted: bool| {
            parts[from..]
                .iter()
                .take_while(|part| is_reasoning(part) == wanted)
                .count()
        };
        let run_end = index + length_while(index, true);
        let end = run_end + length_while(run_end, false);
        if run_end < end && !keep[run_end..end].contains(&true) {
            keep[index..run_end].fill(false);
        }
        index = end;
    }
}

//! A tool's news in the shared shape.
//!
//! Grok says twice what a tool is (its raw name, then a readable title), shows a command's description where its output
//! will stand, and puts the output into `rawOutput`, in a shape for each tool, some of it as bytes, some of it for the
//! model alone. A tool that has gone to the background goes on printing after it has ended; such news carry no `_meta`.

use std::borrow::Cow;

use tapline_timeline::{Producer, RequestNews, ToolItem, ToolNews, ToolStatus};
use tapline_wire::{Permission, RawValue, Update, value};

use super::read::{text_or_bytes, without, words};
use super::{Grok, helpers, tasks};
use crate::dialect::{Around, Facts};

/// Where the text stands in each type of `rawOutput`; the first place that has any is taken. Such a result is all text.
const TEXTS: &[(&str, &[&[&str]])] = &[
    ("Bash", &[&["output"]]),
    ("GrepSearch", &[&["stdout"], &["stderr"]]),
    ("ListDir", &[&["Content", "content"]]),
    ("ReadFile", &[&["FileContent", "content"], &["FileNotFound"]]),
    (
        "SearchReplace",
        &[
            &["NoMatchesFound", "message"],
            &["EditsApplied", "tool_output_for_prompt_concise"],
        ],
    ),
    ("MCP", &[&["output", "OkayOutput"], &["output", "Error"]]),
    ("Text", &[&["text"]]),
    ("SearchTool", &[&["content"]]),
    (
        "AskUserQuestion",
        &[&["UserAnswered", "message"], &["UserDeclined", "message"]],
    ),
    ("KillTask", &[&["Result", "message"], &["TaskNotFound"]]),
    ("TaskOutput", &[&["TaskNotFound"]]),
    ("SubagentCompleted", &[&["output"]]),
];

/// Types that only say what other rows or the content say: a plan, a task, the mode and its rules.
const TOLD_ELSEWHERE: &[&str] = &[
    "Todo",
    "BackgroundTaskStarted",
    "Monitor",
    "EnterPlanMode",
    "ExitPlanMode",
];

/// Types that name the exit code of a process.
const WITH_EXIT_CODE: &[&str] = &["Bash", "GrepSearch"];

/// What stands around a search's output for the model alone.
const WRAPPER: (&str, &str) = ("<workspace_result", "</workspace_result>");

impl Grok {
    pub(super) fn read_tool<'a>(
        &mut self,
        around: Around<'_>,
        update: &Update<'a>,
        news: &mut ToolNews<'a>,
        facts: &mut Facts<'a>,
    ) {
        let fields = &update.fields;
        if let Some(name) = fields
            .meta
            .and_then(|m| value::path(m, &["x.ai/tool", "name"]))
            .and_then(value::text)
        {
            news.name = Some(name);
        }
        // Before a tool is known to exist, its raw name stands as its title.
        if news.announced && news.name.is_none() && news.kind.is_none() && news.status.is_none() {
            news.name.clone_from(&news.title);
        }
        let output = fields.raw_output.filter(|o| value::is_object(o));
        let has_ended = matches!(news.status, Some(ToolStatus::Completed | ToolStatus::Failed));
        // Output as it comes carries no mark at all, whoever's turn it is now.
        let is_unmarked = update.meta.is_none() && fields.meta.is_none();
        news.late = is_unmarked && !news.announced && news.status == Some(ToolStatus::Running);
        if news.announced {
            self.chats.call(news.call).session = around.session.into();
        }
        if let Some(input) = fields.raw_input {
            let name = news
                .name
                .as_deref()
                .or(news.title.as_deref())
                .filter(|_| news.announced);
            self.remember_input(news.call, name, input);
        }
        self.clean_content(news, has_ended, output);
        if let Some(output) = output {
            read_output(news, has_ended, output);
        }
        if let (Some(output), true) = (output, has_ended) {
            self.helper_from_tool(news.call, news.turn, news.status, output, facts);
        }
        if has_ended {
            self.tasks_from_tool(news.call, news.turn, news.status, output, facts);
        }
    }

    /// Takes out of a tool's content what is no output: its description, and words for the model.
    fn clean_content(&self, news: &mut ToolNews<'_>, has_ended: bool, output: Option<&RawValue>) {
        let Some(content) = &mut news.content else { return };
        let memo = self.chats.known_call(news.call);
        let description = memo.and_then(|m| m.description.as_deref());
        if !has_ended
            && let Some(ToolItem::Text { text }) = content.first()
            && description == Some(text.trim())
        {
            content.remove(0);
            if content.is_empty() {
                news.content = None;
                return;
            }
        }
        let starts_helpers = memo.is_some_and(|m| m.starts_helpers);
        let is_launch =
            output.is_none_or(|o| value::member_text(o, "type").as_deref() == Some("BackgroundTaskStarted"));
        for item in content.iter_mut() {
            let ToolItem::Text { text } = item else { continue };
            if starts_helpers {
                let cleaned = match helpers::acknowledged(text) {
                    Some(_) if !text.contains('<') => String::new(),
                    _ => helpers::reply(Cow::Borrowed(text)).into_owned(),
                };
                *text = cleaned;
            } else if is_launch && has_ended && tasks::is_start_note(text) {
                text.clear();
            }
        }
        content.retain(|item| !matches!(item, ToolItem::Text { text } if text.is_empty()));
    }

    /// A helper's permission comes with its parent's session id; the call says whose it is.
    pub(super) fn read_permission<'a>(
        &mut self,
        around: Around<'_>,
        permission: &Permission<'a>,
        news: &mut RequestNews<'a>,
    ) {
        let call: &str = &permission.tool_call_id;
        let Some(memo) = self.chats.known_call(call) else {
            return;
        };
        if let Some(ToolItem::Text { text }) = news.content.first()
            && memo.description.as_deref() == Some(text.trim())
        {
            news.content.remove(0);
        }
        if &*memo.session != around.session {
            let child = memo.session.clone();
            let label = self.chats.helper(&child).filter(|label| !label.is_empty());
            let agent = label.unwrap_or(&child).to_owned();
            news.producer = Some(Producer {
                agent,
                session: Some(child.into()),
            });
        }
    }
}

/// Reads `rawOutput` by its type. A type that nobody knows keeps the shared reading.
fn read_output(news: &mut ToolNews<'_>, has_ended: bool, output: &RawValue) {
    let Some(kind) = value::member_text(output, "type") else {
        if let Some(message) =
            words(output, &["message"]).filter(|_| value::member(output, "error").is_some())
        {
            (news.output, news.result) = (Some(Cow::Owned(message.into_owned())), None);
        }
        return;
    };
    news.exit_code = None;
    if !has_ended {
        // A part of the output, which stands in the content, and an exit code that means nothing yet.
        (news.output, news.result) = (None, None);
        return;
    }
    if WITH_EXIT_CODE.contains(&&*kind) {
        news.exit_code = value::member(output, "exit_code").and_then(value::i64);
    }
    if TOLD_ELSEWHERE.contains(&&*kind) {
        (news.output, news.result) = (None, None);
        return;
    }
    let Some((_, places)) = TEXTS.iter().find(|(name, _)| *name == kind) else {
        return;
    };
    let text = match &*kind {
        "TaskOutput" => reads(output).map(Cow::Owned),
        _ => None,
    };
    let text = text.or_else(|| places.iter().find_map(|place| text_at(output, place)));
    if let Some(text) = text {
        let text = match &*kind {
            "GrepSearch" => unwrapped(text),
            "SubagentCompleted" => helpers::reply(text),
            "Text" if helpers::acknowledged(&text).is_some() => Cow::Borrowed(""),
            _ => text,
        };
        let shown = !text.trim().is_empty() && !is_edit_note(&kind, news);
        news.output = shown.then(|| Cow::Owned(text.into_owned()));
        news.result = None;
    } else if kind == "SubagentCompleted" || kind == "Bash" {
        (news.output, news.result) = (None, None);
    }
}

/// Where an edit's diff stands, its sentence says nothing more.
fn is_edit_note(kind: &str, news: &ToolNews<'_>) -> bool {
    let has_diff = |items: &Vec<ToolItem>| items.iter().any(|i| matches!(i, ToolItem::Diff(_)));
    kind == "SearchReplace" && news.content.as_ref().is_some_and(has_diff)
}

fn text_at<'a>(output: &'a RawValue, place: &[&str]) -> Option<Cow<'a, str>> {
    value::path(output, place)
        .and_then(text_or_bytes)
        .filter(|text| !text.is_empty())
}

/// A search's output without its wrapper.
fn unwrapped(text: Cow<'_, str>) -> Cow<'_, str> {
    let text = without(text, WRAPPER.1, WRAPPER.1);
    let text = without(text, WRAPPER.0, ">");
    Cow::Owned(text.trim_matches('\n').to_owned())
}

/// What one read of outputs, or several, gave.
fn reads(output: &RawValue) -> Option<String> {
    let all = tasks::results(output);
    let one = |told: &RawValue| {
        words(told, &["output"]).map(|text| helpers::reply_in(tasks::output(text)).into_owned())
    };
    match all.as_slice() {
        [] => None,
        [told] => Some(one(told).unwrap_or_default()),
        many => {
            let text: Vec<String> = many
                .iter()
                .map(|told| {
                    let name = words(told, &["command", "task_id"]).unwrap_or_default();
                    let status = words(told, &["status"]).unwrap_or_default();
                    match one(told) {
                        Some(text) => format!("{name}: {status}\n{text}"),
                        None => format!("{name}: {status}"),
                    }
                })
                .collect();
            Some(text.join("\n"))
        }
    }
}

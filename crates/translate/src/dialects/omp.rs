//! OMP (oh-my-pi).
//!
//! A result is a list of text parts with `details`; it is told again as content, after an echo of the command. The text ends
//! with notices of the wall time and the exit code, which `details` hold too. A command that worked says no exit code: 0 is
//! read from a wall time without anything that speaks against it.

use std::borrow::Cow;

use tapline_timeline::{Measure, ToolItem, ToolNews};
use tapline_wire::{Update, value};

use super::table::{Counts, Memory, Table, text_at, worked};
use super::text;
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "omp",
    agent: "OMP",
    counts: Some(Counts {
        measure: Measure::Turn,
        input_holds_cached: Some(false),
        at: None,
    }),
    sign_in_words: &["No model selected.", "No API key found for "],
    permission_text: true,
    tool,
    ..Table::PLAIN
};

/// The command's echo, if the content begins with it.
fn echo(news: &ToolNews<'_>) -> Option<String> {
    match news.content.as_deref()?.first()? {
        ToolItem::Text { text } if text.starts_with("$ ") => Some(text.clone()),
        _ => None,
    }
}

fn tool<'a>(_: &mut Memory, update: &Update<'a>, news: &mut ToolNews<'a>, _: &mut Facts<'a>) {
    let echo = echo(news);
    let Some(raw) = update.fields.raw_output else {
        if echo.is_some() && news.content.as_ref().is_some_and(|c| c.len() == 1) {
            // The title says the command already.
            news.content = Some(Vec::new());
        }
        return;
    };
    let has_shared = |name: &&str| value::member(raw, name).is_some();
    if ["stdout", "stderr", "exitCode", "exit_code"]
        .iter()
        .any(has_shared)
    {
        return;
    }
    let details = value::member(raw, "details");
    let detail = |name: &str| {
        let found = details.and_then(|d| value::member(d, name));
        found.filter(|v| !value::is_null(v) && value::bool(v) != Some(false))
    };
    let Some(said) = text_at(raw, &[&["content"]]) else {
        return;
    };
    if detail("signal").is_some() || echo.as_deref() == Some(&*said) {
        return;
    }
    let exit_code = detail("exitCode").and_then(value::i64);
    let plain_end = worked(news)
        && detail("wallTimeMs").is_some()
        && ["timedOut", "async", "service"]
            .iter()
            .all(|n| detail(n).is_none());
    news.exit_code = exit_code.or(plain_end.then_some(0));
    let timed = detail("wallTimeMs").is_some();
    let output = without_notices(&said, exit_code, timed);
    news.result = None;
    let Some(content) = &mut news.content else {
        news.output = Some(Cow::Owned(output.to_owned()));
        return;
    };
    if echo.is_some() {
        content.retain(|item| !matches!(item, ToolItem::Text { .. }));
        news.output = Some(Cow::Owned(output.to_owned()));
    } else {
        news.output = None;
    }
}

/// The text without the notices at its end.
fn without_notices(said: &str, exit_code: Option<i64>, timed: bool) -> &str {
    let mut left = said;
    if let Some(code) = exit_code
        && let Some((rest, said)) = text::last_line_number(left, "Command exited with code ", "")
        && said == code
    {
        left = rest;
    }
    if timed
        && let Some(at) = left.trim_end().rfind("Wall time: ")
        && (at == 0 || left[..at].ends_with('\n'))
        && left[at..].trim_end().ends_with(" seconds")
        && !left[at..].trim_end().contains('\n')
    {
        left = left[..at].trim_end();
    }
    left
}

//! Cline.
//!
//! A title is the tool's name, a colon and its arguments, cut; a result is one object (or a list of them) with `query`,
//! `result`, `error` and `success`, or an error as JSON text. A command's result begins with its exit code.

use std::borrow::Cow;

use tapline_timeline::{RequestNews, ToolNews};
use tapline_wire::{Permission, RawValue, Update, value};

use super::table::{Memory, NameAt, Table};
use super::text;
use crate::dialect::Facts;

/// The tool that runs commands.
const COMMANDS: &str = "run_commands";

pub(super) static TABLE: Table = Table {
    name: "cline",
    agent: "Cline",
    tool_name: NameAt::BeforeInTitle(": "),
    sign_in_words: &["Authentication required", "Not authenticated"],
    tool,
    permission,
    ..Table::PLAIN
};

fn permission<'a>(permission: &Permission<'a>, news: &mut RequestNews<'a>) {
    if let Some(title) = news
        .title
        .as_deref()
        .and_then(|t| title(t, permission.tool.raw_input))
    {
        news.title = Some(Cow::Owned(title));
    }
}

fn tool<'a>(memory: &mut Memory, update: &Update<'a>, news: &mut ToolNews<'a>, _: &mut Facts<'a>) {
    if let Some(title) = news
        .title
        .as_deref()
        .and_then(|t| title(t, update.fields.raw_input))
    {
        news.title = Some(Cow::Owned(title));
    }
    if let Some(name) = &news.name {
        memory.note(news.call, name);
    }
    let Some(raw) = update.fields.raw_output else {
        return;
    };
    let mut told = Vec::new();
    if value::is_array(raw) {
        told.extend(value::array(raw).filter_map(|item| result(item, &mut news.exit_code)));
    } else if value::is_object(raw) {
        told.extend(result(raw, &mut news.exit_code));
    } else if let Some(words) = value::text(raw).and_then(|t| text::words_in_json(&t)) {
        told.push(words);
    } else {
        return;
    }
    if memory.about(news.call) == Some(COMMANDS) && news.exit_code.is_none() && all_worked(raw) {
        news.exit_code = Some(0);
    }
    if !told.is_empty() || news.content.is_some() {
        news.result = None;
    }
    news.output = (!told.is_empty()).then(|| Cow::Owned(told.join("\n")));
}

/// Cut JSON is no title: what the call is about stands in its input.
fn title(title: &str, input: Option<&RawValue>) -> Option<String> {
    let name = text::name_before_json(title)?;
    let files = input.and_then(|i| value::member(i, "files"));
    let files = files.into_iter().flat_map(value::array);
    let paths: Vec<Cow<'_, str>> = files.filter_map(|f| value::member_text(f, "path")).collect();
    Some(match paths.is_empty() {
        true => name.to_owned(),
        false => format!("{name}: {}", paths.join(", ")),
    })
}

/// Whether each command says that it worked: it says its exit code only where it did not.
fn all_worked(raw: &RawValue) -> bool {
    let mut results = value::array(raw).peekable();
    results.peek().is_some()
        && results.all(|item| value::member(item, "success").and_then(value::bool) == Some(true))
}

fn result(item: &RawValue, exit_code: &mut Option<i64>) -> Option<String> {
    let text = |name| value::member_text(item, name).filter(|t| !t.trim().is_empty());
    let (result, error) = (text("result"), text("error"));
    if let Some(error) = &error
        && let Some((_, code)) = text::last_line_number(error, "Command exited with code ", "")
    {
        *exit_code = Some(code);
    }
    let result =
        result.map(
            |result| match text::first_line_number(&result, "[Command exited with code ", "]") {
                Some((rest, code)) => {
                    *exit_code = Some(code);
                    rest.to_owned()
                }
                None => result.into_owned(),
            },
        );
    result.or_else(|| error.map(Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_gives_its_words_and_the_exit_code() {
        let read = |json: &str| {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            let mut code = None;
            (result(raw, &mut code), code)
        };
        assert_eq!(
            read(r#"{"result":"[Command exited with code 3]\nout\n","error":"Command exited with code 3"}"#),
            (Some("out\n".to_owned()), Some(3))
        );
        assert_eq!(
            read(r#"{"result":"","error":"no such file"}"#),
            (Some("no such file".to_owned()), None)
        );
        assert_eq!(read(r#"{"success":true}"#), (None, None));
    }
}

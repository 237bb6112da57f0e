//! Deep Agents, through `deepagents-acp`.
//!
//! Permissions come under ids made up for them, with the tool's own title or input. A command's result is Markdown: the
//! command, its output and a status with the exit code, of which the output and the code are kept.

use tapline_timeline::{ToolItem, ToolNews};
use tapline_wire::Update;

use super::table::{Memory, NameAt, Table};
use super::text;
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "deepagents",
    agent: "Deep Agents",
    tool_name: NameAt::Title { commands: false },
    made_up_calls: true,
    model_only: &["Updated todo list to ["],
    tool,
    ..Table::PLAIN
};

fn tool<'a>(_: &mut Memory, _: &Update<'a>, news: &mut ToolNews<'a>, _: &mut Facts<'a>) {
    let Some([ToolItem::Text { text }]) = news.content.as_deref_mut() else {
        return;
    };
    if !text.starts_with("**Command:**\n") {
        return;
    }
    let Some((_, rest)) = text.split_once("\n\n**Output:**\n") else {
        return;
    };
    let (output, status) = match rest.rsplit_once("\n\n**Status:** ") {
        Some((output, status)) => (output, Some(status)),
        None => (rest, None),
    };
    let code = status.and_then(|s| s.rsplit_once(" with exit code ")?.1.trim().parse().ok());
    news.exit_code = news.exit_code.or(code);
    let output = text::unfenced(output).unwrap_or_else(|| output.to_owned());
    *text = match text::last_line_number(&output, "Exit code: ", "") {
        Some((rest, _)) => rest.to_owned(),
        None => output,
    };
}

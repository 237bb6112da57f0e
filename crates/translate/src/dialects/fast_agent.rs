//! fast-agent.
//!
//! Tools are announced by their name; a command's output ends with a notice of its exit code. Its failures are refusals with
//! the words as a message, which is what it says, so nothing else is made of them.

use tapline_timeline::{ToolItem, ToolNews};
use tapline_wire::Update;

use super::table::{Memory, NameAt, Table};
use super::text;
use crate::dialect::Facts;

pub(super) static TABLE: Table = Table {
    name: "fast-agent",
    agent: "fast-agent",
    tool_name: NameAt::Title { commands: true },
    content_retells_output: true,
    tool,
    ..Table::PLAIN
};

fn tool<'a>(_: &mut Memory, _: &Update<'a>, news: &mut ToolNews<'a>, _: &mut Facts<'a>) {
    let Some(content) = &mut news.content else { return };
    for item in content {
        if let ToolItem::Text { text } = item
            && let Some((rest, code)) = text::last_line_number(text, "[Exit code: ", "]")
        {
            news.exit_code = Some(code);
            *text = rest.to_owned();
        }
    }
}

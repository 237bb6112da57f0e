//! Tool calls: one row each, upserted from announcement, update or both, in any order.

mod known;
mod one;

use std::sync::Arc;

use super::placing::{Opens, Place};
use super::terminals::note_left_out;
use super::{Assembler, Cuts, Cx, label, revise};
use crate::change::Change;
use crate::content::ToolItem;
use crate::event::{RequestNews, ToolNews, ToolStatus};
use crate::id::{Key, RowId};
use crate::limits;
use crate::row::{Body, Row, Tool};
use crate::word::*;

pub(super) use self::known::Tools;
pub(super) use self::one::{authorization_of, bound_items};
use self::one::{
    blank_tool, bound_tool, leave_out_repeated_output, settle_effects, state_after, state_around, take_over,
};

impl Assembler {
    pub(super) fn tool(&mut self, cx: &mut Cx<'_>, news: ToolNews<'_>) {
        if let Some(row) = self.find_tool(cx, news.call) {
            if news.late && matches!(&row.body, Body::Tool(tool) if tool.state.is_final()) {
                cx.drop("output-after-the-end");
                return;
            }
            if !self.starts_anew(cx, &news, &row) {
                return self.revise_tool(cx, row, news);
            }
        } else if news.late {
            cx.drop("late-output-of-an-unknown-tool");
            return;
        }
        self.new_tool(cx, news);
    }

    /// Only an announcement, for a tool that has ended in an earlier turn, starts a new tool under the same id.
    fn starts_anew(&mut self, cx: &mut Cx<'_>, news: &ToolNews<'_>, row: &Row) -> bool {
        let Body::Tool(tool) = &row.body else { return false };
        if !news.announced || tool.state.is_open() {
            return false;
        }
        match self.place(cx, news.turn, Opens::Nothing) {
            place @ Place::Open(_) => self.turn_id(place) != row.turn,
            Place::Ended(_) => false,
            // A queued prompt whose turn this would open.
            Place::Nowhere => news.turn.is_none() && self.prompts.iter().any(|p| !p.over),
        }
    }

    /// The row of a call, if there is one.
    pub(super) fn find_tool(&mut self, cx: &Cx<'_>, call: &str) -> Option<Arc<Row>> {
        if let Some(known) = self.tools.get(call) {
            return known.row.clone().or_else(|| cx.host.row(&known.id));
        }
        let (row, _) = self.newest(cx, &Key::new("c").part(call))?;
        matches!(row.body, Body::Tool(_)).then_some(row)
    }

    fn new_tool(&mut self, cx: &mut Cx<'_>, mut news: ToolNews<'_>) {
        let parent = news.parent.and_then(|call| self.find_tool(cx, call));
        let opens = if parent.is_some() {
            Opens::Queued
        } else {
            Opens::Any
        };
        let place = self.place(cx, news.turn, opens);
        let serial = match place {
            Place::Open(index) => {
                self.turns[index].seen = true;
                self.end_current(cx, index);
                self.turns[index].serial
            }
            Place::Ended(index) => self.ended[index].serial,
            Place::Nowhere => 0,
        };
        let turn = self
            .turn_id(place)
            .or_else(|| parent.as_ref().and_then(|p| p.turn.clone()));
        // A turn that is over has settled its tools already: a tool that begins in it cannot wait for its end.
        let settled_with = match place {
            Place::Ended(index) => match &self.ended[index].row.body {
                Body::Turn(turn) => turn.end,
                _ => None,
            },
            Place::Open(_) | Place::Nowhere => None,
        };
        let asked = self.requests.take_asked(news.call);
        let mut tool = Tool {
            call: label(news.call),
            state: if news.announced || news.status == Some(ToolStatus::Pending) {
                ToolState::Pending
            } else {
                ToolState::Running
            },
            ..blank_tool()
        };
        let request = asked.map(|asked| take_over(&mut tool, asked));
        let key = Key::new("c").part(news.call);
        let id = self.fresh(cx, &key);
        let parent = parent.map(|p| p.id.clone());
        let mut row = self.new_row(cx, id.clone(), turn, parent, Body::Tool(Box::new(tool)));
        row.producer = news.producer.take();
        row.extra = std::mem::take(&mut news.extra);
        self.apply_news(cx, &mut row, news, true);
        let row = Arc::new(row);
        cx.host.change(Change::Put(&row));
        if let Some(request) = request {
            self.tie_request(cx, &request, &id);
        }
        let call: Box<str> = match &row.body {
            Body::Tool(tool) => tool.call.as_str().into(),
            _ => return,
        };
        self.keep_tool(cx, row, serial);
        if let Some(end) = settled_with
            && self.tools.get(&call).is_some_and(|k| k.open)
        {
            self.settle_tool(cx, &call, state_around(end));
        }
    }

    fn revise_tool(&mut self, cx: &mut Cx<'_>, row: Arc<Row>, mut news: ToolNews<'_>) {
        let parent = match (&row.parent, news.parent) {
            (None, Some(call)) => self.find_tool(cx, call).map(|p| p.id.clone()),
            _ => None,
        };
        let serial = self.serial_of_tool(news.call, &row);
        if let Some(index) = self.open_at(serial) {
            self.turns[index].seen = true;
        }
        let mut changed = Row::clone(&row);
        for (key, value) in std::mem::take(&mut news.extra) {
            changed.extra.insert(key, value);
        }
        if parent.is_some() {
            changed.parent = parent;
        }
        self.apply_news(cx, &mut changed, news, false);
        if changed == *row {
            cx.host.state("tool-unchanged");
            return self.keep_tool(cx, row, serial);
        }
        drop(row);
        changed.revision += 1;
        changed.frames[1] = changed.frames[1].max(cx.frame);
        let row = Arc::new(changed);
        cx.host.change(Change::Put(&row));
        self.keep_tool(cx, row, serial);
    }

    /// Serial of the turn with this row id, if it is remembered.
    pub(super) fn serial_of(&self, turn: Option<&RowId>) -> u64 {
        let Some(id) = turn else { return 0 };
        let open = self.turns.iter().find(|t| t.row.id == *id).map(|t| t.serial);
        open.or_else(|| self.ended.iter().find(|t| t.row.id == *id).map(|t| t.serial))
            .unwrap_or(0)
    }

    fn serial_of_tool(&self, call: &str, row: &Row) -> u64 {
        let known = self.tools.get(call).map(|known| known.turn);
        known.unwrap_or_else(|| self.serial_of(row.turn.as_ref()))
    }

    /// Lets go of the tool's row that is about to change, so that `row` is the only copy. Gives the serial of its turn, with
    /// which it is kept again.
    pub(super) fn take_tool(&mut self, call: &str, row: &Row) -> u64 {
        let serial = self.serial_of_tool(call, row);
        self.tools.take_row(call);
        serial
    }

    /// Keeps a tool at hand, within the bounds.
    pub(super) fn keep_tool(&mut self, cx: &mut Cx<'_>, row: Arc<Row>, turn: u64) {
        self.tools.keep(row, turn);
        self.tools.forget_ended();
        self.tools.let_rows_go();
        if let Some(call) = self.tools.one_too_many() {
            self.counters.tools_let_go += 1;
            self.settle_tool(cx, &call, ToolState::Unknown);
            self.tools.forget(&call);
        }
    }

    fn settle_tool(&mut self, cx: &mut Cx<'_>, call: &str, state: ToolState) {
        let Some(known) = self.tools.get(call) else { return };
        let (id, turn) = (known.id.clone(), known.turn);
        self.tools.close(call);
        let Some(mut row) = self.tools.take_row(call).or_else(|| cx.host.row(&id)) else {
            return;
        };
        let at = cx.at;
        revise(cx, &mut row, |row| {
            row.ended_at = at;
            if let Body::Tool(tool) = &mut row.body {
                tool.state = if tool.authorization == Authorization::AskedRejected {
                    ToolState::Rejected
                } else {
                    state
                };
                settle_effects(tool);
            }
        });
        self.tools.keep(row, turn);
    }

    /// The turn ends around the tools that still run in it.
    pub(super) fn settle_tools(&mut self, cx: &mut Cx<'_>, serial: u64, end: End) {
        let state = state_around(end);
        for call in self.tools.open_calls(|known| known.turn == serial) {
            self.settle_tool(cx, &call, state);
        }
    }

    pub(super) fn settle_all_tools(&mut self, cx: &mut Cx<'_>) {
        for call in self.tools.open_calls(|_| true) {
            self.settle_tool(cx, &call, ToolState::Interrupted);
        }
    }

    /// The rows of the tools that run.
    pub(super) fn open_tools(&self, cx: &Cx<'_>) -> Vec<Arc<Row>> {
        let open = self.tools.values().filter(|known| known.open);
        open.filter_map(|known| known.row.clone().or_else(|| cx.host.row(&known.id)))
            .collect()
    }

    /// Merges news into a tool's row: the second table of the module's head.
    fn apply_news(&mut self, cx: &mut Cx<'_>, row: &mut Row, news: ToolNews<'_>, is_first: bool) {
        for (member, bytes) in &news.cut {
            row.cut(member, *bytes);
        }
        let Body::Tool(tool) = &mut row.body else { return };
        let mut tool = std::mem::replace(tool, Box::new(blank_tool()));
        let settled = tool.state.is_final();
        let mut cuts = Cuts::default();
        if tool.name.is_none() {
            tool.name = news.name.as_deref().map(label);
        }
        if let Some(title) = news.title {
            tool.title = Some(label(&title));
        }
        if let Some(kind) = news.kind {
            tool.tool_kind = Some(label(&kind));
        }
        if let Some(input) = news.input
            && (!settled || tool.input.is_none())
        {
            tool.input = Some(input);
        }
        if let Some(content) = news.content
            && (!settled || tool.content.is_empty())
        {
            self.replace_content(row, &mut tool, content);
        }
        if let Some(output) = news.output
            && (!settled || tool.output.is_none())
        {
            tool.output = Some(output.into_owned());
        }
        if let Some(result) = news.result
            && (!settled || tool.result.is_none())
        {
            tool.result = Some(result);
        }
        tool.exit_code = match settled {
            true => tool.exit_code.or(news.exit_code),
            false => news.exit_code.or(tool.exit_code),
        };
        if let Some(locations) = news.locations
            && (!settled || tool.locations.is_empty())
        {
            tool.locations = locations;
            cuts.items("locations", &mut tool.locations);
        }
        cuts.note(row);
        bound_tool(cx, row, &mut tool);
        leave_out_repeated_output(&mut tool);
        let state = state_after(
            tool.state,
            news.status,
            news.announced && !is_first,
            tool.authorization,
        );
        if state != tool.state {
            tool.state = state;
            row.ended_at = if state.is_open() { None } else { cx.at };
        }
        settle_effects(&mut tool);
        row.body = Body::Tool(tool);
    }

    /// New content replaces the old, but a diff is never taken from the record, nor what a terminal printed.
    fn replace_content(&mut self, row: &mut Row, tool: &mut Tool, mut content: Vec<ToolItem>) {
        let mut cuts = Cuts::default();
        cuts.items("content", &mut content);
        cuts.note(row);
        let old = std::mem::take(&mut tool.content);
        for (at, item) in content.iter_mut().enumerate() {
            if let ToolItem::Terminal(terminal) = item {
                let left_out = self.fill_terminal(&tool.call, terminal, &old);
                note_left_out(row, at, terminal, left_out);
            }
        }
        let has_diff = content.iter().any(|i| matches!(i, ToolItem::Diff(_)));
        let has_terminal = content.iter().any(|i| matches!(i, ToolItem::Terminal(_)));
        for item in old {
            match &item {
                ToolItem::Diff(_) if !has_diff => content.push(item),
                ToolItem::Terminal(t) if !has_terminal && !t.output.is_empty() => content.push(item),
                _ => {}
            }
        }
        tool.content = content;
    }

    /// A permission shows what its tool will do; what the tool itself has not said yet is taken from there. So a change
    /// that only the permission showed stands on the tool, and reads as discarded when it is refused.
    pub(super) fn show_asked(&mut self, cx: &mut Cx<'_>, mut row: Arc<Row>, asked: &RequestNews<'_>) {
        let Body::Tool(tool) = &row.body else { return };
        if asked.ask != Ask::Permission || !tool.state.is_open() {
            return;
        }
        let is_diff = |item: &&ToolItem| matches!(item, ToolItem::Diff(_));
        let takes_diffs =
            !tool.content.iter().any(|i| is_diff(&i)) && asked.content.iter().any(|i| is_diff(&i));
        let takes_input = tool.input.is_none() && asked.input.is_some();
        let takes_places = tool.locations.is_empty() && !asked.locations.is_empty();
        if !takes_diffs && !takes_input && !takes_places {
            return;
        }
        let call = tool.call.clone();
        let serial = self.take_tool(&call, &row);
        let frame = cx.frame;
        let inner = Arc::make_mut(&mut row);
        let Body::Tool(tool) = &mut inner.body else { return };
        let mut tool = std::mem::replace(tool, Box::new(blank_tool()));
        if takes_input {
            tool.input.clone_from(&asked.input);
        }
        if takes_diffs {
            let room = limits::ITEMS.saturating_sub(tool.content.len());
            let diffs = asked.content.iter().filter(is_diff).take(room);
            tool.content.extend(diffs.cloned());
        }
        if takes_places {
            tool.locations.clone_from(&asked.locations);
            tool.locations.truncate(limits::ITEMS);
        }
        bound_tool(cx, inner, &mut tool);
        settle_effects(&mut tool);
        inner.body = Body::Tool(tool);
        inner.revision += 1;
        inner.frames[1] = inner.frames[1].max(frame);
        cx.host.change(Change::Put(&row));
        self.keep_tool(cx, row, serial);
    }

    /// A permission for a tool was settled.
    pub(super) fn authorize(&mut self, cx: &mut Cx<'_>, call: &str, authorization: Authorization) {
        let Some(mut row) = self.find_tool(cx, call) else {
            return;
        };
        let serial = self.take_tool(call, &row);
        revise(cx, &mut row, |row| {
            if let Body::Tool(tool) = &mut row.body {
                tool.authorization = authorization;
                if authorization == Authorization::AskedRejected && tool.state == ToolState::Failed {
                    tool.state = ToolState::Rejected;
                }
                settle_effects(tool);
            }
        });
        self.keep_tool(cx, row, serial);
    }
}

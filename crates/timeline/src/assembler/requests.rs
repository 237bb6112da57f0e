//! What the agent asks a person: permissions, questions, plans. Asked once, answered once.
//!
//! A request is found by its own id, never by kind or order. Ids restart with each connection and may be used again
//! once answered, so a row's id holds the connection, and the next row under the same id its number.

use std::sync::Arc;

use indexmap::IndexMap;

use super::placing::{Opens, Place};
use super::tools::{authorization_of, bound_items};
use super::{Assembler, Cuts, Cx, bound, label, revise};
use crate::content::ToolItem;
use crate::event::RequestNews;
use crate::id::{Key, RowId};
use crate::json::Json;
use crate::limits;
use crate::row::{Answer, Body, Location, Request, Row, Tool};
use crate::weight;
use crate::word::*;

#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Those that wait, by the agent's id.
    open: IndexMap<Box<str>, OpenRequest>,
    /// What was asked about tools that nobody has announced, by call.
    asked: IndexMap<Box<str>, Asked>,
}

#[derive(Debug)]
struct OpenRequest {
    row: Arc<Row>,
    call: Option<Box<str>>,
    /// Serial of its turn.
    turn: u64,
}

/// What a permission showed of a tool that nobody has announced.
#[derive(Debug)]
pub(super) struct Asked {
    pub request: RowId,
    pub title: Option<String>,
    pub kind: Option<String>,
    pub input: Option<Json>,
    pub content: Vec<ToolItem>,
    pub locations: Vec<Location>,
    pub outcome: Option<Outcome>,
}

impl Asked {
    fn weight(&self) -> usize {
        weight::items(&self.content) + weight::json(self.input.as_ref())
    }
}

impl Requests {
    /// Keeps what a permission showed; what the oldest hold beyond the bound is let go.
    fn keep_asked(&mut self, call: &str, asked: Asked) {
        if self.asked.len() >= limits::UNANNOUNCED {
            self.asked.shift_remove_index(0);
        }
        self.asked.insert(call.into(), asked);
        let mut bytes: usize = self.asked.values().map(Asked::weight).sum();
        for asked in self.asked.values_mut() {
            if bytes <= limits::UNANNOUNCED_BYTES {
                break;
            }
            bytes -= asked.weight();
            (asked.input, asked.content) = (None, Vec::new());
        }
    }

    pub(super) fn take_asked(&mut self, call: &str) -> Option<Asked> {
        self.asked.shift_remove(call)
    }
}

impl Assembler {
    pub(super) fn request(&mut self, cx: &mut Cx<'_>, news: RequestNews<'_>) {
        if self.requests.open.contains_key(news.key) {
            cx.drop("request-duplicate");
            return;
        }
        let tool = match news.call {
            Some(call) => self.find_tool(cx, call),
            None if news.ask == Ask::Permission => self.tool_like(cx, &news),
            None => None,
        };
        if let Some(tool) = &tool {
            self.show_asked(cx, tool.clone(), &news);
        }
        let (turn, serial) = match &tool {
            // A request about a tool belongs where the tool is.
            Some(tool) => (tool.turn.clone(), self.serial_of(tool.turn.as_ref())),
            None => {
                let place = self.place(cx, news.turn, Opens::Queued);
                let serial = match place {
                    Place::Open(index) => self.turns[index].serial,
                    Place::Ended(index) => self.ended[index].serial,
                    Place::Nowhere => 0,
                };
                (self.turn_id(place), serial)
            }
        };
        if let Some(index) = self.open_at(serial) {
            self.turns[index].seen = true;
            self.end_current(cx, index);
        }
        let title = news.title.as_deref().map(label);
        let mut content = news.content;
        let mut cuts = Cuts::default();
        cuts.items("content", &mut content);
        if let (None, Some(call)) = (&tool, news.call) {
            let asked = Asked {
                request: self.fresh(cx, &request_key(cx, news.key)),
                title: title.clone(),
                kind: news.tool_kind.as_deref().map(label),
                input: news.input.clone(),
                content: content.clone(),
                locations: news.locations,
                outcome: None,
            };
            self.requests.keep_asked(call, asked);
        }
        let call = match (&tool, news.call) {
            (_, Some(call)) => Some(call.into()),
            (Some(row), None) => call_of(row),
            (None, None) => None,
        };
        let request = Request {
            ask: news.ask,
            title,
            text: news.text.map(|t| cuts.text("text", &t, limits::VALUE_BYTES)),
            tool: tool.map(|t| t.id.clone()),
            input: news.input,
            content,
            options: news.options,
            questions: news.questions,
            state: RequestState::Pending,
            outcome: None,
            answer: None,
        };
        let id = self.fresh(cx, &request_key(cx, news.key));
        let mut row = self.new_row(cx, id, turn, None, Body::Request(Box::new(request)));
        row.producer = news.producer;
        cuts.note(&mut row);
        bound_request(cx, &mut row);
        let row = Arc::new(row);
        cx.host.change(crate::change::Change::Put(&row));
        let open = OpenRequest {
            row,
            call,
            turn: serial,
        };
        self.requests.open.insert(news.key.into(), open);
        if self.requests.open.len() > limits::OPEN_REQUESTS
            && let Some((_, oldest)) = self.requests.open.shift_remove_index(0)
        {
            self.counters.requests_let_go += 1;
            self.settle_request(cx, oldest, Outcome::Cancelled, None);
        }
    }

    pub(super) fn settled(&mut self, cx: &mut Cx<'_>, key: &str, outcome: Outcome, answer: Option<Answer>) {
        match self.requests.open.shift_remove(key) {
            Some(open) => self.settle_request(cx, open, outcome, answer),
            None if self.newest(cx, &request_key(cx, key)).is_some() => cx.drop("request-settled"),
            None => cx.drop("request-unknown"),
        }
    }

    fn settle_request(
        &mut self,
        cx: &mut Cx<'_>,
        mut open: OpenRequest,
        outcome: Outcome,
        answer: Option<Answer>,
    ) {
        let at = cx.at;
        revise(cx, &mut open.row, |row| {
            row.ended_at = at;
            if let Body::Request(request) = &mut row.body {
                request.state = RequestState::Settled;
                request.outcome = Some(outcome);
                request.answer = answer;
                if matches!(outcome, Outcome::Rejected | Outcome::Cancelled) {
                    discard(&mut request.content);
                }
            }
        });
        let Body::Request(request) = &open.row.body else {
            return;
        };
        let Some(call) = open.call.filter(|_| request.ask == Ask::Permission) else {
            return;
        };
        match self
            .requests
            .asked
            .get_mut(&call)
            .filter(|asked| asked.request == open.row.id)
        {
            Some(asked) => asked.outcome = Some(outcome),
            None => self.authorize(cx, &call, authorization_of(outcome)),
        }
    }

    /// The one open tool that is called with what the request shows, else the one with its title.
    fn tool_like(&mut self, cx: &Cx<'_>, news: &RequestNews<'_>) -> Option<Arc<Row>> {
        let open = self.open_tools(cx);
        let only = |is: &dyn Fn(&Tool) -> bool| {
            let mut like = open.iter().filter(|row| match &row.body {
                Body::Tool(tool) => is(tool),
                _ => false,
            });
            let first = like.next()?;
            like.next().is_none().then(|| first.clone())
        };
        let title = news.title.as_deref();
        only(&|tool| news.input.is_some() && tool.input == news.input)
            .or_else(|| only(&|tool| title.is_some() && tool.title.as_deref() == title))
    }

    /// The tool that a request was about has its row now.
    pub(super) fn tie_request(&mut self, cx: &mut Cx<'_>, request: &RowId, tool: &RowId) {
        let open = self
            .requests
            .open
            .values_mut()
            .find(|open| open.row.id == *request);
        let tie = |row: &mut Row| {
            if let Body::Request(request) = &mut row.body {
                request.tool = Some(tool.clone());
            }
        };
        match open {
            Some(open) => revise(cx, &mut open.row, tie),
            None => {
                if let Some(mut row) = cx.host.row(request) {
                    revise(cx, &mut row, tie);
                }
            }
        }
    }

    /// Nobody needs to decide any more what the turn asked.
    pub(super) fn cancel_requests(&mut self, cx: &mut Cx<'_>, serial: u64) {
        while let Some(at) = self.requests.open.values().position(|open| open.turn == serial) {
            if let Some((_, open)) = self.requests.open.shift_remove_index(at) {
                self.settle_request(cx, open, Outcome::Cancelled, None);
            }
        }
    }

    pub(super) fn cancel_all_requests(&mut self, cx: &mut Cx<'_>) {
        while let Some((_, open)) = self.requests.open.shift_remove_index(0) {
            self.settle_request(cx, open, Outcome::Cancelled, None);
        }
        self.requests.asked.clear();
    }
}

/// The agent's id of a tool's call.
fn call_of(row: &Row) -> Option<Box<str>> {
    match &row.body {
        Body::Tool(tool) => Some(tool.call.as_str().into()),
        _ => None,
    }
}

/// What was shown before a refusal takes no effect.
fn discard(content: &mut [ToolItem]) {
    for item in content {
        if let ToolItem::Diff(diff) = item {
            diff.effect = Effect::Discarded;
        }
    }
}

fn request_key(cx: &Cx<'_>, key: &str) -> Key {
    Key::new("q").part(cx.connection).part(key)
}

fn bound_request(cx: &mut Cx<'_>, row: &mut Row) {
    let Body::Request(request) = &mut row.body else {
        return;
    };
    let mut content = std::mem::take(&mut request.content);
    let too_long = request
        .input
        .as_ref()
        .is_some_and(|i| i.as_str().len() > limits::VALUE_BYTES);
    let input = if too_long { request.input.take() } else { None };
    bound_items(cx, row, &mut content);
    let input = input.map(|input| {
        let mut text = input.as_str().to_owned();
        bound(cx, row, "input", &mut text, limits::VALUE_BYTES);
        Json::string(&text)
    });
    if let Body::Request(request) = &mut row.body {
        request.content = content;
        if input.is_some() {
            request.input = input;
        }
    }
}

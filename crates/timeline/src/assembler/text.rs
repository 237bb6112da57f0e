//! Messages: pieces of text put together, whole, once, and under the right turn.
//!
//! This is the hot path. A piece that continues the message just streamed costs a look at the turn's `current` message
//! and one append; nothing is copied but, for a message without an id, its first bytes (to know a block that restates
//! it).

use super::placing::{Opens, Place};
use super::{Assembler, Cx, revise};
use crate::change::{Append, Change, Close, Grows};
use crate::content::{Content, Part};
use crate::event::{Channel, Text};
use crate::id::{Key, RowId};
use crate::limits;
use crate::row::{Body, Message};
use crate::word::TextState;

/// Number of a text that is remembered; never used again.
pub(super) type TextKey = u64;

/// Texts that may go on.
#[derive(Debug, Default)]
pub(super) struct Texts {
    list: Vec<OpenText>,
    next: TextKey,
}

#[derive(Debug)]
struct OpenText {
    key: TextKey,
    /// Serial of its turn.
    turn: u64,
    channel: Channel,
    message: Option<Box<str>>,
    mark: Option<Box<str>>,
    row: Option<TextRow>,
    /// What came before its first text that is not blank.
    blank: String,
    /// The text so far of a message without an id, to know a block that restates it.
    said: Option<String>,
    closed: bool,
    superseded: bool,
}

#[derive(Debug)]
struct TextRow {
    id: RowId,
    seq: u64,
    revision: u64,
    len: usize,
    /// Bytes that came after the message was full.
    left_out: u64,
}

impl Texts {
    fn position(&self, key: TextKey) -> Option<usize> {
        self.list.iter().rposition(|t| t.key == key)
    }

    fn named(&self, channel: Channel, message: &str) -> Option<usize> {
        self.list
            .iter()
            .rposition(|t| t.channel == channel && t.message.as_deref() == Some(message))
    }

    fn add(&mut self, text: OpenText) -> usize {
        if self.list.len() >= limits::OPEN_TEXTS {
            let at = self.list.iter().position(|t| t.closed).unwrap_or(0);
            self.list.remove(at);
        }
        self.list.push(text);
        self.list.len() - 1
    }
}

impl Assembler {
    pub(super) fn text(&mut self, cx: &mut Cx<'_>, piece: Text<'_>) {
        if piece.text.is_empty() {
            cx.drop("empty-chunk");
            return;
        }
        match self.find_text(
            cx,
            piece.turn,
            piece.channel,
            piece.message,
            piece.mark,
            Some(piece.text),
        ) {
            Found::Text(at) => self.append(cx, at, piece.text),
            Found::Dropped(reason) => cx.drop(reason),
        }
    }

    pub(super) fn media(
        &mut self,
        cx: &mut Cx<'_>,
        turn: Option<&str>,
        channel: Channel,
        message: Option<&str>,
        part: Part,
    ) {
        if let Part::Text { text } = &part {
            return self.text(
                cx,
                Text {
                    turn,
                    channel,
                    message,
                    mark: None,
                    text,
                },
            );
        }
        match self.find_text(cx, turn, channel, message, None, None) {
            Found::Dropped(reason) => cx.drop(reason),
            Found::Text(at) => {
                // A part that is no text is rare: the row is asked for, changed and put back whole.
                self.show(cx, at);
                let Some(row) = &mut self.texts.list[at].row else {
                    return;
                };
                let Some(mut whole) = cx.host.row(&row.id) else {
                    return;
                };
                revise(cx, &mut whole, |row| {
                    if let Body::Assistant(message) | Body::Reasoning(message) = &mut row.body {
                        message.content.push(part);
                    }
                });
                row.revision = whole.revision;
            }
        }
    }

    /// The message that is said in a turn is whole.
    pub(super) fn message_ends(&mut self, cx: &mut Cx<'_>, turn: Option<&str>) {
        if let Place::Open(index) = self.place(cx, turn, Opens::Nothing) {
            self.end_current(cx, index);
        }
        cx.host.state("message-ends");
    }

    /// Finds the text that a piece continues, or begins one.
    fn find_text(
        &mut self,
        cx: &mut Cx<'_>,
        turn: Option<&str>,
        channel: Channel,
        message: Option<&str>,
        mark: Option<&str>,
        text: Option<&str>,
    ) -> Found {
        if let Some(message) = message {
            // A known message keeps its turn, whatever turn is open.
            if let Some(at) = self.texts.named(channel, message) {
                return self.known_text(at);
            }
            let key = message_key(channel).part(message);
            if let Some((row, _)) = self.newest(cx, &key) {
                return self.recall_text(row, channel, message);
            }
        }
        let place = self.place(cx, turn, Opens::Any);
        let (serial, stopped) = match place {
            Place::Open(index) => {
                let turn = &mut self.turns[index];
                turn.seen = true;
                (turn.serial, turn.stopped)
            }
            Place::Ended(index) => (self.ended[index].serial, self.ended[index].stopped),
            Place::Nowhere => return Found::Dropped("no-turn"),
        };
        if stopped {
            return Found::Dropped("turn-stopped");
        }
        let current = match place {
            Place::Open(index) => self.turns[index].current.and_then(|key| self.texts.position(key)),
            _ => self
                .texts
                .list
                .iter()
                .rposition(|t| t.turn == serial && t.message.is_none()),
        };
        if let Some(at) = current {
            let open = &self.texts.list[at];
            let same_stream = open.channel == channel && (mark.is_none() || open.mark.as_deref() == mark);
            if message.is_none() && open.message.is_none() && same_stream {
                return Found::Text(at);
            }
            if let (Some(message), Some(text), None) = (message, text, &open.message)
                && same_stream
                && open.said.as_deref() == Some(text)
            {
                self.texts.list[at].message = Some(message.into());
                return Found::Dropped("restated");
            }
            if let Place::Open(index) = place {
                self.end_current(cx, index);
            }
        }
        self.texts.next += 1;
        let key = self.texts.next;
        let late = matches!(place, Place::Ended(_));
        let at = self.texts.add(OpenText {
            key,
            turn: serial,
            channel,
            message: message.map(Into::into),
            mark: mark.map(Into::into),
            row: None,
            blank: String::new(),
            said: message.is_none().then(String::new),
            closed: late,
            superseded: false,
        });
        if let Place::Open(index) = place {
            self.turns[index].current = Some(key);
        }
        Found::Text(at)
    }

    fn known_text(&mut self, at: usize) -> Found {
        let serial = self.texts.list[at].turn;
        match self.open_at(serial) {
            Some(index) if self.turns[index].stopped => Found::Dropped("turn-stopped"),
            Some(index) => {
                let key = self.texts.list[at].key;
                self.turns[index].seen = true;
                if !self.texts.list[at].closed {
                    self.turns[index].current = Some(key);
                }
                Found::Text(at)
            }
            None if self.ended.iter().any(|t| t.serial == serial && t.stopped) => {
                Found::Dropped("turn-stopped")
            }
            None => Found::Text(at),
        }
    }

    /// A message that was forgotten goes on: its row is asked for.
    fn recall_text(
        &mut self,
        row: std::sync::Arc<crate::row::Row>,
        channel: Channel,
        message: &str,
    ) -> Found {
        let turn = row.turn.clone();
        let open = self.turns.iter().find(|t| Some(&t.row.id) == turn.as_ref());
        let ended = self.ended.iter().find(|t| Some(&t.row.id) == turn.as_ref());
        if open.map_or_else(|| ended.is_some_and(|t| t.stopped), |t| t.stopped) {
            return Found::Dropped("turn-stopped");
        }
        let serial = open.map(|t| t.serial).or(ended.map(|t| t.serial)).unwrap_or(0);
        let (Body::Assistant(body) | Body::Reasoning(body)) = &row.body else {
            return Found::Dropped("id-of-another-kind");
        };
        self.texts.next += 1;
        let at = self.texts.add(OpenText {
            key: self.texts.next,
            turn: serial,
            channel,
            message: Some(message.into()),
            mark: None,
            row: Some(TextRow {
                id: row.id.clone(),
                seq: row.seq,
                revision: row.revision,
                len: body.content.as_text().len(),
                left_out: 0,
            }),
            blank: String::new(),
            said: None,
            closed: body.state != TextState::Open,
            superseded: body.superseded,
        });
        Found::Text(at)
    }

    fn append(&mut self, cx: &mut Cx<'_>, at: usize, text: &str) {
        let open = &mut self.texts.list[at];
        if let Some(said) = &mut open.said {
            if said.len() + text.len() <= limits::RESTATED_BYTES {
                said.push_str(text);
            } else {
                open.said = None;
            }
        }
        let Some(row) = &mut open.row else {
            open.blank.push_str(text);
            if open.blank.trim().is_empty() && open.blank.len() < limits::RESTATED_BYTES {
                cx.host.state("blank-so-far");
            } else {
                self.show(cx, at);
            }
            return;
        };
        let room = limits::MESSAGE_BYTES.saturating_sub(row.len);
        let kept = super::clip(text, room);
        if kept.len() < text.len() {
            let left_out = (text.len() - kept.len()) as u64;
            row.left_out += left_out;
            self.counters.text_bytes_left_out += left_out;
            if kept.is_empty() {
                cx.drop("message-full");
                return;
            }
        }
        row.revision += 1;
        let append = Append {
            id: &row.id,
            seq: row.seq,
            member: Grows::Text,
            offset: row.len as u64,
            text: kept,
            revision: row.revision,
            frame: cx.frame,
        };
        row.len += kept.len();
        cx.host.change(Change::Append(append));
    }

    /// Puts the row of a text that has none yet.
    fn show(&mut self, cx: &mut Cx<'_>, at: usize) {
        let open = &mut self.texts.list[at];
        if open.row.is_some() {
            return;
        }
        let text = std::mem::take(&mut open.blank);
        let (serial, channel, closed) = (open.turn, open.channel, open.closed);
        let key = match &open.message {
            Some(message) => message_key(channel).part(message),
            None => message_key(channel).part(cx.connection).minted(cx.frame),
        };
        let named = open.message.is_some();
        let turn = self
            .open_at(serial)
            .map(|index| self.turns[index].row.id.clone())
            .or_else(|| {
                self.ended
                    .iter()
                    .find(|t| t.serial == serial)
                    .map(|t| t.row.id.clone())
            });
        let id = if named {
            RowId::spell(&self.session.id, key.as_str())
        } else {
            self.fresh(cx, &key)
        };
        let len = text.len();
        let state = if closed { TextState::Ended } else { TextState::Open };
        let message = Message {
            content: Content::text(text),
            state,
            superseded: false,
        };
        let body = match channel {
            Channel::Assistant => Body::Assistant(message),
            Channel::Reasoning => Body::Reasoning(message),
        };
        let row = self.put_as(cx, id, turn, None, body);
        self.texts.list[at].row = Some(TextRow {
            id: row.id.clone(),
            seq: row.seq,
            revision: row.revision,
            len,
            left_out: 0,
        });
    }

    /// Something else of the turn comes: a chunk without an id begins a new message after it.
    pub(super) fn end_current(&mut self, cx: &mut Cx<'_>, index: usize) {
        let turn = &mut self.turns[index];
        let Some(key) = turn.current.take() else { return };
        if let Some(at) = self.texts.position(key) {
            self.close_text(cx, at, TextState::Ended);
            let text = &self.texts.list[at];
            if text.message.is_none() && text.mark.is_none() {
                self.texts.list.remove(at);
            }
        }
    }

    fn close_text(&mut self, cx: &mut Cx<'_>, at: usize, state: TextState) {
        let open = &mut self.texts.list[at];
        if std::mem::replace(&mut open.closed, true) {
            return;
        }
        let superseded = open.superseded;
        if let Some(row) = &mut open.row {
            tell_close(cx, row, state, superseded);
        }
    }

    /// Closes the texts of a turn that ends or was stopped.
    pub(super) fn close_texts(&mut self, cx: &mut Cx<'_>, serial: u64, state: TextState) {
        for at in 0..self.texts.list.len() {
            if self.texts.list[at].turn == serial {
                self.close_text(cx, at, state);
            }
        }
        // A message with an id may still get a late piece; one without cannot.
        self.texts
            .list
            .retain(|t| t.turn != serial || (t.message.is_some() && t.row.is_some()));
    }

    pub(super) fn close_all_texts(&mut self, cx: &mut Cx<'_>) {
        for at in 0..self.texts.list.len() {
            self.close_text(cx, at, TextState::Ended);
        }
        self.texts.list.clear();
    }

    /// What was streamed under `mark` will be said again: the first row stays and says so.
    pub(super) fn supersede(&mut self, cx: &mut Cx<'_>, turn: Option<&str>, mark: &str) {
        let serial = match self.place(cx, turn, Opens::Nothing) {
            Place::Open(index) => {
                self.turns[index].current = None;
                self.turns[index].serial
            }
            Place::Ended(index) => self.ended[index].serial,
            Place::Nowhere => {
                cx.drop("no-turn");
                return;
            }
        };
        let mut any = false;
        for open in &mut self.texts.list {
            if open.turn != serial || open.mark.as_deref() != Some(mark) || open.superseded {
                continue;
            }
            open.superseded = true;
            open.closed = true;
            if let Some(row) = &mut open.row {
                tell_close(cx, row, TextState::Ended, true);
                any = true;
            }
        }
        if !any {
            cx.drop("nothing-to-supersede");
        }
    }
}

enum Found {
    Text(usize),
    Dropped(&'static str),
}

fn message_key(channel: Channel) -> Key {
    Key::new(match channel {
        Channel::Assistant => "a",
        Channel::Reasoning => "r",
    })
}

fn tell_close(cx: &mut Cx<'_>, row: &mut TextRow, state: TextState, superseded: bool) {
    row.revision += 1;
    cx.host.change(Change::Close(Close {
        id: &row.id,
        seq: row.seq,
        state,
        superseded,
        ended_at: cx.at,
        cut_bytes: (row.left_out > 0).then(|| row.len as u64 + row.left_out),
        revision: row.revision,
        frame: cx.frame,
    }));
}

//! User messages that the agent sends: an echo of what the client asked, or words of its own.
//!
//! An echo may come in one chunk or several, alone or after the session's earlier prompts. So chunks are gathered, and
//! compared without white space, until they are a prompt (an echo: nothing is added) or can no longer become one (the
//! agent's own message).

use std::collections::VecDeque;
use std::sync::Arc;

use super::placing::{Opens, Place};
use super::{Assembler, Cx, clip, revise};
use crate::change::{Append, Change, Grows};
use crate::content::{Content, Part};
use crate::id::{Key, RowId};
use crate::limits;
use crate::row::{Body, Row, User};

#[derive(Debug, Default)]
pub(super) struct Echo {
    /// The newest prompts, oldest first.
    sent: VecDeque<Sent>,
    /// What came so far of a message that may become an echo.
    pending: Option<Pending>,
    /// The message of the agent's own that the next piece may go on with: its id, and its row.
    own: Option<(Option<Box<str>>, RowId)>,
}

#[derive(Debug)]
struct Sent {
    key: Box<str>,
    /// Without white space.
    text: String,
    parts: usize,
    echoed: bool,
}

#[derive(Debug)]
struct Pending {
    message: Option<Box<str>>,
    turn: Option<Box<str>>,
    content: Content,
    bare: String,
    /// How much of the text is a whole echo already; more of the same message may follow.
    done: usize,
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

impl Echo {
    pub(super) fn sent(&mut self, key: &str, content: &Content) {
        if self.sent.len() >= limits::ECHO_PROMPTS {
            self.sent.pop_front();
        }
        if content.as_text().len() <= limits::ECHO_BYTES {
            let text = bare(content.as_text());
            self.sent.push_back(Sent {
                key: key.into(),
                text,
                parts: content.media().count(),
                echoed: false,
            });
        }
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// What the text so far is.
#[derive(PartialEq)]
enum Likeness {
    /// A prompt, whole.
    Whole(usize),
    /// The beginning of one.
    Beginning,
    /// Neither.
    None,
}

impl Assembler {
    pub(super) fn user_piece(
        &mut self,
        cx: &mut Cx<'_>,
        turn: Option<&str>,
        message: Option<&str>,
        part: Part,
    ) {
        let continues = self
            .echo
            .pending
            .as_ref()
            .is_some_and(|p| p.message.as_deref() == message);
        if !continues {
            self.finish_echo(cx);
        }
        let running = self.running_prompt();
        let is_text = matches!(part, Part::Text { .. });
        if !is_text && running.is_some_and(|at| self.echo.sent[at].parts > 0) {
            cx.drop("echo");
            return;
        }
        let pending = self.echo.pending.get_or_insert_with(|| Pending {
            message: message.map(Into::into),
            turn: turn.map(Into::into),
            content: Content::default(),
            bare: String::new(),
            done: 0,
        });
        if let Part::Text { text } = &part {
            pending.bare.extend(text.chars().filter(|c| !c.is_whitespace()));
            pending.content.push_text(text);
        } else {
            pending.content.push(part);
            return self.finish_echo(cx);
        }
        let text = std::mem::take(&mut pending.bare);
        let likeness = self.likeness(&text, running);
        if let Some(pending) = &mut self.echo.pending {
            pending.bare = text;
            if matches!(likeness, Likeness::Whole(_)) {
                pending.done = pending.content.as_text().len();
            }
        }
        match likeness {
            Likeness::Whole(at) => {
                self.echo.sent[at].echoed = true;
                cx.drop("echo");
            }
            Likeness::Beginning => cx.host.state("maybe-echo"),
            Likeness::None => self.finish_echo(cx),
        }
    }

    /// The prompt that runs, among those sent.
    fn running_prompt(&self) -> Option<usize> {
        let key = &self.prompts.iter().find(|p| !p.over)?.key;
        self.echo.sent.iter().rposition(|s| s.key == *key)
    }

    fn likeness(&self, text: &str, running: Option<usize>) -> Likeness {
        let sent = &self.echo.sent;
        if text.is_empty() {
            return Likeness::Beginning;
        }
        let mut beginning = false;
        let last = sent.len();
        // The running prompt however often; a later one, or (with none running) the newest, once.
        let candidates = (running.unwrap_or(last.saturating_sub(1))..last)
            .filter(|at| Some(*at) == running || !sent[*at].echoed);
        for end in candidates {
            // Alone, or after earlier prompts.
            for start in (0..=end).rev() {
                let mut rest = text;
                let differs =
                    sent.range(start..=end)
                        .find(|piece| match rest.strip_prefix(piece.text.as_str()) {
                            Some(after) => {
                                rest = after;
                                false
                            }
                            None => true,
                        });
                match differs {
                    None if rest.is_empty() => return Likeness::Whole(end),
                    None => {}
                    Some(piece) => beginning |= piece.text.starts_with(rest),
                }
            }
        }
        if beginning {
            Likeness::Beginning
        } else {
            Likeness::None
        }
    }

    /// Nothing more of the message comes: what was gathered is an echo, or the agent's own words.
    pub(super) fn finish_echo(&mut self, cx: &mut Cx<'_>) {
        let Some(pending) = self.echo.pending.take() else {
            return;
        };
        let content = match pending.done {
            0 => pending.content,
            done => Content::text(&pending.content.as_text()[done..]),
        };
        if content.is_empty() {
            return;
        }
        if let Some(row) = self.own_message(cx, pending.message.as_deref()) {
            return self.grow_own(cx, row, pending.message, &content);
        }
        if content.is_blank() {
            cx.drop("blank-message");
            return;
        }
        let place = self.place(cx, pending.turn.as_deref(), Opens::Any);
        let stopped = match place {
            Place::Open(index) => self.turns[index].stopped,
            Place::Ended(index) => self.ended[index].stopped,
            Place::Nowhere => false,
        };
        if stopped {
            cx.drop("turn-stopped");
            return;
        }
        if let Place::Open(index) = place {
            self.end_current(cx, index);
            self.turns[index].seen = true;
        }
        let turn = self.turn_id(place);
        let key = match &pending.message {
            Some(message) => own_key(message),
            None => Key::new("i").part(cx.connection).minted(cx.frame),
        };
        let id: RowId = self.fresh(cx, &key);
        let body = Body::User(User {
            content,
            delivery: None,
            reason: None,
            by_agent: true,
        });
        let row = self.put_as(cx, id, turn, None, body);
        self.echo.own = Some((pending.message, row.id.clone()));
    }

    /// Something else came: a piece without an id no longer goes on with the agent's own message.
    pub(super) fn end_own_message(&mut self) {
        self.echo.own = None;
    }

    /// The row of the agent's own that a piece goes on with: the last one, or the one of its id.
    fn own_message(&self, cx: &Cx<'_>, message: Option<&str>) -> Option<Arc<Row>> {
        let row = match (&self.echo.own, message) {
            (Some((last, id)), _) if last.as_deref() == message => cx.host.row(id),
            (_, Some(message)) => self.newest(cx, &own_key(message)).map(|(row, _)| row),
            (_, None) => None,
        };
        row.filter(|row| matches!(&row.body, Body::User(user) if user.by_agent))
    }

    fn grow_own(&mut self, cx: &mut Cx<'_>, mut row: Arc<Row>, message: Option<Box<str>>, more: &Content) {
        let Body::User(user) = &row.body else { return };
        self.echo.own = Some((message, row.id.clone()));
        let offset = user.content.as_text().len();
        let kept = clip(more.as_text(), limits::MESSAGE_BYTES.saturating_sub(offset));
        let left_out = more.as_text().len() - kept.len();
        if more.is_plain() && left_out == 0 {
            let (id, seq, revision) = (row.id.clone(), row.seq, row.revision + 1);
            // The store's copy grows in place only if it is the last.
            drop(row);
            cx.host.change(Change::Append(Append {
                id: &id,
                seq,
                member: Grows::Text,
                offset: offset as u64,
                text: kept,
                revision,
                frame: cx.frame,
            }));
            return;
        }
        self.counters.text_bytes_left_out += left_out as u64;
        revise(cx, &mut row, |row| {
            let Body::User(user) = &mut row.body else { return };
            user.content.push_text(kept);
            for part in more.media().take(limits::ITEMS) {
                user.content.push(part.clone());
            }
            if left_out > 0 {
                row.cut("text", (offset + more.as_text().len()) as u64);
            }
        });
    }
}

fn own_key(message: &str) -> Key {
    Key::new("i").part(message)
}

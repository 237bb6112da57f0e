//! What the loop hears: the agent's outputs and the news, one line after the other.
//!
//! A line goes to the recorder first. What it meant stands in the rows then; what it asks of a client (an answer to a call, a
//! request) is read from the frame.

use std::sync::Arc;
use std::time::Instant;

use tapline_recorder::Direction;
use tapline_timeline::{Body, RequestState};
use tapline_wire::client::{self, INVALID_REQUEST};
use tapline_wire::{Frame, Id, Line, Params};

use super::desk::{CONNECTION, Closing, Desk, now};
use super::news::News;
use super::peer::{CallError, Lost};
use super::process::Output;
use super::seen::Seen;

/// How many lines of standard error are remembered as last words, and how long each may be.
const LAST_WORDS: (usize, usize) = (20, 512);

impl Desk {
    pub(super) fn output(&mut self, piece: Output) {
        if let Some((_, heard)) = &mut self.ended {
            *heard = Instant::now();
        }
        match piece {
            Output::Bytes(bytes) => self.bytes(&bytes),
            Output::Errors(bytes) => {
                let mut errors = std::mem::take(&mut self.errors);
                errors.push(&bytes, |line| self.error_line(line));
                self.errors = errors;
            }
            Output::Closed => {
                self.outputs = self.outputs.saturating_sub(1);
                let mut reader = std::mem::take(&mut self.reader);
                reader.finish(|line| self.line(line));
                self.standing().deaf = true;
            }
            Output::ErrorsClosed => {
                self.outputs = self.outputs.saturating_sub(1);
                let mut errors = std::mem::take(&mut self.errors);
                errors.finish(|line| self.error_line(line));
            }
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let mut reader = std::mem::take(&mut self.reader);
        reader.push(bytes, |line| self.line(line));
        self.reader = reader;
    }

    pub(super) fn error_line(&mut self, line: Line<'_>) {
        let (Line::Text(text) | Line::TooLong { prefix: text, .. }) = line;
        self.recorder.stderr(CONNECTION, &text, now());
        self.see();
        let cut = text.floor_char_boundary(LAST_WORDS.1);
        if self.last_words.len() >= LAST_WORDS.0 {
            self.last_words.pop_front();
        }
        self.last_words.push_back(text[..cut].trim().to_owned());
    }

    /// The last words of the agent's standard error.
    pub(super) fn last_words(&self) -> Option<String> {
        let lines: Vec<&str> = self
            .last_words
            .iter()
            .map(String::as_str)
            .filter(|l| !l.is_empty())
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    pub(super) fn line(&mut self, line: Line<'_>) {
        match line {
            Line::Text(text) => {
                self.recorder.line(CONNECTION, Direction::In, &text, now());
                self.see();
                self.frame(&text);
            }
            Line::TooLong { prefix, bytes } => {
                self.recorder
                    .too_long(CONNECTION, Direction::In, &prefix, bytes, now());
                self.see();
                self.too_long(&prefix, bytes);
            }
        }
        self.asked = None;
    }

    pub(super) fn frame(&mut self, line: &str) {
        match tapline_wire::read(line) {
            Ok(Frame::Notification {
                params: Params::Update(update),
                ..
            }) => {
                if let (Some(kind), Some(raw)) = (update.kind.as_deref(), update.raw_update()) {
                    let of_ours = update.session_id.as_deref() == self.provider.as_deref();
                    if self.provider.is_none() || of_ours {
                        let told = self.standing().offer.update(kind, raw);
                        self.settings_told += u64::from(told && kind != "available_commands_update");
                    }
                }
            }
            Ok(Frame::Notification { method, params }) if method == "$/cancel_request" => {
                let id = params
                    .raw()
                    .and_then(|raw| tapline_wire::value::member(raw, "requestId"));
                if let Some(id) = id.and_then(Id::read) {
                    self.withdrawn(&id.into_owned());
                }
            }
            Ok(Frame::Notification { .. }) => {}
            Ok(Frame::Request { id, method, params }) => {
                let asked = self.asked.take();
                self.requested(&id, &method, params.raw(), asked);
            }
            Ok(Frame::Answer { id, outcome }) => {
                let Some(call) = self.peer.answered(&id) else {
                    return;
                };
                let method = call.method;
                match outcome {
                    Ok(result) => self.answered(call.purpose, Ok(result)),
                    Err(error) => {
                        let error = CallError::of(method, &error, self.recorder.spoken(CONNECTION));
                        self.answered(call.purpose, Err(error));
                    }
                }
            }
            Err(fault) => {
                if let tapline_wire::NotAFrame::Envelope(envelope) = &fault
                    && let Some(id) = envelope.stranded_call()
                    && let Some(call) = self.peer.answered(id)
                {
                    let why = fault.to_string();
                    self.answered(
                        call.purpose,
                        Err(CallError::Unreadable {
                            method: call.method,
                            why,
                        }),
                    );
                }
            }
        }
    }

    /// A line over the limit: whoever waited for it is told.
    pub(super) fn too_long(&mut self, prefix: &str, bytes: u64) {
        match self.peer.too_long(prefix) {
            Lost::Call(call) => {
                let method = call.method;
                self.answered(call.purpose, Err(CallError::TooLarge { method, bytes }));
            }
            Lost::Request(id, method) => {
                let data = serde_json::json!({ "method": method, "observedBytes": bytes });
                let data = serde_json::value::to_raw_value(&data).ok();
                let words = "the request was too long to read";
                self.send(
                    None,
                    client::error_answer(&id, INVALID_REQUEST, words, data.as_deref()),
                );
            }
            // Any call may be the one that was answered: none of them can be waited for.
            Lost::AnyCall => self.process.end(),
            Lost::Nobody => {}
        }
    }

    pub(super) fn news(&mut self, news: News) {
        match news {
            News::Exited(end) => {
                let now = Instant::now();
                self.exit = Some(end);
                self.ended = Some((now, now));
                // Nothing that it started outlives it.
                self.process.end();
            }
            News::InputBroken => {
                // An agent that cannot be spoken to is no agent; its end tells the rest.
                self.process.end();
            }
            News::Intent(intent) => self.intent(*intent),
            News::Served(id, served) => self.served(&id, served),
            News::Ask(ask) => self.ask(*ask),
            News::Close => self.close(),
            News::Kill => {
                self.closing.get_or_insert(Closing::Parting);
                self.process.end();
            }
        }
    }

    /// Looks at what the input at hand has changed.
    pub(super) fn see(&mut self) {
        for seen in self.recorder.store_mut().take() {
            match seen {
                Seen::Session(session) => self.session_seen(&session),
                Seen::Row(row) => {
                    if let Body::Request(request) = &row.body {
                        if request.state == RequestState::Pending && row.revision == 1 {
                            self.asked = Some(Arc::clone(&row));
                        }
                        self.request_seen(&row);
                    }
                    self.row_seen(&row);
                }
            }
        }
    }
}

//! How a connection ends, and what the agent said last.

use std::borrow::Cow;
use std::collections::VecDeque;

use tapline_timeline::{Detached, Event, Exit, Tone};

use crate::connection::Translator;
use crate::io::{Io, SessionRef};
use crate::limits;

/// The last lines of standard error, within their bounds.
#[derive(Debug, Default)]
pub(crate) struct LastWords(VecDeque<String>);

impl LastWords {
    pub(crate) fn push(&mut self, line: &str) {
        if self.0.len() >= limits::LAST_WORDS_LINES {
            self.0.pop_front();
        }
        self.0.push_back(bounded(line));
    }

    /// All that has words, as one text.
    fn text(&self) -> Option<String> {
        let lines: Vec<&str> = self
            .0
            .iter()
            .map(|l| l.trim())
            .filter(|l| !l.is_empty())
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Translator {
    /// The agent's process ended.
    pub(crate) fn exited(&mut self, io: &mut Io<'_>, code: Option<i64>, signal: Option<&str>) {
        let words = self.last_words.text();
        let exit = Exit {
            code,
            signal: signal.map(Cow::Borrowed),
            last_words: words.as_deref().map(Cow::Borrowed),
        };
        self.end(io, Some(exit));
    }

    /// Nothing more will be heard: every session that something still holds learns it.
    pub(crate) fn end(&mut self, io: &mut Io<'_>, exit: Option<Exit<'_>>) {
        if std::mem::replace(&mut self.over, true) {
            io.drop("after-the-end");
            return;
        }
        for stamp in self.held.forget() {
            io.out.drop(stamp, "unknown-session");
        }
        if self.sessions.is_empty() && self.lost.is_none() {
            let session = self.nameless(io);
            if let Some(exit) = &exit {
                let text = start_failure(exit, self.handshake);
                io.status(session, Tone::Error, Cow::Owned(text));
            }
            io.event(session, Event::Detached(Detached { exit }));
            return;
        }
        // One that could not be loaded, or never was given, is held by nothing else.
        let held = self.sessions.values().map(|s| s.session);
        let mut sessions: Vec<SessionRef> = held.chain(self.lost).chain(self.nameless).collect();
        sessions.sort_unstable();
        sessions.dedup();
        for session in sessions {
            io.event(session, Event::Detached(Detached { exit: exit.clone() }));
        }
    }
}

/// How a connection ended that never gave a session, as a sentence.
fn start_failure(exit: &Exit<'_>, handshake: bool) -> String {
    let how = match (exit.code, &exit.signal) {
        (_, Some(signal)) => format!("its process was ended by {signal}"),
        (Some(code), None) => format!("its process ended with exit code {code}"),
        (None, None) => "its process ended".to_owned(),
    };
    let what = if handshake {
        "The agent gave no session"
    } else {
        "The agent could not be started"
    };
    match &exit.last_words {
        Some(words) => format!("{what}: {how}. Its last words: {words}"),
        None => format!("{what}: {how}."),
    }
}

/// A line of standard error within its bound; one that had to be cut ends with `…`.
fn bounded(line: &str) -> String {
    if line.len() <= limits::LAST_WORDS_BYTES {
        return line.to_owned();
    }
    let mut cut = limits::LAST_WORDS_BYTES - '…'.len_utf8();
    while !line.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}…", &line[..cut])
}

//! What goes into a translator and what comes out of it.
//!
//! The translator speaks of sessions by the index that its listener gave them ([`SessionRef`]) and reports to the listener
//! through one trait, [`Out`]: it owns no row and no session, and everything that one input meant carries the input's [`Stamp`].

use std::borrow::Cow;

use tapline_timeline::{Event, SessionId, Time, Tone};

/// Which way a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the agent to the client.
    In,
    /// From the client to the agent.
    Out,
}

/// When an input came, and its number on the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its number.
    pub number: u64,
    /// When it came.
    pub at: Option<Time>,
}

/// A session of the one who listens: an index of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef(pub u32);

/// How a session came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The agent just made it.
    New,
    /// The client speaks of it: it may have been there before.
    Known,
    /// Another session started it.
    Child(SessionRef),
    /// The connection never gave a session: something must hold what went wrong.
    Nameless,
}

/// A session that must be opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The agent's id of it.
    pub provider: Option<&'a str>,
    /// How it came to be known.
    pub way: Way,
    /// The session of ours that it goes on with.
    pub continues: Option<SessionRef>,
}

/// Takes what the translator has to tell.
pub trait Out {
    /// Finds or makes the session of ours.
    fn open(&mut self, stamp: Stamp, opening: Opening<'_>) -> SessionRef;
    /// An event of a session.
    fn event(&mut self, stamp: Stamp, session: SessionRef, event: Event<'_>);
    /// Something else changed.
    fn state(&mut self, stamp: Stamp, what: &'static str);
    /// The input was dropped.
    fn drop(&mut self, stamp: Stamp, reason: &'static str);
    /// Bytes that a row names by their hash.
    fn blob(&mut self, hash: &str, bytes: &[u8]);
    /// Whether a turn runs in this session.
    fn is_running(&self, session: SessionRef) -> bool;
    /// The id of this session.
    fn session_id(&self, session: SessionRef) -> Option<SessionId>;
}

/// What is no frame.
#[derive(Debug, Clone)]
pub enum Input<'a> {
    /// A line over the limit, of which only the beginning is known.
    TooLong {
        /// Which way it went.
        direction: Direction,
        /// Its beginning.
        prefix: &'a str,
        /// How long it was, in bytes.
        bytes: u64,
    },
    /// A line of the agent's standard error.
    Stderr(&'a str),
    /// The agent process ended.
    Exit {
        /// Its exit code.
        code: Option<i64>,
        /// The signal that ended it.
        signal: Option<&'a str>,
    },
    /// Nothing more will be heard of the connection.
    Close,
    /// What Tapline itself did as the client, as a JSON object with one member:
    ///
    /// - `{"answer": {"request": ID, "by": "…"}}`: who decided the answer that is sent next to the agent's request of this id;
    /// - anything else is kept on the tape and changes nothing.
    Did(&'a str),
}

/// What one frame's reading needs: when it came, and who listens.
pub(crate) struct Io<'o> {
    pub stamp: Stamp,
    pub out: &'o mut dyn Out,
}

impl Io<'_> {
    pub(crate) fn event(&mut self, session: SessionRef, event: Event<'_>) {
        self.out.event(self.stamp, session, event);
    }
    pub(crate) fn state(&mut self, what: &'static str) {
        self.out.state(self.stamp, what);
    }
    pub(crate) fn drop(&mut self, reason: &'static str) {
        self.out.drop(self.stamp, reason);
    }
    /// Tells a session a sentence of ours.
    pub(crate) fn status(&mut self, session: SessionRef, tone: Tone, text: Cow<'_, str>) {
        let status = Event::Status {
            turn: None,
            tone,
            text,
            detail: None,
        };
        self.event(session, status);
    }
}

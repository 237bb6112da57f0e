//! The sessions of a connection: how they come to be known, whose a frame is, and what waits until that is known.

use std::borrow::Cow;
use std::collections::VecDeque;

use tapline_timeline::{Detached, Event, SessionFacts};
use tapline_wire::{RawValue, value};

use crate::connection::Translator;
use crate::dialect::Facts;
use crate::io::{Direction, Io, Opening, SessionRef, Stamp, Way};
use crate::limits;

#[derive(Debug)]
pub(crate) struct SessionState {
    pub session: SessionRef,
    pub loading: bool,
    /// The agent goes on replaying after its answer to the load.
    pub replay_tail: bool,
}

impl SessionState {
    /// Whether what the agent says of it is history, unless it says otherwise.
    pub(crate) fn replays(&self) -> bool {
        self.loading || self.replay_tail
    }
}

/// Frames of sessions that nothing has explained yet, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Held {
    frames: VecDeque<HeldFrame>,
    bytes: usize,
}

#[derive(Debug)]
struct HeldFrame {
    stamp: Stamp,
    session: Box<str>,
    line: String,
}

impl Held {
    fn push(&mut self, frame: HeldFrame) {
        self.bytes += frame.line.len();
        self.frames.push_back(frame);
    }

    /// The oldest frame, if they are more than may be held.
    fn pop_excess(&mut self) -> Option<HeldFrame> {
        if self.frames.len() <= limits::HELD_FRAMES && self.bytes <= limits::HELD_BYTES {
            return None;
        }
        let oldest = self.frames.pop_front()?;
        self.bytes -= oldest.line.len();
        Some(oldest)
    }

    /// The frames of a session.
    fn take(&mut self, session: &str) -> VecDeque<HeldFrame> {
        let frames = std::mem::take(&mut self.frames).into_iter();
        let (ready, rest): (VecDeque<_>, _) = frames.partition(|frame| &*frame.session == session);
        self.frames = rest;
        self.bytes -= ready.iter().map(|frame| frame.line.len()).sum::<usize>();
        ready
    }

    /// Lets all of them go.
    pub(crate) fn forget(&mut self) -> impl Iterator<Item = Stamp> {
        std::mem::take(self).frames.into_iter().map(|frame| frame.stamp)
    }
}

impl Translator {
    /// Opens a session. Whoever opens it also lets what was held for it go on its way ([`Translator::release`]).
    pub(crate) fn open(
        &mut self,
        io: &mut Io<'_>,
        provider: &str,
        way: Way,
        continues: Option<SessionRef>,
    ) -> SessionRef {
        let session = io.out.open(
            io.stamp,
            Opening {
                provider: Some(provider),
                way,
                continues,
            },
        );
        if self.sessions.len() >= limits::SESSIONS {
            self.let_session_go(io);
        }
        let earlier = self.sessions.insert(
            provider.into(),
            SessionState {
                session,
                loading: false,
                replay_tail: false,
            },
        );
        // The agent gave a session that was spoken of already its id anew: nothing holds the earlier one any more.
        if let Some(earlier) = earlier.filter(|earlier| earlier.session != session) {
            io.event(earlier.session, Event::Detached(Detached { exit: None }));
        }
        session
    }

    /// Forgets the oldest session in which nothing runs (or the oldest of all). It reads as ended from now on; whoever speaks
    /// of it again takes it up again.
    fn let_session_go(&mut self, io: &mut Io<'_>) {
        let idle = self.sessions.values().position(|s| !io.out.is_running(s.session));
        if let Some((_, state)) = self.sessions.shift_remove_index(idle.unwrap_or(0)) {
            io.state("session-let-go");
            io.event(state.session, Event::Detached(Detached { exit: None }));
        }
    }

    /// The session that holds what went wrong before there was one.
    pub(crate) fn nameless(&mut self, io: &mut Io<'_>) -> SessionRef {
        if let Some(session) = self.nameless {
            return session;
        }
        let session = io.out.open(
            io.stamp,
            Opening {
                provider: None,
                way: Way::Nameless,
                continues: None,
            },
        );
        self.nameless = Some(session);
        self.tell_agent(io, session, SessionFacts::default());
        session
    }

    /// Tells a session the facts, with the agent's name.
    pub(crate) fn tell_agent(&self, io: &mut Io<'_>, session: SessionRef, facts: SessionFacts<'_>) {
        let borrow = Cow::Borrowed;
        let agent = self
            .agent
            .as_ref()
            .map(|(name, version)| (borrow(name.as_str()), version.as_deref().map(borrow)));
        io.event(session, Event::Session(SessionFacts { agent, ..facts }));
    }

    /// Tells a session what a dialect read.
    pub(crate) fn tell(&mut self, io: &mut Io<'_>, at: usize, facts: Facts<'_>) {
        let Some((_, state)) = self.sessions.get_index(at) else {
            return;
        };
        let parent = state.session;
        for child in &facts.children {
            if !self.sessions.contains_key(&*child.session) {
                let session = self.open(io, &child.session, Way::Child(parent), None);
                let told = SessionFacts {
                    title: child.title.clone(),
                    provider_session: Some(child.session.clone()),
                    ..SessionFacts::default()
                };
                self.tell_agent(io, session, told);
            }
        }
        for mut event in facts.events {
            if let Event::Helper(news) = &mut event
                && let Some(child) = facts
                    .children
                    .iter()
                    .find(|c| c.helper == Some(news.helper.clone()))
                && let Some(state) = self.sessions.get(&*child.session)
            {
                news.child = io.out.session_id(state.session);
            }
            io.event(parent, event);
        }
        for child in facts.children {
            self.release(io, &child.session);
        }
    }

    /// Keeps a frame until something explains its session.
    pub(crate) fn hold(&mut self, io: &mut Io<'_>, session: &str, line: &str) {
        io.state("held");
        self.held.push(HeldFrame {
            stamp: io.stamp,
            session: session.into(),
            line: line.to_owned(),
        });
        while let Some(oldest) = self.held.pop_excess() {
            io.out.drop(oldest.stamp, "held-too-long");
        }
    }

    /// Reads the frames that were held for a session that is known now.
    pub(crate) fn release(&mut self, io: &mut Io<'_>, provider: &str) {
        for held in self.held.take(provider) {
            if let Ok(frame) = tapline_wire::read(&held.line) {
                self.frame(held.stamp, Direction::In, &frame, &held.line, io.out);
            }
        }
    }

    /// Index of the session that a request of the agent belongs to.
    pub(crate) fn session_of_request(&self, io: &Io<'_>, params: Option<&RawValue>) -> Option<usize> {
        let id = params
            .and_then(|p| value::member(p, "sessionId"))
            .and_then(value::name);
        if let Some(at) = id.as_deref().and_then(|id| self.sessions.get_index_of(id)) {
            return Some(at);
        }
        // A request is never held: it belongs to the one session in which a turn runs.
        let mut running = (0..self.sessions.len()).filter(|at| {
            self.sessions
                .get_index(*at)
                .is_some_and(|(_, s)| io.out.is_running(s.session))
        });
        let first = running.next();
        if running.next().is_some() { None } else { first }
    }

    /// The session that the beginning of a line names.
    pub(crate) fn session_in_prefix(&self, prefix: &str) -> Option<SessionRef> {
        let at = prefix.find("\"sessionId\"")?;
        let rest = prefix[at + 11..]
            .trim_start()
            .strip_prefix(':')?
            .trim_start()
            .strip_prefix('"')?;
        let id = &rest[..rest.find('"')?];
        self.sessions.get(id).map(|s| s.session)
    }
}

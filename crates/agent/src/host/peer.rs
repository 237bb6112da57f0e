//! The bookkeeping of JSON-RPC: our calls that wait for an answer, and the agent's requests that wait for ours.
//!
//! Our ids are whole numbers from 1, so an answer under any other id is nobody's. A call may have a limit in time; an
//! agent's request has none, since a person may take hours. What an agent cannot have said (a time-out, a closed
//! connection, an answer that cannot be read) is never put into its mouth: [`CallError`] tells them apart.

use std::time::{Duration, Instant};

use indexmap::IndexMap;
use tapline_recorder::Dialect;
use tapline_wire::client::AUTH_REQUIRED;
use tapline_wire::{AgentError, Id, OwnedId, OwnedRawValue, RawValue, TooLongHint};

/// How many of our calls may wait for an answer.
pub const PENDING_CALLS: usize = 128;

/// How many requests of the agent may wait for ours.
pub const OPEN_REQUESTS: usize = 128;

/// How large the requests of the agent that wait for our answer may be together, in bytes.
pub const OPEN_REQUEST_BYTES: usize = 32 << 20;

/// Why a call has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The agent read the call and answered with an error: these are its own words.
    #[error("the agent refused {method}: {words} (code {code})")]
    Agent {
        /// What was called.
        method: &'static str,
        /// The error's code.
        code: i64,
        /// The agent's words, as far as it gave any, else its message.
        words: String,
        /// It says that nobody is signed in, by the code for that or in this agent's own words.
        sign_in: bool,
    },
    /// The agent's answer could not be read.
    #[error("the agent's answer to {method} could not be read: {why}")]
    Unreadable {
        /// What was called.
        method: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The agent's answer was a line over the limit.
    #[error("the agent's answer to {method} was too long to read ({bytes} bytes)")]
    TooLarge {
        /// What was called.
        method: &'static str,
        /// Length of the line.
        bytes: u64,
    },
    /// The agent did not answer in time.
    #[error("the agent did not answer {method} within {} s", after.as_secs_f32())]
    TimedOut {
        /// What was called.
        method: &'static str,
        /// How long it had.
        after: Duration,
    },
    /// The connection ended first.
    #[error("the agent was gone before it answered {method}{}", words.as_ref().map(|w| format!(": {w}")).unwrap_or_default())]
    Closed {
        /// What was called.
        method: &'static str,
        /// The last words of its standard error.
        words: Option<String>,
    },
    /// It was never sent.
    #[error("{method} was not sent: {why}")]
    NotSent {
        /// What would have been called.
        method: &'static str,
        /// Why.
        why: String,
    },
}

impl CallError {
    /// The agent's code, where the agent itself refused.
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Agent { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the agent says that nobody is signed in.
    pub fn asks_for_sign_in(&self) -> bool {
        matches!(self, Self::Agent { sign_in: true, .. })
    }

    /// The refusal of an agent that speaks this dialect.
    pub(super) fn of(method: &'static str, error: &AgentError<'_>, spoken: Option<&dyn Dialect>) -> Self {
        if !error.readable {
            return Self::Unreadable {
                method,
                why: format!("the error in it is {}", short(error.raw.get())),
            };
        }
        let words = tapline_recorder::error_words(error);
        Self::Agent {
            method,
            code: error.code,
            sign_in: spoken.map_or(error.code == AUTH_REQUIRED, |spoken| {
                spoken.asks_for_sign_in(error)
            }),
            words: words.map_or_else(
                || error.message.clone().into_owned(),
                std::borrow::Cow::into_owned,
            ),
        }
    }
}

/// A text of which only the beginning matters.
fn short(text: &str) -> String {
    let cut = text.floor_char_boundary(200);
    if cut < text.len() {
        format!("{}…", &text[..cut])
    } else {
        text.to_owned()
    }
}

/// A call that waits for its answer.
pub(super) struct Pending<P> {
    pub(super) purpose: P,
    pub(super) method: &'static str,
    limit: Option<(Instant, Duration)>,
}

/// What becomes of a request of the agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    /// It is open from now on.
    New,
    /// One with this id is open: it is not answered.
    Doubled,
    /// Too many are open: it is refused.
    TooMany,
    /// Those that are open are too large together: it is refused.
    TooMuch,
}

/// What a line that was too long means for those who wait.
#[derive(Debug)]
pub(super) enum Lost<P> {
    /// A call whose answer it was.
    Call(Pending<P>),
    /// A request of the agent, which is refused.
    Request(OwnedId, Option<String>),
    /// It may have been any answer: the connection cannot be trusted any more.
    AnyCall,
    /// Nobody.
    Nobody,
}

impl<P> std::fmt::Debug for Pending<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Both sides' open calls; `P` is what a call of ours is for, `R` what is kept of a request of the agent.
pub(super) struct Peer<P, R> {
    last: i64,
    calls: IndexMap<i64, Pending<P>>,
    requests: IndexMap<OwnedId, Request<R>>,
    /// What the open requests hold, in bytes.
    held: usize,
}

struct Request<R> {
    kept: R,
    bytes: usize,
}

impl<P, R> Peer<P, R> {
    pub(super) fn new() -> Self {
        Self {
            last: 0,
            calls: IndexMap::new(),
            requests: IndexMap::new(),
            held: 0,
        }
    }

    /// Begins a call: gives its id, or the purpose back where too many wait.
    pub(super) fn call(
        &mut self,
        method: &'static str,
        purpose: P,
        limit: Option<Duration>,
        now: Instant,
    ) -> Result<i64, P> {
        if self.calls.len() >= PENDING_CALLS {
            return Err(purpose);
        }
        self.last += 1;
        let limit = limit.and_then(|limit| Some((now.checked_add(limit)?, limit)));
        self.calls.insert(
            self.last,
            Pending {
                purpose,
                method,
                limit,
            },
        );
        Ok(self.last)
    }

    /// The call that an answer is for. An id that is none of ours is nobody's.
    pub(super) fn answered(&mut self, id: &Id<'_>) -> Option<Pending<P>> {
        match id {
            Id::Integer(id) => self.calls.shift_remove(id),
            _ => None,
        }
    }

    /// Takes a call out that will have no answer.
    pub(super) fn forget(&mut self, id: i64) -> Option<Pending<P>> {
        self.calls.shift_remove(&id)
    }

    /// When the next call runs out of time.
    pub(super) fn next_limit(&self) -> Option<Instant> {
        self.calls.values().filter_map(|call| Some(call.limit?.0)).min()
    }

    /// A call that has run out of time, and how long it had.
    pub(super) fn overdue(&self, now: Instant) -> Option<(i64, Duration)> {
        self.calls.iter().find_map(|(id, call)| {
            let (at, limit) = call.limit?;
            (at <= now).then_some((*id, limit))
        })
    }

    /// All calls, when nothing will answer them.
    pub(super) fn close(&mut self) -> Vec<Pending<P>> {
        std::mem::take(&mut self.calls).into_values().collect()
    }

    /// A request of the agent came in, with parameters of so many bytes.
    pub(super) fn requested(&mut self, id: &Id<'_>, kept: R, bytes: usize) -> Incoming {
        let id = id.as_ref().into_owned();
        if self.requests.contains_key(&id) {
            return Incoming::Doubled;
        }
        if self.requests.len() >= OPEN_REQUESTS {
            return Incoming::TooMany;
        }
        if self.held + bytes > OPEN_REQUEST_BYTES {
            return Incoming::TooMuch;
        }
        self.held += bytes;
        self.requests.insert(id, Request { kept, bytes });
        Incoming::New
    }

    /// What is kept of an open request.
    pub(super) fn request(&self, id: &OwnedId) -> Option<&R> {
        self.requests.get(id).map(|open| &open.kept)
    }

    /// Changes what is kept of an open request.
    pub(super) fn keep(&mut self, id: &OwnedId, change: impl FnOnce(&mut R)) {
        if let Some(open) = self.requests.get_mut(id) {
            change(&mut open.kept);
        }
    }

    /// The request is answered: its id is free again.
    pub(super) fn reply(&mut self, id: &OwnedId) -> Option<R> {
        let open = self.requests.shift_remove(id)?;
        self.held -= open.bytes;
        Some(open.kept)
    }

    /// The open requests of the agent, oldest first.
    pub(super) fn requests(&self) -> impl Iterator<Item = (&OwnedId, &R)> {
        self.requests.iter().map(|(id, open)| (id, &open.kept))
    }

    /// Who is stranded by a line of the agent that was too long, by what its beginning shows.
    pub(super) fn too_long(&mut self, prefix: &str) -> Lost<P> {
        match TooLongHint::read(prefix) {
            TooLongHint::Request { id, method } => Lost::Request(id.into_owned(), Some(method.into_owned())),
            TooLongHint::Answer { id } => self.answered(&id).map_or(Lost::Nobody, Lost::Call),
            // Another kind of id than ours is no answer to us; where the id is out of sight it may be any of them.
            TooLongHint::MaybeAnswer { id } => match id {
                Some(Id::Integer(_)) | None if !self.calls.is_empty() => Lost::AnyCall,
                _ => Lost::Nobody,
            },
            TooLongHint::Nothing { .. } => Lost::Nobody,
        }
    }
}

/// A raw value that owns itself.
pub(super) fn own(raw: Option<&RawValue>) -> Option<OwnedRawValue> {
    raw.map(RawValue::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Bare = Peer<&'static str, ()>;

    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

    #[test]
    fn cp_5_who_is_stranded_by_a_line_that_is_too_long() {
        let now = Instant::now();
        let waiting = || {
            let mut peer = Bare::new();
            assert_eq!(peer.call("a", "first", None, now), Ok(1));
            assert_eq!(peer.call("b", "second", None, now), Ok(2));
            peer
        };
        let call = |prefix: &str| match waiting().too_long(prefix) {
            Lost::Call(call) => call.purpose,
            lost => panic!("{lost:?}"),
        };
        assert_eq!(call(r#"{"jsonrpc":"2.0","id":2,"result":{"x":"xxx"#), "second");
        assert_eq!(call(r#"{"jsonrpc":"2.0","id":1,"error":{"x":"xxx"#), "first");
        let mut peer = waiting();
        let asked =
            peer.too_long(r#"{"jsonrpc":"2.0","id":"r","method":"fs/write_text_file","params":{"x":"xxx"#);
        assert!(
            matches!(&asked, Lost::Request(id, Some(method)) if *id == OwnedId::from("r") && method == "fs/write_text_file"),
            "{asked:?}"
        );
        // It may be any answer, if only one waits.
        for any in [
            r#"{"jsonrpc":"2.0","id":9,"x":"xxx"#,
            r#"{"jsonrpc":"2.0","result":{"x":"xxx"#,
        ] {
            assert!(matches!(waiting().too_long(any), Lost::AnyCall), "{any}");
            assert!(matches!(Bare::new().too_long(any), Lost::Nobody), "{any}");
        }
        for nobody in [
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"x":"xxx"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"x":"xxx"#,
            r#"{"jsonrpc":"2.0","id":"2","result":{"x":"xxx"#,
            r#"{"jsonrpc":"2.0","id":"2","x":"xxx"#,
            "no JSON at all xxx",
        ] {
            assert!(matches!(waiting().too_long(nobody), Lost::Nobody), "{nobody}");
        }
    }

    #[test]
    fn cp_8_a_call_that_runs_out_of_time_or_is_answered_frees_its_place() {
        let now = Instant::now();
        let mut peer = Bare::new();
        for n in 0..PENDING_CALLS {
            let limit = (n == 5).then_some(Duration::from_secs(30));
            assert!(peer.call("m", "it", limit, now).is_ok());
        }
        assert_eq!(
            peer.call("m", "one more", None, now),
            Err("one more"),
            "it is given back"
        );
        assert_eq!(peer.next_limit(), Some(now + Duration::from_secs(30)));
        assert_eq!(peer.overdue(now), None);
        let late = now + Duration::from_secs(30);
        assert_eq!(peer.overdue(late), Some((6, Duration::from_secs(30))));
        assert!(peer.forget(6).is_some() && peer.overdue(late).is_none());
        assert!(
            peer.answered(&Id::Integer(6)).is_none(),
            "its late answer is nobody's"
        );
        assert_eq!(
            peer.call("m", "one more", None, now),
            Ok(129),
            "ids never come again"
        );
        assert!(peer.call("m", "too many", None, now).is_err());
        assert!(peer.answered(&Id::Integer(1)).is_some());
        assert!(peer.call("m", "one more", None, now).is_ok());
    }

    #[test]
    fn cp_9_cr_12_a_request_of_the_agent_has_no_limit_in_time() {
        let now = Instant::now();
        let mut peer = Bare::new();
        assert_eq!(peer.requested(&Id::Integer(7), (), 10), Incoming::New);
        assert_eq!(peer.next_limit(), None, "nothing will ever end it");
        assert_eq!(peer.overdue(now + YEAR), None);
        assert_eq!(peer.requested(&Id::Integer(7), (), 10), Incoming::Doubled);
        assert_eq!(peer.requested(&"7".into(), (), 10), Incoming::New, "another id");
        for n in 100..226 {
            assert_eq!(peer.requested(&Id::Integer(n), (), 10), Incoming::New);
        }
        assert_eq!(peer.requested(&Id::Null, (), 10), Incoming::TooMany);
        assert_eq!(
            peer.requested(&Id::Integer(7), (), 10),
            Incoming::Doubled,
            "also then"
        );
        assert!(peer.reply(&OwnedId::Integer(7)).is_some());
        assert_eq!(peer.requested(&Id::Null, (), 10), Incoming::New);
    }

    #[test]
    fn cp_9_requests_that_wait_are_bounded_in_bytes_too() {
        let mut peer = Bare::new();
        let half = OPEN_REQUEST_BYTES / 2;
        assert_eq!(peer.requested(&Id::Integer(1), (), half), Incoming::New);
        assert_eq!(peer.requested(&Id::Integer(2), (), half), Incoming::New);
        assert_eq!(peer.requested(&Id::Integer(3), (), 1), Incoming::TooMuch);
        assert!(peer.reply(&OwnedId::Integer(3)).is_none(), "it was never open");
        assert!(peer.reply(&OwnedId::Integer(1)).is_some());
        assert_eq!(peer.requested(&Id::Integer(3), (), half), Incoming::New);
    }

    #[test]
    fn cr_13_cr_19_a_call_without_a_limit_or_with_one_beyond_the_clock_waits_for_ever() {
        let now = Instant::now();
        let mut peer = Bare::new();
        assert!(peer.call("session/prompt", "prompt", None, now).is_ok());
        assert!(peer.call("m", "for ever", Some(Duration::MAX), now).is_ok());
        assert_eq!((peer.next_limit(), peer.overdue(now + YEAR)), (None, None));
        assert!(
            peer.call("m", "no time at all", Some(Duration::ZERO), now)
                .is_ok()
        );
        assert_eq!(peer.overdue(now), Some((3, Duration::ZERO)));
        assert!(peer.answered(&Id::Integer(1)).is_some(), "it is still there");
    }

    #[test]
    fn cp_1_our_ids_are_whole_numbers_and_nothing_else() {
        let now = Instant::now();
        let mut peer = Bare::new();
        assert!(peer.call("m", "it", None, now).is_ok());
        for other in [Id::Null, "1".into(), Id::Integer(2), Id::Integer(-1)] {
            assert!(peer.answered(&other).is_none(), "{other}");
        }
        assert!(peer.answered(&Id::Integer(1)).is_some());
        assert!(peer.answered(&Id::Integer(1)).is_none(), "once");
    }
}

//! An assembler with a timeline beside it, driven by events: the ground on which the scenarios run.

use std::cell::Cell;
use std::sync::Arc;

use tapline_timeline::*;

use crate::ledger::Ledger;
use crate::picture::picture;

/// Everything around the assembler: it keeps the rows and what was told.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) timeline: Timeline,
    pub(crate) ledger: Ledger,
    /// Names of the drops and of the states, in order.
    pub(crate) told: Vec<&'static str>,
    pub(crate) changes: usize,
    pub(crate) blobs: Vec<(String, usize)>,
    /// How often a row was asked for.
    pub(crate) asked: Cell<u64>,
}

impl Sink for Host {
    fn change(&mut self, change: Change<'_>) {
        self.changes += 1;
        self.ledger.take(&change);
        self.timeline.apply(&change);
    }
    fn state(&mut self, what: &'static str) {
        self.told.push(what);
    }
    fn drop(&mut self, reason: Reason) {
        self.told.push(reason.0);
    }
    fn blob(&mut self, hash: &str, bytes: &[u8]) {
        self.blobs.push((hash.to_owned(), bytes.len()));
    }
}

impl Lookup for Host {
    fn row(&self, id: &RowId) -> Option<Arc<Row>> {
        self.asked.set(self.asked.get() + 1);
        self.timeline.row(id)
    }
}

pub(crate) struct Bench {
    pub(crate) assembler: Assembler,
    pub(crate) host: Host,
    pub(crate) connection: String,
    pub(crate) frame: u64,
    /// The time of the next event, in milliseconds since the start.
    pub(crate) now: u64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            assembler: Assembler::new(Session::new(SessionId::from("s")), 0),
            host: Host::default(),
            connection: "1".to_owned(),
            frame: 0,
            now: 0,
        }
    }

    /// Another assembler over the same rows, as after a restart of whoever holds it.
    pub(crate) fn restart(&mut self, connection: &str) {
        let session = self.host.timeline.session().cloned();
        let session = session.unwrap_or_else(|| Session::new(SessionId::from("s")));
        let seq = self.host.timeline.rows().len() as u64;
        self.assembler = Assembler::new(session, seq);
        self.connection = connection.to_owned();
    }

    /// Applies one event and gives back what was told beside changes. Nothing may end as nothing (*accounted*).
    pub(crate) fn apply(&mut self, event: Event<'_>) -> Vec<&'static str> {
        self.frame += 1;
        self.now += 1;
        let (told, changes) = (self.host.told.len(), self.host.changes);
        let what = format!("{event:?}");
        let mut cx = Cx {
            at: Some(Time::Since(self.now)),
            frame: self.frame,
            connection: &self.connection,
            host: &mut self.host,
        };
        self.assembler.apply(&mut cx, event);
        assert!(
            self.host.told.len() > told || self.host.changes > changes,
            "accounted: nothing became of {what}"
        );
        self.host.told[told..].to_vec()
    }

    /// Applies an event that must be dropped for this reason and change nothing.
    pub(crate) fn dropped(&mut self, event: Event<'_>, reason: &str) {
        let before = self.host.changes;
        let told = self.apply(event);
        assert_eq!(told, [reason]);
        assert_eq!(self.host.changes, before, "a dropped event changed something");
    }

    /// Applies an event and gives back how many changes it made.
    pub(crate) fn counted(&mut self, event: Event<'_>) -> usize {
        let before = self.host.changes;
        self.apply(event);
        self.host.changes - before
    }

    #[track_caller]
    pub(crate) fn shows(&self, expected: &[&str]) {
        let is = picture(&self.host.timeline);
        assert!(
            is == expected,
            "the timeline is\n{}\nand should be\n{}",
            is.join("\n"),
            expected.join("\n")
        );
        self.host.ledger.agrees_with(&self.host.timeline);
    }

    pub(crate) fn rows(&self) -> &[Arc<Row>] {
        self.host.timeline.rows()
    }

    /// The rows of one kind.
    pub(crate) fn all(&self, kind: Kind) -> Vec<&Row> {
        self.rows()
            .iter()
            .map(|r| &**r)
            .filter(|r| r.kind() == kind)
            .collect()
    }

    /// The only row of a kind.
    #[track_caller]
    pub(crate) fn the(&self, kind: Kind) -> &Row {
        let rows = self.all(kind);
        assert_eq!(rows.len(), 1, "rows of kind {kind}");
        rows[0]
    }

    #[track_caller]
    pub(crate) fn tool(&self, call: &str) -> &Tool {
        self.rows()
            .iter()
            .rev()
            .find_map(|row| match &row.body {
                Body::Tool(tool) if tool.call == call => Some(&**tool),
                _ => None,
            })
            .expect("a tool of that call")
    }

    pub(crate) fn prompt(&mut self, key: &str, text: &str) {
        self.apply(prompt(key, text));
    }

    /// A prompt whose turn the client named.
    pub(crate) fn named_prompt(&mut self, key: &str, turn: &str, text: &str) {
        self.apply(Event::Prompt(Prompt {
            key,
            turn: Some(turn),
            content: Content::text(text),
            agent_ends_own_turns: true,
        }));
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.apply(say(text));
    }

    pub(crate) fn think(&mut self, text: &str) {
        self.apply(think(text));
    }

    pub(crate) fn tool_is(&mut self, call: &str, status: ToolStatus) {
        self.apply(update(call, status));
    }

    pub(crate) fn ends(&mut self, key: &str) {
        self.apply(answer(key, End::Completed));
    }

    pub(crate) fn stop(&mut self) {
        self.apply(Event::Stop);
    }

    pub(crate) fn exit(&mut self, code: i64) {
        self.apply(exit(code));
    }
}

pub(crate) fn prompt<'a>(key: &'a str, text: &str) -> Event<'a> {
    Event::Prompt(Prompt {
        key,
        turn: None,
        content: Content::text(text),
        agent_ends_own_turns: false,
    })
}

pub(crate) fn answer(key: &str, end: End) -> Event<'_> {
    Event::Answer {
        key,
        answer: PromptAnswer::Ended(Ending::of(end)),
    }
}

pub(crate) fn error<'a>(key: &'a str, words: &'a str) -> Event<'a> {
    Event::Answer {
        key,
        answer: PromptAnswer::Error(failure(words)),
    }
}

pub(crate) fn failure(words: &str) -> Failure<'_> {
    Failure {
        words: Some(words.into()).filter(|w: &std::borrow::Cow<'_, str>| !w.is_empty()),
        ..Failure::default()
    }
}

pub(crate) const fn text<'a>(channel: Channel, message: Option<&'a str>, text: &'a str) -> Text<'a> {
    Text {
        turn: None,
        channel,
        message,
        mark: None,
        text,
    }
}

pub(crate) fn say(words: &str) -> Event<'_> {
    Event::Text(text(Channel::Assistant, None, words))
}

pub(crate) fn think(words: &str) -> Event<'_> {
    Event::Text(text(Channel::Reasoning, None, words))
}

/// A piece of a message with an id.
pub(crate) fn say_as<'a>(message: &'a str, words: &'a str) -> Event<'a> {
    Event::Text(text(Channel::Assistant, Some(message), words))
}

/// A piece that names its turn.
pub(crate) fn say_in<'a>(turn: &'a str, words: &'a str) -> Event<'a> {
    Event::Text(Text {
        turn: Some(turn),
        ..text(Channel::Assistant, None, words)
    })
}

pub(crate) fn tool(news: ToolNews<'_>) -> Event<'_> {
    Event::Tool(Box::new(news))
}

/// An announcement.
pub(crate) fn call(id: &str) -> Event<'_> {
    tool(ToolNews {
        call: id,
        announced: true,
        ..ToolNews::default()
    })
}

pub(crate) fn update(id: &str, status: ToolStatus) -> Event<'_> {
    tool(ToolNews {
        call: id,
        status: Some(status),
        ..ToolNews::default()
    })
}

pub(crate) fn ask<'a>(key: &'a str, call: Option<&'a str>) -> Event<'a> {
    Event::Request(Box::new(request(key, call)))
}

pub(crate) fn request<'a>(key: &'a str, call: Option<&'a str>) -> RequestNews<'a> {
    let option = |id: &str, kind: &str| Choice {
        id: id.to_owned(),
        label: None,
        kind: Some(kind.to_owned()),
    };
    RequestNews {
        key,
        ask: Ask::Permission,
        turn: None,
        call,
        title: None,
        text: None,
        tool_kind: None,
        input: None,
        content: Vec::new(),
        locations: Vec::new(),
        options: vec![option("yes", "allow_once"), option("no", "reject_once")],
        questions: Vec::new(),
        producer: None,
    }
}

pub(crate) fn settle(key: &str, outcome: Outcome) -> Event<'_> {
    Event::Settled {
        key,
        outcome,
        answer: None,
    }
}

pub(crate) fn plan(entries: &[(&str, &str)]) -> Event<'static> {
    let entry = |(text, status): &(&str, &str)| PlanEntry {
        text: (*text).to_owned(),
        status: (*status).to_owned(),
        priority: None,
    };
    Event::Plan(PlanNews {
        turn: None,
        plan: None,
        body: PlanBody::Entries(entries.iter().map(entry).collect()),
    })
}

pub(crate) fn task(id: &str, state: WorkState) -> Event<'_> {
    Event::Task(TaskNews {
        task: id.into(),
        kind: Some(TaskKind::Command),
        state: Some(state),
        ..TaskNews::default()
    })
}

pub(crate) fn helper(id: &str, state: WorkState) -> Event<'_> {
    Event::Helper(HelperNews {
        helper: id.into(),
        state: Some(state),
        ..HelperNews::default()
    })
}

pub(crate) fn context(used: u64, size: u64) -> Event<'static> {
    Event::Context {
        turn: None,
        context: Context {
            used: Some(used),
            size: Some(size),
        },
        replay: false,
    }
}

pub(crate) fn user_piece<'a>(message: Option<&'a str>, words: &str) -> Event<'a> {
    Event::UserPiece {
        turn: None,
        message,
        part: Part::Text {
            text: words.to_owned(),
        },
    }
}

pub(crate) fn ended(turn: Option<&str>, end: End) -> Event<'_> {
    Event::TurnEnded(TurnEnded {
        turn,
        ending: Ending::of(end),
    })
}

pub(crate) fn started(turn: &str) -> Event<'_> {
    Event::TurnStarted {
        turn,
        own: Some(true),
        at: None,
    }
}

pub(crate) fn exit(code: i64) -> Event<'static> {
    Event::Detached(Detached {
        exit: Some(Exit {
            code: Some(code),
            ..Exit::default()
        }),
    })
}

pub(crate) fn record_ends() -> Event<'static> {
    Event::Detached(Detached { exit: None })
}

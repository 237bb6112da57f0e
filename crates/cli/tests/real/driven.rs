//! A real agent that Tapline itself hosts, in this process, with the journal of a [`World`].
//!
//! What is wanted goes in as intents, and what happened comes out as rows, as for any program beside the one that hosts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tapline_agent::catalogue::Launch;
use tapline_agent::host::{Begin, HostOptions, Hosted, Offer, Over, StartError, intent};
use tapline_journal::{
    Home, IntentId, IntentQuery, IntentState, Journal, NewIntent, SqliteJournal, Watch, Window,
};
use tapline_recorder::{Direction, Recorded, TapeRecord};
use tapline_timeline::{Json, SessionId};

use crate::timeline::Timeline;
use crate::world::{World, read_data};

/// A safety net only: nothing waits for it unless it fails.
const LONG: Duration = Duration::from_secs(120);

/// One look at the journal.
const LOOK: Duration = Duration::from_millis(20);

/// The prompt that names a part of the script.
pub(crate) fn words(scenario: &str) -> String {
    format!("Please do your part. SCENARIO:{scenario}")
}

impl World {
    /// The journal, as this process has it.
    pub(crate) fn open(&self) -> Arc<dyn Journal> {
        Arc::new(SqliteJournal::open(&Home::at(self.journal())).expect("a journal"))
    }

    /// How the agent is hosted. It gets an environment that has nothing of the machine's own.
    fn options(&self) -> HostOptions {
        let mut command = vec!["/usr/bin/env".to_owned(), "-i".to_owned()];
        let variables = self.surroundings().into_iter().chain(self.variables());
        command.extend(variables.map(|(name, value)| format!("{name}={value}")));
        command.extend(self.words());
        let cwd = self.project().canonicalize().expect("a folder");
        let launch = Launch::from_words(command).expect("a command");
        let mut options = HostOptions::new(&self.name, launch, cwd);
        options.guard = Some(vec![env!("CARGO_BIN_EXE_tapline").into(), "__guard".into()]);
        options
    }

    /// One prompt by a command of `tapline` that starts the agent; what it prints.
    pub(crate) fn drive(&self, arguments: &[&str], scenario: &str) -> String {
        let prompt = words(scenario);
        let agent = self.words();
        let mut all: Vec<&str> = arguments.to_vec();
        all.extend([prompt.as_str(), "--"]);
        all.extend(agent.iter().map(String::as_str));
        self.tapline_with(&all, self.variables())
    }

    /// The session that was begun last.
    pub(crate) fn newest(&self) -> SessionId {
        let list = self.tapline(&["list", "--json"]);
        let newest = parsed(list.lines().next().expect("a session"));
        SessionId::from(newest["id"].as_str().expect("an id"))
    }

    /// Begins a session.
    pub(crate) fn host(&self) -> Driven {
        let begun = self.begin(Begin::New);
        begun.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Goes on with a session, in a process of its own.
    pub(crate) fn host_again(&self, session: &SessionId, afresh: bool) -> Result<Driven, StartError> {
        let entry = self.open().session(session).expect("read").expect("it is there");
        let provider = entry.session.provider_session.expect("the agent gave it an id");
        self.begin(Begin::Resume {
            session: session.clone(),
            provider,
            afresh,
        })
    }

    /// As [`World::host`], told how.
    pub(crate) fn begin(&self, begin: Begin) -> Result<Driven, StartError> {
        let journal = self.open();
        let mut options = self.options();
        options.begin = begin;
        let hosted = Hosted::start(Arc::clone(&journal), options)?;
        let id = hosted.session(LONG)?;
        Ok(Driven {
            name: self.name.clone(),
            journal,
            hosted,
            id,
        })
    }
}

/// A hosted session that has begun.
pub(crate) struct Driven {
    name: String,
    journal: Arc<dyn Journal>,
    hosted: Hosted,
    pub(crate) id: SessionId,
}

impl Driven {
    /// Wants something.
    pub(crate) fn post(&self, kind: &str, payload: &Value) -> IntentId {
        let wanted = NewIntent {
            session: self.id.clone(),
            kind: kind.to_owned(),
            payload: Json::of(payload).expect("JSON"),
            by: "test".to_owned(),
        };
        self.journal.post_intent(&wanted).expect("posted").id
    }

    /// Sends the prompt of a scenario.
    pub(crate) fn prompt(&self, scenario: &str) -> IntentId {
        self.post(intent::PROMPT, &json!({ "text": words(scenario) }))
    }

    /// Sends the prompt of a scenario and waits for the end of its turn.
    pub(crate) fn ask(&self, scenario: &str) -> Value {
        let sent = self.prompt(scenario);
        self.ended(scenario, sent)
    }

    /// The end of the turn of a prompt that was sent.
    pub(crate) fn ended(&self, scenario: &str, sent: IntentId) -> Value {
        let outcome = self.outcome(scenario, sent);
        let turn = outcome["turn"].clone();
        assert!(turn.is_string(), "{}: {scenario}: {outcome}", self.name);
        self.until(&format!("the turn of {scenario} ends"), |told| {
            let row = told.rows.iter().find(|row| row["id"] == turn)?;
            row["end"].is_string().then(|| row.clone())
        })
    }

    /// Answers a request that waits, by the kind of the option.
    pub(crate) fn choose(&self, request: &Value, kind: &str) -> Value {
        let options = request["options"].as_array().expect("options");
        let option = options
            .iter()
            .find(|option| option["kind"] == kind)
            .unwrap_or_else(|| panic!("{}: no option of kind {kind}: {request}", self.name));
        self.answer(json!({ "request": request["id"], "option": option["id"] }))
    }

    /// Answers a request.
    pub(crate) fn answer(&self, payload: Value) -> Value {
        let posted = self.post(intent::ANSWER, &payload);
        self.outcome("an answer", posted)
    }

    /// Sets something.
    pub(crate) fn set(&self, payload: &Value) -> Value {
        let posted = self.post(intent::SET_OPTION, payload);
        self.outcome("a setting", posted)
    }

    /// The next request that waits.
    pub(crate) fn request(&self, what: &str) -> Value {
        self.until(&format!("{what} asks"), |told| {
            let waits = |row: &&Value| row["kind"] == "request" && row["state"] == "pending";
            told.rows.iter().find(waits).cloned()
        })
    }

    /// What became of an intent, once that is said.
    pub(crate) fn outcome(&self, what: &str, id: IntentId) -> Value {
        let query = IntentQuery {
            after: Some(IntentId(id.0 - 1)),
            limit: 1,
            ..IntentQuery::default()
        };
        let said = || {
            let intent = self.journal.intents(&query).expect("read").remove(0);
            let done = matches!(intent.state, IntentState::Done | IntentState::Withdrawn);
            done.then(|| {
                intent
                    .outcome
                    .map_or(Value::Null, |outcome| parsed(outcome.as_str()))
            })
        };
        self.wait(&format!("what became of {what}"), said)
    }

    /// Waits until the timeline says something.
    pub(crate) fn until<T>(&self, what: &str, said: impl Fn(&Timeline) -> Option<T>) -> T {
        self.wait(what, || said(&self.told()))
    }

    fn wait<T>(&self, what: &str, said: impl Fn() -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            let mark = self.journal.mark();
            if let Some(found) = said() {
                return found;
            }
            if since.elapsed() > LONG || self.hosted.is_over() {
                self.told().print();
                let over = if self.hosted.is_over() {
                    "; the process ended"
                } else {
                    ""
                };
                panic!("{}: {what}: never{over}", self.name);
            }
            let _ = self.journal.wait(&Watch::Any(mark), LOOK);
        }
    }

    /// The rows so far.
    pub(crate) fn told(&self) -> Timeline {
        told(&self.name, &*self.journal, &self.id)
    }

    /// What the agent offers.
    pub(crate) fn offer(&self) -> Offer {
        self.hosted.standing().offer
    }

    /// Waits until the agent offers something.
    pub(crate) fn until_offered(&self, what: &str, said: impl Fn(&Offer) -> bool) -> Offer {
        self.wait(what, || Some(self.offer()).filter(&said))
    }

    /// The process has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        !self.hosted.is_over()
    }

    /// The frames so far, as they stand on the tape of the newest process.
    pub(crate) fn frames(&self) -> Vec<(Direction, Value)> {
        let generations = self.journal.generations(&self.id).expect("read");
        frames(&*self.journal, &generations.last().expect("one").connection)
    }

    /// Ends the session in order.
    pub(crate) fn close(self) -> Over {
        if std::env::var_os("TAPLINE_SHOW").is_some() {
            self.told().print();
            for (direction, frame) in self.frames() {
                let way = if direction == Direction::Out { ">" } else { "<" };
                let frame: String = frame.to_string().chars().take(3000).collect();
                eprintln!("{} {way} {frame}", self.name);
            }
        }
        self.hosted.close();
        let over = self.hosted.join();
        assert_eq!(over.trouble, None, "{}", self.name);
        over
    }
}

/// The rows of a session.
pub(crate) fn told(name: &str, journal: &dyn Journal, session: &SessionId) -> Timeline {
    let rows = journal.rows(session, Window::From(1, 100_000)).expect("read");
    let value = |row: &Arc<tapline_timeline::Row>| serde_json::to_value(&**row).expect("JSON");
    Timeline {
        agent: name.to_owned(),
        rows: rows.iter().map(value).collect(),
        script: read_data("script.json"),
    }
}

fn frames(journal: &dyn Journal, connection: &str) -> Vec<(Direction, Value)> {
    let (mut found, mut next) = (Vec::new(), 1);
    loop {
        let inputs = journal.read_tape(connection, next, 1000).expect("read");
        let Some(last) = inputs.last() else {
            return found;
        };
        next = last.number + 1;
        for input in &inputs {
            let record = TapeRecord::decode(input.number, input.at, &input.bytes).expect("a record");
            if let Recorded::Line(direction, line) = &record.what {
                found.push((*direction, serde_json::from_str(line).unwrap_or(Value::Null)));
            }
        }
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

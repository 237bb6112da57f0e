//! One hosted session under test: the scripted agent, a journal of its own, and what a person or program would do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tapline_agent::catalogue::Launch;
use tapline_agent::host::{Begin, HostOptions, Hosted, StartError, intent};
use tapline_journal::{
    Home, Intent, IntentId, IntentQuery, IntentState, Journal, NewIntent, SqliteJournal, SqliteOptions,
    Watch, Window,
};
use tapline_timeline::{Body, End, Json, Kind, RequestState, Row, Session, SessionId};

/// A safety net only: nothing waits for it unless it fails.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A binary that cargo has built beside the one of this crate.
pub(crate) fn built(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_tapline-wrap")).with_file_name(name);
    assert!(
        path.exists(),
        "{} is built first: cargo build -p tapline-testkit",
        path.display()
    );
    path
}

pub(crate) fn guard() -> Vec<std::ffi::OsString> {
    vec![env!("CARGO_BIN_EXE_tapline-wrap").into(), "__guard".into()]
}

/// A place for journals, scripts and working folders.
pub(crate) struct Rig {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) journal: Arc<dyn Journal>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(SqliteOptions::default())
    }

    /// One whose journal is opened with options.
    pub(crate) fn with(options: SqliteOptions) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("work")).expect("a working folder");
        let home = Home::at(dir.path().join("home"));
        let journal = SqliteJournal::open_with(&home, options).expect("a journal");
        Self {
            dir,
            journal: Arc::new(journal),
        }
    }

    /// Where the journal is.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Another view of the same journal, as another process has it.
    pub(crate) fn other(&self) -> Arc<dyn Journal> {
        Arc::new(SqliteJournal::open(&Home::at(self.home())).expect("a journal"))
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.dir
            .path()
            .join("work")
            .canonicalize()
            .expect("a working folder")
    }

    /// Options for the scripted agent with this scenario.
    pub(crate) fn options(&self, scenario: &str) -> HostOptions {
        let script = self.dir.path().join("script.toml");
        std::fs::write(&script, scenario).expect("the script is written");
        self.command(&[
            built("scripted-agent").to_str().expect("a path in UTF-8"),
            "--state",
            self.dir.path().join("state").to_str().expect("a path in UTF-8"),
            script.to_str().expect("a path in UTF-8"),
        ])
    }

    /// Options for any command.
    pub(crate) fn command(&self, command: &[&str]) -> HostOptions {
        let launch = Launch::from_words(command).expect("a command");
        let mut options = HostOptions::new("scripted", launch, self.cwd());
        options.guard = Some(guard());
        options
    }

    /// Options that go on with a session.
    pub(crate) fn resume(&self, scenario: &str, session: &Session, afresh: bool) -> HostOptions {
        let mut options = self.options(scenario);
        options.begin = Begin::Resume {
            session: session.id.clone(),
            provider: session.provider_session.clone().expect("the agent gave it an id"),
            afresh,
        };
        options
    }

    /// A session that has begun.
    pub(crate) fn start(&self, scenario: &str) -> Chat {
        self.begin(self.options(scenario)).expect("the session begins")
    }

    /// A session, whoever holds it.
    pub(crate) fn talk(&self, id: &SessionId) -> Talk {
        Talk {
            journal: Arc::clone(&self.journal),
            id: id.clone(),
        }
    }

    pub(crate) fn begin(&self, options: HostOptions) -> Result<Chat, StartError> {
        let hosted = Hosted::start(Arc::clone(&self.journal), options)?;
        let id = hosted.session(LONG)?;
        let talk = self.talk(&id);
        Ok(Chat { hosted, talk })
    }
}

/// A session that this process holds.
pub(crate) struct Chat {
    pub(crate) hosted: Hosted,
    pub(crate) talk: Talk,
}

impl Chat {
    /// Ends the session in order.
    pub(crate) fn close(self) -> tapline_agent::host::Over {
        self.hosted.close();
        self.hosted.join()
    }
}

impl std::ops::Deref for Chat {
    type Target = Talk;

    fn deref(&self) -> &Talk {
        &self.talk
    }
}

/// A session that has begun, as anyone with the journal sees it.
pub(crate) struct Talk {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) id: SessionId,
}

impl Talk {
    pub(crate) fn post(&self, kind: &str, payload: Value) -> IntentId {
        post(&*self.journal, &self.id, kind, payload, "test")
    }

    pub(crate) fn prompt(&self, text: &str) -> IntentId {
        self.post(intent::PROMPT, json!({ "text": text }))
    }

    pub(crate) fn steer(&self, text: &str) -> IntentId {
        self.post(intent::PROMPT, json!({ "text": text, "steer": true }))
    }

    pub(crate) fn stop(&self) -> IntentId {
        self.post(intent::STOP, json!({}))
    }

    pub(crate) fn answer(&self, row: &Row, option: &str) -> IntentId {
        self.post(intent::ANSWER, json!({ "request": row.id, "option": option }))
    }

    /// Sends a prompt and waits for the end of its turn.
    pub(crate) fn ask(&self, text: &str) -> Arc<Row> {
        let sent = self.prompt(text);
        let outcome = self.outcome(sent);
        let turn = outcome["turn"]
            .as_str()
            .unwrap_or_else(|| panic!("no turn in {outcome}"))
            .to_owned();
        self.until("the turn ends", move |rows| {
            let row = rows.iter().find(|row| row.id.as_str() == turn)?;
            matches!(&row.body, Body::Turn(turn) if turn.end.is_some()).then(|| Arc::clone(row))
        })
    }

    /// What became of an intent, once that is said.
    pub(crate) fn outcome(&self, id: IntentId) -> Value {
        let intent = self.settled(id);
        let outcome = intent
            .outcome
            .unwrap_or_else(|| panic!("intent {id} has no outcome: {:?}", intent.state));
        serde_json::from_str(outcome.as_str()).expect("JSON")
    }

    /// An intent that is done or withdrawn.
    pub(crate) fn settled(&self, id: IntentId) -> Intent {
        let since = Instant::now();
        loop {
            let intent = find(&*self.journal, id);
            if matches!(intent.state, IntentState::Done | IntentState::Withdrawn) {
                return intent;
            }
            assert!(
                since.elapsed() < LONG,
                "intent {id} ({}) is still {}\n{}",
                intent.kind,
                intent.state,
                self.told()
            );
            let mark = self.journal.mark();
            let _ = self.journal.wait(&Watch::Any(mark), Duration::from_millis(20));
        }
    }

    pub(crate) fn rows(&self) -> Vec<Arc<Row>> {
        self.journal
            .rows(&self.id, Window::From(1, 100_000))
            .expect("the rows can be read")
    }

    /// Waits until the rows say something.
    pub(crate) fn until<T>(&self, what: &str, said: impl Fn(&[Arc<Row>]) -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            let rows = self.rows();
            if let Some(found) = said(&rows) {
                return found;
            }
            assert!(since.elapsed() < LONG, "{what}: never\n{}", self.told());
            let mark = self.journal.mark();
            let _ = self.journal.wait(&Watch::Any(mark), Duration::from_millis(20));
        }
    }

    /// Waits until the turns have ended so.
    pub(crate) fn until_ended(&self, wanted: &[End]) {
        self.until(&format!("the turns end {wanted:?}"), |rows| {
            let ends = ends(rows).into_iter();
            ends.eq(wanted.iter().copied().map(Some)).then_some(())
        });
    }

    /// The first request that waits.
    pub(crate) fn request(&self) -> Arc<Row> {
        self.until("a request waits", |rows| {
            let waits =
                |row: &&Arc<Row>| matches!(&row.body, Body::Request(r) if r.state == RequestState::Pending);
            rows.iter().find(waits).cloned()
        })
    }

    /// Waits until the agent has said this.
    pub(crate) fn says(&self, words: &str) {
        self.until(words, |rows| {
            texts(rows, Kind::Assistant)
                .iter()
                .any(|t| t.contains(words))
                .then_some(())
        });
    }

    pub(crate) fn session(&self) -> Session {
        self.journal
            .session(&self.id)
            .expect("it can be read")
            .expect("it is there")
            .session
    }

    /// The timeline in short, for a person who reads a failure.
    pub(crate) fn told(&self) -> String {
        let rows = self.rows();
        let lines = rows
            .iter()
            .map(|row| serde_json::to_string(&**row).expect("a row is JSON"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

pub(crate) fn post(
    journal: &dyn Journal,
    session: &SessionId,
    kind: &str,
    payload: Value,
    by: &str,
) -> IntentId {
    let intent = NewIntent {
        session: session.clone(),
        kind: kind.to_owned(),
        payload: Json::of(&payload).expect("a payload is JSON"),
        by: by.to_owned(),
    };
    journal.post_intent(&intent).expect("the intent is posted").id
}

pub(crate) fn find(journal: &dyn Journal, id: IntentId) -> Intent {
    let query = IntentQuery {
        after: Some(IntentId(id.0 - 1)),
        limit: 1,
        ..IntentQuery::default()
    };
    journal.intents(&query).expect("intents can be read").remove(0)
}

/// The texts of all rows of a kind.
pub(crate) fn texts(rows: &[Arc<Row>], kind: Kind) -> Vec<String> {
    let text = |row: &Arc<Row>| match &row.body {
        Body::User(user) => Some(user.content.as_text().to_owned()),
        Body::Assistant(message) | Body::Reasoning(message) => Some(message.content.as_text().to_owned()),
        Body::Status(status) => Some(status.text.clone()),
        _ => None,
    };
    rows.iter()
        .filter(|row| row.kind() == kind)
        .filter_map(text)
        .collect()
}

/// How the turns ended, in order; nothing for one that runs.
pub(crate) fn ends(rows: &[Arc<Row>]) -> Vec<Option<End>> {
    let end = |row: &Arc<Row>| match &row.body {
        Body::Turn(turn) => Some(turn.end),
        _ => None,
    };
    rows.iter().filter_map(end).collect()
}

/// Where a request stands: its state, its outcome, and who answered it.
pub(crate) fn request_of(
    journal: &dyn Journal,
    row: &tapline_timeline::RowId,
) -> (RequestState, Option<tapline_timeline::Outcome>, Option<String>) {
    let row = journal.row(row).expect("it can be read").expect("it is there");
    let Body::Request(request) = &row.body else {
        panic!("no request: {row:?}")
    };
    let by = request.answer.as_ref().and_then(|answer| answer.by.clone());
    (request.state, request.outcome, by)
}

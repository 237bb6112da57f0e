//! The loop: takes what comes from the agent, from people and from the clock, one thing after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, Sender, never, select};
use tapline_journal::{Intent, Journal, Mode};
use tapline_recorder::{Direction, Recorder};
use tapline_timeline::{Body, Json, RequestState, Row, SessionId, Time};
use tapline_wire::client::{self, INVALID_REQUEST};
use tapline_wire::{Frame, Id, Line, LineReader, OwnedId, Params, RawValue};

use super::news::{Ask, News};
use super::peer::{CallError, Lost, Peer};
use super::process::{Output, Process, Refused, Withdrawn};
use super::requests::Open;
use super::seen::{Observed, Seen};
use super::services::Services;
use super::set_up::{Agent, Stage};
use super::turns::Turns;
use super::{HostOptions, Over, Standing, StartError};
use crate::archive::{ArchiveOptions, JournalArchive, JournalLedger};
use crate::wrap::{End, Ledger as _, Trouble};

/// The name of the one connection that a hosted session has.
pub(super) const CONNECTION: &str = "";

/// How long writing an input may wait at once for a journal that is behind.
const JOURNAL_PATIENCE: Duration = Duration::from_secs(1);

/// How often what the journal refused is tried again.
pub(super) const RETRY: Duration = Duration::from_millis(250);

/// How many lines of standard error are remembered as last words, and how long each may be.
const LAST_WORDS: (usize, usize) = (20, 512);

/// Longest line of standard error, in bytes.
const ERROR_LINE: usize = 64 << 10;

/// How long after the agent's end its outputs are read: while they are quiet, and at most.
const DRAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// How long an agent may take to leave once its input has ended.
const LEAVE: Duration = Duration::from_secs(2);

/// What a call of ours is for.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    Initialize,
    Authenticate,
    New,
    Load,
    Resume,
    Prompt,
    Set(Box<Setting>),
    ProbeWork(Box<Intent>, String),
    StopWork(Box<Intent>, String),
    Ask(Box<Ask>),
    CloseSession,
}

/// Something that is being set.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) intent: Intent,
    pub(super) wanted: super::intent::SetOption,
    /// How often the agent had told of its settings when it was asked.
    pub(super) told: u64,
}

/// One hosted session.
pub(super) struct Desk {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) options: HostOptions,
    pub(super) tell: Sender<News>,
    /// Those who work for the loop look whether it is still there.
    pub(super) alive: Arc<()>,
    news: Receiver<News>,
    output: Receiver<Output>,
    pub(super) begun: Option<Sender<Result<SessionId, StartError>>>,
    standing: Arc<Mutex<Standing>>,
    /// How often the agent has told of its mode or its options by itself.
    pub(super) settings_told: u64,
    pub(super) recorder: Recorder<Observed<JournalLedger>>,
    pub(super) process: Process,
    pub(super) peer: Peer<Purpose, Open>,
    reader: LineReader,
    errors: LineReader,
    last_words: VecDeque<String>,
    pub(super) stage: Stage,
    pub(super) agent: Agent,
    pub(super) session: Option<SessionId>,
    pub(super) provider: Option<String>,
    pub(super) turns: Turns,
    /// Requests that the rows of the line at hand ask.
    asked: Option<Arc<Row>>,
    /// Requests whose rows have settled while the agent waits.
    pub(super) settled: Vec<OwnedId>,
    /// Intents that could not be looked at yet.
    pub(super) early: VecDeque<Intent>,
    /// Lines that wait until what is before them is saved.
    unsaved: VecDeque<(Option<i64>, String)>,
    /// Outcomes that the journal has not taken yet.
    outcomes: VecDeque<(Intent, Json)>,
    pub(super) retry: Option<Instant>,
    exit: Option<End>,
    /// When the agent ended, and when it was heard of last since.
    ended: Option<(Instant, Instant)>,
    outputs: u8,
    closing: Option<Closing>,
    /// What somebody wants to know of an agent that is not set up yet.
    asks: Vec<Ask>,
    pub(super) services: Services,
}

/// How far the end of the session has come.
#[derive(Debug, Clone, Copy)]
enum Closing {
    /// What runs is being stopped.
    Stopping,
    /// The agent is told, where it wants to be.
    Parting,
    /// The agent's input has ended; if it stays, its process is ended.
    Leaving(Instant),
}

impl Desk {
    pub(super) fn new(
        journal: Arc<dyn Journal>,
        options: HostOptions,
        tell: Sender<News>,
        news: Receiver<News>,
        begun: Sender<Result<SessionId, StartError>>,
        standing: Arc<Mutex<Standing>>,
    ) -> Result<Self, StartError> {
        let connection = uuid::Uuid::now_v7().simple().to_string();
        let archive = JournalArchive::new(
            Arc::clone(&journal),
            ArchiveOptions {
                mode: Mode::Hosted,
                agent: Some(options.name.clone()),
                origin: None,
                patience: Some(JOURNAL_PATIENCE),
                resume: options.begin.session().cloned(),
            },
        );
        let ledger = archive.ledger(&connection);
        let ledger = ledger.map_err(|error| StartError::Journal(error.to_string()))?;
        let rules = tapline_recorder::default_rules().with_secrets(&options.secrets);
        let recorder = Recorder::new(Observed::new(ledger), Some(&options.name))
            .with_seed(&connection)
            .with_rules(rules);
        let services = Services::open(&options)?;
        let guard = options.guard.as_deref();
        let (process, output) =
            Process::start(&options.launch, &options.cwd, guard, &tell).map_err(|error| {
                StartError::Spawn {
                    program: options.launch.program.to_string_lossy().into_owned(),
                    why: error.to_string(),
                }
            })?;
        Ok(Self {
            agent: Agent::named(&options.name),
            journal,
            options,
            tell,
            alive: Arc::new(()),
            news,
            output,
            begun: Some(begun),
            standing,
            settings_told: 0,
            recorder,
            process,
            peer: Peer::new(),
            reader: LineReader::new(),
            errors: LineReader::with_limit(ERROR_LINE),
            last_words: VecDeque::new(),
            stage: Stage::Start,
            session: None,
            provider: None,
            turns: Turns::default(),
            asked: None,
            settled: Vec::new(),
            early: VecDeque::new(),
            unsaved: VecDeque::new(),
            outcomes: VecDeque::new(),
            retry: None,
            exit: None,
            ended: None,
            outputs: 2,
            closing: None,
            asks: Vec::new(),
            services,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid
    }

    /// Works until the agent is gone and all is saved.
    pub(super) fn run(mut self) -> Over {
        self.initialize();
        while !self.is_done() {
            let now = Instant::now();
            self.tick(now);
            let wait = self
                .next_deadline()
                .map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(now));
            // What is not saved yet may fail to be; nothing else would tell of that.
            let wait = if self.recorder.store().store.is_saved() {
                wait
            } else {
                wait.min(RETRY)
            };
            let deaf = never();
            let output = if self.reads() { &self.output } else { &deaf };
            select! {
                recv(output) -> piece => match piece {
                    Ok(piece) => self.output(piece),
                    Err(_) => self.outputs = 0,
                },
                recv(self.news) -> news => match news {
                    Ok(news) => self.news(news),
                    // We hold a sender ourselves.
                    Err(_) => break,
                },
                default(wait) => {}
            }
        }
        self.finish()
    }

    /// Whether what the agent says is taken: not while it could not be recorded.
    fn reads(&self) -> bool {
        self.outputs > 0 && self.trouble().is_none()
    }

    /// What is in the way of the record.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.recorder.store().store.trouble()
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_done(&self) -> bool {
        let Some((ended, heard)) = self.ended else {
            return false;
        };
        self.outputs == 0 || heard.elapsed() >= DRAIN.0 || ended.elapsed() >= DRAIN.1
    }

    /// Whether the session is on its way to its end.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some() || self.exit.is_some()
    }

    /// Whether somebody has asked for the end.
    pub(super) fn is_given_up(&self) -> bool {
        self.closing.is_some()
    }

    // --- What comes ---

    fn output(&mut self, piece: Output) {
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

    fn bytes(&mut self, bytes: &[u8]) {
        let mut reader = std::mem::take(&mut self.reader);
        reader.push(bytes, |line| self.line(line));
        self.reader = reader;
    }

    fn error_line(&mut self, line: Line<'_>) {
        let (Line::Text(text) | Line::TooLong { prefix: text, .. }) = line;
        self.recorder.stderr(CONNECTION, &text, now());
        self.see();
        let mut cut = text.len().min(LAST_WORDS.1);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
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

    fn line(&mut self, line: Line<'_>) {
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

    fn frame(&mut self, line: &str) {
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
    fn too_long(&mut self, prefix: &str, bytes: u64) {
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

    fn news(&mut self, news: News) {
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

    // --- What goes ---

    /// Sends a line, recorded.
    pub(super) fn send(&mut self, call: Option<i64>, line: String) {
        self.recorder.line(CONNECTION, Direction::Out, &line, now());
        self.see();
        if self.unsaved.is_empty() {
            self.push(call, &line);
        } else {
            self.unsaved.push_back((call, line));
        }
    }

    /// Sends a line once it is saved that it is sent.
    pub(super) fn send_saved(&mut self, call: Option<i64>, line: String) {
        self.recorder.line(CONNECTION, Direction::Out, &line, now());
        self.see();
        self.unsaved.push_back((call, line));
        self.send_unsaved();
    }

    fn send_unsaved(&mut self) {
        if self.unsaved.is_empty() {
            return;
        }
        if !self.save() {
            return;
        }
        while let Some((call, line)) = self.unsaved.pop_front() {
            self.push(call, &line);
        }
    }

    /// Waits until all that is recorded is saved; what cannot be saved now is tried again later.
    pub(super) fn save(&mut self) -> bool {
        // A journal in trouble goes on trying by itself; waiting for it here would only hold the loop up.
        let saved = self.trouble().is_none() && self.recorder.store_mut().store.save().is_ok();
        if !saved {
            self.retry_soon();
        }
        saved
    }

    fn push(&mut self, call: Option<i64>, line: &str) {
        if let Err(refused) = self.process.input.push(call, line)
            && let Some(call) = call
        {
            self.not_sent(call, refused);
        }
    }

    /// A call does not reach the agent.
    fn not_sent(&mut self, call: i64, refused: Refused) {
        let why = match refused {
            Refused::Full => "the agent does not read what it is sent",
            Refused::TooLong => "it is longer than the 16 MiB that a line may have",
            Refused::Closed => "the agent's input is closed",
        };
        let Some(call) = self.peer.forget(call) else {
            return;
        };
        let error = CallError::NotSent {
            method: call.method,
            why: why.to_owned(),
        };
        self.answered(call.purpose, Err(error));
    }

    /// Calls a method of the agent. `make` writes the line, given the id.
    pub(super) fn call(
        &mut self,
        method: &'static str,
        purpose: Purpose,
        limit: Option<Duration>,
        make: impl FnOnce(&Id<'_>) -> String,
    ) -> Option<i64> {
        let saved = matches!(purpose, Purpose::Prompt);
        match self.peer.call(method, purpose, limit, Instant::now()) {
            Ok(id) => {
                let line = make(&Id::Integer(id));
                if let Err(refused) = self.process.input.room(line.len()) {
                    // What is not sent does not stand in the record as sent.
                    self.not_sent(id, refused);
                    return None;
                }
                if saved {
                    self.send_saved(Some(id), line);
                } else {
                    self.send(Some(id), line);
                }
                Some(id)
            }
            Err(purpose) => {
                let why = "too many calls wait for the agent's answer".to_owned();
                self.answered(purpose, Err(CallError::NotSent { method, why }));
                None
            }
        }
    }

    /// Asks the agent for somebody outside the loop.
    fn ask(&mut self, ask: Ask) {
        if self.stage == Stage::Start {
            return self.asks.push(ask);
        }
        let (method, params, wait) = (ask.method, ask.params.clone(), ask.wait);
        self.call(method, Purpose::Ask(Box::new(ask)), Some(wait), |id| {
            client::request(id, method, &params)
        });
    }

    /// The agent is set up: what was asked of it before goes out.
    pub(super) fn ask_early(&mut self) {
        for ask in std::mem::take(&mut self.asks) {
            self.ask(ask);
        }
    }

    /// Notes on the tape what Tapline itself did.
    pub(super) fn did(&mut self, what: &serde_json::Value) {
        self.recorder.did(CONNECTION, &what.to_string(), now());
        self.see();
    }

    /// Says what became of a claimed intent.
    pub(super) fn outcome(&mut self, intent: &Intent, outcome: &serde_json::Value) {
        let Ok(outcome) = Json::of(outcome) else {
            return;
        };
        self.outcomes.push_back((intent.clone(), outcome));
        self.tell_outcomes();
    }

    fn tell_outcomes(&mut self) {
        // Whoever reads an outcome finds in the rows what it speaks of, also after a crash.
        if self.outcomes.is_empty() || !self.save() {
            return;
        }
        while let Some((intent, outcome)) = self.outcomes.front() {
            let generation = self.recorder.store().store.generation(&intent.session).cloned();
            let Some(generation) = generation else {
                self.outcomes.pop_front();
                continue;
            };
            match self.journal.finish_intent(intent.id, &generation, outcome) {
                Err(error) if passes(&error) => return self.retry_soon(),
                // Done, or no longer ours to say.
                _ => drop(self.outcomes.pop_front()),
            }
        }
    }

    // --- What the rows say ---

    /// Looks at what the input at hand has changed.
    fn see(&mut self) {
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

    // --- The clock ---

    fn tick(&mut self, now: Instant) {
        if self.retry.is_some_and(|at| at <= now) {
            self.retry = None;
            self.send_unsaved();
            self.tell_outcomes();
            self.withdraw_unwanted();
            for intent in std::mem::take(&mut self.early) {
                self.intent(intent);
            }
        }
        self.answer_settled();
        self.tell_begun();
        self.note_trouble(now);
        while let Some((id, after)) = self.peer.overdue(now) {
            let Some(call) = self.peer.forget(id) else { break };
            match self.process.input.withdraw(id) {
                Withdrawn::Unsent => {}
                // What comes next would stand behind half a line.
                Withdrawn::Half => self.process.end(),
                // An agent that can give it up may do so.
                Withdrawn::Sent => self.send(None, client::cancel_request(&Id::Integer(id))),
            }
            let method = call.method;
            self.answered(call.purpose, Err(CallError::TimedOut { method, after }));
        }
        self.stop_due(now);
        self.pump();
        self.closing_due(now);
    }

    fn note_trouble(&mut self, now: Instant) {
        let trouble = self.trouble();
        let text = trouble.as_ref().map(|t| {
            format!(
                "The record cannot be written, so no prompts are taken until it can: {}",
                t.text()
            )
        });
        if text.is_some() && self.retry.is_none() {
            self.retry = Some(now + RETRY);
        }
        {
            let mut standing = self.standing();
            if standing.trouble != text {
                standing.trouble = text;
            }
        }
        if let Some(Trouble::Lasting(why)) = trouble
            && self.closing.is_none()
        {
            // What cannot be recorded must not go on.
            if self.begun.is_some() {
                self.fail(StartError::Journal(why));
            }
            self.closing.get_or_insert(Closing::Parting);
            self.process.end();
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let drained = self
            .ended
            .map(|(ended, heard)| (heard + DRAIN.0).min(ended + DRAIN.1));
        let leaving = match self.closing {
            Some(Closing::Leaving(since)) => Some(since + LEAVE),
            _ => None,
        };
        [
            self.peer.next_limit(),
            self.turns.next_deadline(),
            self.retry,
            drained,
            leaving,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    // --- The end ---

    /// Begins the end in order.
    pub(super) fn close(&mut self) {
        if self.is_closing() {
            return;
        }
        self.closing = Some(Closing::Stopping);
        self.stop_for_close();
    }

    fn closing_due(&mut self, now: Instant) {
        match self.closing {
            Some(Closing::Stopping) if !self.turns.is_busy() => {
                self.closing = Some(Closing::Parting);
                if !self.say_goodbye() {
                    self.leave();
                }
            }
            Some(Closing::Leaving(since)) if now >= since + LEAVE => self.process.end(),
            _ => {}
        }
    }

    /// Ends the agent's input: it may leave by itself.
    fn leave(&mut self) {
        if matches!(self.closing, Some(Closing::Parting)) {
            self.closing = Some(Closing::Leaving(Instant::now()));
            self.process.input.close();
        }
    }

    fn finish(mut self) -> Over {
        let mut reader = std::mem::take(&mut self.reader);
        reader.finish(|line| self.line(line));
        match self.exit {
            Some(End::Code(code)) => self.recorder.exit(CONNECTION, Some(code.into()), None, now()),
            Some(End::Signal(signal)) => {
                let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
                self.recorder.exit(CONNECTION, None, Some(name), now());
            }
            None => self.recorder.close(),
        }
        self.see();
        let words = self.last_words();
        for call in self.peer.close() {
            let error = CallError::Closed {
                method: call.method,
                words: words.clone(),
            };
            self.answered(call.purpose, Err(error));
        }
        self.turns_over();
        self.send_unsaved();
        self.tell_outcomes();
        let (observed, _) = self.recorder.into_parts();
        let ended = observed.store.end();
        if let Some(begun) = self.begun.take() {
            let _ = begun.send(Err(StartError::GivenUp));
        }
        Over {
            end: self.exit,
            trouble: ended.err().map(|error| error.to_string()),
            words,
        }
    }

    fn answered(&mut self, purpose: Purpose, outcome: Result<&RawValue, CallError>) {
        match purpose {
            Purpose::Initialize | Purpose::Authenticate | Purpose::New | Purpose::Load | Purpose::Resume => {
                self.set_up_answered(&purpose, outcome);
            }
            Purpose::Prompt => self.prompt_answered(outcome.err()),
            Purpose::Set(setting) => self.setting_answered(&setting, outcome),
            Purpose::ProbeWork(intent, row) => self.work_probed(*intent, &row, outcome),
            Purpose::StopWork(intent, row) => self.work_stopped(&intent, &row, outcome),
            Purpose::Ask(ask) => {
                let read = |result: &RawValue| serde_json::from_str(result.get()).unwrap_or_default();
                let _ = ask.answer.send(outcome.map(read));
            }
            Purpose::CloseSession => self.leave(),
        }
    }

    /// Answers a request of the agent, which frees its id.
    pub(super) fn reply(&mut self, id: &OwnedId, line: String, saved: bool) {
        self.peer.reply(id);
        if saved {
            self.send_saved(None, line);
        } else {
            self.send(None, line);
        }
    }
}

/// Whether what the journal refused now can be tried again.
pub(super) fn passes(error: &tapline_journal::Error) -> bool {
    use tapline_journal::Error;
    matches!(
        error,
        Error::Full { .. } | Error::Locked { .. } | Error::Behind { .. }
    )
}

/// The time now, as it stands on a tape.
pub(super) fn now() -> Option<Time> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Time::At)
}

//! The loop: takes what comes from the agent, from people and from the clock, one thing after the other. What it hears stands
//! in `hearing`, what it sends in `sending`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, Sender, never, select};
use tapline_journal::{Intent, Journal, Mode};
use tapline_recorder::Recorder;
use tapline_timeline::{Json, Row, SessionId, Time};
use tapline_wire::client;
use tapline_wire::{Id, LineReader, OwnedId, RawValue};

use super::news::{Ask, News};
use super::peer::{CallError, Peer};
use super::process::{Output, Process, Withdrawn};
use super::requests::Open;
use super::seen::Observed;
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
    pub(super) news: Receiver<News>,
    pub(super) output: Receiver<Output>,
    pub(super) begun: Option<Sender<Result<SessionId, StartError>>>,
    pub(super) standing: Arc<Mutex<Standing>>,
    /// How often the agent has told of its mode or its options by itself.
    pub(super) settings_told: u64,
    pub(super) recorder: Recorder<Observed<JournalLedger>>,
    pub(super) process: Process,
    pub(super) peer: Peer<Purpose, Open>,
    pub(super) reader: LineReader,
    pub(super) errors: LineReader,
    pub(super) last_words: VecDeque<String>,
    pub(super) stage: Stage,
    pub(super) agent: Agent,
    pub(super) session: Option<SessionId>,
    pub(super) provider: Option<String>,
    pub(super) turns: Turns,
    /// Requests that the rows of the line at hand ask.
    pub(super) asked: Option<Arc<Row>>,
    /// Requests whose rows have settled while the agent waits.
    pub(super) settled: Vec<OwnedId>,
    /// Intents that could not be looked at yet.
    pub(super) early: VecDeque<Intent>,
    /// Lines that wait until what is before them is saved.
    pub(super) unsaved: VecDeque<(Option<i64>, String)>,
    /// Outcomes that the journal has not taken yet.
    pub(super) outcomes: VecDeque<(Intent, Json)>,
    pub(super) retry: Option<Instant>,
    pub(super) exit: Option<End>,
    /// When the agent ended, and when it was heard of last since.
    pub(super) ended: Option<(Instant, Instant)>,
    pub(super) outputs: u8,
    pub(super) closing: Option<Closing>,
    /// What somebody wants to know of an agent that is not set up yet.
    pub(super) asks: Vec<Ask>,
    pub(super) services: Services,
}

/// How far the end of the session has come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Closing {
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

    pub(super) fn answered(&mut self, purpose: Purpose, outcome: Result<&RawValue, CallError>) {
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

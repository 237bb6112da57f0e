//! The loop of a chat: looks at what has changed, draws, and waits for a key, a change or the clock.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{bounded, select};
use serde_json::{Value, json};
use tapline_agent::config::Config;
use tapline_agent::host::{Offer, intent};
use tapline_journal::{Intent, IntentId, Journal};
use tapline_render::clean;
use tapline_timeline::{Row, RowId, SessionId};

use super::command::{Command, OURS, Typed, read};
use super::dialogue::{Dialogue, Said};
use super::events::{Event, changes, listen};
use super::history::History;
use super::hosting::Host;
use super::screen::{Line, Screen, Tone, wrapped};
use super::told::Told;
use super::writer::{Act, Known, Writer};
use super::{Start, Which};
use crate::Outcome;
use crate::drive::queue;
use crate::drive::turn::{outcome, post};
use crate::failure::Failure;
use crate::journal::{find, wrap::secrets};
use crate::terminal::configured;

/// How long one look for changes waits; a change is seen at once.
const LOOK: Duration = Duration::from_millis(500);
/// How often the clock on the screen moves, and a start or an end is looked at.
const TICK: Duration = Duration::from_millis(100);
/// A prompt that nobody holds up goes out at once; one that is younger than this is not told to wait.
const AT_ONCE: Duration = Duration::from_millis(400);

/// What was wanted, to tell what became of it.
pub(super) enum Wanted {
    Prompt(String),
    Answer(RowId),
    Stop,
    Kill,
    /// Something is set: its name and its value, where that is told.
    Set(String),
}

/// How the chat ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// Somebody has had enough.
    Done,
    /// Somebody could not wait.
    Interrupted,
}

pub(super) struct Talk<'a> {
    pub(super) start: Start<'a>,
    pub(super) config: Config,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) screen: Screen,
    pub(super) writer: Writer,
    pub(super) told: Told,
    /// What is printed with the next drawing.
    pub(super) out: String,
    pub(super) hint: Option<String>,
    pub(super) since: Instant,

    pub(super) host: Host,
    pub(super) session: Option<SessionId>,
    pub(super) agent_name: String,
    pub(super) cwd: PathBuf,
    pub(super) offer: Offer,
    pub(super) trouble: Option<String>,
    /// A session was there once: what goes wrong later ends the chat no more.
    pub(super) began: bool,

    /// What the command line wants set was wanted.
    pub(super) settled: bool,
    /// Prompts that were typed before there was a session.
    pub(super) unsent: Vec<(String, bool)>,
    /// Prompts that began a resumption.
    pub(super) resuming: Vec<(IntentId, String)>,
    pub(super) posted: Vec<(IntentId, Wanted, Instant)>,
    /// Prompts that wait in the journal, whoever posted them.
    pub(super) waiting: Vec<Intent>,
    pub(super) editing: Option<IntentId>,
    pub(super) dialogue: Option<Dialogue>,
    answered: HashSet<RowId>,
    pub(super) stopping: bool,
    pub(super) leave: Option<Leave>,
}

impl<'a> Talk<'a> {
    /// Takes the terminal and starts the agent.
    pub(super) fn begin(
        start: Start<'a>,
        config: Config,
        home: &std::path::Path,
        journal: Arc<dyn Journal>,
    ) -> Result<Self, Failure> {
        let mut terminal = configured(&config);
        let screen = Screen::new(terminal.color);
        if screen.is_drawn_on() {
            terminal.width = u16::try_from(screen.width()).unwrap_or(u16::MAX);
        }
        let session = match start.which {
            Which::Resumed(wanted) => Some(find(&*journal, wanted)?.session.id),
            Which::New | Which::Adopted(_) => None,
        };
        let rules = tapline_recorder::default_rules().with_secrets(secrets());
        let mut talk = Self {
            start,
            config,
            journal,
            screen,
            writer: Writer::new(History::open(home, rules)),
            told: Told::new(&terminal),
            out: String::new(),
            hint: None,
            since: Instant::now(),
            host: Host::Gone,
            session,
            agent_name: String::new(),
            cwd: std::env::current_dir().unwrap_or_default(),
            offer: Offer::default(),
            trouble: None,
            began: false,
            settled: false,
            unsent: Vec::new(),
            resuming: Vec::new(),
            posted: Vec::new(),
            waiting: Vec::new(),
            editing: None,
            dialogue: None,
            answered: HashSet::new(),
            stopping: false,
            leave: None,
        };
        talk.start_first()?;
        talk.began = matches!(talk.host, Host::Elsewhere);
        Ok(talk)
    }

    /// Talks until somebody has had enough.
    pub(super) fn run(mut self) -> Outcome {
        self.screen.take()?;
        let (tell, events) = bounded(1024);
        listen(tell, self.screen.is_drawn_on())?;
        let changes = changes(Arc::clone(&self.journal))?;
        loop {
            let more = self.look()?;
            if self.is_done() {
                break;
            }
            let text = std::mem::take(&mut self.out);
            self.screen.draw(&text, self.lower())?;
            let wait = if more { Duration::ZERO } else { self.wait() };
            select! {
                recv(events) -> event => {
                    self.event(event.unwrap_or(Event::End))?;
                    // What was typed at once is drawn at once.
                    while let Ok(event) = events.try_recv() {
                        self.event(event)?;
                    }
                },
                recv(changes) -> _ => {}
                default(wait) => {}
            }
        }
        self.end()
    }

    fn wait(&self) -> Duration {
        let soon = self.told.runs_since().is_some()
            || self.host.is_starting()
            || self.leave.is_some()
            || !self.posted.is_empty();
        if soon { TICK } else { LOOK }
    }

    fn is_done(&self) -> bool {
        self.leave.is_some() && self.host.hosted().is_none_or(|hosted| hosted.is_over())
    }

    fn end(mut self) -> Outcome {
        self.follow_all();
        self.told.pause(&mut self.out);
        let text = std::mem::take(&mut self.out);
        self.screen.draw(&text, super::screen::Lower::default())?;
        self.screen.give_back()?;
        let hosted = !matches!(self.host, Host::Elsewhere);
        if let Some(session) = &self.session {
            println!("tapline chat --resume {session}    goes on with this talk");
        }
        match self.leave {
            Some(Leave::Interrupted) => {
                let what = if hosted {
                    "interrupted: the session was ended"
                } else {
                    "interrupted: the session is left to the process that holds it"
                };
                Err(Failure::Turn(130, what.to_owned()))
            }
            _ => Ok(()),
        }
    }

    // --- What has changed ---

    /// Looks at everything; says whether there is more to look at already.
    fn look(&mut self) -> Result<bool, Failure> {
        self.look_at_host()?;
        let Some(session) = self.session.clone() else {
            return Ok(false);
        };
        let more = self.told.follow(&*self.journal, &session, &mut self.out)?;
        self.look_at_intents(&session)?;
        self.look_at_requests();
        if self.told.runs_since().is_none() {
            self.stopping = false;
        }
        Ok(more)
    }

    /// Reads all that is new at once.
    pub(super) fn follow_all(&mut self) {
        if let Some(session) = self.session.clone() {
            while let Ok(true) = self.told.follow(&*self.journal, &session, &mut self.out) {}
        }
    }

    fn look_at_intents(&mut self, session: &SessionId) -> Result<(), Failure> {
        self.waiting = queue::waiting(&*self.journal, session)?;
        for (id, wanted, at) in std::mem::take(&mut self.posted) {
            match outcome(&*self.journal, id)? {
                Some(outcome) => self.became(&wanted, &outcome),
                None => self.posted.push((id, wanted, at)),
            }
        }
        if let Some(id) = self.editing
            && !self.waiting.iter().any(|one| one.id == id)
        {
            self.editing = None;
            self.hint =
                Some("The prompt has gone out meanwhile; what you write now is a new one.".to_owned());
        }
        Ok(())
    }

    /// The prompts that are held up.
    pub(super) fn waits(&self) -> Vec<&Intent> {
        let held_up = self.told.runs_since().is_some() || !self.host.is_there();
        let young = |id: IntentId| {
            self.posted
                .iter()
                .any(|(posted, _, at)| *posted == id && at.elapsed() < AT_ONCE)
        };
        self.waiting
            .iter()
            .filter(|one| held_up || !young(one.id))
            .collect()
    }

    fn look_at_requests(&mut self) {
        let next = self
            .told
            .asked
            .values()
            .find(|row| !self.answered.contains(&row.id));
        let next = next.cloned();
        match (&mut self.dialogue, next) {
            (Some(dialogue), Some(row)) if *dialogue.id() == row.id => dialogue.renew(&row),
            (_, Some(row)) => {
                self.dialogue = Some(Dialogue::new(row));
                self.hint = None;
                self.writer.answers(false);
                self.writer.answers(true);
                self.told.pause(&mut self.out);
                self.print_dialogue();
            }
            (Some(_), None) => {
                self.dialogue = None;
                self.writer.answers(false);
            }
            (None, None) => {}
        }
        let told = &self.told;
        self.answered
            .retain(|id| told.asked.values().any(|row| row.id == *id));
    }

    /// Where nothing can be drawn, the choices are printed.
    fn print_dialogue(&mut self) {
        if !self.screen.is_drawn_on()
            && let Some(dialogue) = &self.dialogue
        {
            for line in dialogue.lines(0, self.unicode()) {
                self.out.push_str(&self.screen.printed(&line));
            }
        }
    }

    pub(super) fn open_requests(&self) -> usize {
        let open = |row: &&Arc<Row>| !self.answered.contains(&row.id);
        self.told.asked.values().filter(open).count()
    }

    /// Tells what became of something that was wanted.
    fn became(&mut self, wanted: &Wanted, outcome: &Value) {
        let error = outcome["error"].as_str();
        let by = outcome["by"].as_str().filter(|by| !by.is_empty());
        let by = by.map(|by| format!(" (by {by})")).unwrap_or_default();
        match (wanted, error) {
            (Wanted::Prompt(text), Some(error)) => {
                self.note(Tone::Bad, &format!("The prompt was not sent: {error}"));
                self.writer.put_back(text);
            }
            (Wanted::Answer(id), Some(error)) => {
                self.answered.remove(id);
                self.note(Tone::Warn, &format!("{error}{by}"));
            }
            (Wanted::Stop, Some(error)) => {
                self.stopping = false;
                self.hint = Some(error.to_owned());
            }
            (Wanted::Stop, None) if outcome["process_ended"] == true => {
                self.note(
                    Tone::Warn,
                    "The agent did not stop by itself, so its process was ended.",
                );
            }
            (Wanted::Kill | Wanted::Set(_), Some(error)) => self.note(Tone::Warn, error),
            (Wanted::Kill, None) => {
                if let Some(unknown) = outcome["unknown"].as_str() {
                    self.note(Tone::Warn, unknown);
                }
            }
            (Wanted::Set(what), None) if !what.is_empty() => self.note(Tone::Dim, what),
            (Wanted::Prompt(_) | Wanted::Answer(_) | Wanted::Stop | Wanted::Set(_), None) => {}
        }
    }

    // --- What is typed ---

    fn event(&mut self, event: Event) -> Result<(), Failure> {
        let act = match event {
            Event::Terminal(event) => {
                if matches!(event, crossterm::event::Event::Key(_)) {
                    self.hint = None;
                }
                let ours = OURS
                    .iter()
                    .map(|(name, _, about)| ((*name).to_owned(), (*about).to_owned()));
                let agents = self.offer.commands.iter();
                let agents = agents.map(|command| (command.name.clone(), command.description.clone()));
                let commands: Vec<_> = ours.chain(agents).collect();
                let known = Known {
                    commands: &commands,
                    cwd: &self.cwd,
                };
                self.writer.take(event, &known)
            }
            Event::Line(line) => Act::Enter(line),
            Event::End => Act::EndOfInput,
            Event::Interrupt => Act::Interrupt,
            Event::Terminate => {
                self.quit(Leave::Done);
                Act::None
            }
        };
        match act {
            Act::None => {}
            Act::Enter(line) => self.enter(&line),
            Act::Interrupt => self.interrupt(),
            Act::EndOfInput => self.quit(Leave::Done),
            Act::Suspend => self.suspend()?,
            Act::Wipe => self.screen.wipe()?,
            Act::Resize => self.resize(),
            Act::Hint(text) => self.say_hint(&text),
        }
        Ok(())
    }

    fn enter(&mut self, line: &str) {
        if self.leave.is_some() {
            return;
        }
        let typed = read(line);
        match (typed, &mut self.dialogue) {
            (Typed::Command(command), _) => {
                self.writer.remember(line);
                self.command(command);
            }
            (Typed::Prompt { .. }, Some(dialogue)) => match dialogue.take(line) {
                Said::Answer(payload) => {
                    let id = dialogue.id().clone();
                    self.answer(&id, &payload);
                }
                Said::More => self.print_dialogue(),
                Said::Unclear(why) => {
                    self.writer.put(line);
                    self.say_hint(&why);
                }
            },
            (Typed::Prompt { text, .. }, None) if self.editing.is_some() => self.edited(&text),
            (Typed::Prompt { text, .. }, None) if text.is_empty() => {}
            (Typed::Prompt { text, steer }, None) => {
                self.writer.remember(line);
                self.prompt(&text, steer);
            }
        }
    }

    pub(super) fn answer(&mut self, id: &RowId, payload: &Value) {
        self.answered.insert(id.clone());
        if !self.want(intent::ANSWER, payload, Wanted::Answer(id.clone())) {
            self.answered.remove(id);
        }
        self.look_at_requests();
    }

    /// Ctrl-C: stops what runs, then ends the session; on a line, throws that away.
    fn interrupt(&mut self) {
        if self.leave.is_some() || (self.stopping && self.told.runs_since().is_some()) {
            return self.quit(Leave::Interrupted);
        }
        if self.told.runs_since().is_some() {
            return self.stop();
        }
        if self.host.is_starting() && !self.began {
            return self.quit(Leave::Interrupted);
        }
        if !self.writer.throw_away() && self.editing.take().is_none() {
            self.say_hint("Ctrl-D or /quit leaves.");
        }
    }

    pub(super) fn stop(&mut self) {
        self.stopping = self.want(intent::STOP, &json!({}), Wanted::Stop);
    }

    /// Wants something of the session; says whether the journal has taken it.
    pub(super) fn want(&mut self, kind: &str, payload: &Value, wanted: Wanted) -> bool {
        let Some(session) = self.session.clone() else {
            self.say_hint("The session has not begun yet.");
            return false;
        };
        if !self.host.is_there() && kind != intent::PROMPT {
            self.say_hint("The agent is not there; the next prompt resumes the session.");
            return false;
        }
        match post(&*self.journal, &session, kind, payload) {
            Ok(id) => {
                self.posted.push((id, wanted, Instant::now()));
                true
            }
            Err(failure) => {
                self.note(Tone::Bad, &failure.to_string());
                false
            }
        }
    }

    // --- The terminal ---

    fn resize(&mut self) {
        self.screen.resize();
        let terminal = tapline_render::Terminal {
            width: u16::try_from(self.screen.width()).unwrap_or(u16::MAX),
            ..*self.told.terminal()
        };
        self.told.adapt(&terminal);
    }

    /// Ctrl-Z: the shell has the terminal until it gives it back.
    fn suspend(&mut self) -> Result<(), Failure> {
        self.screen.give_back()?;
        let me = rustix::process::getpid();
        // If it cannot be suspended, the chat just goes on.
        let _ = rustix::process::kill_process(me, rustix::process::Signal::TSTP);
        self.screen.take()?;
        self.resize();
        Ok(())
    }

    /// Says something among the text. It is cleaned here.
    pub(super) fn note(&mut self, tone: Tone, text: &str) {
        let before = if tone == Tone::Bad {
            self.mark("✗ ", "x ")
        } else {
            self.mark("· ", "- ")
        };
        self.told.pause(&mut self.out);
        let text = clean(text.trim_end(), self.unicode());
        let width = usize::from(self.told.terminal().width).saturating_sub(2);
        let lines = text.lines().flat_map(|line| wrapped(line, width));
        for (n, line) in lines.enumerate() {
            let before = if n == 0 { before } else { "  " };
            let line = Line::of(tone, format!("{before}{line}"));
            self.out.push_str(&self.screen.printed(&line));
        }
    }

    /// Says something beside the line that is written.
    pub(super) fn say_hint(&mut self, text: &str) {
        if self.screen.is_drawn_on() {
            self.hint = Some(text.to_owned());
        } else {
            self.note(Tone::Warn, text);
        }
    }

    fn command(&mut self, command: Command) {
        if let Err(failure) = self.act(command) {
            self.note(Tone::Warn, &failure.to_string());
        }
    }
}

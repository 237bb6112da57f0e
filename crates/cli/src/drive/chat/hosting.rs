//! The agent of a chat: started, running, held by another process, or gone.

use std::time::Duration;

use tapline_agent::host::{Begin, HostOptions, Hosted, Over, StartError};
use tapline_agent::wrap::End;
use tapline_journal::Status;

use super::Which;
use super::screen::Tone;
use super::talk::{Leave, Talk};
use crate::drive::agent::failed_to_start;
use crate::failure::Failure;
use crate::journal::failed;

/// Who holds the session.
pub(super) enum Host {
    /// We do, and it has not begun yet.
    Starting(Box<Hosted>),
    /// We do.
    Running(Box<Hosted>),
    /// Another process does: its agent is reached through the journal alone.
    Elsewhere,
    /// Nobody; the next prompt resumes the session.
    Gone,
}

impl Host {
    pub(super) fn hosted(&self) -> Option<&Hosted> {
        match self {
            Host::Starting(hosted) | Host::Running(hosted) => Some(hosted),
            Host::Elsewhere | Host::Gone => None,
        }
    }

    pub(super) fn is_starting(&self) -> bool {
        matches!(self, Host::Starting(_))
    }

    /// Whether what is wanted of the session reaches somebody.
    pub(super) fn is_there(&self) -> bool {
        matches!(self, Host::Running(_) | Host::Elsewhere)
    }
}

impl Talk<'_> {
    /// Starts what the command line says.
    pub(super) fn start_first(&mut self) -> Result<(), Failure> {
        match self.session.clone() {
            None => {
                let Some(wanted) = &self.start.wanted else {
                    return Err(Failure::Usage("name an agent to talk with".to_owned()));
                };
                let mut options = self.start.agent.new_session(&self.config, wanted)?;
                if let Which::Adopted(provider) = self.start.which {
                    options.begin = Begin::Adopt {
                        provider: provider.to_owned(),
                    };
                }
                self.launch(options)
            }
            Some(session) => {
                let mut text = String::new();
                self.told.before(&*self.journal, &session, &mut text)?;
                self.out.push_str(&text);
                self.revive()
            }
        }
    }

    /// Starts the agent of a session that goes on; where another process holds that, it is left to it.
    pub(super) fn revive(&mut self) -> Result<(), Failure> {
        let Some(session) = self.session.clone() else {
            return Err(Failure::NotThere("the session has not begun".to_owned()));
        };
        let entry = self.journal.session(&session).map_err(failed)?;
        let entry = entry.ok_or_else(|| {
            Failure::NotThere(format!(
                "the journal has no session {session} any more; begin a new one"
            ))
        })?;
        if let Some(cwd) = &entry.session.cwd {
            self.cwd = cwd.into();
        }
        if matches!(entry.status, Status::Live | Status::Waiting) {
            self.host = Host::Elsewhere;
            return Ok(());
        }
        let wanted = self.start.wanted.as_ref();
        let options = self.start.agent.resumed_session(
            &self.config,
            &*self.journal,
            &entry,
            wanted,
            self.start.afresh,
        )?;
        self.launch(options)
    }

    fn launch(&mut self, options: HostOptions) -> Result<(), Failure> {
        self.cwd.clone_from(&options.cwd);
        self.agent_name.clone_from(&options.name);
        debug_assert!(options.attended, "somebody sits here");
        debug_assert_eq!(
            matches!(options.begin, Begin::Resume { .. }),
            self.session.is_some(),
            "a session that is known goes on"
        );
        let hosted = Hosted::start(self.journal.clone(), options).map_err(failed_to_start)?;
        self.host = Host::Starting(Box::new(hosted));
        Ok(())
    }

    /// Looks how the agent is.
    pub(super) fn look_at_host(&mut self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.host, Host::Gone) {
            Host::Starting(hosted) => match hosted.session(Duration::ZERO) {
                Ok(session) => {
                    self.session = Some(session);
                    self.began = true;
                    self.host = Host::Running(hosted);
                    self.send_unsent();
                }
                Err(StartError::Waiting(_)) => self.host = Host::Starting(hosted),
                Err(error) => {
                    drop(hosted);
                    self.not_begun(failed_to_start(error))?;
                }
            },
            Host::Running(hosted) if hosted.is_over() => {
                let over = hosted.join();
                self.went_away(&over);
            }
            Host::Running(hosted) => {
                let standing = hosted.standing();
                if standing.deaf && self.told.runs_since().is_some() && !self.stopping {
                    self.note(Tone::Bad, "The agent has closed its output; its turn is stopped.");
                    self.stop();
                }
                self.offer = standing.offer;
                self.trouble = standing.trouble;
                self.host = Host::Running(hosted);
            }
            Host::Elsewhere => {
                let entry = self.session.as_ref().map(|session| self.journal.session(session));
                let entry = entry.transpose().map_err(failed)?.flatten();
                let held = entry.is_some_and(|e| matches!(e.status, Status::Live | Status::Waiting));
                if held {
                    self.host = Host::Elsewhere;
                } else {
                    self.note(
                        Tone::Warn,
                        "The process that held the session went away. The next prompt resumes it here.",
                    );
                }
            }
            Host::Gone => {}
        }
        Ok(())
    }

    /// The start failed: of the first one the command is told, of a later one the person.
    fn not_begun(&mut self, failure: Failure) -> Result<(), Failure> {
        if self.leave.is_some() {
            return Ok(());
        }
        if !self.began {
            return Err(failure);
        }
        self.note(Tone::Bad, &failure.to_string());
        self.take_back();
        Ok(())
    }

    fn went_away(&mut self, over: &Over) {
        self.stopping = false;
        self.follow_all();
        if let Some(trouble) = &over.trouble {
            self.note(Tone::Bad, trouble);
        }
        if self.leave.is_some() {
            return;
        }
        let how = match over.end {
            Some(End::Code(0)) | None => String::new(),
            Some(End::Code(code)) => format!(" (exit code {code})"),
            Some(End::Signal(signal)) => format!(" (signal {signal})"),
        };
        self.note(
            Tone::Bad,
            &format!("The agent went away{how}. The next prompt resumes the session."),
        );
        if let Some(words) = &over.words {
            self.note(Tone::Dim, &format!("Its last words: {words}"));
        }
    }

    /// Ends the session, or only this chat where another process holds it.
    pub(super) fn quit(&mut self, leave: Leave) {
        if let Some(hosted) = self.host.hosted() {
            match leave {
                Leave::Done => hosted.close(),
                Leave::Interrupted => hosted.kill(),
            }
        }
        if self.leave != Some(Leave::Interrupted) {
            self.leave = Some(leave);
        }
    }
}

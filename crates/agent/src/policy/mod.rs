//! Who may do what without asking a person.
//!
//! A [`Policy`] is a mode and a list of rules; the first rule that matches decides, else the mode. It is a pure function of
//! what the agent showed: it opens no file and asks nobody.
//!
//! ```toml
//! [permissions]
//! mode = "allow-reads"            # ask (the default), allow-reads, allow-all, deny
//!
//! [[permissions.rules]]
//! path = "**/.env*"               # whatever is done to it
//! decide = "deny"
//!
//! [[permissions.rules]]
//! kind = "edit"
//! path = "src/**"
//! decide = "allow"
//!
//! [[permissions.rules]]
//! command = "cargo test"          # and whatever arguments follow
//! decide = "allow"
//! ```
//!
//! # To allow and to refuse are not the same
//!
//! An agent is untrusted, and what a permission shows of its tool is what the agent chose to show. So a rule that allows
//! must have seen all of it: *every* path and *every* command that is named must match, a path that cannot be read as one
//! inside the session's folder matches nothing but an absolute pattern, and a command line must be the pattern and plain
//! arguments, run in the session's folder, with nothing in it that a shell would act on. `git status` allows
//! `git status --short` and never `git status; rm -rf /`. A rule that denies or asks matches as soon as *one* path or command might be meant, without
//! regard to case, and looks into every part of a line, also for paths. Where an input was too large to be kept, such a rule
//! cannot be checked; then a person is asked before anything is allowed. That is a help against mistakes and no wall: a shell
//! has endless ways to say a thing. The wall is to allow only what is named.
//!
//! Paths are compared as they are spelled, links are not followed. What an agent reads through our own file service is
//! held inside by [`crate::files`], whatever was allowed here; an agent that opens files itself may follow a link out of
//! the folder.
//!
//! Policies decide permissions. A question is for a person: `deny` cancels it, nothing answers it. A plan is approved by
//! `allow-all` and cancelled by `deny`.

mod command;
mod rule;
mod seen;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tapline_timeline::{Ask, Choice, Location, Request};

pub use rule::{Decide, Rule};
use seen::Seen;

/// Who may do what without asking. Without anything said, everything is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// What holds where no rule matches.
    pub mode: Mode,
    /// The rules; the first that matches decides.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "rule::rules")]
    pub rules: Vec<Rule>,
}

/// What holds where no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A person decides.
    #[default]
    Ask,
    /// To read and to search inside the session's folder is allowed, the rest is asked.
    AllowReads,
    /// Everything is allowed.
    AllowAll,
    /// Everything is refused.
    Deny,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ask, Self::AllowReads, Self::AllowAll, Self::Deny];

    /// Its word in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AllowReads => "allow-reads",
            Self::AllowAll => "allow-all",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The word is none of [`Mode`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no mode of permissions. There are ask, allow-reads, allow-all and deny.")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        let mode = Self::ALL.into_iter().find(|mode| mode.as_str() == word);
        mode.ok_or_else(|| UnknownMode(word.to_owned()))
    }
}

/// What is to be done with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub verdict: Verdict,
    /// The agent's id of the option to choose. Nothing with [`Verdict::Reject`]: the request is answered as cancelled.
    pub option: Option<String>,
    /// What decided, for the record.
    pub by: String,
}

/// Whether something is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Allow,
    /// It is not.
    Reject,
    /// A person decides.
    Ask,
}

/// A request with what is known of its tool, as the agent showed them.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The request.
    pub request: &'a Request,
    /// The tool's kind: what its row says, or the permission itself for a tool that nobody has announced.
    pub tool_kind: Option<&'a str>,
    /// Places that the tool says it touches, likewise.
    pub locations: &'a [Location],
    /// The folder the session works in.
    pub cwd: &'a Path,
}

impl Policy {
    /// Decides a request of which no locations are known.
    pub fn decide(&self, request: &Request, tool_kind: Option<&str>, cwd: &Path) -> Decision {
        self.decide_asked(Asked {
            request,
            tool_kind,
            locations: &[],
            cwd,
        })
    }

    /// Decides a request.
    pub fn decide_asked(&self, asked: Asked<'_>) -> Decision {
        let by_mode = format!("policy: {}", self.mode);
        let request = asked.request;
        match request.ask {
            Ask::Permission => {}
            // A plan and a question are not refused by one of the options but left without an answer.
            _ if self.mode == Mode::Deny => {
                return Decision {
                    verdict: Verdict::Reject,
                    option: None,
                    by: by_mode,
                };
            }
            Ask::Plan if self.mode == Mode::AllowAll => {
                return settle(Verdict::Allow, request, by_mode, None);
            }
            Ask::Plan | Ask::Question => {
                return settle(Verdict::Ask, request, by_mode, None);
            }
        }
        let seen = Seen::of(asked);
        // The first rule that might refuse, were all of it to be seen: nothing is allowed past it.
        let mut doubt = None;
        for (at, rule) in self.rules.iter().enumerate() {
            if rule.matches(&seen) {
                let by = format!("rule {} of the configuration", at + 1);
                return settle(rule.decide().into(), request, by, doubt);
            }
            if doubt.is_none() && rule.is_in_doubt(&seen) {
                doubt = Some(at + 1);
            }
        }
        let verdict = match self.mode {
            Mode::AllowAll => Verdict::Allow,
            Mode::Deny => Verdict::Reject,
            Mode::AllowReads if seen.only_reads() => Verdict::Allow,
            Mode::Ask | Mode::AllowReads => Verdict::Ask,
        };
        settle(verdict, request, by_mode, doubt)
    }
}

impl From<Decide> for Verdict {
    fn from(decide: Decide) -> Self {
        match decide {
            Decide::Allow => Self::Allow,
            Decide::Deny => Self::Reject,
            Decide::Ask => Self::Ask,
        }
    }
}

/// Finds the option for a verdict. What cannot be allowed for want of an option is asked, and so is what the rule with the
/// number `doubt` might refuse.
fn settle(verdict: Verdict, request: &Request, by: String, doubt: Option<usize>) -> Decision {
    let ask = |by| Decision {
        verdict: Verdict::Ask,
        option: None,
        by,
    };
    match (verdict, doubt) {
        (Verdict::Ask, _) => ask(by),
        (Verdict::Allow, Some(number)) => ask(format!(
            "rule {number} of the configuration, which could not be checked"
        )),
        (Verdict::Allow, None) => match to_allow(&request.options) {
            None => ask(by),
            option => Decision { verdict, option, by },
        },
        (Verdict::Reject, _) => Decision {
            verdict,
            option: to_reject(&request.options),
            by,
        },
    }
}

/// `allow_once` before all others; what allows for ever only where it is the one way to allow.
fn to_allow(options: &[Choice]) -> Option<String> {
    let always = |kind: &str| kind.starts_with("allow_always");
    let once = of_kind(options, |kind| kind == "allow_once").next();
    once.or_else(|| of_kind(options, |kind| kind.starts_with("allow") && !always(kind)).next())
        .or_else(|| {
            let mut for_ever = of_kind(options, always);
            for_ever.next().filter(|_| for_ever.next().is_none())
        })
        .map(str::to_owned)
}

/// `reject_once` before all others.
fn to_reject(options: &[Choice]) -> Option<String> {
    let once = of_kind(options, |kind| kind == "reject_once").next();
    once.or_else(|| of_kind(options, |kind| kind.starts_with("reject")).next())
        .map(str::to_owned)
}

/// The ids of the options of a kind. An id that several options have says nothing.
fn of_kind(options: &[Choice], is: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let fitting = options
        .iter()
        .filter(move |option| option.kind.as_deref().is_some_and(&is));
    fitting
        .map(|option| option.id.as_str())
        .filter(|id| options.iter().filter(|other| other.id == *id).count() == 1)
}

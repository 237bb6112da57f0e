//! The smaller things that updates carry: steps of a plan, places in files, commands, cost, the state of a helper.

use std::borrow::Cow;

use crate::raw::RawValue;

use crate::content::List;
use crate::value;

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry<'a> {
    /// What is to be done.
    pub content: Cow<'a, str>,
    /// How urgent it is, in any spelling.
    pub priority: Option<Cow<'a, str>>,
    /// How far it is, in any spelling. Only `completed` means done.
    pub status: Option<Cow<'a, str>>,
}

impl<'a> PlanEntry<'a> {
    /// Reads a step; none if it does not say what is to be done.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        Some(Self {
            content: value::member_text(raw, "content")?,
            priority: value::member_text(raw, "priority"),
            status: value::member_text(raw, "status"),
        })
    }

    /// Reads the steps of a plan.
    pub fn read_all(raw: &'a RawValue) -> List<Self> {
        List::read(raw, Self::read)
    }
}

/// A plan that has an id, as `plan_update` gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPlan<'a> {
    /// Which plan it is.
    pub id: Cow<'a, str>,
    /// Its steps, where it has some.
    pub entries: Option<List<PlanEntry<'a>>>,
    /// Its text in Markdown, where it has one.
    pub markdown: Option<Cow<'a, str>>,
    /// The file in which it stands, as a path or an address.
    pub file: Option<Cow<'a, str>>,
}

impl<'a> NamedPlan<'a> {
    /// Reads a plan; none if it has no id.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        Some(Self {
            id: value::member(raw, "planId").and_then(value::name)?,
            entries: value::member(raw, "entries")
                .filter(|list| value::is_array(list))
                .map(PlanEntry::read_all),
            markdown: value::member_text(raw, "content"),
            file: value::member_text(raw, "path").or_else(|| value::member_text(raw, "uri")),
        })
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location<'a> {
    /// The file.
    pub path: Cow<'a, str>,
    /// The line, as the agent counts.
    pub line: Option<u64>,
}

impl<'a> Location<'a> {
    /// Reads a place; none if it names no file.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        let path = value::member_text(raw, "path")?;
        Some(Self {
            path,
            line: value::member(raw, "line").and_then(value::u64),
        })
    }

    /// Reads the places of a tool.
    pub fn read_all(raw: &'a RawValue) -> List<Self> {
        List::read(raw, Self::read)
    }
}

/// A command that a person can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command<'a> {
    /// Its name, without the slash.
    pub name: Cow<'a, str>,
    /// What it does.
    pub description: Option<Cow<'a, str>>,
    /// What can be typed behind it.
    pub hint: Option<Cow<'a, str>>,
}

impl<'a> Command<'a> {
    /// Reads a command; none if it has no name.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        Some(Self {
            name: value::member_text(raw, "name")?,
            description: value::member_text(raw, "description"),
            hint: value::path(raw, &["input", "hint"]).and_then(value::text),
        })
    }

    /// Reads the commands of a session.
    pub fn read_all(raw: &'a RawValue) -> List<Self> {
        List::read(raw, Self::read)
    }
}

/// What something has cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost<'a> {
    /// How much.
    pub amount: f64,
    /// Of what, usually `USD`.
    pub currency: Option<Cow<'a, str>>,
}

impl<'a> Cost<'a> {
    /// Reads a cost; none if there is no amount.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        let amount = value::member(raw, "amount").and_then(value::f64)?;
        Some(Self {
            amount,
            currency: value::member_text(raw, "currency"),
        })
    }
}

/// What a helper is doing, as `subagent_update` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperState<'a> {
    /// `running`, `idle`, `requires_action`, `unknown`, or a word of the agent's own.
    pub state: Cow<'a, str>,
    /// Why it stopped, in any spelling.
    pub stop_reason: Option<Cow<'a, str>>,
    /// What went wrong, in the agent's words.
    pub error: Option<Cow<'a, str>>,
}

impl<'a> HelperState<'a> {
    /// Reads a state; a bare string, as in older updates, is one.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        if let Some(state) = value::text(raw) {
            return Some(Self {
                state,
                stop_reason: None,
                error: None,
            });
        }
        let error = value::member(raw, "error");
        Some(Self {
            state: value::member_text(raw, "state")?,
            stop_reason: value::member_text(raw, "stopReason"),
            error: error
                .and_then(|error| value::text(error).or_else(|| value::member_text(error, "message"))),
        })
    }
}

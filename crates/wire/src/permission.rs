//! `session/request_permission`: the question that stops an agent until it is answered.
//!
//! A person must be asked whenever there is something to choose from and something to choose it for. So only three
//! faults make such a request unreadable; whatever else is wrong with it is left out, and named in
//! [`Permission::dropped`].

use std::borrow::Cow;

use crate::raw::RawValue;
use thiserror::Error;

use crate::content::ToolContent;
use crate::update::UpdateFields;
use crate::value;

/// The parameters of `session/request_permission`.
#[derive(Debug, Clone)]
pub struct Permission<'a> {
    /// The session that asks. A client can only answer where it is there; who merely looks on can do without.
    pub session_id: Option<Cow<'a, str>>,
    /// The tool that the permission is for.
    pub tool_call_id: Cow<'a, str>,
    /// All that is said of the tool.
    pub tool: UpdateFields<'a>,
    /// The tool call as it stands, for members of the agent's own.
    pub raw_tool: &'a RawValue,
    /// What there is to choose from; at least one.
    pub options: Vec<PermissionOption<'a>>,
    /// What the agent adds on its own account.
    pub meta: Option<&'a RawValue>,
    /// The members that could not be read and were left out, as paths like `options.0.name`.
    pub dropped: Vec<String>,
}

/// One possible answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption<'a> {
    /// What the answer names.
    pub id: Cow<'a, str>,
    /// What a person reads; the id if the agent gave no name.
    pub name: Cow<'a, str>,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or a word of the agent's own.
    pub kind: Option<Cow<'a, str>>,
}

/// Why a permission request cannot be shown to anybody. The answer is the error -32602 with this sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PermissionFault {
    /// Nothing says which tool it is for.
    #[error("the permission request has no toolCall.toolCallId")]
    NoTool,
    /// There is no list of options.
    #[error("the permission request has no list of options")]
    NoOptions,
    /// There is a list, but nothing in it can be chosen.
    #[error("none of the permission request's options has an optionId")]
    NoReadableOption,
}

impl<'a> Permission<'a> {
    /// Reads the parameters.
    ///
    /// # Errors
    ///
    /// If there is no tool or nothing to choose from.
    pub fn read(params: &'a RawValue) -> Result<Self, PermissionFault> {
        let raw_tool = value::member(params, "toolCall").ok_or(PermissionFault::NoTool)?;
        let tool = UpdateFields::read(raw_tool).ok_or(PermissionFault::NoTool)?;
        let tool_call_id = tool.tool_call_id.clone().ok_or(PermissionFault::NoTool)?;
        let list = value::member(params, "options").filter(|list| value::is_array(list));
        let list = list.ok_or(PermissionFault::NoOptions)?;
        let mut dropped = Vec::new();
        let options: Vec<_> = value::array(list)
            .enumerate()
            .filter_map(|(index, option)| PermissionOption::read(option, index, &mut dropped))
            .collect();
        if options.is_empty() {
            return Err(PermissionFault::NoReadableOption);
        }
        drop_unreadable(raw_tool, &mut dropped);
        let session_id = value::member(params, "sessionId").and_then(value::name);
        let meta = value::member(params, "_meta").filter(|meta| !value::is_null(meta));
        Ok(Self {
            session_id,
            tool_call_id,
            tool,
            raw_tool,
            options,
            meta,
            dropped,
        })
    }
}

impl<'a> PermissionOption<'a> {
    fn read(raw: &'a RawValue, index: usize, dropped: &mut Vec<String>) -> Option<Self> {
        let Some(id) = value::member(raw, "optionId").and_then(value::name) else {
            dropped.push(format!("options.{index}"));
            return None;
        };
        let mut text = |name: &str| {
            let text = value::member_text(raw, name);
            if text.is_none() {
                dropped.push(format!("options.{index}.{name}"));
            }
            text
        };
        let (name, kind) = (text("name"), text("kind"));
        Some(Self {
            name: name.unwrap_or_else(|| id.clone()),
            id,
            kind,
        })
    }
}

/// Names the members of a tool call that say something and cannot be read.
fn drop_unreadable(tool: &RawValue, dropped: &mut Vec<String>) {
    for (name, member) in value::members(tool) {
        if value::is_null(member) {
            continue;
        }
        match &*name {
            "title" | "name" | "kind" | "status" if value::text(member).is_none() => {
                dropped.push(format!("toolCall.{name}"));
            }
            "locations" if !value::is_array(member) => dropped.push("toolCall.locations".to_owned()),
            "content" if !value::is_array(member) && ToolContent::read(member).is_none() => {
                dropped.push("toolCall.content".to_owned());
            }
            "content" => {
                let broken = value::array(member).enumerate();
                let broken = broken.filter(|(_, item)| ToolContent::read(item).is_none());
                dropped.extend(broken.map(|(index, _)| format!("toolCall.content.{index}")));
            }
            _ => {}
        }
    }
}

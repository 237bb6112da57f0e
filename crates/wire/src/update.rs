//! The parameters of `session/update`, as one flat set of optional members.
//!
//! The protocol has some twenty kinds of update, which share their members, and agents add kinds and members of
//! their own. One struct for all of them reads any kind in any order of members, and whether a member makes sense
//! for the kind is for the reader of the timeline to say. Members that a struct of their own would hold stay raw;
//! [`crate::content`] and [`crate::value`] read them.

use std::borrow::Cow;

use crate::raw::RawValue;

use crate::cursor::{Broken, Cursor};
use crate::value::Members;

/// A member in which `null` says something else than silence: it takes away what was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Nothing is said.
    #[default]
    Absent,
    /// The value is taken away.
    Null,
    /// The value is set.
    Value(T),
}

impl<T> Patch<T> {
    /// The value, if one is set.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// The value by reference, if one is set.
    pub fn as_ref(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// Whether the value is taken away.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether nothing is said.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl Patch<Cow<'_, str>> {
    /// The text, if one is set.
    pub fn as_deref(&self) -> Option<&str> {
        self.as_ref().map(AsRef::as_ref)
    }
}

impl<'a> Patch<Cow<'a, str>> {
    fn text(cursor: &mut Cursor<'a>) -> Result<Self, Broken> {
        let is_null = cursor.peek() == Some(b'n');
        Ok(match cursor.text()? {
            Some(text) => Self::Value(text),
            None if is_null => Self::Null,
            None => Self::Absent,
        })
    }
}

impl<'a> Patch<&'a RawValue> {
    fn raw(cursor: &mut Cursor<'a>) -> Result<Self, Broken> {
        Ok(cursor.some()?.map_or(Self::Null, Self::Value))
    }
}

/// The parameters of one `session/update`, or of a vendor's notification of the same shape.
#[derive(Debug, Clone, Default)]
pub struct Update<'a> {
    /// The session that is spoken of.
    pub session_id: Option<Cow<'a, str>>,
    /// `_meta` beside the update.
    pub meta: Option<&'a RawValue>,
    /// What kind of update it is, in any spelling.
    pub kind: Option<Cow<'a, str>>,
    /// The members of the update.
    pub fields: UpdateFields<'a>,
    params: &'a str,
    update: &'a str,
}

impl<'a> Update<'a> {
    /// Reads the parameters of an update; none if they are no object.
    pub fn read(params: &'a RawValue) -> Option<Self> {
        let mut cursor = Cursor::within(params);
        if cursor.peek() != Some(b'{') {
            return None;
        }
        let mut update = Self::default();
        update.walk(&mut cursor).ok().map(|()| update)
    }

    /// Fills a new update from the object on which the cursor stands.
    pub(crate) fn walk(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Broken> {
        let start = cursor.at();
        cursor.object(|cursor, name| {
            match &*name {
                "sessionId" => self.session_id = cursor.name()?,
                "update" => self.walk_update(cursor)?,
                "_meta" => self.meta = cursor.some()?,
                _ => {
                    cursor.raw()?;
                }
            }
            Ok(())
        })?;
        self.params = cursor.span(start, cursor.at());
        Ok(())
    }

    fn walk_update(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Broken> {
        if !self.update.is_empty() {
            // A second `update` in one frame takes the place of the first, also where it is none.
            (self.kind, self.fields, self.update) = (None, UpdateFields::default(), "");
        }
        if cursor.peek() != Some(b'{') {
            return cursor.raw().map(drop);
        }
        let (start, kind, fields) = (cursor.at(), &mut self.kind, &mut self.fields);
        cursor.object(|cursor, name| match &*name {
            "sessionUpdate" => {
                *kind = cursor.text()?;
                Ok(())
            }
            name => fields.member(cursor, name),
        })?;
        self.update = cursor.span(start, cursor.at());
        Ok(())
    }

    /// The parameters as they stand in the line.
    pub fn raw_params(&self) -> Option<&'a RawValue> {
        (!self.params.is_empty()).then(|| RawValue::checked(self.params))
    }

    /// The update as it stands in the line; none if it is no object.
    pub fn raw_update(&self) -> Option<&'a RawValue> {
        (!self.update.is_empty()).then(|| RawValue::checked(self.update))
    }

    /// A member of the update by its name, for what [`UpdateFields`] does not know. This looks at the update a second
    /// time. `null` is a value here.
    pub fn member(&self, name: &str) -> Option<&'a RawValue> {
        self.members()
            .filter(|(key, _)| key == name)
            .last()
            .map(|(_, value)| value)
    }

    /// All members of the update. This looks at the update a second time.
    pub fn members(&self) -> Members<'a> {
        Members::new(self.update)
    }

    /// All members of the parameters. This looks at the parameters a second time.
    pub fn param_members(&self) -> Members<'a> {
        Members::new(self.params)
    }
}

/// The members of an update, those of all kinds together. A member that is absent, `null` or of the wrong type is
/// none; ids may be numbers, which are given in their own spelling.
#[derive(Debug, Clone, Default)]
pub struct UpdateFields<'a> {
    /// What a chunk, a tool or a message holds: one block, or a list. (`content`)
    pub content: Option<&'a RawValue>,
    /// The message that a chunk belongs to. (`messageId`)
    pub message_id: Option<Cow<'a, str>>,
    /// The tool call that is announced or updated. (`toolCallId`)
    pub tool_call_id: Option<Cow<'a, str>>,
    /// The title of a tool, notice, helper or session. (`title`)
    pub title: Patch<Cow<'a, str>>,
    /// The name under which the model knows the tool. (`name`)
    pub name: Option<Cow<'a, str>>,
    /// The kind of the tool, in any spelling. (`kind`)
    pub kind: Option<Cow<'a, str>>,
    /// How far the tool or compaction is, in any spelling. (`status`)
    pub status: Option<Cow<'a, str>>,
    /// What the tool is called with. (`rawInput`)
    pub raw_input: Option<&'a RawValue>,
    /// What the tool gave back. (`rawOutput`)
    pub raw_output: Option<&'a RawValue>,
    /// The files that the tool works on. (`locations`)
    pub locations: Option<&'a RawValue>,
    /// The steps of the plan that has no id. (`entries`)
    pub entries: Option<&'a RawValue>,
    /// A plan with an id. (`plan`)
    pub plan: Option<&'a RawValue>,
    /// The plan that is removed. (`planId`)
    pub plan_id: Option<Cow<'a, str>>,
    /// The commands that a person can give. (`availableCommands`)
    pub available_commands: Option<&'a RawValue>,
    /// The mode that the session is in. (`currentModeId`)
    pub current_mode_id: Option<Cow<'a, str>>,
    /// The options of the session, all of them. (`configOptions`)
    pub config_options: Option<&'a RawValue>,
    /// The tokens in the context. (`used`)
    pub used: Option<&'a RawValue>,
    /// The tokens that the context can hold. (`size`)
    pub size: Option<&'a RawValue>,
    /// What the session has cost so far. (`cost`)
    pub cost: Option<&'a RawValue>,
    /// When the session was last changed. (`updatedAt`)
    pub updated_at: Patch<Cow<'a, str>>,
    /// How grave a notice is, in any spelling. (`severity`)
    pub severity: Option<Cow<'a, str>>,
    /// The long words of a notice or helper. (`description`)
    pub description: Patch<Cow<'a, str>>,
    /// The compaction that is told of. (`compactionId`)
    pub compaction_id: Option<Cow<'a, str>>,
    /// The summary of a compaction, as blocks. (`summary`)
    pub summary: Patch<&'a RawValue>,
    /// Why a compaction failed. (`error`)
    pub error: Option<&'a RawValue>,
    /// The helper's session, where the update tells of a helper. (`sessionId`)
    pub session_id: Option<Cow<'a, str>>,
    /// What a helper or a cursor can be asked for. (`capabilities`)
    pub capabilities: Option<&'a RawValue>,
    /// What a helper is doing. (`state`)
    pub state: Option<&'a RawValue>,
    /// The folder in which a helper works. (`cwd`)
    pub cwd: Option<Cow<'a, str>>,
    /// More folders in which a helper works. (`additionalDirectories`)
    pub additional_directories: Option<&'a RawValue>,
    /// The session that a message comes from. (`senderSessionId`)
    pub sender_session_id: Option<Cow<'a, str>>,
    /// The session that a message goes to. (`recipientSessionId`)
    pub recipient_session_id: Option<Cow<'a, str>>,
    /// The message's id in the session that it comes from. (`senderMessageId`)
    pub sender_message_id: Option<Cow<'a, str>>,
    /// The message's id in the session that it goes to. (`recipientMessageId`)
    pub recipient_message_id: Option<Cow<'a, str>>,
    /// A place in the history that the agent gave a name. (`cursorId`)
    pub cursor_id: Option<Cow<'a, str>>,
    /// What that place lies next to. (`anchor`)
    pub anchor: Option<&'a RawValue>,
    /// The helper's session, in the older updates that spell it so. (`subagentSessionId`)
    pub subagent_session_id: Option<Cow<'a, str>>,
    /// What a person might want to say next. (`suggestions`)
    pub suggestions: Option<&'a RawValue>,
    /// What the agent adds on its own account. (`_meta`)
    pub meta: Option<&'a RawValue>,
}

impl<'a> UpdateFields<'a> {
    /// Reads the members of an object that has the shape of an update, such as the tool call of a permission; none if
    /// it is no object.
    pub fn read(object: &'a RawValue) -> Option<Self> {
        let mut cursor = Cursor::within(object);
        let mut fields = Self::default();
        cursor
            .object(|cursor, name| fields.member(cursor, &name))
            .ok()
            .map(|()| fields)
    }

    /// Reads the member on whose value the cursor stands.
    fn member(&mut self, cursor: &mut Cursor<'a>, name: &str) -> Result<(), Broken> {
        match name {
            "content" => self.content = cursor.some()?,
            "messageId" => self.message_id = cursor.name()?,
            "toolCallId" => self.tool_call_id = cursor.name()?,
            "title" => self.title = Patch::text(cursor)?,
            "name" => self.name = cursor.text()?,
            "kind" => self.kind = cursor.text()?,
            "status" => self.status = cursor.text()?,
            "rawInput" => self.raw_input = cursor.some()?,
            "rawOutput" => self.raw_output = cursor.some()?,
            "locations" => self.locations = cursor.some()?,
            "entries" => self.entries = cursor.some()?,
            "plan" => self.plan = cursor.some()?,
            "planId" => self.plan_id = cursor.name()?,
            "availableCommands" => self.available_commands = cursor.some()?,
            "currentModeId" => self.current_mode_id = cursor.name()?,
            "configOptions" => self.config_options = cursor.some()?,
            "used" => self.used = cursor.some()?,
            "size" => self.size = cursor.some()?,
            "cost" => self.cost = cursor.some()?,
            "updatedAt" => self.updated_at = Patch::text(cursor)?,
            "severity" => self.severity = cursor.text()?,
            "description" => self.description = Patch::text(cursor)?,
            "compactionId" => self.compaction_id = cursor.name()?,
            "summary" => self.summary = Patch::raw(cursor)?,
            "error" => self.error = cursor.some()?,
            "sessionId" => self.session_id = cursor.name()?,
            "capabilities" => self.capabilities = cursor.some()?,
            "state" => self.state = cursor.some()?,
            "cwd" => self.cwd = cursor.text()?,
            "additionalDirectories" => self.additional_directories = cursor.some()?,
            "senderSessionId" => self.sender_session_id = cursor.name()?,
            "recipientSessionId" => self.recipient_session_id = cursor.name()?,
            "senderMessageId" => self.sender_message_id = cursor.name()?,
            "recipientMessageId" => self.recipient_message_id = cursor.name()?,
            "cursorId" => self.cursor_id = cursor.name()?,
            "anchor" => self.anchor = cursor.some()?,
            "subagentSessionId" => self.subagent_session_id = cursor.name()?,
            "suggestions" => self.suggestions = cursor.some()?,
            "_meta" => self.meta = cursor.some()?,
            _ => {
                cursor.raw()?;
            }
        }
        Ok(())
    }
}

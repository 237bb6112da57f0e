//! Content blocks, and what tools hold.
//!
//! A list gives every item that can be read and counts the broken ones. An item of a type that nobody knows yet is
//! not broken: it is given as it stands.

use std::borrow::Cow;

use crate::raw::RawValue;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::cursor::{Broken, Cursor};
use crate::value;

/// The items of a list that could be read, and how many could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T> {
    /// What could be read, in order.
    pub items: Vec<T>,
    /// How many items were no such thing.
    pub broken: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            broken: 0,
        }
    }
}

impl<T> List<T> {
    /// Reads the items of an array, or else one item in the place of a list. `null` is an empty list.
    pub(crate) fn walk<'a>(
        raw: &'a RawValue,
        walk: impl Fn(&mut Cursor<'a>) -> Result<Option<T>, Broken>,
    ) -> Self {
        let mut list = Self::default();
        let mut cursor = Cursor::within(raw);
        let one = !cursor.eat(b'[');
        if (one && value::is_null(raw)) || (!one && cursor.eat(b']')) {
            return list;
        }
        loop {
            match walk(&mut cursor) {
                Ok(Some(item)) => list.items.push(item),
                Ok(None) => list.broken += 1,
                // Not in a value that was checked.
                Err(Broken) => return list,
            }
            if one || !cursor.eat(b',') {
                return list;
            }
        }
    }

    /// Reads each item of an array; no list gives no items.
    pub fn read<'a>(raw: &'a RawValue, read: impl Fn(&'a RawValue) -> Option<T>) -> Self {
        let mut list = Self::default();
        for item in value::array(raw) {
            match read(item) {
                Some(item) => list.items.push(item),
                None => list.broken += 1,
            }
        }
        list
    }
}

/// A block of content.
#[derive(Debug, Clone)]
pub enum Block<'a> {
    /// Text, usually Markdown.
    Text {
        /// The text.
        text: Cow<'a, str>,
    },
    /// A picture.
    Image {
        /// Base64.
        data: Option<Cow<'a, str>>,
        /// What kind of picture.
        mime_type: Option<Cow<'a, str>>,
        /// Where it is found.
        uri: Option<Cow<'a, str>>,
    },
    /// A sound.
    Audio {
        /// Base64.
        data: Option<Cow<'a, str>>,
        /// What kind of sound.
        mime_type: Option<Cow<'a, str>>,
    },
    /// A file or page that is pointed at.
    Link {
        /// Where it is found.
        uri: Cow<'a, str>,
        /// Its name.
        name: Option<Cow<'a, str>>,
        /// Its title.
        title: Option<Cow<'a, str>>,
        /// What it is.
        description: Option<Cow<'a, str>>,
        /// What kind of file.
        mime_type: Option<Cow<'a, str>>,
        /// Its length in bytes.
        size: Option<u64>,
    },
    /// A file or page that is carried whole.
    Resource {
        /// Where it is found.
        uri: Option<Cow<'a, str>>,
        /// What kind of file.
        mime_type: Option<Cow<'a, str>>,
        /// Its text.
        text: Option<Cow<'a, str>>,
        /// Its bytes in Base64.
        blob: Option<Cow<'a, str>>,
    },
    /// An object of a type that nobody knows yet.
    Unknown(&'a RawValue),
}

impl<'a> Block<'a> {
    /// A block of text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Reads a block; a bare string is a block of text. None if it is nothing like a block.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        Self::walk(&mut Cursor::within(raw)).ok()?
    }

    /// Reads one block, or a list of them.
    pub fn read_all(raw: &'a RawValue) -> List<Self> {
        List::walk(raw, Self::walk)
    }

    /// Reads the value on which the cursor stands, and steps over it.
    fn walk(cursor: &mut Cursor<'a>) -> Result<Option<Self>, Broken> {
        if cursor.peek() != Some(b'{') {
            return Ok(cursor.text()?.map(Self::text));
        }
        // Nearly every block is a piece of text in this spelling.
        if let Some(text) = cursor.string_between("{\"type\":\"text\",\"text\":", b'}') {
            return Ok(Some(Self::Text { text }));
        }
        let start = cursor.clone();
        let mut member = BlockMembers::default();
        cursor.object(|cursor, name| {
            match &*name {
                "type" => member.kind = cursor.text()?,
                "text" => member.text = cursor.text()?,
                "data" => member.data = cursor.text()?,
                "blob" => member.blob = cursor.text()?,
                "mimeType" => member.mime_type = cursor.text()?,
                "uri" => member.uri = cursor.text()?,
                "name" => member.name = cursor.text()?,
                "title" => member.title = cursor.text()?,
                "description" => member.description = cursor.text()?,
                "size" => member.size = value::u64(cursor.raw()?),
                "resource" => member.resource = cursor.some()?,
                _ => {
                    cursor.raw()?;
                }
            }
            Ok(())
        })?;
        Ok(member.into_block(start))
    }

    fn resource(
        uri: Option<Cow<'a, str>>,
        mime_type: Option<Cow<'a, str>>,
        text: Option<Cow<'a, str>>,
        blob: Option<Cow<'a, str>>,
    ) -> Option<Self> {
        let some = uri.is_some() || text.is_some() || blob.is_some();
        some.then_some(Self::Resource {
            uri,
            mime_type,
            text,
            blob,
        })
    }
}

/// What a JSON text says that is one string and nothing else; none for any other text.
pub fn string(json: &str) -> Option<Cow<'_, str>> {
    let mut cursor = Cursor::new(json);
    if !json.starts_with('"') {
        return None;
    }
    let text = cursor.text().ok()??;
    (cursor.at() == json.len()).then_some(text)
}

/// The members of all types of block together.
#[derive(Default)]
struct BlockMembers<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    data: Option<Cow<'a, str>>,
    blob: Option<Cow<'a, str>>,
    mime_type: Option<Cow<'a, str>>,
    uri: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    title: Option<Cow<'a, str>>,
    description: Option<Cow<'a, str>>,
    size: Option<u64>,
    resource: Option<&'a RawValue>,
}

impl<'a> BlockMembers<'a> {
    /// Makes the block; `start` is where it stands.
    fn into_block(self, mut start: Cursor<'a>) -> Option<Block<'a>> {
        let BlockMembers {
            kind,
            text,
            data,
            blob,
            mime_type,
            uri,
            name,
            title,
            description,
            size,
            resource,
        } = self;
        match kind.as_deref() {
            // A block that says no type but has a text can only mean one thing.
            Some("text") | None => text.map(|text| Block::Text { text }),
            Some("image") => {
                (data.is_some() || uri.is_some()).then_some(Block::Image { data, mime_type, uri })
            }
            Some("audio") => data.is_some().then_some(Block::Audio { data, mime_type }),
            Some("resource_link") => uri.map(|uri| Block::Link {
                uri,
                name,
                title,
                description,
                mime_type,
                size,
            }),
            Some("resource") => match resource {
                Some(inner) => {
                    let inner = |name| value::member_text(inner, name);
                    let (uri, mime_type) = (inner("uri"), inner("mimeType"));
                    Block::resource(uri, mime_type, inner("text"), inner("blob"))
                }
                None => Block::resource(uri, mime_type, text, blob),
            },
            Some(_) => start.raw().ok().map(Block::Unknown),
        }
    }
}

/// Writes the block as the protocol spells it.
impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Unknown(raw) = self {
            return raw.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Text { text } => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            Self::Image { data, mime_type, uri } => {
                map.serialize_entry("type", "image")?;
                // Both are required, also where the picture is only pointed at.
                map.serialize_entry("data", data.as_deref().unwrap_or_default())?;
                map.serialize_entry("mimeType", mime_type.as_deref().unwrap_or("image/png"))?;
                entry(&mut map, "uri", uri)?;
            }
            Self::Audio { data, mime_type } => {
                map.serialize_entry("type", "audio")?;
                map.serialize_entry("data", data.as_deref().unwrap_or_default())?;
                map.serialize_entry("mimeType", mime_type.as_deref().unwrap_or("audio/wav"))?;
            }
            Self::Link {
                uri,
                name,
                title,
                description,
                mime_type,
                size,
            } => {
                map.serialize_entry("type", "resource_link")?;
                map.serialize_entry("uri", uri)?;
                map.serialize_entry("name", name.as_deref().unwrap_or(uri))?;
                entry(&mut map, "title", title)?;
                entry(&mut map, "description", description)?;
                entry(&mut map, "mimeType", mime_type)?;
                entry(&mut map, "size", size)?;
            }
            Self::Resource {
                uri,
                mime_type,
                text,
                blob,
            } => {
                map.serialize_entry("type", "resource")?;
                map.serialize_entry(
                    "resource",
                    &Carried {
                        uri,
                        mime_type,
                        text,
                        blob,
                    },
                )?;
            }
            Self::Unknown(_) => {}
        }
        map.end()
    }
}

/// The inner object of a resource.
struct Carried<'b, 'a> {
    uri: &'b Option<Cow<'a, str>>,
    mime_type: &'b Option<Cow<'a, str>>,
    text: &'b Option<Cow<'a, str>>,
    blob: &'b Option<Cow<'a, str>>,
}

impl Serialize for Carried<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", self.uri.as_deref().unwrap_or_default())?;
        entry(&mut map, "mimeType", self.mime_type)?;
        if self.blob.is_none() {
            map.serialize_entry("text", self.text.as_deref().unwrap_or_default())?;
        }
        entry(&mut map, "blob", self.blob)?;
        map.end()
    }
}

fn entry<M: SerializeMap, T: Serialize>(map: &mut M, name: &str, value: &Option<T>) -> Result<(), M::Error> {
    value
        .as_ref()
        .map_or(Ok(()), |value| map.serialize_entry(name, value))
}

/// One part of what a tool holds.
#[derive(Debug, Clone)]
pub enum ToolContent<'a> {
    /// A block of content.
    Block(Block<'a>),
    /// A file before and after.
    Diff {
        /// The file.
        path: Cow<'a, str>,
        /// Its whole text before; none for a new file.
        old_text: Option<Cow<'a, str>>,
        /// Its whole text after.
        new_text: Cow<'a, str>,
        /// What the agent adds on its own account.
        meta: Option<&'a RawValue>,
    },
    /// What a terminal of the client shows.
    Terminal {
        /// The terminal.
        terminal_id: Cow<'a, str>,
    },
    /// Another session.
    Session {
        /// The session.
        session_id: Cow<'a, str>,
    },
    /// An object of a type that nobody knows yet.
    Unknown(&'a RawValue),
}

impl<'a> ToolContent<'a> {
    /// Reads one part. A bare block, which some agents send, is a block.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        Self::walk(&mut Cursor::within(raw)).ok()?
    }

    /// Reads what a tool holds. Instead of the list that it should be, a single part will do.
    pub fn read_all(raw: &'a RawValue) -> List<Self> {
        List::walk(raw, Self::walk)
    }

    /// Reads the value on which the cursor stands, and steps over it.
    fn walk(cursor: &mut Cursor<'a>) -> Result<Option<Self>, Broken> {
        if cursor.peek() != Some(b'{') {
            return Ok(Block::walk(cursor)?.map(Self::Block));
        }
        let mut start = cursor.clone();
        let (mut kind, mut path, mut new_text, mut block, mut meta) = (None, None, None, None, None);
        let (mut old_text, mut terminal_id, mut session_id) = (None, None, None);
        cursor.object(|cursor, name| {
            match &*name {
                "type" => kind = cursor.text()?,
                "content" => block = Block::walk(cursor)?,
                "path" => path = cursor.text()?,
                "oldText" => old_text = cursor.text()?,
                "newText" => new_text = cursor.text()?,
                "terminalId" => terminal_id = cursor.name()?,
                "sessionId" => session_id = cursor.name()?,
                "_meta" => meta = cursor.some()?,
                _ => {
                    cursor.raw()?;
                }
            }
            Ok(())
        })?;
        Ok(match kind.as_deref() {
            Some("content") => block.map(Self::Block),
            Some("diff") => path.zip(new_text).map(|(path, new_text)| Self::Diff {
                path,
                old_text,
                new_text,
                meta,
            }),
            Some("terminal") => terminal_id.map(|terminal_id| Self::Terminal { terminal_id }),
            Some("session") => session_id.map(|session_id| Self::Session { session_id }),
            Some("text" | "image" | "audio" | "resource" | "resource_link") | None => {
                Block::walk(&mut start)?.map(Self::Block)
            }
            Some(_) => Some(Self::Unknown(start.raw()?)),
        })
    }
}

//! JSON values that lose nothing, and are printed exactly as JavaScript prints them.
//!
//! The AI SDK is a JavaScript library: a provider body holds JSON text inside JSON (tool arguments,
//! stringified results), and that text is what `JSON.stringify` made of values that `JSON.parse` read.
//! A general JSON crate keeps either the number text or the JavaScript form, sorts or renames nothing
//! that JavaScript would, and reports a fault by line and column. This module keeps three things apart:
//!
//! * [`Json::parse`] is strict. Duplicate keys, lone surrogates, numbers beyond a double and deep
//!   nesting are errors, each with its [`Path`](crate::path::Path).
//! * [`Json::to_source`] writes what was read: the order of members, the text of numbers.
//! * [`Json::to_js`] writes what `JSON.stringify(JSON.parse(text))` would: shortest number text,
//!   integer-like keys first, nothing escaped but `"`, `\` and control characters.
//!
//! Text is shared rather than copied, see [`Text`].

mod number;
mod parse;
mod text;
mod write;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

pub use number::Number;
pub use parse::{MAX_DEPTH, ParseError, ParseErrorKind};
pub use text::Text;

/// Any JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, with its source text.
    Number(Number),
    /// A string.
    String(Text),
    /// An array.
    Array(Vec<Json>),
    /// An object, with the order of its members.
    Object(Object),
}

impl Json {
    /// The string, if this is one.
    pub fn as_text(&self) -> Option<&Text> {
        if let Json::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The string as `&str`, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().map(Text::as_str)
    }

    /// The object, if this is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Json::Object(object) = self {
            Some(object)
        } else {
            None
        }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(items) = self {
            Some(items)
        } else {
            None
        }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Json::Number(number) = self {
            Some(number)
        } else {
            None
        }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// The member of that name, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object()?.get(key)
    }

    /// What this is, in words for an error message: `a string`, `null`, …
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }

    /// Whether JavaScript takes this value as true in a condition.
    pub fn is_truthy(&self) -> bool {
        match self {
            Json::Null => false,
            Json::Bool(value) => *value,
            Json::Number(number) => number.as_f64() != 0.0,
            Json::String(text) => !text.is_empty(),
            Json::Array(_) | Json::Object(_) => true,
        }
    }
}

/// The members of a JSON object, in order.
///
/// Most objects of a prompt have a handful of short names, so the hash is one that is quick for those; it
/// is seeded at random, so that nobody can choose names that collide.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object(IndexMap<Box<str>, Json, RandomState>);

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// The member of that name.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// The member of that name, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.get_mut(key)
    }

    /// Sets a member: a new one at the end, an old one where it stands.
    pub fn insert(&mut self, key: impl Into<Box<str>>, value: impl Into<Json>) {
        self.0.insert(key.into(), value.into());
    }

    /// Sets a member if there is a value for it.
    pub fn insert_some<V: Into<Json>>(&mut self, key: impl Into<Box<str>>, value: Option<V>) {
        if let Some(value) = value {
            self.insert(key, value);
        }
    }

    /// Takes a member out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        self.0.shift_remove(key)
    }

    /// Sets every member of `other`, as JavaScript's spread does.
    pub fn extend_from(&mut self, other: &Object) {
        for (key, value) in other.iter() {
            self.insert(key, value.clone());
        }
    }

    /// Whether there is a member of that name.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// The names of the members in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|key| &**key)
    }
}

impl IntoIterator for Object {
    type Item = (Box<str>, Json);
    type IntoIter = indexmap::map::IntoIter<Box<str>, Json>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<Box<str>>, V: Into<Json>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Object(
            members
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

/// How many bytes from the start stand for themselves inside a JSON string. Most of a large prompt is
/// base64, so this goes by blocks, whose check the compiler turns into vector instructions.
fn plain_length(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let mut at = 0;
    while let Some(block) = bytes.get(at..at + BLOCK) {
        if block.iter().fold(false, |found, byte| found | is_special(byte)) {
            break;
        }
        at += BLOCK;
    }
    at + bytes[at..]
        .iter()
        .position(is_special)
        .unwrap_or(bytes.len() - at)
}

macro_rules! json_from {
    ($($from:ty: |$value:ident| $json:expr;)*) => {$(
        impl From<$from> for Json {
            fn from($value: $from) -> Self {
                $json
            }
        }
    )*};
}

json_from! {
    bool: |value| Json::Bool(value);
    Number: |value| Json::Number(value);
    &Number: |value| Json::Number(value.clone());
    usize: |value| Json::Number(value.into());
    i64: |value| Json::Number(value.into());
    Text: |value| Json::String(value);
    &Text: |value| Json::String(value.clone());
    &str: |value| Json::String(value.into());
    String: |value| Json::String(value.into());
    Object: |value| Json::Object(value);
    &Object: |value| Json::Object(value.clone());
    &Json: |value| value.clone();
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Self {
        Json::Array(items.into_iter().map(Into::into).collect())
    }
}

/// Builds an [`Object`]: `object! { "type": "text", "name"?: maybe }`. A member after `?:` takes an
/// `Option` and is left out when there is nothing.
macro_rules! object {
    (@put $object:ident) => {};
    (@put $object:ident $key:literal : $value:expr $(, $($rest:tt)*)?) => {
        $object.insert($key, $value);
        $crate::json::object!(@put $object $($($rest)*)?);
    };
    (@put $object:ident $key:literal ? : $value:expr $(, $($rest:tt)*)?) => {
        $object.insert_some($key, $value);
        $crate::json::object!(@put $object $($($rest)*)?);
    };
    ($($members:tt)*) => {{
        #[allow(unused_mut)]
        let mut object = $crate::json::Object::new();
        $crate::json::object!(@put object $($members)*);
        object
    }};
}
pub(crate) use object;

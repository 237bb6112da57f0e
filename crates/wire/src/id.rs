//! The ids of requests.
//!
//! An id is whatever the asking side chose, and the answer must repeat it exactly, so an id keeps its type and, for
//! numbers that are no plain integer, its spelling. Integers are what nearly every peer uses and are kept as such.

use std::borrow::Cow;
use std::fmt;

use crate::raw::RawValue;
use serde::{Serialize, Serializer};

/// The id of a request, as it stands on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id<'a> {
    /// `null`, which JSON-RPC allows in a request and which no answer can be matched by.
    Null,
    /// An integer in its plain spelling.
    Integer(i64),
    /// Any other number, in the sender's spelling: `1.0`, `1e3`, or one beyond 64 bits.
    Number(Cow<'a, str>),
    /// A string.
    String(Cow<'a, str>),
}

/// An [`Id`] that borrows nothing, to be a key. To look one up in a map takes no copy, since any `&Id` will do; to take one
/// out needs [`Id::into_owned`], which copies strings only, and nearly every id is an integer.
pub type OwnedId = Id<'static>;

impl<'a> Id<'a> {
    /// Reads an id; none if the value is no string, number or `null`.
    pub fn read(raw: &'a RawValue) -> Option<Self> {
        let source = raw.get();
        match source.as_bytes().first()? {
            b'n' => Some(Self::Null),
            b'"' => crate::value::text(raw).map(Self::String),
            b'-' | b'0'..=b'9' => Some(match source.parse::<i64>() {
                // `-0` is an integer that its own type cannot spell.
                Ok(number) if source != "-0" => Self::Integer(number),
                _ => Self::Number(Cow::Borrowed(source)),
            }),
            _ => None,
        }
    }

    /// The same id, borrowing nothing.
    pub fn into_owned(self) -> OwnedId {
        match self {
            Self::Null => Id::Null,
            Self::Integer(number) => Id::Integer(number),
            Self::Number(source) => Id::Number(Cow::Owned(source.into_owned())),
            Self::String(text) => Id::String(Cow::Owned(text.into_owned())),
        }
    }

    /// The same id, borrowing from this one: a key to look up with, without a copy.
    pub fn as_ref(&self) -> Id<'_> {
        match self {
            Self::Null => Id::Null,
            Self::Integer(number) => Id::Integer(*number),
            Self::Number(source) => Id::Number(Cow::Borrowed(source)),
            Self::String(text) => Id::String(Cow::Borrowed(text)),
        }
    }
}

impl From<i64> for Id<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl<'a> From<&'a str> for Id<'a> {
    fn from(text: &'a str) -> Self {
        Self::String(Cow::Borrowed(text))
    }
}

/// Writes the id as JSON.
impl fmt::Display for Id<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Integer(number) => write!(out, "{number}"),
            Self::Number(source) => out.write_str(source),
            Self::String(text) => {
                let quoted = serde_json::to_string(text).map_err(|_| fmt::Error)?;
                out.write_str(&quoted)
            }
        }
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Number(source) => match serde_json::from_str::<&RawValue>(source) {
                Ok(raw) => raw.serialize(serializer),
                Err(error) => Err(serde::ser::Error::custom(error)),
            },
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

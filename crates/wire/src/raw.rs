//! JSON that is known to be JSON, kept as the sender wrote it.
//!
//! A line is checked once, while it is read ([`mod@crate::frame`]). What lies deeper stays raw until somebody asks for it,
//! and asking again must not mean checking again: real frames are asked for a member here and a path there, a dozen times, and
//! a tool's output can be megabytes. So a raw value carries the promise that its text has been checked. Inside it, what
//! nobody asks for is stepped over by its quotes and brackets alone.
//!
//! `serde_json` has a type of the same name and meaning, but gives no part of one without checking it anew. One of its
//! values is one of ours at no cost ([`RawValue::of`]).

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use ref_cast::RefCast;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue as Checked;

use crate::cursor::Cursor;

/// One JSON value in the sender's own spelling, without white space around it.
#[derive(RefCast, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawValue {
    text: str,
}

impl RawValue {
    /// Reads a text that is one JSON value, perhaps with white space around it; none for any other text.
    pub fn parse(text: &str) -> Option<&Self> {
        let mut cursor = Cursor::new(text);
        let raw = cursor.raw().ok()?;
        cursor.peek().is_none().then_some(raw)
    }

    /// What `serde_json` has checked.
    pub fn of(raw: &Checked) -> &Self {
        Self::checked(raw.get())
    }

    /// A text that has been checked before, as a whole or as a part of another.
    pub(crate) fn checked(text: &str) -> &Self {
        Self::ref_cast(text)
    }

    /// The text.
    pub fn get(&self) -> &str {
        &self.text
    }
}

/// A raw value that owns its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnedRawValue(Box<str>);

impl Deref for OwnedRawValue {
    type Target = RawValue;

    fn deref(&self) -> &RawValue {
        RawValue::checked(&self.0)
    }
}

impl Borrow<RawValue> for OwnedRawValue {
    fn borrow(&self) -> &RawValue {
        self
    }
}

impl ToOwned for RawValue {
    type Owned = OwnedRawValue;

    fn to_owned(&self) -> OwnedRawValue {
        OwnedRawValue(self.text.into())
    }
}

impl fmt::Debug for RawValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("RawValue").field(&&self.text).finish()
    }
}

impl fmt::Display for RawValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// Writes the value as it stands.
impl Serialize for RawValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &Checked = serde_json::from_str(&self.text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for &'a RawValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&Checked>::deserialize(deserializer).map(RawValue::of)
    }
}

//! From JSON to types and back, losing nothing and reporting everything.
//!
//! serde would stop at the first fault, forget the order of members, and turn a wrong tag into "no
//! variant matched". So the types of this crate are read and written through one small trait,
//! [`Typed`], and are declared with three macros in which each pattern stands once:
//!
//! * `record!` an object with known members. Unknown members and the order of all members are kept in
//!   its [`Members`], so that writing gives back what was read.
//! * `tagged!` a choice between records by their tag (`type`, `role`). A tag that the place does not
//!   allow is a fault that lists what is allowed: a user message cannot hold a tool call.
//! * `words!` a choice between fixed strings.
//!
//! An optional member is either absent or of its type; `null` counts as a wrong type, except where any
//! JSON value may stand. In JavaScript terms: `undefined` is absence, and `null` is a value.

mod macros;
mod members;
mod tags;

use std::borrow::Cow;

use indexmap::IndexMap;
use schemars::{Schema, SchemaGenerator};

use crate::fault::{Fault, FaultKind, Faults};
use crate::json::{Json, Number, Object, Text};
use crate::path::{Path, Step};

pub(crate) use macros::{record, tagged, words};
pub use members::Members;
pub(crate) use members::Slots;
pub(crate) use tags::{find_tag, read_member, read_tag, read_word};

/// The ways to write a value that JSON cannot hold as it is: bytes and URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it was read: URL text as given. Bytes become base64.
    Source,
    /// As the SDK's gateway client sends it: URLs in WHATWG form, bytes as base64.
    Wire,
    /// As `JSON.stringify` writes the live objects: URLs in WHATWG form, bytes as an object with a
    /// key per byte. Several providers send this to their models.
    Stringify,
}

/// A value with a fixed shape in JSON.
pub trait Typed: Sized {
    /// What is expected, in words for a fault: `a string`.
    const EXPECTED: &'static str;

    /// What to do when an array of these is needed and something else was found.
    const LIST_MEND: &'static str = "put the items into an array";

    /// Reads the value, or reports its faults to the reader and gives nothing.
    fn read(value: Json, reader: &mut Reader) -> Option<Self>;

    /// What to make of a member that is not there.
    fn absent(reader: &mut Reader) -> Option<Self> {
        reader.missing(Self::EXPECTED);
        None
    }

    /// The value as JSON, or nothing if its member is to be left out.
    fn write(&self, form: Form) -> Option<Json>;

    /// The name that the JSON Schema defines the value under; without one its schema stands in place.
    fn schema_name() -> Option<&'static str> {
        None
    }

    /// The JSON Schema of the value. Anything, unless the type says more.
    fn schema(_: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }

    /// Reads a whole document, or gives every fault in it.
    fn from_json(value: Json) -> Result<Self, Faults> {
        Self::from_json_at(value, Path::root())
    }

    /// As [`Typed::from_json`], for a value that stands at `path` of something larger.
    fn from_json_at(value: Json, path: Path) -> Result<Self, Faults> {
        let mut reader = Reader::at(path);
        let value = Self::read(value, &mut reader);
        reader.finish(value)
    }

    /// The value as it was read, with bytes as base64.
    fn to_json(&self) -> Json {
        self.to_json_as(Form::Source)
    }

    /// The value in one of the three forms.
    fn to_json_as(&self, form: Form) -> Json {
        self.write(form).unwrap_or_default()
    }
}

/// Keeps the place and collects the faults while a document is read.
#[derive(Debug)]
pub struct Reader {
    path: Path,
    faults: Vec<Fault>,
}

impl Reader {
    /// A reader whose document stands at `path`.
    pub fn at(path: Path) -> Self {
        Reader {
            path,
            faults: Vec::new(),
        }
    }

    /// The value, if nothing was wrong with it.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Faults> {
        match value {
            Some(value) if self.faults.is_empty() => Ok(value),
            _ => Err(Faults::from(self.faults)),
        }
    }

    /// Reads something one step deeper.
    pub fn within<T>(&mut self, step: impl Into<Step>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let value = read(self);
        self.path.pop();
        value
    }

    /// Reports a fault at the current place.
    pub fn fault(
        &mut self,
        kind: FaultKind,
        found: impl Into<String>,
        allowed: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.faults.push(Fault {
            path: self.path.clone(),
            kind,
            found: found.into(),
            allowed: allowed.into(),
            mend: mend.into(),
        });
    }

    /// Reports that nothing stands here and something must.
    pub fn missing(&mut self, expected: &str) {
        self.fault(FaultKind::Missing, "nothing", expected, "add the member");
    }

    /// Reports a value of the wrong JSON type.
    pub fn wrong_type(&mut self, found: &Json, expected: &str) {
        let mend = match found {
            Json::Null => format!("leave the member out, or give {expected}"),
            _ => format!("give {expected} instead"),
        };
        self.fault(FaultKind::WrongType, found.kind(), expected, mend);
    }

    /// Reads an object and hands out its members by name.
    pub(crate) fn object(&mut self, value: Json, expected: &str) -> Option<Object> {
        match value {
            Json::Object(object) => Some(object),
            other => {
                self.wrong_type(&other, expected);
                None
            }
        }
    }
}

/// At most the start of a value, for quoting it in a fault.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl Typed for Json {
    const EXPECTED: &'static str = "any JSON value";

    fn read(value: Json, _: &mut Reader) -> Option<Self> {
        Some(value)
    }

    fn write(&self, _: Form) -> Option<Json> {
        Some(self.clone())
    }
}

macro_rules! typed_scalar {
    ($($type:ty, $variant:ident, $expected:literal, $kind:literal;)*) => {$(
        impl Typed for $type {
            const EXPECTED: &'static str = $expected;

            fn read(value: Json, reader: &mut Reader) -> Option<Self> {
                match value {
                    Json::$variant(value) => Some(value),
                    other => {
                        reader.wrong_type(&other, Self::EXPECTED);
                        None
                    }
                }
            }

            fn write(&self, _: Form) -> Option<Json> {
                Some(Json::$variant(self.clone()))
            }

            fn schema(_: &mut SchemaGenerator) -> Schema {
                schemars::json_schema!({ "type": $kind })
            }
        }
    )*};
}

typed_scalar! {
    bool, Bool, "true or false", "boolean";
    Number, Number, "a number", "number";
    Text, String, "a string", "string";
    Object, Object, "an object", "object";
}

impl<T: Typed> Typed for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn read(value: Json, reader: &mut Reader) -> Option<Self> {
        T::read(value, reader).map(Some)
    }

    fn absent(_: &mut Reader) -> Option<Self> {
        Some(None)
    }

    fn write(&self, form: Form) -> Option<Json> {
        self.as_ref()?.write(form)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        crate::schema::of::<T>(generator)
    }
}

impl<T: Typed> Typed for Vec<T> {
    const EXPECTED: &'static str = "an array";

    fn read(value: Json, reader: &mut Reader) -> Option<Self> {
        let items = match value {
            Json::Array(items) => items,
            other => {
                let allowed = format!("an array, each item {}", T::EXPECTED);
                reader.fault(FaultKind::WrongType, other.kind(), allowed, T::LIST_MEND);
                return None;
            }
        };
        let expected = items.len();
        let read: Vec<T> = items
            .into_iter()
            .enumerate()
            .filter_map(|(index, item)| reader.within(index, |reader| T::read(item, reader)))
            .collect();
        (read.len() == expected).then_some(read)
    }

    fn write(&self, form: Form) -> Option<Json> {
        Some(Json::Array(
            self.iter().map(|item| item.to_json_as(form)).collect(),
        ))
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "array", "items": crate::schema::of::<T>(generator) })
    }
}

/// A map with free keys and values of one kind, such as provider options or headers.
#[derive(Debug, Clone, PartialEq)]
pub struct Map<T>(IndexMap<Box<str>, T>);

impl<T> Map<T> {
    /// A map without entries.
    pub fn new() -> Self {
        Map(IndexMap::new())
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0.get(key)
    }

    /// The value under a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut T> {
        self.0.get_mut(key)
    }

    /// Sets the value under a key.
    pub fn insert(&mut self, key: impl Into<Box<str>>, value: impl Into<T>) {
        self.0.insert(key.into(), value.into());
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Map<T> {
    fn default() -> Self {
        Map::new()
    }
}

impl<K: Into<Box<str>>, T> FromIterator<(K, T)> for Map<T> {
    fn from_iter<I: IntoIterator<Item = (K, T)>>(entries: I) -> Self {
        Map(entries
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect())
    }
}

impl<T: Typed> Typed for Map<T> {
    const EXPECTED: &'static str = "an object";

    fn read(value: Json, reader: &mut Reader) -> Option<Self> {
        let object = reader.object(value, Self::EXPECTED)?;
        let expected = object.len();
        let read: IndexMap<_, _> = object
            .into_iter()
            .filter_map(|(key, value)| {
                let step = Step::Key(Cow::Owned(key.to_string()));
                Some((key, reader.within(step, |reader| T::read(value, reader))?))
            })
            .collect();
        (read.len() == expected).then_some(Map(read))
    }

    fn write(&self, form: Form) -> Option<Json> {
        let members = self
            .0
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.write(form)?)));
        Some(Json::Object(members.collect()))
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object", "additionalProperties": crate::schema::of::<T>(generator) })
    }
}

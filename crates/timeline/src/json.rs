//! JSON that is kept as the source wrote it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One JSON value in the source's own spelling: never interpreted, cheap to clone.
#[derive(Clone)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Takes a value over.
    pub fn new(raw: &RawValue) -> Self {
        Self(Arc::from(raw.to_owned()))
    }

    /// Reads a text that must be one JSON value.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        Ok(Self(Arc::from(RawValue::from_string(text.to_owned())?)))
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// Where the value has no JSON form (a map with keys that are no strings).
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self(Arc::from(serde_json::value::to_raw_value(value)?)))
    }

    /// A JSON string.
    pub fn string(text: &str) -> Self {
        match Self::of(text) {
            Ok(json) => json,
            Err(_) => unreachable!("a string always has a JSON form"),
        }
    }

    /// The raw value.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The source text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl std::fmt::Debug for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self(Arc::from(Box::<RawValue>::deserialize(d)?)))
    }
}

impl schemars::JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::Schema::from(true)
    }
}

//! Time comes in with the input; this crate has no clock.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// When something happened: an instant where the source had a clock, else the time since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    At(i64),
    /// Milliseconds since the start of the recording.
    Since(u64),
}

impl Time {
    /// Milliseconds from `earlier` to `self`, if both are of one kind and in order.
    pub fn since(self, earlier: Time) -> Option<u64> {
        match (earlier, self) {
            (Time::At(a), Time::At(b)) => b.checked_sub(a).and_then(|ms| u64::try_from(ms).ok()),
            (Time::Since(a), Time::Since(b)) => b.checked_sub(a),
            _ => None,
        }
    }

    /// RFC 3339 in UTC with milliseconds, for an instant.
    pub fn rfc3339(self) -> Option<String> {
        let Time::At(ms) = self else { return None };
        let stamp = jiff::Timestamp::from_millisecond(ms).ok()?;
        Some(format!("{stamp:.3}"))
    }

    /// Reads RFC 3339 (any offset); nothing if it is no instant.
    pub fn parse(text: &str) -> Option<Time> {
        text.trim()
            .parse::<jiff::Timestamp>()
            .ok()
            .map(|t| Time::At(t.as_millisecond()))
    }
}

/// An instant is written as RFC 3339 text, a time since the start as a number of milliseconds.
impl Serialize for Time {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Time::Since(ms) => s.serialize_u64(*ms),
            Time::At(ms) => match self.rfc3339() {
                Some(text) => s.serialize_str(&text),
                None => s.serialize_i64(*ms),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = Time;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an RFC 3339 instant or milliseconds")
            }
            fn visit_u64<E: de::Error>(self, ms: u64) -> Result<Time, E> {
                Ok(Time::Since(ms))
            }
            fn visit_i64<E: de::Error>(self, ms: i64) -> Result<Time, E> {
                Ok(Time::At(ms))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                Time::parse(text).ok_or_else(|| E::custom(format!("`{text}` is no RFC 3339 instant")))
            }
        }
        d.deserialize_any(Reader)
    }
}

impl schemars::JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "RFC 3339 in UTC with milliseconds, or milliseconds since the start of the recording",
            "type": ["string", "integer"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_printed_in_utc_with_milliseconds() {
        assert_eq!(
            Time::At(1_700_000_000_000).rfc3339().as_deref(),
            Some("2023-11-14T22:13:20.000Z")
        );
        assert_eq!(
            Time::parse("2023-11-14T23:13:20.5+01:00"),
            Some(Time::At(1_700_000_000_500))
        );
        assert_eq!(Time::parse("yesterday"), None);
        assert_eq!(Time::At(5).since(Time::Since(3)), None);
    }
}

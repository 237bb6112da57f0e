//! Ids: opaque to readers, spelled from the agent's own keys.
//!
//! Nothing is indexed to find a row: whoever knows the key spells the id. That is why a rebuild from the tape gives the
//! same ids, and why the assembler may forget a row and still find it. A part that came from an agent is escaped, so
//! that no agent can spell another row's id; a part over [`PART_LIMIT`] bytes keeps its head and a digest.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

/// Longest part of an id that is kept as it is, in bytes; a longer one becomes its head, `#` and a digest.
pub const PART_LIMIT: usize = 256;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                Ok(Self::from(String::deserialize(d)?))
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(g: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(g)
            }
        }
    };
}

id_type! {
    /// Id of a session: ours, or for a recording the agent's own.
    SessionId
}

id_type! {
    /// Id of a row: `<session>/<key>`, unique wherever the session id is.
    RowId
}

impl RowId {
    /// Spells the id of the row with `key` in `session`. The key comes from [`Key`].
    pub fn spell(session: &SessionId, key: &str) -> Self {
        let mut text = String::with_capacity(session.as_str().len() + 1 + key.len());
        text.push_str(session.as_str());
        text.push('/');
        text.push_str(key);
        Self::from(text)
    }

    /// The part after the session: what is unique inside it.
    pub fn key<'a>(&'a self, session: &SessionId) -> &'a str {
        self.0
            .strip_prefix(session.as_str())
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(&self.0)
    }
}

/// Builds the key of a row from its kind and the agent's words for it.
#[derive(Debug, Clone)]
pub struct Key(String);

impl Key {
    /// Starts a key of the kind that `prefix` names: a few plain letters of ours.
    pub fn new(prefix: &str) -> Self {
        Self(prefix.to_owned())
    }

    /// Adds a part that an agent or a client chose.
    #[must_use]
    pub fn part(mut self, part: &str) -> Self {
        self.0.push(':');
        push_escaped(&mut self.0, part);
        self
    }

    /// Adds a number of ours, marked so that it can never equal a part.
    #[must_use]
    pub fn minted(mut self, number: u64) -> Self {
        self.0.push_str(":@");
        self.0.push_str(&number.to_string());
        self
    }

    /// The key for the `n`th row under the same words (from 1; the first has no mark).
    #[must_use]
    pub fn incarnation(mut self, n: u32) -> Self {
        if n > 1 {
            self.0.push('#');
            self.0.push_str(&n.to_string());
        }
        self
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn push_escaped(out: &mut String, part: &str) {
    if part.len() <= PART_LIMIT {
        escape(out, part);
        return;
    }
    escape(out, &part[..part.floor_char_boundary(PART_LIMIT)]);
    out.push('#');
    out.push_str(&blake3::hash(part.as_bytes()).to_hex().as_str()[..24]);
}

fn escape(out: &mut String, part: &str) {
    for c in part.chars() {
        match c {
            '/' | '#' | '%' | ':' | '@' | '\u{0}'..=' ' | '\u{7f}' => {
                out.push_str(&format!("%{:02X}", c as u32))
            }
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ay_1_separators_are_escaped() {
        let one = Key::new("t").part("a:b").part("c");
        let two = Key::new("t").part("a").part("b:c");
        assert_ne!(one.as_str(), two.as_str());
        assert_eq!(one.as_str(), "t:a%3Ab:c");
    }

    #[test]
    fn ay_2_a_long_part_keeps_its_head_and_a_digest() {
        let long = "x".repeat(300);
        let other = format!("{}y", "x".repeat(299));
        let key = Key::new("t").part(&long);
        assert!(key.as_str().len() < 300 && key.as_str().contains('#'));
        assert_ne!(key.as_str(), Key::new("t").part(&other).as_str());
        let umlauts = "ä".repeat(200);
        assert!(
            Key::new("t").part(&umlauts).as_str().contains('#'),
            "a character is never split"
        );
    }

    #[test]
    fn ay_3_minted_keys_never_collide_with_agent_keys() {
        assert_ne!(
            Key::new("t").minted(3).as_str(),
            Key::new("t").part("@3").as_str()
        );
        assert_ne!(
            Key::new("t").part("a").incarnation(2).as_str(),
            Key::new("t").part("a#2").as_str()
        );
    }
}

//! Text that may be large and is then shared instead of copied.
//!
//! A prompt carries megabytes of base64. A [`Text`] that was parsed from a document is a window into
//! that document when it is long, so it costs nothing to read, move or clone; a data URL built from it
//! is the head and the same window again ([`Text::joined`]). The payload is copied once, when the
//! request body is written. Short text is owned, so that one small string does not keep a large
//! document alive.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Text of at least this many bytes is shared, shorter text is owned.
const SHARED_FROM: usize = 512;

/// A string that is cheap to clone however long it is.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Owned(Box<str>),
    Window {
        source: Arc<String>,
        start: usize,
        end: usize,
    },
    Joined(Arc<Joined>),
}

/// Two texts that read as one. They become one string only if somebody asks for it as `&str`.
struct Joined {
    head: Text,
    tail: Text,
    whole: OnceLock<Box<str>>,
}

impl Text {
    /// The part of `source` from byte `start` up to byte `end`, which must lie on character boundaries.
    pub(crate) fn window(source: &Arc<String>, start: usize, end: usize) -> Self {
        if end - start < SHARED_FROM {
            Text(Repr::Owned(source[start..end].into()))
        } else {
            Text(Repr::Window {
                source: Arc::clone(source),
                start,
                end,
            })
        }
    }

    /// `head` followed by `tail`, without copying either when they are long.
    pub fn joined(head: impl Into<Text>, tail: Text) -> Self {
        let head = head.into();
        if head.len() + tail.len() < SHARED_FROM {
            return Text(Repr::Owned(format!("{head}{tail}").into()));
        }
        Text(Repr::Joined(Arc::new(Joined {
            head,
            tail,
            whole: OnceLock::new(),
        })))
    }

    /// The part from byte `start` up to byte `end`, which must lie on character boundaries. A part of a
    /// window is a window again.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        match &self.0 {
            Repr::Window {
                source, start: from, ..
            } if end <= self.len() => Text::window(source, from + start, from + end),
            _ => self.as_str()[start..end].into(),
        }
    }

    /// The text in the pieces it is stored in; written one after the other they are the whole.
    pub fn pieces(&self) -> Vec<&str> {
        match &self.0 {
            Repr::Joined(joined) => {
                let mut pieces = joined.head.pieces();
                pieces.extend(joined.tail.pieces());
                pieces
            }
            _ => vec![self],
        }
    }

    /// The text as one string. Joined text is put together on the first call.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Owned(text) => text,
            Repr::Window { source, start, end } => &source[*start..*end],
            Repr::Joined(joined) => joined.whole.get_or_init(|| joined.pieces_in_one()),
        }
    }

    /// The number of bytes, without putting joined text together.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Owned(text) => text.len(),
            Repr::Window { start, end, .. } => end - start,
            Repr::Joined(joined) => joined.head.len() + joined.tail.len(),
        }
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Joined {
    fn pieces_in_one(&self) -> Box<str> {
        let mut pieces = self.head.pieces();
        pieces.extend(self.tail.pieces());
        pieces.concat().into()
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl Default for Text {
    fn default() -> Self {
        Text(Repr::Owned("".into()))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.len() < SHARED_FROM {
            Text(Repr::Owned(text.into()))
        } else {
            let end = text.len();
            Text(Repr::Window {
                source: Arc::new(text),
                start: 0,
                end,
            })
        }
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Self {
        text.clone()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_never_copied_on_the_way_through() {
        let source = Arc::new("x".repeat(10_000));
        let text = Text::window(&source, 10, 9_000);
        let address = text.as_ptr();
        let url = Text::joined("data:image/png;base64,", text.clone());
        assert_eq!(url.pieces()[1].as_ptr(), address);
        assert_eq!(url.clone().pieces()[1].as_ptr(), address);
        assert_eq!(url.len(), url.as_str().len());
    }

    #[test]
    fn short_text_does_not_keep_its_document_alive() {
        let source = Arc::new("x".repeat(10_000));
        let _text = Text::window(&source, 0, 20);
        assert_eq!(Arc::strong_count(&source), 1);
    }
}

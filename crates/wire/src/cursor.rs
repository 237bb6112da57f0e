//! A place in a JSON text, and the steps from it that the readers of this crate need.
//!
//! A cursor in a text that nobody has looked at checks every byte that it passes ([`Cursor::new`]); in a raw value, which was
//! checked before, it takes the text on trust ([`Cursor::within`]).

use std::borrow::Cow;

use crate::check::{find_special, skip, value_end};
use crate::raw::RawValue;

/// The text is not JSON at the place the cursor has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// A place in a JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// The text was checked before.
    checked: bool,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text that may be anything.
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            checked: false,
        }
    }

    /// At the beginning of a value.
    pub(crate) fn within(raw: &'a RawValue) -> Self {
        Self::trusting(raw.get())
    }

    /// At the beginning of a text that was checked before.
    pub(crate) fn trusting(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            checked: true,
        }
    }

    /// Where the cursor stands, in bytes.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The text between two places that [`Cursor::at`] gave.
    pub(crate) fn span(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The next byte that is not white space; the cursor stands on it afterwards.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Steps over `byte` if it is the next one that is not white space.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Reads an object and calls `member` with the cursor on the value of each of its members. `member` must step
    /// over exactly that value.
    #[inline]
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        if !self.eat(b'{') {
            return Err(Broken);
        }
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Broken),
            }
        }
    }

    /// Reads a member's name and the colon after it.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Cow<'a, str>, Broken> {
        if self.peek() != Some(b'"') {
            return Err(Broken);
        }
        let key = self.string()?;
        if self.eat(b':') { Ok(key) } else { Err(Broken) }
    }

    /// Reads the string on whose opening quote the cursor stands.
    #[inline]
    fn string(&mut self) -> Result<Cow<'a, str>, Broken> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let end = start + find_special(bytes.get(start..).unwrap_or_default());
        match bytes.get(end) {
            Some(b'"') => {
                self.at = end + 1;
                Ok(Cow::Borrowed(self.span(start, end)))
            }
            Some(b'\\') => self.escaped_string(start, end).map(Cow::Owned),
            _ => Err(Broken),
        }
    }

    /// Reads a string that stands between `before` and `after`, and steps over all three; if anything else stands
    /// there, the cursor stays where it is.
    #[inline]
    pub(crate) fn string_between(&mut self, before: &str, after: u8) -> Option<Cow<'a, str>> {
        let start = self.at;
        if self.text.get(start..)?.strip_prefix(before)?.starts_with('"') {
            self.at += before.len();
            if let Ok(text) = self.string()
                && self.text.as_bytes().get(self.at) == Some(&after)
            {
                self.at += 1;
                return Some(text);
            }
            self.at = start;
        }
        None
    }

    /// Reads the string that begins at `start` and whose first escape stands at `escape`.
    ///
    /// Half of a surrogate pair, which JSON can spell and text cannot hold, becomes U+FFFD.
    fn escaped_string(&mut self, start: usize, mut escape: usize) -> Result<String, Broken> {
        let bytes = self.text.as_bytes();
        let mut out = String::with_capacity(2 * (escape - start) + 32);
        let mut from = start;
        loop {
            out.push_str(self.span(from, escape));
            from = escape + 2;
            out.push(match bytes.get(escape + 1).ok_or(Broken)? {
                b'n' => '\n',
                b'"' => '"',
                b'\\' => '\\',
                b'/' => '/',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'u' => {
                    let unit = hex(bytes, from)?;
                    from += 4;
                    let low = match (unit, bytes.get(from..from + 2)) {
                        (0xD800..=0xDBFF, Some(b"\\u")) => Some(hex(bytes, from + 2)?),
                        _ => None,
                    };
                    let code = match low {
                        Some(low @ 0xDC00..=0xDFFF) => {
                            from += 6;
                            0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                        }
                        _ => unit,
                    };
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
                }
                _ => return Err(Broken),
            });
            escape = from + find_special(bytes.get(from..).unwrap_or_default());
            match bytes.get(escape) {
                Some(b'\\') => {}
                Some(b'"') => {
                    out.push_str(self.span(from, escape));
                    self.at = escape + 1;
                    return Ok(out);
                }
                _ => return Err(Broken),
            }
        }
    }

    /// Reads a value as text if it is a string, and steps over it if it is anything else.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<Option<Cow<'a, str>>, Broken> {
        if self.peek() == Some(b'"') {
            return self.string().map(Some);
        }
        self.raw().map(|_| None)
    }

    /// Reads a value that names something: a string, or a number in its own spelling, since some agents count.
    #[inline]
    pub(crate) fn name(&mut self) -> Result<Option<Cow<'a, str>>, Broken> {
        match self.peek() {
            Some(b'"') => self.string().map(Some),
            Some(b'-' | b'0'..=b'9') => self.raw().map(|raw| Some(Cow::Borrowed(raw.get()))),
            _ => self.raw().map(|_| None),
        }
    }

    /// Reads a value as raw text, `null` as none.
    #[inline]
    pub(crate) fn some(&mut self) -> Result<Option<&'a RawValue>, Broken> {
        let raw = self.raw()?;
        Ok((raw.get() != "null").then_some(raw))
    }

    /// Reads any value as raw text.
    #[inline]
    pub(crate) fn raw(&mut self) -> Result<&'a RawValue, Broken> {
        self.peek();
        let start = self.at;
        self.step_over()?;
        Ok(RawValue::checked(self.span(start, self.at)))
    }

    /// Steps over a value, and gives what stands in it at the end of a path of members; of two of one name the last counts.
    pub(crate) fn follow(&mut self, path: &[&str]) -> Result<Option<&'a RawValue>, Broken> {
        let Some((name, path)) = path.split_first() else {
            return self.raw().map(Some);
        };
        if self.peek() != Some(b'{') {
            return self.raw().map(|_| None);
        }
        let mut found = None;
        self.object(|cursor, key| {
            if key == *name {
                found = cursor.follow(path)?;
            } else {
                cursor.peek();
                cursor.step_over()?;
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Steps over the value on whose first byte the cursor stands.
    fn step_over(&mut self) -> Result<(), Broken> {
        let bytes = self.text.as_bytes();
        self.at = if self.checked {
            skip(bytes, self.at)
        } else {
            value_end(bytes, self.at).ok_or(Broken)?
        };
        Ok(())
    }
}

/// The code unit that four hexadecimal digits spell.
fn hex(bytes: &[u8], at: usize) -> Result<u32, Broken> {
    let digits = bytes.get(at..at + 4).ok_or(Broken)?;
    digits.iter().try_fold(0, |unit, &digit| {
        Ok(unit << 4 | char::from(digit).to_digit(16).ok_or(Broken)?)
    })
}

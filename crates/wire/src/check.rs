//! Where a JSON value ends: once with a look at every byte, later on trust.
//!
//! [`value_end`] is the one check that a line goes through. It follows the grammar of RFC 8259 to the letter, as `serde_json`
//! does (the tests hold the two against each other), and keeps what is open in bits instead of on the stack, so that nesting of
//! any depth is only data. [`skip`] finds the end of a value that was checked before: only strings and brackets matter then.

use memchr::memchr;

/// Where the value ends that begins at `at`, where no white space stands; none if there is none.
pub(crate) fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut open = Open::default();
    loop {
        match *bytes.get(at)? {
            b'"' => at = string_end(bytes, at + 1)?,
            b'{' => {
                at = blanks(bytes, at + 1);
                if bytes.get(at) == Some(&b'}') {
                    at += 1;
                } else {
                    at = key_end(bytes, at)?;
                    open.push(true);
                    continue;
                }
            }
            b'[' => {
                at = blanks(bytes, at + 1);
                if bytes.get(at) == Some(&b']') {
                    at += 1;
                } else {
                    open.push(false);
                    continue;
                }
            }
            b'-' | b'0'..=b'9' => at = number_end(bytes, at)?,
            b't' => at = word_end(bytes, at, b"true")?,
            b'f' => at = word_end(bytes, at, b"false")?,
            b'n' => at = word_end(bytes, at, b"null")?,
            _ => return None,
        }
        // A value has ended, and with it perhaps those around it.
        loop {
            let Some(object) = open.last() else {
                return Some(at);
            };
            at = blanks(bytes, at);
            match (*bytes.get(at)?, object) {
                (b',', true) => {
                    at = key_end(bytes, blanks(bytes, at + 1))?;
                    break;
                }
                (b',', false) => {
                    at = blanks(bytes, at + 1);
                    break;
                }
                (b'}', true) | (b']', false) => {
                    at += 1;
                    open.pop();
                }
                _ => return None,
            }
        }
    }
}

/// Where the value ends that begins at `at`, in a text that was checked before.
pub(crate) fn skip(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = skip_string(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                continue;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ if depth > 0 => continue,
            // A number or a word that stands by itself.
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r');
                return at + bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
            }
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

/// The bytes of a string up to which [`skip_string`] looks at each eight of them itself; most strings are short.
const SHORT: usize = 32;

/// Behind the closing quote of a string that was checked before, and whose first byte stands at `start`.
fn skip_string(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let near = find_special(&rest[..rest.len().min(SHORT)]);
    if rest.get(near) == Some(&b'"') && near < SHORT {
        return start + near + 1;
    }
    // Only quotes are looked for: one behind an odd number of backslashes is part of the string.
    let mut from = near;
    while let Some(found) = memchr(b'"', rest.get(from..).unwrap_or_default()) {
        let quote = from + found;
        let escapes = rest[..quote]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        if escapes.is_multiple_of(2) {
            return start + quote + 1;
        }
        from = quote + 1;
    }
    bytes.len()
}

/// What is open around a value, innermost last: an object (`true`) or an array.
#[derive(Default)]
struct Open {
    depth: usize,
    /// The innermost of them, as many as fit.
    near: u64,
    /// The others.
    far: Vec<u64>,
}

impl Open {
    #[inline]
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.far.push(std::mem::take(&mut self.near));
        }
        self.near = self.near << 1 | u64::from(object);
        self.depth += 1;
    }

    #[inline]
    fn last(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.near & 1 == 1)
    }

    #[inline]
    fn pop(&mut self) {
        self.depth -= 1;
        self.near >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.near = self.far.pop().unwrap_or_default();
        }
    }
}

#[inline]
fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Behind the name of a member, its colon, and the white space after that.
#[inline]
fn key_end(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let colon = blanks(bytes, string_end(bytes, at + 1)?);
    (*bytes.get(colon)? == b':').then(|| blanks(bytes, colon + 1))
}

/// Behind the closing quote of the string whose first byte stands at `at`.
#[inline]
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += find_special(bytes.get(at..)?);
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match *bytes.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => at += 6,
                _ => return None,
            },
            _ => return None,
        }
    }
}

fn number_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let digits = |from: usize| {
        let count = bytes
            .get(from..)?
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        (count > 0).then_some(from + count)
    };
    at += usize::from(bytes.get(at) == Some(&b'-'));
    at = match bytes.get(at)? {
        b'0' => at + 1,
        _ => digits(at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at = digits(at)?;
    }
    Some(at)
}

fn word_end(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(word).then_some(at + word.len())
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// How many bytes stand before the first one that ends or interrupts a string: a quote, a backslash, a control
/// character. Without one, all of them.
///
/// Eight bytes are looked at at a time. A borrow between the bytes can only ever mark a byte *above* a true
/// match, so the lowest mark is always right.
#[inline]
pub(crate) fn find_special(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let control = word.wrapping_sub(ONES * 0x20);
        let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
        let escape = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
        // A byte beyond ASCII is none of them.
        let marks = (control | quote | escape) & !word & HIGH;
        if marks != 0 {
            return index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let tail = rest
        .iter()
        .position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
    words.len() * 8 + tail.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::{find_special, skip, value_end};

    /// Both ends of the value with which a text begins must be where `serde_json` finds its end.
    fn agrees(text: &str) {
        let text = text.trim_start_matches([' ', '\n', '\t', '\r']);
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        // It wants a number to be delimited, which here is for those around it to say.
        let end = match values.next() {
            Some(Ok(_)) => Some(values.byte_offset()),
            _ => None,
        };
        let ours = value_end(text.as_bytes(), 0);
        let delimited = |end: usize| {
            let behind = text.as_bytes().get(end);
            matches!(
                behind,
                None | Some(b',' | b']' | b'}' | b' ' | b'\n' | b'\t' | b'\r')
            )
        };
        if let Some(end) = end {
            assert_eq!(ours, Some(end), "{text}");
            if delimited(end) {
                assert_eq!(skip(text.as_bytes(), 0), end, "{text}");
            }
        } else if let Some(ours) = ours {
            assert!(!delimited(ours), "{text}");
        }
    }

    #[test]
    fn a_value_ends_where_serde_json_says() {
        let values = [
            "0",
            "-0",
            "01",
            "-",
            "1.",
            "1.5",
            ".5",
            "1e",
            "1e+",
            "1E-7",
            "1e5x",
            "-1.25e10",
            "+1",
            "true",
            "tru",
            "truex",
            "false",
            "null",
            "nul",
            "\"\"",
            "\"a",
            "\"\\\"",
            "\"\\\"\"",
            "\"\\\\\"",
            "\"\\u00e9\"",
            "\"\\u00g0\"",
            "\"\\u12",
            "\"\\ud800\"",
            "\"\\x\"",
            "\"\t\"",
            "[]",
            "[ ]",
            "[,]",
            "[1,]",
            "[1 2]",
            "[1, 2]",
            "{}",
            "{ }",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\" : 1 }",
            "{\"a\":1,}",
            "{1:1}",
            "[1}",
            "{\"a\":1]",
            "[",
            "{",
            "",
            "]",
            ",",
        ];
        for value in values {
            for behind in ["", ",", "]", " ", "\"", "x"] {
                agrees(&format!("{value}{behind}"));
            }
            agrees(&format!("[{value}]"));
            agrees(&format!("{{\"a\":[{value} , {value}]}}"));
        }
    }

    #[test]
    fn nesting_of_any_depth_is_only_data() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 100_000] {
            let open: String = (0..depth)
                .map(|level| if level % 3 == 0 { "[" } else { "{\"a\":" })
                .collect();
            let close = |broken: usize| -> String {
                let close = |level: usize| {
                    if level.is_multiple_of(3) != (level == broken) {
                        ']'
                    } else {
                        '}'
                    }
                };
                (0..depth).rev().map(close).collect()
            };
            let text = format!("{open}1{}", close(depth));
            assert_eq!(value_end(text.as_bytes(), 0), Some(text.len()));
            assert_eq!(skip(text.as_bytes(), 0), text.len());
            for broken in [0, depth / 2, depth - 1] {
                let text = format!("{open}1{}", close(broken));
                assert_eq!(
                    value_end(text.as_bytes(), 0),
                    None,
                    "{depth} levels, level {broken} broken"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn strings_end_where_serde_json_says(text in "([\\\\\"]|[a-z]{0,9}|\\PC){0,60}", behind in "[,\"\\]} ]{0,3}") {
            let quoted = serde_json::to_string(&text).unwrap();
            agrees(&format!("{quoted}{behind}"));
            agrees(&format!("[{quoted}{behind}"));
            agrees(&format!("\"{text}\"{behind}"));
        }

        #[test]
        fn broken_json_is_broken_here_too(text in "[\\[\\]{}\",: 0-9a.eE+u\\\\-]{0,24}") {
            agrees(&text);
        }
    }

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for length in 0..40 {
            for filler in [b'a', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                let plain = vec![filler; length];
                assert_eq!(find_special(&plain), length);
                for at in 0..length {
                    for special in [0, 1, 0x1f, b'"', b'\\'] {
                        let mut bytes = plain.clone();
                        bytes[at] = special;
                        if let Some(next) = bytes.get_mut(at + 1) {
                            *next = b'"';
                        }
                        assert_eq!(find_special(&bytes), at, "{special} among {filler}");
                    }
                }
            }
        }
    }
}

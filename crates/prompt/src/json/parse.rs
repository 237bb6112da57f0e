//! The reader: strict for documents, as lenient as `JSON.parse` for JSON text inside them.

use std::sync::Arc;

use thiserror::Error;

use super::{Json, Number, Object, Text, plain_length};
use crate::path::{Path, Step};

/// How many arrays and objects may stand inside each other.
pub const MAX_DEPTH: usize = 128;

/// JSON text inside a document is read as JavaScript reads it. JavaScript has no limit but its stack;
/// this one keeps us far away from ours.
const MAX_DEPTH_LENIENT: usize = 512;

/// Why a text is not a JSON document that we take, and where.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{kind} at line {line}, column {column}{}", place(.path))]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// The value that was being read.
    pub path: Path,
    /// Bytes before the fault.
    pub offset: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
}

/// What is wrong with a JSON text.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ParseErrorKind {
    /// The text stops in the middle of a value.
    #[error("the JSON ends where {expected} should be: it is cut off")]
    CutOff {
        /// What should have followed.
        expected: &'static str,
    },
    /// Something else stands where one thing must.
    #[error("found {found:?} where {expected} should be")]
    Unexpected {
        /// The character.
        found: char,
        /// What may stand there.
        expected: &'static str,
    },
    /// An escape that JSON does not have.
    #[error("the string has an escape that JSON does not know")]
    BadEscape,
    /// Half of a surrogate pair, which is no character.
    #[error("the string has a lone surrogate \\u{0:04x}, which is no character: send the pair or drop it")]
    LoneSurrogate(u32),
    /// A control character that must be escaped.
    #[error("the string has the control character U+{0:04X}, which must be escaped")]
    ControlCharacter(u32),
    /// A number that no double can hold.
    #[error("the number {0} is too large: JavaScript would read it as Infinity")]
    NumberTooLarge(String),
    /// Two members of one name.
    #[error("the key {0:?} stands twice in one object")]
    DuplicateKey(String),
    /// Too many containers inside each other.
    #[error("the JSON is nested deeper than {0} levels")]
    TooDeep(usize),
}

fn place(path: &Path) -> String {
    if path.steps().is_empty() {
        String::new()
    } else {
        format!(", in {path}")
    }
}

impl Json {
    /// Reads a document. The text is copied once, as a whole.
    pub fn parse(source: &str) -> Result<Json, ParseError> {
        Json::parse_owned(source.to_owned())
    }

    /// Reads a document without copying it: long strings stay windows into `source`.
    pub fn parse_owned(source: impl Into<Arc<String>>) -> Result<Json, ParseError> {
        Parser {
            source: source.into(),
            at: 0,
            depth: 0,
            strict: true,
        }
        .document()
    }

    /// Reads JSON text as `JSON.parse` would: the last of two equal keys wins, a number too large is
    /// kept, half a surrogate pair becomes U+FFFD.
    pub(crate) fn parse_lenient(source: &str) -> Result<Json, ParseError> {
        Parser {
            source: Arc::new(source.to_owned()),
            at: 0,
            depth: 0,
            strict: false,
        }
        .document()
    }

    /// As [`Json::parse_lenient`], but refuses what could set a prototype in JavaScript: a key
    /// `__proto__`, or `prototype` inside `constructor`. The SDK takes such text as no JSON at all.
    pub(crate) fn parse_secure(source: &str) -> Option<Json> {
        fn is_safe(value: &Json) -> bool {
            match value {
                Json::Array(items) => items.iter().all(is_safe),
                Json::Object(object) => {
                    !object.contains_key("__proto__")
                        && object
                            .get("constructor")
                            .is_none_or(|inner| inner.get("prototype").is_none())
                        && object.iter().all(|(_, value)| is_safe(value))
                }
                _ => true,
            }
        }
        Json::parse_lenient(source).ok().filter(is_safe)
    }
}

/// An error whose path is collected on the way out, innermost step first.
struct Failure {
    kind: ParseErrorKind,
    offset: usize,
    steps: Path,
}

struct Parser {
    source: Arc<String>,
    at: usize,
    depth: usize,
    strict: bool,
}

impl Parser {
    fn document(mut self) -> Result<Json, ParseError> {
        let result = self.value().and_then(|value| {
            self.skip_blanks();
            match self.peek() {
                None => Ok(value),
                Some(_) => Err(self.unexpected("the end of the JSON")),
            }
        });
        result.map_err(|failure| {
            let before = &self.source[..failure.offset];
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            ParseError {
                kind: failure.kind,
                path: failure.steps.reversed(),
                offset: failure.offset,
                line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
            }
        })
    }

    fn value(&mut self) -> Result<Json, Failure> {
        self.skip_blanks();
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Json, Failure>) -> Result<Json, Failure> {
        let limit = if self.strict { MAX_DEPTH } else { MAX_DEPTH_LENIENT };
        if self.depth == limit {
            return Err(self.fail(ParseErrorKind::TooDeep(limit), self.at));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Result<Json, Failure> {
        let mut items = Vec::new();
        self.skip_blanks();
        if self.eat(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            let item = self
                .value()
                .map_err(|failure| within(failure, items.len().into()))?;
            items.push(item);
            self.skip_blanks();
            if self.eat(b']') {
                return Ok(Json::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("a comma or the end of the array"));
            }
        }
    }

    fn object(&mut self) -> Result<Json, Failure> {
        let mut object = Object::new();
        self.skip_blanks();
        if self.eat(b'}') {
            return Ok(Json::Object(object));
        }
        loop {
            self.skip_blanks();
            let key_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key = self.string()?;
            if self.strict && object.contains_key(&key) {
                let failure = self.fail(ParseErrorKind::DuplicateKey(key.to_string()), key_at);
                return Err(within(failure, key.to_string().into()));
            }
            self.skip_blanks();
            if !self.eat(b':') {
                return Err(self.unexpected("a colon"));
            }
            let value = self
                .value()
                .map_err(|failure| within(failure, key.to_string().into()))?;
            object.insert(key.as_str(), value);
            self.skip_blanks();
            if self.eat(b'}') {
                return Ok(Json::Object(object));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("a comma or the end of the object"));
            }
        }
    }

    fn word(&mut self, word: &'static str, value: Json) -> Result<Json, Failure> {
        for expected in word.bytes() {
            if !self.eat(expected) {
                return Err(self.unexpected(word));
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, Failure> {
        let start = self.at;
        self.eat(b'-');
        // A leading zero stands alone.
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let number = Number::from_valid(&self.source[start..self.at]);
        if self.strict && !number.as_f64().is_finite() {
            let text = number.source().chars().take(40).collect();
            return Err(self.fail(ParseErrorKind::NumberTooLarge(text), start));
        }
        Ok(number)
    }

    fn digits(&mut self) -> Result<(), Failure> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.unexpected("a digit"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    /// Reads a string whose opening quote is next.
    fn string(&mut self) -> Result<Text, Failure> {
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Text::window(&self.source, start, self.at - 1));
        }
        let mut text = self.source[start..self.at].to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text.into());
                }
                Some(b'\\') => self.escape(&mut text)?,
                Some(control) => {
                    return Err(self.fail(ParseErrorKind::ControlCharacter(control.into()), self.at));
                }
                None => return Err(self.unexpected("the end of the string")),
            }
            let run = self.at;
            self.skip_plain();
            text.push_str(&self.source[run..self.at]);
        }
    }

    /// Moves over the characters of a string that stand for themselves.
    fn skip_plain(&mut self) {
        self.at += plain_length(&self.source.as_bytes()[self.at..]);
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Failure> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(b'u') => {
                self.at += 1;
                self.unicode(start)?
            }
            Some(byte) => {
                self.at += 1;
                match byte {
                    b'"' => '"',
                    b'\\' => '\\',
                    b'/' => '/',
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    _ => return Err(self.fail(ParseErrorKind::BadEscape, start)),
                }
            }
            None => return Err(self.unexpected("the rest of an escape")),
        };
        text.push(character);
        Ok(())
    }

    /// The character of a `\u` escape, whose `\u` has been read, and of its second half if it has one.
    fn unicode(&mut self, start: usize) -> Result<char, Failure> {
        let first = self.hex4(start)?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        if first < 0xdc00 && self.source.as_bytes()[self.at..].starts_with(b"\\u") {
            let after_first = self.at;
            self.at += 2;
            let second = self.hex4(after_first)?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            // The second escape is a character of its own.
            self.at = after_first;
        }
        if self.strict {
            return Err(self.fail(ParseErrorKind::LoneSurrogate(first), start));
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self, start: usize) -> Result<u32, Failure> {
        let bytes = self.source.as_bytes();
        let Some(digits) = bytes.get(self.at..self.at + 4) else {
            self.at = bytes.len();
            return Err(self.unexpected("four hexadecimal digits"));
        };
        let mut code = 0;
        for digit in digits {
            let value = char::from(*digit).to_digit(16);
            code = code * 16 + value.ok_or_else(|| self.fail(ParseErrorKind::BadEscape, start))?;
        }
        self.at += 4;
        Ok(code)
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, expected: &'static str) -> Failure {
        let kind = match self.source[self.at..].chars().next() {
            Some(found) => ParseErrorKind::Unexpected { found, expected },
            None => ParseErrorKind::CutOff { expected },
        };
        self.fail(kind, self.at)
    }

    fn fail(&self, kind: ParseErrorKind, offset: usize) -> Failure {
        Failure {
            kind,
            offset,
            steps: Path::root(),
        }
    }
}

fn within(mut failure: Failure, step: Step) -> Failure {
    failure.steps.push(step);
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> ParseError {
        Json::parse(text).expect_err("the text is at fault")
    }

    #[test]
    fn names_what_is_wrong_and_where() {
        let cases: [(&str, &str, &str); 9] = [
            (r#"[{"a":1"#, "[0]", "cut off"),
            (r#"{"a":{"b":1,"b":2}}"#, "a.b", "stands twice"),
            (r#"{"a":[1,1e400]}"#, "a[1]", "too large"),
            (r#"{"a":"\ud800"}"#, "a", "lone surrogate"),
            (r#"{"a":"\ud800\u0041"}"#, "a", "lone surrogate"),
            ("{\"a\":\"\u{1}\"}", "a", "control character"),
            (r#"{"a":01}"#, "", "comma or the end"),
            (r#"{"a":"\x"}"#, "a", "escape"),
            ("[1] 2", "", "the end of the JSON"),
        ];
        for (text, path, message) in cases {
            let error = error(text);
            assert_eq!(error.path.to_string(), path, "{text}");
            assert!(error.to_string().contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn stops_at_the_depth_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(&nested(MAX_DEPTH)).is_ok());
        let error = error(&nested(MAX_DEPTH + 1));
        assert_eq!(error.kind, ParseErrorKind::TooDeep(MAX_DEPTH));
        assert_eq!(error.path.steps().len(), MAX_DEPTH);
    }

    #[test]
    fn counts_lines_and_columns_in_characters() {
        let error = error("[\n  \"é\", x]");
        assert_eq!((error.line, error.column), (2, 8));
    }

    #[test]
    fn secure_reading_refuses_prototype_keys() {
        assert!(Json::parse_secure(r#"{"a":{"__proto__":1}}"#).is_none());
        assert!(Json::parse_secure(r#"{"constructor":{"prototype":1}}"#).is_none());
        assert!(Json::parse_secure(r#"{"constructor":{"a":1},"prototype":1}"#).is_some());
        assert!(Json::parse_secure(r#"{"a":1,"a":2}"#).is_some());
        assert!(Json::parse_secure("").is_none());
    }

    #[test]
    fn every_cut_of_a_document_is_an_error() {
        let text = r#"{"a":[1.5e3,"\u00e9\n",true,null],"b":{}}"#;
        for end in 0..text.len() {
            assert!(Json::parse(&text[..end]).is_err(), "{}", &text[..end]);
        }
    }
}

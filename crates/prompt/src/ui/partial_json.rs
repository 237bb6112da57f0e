//! JSON that is still being written, read as far as it goes.
//!
//! A client shows the input of a call while the model writes it. The text so far is closed where it
//! stands: an open string gets its quote, open arrays and objects their brackets, a word that has begun
//! is finished, and what cannot stand yet (a key without a value, half an escape) is left out.

use crate::json::Json;

/// Reads the beginning of a JSON text. Nothing comes back if there is nothing in it yet, or if
/// closing it makes no JSON of it.
///
/// ```
/// use tapline_prompt::ui::parse_partial_json;
///
/// let value = parse_partial_json(r#"{"cmd":"ls","args":["-l"#).unwrap();
/// assert_eq!(value.to_js(), r#"{"cmd":"ls","args":["-l"]}"#);
/// assert_eq!(parse_partial_json(""), None);
/// ```
pub fn parse_partial_json(text: &str) -> Option<Json> {
    Json::parse_secure(text).or_else(|| Json::parse_secure(&close(text)))
}

/// Where the scanner is: in which container or scalar, and what it waits for there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Root,
    Finish,
    String,
    Escape,
    Unicode(u8),
    Literal,
    Number,
    ObjectStart,
    ObjectKey,
    ObjectAfterKey,
    ObjectBeforeValue,
    ObjectAfterValue,
    ObjectAfterComma,
    ArrayStart,
    ArrayAfterValue,
    ArrayAfterComma,
}

struct Scanner {
    stack: Vec<State>,
    /// The text up to here can be kept.
    valid: usize,
    /// Where the word begins that is being read.
    literal: usize,
}

/// Closes what is open, and skips what cannot stand where it stands, as the SDK does. The parser that
/// follows decides whether the outcome is JSON.
fn close(text: &str) -> String {
    let mut scanner = Scanner {
        stack: vec![State::Root],
        valid: 0,
        literal: 0,
    };
    for (at, char) in text.char_indices() {
        scanner.take(text, at, char);
    }
    let mut closed = text[..scanner.valid].to_owned();
    for state in scanner.stack.iter().rev() {
        match state {
            State::String => closed.push('"'),
            State::ObjectKey
            | State::ObjectAfterKey
            | State::ObjectAfterComma
            | State::ObjectStart
            | State::ObjectBeforeValue
            | State::ObjectAfterValue => closed.push('}'),
            State::ArrayStart | State::ArrayAfterComma | State::ArrayAfterValue => closed.push(']'),
            State::Literal => {
                let begun = &text[scanner.literal..];
                let word = ["true", "false", "null"]
                    .into_iter()
                    .find(|word| word.starts_with(begun));
                closed.extend(word.map(|word| &word[begun.len()..]));
            }
            _ => {}
        }
    }
    closed
}

impl Scanner {
    fn top(&self) -> State {
        self.stack.last().copied().unwrap_or(State::Finish)
    }

    fn replace(&mut self, state: State) {
        self.stack.pop();
        self.stack.push(state);
    }

    fn take(&mut self, text: &str, at: usize, char: char) {
        let end = at + char.len_utf8();
        match self.top() {
            State::Finish => {}
            State::Root => self.start_value(at, char, State::Finish),
            State::ObjectStart => match char {
                '"' => self.replace(State::ObjectKey),
                '}' => self.pop_valid(end),
                _ => {}
            },
            State::ObjectAfterComma if char == '"' => self.replace(State::ObjectKey),
            State::ObjectKey if char == '"' => self.replace(State::ObjectAfterKey),
            State::ObjectAfterKey if char == ':' => self.replace(State::ObjectBeforeValue),
            State::ObjectAfterComma | State::ObjectKey | State::ObjectAfterKey => {}
            State::ObjectBeforeValue => self.start_value(at, char, State::ObjectAfterValue),
            State::ObjectAfterValue => self.after_object_value(end, char),
            State::String => match char {
                '"' => self.pop_valid(end),
                '\\' => self.stack.push(State::Escape),
                _ => self.valid = end,
            },
            State::ArrayStart if char == ']' => self.pop_valid(end),
            State::ArrayStart | State::ArrayAfterComma => self.start_value(at, char, State::ArrayAfterValue),
            State::ArrayAfterValue => match char {
                ',' | ']' => self.after_array_value(end, char),
                _ => self.valid = end,
            },
            State::Escape if char == 'u' => self.replace(State::Unicode(0)),
            State::Escape => self.pop_valid(end),
            State::Unicode(digits) if char.is_ascii_hexdigit() => match digits {
                3 => self.pop_valid(end),
                _ => self.replace(State::Unicode(digits + 1)),
            },
            State::Unicode(_) => {}
            State::Number => match char {
                '0'..='9' => self.valid = end,
                'e' | 'E' | '-' | '.' => {}
                ',' | '}' | ']' => {
                    self.stack.pop();
                    match self.top() {
                        State::ArrayAfterValue if char != '}' => self.after_array_value(end, char),
                        State::ObjectAfterValue if char != ']' => self.after_object_value(end, char),
                        _ => {}
                    }
                }
                _ => {
                    self.stack.pop();
                }
            },
            State::Literal => {
                let word = &text[self.literal..end];
                if ["false", "true", "null"]
                    .iter()
                    .any(|known| known.starts_with(word))
                {
                    self.valid = end;
                    return;
                }
                self.stack.pop();
                match self.top() {
                    State::ObjectAfterValue => self.after_object_value(end, char),
                    State::ArrayAfterValue => self.after_array_value(end, char),
                    _ => {}
                }
            }
        }
    }

    fn pop_valid(&mut self, end: usize) {
        self.valid = end;
        self.stack.pop();
    }

    fn start_value(&mut self, at: usize, char: char, after: State) {
        let inner = match char {
            '"' => State::String,
            'f' | 't' | 'n' => State::Literal,
            '-' | '0'..='9' => State::Number,
            '{' => State::ObjectStart,
            '[' => State::ArrayStart,
            _ => return,
        };
        if inner == State::Literal {
            self.literal = at;
        }
        // A minus alone is not a number yet.
        if char != '-' {
            self.valid = at + char.len_utf8();
        }
        self.replace(after);
        self.stack.push(inner);
    }

    fn after_object_value(&mut self, end: usize, char: char) {
        match char {
            ',' => self.replace(State::ObjectAfterComma),
            '}' => self.pop_valid(end),
            _ => {}
        }
    }

    fn after_array_value(&mut self, end: usize, char: char) {
        match char {
            ',' => self.replace(State::ArrayAfterComma),
            ']' => self.pop_valid(end),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_is_closed_where_it_stands() {
        for (text, closed) in [
            (r#"{"a"#, "{}"),
            (r#"{"a":"#, "{}"),
            (r#"{"a":1,"#, r#"{"a":1}"#),
            (r#"{"a":-"#, "{}"),
            (r#"{"a":1.5e"#, r#"{"a":1.5}"#),
            (r#"{"a":tr"#, r#"{"a":true}"#),
            (r#"[1,fal"#, "[1,false]"),
            (r#"[null, "x\"#, r#"[null, "x"]"#),
            (r#"["x\u00e"#, r#"["x"]"#),
            (r#"["x\u00e9"#, "[\"x\\u00e9\"]"),
            (r#"{"a":{"b":[1,{"c":"d"#, r#"{"a":{"b":[1,{"c":"d"}]}}"#),
            (r#""tex"#, r#""tex""#),
            ("n", "null"),
        ] {
            assert_eq!(close(text), closed, "{text}");
        }
    }

    #[test]
    fn wrong_json_stays_wrong() {
        for text in ["", "-", "x", r#"{"a":01"#, r#"{"__proto__":1}"#] {
            assert_eq!(parse_partial_json(text), None, "{text}");
        }
    }
}

//! Masking one line of JSON.
//!
//! The line is walked once as text; no value is built. Strings are masked as what they say, not as they are spelled, so
//! that the text of a frame masked here and the same text masked elsewhere agree. What a string stands under counts too:
//! the member's name, the `name` beside a `value` (environments and headers in ACP), the flag before an argument, and
//! whether the member is private. Changes are gathered and written at the end, in one copy; the rest of the line stays
//! byte for byte.

use std::{borrow::Cow, ops::Range};

use serde::de::IgnoredAny;

use crate::{
    Rules,
    kind::{Kind, MARK_START},
    names::{NameKind, classify},
    values::is_member_secret,
};

/// Deepest nesting in which names are followed; deeper strings are masked as text alone.
pub const MAX_DEPTH: usize = 256;

/// Puts `text` in the place of the JSON string that stands at `at` in `line`, quotes included.
///
/// # Panics
///
/// If `at` is not a range of `line` on character boundaries.
pub fn replace_string(line: &str, at: Range<usize>, text: &str) -> String {
    let quoted = quote(text);
    let mut out = String::with_capacity(line.len() - at.len() + quoted.len());
    out.push_str(&line[..at.start]);
    out.push_str(&quoted);
    out.push_str(&line[at.end..]);
    out
}

/// Masks a line; the string at `around` becomes the text beside it instead.
pub(crate) fn mask<'t>(rules: &Rules, line: &'t str, around: Option<(Range<usize>, &str)>) -> Cow<'t, str> {
    if serde_json::from_str::<IgnoredAny>(line).is_err() {
        return match around {
            Some((at, text)) => Cow::Owned(replace_string(line, at, text)),
            None => rules.mask(line),
        };
    }
    let mut walk = Walk {
        rules,
        line,
        around,
        levels: Vec::new(),
        beyond: 0,
        edits: Vec::new(),
    };
    walk.run();
    walk.write()
}

struct Walk<'r, 't, 'a> {
    rules: &'r Rules,
    line: &'t str,
    around: Option<(Range<usize>, &'a str)>,
    levels: Vec<Level<'t>>,
    /// Levels beyond the deepest that is followed.
    beyond: usize,
    /// What takes the place of which part of the line. Of two for the same place the later counts.
    edits: Vec<(Range<usize>, Cow<'static, str>)>,
}

/// An object or array that is open.
#[derive(Default)]
struct Level<'t> {
    object: bool,
    /// The next string is a key.
    expects_key: bool,
    key: Option<Cow<'t, str>>,
    /// What holds for every string in it.
    inside: Rule,
    /// What `name` or `key` says of the `value` beside it, and where that stands.
    named: Option<Kind>,
    value: Option<Range<usize>>,
    /// The object is encrypted reasoning, and where its `data` stands.
    sealed: bool,
    data: Option<Range<usize>>,
    /// What the flag just before in this array says of the next string.
    flag: Option<Kind>,
}

/// What holds for a value because of where it stands.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Rule {
    #[default]
    Text,
    /// A secret by its name.
    Secret(Kind),
    /// A private member: its string, or the strings of its array.
    Private,
    /// A private member that a dialect named: all in it, at any depth.
    All,
}

impl<'t> Walk<'_, 't, '_> {
    fn run(&mut self) {
        let bytes = self.line.as_bytes();
        let mut at = 0;
        while let Some(&b) = bytes.get(at) {
            match b {
                b'"' => {
                    let end = string_end(bytes, at);
                    self.string(at..end);
                    at = end;
                    continue;
                }
                b'{' | b'[' => self.open(b == b'{'),
                b'}' | b']' => self.close(),
                b':' => self.expect(false),
                b',' => self.expect(true),
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ => {
                    let len = bytes[at..]
                        .iter()
                        .take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b))
                        .count();
                    let end = at + len.max(1);
                    if self.rule() == Rule::All && &self.line[at..end] != "null" {
                        self.edits.push((at..end, Cow::Borrowed("null")));
                    }
                    if let Some(level) = self.level() {
                        level.flag = None;
                    }
                    at = end;
                    continue;
                }
            }
            at += 1;
        }
    }

    fn level(&mut self) -> Option<&mut Level<'t>> {
        if self.beyond > 0 {
            None
        } else {
            self.levels.last_mut()
        }
    }

    fn open(&mut self, object: bool) {
        if self.levels.len() == MAX_DEPTH {
            self.beyond += 1;
            return;
        }
        let inside = match self.rule() {
            // Names inside an object speak for themselves.
            Rule::Secret(_) | Rule::Private if object => Rule::Text,
            rule => rule,
        };
        self.levels.push(Level {
            object,
            expects_key: object,
            inside,
            ..Level::default()
        });
    }

    fn close(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let Some(level) = self.levels.pop() else { return };
        if let (Some(kind), Some(value)) = (level.named, level.value) {
            self.secret(value, kind);
        }
        if let (true, Some(data)) = (level.sealed, level.data) {
            self.private(data);
        }
        if let Some(level) = self.level() {
            level.flag = None;
        }
    }

    fn expect(&mut self, key: bool) {
        if let Some(level) = self.level() {
            level.expects_key = key && level.object;
            if key {
                level.key = None;
            }
        }
    }

    /// What holds for a value that stands here.
    fn rule(&self) -> Rule {
        let Some(level) = self.levels.last() else {
            return Rule::Text;
        };
        if level.inside == Rule::All || self.beyond > 0 {
            return if level.inside == Rule::All {
                Rule::All
            } else {
                Rule::Text
            };
        }
        let Some(key) = &level.key else {
            return level.inside;
        };
        if self.rules.is_private(key) {
            return Rule::All;
        }
        match classify(key.as_bytes()) {
            Some(NameKind::Private) => Rule::Private,
            Some(kind) => secret_kind(kind).map_or(Rule::Text, Rule::Secret),
            None => Rule::Text,
        }
    }

    fn string(&mut self, at: Range<usize>) {
        let line = self.line;
        let says = decode(&line[at.start + 1..at.end - 1]);
        if self.level().is_some_and(|level| level.expects_key) {
            // The key counts as it will stand, so that what is masked once is masked for good.
            let key = match self.rules.mask(&says) {
                Cow::Owned(masked) => {
                    self.edits.push((at, Cow::Owned(quote(&masked))));
                    Cow::Owned(masked)
                }
                Cow::Borrowed(_) => says,
            };
            if let Some(level) = self.level() {
                level.key = Some(key);
            }
            return;
        }
        if let Some((_, text)) = self.around.as_ref().filter(|(range, _)| *range == at) {
            let quoted = quote(text);
            if quoted != line[at.clone()] {
                self.edits.push((at, Cow::Owned(quoted)));
            }
            return;
        }
        let mut rule = self.rule();
        if let Some(level) = self.level() {
            match level.key.as_deref() {
                Some("name" | "key") => level.named = classify(says.as_bytes()).and_then(secret_kind),
                Some("value") => level.value = Some(at.clone()),
                Some("type") => level.sealed = matches!(&*says, "reasoning.encrypted" | "redacted_thinking"),
                Some("data") => level.data = Some(at.clone()),
                _ => {}
            }
            if !level.object {
                let flag = level.flag.take();
                match says.strip_prefix("--") {
                    Some(name) => level.flag = classify(name.as_bytes()).and_then(secret_kind),
                    None => {
                        if let (Rule::Text, Some(kind), false) = (rule, flag, says.starts_with('-')) {
                            rule = Rule::Secret(kind);
                        }
                    }
                }
            }
        }
        match rule {
            Rule::Secret(kind) => {
                if !self.secret(at.clone(), kind) {
                    self.text(&at, &says);
                }
            }
            Rule::Private | Rule::All => self.private(at),
            Rule::Text => self.text(&at, &says),
        }
    }

    fn text(&mut self, at: &Range<usize>, says: &str) {
        if let Cow::Owned(masked) = self.rules.mask(says) {
            self.edits.push((at.clone(), Cow::Owned(quote(&masked))));
        }
    }

    /// Masks the whole string, if it can be a secret.
    fn secret(&mut self, at: Range<usize>, kind: Kind) -> bool {
        let says = decode(&self.line[at.start + 1..at.end - 1]);
        // `authorization` is also a word for a state, as in `"authorization": "not_asked"`.
        let state = kind == Kind::Authorization && says.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let secret = is_member_secret(&says) && !state;
        if secret {
            self.edits.push((at, quoted_mark(kind)));
        }
        secret
    }

    fn private(&mut self, at: Range<usize>) {
        let says = &self.line[at.start + 1..at.end - 1];
        if !says.is_empty() && !says.starts_with(MARK_START) {
            self.edits.push((at, quoted_mark(Kind::Private)));
        }
    }

    fn write(mut self) -> Cow<'t, str> {
        if self.edits.is_empty() {
            return Cow::Borrowed(self.line);
        }
        self.edits.sort_by_key(|(at, _)| at.start);
        let mut out = String::with_capacity(self.line.len());
        let mut from = 0;
        for (index, (at, text)) in self.edits.iter().enumerate() {
            if self
                .edits
                .get(index + 1)
                .is_some_and(|(next, _)| next.start == at.start)
            {
                continue;
            }
            out.push_str(&self.line[from..at.start]);
            out.push_str(text);
            from = at.end;
        }
        out.push_str(&self.line[from..]);
        Cow::Owned(out)
    }
}

/// What a member of such a name holds, where it is a secret.
fn secret_kind(kind: NameKind) -> Option<Kind> {
    match kind {
        NameKind::Password => Some(Kind::Password),
        NameKind::Secret | NameKind::Key => Some(Kind::Secret),
        NameKind::Authorization => Some(Kind::Authorization),
        NameKind::Cookie => Some(Kind::Cookie),
        NameKind::Bearer | NameKind::Basic | NameKind::Private => None,
    }
}

fn quoted_mark(kind: Kind) -> Cow<'static, str> {
    Cow::Owned(format!("\"{}\"", kind.mark()))
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The end of the string that begins at `at`, its closing quote included.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(&b) = bytes.get(end) {
        match b {
            b'"' => return end + 1,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// What a string says, given what stands between its quotes. Half a character beyond the basic plane, which JSON can
/// spell and text cannot hold, becomes the replacement character.
pub(crate) fn decode(raw: &str) -> Cow<'_, str> {
    let Some(first) = raw.find('\\') else {
        return Cow::Borrowed(raw);
    };
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        let (letter, mut after) = match rest[at + 1..].chars().next() {
            Some(letter) => (letter, &rest[at + 1 + letter.len_utf8()..]),
            None => return Cow::Owned(out),
        };
        match letter {
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => {
                let (unit, left) = unit_at(after);
                after = left;
                let low = after
                    .strip_prefix("\\u")
                    .map(unit_at)
                    .filter(|(low, _)| (0xdc00..0xe000).contains(low));
                let code = match low {
                    Some((low, left)) if (0xd800..0xdc00).contains(&unit) => {
                        after = left;
                        0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
                    }
                    _ => unit,
                };
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            other => out.push(other),
        }
        rest = after;
        next = rest.find('\\');
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The number that four hexadecimal digits spell, and what stands behind them.
fn unit_at(text: &str) -> (u32, &str) {
    match text
        .get(..4)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
    {
        Some(unit) => (unit, &text[4..]),
        None => (0xfffd, text),
    }
}

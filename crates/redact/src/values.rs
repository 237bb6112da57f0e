//! Whether what stands behind a secret's name is a secret.
//!
//! The same name stands in an environment file, in code and in prose, so how it is written decides how much the value
//! must prove. `API_TOKEN=x9z4`, `"token": "x9z4"` and `--password=x9z4` prove it themselves; behind `token = ` and
//! `token: ` the value must look as if a machine had made it; a call, a path through objects, a placeholder or a word
//! such as `required` never counts.
//!
//! A decision looks at no more than [`WINDOW`] bytes of the value, and is left open only while those are not there yet.

use base64::Engine as _;

use crate::{
    Kind,
    kind::MARK_START,
    machine::Verdict,
    names::{NameKind, is_secret_name},
    shapes::{is_random, run},
    swallow::{Class, Swallow, closes},
};

/// How many bytes of a value are looked at.
pub(crate) const WINDOW: usize = 96;

/// A name that promises a secret, and how it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) kind: NameKind,
    /// In capitals, as variables of an environment are.
    pub(crate) capitals: bool,
    /// With `--` before it.
    pub(crate) flag: bool,
    /// First on its line, `export` and the like aside.
    pub(crate) leads: bool,
    /// A closing quote stands behind it.
    pub(crate) quoted: bool,
}

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) name: Name,
    /// `=`, `:`, or a blank.
    pub(crate) separator: u8,
    /// Blanks around it.
    pub(crate) spaced: bool,
    /// The quote before the value, with the number of backslashes before that.
    pub(crate) quote: Option<(u8, u8)>,
}

/// Values that stand for no value, and words of types and of prose that come behind a name.
const WORDS: &[&str] = &[
    "string",
    "str",
    "text",
    "boolean",
    "bool",
    "number",
    "int",
    "bytes",
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "required",
    "optional",
    "password",
    "passwd",
    "token",
    "secret",
    "key",
    "wrong",
    "invalid",
    "valid",
    "expired",
    "missing",
    "incorrect",
    "empty",
    "unset",
    "set",
    "hidden",
    "redacted",
    "masked",
    "changed",
    "accepted",
    "rejected",
    "include",
    "omit",
    "same-origin",
    "option",
    "self",
    "this",
    "any",
    "object",
    "unknown",
    "never",
    "yes",
    "no",
    "ok",
];

/// Schemes of the `Authorization` header.
const SCHEMES: &[&str] = &[
    "bearer", "basic", "token", "digest", "apikey", "api-key", "key", "bot",
];

/// Decides on the value that begins with `rest`.
pub(crate) fn decide(place: &Place, rest: &[u8], end: bool) -> Verdict {
    match place.name.kind {
        NameKind::Authorization => authorization(place, rest, end),
        NameKind::Bearer => match Value::read(rest, end, Class::Dotted) {
            None => Verdict::Open,
            Some(v) if place.separator == b' ' && v.bytes.len() >= 12 && is_token(v.bytes) => {
                mask(Kind::Authorization, v.class)
            }
            Some(_) => Verdict::Keep,
        },
        NameKind::Basic => match Value::read(rest, end, Class::Dotted) {
            None => Verdict::Open,
            Some(v) if place.separator == b' ' && is_basic(v.bytes) => mask(Kind::Authorization, v.class),
            Some(_) => Verdict::Keep,
        },
        NameKind::Cookie => cookie(place, rest, end),
        NameKind::Private => private(place, rest, end),
        NameKind::Password | NameKind::Secret | NameKind::Key => {
            let verdict = match place.quote {
                Some(quote) => in_quotes(place, quote, rest, end),
                None => bare(place, rest, end),
            };
            match verdict {
                Judged::Open => Verdict::Open,
                Judged::No => Verdict::Keep,
                Judged::Yes(swallow) => {
                    let kind = if place.name.kind == NameKind::Password {
                        Kind::Password
                    } else {
                        Kind::Secret
                    };
                    Verdict::Mask {
                        keep: 0,
                        kind,
                        swallow,
                    }
                }
            }
        }
    }
}

/// Whether a member of JSON with a secret's name has one as its string value, which has been read whole.
pub(crate) fn is_member_secret(value: &str) -> bool {
    !value.is_empty() && !is_placeholder(value.as_bytes())
}

enum Judged {
    Open,
    No,
    Yes(Swallow),
}

fn mask(kind: Kind, class: Class) -> Verdict {
    Verdict::Mask {
        keep: 0,
        kind,
        swallow: Swallow::Class(class),
    }
}

/// A value without quotes, as far as it is looked at.
struct Value<'t> {
    bytes: &'t [u8],
    class: Class,
    /// What stands behind it; nothing at the end of the text or where the value goes on beyond the window.
    next: Option<u8>,
    /// Nothing but the end of the line stands behind it.
    last: bool,
}

impl<'t> Value<'t> {
    /// Reads a value, unless it could still go on.
    fn read(rest: &'t [u8], end: bool, class: Class) -> Option<Self> {
        let bytes = run(rest, WINDOW, |b| class.holds(b));
        let next = if bytes.len() == WINDOW {
            None
        } else {
            rest.get(bytes.len()).copied()
        };
        if next.is_none() && bytes.len() < WINDOW && !end {
            return None;
        }
        let last = matches!(next, Some(b'\n' | b'\r')) || (next.is_none() && bytes.len() < WINDOW);
        Some(Value {
            bytes,
            class,
            next,
            last,
        })
    }
}

fn bare(place: &Place, rest: &[u8], end: bool) -> Judged {
    let name = &place.name;
    let assigned = place.separator == b'=' && !place.spaced && !name.quoted;
    let environment = assigned && name.capitals && name.leads;
    let Some(value) = Value::read(rest, end, if environment { Class::Line } else { Class::Value }) else {
        return Judged::Open;
    };
    let bytes = value.bytes;
    let calls = if environment {
        opens_call(bytes)
    } else {
        matches!(value.next, Some(b'(' | b'[' | b'{'))
    };
    if bytes.is_empty() || calls || is_placeholder(bytes) || names_secret(bytes) {
        return Judged::No;
    }
    let random = is_bare_secret(bytes);
    let secret = if assigned {
        let shortest = if name.kind == NameKind::Password { 3 } else { 4 };
        let code = is_path(bytes)
            && (bytes.contains(&b'.') || matches!(value.next, Some(b',' | b')')))
            && !(environment || name.flag);
        bytes.len() >= shortest && (random || !code)
    } else if place.separator == b' ' {
        // Behind a flag: `--token flag` is prose, `--token x9z4` is not.
        bytes[0] != b'-'
            && bytes.len() >= 4
            && (random || (bytes.iter().any(u8::is_ascii_digit) && !is_dotted(bytes)))
    } else {
        let written = name.kind == NameKind::Password || name.capitals;
        let alone = written
            && name.leads
            && place.separator == b':'
            && value.last
            && bytes.len() >= 4
            && !is_dotted(bytes);
        random || alone
    };
    if secret {
        Judged::Yes(Swallow::Class(value.class))
    } else {
        Judged::No
    }
}

fn in_quotes(place: &Place, (quote, depth): (u8, u8), rest: &[u8], end: bool) -> Judged {
    let Some(value) = quoted(rest, quote, depth, end) else {
        return Judged::Open;
    };
    if value.is_empty() || is_placeholder(value) {
        return Judged::No;
    }
    let secret = if place.name.quoted {
        true
    } else {
        let shortest = if place.name.kind == NameKind::Password {
            3
        } else {
            6
        };
        let code = value
            .iter()
            .any(|b| matches!(b, b'{' | b'}' | b'(' | b')' | b'<'))
            && !is_random(value);
        // `token: "keyword.operator"` is a grammar's, `secret: "crimson"` a story's.
        let word = place.name.kind == NameKind::Secret
            && !value.iter().any(u8::is_ascii_digit)
            && (value.len() < 20 || is_dotted(value));
        value.len() >= shortest
            && !value.iter().any(u8::is_ascii_whitespace)
            && !word
            && !code
            && !names_secret(value)
    };
    if secret {
        Judged::Yes(Swallow::Quoted { quote, depth, run: 0 })
    } else {
        Judged::No
    }
}

/// What stands before the closing quote, as far as it is looked at, unless it could still go on.
fn quoted(rest: &[u8], quote: u8, depth: u8, end: bool) -> Option<&[u8]> {
    let window = &rest[..rest.len().min(WINDOW)];
    let mut slashes = 0u8;
    for (at, &b) in window.iter().enumerate() {
        if b == b'\\' {
            slashes = slashes.saturating_add(1);
        } else if b == b'\n' || (b == quote && closes(slashes, depth)) {
            return Some(&window[..at - usize::from(if b == quote { slashes.min(depth) } else { 0 })]);
        } else {
            slashes = 0;
        }
    }
    (window.len() == WINDOW || end).then_some(window)
}

fn authorization(place: &Place, rest: &[u8], end: bool) -> Verdict {
    let text = if place.quote.is_some() {
        rest
    } else {
        run(rest, rest.len(), |b| b != b'\n' && b != b'\r')
    };
    // Where the line ends within what is there, its end is known.
    let end = end || text.len() < rest.len();
    let scheme = run(text, 16, |b| b.is_ascii_alphabetic() || b == b'-');
    if scheme.len() == text.len() && scheme.len() < 16 && !end {
        return Verdict::Open;
    }
    let is_scheme = SCHEMES.iter().any(|s| scheme.eq_ignore_ascii_case(s.as_bytes()))
        && text.get(scheme.len()) == Some(&b' ');
    let keep = if is_scheme { scheme.len() + 1 } else { 0 };
    let Some(value) = Value::read(&text[keep..], end, Class::Value) else {
        return Verdict::Open;
    };
    if is_placeholder(value.bytes) || matches!(value.next, Some(b'(')) {
        return Verdict::Keep;
    }
    let closed = value.last
        || value
            .next
            .is_some_and(|b| matches!(b, b'"' | b'\'' | b'`' | b'\\'));
    let secret = if is_scheme {
        is_token(value.bytes) || (closed && value.bytes.len() >= 6) || is_basic(value.bytes)
    } else {
        is_bare_secret(value.bytes)
    };
    if !secret {
        return Verdict::Keep;
    }
    Verdict::Mask {
        keep,
        kind: Kind::Authorization,
        swallow: Swallow::Class(Class::Value),
    }
}

/// `name=value` behind `Cookie:`.
fn cookie(place: &Place, rest: &[u8], end: bool) -> Verdict {
    if place.separator != b':' {
        return Verdict::Keep;
    }
    let name = run(rest, WINDOW, |b| Class::Word.holds(b) || b == b'.');
    match rest.get(name.len()) {
        None if name.len() < WINDOW && !end => Verdict::Open,
        Some(b'=') if !name.is_empty() => {
            let swallow = match place.quote {
                Some((quote, depth)) => Swallow::Quoted { quote, depth, run: 0 },
                None => Swallow::Class(Class::Header),
            };
            Verdict::Mask {
                keep: 0,
                kind: Kind::Cookie,
                swallow,
            }
        }
        _ => Verdict::Keep,
    }
}

/// A long run of Base64 behind the quoted name of a private member.
fn private(place: &Place, rest: &[u8], end: bool) -> Verdict {
    const SHORTEST: usize = 40;
    let Some((quote, depth)) = place
        .quote
        .filter(|_| place.name.quoted && place.separator == b':')
    else {
        return Verdict::Keep;
    };
    let body = run(rest, SHORTEST, |b| Class::Dotted.holds(b));
    if body.len() == SHORTEST {
        return Verdict::Mask {
            keep: 0,
            kind: Kind::Private,
            swallow: Swallow::Quoted { quote, depth, run: 0 },
        };
    }
    if body.len() == rest.len() && !end {
        Verdict::Open
    } else {
        Verdict::Keep
    }
}

/// A reference to a value, a stand-in for one, or a word.
fn is_placeholder(value: &[u8]) -> bool {
    let Some(&first) = value.first() else { return true };
    matches!(first, b'$' | b'<' | b'{' | b'%')
        || value.starts_with(MARK_START.as_bytes())
        || value.iter().all(|b| *b == first || *b == b'.')
        || value.starts_with("…".as_bytes())
        || value.starts_with(b"process.env")
        || value.starts_with(b"os.environ")
        || WORDS.iter().any(|w| value.eq_ignore_ascii_case(w.as_bytes()))
}

/// Whether a value is itself the name of a secret, as in `token=self.api_token`.
fn names_secret(value: &[u8]) -> bool {
    let last = value.rsplit(|b| *b == b'.' || *b == b':').next().unwrap_or(value);
    !value.contains(&b'-') && std::str::from_utf8(last).is_ok_and(is_secret_name) && !is_random(value)
}

/// A name, or names joined by dots, as code has them.
fn is_path(value: &[u8]) -> bool {
    value.split(|b| *b == b'.').all(|part| {
        part.first()
            .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
            && part.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
    })
}

fn is_dotted(value: &[u8]) -> bool {
    value.contains(&b'.') || value.contains(&b'/')
}

/// `get_password(` and `os.getenv(`.
fn opens_call(value: &[u8]) -> bool {
    value
        .iter()
        .position(|b| *b == b'(')
        .is_some_and(|at| at > 0 && is_path(&value[..at]))
}

/// Whether a value says by its looks alone that it is one.
fn is_bare_secret(value: &[u8]) -> bool {
    value.len() >= 8
        && is_random(value)
        && !matches!(value[0], b'/' | b'.' | b'~')
        && !value.windows(2).any(|w| w == b"::" || w == b":/")
        && value.iter().all(|b| b.is_ascii_graphic())
        && !is_type(value)
}

/// `X509PrivateKeyFlags`: capitals begin words, so that seldom one kind of letter follows another.
fn is_type(value: &[u8]) -> bool {
    let class = |b: u8| (b.is_ascii_digit(), b.is_ascii_uppercase());
    let changes = value
        .windows(2)
        .filter(|w| class(w[0]) != class(w[1]) && !(w[0].is_ascii_uppercase() && w[1].is_ascii_lowercase()));
    value[0].is_ascii_uppercase()
        && is_path(value)
        && value.iter().any(u8::is_ascii_lowercase)
        && 4 * changes.count() < value.len()
}

/// Whether it is a token in a header: not a word of prose.
fn is_token(value: &[u8]) -> bool {
    value.len() >= 8
        && value.iter().any(u8::is_ascii_alphabetic)
        && (value.iter().any(u8::is_ascii_digit)
            || (value.len() >= 20 && value.iter().filter(|b| b.is_ascii_uppercase()).count() >= 2))
}

/// Whether it is Base64 of `user:password`.
fn is_basic(value: &[u8]) -> bool {
    let whole = if value.len() == WINDOW {
        value
    } else {
        run(value, WINDOW, |b| b != b'=')
    };
    if whole.len() < 6 || whole.len() % 4 == 1 {
        return false;
    }
    let config = base64::engine::general_purpose::NO_PAD.with_decode_allow_trailing_bits(true);
    let lenient = base64::engine::GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    lenient
        .decode(whole)
        .is_ok_and(|text| text.contains(&b':') && text.iter().all(|b| *b >= b' ' && *b != 0x7f))
}

//! Looking through text for what should not be in it.
//!
//! Masking keeps secrets out of a record; a scan proves that a file which is to be published holds none, nor anything
//! that tells of a person or a machine: home folders, mail addresses, host names, signatures over reasoning. It looks
//! where the eye does not: through JSON strings in JSON strings, URL escapes, Base64 and arrays of bytes, one within the
//! other. It would rather say too much than too little, and leaves to its caller what is known to be harmless.

use std::{borrow::Cow, collections::HashSet, fmt, sync::LazyLock};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::Regex;

use crate::{Kind, Rules, json, kind::MARK_START};

/// Most wrappings that are looked through, one within the other.
pub const MAX_WRAPPINGS: usize = 6;
/// Most findings that are told; the last then says that there may be more.
pub const MAX_FINDINGS: usize = 1000;
/// How many times the length of the text is looked at, all unwrapped forms together, before the scan gives up.
pub const MAX_EFFORT: usize = 64;
/// Longest text of a finding, in characters.
pub const MAX_EXCERPT: usize = 80;

/// Something that should not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is.
    pub found: Found,
    /// What stands there, shortened.
    pub text: String,
    /// What it was wrapped in, from the outside in.
    pub through: Vec<Wrapping>,
    /// Where in the scanned text it (or the outermost thing it was wrapped in) begins, in bytes.
    pub at: usize,
}

/// What a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Found {
    /// What the rules mask.
    Secret(Kind),
    /// A folder that carries a person's name.
    HomeFolder,
    /// A mail address, outside the domains that are reserved for examples.
    MailAddress,
    /// The name of a machine.
    HostName,
    /// A signature over reasoning, or encrypted reasoning.
    Signature,
    /// The scan reached a limit: there may be more.
    Unfinished,
}

/// What a finding was wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wrapping {
    /// The escapes of a JSON string.
    Json,
    /// The escapes of an address, `%2F`.
    Percent,
    /// Base64, in either alphabet.
    Base64,
    /// An array of numbers, each a byte.
    Bytes,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.found {
            Found::Secret(kind) => kind.mark(),
            Found::HomeFolder => "home folder",
            Found::MailAddress => "mail address",
            Found::HostName => "host name",
            Found::Signature => "signature",
            Found::Unfinished => "a limit of the scan",
        };
        write!(f, "{what} at byte {}: {}", self.at, self.text)?;
        for wrapping in &self.through {
            let name = match wrapping {
                Wrapping::Json => "a JSON string",
                Wrapping::Percent => "URL escapes",
                Wrapping::Base64 => "Base64",
                Wrapping::Bytes => "an array of bytes",
            };
            write!(f, ", in {name}")?;
        }
        Ok(())
    }
}

impl Rules {
    /// Everything in `text` that these rules mask or that tells of a person or a machine, each once.
    pub fn scan(&self, text: &str) -> Vec<Finding> {
        let effort = text.len().saturating_mul(MAX_EFFORT);
        let mut scan = Scan {
            rules: self,
            findings: Vec::new(),
            known: HashSet::new(),
            effort,
            full: false,
        };
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            scan.members(line.trim(), at);
            at += line.len();
        }
        scan.look(text, Origin { at: 0, fixed: false }, &mut Vec::new());
        if scan.full {
            scan.findings.truncate(MAX_FINDINGS - 1);
            scan.findings.push(Finding {
                found: Found::Unfinished,
                text: "there may be more than is listed; scan smaller parts".to_owned(),
                through: Vec::new(),
                at: 0,
            });
        }
        scan.findings
    }
}

/// Where a piece of text comes from: it begins at `at` of the scanned text, or is wrapped in what does.
#[derive(Clone, Copy)]
struct Origin {
    at: usize,
    fixed: bool,
}

impl Origin {
    fn of(self, at: usize) -> usize {
        if self.fixed { self.at } else { self.at + at }
    }
}

struct Scan<'r> {
    rules: &'r Rules,
    findings: Vec<Finding>,
    known: HashSet<(Found, String)>,
    /// How many bytes may still be looked at.
    effort: usize,
    full: bool,
}

/// The patterns of this file, compiled when the first scan begins.
struct Patterns {
    home: Regex,
    mail: Regex,
    host: Regex,
    host_member: Regex,
    signature: Regex,
    base64: Regex,
    bytes: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let pattern = |source| Regex::new(source).expect("the patterns of this file are well formed");
    Patterns {
        home: pattern(r"(?:/home/|/Users/|[A-Za-z]:(?:\\+|/)Users(?:\\+|/))[A-Za-z0-9._-]+"),
        mail: pattern(
            r"[A-Za-z0-9][A-Za-z0-9._%+-]*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}",
        ),
        host: pattern(
            r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.(?:local|lan|internal|localdomain|home\.arpa)",
        ),
        host_member: pattern(
            r#"(?i)"(?:host_?name|computer_?name|machine_?name|node_?name)\\*"\s*:\s*\\*"([^"\\]+)"#,
        ),
        signature: pattern(
            r#""(?:signature|thought_?[sS]ignature|encrypted_?[cC]ontent|encrypted_?[rR]easoning)\\*"\s*:\s*\\*"([^"\\]{16,})"#,
        ),
        base64: pattern(r"[A-Za-z0-9+/_-]{16,}"),
        bytes: pattern(r"\[\s*\d{1,3}(?:\s*,\s*\d{1,3}){7,}\s*\]"),
    }
});

impl Scan<'_> {
    fn look(&mut self, text: &str, origin: Origin, through: &mut Vec<Wrapping>) {
        if self.full || text.len() > self.effort {
            self.full = true;
            return;
        }
        self.effort -= text.len();
        for (kind, start, end) in self.rules.spans(text) {
            self.add(Found::Secret(kind), &text[start..end], origin.of(start), through);
        }
        let begins =
            |at: usize| !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "._-".contains(c));
        for found in PATTERNS
            .home
            .find_iter(text)
            .filter(|found| begins(found.start()))
        {
            self.add(
                Found::HomeFolder,
                found.as_str(),
                origin.of(found.start()),
                through,
            );
        }
        for found in PATTERNS
            .mail
            .find_iter(text)
            .filter(|found| is_persons(found.as_str()))
        {
            self.add(
                Found::MailAddress,
                found.as_str(),
                origin.of(found.start()),
                through,
            );
        }
        for found in PATTERNS
            .host
            .find_iter(text)
            .filter(|found| stands_alone(text, found.start(), found.end()))
        {
            self.add(Found::HostName, found.as_str(), origin.of(found.start()), through);
        }
        for found in PATTERNS
            .host_member
            .captures_iter(text)
            .filter_map(|found| found.get(1))
        {
            let value = found.as_str();
            if value != "localhost" && !value.starts_with(MARK_START) {
                self.add(Found::HostName, value, origin.of(found.start()), through);
            }
        }
        for found in PATTERNS
            .signature
            .captures_iter(text)
            .filter_map(|found| found.get(1))
        {
            let value = found.as_str();
            if !value.starts_with(MARK_START) && !value.contains(' ') {
                self.add(Found::Signature, value, origin.of(found.start()), through);
            }
        }
        if through.len() == MAX_WRAPPINGS {
            return;
        }
        if let Cow::Owned(inner) = json::decode(text) {
            self.unwrapped(Wrapping::Json, &inner, origin, through);
        }
        if let Some(inner) = from_percent(text) {
            self.unwrapped(Wrapping::Percent, &inner, origin, through);
        }
        for found in PATTERNS.base64.find_iter(text) {
            for inner in from_base64(found.as_str()) {
                let origin = Origin {
                    at: origin.of(found.start()),
                    fixed: true,
                };
                self.unwrapped(Wrapping::Base64, &inner, origin, through);
            }
        }
        for found in PATTERNS.bytes.find_iter(text) {
            if let Some(inner) = from_bytes(found.as_str()) {
                let origin = Origin {
                    at: origin.of(found.start()),
                    fixed: true,
                };
                self.unwrapped(Wrapping::Bytes, &inner, origin, through);
            }
        }
    }

    fn unwrapped(&mut self, wrapping: Wrapping, inner: &str, origin: Origin, through: &mut Vec<Wrapping>) {
        through.push(wrapping);
        // Escapes make text shorter, so a place within what they spell is no place in the text itself.
        self.look(
            inner,
            Origin {
                fixed: true,
                ..origin
            },
            through,
        );
        through.pop();
    }

    /// Members of a line of JSON whose name, or the name beside them, makes them secret.
    fn members(&mut self, line: &str, at: usize) {
        let masked = self.rules.mask_json(line);
        let text = self.rules.mask(line);
        for kind in Kind::ALL {
            let count = |text: &str| text.matches(kind.mark()).count();
            if count(&masked) > count(&text) {
                self.add(Found::Secret(kind), &format!("in a member of {line}"), at, &[]);
            }
        }
    }

    fn add(&mut self, found: Found, text: &str, at: usize, through: &[Wrapping]) {
        let text: String = text.chars().take(MAX_EXCERPT).collect();
        // The same words are seen again in each form of the text that leaves them as they are.
        if self.known.insert((found, text.clone())) {
            if self.findings.len() == MAX_FINDINGS {
                self.full = true;
                return;
            }
            self.findings.push(Finding {
                found,
                text,
                through: through.to_vec(),
                at,
            });
        }
    }
}

/// Not in a domain reserved for examples, and not the user that version control logs in with.
fn is_persons(address: &str) -> bool {
    let (user, domain) = address.rsplit_once('@').unwrap_or(("", address));
    let domain = domain.to_ascii_lowercase();
    let reserved = [
        "example.com",
        "example.org",
        "example.net",
        "test",
        "example",
        "invalid",
        "localhost",
    ];
    user != "git"
        && !reserved
            .iter()
            .any(|end| domain == *end || domain.ends_with(&format!(".{end}")))
}

/// Not part of a file's name, as in `settings.local.json` and `.env.local`.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let joined = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'(';
    let before = text[..start].bytes().next_back();
    let within = before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    let goes_on = match text.as_bytes()[end..] {
        [b'.', next, ..] | [next, ..] => joined(next),
        [] => false,
    };
    !within && !goes_on
}

fn from_percent(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut found) = (0, false);
    while let Some(&b) = bytes.get(at) {
        let spelled = bytes
            .get(at + 1..at + 3)
            .filter(|_| b == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match spelled.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                found = true;
                at += 3;
            }
            None => {
                out.push(b);
                at += 1;
            }
        }
    }
    found.then(|| String::from_utf8_lossy(&out).into_owned())
}

/// What a run of letters says in Base64, in each alphabet in which it says anything, whole or as the parts of a path.
fn from_base64(run: &str) -> Vec<String> {
    const SHORTEST: usize = 16;
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let standard = GeneralPurpose::new(&alphabet::STANDARD, config);
    let url_safe = GeneralPurpose::new(&alphabet::URL_SAFE, config);
    let read = |engine: &GeneralPurpose, part: &str| {
        let whole = if part.len() % 4 == 1 {
            &part[..part.len() - 1]
        } else {
            part
        };
        engine.decode(whole).ok().and_then(|bytes| readable(&bytes))
    };
    let mut all = Vec::new();
    for part in run.split(['-', '_']).filter(|part| part.len() >= SHORTEST) {
        all.extend(read(&standard, part));
    }
    for part in run.split(['+', '/']).filter(|part| part.len() >= SHORTEST) {
        all.extend(read(&url_safe, part));
    }
    all.sort();
    all.dedup();
    all
}

fn from_bytes(array: &str) -> Option<String> {
    let numbers = array[1..array.len() - 1]
        .split(',')
        .map(|number| number.trim().parse::<u8>().ok());
    readable(&numbers.collect::<Option<Vec<u8>>>()?)
}

/// Bytes as text, if they are mostly that.
fn readable(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let odd = text
        .chars()
        .filter(|c| *c == char::REPLACEMENT_CHARACTER || (c.is_control() && !c.is_whitespace()))
        .count();
    (odd * 5 <= text.chars().count()).then(|| text.into_owned())
}

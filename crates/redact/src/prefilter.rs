//! The fast look that most text needs and no more.
//!
//! Every rule needs one of some sixty short pieces of text: part of a name (`oken`), of a vendor's opening (`ghp_`), of an
//! address or of a key block. One vectorised search looks for all of them at once. What it finds is looked at a little
//! closer (is `oken` the end of a secret's name, and does something that could be a value stand behind it?), so that
//! prose about tokens and a frame with token counts stay on the fast road too. The answer may be a false *yes*, which
//! costs time; it is never a false *no*.

use aho_corasick::{AhoCorasick, MatchKind, packed};

use crate::{
    names::{self, NameKind},
    shapes::{MAX_URL_PART, SHAPES, run},
    swallow::Class,
};

/// Pieces of names, in each spelling that a name has.
const NAME_TRIGGERS: &[&str] = &[
    "oken", "OKEN", "ecret", "ECRET", "assw", "ASSW", "assp", "ASSP", "key", "Key", "KEY", "reden", "REDEN",
    "_PASS", "_PAT", "_pwd", "_PWD", "_Pwd", "_auth", "uthor", "UTHOR", "ooki", "OOKI", "eare", "EARE",
    "asic", "ASIC", "natu",
];

/// Most bytes of a colour code that are looked over.
pub(crate) const MAX_ESCAPE: u8 = 24;

/// How many blanks and backslashes are looked over behind a name; a few more than the rules do.
const MAX_GAP: usize = 20;

/// What to do about a piece that was found.
#[derive(Clone, Copy, Debug)]
enum Trigger {
    Name,
    Shape(&'static str),
    Jwt,
    Pem,
    Url,
    /// `\u00`: a letter could be hidden behind it.
    Escape,
    /// `\/` could hide an address, and encrypted reasoning stands beside the type `redacted_thinking`.
    Always,
    /// The same beside `reasoning.encrypted`, or a name.
    Encrypted,
}

#[derive(Debug)]
enum Search {
    Packed(packed::Searcher),
    /// For machines without vector instructions.
    Plain(AhoCorasick),
}

/// The search for text, or for JSON as it stands on the line.
///
/// The short pieces have a search of their own: one of them among the long would shorten the print by which the
/// vectorised search knows all of them, and it would stop at every tenth byte of prose.
#[derive(Debug)]
pub(crate) struct Prefilter {
    long: Pieces,
    short: Pieces,
}

#[derive(Debug)]
struct Pieces {
    search: Search,
    triggers: Vec<Trigger>,
}

impl Prefilter {
    /// For plain text, or for lines of JSON.
    pub(crate) fn new(json: bool) -> Self {
        let mut table: Vec<(&'static str, Trigger)> = vec![
            ("eyJ", Trigger::Jwt),
            ("BEGIN ", Trigger::Pem),
            ("://", Trigger::Url),
            ("rypte", Trigger::Encrypted),
        ];
        table.extend(NAME_TRIGGERS.iter().map(|piece| (*piece, Trigger::Name)));
        for shape in SHAPES {
            if !table.iter().any(|(piece, _)| *piece == shape.trigger) {
                table.push((shape.trigger, Trigger::Shape(shape.trigger)));
            }
        }
        if json {
            table.extend([
                ("\\u00", Trigger::Escape),
                (":\\/", Trigger::Always),
                ("/\\/", Trigger::Always),
                ("redacted_th", Trigger::Always),
            ]);
        }
        let (short, long) = table.into_iter().partition(|(piece, _)| piece.len() < 4);
        Prefilter {
            long: Pieces::new(long),
            short: Pieces::new(short),
        }
    }

    /// Whether a rule could find anything in `text`.
    pub(crate) fn suspects(&self, text: &str) -> bool {
        self.long.suspects(text.as_bytes()) || self.short.suspects(text.as_bytes())
    }
}

impl Pieces {
    fn new(table: Vec<(&'static str, Trigger)>) -> Self {
        let (pieces, triggers): (Vec<_>, Vec<_>) = table.into_iter().unzip();
        Pieces {
            search: Search::new(&pieces),
            triggers,
        }
    }

    fn suspects(&self, bytes: &[u8]) -> bool {
        let mut from = 0;
        while let Some((trigger, at)) = self.search.find(bytes, from) {
            if self.triggers[trigger].holds(bytes, at) {
                return true;
            }
            // The next piece may overlap this one.
            from = at + 1;
        }
        false
    }
}

impl Search {
    pub(crate) fn new<P: AsRef<[u8]>>(pieces: &[P]) -> Self {
        match packed::Config::new()
            .match_kind(packed::MatchKind::LeftmostFirst)
            .builder()
            .extend(pieces)
            .build()
        {
            Some(packed) => Search::Packed(packed),
            None => {
                let plain = AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostFirst)
                    .build(pieces);
                Search::Plain(plain.expect("sixty short pieces make a small automaton"))
            }
        }
    }

    fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        let span = aho_corasick::Span::from(from..text.len());
        match self {
            Search::Packed(packed) => packed
                .find_in(text, span)
                .map(|m| (m.pattern().as_usize(), m.start())),
            Search::Plain(plain) => plain
                .find(aho_corasick::Input::new(text).span(span))
                .map(|m| (m.pattern().as_usize(), m.start())),
        }
    }
}

/// The search for the names of private members and for known secrets, as they stand on a line of JSON.
#[derive(Debug)]
pub(crate) struct Extras(Search);

impl Extras {
    pub(crate) fn new(pieces: &[String]) -> Option<Self> {
        (!pieces.is_empty()).then(|| {
            let packed = if pieces.len() <= 64 {
                packed::Config::new()
                    .match_kind(packed::MatchKind::LeftmostFirst)
                    .builder()
                    .extend(pieces)
                    .build()
            } else {
                None
            };
            Extras(match packed {
                Some(packed) => Search::Packed(packed),
                None => Search::Plain(
                    AhoCorasick::new(pieces).expect("the number and length of known secrets are bounded"),
                ),
            })
        })
    }

    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.0.find(text.as_bytes(), 0).is_some()
    }
}

impl Trigger {
    fn holds(self, text: &[u8], at: usize) -> bool {
        match self {
            Trigger::Name => names_value(text, at),
            Trigger::Shape(trigger) => SHAPES
                .iter()
                .filter(|shape| shape.trigger == trigger)
                .any(|shape| {
                    let offset = shape.opening.find(shape.trigger).unwrap_or(0);
                    at.checked_sub(offset).is_some_and(|start| {
                        text[start..].starts_with(shape.opening.as_bytes()) && begins_word(text, start)
                    })
                }),
            Trigger::Jwt => begins_word(text, at),
            Trigger::Pem => text[..at].ends_with(b"-----"),
            Trigger::Url => {
                run(&text[at + 3..], 2 * MAX_URL_PART, |b| Class::Authority.holds(b)).contains(&b'@')
            }
            Trigger::Escape => matches!(text.get(at + 4), Some(b'2'..=b'7')),
            Trigger::Always => true,
            Trigger::Encrypted => names_value(text, at) || text[..at].ends_with(b"reasoning.enc"),
        }
    }
}

/// Whether a word could begin at `start`, in text or in JSON as it stands on the line.
fn begins_word(text: &[u8], start: usize) -> bool {
    let before = &text[..start];
    match before {
        [] => true,
        [.., last] if !Class::Word.holds(*last) || *last == b'-' => true,
        // Escapes and colour codes end in a letter or a digit.
        [.., b'\\', _] => true,
        _ => has_escape(before),
    }
}

/// Whether `text` ends a little behind an escape.
fn has_escape(text: &[u8]) -> bool {
    // Six bytes for `\u001b`, and the code.
    let near = &text[text.len().saturating_sub(usize::from(MAX_ESCAPE) + 8)..];
    near.contains(&0x1b) || near.windows(2).any(|w| w == b"\\u")
}

/// Whether the word around `at` names a secret and a value could stand behind it.
fn names_value(text: &[u8], at: usize) -> bool {
    let back = text[..at]
        .iter()
        .rev()
        .take(names::MAX_NAME + 8)
        .take_while(|b| Class::Word.holds(**b))
        .count();
    let start = at - back;
    let word = run(&text[start..], 2 * names::MAX_NAME, |b| Class::Word.holds(b));
    let after = &text[start + word.len()..];
    let dashes = word.iter().take_while(|b| **b == b'-').count();
    let word = &word[dashes..];
    let mut kind = names::classify(word);
    // What looks like its first letter may be the end of `\n`, or of a colour code.
    if kind.is_none() && text[..start].ends_with(b"\\") && !word.is_empty() {
        let rest = &word[1..];
        kind = names::classify(&rest[rest.iter().take_while(|b| **b == b'-').count()..]);
    }
    if kind.is_none() && has_escape(&text[..at.min(start + 8)]) {
        return true;
    }
    let Some(kind) = kind else { return false };
    if matches!(kind, NameKind::Bearer | NameKind::Basic) {
        // Their value stands behind a blank, perhaps with a colour code between.
        return matches!(after, [b' ' | b'\t' | 0x1b, ..] | [b'\\', b't' | b'u', ..]);
    }
    let gap = run(after, MAX_GAP, |b| {
        matches!(b, b' ' | b'\t' | b'\\' | b'"' | b'\'' | b'`')
    });
    match after.get(gap.len()) {
        Some(b'=' | b':' | 0x1b) => true,
        _ if gap.iter().any(|b| matches!(b, b'"' | b'\'' | b'`' | b'\\')) => true,
        Some(_) => {
            // Only a flag has its value behind a mere blank.
            let flag = text[start..at].windows(2).any(|two| two == b"--");
            !gap.is_empty() && flag
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond 64 pieces the vectorised search is not built, and all text becomes an order of magnitude slower.
    #[test]
    fn the_pieces_are_few_enough_for_the_fast_search() {
        for json in [false, true] {
            let prefilter = Prefilter::new(json);
            assert!(prefilter.long.triggers.len() <= 64 && prefilter.short.triggers.len() <= 64);
        }
    }
}

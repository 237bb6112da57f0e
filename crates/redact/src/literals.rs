//! Secrets that the caller knows word for word: those of a launched agent's environment.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::Kind;

/// Shortest value that is searched for; a shorter one stands in too many harmless places.
pub const MIN_LITERAL: usize = 8;
/// Longest piece that is searched for; a longer value is searched for piece by piece.
pub const MAX_LITERAL: usize = 80;
/// Most pieces that are searched for.
pub const MAX_LITERALS: usize = 512;

/// The pieces, sorted, and the automaton that finds them.
#[derive(Debug)]
pub(crate) struct Literals {
    pieces: Vec<String>,
    finder: AhoCorasick,
    /// Values that are not searched for, because they are too short or beyond the limit.
    pub(crate) left_out: usize,
}

impl Literals {
    /// Takes each line of each value as a piece: a value of several lines is seldom repeated in one.
    pub(crate) fn new<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Option<Self> {
        let mut pieces: Vec<String> = Vec::new();
        let mut left_out = 0;
        for value in values {
            let mut taken = false;
            for line in value.as_ref().lines().map(str::trim) {
                let mut line = line;
                while line.len() >= MIN_LITERAL && pieces.len() < MAX_LITERALS {
                    // A remainder too short to be searched for would stay, so the last two pieces share.
                    let long = line.len() > MAX_LITERAL && line.len() < MAX_LITERAL + MIN_LITERAL;
                    let cut = line.floor_char_boundary(if long { line.len() / 2 } else { MAX_LITERAL });
                    let (piece, rest) = line.split_at(cut);
                    // A value that is part of a mark would be found in what was masked.
                    if !Kind::ALL.iter().any(|kind| kind.mark().contains(piece)) {
                        pieces.push(piece.to_owned());
                        // In text that was put into JSON or a program, the value stands escaped.
                        let escaped = piece.replace('\\', "\\\\").replace('"', "\\\"");
                        if escaped != piece && escaped.len() <= 2 * MAX_LITERAL {
                            pieces.push(escaped);
                        }
                    }
                    taken = true;
                    line = rest;
                }
            }
            left_out += usize::from(!taken);
        }
        pieces.sort();
        pieces.dedup();
        if pieces.is_empty() && left_out == 0 {
            return None;
        }
        // The pieces are plain text of bounded number and length, so the automaton always fits.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&pieces)
            .ok()?;
        Some(Literals {
            pieces,
            finder,
            left_out,
        })
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.finder.is_match(text)
    }

    /// The pieces as they stand within a JSON string.
    pub(crate) fn as_json(&self) -> impl Iterator<Item = String> + '_ {
        self.pieces.iter().map(|piece| {
            let quoted = serde_json::Value::from(piece.as_str()).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        })
    }

    /// Whether JSON may spell a piece in more ways than [`Literals::as_json`] does.
    pub(crate) fn have_escapes(&self) -> bool {
        self.pieces
            .iter()
            .any(|piece| !piece.is_ascii() || piece.contains('/'))
    }

    /// Where the pieces stand in `text`.
    pub(crate) fn spans<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.finder
            .find_iter(text)
            .map(|found| (found.start(), found.end()))
    }

    pub(crate) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.is_in(text) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let read = self.run(text, true, &mut out);
        debug_assert_eq!(read, text.len(), "at the end nothing is held back");
        Cow::Owned(out)
    }

    /// Writes `text` with its pieces masked; gives back how much of it is read. The rest, which is shorter than the
    /// longest piece, may still become one.
    pub(crate) fn run(&self, text: &str, end: bool, out: &mut String) -> usize {
        let mut at = 0;
        loop {
            let open = if end {
                text.len()
            } else {
                at + self.could_begin(&text[at..])
            };
            match self.finder.find(&text[at..]) {
                // What begins earlier than all that is still open can grow no longer and is overtaken by nothing.
                Some(found) if at + found.start() < open => {
                    out.push_str(&text[at..at + found.start()]);
                    out.push_str(Kind::Known.mark());
                    at += found.end();
                }
                _ => {
                    out.push_str(&text[at..open]);
                    return open;
                }
            }
        }
    }

    /// Where in `text` the first piece could begin that goes on beyond its end.
    fn could_begin(&self, text: &str) -> usize {
        let from = text.len().saturating_sub(2 * MAX_LITERAL);
        (from..text.len())
            .filter(|at| text.is_char_boundary(*at))
            .find(|at| {
                let tail = &text[*at..];
                let next = self.pieces.partition_point(|piece| piece.as_str() <= tail);
                self.pieces.get(next).is_some_and(|piece| piece.starts_with(tail))
            })
            .unwrap_or(text.len())
    }
}

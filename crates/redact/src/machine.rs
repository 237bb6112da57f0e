//! The one reader behind [`Rules::mask`](crate::Rules::mask) and [`StreamMask`](crate::StreamMask).
//!
//! It goes through text from left to right and remembers only a few facts: the word it is in, and whether a secret's
//! name (and its separator, and a quote) was just seen. At each place where a secret could begin it asks the rules, which
//! answer *keep*, *mask*, or *open*: not enough text yet. Every answer depends on the text from there on (at most a
//! window of it) and on the remembered facts, never on where the text was cut; so text in one piece and text in a
//! thousand pieces are masked alike. Whatever is kept is never touched again: names, separators and quotes pass at once.
//!
//! Colour codes of terminals (`ESC [ … m`) are looked through: they end a word but stand between a name and its value
//! without harm.

use crate::{
    Kind,
    names::{self, NameKind},
    prefilter::MAX_ESCAPE,
    shapes,
    swallow::{Class, Swallow, Swallowed},
    values::{self, Name, Place},
};

/// What a rule says of the text before it.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Nothing begins here.
    Keep,
    /// It needs more text.
    Open,
    /// A secret begins `keep` bytes from here.
    Mask {
        keep: usize,
        kind: Kind,
        swallow: Swallow,
    },
}

impl Verdict {
    /// The step that ends the reading at `at`; none where it goes on.
    fn step(self, at: usize) -> Option<Step> {
        match self {
            Self::Keep => None,
            Self::Open => Some(Step::Open),
            Self::Mask { keep, kind, swallow } => Some(Step::Mask {
                at: at + keep,
                kind,
                swallow,
            }),
        }
    }
}

/// Most blanks, and most backslashes, between a name and its value.
const MAX_GAP: u8 = 8;

/// The facts that outlast a piece of text.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The word that the last piece ended in, up to the longest name; empty between words.
    word: Vec<u8>,
    /// That word began with `--`; that word leads its line.
    word_flag: bool,
    word_leads: bool,
    after: After,
    swallow: Option<Swallow>,
    /// The last byte read.
    last: u8,
    /// Dashes just read, at the start of a word.
    dashes: u8,
    /// Nothing but blanks, quotes, diff marks and `export` since the line began.
    leads: bool,
    escape: Escape,
}

/// What stands before this place.
#[derive(Clone, Copy, Debug)]
enum After {
    Nothing,
    /// A secret's name, perhaps backslashes and a closing quote, blanks.
    Name {
        name: Name,
        slashes: u8,
        blanks: u8,
    },
    /// A separator, blanks, perhaps backslashes.
    Separator {
        place: Place,
        slashes: u8,
        blanks: u8,
        bare: bool,
    },
    /// The quote too: here is the value.
    Quote(Place),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    None,
    Begun,
    /// So many bytes of its numbers were read.
    Inside(u8),
}

/// Where the machine puts what it keeps and what it masks.
pub(crate) struct Output<'t> {
    text: &'t str,
    /// From here on the text is kept and not yet written.
    from: usize,
    written: String,
    /// Whether what is written differs from what was read.
    changed: bool,
    /// Whether anything was masked.
    pub(crate) found: bool,
    /// What was masked, with where in the text.
    pub(crate) spans: Option<Vec<(Kind, usize, usize)>>,
}

impl<'t> Output<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Output {
            text,
            from: 0,
            written: String::new(),
            changed: false,
            found: false,
            spans: None,
        }
    }

    fn mark(&mut self, at: usize, kind: Kind) {
        self.written.push_str(&self.text[self.from..at]);
        self.written.push_str(kind.mark());
        (self.found, self.changed) = (true, true);
        self.from = at;
        if let Some(spans) = &mut self.spans {
            spans.push((kind, at, self.text.len()));
        }
    }

    fn resume(&mut self, at: usize, backslashes: u8) {
        for _ in 0..backslashes {
            self.written.push('\\');
        }
        self.changed = true;
        self.from = at;
        if let Some((_, _, end)) = self.spans.as_mut().and_then(|s| s.last_mut()) {
            *end = at - usize::from(backslashes);
        }
    }

    /// Writes what is kept up to `at`, unless all of it is.
    fn finish(&mut self, at: usize) {
        if self.changed {
            self.written.push_str(&self.text[self.from..at]);
            self.from = at;
        }
    }

    /// What takes the place of the text that was read, if that is not the text itself.
    pub(crate) fn take(self) -> Option<String> {
        self.changed.then_some(self.written)
    }
}

impl Machine {
    pub(crate) fn new() -> Self {
        Machine {
            word: Vec::new(),
            word_flag: false,
            word_leads: false,
            after: After::Nothing,
            swallow: None,
            last: b' ',
            dashes: 0,
            leads: true,
            escape: Escape::None,
        }
    }

    /// Reads `out.text`: what an earlier call left unread, and what is new. Gives back how much of it is read; the rest
    /// could still become a secret. At the end nothing is left.
    pub(crate) fn run(&mut self, out: &mut Output<'_>, end: bool) -> usize {
        let text = out.text;
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if let Some(swallow) = &mut self.swallow {
                match swallow.eat(&bytes[at..]) {
                    Swallowed::All => {
                        (out.from, out.changed) = (bytes.len(), true);
                        return bytes.len();
                    }
                    Swallowed::UpTo { at: len, backslashes } => {
                        at += len;
                        out.resume(at, backslashes);
                        self.swallow = None;
                        if at == bytes.len() {
                            break;
                        }
                    }
                }
            }
            match self.step(bytes, at, end) {
                Step::To(next) => at = next,
                Step::Open => {
                    out.finish(at);
                    return at;
                }
                Step::Mask {
                    at: from,
                    kind,
                    swallow,
                } => {
                    out.mark(from, kind);
                    at = from;
                    *self = Machine {
                        swallow: Some(swallow),
                        last: b']',
                        leads: false,
                        ..Machine::new()
                    };
                }
            }
        }
        out.finish(at);
        at
    }

    fn step(&mut self, bytes: &[u8], at: usize, end: bool) -> Step {
        let b = bytes[at];
        let rest = &bytes[at..];
        if self.escape != Escape::None {
            return self.escape_code(b, at);
        }
        if !self.word.is_empty() {
            return self.word(bytes, at, at, end);
        }
        if let Some(step) = self.value(rest, end).step(at) {
            return step;
        }
        // A letter behind a backslash is an escape, as in `\n`, and belongs to no word.
        if self.last == b'\\' && matches!(b, b'n' | b'r' | b't') {
            self.after = After::Nothing;
            self.leads = self.leads || b != b't';
            return self.pass(b' ', at + 1);
        }
        match b {
            b'-' => {
                let verdict = if self.dashes == 0 {
                    shapes::pem(rest, end)
                } else {
                    Verdict::Keep
                };
                if let Some(step) = verdict.step(at) {
                    return step;
                }
                self.after = After::Nothing;
                let dashes = self.dashes.saturating_add(1);
                let step = self.pass(b, at + 1);
                self.dashes = dashes;
                step
            }
            _ if Class::Word.holds(b) => {
                if let Some(step) = shapes::at_word(rest, end).step(at) {
                    return step;
                }
                self.word_flag = self.dashes >= 2;
                self.word_leads = self.leads;
                self.word(bytes, at, at + 1, end)
            }
            b':' if self.last.is_ascii_alphanumeric() => {
                if let Some(step) = shapes::url(rest, end).step(at) {
                    return step;
                }
                self.between(b);
                self.pass(b, at + 1)
            }
            0x1b => {
                self.escape = Escape::Begun;
                self.pass(b' ', at + 1)
            }
            _ => {
                self.between(b);
                self.leads = match b {
                    b'\n' | b'\r' => true,
                    b' ' | b'\t' | b'+' | b'"' | b'\'' | b'`' => self.leads,
                    _ => false,
                };
                self.pass(b, at + 1)
            }
        }
    }

    fn pass(&mut self, last: u8, next: usize) -> Step {
        self.last = last;
        self.dashes = 0;
        Step::To(next)
    }

    /// Reads on in a word that began at `from` (or in an earlier piece) up to its end.
    fn word(&mut self, bytes: &[u8], from: usize, at: usize, end: bool) -> Step {
        let len = bytes[at..]
            .iter()
            .position(|b| !Class::Word.holds(*b))
            .unwrap_or(bytes.len() - at);
        let to = at + len;
        let piece = &bytes[from..to];
        let whole = to < bytes.len() || end;
        let carried = !self.word.is_empty();
        if carried || !whole {
            // One byte beyond the longest name is enough to know that it is none.
            let room = (names::MAX_NAME + 1).saturating_sub(self.word.len());
            self.word.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        let last = piece.last().copied().unwrap_or(self.last);
        if whole {
            let word = if carried { self.word.as_slice() } else { piece };
            self.leads =
                self.word_leads && matches!(word, b"export" | b"set" | b"declare" | b"ENV" | b"ARG" | b"env");
            self.after = match names::classify(word) {
                None => After::Nothing,
                Some(kind) => {
                    let capitals = !word.iter().any(u8::is_ascii_lowercase);
                    let name = Name {
                        kind,
                        capitals,
                        flag: self.word_flag,
                        leads: self.word_leads,
                        quoted: false,
                    };
                    After::Name {
                        name,
                        slashes: 0,
                        blanks: 0,
                    }
                }
            };
            self.word.clear();
        }
        self.pass(last, to)
    }

    /// Asks the values' rules if a value begins here.
    fn value(&mut self, rest: &[u8], end: bool) -> Verdict {
        let b = rest[0];
        let place = match self.after {
            After::Quote(place) => place,
            After::Separator {
                place,
                bare,
                slashes: 0,
                ..
            } => {
                let more = matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\\' | 0x1b)
                    || (bare && matches!(b, b'=' | b'>' | b':'));
                if more {
                    return Verdict::Keep;
                }
                place
            }
            After::Name {
                name,
                blanks: 1..,
                slashes: 0,
            } => {
                let spoken = name.flag || matches!(name.kind, NameKind::Bearer | NameKind::Basic);
                if !spoken || matches!(b, b' ' | b'\t' | b'=' | b':' | b'"' | b'\'' | b'`' | b'\\' | 0x1b) {
                    return Verdict::Keep;
                }
                Place {
                    name,
                    separator: b' ',
                    spaced: false,
                    quote: None,
                }
            }
            _ => return Verdict::Keep,
        };
        let verdict = values::decide(&place, rest, end);
        if matches!(verdict, Verdict::Keep) {
            self.after = After::Nothing;
        }
        verdict
    }

    /// Reads a byte that belongs to no word.
    fn between(&mut self, b: u8) {
        self.after = match (self.after, b) {
            (After::Nothing | After::Quote(_), _) => After::Nothing,
            (
                After::Name {
                    name,
                    slashes,
                    blanks: 0,
                },
                b'\\',
            ) if slashes < MAX_GAP => After::Name {
                name,
                slashes: slashes + 1,
                blanks: 0,
            },
            (
                After::Name {
                    mut name, blanks: 0, ..
                },
                b'"' | b'\'' | b'`',
            ) if !name.quoted => {
                name.quoted = true;
                After::Name {
                    name,
                    slashes: 0,
                    blanks: 0,
                }
            }
            (
                After::Name {
                    name,
                    slashes: 0,
                    blanks,
                },
                b' ' | b'\t',
            ) if blanks < MAX_GAP => After::Name {
                name,
                slashes: 0,
                blanks: blanks + 1,
            },
            (
                After::Name {
                    name,
                    slashes: 0,
                    blanks: 1..,
                },
                b'"' | b'\'',
            ) if name.flag => After::Quote(Place {
                name,
                separator: b' ',
                spaced: false,
                quote: Some((b, 0)),
            }),
            (
                After::Name {
                    name,
                    slashes: 0,
                    blanks,
                },
                b'=' | b':',
            ) => {
                let place = Place {
                    name,
                    separator: b,
                    spaced: blanks > 0,
                    quote: None,
                };
                After::Separator {
                    place,
                    slashes: 0,
                    blanks: 0,
                    bare: true,
                }
            }
            (After::Name { .. }, _) => After::Nothing,
            // `:=` and `=>` separate as well; `==` compares and `::` is a path.
            (
                After::Separator {
                    mut place,
                    bare: true,
                    ..
                },
                b'=' | b'>' | b':',
            ) => match (place.separator, b) {
                (b':', b'=') | (b'=', b'>') => {
                    place.separator = if b == b'>' { b':' } else { b'=' };
                    After::Separator {
                        place,
                        slashes: 0,
                        blanks: 0,
                        bare: false,
                    }
                }
                _ => After::Nothing,
            },
            (
                After::Separator {
                    mut place,
                    slashes: 0,
                    blanks,
                    ..
                },
                b' ' | b'\t',
            ) if blanks < MAX_GAP => {
                place.spaced = true;
                After::Separator {
                    place,
                    slashes: 0,
                    blanks: blanks + 1,
                    bare: false,
                }
            }
            (
                After::Separator {
                    place,
                    slashes,
                    blanks,
                    ..
                },
                b'\\',
            ) if slashes < MAX_GAP => After::Separator {
                place,
                slashes: slashes + 1,
                blanks,
                bare: false,
            },
            (
                After::Separator {
                    mut place, slashes, ..
                },
                b'"' | b'\'' | b'`',
            ) => {
                place.quote = Some((b, slashes));
                After::Quote(place)
            }
            (After::Separator { .. }, _) => After::Nothing,
        };
    }

    fn escape_code(&mut self, b: u8, at: usize) -> Step {
        self.escape = match (self.escape, b) {
            (Escape::Begun, b'[') => Escape::Inside(0),
            (Escape::Inside(read), b'0'..=b'?') if read < MAX_ESCAPE => Escape::Inside(read + 1),
            (Escape::Inside(_), b'@'..=b'~') => Escape::None,
            _ => {
                // No such code: the byte is read as any other.
                self.escape = Escape::None;
                return Step::To(at);
            }
        };
        self.pass(b' ', at + 1)
    }
}

enum Step {
    To(usize),
    Open,
    Mask { at: usize, kind: Kind, swallow: Swallow },
}

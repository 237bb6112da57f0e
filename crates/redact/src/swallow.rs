//! Where a secret ends, once it is known to be one.
//!
//! A secret may be longer than anything that is held back, so its rest is swallowed byte by byte, in constant memory.

/// A set of bytes that a secret may go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Letters, digits, `_` and `-`.
    Word,
    /// A word with dots and the rest of Base64.
    Dotted,
    /// Parts of a path.
    Path,
    /// A value without quotes, up to what commonly ends one in code, shells, addresses and forms.
    Value,
    /// A value without quotes on a line of its own (`NAME=value`), up to blank space or a quote.
    Line,
    /// Cookies, up to the end of the line or a quote.
    Header,
    /// The user, password and host of an address.
    Authority,
    /// The inside of a private key block, also with line numbers, quotes, escapes and diff marks.
    Pem,
}

impl Class {
    /// Whether the class has this byte. A class has all or none of the bytes of characters beyond ASCII, so that it
    /// never ends within one.
    const fn spelled(self, b: u8) -> bool {
        match self {
            Class::Word => b.is_ascii_alphanumeric() || b == b'_' || b == b'-',
            Class::Dotted => {
                b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~')
            }
            Class::Path => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'/'),
            Class::Value => {
                Class::Line.spelled(b)
                    && !matches!(
                        b,
                        b',' | b';' | b'&' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|'
                    )
            }
            Class::Line => b > b' ' && b != 0x7f && !matches!(b, b'"' | b'\'' | b'`' | b'\\'),
            Class::Header => {
                (b >= b' ' || b == b'\t') && b != 0x7f && !matches!(b, b'"' | b'\'' | b'`' | b'\\')
            }
            Class::Authority => {
                Class::Line.spelled(b)
                    && !matches!(
                        b,
                        b'/' | b'?' | b'#' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|'
                    )
            }
            Class::Pem => {
                b.is_ascii_alphanumeric()
                    || b.is_ascii_whitespace()
                    || b >= 0x80
                    || matches!(
                        b,
                        b'+' | b'/' | b'=' | b'\\' | b'"' | b'\'' | b',' | b'-' | b':' | b'|' | b'>'
                    )
            }
        }
    }

    /// Whether the class has this byte.
    #[inline]
    pub(crate) fn holds(self, b: u8) -> bool {
        CLASSES[b as usize] & (1 << self as u8) != 0
    }
}

/// The classes of each byte, as bits.
static CLASSES: [u8; 256] = {
    let all = [
        Class::Word,
        Class::Dotted,
        Class::Path,
        Class::Value,
        Class::Line,
        Class::Header,
        Class::Authority,
        Class::Pem,
    ];
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        let mut at = 0;
        while at < all.len() {
            if all[at].spelled(b as u8) {
                table[b] |= 1 << all[at] as u8;
            }
            at += 1;
        }
        b += 1;
    }
    table
};

/// What is being swallowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swallow {
    /// All bytes of a class.
    Class(Class),
    /// So many bytes.
    Bytes(usize),
    /// All up to a closing quote `quote` that stands behind `depth` backslashes; `run` backslashes were just seen.
    Quoted { quote: u8, depth: u8, run: u8 },
    /// A private key block up to the end of its closing line, of which `seen` bytes (or dashes) are there.
    Pem { closing: bool, seen: u8 },
}

/// How a piece of text was swallowed.
pub(crate) enum Swallowed {
    /// All of it, and more may belong to the secret.
    All,
    /// Up to here; before what follows, so many backslashes belong to the text again.
    UpTo { at: usize, backslashes: u8 },
}

const PEM_CLOSING: &[u8] = b"-----END ";

impl Swallow {
    pub(crate) const fn pem() -> Self {
        Swallow::Pem {
            closing: false,
            seen: 0,
        }
    }

    /// Swallows from the start of `text`.
    pub(crate) fn eat(&mut self, text: &[u8]) -> Swallowed {
        match self {
            Swallow::Class(class) => match text.iter().position(|b| !class.holds(*b)) {
                Some(at) => Swallowed::UpTo { at, backslashes: 0 },
                None => Swallowed::All,
            },
            Swallow::Bytes(left) => {
                if text.len() >= *left {
                    return Swallowed::UpTo {
                        at: *left,
                        backslashes: 0,
                    };
                }
                *left -= text.len();
                Swallowed::All
            }
            Swallow::Quoted { quote, depth, run } => {
                for (at, &b) in text.iter().enumerate() {
                    if b == b'\\' {
                        *run = run.saturating_add(1);
                    } else if b == b'\n' || (b == *quote && closes(*run, *depth)) {
                        return Swallowed::UpTo {
                            at,
                            backslashes: if b == b'\n' { 0 } else { (*run).min(*depth) },
                        };
                    } else {
                        *run = 0;
                    }
                }
                Swallowed::All
            }
            Swallow::Pem { closing, seen } => {
                for (at, &b) in text.iter().enumerate() {
                    if *closing {
                        match b {
                            b'-' if *seen == 4 => {
                                return Swallowed::UpTo {
                                    at: at + 1,
                                    backslashes: 0,
                                };
                            }
                            b'-' => *seen += 1,
                            b' ' | b'A'..=b'Z' | b'0'..=b'9' if *seen == 0 => {}
                            _ => return Swallowed::UpTo { at, backslashes: 0 },
                        }
                    } else if !Class::Pem.holds(b) {
                        return Swallowed::UpTo { at, backslashes: 0 };
                    } else if b == PEM_CLOSING[*seen as usize] {
                        *seen += 1;
                        if *seen as usize == PEM_CLOSING.len() {
                            (*closing, *seen) = (true, 0);
                        }
                    } else if !(b == b'-' && *seen == 5) {
                        *seen = u8::from(b == b'-');
                    }
                }
                Swallowed::All
            }
        }
    }
}

/// Whether a quote behind `run` backslashes closes a string whose own quotes stand behind `depth` of them.
///
/// Text that was put into a JSON string once has `\"` for its quotes, and `\\\"` for quotes inside those; more
/// backslashes than that are a backslash at the end of the value.
pub(crate) fn closes(run: u8, depth: u8) -> bool {
    let (run, depth) = (u32::from(run), u32::from(depth));
    run < depth || (run - depth) % (2 * (depth + 1)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_closes_at_its_own_depth() {
        let closing: Vec<_> = (0..9).filter(|run| closes(*run, 0)).collect();
        assert_eq!(closing, [0, 2, 4, 6, 8]);
        let closing: Vec<_> = (0..9).filter(|run| closes(*run, 1)).collect();
        assert_eq!(closing, [0, 1, 5]);
        let closing: Vec<_> = (0..12).filter(|run| closes(*run, 3)).collect();
        assert_eq!(closing, [0, 1, 2, 3, 11]);
    }
}

//! The end of an output, in constant memory and as text.

use std::collections::VecDeque;

use crate::files::{ANSWER_BYTES, json_byte};

/// The end of an output.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    /// There was more before.
    cut: bool,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            limit,
            cut: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let fits = &bytes[bytes.len().saturating_sub(self.limit)..];
        let over = (self.bytes.len() + fits.len()).saturating_sub(self.limit);
        self.cut |= over > 0 || fits.len() < bytes.len();
        self.bytes.drain(..over);
        let needed = self.bytes.len() + fits.len();
        if needed > self.bytes.capacity() {
            // As vectors grow, but never beyond what is kept.
            let most = (2 * needed).min(self.limit);
            self.bytes.reserve_exact(most - self.bytes.len());
        }
        self.bytes.extend(fits);
    }

    /// The text, and whether something is missing before it. A character that has not come whole yet is left out, unless
    /// the output is `complete`.
    pub(super) fn text(&self, complete: bool) -> (String, bool) {
        let (head, rest) = self.bytes.as_slices();
        let bytes = [head, rest].concat();
        let continues = |byte: &&u8| (0x80..0xc0).contains(*byte);
        let start = match self.cut {
            true => bytes.iter().take(3).take_while(continues).count(),
            false => 0,
        };
        let end = if complete { bytes.len() } else { whole(&bytes) };
        let text = String::from_utf8_lossy(bytes.get(start..end).unwrap_or_default());
        // Bytes that were replaced are longer now, and control characters will be.
        let fit = fitting(&text, self.limit);
        (text[fit..].to_owned(), self.cut || fit > 0)
    }
}

/// Where the last character that has come whole ends.
fn whole(bytes: &[u8]) -> usize {
    for (behind, byte) in bytes.iter().rev().take(3).enumerate() {
        let length = match byte {
            0x80..0xc0 => continue,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0.. => 4,
            _ => 1,
        };
        return if length > behind + 1 {
            bytes.len() - behind - 1
        } else {
            bytes.len()
        };
    }
    bytes.len()
}

/// Where the longest end of a text begins that has at most `limit` bytes and fits into an answer.
fn fitting(text: &str, limit: usize) -> usize {
    let (mut plain, mut escaped) = (0, 0);
    for (at, char) in text.char_indices().rev() {
        plain += char.len_utf8();
        escaped += if char.is_ascii() {
            json_byte(char as u8)
        } else {
            char.len_utf8()
        };
        if plain > limit || escaped > ANSWER_BYTES {
            return at + char.len_utf8();
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::super::OUTPUT_BYTES_MOST;
    use super::*;

    fn tail(limit: usize, pieces: &[&[u8]]) -> Tail {
        let mut tail = Tail::new(limit);
        for piece in pieces {
            tail.push(piece);
        }
        tail
    }

    #[test]
    fn the_end_of_an_output_is_kept_and_begins_with_a_character() {
        assert_eq!(tail(4, &[b"ab", b"cd"]).text(true), ("abcd".into(), false));
        assert_eq!(tail(4, &[b"ab", b"cde"]).text(true), ("bcde".into(), true));
        assert_eq!(tail(4, &[b"abcdefgh"]).text(true), ("efgh".into(), true));
        assert_eq!(tail(0, &[b"a"]).text(true), (String::new(), true));
        assert_eq!(tail(0, &[]).text(true), (String::new(), false));
        let snowmen = "☃☃☃".as_bytes();
        for (limit, text) in [(9, "☃☃☃"), (8, "☃☃"), (7, "☃☃"), (6, "☃☃"), (2, "")] {
            assert_eq!(tail(limit, &[snowmen]).text(true), (text.to_owned(), limit < 9));
        }
    }

    #[test]
    fn a_character_that_has_not_come_whole_is_not_shown_yet() {
        for text in ["é", "☃", "𝄞"] {
            let bytes = text.as_bytes();
            for cut in 1..bytes.len() {
                let mut tail = tail(100, &[b"a", &bytes[..cut]]);
                assert_eq!(tail.text(false).0, "a");
                assert_eq!(tail.text(true).0, "a\u{fffd}");
                tail.push(&bytes[cut..]);
                assert_eq!(tail.text(false).0, format!("a{text}"));
            }
        }
        // Bytes that never become a character hold nothing up.
        assert_eq!(
            tail(100, &[b"a\x80\x80\x80"]).text(false).0,
            "a\u{fffd}\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn what_grows_on_its_way_is_cut_to_the_limit_again() {
        let (text, truncated) = tail(9, &[&[0xff; 9]]).text(true);
        assert_eq!((text.as_str(), truncated), ("\u{fffd}\u{fffd}\u{fffd}", true));
        let control = vec![1; OUTPUT_BYTES_MOST];
        let (text, truncated) = tail(OUTPUT_BYTES_MOST, &[&control]).text(true);
        assert!(truncated && crate::files::json_bytes(&text) <= ANSWER_BYTES);
        assert_eq!(text.len(), ANSWER_BYTES / 6);
    }

    #[test]
    fn an_output_without_end_takes_no_more_than_its_limit() {
        let mut tail = Tail::new(100_000);
        for _ in 0..100 {
            tail.push(&[b'x'; 7_001]);
            assert!(tail.bytes.capacity() <= 100_000);
        }
        assert_eq!(tail.text(true).0.len(), 100_000);
    }
}

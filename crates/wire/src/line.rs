//! Bytes into lines.
//!
//! Only `\n` ends a line: JSON text may hold U+2028 and its like, and a progress bar that an agent prints by
//! mistake may hold bare `\r`. A `\r` right before the `\n` and a byte order mark at the start of the stream are
//! dropped. Bytes that are no UTF-8 become U+FFFD and the rest of their line stays.
//!
//! A line over the limit is skipped to its end while only a prefix of it is held, and reading goes on behind it.
//! However the stream is cut into reads, the lines are the same.

use std::borrow::Cow;

/// The longest line that is read, in bytes, unless [`LineReader::with_limit`] says otherwise.
pub const LINE_LIMIT: usize = 16 << 20;

/// How many bytes of a longer line are kept.
pub const PREFIX_LIMIT: usize = 4096;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A line of the stream, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line within the limit; borrowed unless it held bytes that are no UTF-8.
    Text(Cow<'a, str>),
    /// A line over the limit, which was skipped.
    TooLong {
        /// The start of the line, at most [`PREFIX_LIMIT`] bytes, cut between two characters.
        prefix: Cow<'a, str>,
        /// How long the whole line was, in bytes.
        bytes: u64,
    },
}

/// Cuts a stream of bytes into lines.
#[derive(Debug)]
pub struct LineReader {
    limit: usize,
    /// The open line up to here, or the prefix of one that is being skipped.
    open: Vec<u8>,
    /// Set while the open line is being skipped.
    skipped: Option<Skipped>,
    /// No line has ended yet, so a byte order mark may stand at the start of the open one.
    first: bool,
}

/// What is known of a line that is being skipped.
#[derive(Debug, Clone, Copy)]
struct Skipped {
    bytes: u64,
    ends_in_return: bool,
}

impl Default for LineReader {
    fn default() -> Self {
        Self::new()
    }
}

impl LineReader {
    /// A reader with the usual limit, at the start of a stream.
    pub fn new() -> Self {
        Self::with_limit(LINE_LIMIT)
    }

    /// A reader that skips lines of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            open: Vec::new(),
            skipped: None,
            first: true,
        }
    }

    /// Whether a line has begun that has not ended.
    pub fn is_in_a_line(&self) -> bool {
        !self.open.is_empty() || self.skipped.is_some()
    }

    /// Takes the bytes of one read and gives every line that ends in them.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (part, behind) = (&rest[..end], &rest[end + 1..]);
            if self.open.is_empty() && self.skipped.is_none() {
                each(whole_line(part, self.limit, self.first));
            } else {
                self.extend(part);
                self.give(&mut each);
            }
            self.first = false;
            rest = behind;
        }
        self.extend(rest);
    }

    /// Ends the stream and gives the last line if it had no end of its own. The reader then stands at the start of
    /// another stream.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if self.is_in_a_line() {
            self.give(&mut each);
        }
        self.first = true;
    }

    /// Adds bytes to the open line, or to the count of what is skipped of it.
    fn extend(&mut self, part: &[u8]) {
        let Some(&last) = part.last() else { return };
        if let Some(skipped) = &mut self.skipped {
            skipped.bytes += part.len() as u64;
            skipped.ends_in_return = last == b'\r';
            self.keep_prefix(part);
            return;
        }
        // One byte over the limit may still be the `\r` that does not count.
        let length = self.open.len() + part.len();
        if length > self.limit + 1 || (length == self.limit + 1 && last != b'\r') {
            self.open.truncate(PREFIX_LIMIT);
            self.open.shrink_to(PREFIX_LIMIT);
            self.keep_prefix(part);
            self.skipped = Some(Skipped {
                bytes: length as u64,
                ends_in_return: last == b'\r',
            });
            return;
        }
        self.open.extend_from_slice(part);
    }

    /// Keeps what of `part` still belongs to the prefix of a line that is skipped.
    fn keep_prefix(&mut self, part: &[u8]) {
        let missing = PREFIX_LIMIT - self.open.len();
        self.open.extend_from_slice(&part[..missing.min(part.len())]);
    }

    /// Gives the open line and begins the next one.
    fn give(&mut self, each: &mut impl FnMut(Line<'_>)) {
        match self.skipped.take() {
            None => each(whole_line(&self.open, self.limit, self.first)),
            Some(Skipped {
                bytes,
                ends_in_return,
            }) => {
                let bytes = bytes - u64::from(ends_in_return);
                // The prefix may reach up to the `\r` that does not count.
                self.open.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
                each(too_long(&self.open, bytes, self.first));
            }
        }
        self.open.clear();
        // One long line must not hold its memory for the rest of the session.
        self.open.shrink_to(64 << 10);
    }
}

/// Reads a line whose bytes are all at hand.
fn whole_line(bytes: &[u8], limit: usize, first: bool) -> Line<'_> {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if bytes.len() > limit {
        return too_long(bytes, bytes.len() as u64, first);
    }
    Line::Text(lossy(without_mark(bytes, first)))
}

fn too_long(bytes: &[u8], length: u64, first: bool) -> Line<'_> {
    let kept = &bytes[..bytes.len().min(PREFIX_LIMIT)];
    // A character that the cut has split is left out, while bytes that never were one are replaced.
    let split = kept
        .utf8_chunks()
        .last()
        .map_or(0, |chunk| match chunk.invalid() {
            torn if torn.len() < 4
                && std::str::from_utf8(torn).is_err_and(|error| error.error_len().is_none()) =>
            {
                torn.len()
            }
            _ => 0,
        });
    let kept = &kept[..kept.len() - split];
    Line::TooLong {
        prefix: String::from_utf8_lossy(without_mark(kept, first)),
        bytes: length,
    }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly every line is good text, and to find just that is several times as fast as to look for what is not.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn without_mark(bytes: &[u8], first: bool) -> &[u8] {
    if first {
        bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
    } else {
        bytes
    }
}

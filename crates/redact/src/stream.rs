//! Masking text that comes in pieces.

use std::borrow::Cow;

use crate::{
    Rules,
    machine::{Machine, Output},
};

/// Most bytes that a stream holds back at any time.
pub const MAX_HELD: usize = 512;

/// Masks one stream of text that comes in pieces, such as an agent's message or a terminal's output.
///
/// Whatever way the text is cut, the pieces let out are together what [`Rules::mask`] makes of the whole.
///
/// What is held back is the text from the first place that could still become a secret, and nothing else:
///
/// - a word that begins a vendor's opening (`s`, `sk`, `sk-`), until its body is long enough or too short;
/// - the value behind a secret's name and separator, until it has ended or is plainly a secret or none. The name, the
///   separator and the quote are out already, for they stay either way;
/// - the user and host behind `://`, until an `@` or the path, and a colon that could begin `://`;
/// - dashes and the opening line of a private key;
/// - the beginning of a value that the caller named as secret.
///
/// Once something is known to be a secret its mark is let out and its rest is swallowed, in constant memory. Words of
/// prose pass at once, but for one whose letters so far begin a vendor's opening.
#[derive(Clone, Debug)]
pub struct StreamMask {
    rules: Rules,
    machine: Machine,
    /// Text that could become a known secret.
    unread: String,
    /// Text that could become a secret by the rules.
    held: String,
    masked: bool,
}

impl StreamMask {
    pub(crate) fn new(rules: Rules) -> Self {
        StreamMask {
            rules,
            machine: Machine::new(),
            unread: String::new(),
            held: String::new(),
            masked: false,
        }
    }

    /// Takes the next piece and gives what may be let out.
    pub fn push<'c>(&mut self, chunk: &'c str) -> Cow<'c, str> {
        let Some(literals) = self.rules.literals() else {
            return self.read(Cow::Borrowed(chunk), false);
        };
        let mut text = std::mem::take(&mut self.unread);
        text.push_str(chunk);
        let mut out = String::with_capacity(text.len());
        let read = literals.run(&text, false, &mut out);
        text.drain(..read);
        self.unread = text;
        self.masked |= out.len() != read;
        Cow::Owned(self.read(Cow::Owned(out), false).into_owned())
    }

    /// Gives what is still held back. The stream starts anew after it.
    pub fn finish(&mut self) -> String {
        let mut text = std::mem::take(&mut self.unread);
        if let Some(literals) = self.rules.literals() {
            text = literals.mask(&text).into_owned();
        }
        let rest = self.read(Cow::Owned(text), true).into_owned();
        self.machine = Machine::new();
        rest
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.unread.len() + self.held.len()
    }

    /// Whether anything of this stream was masked so far.
    pub fn has_masked(&self) -> bool {
        self.masked
    }

    fn read<'c>(&mut self, chunk: Cow<'c, str>, end: bool) -> Cow<'c, str> {
        if self.held.is_empty() {
            let mut out = Output::new(&chunk);
            let read = self.machine.run(&mut out, end);
            self.masked |= out.found;
            let written = out.take();
            self.held.push_str(&chunk[read..]);
            return match (written, chunk) {
                (Some(written), _) => Cow::Owned(written),
                (None, Cow::Borrowed(chunk)) => Cow::Borrowed(&chunk[..read]),
                (None, Cow::Owned(mut chunk)) => {
                    chunk.truncate(read);
                    Cow::Owned(chunk)
                }
            };
        }
        let mut text = std::mem::take(&mut self.held);
        text.push_str(&chunk);
        let mut out = Output::new(&text);
        let read = self.machine.run(&mut out, end);
        self.masked |= out.found;
        let written = out.take().unwrap_or_else(|| text[..read].to_owned());
        text.drain(..read);
        self.held = text;
        Cow::Owned(written)
    }
}

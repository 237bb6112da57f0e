//! The compiled rules, and what they do to text.

use std::{borrow::Cow, sync::Arc};

use crate::{
    StreamMask, json,
    kind::Kind,
    literals::Literals,
    machine::{Machine, Output},
    prefilter::{Extras, Prefilter},
};

/// Longest name of a private member, and most names, that [`Rules::with_private_members`] takes.
pub const MAX_PRIVATE_NAME: usize = 128;
/// Most names of private members.
pub const MAX_PRIVATE_NAMES: usize = 64;

/// The rules that say what a secret is, compiled once and cheap to clone.
#[derive(Clone, Debug)]
pub struct Rules {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    text: Arc<Prefilter>,
    line: Arc<Prefilter>,
    literals: Option<Arc<Literals>>,
    private: Arc<[String]>,
    /// The raw spelling of known secrets and private names, for lines of JSON.
    extras: Option<Extras>,
    /// A known secret has characters that JSON may spell with escapes.
    escapes: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules::new()
    }
}

impl Rules {
    /// The built-in rules: shapes of keys ([`SHAPES`](crate::SHAPES)), names of secrets, headers, addresses, key blocks.
    pub fn new() -> Self {
        let inner = Inner {
            text: Arc::new(Prefilter::new(false)),
            line: Arc::new(Prefilter::new(true)),
            literals: None,
            private: Arc::from([]),
            extras: None,
            escapes: false,
        };
        Rules {
            inner: Arc::new(inner),
        }
    }

    /// These rules, and these values masked wherever they stand: the secret variables of a launched agent, say.
    ///
    /// Each line of a value is searched for by itself. Values shorter than [`MIN_LITERAL`](crate::MIN_LITERAL) and those
    /// beyond [`MAX_LITERALS`](crate::MAX_LITERALS) pieces are not searched for; [`Rules::left_out`] counts them.
    /// Earlier known values are replaced.
    #[must_use]
    pub fn with_secrets<S: AsRef<str>>(&self, values: impl IntoIterator<Item = S>) -> Self {
        self.rebuilt(
            Literals::new(values).map(Arc::new),
            Arc::clone(&self.inner.private),
        )
    }

    /// These rules, and JSON members of these names never stored, whatever their value.
    ///
    /// Dialects name here what their agent's frames carry of the machine: `hostname`, say. Names longer than
    /// [`MAX_PRIVATE_NAME`] or beyond [`MAX_PRIVATE_NAMES`] are refused by being left out.
    #[must_use]
    pub fn with_private_members<S: AsRef<str>>(&self, names: impl IntoIterator<Item = S>) -> Self {
        let mut private = self.inner.private.to_vec();
        for name in names {
            let name = name.as_ref();
            let fits =
                !name.is_empty() && name.len() <= MAX_PRIVATE_NAME && private.len() < MAX_PRIVATE_NAMES;
            if fits && !private.iter().any(|known| known == name) {
                private.push(name.to_owned());
            }
        }
        self.rebuilt(self.inner.literals.clone(), private.into())
    }

    fn rebuilt(&self, literals: Option<Arc<Literals>>, private: Arc<[String]>) -> Self {
        let mut extras: Vec<String> = private
            .iter()
            .map(|name| serde_json::Value::from(name.as_str()).to_string())
            .collect();
        extras.extend(literals.iter().flat_map(|literals| literals.as_json()));
        let inner = Inner {
            text: Arc::clone(&self.inner.text),
            line: Arc::clone(&self.inner.line),
            escapes: literals.as_ref().is_some_and(|l| l.have_escapes())
                || private.iter().any(|n| !n.is_ascii() || n.contains('/')),
            literals,
            private,
            extras: Extras::new(&extras),
        };
        Rules {
            inner: Arc::new(inner),
        }
    }

    /// How many of the values given to [`Rules::with_secrets`] are not searched for.
    pub fn left_out(&self) -> usize {
        self.inner
            .literals
            .as_ref()
            .map_or(0, |literals| literals.left_out)
    }

    /// `text` with marks in the place of its secrets; borrowed where there are none.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = match self.literals() {
            Some(literals) => literals.mask(text),
            None => Cow::Borrowed(text),
        };
        if !self.inner.text.suspects(&known) {
            return known;
        }
        let mut out = Output::new(&known);
        let read = Machine::new().run(&mut out, true);
        debug_assert_eq!(read, known.len(), "at the end nothing is held back");
        match out.take() {
            Some(masked) => Cow::Owned(masked),
            None => known,
        }
    }

    /// One line of JSON with marks in the place of its secrets and of its private members; borrowed where there are none.
    ///
    /// Valid JSON stays valid JSON of the same structure: only strings change, and numbers and truth values of private
    /// members, which become `null`. A line that is no JSON is masked as text.
    pub fn mask_json<'t>(&self, line: &'t str) -> Cow<'t, str> {
        if !self.suspects_json(line) {
            return Cow::Borrowed(line);
        }
        json::mask(self, line, None)
    }

    /// Like [`Rules::mask_json`], but the string that stands at `at`, quotes included, becomes `text` as it is.
    ///
    /// For a frame that carries a piece of a stream: `text` is what [`StreamMask::push`] let out. It is not looked at
    /// again, for a piece by itself may look like what the whole is not.
    pub fn mask_json_around(&self, line: &str, at: std::ops::Range<usize>, text: &str) -> String {
        json::mask(self, line, Some((at, text))).into_owned()
    }

    /// A mask for a stream of text that comes in pieces.
    pub fn stream(&self) -> StreamMask {
        StreamMask::new(self.clone())
    }

    /// What of `text` is masked, with where it stands.
    pub(crate) fn spans(&self, text: &str) -> Vec<(Kind, usize, usize)> {
        let mut out = Output::new(text);
        out.spans = Some(Vec::new());
        Machine::new().run(&mut out, true);
        let mut spans = out.spans.unwrap_or_default();
        if let Some(literals) = self.literals() {
            spans.extend(literals.spans(text).map(|(start, end)| (Kind::Known, start, end)));
        }
        spans
    }

    pub(crate) fn literals(&self) -> Option<&Literals> {
        self.inner.literals.as_deref()
    }

    pub(crate) fn is_private(&self, member: &str) -> bool {
        self.inner.private.iter().any(|name| name == member)
    }

    fn suspects_json(&self, line: &str) -> bool {
        self.inner.line.suspects(line)
            || self
                .inner
                .extras
                .as_ref()
                .is_some_and(|extras| extras.are_in(line))
            || (self.inner.escapes && (line.contains("\\u") || line.contains("\\/")))
    }
}

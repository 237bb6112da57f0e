//! What can be found: the words of rows, the words people type, and the piece of text around a match.
//!
//! The index holds words only, no text, so the piece around a match is cut from the row itself. Both sides therefore
//! split text the same way: runs of letters and digits, case and accents laid aside, as SQLite's `unicode61` does.

use tapline_timeline::{Body, Kind, Row, ToolItem};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::model::Snippet;

/// Text of one row that is indexed, in bytes; what comes later in a longer row is not found.
pub const INDEX_BYTES: usize = 256 * 1024;

/// Words of one query that are used.
pub const QUERY_WORDS: usize = 32;

/// Characters of a snippet before and after its first match.
const BEFORE: usize = 48;
const AFTER: usize = 144;

/// The text of a row that search looks at; empty where there is none.
pub(crate) fn words_of(row: &Row) -> String {
    let mut out = Text(String::new());
    match &row.body {
        Body::Turn(_) => {}
        Body::System(content) => out.add(content.as_text()),
        Body::User(user) => out.add(user.content.as_text()),
        Body::Assistant(message) | Body::Reasoning(message) => out.add(message.content.as_text()),
        Body::Tool(tool) => {
            out.add_some(tool.title.as_deref());
            out.add_some(tool.name.as_deref());
            out.add_some(tool.input.as_ref().map(|input| input.as_str()));
            tool.locations.iter().for_each(|location| out.add(&location.path));
            tool.content.iter().for_each(|item| out.add_item(item));
            out.add_some(tool.output.as_deref());
        }
        Body::Plan(plan) => {
            plan.entries.iter().for_each(|entry| out.add(&entry.text));
            out.add_some(plan.text.as_deref());
        }
        Body::Request(request) => {
            out.add_some(request.title.as_deref());
            out.add_some(request.text.as_deref());
            request
                .questions
                .iter()
                .for_each(|question| out.add(&question.text));
            out.add_some(request.input.as_ref().map(|input| input.as_str()));
        }
        Body::Task(task) => {
            out.add(&task.label);
            out.add_some(task.summary.as_deref());
        }
        Body::Helper(helper) => {
            out.add(&helper.label);
            out.add_some(helper.text.as_deref());
        }
        Body::Compaction(compaction) => out.add(compaction.content.as_text()),
        Body::SessionMessage(message) => out.add(message.content.as_text()),
        Body::Status(status) => out.add(&status.text),
        Body::Unknown(unknown) => out.add_some(unknown.name.as_deref()),
    }
    out.0
}

struct Text(String);

impl Text {
    fn add(&mut self, text: &str) {
        if text.is_empty() || self.0.len() >= INDEX_BYTES {
            return;
        }
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        let room = INDEX_BYTES.saturating_sub(self.0.len());
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn add_some(&mut self, text: Option<&str>) {
        self.add(text.unwrap_or(""));
    }

    fn add_item(&mut self, item: &ToolItem) {
        match item {
            ToolItem::Text { text } => self.add(text),
            ToolItem::Diff(diff) => {
                self.add(&diff.path);
                self.add(&diff.patch);
            }
            ToolItem::Terminal(terminal) => self.add(&terminal.output),
            ToolItem::Link { uri, title, .. } => {
                self.add_some(title.as_deref());
                self.add(uri);
            }
            ToolItem::Image(media) | ToolItem::Audio(media) | ToolItem::File(media) => {
                self.add_some(media.name.as_deref());
                self.add_some(media.text.as_deref());
            }
            ToolItem::Custom { .. } => {}
        }
    }
}

/// What a person looks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Query {
    terms: Vec<Term>,
}

/// Words that must stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    words: Vec<String>,
    /// The last word is only a beginning.
    open: bool,
}

impl Query {
    /// Reads a person's words. There is no wrong query: what is no word is no condition.
    pub(crate) fn parse(text: &str) -> Self {
        let mut terms = Vec::new();
        let mut words = 0;
        for (index, quoted) in text.split('"').enumerate() {
            let pieces: Vec<&str> = if index % 2 == 1 {
                vec![quoted]
            } else {
                quoted.split_whitespace().collect()
            };
            for piece in pieces {
                let term: Vec<String> = tokens(piece).map(|(_, _, word)| word).collect();
                words += term.len();
                if !term.is_empty() && words <= QUERY_WORDS {
                    terms.push(Term {
                        words: term,
                        open: piece.trim_end().ends_with('*'),
                    });
                }
            }
        }
        Self { terms }
    }

    /// Whether nothing is looked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The query in the language of FTS5. Words hold letters and digits only, so nothing in them can be an operator.
    pub(crate) fn fts(&self, kinds: &[Kind]) -> String {
        let terms: Vec<String> = self
            .terms
            .iter()
            .map(|term| {
                format!(
                    "\"{}\"{}",
                    term.words.join(" "),
                    if term.open { " *" } else { "" }
                )
            })
            .collect();
        let said = format!("said : ({})", terms.join(" AND "));
        if kinds.is_empty() {
            return said;
        }
        let kinds: Vec<String> = kinds
            .iter()
            .map(|kind| format!("\"{}\"", kind_word(*kind)))
            .collect();
        format!("kind : ({}) AND {said}", kinds.join(" OR "))
    }

    /// Whether a text holds all that is looked for.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let tokens: Vec<_> = tokens(text).collect();
        self.terms
            .iter()
            .all(|term| term.places(&tokens).next().is_some())
    }

    /// The text around the first match, on one line.
    pub(crate) fn snippet(&self, text: &str) -> Snippet {
        let tokens: Vec<_> = tokens(text).collect();
        let mut found: Vec<(usize, usize)> = self
            .terms
            .iter()
            .flat_map(|term| {
                term.places(&tokens)
                    .map(|i| (tokens[i].0, tokens[i + term.words.len() - 1].1))
            })
            .collect();
        found.sort_unstable();
        let first = found.first().map_or(0, |(from, _)| *from);
        let from = text[..first]
            .char_indices()
            .rev()
            .nth(BEFORE - 1)
            .map_or(0, |(at, _)| at);
        let to = text[first..]
            .char_indices()
            .nth(AFTER)
            .map_or(text.len(), |(at, _)| first + at);
        let mut snippet = Snippet::default();
        if from > 0 {
            snippet.text.push('…');
        }
        let mut matches = found
            .into_iter()
            .filter(|(a, b)| *a >= from && *b <= to)
            .peekable();
        let mut open = None;
        for (at, c) in text[from..to].char_indices().map(|(at, c)| (from + at, c)) {
            if let Some((start, end)) = open
                && at >= end
            {
                snippet.matches.push((start, snippet.text.len()));
                open = None;
            }
            while let Some((start, end)) = matches.next_if(|(start, _)| *start <= at) {
                if start == at && open.is_none() {
                    open = Some((snippet.text.len(), end));
                }
            }
            if c.is_whitespace() || c.is_control() {
                if !snippet.text.ends_with(' ') {
                    snippet.text.push(' ');
                }
            } else {
                snippet.text.push(c);
            }
        }
        if let Some((start, _)) = open {
            snippet.matches.push((start, snippet.text.len()));
        }
        if to < text.len() {
            snippet.text.push('…');
        }
        snippet
    }
}

impl Term {
    /// The tokens at which it stands.
    fn places<'a>(&'a self, tokens: &'a [(usize, usize, String)]) -> impl Iterator<Item = usize> + 'a {
        let last = self.words.len() - 1;
        tokens
            .windows(self.words.len())
            .enumerate()
            .filter_map(move |(at, window)| {
                let stands = window
                    .iter()
                    .zip(&self.words)
                    .enumerate()
                    .all(|(i, ((_, _, token), word))| {
                        if i == last && self.open {
                            token.starts_with(word.as_str())
                        } else {
                            token == word
                        }
                    });
                stands.then_some(at)
            })
    }
}

/// The word by which rows of a kind are found.
pub(crate) fn kind_word(kind: Kind) -> String {
    kind.as_str().replace('_', "")
}

/// The words of a text with their places: first byte, byte after the last, the word without case and accents.
fn tokens(text: &str) -> impl Iterator<Item = (usize, usize, String)> + '_ {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let from = rest + text[rest..].find(char::is_alphanumeric)?;
        let length = text[from..]
            .find(|c: char| !c.is_alphanumeric() && !is_combining_mark(c))
            .unwrap_or(text.len() - from);
        rest = from + length;
        let word = text[from..rest]
            .nfd()
            .filter(|c| !is_combining_mark(*c))
            .flat_map(char::to_lowercase)
            .collect();
        Some((from, rest, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_never_syntax() {
        assert_eq!(
            Query::parse("AND (foo* OR \"bar").fts(&[]),
            "said : (\"and\" AND \"foo\" * AND \"or\" AND \"bar\")"
        );
        assert_eq!(
            Query::parse("a-b NEAR/2 x:y ^z").fts(&[]),
            "said : (\"a b\" AND \"near 2\" AND \"x y\" AND \"z\")"
        );
        assert!(Query::parse(" * \" ( ) : ^ - ").is_empty());
        assert_eq!(
            Query::parse("x").fts(&[Kind::SessionMessage, Kind::Tool]),
            "kind : (\"sessionmessage\" OR \"tool\") AND said : (\"x\")"
        );
    }

    #[test]
    fn a_snippet_shows_the_matches_in_their_words() {
        let query = Query::parse("über \"be bin\"");
        let text = format!(
            "{}\n\nÜBER to   be\tbinary uber {}",
            "start ".repeat(30),
            "end ".repeat(80)
        );
        let snippet = Query::parse("uber").snippet(&text);
        let found: Vec<&str> = snippet
            .matches
            .iter()
            .map(|(a, b)| &snippet.text[*a..*b])
            .collect();
        assert_eq!(found, ["ÜBER", "uber"]);
        assert!(
            snippet.text.starts_with('…')
                && snippet.text.ends_with('…')
                && snippet.text.contains("to be binary")
        );
        assert!(!query.matches(&text), "`bin` is a whole word here");
        assert!(Query::parse("bin* to be").matches(&text));
    }

    #[test]
    fn many_words_are_cut() {
        let query = Query::parse(&"word ".repeat(QUERY_WORDS + 10));
        assert_eq!(query.terms.len(), QUERY_WORDS);
    }

    proptest! {
        #[test]
        fn any_text_has_a_snippet(text: String, words: String) {
            let snippet = Query::parse(&words).snippet(&text);
            for (from, to) in snippet.matches {
                prop_assert!(from < to && snippet.text.get(from..to).is_some());
            }
        }
    }
}

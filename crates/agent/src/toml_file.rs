//! A TOML file with its lines.
//!
//! `toml`'s own tables carry the span of every key and value, so a message can name the line without a second parser.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::origin::{Origin, Problem};

/// The text of a file, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct TomlFile {
    path: Arc<Path>,
    text: String,
}

impl TomlFile {
    /// Reads a file. Nothing: there is none.
    pub(crate) fn read(path: &Path, limit: usize) -> Result<Option<Self>, Problem> {
        match read(path, limit) {
            Ok(text) => Ok(Some(Self::of(path, text))),
            Err(Problem::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// A text that was read already.
    pub(crate) fn of(path: &Path, text: String) -> Self {
        Self {
            path: path.into(),
            text,
        }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The whole of it.
    pub(crate) fn parse(&self) -> Result<DeTable<'_>, Problem> {
        DeTable::parse(&self.text)
            .map(Spanned::into_inner)
            .map_err(|error| self.syntax(&error, 0))
    }

    /// One value, as a type of its own. What does not fit is told with its line.
    pub(crate) fn value<T: DeserializeOwned>(&self, value: &Spanned<DeValue<'_>>) -> Result<T, Problem> {
        let start = value.span().start;
        T::deserialize(ValueDeserializer::from(value.clone())).map_err(|error| self.syntax(&error, start))
    }

    /// The line that a span begins on.
    pub(crate) fn at(&self, span: Range<usize>) -> Origin {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        Origin::File {
            path: Arc::clone(&self.path),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
        }
    }

    fn syntax(&self, error: &toml::de::Error, otherwise: usize) -> Problem {
        Problem::Syntax {
            at: self.at(error.span().unwrap_or(otherwise..otherwise)),
            language: "TOML that Tapline reads",
            what: error.message().trim().replace('\n', ", "),
        }
    }
}

/// Reads a file of text, never more than `limit` bytes of it.
pub(crate) fn read(path: &Path, limit: usize) -> Result<String, Problem> {
    let unreadable = |source| Problem::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() > limit {
        return Err(Problem::TooLong {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(text)
}

/// What kind of value this is, in words.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

//! Which URLs a model fetches by itself.

use regex::Regex;
use thiserror::Error;

/// A pattern that is no regular expression that we can read.
#[derive(Debug, Clone, Error)]
#[error("the URL pattern {pattern:?} for {media_type} cannot be read: {source}")]
pub struct UrlPatternError {
    media_type: String,
    pattern: String,
    source: regex::Error,
}

/// The URLs that a model takes as they are: media type pattern → regular expressions for the URL.
#[derive(Debug, Clone, Default)]
pub struct SupportedUrls(Vec<(String, Vec<Regex>)>);

impl SupportedUrls {
    /// Compiles patterns given as the sources of JavaScript regular expressions.
    pub fn compile<'a, P>(patterns: impl IntoIterator<Item = (&'a str, P)>) -> Result<Self, UrlPatternError>
    where
        P: IntoIterator<Item = &'a str>,
    {
        let compile = |media_type: &str, pattern: &str| {
            Regex::new(pattern).map_err(|source| UrlPatternError {
                media_type: media_type.to_owned(),
                pattern: pattern.to_owned(),
                source,
            })
        };
        let compiled = patterns.into_iter().map(|(media_type, patterns)| {
            let regexes: Result<Vec<_>, _> = patterns
                .into_iter()
                .map(|pattern| compile(media_type, pattern))
                .collect();
            Ok((media_type.to_lowercase(), regexes?))
        });
        compiled.collect::<Result<_, _>>().map(SupportedUrls)
    }

    /// Whether the model takes this URL for a file of this media type. Media types are compared in
    /// lower case, the URL as it is written.
    pub fn supports(&self, media_type: &str, url: &str) -> bool {
        let media_type = media_type.to_lowercase();
        self.0
            .iter()
            .filter(|(pattern, _)| covers(pattern, &media_type))
            .any(|(_, regexes)| regexes.iter().any(|regex| regex.is_match(url)))
    }
}

fn covers(pattern: &str, media_type: &str) -> bool {
    if pattern == "*" || pattern == "*/*" {
        return true;
    }
    let prefix = pattern.replacen('*', "", 1);
    if prefix.is_empty() {
        return true;
    }
    if !media_type.contains('/') {
        // Without a subtype only a pattern for the whole top level can be sure to match.
        return prefix.strip_suffix('/') == Some(media_type);
    }
    if prefix.ends_with('/') {
        media_type.starts_with(&prefix)
    } else {
        media_type == prefix
    }
}

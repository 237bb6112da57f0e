//! Marks for Anthropic's prompt cache.

use crate::json::Json;
use crate::types::{ProviderOptions, Warning};

/// How many marks a request may have.
const MOST: usize = 4;

/// Hands out cache marks and counts them over the whole request.
#[derive(Debug, Default)]
pub(in crate::providers) struct Cache {
    /// Marks that count although they are not in the prompt.
    pub(in crate::providers) count: usize,
    /// What there is to warn about. The SDK gives these warnings last.
    pub(in crate::providers) warnings: Vec<Warning>,
}

impl Cache {
    /// The mark in the options of something that can have one.
    pub(in crate::providers) fn mark(&mut self, options: Option<&ProviderOptions>) -> Option<Json> {
        let mark = wanted(options)?;
        self.count += 1;
        if self.count > MOST {
            let details = format!(
                "Maximum {MOST} cache breakpoints exceeded (found {}). This breakpoint will be ignored.",
                self.count
            );
            self.warnings.push(Warning::unsupported_because(
                "cacheControl breakpoint limit",
                details,
            ));
            return None;
        }
        Some(mark.clone())
    }

    /// Warns if something that cannot have a mark wants one.
    pub(in crate::providers) fn refuse(&mut self, options: Option<&ProviderOptions>, what: &str) {
        if wanted(options).is_some() {
            self.warnings.push(Warning::unsupported_because(
                "cache_control on non-cacheable context",
                format!("cache_control cannot be set on {what}. It will be ignored."),
            ));
        }
    }
}

/// The mark that the options ask for, by either of its names.
fn wanted(options: Option<&ProviderOptions>) -> Option<&Json> {
    let own = options?.get("anthropic")?;
    ["cacheControl", "cache_control"]
        .iter()
        .find_map(|name| own.get(name).filter(|mark| !mark.is_null()))
        .filter(|mark| mark.is_truthy())
}

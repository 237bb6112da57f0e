//! Provider options: read as the SDK's schemas read them.
//!
//! An option of the wrong type is an error of the whole call. Options nobody knows are ignored. What
//! an option may be is said by its type; most may not be `null`, those read with
//! [`Options::nullish`] may.

use super::shape::Shape;
use crate::error::SdkError;
use crate::json::{Json, Object};
use crate::path::Path;
use crate::typed::Typed;
use crate::types::ProviderOptions;

/// The options for one provider; empty when there are none.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    provider: &'a str,
    object: Option<&'a Object>,
}

impl<'a> Options<'a> {
    /// The options for a provider.
    pub fn of(options: Option<&'a ProviderOptions>, provider: &'a str) -> Self {
        Options {
            provider,
            object: options.and_then(|options| options.get(provider)),
        }
    }

    /// The options for the first of several names that has any.
    pub fn first_of(options: Option<&'a ProviderOptions>, providers: &[&'a str]) -> Self {
        let found = providers
            .iter()
            .map(|provider| Options::of(options, provider))
            .find(Options::are_given);
        found.unwrap_or(Options {
            provider: providers.first().copied().unwrap_or_default(),
            object: None,
        })
    }

    /// Whether the provider is mentioned at all.
    pub fn are_given(&self) -> bool {
        self.object.is_some()
    }

    /// The options inside an option that must be an object.
    pub fn nested(&self, key: &'static str) -> Result<Option<Options<'a>>, SdkError> {
        match self.raw(key) {
            None => Ok(None),
            Some(Json::Object(object)) => Ok(Some(Options {
                provider: self.provider,
                object: Some(object),
            })),
            Some(other) => Err(self.invalid(format!("{key} must be an object, not {}", other.kind()))),
        }
    }

    /// An option as it stands, unchecked.
    pub fn raw(&self, key: &str) -> Option<&'a Json> {
        self.object?.get(key)
    }

    /// An option that may be absent but not `null`.
    pub fn read<T: Typed>(&self, key: &'static str) -> Result<Option<T>, SdkError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        T::from_json_at(value.clone(), Path::root().join(key))
            .map(Some)
            .map_err(|faults| self.invalid(faults))
    }

    /// An option that may be absent or `null`.
    pub fn nullish<T: Typed>(&self, key: &'static str) -> Result<Option<T>, SdkError> {
        match self.raw(key) {
            Some(Json::Null) => Ok(None),
            _ => self.read(key),
        }
    }

    /// An option that is one of a few words and may not be `null`.
    pub fn word(&self, key: &'static str, words: &[&'static str]) -> Result<Option<&'static str>, SdkError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        let found = value
            .as_str()
            .and_then(|text| words.iter().copied().find(|word| *word == text));
        match found {
            Some(word) => Ok(Some(word)),
            None => Err(self.invalid(format!("{key} must be one of {}", words.join(", ")))),
        }
    }

    /// An option that is one of a few words or `null`.
    pub fn nullish_word(
        &self,
        key: &'static str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, SdkError> {
        match self.raw(key) {
            Some(Json::Null) => Ok(None),
            _ => self.word(key, words),
        }
    }

    /// All options, checked against a shape; what the shape does not know is left out.
    pub fn shaped(&self, shape: &Shape) -> Result<Option<Object>, SdkError> {
        let Some(object) = self.object else {
            return Ok(None);
        };
        // A shape keeps the JSON type, so an object stays one.
        match shape.read(&Json::from(object)) {
            Ok(Json::Object(object)) => Ok(Some(object)),
            Ok(other) => Err(self.invalid(format!("must be an object, not {}", other.kind()))),
            Err(fault) => Err(self.invalid(fault)),
        }
    }

    /// The error for options of the wrong shape.
    pub fn invalid(&self, reason: impl ToString) -> SdkError {
        SdkError::InvalidProviderOptions {
            provider: self.provider.to_owned(),
            reason: reason.to_string(),
        }
    }
}

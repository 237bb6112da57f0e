//! The types that a setting can have.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::DeValue;

use super::limits;

/// Where a value was said, for what depends on it.
pub(crate) struct Context<'a> {
    /// The folder that a relative path starts from. Nothing: that of the process.
    pub(crate) folder: Option<&'a Path>,
    /// What `~/` at the beginning of a path in a file stands for. Elsewhere the shell has seen to it.
    pub(crate) home: Option<&'a Path>,
}

/// A type that a setting can have.
pub(crate) trait Value: Sized {
    /// What it may be, in words.
    fn wanted() -> String;
    /// The words that it may be, where it is one of some.
    fn words() -> &'static [&'static str] {
        &[]
    }
    /// Reads it as a person types it into a variable or a flag.
    fn from_text(text: &str, context: &Context<'_>) -> Option<Self>;
    /// Reads it from the file.
    fn from_toml(value: &DeValue<'_>, context: &Context<'_>) -> Option<Self> {
        Self::from_text(value.as_str()?, context)
    }
    /// Shows it.
    fn json(&self) -> serde_json::Value;
}

/// An enum whose every variant is a word.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            /// All of them, as they are written.
            pub const WORDS: &'static [&'static str] = &[$($word,)*];

            /// As it is written.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one that is written so.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }

        impl Value for $name {
            fn wanted() -> String {
                let quoted: Vec<String> = Self::WORDS.iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", quoted.join(", "))
            }
            fn words() -> &'static [&'static str] {
                Self::WORDS
            }
            fn from_text(text: &str, _: &Context<'_>) -> Option<Self> {
                Self::from_word(text)
            }
            fn json(&self) -> serde_json::Value {
                self.as_str().into()
            }
        }
    };
}

words! {
    /// What an agent may do when it asks.
    Policy {
        /// A person is asked.
        Ask = "ask",
        /// Reading inside the session's folders is allowed; the rest is asked.
        AllowReads = "allow-reads",
        /// Everything is allowed.
        AllowAll = "allow-all",
        /// Everything is refused.
        Deny = "deny",
    }
}

words! {
    /// How much of a chat is shown.
    Fold {
        /// A line for each tool.
        Brief = "brief",
        /// A headline and a few lines.
        Usual = "usual",
        /// Everything.
        Full = "full",
    }
}

words! {
    /// When colour is used.
    Color {
        /// On a terminal, unless `NO_COLOR` is set.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

/// A name.
impl Value for String {
    fn wanted() -> String {
        "a string that is not empty".to_owned()
    }
    fn from_text(text: &str, _: &Context<'_>) -> Option<Self> {
        (!text.is_empty()).then(|| text.to_owned())
    }
    fn json(&self) -> serde_json::Value {
        self.as_str().into()
    }
}

/// A file. A path that is not whole starts from the folder of the file that says it.
impl Value for PathBuf {
    fn wanted() -> String {
        "the path of a file".to_owned()
    }
    fn from_text(text: &str, context: &Context<'_>) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let path = match (text.strip_prefix("~/"), context.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        Some(
            context
                .folder
                .map_or_else(|| path.clone(), |folder| folder.join(&path)),
        )
    }
    fn json(&self) -> serde_json::Value {
        self.display().to_string().into()
    }
}

/// A time, said in seconds.
impl Value for Duration {
    fn wanted() -> String {
        let (least, most) = (limits::LEAST_TIME.as_secs_f64(), limits::MOST_TIME.as_secs());
        format!("a number of seconds from {least} to {most}")
    }
    fn from_text(text: &str, _: &Context<'_>) -> Option<Self> {
        Duration::try_from_secs_f64(text.trim().parse().ok()?)
            .ok()
            .filter(|time| (limits::LEAST_TIME..=limits::MOST_TIME).contains(time))
    }
    fn from_toml(value: &DeValue<'_>, context: &Context<'_>) -> Option<Self> {
        match value {
            DeValue::Integer(number) if number.radix() == 10 => Self::from_text(number.as_str(), context),
            DeValue::Float(number) => Self::from_text(number.as_str(), context),
            _ => None,
        }
    }
    fn json(&self) -> serde_json::Value {
        let seconds = self.as_secs();
        if self.subsec_nanos() == 0 {
            seconds.into()
        } else {
            self.as_secs_f64().into()
        }
    }
}

//! tapline-prompt
#![forbid(unsafe_code)]
pub mod base64;
pub mod error;
pub mod fault;
pub mod json;
pub mod media_type;
pub mod path;
pub mod providers;
pub mod typed;
pub mod types;

//! tapline-prompt
#![forbid(unsafe_code)]
pub mod base64;
pub mod fault;
pub mod json;
pub mod path;
pub mod typed;
pub mod types;

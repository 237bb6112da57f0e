//! tapline-prompt
#![forbid(unsafe_code)]
pub mod json;
pub mod path;

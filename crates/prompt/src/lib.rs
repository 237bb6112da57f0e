//! tapline-prompt

//! tapline-export

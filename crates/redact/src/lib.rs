//! tapline-redact

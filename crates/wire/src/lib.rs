//! tapline-wire

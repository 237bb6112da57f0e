//! tapline-journal

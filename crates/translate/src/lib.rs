//! tapline-translate

//! tapline-render

//! tapline-recorder

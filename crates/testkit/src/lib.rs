//! tapline-testkit

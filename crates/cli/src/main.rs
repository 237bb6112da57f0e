//! The `tapline` command.
fn main() {}

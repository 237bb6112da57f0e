//! Model messages: what a program keeps between calls, and how a prompt is made of them.

mod shape;

pub use shape::validate_message;

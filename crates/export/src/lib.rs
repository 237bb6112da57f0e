//! A timeline in the forms that others read.
//!
//! Each form is a function from a session and its rows to a value: nothing here opens a file, knows a clock or sends
//! anything. So far there is one form:
//!
//! - [`markdown`]: a document that a person hands on to another, or to a reviewer, or puts into an issue.
//!
//! # Invariants
//!
//! - **untrusted** What an agent, a tool or a person wrote stays inside its section, as what it is. Replies and prompts are
//!   Markdown and stay Markdown, below our headings, without HTML, without references that reach into other sections; output,
//!   code and diffs stand in fences longer than any fence inside; titles and paths are code or are escaped. No control character
//!   but line feed and tab is in the document, and none that turns or hides text.
//! - Nothing is folded: a document leaves out only what the timeline says was cut, and says so too.
//! - The same rows give the same document.
#![forbid(unsafe_code)]

mod markdown;
mod safe;

pub use markdown::markdown;

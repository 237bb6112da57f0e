#![forbid(unsafe_code)]
//! Finding secrets and masking them.

mod json;
mod kind;
mod literals;
mod machine;
mod names;
mod prefilter;
mod rules;
mod shapes;
mod stream;
mod swallow;
mod values;

pub use json::{MAX_DEPTH, replace_string};
pub use kind::Kind;
pub use literals::{MAX_LITERAL, MAX_LITERALS, MIN_LITERAL};
pub use names::{MAX_NAME, is_secret_name};
pub use rules::{MAX_PRIVATE_NAME, MAX_PRIVATE_NAMES, Rules};
pub use shapes::{SHAPES, Shape};
pub use stream::{MAX_HELD, StreamMask};

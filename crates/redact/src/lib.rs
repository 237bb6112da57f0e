#![forbid(unsafe_code)]
//! Finding secrets in what agents say, and masking them.
//!
//! A tape, a journal, a page and an export may be read by many people for a long time, so no secret may reach any of them.
//! Masking happens once, on the way in, before the tape and before the translator; what follows can then be used freely,
//! and the tape and the rows agree. This crate is that step. It does no I/O and knows no clock, no environment and no
//! agent: what is private to one vendor's frames is named by the caller ([`Rules::with_private_members`]).
//!
//! - [`Rules::mask`] masks text.
//! - [`Rules::mask_json`] masks one line of JSON, where members, pairs of `name` and `value`, and flags before arguments say
//!   more than text can.
//! - [`StreamMask`] masks text that comes in pieces, of which a secret may span several; [`Rules::mask_json_around`] puts
//!   what it lets out back into the frame that carried the piece.
//! - [`Rules::scan`] looks through files that are to be published.
//!
//! # What is a secret
//!
//! | by | such as | where |
//! |---|---|---|
//! | its shape | `ghp_…`, `sk-ant-…`, a Slack webhook: each row of [`SHAPES`] | at the start of a word |
//! | its shape | a JSON Web Token, a private key block, `scheme://user:password@host` | anywhere |
//! | its header | `Authorization: …`, `Bearer …`, `Basic …`, `Cookie: …` | text |
//! | its name | `API_TOKEN=…`, `"apiKey": "…"`, `--password …`, `secret: …` | text, also with escaped quotes |
//! | its name | the string of a member, the `value` beside a `name`, the argument behind a flag | JSON |
//! | its value | what [`Rules::with_secrets`] names | anywhere |
//! | being private | `signature`, `encrypted_content`, `thoughtSignature`, and what the caller names | JSON |
//!
//! What a name is worth depends on how it is written, so that prose and code stay: see [`is_secret_name`], and the tables in
//! the tests of this crate. Names, separators, quotes and lines around a secret are kept.
//!
//! # Invariants
//!
//! - **masked**: no secret that the rules know is let out.
//! - **split anywhere**: a stream lets out, in sum, what the whole text becomes, however it is cut. What is let out never
//!   depends on the cuts, only *when* it is; [`StreamMask`] says what is held back.
//! - **once is enough**: masking what was masked changes nothing.
//! - **same structure**: valid JSON stays valid JSON with the same members and items.
//! - **bounded**: a stream holds at most [`MAX_HELD`] bytes back and needs constant memory for a secret of any length; names,
//!   known values, nesting and scans have named limits.
//!
//! # Cost
//!
//! Nearly all text holds no secret. A vectorised search for some sixty short pieces, one of which every rule needs, lets
//! such text pass at gigabytes per second, borrowed. Only text that it suspects is read word by word.

mod json;
mod kind;
mod literals;
mod machine;
mod names;
mod prefilter;
mod rules;
mod scan;
mod shapes;
mod stream;
mod swallow;
mod values;

pub use json::{MAX_DEPTH, replace_string};
pub use kind::Kind;
pub use literals::{MAX_LITERAL, MAX_LITERALS, MIN_LITERAL};
pub use names::{MAX_NAME, is_secret_name};
pub use rules::{MAX_PRIVATE_NAME, MAX_PRIVATE_NAMES, Rules};
pub use scan::{Finding, Found, MAX_EFFORT, MAX_EXCERPT, MAX_FINDINGS, MAX_WRAPPINGS, Wrapping};
pub use shapes::{SHAPES, Shape};
pub use stream::{MAX_HELD, StreamMask};

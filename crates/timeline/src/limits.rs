//! Every bound of the assembler, by name. Each has a test that reaches it.
//!
//! Reaching a bound never ends a session: what is settled goes first, open work beyond it is kept in reduced form (its
//! row is asked for again when news comes), and what a row had to leave out stands in its `truncated`; a label that was cut
//! ends with `…`. [`crate::Counters`] says how much was let go.

/// Longest text of one message, in bytes; what comes after is counted, not kept.
pub const MESSAGE_BYTES: usize = 16 << 20;
/// Longest single value of a row other than a message's text (input, output, a content item), in bytes.
pub const VALUE_BYTES: usize = 256 << 10;
/// Longest label, title or name, in bytes.
pub const LABEL_BYTES: usize = 4 << 10;
/// Longest words of a failure or a status row, in bytes.
pub const WORDS_BYTES: usize = 16 << 10;
/// Most content items of one tool or request.
pub const ITEMS: usize = 256;
/// Longest payload of a row of an unknown kind, in bytes.
pub const UNKNOWN_BYTES: usize = 16 << 10;
/// Most texts of which a continuation is expected without asking the journal.
pub const OPEN_TEXTS: usize = 64;
/// Longest unnamed text that is compared with a block that restates it, in bytes.
pub const RESTATED_BYTES: usize = 64 << 10;
/// Most tools that are remembered as open; the oldest beyond it are settled as `unknown`.
pub const OPEN_TOOLS: usize = 4096;
/// Bytes of tool rows that are kept at hand.
pub const TOOL_CACHE_BYTES: usize = 8 << 20;
/// Most tool rows that are kept at hand once they have ended.
pub const ENDED_TOOLS: usize = 128;
/// Most requests that wait; the oldest beyond it are settled as `cancelled`.
pub const OPEN_REQUESTS: usize = 1024;
/// Most permissions remembered for a tool that nobody has announced.
pub const UNANNOUNCED: usize = 128;
/// Bytes of input and content that are kept of such permissions, together; the oldest beyond it keep their title alone.
pub const UNANNOUNCED_BYTES: usize = 8 << 20;
/// Most tasks and helpers remembered as running; the oldest beyond it are settled as `unknown`.
pub const OPEN_WORK: usize = 4096;
/// Most prompts that wait for their answer; the oldest beyond it are `unconfirmed`.
pub const OPEN_PROMPTS: usize = 1024;
/// Most turns that are open at once; the oldest beyond it ends as `unknown`.
pub const OPEN_TURNS: usize = 64;
/// Most turns remembered after their end.
pub const ENDED_TURNS: usize = 128;
/// Most earlier prompts that an echo is compared with.
pub const ECHO_PROMPTS: usize = 16;
/// Longest prompt that an echo is compared with, in bytes.
pub const ECHO_BYTES: usize = 256 << 10;
/// Most terminals whose output is remembered.
pub const TERMINALS: usize = 128;

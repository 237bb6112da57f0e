//! Every bound of the translator, by name.

/// Most calls of one side that wait for their answer. Beyond it the oldest is forgotten: of the client's calls first one on which
/// nothing hangs; a prompt that is forgotten ends as unknown.
pub const PENDING_CALLS: usize = 4096;
/// Most frames held for sessions that nothing has explained yet.
pub const HELD_FRAMES: usize = 2048;
/// Bytes of frames held for sessions that nothing has explained yet.
pub const HELD_BYTES: usize = 8 << 20;
/// Most lines of standard error kept as the last words.
pub const LAST_WORDS_LINES: usize = 12;
/// Longest line of standard error kept as last words, in bytes.
pub const LAST_WORDS_BYTES: usize = 512;
/// Most sessions of one connection; beyond it the oldest in which nothing runs is let go, until the client speaks of it again.
pub const SESSIONS: usize = 4096;

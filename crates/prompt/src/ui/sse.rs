//! Server-sent events: how chunks travel to a chat client, and how they are read again.
//!
//! One chunk is one event of one `data:` line; the end is the event `[DONE]`. Comments keep a quiet
//! connection open.

use super::chunk::Chunk;
use crate::error::SdkError;

/// The headers of a response that is a UI message stream.
pub const HEADERS: [(&str, &str); 5] = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache"),
    ("connection", "keep-alive"),
    ("x-vercel-ai-ui-message-stream", "v1"),
    ("x-accel-buffering", "no"),
];

/// The event behind the last chunk.
pub const DONE: &str = "data: [DONE]\n\n";

/// A comment that opens a stream before there is anything to say.
pub const STREAM_OPEN: &str = ": stream-open\n\n";

/// A comment that keeps a quiet stream open.
pub const KEEP_ALIVE: &str = ": keep-alive\n\n";

/// The event for a chunk.
///
/// ```
/// use tapline_prompt::ui::{Chunk, sse};
///
/// let chunk = Chunk::parse(r#"{"type": "finish"}"#)?;
/// assert_eq!(sse::frame(&chunk), "data: {\"type\":\"finish\"}\n\n");
/// # Ok::<(), tapline_prompt::error::SdkError>(())
/// ```
pub fn frame(chunk: &Chunk) -> String {
    let mut frame = "data: ".to_owned();
    chunk.to_json().write_js(&mut frame);
    frame.push_str("\n\n");
    frame
}

/// Reads events from bytes in pieces of any size.
///
/// ```
/// use tapline_prompt::ui::sse;
///
/// let mut decoder = sse::Decoder::default();
/// assert!(decoder.push(b": hello\n\ndata: {\"type\":").is_empty());
/// let chunks = decoder.push(b"\"finish\"}\r\n\r\ndata: [DONE]\n\n");
/// assert_eq!(chunks.len(), 1);
/// assert_eq!(chunks[0].as_ref().unwrap().kind(), "finish");
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    data: Option<String>,
    /// The last line ended with a carriage return; a line feed right after it belongs to that end.
    after_return: bool,
    has_begun: bool,
}

impl Decoder {
    /// Takes more bytes, and gives the chunks that they complete. One that cannot be read is an error,
    /// which for the client ends the stream.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<Chunk, SdkError>> {
        let mut chunks = Vec::new();
        for byte in bytes {
            let was_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if was_return => {}
                b'\n' | b'\r' => chunks.extend(self.end_line()),
                _ => self.line.push(*byte),
            }
        }
        chunks
    }

    fn end_line(&mut self) -> Option<Result<Chunk, SdkError>> {
        let line = std::mem::take(&mut self.line);
        let mut line = &*String::from_utf8_lossy(&line);
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.trim_start_matches('\u{feff}');
        }
        if line.is_empty() {
            return match self.data.take()?.as_str() {
                "[DONE]" => None,
                data => Some(Chunk::parse(data)),
            };
        }
        // A line without a colon is a field with an empty value; one that begins with it, a comment.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

//! Recognising a file by its first bytes.

use std::borrow::Cow;

use crate::base64::{self, Base64Error};
use crate::types::Inline;

/// How many bytes are looked at.
const SNIFFED: usize = 18;

/// The largest ID3v2 tag that is skipped to find the audio behind it, in bytes with its header.
const MAX_ID3: usize = 128 * 1024;

/// How many bytes are looked at behind an ID3v2 tag of the largest size: the longest signature.
const BEHIND_ID3: usize = 12;

/// A signature: what the first bytes are, `None` for any byte.
type Signature = (&'static str, &'static [Option<u8>]);

/// Writes a signature: a string stands for its bytes, `_` for any.
macro_rules! signature {
    ($media_type:literal: $($byte:tt)*) => {
        ($media_type, &[$( signature!(@ $byte) ),*])
    };
    (@ _) => { None };
    (@ $byte:literal) => { Some($byte) };
}

const IMAGE: &[Signature] = &[
    signature!("image/gif": b'G' b'I' b'F' b'8' b'7' b'a'),
    signature!("image/gif": b'G' b'I' b'F' b'8' b'9' b'a'),
    signature!("image/png": 0x89 b'P' b'N' b'G'),
    signature!("image/jpeg": 0xff 0xd8),
    signature!("image/webp": b'R' b'I' b'F' b'F' _ _ _ _ b'W' b'E' b'B' b'P'),
    signature!("image/bmp": b'B' b'M' _ _ _ _ 0 0 0 0),
    signature!("image/tiff": b'I' b'I' 0x2a 0),
    signature!("image/tiff": b'M' b'M' 0 0x2a),
    signature!("image/avif": 0 0 0 _ b'f' b't' b'y' b'p' b'a' b'v' b'i' b'f'),
    signature!("image/heic": 0 0 0 _ b'f' b't' b'y' b'p' b'h' b'e' b'i' b'c'),
];

const APPLICATION: &[Signature] = &[signature!("application/pdf": b'%' b'P' b'D' b'F')];

const AUDIO: &[Signature] = &[
    signature!("audio/aac": 0xff 0xf0),
    signature!("audio/aac": 0xff 0xf1),
    signature!("audio/aac": 0xff 0xf8),
    signature!("audio/aac": 0xff 0xf9),
    signature!("audio/mpeg": 0xff 0xfb),
    signature!("audio/mpeg": 0xff 0xfa),
    signature!("audio/mpeg": 0xff 0xf3),
    signature!("audio/mpeg": 0xff 0xf2),
    signature!("audio/mpeg": 0xff 0xe3),
    signature!("audio/mpeg": 0xff 0xe2),
    signature!("audio/wav": b'R' b'I' b'F' b'F' _ _ _ _ b'W' b'A' b'V' b'E'),
    signature!("audio/ogg": b'O' b'g' b'g' b'S'),
    signature!("audio/flac": b'f' b'L' b'a' b'C'),
    signature!("audio/aac": 0x40 0x15 0 0),
    signature!("audio/webm": 0x1a 0x45 0xdf 0xa3),
];

/// Only asked for when the caller has said that it is audio: the same container holds video.
const AUDIO_IN_MP4: &[Signature] = &[signature!("audio/mp4": 0 0 0 _ b'f' b't' b'y' b'p')];

const VIDEO: &[Signature] = &[
    signature!("video/mp4": 0 0 0 _ b'f' b't' b'y' b'p'),
    signature!("video/webm": 0x1a 0x45 0xdf 0xa3),
    signature!("video/quicktime": 0 0 0 0x14 b'f' b't' b'y' b'p' b'q' b't'),
    signature!("video/x-msvideo": b'R' b'I' b'F' b'F'),
];

/// The tables to search, in order, for a declared top-level type or for none.
fn tables(top_level: Option<&str>) -> Option<&'static [&'static [Signature]]> {
    Some(match top_level {
        None => &[IMAGE, APPLICATION, AUDIO, VIDEO],
        Some("image") => &[IMAGE],
        Some("application") => &[APPLICATION],
        Some("audio") => &[AUDIO, AUDIO_IN_MP4],
        Some("video") => &[VIDEO],
        Some(_) => return None,
    })
}

/// The media type that the data shows. With a top-level type only types under it are considered; one
/// that has no signatures finds nothing, and then the data is not even decoded.
pub fn detect(data: &Inline, top_level: Option<&str>) -> Result<Option<&'static str>, Base64Error> {
    match data {
        Inline::Base64(text) => detect_base64(text, top_level),
        Inline::Bytes(bytes) => Ok(detect_bytes(bytes, top_level)),
    }
}

/// As [`detect`], for base64. Only the start is decoded, so only the start has to be base64.
pub fn detect_base64(text: &str, top_level: Option<&str>) -> Result<Option<&'static str>, Base64Error> {
    let Some(tables) = tables(top_level) else {
        return Ok(None);
    };
    search(|length| decode_start(text, length).map(Cow::Owned), tables)
}

/// As [`detect`], for bytes.
pub fn detect_bytes(bytes: &[u8], top_level: Option<&str>) -> Option<&'static str> {
    let tables = tables(top_level)?;
    let start = |length| Ok(Cow::Borrowed(&bytes[..bytes.len().min(length)]));
    // Taking a slice does not fail.
    search(start, tables).unwrap_or_default()
}

fn search<'a>(
    start: impl Fn(usize) -> Result<Cow<'a, [u8]>, Base64Error>,
    tables: &[&[Signature]],
) -> Result<Option<&'static str>, Base64Error> {
    let first = start(SNIFFED)?;
    let beyond;
    let bytes: &[u8] = if first.len() > 10 && first.starts_with(b"ID3") {
        beyond = start(MAX_ID3 + BEHIND_ID3)?;
        beyond.get(id3_length(&first)..).unwrap_or_default()
    } else {
        &first
    };
    let matches = |signature: &[Option<u8>]| {
        bytes.len() >= signature.len()
            && signature
                .iter()
                .zip(bytes)
                .all(|(want, byte)| want.is_none_or(|want| want == *byte))
    };
    Ok(tables
        .iter()
        .copied()
        .flatten()
        .find(|(_, signature)| matches(signature))
        .map(|(name, _)| *name))
}

/// The length of an ID3v2 tag with its header of ten bytes. Its size has seven bits to a byte.
fn id3_length(header: &[u8]) -> usize {
    header[6..10]
        .iter()
        .fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f))
        + 10
}

/// Decodes the first `length` bytes: whole groups of four characters, then cut.
fn decode_start(text: &str, length: usize) -> Result<Vec<u8>, Base64Error> {
    let characters = length.div_ceil(3) * 4;
    let end = text
        .char_indices()
        .nth(characters)
        .map_or(text.len(), |(end, _)| end);
    let mut bytes = base64::decode(&text[..end])?;
    bytes.truncate(length);
    Ok(bytes)
}

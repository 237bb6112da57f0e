//! Base64 as JavaScript's `atob` takes it.
//!
//! Nearly everywhere a prompt's base64 is opaque text that is passed on as it stands. Where it has to
//! be looked into (sniffing a media type, decoding a text file) the SDK uses `atob` after mapping the
//! URL alphabet, which forgives whitespace and missing padding, and nothing else.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use thiserror::Error;

/// Writes padded, reads without padding; bits beyond the last byte are ignored, as in browsers.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a text is no base64. The messages are those of the platform (an `InvalidCharacterError`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Base64Error {
    /// A character outside both alphabets, or padding where none belongs.
    #[error("Invalid character")]
    InvalidCharacter,
    /// One character too many to be whole bytes.
    #[error("The string to be decoded is not correctly encoded.")]
    IncorrectLength,
}

/// Encodes with the standard alphabet and padding.
pub fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// Decodes standard or URL-safe base64, with or without padding or whitespace.
pub fn decode(text: &str) -> Result<Vec<u8>, Base64Error> {
    let length = validate(text)?;
    let mut digits = Vec::with_capacity(length);
    digits.extend(
        text.bytes()
            .filter(|byte| !is_blank(*byte))
            .take(length)
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => other,
            }),
    );
    ENGINE.decode(&digits).map_err(|_| Base64Error::IncorrectLength)
}

/// Checks base64 without decoding it, and gives the number of its digits without padding.
pub fn validate(text: &str) -> Result<usize, Base64Error> {
    let mut digits = digits_at_start(text.as_bytes());
    let (mut padding, mut is_valid) = (0, true);
    for byte in text[digits..].bytes() {
        match byte {
            b'=' => padding += 1,
            _ if is_blank(byte) => {}
            _ => {
                is_valid &= padding == 0
                    && (byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'));
                digits += 1;
            }
        }
    }
    // Padding is all or nothing: what is there must fill up the last group of four.
    if !is_valid || padding > 2 || padding > 0 && !(digits + padding).is_multiple_of(4) {
        return Err(Base64Error::InvalidCharacter);
    }
    if digits % 4 == 1 {
        Err(Base64Error::IncorrectLength)
    } else {
        Ok(digits)
    }
}

/// How many bytes from the start are digits, by blocks: nearly all base64 is nothing else, and the check
/// of a block becomes vector instructions because none of its tests depends on another.
fn digits_at_start(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let is_digit = |byte: u8| {
        (byte.wrapping_sub(b'0') < 10)
            | ((byte | 0x20).wrapping_sub(b'a') < 26)
            | (byte == b'+')
            | (byte == b'/')
            | (byte == b'-')
            | (byte == b'_')
    };
    bytes
        .chunks_exact(BLOCK)
        .take_while(|block| block.iter().fold(true, |are, byte| are & is_digit(*byte)))
        .count()
        * BLOCK
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

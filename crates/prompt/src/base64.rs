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
    let mut digits = Vec::with_capacity(text.len());
    digits.extend(
        text.bytes()
            .filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c))
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => other,
            }),
    );
    if digits.len().is_multiple_of(4) {
        for _ in 0..2 {
            if digits.last() == Some(&b'=') {
                digits.pop();
            }
        }
    }
    if !digits
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
    {
        return Err(Base64Error::InvalidCharacter);
    }
    ENGINE.decode(&digits).map_err(|_| Base64Error::IncorrectLength)
}

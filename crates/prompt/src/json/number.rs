//! Numbers that keep the text they were written in.

use std::fmt;

/// A JSON number. It remembers its source text (`1.0`, `1e2`, 30 digits), so that a document survives
/// a round trip; [`Number::to_js`] gives the text that JavaScript would print for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// A number from text that the parser has found to be one.
    pub(super) fn from_valid(text: &str) -> Self {
        Number(text.into())
    }

    /// A number from a double, or nothing for infinities and NaN, which JSON does not have.
    pub fn from_f64(value: f64) -> Option<Self> {
        value
            .is_finite()
            .then(|| Number(ryu_js::Buffer::new().format(value).into()))
    }

    /// The text as it was written in the document.
    pub fn source(&self) -> &str {
        &self.0
    }

    /// The value as JavaScript holds it: the nearest double.
    pub fn as_f64(&self) -> f64 {
        // The text follows the JSON grammar, which is a subset of what Rust reads as a float.
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The value, if it is a whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        let value = self.as_f64();
        // Beyond 2^53 a double no longer tells neighbours apart, so there is no honest whole number.
        (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i64)
    }

    /// The text that `JSON.stringify` gives for this number.
    pub fn to_js(&self) -> String {
        let value = self.as_f64();
        if value.is_finite() {
            ryu_js::Buffer::new().format(value).to_owned()
        } else {
            "null".to_owned()
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! from_whole {
    ($($whole:ty),*) => {$(
        impl From<$whole> for Number {
            fn from(value: $whole) -> Self {
                Number(value.to_string().into())
            }
        }
    )*};
}

from_whole!(u8, u16, u32, u64, usize, i32, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_javascript_does() {
        for (source, js) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1e21", "1e+21"),
            ("1E-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("123456789012345678901", "123456789012345680000"),
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.1"),
            ("1e400", "null"),
            ("5e-324", "5e-324"),
        ] {
            assert_eq!(Number::from_valid(source).to_js(), js, "{source}");
            assert_eq!(Number::from_valid(source).source(), source);
        }
    }
}

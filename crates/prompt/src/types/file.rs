//! What a file is: bytes, a URL, a reference to an upload, or text.

use std::fmt;
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use url::Url;

use crate::base64;
use crate::fault::FaultKind;
use crate::json::{Json, Object, Text};
use crate::typed::{Form, Map, Reader, Typed, quoted, record, tagged};

tagged! {
    /// The data of a file part.
    pub enum FileData, "file data", "type" {
        /// The file itself.
        Data(DataFile) = "data",
        /// Where it can be fetched.
        Url(UrlFile) = "url",
        /// The id it has at a provider to which it was uploaded.
        Reference(ReferenceFile) = "reference",
        /// A text document.
        Text(TextFile) = "text",
    }
}

tagged! {
    /// The data of a file that a model has made: bytes or a URL, never a reference.
    pub enum StoredData, "file data", "type" {
        /// The file itself.
        Data(DataFile) = "data",
        /// Where it can be fetched.
        Url(UrlFile) = "url",
    }
}

record! {
    /// The file itself.
    pub struct DataFile, "inline file data", "type" = "data" {
        required {
            /// Its bytes, or their base64.
            data: Inline = "data",
        }
        optional {}
    }
}

record! {
    /// A file at a URL.
    pub struct UrlFile, "file data with a URL", "type" = "url" {
        required {
            /// Where it is.
            url: FileUrl = "url",
        }
        optional {
            /// The text before URL parsing changed it. Google reads `gs:` URLs from here.
            original_url: Text = "originalUrl",
        }
    }
}

record! {
    /// A file that was uploaded to one or more providers.
    pub struct ReferenceFile, "a file reference", "type" = "reference" {
        required {
            /// Provider id → the file's id there.
            reference: Map<Text> = "reference",
        }
        optional {}
    }
}

record! {
    /// A text document.
    pub struct TextFile, "a text document", "type" = "text" {
        required {
            /// Its text.
            text: Text = "text",
        }
        optional {}
    }
}

/// Inline data. A string is base64 that is passed on as it stands, never decoded and encoded again;
/// bytes are bytes, which some providers treat differently.
#[derive(Clone, PartialEq)]
pub enum Inline {
    /// Base64 text, unchecked.
    Base64(Text),
    /// Bytes.
    Bytes(Arc<[u8]>),
}

impl Inline {
    /// The data as base64: the text itself, or the bytes encoded.
    pub fn to_base64(&self) -> Text {
        match self {
            Inline::Base64(text) => text.clone(),
            Inline::Bytes(bytes) => base64::encode(bytes).into(),
        }
    }

    /// The bytes, decoded the way `atob` does.
    pub fn to_bytes(&self) -> Result<Arc<[u8]>, base64::Base64Error> {
        match self {
            Inline::Base64(text) => base64::decode(text).map(Arc::from),
            Inline::Bytes(bytes) => Ok(Arc::clone(bytes)),
        }
    }
}

impl fmt::Debug for Inline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Megabytes of base64 help nobody.
        match self {
            Inline::Base64(text) => write!(f, "Base64({})", quoted(text)),
            Inline::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
        }
    }
}

impl From<&str> for Inline {
    fn from(base64: &str) -> Self {
        Inline::Base64(base64.into())
    }
}

impl From<Text> for Inline {
    fn from(base64: Text) -> Self {
        Inline::Base64(base64)
    }
}

impl From<Vec<u8>> for Inline {
    fn from(bytes: Vec<u8>) -> Self {
        Inline::Bytes(bytes.into())
    }
}

impl Typed for Inline {
    const EXPECTED: &'static str = "base64 text";

    fn read(value: Json, reader: &mut Reader) -> Option<Self> {
        let found = match value {
            Json::String(text) => return Some(Inline::Base64(text)),
            Json::Object(object) => object,
            other => {
                reader.wrong_type(&other, Self::EXPECTED);
                return None;
            }
        };
        let bytes = read_bytes(&found);
        if bytes.is_none() {
            reader.fault(
                FaultKind::BadValue,
                "an object that is no form of bytes",
                "base64 text, {\"0\":137,…}, {\"type\":\"Buffer\",\"data\":[…]} or {\"$bytes\":\"base64\"}",
                "give the bytes as base64 text",
            );
        }
        bytes.map(|bytes| Inline::Bytes(bytes.into()))
    }

    fn write(&self, form: Form) -> Option<Json> {
        Some(match self {
            Inline::Bytes(bytes) if form == Form::Stringify => Json::Object(
                bytes
                    .iter()
                    .enumerate()
                    .map(|(index, byte)| (index.to_string(), usize::from(*byte)))
                    .collect(),
            ),
            _ => Json::String(self.to_base64()),
        })
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "Base64. Bytes as JSON.stringify writes them are read too.",
            "anyOf": [
                { "type": "string", "contentEncoding": "base64" },
                { "type": "object" },
            ],
        })
    }
}

/// Bytes in the JSON forms that exist: what `JSON.stringify` makes of a `Uint8Array` and of a Node
/// `Buffer`, and the `$bytes` of test vectors.
fn read_bytes(object: &Object) -> Option<Vec<u8>> {
    let byte = |value: &Json| {
        value
            .as_number()?
            .as_i64()
            .and_then(|byte| u8::try_from(byte).ok())
    };
    if let Some(text) = object.get("$bytes") {
        return base64::decode(text.as_str()?).ok().filter(|_| object.len() == 1);
    }
    if object.get("type").and_then(Json::as_str) == Some("Buffer") {
        return object.get("data")?.as_array()?.iter().map(byte).collect();
    }
    let mut bytes = vec![None; object.len()];
    for (key, value) in object.iter() {
        *bytes.get_mut(key.parse::<usize>().ok()?)? = Some(byte(value)?);
    }
    bytes.into_iter().collect()
}

/// An absolute URL, and the text it was given as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUrl {
    given: Text,
    parsed: Url,
}

impl FileUrl {
    /// Parses a URL as JavaScript's `new URL` does.
    pub fn parse(text: impl Into<Text>) -> Result<Self, url::ParseError> {
        let given = text.into();
        let parsed = Url::parse(&given)?;
        Ok(FileUrl { given, parsed })
    }

    /// The text as it was given.
    pub fn given(&self) -> &Text {
        &self.given
    }

    /// The URL in WHATWG form: what the SDK sends.
    pub fn as_str(&self) -> &str {
        self.parsed.as_str()
    }

    /// The parsed URL.
    pub fn url(&self) -> &Url {
        &self.parsed
    }

    /// The WHATWG form as shared text; the given text itself where parsing changed nothing.
    pub fn to_text(&self) -> Text {
        if *self.given == *self.as_str() {
            self.given.clone()
        } else {
            self.as_str().into()
        }
    }
}

impl From<Url> for FileUrl {
    fn from(parsed: Url) -> Self {
        FileUrl {
            given: parsed.as_str().into(),
            parsed,
        }
    }
}

impl Typed for FileUrl {
    const EXPECTED: &'static str = "a URL as a string";

    fn read(value: Json, reader: &mut Reader) -> Option<Self> {
        let text = Text::read(value, reader)?;
        match FileUrl::parse(text.clone()) {
            Ok(url) => Some(url),
            Err(error) => {
                let found = format!("{}, which is no URL ({error})", quoted(&text));
                reader.fault(
                    FaultKind::BadValue,
                    found,
                    "an absolute URL",
                    "give the whole URL with its scheme",
                );
                None
            }
        }
    }

    fn write(&self, form: Form) -> Option<Json> {
        Some(match form {
            Form::Source => Json::from(&self.given),
            Form::Wire | Form::Stringify => Json::String(self.to_text()),
        })
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "format": "uri" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inline(json: &str) -> Inline {
        Inline::from_json(Json::parse(json).expect("valid")).expect("bytes")
    }

    #[test]
    fn every_json_form_of_bytes_is_read() {
        let bytes = Inline::from(vec![137, 80, 0]);
        for form in [
            r#"{"0":137,"1":80,"2":0}"#,
            r#"{"type":"Buffer","data":[137,80,0]}"#,
            r#"{"$bytes":"iVAA"}"#,
        ] {
            assert_eq!(inline(form), bytes, "{form}");
        }
        assert_eq!(inline("{}"), Inline::from(vec![]));
        assert_eq!(bytes.to_json().to_source(), r#""iVAA""#);
        assert_eq!(
            bytes.to_json_as(Form::Stringify).to_js(),
            r#"{"0":137,"1":80,"2":0}"#
        );
    }

    #[test]
    fn an_object_that_is_no_bytes_is_a_fault() {
        for text in [
            r#"{"0":256}"#,
            r#"{"1":1}"#,
            r#"{"0":1,"x":2}"#,
            r##"{"$bytes":"#"}"##,
            r#"{"0":1.5}"#,
        ] {
            let faults = Inline::from_json(Json::parse(text).expect("valid")).expect_err(text);
            assert_eq!(
                faults.iter().next().map(|fault| fault.kind),
                Some(FaultKind::BadValue)
            );
        }
    }

    #[test]
    fn a_url_keeps_the_text_it_was_given_as() {
        let url = FileUrl::parse("https://Example.com/a b").expect("a URL");
        assert_eq!(url.to_json(), Json::from("https://Example.com/a b"));
        assert_eq!(
            url.to_json_as(Form::Wire),
            Json::from("https://example.com/a%20b")
        );
    }
}

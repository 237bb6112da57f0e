//! Signatures of approval requests.
//!
//! The request goes to the client and comes back with the answer. The server signs it, so that a client
//! cannot have something run that the server never asked about.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::error::SdkError;
use crate::json::Json;

/// What a signature covers: the request, and the call with its input.
///
/// ```
/// use tapline_prompt::model_messages::Signed;
///
/// let signed = Signed { approval_id: "ap1", tool_call_id: "c1", tool_name: "bash", input: None };
/// let signature = signed.sign(b"secret");
/// assert!(signed.verify(b"secret", &signature)?);
/// assert!(!signed.verify(b"other", &signature)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// The request.
    pub approval_id: &'a str,
    /// The call.
    pub tool_call_id: &'a str,
    /// The tool.
    pub tool_name: &'a str,
    /// What it is to be called with.
    pub input: Option<&'a Json>,
}

impl Signed<'_> {
    /// The signature, as base64 of the URL alphabet.
    pub fn sign(&self, secret: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(secret, &self.payload()).finalize().into_bytes())
    }

    /// Whether a signature is right. One that is no base64 is an error.
    pub fn verify(&self, secret: &[u8], signature: &str) -> Result<bool, SdkError> {
        let signature = crate::base64::decode(signature)?;
        if self.mac(secret, &self.payload()).verify_slice(&signature).is_ok() {
            return Ok(true);
        }
        // Signatures from before the payload was JSON. Lines can be told apart only while no field
        // holds one.
        let fields = [self.approval_id, self.tool_call_id, self.tool_name];
        if fields.iter().any(|field| field.contains('\n')) {
            return Ok(false);
        }
        let legacy = format!("{}\n{}", fields.join("\n"), self.input_digest());
        Ok(self.mac(secret, &legacy).verify_slice(&signature).is_ok())
    }

    fn mac(&self, secret: &[u8], payload: &str) -> Hmac<Sha256> {
        let mut mac = match Hmac::<Sha256>::new_from_slice(secret) {
            Ok(mac) => mac,
            Err(_) => unreachable!("HMAC takes keys of any length"),
        };
        mac.update(payload.as_bytes());
        mac
    }

    fn payload(&self) -> String {
        Json::from(vec![
            Json::from("ai-sdk-tool-approval-v1"),
            self.approval_id.into(),
            self.tool_call_id.into(),
            self.tool_name.into(),
            self.input_digest().into(),
        ])
        .to_js()
    }

    fn input_digest(&self) -> String {
        let mut text = String::new();
        if let Some(input) = self.input {
            write_canonical(input, &mut text);
        }
        URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()))
    }
}

/// Writes JSON with the keys of every object sorted as JavaScript sorts strings: by UTF-16 units.
fn write_canonical(value: &Json, out: &mut String) {
    match value {
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Json::Object(object) => {
            let mut members: Vec<(&str, &Json)> = object.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                Json::from(key).write_js(out);
                out.push(':');
                write_canonical(member, out);
            }
            out.push('}');
        }
        scalar => scalar.write_js(out),
    }
}

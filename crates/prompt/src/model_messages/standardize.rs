//! The first step of a call: what was asked for, as a list of messages.

use super::lenient::role;
use crate::error::SdkError;
use crate::json::{Json, Text, object};

/// What a caller gives a model. It is one or the other, never both.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// A text: one message of the user.
    Prompt(Text),
    /// Messages.
    Messages(Vec<Json>),
}

/// Makes messages of what was given. There must be some, and unless it is allowed none may be a system
/// message: whoever can write one can tell the model what to do. The program's own instructions are
/// given beside the messages, see [`ToPrompt`](super::ToPrompt).
///
/// ```
/// use tapline_prompt::model_messages::{Given, standardize};
///
/// let messages = standardize(Given::Prompt("Hi".into()), false)?;
/// assert_eq!(messages[0].to_js(), r#"{"role":"user","content":"Hi"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn standardize(given: Given, allow_system_messages: bool) -> Result<Vec<Json>, SdkError> {
    let messages = match given {
        Given::Prompt(text) => vec![object! { "role": "user", "content": text }.into()],
        Given::Messages(messages) => messages,
    };
    if messages.is_empty() {
        return Err(SdkError::InvalidPrompt("messages must not be empty".to_owned()));
    }
    if !allow_system_messages && messages.iter().any(|message| role(message) == "system") {
        return Err(SdkError::InvalidPrompt(
            "System messages are not allowed in the prompt or messages fields. Use the instructions option instead."
                .to_owned(),
        ));
    }
    Ok(messages)
}

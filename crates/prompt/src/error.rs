//! The errors that the AI SDK throws, by the names it gives them.
//!
//! A program that moves from JavaScript decides by the name of an error, so it is part of what has to
//! be equal. [`SdkError::name`] is that name; the message is the SDK's where it is the SDK's own, and
//! ours where it comes from its schema library.

use thiserror::Error;

use crate::base64::Base64Error;
use crate::fault::Faults;

/// Why a conversion failed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SdkError {
    /// The model or provider cannot do it.
    #[error("'{0}' functionality not supported.")]
    UnsupportedFunctionality(String),
    /// As above, where the SDK says more than that.
    #[error("{message}")]
    UnsupportedBecause {
        /// What is not supported.
        functionality: String,
        /// The whole message.
        message: String,
    },
    /// A file reference has no id for the provider it is sent to.
    #[error(
        "No provider reference found for provider '{provider}'. Available providers: {}",
        .available.join(", ")
    )]
    NoSuchProviderReference {
        /// The provider.
        provider: String,
        /// The providers it has ids for.
        available: Vec<String>,
    },
    /// Provider options of the wrong shape.
    #[error("invalid {provider} provider options: {reason}")]
    InvalidProviderOptions {
        /// The provider whose options they are.
        provider: String,
        /// Which option, and what is wrong with it.
        reason: String,
    },
    /// Options that contradict each other.
    #[error("{0}")]
    InvalidArgument(String),
    /// A prompt that the provider cannot take, or that is none.
    #[error("Invalid prompt: {0}")]
    InvalidPrompt(String),
    /// The JSON given is no prompt; every fault is listed.
    #[error("Invalid prompt:\n{0}")]
    FaultyPrompt(Faults),
    /// A value that is not what its provider expects.
    #[error("Type validation failed: {0}")]
    TypeValidation(String),
    /// JSON text that cannot be read.
    #[error("JSON parsing failed: {0}")]
    JsonParse(String),
    /// JSON text that cannot be read, where the SDK lets the platform's own error through.
    #[error("{0}")]
    Syntax(String),
    /// A value that the SDK's schema library refuses outside of the SDK's own errors.
    #[error("{0}")]
    Schema(String),
    /// Text that is no base64, where it has to be decoded.
    #[error(transparent)]
    InvalidCharacter(#[from] Base64Error),
    /// A URL that must not be downloaded.
    #[error("{message}")]
    Download {
        /// The URL.
        url: String,
        /// Why not.
        message: String,
    },
    /// Calls that nothing answers before the next turn, or before the end.
    #[error(
        "Tool result{} missing for tool call{} {}.",
        if .0.len() > 1 { "s are" } else { " is" },
        if .0.len() > 1 { "s" } else { "" },
        .0.join(", ")
    )]
    MissingToolResults(Vec<String>),
    /// An approval response whose request is nowhere in the history.
    #[error(
        "Tool approval response references unknown approvalId: \"{0}\". No matching tool-approval-request \
         found in message history."
    )]
    InvalidToolApproval(String),
    /// An approval request that was not signed with the server's secret.
    #[error(
        "Tool approval signature verification failed for approval \"{approval_id}\" (tool call \
         \"{tool_call_id}\"): {reason}"
    )]
    InvalidToolApprovalSignature {
        /// The request.
        approval_id: String,
        /// The call it is about.
        tool_call_id: String,
        /// What is wrong with the signature.
        reason: &'static str,
    },
    /// An approval request whose call is nowhere in the history.
    #[error("Tool call \"{tool_call_id}\" not found for approval request \"{approval_id}\".")]
    ToolCallNotFoundForApproval {
        /// The call that is not there.
        tool_call_id: String,
        /// The request.
        approval_id: String,
    },
    /// File data in none of the forms that can be read.
    #[error("{0}")]
    InvalidDataContent(String),
    /// A model message of an unknown role.
    #[error("Invalid message role: '{0}'. Must be one of: \"system\", \"user\", \"assistant\", \"tool\".")]
    InvalidMessageRole(String),
    /// A UI message that cannot become a model message.
    #[error("{0}")]
    MessageConversion(String),
    /// A chunk that does not fit to those before it.
    #[error("{message}")]
    UiMessageStream {
        /// The type of the chunk, or what was looked for.
        chunk_type: String,
        /// The id that nothing was found for.
        chunk_id: String,
        /// The whole message.
        message: String,
    },
    /// A value of the wrong type, where JavaScript itself would stumble.
    #[error("{0}")]
    Type(String),
    /// An error without a name of its own.
    #[error("{0}")]
    Plain(String),
}

impl SdkError {
    /// The functionality is not supported.
    pub fn unsupported(functionality: impl Into<String>) -> Self {
        SdkError::UnsupportedFunctionality(functionality.into())
    }

    /// The name that the SDK gives the error.
    pub fn name(&self) -> &'static str {
        match self {
            SdkError::UnsupportedFunctionality(_) | SdkError::UnsupportedBecause { .. } => {
                "AI_UnsupportedFunctionalityError"
            }
            SdkError::NoSuchProviderReference { .. } => "AI_NoSuchProviderReferenceError",
            SdkError::InvalidProviderOptions { .. } | SdkError::InvalidArgument(_) => {
                "AI_InvalidArgumentError"
            }
            SdkError::InvalidPrompt(_) | SdkError::FaultyPrompt(_) => "AI_InvalidPromptError",
            SdkError::TypeValidation(_) => "AI_TypeValidationError",
            SdkError::JsonParse(_) => "AI_JSONParseError",
            SdkError::Syntax(_) => "SyntaxError",
            SdkError::Schema(_) => "ZodError",
            SdkError::InvalidCharacter(_) => "InvalidCharacterError",
            SdkError::Download { .. } => "AI_DownloadError",
            SdkError::MissingToolResults(_) => "AI_MissingToolResultsError",
            SdkError::InvalidToolApproval(_) => "AI_InvalidToolApprovalError",
            SdkError::InvalidToolApprovalSignature { .. } => "AI_InvalidToolApprovalSignatureError",
            SdkError::ToolCallNotFoundForApproval { .. } => "AI_ToolCallNotFoundForApprovalError",
            SdkError::InvalidDataContent(_) => "AI_InvalidDataContentError",
            SdkError::InvalidMessageRole(_) => "AI_InvalidMessageRoleError",
            SdkError::MessageConversion(_) => "AI_MessageConversionError",
            SdkError::UiMessageStream { .. } => "AI_UIMessageStreamError",
            SdkError::Type(_) => "TypeError",
            SdkError::Plain(_) => "Error",
        }
    }
}

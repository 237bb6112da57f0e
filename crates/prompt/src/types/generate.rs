//! What a model gives: content, usage, the reason it stopped, and warnings.
//!
//! Output and input differ on purpose. A produced tool call has its input as JSON text, where a
//! prompt's has the value; a produced result has `result` and `isError`, where a prompt's has a tagged
//! output.

use super::ProviderOptions;
use super::file::StoredData;
use super::prompt::CustomKind;
use crate::json::{Json, Number, Object, Text};
use crate::typed::{Map, record, tagged, words};

mod stream;

pub use stream::*;

tagged! {
    /// Something a model produced.
    pub enum Content, "a piece of content", "type" {
        /// Text.
        Text(TextContent) = "text",
        /// A thought.
        Reasoning(ReasoningContent) = "reasoning",
        /// Something only its provider understands.
        Custom(CustomContent) = "custom",
        /// A file among the thoughts.
        ReasoningFile(ReasoningFileContent) = "reasoning-file",
        /// A file.
        File(FileContent) = "file",
        /// A question whether the provider may run a tool.
        ApprovalRequest(ApprovalRequestContent) = "tool-approval-request",
        /// Where something comes from.
        Source(Source) = "source",
        /// A call of a tool.
        ToolCall(ToolCallContent) = "tool-call",
        /// The result of a tool that the provider ran.
        ToolResult(ToolResultContent) = "tool-result",
    }
}

record! {
    /// Text.
    pub struct TextContent, "text content", "type" = "text" {
        required {
            /// The text.
            text: Text = "text",
        }
        optional {
            /// What it rests on.
            citations: Vec<Citation> = "citations",
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A thought.
    pub struct ReasoningContent, "reasoning content", "type" = "reasoning" {
        required {
            /// The thought.
            text: Text = "text",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// Something only its provider understands.
    pub struct CustomContent, "custom content", "type" = "custom" {
        required {
            /// Whose it is, and what.
            kind: CustomKind = "kind",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A file among the thoughts.
    pub struct ReasoningFileContent, "reasoning file content", "type" = "reasoning-file" {
        required {
            /// Its media type.
            media_type: Text = "mediaType",
            /// The file.
            data: StoredData = "data",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A file that the model made.
    pub struct FileContent, "file content", "type" = "file" {
        required {
            /// Its media type.
            media_type: Text = "mediaType",
            /// The file.
            data: StoredData = "data",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A question whether the provider may run a tool.
    pub struct ApprovalRequestContent, "an approval request", "type" = "tool-approval-request" {
        required {
            /// The id that the response repeats.
            approval_id: Text = "approvalId",
            /// The call in question.
            tool_call_id: Text = "toolCallId",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A call of a tool.
    pub struct ToolCallContent, "a produced tool call", "type" = "tool-call" {
        required {
            /// The id of the call.
            tool_call_id: Text = "toolCallId",
            /// The tool.
            tool_name: Text = "toolName",
            /// What it is called with, as JSON text.
            input: Text = "input",
        }
        optional {
            /// Whether the provider runs the tool.
            provider_executed: bool = "providerExecuted",
            /// Whether the caller did not declare the tool.
            dynamic: bool = "dynamic",
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// The result of a tool that the provider ran.
    pub struct ToolResultContent, "a produced tool result", "type" = "tool-result" {
        required {
            /// The id of the call.
            tool_call_id: Text = "toolCallId",
            /// The tool.
            tool_name: Text = "toolName",
            /// What it gave.
            result: Json = "result",
        }
        optional {
            /// Whether that is an error.
            is_error: bool = "isError",
            /// Whether a later result replaces this one.
            preliminary: bool = "preliminary",
            /// Whether the caller did not declare the tool.
            dynamic: bool = "dynamic",
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

tagged! {
    /// Where something comes from.
    pub enum Source, "a source", "sourceType" {
        /// A page.
        Url(UrlSource) = "url",
        /// A document.
        Document(DocumentSource) = "document",
    }
}

words! {
    /// The tag that both kinds of source share.
    pub enum SourceTag, "the tag of a source" {
        /// The only one.
        Source = "source",
    }
}

record! {
    /// A page that the model used.
    pub struct UrlSource, "a URL source", "sourceType" = "url" {
        required {
            /// The tag of all sources.
            tag: SourceTag = "type",
            /// Its id.
            id: Text = "id",
            /// Where it is.
            url: Text = "url",
        }
        optional {
            /// What it is called.
            title: Text = "title",
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A document that the model used.
    pub struct DocumentSource, "a document source", "sourceType" = "document" {
        required {
            /// The tag of all sources.
            tag: SourceTag = "type",
            /// Its id.
            id: Text = "id",
            /// Its media type.
            media_type: Text = "mediaType",
            /// What it is called.
            title: Text = "title",
        }
        optional {
            /// The name of its file.
            filename: Text = "filename",
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A passage of text and what it rests on.
    pub struct Citation, "a citation" {
        required {
            /// What is cited.
            source: Source = "source",
        }
        optional {
            /// Where in the text the cited passage starts.
            start_index: Number = "startIndex",
            /// Where it ends.
            end_index: Number = "endIndex",
            /// The words of the source.
            cited_text: Text = "citedText",
        }
    }
}

words! {
    /// Why a model stopped, in the words that all providers share.
    pub enum StopKind, "a finish reason" {
        /// It was done.
        Stop = "stop",
        /// It reached the most tokens.
        Length = "length",
        /// A filter stopped it.
        ContentFilter = "content-filter",
        /// It wants tools to be run.
        ToolCalls = "tool-calls",
        /// It failed.
        Error = "error",
        /// It was cut off.
        Interrupted = "interrupted",
        /// Something else.
        Other = "other",
    }
}

record! {
    /// Why a model stopped.
    pub struct FinishReason, "a finish reason" {
        required {
            /// In shared words.
            unified: StopKind = "unified",
        }
        optional {
            /// In the provider's words.
            raw: Text = "raw",
        }
    }
}

record! {
    /// What a call used. A number that is absent is unknown, not zero.
    pub struct Usage, "the usage of a call" {
        required {
            /// What was read.
            input_tokens: InputTokens = "inputTokens",
            /// What was written.
            output_tokens: OutputTokens = "outputTokens",
        }
        optional {
            /// The provider's own numbers.
            raw: Object = "raw",
        }
    }
}

record! {
    /// The tokens a call read.
    pub struct InputTokens, "input tokens" {
        required {}
        optional {
            /// All.
            total: Number = "total",
            /// Those not from a cache.
            no_cache: Number = "noCache",
            /// Those from a cache.
            cache_read: Number = "cacheRead",
            /// Those written to a cache.
            cache_write: Number = "cacheWrite",
        }
    }
}

record! {
    /// The tokens a call wrote.
    pub struct OutputTokens, "output tokens" {
        required {}
        optional {
            /// All.
            total: Number = "total",
            /// Those of the answer.
            text: Number = "text",
            /// Those of the thoughts.
            reasoning: Number = "reasoning",
        }
    }
}

tagged! {
    /// Something the caller asked for that will not be as asked.
    pub enum Warning, "a warning", "type" {
        /// The provider cannot do it.
        Unsupported(UnsupportedWarning) = "unsupported",
        /// It is done in another way.
        Compatibility(CompatibilityWarning) = "compatibility",
        /// It will not work for ever.
        Deprecated(DeprecatedWarning) = "deprecated",
        /// Anything else.
        Other(OtherWarning) = "other",
    }
}

impl Warning {
    /// The provider cannot do it, and there is no more to say.
    pub fn unsupported(feature: impl Into<Text>) -> Self {
        UnsupportedWarning::new(feature).into()
    }

    /// The provider cannot do it, and why.
    pub fn unsupported_because(feature: impl Into<Text>, details: impl Into<Text>) -> Self {
        UnsupportedWarning {
            details: Some(details.into()),
            ..UnsupportedWarning::new(feature)
        }
        .into()
    }

    /// It is done in another way.
    pub fn compatibility(feature: impl Into<Text>, details: impl Into<Text>) -> Self {
        CompatibilityWarning {
            details: Some(details.into()),
            ..CompatibilityWarning::new(feature)
        }
        .into()
    }

    /// Anything else.
    pub fn other(message: impl Into<Text>) -> Self {
        OtherWarning::new(message).into()
    }
}

record! {
    /// The provider cannot do it.
    pub struct UnsupportedWarning, "an unsupported warning", "type" = "unsupported" {
        required {
            /// What.
            feature: Text = "feature",
        }
        optional {
            /// Why.
            details: Text = "details",
        }
    }
}

record! {
    /// It is done in another way.
    pub struct CompatibilityWarning, "a compatibility warning", "type" = "compatibility" {
        required {
            /// What.
            feature: Text = "feature",
        }
        optional {
            /// How instead.
            details: Text = "details",
        }
    }
}

record! {
    /// It will not work for ever.
    pub struct DeprecatedWarning, "a deprecation warning", "type" = "deprecated" {
        required {
            /// What.
            setting: Text = "setting",
            /// What to use instead.
            message: Text = "message",
        }
        optional {}
    }
}

record! {
    /// Anything else.
    pub struct OtherWarning, "a warning", "type" = "other" {
        required {
            /// What is the matter.
            message: Text = "message",
        }
        optional {}
    }
}

record! {
    /// The whole answer of a model.
    pub struct GenerateResult, "the result of a call" {
        required {
            /// What the model produced.
            content: Vec<Content> = "content",
            /// Why it stopped.
            finish_reason: FinishReason = "finishReason",
            /// What it used.
            usage: Usage = "usage",
            /// What was not as asked.
            warnings: Vec<Warning> = "warnings",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
            /// The text of a structured answer.
            structured_output_text: Text = "structuredOutputText",
            /// What was sent.
            request: RequestInfo = "request",
            /// What came back.
            response: ResponseInfo = "response",
        }
    }
}

record! {
    /// What was sent to a provider.
    pub struct RequestInfo, "request information" {
        required {}
        optional {
            /// Where to.
            url: Text = "url",
            /// The body.
            body: Json = "body",
        }
    }
}

record! {
    /// What a provider sent back.
    pub struct ResponseInfo, "response information" {
        required {}
        optional {
            /// Its id.
            id: Text = "id",
            /// When it began, in ISO form.
            timestamp: Text = "timestamp",
            /// The model that answered.
            model_id: Text = "modelId",
            /// Its headers.
            headers: Map<Text> = "headers",
            /// Its body.
            body: Json = "body",
        }
    }
}

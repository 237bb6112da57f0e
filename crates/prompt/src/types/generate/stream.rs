//! The parts of a streamed answer.

use super::*;

tagged! {
    /// A part of a streamed answer: a piece of a block, a whole item, or news about the call.
    pub enum StreamPart, "a stream part", "type" {
        /// A text block begins.
        TextStart(TextStart) = "text-start",
        /// More of a text block.
        TextDelta(TextDelta) = "text-delta",
        /// A text block ends.
        TextEnd(TextEnd) = "text-end",
        /// A thought begins.
        ReasoningStart(ReasoningStart) = "reasoning-start",
        /// More of a thought.
        ReasoningDelta(ReasoningDelta) = "reasoning-delta",
        /// A thought ends.
        ReasoningEnd(ReasoningEnd) = "reasoning-end",
        /// The input of a call begins.
        ToolInputStart(ToolInputStart) = "tool-input-start",
        /// More of the input of a call.
        ToolInputDelta(ToolInputDelta) = "tool-input-delta",
        /// The input of a call ends.
        ToolInputEnd(ToolInputEnd) = "tool-input-end",
        /// A question whether the provider may run a tool.
        ApprovalRequest(ApprovalRequestContent) = "tool-approval-request",
        /// A whole call.
        ToolCall(ToolCallContent) = "tool-call",
        /// A whole result.
        ToolResult(ToolResultContent) = "tool-result",
        /// Something only its provider understands.
        Custom(CustomContent) = "custom",
        /// A file.
        File(FileContent) = "file",
        /// A file among the thoughts.
        ReasoningFile(ReasoningFileContent) = "reasoning-file",
        /// Where something comes from.
        Source(Source) = "source",
        /// The stream begins.
        StreamStart(StreamStart) = "stream-start",
        /// About the response.
        ResponseMetadata(ResponseMetadata) = "response-metadata",
        /// The answer is whole.
        Finish(Finish) = "finish",
        /// The connection is alive.
        Ping(Ping) = "ping",
        /// A chunk as the provider sent it.
        Raw(Raw) = "raw",
        /// Something went wrong; the stream may go on.
        Error(StreamError) = "error",
    }
}

words! {
    /// What the pieces of a tool input are.
    pub enum InputEncoding, "an input encoding" {
        /// Pieces of JSON text.
        Json = "json",
        /// Pieces of plain text.
        Text = "text",
    }
}

record! {
    /// A text block begins.
    pub struct TextStart, "the start of a text block", "type" = "text-start" {
        required {
            /// The id of the block.
            id: Text = "id",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// More of a text block.
    pub struct TextDelta, "more of a text block", "type" = "text-delta" {
        required {
            /// The id of the block.
            id: Text = "id",
            /// What is added.
            delta: Text = "delta",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A text block ends.
    pub struct TextEnd, "the end of a text block", "type" = "text-end" {
        required {
            /// The id of the block.
            id: Text = "id",
        }
        optional {
            /// What the text rests on.
            citations: Vec<Citation> = "citations",
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A thought begins.
    pub struct ReasoningStart, "the start of a thought", "type" = "reasoning-start" {
        required {
            /// The id of the block.
            id: Text = "id",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// More of a thought.
    pub struct ReasoningDelta, "more of a thought", "type" = "reasoning-delta" {
        required {
            /// The id of the block.
            id: Text = "id",
            /// What is added.
            delta: Text = "delta",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// A thought ends.
    pub struct ReasoningEnd, "the end of a thought", "type" = "reasoning-end" {
        required {
            /// The id of the block.
            id: Text = "id",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// The input of a call begins.
    pub struct ToolInputStart, "the start of a tool input", "type" = "tool-input-start" {
        required {
            /// The id of the block.
            id: Text = "id",
            /// The tool.
            tool_name: Text = "toolName",
        }
        optional {
            /// What the deltas are pieces of.
            input_encoding: InputEncoding = "inputEncoding",
            /// Whether the provider runs the tool.
            provider_executed: bool = "providerExecuted",
            /// Whether the caller did not declare the tool.
            dynamic: bool = "dynamic",
            /// What to show for it.
            title: Text = "title",
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// More of the input of a call.
    pub struct ToolInputDelta, "more of a tool input", "type" = "tool-input-delta" {
        required {
            /// The id of the block.
            id: Text = "id",
            /// What is added.
            delta: Text = "delta",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// The input of a call ends.
    pub struct ToolInputEnd, "the end of a tool input", "type" = "tool-input-end" {
        required {
            /// The id of the block.
            id: Text = "id",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// The stream begins.
    pub struct StreamStart, "the start of a stream", "type" = "stream-start" {
        required {
            /// What is not as asked.
            warnings: Vec<Warning> = "warnings",
        }
        optional {}
    }
}

record! {
    /// About the response.
    pub struct ResponseMetadata, "response metadata", "type" = "response-metadata" {
        required {}
        optional {
            /// The id of the response.
            id: Text = "id",
            /// When it began, in ISO form.
            timestamp: Text = "timestamp",
            /// The model that answers.
            model_id: Text = "modelId",
        }
    }
}

record! {
    /// The answer is whole.
    pub struct Finish, "the end of an answer", "type" = "finish" {
        required {
            /// What it used.
            usage: Usage = "usage",
            /// Why the model stopped.
            finish_reason: FinishReason = "finishReason",
        }
        optional {
            /// What the provider adds.
            provider_metadata: ProviderOptions = "providerMetadata",
        }
    }
}

record! {
    /// The connection is alive.
    pub struct Ping, "a ping", "type" = "ping" {
        required {}
        optional {}
    }
}

record! {
    /// A chunk as the provider sent it.
    pub struct Raw, "a raw chunk", "type" = "raw" {
        required {
            /// The chunk.
            raw_value: Json = "rawValue",
        }
        optional {}
    }
}

record! {
    /// Something went wrong; the stream may go on.
    pub struct StreamError, "an error", "type" = "error" {
        required {
            /// What went wrong.
            error: Json = "error",
        }
        optional {}
    }
}
